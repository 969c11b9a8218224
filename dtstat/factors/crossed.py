"""Factor models of very many items, some of which load on several factors.

Maximum likelihood by the EM steps of :mod:`dtstat.factors.maximum_likelihood`, from answers instead
of correlations. With V and F of :class:`dtstat.factors.blockwise.GivenItems`,

    C_zz = V + F Fᵀ/n,   c_iS = z_i F_Sᵀ/n,   λ_iS = C_SS⁻¹ c_iS,   ψ_i = 1 − λ_iSᵀ c_iS

for the factors S of item i: n numbers per loading, and some products of factors with factors.
Nothing of size p × p or p × d is there. Where the correlations of the factors had to be shrunk,
because there are too few rows for so many factors, they are kept, and the rest is estimated given
them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.factors.blockwise import BlockModel, GivenItems
from dtstat.factors.copula import FactorEstimate
from dtstat.factors.maximum_likelihood import LEAST_UNIQUENESS, RIDGE, accelerated_em

_TOLERANCE = 5e-5  # gain in log-likelihood, per item, of a step that counts as standing still
_MOST_STEPS = 30
_NUMBERS_AT_ONCE = 5_000_000  # 40 MB


@dataclass(frozen=True, eq=False)
class CrossedModel:
    """A structure with its estimates, known by the loadings that it has.

    Attributes
    ----------
    loadings
        (p, k) Λ, without its zeros.
    uniquenesses, factor_correlations, weight
        As in :class:`dtstat.factors.blockwise.BlockModel`.
    """

    loadings: csr_array
    uniquenesses: FloatArray
    factor_correlations: FloatArray
    weight: float

    @classmethod
    def of(cls, model: BlockModel) -> CrossedModel:
        """Return a simple structure."""
        return cls(
            model.sparse_loadings, model.uniquenesses, model.factor_correlations, model.weight
        )

    @property
    def sparse_loadings(self) -> csr_array:
        """(p, k) Λ, without its zeros."""
        return self.loadings

    @property
    def support(self) -> BoolArray:
        """(p, k) which item is in which factor."""
        marks = np.zeros(self.loadings.shape, dtype=bool)
        marks[self.loadings.nonzero()] = True
        return marks

    @property
    def n_parameters(self) -> int:
        """Loadings, uniquenesses and factor correlations."""
        p, k = len(self.uniquenesses), len(self.factor_correlations)
        return len(self.loadings.data) + p + k * (k - 1) // 2

    def estimate(self, log_likelihood: float) -> FactorEstimate:
        """Return the same as matrices."""
        return FactorEstimate(
            self.loadings.toarray(),
            self.factor_correlations,
            self.uniquenesses,
            log_likelihood,
            self.n_parameters,
            converged=True,
            n_iterations=0,
        )

    def with_support(self, support: csr_array) -> CrossedModel:
        """Return the same with other loadings; those that are new are zero, and kept as such."""
        known = self.loadings.tocoo()
        size = max(support.shape[1], 1)
        here = known.row.astype(np.int64) * size + known.col
        order = np.argsort(here)
        marks = support.tocsr()
        marks.sort_indices()
        rows = np.repeat(np.arange(support.shape[0]), np.diff(marks.indptr))
        there = rows.astype(np.int64) * size + marks.indices
        at = np.searchsorted(here[order], there).clip(max=len(here) - 1)
        same = here[order][at] == there
        values = np.where(same, known.data[order][at], 0.0)
        loadings = csr_array((values, marks.indices, marks.indptr), shape=support.shape)
        return replace(self, loadings=loadings)

    def with_factors(self, which: IntArray) -> CrossedModel:
        """Return the same with some of the factors."""
        Phi = self.factor_correlations[np.ix_(which, which)]
        return replace(self, loadings=self.loadings[:, which], factor_correlations=Phi)


def crossed_estimator(model: CrossedModel) -> str:
    """Say how a model was estimated."""
    if model.weight == 0:
        return "Loadings and factor correlations are by maximum likelihood of all items at once."
    return (
        "Loadings are by maximum likelihood of all items at once, given factor correlations from "
        "Bartlett composites of the factors before they were refined."
    )


def fit_crossed(Z: FloatArray, start: CrossedModel) -> CrossedModel:
    """Fit a structure, from the estimates of one that differs in some loadings.

    Parameters
    ----------
    Z
        (p, n) items of mean 0 and variance 1, one per row.
    start
        Where to start; zeros that are kept are loadings, too.
    """
    likelihood = CrossedLikelihood(Z, start)
    found = accelerated_em(likelihood, _TOLERANCE * len(Z) / Z.shape[1], _MOST_STEPS)
    L, T, log_psi = likelihood.unpack(found.theta)
    Phi = T @ T.T
    np.fill_diagonal(Phi, 1.0)
    return CrossedModel(L, np.exp(log_psi), Phi, start.weight)


@dataclass(frozen=True, eq=False)
class CrossedMoments:
    """Expected moments given the items: of items with their factors, edge by edge, and of factors.

    Attributes
    ----------
    c, C_zz
        (edges,) and (d, d).
    """

    c: FloatArray
    C_zz: FloatArray


class CrossedLikelihood:
    """Normal log-likelihood per row of answers, as a function of θ: loadings, log ψ, T if free."""

    def __init__(self, Z: FloatArray, start: CrossedModel) -> None:
        self.Z, self._start = Z, start
        self.p, self.d = start.loadings.shape
        self.free = start.weight == 0
        self.indptr, self.indices = start.loadings.indptr, start.loadings.indices
        self.item = np.repeat(np.arange(self.p), np.diff(self.indptr))
        self.triangle = np.flatnonzero(np.tril(np.ones((self.d, self.d))))
        self.T: FloatArray = np.linalg.cholesky(start.factor_correlations).astype(np.float64)
        n_parents = np.diff(self.indptr)
        # By number of factors: which edges, one row per item.
        self.edges = [
            self.indptr[np.flatnonzero(n_parents == m)][:, None] + np.arange(m)
            for m in np.unique(n_parents[n_parents > 0])
        ]

    def start(self) -> FloatArray:
        """Return θ of the model to start from."""
        own = self.T.take(self.triangle) if self.free else np.zeros(0)
        return np.concatenate([self._start.loadings.data, np.log(self._start.uniquenesses), own])

    def unpack(self, theta: FloatArray) -> tuple[csr_array, FloatArray, FloatArray]:
        """Return Λ, T and log ψ, this within its bounds."""
        m = len(self.indices)
        L = csr_array((theta[:m], self.indices, self.indptr), shape=(self.p, self.d))
        T = self.T
        if self.free:
            T = np.zeros((self.d, self.d))
            T.put(self.triangle, theta[m + self.p :])
        log_psi: FloatArray = theta[m : m + self.p].clip(np.log(LEAST_UNIQUENESS), 0.0)
        return L, T, log_psi

    def evaluate(self, theta: FloatArray) -> tuple[float, CrossedMoments]:
        """Return the log-likelihood at θ, less −p/2 log 2π, and the moments of the E-step."""
        L, T, log_psi = self.unpack(theta)
        n, precision = self.Z.shape[1], np.exp(-log_psi)
        given = GivenItems(self.Z, L, precision, T)
        V = given.V
        F = V @ given.Y
        explained = float(np.einsum("kn,kn->", F, given.Y)) / n
        value = -0.5 * (given.log_det + float(precision.sum()) - explained)
        return value, CrossedMoments(self._with_factors(F), V + F @ F.T / n)

    def _with_factors(self, F: FloatArray) -> FloatArray:
        """(edges,) moments of items with scores of their factors."""
        c, n = np.empty(len(self.indices)), F.shape[1]
        size = max(_NUMBERS_AT_ONCE // n, 1)
        for start in range(0, len(c), size):
            at = slice(start, start + size)
            c[at] = np.einsum("en,en->e", self.Z[self.item[at]], F[self.indices[at]]) / n
        return c

    def em_step(self, moments: CrossedMoments) -> FloatArray:
        """M-step: regress each item on its factors; if Φ is free, Φ = C_zz, with variances 1."""
        c, C_zz = moments.c, moments.C_zz.copy()
        C_zz.flat[:: self.d + 1] *= 1 + RIDGE
        slopes, psi = np.empty_like(c), np.ones(self.p)
        for edges in self.edges:
            S = self.indices[edges]
            found = np.linalg.solve(C_zz[S[:, :, None], S[:, None, :]], c[edges][..., None])
            slopes[edges] = found[..., 0]
            explained = (slopes[edges] * c[edges]).sum(axis=1)
            psi[self.item[edges[:, 0]]] = np.maximum(1 - explained, LEAST_UNIQUENESS)
        if not self.free:
            return np.concatenate([slopes, np.log(psi)])
        scale = np.sqrt(C_zz.diagonal())
        T = np.linalg.cholesky(C_zz) / scale[:, None]
        return np.concatenate([slopes * scale[self.indices], np.log(psi), T.take(self.triangle)])


def parents(support: csr_array, items: IntArray, m: int) -> IntArray:
    """(items, m) factors of some items that have m each."""
    found: IntArray = support.indices[support.indptr[items][:, None] + np.arange(m)]
    return found
