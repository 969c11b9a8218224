"""Structures are fitted once each, and compared by what they cost."""

import numpy as np
import pytest

from dtstat.factors.copula import fit_as_ordered
from dtstat.factors.robust import effective_rows
from dtstat.factors.small_models import fit_small
from dtstat.search import evaluate
from dtstat.search.criteria import INFORMATION
from dtstat.search.evaluate import Evaluator
from dtstat.search.records import Fitted, Proposal

N, P = 200, 9
SAME_LIKELIHOOD = 0.05  # of a block: its search stops when a step gains less than 0.001


@pytest.fixture
def R():
    """Nine items of three correlated factors, sampled."""
    own = np.arange(P) // 3
    Sigma = 0.49 * np.where(own[:, None] == own, 1.0, 0.4)
    np.fill_diagonal(Sigma, 1)
    rows = np.random.default_rng(0).standard_normal((N, P)) @ np.linalg.cholesky(Sigma).T
    return np.corrcoef(rows, rowvar=False)


def proposal(*factors, origin="by hand", p=P):
    support = np.array([[i in factor for i in range(p)] for factor in factors], dtype=bool)
    return Proposal(support.reshape(-1, p).T, origin)


TRUTH = proposal(range(3), range(3, 6), range(6, 9))
ONE = proposal(range(9))
TWO = proposal(range(6), range(6, 9))
OVERLAP = proposal(range(4), range(3, 7), range(6, 9))
NOTHING = proposal()
ALL = [NOTHING, ONE, TWO, OVERLAP, TRUTH]
# Structures of the same size: one without items, one with all in one factor, 2⁸ − 1 − 9 ways into
# two factors of two or more, 1918 into three, each with C(9 · 2, 2) choices of two second loadings.
STRUCTURES = [1, 1, 246, 1918 * 153, 1918]


@pytest.fixture
def calls(monkeypatch):
    """Supports of the models that are fitted."""
    fitted = []

    def fit(R, n_obs, support, *rest):
        fitted.append(support)
        return fit_small(R, n_obs, support, *rest)

    monkeypatch.setattr(evaluate, "fit_small", fit)
    return fitted


# names of structures


def test_the_order_of_factors_does_not_matter_to_the_key():
    assert proposal(range(3), range(3, 6)).key == proposal(range(3, 6), range(3), origin="b").key


def test_structures_that_differ_have_different_keys():
    """All 2⁹ - 1 single factors, and the sets that share some of them."""
    singles = [
        proposal(np.flatnonzero([code >> i & 1 for i in range(P)])) for code in range(1, 512)
    ]
    assert len({one.key for one in [*singles, *ALL]}) == 511 + len(ALL) - 1
    assert ONE.key in {one.key for one in singles}


# fits


def test_each_structure_is_fitted_once(R, calls):
    evaluator = Evaluator(R, N)
    first = evaluator.fit(TRUTH)
    again = evaluator.fit(Proposal(TRUTH.support[:, [2, 0, 1]], "another order"))
    assert again is first
    assert evaluator.fit(TWO) is not first
    assert len(calls) == 2
    assert [one.proposal for one in evaluator.fitted] == [TRUTH, TWO]


def test_a_fit_is_the_maximum_likelihood_of_all_rows(R):
    fitted = Evaluator(R, N).fit(OVERLAP)
    alone = fit_as_ordered(R, N, OVERLAP.support)
    assert fitted.estimate.log_likelihood == pytest.approx(alone.log_likelihood, abs=1e-8)
    assert fitted.estimate.converged
    assert (fitted.n_factors, fitted.n_edges, fitted.n_obs) == (3, 11, N)


@pytest.mark.parametrize("seed", range(10))
def test_no_structure_exceeds_its_bound(R, seed):
    """Neither sensible structures nor random ones with up to five factors."""
    rng = np.random.default_rng(seed)
    evaluator = Evaluator(R, N)
    support = rng.random((len(R), 1 + seed % 5)) < 0.4
    support[: support.shape[1]] |= np.eye(support.shape[1], dtype=bool)
    for one in (Proposal(support, ""), TRUTH, TWO):
        bound, fitted = evaluator.bound(one), evaluator.fit(one)
        assert fitted.log_likelihood <= bound.log_likelihood + 1e-6
        assert fitted.cost("ebic", 50.0) >= bound.cost("ebic", 50.0) - 1e-6
        assert bound.n_parameters == fitted.estimate.n_parameters == fitted.n_parameters


def test_a_bound_is_no_fit(R):
    evaluator = Evaluator(R, N)
    evaluator.bound(TRUTH)
    assert not evaluator.fitted


def test_singular_correlations_bound_nothing():
    evaluator = Evaluator(np.ones((4, 4)), 10)
    assert evaluator.bound(Proposal(np.ones((4, 1), dtype=bool), "")).log_likelihood == np.inf


# costs


@pytest.mark.parametrize("one", ALL)
@pytest.mark.parametrize("n", [N, 81.5])
def test_costs_from_the_implied_covariances(R, one, n):
    """-2n times the normal log-likelihood of a row, and parameters: Σ with an explicit inverse."""
    fitted = Evaluator(R, N).fit(one)
    L, psi = fitted.estimate.loadings, fitted.estimate.uniquenesses
    Sigma = L @ fitted.estimate.factor_correlations @ L.T + np.diag(psi)
    fit = P * np.log(2 * np.pi) + np.linalg.slogdet(Sigma)[1] + np.trace(np.linalg.inv(Sigma) @ R)
    d, edges = one.support.shape[1], int(one.support.sum())
    k = P + edges + d * (d - 1) / 2
    expected = {
        "aic": n * fit + 2 * k,
        "bic": n * fit + k * np.log(n),
        "ebic": n * fit + k * np.log(n) + 2 * np.log(STRUCTURES[ALL.index(one)]),
    }
    found = {criterion: fitted.cost(criterion, n) for criterion in INFORMATION}
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("criterion", INFORMATION)
def test_the_best_costs_least(R, criterion):
    evaluator = Evaluator(R, N)
    chosen = set()
    for one in ALL:
        evaluator.fit(one)
    for n in (2.0, 10.0, 40.0, 100.0, 1000.0, 1e6):
        best = evaluator.best(criterion, n)
        costs = [one.cost(criterion, n) for one in evaluator.fitted]
        assert best.cost(criterion, n) == min(costs)
        chosen.add(best.n_factors)
    assert evaluator.best(criterion, N).proposal is TRUTH
    assert len(chosen) >= 2  # what rows count as matters to the choice


def test_the_first_of_equals(R, monkeypatch):
    evaluator = Evaluator(R, N)
    first, *_ = [evaluator.fit(one) for one in (TWO, TRUTH, ONE)]
    monkeypatch.setattr(Fitted, "cost", lambda self, criterion, n: 1.0)
    assert evaluator.best("bic", N) is first


def test_what_is_rejected_is_not_compared_but_remembered(R, calls):
    evaluator = Evaluator(R, N)
    truth, two = evaluator.fit(TRUTH), evaluator.fit(TWO)
    evaluator.reject(truth)
    assert evaluator.fitted == (two,)
    assert evaluator.best("bic", N) is two
    calls.clear()
    assert evaluator.fit(TRUTH) is truth
    assert calls == []
    assert evaluator.fitted == (two,)


# parts


@pytest.mark.parametrize("items", [np.arange(6), np.array([1, 4, 5, 7])])
def test_likelihood_of_some_items_alone(R, items, monkeypatch):
    calls = []
    compute = evaluate.small_log_likelihood
    monkeypatch.setattr(
        evaluate, "small_log_likelihood", lambda *given: calls.append(1) or compute(*given)
    )
    one = np.ones((len(items), 1), dtype=bool)
    two = np.arange(len(items))[:, None] % 2 == np.arange(2)
    evaluator = Evaluator(R, N)
    for support in (one, two, one, two):
        alone = fit_as_ordered(R[np.ix_(items, items)], N, support).log_likelihood / N
        found = evaluator.block_log_likelihood(items, support)
        assert found == pytest.approx(alone, abs=SAME_LIKELIHOOD / N)
    assert len(calls) == 2
    assert evaluator.fitted == ()


def test_blocks_of_other_items_are_other_blocks(R):
    evaluator = Evaluator(R, N)
    blocks = [np.arange(6), np.arange(3, 9), np.arange(5)]
    for _ in range(2):
        for items in blocks:
            support = np.ones((len(items), 1), dtype=bool)
            expected = fit_as_ordered(R[np.ix_(items, items)], N, support).log_likelihood / N
            found = evaluator.block_log_likelihood(items, support)
            assert found == pytest.approx(expected, abs=SAME_LIKELIHOOD / N)


def test_what_rows_are_worth(R):
    evaluator = Evaluator(R, N)
    one, truth = evaluator.fit(ONE), evaluator.fit(TRUTH)
    assert evaluator.worth(one) == effective_rows(R, one.estimate, N)
    assert evaluator.worth(one) < evaluator.worth(truth) <= N


def test_what_it_was_given(R):
    evaluator = Evaluator(-R, N)
    assert evaluator.n_items == P
    np.testing.assert_array_equal(evaluator.strength, np.abs(R))


def test_rough_fits_lack_the_last_steps():
    """Fewer, and hardly less likely; an evaluator made afresh is exact unless told otherwise."""
    rng = np.random.default_rng(0)
    own = np.arange(210)[:, None] // 15 == np.arange(14)
    Sigma = own @ own.T * 0.4 + 0.1 + 0.5 * np.eye(210)
    one = Proposal(np.hstack([own, rng.random((210, 4)) < 0.03]), "")
    exact = Evaluator(Sigma, N).fit(one)
    again = Evaluator(Sigma, N).afresh(roughly=True).afresh().fit(one)
    rough = Evaluator(Sigma, N).afresh(roughly=True).fit(one)
    assert again.log_likelihood == exact.log_likelihood
    assert rough.estimate.n_iterations < exact.estimate.n_iterations
    assert 0 < exact.log_likelihood - rough.log_likelihood < 2
