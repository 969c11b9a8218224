"""Stability, and the procedure that it repeats."""

import math

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.errors import silenced
from dtstat.data.frame import rows_by_content
from dtstat.data.items import as_items
from dtstat.dependence.compute import RowDependence
from dtstat.trust.stability import StructureFinder

NINE = dt.load_dataset("holzinger_swineford_9")
LIKERT = dt.load_dataset("likert_survey")
SORTED = NINE.iloc[rows_by_content(NINE.to_numpy())]  # the order that rows are drawn in
NAMES = list(NINE.columns)


def clusters(n, d=2, size=3, loading=0.85, seed=0):
    rng = np.random.default_rng(seed)
    Z = np.repeat(rng.normal(size=(n, d)), size, axis=1)
    X = loading * Z + math.sqrt(1 - loading**2) * rng.normal(size=(n, d * size))
    return pd.DataFrame(X, columns=[f"{'abcdef'[k]}{i + 1}" for k in range(d) for i in range(size)])


def drawn(seed, k, n, size=None, replace=True):
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(k,)))
    return rng.choice(n, size or n, replace=replace)


def sets(structure):
    """Factors as sets of names."""
    return {frozenset(structure.children(name)) for name in structure.factor_names}


@pytest.fixture(scope="module")
def nine():
    return dt.stability(NINE, n_boot=12, seed=5)


@pytest.fixture(scope="module")
def refitted():
    """The same resamples, each fitted by ``dt.fit``."""
    with silenced(dt.EstimationWarning):  # of Heywood cases, which stability does not repeat
        return [sets(dt.fit(SORTED.iloc[drawn(5, k, 301)]).structure) for k in range(12)]


# The procedure


@pytest.mark.filterwarnings("ignore::dtstat.DTWarning")
@pytest.mark.parametrize(
    ("data", "options"),
    [
        (LIKERT, {}),
        (NINE, {}),
        (NINE, {"search": "threshold"}),
        (NINE, {"search": "threshold", "thresholds": [0.2, 0.3, 0.4]}),
        (NINE, {"estimator": "linear", "measure": "pearson"}),
        (NINE, {"measure": "kendall", "criterion": "bic"}),
        (NINE, {"refine": True}),
        (NINE.iloc[:150], {"misfit": "none"}),
        (NINE, {"uncovered": "report", "min_children": 2}),
        (LIKERT.iloc[:, :12], {"missing": "listwise", "measure": "kendall"}),
        (LIKERT.iloc[:, :12], {"measure": "polychoric"}),
    ],
    ids=lambda x: " ".join(map(str, x.values())) if isinstance(x, dict) else str(x.shape[1]),
)
def test_the_procedure_finds_what_fit_finds(data, options):
    fit = dt.fit(data, **options)
    rows = RowDependence(as_items(data), fit.call.measure, fit.call.missing)
    find = StructureFinder(rows, fit.call, fit.grid)
    pool = data.dropna() if options.get("missing") == "listwise" else data
    assert rows.n_rows == len(pool)
    for k in range(10):
        rows = drawn(1, k, len(pool))
        expected = dt.fit(pool.iloc[rows], **options)
        np.testing.assert_array_equal(find(rows, 0), expected.support, str(k))


@pytest.mark.filterwarnings("ignore::dtstat.DTWarning")
@pytest.mark.parametrize(("criterion", "count"), [("validation", 10), ("cv", 3)])
def test_held_out_rows_are_those_of_the_seed(criterion, count):
    fit = dt.fit(NINE, criterion=criterion, seed=3)
    find = StructureFinder(RowDependence(as_items(NINE), "spearman"), fit.call)
    for k in range(count):
        rows = drawn(2, k, 301)
        expected = dt.fit(NINE.iloc[rows], criterion=criterion, seed=100 + k)
        np.testing.assert_array_equal(find(rows, 100 + k), expected.support, str(k))


@pytest.mark.filterwarnings("ignore::dtstat.DTWarning")
def test_uncovered_items_are_an_error_in_resamples_too():
    """A resample that ``fit`` would refuse has no structure."""
    options = {"uncovered": "error", "search": "threshold"}
    data = clusters(60, loading=0.6, seed=3)
    fit = dt.fit(data, **(options | {"uncovered": "report"}))
    call = dt.fit(clusters(300), **options).call
    find = StructureFinder(RowDependence(as_items(data), "spearman"), call, fit.grid)
    refused = 0
    for k in range(20):
        rows = drawn(3, k, 60)
        try:
            dt.fit(data.iloc[rows], **options)
        except dt.EstimationError:
            refused += 1
            with pytest.raises(dt.EstimationError):
                find(rows, 0)
    assert refused > 0


# Tables


def test_structures_are_those_of_fit(nine, refitted):
    found = [sets(dt.Structure(support, NAMES)) for support in nine.main.supports]
    assert found == refitted
    assert len({frozenset(one) for one in found}) > 1


def test_edges(nine, refitted):
    for i, a in enumerate(NAMES):
        for b in NAMES[i + 1 :]:
            share = np.mean([any({a, b} <= factor for factor in one) for one in refitted])
            assert nine.edges.loc[a, b] == nine.edges.loc[b, a] == pytest.approx(share)
    assert (np.diag(nine.edges) == 1).all()


def test_numbers_of_factors(nine, refitted):
    frame = nine.n_factors
    expected = pd.Series([len(one) for one in refitted]).value_counts().sort_index()
    assert frame["n_factors"].tolist() == expected.index.tolist()
    assert frame["count"].tolist() == expected.tolist()
    assert frame["share"].sum() == pytest.approx(1)


def test_factors(nine, refitted):
    frame = nine.factors
    assert list(frame) == ["factor", "n_items", "exact", "jaccard", "items"]
    assert frame["items"].tolist() == [("x1", "x2", "x3"), ("x4", "x5", "x6"), ("x7", "x8", "x9")]
    for k, items in enumerate(frame["items"]):
        exact = np.mean([frozenset(items) in one for one in refitted])
        assert frame["exact"][k] == pytest.approx(exact)
        assert frame["jaccard"][k] >= frame["exact"][k]


def test_items(nine, refitted):
    frame = nine.items
    columns = ["item", "factors", "stability", "elsewhere", "elsewhere_share", "no_factor"]
    assert list(frame) == columns
    assert frame["item"].tolist() == NAMES
    assert frame["factors"].tolist() == [("F1",)] * 3 + [("F2",)] * 3 + [("F3",)] * 3
    for row in frame.itertuples():
        none = np.mean([not any(row.item in factor for factor in one) for one in refitted])
        assert row.no_factor == pytest.approx(none)
        own = nine.memberships.loc[row.item, row.factors[0]]
        assert row.stability <= own + 1e-12
        others = nine.memberships.loc[row.item].drop(row.factors[0])
        assert row.elsewhere_share == others.max()
        assert row.elsewhere == (others.idxmax() if others.max() > 0 else "")


def test_tidy_and_glance(nine, refitted):
    tidy = nine.tidy()
    assert list(tidy) == ["item", "factor", "share", "in_structure"]
    assert len(tidy) == 27
    for row in tidy.itertuples():
        assert row.share == nine.memberships.loc[row.item, row.factor]
        assert row.in_structure == (int(row.factor[1]) - 1 == NAMES.index(row.item) // 3)
    about = nine.glance().iloc[0]
    reference = {frozenset(NAMES[:3]), frozenset(NAMES[3:6]), frozenset(NAMES[6:])}
    assert about["same_structure"] == pytest.approx(np.mean([one == reference for one in refitted]))
    assert about["same_n_factors"] == pytest.approx(np.mean([len(one) == 3 for one in refitted]))
    assert (about["n_asked"], about["n_done"], about["n_failed"]) == (12, 12, 0)
    assert (about["scheme"], about["n_obs"], about["n_resampled"]) == ("bootstrap", 301, 301)
    assert about["seed"] == 5


def test_alternatives(nine, refitted):
    frame = nine.alternatives
    assert frame["count"].sum() == 12
    assert frame["count"].is_monotonic_decreasing
    assert len(frame) == len({frozenset(one) for one in refitted})
    same = frame[frame["differs_by"] == 0]
    assert same["share"].sum() == pytest.approx(nine.glance()["same_structure"][0])
    assert len(same) <= 1


def test_summary_says_the_numbers(nine):
    text = nine.summary().to_text()
    about = nine.glance().iloc[0]
    assert "12 of 301 rows drawn with replacement from 301, seed 5" in text
    assert f"Same structure:    in {about['same_structure']:.1%} of the resamples" in text
    doubtful = [row.item for row in nine.items.itertuples() if row.stability < 0.75]
    assert doubtful
    assert f"Unstable (< 75 %): {', '.join(doubtful)}" in text
    assert "not how likely it is right" in text
    assert "robab" not in text
    assert "6 more stable items not shown" in nine.summary(max_rows=3).to_text()
    assert repr(nine).startswith("Stability: 12 bootstrap resamples of 301 rows")


def test_seed_and_jobs(nine):
    again = dt.stability(NINE, n_boot=12, seed=5, n_jobs=2)
    assert _same(again.main.supports, nine.main.supports)
    other = dt.stability(NINE, n_boot=12, seed=6)
    assert not _same(other.main.supports, nine.main.supports)


def _same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def test_a_fresh_seed_is_told():
    first = dt.stability(NINE, n_boot=4)
    assert _same(dt.stability(NINE, 4, seed=first.seed).main.supports, first.main.supports)


@pytest.mark.filterwarnings("ignore::dtstat.DTWarning")
def test_the_seed_is_also_that_of_the_fit():
    """Rows held out for the reference are drawn; the same seed must give the same result."""
    runs = [dt.stability(NINE, 2, seed=1, criterion="validation") for _ in range(2)]
    assert runs[0].fit.call.seed == runs[1].fit.call.seed
    assert runs[0].summary().to_text() == runs[1].summary().to_text()


def test_sizes_are_different_shares():
    with pytest.raises(dt.InputError, match=r"`sizes` must be different shares; got 0.3 twice"):
        dt.stability(NINE, 4, sizes=(0.3, 0.5, 0.3))


def test_subsamples_and_sizes():
    given = {"min_children": 3}  # with two, some subsample has a factor of two and a Heywood case
    found = dt.stability(NINE, 4, scheme="subsample", seed=2, sizes=(0.75, 0.25), **given)
    assert found.main.n_rows == 150
    assert [part.n_rows for part in found.smaller] == [75, 226]
    drawn_rows = [SORTED.iloc[drawn(2, k, 301, 150, False)] for k in range(4)]
    expected = [sets(dt.fit(rows, **given).structure) for rows in drawn_rows]
    assert [sets(dt.Structure(s, NAMES)) for s in found.main.supports] == expected
    frame = found.sizes
    columns = ["n", "resamples", "scheme", "f1", "same_structure", "same_n_factors", "n_factors"]
    assert list(frame) == columns
    assert frame["n"].tolist() == [75, 226, 150]
    assert frame["scheme"].tolist() == ["subsample"] * 3
    for row, part in zip(frame.itertuples(), [*found.smaller, found.main], strict=True):
        counts = np.array([support.shape[1] for support in part.supports])
        assert row.n_factors == counts.mean()
        assert row.same_n_factors == (counts == 3).mean()
    text = found.summary().to_text()
    assert "Effect of the number of rows" in text
    assert "without replacement" in text


def test_share():
    assert dt.stability(NINE, 2, share=0.5, seed=1).main.n_rows == 150
    assert dt.stability(NINE, 2, scheme="subsample", share=0.9, seed=1).main.n_rows == 271


def test_of_a_fit_that_is_there(nine):
    found = dt.stability(NINE, 12, fit=dt.fit(NINE), seed=5)
    assert _same(found.main.supports, nine.main.supports)


def test_options_are_those_of_fit():
    found = dt.stability(NINE, 3, seed=1, measure="kendall", search="threshold", min_children=4)
    call = found.fit.call
    assert (call.measure, call.search, call.min_children) == ("kendall", "threshold", 4)


def product(x, y):
    return float(np.corrcoef(x, y)[0, 1])


def test_a_function_as_measure():
    found = dt.stability(NINE, 3, seed=1, measure=product, min_children=3)
    for k, support in enumerate(found.main.supports):
        expected = dt.fit(SORTED.iloc[drawn(1, k, 301)], measure=product, min_children=3)
        np.testing.assert_array_equal(support, expected.support)


def test_no_factors():
    data = pd.DataFrame(np.random.default_rng(1).normal(size=(200, 5)), columns=list("abcde"))
    found = dt.stability(data, 5, seed=1)
    assert found.fit.n_factors == 0
    assert found.tidy().empty
    assert found.factors.empty
    assert found.items["elsewhere"].tolist() == [""] * 5
    assert "Stability of 0 factors behind 5 items" in found.summary().to_text()


def test_items_that_were_not_fitted_are_left_out():
    """Pairs are named by the items of the fit, in its order; other columns are passed over."""
    some = ["x9", "x8", "x7", "x6", "x5", "x4"]
    found = dt.stability(NINE, 2, fit=dt.fit(NINE[some]), seed=1)
    alone = dt.stability(NINE[some], 2, fit=dt.fit(NINE[some]), seed=1)
    assert len(alone.disagreement) > 0
    pd.testing.assert_frame_equal(found.disagreement, alone.disagreement)


@pytest.mark.filterwarnings("ignore:Rank correlations miss")
def test_pairs_that_ranks_do_not_show():
    rng = np.random.default_rng(1)
    data = clusters(400, seed=1)
    data["u"] = data["a1"] ** 2 + 0.1 * rng.normal(size=400)
    frame = dt.stability(data, 2, seed=1).disagreement
    assert list(frame) == ["first", "second", "rank", "any", "excess"]
    assert frame.loc[0, ["first", "second"]].tolist() == ["a1", "u"]
    assert frame["any"][0] > 0.7 > 0.3 > frame["rank"][0]


def test_what_is_loaded_is_what_was_saved(nine, tmp_path):
    several = dt.stability(NINE, 3, seed=1, sizes=[0.5])
    for name, found in {"one": nine, "sizes": several}.items():
        found.save(tmp_path / name)
        again = dt.load(tmp_path / name)
        assert isinstance(again, dt.Stability)
        assert again.summary().to_text() == found.summary().to_text()
        pd.testing.assert_frame_equal(again.sizes, found.sizes)


def test_odd_names_are_escaped():
    data = NINE.rename(columns={"x1": "a<b> & c_1", "x2": "100% $sure"})
    summary = dt.stability(data, 3, seed=1).summary()
    html, latex = summary.to_html(), summary.to_latex()
    assert "a<b>" not in html
    assert "a&lt;b&gt; &amp; c_1" in html
    assert r"\& c\_1" in latex
    assert r"100\% \$sure" in latex


# Forty rows of yes and no: some item is explained without error.
heywood = pytest.mark.filterwarnings("ignore:The factors explain:dtstat.EstimationWarning")


def rare():
    """One answer differs in a single row of 40."""
    data = (clusters(40, size=4, seed=2, loading=0.8) > 0).astype(int)
    data["z"] = [1] + [0] * 39
    return data


@heywood
def test_failures_are_told():
    found = dt.stability(rare(), 30, seed=1)
    data = rare().to_numpy()
    usable = sum((data[drawn(1, k, 40)].std(axis=0) > 0).all() for k in range(30))
    assert found.main.n_done == usable < 30
    assert found.main.n_failed == 30 - usable
    text = found.summary().to_text()
    assert f"{30 - usable} resamples could not be used" in text
    assert "Interrupted" not in text


@heywood
def test_all_resamples_fail():
    (own,) = np.flatnonzero(rows_by_content(rare().to_numpy()) == 0)  # the row that matters
    seed = next(s for s in range(100) if all(own not in drawn(s, k, 40) for k in (0, 1)))
    with pytest.raises(dt.EstimationError, match="None of the resamples of 40 rows"):
        dt.stability(rare(), 2, seed=seed)


def test_interrupted():
    def progress(done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.warns(dt.EstimationWarning, match="Interrupted after 3 of 20"):
        found = dt.stability(NINE, 20, seed=1, progress=progress)
    assert found.main.n_done == 3
    assert "Interrupted: 20 resamples were asked for" in found.summary().to_text()


GIVEN = dt.Structure.from_keys({"f": ["x1", "x2", "x3"]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_boot": 1}, "`n_boot` must be a whole number of at least 2"),
        ({"scheme": "jackknife"}, "`scheme`.*bootstrap, subsample"),
        ({"share": 0}, r"`share` must be a number in \(0, 1\]; got 0"),
        ({"share": 1.5}, "`share`"),
        ({"share": math.nan}, "`share`"),
        ({"scheme": "subsample", "share": 1}, "`share` must be below 1 for subsamples"),
        ({"sizes": [0.5, 2]}, "`sizes` must be a number in .*got 2"),
        ({"structure": GIVEN}, "structure of the fit was given"),
        ({"fit": dt.fit(NINE, structure=GIVEN)}, "structure of the fit was given"),
        ({"fit": dt.fit(NINE), "measure": "kendall"}, "`measure` must be left out with `fit`"),
        ({"fit": dt.fit(NINE.iloc[:200])}, "not the data of the fit"),
        ({"fit": dt.fit(NINE, measure=product)}, "function 'product', which a fit does not keep"),
        ({"n_jobs": 0}, "`n_jobs`"),
        ({"seed": -1}, "`seed`"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(dt.InputError, match=message):
        dt.stability(NINE, **{"n_boot": 2, **options})


def test_a_matrix_has_no_rows():
    with pytest.raises(dt.InputError, match="answers, not a matrix"):
        dt.stability(dt.dependence(NINE))


@pytest.mark.parametrize("sizes", [0.5, [1.0]])
def test_sizes_that_make_no_sense_are_refused(sizes):
    """A single number, and all rows without replacement, which are always the same."""
    with pytest.raises(dt.InputError, match="`sizes`"):
        dt.stability(NINE, 2, sizes=sizes)
