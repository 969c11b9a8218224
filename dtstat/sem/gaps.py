"""The normal likelihood of rows with gaps: sums over the patterns of missing answers.

With W = Σ⁻¹ and the items m that a pattern misses, the inverse of what it observes, with zeros for
what it misses, is

    W_p = W − B Bᵀ,   B = W[:, m] L⁻ᵀ,   L Lᵀ = W[m, m],   log|Σ_p| = log|Σ| + log|W[m, m]|,

so a pattern costs the number of its gaps, not that of its items. A pattern's rows enter as roots:
rows D with DᵀD = w (S + d dᵀ), w its share of the rows and d its mean less μ; E = D W_p. All
patterns with the same number of gaps are computed together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.parallel import Steps
from dtstat.sem.matrices import Implied, NotPositiveDefiniteError, inverse
from dtstat.sem.rows import Batch

_CHUNK = 2**16  # numbers held at a time for the products of a batch's parameters: a cache's worth


def likelihood(
    batches: Sequence[Batch], Sigma: FloatArray, mu: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """−log L per row (no constant), G = ∂(−2 log L / n)/∂Σ and g = ∂(log L / n)/∂μ.

    Over the patterns, G = Σ (w W_p − EᵀE) and g is the sum of √w times the rows of E for the means.
    """
    W, logdet = inverse(Sigma)
    value, G, g = 0.0, np.zeros_like(W), np.zeros(len(W))
    for batch in batches:
        at = _weigh(batch, W, mu)
        value += 0.5 * float(batch.share @ (logdet + at.logdet) + (at.D * at.E).sum())
        G += batch.share.sum() * W
        G -= _square(np.sqrt(batch.share)[:, None, None] * np.swapaxes(at.B, 1, 2))
        G -= _square(at.E)
        g += np.sqrt(batch.share) @ at.E[:, 0]
    return value, G, g


def expected_information(
    batches: Sequence[Batch], implied: Implied, steps: Steps | None = None
) -> FloatArray:
    """(slots, slots) expected information per row, given the patterns."""
    total = np.zeros((implied.U.shape[1],) * 2)
    for batch, at, uu, vv, uv in _products(batches, implied, steps):
        total += np.einsum("k,kab->ab", batch.share, uu * vv + uv * np.swapaxes(uv, 1, 2))
        total += _mean_information(batch, at, implied)
    return total


def linearized_hessian(
    batches: Sequence[Batch], implied: Implied, steps: Steps | None = None
) -> tuple[FloatArray, FloatArray]:
    """(slots, slots) second derivative per row for Σ and μ linear in the parameters.

    A pattern contributes, with N = Σ e eᵀ over its rows of E, for ∂Σ/∂θ_a = u_a v_aᵀ + v_a u_aᵀ,

        tr(W_p ∂Σ_a (N − ½ w W_p) ∂Σ_b) + w (∂μ_aᵀ W_p ∂μ_b) + w eᵀ(∂Σ_a W_p ∂μ_b + ∂Σ_b W_p ∂μ_a).

    Returns the expected information, too, which is on the way.
    """
    W, _ = implied.inverse
    total, expected = np.zeros((2, *(implied.U.shape[1],) * 2))
    UWm, VWm = implied.U.T @ W @ implied.dmu, implied.V.T @ W @ implied.dmu
    for batch, at, uu, vv, uv in _products(batches, implied, steps):
        s, t = at.E @ implied.U, at.E @ implied.V
        ss, tt, st = (np.swapaxes(a, 1, 2) @ b for a, b in ((s, s), (t, t), (s, t)))
        half = np.einsum("kba,kab->ab", st, uv)
        total += half + half.T + np.einsum("kab,kab->ab", ss, vv) + np.einsum("kab,kab->ab", tt, uu)
        known = np.einsum("k,kab->ab", batch.share, uu * vv + uv * np.swapaxes(uv, 1, 2))
        of_means = _mean_information(batch, at, implied)
        expected += known
        expected += of_means
        total -= known
        total += of_means
        if not implied.dmu.any():
            continue
        s, t = (np.sqrt(batch.share)[:, None] * part[:, 0] for part in (s, t))
        cross = s.sum(axis=0)[:, None] * VWm + t.sum(axis=0)[:, None] * UWm
        B = np.swapaxes(at.B, 1, 2)
        moved = s[:, None] * (B @ implied.V) + t[:, None] * (B @ implied.U)
        cross -= np.einsum("kga,kgb->ab", moved, B @ implied.dmu, optimize=True)
        total += cross + cross.T
    return total, expected


def saturated_hessian(
    batches: Sequence[Batch], Sigma: FloatArray, mu: FloatArray, steps: Steps | None = None
) -> FloatArray:
    """Second derivative per row in all variances and covariances (row by row), then all means.

    Here ∂Σ/∂σ_ij is a matrix of ones and zeros, so all entries come from two sums over the
    patterns: of the products W_p[i, k] M_p[j, l], M_p = N − ½ w W_p, and of e[i] W_p[j, k].
    """
    W, _ = inverse(Sigma)
    p = len(W)
    i, j = np.tril_indices(p)
    square, cross, means = np.zeros((len(i),) * 2), np.zeros((p, p, p)), np.zeros((p, p))
    for batch, at, Wp in _inverses(batches, W, mu, steps):
        wW = batch.share[:, None, None] * Wp
        M = np.swapaxes(at.E, 1, 2) @ at.E - 0.5 * wW
        square += Wp[:, i, j].T @ M[:, i, j]
        cross += np.tensordot(np.sqrt(batch.share)[:, None] * at.E[:, 0], Wp, (0, 0))
        means += wW.sum(axis=0)
    return _saturated_matrix(square, cross, means)


def squared_length(
    batches: Sequence[Batch], Sigma: FloatArray, D: FloatArray, d: FloatArray
) -> float:
    """Σ w (½ tr(W_p D W_p D) + dᵀ W_p d) over the patterns."""
    total = 0.0
    for batch, _, Wp in _inverses(batches, inverse(Sigma)[0], 0 * d):
        WD = Wp @ D
        total += 0.5 * float(np.einsum("k,kab,kba->", batch.share, WD, WD))
        total += float(batch.share @ (Wp @ d @ d))
    return total


class _Weighted(NamedTuple):
    """What the patterns of a batch make of W: (k, p, g) B, (k,) log|W[m, m]|, (k, r + 1, p) D, E.

    The first row of D and E belongs to the mean, the others to the roots.
    """

    B: FloatArray
    logdet: FloatArray
    D: FloatArray
    E: FloatArray


def _weigh(batch: Batch, W: FloatArray, mu: FloatArray) -> _Weighted:
    """Give each pattern of a batch its own W."""
    columns = np.moveaxis(W[:, batch.missing], 0, 1)  # (k, p, g)
    try:
        L = np.linalg.cholesky(np.take_along_axis(columns, batch.missing[:, :, None], 1))
    except np.linalg.LinAlgError:
        raise NotPositiveDefiniteError from None
    B = columns @ np.swapaxes(np.linalg.inv(L), 1, 2)
    logdet = 2.0 * np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1)
    d = np.sqrt(batch.share)[:, None] * batch.seen * (batch.mean - mu)
    D = np.concatenate([d[:, None], batch.roots], axis=1)
    E = (D @ W - (D @ B) @ np.swapaxes(B, 1, 2)) * batch.seen[:, None]
    return _Weighted(B, logdet, D, E)


def _products(
    batches: Sequence[Batch], implied: Implied, steps: Steps | None
) -> Iterator[tuple[Batch, _Weighted, FloatArray, FloatArray, FloatArray]]:
    """UᵀW_pU, VᵀW_pV and UᵀW_pV of every pattern, as many at a time as memory allows."""
    W, _ = implied.inverse
    U, V = implied.U, implied.V
    UU, VV, UV = U.T @ W @ U, V.T @ W @ V, U.T @ W @ V
    size = max(1, _CHUNK // max(UU.size, 1))
    for batch in _cut(batches, size, steps):
        at = _weigh(batch, W, implied.mu)
        x, y = np.swapaxes(at.B, 1, 2) @ U, np.swapaxes(at.B, 1, 2) @ V
        xt, yt = np.swapaxes(x, 1, 2), np.swapaxes(y, 1, 2)
        yield batch, at, UU - xt @ x, VV - yt @ y, UV - xt @ y


def _inverses(
    batches: Sequence[Batch], W: FloatArray, mu: FloatArray, steps: Steps | None = None
) -> Iterator[tuple[Batch, _Weighted, FloatArray]]:
    """(k, p, p) W_p of every pattern, as many at a time as memory allows."""
    for batch in _cut(batches, max(1, _CHUNK // len(W)), steps):
        at = _weigh(batch, W, mu)
        Wp = W - at.B @ np.swapaxes(at.B, 1, 2)
        yield batch, at, Wp * batch.seen[:, :, None] * batch.seen[:, None]


def _cut(batches: Sequence[Batch], size: int, steps: Steps | None) -> Iterator[Batch]:
    """Cut batches into some of at most ``size`` patterns, which are parts of a step."""
    cuts = [(whole, k) for whole in batches for k in range(0, len(whole.share), size)]
    for whole, k in (steps or Steps()).through(cuts):
        yield whole.part(slice(k, k + size))


def _mean_information(batch: Batch, at: _Weighted, implied: Implied) -> FloatArray:
    """Σ w ∂μᵀ W_p ∂μ over the patterns of a batch."""
    if not implied.dmu.any():
        return np.zeros((1, 1))
    W, _ = implied.inverse
    rows = np.sqrt(batch.share)[:, None, None] * (np.swapaxes(at.B, 1, 2) @ implied.dmu)
    information: FloatArray = batch.share.sum() * (implied.dmu.T @ W @ implied.dmu) - _square(rows)
    return information


def _square(rows: FloatArray) -> FloatArray:
    """Σ xᵀx over all rows of a (k, r, p) array."""
    flat = rows.reshape(-1, rows.shape[-1])
    product: FloatArray = flat.T @ flat
    return product


def _saturated_matrix(square: FloatArray, cross: FloatArray, means: FloatArray) -> FloatArray:
    p = len(means)
    i, j = np.tril_indices(p)
    at = np.zeros((p, p), dtype=np.int64)  # where an entry stands among those below the diagonal
    at[i, j] = at[j, i] = np.arange(len(i))
    ik, jl, il, jk = at[i[:, None], i], at[j[:, None], j], at[i[:, None], j], at[j[:, None], i]
    half = np.where(i == j, 0.5, 1.0)
    whole = square[ik, jl] + square[jl, ik] + square[il, jk] + square[jk, il]
    mixed = half[:, None] * (cross[i, j] + cross[j, i])
    return np.block([[half[:, None] * half * whole, mixed], [mixed.T, means]])
