"""Ways to choose a structure from a dependence matrix: ours, and those it was weighed against.

Each is a function from a dependence matrix to the support (p, d).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import dtstat as dt
from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.factors.copula import latent_correlations
from dtstat.factors.robust import degrees_of_freedom, discrepancy
from dtstat.search.evaluate import Evaluator, Fitted, Rules
from dtstat.search.proposals import complete, search_barcode
from dtstat.structure.barcode import Barcode, barcode

Rule = Callable[[dt.DependenceMatrix], BoolArray]

EXACT = Rules("ebic", min_children=3, attach=True, approximate=False)
MOSTLY_NEW = 0.67  # share of a clique not covered yet: more than two of three items
LEAST_MEAN = 0.15  # mean |r| from which that rule attaches an item
WORTH = 100  # rows that any survey is worth at most, for the coarsened criterion
CLOSE = 0.05  # RMSEA of close fit
ONE = 0.85  # disattenuated correlation above which two factors are one


def ours(matrix: dt.DependenceMatrix, **options: Any) -> BoolArray:
    """Choose as :func:`dtstat.fit` does: eBIC over covers, rows worth what misfit leaves."""
    with _quietly():
        return dt.fit(matrix, **options).structure.support


def plain_ebic(matrix: dt.DependenceMatrix) -> BoolArray:
    """Take the model as exact: all rows count."""
    return ours(matrix, misfit="none")


def one_threshold(matrix: dt.DependenceMatrix) -> BoolArray:
    """Our criterion over the structures of one threshold for all factors, as in the paper."""
    return ours(matrix, search="threshold")


def sequential(matrix: dt.DependenceMatrix) -> BoolArray:
    """Our criterion over factors found one after the other, given those before."""
    return ours(matrix, search="sequential")


def coarse_ebic(matrix: dt.DependenceMatrix) -> BoolArray:
    """Let n rows count as n n₀ / (n + n₀), n₀ = 100, whatever the misfit is."""
    n = _rows(matrix)
    evaluator = _evaluator(matrix, round(n * WORTH / (n + WORTH)))
    return search_barcode(evaluator, _pool(matrix), EXACT).best.proposal.support


def close_fit(matrix: dt.DependenceMatrix) -> BoolArray:
    """Of all candidates the one with fewest parameters among those with RMSEA ≤ .05.

    If there is none, that of least RMSEA.
    """
    evaluator = _evaluator(matrix)
    search_barcode(evaluator, _pool(matrix), EXACT)
    misfit = {one: _rmsea(evaluator, one) for one in evaluator.fitted}
    close = [one for one in misfit if misfit[one] <= CLOSE]
    if close:
        return min(close, key=lambda one: one.estimate.n_parameters).proposal.support
    return min(misfit, key=misfit.__getitem__).proposal.support


def discriminant(matrix: dt.DependenceMatrix) -> BoolArray:
    """Start from the tightest disjoint cliques; merge factors that correlate above .85.

    The correlation is the disattenuated one: mean |r| between two factors over the geometric
    mean of the means within them.
    """
    evaluator, pool = _evaluator(matrix), _pool(matrix)
    cores = _greedy(pool, np.argsort(-pool.deaths, kind="stable"), 1.0)
    support = complete(evaluator, cores, EXACT, evaluator.n_obs, "tightest").support
    while support.shape[1] > 1:
        correlations = _disattenuated(evaluator.strength, support)
        j, k = np.unravel_index(correlations.argmax(), correlations.shape)
        if correlations[j, k] <= ONE:
            break
        joined = support[:, j] | support[:, k]
        support = np.column_stack([np.delete(support, [j, k], axis=1), joined])
    return support


def persistence(matrix: dt.DependenceMatrix) -> BoolArray:
    """No model: longest-lived cliques, mostly of new items; the rest attached by mean |r|."""
    pool = _pool(matrix)
    cores = _greedy(pool, np.arange(len(pool)), MOSTLY_NEW)
    support = cores.copy()
    if cores.shape[1]:
        means = matrix.strength @ cores / cores.sum(axis=0)
        left = np.flatnonzero(~cores.any(axis=1) & (means.max(axis=1) >= LEAST_MEAN))
        support[left, means[left].argmax(axis=1)] = True
    return support


RULES: dict[str, Rule] = {
    "ours": ours,
    "sequential": sequential,
    "plain eBIC": plain_ebic,
    "coarse eBIC": coarse_ebic,
    "close fit": close_fit,
    "discriminant": discriminant,
    "one threshold": one_threshold,
    "persistence": persistence,
}


def _pool(matrix: dt.DependenceMatrix) -> Barcode:
    return barcode(matrix.values, matrix.names, min_children=3)


def _rows(matrix: dt.DependenceMatrix) -> int:
    """Rows behind an entry: their harmonic mean, as :func:`dtstat.fit` counts them."""
    if matrix.pairwise_n is None:
        assert matrix.n_obs is not None
        return matrix.n_obs
    counts = matrix.pairwise_n[np.triu_indices(matrix.n_items, 1)]
    return round(float(1 / np.mean(1 / counts)))


def _quietly() -> warnings.catch_warnings:
    """Ignore doubts about the fit: they are expected where items outnumber rows."""
    return warnings.catch_warnings(action="ignore", category=dt.EstimationWarning)


def _evaluator(matrix: dt.DependenceMatrix, n: int | None = None) -> Evaluator:
    with _quietly():
        return Evaluator(latent_correlations(matrix).R, n or _rows(matrix))


def _rmsea(evaluator: Evaluator, fitted: Fitted) -> float:
    df = degrees_of_freedom(fitted.estimate)
    if df <= 0:
        return 0.0
    excess = discrepancy(evaluator.R, fitted.estimate) / df - 1 / evaluator.n_obs
    return float(np.sqrt(max(0.0, excess)))


def _greedy(pool: Barcode, order: IntArray, least_new: float) -> BoolArray:
    """(p, d) cliques in this order, each with at least a share of its items not covered yet."""
    covered = np.zeros(len(pool.item_names), dtype=bool)
    taken = []
    for clique in pool.members[order]:
        if (clique & ~covered).sum() >= least_new * clique.sum() and not clique.all():
            taken.append(clique)
            covered |= clique
    return np.array(taken, dtype=bool).reshape(-1, len(covered)).T


def _disattenuated(strength: FloatArray, support: BoolArray) -> FloatArray:
    """(d, d) correlations of disjoint factors, 0 on the diagonal."""
    S = strength.copy()
    np.fill_diagonal(S, 0.0)
    sums, sizes = support.T @ S @ support, support.sum(axis=0)
    within = sums.diagonal() / (sizes * (sizes - 1))
    between = sums / np.outer(sizes, sizes)
    np.fill_diagonal(between, 0.0)
    return between / np.sqrt(np.outer(within, within))
