"""When rounds are worth having: what the plain answer leaves, what convinces, what is chance."""

from itertools import islice

import numpy as np
import pytest

import dtstat as dt
from dtstat.factors.copula import latent_correlations
from dtstat.search.evaluate import Evaluator
from dtstat.search.levels import search_tree
from dtstat.search.records import Outcome, Proposal, Rules
from dtstat.search.sequential import (
    CLEARLY_LOWER,
    _cliques_in_turn,
    _convincing,
    _leaves_something,
    _starts,
    chance_floor,
    search_sequential,
)
from dtstat.structure.barcode import barcode

RULES = Rules("ebic", min_children=3, attach=True, approximate=True)
SIMPLE = np.kron(np.eye(3), np.ones((5, 1))).astype(bool)
NAMES = tuple(f"x{i + 1}" for i in range(15))
N = 1000


def population(A, phi=0.2):
    L = np.linspace(0.55, 0.75, len(A))[:, None] * A
    L[A.sum(axis=1) > 1] /= 1.3
    Phi = np.full((A.shape[1],) * 2, phi) + (1 - phi) * np.eye(A.shape[1])
    R = L @ Phi @ L.T
    np.fill_diagonal(R, 1)
    return R


@pytest.mark.parametrize(("n", "p"), [(100, 10), (400, 25)])
def test_one_sample_in_twenty_exceeds_the_floor_by_chance(n, p):
    """Independent items: at most .05, but for the Monte Carlo error; not far below either."""
    rng = np.random.default_rng(p)
    samples, above = 1000, 0
    upper = np.triu_indices(p, 1)
    floor = chance_floor(n, p)
    for _ in range(samples):
        ranks = rng.random((n, p)).argsort(axis=0).argsort(axis=0)
        latent = 2 * np.sin(np.pi / 6 * np.corrcoef(ranks, rowvar=False)[upper])
        above += np.abs(latent).max() > floor
    error = np.sqrt(0.05 * 0.95 / samples)
    assert 0.015 < above / samples < 0.05 + 3 * error


def test_the_floor_falls_with_rows_and_rises_with_items():
    assert chance_floor(400, 10) == pytest.approx(chance_floor(100, 10) / 2)
    assert chance_floor(100, 50) > chance_floor(100, 10)


@pytest.mark.parametrize(
    ("truth", "fitted", "expected"),
    [
        (SIMPLE, SIMPLE, False),
        (SIMPLE, SIMPLE[:, :2], True),  # a clique is left
        (SIMPLE, np.zeros((15, 0), dtype=bool), True),
    ],
)
def test_what_a_structure_leaves(truth, fitted, expected):
    evaluator = Evaluator(population(truth), N)
    one = evaluator.fit(Proposal(fitted, ""))
    assert _leaves_something(evaluator, one, NAMES, RULES, float(N)) == expected


def test_a_loading_may_be_all_that_is_left():
    crossed = SIMPLE.copy()
    crossed[0, 1] = True
    evaluator = Evaluator(population(crossed), N)
    for support, expected in ((SIMPLE, True), (crossed, False)):
        one = evaluator.fit(Proposal(support, ""))
        assert _leaves_something(evaluator, one, NAMES, RULES, float(N)) == expected
    # With few rows it does not pay.
    one = evaluator.fit(Proposal(SIMPLE, ""))
    assert not _leaves_something(evaluator, one, NAMES, RULES, 20.0)


def outcomes(R, plain, found, n_effective):
    evaluator = Evaluator(R, N)
    plain, found = (evaluator.fit(Proposal(A, "")) for A in (plain, found))
    return evaluator, found, Outcome(plain, n_effective)


def test_the_truth_convinces_and_the_plain_answer_does_not_against_itself():
    R = population(SIMPLE)
    assert _convincing(*outcomes(R, SIMPLE[:, :2], SIMPLE, float(N)), "ebic")
    assert not _convincing(*outcomes(R, SIMPLE, SIMPLE, float(N)), "ebic")
    assert not _convincing(*outcomes(R, SIMPLE, SIMPLE[:, :2], float(N)), "ebic")


def test_evidence_is_counted_in_rows_of_the_plain_structure():
    """So few of them that the difference is no longer large."""
    R = population(SIMPLE)
    verdicts = []
    for n in np.geomspace(5, N, 30):
        evaluator, found, plain = outcomes(R, SIMPLE[:, :2], SIMPLE, float(n))
        clear = plain.best.cost("ebic", n) - found.cost("ebic", n) >= CLEARLY_LOWER
        assert _convincing(evaluator, found, plain, "ebic") == clear
        verdicts.append(clear)
    assert any(verdicts)
    assert not all(verdicts)


def test_misfit_must_fall_to_half():
    """A better structure that leaves most of the misfit convinces nobody."""
    hidden = np.zeros((15, 2), dtype=bool)
    hidden[::3, 0] = hidden[1::3, 1] = True
    R = population(np.hstack([SIMPLE, hidden]), phi=0.0)
    crossed = SIMPLE.copy()
    crossed[0, 1] = True
    evaluator, found, plain = outcomes(R, SIMPLE, crossed, float(N))
    plain_v, found_v = (1 / evaluator.worth(one) - 1 / N for one in (plain.best, found))
    assert found_v > max(plain_v / 2, 1 / N)
    many = Outcome(plain.best, 1e6)
    assert many.best.cost("ebic", 1e6) - found.cost("ebic", 1e6) >= CLEARLY_LOWER
    assert not _convincing(evaluator, found, many, "ebic")
    full = evaluator.fit(Proposal(np.hstack([SIMPLE, hidden]), ""))
    assert _convincing(evaluator, full, Outcome(plain.best, float(N)), "ebic")


def both(data):
    matrix = dt.dependence(data)
    R = latent_correlations(matrix).R
    bars = barcode(matrix.values, matrix.names, 3)
    return [
        search(Evaluator(R, len(data)), bars, RULES) for search in (search_tree, search_sequential)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_finds_factors_behind_others(seed):
    simulated = dt.simulate(
        "clusters", 1000, n_factors=5, items_per_factor=6, violating=0.2, seed=seed
    )
    plain, found = both(simulated.data)
    n = plain.n_effective
    assert found.best.cost("ebic", n) <= plain.best.cost("ebic", n)
    assert found.n_effective >= plain.n_effective
    truth = simulated.structure
    assert dt.compare(dt.Structure(found.best.proposal.support, truth.item_names), truth).exact


def test_plain_answer_stands_where_nothing_is_left():
    simulated = dt.simulate("chain", 400, seed=2)
    plain, found = both(simulated.data)
    assert found.best.proposal.key == plain.best.proposal.key
    assert found.best.proposal.origin == plain.best.proposal.origin == "tree"


# many items: rounds without fits in between, and two starts


def many_items(phi, seed, n=400):
    """Sample 225 items of 15 factors that correlate by threes; one in five has a second one."""
    rng = np.random.default_rng(seed)
    own, group = np.arange(225) // 15, np.arange(15) // 3
    A = own[:, None] == np.arange(15)
    some = np.flatnonzero(rng.random(225) < 0.2)
    A[some, (own[some] + rng.integers(1, 15, len(some))) % 15] = True
    Phi = np.where(group[:, None] == group, phi, 0.2)
    np.fill_diagonal(Phi, 1)
    L = np.where(own[:, None] == np.arange(15), 0.7, 0.4) * A
    L /= np.sqrt(np.maximum(((L @ Phi) * L).sum(axis=1) / 0.8, 1))[:, None]
    theta = 1 - ((L @ Phi) * L).sum(axis=1)
    X = rng.standard_normal((n, 15)) @ np.linalg.cholesky(Phi).T @ L.T
    X += np.sqrt(theta) * rng.standard_normal((n, 225))
    return A, np.corrcoef(X, rowvar=False)


def key(A):
    return Proposal(A, "").key


@pytest.mark.parametrize(("phi", "seed"), [(0.5, 0), (0.7, 1), (0.8, 0), (0.8, 1)])
def test_finds_second_loadings_of_many_items_of_correlated_factors(phi, seed):
    """From the cliques of the rounds alone it does not, where factors correlate highly."""
    A, R = many_items(phi, seed)
    names = tuple(map(str, range(225)))
    evaluator, bars = Evaluator(R, 400), barcode(R, names, 3)
    found = search_sequential(evaluator, bars, RULES)
    assert found.best.proposal.key == key(A)
    exact = Evaluator(R, 400).fit(Proposal(A, ""))
    assert found.best.log_likelihood == pytest.approx(exact.log_likelihood, abs=0.1)


def test_starts_of_many_items_are_the_plain_structure_and_the_cliques_of_all_rounds():
    A, R = many_items(0.5, 0)
    names = tuple(map(str, range(225)))
    evaluator, bars = Evaluator(R, 400), barcode(R, names, 3)
    own = np.arange(225)[:, None] // 15 == np.arange(15)
    for plain in (own, own[:, :5], own[:, :0]):
        fitted = evaluator.fit(Proposal(plain, ""))
        first, second = _starts(evaluator.afresh(), fitted, bars, RULES, 400.0, None)
        assert first.n_factors == plain.shape[1]
        assert (first.proposal.key == key(A)) == (plain.shape[1] == 15)
        assert second.proposal.key == key(A)


def test_rounds_end_when_they_find_nothing_new():
    """Two items depend on nothing else, so that nothing says how much of them a factor explains."""
    R = np.eye(12)
    R[0, 1] = R[1, 0] = 0.8
    bars = barcode(R, tuple(map(str, range(12))), 2)
    rules = Rules("ebic", 2, attach=True, approximate=True)
    rounds = _cliques_in_turn(R, bars, rules, 1000.0)
    found = list(islice(rounds, 3))
    assert [np.flatnonzero(one[:, 0]).tolist() for one in found] == [[0, 1]]


def test_many_independent_items_have_no_factor():
    X = np.random.default_rng(0).standard_normal((2000, 230))
    assert dt.fit(X, search="sequential").n_factors == 0
