"""Structures that cannot win are given up; the winner is the one among all."""

import math

import numpy as np
import pytest

import dtstat as dt
from dtstat.factors.copula import latent_correlations
from dtstat.factors.small_models import fit_small
from dtstat.search import evaluate
from dtstat.search.evaluate import Evaluator
from dtstat.search.levels import search_tree
from dtstat.search.records import Proposal, Rules
from dtstat.structure.barcode import barcode

N, P = 200, 9
FEW = 20.0  # rows with which overlapping factors do not pay
WAYS = 1918  # to sort nine items into three groups of two or more


@pytest.fixture
def R():
    """Nine items of three correlated factors, sampled."""
    own = np.arange(P) // 3
    Sigma = 0.49 * np.where(own[:, None] == own, 1.0, 0.4)
    np.fill_diagonal(Sigma, 1)
    rows = np.random.default_rng(0).standard_normal((N, P)) @ np.linalg.cholesky(Sigma).T
    return np.corrcoef(rows, rowvar=False)


ONE = Proposal(np.ones((P, 1), dtype=bool), "one")
THREE = Proposal(np.repeat(np.eye(3, dtype=bool), 3, axis=0), "three")
LARGE = Proposal(THREE.support | np.roll(THREE.support, 3, axis=0), "each with half of the next")


@pytest.fixture
def enough(monkeypatch):
    """What was enough for each model that was fitted."""
    asked = []

    def fit(*arguments):
        asked.append(arguments[5])
        return fit_small(*arguments)

    monkeypatch.setattr(evaluate, "fit_small", fit)
    return asked


class Thorough(Evaluator):
    """Fits everything to the end."""

    def beats(self, proposal, rival, criterion, n):
        found = self.fit(proposal)
        return found if found.cost(criterion, n) < rival.cost(criterion, n) else None


@pytest.mark.parametrize("criterion", ["ebic", "bic", "aic"])
@pytest.mark.parametrize("n", [FEW, 40.0, 137.0, float(N)])
def test_beats_exactly_what_costs_more(R, criterion, n):
    for first, second in ((ONE, THREE), (THREE, ONE), (ONE, LARGE), (LARGE, THREE)):
        evaluator, thorough = Evaluator(R, N, gives_up=True), Thorough(R, N)
        found = evaluator.beats(second, evaluator.fit(first), criterion, n)
        expected = thorough.beats(second, thorough.fit(first), criterion, n)
        assert (found is None) == (expected is None)
        if found is not None:
            assert found.log_likelihood == expected.log_likelihood


@pytest.mark.parametrize("n", [40.0, float(N)])
def test_enough_is_the_likelihood_at_which_both_cost_the_same(R, n, enough):
    evaluator = Evaluator(R, N, gives_up=True)
    rival = evaluator.fit(ONE)
    evaluator.beats(THREE, rival, "ebic", n)
    dearer = 3 * math.log(n) + 2 * math.log(WAYS)  # three correlations, and having searched
    assert 2 * n / N * (enough[-1] - rival.log_likelihood) == pytest.approx(dearer)


def test_given_up_with_few_rows_and_fitted_with_many(R, enough):
    evaluator = Evaluator(R, N, gives_up=True)
    one = evaluator.fit(ONE)
    assert evaluator.beats(LARGE, one, "ebic", FEW) is None
    (given_up,) = evaluator.hopeless
    assert given_up.proposal is LARGE
    assert given_up.cost("ebic", FEW) >= one.cost("ebic", FEW)
    assert evaluator.fitted == (one,)
    calls = len(enough)
    assert evaluator.beats(LARGE, one, "ebic", FEW) is None
    assert evaluator.reconsidered_best("ebic", FEW) is one
    assert len(enough) == calls  # known, not fitted again
    best = evaluator.reconsidered_best("ebic", N)
    assert best.proposal is LARGE
    assert evaluator.hopeless == ()
    assert best.log_likelihood == Evaluator(R, N).fit(LARGE).log_likelihood


def test_what_was_given_up_can_still_be_asked_for(R):
    evaluator = Evaluator(R, N, gives_up=True)
    evaluator.beats(LARGE, evaluator.fit(ONE), "ebic", FEW)
    assert evaluator.fit(LARGE).estimate.reach is None
    assert evaluator.hopeless == ()


def test_afresh_knows_nothing_and_fits_in_the_same_way(R, enough):
    evaluator = Evaluator(R, N, gives_up=True)
    one = evaluator.fit(ONE)
    evaluator.beats(LARGE, one, "ebic", FEW)
    evaluator.reject(one)
    other = evaluator.afresh()
    assert (other.fitted, other.hopeless, other.n_obs) == ((), (), N)
    np.testing.assert_array_equal(other.R, R)
    calls = len(enough)
    again = other.fit(ONE)
    assert len(enough) == calls + 1
    assert other.fitted == (again,)
    assert evaluator.fitted == ()


@pytest.mark.parametrize("approximate", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_the_best_is_the_best_of_all(seed, approximate):
    rng = np.random.default_rng(seed)
    simulated = dt.simulate(
        "clusters",
        int(rng.integers(80, 400)),
        n_factors=int(rng.integers(2, 5)),
        items_per_factor=4,
        factor_correlation=float(rng.choice([0.0, 0.5])),
        violating=float(rng.choice([0.0, 0.34])),
        snr=float(rng.choice([0.5, 2.0])),
        seed=seed,
    )
    rules = Rules(str(rng.choice(["ebic", "bic", "aic"])), 3, True, approximate)
    matrix = dt.dependence(simulated.data)
    bars = barcode(matrix.values, matrix.names, 3)
    R = latent_correlations(matrix).R
    sparing, thorough = (
        search_tree(kind(R, len(simulated.data)), bars, rules) for kind in (Evaluator, Thorough)
    )
    assert sparing.best.proposal.key == thorough.best.proposal.key
    assert sparing.n_effective == pytest.approx(thorough.n_effective, rel=1e-6)
