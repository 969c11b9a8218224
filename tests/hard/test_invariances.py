"""What must not matter: the order of items and rows, signs, units, containers and file types.

Above all a slice of ``benchmarks/metamorphic.py``, which hands the same survey in other forms to
every function that takes data.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dtstat as dt
from benchmarks import metamorphic

pytestmark = pytest.mark.filterwarnings("ignore::dtstat.DTWarning")  # of small samples and twins

# The same examples each time; each is a whole analysis, so there are few.
FEW = settings(max_examples=25)
FEWER = settings(FEW, max_examples=6)
SEEDS = st.integers(0, 2**31)

# Largest differences by rounding alone: sums in another order differ in the last digits. Units from
# 1e-12 to 1e12 leave fewer of them in what is computed in single precision.
EXACT, ROUNDED, SINGLE = 0.0, 1e-10, 1e-8
RANKS = {"spearman": ROUNDED, "kendall": EXACT, "xi": EXACT, "maximal": ROUNDED}
UNITS = {"pearson": ROUNDED, "distance": SINGLE, "hsic": SINGLE}
MEASURES = RANKS | UNITS | {"mixed": ROUNDED}


def answers(rng, n=60, levels=None):
    """Six items of two factors: continuous, or of some levels and so full of ties."""
    X = np.repeat(rng.normal(size=(n, 2)), 3, axis=1) + 0.7 * rng.normal(size=(n, 6))
    X = X if levels is None else np.clip(np.round(X + levels / 2), 1, levels)
    return pd.DataFrame(X, columns=[f"q{k}" for k in range(1, 7)])


def shuffled(rng, X):
    """Return the data with items and rows in another order."""
    return X.iloc[rng.permutation(len(X)), rng.permutation(X.shape[1])]


def in_other_units(rng, X):
    """Each item times a number from 1e-12 to 1e12, up to which rounding stays what it is."""
    return X * 10.0 ** rng.uniform(-12, 12, X.shape[1])


def bent(rng, X):
    """Each item by another increasing function."""
    bends = [np.exp, np.cbrt, np.arctan, lambda x: x**3, lambda x: 5 * x - 1e3]
    return X.apply(lambda column: bends[rng.integers(len(bends))](column))


# --- dependence ---


@pytest.mark.parametrize("levels", [None, 5, 2])
@pytest.mark.parametrize("measure", MEASURES)
@FEW
@given(seed=SEEDS)
def test_dependence_in_another_order(measure, levels, seed):
    rng = np.random.default_rng(seed)
    X = answers(rng, levels=levels)
    ours, theirs = dt.dependence(X, measure), dt.dependence(shuffled(rng, X), measure)
    there = theirs.to_frame().loc[list(ours.names), list(ours.names)].to_numpy()
    # Distance correlation is the root of what is computed: near zero that has fewer digits.
    power = 2 if measure == "distance" else 1
    np.testing.assert_allclose(ours.values**power, there**power, rtol=0, atol=MEASURES[measure])


@pytest.mark.parametrize("measure", ["polychoric", "tetrachoric"])
@FEWER
@given(seed=SEEDS)
def test_correlations_behind_levels(measure, seed):
    """Other names of the levels and another order change nothing."""
    rng = np.random.default_rng(seed)
    X = answers(rng, n=150, levels=2 if measure == "tetrachoric" else 4)
    ours = dt.dependence(X, measure)
    theirs = dt.dependence(shuffled(rng, 3 * X - 7), measure).to_frame()
    there = theirs.loc[list(ours.names), list(ours.names)]
    np.testing.assert_allclose(ours.values, there, rtol=0, atol=ROUNDED)


@pytest.mark.parametrize("measure", UNITS)
@FEW
@given(seed=SEEDS)
def test_dependence_in_other_units(measure, seed):
    rng = np.random.default_rng(seed)
    X = answers(rng, levels=rng.choice([None, 5]))
    ours, theirs = (dt.dependence(Y, measure).values ** 2 for Y in (X, in_other_units(rng, X)))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=UNITS[measure])


@pytest.mark.parametrize("measure", RANKS)
@FEW
@given(seed=SEEDS)
def test_ranks_do_not_see_increasing_functions(measure, seed):
    rng = np.random.default_rng(seed)
    X = answers(rng, levels=rng.choice([None, 5]))
    ours, theirs = (dt.dependence(Y, measure).values for Y in (X, bent(rng, X)))
    np.testing.assert_array_equal(ours, theirs)


# --- all structures ---


def bars(path):
    """Every factor with the thresholds it lives at."""
    return {(frozenset(bar.items), bar.birth, bar.death) for bar in path.barcode()}


@FEW
@given(seed=SEEDS)
def test_paths_of_items_in_another_order(seed):
    """Exactly: the matrix is the same, and only compared with thresholds."""
    rng = np.random.default_rng(seed)
    X = answers(rng, n=25, levels=rng.choice([None, 3]))
    R = dt.dependence(X, "kendall").to_frame()
    order = rng.permutation(6)
    paths = [
        dt.solution_path(dt.DependenceMatrix.from_matrix(one, measure="kendall"), min_children=2)
        for one in (R, R.iloc[order, order])
    ]
    assert bars(paths[0]) == bars(paths[1])
    assert bars(paths[0])
    for tau in rng.random(5):
        found = [path.at(tau) for path in paths]
        sets = [{frozenset(np.array(s.item_names)[c]) for c in s.support.T} for s in found]
        assert sets[0] == sets[1]


@FEWER
@given(seed=SEEDS)
def test_fits_in_other_units(seed):
    """Of ranks any increasing function will do, for lines only other units."""
    rng = np.random.default_rng(seed)
    X = answers(rng, n=120)
    ours, theirs = dt.fit(X), dt.fit(bent(rng, X))
    pd.testing.assert_frame_equal(ours.loadings, theirs.loadings, check_exact=True)
    lines = {"measure": "pearson", "estimator": "linear"}
    ours, theirs = dt.fit(X, **lines), dt.fit(in_other_units(rng, X), **lines)
    pd.testing.assert_frame_equal(ours.loadings, theirs.loadings, rtol=0, atol=ROUNDED)


@pytest.mark.parametrize("missing", ["listwise", "fiml"])
@FEWER
@given(seed=SEEDS)
@example(seed=15)  # units from 1e-12 to 1e11, the order of which pivoting once preferred
def test_models_in_other_units(missing, seed):
    rng = np.random.default_rng(seed)
    X = answers(rng, n=120)
    if missing == "fiml":
        X = X.mask(rng.random(X.shape) < 0.05)
    ours, theirs = (
        dt.cfa(Y, "A =~ q1 + q2 + q3; B =~ q4 + q5 + q6", missing=missing)
        for Y in (X, in_other_units(rng, X))
    )
    for name in ("chisq", "df", "cfi", "baseline.chisq"):
        expected = pytest.approx(ours.fit_measures[name], rel=1e-8, abs=1e-8)
        assert theirs.fit_measures[name] == expected, name
    a, b = (one.standardized["est.std"] for one in (ours, theirs))
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-8)


# --- everything else ---

SELDOM = ("curves", "many")


@pytest.mark.parametrize("seed", [5, 6])  # ratings, and continuous answers with gaps
@pytest.mark.parametrize("subject", [one for one in metamorphic.SUBJECTS if one not in SELDOM])
def test_the_same_survey_in_other_forms(subject, seed, tmp_path):
    forms = ("container", "all")  # all: rows, columns, signs and units at once
    compared = list(metamorphic.compare_survey(seed, [subject], forms, tmp_path))
    wrong = [violation for _, _, violation in compared if violation is not None]
    assert not wrong
    assert {form for _, form, _ in compared} == set(forms)


@pytest.mark.parametrize(("subject", "seed"), [("curves", 6), ("many", 10)])
def test_what_takes_longer_in_all_forms_at_once(subject, seed, tmp_path):
    compared = list(metamorphic.compare_survey(seed, [subject], ("all",), tmp_path))
    assert len(compared) > 20
    assert not [violation for _, _, violation in compared if violation is not None]


def test_a_difference_is_seen(monkeypatch, tmp_path):
    """What follows the order of columns, of rows or the sign of an item is a violation."""

    def first(survey):
        yield "first", {"answer": survey.frame.iloc[0] @ np.arange(1, survey.frame.shape[1] + 1)}

    monkeypatch.setitem(metamorphic.SUBJECTS, "first", first)
    forms = ("rows", "columns", "signs", "units")
    compared = list(metamorphic.compare_survey(4, ["first"], forms, tmp_path))
    assert [form for _, form, violation in compared if violation is not None] == list(forms)


# --- trust ---


@FEWER
@given(seed=SEEDS)
def test_stability_with_a_seed(seed):
    """Resamples are drawn by row, so the same rows meet the same seed whatever the items' order."""
    rng = np.random.default_rng(seed)
    X = answers(rng, n=80)
    order = rng.permutation(6)
    ours, theirs, curved = (
        dt.stability(Y, n_boot=6, seed=3) for Y in (X, X.iloc[:, order], bent(rng, X))
    )
    for other in (theirs, curved):
        names = list(ours.edges)
        pd.testing.assert_frame_equal(ours.edges, other.edges.loc[names, names])
        pd.testing.assert_frame_equal(ours.n_factors, other.n_factors)
