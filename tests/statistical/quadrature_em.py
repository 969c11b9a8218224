"""Reference for the nonlinear factor model: penalised likelihood by EM with quadrature.

Written apart from the package, of which it imports nothing, so that both agree only if both are
right. The model has one parent an item and at most three factors,

    X_i = b_i + f_i(Z_pa(i)) + ε_i,    ε_i ~ N(0, ω_i),    Z ~ N(0, Φ),    Φ_jj = 1,

and each curve f_i is a cubic B-spline with 16 equal intervals on [-4, 4], straight beyond. The
log-likelihood has the penalty λ_i |D² β_i|² / 2 for each item, D² second differences; λ_i follows
Fellner and Schall in the form of Wood and Fasiolo (2017, Biometrics 73, 1071-1081).

The integral over Z is a sum over a grid. That is exact for all purposes as long as the posterior
of a factor is not much narrower than the spacing; more ``nodes`` show whether it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.interpolate import BSpline

Array = np.ndarray

DEGREE = 3
INTERVALS = 16
END = 4.0  # the splines' interval is [-END, END]
SIZE = INTERVALS + DEGREE  # coefficients of a curve
STEP = 2 * END / INTERVALS
KNOTS = -END + STEP * np.arange(-DEGREE, INTERVALS + DEGREE + 1)
DIFFERENCES = np.diff(np.eye(SIZE), n=2, axis=0)
PENALTY = DIFFERENCES.T @ DIFFERENCES
RANK = SIZE - 2  # constants and straight lines cost nothing

NODES = 33
GRID_END = 4.5
MOST_FACTORS = 3
SMOOTHING_BOUNDS = (1e-3, 1e7)
START_ROUNDS = 20  # of λ and ω at the given start, where each round costs next to nothing
BLOCK = 500  # rows at a time: the (rows, nodes²) arrays stay small


@dataclass(frozen=True, eq=False)
class QuadratureFit:
    """A fitted model.

    Attributes
    ----------
    coefficients
        (p, 19) spline coefficients; each curve has mean 0 under N(0, 1).
    intercepts
        (p,) b.
    noise
        (p,) ω.
    smoothing
        (p,) λ.
    Phi
        (d, d) correlations of the factors.
    parent
        (p,) number of each item's factor.
    history
        (iterations,) log-likelihood less the penalty, before each iteration. It may fall where λ
        has changed.
    """

    coefficients: Array
    intercepts: Array
    noise: Array
    smoothing: Array
    Phi: Array
    parent: Array
    history: Array


class Moments(NamedTuple):
    """What the E-step tells the M-step: expected sums over the n rows.

    ``S`` holds Σ E[B(z) B(z)ᵀ] of each item's parent (p, 19, 19), ``t`` Σ x E[B(z)] (p, 19),
    ``xx`` Σ x² (p,) and ``zz`` the mean of E[z zᵀ] (d, d).
    """

    n: int
    S: Array
    t: Array
    xx: Array
    zz: Array


def fit(
    X: Array,
    parent: Array,
    Phi: Array,
    start_Z: Array,
    iterations: int = 150,
    *,
    smoothing: Array | None = None,
    nodes: int = NODES,
) -> QuadratureFit:
    """Fit curves, noise, smoothing and factor correlations by EM.

    Parameters
    ----------
    X
        (n, p) standardised items, none missing.
    parent
        (p,) number 0 ... d - 1 of each item's factor, d at most 3.
    Phi
        (d, d) factor correlations to start from.
    start_Z
        (n, d) factor values, of variance 1, on which the items are regressed to start. They
        choose among the mirror images of each factor.
    iterations
        Number of EM iterations; there is no other rule to stop.
    smoothing
        (p,) λ to hold fixed; re-estimated in each iteration if omitted.
    nodes
        Grid points a factor.

    Notes
    -----
    Cost: four matrix products of n nodes³ an iteration (d = 3). ω has the divisor n less the
    curve's effective degrees of freedom. Φ is E[z zᵀ] scaled to a unit diagonal, which is the
    maximiser only where that diagonal is 1 already: the penalty prefers curves stretched along
    z, and keeps it slightly above. Neither matters much, but ``history`` need not rise to the
    last digit even with λ fixed.
    """
    X, parent, Phi = np.asarray(X, float), np.asarray(parent), np.asarray(Phi, float)
    current = _start(X, parent, Phi, start_Z, smoothing)
    history = np.empty(iterations)
    for k in range(iterations):
        log_rows, moments = _e_step(current, X, nodes)
        history[k] = log_rows.sum() - _penalties(current).sum()
        current = _m_step(current, moments, update_smoothing=smoothing is None)
    return replace(_centred(current), history=history)


def log_likelihood(fit: QuadratureFit, X: Array, *, nodes: int = NODES) -> Array:
    """Return the (n,) log densities of the rows of ``X``, without penalty, by the same quadrature.

    ``X`` must be standardised by the means and standard deviations of the rows that were fitted.
    """
    grid = _grid(len(fit.Phi), nodes)
    W = _prior(grid, fit.Phi)
    terms, scale = _factor_terms(fit, np.asarray(X, float), grid)
    blocks = [_pairs_and_likelihood(part, W)[1] for part in _blocks(terms)]
    return scale + np.log(np.concatenate(blocks))


# Curves


def basis(z: Array) -> Array:
    """Return the (n, 19) B-splines at ``z``, continued along their tangents beyond the ends."""
    inside = np.clip(z, -END, END)
    splines = BSpline(KNOTS, np.eye(SIZE), DEGREE)
    return splines(inside) + (z - inside)[:, None] * splines.derivative()(inside)


def _penalties(fit: QuadratureFit) -> Array:
    """Return the (p,) λ βᵀPβ / 2."""
    return fit.smoothing * np.sum((fit.coefficients @ DIFFERENCES.T) ** 2, axis=1) / 2


def _centred(fit: QuadratureFit) -> QuadratureFit:
    """Move each curve's mean to the intercept; the B-splines add up to 1 everywhere."""
    z = np.linspace(-8, 8, 801)
    weights = np.exp(-(z**2) / 2)
    means = fit.coefficients @ (weights @ basis(z)) / weights.sum()
    return replace(
        fit, coefficients=fit.coefficients - means[:, None], intercepts=fit.intercepts + means
    )


# E-step


def _grid(d: int, nodes: int) -> list[Array]:
    """Return the nodes of three factors; those beyond d have one node and change nothing."""
    used = np.linspace(-GRID_END, GRID_END, nodes)
    return [used if j < d else np.zeros(1) for j in range(MOST_FACTORS)]


def _prior(grid: list[Array], Phi: Array) -> Array:
    """Return the (nodes, nodes, nodes) weights of N(0, Φ), which sum to 1."""
    z = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1)[..., : len(Phi)]
    W = np.exp(-np.einsum("...j,jk,...k->...", z, np.linalg.inv(Phi), z) / 2)
    return W / W.sum()


def _factor_terms(fit: QuadratureFit, X: Array, grid: list[Array]) -> tuple[list[Array], Array]:
    """Return L_j (n, nodes), the density of each factor's items given it, and a log scale (n,).

    Each row of L_j has maximum 1, lest it underflow; the log of what was divided out is in the
    scale.
    """
    terms, scale = [], np.zeros(len(X))
    for j, z in enumerate(grid):
        log_term = np.zeros((len(X), len(z)))
        for i in np.flatnonzero(fit.parent == j):
            mean = fit.intercepts[i] + basis(z) @ fit.coefficients[i]
            log_term -= (X[:, [i]] - mean) ** 2 / (2 * fit.noise[i])
            log_term -= np.log(2 * np.pi * fit.noise[i]) / 2
        largest = log_term.max(axis=1)
        terms.append(np.exp(log_term - largest[:, None]))
        scale += largest
    return terms, scale


def _blocks(terms: list[Array]) -> Iterator[list[Array]]:
    """Yield the terms of some rows at a time."""
    for first in range(0, len(terms[0]), BLOCK):
        yield [term[first : first + BLOCK] for term in terms]


def _pairs_and_likelihood(terms: list[Array], W: Array) -> tuple[Array, Array]:
    """Return L_1 L_2 (rows, nodes²) and the likelihoods Σ_abc L_1a L_2b L_3c W_abc (rows,)."""
    pairs = (terms[0][:, :, None] * terms[1][:, None, :]).reshape(len(terms[0]), -1)
    return pairs, np.sum((pairs @ W.reshape(pairs.shape[1], -1)) * terms[2], axis=1)


def _posterior(terms: list[Array], W: Array) -> tuple[list[Array], Array, Array]:
    """Return each row's posterior of each factor, the rows' summed joint one, and likelihoods."""
    flat = W.reshape(-1, W.shape[2])
    pairs, likelihood = _pairs_and_likelihood(terms, W)
    pairs /= likelihood[:, None]
    third = (pairs @ flat) * terms[2]
    joint = W * (pairs.T @ terms[2]).reshape(W.shape)
    first_two = (pairs * (terms[2] @ flat.T)).reshape(-1, *W.shape[:2])
    return [first_two.sum(axis=2), first_two.sum(axis=1), third], joint, likelihood


def _e_step(fit: QuadratureFit, X: Array, nodes: int) -> tuple[Array, Moments]:
    """Return the rows' log-likelihoods (n,) and the expected sums."""
    d = len(fit.Phi)
    grid = _grid(d, nodes)
    W = _prior(grid, fit.Phi)
    terms, scale = _factor_terms(fit, X, grid)
    answers = [_posterior(part, W) for part in _blocks(terms)]
    posteriors = [np.concatenate([a[0][j] for a in answers]) for j in range(d)]
    joint = sum(a[1] for a in answers)
    log_rows = scale + np.log(np.concatenate([a[2] for a in answers]))
    return log_rows, _moments(X, fit.parent, posteriors, grid, _second_moments(joint, grid, d))


def _second_moments(joint: Array, grid: list[Array], d: int) -> Array:
    """Return the (d, d) mean of z zᵀ under the joint distribution on the grid."""
    z = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, MOST_FACTORS)[:, :d]
    return (z.T * joint.ravel()) @ z / joint.sum()


def _moments(
    X: Array, parent: Array, posteriors: list[Array], grid: list[Array], zz: Array
) -> Moments:
    """Collect the sums over rows from the (n, nodes) posteriors of the factors."""
    bases = [basis(z) for z in grid]
    S = [B.T @ (q.sum(axis=0)[:, None] * B) for q, B in zip(posteriors, bases, strict=False)]
    t = [X[:, i] @ posteriors[j] @ bases[j] for i, j in enumerate(parent)]
    return Moments(len(X), np.stack([S[j] for j in parent]), np.stack(t), np.sum(X**2, axis=0), zz)


# M-step


def _start(
    X: Array, parent: Array, Phi: Array, start_Z: Array, smoothing: Array | None
) -> QuadratureFit:
    """Regress the items on the given factor values as if these were known."""
    p = X.shape[1]
    bases = [basis(z) for z in np.asarray(start_Z, float).T]
    S = np.stack([bases[j].T @ bases[j] for j in parent])
    t = np.stack([X[:, i] @ bases[j] for i, j in enumerate(parent)])
    moments = Moments(len(X), S, t, np.sum(X**2, axis=0), Phi)
    lam = np.ones(p) if smoothing is None else np.asarray(smoothing, float)
    first = QuadratureFit(
        np.zeros((p, SIZE)), np.zeros(p), np.ones(p), lam, Phi, parent, np.empty(0)
    )
    for _ in range(START_ROUNDS):
        first = _m_step(first, moments, update_smoothing=smoothing is None)
    return first


def _m_step(fit: QuadratureFit, moments: Moments, *, update_smoothing: bool) -> QuadratureFit:
    """Return the model with β, ω, λ and Φ renewed, in this order.

    The splines span the constants, so the intercepts are 0 until ``_centred`` moves them there.
    """
    beta, noise, lam = fit.coefficients.copy(), fit.noise.copy(), fit.smoothing.copy()
    for i, (S, t) in enumerate(zip(moments.S, moments.t, strict=True)):
        inverse = np.linalg.inv(S / noise[i] + lam[i] * PENALTY)
        beta[i] = inverse @ t / noise[i]
        edf = np.sum(inverse * S) / noise[i]
        residual = moments.xx[i] - 2 * beta[i] @ t + beta[i] @ S @ beta[i]
        noise[i] = residual / (moments.n - edf)
        if update_smoothing:
            lam[i] = _fellner_schall(lam[i], S / noise[i], beta[i])
    sd = np.sqrt(np.diag(moments.zz))
    Phi = moments.zz / np.outer(sd, sd)
    zero = np.zeros(len(noise))
    return replace(fit, coefficients=beta, intercepts=zero, noise=noise, smoothing=lam, Phi=Phi)


def _fellner_schall(lam: float, information: Array, beta: Array) -> float:
    """Return the next λ; ``information`` is S/ω."""
    inverse = np.linalg.inv(information + lam * PENALTY)
    # Negative only by rounding, where λ is so large that the curve is a straight line.
    numerator = max(RANK / lam - np.sum(inverse * PENALTY), 0)
    roughness = max(np.sum((DIFFERENCES @ beta) ** 2), np.finfo(float).tiny)
    return float(np.clip(lam * numerator / roughness, *SMOOTHING_BOUNDS))
