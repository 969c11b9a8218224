"""Likelihood of a small factor model, its EM step and its derivatives, edge by edge.

An edge e is an item i that loads on a factor k. With w_e = λ_e / ψ_i and V the covariance of
factors given items,

    RW = Σ_e w_e R_·i 1_kᵀ,   c_e = (RWV)_ik,   G = ΛᵀΨ⁻¹Λ = Σ over the pairs of edges of an item,

so a step costs pE + d³ for E edges, and nothing is computed where there is no loading. θ holds the
E loadings, p log uniquenesses and the rows of the lower triangle of T, Φ = T Tᵀ. The formulas are
those of :mod:`dtstat.estimation.factors.maximum_likelihood`.
"""

from __future__ import annotations

import math

from dtstat.arrays import FloatArray, IntArray
from dtstat.compile import kernel
from dtstat.estimation.factors.maximum_likelihood import (
    DAMPING,
    LEAST_UNIQUENESS,
    NOTHING,
    POWER_ITERATIONS,
    RIDGE,
)
from dtstat.estimation.factors.small_algebra import (
    add_scaled,
    cholesky,
    clear,
    multiply,
    solve,
)

LOG_LEAST = math.log(LEAST_UNIQUENESS)

# R, item and factor of the edges, first edge of each item; room for c, d × d matrices and RW
Model = tuple[FloatArray, IntArray, IntArray, IntArray, FloatArray, FloatArray, FloatArray]


@kernel
def write_start(model: Model, theta: FloatArray) -> None:  # noqa: C901 (loops over edges, no cases)
    """Write the θ of one-factor solutions, as ``FactorLikelihood.start`` describes it."""
    R, item, factor, first, v, squares, RV = model
    (d, p), E = RV.shape, len(item)
    if not d:
        for i in range(p):
            theta[i] = math.log(R[i, i])
        return
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
    at = E + p
    for k in range(d):
        for m in range(k + 1):
            theta[at + m] = Phi[k, m]
        at += k + 1


@kernel
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
            add_scaled(RV[factor[e]], v[e], R[item[e]])


@kernel
def evaluate(model: Model, theta: FloatArray) -> float:  # noqa: C901 (as above)
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
            add_scaled(RW[k], c[e], R[i])
            for g in range(first[i], first[i + 1]):
                G[k, factor[g]] += c[e] * theta[g]
    at = E + p
    for k in range(d):
        for m in range(d):
            T[k, m] = theta[at + m] if m <= k else 0.0
        at += k + 1
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
            add_scaled(B[k], -K[k, a], B[a])
        add_scaled(B[k], 1 / K[k, k] - 1, B[k])
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
        add_scaled(C_zz[k], 1.0, V[k])
    return -0.5 * (log_det + trace)


@kernel
def em_step(model: Model, ahead: FloatArray) -> None:
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
    at = E + p
    for k in range(d):
        for m in range(k + 1):
            ahead[at + m] = C_zz[k, m] / scale[k]
        at += k + 1


@kernel
def gradient(model: Model, theta: FloatArray, g: FloatArray) -> None:
    """Write the derivatives by θ after ``evaluate``, as ``FactorLikelihood.gradient`` has them."""
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
        add_scaled(Q[k], -2.0, Q[k])
        Q[k, k] += 1.0
    multiply(WRW, Q, X)
    for k in range(d):
        add_scaled(X[k], -1.0, G[k])
    multiply(Q, X, V)
    multiply(V, T, X)
    at = E + p
    for k in range(d):
        for m in range(k + 1):
            g[at + m] = X[k, m]
        at += k + 1
