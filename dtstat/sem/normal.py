"""The normal likelihood of a model, for complete data and for data with gaps.

Minus twice the log-likelihood per row, less its constant, of complete data with covariance S and
mean m is log|Σ| + tr(Σ⁻¹ S) + (m − μ)ᵀ Σ⁻¹ (m − μ). With gaps the same holds for each pattern of
observed items, with its rows, items, S and m (Arbuckle 1996); see :mod:`dtstat.sem.gaps`.

Every fit is compared with two models whose parameters are the moments themselves: the saturated
one (H1), in which all are free, and the independence model (baseline), without covariances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.parallel import Steps
from dtstat.sem import gaps
from dtstat.sem.matrices import (
    Implied,
    Layout,
    covariance_gradient,
    covariance_information,
    inverse,
)
from dtstat.sem.parameters import Model, Parameter, Place
from dtstat.sem.rows import Sample, independence_moments

_LOG_2PI = float(np.log(2 * np.pi))
_EM_STEPS = 2000
_EM_TOLERANCE = 1e-11  # rise of the log-likelihood per row at which EM ends


def log_likelihood(sample: Sample, Sigma: FloatArray, mu: FloatArray) -> float:
    """Log-likelihood of a sample, constants included."""
    answers = sum(pattern.n * len(pattern.items) for pattern in sample.patterns)
    return -sample.n_obs * likelihood(sample, Sigma, mu)[0] - 0.5 * answers * _LOG_2PI


def objective(sample: Sample, layout: Layout, theta: FloatArray) -> tuple[float, FloatArray]:
    """Minus the log-likelihood per row (no constant), and its gradient in the free parameters."""
    implied = layout.implied(theta)
    value, G, g = likelihood(sample, implied.Sigma, implied.mu, implied)
    slots = 0.5 * covariance_gradient(implied, G)
    if sample.means:
        slots = slots - implied.dmu.T @ g
    return value, layout.collect(slots)


def likelihood(
    sample: Sample, Sigma: FloatArray, mu: FloatArray, implied: Implied | None = None
) -> tuple[float, FloatArray, FloatArray]:
    """−log L per row (no constant), G = ∂(−2 log L / n)/∂Σ (symmetric) and g = ∂(log L / n)/∂μ.

    ``implied`` are the moments of a model, which keep the inverse of Σ.
    """
    if not sample.complete:
        return gaps.likelihood(sample.batches, Sigma, mu)
    W, logdet = inverse(Sigma) if implied is None else implied.inverse
    WA = W @ sample.patterns[0].S
    d = sample.patterns[0].mean - mu if sample.means else np.zeros(len(mu))
    e = W @ d
    value = 0.5 * (logdet + float(WA.trace()) + float(d @ e))
    return value, W - WA @ W - np.outer(e, e), e


def expected_information(
    sample: Sample, layout: Layout, theta: FloatArray, steps: Steps | None = None
) -> FloatArray:
    """(q, q) expected information per row; with gaps, given the patterns."""
    implied = layout.implied(theta)
    if not sample.complete:
        return layout.collect_square(gaps.expected_information(sample.batches, implied, steps))
    W, _ = implied.inverse
    total = covariance_information(implied, W)
    if sample.means:
        total += implied.dmu.T @ W @ implied.dmu
    return layout.collect_square(total)


def observed_information(
    sample: Sample, layout: Layout, theta: FloatArray, steps: Steps | None = None
) -> FloatArray:
    """(q, q) observed information per row.

    The second derivatives of Σ and μ, which meet the gradient summed over all patterns, are
    central differences of the exact first ones.
    """
    implied = layout.implied(theta)
    _, G, g = likelihood(sample, implied.Sigma, implied.mu)
    linear, expected = gaps.linearized_hessian(sample.batches, implied, steps)
    fixed = layout.collect_square(linear)

    def gradient(at: FloatArray) -> FloatArray:
        there = layout.implied(at)
        slots = 0.5 * covariance_gradient(there, G)
        return layout.collect(slots - there.dmu.T @ g if sample.means else slots)

    q = len(theta)
    H = np.zeros((q, q))
    # what one row tells of a parameter sets its scale, whatever the units of the items
    known = np.diag(
        expected_information(sample, layout, theta)
        if sample.complete
        else layout.collect_square(expected)
    )
    own = np.flatnonzero(known > 0)  # the others are parameters of other groups
    scale = 1.0 / np.sqrt(np.where(known > 0, known, 1.0))
    for k in own:
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
    if observed.all():
        return layout.collect(_scores(X, implied, np.arange(X.shape[1]), means))
    scores = np.empty((len(X), implied.U.shape[1]))
    marks, group = np.unique(observed, axis=0, return_inverse=True)
    for k, mark in enumerate(marks):
        rows, o = group.reshape(-1) == k, np.flatnonzero(mark)
        scores[rows] = _scores(X[rows][:, o], implied, o, means)
    return layout.collect(scores)


def _scores(X: FloatArray, implied: Implied, o: IntArray, means: bool) -> FloatArray:
    """Scores over the slots of rows that answer the items ``o``."""
    W, _ = inverse(implied.Sigma[np.ix_(o, o)])
    D = (X - implied.mu[o]) @ W
    U, V = implied.U[o], implied.V[o]
    scores: FloatArray = D @ U
    scores *= D @ V
    scores -= np.einsum("ia,ia->a", U, W @ V)
    if means:
        scores += D @ implied.dmu[o]
    return scores


def squared_length(sample: Sample, Sigma: FloatArray, D: FloatArray, d: FloatArray) -> float:
    """(D, d)ᵀ I (D, d), with I the expected information per row of all moments at Σ."""
    if not sample.complete:
        return gaps.squared_length(sample.batches, Sigma, D, d)
    W, _ = inverse(Sigma)
    return float(0.5 * np.sum((W @ D) * (W @ D).T) + d @ W @ d)


def saturated_moments(sample: Sample) -> tuple[FloatArray, FloatArray]:
    """Covariances and means that maximize the likelihood: S and m, or EM with gaps.

    With the gradients G and g of the likelihood a step of EM (Dempster, Laird & Rubin 1977) is
    μ + Σg and Σ − Σ G Σ − Σg (Σg)ᵀ.
    """
    if sample.complete:
        return sample.patterns[0].S, sample.patterns[0].mean
    Sigma, mu = independence_moments(sample)
    last = np.inf
    for _ in range(_EM_STEPS):
        value, G, g = likelihood(sample, Sigma, mu)
        if last - value < _EM_TOLERANCE:
            break
        last, move = value, Sigma @ g
        Sigma, mu = Sigma - Sigma @ G @ Sigma - np.outer(move, move), mu + move
        Sigma = (Sigma + Sigma.T) / 2
    return Sigma, mu


@dataclass(frozen=True)
class Covariates:
    """Observed predictors, whose moments are given: their positions, and the moments of all."""

    items: tuple[int, ...]
    Sigma: FloatArray
    mu: FloatArray


def saturated_layout(
    names: tuple[str, ...], means: bool, covariates: Covariates | None = None
) -> Layout:
    """All variances, covariances and, if asked for, means are free."""
    entries = [(i, j) for i in range(len(names)) for j in range(i + 1)]
    return _layout(names, entries, means, covariates)


def independence_layout(
    names: tuple[str, ...],
    means: bool,
    covariates: Covariates | None = None,
    free: Sequence[int] = (),
) -> Layout:
    """Only variances and, if asked for, means are free, and covariances of ``free`` items."""
    x = {*(covariates.items if covariates else ()), *free}
    pairs = [(i, j) for i in range(len(names)) for j in range(i + 1)]
    entries = [(i, j) for i, j in pairs if i == j or (i in x and j in x)]
    return _layout(names, entries, means, covariates)


def _layout(
    names: tuple[str, ...],
    entries: list[tuple[int, int]],
    means: bool,
    covariates: Covariates | None,
) -> Layout:
    places: list[Place] = [("theta", i, j) for i, j in entries]
    if means:
        places += [("nu", i, 0) for i in range(len(names))]
    rows: list[Parameter] = []
    free = 0
    for matrix, i, j in places:
        op, rhs = ("~1", "") if matrix == "nu" else ("~~", names[j])
        x = covariates.items if covariates else ()
        if covariates and i in x and (matrix == "nu" or j in x):
            value = covariates.mu[i] if matrix == "nu" else covariates.Sigma[i, j]
            rows.append(Parameter(names[i], op, rhs, 0, float(value)))
        else:
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
