"""The guard for what rank correlations miss: silent where they do not, right where they do."""

import numpy as np
import pytest

import dtstat as dt
from dtstat.core.errors import EstimationWarning
from dtstat.data.items import as_items
from dtstat.dependence import maximal
from dtstat.dependence.maximal import HiddenPair, hidden_pairs, responsible_items


def hidden(X):
    return hidden_pairs(as_items(X, screened=False))


def normal(n, p, seed):
    return np.random.default_rng(seed).standard_normal((n, p))


def one_factor(n, seed, p=8, error=0.5):
    return normal(n, 1, seed + 1000) + error * normal(n, p, seed)


@pytest.mark.parametrize("n", [60, 200, 2000])
@pytest.mark.parametrize("seed", range(4))
def test_silent_on_independent_items(n, seed):
    assert hidden(normal(n, 20, seed)) == ()


@pytest.mark.parametrize("n", [60, 300, 2000])
@pytest.mark.parametrize("seed", range(3))
def test_silent_on_increasing_maps(n, seed):
    """The paper's ten maps, at its signal-to-noise ratio."""
    assert hidden(dt.simulate("v_structure", n, seed=seed).data.to_numpy()) == ()


@pytest.mark.parametrize("n", [60, 300, 2000])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("df", [1, 2, 4])
def test_silent_on_heavy_tails(n, seed, df):
    noise = np.random.default_rng(seed).standard_t(df, size=(n, 8))
    assert hidden(noise) == ()
    assert hidden(normal(n, 1, seed) + 0.5 * noise) == ()


@pytest.mark.parametrize("n", [60, 300, 2000])
@pytest.mark.parametrize("levels", [2, 3, 5, 7])
def test_silent_on_ratings(n, levels):
    for seed in range(2):
        X = dt.simulate("v_structure", n, levels=levels, seed=seed).data.to_numpy()
        keep = np.ptp(X, axis=0) > 0
        assert hidden(X[:, keep].astype(float)) == ()
    skewed = np.minimum(np.floor(np.exp(one_factor(n, 3) - 0.5)), levels)
    assert hidden(skewed) == ()


@pytest.mark.parametrize("n", [300, 2000])
def test_silent_on_strong_increasing_dependence(n):
    """Nearly copies of one another: the rank correlation is all there is."""
    assert hidden(np.exp(one_factor(n, 1, error=0.05))) == ()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [500, 2000])
def test_names_exactly_the_items_that_rise_and_fall(n, seed):
    X = dt.simulate("v_structure", n, maps="one_in_five", seed=seed).data.to_numpy()
    pairs = hidden(X)
    assert responsible_items(pairs) == [4, 9, 14]
    for pair in pairs:
        assert pair.first < pair.second
        assert {pair.first, pair.second} & {4, 9, 14}
        assert pair.any_correlation > pair.rank_correlation + 0.2
    gaps = [pair.any_correlation - pair.rank_correlation for pair in pairs]
    assert gaps == sorted(gaps, reverse=True)


def test_missing_answers_are_left_out():
    X = dt.simulate("v_structure", 1500, maps="one_in_five", seed=1).data.to_numpy()
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    holes[:10] = np.nan
    assert responsible_items(hidden(holes)) == [4, 9, 14]
    rank = {(q.first, q.second): q.any_correlation for q in hidden(X)}
    for pair in hidden(holes):
        at = pair.first, pair.second
        assert at not in rank or pair.any_correlation == pytest.approx(rank[at], abs=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_silent_on_missing_answers_of_increasing_items(seed):
    X = one_factor(400, seed)
    X[np.random.default_rng(seed).random(X.shape) < 0.4] = np.nan
    assert hidden(X) == ()


def test_correlations_are_those_of_ranks():
    x = normal(1000, 1, 0)
    X = np.hstack([x, x**2 + 0.1 * normal(1000, 1, 1)])
    (pair,) = hidden(X)
    spearman = dt.dependence(X, "spearman").values[0, 1]
    assert (pair.first, pair.second) == (0, 1)
    assert pair.rank_correlation == pytest.approx(abs(spearman), abs=1e-9)
    assert 0.9 < pair.any_correlation <= 1


def test_ranks_are_all_that_counts():
    X = dt.simulate("v_structure", 600, maps="one_in_five", seed=2).data.to_numpy()
    assert hidden(np.exp(X / X.std(axis=0))) == hidden(X)


def test_the_sign_of_an_item_does_not_matter():
    X = dt.simulate("v_structure", 600, maps="one_in_five", seed=2).data.to_numpy()
    found = [(p.first, p.second) for p in hidden(X)]
    assert [(p.first, p.second) for p in hidden(-X)] == found


def test_more_than_three_hundred_items_are_not_looked_at():
    z = normal(400, 1, 0)
    few = np.hstack([z, z**2, normal(400, 298, 1)])
    assert [(p.first, p.second) for p in hidden(few)] == [(0, 1)]
    assert hidden(np.hstack([few, normal(400, 1, 2)])) == ()


@pytest.mark.parametrize("n", [150, 400])
def test_items_that_turn_are_named_in_noise_too(n):
    """Of 20 samples none names an item that does not turn (40 of 40 in each of six settings)."""
    for seed in range(20):
        data = dt.simulate("v_structure", n, maps="one_in_five", snr=2.0, seed=seed).data
        assert set(responsible_items(hidden(data.to_numpy()))) <= {4, 9, 14}


def test_the_item_that_needs_no_bending_turns():
    x = normal(1000, 1, 0)
    X = np.hstack([x**2 + 0.1 * normal(1000, 1, 1), x, np.exp(x) + 0.1 * normal(1000, 1, 2)])
    assert responsible_items(hidden(X)) == [0]
    assert responsible_items(hidden(X[:, ::-1])) == [2]
    bent = HiddenPair(0, 1, 0.9, 0.1, first_straight=0.1, second_straight=0.8)
    assert responsible_items((bent,)) == [1]


# --- in fit -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rising_and_falling():
    return dt.simulate("v_structure", 600, maps="one_in_five", seed=1).data


def test_fit_warns_and_keeps_the_warning(rising_and_falling):
    with pytest.warns(EstimationWarning, match="Rank correlations miss") as caught:
        fit = dt.fit(rising_and_falling)
    (warning,) = [w for w in caught if "Rank correlations" in str(w.message)]
    text, pairs = str(warning.message), hidden(rising_and_falling.to_numpy())
    one, two = (rising_and_falling.columns[k] for k in (pairs[0].first, pairs[0].second))
    assert text == (
        f"Rank correlations miss the dependence between '{one}' and '{two}' "
        f"({pairs[0].rank_correlation:.2f}; {pairs[0].any_correlation:.2f} after optimal "
        f"transformation) and in {len(pairs) - 1} more pairs. Not monotone: 'x5', 'x10', 'x15'. "
        "Do not rely on the copula criterion here; use fit(data, measure='maximal', "
        "estimator='spline')."
    )
    assert text in fit.notes
    assert warning.filename == __file__
    assert f"Note:   {text}" in str(fit.summary())


@pytest.mark.parametrize("measure", ["spearman", "pearson", "kendall"])
def test_every_measure_of_increasing_dependence_is_warned_of(rising_and_falling, measure):
    with pytest.warns(EstimationWarning, match="Rank correlations miss"):
        dt.fit(rising_and_falling, measure=measure)


@pytest.mark.parametrize("measure", ["maximal", "distance"])
def test_measures_of_any_dependence_are_not_with_curves(rising_and_falling, measure):
    """The copula compares structures by ranks, whatever they were read off; curves do not."""
    few = rising_and_falling.head(300)
    with pytest.warns(EstimationWarning, match="Rank correlations miss"):
        dt.fit(few, measure=measure)
    fit = dt.fit(few, measure=measure, estimator="spline", finalists=1, seed=1)
    assert not any("Rank correlations" in note for note in fit.notes)


def test_curves_on_rank_correlations_are_warned_of_too(rising_and_falling):
    with pytest.warns(EstimationWarning, match="Rank correlations miss") as caught:
        fit = dt.fit(rising_and_falling, estimator="spline", seed=1, finalists=1)
    assert sum("Rank correlations" in str(w.message) for w in caught) == 1
    assert sum("Rank correlations" in note for note in fit.notes) == 1


def test_the_advice_works(rising_and_falling):
    """What the warning tells to do finds the structure, without a warning."""
    fit = dt.fit(rising_and_falling, measure="maximal", estimator="spline", seed=1)
    truth = np.repeat(np.eye(3), 5, axis=0).astype(bool)
    np.testing.assert_array_equal(fit.support, truth)
    about = fit.nonlinear_loadings.set_index("item")["nonlinearity"]
    assert about[["x5", "x10", "x15"]].min() > 0.8
    assert about.drop(["x5", "x10", "x15"]).max() < 0.5


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_products_in_blocks_are_those_of_all(monkeypatch, gaps):
    X = normal(301, 7, 5)
    X[:, 3] = X[:, 1] ** 2
    X[np.random.default_rng(6).random(X.shape) < gaps] = np.nan
    (whole, common), seen = maximal._products(X, None), []
    monkeypatch.setattr(maximal, "_PRODUCTS", 2 * 9 * X.size)
    monkeypatch.setattr(maximal, "_ROWS_PER_BLOCK", 100)
    parts, counts = maximal._products(X, lambda done, total: seen.append((done, total)))
    assert seen == [*((k, 7) for k in range(1, 8)), *((k, 4) for k in range(1, 5))]
    np.testing.assert_allclose(parts, whole, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(counts, common)
    pairs = np.argwhere(np.triu(np.ones((7, 7)), 1))
    both = [(~np.isnan(X[:, pair])).all(axis=1).sum() for pair in pairs]
    np.testing.assert_array_equal(counts, both)
