"""Populations whose true claims are known, and answers drawn from them.

Items are increasing functions of normal variables, the same for all items of a design, so that
every measure orders pairs as the normal correlations do, and a claim is true or false by these.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtstat.core.arrays import FloatArray

_CUTS = {
    "five": [-1.5, -0.5, 0.5, 1.5],
    "five skewed": [0.2, 0.8, 1.3, 1.9],
    "binary": [0.0],
    "binary 25/75": [0.67],
}
_FROM_RARE_TO_USUAL = {"binary 10 to 90": 0.0, "three 10 to 90": 0.6}  # and between cuts of an item


@dataclass(frozen=True, eq=False)
class Population:
    """Normal correlations, number of factors, and how answers look.

    Attributes
    ----------
    name
        In words.
    Sigma
        (p, p) correlations of the normal variables; half of them reflected in the answers.
    n_factors
        Smallest number of factors that gives them.
    kind, gaps
        "normal", "skewed", or cuts into categories; share of answers that are missing.
    n, measure
        Rows, and the measure to certify by.
    """

    name: str
    Sigma: FloatArray
    n_factors: int
    n: int
    kind: str = "normal"
    measure: str = "spearman"
    gaps: float = 0.0

    @property
    def label(self) -> str:
        """Say all of it."""
        gaps = f", {100 * self.gaps:g} % gaps" if self.gaps else ""
        return f"{self.name}, {self.kind}{gaps}"

    def draw(self, rng: np.random.Generator, n: int | None = None) -> FloatArray:
        """Draw answers."""
        p = len(self.Sigma)
        values, vectors = np.linalg.eigh(self.Sigma)
        root = vectors * np.sqrt(np.maximum(values, 0))
        X = rng.standard_normal((self.n if n is None else n, p)) @ root.T
        if self.kind == "skewed":
            X = np.exp(0.8 * X)
        elif self.kind in _FROM_RARE_TO_USUAL:
            apart = _FROM_RARE_TO_USUAL[self.kind]
            cuts = np.linspace(-1.28, 1.28, p)
            X = (cuts - apart < X).astype(float) + (cuts + apart < X)
        elif self.kind != "normal":
            X = np.digitize(X, _CUTS[self.kind]).astype(float)
        X[:, 1::2] *= -1
        X[rng.uniform(size=X.shape) < self.gaps] = np.nan
        return X

    def holds(self, members: np.ndarray, item: int) -> bool:
        """Whether a claim about the population is true."""
        S = np.abs(self.Sigma)
        inside = S[np.ix_(members, members)]
        weakest = inside[~np.eye(len(inside), dtype=bool)].min()
        return bool(weakest > S[item, ~members].max(initial=0.0) + 1e-9)


def clusters(d: int, k: int, loading: float | FloatArray = 0.7, phi: float = 0.3) -> FloatArray:
    """Correlations of d factors with k items each."""
    Phi = np.full((d, d), phi)
    np.fill_diagonal(Phi, 1.0)
    L = np.kron(np.eye(d), np.ones((k, 1))) * np.resize(loading, d * k)[:, None]
    return _with_unit_diagonal(L @ Phi @ L.T)


def cross_loadings(d: int, k: int, phi: float = 0.3) -> FloatArray:
    """As clusters, the last item of every factor loads on the next one as well."""
    Phi = np.full((d, d), phi)
    np.fill_diagonal(Phi, 1.0)
    L = np.kron(np.eye(d), np.full((k, 1), 0.7))
    for f in range(d):
        L[k * f + k - 1, [f, (f + 1) % d]] = 0.5
    return _with_unit_diagonal(L @ Phi @ L.T)


def one_tie(d: int, k: int = 3) -> FloatArray:
    """Cliques that are false by a hair: one pair within is as weak as one tie of each item outside.

    Every other pair within is far stronger, every other pair between far weaker, so that nothing
    but these ties keeps the cliques from being certified.
    """
    Sigma = np.kron(np.eye(d), np.full((k, k), 0.58)) + np.kron(
        1 - np.eye(d), np.full((k, k), 0.05)
    )
    for f in range(d):
        Sigma[k * f, k * f + 1] = Sigma[k * f + 1, k * f] = 0.28
        for j in range(k):
            a, b = k * f + j, k * (f ^ 1) + j  # the next clique, or the one before
            Sigma[a, b] = 0.28
    return _with_unit_diagonal(Sigma)


def _with_unit_diagonal(Sigma: FloatArray) -> FloatArray:
    Sigma = Sigma.copy()
    np.fill_diagonal(Sigma, 1.0)
    return Sigma


_UNEQUAL = np.linspace(0.9, 0.3, 9)

POPULATIONS = (
    Population("1 x 9, .7", clusters(1, 9), 1, 100),
    Population("1 x 9, .7", clusters(1, 9), 1, 100, measure="pearson"),
    Population("1 x 9, .7", clusters(1, 9), 1, 100, "skewed", "pearson"),
    Population("1 x 9, .9 to .3", clusters(1, 9, _UNEQUAL), 1, 300),
    Population("1 x 12, .7", clusters(1, 12), 1, 200, "five skewed"),
    Population("1 x 12, .7", clusters(1, 12), 1, 200, "binary 25/75"),
    Population("1 x 20, .6", clusters(1, 20, 0.6), 1, 1000),
    Population("1 x 100, .6", clusters(1, 100, 0.6), 1, 100, measure="pearson"),
    Population("no factor, 12", np.eye(12), 0, 100),
    Population("no factor, 12", np.eye(12), 0, 100, "skewed", "pearson"),
    Population("no factor, 40", np.eye(40), 0, 100, "five"),
    Population("no factor, 100", np.eye(100), 0, 200, "binary"),
    Population("3 x 3, phi .3", clusters(3, 3), 3, 100),
    Population("3 x 3, phi .8", clusters(3, 3, phi=0.8), 3, 300, "five"),
    Population("2 x 6, phi .8", clusters(2, 6, phi=0.8), 2, 1000),
    Population("2 x 6, phi .8", clusters(2, 6, phi=0.8), 2, 1000, "skewed", "pearson"),
    Population("3 x 4, phi .3", clusters(3, 4), 3, 400, "normal", "pearson", 0.15),
    Population("3 x 4, phi .3", clusters(3, 4), 3, 500, "five", "polychoric"),
    Population("3 x 4, phi .3", clusters(3, 4), 3, 300, "binary", "spearman", 0.1),
    Population("5 x 5, phi .5", clusters(5, 5, phi=0.5), 5, 2000, "five skewed"),
    Population("4 x 4 crossed, phi .3", cross_loadings(4, 4), 4, 500),
    Population("3 x 5 crossed, phi .6", cross_loadings(3, 5, 0.6), 3, 1000, "five", "kendall"),
    Population("10 x 10, phi .3", clusters(10, 10), 10, 500),
    Population("one tie, 4 x 3", one_tie(4), 12, 200),
    Population("one tie, 4 x 3", one_tie(4), 12, 2000, measure="pearson"),
    Population("one tie, 4 x 3", one_tie(4), 12, 300, "skewed", "pearson"),
    Population("one tie, 4 x 3", one_tie(4), 12, 500, "binary 25/75"),
    Population("one tie, 12 x 3", one_tie(12), 36, 1000, "normal", "pearson", 0.1),
)
