"""How far each row moves each latent correlation: the influence functions behind standard errors.

A latent correlation r_ij is a function of the distribution of the rows, so to first order a row
x changes it by 1/n times its *influence* I_ij(x), and √n (r − ρ) is asymptotically normal with the
covariance Γ = E[I I'] over all pairs. With z, u and s for standardized answers, mid-ranks divided
by n and signs of differences, k(x, X) = 1[x < X] + ½ 1[x = X], and R for the correlations:

    Pearson    z_i z_j − ½ r (z_i² + z_j²),  for any distribution with fourth moments;
    Spearman   [c_ij(x) / √(v_i v_j) − ½ r_S (v_i(x) / v_i + v_j(x) / v_j)] · (π/3) cos(π r_S / 6),
               c_ij(x) = u_i u_j + E U_j k(x_i, X_i) + E U_i k(x_j, X_j), v_i(x) = c_ii(x);
    Kendall    [h_ij(x) / √(h_ii h_jj) − ½ τ (h_ii(x) / h_ii + h_jj(x) / h_jj)] · π cos(π τ / 2),
               h_ij(x) = E s(x_i − X_i) s(x_j − X_j);
    polychoric, polyserial   the two-step influence; see
               :func:`dtstat.dependence.bivariate_normal.table_influence`,
               :mod:`dtstat.dependence.ordinal_scores`;

each less its mean. The second terms of the rank correlations are what ties add. A pair that only
some rows have in common counts those with n / n_ij and the others with 0.

References
----------
Hoeffding, W. (1948). A class of statistics with asymptotically normal distribution. Annals of
Mathematical Statistics 19, 293–325: rank correlations. Steiger, J. H. & Hakstian, A. R. (1982). The
asymptotic distribution of elements of a correlation matrix. British Journal of Mathematical and
Statistical Psychology 35, 208–215: Pearson. Olsson (1979): polychoric.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.parallel import Progress
from dtstat.data.frame import Frame, rows_by_content
from dtstat.data.items import ItemKind
from dtstat.dependence.bivariate_normal import influence_row
from dtstat.dependence.measures import INVERSE_BRIDGES, LATENT, RANKS
from dtstat.dependence.ordinal_scores import serial_influence
from dtstat.dependence.pearson import pearson, rescale_extremes
from dtstat.dependence.polychoric import code_items, latent_correlation_matrix
from dtstat.dependence.spearman import dense_codes

# Numbers in the array of influences, and products of signs for Kendall: what memory and patience
# allow. Γ is a mean over rows, which some thousand of them estimate as well as all.
_MOST_NUMBERS = 10_000_000
_MOST_SIGNS = 20_000_000_000
_LARGEST = 0.999
_SEED = 0


@dataclass(frozen=True, eq=False)
class Influence:
    """Influence of rows on latent correlations.

    Attributes
    ----------
    pairs
        (p(p − 1)/2, m) influence of m rows on the correlation of each pair, with mean 0; pairs as
        ``np.triu_indices(p, 1)`` lists them.
    bounded
        Whether influences cannot be arbitrarily large: so with ranks and categories, not with
        products of answers.
    halves
        The same as ``pairs`` for two halves of the rows, each about its own correlations. Where
        influences are unbounded or categories rare, a sample shows too little of their variance;
        the difference between a half and the whole tells by how much. Empty where that is not
        needed or not possible.
    """

    pairs: FloatArray
    bounded: bool
    halves: tuple[FloatArray, ...] = ()


def most_rows(n: int, p: int, measure: str, most_numbers: int = _MOST_NUMBERS) -> int:
    """How many of n rows of p items influences are computed for."""
    rows = most_numbers // p**2
    if measure == "kendall":
        rows = min(rows, math.isqrt(_MOST_SIGNS // p**2))
    return min(n, rows)


def latent_influence(
    values: FloatArray,
    kinds: Sequence[ItemKind],
    measure: str,
    R: FloatArray,
    most_numbers: int = _MOST_NUMBERS,
    by_content: bool = False,
    progress: Progress = None,
) -> Influence:
    """Influence of rows, all or so many that memory stays bounded, on latent correlations.

    ``values`` are (n, p) answers, NaN where missing, ``by_content`` says whether their rows are in
    the order of their content; R are the (p, p) latent correlations that were computed by
    ``measure``; the array of influences has at most ``most_numbers`` numbers. Progress counts
    items, by which rows are put in order.
    """
    n, p = values.shape
    m = most_rows(n, p, measure, most_numbers)
    if m < n or measure not in RANKS:  # some rows are taken, or halves of them
        values = values[draw_rows(values, R, m, by_content, progress)]
    pairs = pair_influences(values, kinds, measure, R)
    return Influence(pairs, measure != "pearson", _halves(values, kinds, measure))


def draw_rows(
    values: FloatArray, R: FloatArray, m: int, by_content: bool = False, progress: Progress = None
) -> IntArray:
    """Numbers of m rows, the same rows whatever the order of rows and items."""
    n = len(values)
    rows = np.random.default_rng(_SEED).permutation(n)[:m] if m < n else np.arange(n)
    return rows if by_content else rows_by_content(values, Frame.of(R), progress)[rows]


def _halves(values: FloatArray, kinds: Sequence[ItemKind], measure: str) -> tuple[FloatArray, ...]:
    """Influences in two halves of the rows; none of ranks, and none if an item is constant."""
    if measure in RANKS:
        return ()
    halves = []
    for part in (values[::2], values[1::2]):
        if (np.isnan(part).all(axis=0) | (np.nanmax(part, 0) == np.nanmin(part, 0))).any():
            return ()
        R = pearson(part) if measure == "pearson" else latent_correlation_matrix(part, kinds)
        if not np.isfinite(R).all():
            return ()
        halves.append(pair_influences(part, kinds, measure, R))
    return tuple(halves)


def pair_influences(
    values: FloatArray, kinds: Sequence[ItemKind], measure: str, R: FloatArray
) -> FloatArray:
    """(p(p − 1)/2, n) influence of rows on the latent correlation of each pair, with mean 0."""
    if measure in LATENT:
        return _categorical(values, kinds, R)
    observed = ~np.isnan(values)
    influence = _INFLUENCES[measure](values, observed, R)
    if not observed.all():
        i, j = np.triu_indices(len(R), 1)
        both = observed.T[i] & observed.T[j]
        common = np.maximum(both.sum(axis=1, keepdims=True), 1)
        influence -= (influence * both).sum(axis=1, keepdims=True) / common
        influence *= both * (len(values) / common)
    influence -= influence.mean(axis=1, keepdims=True)
    return influence


def pair_blocks(p: int) -> list[slice]:
    """Where the pairs (i, j) of item i with the items j > i stand, for every i."""
    ends = np.cumsum(np.arange(p - 1, -1, -1)).tolist()
    return [slice(start, end) for start, end in pairwise([0, *ends])]


def _pearson(values: FloatArray, _: BoolArray, R: FloatArray) -> FloatArray:
    values = rescale_extremes(values)
    Z = values - np.nanmean(values, axis=0)
    Z /= np.sqrt(np.nanmean(Z**2, axis=0))
    Z = np.ascontiguousarray(np.nan_to_num(Z).T)
    squares = Z**2
    influence = np.empty((len(R) * (len(R) - 1) // 2, len(values)))
    for i, block in enumerate(pair_blocks(len(R))):
        influence[block] = Z[i] * Z[i + 1 :]
        influence[block] -= 0.5 * R[i, i + 1 :, None] * (squares[i] + squares[i + 1 :])
    return influence


def _spearman(values: FloatArray, observed: BoolArray, R: FloatArray) -> FloatArray:
    n, p = values.shape
    common = np.maximum(observed.T.astype(float) @ observed, 1)
    rows = [np.flatnonzero(column) for column in observed.T]
    ranks = [_rank_range(values[r, i]) for i, r in enumerate(rows)]
    U = np.zeros((n, p))
    for i, (order, low, high) in enumerate(ranks):
        # From −½ to ½, so that an item turned round has the same with the other sign.
        U[rows[i][order], i] = (low + high) / 2 / max(len(rows[i]), 1) - 0.5
    of_items = np.ascontiguousarray(U.T)
    product, own = np.empty((p * (p - 1) // 2, n)), of_items**2
    blocks = pair_blocks(p)
    for i, block in enumerate(blocks):
        np.multiply(of_items[i], of_items[i + 1 :], out=product[block])
    starts = np.array([block.start - i - 1 for i, block in enumerate(blocks)])
    for i, (order, low, high) in enumerate(ranks):
        above = np.zeros((p, len(order) + 1))  # sums of U_j over the rows with larger x_i
        in_order = rows[i][order]
        above[:, :-1] = np.cumsum(of_items[:, in_order[::-1]], axis=1)[:, ::-1]
        moved = np.zeros((p, n))
        moved[:, in_order] = (above[:, low] + above[:, high]) / 2 / common[i][:, None]
        product[blocks[i]] += moved[i + 1 :]
        product[starts[:i] + i] += moved[:i]
        own[i] += 2 * moved[i]
    variance = np.array([U[r, i].var() for i, r in enumerate(rows)])
    r_S = INVERSE_BRIDGES["spearman"](np.clip(R, -1.0, 1.0))
    slope = np.pi / 3 * np.cos(np.pi / 6 * r_S)
    return _of_correlation(product, own, variance, r_S, slope)


def _rank_range(x: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
    """Order of the answers; in this order, how many are smaller, and how many not larger."""
    order = np.argsort(x, kind="stable")
    ascending = x[order]
    first = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))  # of equal answers
    ends = np.append(first, len(x))
    times = np.diff(ends)
    return order, np.repeat(first, times), np.repeat(ends[1:], times)


def _kendall(values: FloatArray, observed: BoolArray, R: FloatArray) -> FloatArray:
    n, p = values.shape
    codes = dense_codes(values)[0].T.astype(np.float32)
    codes[~observed] = np.nan
    common = np.maximum(observed.T.astype(float) @ observed, 1)
    i, j = np.triu_indices(p, 1)
    product, own = np.empty((n, len(i))), np.empty((n, p))
    for r in range(n):
        signs = np.nan_to_num(np.sign(codes[r] - codes))  # 0 where an answer is missing
        products = (signs.T @ signs) / common
        product[r], own[r] = products[i, j], products.diagonal()
    untied = np.array([own[observed[:, i], i].mean() for i in range(p)])
    tau = INVERSE_BRIDGES["kendall"](np.clip(R, -1.0, 1.0))
    slope = np.pi * np.cos(np.pi / 2 * tau)
    return _of_correlation(np.ascontiguousarray(product.T), own.T, untied, tau, slope)


_INFLUENCES = {"pearson": _pearson, "spearman": _spearman, "kendall": _kendall}


def _of_correlation(
    product: FloatArray, own: FloatArray, scale: FloatArray, r: FloatArray, slope: FloatArray
) -> FloatArray:
    """Influence on a function of r_ij = m_ij / √(m_ii m_jj), from that on the moments m, in place.

    ``product`` holds the influence on the m_ij of pairs and is overwritten, ``own`` that on the
    (p, n) m_ii, ``scale`` the m_ii, ``slope`` the derivatives of the function in r.
    """
    own = own / scale[:, None]
    root = np.sqrt(scale)
    for i, block in enumerate(pair_blocks(len(r))):
        product[block] /= (root[i] * root[i + 1 :])[:, None]
        product[block] -= 0.5 * r[i, i + 1 :, None] * (own[i] + own[i + 1 :])
        product[block] *= slope[i, i + 1 :, None]
    return product


def _categorical(values: FloatArray, kinds: Sequence[ItemKind], R: FloatArray) -> FloatArray:
    """Influence on polychoric and polyserial correlations, and on Pearson's of continuous items."""
    n, p = values.shape
    inside = np.clip(R, -_LARGEST, _LARGEST)  # at ±1 influences are not defined
    is_continuous = np.array([kind == "continuous" for kind in kinds])
    continuous, ordinal = np.flatnonzero(is_continuous), np.flatnonzero(~is_continuous)
    coded = code_items(values[:, ordinal])
    seen = (coded.codes > 0).astype(float)
    common, own = seen @ seen.T, inside[np.ix_(ordinal, ordinal)]
    among = np.empty((len(ordinal) * (len(ordinal) - 1) // 2, n))
    for i, block in enumerate(pair_blocks(len(ordinal))):
        influence_row(*coded, common, own, i, among[block])
    if not len(continuous):
        return among
    place = np.zeros((p, p), dtype=np.int64)
    place[np.triu_indices(p, 1)] = np.arange(p * (p - 1) // 2)
    place += place.T
    influence = np.empty((p * (p - 1) // 2, n))
    plain: list[ItemKind] = ["continuous"] * len(continuous)
    own = R[np.ix_(continuous, continuous)]
    between = pair_influences(values[:, continuous], plain, "pearson", own)
    for part, found in ((ordinal, among), (continuous, between)):
        first, second = np.triu_indices(len(part), 1)
        influence[place[part[first], part[second]]] = found
    for i in ordinal.tolist():
        for j in continuous.tolist():
            moved = serial_influence(values[:, i], values[:, j], inside[i, j])
            influence[place[i, j]] = moved - moved.mean()
    return influence
