"""Correlations of the normal variables behind ordinal items: polychoric and polyserial.

An ordinal item is taken as a standard normal variable cut at thresholds. The estimate has two
steps: the thresholds come from each item's own margin (all its observed rows), and with these
held fixed the correlation of each pair maximizes the likelihood of the pair's common rows.
Two binary items give the tetrachoric correlation, an ordinal and a continuous item the polyserial
correlation, and two continuous items the Pearson correlation. The likelihoods and their references
are in :mod:`dtstat.dependence.bivariate_normal`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.errors import InputError
from dtstat.core.parallel import Jobs, Progress
from dtstat.data.levels import find_levels
from dtstat.data.pair_tables import PairTables
from dtstat.dependence.bivariate_normal import (
    CodeArray,
    polychoric_row,
    serial_correlation,
    table_polychoric,
)
from dtstat.dependence.matrix import run_blocks
from dtstat.dependence.pearson import pearson, rescale_extremes

Kind: TypeAlias = Literal["binary", "ordinal", "continuous"]
# Codes 0..K-1 (-1 where missing) and the K+1 limits that separate them.
Coded: TypeAlias = tuple[CodeArray, FloatArray]

_UNBOUNDED = 1e10  # stands for an infinite limit, with finite products
_NO_VARIANCE = 1e-12  # share of the size of the numbers below which a spread is rounding error


def thresholds(column: FloatArray) -> FloatArray:
    """Cut points of the standard normal variable behind an ordinal item.

    τ_a = Φ⁻¹(share of the observed rows in the first a of the K categories), a = 1..K-1.

    ``column`` is (n,), NaN where missing; only the order of its values matters.

    Examples
    --------
    >>> thresholds(np.array([1.0, 1.0, 2.0, 2.0, np.nan]))
    array([0.])
    """
    return code_item(column)[1][1:-1]


def polychoric_pair(x: FloatArray, y: FloatArray) -> float:
    """Polychoric correlation of two ordinal items; tetrachoric when both are binary.

    Maximizes Σ n_ab log π_ab(ρ), where n_ab counts the common rows and π_ab is the bivariate normal
    probability of the cell between the items' thresholds (Olsson, 1979, two-step estimate).

    In a 2 x 2 table with an empty cell the maximum lies at ±1 whatever the sample size. There half
    a row is moved into the empty cell in such a way that the margins, and with them the thresholds,
    stay as they are. Larger tables are used as observed: an empty cell adds no term to their
    likelihood, and counts added to many of them would pull the correlation towards zero. A larger
    table that a perfect association explains gives ±0.9999, however few rows say so.

    ``x`` and ``y`` are (n,), NaN where missing. The estimate lies in [-0.9999, 0.9999]; NaN when an
    item has fewer than two categories in the rows that both items share.
    """
    return float(polychoric_row(*code_items(np.column_stack([x, y])), 0, 1)[0])


def polyserial_pair(z: FloatArray, y: FloatArray) -> float:
    """Polyserial correlation of a continuous item ``z`` and an ordinal item ``y``.

    Maximizes Σ log[Φ((τ_y - ρz)/s) - Φ((τ_{y-1} - ρz)/s)] over the common rows, s = √(1-ρ²), with z
    standardized by the mean and population standard deviation of all its observed rows (Olsson,
    Drasgow & Dorans, 1982, two-step estimate).

    ``z`` and ``y`` are (n,), NaN where missing. The estimate lies in [-0.9999, 0.9999]; NaN when
    ``y`` has fewer than two categories, or ``z`` fewer than two values, in the rows both share.
    """
    return _polyserial(_standardize(z), *code_item(y))


def latent_correlation_matrix(
    values: FloatArray,
    kinds: Sequence[Kind],
    n_jobs: Jobs = None,
    progress: Progress = None,
    tables: PairTables | None = None,
) -> FloatArray:
    """Correlations of the normal variables behind ordinal, binary and continuous items.

    Each pair gets the coefficient its kinds call for: polychoric, polyserial or Pearson. Pairs use
    the rows both items have; the thresholds of an ordinal item, and the mean and standard deviation
    of a continuous one in a polyserial pair, use all rows of the item. The matrix is estimated pair
    by pair and need not be positive definite. A polychoric pair costs one pass over the rows and
    about 6 normal integrals for each cell of its table, a polyserial pair about 6 passes.

    ``values`` is (n, p), NaN where missing. NaN in the result marks a pair in whose common rows an
    item does not vary. Progress is counted in ordinal items. With ``tables``, the counts of these
    values, all of them ordinal, the rows are not read.
    """
    if tables is not None:
        return _from_counts(tables)
    if values.ndim != 2 or values.shape[1] != len(kinds):
        raise InputError(
            f"`values` must be a matrix with one column for each of the {len(kinds)} `kinds`; "
            f"got shape {values.shape}. Give one kind for each item.",
            argument="values",
        )
    continuous = [j for j, kind in enumerate(kinds) if kind == "continuous"]
    ordinal = [j for j, kind in enumerate(kinds) if kind != "continuous"]
    scores = [_standardize(values[:, j]) for j in continuous]
    coded = code_items(values[:, ordinal])
    result = np.eye(len(kinds))
    if continuous:
        result[np.ix_(continuous, continuous)] = pearson(values[:, continuous])

    def row(a: int) -> FloatArray:
        limits = coded.limits[a, : coded.levels[a] + 1]
        polyserial = [_polyserial(z, coded.codes[a] - 1, limits) for z in scores]
        return np.concatenate([polychoric_row(*coded, a, a + 1), polyserial])

    blocks = run_blocks(row, range(len(ordinal)), n_jobs, progress, "latent correlations")
    for a, values in blocks:
        others = ordinal[a + 1 :] + continuous
        result[ordinal[a], others] = result[others, ordinal[a]] = values
    return result


def _from_counts(tables: PairTables) -> FloatArray:
    """Polychoric correlations from the counts of all pairs."""
    limits = [_limits(counts) for _, counts in tables.margins()]
    result = np.eye(len(limits))
    for i, h in enumerate(limits):
        for cells, j in zip(tables.of_item(i), range(i + 1, len(limits)), strict=True):
            k = limits[j]
            table = cells[: h.size - 1, : k.size - 1].astype(np.float64)
            result[i, j] = result[j, i] = table_polychoric(table, h, k)
    return result


class CodedItems(NamedTuple):
    """Ordinal items as kernels take them.

    Attributes
    ----------
    codes
        (p, n) categories 1..K, 0 where missing.
    limits
        (p, most K + 1) limits of the categories, the outer ones unbounded; a row ends with its
        item's last.
    levels
        (p,) numbers K of categories.
    """

    codes: CodeArray
    limits: FloatArray
    levels: IntArray


def code_items(values: FloatArray) -> CodedItems:
    """Code the columns of (n, p) answers to ordinal items, NaN where missing."""
    coded = [code_item(column) for column in values.T]
    levels = np.array([limits.size - 1 for _, limits in coded], dtype=np.int64)
    limits = np.full((len(coded), levels.max(initial=0) + 1), _UNBOUNDED)
    for row, (_, own) in zip(limits, coded, strict=True):
        row[: own.size] = own
    codes = np.empty((len(coded), len(values)), dtype=np.int32)
    for line, (own_codes, _) in zip(codes, coded, strict=True):
        np.add(own_codes, 1, out=line)
    return CodedItems(codes, limits, levels)


def code_item(column: FloatArray) -> Coded:
    """Category of each row and the limits of the categories, the outer ones unbounded."""
    _, codes, counts = find_levels(column)
    return codes, _limits(counts)


def _limits(counts: IntArray) -> FloatArray:
    """(K + 1,) limits of the categories that so many rows are in."""
    from scipy.special import ndtri

    share = np.cumsum(counts)[:-1] / max(counts.sum(), 1)
    return np.concatenate(([-_UNBOUNDED], ndtri(share), [_UNBOUNDED]))


def _standardize(column: FloatArray) -> FloatArray:
    """Observed rows to mean 0 and population variance 1; a constant column becomes zero."""
    observed = ~np.isnan(column)
    if not observed.any():
        return column.copy()
    column = rescale_extremes(column)
    centered = column - np.mean(column[observed])
    sd = np.sqrt(np.mean(centered[observed] ** 2))
    varies = sd > _NO_VARIANCE * np.max(np.abs(column[observed]))
    return centered / (sd if varies else np.inf)


def _polyserial(z: FloatArray, y: CodeArray, tau: FloatArray) -> float:
    """Take the common rows, check that both items vary in them, and maximize their likelihood."""
    common = (y >= 0) & ~np.isnan(z)
    z, y = z[common], y[common]
    if not common.any() or np.ptp(z) == 0.0 or np.ptp(y) == 0:
        return nan
    return serial_correlation(z, tau[y], tau[y + 1], np.ones(z.size))
