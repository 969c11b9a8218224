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
from itertools import combinations

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.data.kinds import ItemKind
from dtstat.dependence.bivariate_normal import table_influence
from dtstat.dependence.measures import INVERSE_BRIDGES, LATENT, RANKS
from dtstat.dependence.ordinal_scores import serial_influence
from dtstat.dependence.pearson import pearson, rescale_extremes
from dtstat.dependence.polychoric import code_item, latent_correlation_matrix
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
    rows
        (m, p, p) influence of each row on each correlation, symmetric, 0 on the diagonal, mean 0.
    bounded
        Whether influences cannot be arbitrarily large: so with ranks and categories, not with
        products of answers.
    halves
        The same as ``rows`` for two halves of the rows, each about its own correlations. Where
        influences are unbounded or categories rare, a sample shows too little of their variance;
        the difference between a half and the whole tells by how much. Empty where that is not
        needed or not possible.
    """

    rows: FloatArray
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
) -> Influence:
    """Influence of rows, all or so many that memory stays bounded, on latent correlations.

    ``values`` are (n, p) answers, NaN where missing; R are the (p, p) latent correlations that were
    computed by ``measure``; the array of influences has at most ``most_numbers`` numbers.
    """
    n, p = values.shape
    m = most_rows(n, p, measure, most_numbers)
    if m < n:
        values = values[np.random.default_rng(_SEED).permutation(n)[:m]]
    rows = row_influences(values, kinds, measure, R)
    return Influence(rows, measure != "pearson", _halves(values, kinds, measure))


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
        halves.append(row_influences(part, kinds, measure, R))
    return tuple(halves)


def row_influences(
    values: FloatArray, kinds: Sequence[ItemKind], measure: str, R: FloatArray
) -> FloatArray:
    """(n, p, p) influence of each row on each latent correlation; see :func:`latent_influence`."""
    observed = ~np.isnan(values)
    if measure in LATENT:
        return _center(_categorical(values, kinds, R))
    if measure == "pearson":
        influence = _pearson(values, R)
    elif measure == "spearman":
        influence = _spearman(values, observed, R)
    else:
        influence = _kendall(values, observed, R)
    if not observed.all():
        both = observed[:, :, None] & observed[:, None, :]
        common = np.maximum(both.sum(axis=0), 1)
        influence -= (influence * both).sum(axis=0) / common
        influence *= both * (len(values) / common)
    return _center(influence)


def _center(influence: FloatArray) -> FloatArray:
    influence -= influence.mean(axis=0)
    diagonal = np.arange(influence.shape[1])
    influence[:, diagonal, diagonal] = 0.0
    return influence


def _pearson(values: FloatArray, R: FloatArray) -> FloatArray:
    values = rescale_extremes(values)
    Z = values - np.nanmean(values, axis=0)
    Z /= np.sqrt(np.nanmean(Z**2, axis=0))
    Z = np.nan_to_num(Z)
    squares = Z**2
    influence: FloatArray = Z[:, :, None] * Z[:, None, :]
    influence -= 0.5 * R * (squares[:, :, None] + squares[:, None, :])
    return influence


def _spearman(values: FloatArray, observed: BoolArray, R: FloatArray) -> FloatArray:
    n, p = values.shape
    common = np.maximum(observed.T.astype(float) @ observed, 1)
    rows = [np.flatnonzero(column) for column in observed.T]
    ranks = [_rank_range(values[r, i]) for i, r in enumerate(rows)]
    U = np.zeros((n, p))
    for i, (_, low, high) in enumerate(ranks):
        U[rows[i], i] = (low + high) / 2 / max(len(rows[i]), 1)
    influence = np.zeros((n, p, p))
    for i, (order, low, high) in enumerate(ranks):
        above = np.zeros((len(order) + 1, p))  # sums of U_j over the rows with larger x_i
        above[:-1] = np.cumsum(U[rows[i][order]][::-1], axis=0)[::-1]
        influence[rows[i], i] = (above[low] + above[high]) / 2 / common[i]
    influence += influence.transpose(0, 2, 1).copy()
    influence += U[:, :, None] * U[:, None, :]
    variance = np.array([U[r, i].var() for i, r in enumerate(rows)])
    r_S = INVERSE_BRIDGES["spearman"](np.clip(R, -1.0, 1.0))
    return _of_correlation(influence, variance, r_S, np.pi / 3 * np.cos(np.pi / 6 * r_S))


def _rank_range(x: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
    """Order of the answers, and of each how many are smaller, and how many not larger."""
    order = np.argsort(x, kind="stable")
    ascending = x[order]
    return order, np.searchsorted(ascending, x), np.searchsorted(ascending, x, "right")


def _kendall(values: FloatArray, observed: BoolArray, R: FloatArray) -> FloatArray:
    n, p = values.shape
    codes = dense_codes(values)[0].T.astype(np.float32)
    codes[~observed] = np.nan
    common = np.maximum(observed.T.astype(float) @ observed, 1)
    influence = np.empty((n, p, p))
    for r in range(n):
        signs = np.nan_to_num(np.sign(codes[r] - codes))  # 0 where an answer is missing
        influence[r] = signs.T @ signs
    influence /= common
    untied = np.array([influence[observed[:, i], i, i].mean() for i in range(p)])
    tau = INVERSE_BRIDGES["kendall"](np.clip(R, -1.0, 1.0))
    return _of_correlation(influence, untied, tau, np.pi * np.cos(np.pi / 2 * tau))


def _of_correlation(
    product: FloatArray, scale: FloatArray, r: FloatArray, slope: FloatArray
) -> FloatArray:
    """Influence on a function of r_ij = m_ij / √(m_ii m_jj), from that on the moments m, in place.

    ``product`` holds the (n, p, p) influence on the moments and is overwritten, ``scale`` the m_ii,
    ``slope`` the derivatives of the function in r.
    """
    own = np.einsum("rii->ri", product) / scale
    product /= np.sqrt(np.outer(scale, scale))
    product -= 0.5 * r * own[:, :, None]
    product -= 0.5 * r * own[:, None, :]
    product *= slope
    return product


def _categorical(values: FloatArray, kinds: Sequence[ItemKind], R: FloatArray) -> FloatArray:
    """Influence on polychoric and polyserial correlations, and on Pearson's of continuous items."""
    n, p = values.shape
    observed = ~np.isnan(values)
    continuous = np.array([kind == "continuous" for kind in kinds])
    influence = np.zeros((n, p, p))
    if continuous.any():
        part = np.flatnonzero(continuous)
        at = np.ix_(np.arange(n), part, part)
        influence[at] = row_influences(
            values[:, part], ["continuous"] * len(part), "pearson", R[np.ix_(part, part)]
        )
    coded = [None if z else code_item(x) for x, z in zip(values.T, continuous, strict=True)]
    counts = observed.sum(axis=0)
    for i, j in combinations(range(p), 2):
        first, second = coded[i], coded[j]
        if first is not None and second is not None:
            both = int((observed[:, i] & observed[:, j]).sum())
            weights = n / np.maximum([both, counts[i], counts[j]], 1)
            F = table_influence(_inside(R[i, j]), first[1], second[1], weights)
            influence[:, i, j] = F[first[0], second[0]]  # code −1, missing, is the last row
        elif first is not None:
            influence[:, i, j] = serial_influence(values[:, i], values[:, j], _inside(R[i, j]))
        elif second is not None:
            influence[:, i, j] = serial_influence(values[:, j], values[:, i], _inside(R[i, j]))
        influence[:, j, i] = influence[:, i, j]
    return influence


def _inside(rho: float) -> float:
    """Keep a correlation away from ±1, where influences are not defined."""
    return float(np.clip(rho, -_LARGEST, _LARGEST))
