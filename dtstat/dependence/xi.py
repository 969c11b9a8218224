"""Chatterjee's xi, made symmetric."""

from __future__ import annotations

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.kernels import kernel
from dtstat.core.parallel import Jobs, Progress
from dtstat.dependence.matrix import run_blocks
from dtstat.dependence.spearman import Codes, dense_codes


def xi_correlation(X: FloatArray, n_jobs: Jobs = None, progress: Progress = None) -> FloatArray:
    """Chatterjee's xi of the columns of X, the larger of the two directions (Chatterjee 2021).

        ξ(x → y) = 1 − n Σ |r_{k+1} − r_k| / (2 Σ l_k (n − l_k))

    with r_k = #{b: y_b ≤ y_k} and l_k = #{b: y_b ≥ y_k} along the rows sorted by x. Rows tied in x
    come in random order in the original; here the sum is replaced by its expectation over those
    orders, so the result depends on neither a seed nor the order of the rows. Negative values,
    which only mean "none seen", become 0.

    X is (n, p), complete, no column constant. Cost: O(n) per pair after sorting each column.
    """
    codes, order = dense_codes(X, progress)
    at_most = [np.cumsum(np.bincount(column)) for column in codes]
    directed = np.empty((len(codes), len(codes)))

    def column(j: int) -> FloatArray:
        r = at_most[j][codes[j]]
        at_least = len(r) - np.concatenate([[0], at_most[j][:-1]])[codes[j]]
        scale = len(r) / (2.0 * float(np.sum(at_least * (len(r) - at_least))))
        return _column(codes, order[j], r, scale)

    for j, values in run_blocks(column, range(len(codes)), n_jobs, progress, "xi"):
        directed[:, j] = values
    np.fill_diagonal(directed, 1.0)
    return np.clip(np.maximum(directed, directed.T), 0.0, 1.0)


@kernel
def _column(codes: Codes, order_y: Codes, r: IntArray, scale: float) -> FloatArray:
    """ξ(x_i → y) for all i."""
    p, n = codes.shape
    column = np.empty(p)
    z = np.empty(n, np.int64)
    for i in range(p):
        x = codes[i]
        stop = np.zeros(x.max() + 1, np.int64)
        for row in range(n):
            stop[x[row]] += 1
        start = np.cumsum(stop) - stop
        stop[:] = start
        for row in order_y:  # sorts the rows by x, then by y
            z[stop[x[row]]] = r[row]
            stop[x[row]] += 1
        total = 0.0
        for g in range(len(start)):
            if stop[g] - start[g] > 1:
                total += _expected_steps_within(z[start[g] : stop[g]])
            if g == 0:
                continue
            if stop[g] - start[g - 1] == 2:
                total += abs(z[start[g]] - z[start[g - 1]])
            else:
                total += _mean_distance(z[start[g - 1] : stop[g - 1]], z[start[g] : stop[g]])
        column[i] = 1.0 - total * scale
    return column


@kernel
def _expected_steps_within(z: IntArray) -> float:
    """E Σ |z_{k+1} − z_k| over random orders of the sorted z: m − 1 steps of mean pair distance."""
    m, total = len(z), 0
    for k in range(m):
        total += (2 * k - m + 1) * z[k]
    return 2.0 * total / m


@kernel
def _mean_distance(a: IntArray, b: IntArray) -> float:
    """Mean of |a_k − b_l| over all pairs from two sorted arrays."""
    total, k, below, sum_b = 0.0, 0, 0, 0
    for value in b:
        sum_b += value
    for value in a:
        while k < len(b) and b[k] <= value:
            below += b[k]
            k += 1
        total += value * k - below + (sum_b - below) - value * (len(b) - k)
    return total / (len(a) * len(b))
