"""The searches for the maximum likelihood of a small factor model, compiled.

Accelerated EM first; Anderson's method needs no changes in θ, only those in f and g, because
Θ + F = g(Θ). On the ridges of factors that are nearly the same, or of items without error, hundreds
of further EM steps, cheap as they are, end visibly below the maximum. There L-BFGS (Nocedal &
Wright 2006, ch. 7) goes on. Uniquenesses are then written as ψ = least + u²: u = 0 is a smooth
maximum for an item without error, and no bounds are needed; there is no upper one, as ψ_i ≤ r_ii
wherever the derivatives vanish.

References
----------
Nocedal, J. & Wright, S. J. (2006). Numerical Optimization, 2nd ed. Springer.
"""

from __future__ import annotations

import math

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.compile import kernel
from dtstat.estimation.factors.maximum_likelihood import (
    CALM,
    CORRECTIONS,
    LEAST_UNIQUENESS,
    MEMORY,
    RIDGE,
)
from dtstat.estimation.factors.small_algebra import add_scaled, cholesky, dot, solve
from dtstat.estimation.factors.small_likelihood import Model, em_step, evaluate, gradient

_LEAST_ROOT = 0.01  # of ψ − least where the steps begin: from 0 no derivative leads away
_ARMIJO, _WOLFE = 1e-4, 0.9  # shares of the slope: least that is gained, most that is left
_TRIES = 20  # lengths of a step


@kernel
def accelerated_em(
    model: Model, past: FloatArray, gram: FloatArray, least_gain: float, most: int
) -> tuple[float, bool, int]:
    """Go on from past[2] and write θ in past[0]; return the value, whether it rests, and steps.

    The rows of past are θ, g(θ), the proposal, g of that, and the last changes in f and in g.
    """
    theta, ahead, proposal, new_ahead = past[0], past[1], past[2], past[3]
    d_f, d_ahead = past[4 : 4 + MEMORY], past[4 + MEMORY :]
    value, remembered, calm, iterations = -np.inf, 0, 0, -1
    # One place to call each kernel from: they are compiled into this one, once a place.
    while True:
        new_value = evaluate(model, proposal)
        if remembered and not new_value >= value:
            remembered = 0
            for j in range(len(theta)):
                proposal[j] = ahead[j]
            continue
        em_step(model, new_ahead)
        if iterations >= 0:
            a = remembered % MEMORY
            remembered += 1
            for j in range(len(theta)):
                d_ahead[a, j] = new_ahead[j] - ahead[j]
                d_f[a, j] = (new_ahead[j] - proposal[j]) - (ahead[j] - theta[j])
            for b in range(min(remembered, MEMORY)):
                gram[0, a, b] = gram[0, b, a] = dot(d_f[a], d_f[b])
        for j in range(len(theta)):
            theta[j], ahead[j] = proposal[j], new_ahead[j]
        calm = calm + 1 if new_value - value < least_gain else 0
        value = new_value
        iterations += 1
        if calm == CALM or iterations >= most:
            return value, calm == CALM, iterations
        _propose(past, gram, min(remembered, MEMORY))


@kernel
def _propose(past: FloatArray, gram: FloatArray, k: int) -> None:
    """Write Anderson's proposal from k past changes; the plain step if they repeat one another."""
    theta, ahead, proposal = past[0], past[1], past[2]
    d_f, d_ahead = past[4 : 4 + MEMORY], past[4 + MEMORY :]
    M, gamma = gram[1], gram[2, 0]
    for j in range(len(theta)):
        proposal[j] = ahead[j] - theta[j]
    for a in range(k):
        for b in range(a):
            M[a, b] = gram[0, a, b]
        M[a, a] = gram[0, a, a] * (1 + RIDGE)
        gamma[a] = dot(d_f[a], proposal)
    for j in range(len(theta)):
        proposal[j] = ahead[j]
    if cholesky(M, k):
        solve(M, gamma, k)
        for a in range(k):
            add_scaled(proposal, -gamma[a], d_ahead[a])


@kernel
def climb(  # noqa: C901 (one loop)
    model: Model, theta: FloatArray, value: float, least_gain: float, most: int
) -> tuple[float, bool, int]:
    """L-BFGS from θ, in units of the EM information; write θ, return as ``accelerated_em``."""
    p, E, size = len(model[0]), len(model[1]), len(theta)
    unit, g, step, new_g = np.ones(size), np.empty(size), np.empty(size), np.empty(size)
    x, new_x = np.empty(size), np.empty(size)
    s, y, sy = (
        np.empty((CORRECTIONS, size)),
        np.empty((CORRECTIONS, size)),
        np.empty(CORRECTIONS),
    )
    for i in range(p):
        psi = math.exp(theta[E + i])
        unit[E + i] = math.sqrt(psi / 2)
        for e in range(model[3][i], model[3][i + 1]):
            unit[e] = math.sqrt(psi)
        theta[E + i] = max(math.sqrt(max(psi - LEAST_UNIQUENESS, 0.0)), _LEAST_ROOT)
    for j in range(size):
        x[j] = new_x[j] = theta[j] / unit[j]
    begin, value, remembered, calm, iterations = value, -np.inf, 0, 0, -1
    slope, length, low, high, tries = 0.0, 1.0, 0.0, np.inf, _TRIES
    while True:
        for j in range(size):
            theta[j] = new_x[j] * unit[j]
        for j in range(E, E + p):
            theta[j] = math.log(LEAST_UNIQUENESS + theta[j] ** 2)
        new_value = evaluate(model, theta)
        gradient(model, theta, new_g)
        for j in range(size):
            new_g[j] *= unit[j]
        for j in range(E, E + p):  # ∂ log ψ / ∂u = 2u / ψ
            new_g[j] *= 2 * new_x[j] * unit[j] * math.exp(-theta[j])
        gain = new_value - value
        short = gain >= _ARMIJO * length * slope
        if (not short or dot(new_g, step) > _WOLFE * slope) and tries < _TRIES:
            low, high = (length, high) if short else (low, length)
            length = 2 * length if high == np.inf else (low + high) / 2
            tries += 1
            for j in range(size):
                new_x[j] = x[j] + length * step[j]
            continue
        if iterations >= 0:
            a = remembered % CORRECTIONS
            for j in range(size):
                s[a, j] = new_x[j] - x[j]
                y[a, j] = g[j] - new_g[j]
            sy[a] = dot(s[a], y[a])
            remembered = remembered + 1 if sy[a] > 0 else remembered
        calm = calm + 1 if gain < least_gain else 0
        x, new_x = new_x, x
        g, new_g = new_g, g
        value = new_value
        iterations += 1
        if calm == CALM or iterations >= most:
            break
        slope = _quasi_newton(g, s, y, sy, remembered, step)
        length, low, high, tries = 1.0, 0.0, np.inf, 0
        for j in range(size):
            new_x[j] = x[j] + step[j]
    return value, calm == CALM and value >= begin - least_gain, iterations


@kernel
def _quasi_newton(
    g: FloatArray,
    s: FloatArray,
    y: FloatArray,
    sy: FloatArray,
    remembered: int,
    step: FloatArray,
) -> float:
    """Write the step that the past changes s in x and y in −g suggest; return its slope."""
    weight = np.empty(CORRECTIONS)
    for j in range(len(g)):
        step[j] = g[j]
    oldest = max(remembered - CORRECTIONS, 0)
    for b in range(remembered - 1, oldest - 1, -1):
        a = b % CORRECTIONS
        weight[a] = dot(s[a], step) / sy[a]
        add_scaled(step, -weight[a], y[a])
    if remembered:
        a = (remembered - 1) % CORRECTIONS
        add_scaled(step, sy[a] / dot(y[a], y[a]) - 1, step)
    for b in range(oldest, remembered):
        a = b % CORRECTIONS
        add_scaled(step, weight[a] - dot(y[a], step) / sy[a], s[a])
    return dot(g, step)
