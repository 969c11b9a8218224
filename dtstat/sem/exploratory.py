"""Exploratory blocks, ``efa("b")*f1 + efa("b")*f2 =~ ...``: factors that a rotation tells apart.

All items of a block load on all its m factors, which have variance 1. The data leave them open up
to a transformation, so the search looks for uncorrelated factors whose loadings have zeros above
the diagonal. They are then rotated: with T, diag(TᵀT) = 1,

    Λ = Λ₀ T⁻ᵀ,   Ψ = Tᵀ Ψ₀ T,   and effects on and of the factors go along,

so that a criterion Q of the standardized loadings is smallest (Bernaards & Jennrich 2005). There

    Λᵀ (∂Q/∂Λ) Ψ⁻¹ is diagonal, or for orthogonal rotations Λᵀ (∂Q/∂Λ) symmetric;

these equations are constraints on the estimates, whose standard errors then follow as those of any
constrained model do (Jennrich 1973; Asparouhov & Muthén 2009).

References
----------
Jennrich, R. I. (1973). Standard errors for obliquely rotated factor loadings. Psychometrika 38,
593-604.
Bernaards, C. A. & Jennrich, R. I. (2005). Gradient projection algorithms and software for arbitrary
rotation criteria in factor analysis. Educational and Psychological Measurement 65, 676-696.
Asparouhov, T. & Muthén, B. (2009). Exploratory structural equation modeling. Structural Equation
Modeling 16, 397-438.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.sem.matrices import Layout
from dtstat.sem.parameters import Model

ROTATIONS = ("geomin", "oblimin", "quartimin", "varimax")
ORTHOGONAL = ("varimax",)
_EPSILON = 0.001  # of geomin: what is added to squared loadings
_STARTS = 12
_SEED = 20050676  # the random starts are part of the method, the same in every call
_STEPS = 3000
_FLAT = 1e-9

Criterion = Callable[[FloatArray], tuple[float, FloatArray]]


def _geomin(L: FloatArray) -> tuple[float, FloatArray]:
    """Σ (Π (λ² + ε))^(1/m) over items (Yates 1987)."""
    square = L**2 + _EPSILON
    products = np.exp(np.log(square).mean(axis=1))
    return float(products.sum()), 2 / L.shape[1] * (L / square) * products[:, None]


def _quartimin(L: FloatArray) -> tuple[float, FloatArray]:
    """Σ λ²_j λ²_k over pairs of factors, halved: oblimin with γ = 0."""
    square = L**2
    others = square.sum(axis=1, keepdims=True) - square
    return float(np.sum(square * others)) / 4, L * others


def _varimax(L: FloatArray) -> tuple[float, FloatArray]:
    """Minus the variance of squared loadings within factors (Kaiser 1958)."""
    centered = L**2 - (L**2).mean(axis=0)
    return -float(np.sum(centered**2)) / 4, -L * centered


def _kaiser(L: FloatArray) -> FloatArray:
    """Divide items by the roots of their communalities, which orthogonal rotations keep."""
    scaled: FloatArray = L / np.sqrt(np.maximum((L**2).sum(axis=1, keepdims=True), 1e-12))
    return scaled


_CRITERIA: dict[str, Criterion] = {
    "geomin": _geomin,
    "oblimin": _quartimin,
    "quartimin": _quartimin,
    "varimax": _varimax,
}


@dataclass(frozen=True)
class Block:
    """One exploratory block in one group.

    Attributes
    ----------
    loadings
        (items, m) numbers (from 0) of the free parameters that are loadings.
    covariances
        (m, m) numbers of the covariances of the factors; −1 on the diagonal, and everywhere for
        orthogonal rotations.
    items, factors
        Positions of the items among the observed variables and of the factors among η.
    """

    loadings: IntArray
    covariances: IntArray
    items: tuple[int, ...]
    factors: tuple[int, ...]


class Exploratory:
    """The exploratory blocks of a model: their start, anchors, rotation and constraints."""

    def __init__(self, model: Model, layouts: Sequence[Layout]) -> None:
        self._layouts, self._name = layouts, model.rotation
        self.orthogonal = model.rotation in ORTHOGONAL
        self._blocks = [
            (layout, _block(layout.model, set(names)))
            for layout in layouts
            for names in model.exploratory
        ]

    @property
    def anchors(self) -> list[int]:
        """Free parameters that are 0 in the unrotated solution."""
        found: list[int] = []
        for _, block in self._blocks:
            i, j = np.triu_indices_from(block.covariances, 1)
            found += block.loadings[i, j].tolist()
            found += block.covariances[i, j].tolist()
        return [number for number in found if number >= 0]

    def start(self, theta: FloatArray, moments: Sequence[tuple[FloatArray, ...]]) -> None:
        """Start the loadings at principal factors with zeros above the diagonal."""
        per_group = len(self._blocks) // len(self._layouts)
        for k, (_, block) in enumerate(self._blocks):
            S = moments[k // per_group][0][np.ix_(block.items, block.items)]
            sd = np.sqrt(np.diag(S))
            R = S / np.outer(sd, sd)
            R[np.diag_indices_from(R)] = 1 - 1 / np.diag(np.linalg.inv(R))
            values, vectors = np.linalg.eigh(R)
            m = len(block.factors)
            L = vectors[:, -m:] * np.sqrt(np.maximum(values[-m:], 0.05))
            Q, _ = np.linalg.qr(L[:m].T)
            theta[block.loadings] = sd[:, None] * (L @ Q)

    def rotate(self, theta: FloatArray) -> FloatArray:
        """Rotate each block; factors are put in the order of the items they stand for."""
        rotated = theta.copy()
        for layout, block in self._blocks:
            M = layout.matrices(theta)
            sd = np.sqrt(np.diag(layout.implied(theta).Sigma))[list(block.items)]
            L = theta[block.loadings] / sd[:, None]
            L = _kaiser(L) if self.orthogonal else L
            T = _best_rotation(L, _CRITERIA[self._name], self.orthogonal)
            f = list(block.factors)
            whole = np.eye(len(M.Psi))
            whole[np.ix_(f, f)] = T
            back = np.linalg.inv(whole)  # η = T⁻ᵀ η_rotated
            new = {
                "lambda": M.Lambda @ back.T,
                "psi": whole.T @ M.Psi @ whole,
                "beta": whole.T @ M.Beta @ back.T,
                "alpha": (whole.T @ M.alpha)[:, None],
            }
            for row, (matrix, i, j) in zip(
                layout.model.parameters, layout.model.places, strict=True
            ):
                if row.free and matrix in new:
                    rotated[row.free - 1] = new[matrix][i, j]
        return rotated

    def space(self, theta: FloatArray, base: FloatArray) -> FloatArray:
        """Directions along which the blocks stay rotated, within the columns of ``base``."""
        q = len(theta)
        J = np.empty((len(self._conditions(theta)), q))
        size = 1e-4 * np.maximum(np.abs(theta), 0.1)
        for k in range(q):
            step = np.where(np.arange(q) == k, size[k], 0.0)
            ends = [self._conditions(theta + s * step) for s in (-1.0, 1.0, -0.5, 0.5)]
            coarse, fine = (ends[1] - ends[0]) / (2 * size[k]), (ends[3] - ends[2]) / size[k]
            J[:, k] = (4 * fine - coarse) / 3
        _, _, rows = np.linalg.svd(J @ base)
        return np.asarray(base @ rows[len(J) :].T, dtype=np.float64)

    def _conditions(self, theta: FloatArray) -> FloatArray:
        found = []
        for layout, block in self._blocks:
            sd = np.sqrt(np.diag(layout.implied(theta).Sigma))[list(block.items)]
            L = theta[block.loadings] / sd[:, None]
            L = _kaiser(L) if self.orthogonal else L
            slope = L.T @ _CRITERIA[self._name](L)[1]
            m = len(block.factors)
            if self.orthogonal:
                found.append((slope - slope.T)[np.triu_indices(m, 1)])
                continue
            f = list(block.factors)
            Psi = layout.matrices(theta).Psi[np.ix_(f, f)]
            left = np.asarray(np.linalg.solve(Psi, slope.T).T, dtype=np.float64)
            found.append(left[~np.eye(m, dtype=bool)])
        return np.concatenate(found)


def _block(model: Model, names: set[str]) -> Block:
    factors = [name for name in model.latent if name in names]
    items = list(
        dict.fromkeys(row.rhs for row in model.parameters if row.op == "=~" and row.lhs in names)
    )
    loadings = np.full((len(items), len(factors)), -1, dtype=np.int64)
    covariances = np.full((len(factors),) * 2, -1, dtype=np.int64)
    for row in model.parameters:
        if row.op == "=~" and row.lhs in names:
            loadings[items.index(row.rhs), factors.index(row.lhs)] = row.free - 1
        if row.op == "~~" and row.lhs != row.rhs and {row.lhs, row.rhs} <= names and row.free:
            i, j = factors.index(row.lhs), factors.index(row.rhs)
            covariances[i, j] = covariances[j, i] = row.free - 1
    return Block(
        loadings,
        covariances,
        tuple(model.observed.index(item) for item in items),
        tuple(model.eta.index(factor) for factor in factors),
    )


def _best_rotation(L: FloatArray, criterion: Criterion, orthogonal: bool) -> FloatArray:
    """T of the smallest criterion over several starts, with factors in order and upright."""
    m = L.shape[1]
    rng = np.random.default_rng(_SEED)
    starts = [np.eye(m), *(np.linalg.qr(rng.normal(size=(m, m)))[0] for _ in range(_STARTS))]
    found = [_project(L, T, criterion, orthogonal) for T in starts]
    _, T = min(found, key=lambda one: one[0])
    rotated = L @ np.linalg.inv(T).T
    place = np.arange(len(L)) @ rotated**2 / (rotated**2).sum(axis=0)
    order = np.argsort(place, kind="stable")
    T, rotated = T[:, order], rotated[:, order]
    arranged: FloatArray = T * np.where(rotated.sum(axis=0) < 0, -1.0, 1.0)
    return arranged


def _project(
    L: FloatArray, T: FloatArray, criterion: Criterion, orthogonal: bool
) -> tuple[float, FloatArray]:
    """Gradient projection over T with unit columns, or orthogonal T."""

    def at(T: FloatArray) -> tuple[float, FloatArray]:
        inverse = np.linalg.inv(T)
        rotated = L @ inverse.T
        value, slope = criterion(rotated)
        return value, -(rotated.T @ slope @ inverse).T

    length = 1.0
    value, G = at(T)
    for _ in range(_STEPS):
        if orthogonal:
            M = T.T @ G
            P = G - T @ (M + M.T) / 2
        else:
            P = G - T * (T * G).sum(axis=0)
        size = float(np.sum(P**2))
        if np.sqrt(size) < _FLAT:
            break
        length *= 2
        for _ in range(30):
            moved = T - length * P
            if orthogonal:
                U, _, V = np.linalg.svd(moved)
                moved = U @ V
            else:
                moved = moved / np.sqrt((moved**2).sum(axis=0))
            new, slope = at(moved)
            if new < value - 0.5 * size * length:
                break
            length /= 2
        else:
            break
        T, value, G = moved, new, slope
    return value, T
