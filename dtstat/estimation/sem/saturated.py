"""The two models every fit is held against: saturated (H1) and independence (baseline)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.estimation.sem.matrices import Layout
from dtstat.estimation.sem.model import Model, Parameter, Place
from dtstat.estimation.sem.normal import Sample, pieces

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
