"""Designs with a known structure: the paper's, misspecified models, more items than rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import dtstat as dt

GRAPHS = ("v_structure", "chain", "double_mediation")
FACTORS = 5  # of the misspecified design

Draw = Callable[[int], tuple[pd.DataFrame, dt.Structure]]


@dataclass(frozen=True)
class Cell:
    """One design at one number of rows.

    Attributes
    ----------
    group, name
        What it belongs to, and its own name.
    n
        Rows.
    draw
        Answers and the true structure for a seed.
    ours, others
        Number of data sets for our choice, and for each other rule.
    """

    group: str
    name: str
    n: int
    draw: Draw
    ours: int
    others: int


def cells() -> list[Cell]:
    """All designs."""
    first = [
        Cell(group, graph, n, partial(_simulated, graph, n, levels=levels), ours=100, others=10)
        for group, n, levels in (
            ("first", 4000, None),
            ("first, n = 300", 300, None),
            ("first, five-point", 4000, 5),
        )
        for graph in GRAPHS
    ]
    crossed = [
        Cell("two cross-loadings", graph, 4000, draw, ours=40, others=10)
        for graph in GRAPHS
        for draw in [partial(_simulated, graph, 4000, cross_loadings=2)]
    ]
    wrong = [
        Cell("misspecified", "five factors", n, partial(misspecified, n), ours=40, others=5)
        for n in (300, 1000, 5000)
    ]
    wide = partial(_simulated, "high_dimensional", 250, factor_correlation=0.75)
    return [*first, *crossed, *wrong, Cell("high-dimensional", "375 items", 250, wide, 50, 0)]


def misspecified(n: int, seed: int) -> tuple[pd.DataFrame, dt.Structure]:
    """Five factors of 5 to 8 items whose model is only nearly true.

    Loadings are uniform on [.5, .8], factors correlate at .3. Not part of the structure: 30 % of
    the items load on a second factor by ±[.1, .2], and items are paired at random, the errors of
    a pair correlating at .1. The population depends on the seed alone, not on ``n``.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 9, FACTORS)
    p = int(sizes.sum())
    parent = np.repeat(np.arange(FACTORS), sizes)
    loadings = np.zeros((p, FACTORS))
    loadings[np.arange(p), parent] = rng.uniform(0.5, 0.8, p)
    crossed = rng.choice(p, round(0.3 * p), replace=False)
    second = (parent[crossed] + rng.integers(1, FACTORS, len(crossed))) % FACTORS
    size = rng.uniform(0.1, 0.2, len(crossed))
    loadings[crossed, second] = rng.choice([-1.0, 1.0], len(crossed)) * size
    pairs = rng.permutation(p)[: p // 2 * 2].reshape(-1, 2)
    Phi = np.full((FACTORS, FACTORS), 0.3) + 0.7 * np.eye(FACTORS)
    uniqueness = 1 - np.einsum("ij,jk,ik->i", loadings, Phi, loadings)
    Z = rng.multivariate_normal(np.zeros(FACTORS), Phi, n, method="cholesky")
    X = Z @ loadings.T + np.sqrt(uniqueness) * _errors((n, p), pairs, rng)
    support = np.arange(FACTORS) == parent[:, None]
    return pd.DataFrame(X, columns=[f"x{i + 1}" for i in range(p)]), dt.Structure(support)


def _errors(shape: tuple[int, int], pairs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw standard normal columns, those of disjoint pairs correlating at .1."""
    E = rng.standard_normal(shape)
    first, second = pairs.T
    E[:, second] = 0.1 * E[:, first] + np.sqrt(0.99) * E[:, second]
    return E


def _simulated(
    design: str, n: int, seed: int, **arguments: Any
) -> tuple[pd.DataFrame, dt.Structure]:
    simulation = dt.simulate(design, n, seed=seed, **arguments)
    return simulation.data, simulation.structure
