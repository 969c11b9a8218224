"""Exploratory blocks: rotation and its standard errors against brute force."""

import numpy as np
import pytest

import dtstat as dt
from dtstat.sem.constraints import Constraints
from dtstat.sem.discrepancy import PROCEDURES, inverse_within
from dtstat.sem.estimate import estimate_model
from dtstat.sem.exploratory import _CRITERIA, Exploratory
from dtstat.sem.likelihood import NormalLikelihood
from dtstat.sem.model import build_model
from dtstat.sem.rows import complete_sample
from dtstat.sem.search import search

ITEMS = [f"x{k}" for k in range(1, 10)]
THREE = 'efa("b")*f1 + efa("b")*f2 + efa("b")*f3 =~ ' + " + ".join(ITEMS)

TWO = 'efa("b")*f1 + efa("b")*f2 =~ ' + " + ".join(ITEMS[:6])


@pytest.fixture(scope="module")
def data():
    return dt.load_dataset("holzinger_swineford_9")[ITEMS]


@pytest.mark.parametrize("rotation", ["geomin", "oblimin", "varimax"])
def test_standard_errors_are_those_of_rotating_moved_estimates(data, rotation):
    X = data.iloc[:, :6].to_numpy()
    S = np.cov(X, rowvar=False, bias=True)
    model = build_model(TWO, ITEMS[:6], rotation=rotation)
    likelihood = NormalLikelihood(
        model, [complete_sample(S, None, len(X))], PROCEDURES["ml"], [301]
    )
    blocks = Exploratory(model, likelihood.layouts)
    limits = Constraints(model, blocks.anchors)
    found, _ = search(
        likelihood.objective, likelihood.information, model, likelihood.starting_moments(), limits,
        blocks,
    )  # fmt: skip
    theta = found.theta
    V = inverse_within(likelihood.information(theta), limits.space(theta)) / len(X)
    J = np.empty((len(theta), len(theta)))
    for k in range(len(theta)):
        step = 1e-4 * np.eye(len(theta))[k]
        J[:, k] = (blocks.rotate(theta + step) - blocks.rotate(theta - step)) / 2e-4
    moved = np.sqrt(np.diag(J @ V @ J.T))
    estimate = estimate_model(likelihood)
    np.testing.assert_allclose(np.sqrt(np.diag(estimate.covariance)), moved, rtol=2e-3, atol=1e-5)


@pytest.mark.parametrize("rotation", ["geomin", "oblimin", "varimax"])
def test_rotation_keeps_the_fit_and_counts_its_constraints(data, rotation):
    fit = dt.cfa(data, THREE, rotation=rotation)
    plain = "\n".join(
        f"f{k} =~ " + " + ".join(ITEMS[k - 1 :]) for k in (1, 2, 3)
    )  # zeros above the diagonal
    echelon = dt.cfa(data, plain, std_lv=True, orthogonal=True)
    assert fit.fit_measures["df"] == echelon.fit_measures["df"] == 12
    assert fit.fit_measures["chisq"] == pytest.approx(echelon.fit_measures["chisq"], abs=1e-6)


@pytest.mark.parametrize("name", list(_CRITERIA))
def test_slopes_of_criteria(name):
    L = np.random.default_rng(3).normal(size=(7, 3))
    value, slope = _CRITERIA[name](L)
    for i, j in [(0, 0), (3, 1), (6, 2)]:
        step = np.zeros_like(L)
        step[i, j] = 1e-6
        rise = _CRITERIA[name](L + step)[0] - _CRITERIA[name](L - step)[0]
        assert rise / 2e-6 == pytest.approx(slope[i, j], rel=1e-5, abs=1e-8)
    assert np.isfinite(value)


def test_effects_on_and_of_rotated_factors_keep_the_implied_moments(data):
    block = 'efa("b")*f1 + efa("b")*f2 =~ x1 + x2 + x3 + x4 + x5 + x6\n'
    text = block + "speed =~ x7 + x8 + x9\nspeed ~ f1 + f2"
    rotated = [dt.sem(data, text, rotation=name) for name in ("geomin", "oblimin", "varimax")]
    first = rotated[0].implied_covariance.to_numpy()
    for fit in rotated[1:]:
        np.testing.assert_allclose(fit.implied_covariance.to_numpy(), first, atol=1e-5)
        assert fit.estimate.n_parameters == rotated[0].estimate.n_parameters


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('efa("b")*f1 + efa("b")*f2 =~ 1*x1 + x2 + x3 + x4', "exploratory block"),
        ('efa("b")*f1 =~ x1 + x2 + x3\nefa("b")*f2 =~ x4 + x5 + x6', "same items"),
        ('efa("b")*f1 + efa("b")*f2 =~ x1 + x2', "more of them than factors"),
    ],
)
def test_blocks_that_are_none_are_refused(data, text, words):
    with pytest.raises(dt.InputError, match=words):
        dt.cfa(data, text)


def test_modification_indices_are_refused(data):
    with pytest.raises(dt.InputError, match=r"this model has exploratory blocks, efa\(\)"):
        dt.cfa(data, TWO).modification_indices()


def test_groups_are_not_set_equal(data):
    halves = data.assign(half=np.arange(len(data)) % 2)
    with pytest.raises(dt.InputError, match="each group is rotated by itself"):
        dt.cfa(halves, TWO, group="half", group_equal="loadings")


def test_ordered_items_are_refused(data):
    ratings = data.apply(lambda x: x > x.median()).astype(int)
    with pytest.raises(dt.ModelSyntaxError, match=r"efa\(\), are not supported for ordered items"):
        dt.cfa(ratings, TWO, ordered=True)
