"""Tree and threshold: exact where they must be, and quick looks that change nothing."""

import dataclasses

import numpy as np
import pytest

import dtstat as dt
from dtstat.factors.copula import latent_correlations
from dtstat.search.choose import count_rows
from dtstat.search.criteria import least_loading
from dtstat.search.evaluate import Evaluator
from dtstat.search.levels import search_tree
from dtstat.search.records import Proposal, Rules, no_factors
from dtstat.search.threshold import complete, search_threshold
from dtstat.search.tree import Tree
from dtstat.structure.barcode import barcode
from dtstat.structure.path import candidates
from dtstat.structure.structure import Structure

DEFAULT = Rules("ebic", min_children=3, attach=True, approximate=True)
EXACT_MODEL = dataclasses.replace(DEFAULT, approximate=False)
N = 1000
DESIGNS = ["v_structure", "chain", "double_mediation"]


def names(p):
    return tuple(f"x{i + 1}" for i in range(p))


def searched(which, R, n, rules=DEFAULT, values=None, **options):
    """Evaluator and outcome; the path is that of ``values`` if these are not R."""
    bars = barcode(R if values is None else values, names(len(R)), rules.min_children)
    evaluator = Evaluator(R, n)
    if which == "tree":
        return evaluator, search_tree(evaluator, bars, rules, **options)
    other = evaluator.afresh()
    worth = count_rows(other, Tree(other, bars, rules).grow()[::-1], rules)
    return evaluator, search_threshold(evaluator, candidates(bars), rules, worth, **options)


def found(outcome):
    return Structure(outcome.best.proposal.support)


def population(L, Phi):
    R = L @ Phi @ L.T
    np.fill_diagonal(R, 1)
    return R


def simple(seed, sizes=(4, 5, 6), phi=0.3, loadings=(0.5, 0.8)):
    """Truth and population correlations of simple structure; some items are reverse-keyed."""
    rng = np.random.default_rng(seed)
    own = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    A = own[:, None] == np.arange(len(sizes))
    L = A * (rng.uniform(*loadings, len(own)) * rng.choice([-1, 1], len(own)))[:, None]
    Phi = np.full((len(sizes), len(sizes)), phi)
    np.fill_diagonal(Phi, 1)
    return Structure(A), population(L, Phi)


def sampled(R, n, seed):
    rows = np.random.default_rng(seed).standard_normal((n, len(R))) @ np.linalg.cholesky(R).T
    return np.corrcoef(rows, rowvar=False)


def misfitting(n, seed=0):
    """Sample of three factors whose items also have a small error factor in common."""
    truth, R = simple(seed, (5, 5, 5))
    error = np.random.default_rng(seed).uniform(-0.25, 0.25, 15)
    R = R + np.outer(error, error)
    np.fill_diagonal(R, 1)
    return truth, sampled(R, n, seed)


def simulated(design, n, cross_loadings, seed):
    simulation = dt.simulate(design, n=n, seed=seed, cross_loadings=cross_loadings)
    matrix = dt.dependence(simulation.data)
    return latent_correlations(matrix).R, matrix.values


both = pytest.mark.parametrize("which", ["tree", "threshold"])


# populations


@both
@pytest.mark.parametrize("phi", [0.0, 0.3, -0.3])
@pytest.mark.parametrize("seed", range(3))
def test_exact_on_populations_of_simple_structure(which, phi, seed):
    truth, R = simple(seed, phi=phi)
    evaluator, outcome = searched(which, R, N)
    assert found(outcome) == truth
    assert outcome.n_effective == N
    assert outcome.best is evaluator.best("ebic", N)


def test_one_threshold_is_exact_on_a_population_with_cross_loadings():
    """Two items have two parents each, of three factors of five items."""
    A = np.repeat(np.eye(3, dtype=bool), 5, axis=0)
    A[0, 1] = A[6, 2] = True
    L = np.where(A.sum(axis=1, keepdims=True) > 1, 0.6, 0.8) * A
    R = population(L * np.linspace(0.95, 1, 15)[:, None], np.eye(3))
    _, outcome = searched("threshold", R, N)
    assert found(outcome) == Structure(A)


def test_each_factor_at_its_own_threshold():
    """A weak factor beside two that correlate strongly: no single threshold shows all three."""
    own = np.repeat([0, 1, 2], 5)
    loading = np.where(own == 2, np.linspace(0.44, 0.46, 15), np.linspace(0.78, 0.82, 15))
    Phi = np.array([[1, 0.7, 0], [0.7, 1, 0], [0, 0, 1.0]])
    truth = Structure(own[:, None] == np.arange(3))
    R = population(truth.support * loading[:, None], Phi)
    assert truth not in {one.structure for one in candidates(barcode(R, names(15), 3))}
    assert found(searched("tree", R, N)[1]) == truth
    assert found(searched("threshold", R, N)[1]) != truth


@both
@pytest.mark.parametrize("seed", range(3))
def test_order_of_items_does_not_matter(which, seed):
    truth, R = simple(seed)
    R = sampled(R, 300, seed)
    order = np.random.default_rng(seed).permutation(15)
    _, outcome = searched(which, R, 300)
    _, other = searched(which, R[np.ix_(order, order)], 300)
    expected = Structure(outcome.best.proposal.support[order])
    assert found(other) == expected
    assert other.n_effective == pytest.approx(outcome.n_effective, rel=1e-3)
    assert found(outcome) == truth


# how many factors


@both
@pytest.mark.parametrize("criterion", ["ebic", "bic"])
@pytest.mark.parametrize("seed", range(5))
def test_no_factors_behind_independent_items(which, criterion, seed):
    R = sampled(np.eye(12), 300, seed)
    rules = dataclasses.replace(DEFAULT, criterion=criterion)
    evaluator, outcome = searched(which, R, 300, rules)
    assert outcome.best.n_factors == 0
    assert outcome.best.proposal.origin == "no factor"
    assert len(evaluator.fitted) + len(outcome.passed_over) > 1  # there were others


@both
@pytest.mark.parametrize("seed", range(4))
def test_one_factor_behind_all_items(which, seed):
    truth, R = simple(seed, sizes=(9,))
    _, outcome = searched(which, sampled(R, 300, seed), 300)
    assert found(outcome) == truth


@both
def test_without_cliques_there_is_no_factor(which):
    evaluator, outcome = searched(which, np.eye(6), 50)
    assert outcome.best.n_factors == 0
    assert outcome.n_effective == 50
    assert len(evaluator.fitted) == (2 if which == "tree" else 1)  # one factor, to compare with


def test_nothing():
    proposal = no_factors(4)
    assert proposal.support.shape == (4, 0)
    assert proposal.support.dtype == bool


# rules


@pytest.mark.parametrize(("share", "taken"), [(0.98, False), (1.02, True)])
def test_items_are_attached_where_they_pay(share, taken):
    """Five items of .7, and one with nearly the least loading, which what rows count as decides."""
    cores = np.array([[True]] * 5 + [[False]])
    for n in (100.0, 400.0):
        L = np.append([0.7] * 5, share * least_loading("ebic", 1, n))
        R = population(L[:, None], np.eye(1))
        evaluator = Evaluator(R, 400)
        proposal = complete(evaluator, cores, DEFAULT, n, "by hand")
        assert proposal.support[5, 0] == taken
        assert proposal.origin == "by hand"
        unattached = dataclasses.replace(DEFAULT, attach=False)
        assert not complete(evaluator, cores, unattached, n, "").support[5, 0]


def test_without_attaching_the_structures_are_those_of_the_path():
    R, values = simulated("v_structure", 300, 2, 1)
    rules = dataclasses.replace(EXACT_MODEL, attach=False)
    path = [one.structure for one in candidates(barcode(values, names(len(R)), 3))]
    evaluator, _ = searched("threshold", R, 300, rules, values, screen=False)
    fitted = [Structure(one.proposal.support) for one in evaluator.fitted]
    assert fitted[0].n_factors == 0
    assert len(fitted) == 1 + len(path)
    assert set(fitted[1:]) == set(path)
    evaluator, _ = searched("threshold", R, 300, EXACT_MODEL, values)
    assert any(Structure(one.proposal.support) not in path for one in evaluator.fitted[1:])


def test_the_threshold_is_told():
    R, values = simulated("v_structure", 300, 0, 1)
    _, outcome = searched("threshold", R, 300, DEFAULT, values)
    word, threshold = outcome.best.proposal.origin.split()
    assert word == "threshold"
    bars = barcode(values, names(len(R)), 3)
    assert Structure(outcome.best.proposal.support) == bars.at(float(threshold) + 0.001)


@both
@pytest.mark.parametrize("min_children", [2, 3, 4])
def test_no_factor_is_too_small(which, min_children):
    _, R = simple(1, sizes=(2, 3, 4, 5))
    rules = dataclasses.replace(DEFAULT, min_children=min_children)
    evaluator, outcome = searched(which, sampled(R, 400, 2), 400, rules)
    assert all(
        one.proposal.support.sum(axis=0).min(initial=99) >= min_children for one in evaluator.fitted
    )
    assert outcome.best.n_factors >= 2


@pytest.mark.parametrize("criterion", ["ebic", "bic"])
def test_the_outcome_of_one_threshold_is_the_best_of_all_that_was_fitted(criterion):
    _, R = misfitting(2000)
    rules = dataclasses.replace(DEFAULT, criterion=criterion)
    evaluator, outcome = searched("threshold", R, 2000, rules)
    costs = [one.cost(criterion, outcome.n_effective) for one in evaluator.fitted]
    assert outcome.best.cost(criterion, outcome.n_effective) == min(costs)


def test_cliques_of_one_factor_are_joined():
    """Items of one factor that a gap in loadings makes look like two cliques."""
    loading = np.array([0.85] * 4 + [0.45] * 4)
    R = sampled(population(loading[:, None], np.eye(1)), 400, 1)
    _, outcome = searched("tree", R, 400)
    assert found(outcome) == Structure(np.ones((8, 1), dtype=bool))


# what rows count as


@both
def test_all_rows_count_if_the_model_is_taken_as_exact(which):
    _, R = misfitting(5000)
    _, outcome = searched(which, R, 5000, EXACT_MODEL)
    assert outcome.n_effective == 5000


@both
def test_rows_count_what_the_finest_level_leaves(which):
    """Coarser levels misfit more, because factors are missing; that excuses nothing."""
    _, R = misfitting(5000)
    evaluator, outcome = searched(which, R, 5000)
    bars = barcode(R, names(15), 3)
    levels = Tree(evaluator, bars, DEFAULT).grow()
    finest = evaluator.fit(Proposal(levels[0].support, ""))
    one = evaluator.fit(Proposal(levels[-1].support, ""))
    assert outcome.n_effective == pytest.approx(evaluator.worth(finest), rel=1e-3)  # a rough fit
    assert evaluator.worth(one) < outcome.n_effective < 5000


def test_more_rows_do_not_make_more_of_misfit():
    """With all rows counted small misfit buys factors; with what they are worth it does not."""
    truth, R = misfitting(20000)
    _, approximate = searched("tree", R, 20000)
    _, exact = searched("tree", R, 20000, EXACT_MODEL)
    assert found(approximate) == truth
    assert exact.supported >= approximate.supported >= 3
    assert approximate.n_effective < 2000


@both
def test_misfit_is_no_argument_for_independence(which):
    """A tenth of the rows and more is lost here, but that some items depend is not."""
    rng = np.random.default_rng(4)
    scatter = rng.normal(0, 0.12, (10, 10))
    R = population(np.full((10, 1), 0.4), np.eye(1)) + np.triu(scatter, 1) + np.triu(scatter, 1).T
    assert np.linalg.eigvalsh(R)[0] > 0
    _, outcome = searched(which, R, 10**5)
    assert outcome.n_effective < 1000
    assert outcome.best.n_factors >= 1


# screening


def agree(R, n, rules, values=None):
    """Whether the search ends in the same structure with screening as without."""
    (screened, one), (full, other) = (
        searched("threshold", R, n, rules, values, screen=screen) for screen in (True, False)
    )
    assert one.best.proposal.key == other.best.proposal.key
    assert one.n_effective == other.n_effective
    assert not other.passed_over
    return len(screened.fitted), len(full.fitted)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("cross_loadings", [0, 2])
def test_screening_does_not_lose_the_winner_of_simulations(design, cross_loadings):
    fits = []
    for seed in range(1):
        R, values = simulated(design, 300, cross_loadings, seed)
        fits.append(agree(R, 300, DEFAULT, values))
    screened, full = np.sum(fits, axis=0)
    assert screened < 0.8 * full  # or it would be of no use


@pytest.mark.parametrize("name", ["holzinger_swineford_9", "political_democracy"])
@pytest.mark.parametrize(
    "rules",
    [
        DEFAULT,
        EXACT_MODEL,
        dataclasses.replace(DEFAULT, attach=False),
        dataclasses.replace(DEFAULT, criterion="bic"),
    ],
)
def test_screening_does_not_lose_the_winner_of_real_data(name, rules):
    matrix = dt.dependence(dt.load_dataset(name))
    agree(latent_correlations(matrix).R, matrix.n_obs, rules, matrix.values)


@pytest.mark.parametrize(
    ("design", "n", "cross_loadings", "seed", "rules"),
    [
        ("v_structure", 300, 2, 15, EXACT_MODEL),
        ("double_mediation", 1000, 0, 12, dataclasses.replace(DEFAULT, criterion="aic")),
    ],
)
def test_screening_does_not_lose_winners_whose_factors_nearly_coincide(
    design, n, cross_loadings, seed, rules
):
    """A few steps of the fit were no safe judge of these."""
    R, values = simulated(design, n, cross_loadings, seed)
    agree(R, n, rules, values)


def test_what_is_passed_over_could_not_have_won():
    R, values = simulated("chain", 300, 0, 1)
    evaluator, outcome = searched("threshold", R, 300, DEFAULT, values)
    n = outcome.n_effective
    assert outcome.passed_over
    for one in outcome.passed_over:
        full = evaluator.fit(one.proposal)
        assert outcome.best.cost("ebic", n) < one.cost("ebic", n) <= full.cost("ebic", n) + 1e-6


def test_progress_is_reported():
    R, values = simulated("v_structure", 300, 0, 0)
    seen = []
    searched(
        *("threshold", R, 300, EXACT_MODEL, values),
        progress=lambda done, total: seen.append((done, total)),
    )
    (total,) = {total for _, total in seen}
    assert seen == [*zip(range(1, total + 1), [total] * total, strict=True)] * 2  # bounds, fits


@both
def test_searches_leave_their_input_alone(which):
    _, R = simple(0)
    kept = R.copy()
    searched(which, R, N)
    np.testing.assert_array_equal(R, kept)
