"""Data from factor models that are true, with answers of several kinds.

All loadings are equal, so that the model holds for Pearson correlations of skewed items as well: an
increasing transformation turns equal correlations into equal ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import dtstat as dt

LOADING, PHI, CROSS = 0.7, 0.4, 0.3
SIZES = {"1 x 9": (1, 9), "3 x 3": (3, 3), "3 x 5": (3, 5), "5 x 5": (5, 5)}
CONTINUOUS = ("normal", "skewed")
SKEWED = 0.5  # exp(x / 2): skewness 1.75, excess kurtosis 5.9
CUTS = {
    "five-point": [-1.2, -0.4, 0.4, 1.2],
    "skewed five-point": [0.2, 0.8, 1.3, 1.8],
    "three-point": [-0.5, 0.5],
    "skewed three-point": [0.6, 1.3],
    "binary 50/50": [0.0],
    "binary 15/85": [1.0364],
}
DIFFICULTIES = [-0.8, -0.5, 0.0, 0.5, 0.8]  # of "binary" items, in turn
ANSWERS = (*CONTINUOUS, "five-point", "skewed five-point", "binary")


@dataclass(frozen=True)
class Cell:
    """One design: size, kind of answers, rows, share of gaps."""

    size: str
    answers: str
    n: int
    gaps: float

    @property
    def shape(self) -> tuple[int, int]:
        """Factors, and items of each."""
        return SIZES[self.size]

    @property
    def structure(self) -> dt.Structure:
        """The true structure."""
        d, k = self.shape
        return dt.Structure(np.kron(np.eye(d), np.ones((k, 1))) > 0)

    @property
    def measures(self) -> tuple[str, ...]:
        """Measures a user would take; ratings are reported alike with all of them."""
        return ("spearman", "kendall", "pearson") if self.answers in CONTINUOUS else ("spearman",)

    def truth(self, measure: str) -> tuple[float, float]:
        """Return the loading and factor correlation that a measure estimates."""
        if measure != "pearson" or self.answers != "skewed":
            return LOADING, PHI
        within, between = (_log_normal(LOADING**2 * phi) for phi in (1.0, PHI))
        return math.sqrt(within), between / within

    def draw(self, rng: np.random.Generator, cross: float = 0.0) -> np.ndarray:
        """Draw answers; with ``cross`` the first item also loads on the second factor."""
        d, k = self.shape
        Phi = np.full((d, d), PHI)
        np.fill_diagonal(Phi, 1.0)
        z = rng.standard_normal((self.n, d)) @ np.linalg.cholesky(Phi).T
        L = LOADING * self.structure.support
        if cross:
            L[0, 1] = cross
        noise = np.sqrt(1 - ((L @ Phi) * L).sum(axis=1))
        X = z @ L.T + noise * rng.standard_normal((self.n, d * k))
        X = answer(X, self.answers)
        X[rng.random(X.shape) < self.gaps] = np.nan
        return X


def answer(X: np.ndarray, kind: str) -> np.ndarray:
    """Turn normal variables into answers."""
    if kind == "normal":
        return X
    if kind == "skewed":
        return np.exp(SKEWED * X)
    if kind == "binary":
        return (np.resize(DIFFICULTIES, X.shape[1]) < X).astype(float)
    return np.digitize(X, CUTS[kind]).astype(float)


def _log_normal(rho: float) -> float:
    """Pearson correlation of exp(a x) and exp(a y), (e^{a²ρ} − 1) / (e^{a²} − 1)."""
    return math.expm1(SKEWED**2 * rho) / math.expm1(SKEWED**2)
