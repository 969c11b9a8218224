"""The rows a model is fitted to, and whether maximum likelihood can work on them.

Sums over the patterns of missing answers, all patterns of one size at a time.

With W = Σ⁻¹ and the items m that a pattern misses, the inverse of what it observes, with zeros for
what it misses, is

    W_p = W − B Bᵀ,   B = W[:, m] L⁻ᵀ,   L Lᵀ = W[m, m],   log|Σ_p| = log|Σ| + log|W[m, m]|,

so a pattern costs the number of its gaps, not that of its items. A pattern's rows enter as roots:
rows D with DᵀD = w (S + d dᵀ), w its share of the rows and d its mean less μ; E = D W_p.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.errors import EstimationError, InputError
from dtstat.core.saved import register
from dtstat.data.items import ItemData
from dtstat.data.screening import find_combinations
from dtstat.sem.matrices import Implied, NotPositiveDefiniteError, inverse

_PERFECT = 1e-10  # distance of a correlation from 1, or of an eigenvalue from 0, that is rounding
_LARGEST = 1e60  # fourth moments of answers up to this size are numbers
_MOST_NAMES = 6  # listed in a message


def usable_rows(items: ItemData, gaps: bool) -> FloatArray:
    """Rows without gaps, or with ``gaps`` those with any answer.

    Raises
    ------
    InputError
        If an item has no variance left.
    EstimationError
        If there are no more rows than items, or the covariance matrix is singular.
    """
    answered = ~np.isnan(items.values)
    X = items.values[answered.any(axis=1) if gaps else answered.all(axis=1)]
    _check_size(X, items.names)
    _check_count(X, items.n_rows, gaps)
    _check_variance(X, items)
    _check_correlations(X, items.names)
    return X


def _check_size(X: FloatArray, names: Sequence[str]) -> None:
    """Refuse answers whose squares are no numbers; estimates are in units of the answers."""
    if not X.size:
        return
    size = np.nanmax(np.abs(X), axis=0)
    bad = np.flatnonzero((size > _LARGEST) | ((size < 1 / _LARGEST) & (size > 0)))
    if bad.size:
        raise InputError(
            f"item '{names[bad[0]]}' must have answers of moderate size; got {size[bad[0]]:g} at "
            "most, whose variance cannot be computed with. Measure it in other units.",
            "data",
        )


def _check_count(X: FloatArray, n_given: int, gaps: bool) -> None:
    n, p = X.shape
    if n > p:
        return
    rows = f"{n} rows" if n == n_given else f"{n} usable rows of {n_given}"
    advice = "Use fewer items or more rows."
    if n < n_given and not gaps:
        advice = "Rows with missing answers were left out; missing='fiml' keeps them."
    raise EstimationError(
        f"Maximum likelihood needs more rows than items; got {rows} for {p} items. Otherwise the "
        f"covariance matrix is singular and the likelihood has no maximum. {advice}"
    )


def _check_variance(X: FloatArray, items: ItemData) -> None:
    constant = np.flatnonzero(np.nanmax(X, axis=0) == np.nanmin(X, axis=0))
    if constant.size:
        left = len(X) < items.n_rows
        why = f" in the {len(X)} rows without missing answers" if left else ""
        advice = "Leave it out" + (", or keep all rows with missing='fiml'." if left else ".")
        raise InputError(
            f"item '{items.names[constant[0]]}' has the same answer everywhere{why}. {advice}",
            "data",
        )


def _check_correlations(X: FloatArray, names: Sequence[str]) -> None:
    gaps = bool(np.isnan(X).any())
    R = pd.DataFrame(X).corr().to_numpy() if gaps else np.corrcoef(X, rowvar=False)
    i, j = np.nonzero(np.triu(np.abs(R) > 1 - _PERFECT, 1))
    if i.size:
        raise EstimationError(
            f"Items '{names[i[0]]}' and '{names[j[0]]}' are perfectly correlated, so the "
            "covariance matrix is singular and the likelihood has no maximum. Leave one of them "
            "out."
        )
    if gaps or _clearly_regular(np.asarray(R, dtype=np.float64)):
        return
    values, vectors = np.linalg.eigh(R)
    if values[0] < _PERFECT:
        involved = [names[int(k)] for k in np.flatnonzero(np.abs(vectors[:, 0]) > 0.1)]
        listed = ", ".join(f"'{name}'" for name in involved[:_MOST_NAMES])
        for says, advice in find_combinations(X, names):
            raise EstimationError(
                f"{says[0].upper()}{says[1:]}, so the covariance matrix is singular and the "
                f"likelihood has no maximum. {advice[0].upper()}{advice[1:]}."
            )
        raise EstimationError(
            f"The answers to {listed} determine each other exactly (one is a sum of others), so "
            "the covariance matrix is singular and the likelihood has no maximum. Leave one of "
            "them out."
        )


def _clearly_regular(R: FloatArray) -> bool:
    """Whether no item is close to a combination of those before it; cheaper than eigenvalues."""
    try:
        return bool(np.linalg.cholesky(R).diagonal().min() > 1e-3)
    except np.linalg.LinAlgError:
        return False


_CHUNK = 2**16  # numbers held at a time for the products of a batch's parameters: a cache's worth


@register(shapes={"items": "k", "mean": "k", "S": "kk"})
@dataclass(frozen=True)
class Pattern:
    """Rows that observe the same items.

    Attributes
    ----------
    items
        (k,) indices of the observed items.
    n
        Number of rows.
    mean, S
        (k,) mean and (k, k) covariance (divisor n) of those rows.
    """

    items: IntArray
    n: int
    mean: FloatArray
    S: FloatArray


@dataclass(frozen=True)
class Batch:
    """Patterns with the same number g of gaps.

    Attributes
    ----------
    missing
        (k, g) items that each pattern misses.
    share
        (k,) shares of the rows.
    seen
        (k, p) 1 for items that are observed, 0 for the others.
    mean
        (k, p) means, 0 for what is missing.
    roots
        (k, r, p) rows whose products add up to share times S.
    """

    missing: IntArray
    share: FloatArray
    seen: FloatArray
    mean: FloatArray
    roots: FloatArray

    def part(self, rows: slice) -> Batch:
        """Return some of the patterns."""
        return Batch(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


class Weighted(NamedTuple):
    """What the patterns of a batch make of W: (k, p, g) B, (k,) log|W[m, m]|, (k, r + 1, p) D, E.

    The first row of D and E belongs to the mean, the others to the roots.
    """

    B: FloatArray
    logdet: FloatArray
    D: FloatArray
    E: FloatArray


def batches(patterns: Sequence[Pattern], n_obs: int, n_items: int) -> tuple[Batch, ...]:
    """Sort patterns by their number of gaps."""
    by_gaps: dict[int, list[Pattern]] = {}
    for pattern in patterns:
        by_gaps.setdefault(n_items - len(pattern.items), []).append(pattern)
    return tuple(_batch(group, n_obs, n_items) for _, group in sorted(by_gaps.items()))


def _batch(patterns: list[Pattern], n_obs: int, p: int) -> Batch:
    seen, mean = np.zeros((2, len(patterns), p))
    halves = [_root(pattern) * np.sqrt(pattern.n / n_obs) for pattern in patterns]
    roots = np.zeros((len(patterns), max(len(half) for half in halves), p))
    for k, (pattern, half) in enumerate(zip(patterns, halves, strict=True)):
        seen[k, pattern.items] = 1.0
        mean[k, pattern.items] = pattern.mean
        roots[k, : len(half), pattern.items] = half.T
    gaps = p - len(patterns[0].items)
    missing = np.argsort(seen, axis=1, kind="stable")[:, :gaps]
    share = np.array([pattern.n / n_obs for pattern in patterns])
    return Batch(missing.astype(np.int64), share, seen, mean, roots)


def _root(pattern: Pattern) -> FloatArray:
    """(r, items) R with RᵀR = S, of no more rows than the rank of S."""
    if pattern.n == 1:
        return np.zeros((0, len(pattern.items)))
    scale = np.sqrt(np.where(np.diag(pattern.S) > 0, np.diag(pattern.S), 1.0))
    values, vectors = np.linalg.eigh(pattern.S / np.outer(scale, scale))
    largest = slice(max(len(values) - pattern.n + 1, 0), None)
    kept = np.sqrt(np.maximum(values[largest], 0.0))
    root: FloatArray = (vectors[:, largest] * kept).T * scale
    return root


def weigh(batch: Batch, W: FloatArray, mu: FloatArray) -> Weighted:
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
    return Weighted(B, logdet, D, E)


def likelihood_pieces(
    all_: Sequence[Batch], Sigma: FloatArray, mu: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Half of −2 log L per row (no constant), G = ∂(−2 log L / n)/∂Σ, and g = −∂(−log L / n)/∂μ.

    Over the patterns, G = Σ (w W_p − EᵀE) and g is the sum of √w times the means' rows of E.
    """
    W, logdet = inverse(Sigma)
    value, G, g = 0.0, np.zeros_like(W), np.zeros(len(W))
    for batch in all_:
        at = weigh(batch, W, mu)
        value += 0.5 * float(batch.share @ (logdet + at.logdet) + (at.D * at.E).sum())
        G += batch.share.sum() * W
        G -= _square(np.sqrt(batch.share)[:, None, None] * np.swapaxes(at.B, 1, 2))
        G -= _square(at.E)
        g += np.sqrt(batch.share) @ at.E[:, 0]
    return value, G, g


def _square(rows: FloatArray) -> FloatArray:
    """Σ xᵀx over all rows of a (k, r, p) array."""
    flat = rows.reshape(-1, rows.shape[-1])
    product: FloatArray = flat.T @ flat
    return product


def expected_pieces(all_: Sequence[Batch], implied: Implied) -> FloatArray:
    """(slots, slots) expected information per row, given the patterns."""
    total = np.zeros((implied.U.shape[1],) * 2)
    for batch, at, uu, vv, uv in _products(all_, implied):
        total += np.einsum("k,kab->ab", batch.share, uu * vv + uv * np.swapaxes(uv, 1, 2))
        total += _mean_information(batch, at, implied)
    return total


def observed_pieces(all_: Sequence[Batch], implied: Implied) -> FloatArray:
    """(slots, slots) second derivative per row, less what the curvature of Σ and μ adds.

    Of a pattern with N = Σ e eᵀ over its rows of E, for ∂Σ/∂θ_a = u_a v_aᵀ + v_a u_aᵀ,

        tr(W_p ∂Σ_a (N − ½ w W_p) ∂Σ_b) + w (∂μ_aᵀ W_p ∂μ_b) + w eᵀ(∂Σ_a W_p ∂μ_b + ∂Σ_b W_p ∂μ_a).
    """
    W, _ = implied.inverse
    total = np.zeros((implied.U.shape[1],) * 2)
    UWm, VWm = implied.U.T @ W @ implied.dmu, implied.V.T @ W @ implied.dmu
    for batch, at, uu, vv, uv in _products(all_, implied):
        s, t = at.E @ implied.U, at.E @ implied.V
        ss, tt, st = (np.swapaxes(a, 1, 2) @ b for a, b in ((s, s), (t, t), (s, t)))
        half = np.einsum("kba,kab->ab", st, uv)
        total += half + half.T + np.einsum("kab,kab->ab", ss, vv) + np.einsum("kab,kab->ab", tt, uu)
        total -= np.einsum("k,kab->ab", batch.share, uu * vv + uv * np.swapaxes(uv, 1, 2))
        total += _mean_information(batch, at, implied)
        if not implied.dmu.any():
            continue
        s, t = (np.sqrt(batch.share)[:, None] * part[:, 0] for part in (s, t))
        cross = s.sum(axis=0)[:, None] * VWm + t.sum(axis=0)[:, None] * UWm
        B = np.swapaxes(at.B, 1, 2)
        moved = s[:, None] * (B @ implied.V) + t[:, None] * (B @ implied.U)
        cross -= np.einsum("kga,kgb->ab", moved, B @ implied.dmu, optimize=True)
        total += cross + cross.T
    return total


def _mean_information(batch: Batch, at: Weighted, implied: Implied) -> FloatArray:
    """Σ w ∂μᵀ W_p ∂μ over the patterns of a batch."""
    if not implied.dmu.any():
        return np.zeros((1, 1))
    W, _ = implied.inverse
    rows = np.sqrt(batch.share)[:, None, None] * (np.swapaxes(at.B, 1, 2) @ implied.dmu)
    information: FloatArray = batch.share.sum() * (implied.dmu.T @ W @ implied.dmu) - _square(rows)
    return information


def _products(
    all_: Sequence[Batch], implied: Implied
) -> Iterator[tuple[Batch, Weighted, FloatArray, FloatArray, FloatArray]]:
    """UᵀW_pU, VᵀW_pV and UᵀW_pV of every pattern, as many at a time as memory allows."""
    W, _ = implied.inverse
    U, V = implied.U, implied.V
    UU, VV, UV = U.T @ W @ U, V.T @ W @ V, U.T @ W @ V
    size = max(1, _CHUNK // max(UU.size, 1))
    for whole in all_:
        for start in range(0, len(whole.share), size):
            batch = whole.part(slice(start, start + size))
            at = weigh(batch, W, implied.mu)
            x, y = np.swapaxes(at.B, 1, 2) @ U, np.swapaxes(at.B, 1, 2) @ V
            xt, yt = np.swapaxes(x, 1, 2), np.swapaxes(y, 1, 2)
            yield batch, at, UU - xt @ x, VV - yt @ y, UV - xt @ y


def squared_length_with_gaps(
    all_: Sequence[Batch], Sigma: FloatArray, D: FloatArray, d: FloatArray
) -> float:
    """Σ w (½ tr(W_p D W_p D) + dᵀ W_p d) over the patterns."""
    total = 0.0
    for batch, _, Wp in _inverses(all_, inverse(Sigma)[0], 0 * d):
        WD = Wp @ D
        total += 0.5 * float(np.einsum("k,kab,kba->", batch.share, WD, WD))
        total += float(batch.share @ (Wp @ d @ d))
    return total


def _inverses(
    all_: Sequence[Batch], W: FloatArray, mu: FloatArray
) -> Iterator[tuple[Batch, Weighted, FloatArray]]:
    """(k, p, p) W_p of every pattern, as many at a time as memory allows."""
    for whole in all_:
        for start in range(0, len(whole.share), size := max(1, _CHUNK // len(W))):
            batch = whole.part(slice(start, start + size))
            at = weigh(batch, W, mu)
            Wp = W - at.B @ np.swapaxes(at.B, 1, 2)
            yield batch, at, Wp * batch.seen[:, :, None] * batch.seen[:, None]


def saturated_pieces(all_: Sequence[Batch], Sigma: FloatArray, mu: FloatArray) -> FloatArray:
    """Second derivative per row in all variances and covariances (row by row), then all means.

    Here ∂Σ/∂σ_ij is a matrix of ones and zeros, so that all entries are those of two sums over
    the patterns: of the products W_p[i, k] M_p[j, l], M_p = N − ½ w W_p, and e[i] W_p[j, k].
    """
    W, _ = inverse(Sigma)
    p = len(W)
    i, j = np.tril_indices(p)
    square, cross, means = np.zeros((len(i),) * 2), np.zeros((p, p, p)), np.zeros((p, p))
    for batch, at, Wp in _inverses(all_, W, mu):
        wW = batch.share[:, None, None] * Wp
        M = np.swapaxes(at.E, 1, 2) @ at.E - 0.5 * wW
        square += Wp[:, i, j].T @ M[:, i, j]
        cross += np.tensordot(np.sqrt(batch.share)[:, None] * at.E[:, 0], Wp, (0, 0))
        means += wW.sum(axis=0)
    return _saturated_matrix(square, cross, means)


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
