"""The normal likelihood of a model: complete data, and data with gaps.

Minus twice the log-likelihood per row, less its constant, of complete data with covariance S and
mean m is log|Σ| + tr(Σ⁻¹ S) + (m − μ)ᵀ Σ⁻¹ (m − μ). With gaps the same holds for each pattern of
observed items, with that pattern's rows, items, S and m (Arbuckle 1996).

The two models every fit is held against: saturated (H1) and independence (baseline).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.saved import register
from dtstat.sem.matrices import Layout, covariance_gradient, covariance_information, inverse
from dtstat.sem.model import Model, Parameter, Place
from dtstat.sem.rows import (
    Batch,
    Pattern,
    batches,
    expected_pieces,
    likelihood_pieces,
    observed_pieces,
    squared_length_with_gaps,
)

LOG_2PI = float(np.log(2 * np.pi))


def _patterns_exist(sample: Sample) -> bool:
    return all(
        len(one.items) == 0 or (one.items.min() >= 0 and one.items.max() < sample.n_items)
        for one in sample.patterns
    )


@register(rules={"patterns are of the items": _patterns_exist})
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

    @cached_property
    def batches(self) -> tuple[Batch, ...]:
        """The patterns, sorted by their number of gaps."""
        return batches(self.patterns, self.n_obs, self.n_items)


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


def pairwise_moments(sample: Sample) -> tuple[FloatArray, FloatArray]:
    """Covariances of the rows that pairs of items have in common, and means of all answers.

    Divided by the common rows less one and, as all moments here, multiplied by (n − 1) / n; NaN
    for a pair that fewer than two rows answer.
    """
    p, n = sample.n_items, sample.n_obs
    count, total, cross = np.zeros((p, p)), np.zeros((p, p)), np.zeros((p, p))
    centre = sum((b.share @ b.mean for b in sample.batches), np.zeros(p))  # any will do
    for pattern in sample.patterns:
        block, d = np.ix_(pattern.items, pattern.items), pattern.mean - centre[pattern.items]
        count[block] += pattern.n
        total[block] += pattern.n * d[:, None]  # of the row's item, over rows that answer both
        cross[block] += pattern.n * (pattern.S + np.outer(d, d))
    with np.errstate(divide="ignore", invalid="ignore"):
        S = (cross - total * total.T / count) / np.where(count > 1, count - 1, np.nan)
    return S * (n - 1) / n, centre + np.diag(total) / np.diag(count)


def squared_length(sample: Sample, Sigma: FloatArray, D: FloatArray, d: FloatArray) -> float:
    """(D, d)ᵀ I (D, d), with I the expected information per row of all moments at Σ."""
    if not sample.complete:
        return squared_length_with_gaps(sample.batches, Sigma, D, d)
    W, _ = inverse(Sigma)
    return float(0.5 * np.sum((W @ D) * (W @ D).T) + d @ W @ d)


def log_likelihood(sample: Sample, Sigma: FloatArray, mu: FloatArray) -> float:
    """Log-likelihood of a sample, constants included."""
    answers = sum(pattern.n * len(pattern.items) for pattern in sample.patterns)
    return -sample.n_obs * pieces(sample, Sigma, mu)[0] - 0.5 * answers * LOG_2PI


def objective(sample: Sample, layout: Layout, theta: FloatArray) -> tuple[float, FloatArray]:
    """Half of −2 log-likelihood per row (no constant), and its gradient by free parameter."""
    implied = layout.implied(theta)
    value, G, g = pieces(sample, implied.Sigma, implied.mu)
    slots = 0.5 * covariance_gradient(implied, G)
    if sample.means:
        slots = slots - implied.dmu.T @ g
    return value, layout.collect(slots)


def pieces(
    sample: Sample, Sigma: FloatArray, mu: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Value, G = ∂(−2 log L / n)/∂Σ as a symmetric matrix, g = Σ⁻¹(m − μ), over the patterns."""
    if not sample.complete:
        return likelihood_pieces(sample.batches, Sigma, mu)
    W, logdet = inverse(Sigma)
    WA = W @ sample.patterns[0].S
    d = sample.patterns[0].mean - mu if sample.means else np.zeros(len(mu))
    e = W @ d
    value = 0.5 * (logdet + float(WA.trace()) + float(d @ e))
    return value, W - WA @ W - np.outer(e, e), e


def expected_information(sample: Sample, layout: Layout, theta: FloatArray) -> FloatArray:
    """(q, q) expected information per row; with gaps, given the patterns."""
    implied = layout.implied(theta)
    if not sample.complete:
        return layout.collect_square(expected_pieces(sample.batches, implied))
    W, _ = implied.inverse
    total = covariance_information(implied, W)
    if sample.means:
        total += implied.dmu.T @ W @ implied.dmu
    return layout.collect_square(total)


def observed_information(sample: Sample, layout: Layout, theta: FloatArray) -> FloatArray:
    """(q, q) observed information per row.

    The second derivatives of Σ and μ, which meet the gradient summed over all patterns, are
    central differences of the exact first ones.
    """
    implied = layout.implied(theta)
    _, G, g = pieces(sample, implied.Sigma, implied.mu)
    fixed = layout.collect_square(observed_pieces(sample.batches, implied))

    def gradient(at: FloatArray) -> FloatArray:
        there = layout.implied(at)
        slots = 0.5 * covariance_gradient(there, G)
        return layout.collect(slots - there.dmu.T @ g if sample.means else slots)

    q = len(theta)
    H = np.empty((q, q))
    # what one row tells of a parameter sets its scale, whatever the units of the items
    scale = 1.0 / np.sqrt(np.diag(expected_information(sample, layout, theta)))
    for k in range(q):
        step = np.zeros(q)
        step[k] = 1e-4 * scale[k]
        fine = [gradient(theta + s * step) for s in (-1.0, 1.0, -0.5, 0.5)]
        coarse_slope = (fine[1] - fine[0]) / (2 * step[k])
        fine_slope = (fine[3] - fine[2]) / step[k]
        H[k] = (4 * fine_slope - coarse_slope) / 3  # Richardson: error of fourth order
    return fixed + (H + H.T) / 2


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


_EM_STEPS = 2000
_EM_TOLERANCE = 1e-11  # rise of the log-likelihood a row at which EM ends


@dataclass(frozen=True)
class Given:
    """Observed predictors, whose moments are no parameters: (c,) positions, all moments."""

    items: tuple[int, ...]
    Sigma: FloatArray
    mu: FloatArray


def saturated_layout(names: tuple[str, ...], means: bool, given: Given | None = None) -> Layout:
    """All variances, covariances and, if asked for, means are free."""
    p = len(names)
    return _layout(names, [(i, j) for i in range(p) for j in range(i + 1)], means, given)


def independence_layout(names: tuple[str, ...], means: bool, given: Given | None = None) -> Layout:
    """Only variances and, if asked for, means are free."""
    p = len(names)
    x = given.items if given else ()
    entries = [(i, j) for i in range(p) for j in range(i + 1) if i == j or (i in x and j in x)]
    return _layout(names, entries, means, given)


def _layout(
    names: tuple[str, ...], entries: list[tuple[int, int]], means: bool, given: Given | None
) -> Layout:
    places: list[Place] = [("theta", i, j) for i, j in entries]
    if means:
        places += [("nu", i, 0) for i in range(len(names))]
    x = given.items if given else ()
    rows: list[Parameter] = []
    free = 0
    for matrix, i, j in places:
        op, rhs = ("~1", "") if matrix == "nu" else ("~~", names[j])
        if given and i in x and (matrix == "nu" or j in x):
            value = given.mu[i] if matrix == "nu" else given.Sigma[i, j]
            rows.append(Parameter(names[i], op, rhs, 0, float(value)))
            continue
        free += 1
        rows.append(Parameter(names[i], op, rhs, free))
    return Layout(Model(tuple(rows), names, (), (), means, tuple(places)))


def parameters_of(layout: Layout, Sigma: FloatArray, mu: FloatArray) -> FloatArray:
    """Values of the free parameters of a saturated or independence layout."""
    values = [
        mu[i] if matrix == "nu" else Sigma[i, j]
        for row, (matrix, i, j) in zip(layout.model.parameters, layout.model.places, strict=True)
        if row.free
    ]
    return np.array(values, dtype=float)


def saturated_moments(sample: Sample) -> tuple[FloatArray, FloatArray]:
    """Covariances and means that maximise the likelihood: S and m, or EM with gaps.

    With the gradients G and g of the likelihood a step of EM (Dempster, Laird & Rubin 1977) is
    μ + Σg and Σ − Σ G Σ − Σg (Σg)ᵀ.
    """
    if sample.complete:
        return sample.patterns[0].S, sample.patterns[0].mean
    Sigma, mu = independence_moments(sample)
    last = np.inf
    for _ in range(_EM_STEPS):
        value, G, g = pieces(sample, Sigma, mu)
        if last - value < _EM_TOLERANCE:
            break
        last, move = value, Sigma @ g
        Sigma, mu = Sigma - Sigma @ G @ Sigma - np.outer(move, move), mu + move
        Sigma = (Sigma + Sigma.T) / 2
    return Sigma, mu


def independence_moments(sample: Sample) -> tuple[FloatArray, FloatArray]:
    """Variances and means that maximise the likelihood of independent items."""
    p = sample.n_items
    count, total, square = np.zeros(p), np.zeros(p), np.zeros(p)
    for pattern in sample.patterns:
        count[pattern.items] += pattern.n
        total[pattern.items] += pattern.n * pattern.mean
    mu = total / count
    # Around the mean: of items far from zero, squares less a square keep no digits.
    for pattern in sample.patterns:
        o = pattern.items
        square[o] += pattern.n * (np.diag(pattern.S) + (pattern.mean - mu[o]) ** 2)
    return np.diag(square / count), mu
