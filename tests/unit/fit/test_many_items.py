"""Whole fits without a matrix of correlations: the same answer as with it, and what is refused."""

import importlib

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dtstat as dt
from dtstat.core.saved import to_bytes
from dtstat.dependence import on_demand
from dtstat.factors.copula import LatentCorrelations

many = importlib.import_module("dtstat.fit.many")
pytestmark = pytest.mark.filterwarnings(
    "ignore:There are fewer rows", "ignore:The latent correlations"
)


def survey(p, n, seed, size=10, loading=0.7, phi=0.3):
    rng = np.random.default_rng(seed)
    factors = np.sqrt(1 - phi) * rng.standard_normal((n, p // size))
    factors += np.sqrt(phi) * rng.standard_normal((n, 1))
    own = np.arange(p) // size
    X = loading * factors[:, own] + np.sqrt(1 - loading**2) * rng.standard_normal((n, p))
    return X, dt.Structure(own[:, None] == np.arange(p // size))


@pytest.fixture
def sparse_from_100(monkeypatch):
    monkeypatch.setattr(many, "MANY", 100)


@pytest.fixture(scope="module")
def data():
    return survey(330, 400, 1)


@pytest.fixture(scope="module")
def fit(data):
    before = many.MANY
    many.MANY = 100
    try:
        return dt.fit(data[0])
    finally:
        many.MANY = before


def test_the_structure_of_the_whole_matrix(data, fit):
    X, truth = data
    dense = dt.fit(X)
    assert isinstance(fit.latent, on_demand.CorrelationsOnDemand)
    assert not isinstance(dense.latent, on_demand.CorrelationsOnDemand)
    assert dt.compare(fit, dense).f1 == 1
    assert dt.compare(fit, truth).f1 == 1
    assert fit.supported == dense.supported == fit.n_factors == 33
    np.testing.assert_allclose(fit.loadings, dense.loadings, atol=0.05)
    np.testing.assert_allclose(fit.factor_correlations, dense.factor_correlations, atol=0.05)
    assert fit.levels["one_fewer_costs"][32] == pytest.approx(
        dense.levels["one_fewer_costs"][32], rel=0.1
    )
    scores = [one.factor_scores(X).to_numpy().ravel() for one in (fit, dense)]
    assert np.corrcoef(scores)[0, 1] > 0.999


def test_what_it_answers(data, fit, tmp_path):
    assert len(fit.levels) == len(fit.tree) > 33
    broad = fit.level(10)
    assert broad.n_factors == 10
    assert all("+" in name or name.startswith("F") for name in broad.factor_names)
    assert fit.factors["core"].map(len).min() >= 2
    assert len(fit.uncovered) == 0
    assert np.isnan(fit.fit_measures["pvalue"])
    assert fit.fit_measures["srmr"] < 0.1
    assert fit.residuals().shape == (330, 330)
    assert fit.tidy()["std_error"].isna().all()
    text = fit.summary().to_text()
    assert "not by maximum likelihood of all items at once" in text
    assert "Not tested. With so many items" in text
    fit.save(tmp_path / "fit.dtstat")
    loaded = dt.load(tmp_path / "fit.dtstat")
    pd.testing.assert_frame_equal(loaded.levels, fit.levels)
    np.testing.assert_array_equal(loaded.factor_scores(data[0]), fit.factor_scores(data[0]))
    with pytest.raises(dt.InputError, match="answers are not there"):
        loaded.residuals()
    with pytest.raises(dt.InputError, match="Fit the data again with n_factors"):
        loaded.level(10)


@pytest.mark.parametrize(
    "call",
    [
        lambda fit, path: fit.plot("loadings"),
        lambda fit, path: fit.report(path / "page.html"),
        lambda fit, path: fit.path_scores(),
    ],
)
def test_what_it_refuses_in_words(fit, tmp_path, call):
    with pytest.raises(dt.InputError, match=r"up to .* items; got 330"):
        call(fit, tmp_path)


def test_a_matrix_too_large_is_refused(fit, monkeypatch):
    fresh = on_demand.CorrelationsOnDemand(fit.item_names, "pearson", 400, fit.latent.rows)
    monkeypatch.setattr(on_demand, "MOST_WHOLE", 300)
    with pytest.raises(dt.InputError, match="all correlations of 330 items"):
        fresh.strength.sum()


def test_the_same_from_every_source_and_for_every_number_of_workers(
    data, fit, tmp_path, sparse_from_100
):
    X = data[0]
    np.save(tmp_path / "x.npy", X)
    frame = pd.DataFrame(X, columns=list(fit.item_names))
    frame.to_parquet(tmp_path / "x.parquet")
    expected = to_bytes(fit)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for source in (tmp_path / "x.npy", str(tmp_path / "x.parquet"), mapped):
        assert to_bytes(dt.fit(source)) == expected
    assert to_bytes(dt.fit(X, n_jobs=2)) == expected


def test_answers_that_lie_on_disk(data, fit, monkeypatch, sparse_from_100):
    monkeypatch.setattr(many, "MEMORY", 1e-4)
    assert to_bytes(dt.fit(data[0])) == to_bytes(fit)


def test_asked_for_a_number(data, sparse_from_100):
    X = data[0][:, :150]
    fit = dt.fit(X, n_factors=11)
    assert fit.n_factors == 11
    assert "as asked" in fit.explanation
    with pytest.raises(dt.InputError, match="must be at most"):
        dt.fit(X, n_factors=75)


def test_fewer_rows_than_items(sparse_from_100):
    """Gains grow as the number of factors: a price of all their correlations hid them."""
    X, truth = survey(500, 100, 3)
    fit = dt.fit(X)
    assert dt.compare(fit, truth).f1 > 0.95
    assert np.linalg.eigvalsh(fit.factor_correlations)[0] > 0


def test_too_few_rows_are_said_to_the_user(sparse_from_100):
    """With the rows it would take, and at the line of the user's own call."""
    X, _ = survey(300, 60, 3)
    with pytest.warns(dt.DTWarning, match="more than 0.38; a correlation of 0.5") as caught:
        fit = dt.fit(X)
    assert "above chance from 36 rows on, one of 0.3 from 97" in " ".join(fit.notes)
    assert {one.filename for one in caught} == {__file__}
    with pytest.warns(dt.DTWarning, match="fewer rows") as caught:
        fit.level(10)
    assert {one.filename for one in caught} == {__file__}


def test_independent_items_have_no_factor(sparse_from_100):
    X = np.random.default_rng(5).standard_normal((200, 150))
    fit = dt.fit(X)
    assert fit.n_factors == 0
    assert "No structure describes the items" in fit.summary().to_text()


@pytest.mark.parametrize(("p", "n", "seed"), [(1100, 100, 0), (1100, 200, 1), (2000, 100, 2)])
def test_more_independent_items_than_rows_have_no_factor(p, n, seed):
    """What items that are left out had gained must not pay for those that are kept."""
    X = np.random.default_rng([p, n, seed]).standard_normal((n, p))
    assert dt.fit(X).n_factors == 0


def test_items_that_belong_nowhere_are_left_out(sparse_from_100):
    X, _ = survey(200, 300, 7)
    noise = np.random.default_rng(7).standard_normal((300, 10))
    fit = dt.fit(np.hstack([X, noise]))
    left = set(fit.structure.uncovered)
    assert {f"x{k}" for k in range(1, 201)} & left == set()
    assert len(left) >= 8
    assert (fit.uncovered["implied loading"] < 0.3).all()


@pytest.mark.filterwarnings("ignore:The factors explain")  # of copies
@pytest.mark.parametrize("levels", [None, 4])
def test_order_signs_and_people_do_not_matter(levels, sparse_from_100):
    """Copies and ratings, which tie; at another level, too."""
    X, _ = survey(150, 120, 9)
    X = X if levels is None else np.clip(np.round(X + (levels + 1) / 2), 1, levels)
    X[:, -6:] = X[:, :6]
    rng = np.random.default_rng(0)
    names = np.array([f"x{k + 1}" for k in range(150)])
    order, signs = rng.permutation(150), rng.choice([-1.0, 1.0], 150)
    moved = pd.DataFrame((X * signs)[rng.permutation(120)][:, order], columns=names[order])
    ours = dt.fit(X)
    theirs = dt.fit(moved)
    assert ours.n_factors == theirs.n_factors > 5
    columns = ["one_fewer_costs", "step"]
    np.testing.assert_allclose(ours.levels[columns], theirs.levels[columns], rtol=0, atol=1e-8)
    for one, two in ((ours, theirs), (ours.level(5), theirs.level(5))):
        L = two.loadings.loc[names].to_numpy() * signs[:, None]
        here = one.loadings.to_numpy()
        matched = [int((here[:, [k]] * L != 0).sum(axis=0).argmax()) for k in range(one.n_factors)]
        L = L[:, matched]
        turned = np.sign((L * here).sum(axis=0))
        np.testing.assert_allclose(L * turned, here, rtol=0, atol=1e-8)
        Phi = two.factor_correlations.to_numpy()[np.ix_(matched, matched)]
        Phi *= np.outer(turned, turned)
        np.testing.assert_allclose(Phi, one.factor_correlations, rtol=0, atol=1e-8)


def test_read_whole_they_go_the_same_way(data, fit, tmp_path, sparse_from_100):
    frame = pd.DataFrame(data[0], columns=list(fit.item_names))
    frame.to_csv(tmp_path / "x.csv", index=False)
    for source in (tmp_path / "x.csv", pa.Table.from_pandas(frame)):
        assert to_bytes(dt.fit(source)) == to_bytes(fit)


def test_what_goes_the_whole_way(data, monkeypatch):
    X = data[0][:, :30].copy()
    monkeypatch.setattr(many, "MANY", 20)
    assert isinstance(dt.fit(X, measure="kendall").latent, LatentCorrelations)
    X[0, 0] = np.nan
    assert isinstance(dt.fit(X).latent, LatentCorrelations)
    monkeypatch.setattr(many, "MOST_WHOLE", 25)
    with pytest.raises(dt.InputError, match="With more than 25 items answers with gaps need"):
        dt.fit(X)
    with pytest.raises(dt.InputError, match="the search 'threshold' needs"):
        dt.fit(data[0][:, :30], search="threshold")


def crossed_survey(p, n, seed, second=0.45):
    """Draw factors of ten items; one item in eight loads on another factor, too."""
    rng = np.random.default_rng(seed)
    d = p // 10
    L = np.zeros((p, d))
    L[np.arange(p), np.arange(p) // 10] = 0.7
    for i in range(3, p, 8):
        L[i, (i // 10 + rng.integers(1, d)) % d] = second * (-1) ** i
    F = np.sqrt(0.8) * rng.standard_normal((n, d)) + np.sqrt(0.2) * rng.standard_normal((n, 1))
    return F @ L.T + 0.65 * rng.standard_normal((n, p)), dt.Structure(L != 0)


def test_second_loadings_as_with_the_whole_matrix(sparse_from_100, monkeypatch):
    X, truth = crossed_survey(200, 600, 11)
    plain, fit = dt.fit(X), dt.fit(X, refine=True)
    assert "maximum likelihood of all items at once" in fit.summary().to_text()
    assert dt.compare(plain, truth).f1 < 0.95
    assert dt.compare(fit, truth).f1 == 1
    monkeypatch.setattr(many, "MANY", 1000)
    dense = dt.fit(X, refine=True)
    assert dt.compare(dense, fit).f1 == 1
    # The correlations behind the former are those of normal scores, of the latter those of ranks.
    np.testing.assert_allclose(fit.loadings, dense.loadings, atol=0.03)
    np.testing.assert_allclose(fit.factor_correlations, dense.factor_correlations, atol=0.03)


def test_factors_that_show_when_others_are_explained(sparse_from_100):
    drawn = dt.simulate(
        "high_dimensional", 300, violating=0.4, second_parent="own", factor_correlation=0, seed=3
    )
    plain, fit = dt.fit(drawn.data), dt.fit(drawn.data, search="sequential")
    assert (plain.n_factors, fit.n_factors) == (29, 30)
    assert dt.compare(plain, drawn.structure).f1 < 0.85
    assert dt.compare(fit, drawn.structure).f1 > 0.96
    assert any("maximum likelihood of all items" in note for note in fit.notes)
    simple = dt.simulate("high_dimensional", 300, factor_correlation=0.5, seed=4)
    fit = dt.fit(simple.data, search="sequential")  # the plain answer stands
    assert dt.compare(fit, simple.structure).f1 == 1
    assert any("items of each factor alone" in note for note in fit.notes)


def test_second_loadings_with_more_factors_than_rows(sparse_from_100):
    """Factor correlations are kept then, as far as they were shrunk."""
    X, truth = crossed_survey(700, 60, 5, second=0.7)
    fit = dt.fit(X, n_factors=70, refine=True)
    assert any("given factor correlations" in note for note in fit.notes)
    assert np.linalg.eigvalsh(fit.factor_correlations)[0] > 0
    assert dt.compare(fit, truth).f1 > dt.compare(dt.fit(X, n_factors=70), truth).f1 + 0.02


def test_resamples_go_the_same_way(sparse_from_100, monkeypatch):
    """What is said of stability is of the procedure that found the structure."""
    X, _ = survey(120, 200, 12)
    fit = dt.fit(X)
    stability = importlib.import_module("dtstat.trust.stability")
    monkeypatch.setattr(stability, "find_structure", None)
    rows = np.arange(200)
    find = stability.StructureFinder(
        stability.row_dependence(dt.items(X), fit, "spearman"), fit.call
    )
    np.testing.assert_array_equal(find(rows, 1), fit.support)
    found = dt.stability(X, n_boot=2, seed=1)
    assert "12 in 100.0% of the resamples" in found.summary().to_text()
    monkeypatch.setattr(stability, "MOST_WHOLE", 119)
    with pytest.raises(
        dt.InputError, match="119 items at most, since shares are kept of all pairs"
    ):
        dt.stability(X, n_boot=2)
