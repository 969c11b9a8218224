"""Single loadings, added and dropped: what cliques cannot see."""

import dataclasses

import numpy as np
import pytest

import dtstat as dt
from dtstat.factors.copula import latent_correlations
from dtstat.search.criteria import SALIENT
from dtstat.search.evaluate import Evaluator
from dtstat.search.levels import search_tree
from dtstat.search.records import Outcome, Proposal, Rules
from dtstat.search.refine import refine
from dtstat.structure.barcode import barcode

RULES = Rules("ebic", min_children=3, attach=True, approximate=True)
EXACT = dataclasses.replace(RULES, approximate=False)
SIMPLE = np.kron(np.eye(2), np.ones((4, 1))).astype(bool)
PHI = np.array([[1, 0.3], [0.3, 1]])


def population(cross=0.0):
    """Two factors of four items; item 0 also loads on the second factor."""
    L = 0.7 * SIMPLE
    L[0, 1] = cross
    R = L @ PHI @ L.T
    np.fill_diagonal(R, 1)
    return R


def started(R, support, n=1000, rules=EXACT):
    """Evaluator and refined outcome from one structure."""
    evaluator = Evaluator(R, n)
    best = evaluator.fit(Proposal(support, "by hand"))
    return evaluator, refine(evaluator, Outcome(best, float(n)), rules)


def searched(data, refined, rules=RULES):
    matrix = dt.dependence(data)
    evaluator = Evaluator(latent_correlations(matrix).R, len(data))
    outcome = search_tree(evaluator, barcode(matrix.values, matrix.names, 3), rules)
    before = outcome.best
    if refined:
        outcome = refine(evaluator, outcome, rules)
    return before, outcome


def test_adds_the_loading_that_is_lacking():
    outcome = started(population(0.4), SIMPLE)[1]
    expected = SIMPLE.copy()
    expected[0, 1] = True
    np.testing.assert_array_equal(outcome.best.proposal.support, expected)
    assert outcome.best.proposal.origin == "refined"
    assert outcome.best.estimate.loadings[0, 1] == pytest.approx(0.4, abs=1e-3)


def test_moves_an_item_to_its_factor():
    wrong = SIMPLE.copy()
    wrong[3] = [False, True]
    best = started(population(), wrong)[1].best
    assert dt.Structure(best.proposal.support) == dt.Structure(SIMPLE)


def test_drops_a_loading_that_is_none():
    extra = SIMPLE.copy()
    extra[2, 1] = True
    best = started(population(), extra)[1].best
    np.testing.assert_array_equal(best.proposal.support, SIMPLE)


def test_leaves_the_truth_alone():
    _, outcome = started(population(), SIMPLE)
    np.testing.assert_array_equal(outcome.best.proposal.support, SIMPLE)


def test_tiny_loadings_are_not_added_however_many_the_rows():
    evaluator, outcome = started(population(0.1), SIMPLE, n=100_000)
    np.testing.assert_array_equal(outcome.best.proposal.support, SIMPLE)
    for one in evaluator.fitted:
        new = one.proposal.support & ~SIMPLE
        assert (np.abs(one.estimate.loadings[new]) >= SALIENT).all()


def test_no_factor_becomes_too_small():
    support = SIMPLE[[0, 1, 2, 4, 5, 6]]
    R = population()[np.ix_([0, 1, 2, 4, 5, 6], [0, 1, 2, 4, 5, 6])].copy()
    R[0, 1:3] = R[1:3, 0] = 0.02  # nearly unrelated to its own factor
    R[0, 3:] = R[3:, 0] = 0.4  # but to the other
    evaluator, _ = started(R, support)
    assert all((one.proposal.support.sum(axis=0) >= 3).all() for one in evaluator.fitted)


def test_nothing_to_refine_without_factors():
    R = np.eye(5)
    _, outcome = started(R, np.zeros((5, 0), dtype=bool))
    assert outcome.best.n_factors == 0


def test_finds_planted_cross_loadings():
    before = after = 0
    for seed in (2, 5):
        simulated = dt.simulate("chain", 1000, cross_loadings=2, seed=seed)
        start, outcome = searched(simulated.data, True)
        end = outcome.best.proposal.support
        names = simulated.structure.item_names
        before += dt.compare(
            dt.Structure(start.proposal.support, names), simulated.structure
        ).hamming
        after += dt.compare(dt.Structure(end, names), simulated.structure).hamming
        assert (end.sum(axis=0) >= 3).all()
    assert after < before
    assert after == 0


def test_leaves_clean_data_alone():
    simulated = dt.simulate("chain", 1000, seed=1)
    start, outcome = searched(simulated.data, True)
    assert outcome.best.proposal.key == start.proposal.key


@pytest.mark.filterwarnings("ignore::dtstat.DTWarning")
def test_many_items_without_any_factor():
    X = np.random.default_rng(1).standard_normal((300, 210))
    assert dt.fit(X, refine=True).n_factors == 0
