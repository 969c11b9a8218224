"""Factor models by maximum likelihood when hundreds of small ones are fitted, as in resampling.

The model, θ and the search are those of :mod:`dtstat.factors.maximum_likelihood`, whose calls of
numpy cost more than their arithmetic when there are few items. Here the search is compiled and goes
edge by edge, an edge e being an item i that loads on a factor k. With w_e = λ_e / ψ_i and V the
covariance of factors given items,

    RW = Σ_e w_e R_·i 1_kᵀ,   c_e = (RWV)_ik,   G = ΛᵀΨ⁻¹Λ = Σ over the pairs of edges of an item,

so a step costs pE + d³ for E edges, and nothing is computed where there is no loading. Accelerated
EM comes first; Anderson's method needs no changes in θ, only those in f and g, as Θ + F = g(Θ). On
the ridges of factors that are nearly the same, or of items without error, hundreds of further EM
steps, cheap as they are, end visibly below the maximum. There L-BFGS (Nocedal & Wright 2006,
Numerical Optimization, ch. 7) goes on. Uniquenesses are then written as ψ = least + u²: u = 0 is a
smooth maximum for an item without error, and no bounds are needed; there is no upper one, as
ψ_i ≤ r_ii wherever the derivatives vanish. Tiny matrices are handled by loops: numba's linear
algebra takes longer to compile than all of this.

What it saves (CPU seconds, one thread, without → with this module, results equal): ``stability``
with 50 resamples of 25 items and 2800 rows 7.1 → 3.5, of 26 items and 301 rows 6.3 → 3.2; ``plan``
for 25 items with 300 draws 37 → 31, where most time goes into the few searches that are left to
``fit_as_ordered``; ``stability`` of 70 items 47 → 49. A single fit is faster without: loading
compiled code takes longer than the fit.
"""

from __future__ import annotations

import math

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.kernels import kernel, part
from dtstat.factors.copula import FactorEstimate, as_estimate, fit_as_ordered
from dtstat.factors.maximum_likelihood import (
    CALM,
    CORRECTIONS,
    DAMPING,
    EM_STEPS,
    LEAST_UNIQUENESS,
    MEMORY,
    NOTHING,
    POWER_ITERATIONS,
    RIDGE,
)
from dtstat.factors.small_matrices import add, cholesky, clear, dot, multiply, solve

# R, item and factor of the edges, first edge of each item; room for c, d × d matrices and RW
Model = tuple[FloatArray, IntArray, IntArray, IntArray, FloatArray, FloatArray, FloatArray]

LOG_LEAST = math.log(LEAST_UNIQUENESS)
_LEAST_ROOT = 0.01  # of ψ − least where the steps begin: from 0 no derivative leads away
_ARMIJO, _WOLFE = 1e-4, 0.9  # shares of the slope: least that is gained, most that is left
_TRIES = 20  # lengths of a step


def fit_small(
    R: FloatArray,
    n_obs: int,
    support: BoolArray,
    tolerance: float = 1e-6,
    max_iterations: int = 300,
    enough: float = -math.inf,
) -> FactorEstimate:
    """Fit a factor model with a given support, as ``fit_as_ordered`` does but faster.

    Arguments as for :func:`~dtstat.factors.copula.fit_as_ordered`, which does the search again, and
    heeds ``enough``, if it takes more than ``max_iterations`` steps here. A step costs some 5 µs
    for 25 items and 5 factors.
    """
    found = _maximize(R, support, tolerance / n_obs, max_iterations)
    if found is None:
        return fit_as_ordered(R, n_obs, support, tolerance, enough=enough)
    theta, value, steps = found
    p, d = support.shape
    E = len(theta) - p - d * (d + 1) // 2
    L, T = np.zeros((p, d)), np.zeros((d, d))
    L[support] = theta[:E]
    T[np.tri(d, dtype=bool)] = theta[E + p :]
    psi = np.exp(np.maximum(theta[E : E + p], LOG_LEAST))
    return as_estimate(L, T, psi, value, n_obs, E, True, steps)


def small_log_likelihood(
    R: FloatArray, n_obs: int, support: BoolArray, tolerance: float, max_iterations: int
) -> float:
    """Log-likelihood that :func:`fit_small` finds, where nothing else is asked for."""
    found = _maximize(R, support, tolerance / n_obs, max_iterations)
    if found is None:
        return fit_as_ordered(R, n_obs, support, tolerance).log_likelihood
    return n_obs * (found[1] - len(R) / 2 * math.log(2 * math.pi))


def _maximize(
    R: FloatArray, support: BoolArray, least_gain: float, max_iterations: int
) -> tuple[FloatArray, float, int] | None:
    """Return θ, the maximum per row and the steps it took; None if they were not enough."""
    p, d = support.shape
    # Contiguous even where numpy gives columns of a table: for numba a second layout is a second
    # type, and handing a tuple of one to code for the other corrupts memory (seen with 0.60).
    item, factor = map(np.ascontiguousarray, support.nonzero())
    E = len(item)
    first = item.searchsorted(np.arange(p + 1))
    size = max(d, 1)  # kernels take first rows of these matrices, also without factors
    room = np.empty(E), np.empty((7, size, size)), np.empty((d, p))
    # R is copied because numba would compile for read-only and writable matrices separately.
    model = (np.array(R, order="C"), item, factor, first, *room)
    past = np.empty((2 * MEMORY + 4, E + p + d * (d + 1) // 2))
    gram = np.empty((3, MEMORY, MEMORY))  # of the changes in f, its root, weights
    write_start(model, past[2])
    most = min(max_iterations, EM_STEPS)
    theta = past[0]
    value, converged, steps = accelerated_em(model, past, gram, least_gain, most)
    if not converged and steps < max_iterations:
        left = max_iterations - steps
        value, converged, more = climb(model, theta, value, least_gain, left)
        steps += more
    return (theta, value, steps) if converged else None


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
    # One place to call each kernel from: they are compiled into this one, once per call.
    while True:
        new_value = _evaluate(model, proposal)
        if remembered and not new_value >= value:
            remembered = 0
            for j in range(len(theta)):
                proposal[j] = ahead[j]
            continue
        _em_step(model, new_ahead)
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


@part
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
            add(proposal, -gamma[a], d_ahead[a])


@kernel
def climb(  # noqa: C901 (one loop)
    model: Model, theta: FloatArray, value: float, least_gain: float, most: int
) -> tuple[float, bool, int]:
    """L-BFGS from θ, in units of the EM information; write θ, return as ``accelerated_em``."""
    p, E, size = len(model[0]), len(model[1]), len(theta)
    unit, g, step, new_g = np.ones(size), np.empty(size), np.empty(size), np.empty(size)
    x, new_x = np.empty(size), np.empty(size)
    s, y = np.empty((CORRECTIONS, size)), np.empty((CORRECTIONS, size))
    sy = np.empty(CORRECTIONS)
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
        new_value = _evaluate(model, theta)
        _gradient(model, theta, new_g)
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
        x, new_x, g, new_g = new_x, x, new_g, g
        value = new_value
        iterations += 1
        if calm == CALM or iterations >= most:
            break
        slope = _quasi_newton(g, s, y, sy, remembered, step)
        length, low, high, tries = 1.0, 0.0, np.inf, 0
        for j in range(size):
            new_x[j] = x[j] + step[j]
    return value, calm == CALM and value >= begin - least_gain, iterations


@part
def _quasi_newton(
    g: FloatArray, s: FloatArray, y: FloatArray, sy: FloatArray, remembered: int, step: FloatArray
) -> float:
    """Write the step that the past changes s in x and y in −g suggest; return its slope."""
    weight = np.empty(CORRECTIONS)
    for j in range(len(g)):
        step[j] = g[j]
    oldest = max(remembered - CORRECTIONS, 0)
    for b in range(remembered - 1, oldest - 1, -1):
        a = b % CORRECTIONS
        weight[a] = dot(s[a], step) / sy[a]
        add(step, -weight[a], y[a])
    if remembered:
        a = (remembered - 1) % CORRECTIONS
        add(step, sy[a] / dot(y[a], y[a]) - 1, step)
    for b in range(oldest, remembered):
        a = b % CORRECTIONS
        add(step, weight[a] - dot(y[a], step) / sy[a], s[a])
    return dot(g, step)


@kernel
def write_start(model: Model, theta: FloatArray) -> None:  # noqa: C901 (loops over edges, no cases)
    """Write the θ of one-factor solutions, as ``FactorLikelihood.start`` describes it."""
    R, item, factor, first, v, squares, RV = model
    (d, p), E = RV.shape, len(item)
    S, Phi, squared, fourth = squares[0], squares[1], squares[2, 0], squares[3, 0]
    _first_components(model)
    for k in range(4):
        clear(squares[k])
    for e in range(E):
        i, k, square = item[e], factor[e], v[e] * v[e]
        squared[k] += R[i, i] * square
        fourth[k] += square * square
        for m in range(d):
            S[k, m] += v[e] * RV[m, i]
    for k in range(d):
        for m in range(k + 1):
            scale = max(S[k, k], NOTHING) * max(S[m, m], NOTHING)
            Phi[k, m] = Phi[m, k] = DAMPING * S[k, m] / math.sqrt(scale)
        Phi[k, k] = 1.0
    for i in range(p):
        explained = 0.0
        for e in range(first[i], first[i + 1]):
            k = factor[e]
            c = math.sqrt(max((S[k, k] - squared[k]) / max(1 - fourth[k], 0.1), 0.1))
            theta[e] = min(max(c * v[e], -0.9), 0.9) / (first[i + 1] - first[i])
        for e in range(first[i], first[i + 1]):
            for g in range(first[i], first[i + 1]):
                explained += theta[e] * Phi[factor[e], factor[g]] * theta[g]
        theta[E + i] = math.log(max(R[i, i] - explained, 0.1 * R[i, i]))
    cholesky(Phi, d)
    for k in range(d):
        for m in range(k + 1):
            theta[E + p + k * (k + 1) // 2 + m] = Phi[k, m]


@part
def _first_components(model: Model) -> None:  # noqa: C901 (as above)
    """Write the first principal component v of each factor's items, edge by edge, and RV."""
    R, item, factor, _, v, squares, RV = model
    E, d, norm = len(item), len(RV), squares[0, 0]
    clear(RV)
    for e in range(E):
        for j in range(len(R)):
            RV[factor[e], j] += abs(R[item[e], j])
    for k in range(d):
        most, leader = 0.0, 0
        for e in range(E):
            if factor[e] == k and RV[k, item[e]] > most:
                most, leader = RV[k, item[e]], item[e]
        for e in range(E):
            if factor[e] == k:
                v[e] = R[leader, item[e]]
    for power in range(POWER_ITERATIONS + 1):
        if power:
            for k in range(d):
                norm[k] = NOTHING
            for e in range(E):
                v[e] = RV[factor[e], item[e]]
                norm[factor[e]] += v[e] * v[e]
            for e in range(E):
                v[e] /= math.sqrt(norm[factor[e]])
        clear(RV)
        for e in range(E):
            add(RV[factor[e]], v[e], R[item[e]])


@kernel
def _evaluate(model: Model, theta: FloatArray) -> float:  # noqa: C901 (as above)
    """Return the log-likelihood per row; write c = C_xz of the edges, and C_zz, T, G, V, WRW.

    With K = I + TᵀGT = CCᵀ and B = C⁻¹Tᵀ the covariance V of factors given items is BᵀB.
    """
    R, item, factor, first, c, squares, RW = model
    (d, p), E = RW.shape, len(item)
    C_zz, T, G, V, WRW, B = squares[0], squares[1], squares[2], squares[3], squares[4], squares[5]
    log_det = trace = 0.0
    clear(RW)
    clear(G)
    for i in range(p):
        log_psi = max(theta[E + i], LOG_LEAST)
        precision = math.exp(-log_psi)
        log_det += log_psi
        trace += R[i, i] * precision
        for e in range(first[i], first[i + 1]):
            k = factor[e]
            c[e] = theta[e] * precision  # w_e, until the moments are known
            add(RW[k], c[e], R[i])
            for g in range(first[i], first[i + 1]):
                G[k, factor[g]] += c[e] * theta[g]
    for k in range(d):
        for m in range(d):
            T[k, m] = theta[E + p + k * (k + 1) // 2 + m] if m <= k else 0.0
    K = C_zz
    multiply(G, T, B)
    multiply(B, T, K)
    for k in range(d):
        K[k, k] += 1.0
    cholesky(K, d)
    for k in range(d):
        log_det += 2 * math.log(K[k, k])
        for m in range(d):
            B[k, m] = T[m, k]
        for a in range(k):
            add(B[k], -K[k, a], B[a])
        add(B[k], 1 / K[k, k] - 1, B[k])
    multiply(B, B, V)
    clear(WRW)
    for e in range(E):
        for m in range(d):
            WRW[factor[e], m] += c[e] * RW[m, item[e]]
    for e in range(E):
        c[e] = 0.0
        for m in range(d):
            c[e] += V[factor[e], m] * RW[m, item[e]]
    multiply(WRW, V, B)
    multiply(B, V, C_zz)
    for k in range(d):
        trace -= B[k, k]
        add(C_zz[k], 1.0, V[k])
    return -0.5 * (log_det + trace)


@part
def _em_step(model: Model, ahead: FloatArray) -> None:
    """M-step: regress each item on its parents; Φ = C_zz, brought to variances 1 through Λ."""
    R, _, factor, first, c, squares, RW = model
    (d, p), E = RW.shape, len(c)
    C_zz, M, slope, scale = squares[0], squares[5], squares[4, 0], squares[3, 0]
    for k in range(d):
        C_zz[k, k] *= 1 + RIDGE
        scale[k] = math.sqrt(C_zz[k, k])
    for i in range(p):
        begin, m = first[i], first[i + 1] - first[i]
        for a in range(m):
            slope[a] = c[begin + a]
            for b in range(a + 1):
                M[a, b] = C_zz[factor[begin + a], factor[begin + b]]
        if m == 1:
            slope[0] /= M[0, 0]
        else:
            cholesky(M, m)
            solve(M, slope, m)
        psi = R[i, i]
        for a in range(m):
            psi -= slope[a] * c[begin + a]
            ahead[begin + a] = slope[a] * scale[factor[begin + a]]
        ahead[E + i] = math.log(max(psi, LEAST_UNIQUENESS))
    cholesky(C_zz, d)
    for k in range(d):
        for m in range(k + 1):
            ahead[E + p + k * (k + 1) // 2 + m] = C_zz[k, m] / scale[k]


@part
def _gradient(model: Model, theta: FloatArray, g: FloatArray) -> None:
    """Write the derivatives by θ after ``_evaluate``, as ``FactorLikelihood.gradient`` has them."""
    R, _, factor, first, c, squares, RW = model
    (d, p), E = RW.shape, len(c)
    C_zz, T, G, V, WRW, Q = squares[0], squares[1], squares[2], squares[3], squares[4], squares[5]
    X = squares[6]
    for i in range(p):
        psi = math.exp(theta[E + i])
        residual = R[i, i]
        for e in range(first[i], first[i + 1]):
            LC = 0.0
            for b in range(first[i], first[i + 1]):
                LC += theta[b] * C_zz[factor[b], factor[e]]
            residual += (LC - 2 * c[e]) * theta[e]
            g[e] = (c[e] - LC) / psi
        g[E + i] = 0.5 * (residual / psi - 1)
    multiply(V, G, Q)
    for k in range(d):
        add(Q[k], -2.0, Q[k])
        Q[k, k] += 1.0
    multiply(WRW, Q, X)
    for k in range(d):
        add(X[k], -1.0, G[k])
    multiply(Q, X, V)
    multiply(V, T, X)
    for k in range(d):
        for m in range(k + 1):
            g[E + p + k * (k + 1) // 2 + m] = X[k, m]
