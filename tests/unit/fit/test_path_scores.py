"""Criteria along the path: by fits of each structure alone, and by what the search found."""

import functools

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.fit import frames as module
from dtstat.search.counting import log_structures

NINE = dt.load_dataset("holzinger_swineford_9")
MANY = dt.load_dataset("holzinger_swineford_26")
CRITERIA = ["aic", "bic", "ebic"]


@functools.cache
def nine(**options):
    return dt.fit(NINE, **options)


@functools.cache
def many(**options):
    return dt.fit(MANY, **options)


def grid_of_twenty():
    return nine(search="threshold", thresholds=20)


FITS = {
    "exact": nine,
    "grid": grid_of_twenty,
    "many": many,
    "smaller": lambda: nine(min_children=2),
    "matrix": lambda: dt.fit(dt.dependence(NINE)),
}


def middles(scores):
    return (scores["tau_low"] + scores["tau_high"]) / 2


def same(one, other):
    return {tuple(c) for c in one.support.T.tolist()} == {
        tuple(c) for c in other.support.T.tolist()
    }


# --- intervals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FITS)
def test_every_row_is_the_structure_of_its_thresholds(name):
    fit = FITS[name]()
    scores = fit.path_scores()
    assert len(scores)
    for row, middle in zip(scores.itertuples(), middles(scores), strict=True):
        assert row.tau_low < row.tau_high
        structure = fit.path.at(middle)
        assert same(structure, fit.path.at(row.tau_low))
        assert same(structure, fit.path.at(np.nextafter(row.tau_high, 0)))
        assert not same(structure, fit.path.at(row.tau_high))
        assert row.n_factors == structure.n_factors
        assert row.n_loadings == structure.support.sum()
        assert row.n_covered == structure.support.any(axis=1).sum()
        assert row.margin == pytest.approx(dt.margin(fit.dependence, structure).value, abs=1e-12)


@pytest.mark.parametrize("name", ["exact", "many", "smaller"])
def test_rows_tile_the_path(name):
    """By rising threshold; what lies between rows, before and behind has no factor."""
    fit = FITS[name]()
    scores = fit.path_scores()
    low, high = scores["tau_low"].to_numpy(), scores["tau_high"].to_numpy()
    assert (low[1:] >= high[:-1]).all()
    for start, end in zip([0.0, *high], [*low, 1.0], strict=True):
        if start < end:
            assert fit.path.at(start).n_factors == 0
            assert fit.path.at((start + end) / 2).n_factors == 0
    taken = np.random.default_rng(1).uniform(size=300)
    inside = ((low <= taken[:, None]) & (taken[:, None] < high)).sum(axis=1)
    expected = [int(fit.path.at(t).n_factors > 0) for t in taken]
    assert inside.tolist() == expected
    assert 0 < sum(expected) < 300


def test_on_a_grid_there_is_what_the_grid_sees():
    scores = grid_of_twenty().path_scores()
    grid = np.linspace(0, 1, 20)
    seen = [((row.tau_low <= grid) & (grid < row.tau_high)).any() for row in scores.itertuples()]
    assert all(seen)
    assert len(scores) < len(nine().path_scores())


# --- criteria -----------------------------------------------------------------------------------


def by_hand(fit, support, log_likelihood, n):
    """Criteria of a structure if the rows count as n."""
    p, d = support.shape
    edges = support.sum()
    k = edges + p + d * (d - 1) / 2
    deviance = -2 * log_likelihood * n / fit.n_typical
    bic = deviance + k * np.log(n)
    return {"aic": deviance + 2 * k, "bic": bic, "ebic": bic + 2 * log_structures(support)}


@pytest.mark.filterwarnings("ignore::dtstat.core.errors.EstimationWarning")
@pytest.mark.parametrize("misfit", ["none", "estimated"])
def test_criteria_are_those_of_each_structure_fitted_alone(misfit):
    """Nothing attached: each structure of the path as it is, given to fit()."""
    fit = nine(uncovered="report", misfit=misfit, min_children=3)
    scores = fit.path_scores()
    for row, middle in zip(scores.to_dict("records"), middles(scores), strict=True):
        given = dt.fit(NINE, structure=fit.path.at(middle), misfit="none")
        alone = given.candidates.iloc[0]
        expected = by_hand(fit, given.support, alone["log_likelihood"], fit.n_effective)
        assert {name: row[name] for name in CRITERIA} == pytest.approx(expected, abs=1e-3)
        if given.estimate.converged:
            # Where the search ran out of steps, it was on a ridge; how high depends on rounding.
            near = 1e-3 if given.estimate.n_iterations < 300 else 0.5
            expected = by_hand(fit, given.support, given.estimate.log_likelihood, fit.n_effective)
            assert {name: row[name] for name in CRITERIA} == pytest.approx(expected, abs=near)
        if misfit == "none":
            assert {name: row[name] for name in CRITERIA} == pytest.approx(
                {name: alone[name] for name in CRITERIA}, abs=1e-3
            )
    assert len(scores) > 10
    assert (fit.n_effective == fit.n_typical) == (misfit == "none")


def test_likelihoods_are_those_of_another_program_part():
    """Chi-square of cfa() is deviance less that of the saturated model: the same for all."""
    fit = nine(uncovered="report", misfit="none")
    scores = fit.path_scores()
    R = fit.latent.R
    matrix = dt.DependenceMatrix.from_matrix(R, fit.n_typical, names=fit.item_names)
    n, p = fit.n_typical, len(R)
    saturated = n * (p * np.log(2 * np.pi) + np.linalg.slogdet(R)[1] + p)
    # structures without overlap in which every item is in a factor of at least three
    rows = scores[(scores["n_covered"] == scores["n_loadings"]) & (scores["n_covered"] == p)]
    assert len(rows)
    for row, middle in zip(rows.itertuples(), middles(rows), strict=True):
        structure = fit.path.at(middle)
        found = dt.cfa(matrix, structure, estimator="ml").fit_measures
        k = p + structure.support.sum() + structure.n_factors * (structure.n_factors - 1) / 2
        assert row.aic == pytest.approx(found["chisq"] + saturated + 2 * k, abs=0.05)


@pytest.mark.parametrize("data", [NINE, MANY], ids=["nine", "many"])
@pytest.mark.parametrize("criterion", ["ebic", "aic"])
def test_items_are_attached_as_in_the_search(data, criterion):
    """What search="threshold" fitted has the same scores here."""
    fit = dt.fit(data, search="threshold", criterion=criterion)
    least = fit.path_scores()[criterion].min()
    assert least == pytest.approx(fit.candidates["cost"].iloc[0], abs=1e-6)
    # without misfit there is one round, in which all rows count
    fit = dt.fit(data, search="threshold", criterion=criterion, misfit="none")
    scores = fit.path_scores()
    best = fit.candidates.iloc[0]
    origin = scores["tau_low"].map("threshold {:.3f}".format)
    assert best["cost"] == pytest.approx(best[criterion], abs=1e-6)
    assert scores[criterion].min() == pytest.approx(best[criterion], abs=1e-6)
    compared = 0
    for row in fit.candidates.query("fitted").itertuples():
        here = scores[origin == row.origin]
        if len(here) == 1:
            for name in CRITERIA:
                assert here[name].iloc[0] == pytest.approx(getattr(row, name), abs=1e-6)
            compared += 1
    assert compared >= 2


def test_attaching_changes_scores_and_nothing_else():
    about = ["tau_low", "tau_high", "n_factors", "n_loadings", "n_covered", "margin"]
    one = nine(misfit="none").path_scores()
    other = nine(misfit="none", uncovered="report").path_scores()
    pd.testing.assert_frame_equal(one[about], other[about])
    full = (one["n_covered"] == 9).to_numpy()
    np.testing.assert_allclose(one.loc[full, "ebic"], other.loc[full, "ebic"])
    assert (one.loc[~full, "ebic"] != other.loc[~full, "ebic"]).any()
    assert (one.loc[~full, "ebic"] <= other.loc[~full, "ebic"] + 1e-6).any()


def test_held_out_rows_are_not_asked_for():
    held = dt.fit(NINE, criterion="cv", misfit="none", seed=1).path_scores()
    pd.testing.assert_frame_equal(held, nine(misfit="none").path_scores())


def test_of_very_many_the_longest_lived_are_fitted(monkeypatch):
    monkeypatch.setattr(module, "_FEWEST", 4)
    monkeypatch.setattr(module, "_WORK", 0)
    fit = nine()
    scores, widths = fit.path_scores(), sorted(one.persistence for one in fit.path.candidates)
    fitted = scores["ebic"].notna()
    assert scores[CRITERIA].notna().all(axis=1).tolist() == fitted.tolist()
    longest = scores["tau_high"] - scores["tau_low"] >= widths[-4] - 1e-12
    assert fitted[longest].all()
    # rows of one structure share its scores
    assert scores.loc[fitted, "ebic"].nunique() == 4
    monkeypatch.undo()
    everything = fit.path_scores()
    pd.testing.assert_frame_equal(everything[fitted], scores[fitted])


def test_a_path_without_factors_has_columns_and_no_rows():
    fit = dt.fit(NINE[["x1", "x2"]], min_children=3)
    scores = fit.path_scores()
    assert len(scores) == 0
    assert {"tau_low", "tau_high", "n_factors", "margin", *CRITERIA} <= set(scores)
