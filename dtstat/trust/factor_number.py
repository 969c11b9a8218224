"""A lower bound on the number of factors that holds with a given probability.

If k − 1 factors, with any loadings, explain the latent correlations, Σ = ΛΦΛ′ + Ω with Ω diagonal,
then the correlations between two disjoint sets of items have rank k − 1 at most. So group the
items in k, split each group in two, and let M be the (k, k) mean signed correlations between first
and second parts: under the hypothesis "at most k − 1 factors" M is singular, whatever the groups.

Groups are those of the tree of factors of one half of the rows, where they were chosen to look
different; M is computed from the other half, and its rows and columns are divided by the roots of
the covariances of their mean items, so that entries have like errors that do not correlate; without
that, a factor too small to be seen can make the test far too liberal (Lemma 3b of the vignette
"What is guaranteed"). With u, v the singular vectors of its smallest
singular value σ, and D the influence of the rows on u′Mv,

    T = ± σ √(n − 1) / √(mean D²)

is asymptotically standard normal if M has rank k − 1, its sign being that of det M in this half
times that of det M in the first. (With a smaller rank T is smaller.) Halves change places, so
that a split has the error 2 min of two tails. With K splits of the rows, which depend on each other
in an unknown way, the error is K / h times the h-th smallest, h = (K + 1) / 2 rounded down, because

    P(at least h of K errors are at most α h / K) ≤ α

by Markov's inequality for their number. The hypotheses are nested, so k = 1, 2, ... are tested in
this order, each at the full level, up to the first that is not rejected.

References
----------
Anderson, T. W. & Rubin, H. (1956). Statistical inference in factor analysis. Proceedings of the
Third Berkeley Symposium 5, 111–150. Kleibergen, F. & Paap, R. (2006). Generalized reduced rank
tests using the singular value decomposition. Journal of Econometrics 133, 97–126. Rüger, B. (1978).
Das maximale Signifikanzniveau des Tests: "Lehne H₀ ab, wenn k unter n gegebenen Tests zur Ablehnung
führen". Metrika 25, 171–178.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.errors import DTError, silenced
from dtstat.core.parallel import Progress, track
from dtstat.data.frame import Frame, rows_by_content
from dtstat.data.items import ItemData
from dtstat.dependence.compute import RowDependence
from dtstat.dependence.influence import most_rows, pair_influences
from dtstat.dependence.measures import BRIDGES, LATENT
from dtstat.factors.copula import nearest_correlation
from dtstat.fit.request import FitRequest
from dtstat.search.evaluate import Evaluator
from dtstat.search.tree import Tree
from dtstat.structure.barcode import barcode
from dtstat.structure.groups import Groups
from dtstat.trust.contrasts import student_tail

FEWEST_ROWS = 60
_MOST_NUMBERS = 15_000_000  # of p² times rows whose influences are computed, per half
_ALL_NUMBERS = 60_000_000  # of all halves together
# Tables that say little: of yes/no items, the share of pairs with an empty cell in half of the
# rows; of other ratings, the share of pairs that have no cuts which leave so many rows in every
# cell. One factor seemed to be two in 5 % of data sets or fewer below these shares, in 6 to 33 %
# above them.
_NO_VARIANCE = 1e-8  # share of the largest variance of a sum of items
_NO_INFLUENCE = 1e-6  # of any row: the groups' correlations are exact, and nothing is tested
_MOST_EMPTY, _MOST_THIN, _THIN = 0.1, 0.05, 10


def number_errors(
    items: ItemData, measure: str, n_splits: int, seed: int, progress: Progress = None
) -> FloatArray:
    """(K,) smallest errors at which "at least k factors" would be said, k = 1, 2, ...

    Rising; empty if there are too few rows or items. Ratings are taken as ordinal: of their ranks
    or their codes even one factor explains the correlations only nearly.

    Parameters
    ----------
    items
        The answers.
    measure
        "pearson", "spearman" or "kendall" for continuous items; latent correlations otherwise.
    n_splits, seed
        How often rows are split in halves; fewer with very many items.
    progress
        Bar or callback; each half of each split has a tree and its levels.
    """
    if measure not in LATENT and any(kind != "continuous" for kind in items.kinds):
        measure = "mixed"
    n, p = items.n_rows, items.n_items
    if n < FEWEST_ROWS or p < 4 or not n_splits or hardly_overlap(items):
        return np.empty(0)
    items = _in_frame(items)
    rows = RowDependence(items, measure)
    splits = int(np.clip(_ALL_NUMBERS // (n * p**2), 1, n_splits))
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(splits):
        parts = [np.sort(part) for part in np.array_split(rng.permutation(n), 2)]
        try:
            with silenced():
                one, other = (_Half.of(rows, part) for part in parts)
                tails = list(_tails(one, other, progress)), list(_tails(other, one, progress))
                found.append(_both(*tails))
        except DTError:  # an item does not vary in a half
            found.append(np.empty(0))
    return combine_splits(found)


def _in_frame(items: ItemData) -> ItemData:
    """Put rows and items in an order that only their content decides."""
    frame = Frame.of_answers(items.values)
    rows = rows_by_content(items.values, frame)
    return items.take(rows).select(items.names[i] for i in frame.order)


def hardly_overlap(items: ItemData) -> bool:
    """Whether the answers of too many pairs of items overlap too little for their correlations."""
    X, p = items.values, items.n_items
    rated = [j for j, kind in enumerate(items.kinds) if kind != "continuous"]
    cuts = [(j, x) for j in rated for x in np.unique(X[~np.isnan(X[:, j]), j])[1:]]
    if not cuts:
        return False
    item = np.array([j for j, _ in cuts])
    above = np.column_stack([X[:, j] >= x for j, x in cuts]).astype(np.float32)
    below = np.column_stack([X[:, j] < x for j, x in cuts]).astype(np.float32)
    smallest = np.minimum.reduce([a.T @ b for a in (above, below) for b in (above, below)])
    best = np.full((p, p), -1.0)  # the smallest cell of the four, at the cuts where it is largest
    np.maximum.at(best, (item[:, None], item), smallest)
    first, second = np.triu_indices(p, 1)
    best, one_cut = best[first, second], np.bincount(item, minlength=p) == 1
    yes_no = one_cut[first] & one_cut[second]
    # A cell of c rows is empty in a random half with probability 2^-c.
    empty = float(np.where(yes_no & (best >= 0), 0.5**best, 0.0).mean())
    thin = float((~yes_no & (best >= 0) & (best < _THIN)).mean())
    return empty > _MOST_EMPTY or thin > _MOST_THIN


def _both(first: list[float], second: list[float]) -> FloatArray:
    """Errors of a split: twice the smaller tail; a half without such groups says nothing."""
    tails = np.ones((2, max(len(first), len(second))))
    tails[0, : len(first)], tails[1, : len(second)] = first, second
    errors: FloatArray = np.minimum(2 * tails.min(axis=0), 1.0)
    return errors


def combine_splits(found: list[FloatArray]) -> FloatArray:
    """Errors of tests in sequence, from those of each split, however these depend on each other."""
    splits, most = len(found), max(map(len, found))
    table = np.ones((splits, most))
    for row, own in zip(table, found, strict=True):
        row[: len(own)] = own
    h = (splits + 1) // 2
    errors = np.minimum(splits / h * np.sort(table, axis=0)[h - 1], 1.0)
    sequence: FloatArray = np.maximum.accumulate(errors)
    return sequence


@dataclass(frozen=True, eq=False)
class _Half:
    """Half of the rows: correlations, influences on them, and number of rows."""

    R: FloatArray
    influence: FloatArray
    n: int

    @classmethod
    def of(cls, rows: RowDependence, part: IntArray) -> _Half:
        measure = str(rows.measure)
        R = BRIDGES[measure](rows(part).values)
        np.fill_diagonal(R, 1.0)
        values = rows.items.values[part]
        values = values[: most_rows(len(values), len(R), measure, _MOST_NUMBERS)]
        return cls(R, pair_influences(values, rows.items.kinds, measure, R), len(part))


def _tails(chosen: _Half, tested: _Half, progress: Progress) -> Iterator[float]:
    """Yield the tail of "at least k factors" in one half for the groups of the other."""
    names = tuple(map(str, range(len(chosen.R))))
    rules = FitRequest().rules
    known = nearest_correlation(chosen.R)
    tree = Tree(Evaluator(known, chosen.n), barcode(known, names, rules.min_children), rules)
    levels = tree.grow(progress=progress)[::-1]
    for level in track(levels, progress, "number of factors", len(levels)):
        groups = Groups(known, level.labels, 1 / np.sqrt(chosen.n))
        first, second = _parts(groups)
        if not (np.diff(first.indptr) * np.diff(second.indptr)).all():  # a group of one item
            return
        yield _tail(chosen, tested, first, second)


def _parts(groups: Groups) -> tuple[csc_array, csc_array]:
    """(p, k) signed weights of the first and second parts: items by turns, the strongest first."""
    p, k = len(groups.labels), len(groups.size)
    order = np.lexsort((-groups.own_strength(), groups.labels))
    members = np.split(order, np.cumsum(groups.size)[:-1])
    parts = []
    for turn in (0, 1):
        items = [own[turn::2] for own in members]
        sizes = np.array([len(one) for one in items])
        rows, starts = np.concatenate(items), np.concatenate([[0], np.cumsum(sizes)])
        weights = groups.signs[rows] / np.repeat(sizes, sizes)
        parts.append(csc_array((weights, rows, starts), shape=(p, k)))
    return parts[0], parts[1]


def _tail(chosen: _Half, tested: _Half, first: csc_array, second: csc_array) -> float:
    across = first.T @ tested.R
    roots = [_inverse_root(one.T @ (tested.R @ one)) for one in (first, second)]
    M = roots[0].T @ (across @ second) @ roots[1]
    U, sigma, V = np.linalg.svd(M)
    weights = np.outer(first @ (roots[0] @ U[:, -1]), second @ (roots[1] @ V[-1]))
    weights = (weights + weights.T)[np.triu_indices(len(weights), 1)]
    D = weights @ tested.influence
    known = roots[0].T @ (first.T @ chosen.R @ second) @ roots[1]
    turned = np.linalg.det(known) * np.linalg.det(M) < 0
    distance = -sigma[-1] if turned else sigma[-1]
    size = float(np.abs(D).max())  # of near-empty tables so large that powers would overflow
    if size < _NO_INFLUENCE:
        return 1.0
    D /= size
    second_moment, fourth = np.array([(D**2).mean()]), np.array([(D**4).mean()])
    tail = student_tail(np.array([distance / size]), second_moment, fourth, tested.n)
    return float(tail[0])


def _inverse_root(covariances: FloatArray) -> FloatArray:
    """Symmetric inverse square root; directions without variance are left out."""
    values, vectors = np.linalg.eigh(covariances)
    kept = values > _NO_VARIANCE * values[-1]
    root: FloatArray = (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
    return root
