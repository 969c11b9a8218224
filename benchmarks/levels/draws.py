"""Data from factor models that are true, or nearly so."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import dtstat as dt

CUTS = (-1.2, -0.4, 0.4, 1.2)  # five-point answers
HARDEST = 1.2  # cuts of yes/no items of unequal difficulty: evenly from -1.2 to 1.2
ANSWERS = ("continuous", "five-point", "binary, equal", "binary, unequal")
MINOR = 50  # minor factors
FALL = 0.8  # each has so much of the standard deviation of the one before


@dataclass(frozen=True)
class Design:
    """A factor model.

    Attributes
    ----------
    name
        As in the tables.
    sizes
        Items of each factor.
    loadings
        Of all items.
    phi
        Correlation of the factors.
    answers
        Kind of answers.
    minor
        Share of the variance of each item that 50 minor factors have (Tucker, Koopman & Linn
        1969); drawn anew for each data set.
    """

    name: str
    sizes: tuple[int, ...]
    loadings: tuple[float, ...]
    phi: float = 0.0
    answers: str = "continuous"
    minor: float = 0.0
    truth: dt.Structure = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Keep the true structure."""
        parent = np.repeat(np.arange(len(self.sizes)), self.sizes)
        truth = dt.Structure(np.arange(len(self.sizes)) == parent[:, None])
        object.__setattr__(self, "truth", truth)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the answers of n people."""
        d, p = len(self.sizes), len(self.loadings)
        load = self.truth.support * np.array(self.loadings)[:, None]
        Phi = np.full((d, d), self.phi) + (1 - self.phi) * np.eye(d)
        common = rng.standard_normal((n, d)) @ np.linalg.cholesky(Phi).T @ load.T
        unique = 1 - np.array(self.loadings) ** 2 - self.minor
        X = common + np.sqrt(unique) * rng.standard_normal((n, p))
        if self.minor:
            W = rng.standard_normal((p, MINOR)) * FALL ** np.arange(MINOR)
            W *= np.sqrt(self.minor / (W**2).sum(axis=1))[:, None]
            X += rng.standard_normal((n, MINOR)) @ W.T
        return self._answered(X)

    def _answered(self, X: np.ndarray) -> np.ndarray:
        if self.answers == "five-point":
            return np.digitize(X, CUTS).astype(float)
        if self.answers == "binary, equal":
            return (X > 0).astype(float)
        if self.answers == "binary, unequal":
            cuts = np.linspace(-HARDEST, HARDEST, X.shape[1])
            return (np.random.default_rng(0).permutation(cuts) < X).astype(float)
        return X


def equal(name: str, d: int, size: int, loading: float, phi: float, minor: float = 0.0) -> Design:
    """Return a design with d factors alike and all loadings equal."""
    return Design(name, (size,) * d, (loading,) * (d * size), phi, minor=minor)
