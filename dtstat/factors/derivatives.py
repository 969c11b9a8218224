"""Derivatives of the discrepancy of a factor model: what rows say about its parameters.

The parameters θ are the free loadings, factor correlations and uniquenesses of Σ = ΛΦΛᵀ + Ψ. With
I_r the (p, p) influence of row r on the correlations, 0 on its diagonal, and N_r = Σ⁻¹I_rΣ⁻¹, the
row's score Δ'V I_r has the entries ½ tr(Σ_a N_r), Σ_a = ∂Σ/∂θ_a:

    (N_r ΛΦ)_ik for a loading,   (ΛᵀN_rΛ)_kl for a factor correlation,   ½ (N_r)_ii for ψ_i.

No N_r is computed. With W = Ψ⁻¹Λ, V = (Φ⁻¹ + ΛᵀW)⁻¹, so that Σ⁻¹ = Ψ⁻¹ − WVWᵀ (Woodbury), and
T = I − VΛᵀW, so that Σ⁻¹Λ = WT,

    X = I_r W,   M = WᵀX,   N_r ΛΦ = (Ψ⁻¹X − WVM) V,   ΛᵀN_rΛ = TᵀMT,
    (N_r)_ii = Σ_k w_ik (−2 (XV)_ik / ψ_i + Σ_l w_il (VMV)_lk),
    tr(N_r I_r) = tr(Ψ⁻¹I_rΨ⁻¹I_r) − 2 tr(Ψ⁻¹XVXᵀ) + tr(VMVM),

and all of it costs p²d for a row. Rows are the last axis everywhere, so that each step is one
product of matrices for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.kernels import kernel
from dtstat.core.saved import register
from dtstat.factors.copula import FactorEstimate
from dtstat.factors.maximum_likelihood import LEAST_UNIQUENESS

_LEAST_CONDITION = 1e-10  # reciprocal condition below which a matrix counts as a ridge


@register(shapes={"loadings": "pd", "factor_correlations": "dd"})
@dataclass(frozen=True, eq=False)
class StandardErrors:
    """Standard errors of (p, d) loadings and (d, d) factor correlations; NaN where fixed."""

    loadings: FloatArray
    factor_correlations: FloatArray


class Information:
    """A symmetric matrix to solve with; by a generalized inverse on a ridge."""

    def __init__(self, A: FloatArray) -> None:
        from scipy.linalg import lapack

        self._inverse: FloatArray | None = None
        self._factor, failed = lapack.dpotrf(A, lower=1)
        if not failed:
            condition, failed = lapack.dpocon(self._factor, np.abs(A).sum(axis=0).max(), uplo="L")
            failed = failed or condition < _LEAST_CONDITION
        if failed:
            self._inverse = np.asarray(np.linalg.pinv(A, hermitian=True), dtype=np.float64)

    def solve(self, b: FloatArray) -> FloatArray:
        """Return A⁻¹b for (q, m) b."""
        from scipy.linalg import lapack

        if self._inverse is not None:
            return self._inverse @ b
        solved, _ = lapack.dpotrs(self._factor, b, lower=1)
        return np.ascontiguousarray(solved, dtype=np.float64)


class Score:
    """Derivatives of the discrepancy in loadings, factor correlations and uniquenesses."""

    def __init__(self, estimate: FactorEstimate) -> None:
        self._L, self._Phi = estimate.loadings, estimate.factor_correlations
        self._psi = estimate.uniquenesses
        self._loading = np.nonzero(self._L)
        self._phi = np.triu_indices(len(self._Phi), 1)
        self._free = np.flatnonzero(self._psi > 1.01 * LEAST_UNIQUENESS)
        self._C = self._L @ self._Phi
        Sigma = self._C @ self._L.T + np.diag(self._psi)
        self._P = np.asarray(np.linalg.inv(Sigma), dtype=np.float64)
        self._W = self._L / self._psi[:, None]
        A, one = self._L.T @ self._W, np.eye(len(self._Phi))
        self._V = np.linalg.solve(one + self._Phi @ A, self._Phi)
        self._T = one - self._V @ A
        # Factors of the edges, and where those of each item begin: numbers, and slices.
        factor = np.ascontiguousarray(self._loading[1])
        first = np.searchsorted(self._loading[0], np.arange(len(self._L) + 1))
        self._graph = factor, first
        own = [slice(start, end) for start, end in pairwise(first.tolist())]
        self._items = [(edges, factor[edges]) for edges in own]

    def of_pairs(self, pairs: FloatArray) -> FloatArray:
        """(q, m) Δ'V I_r, of the (p(p − 1)/2, m) influences of pairs."""
        (a, b), psi, W, V, T = self._phi, self._psi, self._W, self._V, self._T
        d, m, edges = len(V), pairs.shape[1], len(self._loading[0])
        _, XV, M = self._sums(pairs)
        VMV = V @ (V @ M.reshape(d, d * m)).reshape(d, d, m)
        TMT = T.T @ (T.T @ M.reshape(d, d * m)).reshape(d, d, m)
        of_loadings, of_psi = np.empty((edges, m)), np.zeros((len(psi), m))
        for i, (own, parents) in enumerate(self._items):
            for e, k in zip(range(own.start, own.stop), parents, strict=True):
                shared = W[i, parents] @ VMV[parents, k]
                of_loadings[e] = XV[e] - shared
                of_psi[i] += W[i, k] * (0.5 * shared - XV[e])
        return np.concatenate([of_loadings, TMT[a, b], of_psi[self._free]])

    def _sums(self, pairs: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(p, d, m) X, (edges, m) Ψ⁻¹XV at the loadings, and (d, d, m) M."""
        W, V, m = self._W, self._V, pairs.shape[1]
        X = np.zeros((*W.shape, m))
        _add_products(pairs, W, self._graph, X)
        M, XV = np.zeros((len(V), len(V), m)), np.empty((len(self._loading[0]), m))
        for i, (own, parents) in enumerate(self._items):
            XV[own] = V[parents] / self._psi[i] @ X[i]
            for k in parents:
                M[k] += W[i, k] * X[i]
        return X, XV, M

    def unexplained(self, pairs: FloatArray) -> float:
        """Σ_r I_r' U I_r with U = V − VΔ (Δ'VΔ)⁻¹ Δ'V.

        What Φ explains has a closed form if its diagonal is free as well, for which one loading of
        each factor is held fixed. With B = ΛᵀΣ⁻¹Λ, Π = Σ⁻¹ΛB⁻¹ΛᵀΣ⁻¹ and D = V + TB⁻¹Tᵀ, what is
        left of Δ'VΔ for the other parameters is

            (Σ⁻¹ − Π)_ij (ΦBΦ)_kl,   (Σ⁻¹ − Π)_ij (Σ⁻¹ΛΦ)_jk,   ½ (Σ⁻¹ − Π)_ij (Σ⁻¹ + Π)_ij

        for two loadings, a loading and ψ, two ψ, with Σ⁻¹ − Π = Ψ⁻¹ − WDWᵀ; and scores have DMV in
        the place of VMV, and DMV + VMD − DMD in that of it for ψ.
        """
        (i, k), psi, W, V, T, f = self._loading, self._psi, self._W, self._V, self._T, self._free
        d, m = len(V), pairs.shape[1]
        B = self._L.T @ W @ T
        D = V + T @ np.linalg.pinv((B + B.T) / 2, hermitian=True) @ T.T
        X, XV, M = self._sums(pairs)
        DM = (D @ M.reshape(d, d * m)).reshape(d, d, m)
        DMV, DMD = V @ DM, D @ DM
        of_loadings, of_psi = np.empty((len(i), m)), np.zeros((len(psi), m))
        for item, (own, parents) in enumerate(self._items):
            for e, factor in zip(range(own.start, own.stop), parents, strict=True):
                w = W[item, parents]
                shared = w @ DMV[parents, factor]
                of_loadings[e] = XV[e] - shared
                of_psi[item] += W[item, factor] * (shared - 0.5 * w @ DMD[parents, factor] - XV[e])
        left = np.diag(1.0 / psi) - W @ D @ W.T
        free = np.ones(len(i), dtype=bool)
        free[
            [np.argmax(np.where(k == factor, np.abs(self._L[i, k]), 0.0)) for factor in set(k)]
        ] = False
        i, k = i[free], k[free]
        PC = self._P @ self._C
        information = np.block(
            [
                [_at(left, i, i) * _at(self._C.T @ PC, k, k), _at(left, i, f) * _at(PC, f, k).T],
                [_at(left, f, i) * _at(PC, f, k), _at(left * (self._P - left / 2), f, f)],
            ]
        )
        g = np.concatenate([of_loadings[free], of_psi[f]])
        weights = 1.0 / np.outer(psi, psi)[np.triu_indices(len(psi), 1)]
        squares = float(weights @ np.einsum("kr,kr->k", pairs, pairs))
        X /= np.sqrt(psi)[:, None, None]
        XX = X.transpose(1, 0, 2).reshape(d, len(psi) * m)
        form = squares - float(np.vdot(V, XX @ XX.T)) + float(np.vdot(DMV - DMD / 2, M))
        return form - float(np.vdot(g, Information(information).solve(g)))

    def residuals(self, pairs: FloatArray, change: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(p(p − 1)/2, m) E_r = I_r − Δ dθ_r, with (q, m) dθ_r how far rows move the estimates.

        And (m,) E_r'E_r.
        """
        E, squares = np.empty(pairs.shape), np.zeros(pairs.shape[1])
        _subtract_products(pairs, *self._moved(change), E, squares)
        return E, squares

    def residual_squares(self, pairs: FloatArray, change: FloatArray) -> float:
        """Σ_r E_r'E_r of `residuals`, which are not kept."""
        E, squares = np.empty((1, pairs.shape[1])), np.zeros(pairs.shape[1])
        _subtract_products(pairs, *self._moved(change), E, squares)
        return float(squares.sum())

    def _moved(
        self, change: FloatArray
    ) -> tuple[FloatArray, tuple[IntArray, IntArray], FloatArray]:
        """Λ, its graph, and (p, d, m) U = dΛ Φ + ½ Λ dΦ: the change of Σ is UΛᵀ + ΛUᵀ."""
        L, (a, b), edges = self._L, self._phi, len(self._loading[0])
        (p, d), m = L.shape, change.shape[1]
        dPhi = np.zeros((d, d, m))
        dPhi[a, b] = dPhi[b, a] = change[edges : edges + len(a)]
        U = np.empty((p, d, m))
        for i, (own, parents) in enumerate(self._items):
            U[i] = self._Phi[:, parents] @ change[own]
            for k in parents:
                U[i] += 0.5 * L[i, k] * dPhi[k]
        return np.array(L), self._graph, U

    @cached_property
    def information(self) -> FloatArray:
        """(q, q) Δ'VΔ."""
        return self._products(self._P)

    def curvature(self, R: FloatArray) -> FloatArray:
        """(q, q) second derivatives of ½ (log|Σ| + tr Σ⁻¹R), the observed information.

        With M = Σ⁻¹RΣ⁻¹, D = Σ⁻¹ − M and Q(X)_ab = ½ tr(Σ_a X Σ_b X) it is
        Q(Σ⁻¹ + M) − 2 Q(Σ⁻¹) − Q(M) + ½ tr(Σ_ab D).
        """
        (i, k), (a, b), P, e = self._loading, self._phi, self._P, len(self._loading[0])
        M = P @ R @ P
        D = P - M
        H = self._products(P + M) - 2 * self.information - self._products(M)
        H[:e, :e] += D[np.ix_(i, i)] * self._Phi[np.ix_(k, k)]
        DL = (D @ self._L)[i]
        cross = (k[:, None] == a) * DL[:, b] + (k[:, None] == b) * DL[:, a]
        H[:e, e : e + len(a)] += cross
        H[e : e + len(a), :e] += cross.T
        return H

    def _products(self, P: FloatArray) -> FloatArray:
        """(q, q) ½ tr(Σ_a P Σ_b P)."""
        (i, k), (a, b), f = self._loading, self._phi, self._free
        L = self._L
        PC, PL = P @ self._C, P @ L
        CPC, LPC, LPL = self._C.T @ PC, L.T @ PC, L.T @ PL
        loading = _at(P, i, i) * _at(CPC, k, k)
        loading += _at(PC, i, k) * _at(PC, i, k).T
        mixed = _at(PL, i, a) * _at(LPC, b, k).T + _at(PL, i, b) * _at(LPC, a, k).T
        phi = _at(LPL, a, a) * _at(LPL, b, b) + _at(LPL, a, b) * _at(LPL, b, a)
        loading_psi = _at(P, i, f) * _at(PC, f, k).T
        phi_psi = _at(PL, f, a).T * _at(PL, f, b).T
        psi = 0.5 * _at(P, f, f) ** 2
        rows = [loading, mixed, loading_psi], [mixed.T, phi, phi_psi]
        return np.block([*rows, [loading_psi.T, phi_psi.T, psi]])

    def unpack(self, changes: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(m, p, d), (m, d, d) and (m, p) changes of Λ, Φ and ψ, from (m, q) of all parameters."""
        (i, k), (a, b), m = self._loading, self._phi, len(changes)
        loadings, phi = np.zeros((m, *self._L.shape)), np.zeros((m, *self._Phi.shape))
        psi = np.zeros((m, len(self._psi)))
        loadings[:, i, k] = changes[:, : len(i)]
        phi[:, a, b] = phi[:, b, a] = changes[:, len(i) : len(i) + len(a)]
        psi[:, self._free] = changes[:, len(i) + len(a) :]
        return loadings, phi, psi

    def errors(self, errors: FloatArray) -> StandardErrors:
        """Put the errors of all parameters where they belong."""
        (i, k), (a, b) = self._loading, self._phi
        loadings, phi = np.full(self._L.shape, np.nan), np.full(self._Phi.shape, np.nan)
        loadings[i, k] = errors[: len(i)]
        phi[a, b] = phi[b, a] = errors[len(i) : len(i) + len(a)]
        return StandardErrors(loadings, phi)


def _at(A: FloatArray, rows: IntArray, columns: IntArray) -> FloatArray:
    """Entries of a matrix in these rows and columns."""
    return A.take(rows, axis=0).take(columns, axis=1)


@kernel
def _add_products(
    pairs: FloatArray, W: FloatArray, graph: tuple[IntArray, IntArray], X: FloatArray
) -> None:
    """Add I_r W of all rows to (p, d, m) X; W has entries where items have factors."""
    factor, first = graph
    p, m, pair = len(W), pairs.shape[1], 0
    for i in range(p):
        for j in range(i + 1, p):
            for e in range(first[j], first[j + 1]):
                w, k = W[j, factor[e]], factor[e]
                for r in range(m):
                    X[i, k, r] += w * pairs[pair, r]
            for e in range(first[i], first[i + 1]):
                w, k = W[i, factor[e]], factor[e]
                for r in range(m):
                    X[j, k, r] += w * pairs[pair, r]
            pair += 1


@kernel
def _subtract_products(
    pairs: FloatArray,
    L: FloatArray,
    graph: tuple[IntArray, IntArray],
    U: FloatArray,
    E: FloatArray,
    squares: FloatArray,
) -> None:
    """Write I_r − UΛᵀ − ΛUᵀ of all pairs to E, and add the squares of rows; U is (p, d, m).

    If E has a single line, the pairs take turns.
    """
    factor, first = graph
    p, m, pair = len(L), pairs.shape[1], 0
    for i in range(p):
        for j in range(i + 1, p):
            line = E[pair % len(E)]
            for r in range(m):
                line[r] = pairs[pair, r]
            for e in range(first[j], first[j + 1]):
                w, k = L[j, factor[e]], factor[e]
                for r in range(m):
                    line[r] -= w * U[i, k, r]
            for e in range(first[i], first[i + 1]):
                w, k = L[i, factor[e]], factor[e]
                for r in range(m):
                    line[r] -= w * U[j, k, r]
            for r in range(m):
                squares[r] += line[r] * line[r]
            pair += 1
