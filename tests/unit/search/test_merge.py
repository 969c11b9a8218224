"""Halves of a factor are joined, factors that are distinct are not."""

import numpy as np
import pytest

from dtstat.search.criteria import INFORMATION
from dtstat.search.evaluate import Evaluator
from dtstat.search.records import Proposal
from dtstat.search.refine import merge_while_better

N = 500


def members(own):
    return np.asarray(own)[:, None] == np.arange(max(own) + 1)


def sampled(own, phi, n, seed, loadings=(0.5, 0.8)):
    """Correlations of n rows; factors that all correlate at phi."""
    rng = np.random.default_rng(seed)
    own = np.asarray(own)
    loading = rng.uniform(*loadings, len(own)) * rng.choice([-1, 1], len(own))
    Sigma = np.outer(loading, loading) * np.where(own[:, None] == own, 1.0, phi)
    np.fill_diagonal(Sigma, 1)
    rows = rng.standard_normal((n, len(own))) @ np.linalg.cholesky(Sigma).T
    return np.corrcoef(rows, rowvar=False)


def merged(R, support, criterion="ebic", n_obs=N, n=None):
    evaluator = Evaluator(R, n_obs)
    start = evaluator.fit(Proposal(support, "start"))
    return start, merge_while_better(evaluator, start, criterion, n_obs if n is None else n)


def key(own):
    return Proposal(members(own), "").key


TRUE = [0] * 6 + [1] * 6 + [2] * 6


@pytest.mark.parametrize("criterion", ["ebic", "bic"])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "split",
    [
        [0, 0, 0, 3, 3, 3, *TRUE[6:]],  # one in halves
        [0, 0, 0, 3, 3, 3, 1, 1, 1, 4, 4, 4, 2, 2, 2, 5, 5, 5],  # all in halves
        [0, 0, 3, 3, 4, 4, *TRUE[6:]],  # one in three
    ],
)
def test_parts_of_a_factor_are_put_together(split, seed, criterion):
    start, end = merged(sampled(TRUE, 0.3, N, seed), members(split), criterion)
    assert end.proposal.key == key(TRUE)
    assert end.proposal.origin == "merged"
    assert end.cost(criterion, N) < start.cost(criterion, N)


@pytest.mark.parametrize("criterion", INFORMATION)
@pytest.mark.parametrize("seed", range(5))
def test_distinct_factors_stay_apart(seed, criterion):
    """Correlated at .75 with 250 rows, as in the paper's hardest design."""
    start, end = merged(sampled(TRUE, 0.75, 250, seed), members(TRUE), criterion, 250)
    assert end is start


@pytest.mark.parametrize("criterion", INFORMATION)
@pytest.mark.parametrize("phi", [0.7, 0.8, 0.9, 0.95, 1.0])
def test_two_factors_are_joined_just_if_one_costs_less(criterion, phi):
    own = [0] * 4 + [1] * 4
    for seed in range(6):
        R = sampled(own, phi, 200, seed)
        start, end = merged(R, members(own), criterion, 200)
        one = Evaluator(R, 200).fit(Proposal(np.ones((8, 1), dtype=bool), ""))
        assert (end is not start) == (one.cost(criterion, 200) < start.cost(criterion, 200))
        assert end.proposal.key == (start if end is start else one).proposal.key


def test_what_the_items_alone_decide_is_not_fitted():
    """With two factors their items are all: no model is fitted that does not win.

    At .85 two factors pay for the 119 ways to split eight items in some samples, not in others.
    """
    own = [0] * 4 + [1] * 4
    kept_apart = 0
    for seed in range(30):
        evaluator = Evaluator(sampled(own, 0.85, 200, seed), 200)
        start = evaluator.fit(Proposal(members(own), "start"))
        end = merge_while_better(evaluator, start, "ebic", 200)
        assert len(evaluator.fitted) == 1 + (end is not start)
        kept_apart += end is start
    assert 5 <= kept_apart <= 25


@pytest.mark.parametrize("criterion", INFORMATION)
def test_both_happen_in_the_test_above(criterion):
    own = [0] * 4 + [1] * 4
    ends = [
        merged(sampled(own, phi, 200, seed), members(own), criterion, 200)[1].n_factors
        for phi in (0.7, 1.0)
        for seed in range(6)
    ]
    assert set(ends) == {1, 2}


def test_fewer_rows_keep_less_apart():
    """The same matrix: what the rows count as decides."""
    own = [0] * 5 + [1] * 5
    R = sampled(own, 0.85, 2000, 1)
    ends = [merged(R, members(own), "bic", 2000, n)[1].n_factors for n in (10, 2000)]
    assert ends == [1, 2]


def test_a_shared_item_is_one_item_and_two_edges():
    """Joining saves the correlation and the second edge of each shared item."""
    R = sampled([0] * 8, 0.0, N, 3)
    support = np.zeros((8, 2), dtype=bool)
    support[:5, 0] = support[3:, 1] = True
    start, end = merged(R, support)
    np.testing.assert_array_equal(end.proposal.support, np.ones((8, 1)))
    assert (start.n_edges, end.n_edges) == (10, 8)
    assert start.estimate.n_parameters - end.estimate.n_parameters == 3


def test_shared_items_are_paid_for_in_the_decision():
    """With two factors of all items the items' own models are the whole ones: the rule is exact."""
    decisions = set()
    for seed in range(30):
        R = sampled([0] * 4 + [1] * 4, 0.8, 150, seed)
        support = members([0] * 4 + [1] * 4)
        support[3, 1] = support[4, 0] = True
        start, end = merged(R, support, "ebic", 150)
        one = Evaluator(R, 150).fit(Proposal(np.ones((8, 1), dtype=bool), ""))
        assert (end is not start) == (one.cost("ebic", 150) < start.cost("ebic", 150))
        decisions.add(end is start)
    assert decisions == {True, False}


@pytest.mark.parametrize("seed", range(10))
def test_ends_are_unions_that_cost_no_more(seed):
    rng = np.random.default_rng(seed)
    R = sampled(TRUE, 0.5, N, seed)
    own = rng.integers(0, 6, len(TRUE))
    support = members(own)
    support = support[:, support.any(axis=0)]
    start, end = merged(R, support, "bic")
    assert end.cost("bic", N) <= start.cost("bic", N)
    for factor in end.proposal.support.T:
        inside = ~(support & ~factor[:, None]).any(axis=0)
        np.testing.assert_array_equal(support[:, inside].any(axis=1), factor)
    assert end.n_edges == start.n_edges


@pytest.mark.parametrize("d", [0, 1])
def test_nothing_to_merge(d):
    start, end = merged(sampled([0] * 5, 0, N, 0), np.ones((5, d), dtype=bool))
    assert end is start


def test_if_all_at_once_is_worse_the_most_convincing_pair_alone():
    """Two factors in halves; the structure with both put together is made to look bad."""
    own = [0] * 6 + [1] * 6
    halves = [0, 0, 0, 2, 2, 2, 1, 1, 1, 3, 3, 3]
    R = sampled(own, 0.2, N, 0)
    fits = []

    class Stubborn(Evaluator):
        def beats(self, proposal, rival, criterion, n):
            fits.append(proposal.key)
            found = super().beats(proposal, rival, criterion, n)
            return None if proposal.key == key(own) else found

    evaluator = Stubborn(R, N)
    start = evaluator.fit(Proposal(members(halves), "start"))
    end = merge_while_better(evaluator, start, "ebic", N)
    assert fits[0] == key(own)  # all at once was tried first
    first = key([0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2])
    second = key([0, 0, 0, 2, 2, 2, 1, 1, 1, 1, 1, 1])
    plain = Evaluator(R, N)

    def loss(items):
        """What one factor instead of two halves loses in fit."""
        two = np.arange(6)[:, None] // 3 == np.arange(2)
        one = np.ones((6, 1), dtype=bool)
        return plain.block_log_likelihood(items, two) - plain.block_log_likelihood(items, one)

    losses = loss(np.arange(6)), loss(np.arange(6, 12))
    assert end.proposal.key == (first if losses[0] < losses[1] else second)
    assert end.n_factors == 3


def test_the_start_stays_as_it_was():
    support = members([0, 0, 0, 1, 1, 1])
    start, end = merged(sampled([0] * 6, 0, N, 0), support)
    assert end.n_factors == 1
    np.testing.assert_array_equal(start.proposal.support, members([0, 0, 0, 1, 1, 1]))
