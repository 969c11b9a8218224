"""Joining factors that the criterion does not keep apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dtstat.selection.criteria import price_of_edge, price_of_parameter
from dtstat.selection.evaluate import Evaluator, Fitted, Proposal

Pair = tuple[int, int]


def merge_while_better(evaluator: Evaluator, current: Fitted, criterion: str, n: float) -> Fitted:
    """Join pairs of factors as long as the criterion falls.

    Fine-grained cliques may be parts of one factor. Whether two are, is first asked of their own
    items, one factor against two; the pairs that would rather be one are joined all at once, or
    if that is worse the most convincing pair alone, and the whole model is fitted.

    Parameters
    ----------
    evaluator
        Where structures are fitted.
    current
        Where to start.
    criterion, n
        An information criterion, and what the rows count as.
    """
    while True:
        pairs = _pairs_to_join(evaluator, current, criterion, n)
        tries = [pairs, pairs[:1]] if len(pairs) > 1 else [pairs] if pairs else []
        for some in tries:
            joined = evaluator.beats(_joined(current.proposal, some), current, criterion, n)
            if joined is not None:
                current = joined
                break
        else:
            return current


def _pairs_to_join(evaluator: Evaluator, current: Fitted, criterion: str, n: float) -> list[Pair]:
    """Disjoint pairs whose items alone prefer one factor, the most convincing first."""
    gains = ((_gain(evaluator, current, pair, criterion, n), pair) for pair in _partners(current))
    chosen: list[Pair] = []
    taken: set[int] = set()
    for gain, pair in sorted(gains, reverse=True):
        if gain > 0 and taken.isdisjoint(pair):
            chosen.append(pair)
            taken.update(pair)
    return chosen


def _partners(current: Fitted) -> Iterator[Pair]:
    """Each factor with the one it correlates with most."""
    if current.n_factors < 2:
        return
    Phi = np.abs(current.estimate.factor_correlations)
    closest = (Phi - np.eye(len(Phi))).argmax(axis=1)
    yield from sorted({(min(j, int(k)), max(j, int(k))) for j, k in enumerate(closest)})


def _gain(evaluator: Evaluator, current: Fitted, pair: Pair, criterion: str, n: float) -> float:
    """Fall of the criterion if the two were one, by the likelihood of their items alone."""
    two = current.proposal.support[:, list(pair)]
    items = np.flatnonzero(two.any(axis=1))
    apart = evaluator.block_log_likelihood(items, two[items])
    joined = evaluator.block_log_likelihood(items, np.ones((len(items), 1), dtype=bool))
    saved_edges = int(two.sum()) - len(items)
    saved = (current.n_factors - 1) * price_of_parameter(criterion, n)
    saved += saved_edges * price_of_edge(criterion, evaluator.n_items, n)
    return saved - 2 * n * (apart - joined)


def _joined(proposal: Proposal, pairs: list[Pair]) -> Proposal:
    support = proposal.support.copy()
    for j, k in pairs:
        support[:, j] |= support[:, k]
    kept = np.delete(support, [k for _, k in pairs], axis=1)
    return Proposal(kept, "merged")
