"""Levels of a fit, a number of factors that was asked for, and models of two levels."""

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.structure.two_levels import two_level_syntax

NINE = dt.load_dataset("holzinger_swineford_9")
warned = pytest.mark.filterwarnings("ignore::dtstat.DTWarning")  # of copies, of small factors


def facets(names=None, n=600, seed=0, per=4):
    """Answers to six facets of some items; those of a domain correlate at .7, others at .21."""
    rng = np.random.default_rng(seed)
    domains = rng.multivariate_normal([0, 0], [[1, 0.3], [0.3, 1]], n, method="cholesky")
    Z = np.sqrt(0.7) * np.repeat(domains, 3, axis=1) + np.sqrt(0.3) * rng.normal(size=(n, 6))
    X = 0.75 * np.repeat(Z, per, axis=1) + np.sqrt(1 - 0.75**2) * rng.normal(size=(n, 6 * per))
    return pd.DataFrame(X, columns=names or [f"i{k + 1}" for k in range(6 * per)])


@pytest.fixture(scope="module")
def fit():
    return dt.fit(facets())


# levels


def test_the_table_of_levels(fit):
    frame = fit.levels
    assert frame["n_factors"].tolist() == [*range(1, len(fit.tree) + 1)]
    assert frame.loc[frame["chosen"], "n_factors"].tolist() == [fit.n_factors]
    marked = dict(zip(frame["level"], frame["n_factors"], strict=True))
    assert {name: marked[name] for name in ("fine", "broad")} == {"fine": 6, "broad": 2}
    assert frame["supported"].tolist() == [k <= fit.supported for k in frame["n_factors"]]
    assert (frame["one_fewer_costs"].iloc[1:] >= 0).all()
    assert np.isnan(frame["one_fewer_costs"].iloc[0])
    assert frame["joins"].iloc[0] == ""


@pytest.mark.parametrize("k", range(1, 8))
def test_every_level_is_a_fit(fit, k):
    found = fit.level(k)
    assert found.n_factors == k == len(set(found.factor_names))
    assert found.call.n_factors == k
    assert found.n_effective == fit.n_effective
    pd.testing.assert_frame_equal(found.levels[["step"]], fit.levels[["step"]])
    assert found.level(fit.n_factors).structure == fit.structure
    assert str(found.summary())


def test_names_say_where_factors_come_from(fit):
    broad, fine = fit.level("broad"), fit.level("fine")
    np.testing.assert_array_equal(broad.support, np.kron(np.eye(2), np.ones((12, 1))))
    np.testing.assert_array_equal(fine.support, np.kron(np.eye(6), np.ones((4, 1))))
    assert broad.factor_names == ("F1+F2+F3", "F4+F5+F6")
    parts = broad.level(6).factor_names
    assert {name.rstrip("abc") for name in parts} == {"F1+F2+F3", "F4+F5+F6"}
    assert len(set(parts)) == 6


def test_names_go_with_their_items_where_the_first_is_left_out():
    """Order by first items changes when an item of no factor goes; names move along."""
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(600, 4))
    Z[:, 1] = 0.6 * Z[:, 0] + 0.8 * Z[:, 1]
    Z[:, 3] = 0.6 * Z[:, 2] + 0.8 * Z[:, 3]
    X = 0.8 * np.repeat(Z, 4, axis=1) + 0.6 * rng.normal(size=(600, 16))
    noise = rng.normal(size=(600, 1))
    fit = dt.fit(pd.DataFrame(np.hstack([noise, X])))
    for k in range(1, len(fit.tree) + 1):
        found = fit.level(k)
        for name, items in found.to_keys().items():
            main = name.split("+")[0].rstrip("abcdefghijklmnopqrstuvwxyz")
            own = {item.lstrip("-") for item in items}
            assert own & {item.lstrip("-") for item in fit.to_keys()[main]}


def test_a_level_after_saving_is_the_same(fit, tmp_path):
    fit.save(tmp_path / "a.dtstat")
    again = dt.load(tmp_path / "a.dtstat")
    pd.testing.assert_frame_equal(again.levels, fit.levels)
    for which in (1, 3, "fine", "broad"):
        one, other = fit.level(which), again.level(which)
        assert one.factor_names == other.factor_names
        np.testing.assert_allclose(one.loadings, other.loadings, atol=1e-6)
    fit.level(3).save(tmp_path / "b.dtstat")
    assert dt.load(tmp_path / "b.dtstat").n_factors == 3


@pytest.mark.parametrize("which", [0, -1, 99, 1.5, True, None, "middle", ""])
def test_levels_that_there_are_not(fit, which):
    with pytest.raises(dt.InputError, match="`which` must be"):
        fit.level(which)


def test_fits_without_levels():
    keys = {"A": ["x1", "x2", "x3"], "B": ["x4", "x5", "x6"]}
    for one in (dt.fit(NINE, structure=keys), dt.fit(NINE, search="threshold")):
        assert one.levels.empty
        with pytest.raises(dt.InputError, match="no tree was searched"):
            one.level(1)
        with pytest.raises(dt.InputError, match="no tree was searched"):
            one.to_lavaan("bifactor")


def test_unrelated_items_have_levels_that_do_not_stand_out():
    fit = dt.fit(np.random.default_rng(0).normal(size=(200, 8)))
    assert fit.n_factors == 0
    assert fit.level(2).n_factors == 2
    with pytest.raises(dt.InputError, match="Only one level stands out"):
        fit.level("fine")


# as many as asked for


@pytest.mark.parametrize("given", [0, -1, 2.5, True, "5", np.nan, np.inf])
def test_what_is_no_number_of_factors(given):
    with pytest.raises(dt.InputError, match="`n_factors` must be a whole number"):
        dt.fit(NINE, n_factors=given)


@pytest.mark.parametrize("options", [{}, {"estimator": "spline", "seed": 1}, {"criterion": "cv"}])
def test_the_largest_number_is_said(options):
    with pytest.raises(dt.InputError, match="at most 4 with 9 items and at least 2 items per"):
        dt.fit(NINE, n_factors=5, **options)


@warned
@pytest.mark.parametrize("search", ["tree", "threshold"])
@pytest.mark.parametrize("k", [1, 2.0, np.int64(3), 4])
def test_both_searches_give_as_many(search, k):
    fit = dt.fit(NINE, n_factors=k, search=search)
    assert fit.n_factors == k
    assert isinstance(fit.call.n_factors, int)


@pytest.mark.parametrize("criterion", ["ebic", "bic", "aic", "validation", "validation_2se", "cv"])
def test_every_criterion_gives_as_many(criterion):
    assert [dt.fit(NINE, k, criterion=criterion, seed=1).n_factors for k in (1, 2, 4)] == [1, 2, 4]


def test_a_matrix_gives_as_many():
    assert [dt.fit(dt.dependence(NINE), k).n_factors for k in (1, 2, 3, 4)] == [1, 2, 3, 4]


def test_what_does_not_go_with_a_number():
    with pytest.raises(dt.InputError, match="`n_factors` must be left out here"):
        dt.fit(NINE, n_factors=2, structure={"A": ["x1", "x2", "x3"]})
    with pytest.raises(dt.InputError, match="use search='tree'"):
        dt.fit(NINE, n_factors=2, search="sequential")
    with pytest.raises(dt.EstimationError, match="No threshold gives 4 factors"):
        dt.fit(NINE, n_factors=4, search="threshold", thresholds=[0.1])


def test_levels_of_the_tree_are_no_structures_of_one_threshold():
    """They only say what the rows count as."""
    fit = dt.fit(NINE, search="threshold")
    assert fit.candidates["origin"].str.contains("threshold|no factor").all()


def test_fewer_items_than_a_factor_must_have():
    fit = dt.fit(NINE, min_children=10)
    assert fit.n_factors == 0
    assert "fewer items than a factor must have" in fit.explanation
    assert "A factor needs 10 items; there are 9" in str(fit.summary())


@warned
@pytest.mark.parametrize("k", [None, 1, 2, 3])
def test_copies(k):
    x = np.random.default_rng(0).normal(size=(100, 1))
    assert dt.fit(np.repeat(x, 6, axis=1), n_factors=k).n_factors == (k or 1)


# models of two levels


@pytest.mark.parametrize("per", [3, 4])
def test_two_levels_are_fitted_with_the_degrees_of_freedom_they_have(per):
    """p (p + 1) / 2 moments less loadings (one of each factor fixed), variances, covariances."""
    data = facets(per=per)
    fit = dt.fit(data)
    p = 6 * per
    higher = dt.cfa(data, fit.to_lavaan("higher_order"))
    # Loadings p − 6, uniquenesses p; above: 6 − 2 loadings, 6 disturbances, 2 variances and
    # their covariance.
    expected = p * (p + 1) // 2 - (p - 6) - p - (6 - 2) - 6 - 2 - 1
    assert higher.fit_measures["df"] == expected
    bifactor = dt.cfa(data, fit.to_lavaan("bifactor"))
    # Fine: p − 6 loadings, 6 variances; broad: p − 2 loadings, 2 variances, 1 covariance.
    expected = p * (p + 1) // 2 - (p - 6) - 6 - (p - 2) - 2 - 1 - p
    assert bifactor.fit_measures["df"] == expected
    assert higher.fit_measures["cfi"] > 0.95


def test_odd_names_of_items_are_spelled_for_lavaan():
    names = [f"item {k} ~ «é»" for k in range(22)] + ["F1", "G1"]
    data = facets(names)
    fit = dt.fit(data)
    for model in ("higher_order", "bifactor"):
        text = fit.to_lavaan(model)
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        spelled = {term.strip() for line in lines for term in line.replace("=~", "+").split("+")}
        assert not any("«" in term for term in spelled)
        assert all(name in text for name in names)  # told in the legend


def structure(*factors):
    return dt.Structure(np.array([[i in f for f in factors] for i in range(8)]))


def test_what_makes_no_hierarchy():
    four = structure(range(2), range(2, 4), range(4, 6), range(6, 8))
    with pytest.raises(dt.InputError, match="make no hierarchy"):
        two_level_syntax(four, four, "higher_order")
    two, one = structure(range(4), range(4, 8)), structure(range(8))
    with pytest.raises(dt.InputError, match="not identified"):
        two_level_syntax(two, one, "higher_order")
    assert "~~ 0*" in two_level_syntax(two, one, "bifactor")


@pytest.mark.parametrize(("fine", "broad"), [(3, 1), (3, 2), (4, 2), (4, 1), (4, 3)])
def test_a_broad_level_that_restricts_nothing_says_so(fine, broad):
    """Degrees of freedom of ``cfa`` decide: as many as correlated fine factors have, or more."""
    rng = np.random.default_rng(3)
    lower = np.arange(4 * fine) // 4
    upper = np.minimum(lower // 2, broad - 1) if fine > broad + 1 else np.maximum(lower - 1, 0)
    common = 0.8 * rng.standard_normal((500, broad))[:, upper[::4]]
    common += 0.5 * rng.standard_normal((500, 1)) + 0.6 * rng.standard_normal((500, fine))
    data = pd.DataFrame(common[:, lower] + rng.standard_normal((500, 4 * fine)))
    data.columns = [f"x{i}" for i in range(4 * fine)]
    levels = [
        dt.Structure(labels[:, None] == np.arange(k), tuple(data.columns))
        for labels, k in ((lower, fine), (upper, broad))
    ]
    text = two_level_syntax(*levels, "higher_order")
    more = dt.cfa(data, text).fit_measures["df"] - dt.cfa(data, levels[0]).fit_measures["df"]
    assert more >= 0
    assert ("restricts nothing" in text) == (more == 0)


def test_loadings_of_two_items_are_fixed_as_they_point():
    """Two loadings on a factor that correlates with no other cannot be told apart."""
    fine = structure(range(2), range(2, 5), range(5, 8))
    turned = np.zeros_like(fine.support)
    turned[1, 0] = True
    fine = dt.Structure(fine.support, fine.item_names, fine.factor_names, turned)
    text = two_level_syntax(fine, structure(range(8)), "bifactor")
    assert "F1 =~ 1*x1 + -1*x2" in text
    assert "F2 =~ x3 + x4 + x5" in text
