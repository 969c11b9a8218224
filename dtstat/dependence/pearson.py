"""Pearson correlation, as products of standardized items."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.parallel import Jobs, Progress, run, track
from dtstat.dependence.matrix import Block, blocks_of

_NUMBERS = 16_000_000  # standardized at once
_CACHED = 1 << 15  # numbers looked at at once
_LARGE = 1e100  # sums of squares of a million such numbers are far from overflow
# Variance of a standardized item in a pair's common rows below which rounding may have eaten its
# digits: either it does not vary there, or its variance comes from rows the pair does not have.
_DOUBTFUL = 1e-6


def pearson(X: FloatArray, n_jobs: Jobs = None, progress: Progress = None) -> FloatArray:
    """Pearson correlations of the columns of X, on the rows each pair has in common.

        r_ij = Σ (x_i − x̄_i)(x_j − x̄_j) / √(Σ (x_i − x̄_i)² Σ (x_j − x̄_j)²)

    X is (n, p), NaN where missing; the result is (p, p), NaN for a pair with a constant item. Cost:
    one product of a p × n and an n × p matrix; five if values are missing.
    """
    missing = np.isnan(X)
    if not missing.any():
        return _correlate_blocks(standardize_items(X, progress), n_jobs)
    R = _correlate_with_gaps(_standardize(X), ~missing)
    np.fill_diagonal(R, 1.0)
    return np.clip(R, -1.0, 1.0)


def standardize_items(X: FloatArray, progress: Progress = None) -> FloatArray:
    """(p, n) items with mean 0 and variance 1, one per row; NaN if constant. No missing values."""
    n, p = X.shape
    # Two or more at once: the sum of a single one is made in another order.
    step = max(2, _NUMBERS // max(n, 1))
    starts = range(0, max(p - 1, 1), step)
    Z = np.empty((p, n))
    for start in track(starts, progress, "standardizing"):
        items = slice(start, p if start == starts[-1] else start + step)
        Z[items] = _standardize(X[:, items]).T
    return Z


def product_block(W: FloatArray, block: Block) -> FloatArray:
    """Correlations of two spans of standardized items, (p, n).

    The same numbers to the last bit wherever a matrix of correlations is cut in the same blocks.
    """
    rows, others = block
    R: FloatArray = W[rows] @ W[others].T
    R /= W.shape[1]
    if rows == others:
        np.fill_diagonal(R, 1.0)
    return np.clip(R, -1.0, 1.0, out=R)


def rescale_extremes(X: FloatArray) -> FloatArray:
    """Multiply columns of extreme size by powers of two, so that their squares are numbers.

    Returns ``X`` itself if no column needs it.
    """
    size = _sizes(X)
    extreme = (size > _LARGE) | ((size < 1 / _LARGE) & (size > 0))
    if not extreme.any():
        return X
    _, exponent = np.frexp(np.where(extreme, size, 0.5))
    scaled: FloatArray = np.ldexp(X, -exponent)
    return scaled


def mean_and_sd(X: FloatArray, ddof: int = 0) -> tuple[FloatArray, FloatArray]:
    """(p,) means and standard deviations of what is observed, of numbers of any size."""
    # By powers of two, which change no digit, so that sums and squares stay numbers.
    unit = np.ldexp(1.0, np.frexp(np.nanmax(np.abs(X), axis=0))[1] - 1)
    scaled = X / unit
    return np.nanmean(scaled, axis=0) * unit, np.nanstd(scaled, axis=0, ddof=ddof) * unit


def _sizes(X: FloatArray) -> FloatArray:
    """Largest |x| of each column, NaN if there is none; in blocks, which stay in the cache."""
    step = max(1, _CACHED * len(X) // max(X.size, 1))
    size = np.full(X.shape[1:], np.nan)
    for start in range(0, len(X), step):
        np.fmax(size, np.fmax.reduce(np.abs(X[start : start + step]), axis=0), out=size)
    return size


def _correlate_blocks(W: FloatArray, n_jobs: Jobs) -> FloatArray:
    blocks = blocks_of(len(W))
    R = np.empty((len(W), len(W)))
    for k, part in run(partial(product_block, W), blocks, n_jobs, threads=True):
        rows, others = blocks[k]
        R[rows, others], R[others, rows] = part, part.T
    return R


def _standardize(X: FloatArray) -> FloatArray:
    """Columns with mean 0 and variance 1 over what is observed; NaN if constant, 0 if missing."""
    X = rescale_extremes(X)
    missing = np.isnan(X)
    mean = np.nanmean if missing.any() else np.mean  # the former copies the table
    Z: FloatArray = X - mean(X, axis=0)
    deviation = np.sqrt(mean(Z**2, axis=0))
    deviation[np.nanmin(X, axis=0) == np.nanmax(X, axis=0)] = np.nan
    Z /= deviation
    Z[missing] = 0.0
    return Z


def _correlate_with_gaps(Z: FloatArray, observed: BoolArray) -> FloatArray:
    """Correlations on pairwise complete rows; sums over them are products with the marks."""
    M = observed.astype(float)
    n = M.T @ M
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (Z.T @ M) / n
        variance = (Z**2).T @ M / n - mean**2
        R: FloatArray = (Z.T @ Z / n - mean * mean.T) / np.sqrt(variance * variance.T)
        doubtful = np.triu(np.minimum(variance, variance.T) < _DOUBTFUL, 1)
    for i, j in np.argwhere(doubtful):
        common = observed[:, i] & observed[:, j]
        R[i, j] = R[j, i] = _correlate_pair(Z[common, i], Z[common, j])
    return R


def _correlate_pair(x: FloatArray, y: FloatArray) -> float:
    """Pearson correlation in two passes; NaN if either is constant."""
    if x.size == 0 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    x, y = x - x.mean(), y - y.mean()
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))
