import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau, spearmanr

import dtstat as dt
from dtstat.data.frame import rows_by_content

NINE = dt.load_dataset("holzinger_swineford_9")
NAMES = list(NINE.columns)


def clusters(n, d=3, size=4, loading=0.85, seed=0, correlation=0.0):
    """Independent normal items of d factors, named a1, a2, ..., b1, ..."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 1))
    Z = math.sqrt(correlation) * common + math.sqrt(1 - correlation) * rng.normal(size=(n, d))
    noise = math.sqrt(1 - loading**2) * rng.normal(size=(n, d * size))
    X = loading * np.repeat(Z, size, axis=1) + noise
    return pd.DataFrame(X, columns=[f"{'abcdef'[k]}{i + 1}" for k in range(d) for i in range(size)])


CLEAR = clusters(1500)
NINE_FIT = dt.fit(NINE)
CLEAR_FIT = dt.fit(CLEAR, measure="kendall")


@pytest.fixture(scope="module")
def nine():
    return dt.diagnose(NINE_FIT, NINE, n_boot=40, seed=1)


@pytest.fixture(scope="module")
def clear():
    return dt.diagnose(CLEAR_FIT, CLEAR, n_boot=40, seed=1)


def by_pairs(data, measure):
    """Absolute dependence of all pairs, without dtstat."""
    return {
        frozenset(pair): abs(measure(data[pair[0]], data[pair[1]]).statistic)
        for pair in combinations(data.columns, 2)
    }


def local(strength, items, outside):
    """Weakest within, and the least over items of the strongest tie outside."""
    within = min(strength[frozenset(pair)] for pair in combinations(items, 2))
    ties = [max(strength[frozenset((u, v))] for v in outside) for u in items]
    return within, min(ties)


def test_margins_are_those_of_all_pairs(nine):
    strength = by_pairs(NINE, spearmanr)
    factors = [set(NAMES[:3]), set(NAMES[3:6]), set(NAMES[6:])]
    together = {p for p in strength if any(p <= one for one in factors)}
    weakest = min(together, key=strength.get)
    strongest = max(set(strength) - together, key=strength.get)
    expected = (strength[weakest] - strength[strongest]) / 2
    assert nine.margin.value == pytest.approx(expected)
    edge, other = nine.margin.weakest_edge, nine.margin.strongest_non_edge
    assert {edge.first, edge.second} == weakest
    assert {other.first, other.second} == strongest
    assert nine.verdict.startswith("violated: x1–x2 (0.28)")
    assert "x1–x9 (0.38)" in nine.verdict
    assert repr(nine) == f"Diagnosis: margin {expected:.3f} by spearman, {nine.verdict}"
    for k, items in enumerate(factors):
        within, outside = local(strength, sorted(items), set(NAMES) - items)
        assert nine.factors["margin"][k] == pytest.approx((within - outside) / 2)
        assert nine.factors["weakest_within"][k].endswith(f"({within:.2f})")
        assert nine.factors["outside"][k].endswith(f"({outside:.2f})")


def test_a_violated_margin_has_no_bound(nine):
    assert math.isnan(nine.error_bound)  # the tests have ties
    assert dt.diagnose(dt.fit(dt.dependence(NINE))).error_bound == 1
    assert "no single threshold gives this structure" in nine.summary().to_text()


def test_bounds_by_hand(clear):
    """Kendall: 2 exp(−⌊n/2⌋ γ²/2) a pair; all pairs, or those that a core depends on."""
    strength = by_pairs(CLEAR, kendalltau)
    pairs, n = len(strength), len(CLEAR)
    assert clear.margin.satisfied
    tail = 2 * math.exp(-(n // 2) * clear.margin.value**2 / 2)
    assert clear.error_bound == pytest.approx(pairs * tail)
    assert 1e-12 < clear.error_bound < 0.01
    for k, letter in enumerate("abc"):
        items = [f"{letter}{i}" for i in (1, 2, 3, 4)]
        within, outside = local(strength, items, set(CLEAR) - set(items))
        gamma = (within - outside) / 2
        row = clear.factors.iloc[k]
        assert list(row["core"]) == items
        assert row["core_margin"] == pytest.approx(gamma)
        expected = (6 + 8) * 2 * math.exp(-(n // 2) * gamma**2 / 2)
        assert row["error_bound"] == pytest.approx(expected)
        assert 0 < row["error_normal"] < row["error_bound"]


def test_every_pair_counts_with_its_own_rows():
    gaps = CLEAR.mask(np.random.default_rng(1).random(CLEAR.shape) < 0.1)
    found = dt.diagnose(dt.fit(gaps, measure="kendall"))
    seen = gaps.notna().to_numpy().astype(int)
    counts = seen.T @ seen
    gamma = found.margin.value
    total = sum(
        2 * math.exp(-(counts[i, j] // 2) * gamma**2 / 2)
        for i, j in combinations(range(gaps.shape[1]), 2)
    )
    assert found.error_bound == pytest.approx(min(1, total))
    frame = found.pairs
    for first, second, n in frame[["first", "second", "n"]].head(20).itertuples(index=False):
        assert n == (gaps[first].notna() & gaps[second].notna()).sum()


def test_implied_dependence_is_that_of_the_model(clear):
    loadings = CLEAR_FIT.loadings.to_numpy()
    rho = loadings @ CLEAR_FIT.factor_correlations.to_numpy() @ loadings.T
    np.fill_diagonal(rho, 1)
    tau = 2 / np.pi * np.arcsin(rho)
    np.testing.assert_allclose(clear.implied.values, tau, atol=1e-10)
    assert not clear.implied_is_simulated
    i, j = np.triu_indices(12, 1)
    same = i // 4 == j // 4
    expected = (np.abs(tau[i, j][same]).min() - np.abs(tau[i, j][~same]).max()) / 2
    assert clear.implied_margin.value == pytest.approx(expected)


def test_pairs(nine):
    strength, frame = by_pairs(NINE, spearmanr), nine.pairs
    assert list(frame) == ["first", "second", "dependence", "implied", "n", "share_factor"]
    assert len(frame) == 36
    assert frame["dependence"].is_monotonic_decreasing
    assert (frame["n"] == 301).all()
    for row in frame.itertuples():
        assert row.dependence == pytest.approx(strength[frozenset((row.first, row.second))])
        same = (NAMES.index(row.first) // 3) == (NAMES.index(row.second) // 3)
        assert row.share_factor == same


def test_tidy_and_glance(nine):
    tidy = nine.tidy()
    assert list(tidy) == ["what", "factor", "margin", "lower", "upper", "implied", "error_bound"]
    assert tidy["what"].tolist() == ["structure"] + ["factor"] * 3 + ["core"] * 3
    assert tidy["factor"].tolist() == ["all", *["F1", "F2", "F3"] * 2]
    assert tidy["margin"][0] == nine.margin.value
    assert tidy["margin"][1:4].tolist() == nine.factors["margin"].tolist()
    assert tidy["lower"][4:].tolist() == nine.factors["core_lower"].tolist()
    assert ((tidy["lower"] < tidy["margin"]) & (tidy["margin"] < tidy["upper"])).all()
    glance = nine.glance()
    assert len(glance) == 1
    about = glance.iloc[0]
    assert (about["measure"], about["n_obs"], about["n_items"]) == ("spearman", 301, 9)
    assert (about["n_factors"], about["n_fragile"]) == (3, 0)
    assert about["margin"] == nine.margin.value
    assert (about["lower"], about["upper"]) == tuple(nine.intervals.whole)
    assert not about["thresholdable"]
    assert about["unique_children"]
    assert about["n_firm"] == (nine.factors["core_lower"] > 0).sum()


def test_the_verdict_is_by_the_interval(nine, clear):
    expected = ["firm" if low > 0 else "unsure" for low in nine.factors["core_lower"]]
    assert nine.factors["verdict"].tolist() == expected
    assert set(expected) == {"firm", "unsure"}
    assert clear.factors["verdict"].tolist() == ["firm"] * 3


def test_intervals_are_those_of_the_resamples():
    """The same rows, drawn and worked on by hand."""
    data = clusters(80, d=2, size=3, seed=3)
    fit = dt.fit(data, measure="pearson")
    assert fit.support.tolist() == [[True, False]] * 3 + [[False, True]] * 3
    found = dt.diagnose(fit, data, n_boot=30, seed=9).intervals
    R = np.corrcoef(data.T)
    X = data.to_numpy()[rows_by_content(data.to_numpy())]  # the order that rows are drawn in
    here, most = np.abs(R), []
    for k in range(30):
        rng = np.random.default_rng(np.random.SeedSequence(9, spawn_key=(k,)))
        rows = rng.choice(80, 80)
        moved = np.abs(np.corrcoef(X[rows].T) - R)
        within = [moved[i, j] for i, j in ((0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5))]
        most.append((max(within) + moved[:3, 3:].max()) / 2)
    margin = (min(here[:3, :3].min(), here[3:, 3:].min()) - here[:3, 3:].max()) / 2
    half = np.quantile(most, 0.95)
    np.testing.assert_allclose(found.whole, [margin - half, margin + half])
    assert found.n_boot == 30


def test_seed_jobs_and_progress():
    seen = []
    first = dt.diagnose(NINE_FIT, NINE, 10, seed=3, progress=lambda *done: seen.append(done))
    again = dt.diagnose(NINE_FIT, NINE, 10, seed=3, n_jobs=2)
    other = dt.diagnose(NINE_FIT, NINE, 10, seed=4)
    np.testing.assert_array_equal(first.intervals.factors, again.intervals.factors)
    assert not np.array_equal(first.intervals.whole, other.intervals.whole)
    assert seen[:10] == [(k, 10) for k in range(1, 11)]  # then the certificate


def test_the_default_is_200_resamples():
    assert dt.diagnose(NINE_FIT, NINE, seed=1).intervals.n_boot == 200


def test_interrupted():
    def progress(done, total):
        if (done, total) == (5, 50):
            raise KeyboardInterrupt

    with pytest.warns(dt.EstimationWarning, match="after 5 of 50"):
        found = dt.diagnose(NINE_FIT, NINE, 50, seed=3, progress=progress)
    assert found.intervals.n_boot == 5


def covered(correlations, structure, n, n_data, seed):
    """How often the intervals of the whole structure and of its factors hold the truth."""
    rho, d = np.asarray(correlations), structure.n_factors
    truth = dt.margin(
        dt.DependenceMatrix.from_matrix(rho, n, names=structure.item_names), structure
    )
    root = np.linalg.cholesky(rho)
    hits = np.zeros(1 + d, dtype=int)
    for k in range(n_data):
        X = np.random.default_rng([seed, k]).normal(size=(n, len(rho))) @ root.T
        data = pd.DataFrame(X, columns=structure.item_names)
        fit = dt.fit(data, measure="pearson", structure=structure)
        found = dt.diagnose(fit, data, n_boot=60, seed=k).intervals
        limits = np.vstack([found.whole, found.factors])
        values = np.array([truth.value, *[one.value for one in truth.factors]])
        hits += (limits[:, 0] <= values) & (values <= limits[:, 1])
    return hits


def blocks(sizes, within, between):
    owner = np.repeat(np.arange(len(sizes)), sizes)
    rho = np.where(owner[:, None] == owner, within, between)
    np.fill_diagonal(rho, 1)
    names = [f"x{i}" for i in range(len(owner))]
    keys = {f"F{k}": [names[i] for i in np.flatnonzero(owner == k)] for k in range(len(sizes))}
    return rho, dt.Structure.from_keys(keys, names)


@pytest.mark.filterwarnings("ignore:The factors explain")
def test_intervals_cover():
    """Of 40 data sets, 7 or more are missed once in 300 times if 5 % are."""
    rho, structure = blocks([3, 3], 0.5, 0.2)
    hits = covered(rho, structure, 150, 40, seed=1)
    assert (hits >= 34).all(), hits


@pytest.mark.filterwarnings("ignore:The factors explain")
def test_intervals_cover_a_weak_pair():
    """Nothing but two items that hardly depend: |r| is biased upwards then."""
    rho, structure = blocks([2], 0.1, 0.0)
    assert covered(rho, structure, 50, 40, seed=2)[0] >= 34


def test_without_data():
    found = dt.diagnose(NINE_FIT)
    assert found.intervals is None
    assert found.factors["verdict"].tolist() == ["seen"] * 3
    assert found.factors[["lower", "upper", "core_lower", "core_upper"]].isna().all(axis=None)
    assert found.glance()[["lower", "upper"]].isna().all(axis=None)
    text = found.summary().to_text()
    assert "diagnose(fit, data)" in text
    assert "lower" not in text
    assert "seen, each at its own thresholds: F1, F2, F3" in text


def test_of_a_matrix():
    R = dt.dependence(NINE, "pearson").to_frame()
    matrix = dt.DependenceMatrix.from_matrix(R, 301)
    found = dt.diagnose(dt.fit(matrix))
    strength = np.abs(np.corrcoef(NINE.T))
    i, j = np.triu_indices(9, 1)
    same = i // 3 == j // 3
    values = strength[i, j]
    assert found.margin.value == pytest.approx((values[same].min() - values[~same].max()) / 2)
    assert "301 rows, pearson" in found.summary().to_text()


def test_a_threshold_search_has_a_gap():
    fit = dt.fit(NINE, search="threshold", min_children=3)
    found = dt.diagnose(fit)
    values = sorted(by_pairs(NINE, spearmanr).values())
    low, high = found.gap
    k = int(np.argmin(np.abs(np.array(values) - low)))
    assert low == pytest.approx(values[k])
    assert high == pytest.approx(values[k + 1])
    # all factors are cliques above it
    for name in fit.structure.factor_names:
        items = fit.structure.children(name)
        assert found.margin.to_frame().set_index("factor")["to"][name] >= high - 1e-12
        assert len(items) > 2
    assert f"no dependence lies between {low:.3f} and {high:.3f}" in found.summary().to_text()
    assert dt.diagnose(NINE_FIT).gap is None


def test_items_that_are_left_out():
    """An item tied to a1 alone is reported, with the edges it lacks."""
    data = clusters(400, d=2, seed=5)
    rng = np.random.default_rng(6)
    data["odd"] = 0.12 * data["a1"] + rng.normal(size=400)
    fit = dt.fit(data, search="threshold", uncovered="report", min_children=3)
    assert fit.structure.parents("odd") == ()
    found = dt.diagnose(fit)
    outside = found.audit.outside
    assert set(outside["item"]) == {"odd"}
    assert not outside["own"].any()
    strength = by_pairs(data, spearmanr)
    row = outside[outside["factor"] == "F1"].iloc[0]
    ties = {f"a{k}": strength[frozenset(("odd", f"a{k}"))] for k in (1, 2, 3, 4)}
    below = row["threshold"] + 1e-9
    assert list(row["missing_edges"]) == [a for a, r in ties.items() if r <= below]
    assert row["would_need"] == pytest.approx(min(ties.values()))
    text = found.summary().to_text()
    assert "Items outside the cores" in text
    assert " no " in text.split("Items outside the cores")[1]


def test_a_structure_that_was_given_keeps_its_overlap():
    keys = {"visual": ["x1", "x2", "x3", "x9"], "speed": ["x7", "x8", "x9"]}
    structure = dt.Structure.from_keys(keys, NAMES)
    found = dt.diagnose(dt.fit(NINE, structure=structure), NINE, 20, seed=1)
    strength = by_pairs(NINE, spearmanr)
    pairs = {frozenset(p) for items in keys.values() for p in combinations(items, 2)}
    within = min(strength[p] for p in pairs)
    between = max(r for p, r in strength.items() if p not in pairs)
    assert found.margin.value == pytest.approx((within - between) / 2)
    unique = [list(items) for items in found.audit.factors["unique_children"]]
    assert unique == [["x1", "x2", "x3"], ["x7", "x8"]]
    assert found.summary().to_text()


def test_a_factor_that_hangs_on_one_item():
    """Without x4 the second factor is {x3}, which is part of the first."""
    keys = {"F1": ["x1", "x2", "x3"], "F2": ["x3", "x4"]}
    structure = dt.Structure.from_keys(keys, ["x1", "x2", "x3", "x4"])
    found = dt.diagnose(dt.fit(NINE, structure=structure))
    assert found.audit.fragile == ("x4",)
    assert found.glance()["n_fragile"][0] == 1
    text = found.summary().to_text()
    assert "removing any one of these items would lose a factor: x4" in text
    assert "F2 merges into F1" in text


def test_a_condition_that_is_violated():
    """Every item of the second factor is in another one, too."""
    keys = {"F1": ["x1", "x2", "x3"], "F2": ["x3", "x4"], "F3": ["x4", "x5", "x6"]}
    structure = dt.Structure.from_keys(keys, [f"x{i}" for i in range(1, 7)])
    found = dt.diagnose(dt.fit(NINE, structure=structure))
    assert not found.audit.satisfied
    assert not found.glance()["unique_children"][0]
    assert "F2 has none: the condition is violated" in found.summary().to_text()


def test_one_factor_has_nothing_to_separate():
    data = clusters(200, d=1, size=5)
    found = dt.diagnose(dt.fit(data), data, 20, seed=1)
    weakest = min(by_pairs(data, spearmanr).values())
    assert found.margin.value == pytest.approx(weakest / 2)
    assert "nothing to separate" in found.verdict
    assert "How far to trust 1 factor behind 5 items" in found.summary().to_text()


def test_two_items():
    data = clusters(100, d=1, size=2)
    found = dt.diagnose(dt.fit(data, min_children=2), data, 20, seed=1)
    r = spearmanr(data["a1"], data["a2"]).statistic
    assert found.margin.value == pytest.approx(r / 2)
    assert len(found.pairs) == 1


def test_curves_are_simulated():
    data = clusters(150, d=2, size=3, seed=8)
    fit = dt.fit(data, estimator="spline", seed=1)
    found = dt.diagnose(fit, data, 10, seed=1)
    assert found.implied_is_simulated
    assert "(simulated)" in found.summary().to_text()
    drawn, seen = found.implied.values, spearmanr(data).statistic
    assert np.abs(drawn - seen).max() < 0.25
    np.testing.assert_array_equal(dt.diagnose(fit).implied.values, drawn)


def test_ratings_of_curves_are_simulated_as_ratings():
    """Cut into five points: the ranks of the answers, not of what is behind them."""
    X = clusters(300, d=2, size=3, seed=8, loading=0.9)
    data = (X > 0).astype(int)
    fit = dt.fit(data, estimator="spline", seed=1)
    found = dt.diagnose(fit)
    seen = np.corrcoef(data.T)
    same = np.kron(np.eye(2), np.ones((3, 3))).astype(bool) & ~np.eye(6, dtype=bool)
    assert found.implied.values[same].mean() == pytest.approx(seen[same].mean(), abs=0.1)


@pytest.mark.parametrize("measure", ["spearman", "kendall", "pearson"])
def test_no_guarantee_for_ratings(measure):
    """The inequalities are for items without ties."""
    rated = CLEAR.apply(lambda x: pd.cut(x, 5, labels=False) + 1)
    found = dt.diagnose(dt.fit(rated, measure=measure))
    assert found.n_tied == CLEAR.shape[1]
    assert found.bound is None
    assert found.margin.satisfied
    assert math.isnan(found.error_bound)
    assert found.factors["error_bound"].isna().all()
    assert found.factors["error_normal"].isna().all() == (measure == "kendall")
    text = " ".join(found.summary().to_text().split())
    assert f"because the bound for '{measure}' requires items without ties" in text
    assert "12 of the 12 items have ties" in text
    assert "probability at most" not in text


def test_a_single_tie_is_one_too_many():
    tied = CLEAR.copy()
    tied.iloc[0, 0] = tied.iloc[1, 0]
    assert dt.diagnose(dt.fit(tied, measure="kendall")).bound is None
    gaps = CLEAR.mask(np.random.default_rng(1).random(CLEAR.shape) < 0.1)
    assert dt.diagnose(dt.fit(gaps, measure="kendall")).n_tied == 0  # gaps are no ties


def test_what_the_bound_is_conditional_on_is_said(clear):
    text = " ".join(clear.summary().to_text().split())
    assert "at the threshold in the middle of the gap, if the population has this margin" in text
    assert "for items without ties" in text
    matrix = dt.dependence(CLEAR, "kendall")
    of_matrix = dt.diagnose(dt.fit(matrix))  # whether there were ties is not known
    assert of_matrix.n_tied is None
    assert of_matrix.error_bound == pytest.approx(clear.error_bound)


def _text(fit):
    return dt.diagnose(fit).summary().to_text()


def test_a_measure_without_bound():
    found = dt.diagnose(dt.fit(NINE, measure="xi", min_children=2))
    assert found.bound is None
    assert math.isnan(found.error_bound)
    assert found.factors["error_bound"].isna().all()
    assert "no inequality is known for the measure 'xi'" in found.summary().to_text()


def test_what_is_loaded_is_what_was_saved(nine, tmp_path):
    for name, found in {"with": nine, "without": dt.diagnose(NINE_FIT)}.items():
        found.save(tmp_path / name)
        again = dt.load(tmp_path / name)
        assert isinstance(again, dt.Diagnosis)
        assert again.summary().to_text() == found.summary().to_text()
        pd.testing.assert_frame_equal(again.tidy(), found.tidy())
        pd.testing.assert_frame_equal(again.pairs, found.pairs)


ODD = {"x1": "a<b> & c_1", "x2": "100% $sure", "x9": "I am happy"}


def test_odd_names_are_escaped():
    found = dt.diagnose(dt.fit(NINE.rename(columns=ODD)))
    html, latex = found.summary().to_html(), found.summary().to_latex()
    assert "a<b>" not in html
    assert "a&lt;b&gt; &amp; c_1" in html
    assert r"\& c\_1" in latex
    assert r"100\% \$sure" in latex


def test_names_with_spaces_are_whole_in_the_frames():
    """Nine names of three words: the page says 'and 1 more' of items, not of words."""
    data = clusters(300, d=1, size=9)
    data.columns = [f"I am {k}" for k in range(9)]
    structure = dt.Structure.from_keys({"F1": list(data.columns)})
    text = dt.diagnose(dt.fit(data, structure=structure)).summary().to_text()
    assert "and 1 more" in text
    assert "I am 7 and 1 more" in text


def test_max_rows_are_kept():
    data = clusters(300, d=2, seed=5)
    noise = np.random.default_rng(1).normal(size=(300, 6))
    data[[f"n{k}" for k in range(6)]] = noise
    found = dt.diagnose(dt.fit(data, uncovered="report"))
    text = found.summary(max_rows=2).to_text()
    assert "4 items not shown" in text
    assert "n1" in text.split("Items outside")[1]
    assert "n2" not in text.split("Items outside")[1]


def product(x, y):
    return float(np.corrcoef(x, y)[0, 1])


def test_a_fit_by_a_function_has_a_diagnosis_without_data():
    """Margins need the matrix alone; only what the model implies is not known."""
    found = dt.diagnose(dt.fit(NINE, measure=product))
    pearson = dt.diagnose(dt.fit(NINE, measure="pearson"))
    assert found.margin.value == pytest.approx(pearson.margin.value)
    assert "product" in found.summary().to_text()


NO_FACTOR = pd.DataFrame(np.random.default_rng(1).normal(size=(200, 5)), columns=list("abcde"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda: (NINE,), "`fit` must be a result of fit.*DataFrame"),
        (lambda: (dt.fit(NO_FACTOR),), "no factor"),
        (lambda: (NINE_FIT, None, 50), "`n_boot` needs the data"),
        (lambda: (NINE_FIT, NINE, 1), "`n_boot` must be a whole number of at least 2; got 1"),
        (lambda: (NINE_FIT, NINE.iloc[:200]), "not the data of the fit.*'x1' and 'x2' is 0.28"),
        (lambda: (NINE_FIT, NINE.sample(301, replace=True, random_state=1)), "not the data"),
        (lambda: (NINE_FIT, NINE.drop(columns="x5")), "'x5'.*not in the data"),
        (lambda: (NINE_FIT, dt.dependence(NINE)), "answers, not a matrix"),
        (lambda: (dt.fit(NINE, measure=product), NINE), "function 'product'"),
        (lambda: (NINE_FIT, NINE, 10, -1), "`seed`"),
        (lambda: (NINE_FIT, NINE, 10, 1, 0), "`n_jobs`"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(dt.InputError, match=message):
        dt.diagnose(*arguments())


def test_the_message_for_a_missing_item_is_about_the_data():
    """The caller of diagnose has given no structure."""
    with pytest.raises(dt.InputError) as refused:
        dt.diagnose(NINE_FIT, NINE.drop(columns="x5"))
    assert "`structure`" not in str(refused.value)


def test_the_message_for_a_function_does_not_send_to_something_else():
    with pytest.raises(dt.InputError) as refused:
        dt.diagnose(dt.fit(NINE, measure=product), NINE)
    assert "stability(" not in str(refused.value)


def test_rows_in_another_order_and_more_columns_are_the_same_data():
    mixed = NINE.sample(frac=1, random_state=1).assign(name="someone")[[*NAMES[::-1], "name"]]
    found = dt.diagnose(NINE_FIT, mixed, 10, seed=1)
    assert found.intervals.n_boot == 10


def rare():
    """One answer differs in a single row of 40."""
    data = (clusters(40, d=2, size=3, seed=2) > 0).astype(int)
    data["z"] = [1] + [0] * 39
    return data


@pytest.fixture(scope="module")
def rare_fit():
    """Its polychoric correlations, of 40 rows, let factors explain two items wholly."""
    with pytest.warns(dt.EstimationWarning, match="a2, b3 without error"):
        return dt.fit(rare())


def test_resamples_that_fail_are_left_out(rare_fit):
    data = rare()
    found = dt.diagnose(rare_fit, data, 40, seed=1)
    drawn = [
        np.random.default_rng(np.random.SeedSequence(1, spawn_key=(k,))).choice(40, 40)
        for k in range(40)
    ]
    X = data.to_numpy()[rows_by_content(data.to_numpy())]
    expected = [rows for rows in drawn if (X[rows].std(axis=0) > 0).all()]
    assert found.intervals.n_boot == len(expected) < 40


def test_all_resamples_fail(rare_fit):
    """The row that matters is in neither of two resamples."""
    data = rare()
    (own,) = np.flatnonzero(rows_by_content(data.to_numpy()) == 0)
    seed = next(
        s
        for s in range(100)
        if all(
            own
            not in np.random.default_rng(np.random.SeedSequence(s, spawn_key=(k,))).choice(40, 40)
            for k in (0, 1)
        )
    )
    with pytest.raises(dt.EstimationError, match="does not vary"):
        dt.diagnose(rare_fit, data, 2, seed=seed)


@pytest.mark.parametrize("measure", ["xi", "distance", "maximal"])
def test_other_measures_leave_out_constant_items_too(measure):
    data = clusters(40, d=2, size=3, seed=2)
    data["z"] = [1.0] + [0.0] * 39
    structure = dt.Structure.from_keys(
        {"F1": ["a1", "a2", "a3"], "F2": ["b1", "b2", "b3"]}, list(data)
    )
    fit = dt.fit(data, measure=measure, structure=structure)
    found = dt.diagnose(fit, data, 20, seed=1)
    assert found.intervals.n_boot < 20


@pytest.mark.filterwarnings("ignore::dtstat.DTWarning")
def test_the_gap_is_known_where_other_cliques_take_in_attached_items():
    """Not all attached items are marked as such: longer-lived cliques of a factor have some."""
    fit = dt.fit(dt.load_dataset("holzinger_swineford_26"), search="threshold")
    below, above = dt.diagnose(fit).gap
    assert fit.candidates["origin"].iloc[0] == f"threshold {below:.3f}"
    strength = np.unique(fit.dependence.strength)
    assert strength[np.searchsorted(strength, below) + 1] == above
