"""Factor models of very many items, one factor each: blocks by themselves, then how they correlate.

Full maximum likelihood takes p × p matrices and moves all parameters at once. Here the measurement
comes first and the structure after (local SAM: Rosseel & Loh 2022):

- the items of each factor alone give their loadings λ and uniquenesses ψ, by maximum likelihood of
  one factor, or by the multiple group method (:mod:`dtstat.structure.groups`) if there are more
  than 1,000;
- with Bartlett's composites f_k = Σ λ_i z_i / ψ_i / g_k, g_k = Σ λ_i² / ψ_i, over the items of k,
  whose errors are those of different items,  φ_kl = f_k·f_l / n.

Both are consistent under the model; they are not its maximum likelihood. With more factors than
rows, or nearly, those φ are not the correlations of any variables: there are negative eigenvalues.
Then they are shrunk towards their mean φ̄, signs aside, Φ* = (1 − w) Φ + w T, by the share w of
their spread that is sampling error (Ledoit & Wolf 2004), and more if need be.

Woodbury's identity (:class:`GivenItems`) gives the likelihood, and with M = ZᵀΣ⁻¹Z / n the misfit:
tr Σ⁻¹R = tr M, tr (Σ⁻¹R)² = tr M². Nothing of size p × p is there.

References
----------
Ledoit, O. & Wolf, M. (2004). Honey, I shrunk the sample covariance matrix. Journal of Portfolio
Management 30(4), 110–119. Rosseel, Y. & Loh, W. W. (2022). A structural after measurement approach
to structural equation modeling. Psychological Methods 29, 561–588.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.parallel import Jobs, run
from dtstat.factors.copula import FactorEstimate, fit_factors
from dtstat.factors.maximum_likelihood import LEAST_UNIQUENESS
from dtstat.factors.robust import rows_worth
from dtstat.factors.small_models import fit_small
from dtstat.structure.composites import Composites

ESTIMATOR = (
    "Loadings are by maximum likelihood of the items of each factor alone, factor correlations "
    "from Bartlett composites of these (structural after measurement), not by maximum likelihood "
    "of all items at once."
)
_SMALL, _MOST_TOGETHER = 60, 1000  # items: compiled loops; of which a block is made
_TOLERANCE = 1e-6
_FACTORS_PER_PIECE = 64
_LEAST_EIGENVALUE = 0.01
_ROWS_PER_BLOCK = 512


@dataclass(frozen=True, eq=False)
class BlockModel:
    """A simple structure with its estimates.

    Attributes
    ----------
    labels
        (p,) factor of each item, −1 for none.
    loadings, uniquenesses
        (p,) λ and ψ.
    factor_correlations
        (k, k) Φ, positive definite.
    weight
        How far these were shrunk towards their mean, 0 to 1.
    gain
        Log-likelihood per row that uncorrelated factors gain on independent items.
    """

    labels: IntArray
    loadings: FloatArray
    uniquenesses: FloatArray
    factor_correlations: FloatArray
    weight: float
    gain: float

    @property
    def support(self) -> BoolArray:
        """(p, k) which item is in which factor."""
        marks: BoolArray = self.labels[:, None] == np.arange(len(self.factor_correlations))
        return marks

    @property
    def sparse_loadings(self) -> csr_array:
        """(p, k) Λ, without its zeros."""
        own = np.flatnonzero(self.labels >= 0)
        shape = len(self.labels), len(self.factor_correlations)
        return csr_array((self.loadings[own], (own, self.labels[own])), shape=shape)

    @property
    def n_parameters(self) -> int:
        """Loadings, uniquenesses and factor correlations."""
        k = len(self.factor_correlations)
        return int((self.labels >= 0).sum()) + len(self.labels) + k * (k - 1) // 2

    def estimate(self, log_likelihood: float) -> FactorEstimate:
        """Return the same as matrices."""
        L = np.zeros((len(self.labels), len(self.factor_correlations)))
        own = np.flatnonzero(self.labels >= 0)
        L[own, self.labels[own]] = self.loadings[own]
        Phi, psi = self.factor_correlations, self.uniquenesses
        return FactorEstimate(L, Phi, psi, log_likelihood, self.n_parameters, True, 0)


def fit_blocks(Z: FloatArray, labels: IntArray, floor: float, n_jobs: Jobs = None) -> BlockModel:
    """Fit a simple structure.

    Parameters
    ----------
    Z
        (p, n) items of mean 0 and variance 1, one per row.
    labels
        (p,) factor of each item, −1 for none, each with two items or more.
    floor
        As in :class:`dtstat.structure.groups.Groups`.
    n_jobs
        Workers.
    """
    p, k = len(labels), int(labels.max()) + 1
    order = np.argsort(labels, kind="stable")[int((labels < 0).sum()) :]
    members = np.split(order, np.cumsum(np.bincount(labels[order], minlength=k))[:-1])
    starts = range(0, k, _FACTORS_PER_PIECE)
    pieces = [members[start : start + _FACTORS_PER_PIECE] for start in starts]
    work = _OneFactor(Z, floor)
    found = [one for _, part in run(work, pieces, n_jobs, ordered=True) for one in part]
    loadings, psi, F, gain = np.zeros(p), np.ones(p), np.empty((k, Z.shape[1])), 0.0
    for j, (items, (own, unique, gained)) in enumerate(zip(members, found, strict=True)):
        loadings[items], psi[items], gain = own, unique, gain + gained
        F[j] = (own / unique) @ Z[items]
    g = _information(labels, loadings, psi, k)
    F /= g[:, None]
    Phi = F @ F.T / Z.shape[1]
    np.fill_diagonal(Phi, 1.0)
    Phi, weight = _shrunk(Phi, g / (1 + g), Z.shape[1])
    return BlockModel(labels, loadings, psi, Phi, weight, gain)


@dataclass(frozen=True, eq=False)
class _OneFactor:
    """Fits one factor to the items of each: λ, ψ and the gain in log-likelihood per row."""

    Z: FloatArray
    floor: float

    def __call__(self, factors: list[IntArray]) -> list[tuple[FloatArray, FloatArray, float]]:
        return [self._fit(items) for items in factors]

    def _fit(self, items: IntArray) -> tuple[FloatArray, FloatArray, float]:
        part, n, m = self.Z[items], self.Z.shape[1], len(items)
        if m > _MOST_TOGETHER:
            groups = Composites(part, np.zeros(m, dtype=np.int64), self.floor)
            own = groups.signs * np.clip(groups.own_strength(), 0.0, 0.99)
            return own, 1 - own**2, _gain(part, own)
        R = part @ part.T / n
        np.fill_diagonal(R, 1.0)
        fit = fit_small if m <= _SMALL else fit_factors
        found = fit(R, n, np.ones((m, 1), dtype=bool), _TOLERANCE)
        independent = -m / 2 * (math.log(2 * math.pi) + 1)
        gain = found.log_likelihood / n - independent
        return found.loadings[:, 0].copy(), found.uniquenesses.copy(), gain


def _gain(Z: FloatArray, loadings: FloatArray) -> float:
    """Log-likelihood per row that one factor gains on independent items."""
    psi, n = 1 - loadings**2, Z.shape[1]
    g = float(np.sum(loadings**2 / psi))
    y = (loadings / psi) @ Z
    explained = float(y @ y) / n / (1 + g)
    trace = float(np.sum(1 / psi)) - explained
    gain: float = -0.5 * (float(np.log(psi).sum()) + math.log1p(g) + trace - len(Z))
    return gain


def _information(labels: IntArray, loadings: FloatArray, psi: FloatArray, k: int) -> FloatArray:
    own = labels >= 0
    g = np.bincount(labels[own], (loadings**2 / psi)[own], k).astype(np.float64)
    return np.maximum(g, LEAST_UNIQUENESS)


def _shrunk(Phi: FloatArray, reliability: FloatArray, n: int) -> tuple[FloatArray, float]:
    """Shrink correlations towards their mean if they have negative eigenvalues; and how far."""
    values, vectors = np.linalg.eigh(Phi)
    if values[0] >= _LEAST_EIGENVALUE:
        return Phi, 0.0
    k, sign = len(Phi), np.where(vectors[:, -1] < 0, -1.0, 1.0)
    mean = max(float(sign @ Phi @ sign - k) / (k * (k - 1)), 0.0)
    target = mean * np.outer(sign, sign)
    np.fill_diagonal(target, 1.0)
    error = (1 - np.clip(Phi, -1, 1) ** 2) ** 2 / np.outer(reliability, reliability) / n
    spread = float(((Phi - target) ** 2).sum())
    weight = min((float(error.sum()) - float(error.trace())) / spread, 1.0)
    # No eigenvalue of the mean of two matrices is less than the mean of their least.
    least = (_LEAST_EIGENVALUE - float(values[0])) / (1 - mean - float(values[0]))
    weight = min(max(weight, least), 1.0)
    return (1 - weight) * Phi + weight * target, weight


@dataclass(frozen=True)
class BlockFit:
    """How well a model of blocks fits: log-likelihood of all rows, and what they are worth."""

    log_likelihood: float
    n_effective: float


class Sparse(Protocol):
    """A model that is known by the loadings it has."""

    @property
    def sparse_loadings(self) -> csr_array:
        """(p, k) Λ, without its zeros."""

    @property
    def uniquenesses(self) -> FloatArray:
        """(p,) ψ."""

    @property
    def factor_correlations(self) -> FloatArray:
        """(k, k) Φ, positive definite."""

    @property
    def n_parameters(self) -> int:
        """Loadings, uniquenesses and factor correlations."""


class GivenItems:
    """The factors given the items, and log |Σ|, from loadings without their zeros.

    With W = Ψ⁻¹Λ, G = ΛᵀW, Φ = TTᵀ and K = I + TᵀGT = CCᵀ they have the covariance and the means

        V = (Φ⁻¹ + G)⁻¹ = UᵀU,   U = C⁻¹Tᵀ,   F = VY,   Y = WᵀZ,

    and Woodbury's identity is Σ⁻¹ = Ψ⁻¹ − W V Wᵀ, with |Σ| = |Ψ| |K|.

    Parameters
    ----------
    Z
        (p, n) items of mean 0 and variance 1, one per row.
    L, precision, T
        Λ, (p,) 1/ψ, and the Cholesky factor of Φ.
    """

    def __init__(self, Z: FloatArray, L: csr_array, precision: FloatArray, T: FloatArray) -> None:
        item = np.repeat(np.arange(len(Z)), np.diff(L.indptr))
        W = csr_array((L.data * precision[item], L.indices, L.indptr), shape=L.shape)
        self.G = L.T @ W
        K = T.T @ (self.G @ T)
        K.flat[:: len(K) + 1] += 1.0
        C = np.linalg.cholesky(K)
        self.U: FloatArray = solve_triangular(C, T.T, lower=True)
        self.Y: FloatArray = W.T @ Z
        self.log_det = 2 * float(np.log(C.diagonal()).sum()) - float(np.log(precision).sum())

    @property
    def V(self) -> FloatArray:
        """(k, k) covariance of the factors."""
        return self.U.T @ self.U


def judge_blocks(Z: FloatArray, model: Sparse) -> BlockFit:
    """Evaluate likelihood and misfit of a model; cost: n²p + k³."""
    (p, n), precision = Z.shape, 1 / model.uniquenesses
    T = np.linalg.cholesky(model.factor_correlations).astype(np.float64, copy=False)
    given = GivenItems(Z, model.sparse_loadings, precision, T)
    B = given.U @ given.Y  # BᵀB = ZᵀW V WᵀZ
    trace = squares = 0.0
    S = Z * precision[:, None]
    for start in range(0, n, _ROWS_PER_BLOCK):
        at = slice(start, min(start + _ROWS_PER_BLOCK, n))
        M = (Z[:, at].T @ S - B[:, at].T @ B) / n
        trace += float(M[np.arange(len(M)), np.arange(at.start, at.stop)].sum())
        squares += float((M**2).sum())
    log_likelihood = -0.5 * n * (p * math.log(2 * math.pi) + given.log_det + trace)
    df = p * (p + 1) // 2 - model.n_parameters
    G = 0.5 * (squares - 2 * trace + p)
    return BlockFit(log_likelihood, rows_worth(G, df, p, n))
