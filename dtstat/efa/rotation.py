"""Rotation of factor loadings: varimax, promax, oblimin."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dtstat.core import checks
from dtstat.core.arrays import FloatArray
from dtstat.core.kernels import kernel
from dtstat.core.saved import register
from dtstat.data.frame import Frame
from dtstat.efa.extraction import Extraction, extract

ROTATIONS = ("oblimin", "promax", "varimax", "none")
OBLIQUE = ("oblimin", "promax")

_SMALLEST_ANGLE = 1e-10  # of a planar rotation that is still made
_MOST_ROUNDS = 500
_MOST_STEPS = 2000
_FLAT = 1e-6  # slope of the oblimin criterion that counts as none
_SMALLEST_STEP = 1e-9
_STARTS_SEED = 20021967  # the random starts are part of the method, the same in every call


@register(shapes={"pattern": "pd", "factor_correlations": "dd"})
@dataclass(frozen=True, eq=False)
class Rotation:
    """Rotated factors: ΛΛ' = P Φ P' for the unrotated Λ.

    Attributes
    ----------
    pattern
        (p, d) pattern matrix P, the loadings.
    factor_correlations
        (d, d) correlations Φ of the factors; the identity if they are orthogonal.
    converged
        Whether the iterations stopped by themselves.
    """

    pattern: FloatArray
    factor_correlations: FloatArray
    converged: bool = True

    def __post_init__(self) -> None:
        self.pattern.setflags(write=False)
        self.factor_correlations.setflags(write=False)


def rotate(L: FloatArray, rotation: str = "oblimin") -> Rotation:
    """Rotate loadings by a named criterion and arrange the factors.

    Parameters
    ----------
    L
        (p, d) unrotated loadings.
    rotation
        "oblimin" or "promax" (correlated factors), "varimax" (uncorrelated), or "none".

    Returns
    -------
    Rotation
        Factors by falling variance explained, each with a positive sum of loadings.
    """
    name = checks.choice("rotation", rotation, ROTATIONS)
    if name == "none" or L.shape[1] == 1:
        return arrange(Rotation(L.copy(), np.eye(L.shape[1])))
    if name == "oblimin":
        return arrange(oblimin(L))
    return arrange(promax(L) if name == "promax" else varimax(L))


def solve(R: FloatArray, n_factors: int, method: str, rotation: str) -> tuple[Extraction, Rotation]:
    """Extract and rotate factors of (p, p) correlations.

    Where searches end depends on the order of the items, which are put in their frame
    (:mod:`dtstat.data.frame`).
    """
    frame = Frame.of(R)
    extraction = extract(frame.matrix(R), n_factors, method)
    rotated = rotate(extraction.loadings, rotation)
    pattern = frame.rows_as_given(rotated.pattern)
    return extraction.as_given(frame), arrange(replace(rotated, pattern=pattern))


def arrange(rotated: Rotation) -> Rotation:
    """Order factors by variance explained, diag(Φ P'P), and make their loadings sum positive."""
    P, Phi = rotated.pattern, rotated.factor_correlations
    order = np.argsort(-np.diag(Phi @ P.T @ P), kind="stable")
    P, Phi = P[:, order], Phi[np.ix_(order, order)]
    sign = np.where(P.sum(axis=0) < 0, -1.0, 1.0)
    return Rotation(P * sign, Phi * np.outer(sign, sign), rotated.converged)


def varimax(
    L: FloatArray, normalize: bool = True, smallest_angle: float = _SMALLEST_ANGLE
) -> Rotation:
    """Rotate orthogonally to the largest variance of squared loadings (Kaiser 1958).

    Maximizes Σ_k [Σ_i v_ik⁴ / p − (Σ_i v_ik² / p)²] by rotations in the plane of two factors at
    a time, whose best angle is known.

    Parameters
    ----------
    L
        (p, d) loadings.
    normalize
        Kaiser's normalization: give all items communality 1 while rotating.
    smallest_angle
        Angle of a planar rotation that is still made.

    References
    ----------
    Kaiser, H. F. (1958). The varimax criterion for analytic rotation in factor analysis.
    Psychometrika 23, 187–200.
    """
    weights = _lengths(L) if normalize else np.ones((len(L), 1))
    V = np.ascontiguousarray((L / weights).T)  # factors as rows, which are near in memory
    for _ in range(_MOST_ROUNDS):
        if _rotate_pairs(V) < smallest_angle:
            return Rotation(V.T * weights, np.eye(L.shape[1]))
    return Rotation(V.T * weights, np.eye(L.shape[1]), converged=False)


@kernel
def _rotate_pairs(V: FloatArray) -> float:
    """Rotate each pair of rows by Kaiser's best angle, in place; return the largest angle."""
    d, p = V.shape
    largest = 0.0
    for k in range(d - 1):
        for m in range(k + 1, d):
            a = b = across = along = 0.0
            for i in range(p):
                u, v = V[k, i] ** 2 - V[m, i] ** 2, 2 * V[k, i] * V[m, i]
                a, b = a + u, b + v
                across += 2 * u * v
                along += u * u - v * v
            angle = math.atan2(across - 2 * a * b / p, along - (a * a - b * b) / p) / 4
            cosine, sine = math.cos(angle), math.sin(angle)
            for i in range(p):
                x, y = V[k, i], V[m, i]
                V[k, i], V[m, i] = x * cosine + y * sine, y * cosine - x * sine
            largest = max(largest, abs(angle))
    return largest


def _lengths(L: FloatArray) -> FloatArray:
    """(p, 1) square roots of the communalities; 1 for an item that loads on nothing."""
    lengths: FloatArray = np.linalg.norm(L, axis=1, keepdims=True)
    return np.where(lengths > 0, lengths, 1.0)


def promax(L: FloatArray, power: float = 4.0, start: Rotation | None = None) -> Rotation:
    """Rotate obliquely toward varimax loadings raised to a power (Hendrickson & White 1964).

    With V the varimax loadings of items scaled to communality 1 and the target q_ik = sign(v_ik)
    |v_ik|^power, U = (V'V)⁻¹V'Q is scaled to unit factor variances; P = VU, scaled back, and
    Φ = (U'U)⁻¹.

    Parameters
    ----------
    L
        (p, d) loadings.
    power
        Larger powers give simpler loadings and more correlated factors.
    start
        Varimax rotation of L, if it is known.

    References
    ----------
    Hendrickson, A. E. & White, P. O. (1964). Promax: a quick method for rotation to oblique simple
    structure. British Journal of Statistical Psychology 17, 65–70.
    """
    weights = _lengths(L)
    start = varimax(L) if start is None else start
    V = start.pattern / weights
    U = np.linalg.lstsq(V, np.sign(V) * np.abs(V) ** power, rcond=None)[0]
    U = U * np.sqrt(np.diag(np.linalg.inv(U.T @ U)))
    return Rotation(weights * (V @ U), np.linalg.inv(U.T @ U), start.converged)


def oblimin(L: FloatArray, n_starts: int = 8) -> Rotation:
    """Rotate obliquely by direct oblimin with γ = 0, that is direct quartimin.

    Minimizes f(P) = ¼ Σ_{k≠l} Σ_i p_ik² p_il² over P = Λ(T')⁻¹, Φ = T'T with unit diagonal
    (Jennrich & Sampson 1966), by gradient projection (Jennrich 2002). The criterion can have
    several minima, so the lowest is taken from several starts: the unrotated factors, varimax,
    and random rotations that are the same in every call.

    Parameters
    ----------
    L
        (p, d) loadings.
    n_starts
        Number of starts, at least 1.

    References
    ----------
    Jennrich, R. I. & Sampson, P. F. (1966). Rotation for simple loadings. Psychometrika 31,
    313–323. Jennrich, R. I. (2002). A simple general method for oblique rotation. Psychometrika
    67, 7–19.
    """
    found = [_project_gradient(L, T) for T in _starts(L, n_starts)]
    T, converged = min(found, key=lambda end: quartimin(_pattern(L, end[0]))[0])
    return Rotation(_pattern(L, T), T.T @ T, converged)


def _starts(L: FloatArray, count: int) -> list[FloatArray]:
    """Orthogonal starts: none, varimax, and random rotations."""
    d = L.shape[1]
    rng = np.random.default_rng(_STARTS_SEED)
    to_varimax = np.linalg.lstsq(L, varimax(L).pattern, rcond=None)[0]
    random = [np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(count - 2)]
    return [np.eye(d), to_varimax, *random][:count]


def _project_gradient(L: FloatArray, T: FloatArray) -> tuple[FloatArray, bool]:
    """Minimize quartimin over T with columns of length 1; T, and whether the slope vanished.

    The gradient −(P' ∂f/∂P T⁻¹)' is projected on the tangents of the unit spheres; the step is
    doubled after a success and halved until the criterion falls by half of what the slope
    promises (Jennrich 2002). Gives up where no step lowers it.
    """
    step = 1.0
    P = _pattern(L, T)
    value, Gq = quartimin(P)
    for _ in range(_MOST_STEPS):
        G = -np.linalg.solve(T.T, Gq.T @ P)
        G = G - T * np.sum(T * G, axis=0)
        slope = float(np.sum(G**2))
        if np.sqrt(slope) < _FLAT * max(value, 1.0):
            return T, True
        step *= 2
        while step > _SMALLEST_STEP:
            moved = T - step * G
            moved = moved / np.linalg.norm(moved, axis=0)
            P = _pattern(L, moved)
            lower, Gq = quartimin(P)
            if lower < value - 0.5 * slope * step:
                break
            step /= 2
        else:
            return T, False
        T, value = moved, lower
    return T, False


def quartimin(P: FloatArray) -> tuple[float, FloatArray]:
    """Direct quartimin f(P) = ¼ Σ_{k≠l} Σ_i p_ik² p_il², and ∂f/∂P = P ∘ (P²(11' − I))."""
    squares = P**2
    others = squares.sum(axis=1, keepdims=True) - squares
    return 0.25 * float(np.sum(squares * others)), P * others


def _pattern(L: FloatArray, T: FloatArray) -> FloatArray:
    """P = Λ(T')⁻¹."""
    return np.linalg.solve(T, L.T).T.astype(np.float64)
