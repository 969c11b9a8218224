"""The normal likelihood of a model: complete data, and data with gaps.

Minus twice the log-likelihood per row, less its constant, of complete data with covariance S and
mean m is log|Σ| + tr(Σ⁻¹ S) + (m − μ)ᵀ Σ⁻¹ (m − μ). With gaps the same holds for each pattern of
observed items, with that pattern's rows, items, S and m (Arbuckle 1996).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dtstat.arrays import FloatArray, IntArray
from dtstat.estimation.sem.matrices import (
    Implied,
    Layout,
    covariance_gradient,
    covariance_information,
    inverse,
)

LOG_2PI = float(np.log(2 * np.pi))


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
class Sample:
    """Sufficient statistics of the data, one pattern if they are complete."""

    patterns: tuple[Pattern, ...]
    n_obs: int
    n_items: int
    means: bool

    @cached_property
    def complete(self) -> bool:
        """Whether there is one pattern with all items."""
        return len(self.patterns) == 1 and len(self.patterns[0].items) == self.n_items


def complete_sample(S: FloatArray, mean: FloatArray | None, n: int) -> Sample:
    """Sample given by its covariance matrix (divisor n) and, if means count, its means."""
    p = len(S)
    m = np.zeros(p) if mean is None else mean
    return Sample((Pattern(np.arange(p), n, m, S),), n, p, mean is not None)


def sample_from_rows(X: FloatArray) -> Sample:
    """Sample of rows with gaps (NaN); rows without any value are left out."""
    observed = ~np.isnan(X)
    keep = observed.any(axis=1)
    X, observed = X[keep], observed[keep]
    marks, group = np.unique(observed, axis=0, return_inverse=True)
    patterns = []
    for k, mark in enumerate(marks):
        rows = X[group.reshape(-1) == k][:, mark]
        centred = rows - rows.mean(axis=0)
        S = centred.T @ centred / len(rows)
        patterns.append(Pattern(np.flatnonzero(mark), len(rows), rows.mean(axis=0), S))
    return Sample(tuple(patterns), len(X), X.shape[1], True)


def log_likelihood(sample: Sample, Sigma: FloatArray, mu: FloatArray) -> float:
    """Log-likelihood of a sample, constants included."""
    total = 0.0
    for pattern in sample.patterns:
        o = pattern.items
        W, logdet = inverse(Sigma[np.ix_(o, o)])
        d = pattern.mean - mu[o] if sample.means else np.zeros(len(o))
        quadratic = float((W * pattern.S).sum() + d @ W @ d)
        total -= 0.5 * pattern.n * (len(o) * LOG_2PI + logdet + quadratic)
    return total


def objective(sample: Sample, layout: Layout, theta: FloatArray) -> tuple[float, FloatArray]:
    """Half of −2 log-likelihood per row (no constant), and its gradient by free parameter."""
    implied = layout.implied(theta)
    value, G, g = _pieces(sample, implied)
    slots = 0.5 * covariance_gradient(implied, G)
    if sample.means:
        slots = slots - implied.dmu.T @ g
    return value, layout.collect(slots)


def _pieces(sample: Sample, implied: Implied) -> tuple[float, FloatArray, FloatArray]:
    """Value, G = ∂(−2 log L / n)/∂Σ as a symmetric matrix, g = Σ⁻¹(m − μ), over the patterns."""
    p = sample.n_items
    if sample.complete and not sample.means:
        W, logdet = implied.inverse
        WA = W @ sample.patterns[0].S
        return 0.5 * (logdet + float(WA.trace())), W - WA @ W, np.zeros(p)
    value, G, g = 0.0, np.zeros((p, p)), np.zeros(p)
    for pattern in sample.patterns:
        o, weight = pattern.items, pattern.n / sample.n_obs
        block = np.ix_(o, o)
        W, logdet = implied.inverse if sample.complete else inverse(implied.Sigma[block])
        A = pattern.S
        if sample.means:
            d = pattern.mean - implied.mu[o]
            A = A + np.outer(d, d)
            g[o] += weight * (W @ d)
        WA = W @ A
        value += 0.5 * weight * (logdet + float(np.trace(WA)))
        G[block] += weight * (W - WA @ W)
    return value, G, g


def expected_information(sample: Sample, layout: Layout, theta: FloatArray) -> FloatArray:
    """(q, q) expected information per row; with gaps, given the patterns."""
    implied = layout.implied(theta)
    q = implied.U.shape[1]
    total = np.zeros((q, q))
    for pattern in sample.patterns:
        o, weight = pattern.items, pattern.n / sample.n_obs
        part = implied
        if not sample.complete:
            Sigma = implied.Sigma[np.ix_(o, o)]
            part = Implied(Sigma, implied.mu[o], implied.U[o], implied.V[o], implied.dmu[o])
        W, _ = part.inverse
        total += weight * covariance_information(part, W)
        if sample.means:
            total += weight * (part.dmu.T @ W @ part.dmu)
    return layout.collect_square(total)


def observed_information(sample: Sample, layout: Layout, theta: FloatArray) -> FloatArray:
    """(q, q) observed information per row: central differences of the exact gradient."""
    q = len(theta)
    H = np.empty((q, q))
    # what one row tells of a parameter sets its scale, whatever the units of the items
    scale = 1.0 / np.sqrt(np.diag(expected_information(sample, layout, theta)))
    for k in range(q):
        step = np.zeros(q)
        step[k] = 1e-4 * scale[k]
        fine = [objective(sample, layout, theta + s * step)[1] for s in (-1.0, 1.0, -0.5, 0.5)]
        coarse_slope = (fine[1] - fine[0]) / (2 * step[k])
        fine_slope = (fine[3] - fine[2]) / step[k]
        H[k] = (4 * fine_slope - coarse_slope) / 3  # Richardson: error of fourth order
    return (H + H.T) / 2


def case_scores(X: FloatArray, layout: Layout, theta: FloatArray, means: bool) -> FloatArray:
    """(n, q) gradient of each row's log-likelihood; NaN is missing."""
    implied = layout.implied(theta)
    observed = ~np.isnan(X)
    scores = np.empty((len(X), implied.U.shape[1]))
    marks, group = np.unique(observed, axis=0, return_inverse=True)
    for k, mark in enumerate(marks):
        rows, o = group.reshape(-1) == k, np.flatnonzero(mark)
        W, _ = inverse(implied.Sigma[np.ix_(o, o)])
        D = (X[rows][:, o] - implied.mu[o]) @ W
        U, V = implied.U[o], implied.V[o]
        scores[rows] = (D @ U) * (D @ V) - np.einsum("ia,ia->a", U, W @ V)
        if means:
            scores[rows] += D @ implied.dmu[o]
    return layout.collect(scores)
