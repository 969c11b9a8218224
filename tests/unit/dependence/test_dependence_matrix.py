"""The dependence matrix: given by the user, or computed with all that can go wrong."""

from __future__ import annotations

import re
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dtstat as dt
from dtstat.core.errors import DataWarning, InputError
from dtstat.data.items import as_items
from dtstat.dependence.compute import dependence_matrix
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.measures import REGISTRY

# The same sums in another order, or by another library.
ROUNDING_TOL = 1e-12
# Distance and HSIC keep the closeness of rows in single precision.
SINGLE_TOL = 1e-6

SMALL = np.array([[1, 0.6, 0.5], [0.6, 1, -0.4], [0.5, -0.4, 1]])
GAPLESS_ONLY = [name for name, measure in REGISTRY.items() if not measure.allows_missing]
FOR_CONTINUOUS = [name for name in REGISTRY if name not in ("polychoric", "tetrachoric")]
# Measures with work to report on complete data; the other two are one matrix product.
REPORTING = [name for name in REGISTRY if name not in ("pearson", "spearman")]


def answers(n: int = 120, p: int = 6, seed: int = 0) -> pd.DataFrame:
    """Continuous items a, b, ... that share a factor."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1)) * np.linspace(-1, 1, p) + rng.normal(size=(n, p))
    return pd.DataFrame(X, columns=list("abcdefghijklmnop"[:p]))


def answers_for(measure: str, **shape: int) -> pd.DataFrame:
    """Items of the kind a measure is made for."""
    data = answers(**shape)
    if measure == "tetrachoric":
        return (data > 0).astype(float)
    if measure == "polychoric":
        return data.clip(-2, 2).round()
    if measure == "mixed":
        return data.assign(b=data["b"].clip(-2, 2).round(), d=(data["d"] > 0).astype(float))
    return data


def with_gaps(data: pd.DataFrame, columns: str = "") -> pd.DataFrame:
    """Drop a tenth of the answers, in some columns or all."""
    gap = np.random.default_rng(9).random(data.shape) < 0.1
    if columns:
        gap &= data.columns.isin(list(columns))
    return data.mask(gap)


def compute(data: object, *args: object, **kwargs: object) -> DependenceMatrix:
    return dependence_matrix(as_items(data), *args, **kwargs)


def refuses(message: str):
    """Expect an InputError whose message contains the text given."""
    return pytest.raises(InputError, match=re.escape(message))


class TestFromMatrix:
    def test_keeps_values_and_makes_names(self) -> None:
        R = DependenceMatrix.from_matrix(SMALL, n_obs=200, measure="tau")
        np.testing.assert_array_equal(R.values, SMALL)
        assert R.names == ("x1", "x2", "x3")
        assert (R.n_items, R.n_obs, R.measure, R.pairwise_n) == (3, 200, "tau", None)
        assert repr(R) == "DependenceMatrix: tau of 3 items, 200 rows"

    def test_takes_names_from_a_frame_unless_given(self) -> None:
        frame = pd.DataFrame(SMALL, columns=["a", "b", 3])
        assert DependenceMatrix.from_matrix(frame).names == ("a", "b", "3")
        assert DependenceMatrix.from_matrix(frame, names=["u", "v", "w"]).names == ("u", "v", "w")

    def test_frame_comes_back(self) -> None:
        frame = pd.DataFrame(SMALL, index=list("abc"), columns=list("abc"))
        pd.testing.assert_frame_equal(DependenceMatrix.from_matrix(frame).to_frame(), frame)

    def test_strength_is_absolute(self) -> None:
        np.testing.assert_array_equal(DependenceMatrix.from_matrix(SMALL).strength, np.abs(SMALL))

    @pytest.mark.parametrize("triangle", [np.tril, np.triu])
    @pytest.mark.parametrize("empty", [0.0, np.nan])
    @pytest.mark.parametrize("diagonal", [1.0, 0.0, np.nan])
    def test_takes_one_triangle(self, triangle, empty: float, diagonal: float) -> None:
        given = np.where(triangle(np.ones_like(SMALL)) > 0, SMALL, empty)
        np.fill_diagonal(given, diagonal)
        np.testing.assert_array_equal(DependenceMatrix.from_matrix(given).values, SMALL)

    def test_averages_rounding_asymmetry(self) -> None:
        given = SMALL.copy()
        given[0, 1] += 4e-7
        R = DependenceMatrix.from_matrix(given).values
        assert R[0, 1] == R[1, 0] == pytest.approx(0.6 + 2e-7, abs=1e-12)

    def test_takes_rounding_off_one(self) -> None:
        R = DependenceMatrix.from_matrix([[1 + 5e-7, -1 - 5e-7], [-1 - 5e-7, 1]])
        np.testing.assert_array_equal(R.values, [[1, -1], [-1, 1]])

    def test_takes_correlations_of_covariances(self) -> None:
        given = SMALL * np.sqrt(np.outer([4, 9, 1], [4, 9, 1]))
        np.testing.assert_allclose(DependenceMatrix.from_matrix(given).values, SMALL, atol=1e-12)

    def test_warns_of_variances_that_may_be_communalities(self) -> None:
        given = SMALL * np.sqrt(np.outer([1, 1, 0.9], [1, 1, 0.9]))
        with pytest.warns(dt.DataWarning, match="was taken for variances.*communalities"):
            R = DependenceMatrix.from_matrix(given)
        np.testing.assert_allclose(R.values, SMALL, atol=1e-12)

    def test_need_not_be_positive_definite(self) -> None:
        given = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
        assert np.linalg.eigvalsh(given)[0] < 0
        np.testing.assert_array_equal(DependenceMatrix.from_matrix(given).values, given)

    def test_cannot_be_changed_and_leaves_the_input_alone(self) -> None:
        given = SMALL.copy()
        R = DependenceMatrix.from_matrix(given)
        with pytest.raises(ValueError, match="read-only"):
            R.values[0, 1] = 0
        given[0, 1] = 0.0
        assert R.values[0, 1] == 0.6
        frame = R.to_frame()
        frame.iloc[0, 1] = 0.0
        assert R.values[0, 1] == 0.6

    @pytest.mark.parametrize("n_obs", [200, 200.0, np.int64(200)])
    def test_number_of_rows_becomes_an_int(self, n_obs: float) -> None:
        assert type(DependenceMatrix.from_matrix(SMALL, n_obs=n_obs).n_obs) is int

    def test_without_number_of_rows(self) -> None:
        R = DependenceMatrix.from_matrix(SMALL)
        assert R.n_obs is None
        assert repr(R) == "DependenceMatrix: pearson of 3 items"


class TestFromMatrixRefuses:
    def test_not_square(self) -> None:
        with refuses("`matrix` must be square; got shape (5, 3). For answers"):
            DependenceMatrix.from_matrix(np.zeros((5, 3)))
        with refuses("`matrix` must be square; got shape (3,)"):
            DependenceMatrix.from_matrix([1, 0, 0])

    def test_one_item(self) -> None:
        with refuses("at least two items"):
            DependenceMatrix.from_matrix([[1.0]])

    @pytest.mark.parametrize("matrix", [[["1", "a"], ["a", "1"]], [[1, 0], [0]], None])
    def test_what_is_no_matrix_of_numbers(self, matrix: object) -> None:
        with pytest.raises(InputError, match="`matrix` must"):
            DependenceMatrix.from_matrix(matrix)

    def test_asymmetric_naming_the_pair(self) -> None:
        given = SMALL.copy()
        given[2, 1] = 0.3
        with refuses("`matrix` must be symmetric; the two entries of 'b' and 'c' differ."):
            DependenceMatrix.from_matrix(given, names="abc")

    def test_asymmetry_counts_the_other_pairs(self) -> None:
        given = SMALL + np.triu(np.full((3, 3), 0.01), 1)
        with refuses("'x1' and 'x2' (and 2 more) differ"):
            DependenceMatrix.from_matrix(given)

    @pytest.mark.parametrize("both", [False, True])
    def test_missing_entry_naming_the_pair(self, both: bool) -> None:
        given = SMALL.copy()
        given[0, 2] = np.nan
        given[2, 0] = np.nan if both else given[2, 0]
        with refuses("`matrix` has no value for 'x1' and 'x3'."):
            DependenceMatrix.from_matrix(given)

    def test_out_of_range_naming_the_pair(self) -> None:
        given = SMALL.copy()
        given[1, 2] = given[2, 1] = -1.2
        with refuses("`matrix` must hold values in [-1, 1]; that of 'x2' and 'x3' is outside."):
            DependenceMatrix.from_matrix(given)

    def test_diagonals_of_other_measures(self) -> None:
        given = SMALL * np.sqrt(np.outer([4, 9, 1], [4, 9, 1]))
        with refuses("`matrix` must have ones on its diagonal, or variances if it holds covar"):
            DependenceMatrix.from_matrix(given, measure="kendall")
        np.fill_diagonal(given, [4, -9, 1])
        with refuses("`matrix` must have ones on its diagonal, or variances if it holds covar"):
            DependenceMatrix.from_matrix(given)

    def test_names(self) -> None:
        with refuses("`names` must have 3 names; got 2."):
            DependenceMatrix.from_matrix(SMALL, names=["a", "b"])
        with refuses("`names` must be distinct; 'b' occurs twice."):
            DependenceMatrix.from_matrix(SMALL, names=["a", "b", "b"])

    @pytest.mark.parametrize("n_obs", [1, 0, -5, 10.5, np.inf, np.nan, "200", True, [200]])
    def test_number_of_rows(self, n_obs: object) -> None:
        with refuses(f"`n_obs` must be a whole number of at least 2; got {n_obs!r}.") as caught:
            DependenceMatrix.from_matrix(SMALL, n_obs=n_obs)
        assert caught.value.argument == "n_obs"


class TestMissing:
    def test_pairwise_counts_the_common_rows(self) -> None:
        data = with_gaps(answers(), columns="abc")
        R = compute(data, "pearson")
        for i, a in enumerate(data):
            for j, b in enumerate(data):
                assert R.pairwise_n[i, j] == len(data[[a, b]].dropna())
        assert R.n_obs == len(data)
        with pytest.raises(ValueError, match="read-only"):
            R.pairwise_n[0, 1] = 0

    def test_pairwise_says_the_least_number_of_rows(self) -> None:
        data = answers(n=50, p=3)
        data.loc[:9, "a"] = np.nan
        data.loc[40:, "b"] = np.nan
        assert repr(compute(data)) == (
            "DependenceMatrix: spearman of 3 items, 50 rows (at least 30 per pair)"
        )

    def test_no_counts_without_gaps(self) -> None:
        assert compute(answers()).pairwise_n is None

    @pytest.mark.parametrize("measure", REGISTRY)
    def test_listwise_equals_dropping_rows(self, measure: str) -> None:
        data = with_gaps(answers_for(measure))
        ours = compute(data, measure, "listwise")
        expected = compute(data.dropna(), measure)
        np.testing.assert_array_equal(ours.values, expected.values)
        assert ours.n_obs == len(data.dropna()) < len(data)
        assert ours.pairwise_n is None

    @pytest.mark.parametrize("missing", ["listwise", "error"])
    def test_complete_data_are_used_as_they_are(self, missing: str) -> None:
        data = answers()
        np.testing.assert_array_equal(compute(data, missing=missing).values, compute(data).values)

    def test_error_names_the_item_with_most_gaps(self) -> None:
        data = answers()
        data.loc[0, "b"] = np.nan
        data.loc[:2, "e"] = np.nan
        with refuses("3 of them in 'e', and `missing` is \"error\"") as caught:
            compute(data, missing="error")
        assert caught.value.argument == "missing"

    def test_listwise_refuses_too_few_rows(self) -> None:
        data = answers(n=10, p=3)
        data.loc[2:5, "a"] = np.nan
        data.loc[6:, "b"] = np.nan
        with refuses("Only 2 of 10 rows have no missing value."):
            compute(data, missing="listwise")

    def test_listwise_refuses_an_item_left_constant(self) -> None:
        data = answers(n=10, p=3)
        data["c"] = [1.0] * 5 + [2.0] * 5
        data.loc[5:, "a"] = np.nan
        with refuses("every item must vary; got only one distinct answer in item 'c'."):
            compute(data, missing="listwise")

    def test_unknown_way(self) -> None:
        with refuses("`missing` must be 'pairwise', 'listwise' or 'error'; got 'pairs'."):
            compute(answers(), missing="pairs")

    def test_pair_with_too_few_common_rows(self) -> None:
        data = answers(n=10, p=4)
        data.loc[2:5, "b"] = np.nan
        data.loc[6:, "d"] = np.nan
        with refuses("Items 'b' and 'd' have fewer than 3 rows in common."):
            compute(data)
        data.loc[:2, "b"] = [1.0, 3.0, 2.0]
        data.loc[:2, "d"] = [1.0, 2.0, 3.0]
        with pytest.warns(
            DataWarning, match="'b' and 'd' have only 3 rows in common .4 more pairs"
        ):
            assert compute(data).to_frame().loc["b", "d"] == pytest.approx(0.5)

    @pytest.mark.parametrize("measure", REGISTRY)
    def test_pair_constant_in_its_common_rows(self, measure: str) -> None:
        data = answers_for(measure, n=30, p=4)
        data["b"] = np.repeat([0.0, 1.0], 15)
        data.loc[15:, "d"] = np.nan
        with refuses("dependence of 'b' and 'd' cannot be computed: in the rows they have in"):
            compute(data, measure)

    @pytest.mark.parametrize("measure", GAPLESS_ONLY)
    @pytest.mark.parametrize("columns", ["", "bd", "bcdef"])
    def test_every_pair_is_right_on_its_own_rows(self, measure: str, columns: str) -> None:
        """Gaps in all columns, in some, and in all but one."""
        data = with_gaps(answers(), columns)
        R = compute(data, measure).to_frame()
        for a in data:
            for b in data.columns[data.columns > a]:
                alone = compute(data[[a, b]].dropna(), measure).values[0, 1]
                assert R.loc[a, b] == pytest.approx(alone, abs=SINGLE_TOL)
                assert R.loc[b, a] == R.loc[a, b]


class TestFunctions:
    def test_values_fill_both_triangles(self) -> None:
        data = with_gaps(answers(p=4))
        calls = []

        def tau(x: np.ndarray, y: np.ndarray) -> float:
            assert not np.isnan(x + y).any()
            calls.append(len(x))
            return stats.kendalltau(x, y).statistic

        R = compute(data, tau)
        assert R.measure == "tau"
        assert len(calls) == 6
        expected = compute(data, "kendall").values
        np.testing.assert_allclose(R.values, expected, rtol=0, atol=ROUNDING_TOL)
        assert (R.values == R.values.T).all()

    def test_arguments_come_in_the_order_of_the_columns(self) -> None:
        data = answers(p=3)
        first = [tuple(data[[a, b]].to_numpy()[0]) for a, b in ("ab", "ac", "bc")]
        seen = []
        compute(data, lambda x, y: seen.append((x[0], y[0])) or 0.0)
        assert seen == first

    def test_nameless_function(self) -> None:
        def power(x: np.ndarray, y: np.ndarray, k: int) -> float:
            return float(np.corrcoef(x, y)[0, 1] ** k)

        assert compute(answers(), partial(power, k=2)).measure == "function"

    def test_out_of_range(self) -> None:
        with refuses("`measure` must return values in [-1, 1]; that of 'a' and 'b' (and 2 more"):
            compute(answers(p=3), lambda x, y: 1.5)

    def test_nan_is_not_blamed_on_the_items(self) -> None:
        with refuses("'a' and 'b' (and 2 more) cannot be computed: `measure` returned NaN"):
            compute(answers(p=3), lambda x, y: np.nan)

    @pytest.mark.parametrize("function", [stats.spearmanr, lambda x, y: None])
    def test_no_number(self, function) -> None:
        with refuses("`measure` must return a number; got ") as caught:
            compute(answers(p=3), function)
        assert "'a' and 'b'" in str(caught.value)


class TestMeasures:
    def test_unknown_measure_suggests_the_nearest(self) -> None:
        with refuses("got 'Spearmann'. Did you mean 'spearman'?") as caught:
            compute(answers(), "Spearmann")
        assert caught.value.argument == "measure"

    def test_unknown_measure_without_likeness_lists_all(self) -> None:
        with refuses("Known: distance, hsic, kendall"):
            compute(answers(), "qqq")

    @pytest.mark.parametrize(
        ("measure", "kind", "made_for"),
        [
            ("polychoric", "continuous", "pearson"),
            ("tetrachoric", "continuous", "pearson"),
            ("tetrachoric", "ordinal", "polychoric"),
        ],
    )
    def test_kinds_a_measure_cannot_use(self, measure: str, kind: str, made_for: str) -> None:
        data = answers_for("tetrachoric")
        data["c"] = answers_for(made_for)["c"]
        with refuses(f"`measure` {measure} cannot use the {kind} item 'c'. Use measure="):
            compute(data, measure)

    def test_table_is_complete(self) -> None:
        table = dt.measures()
        assert list(table.index) == list(REGISTRY)
        assert table.index.name == "measure"
        assert list(table.columns) == [
            "title",
            "detects",
            "handles_ordinal",
            "population_range",
            "cost",
            "bound",
            "reference",
        ]
        text = table.drop(columns=["bound", "handles_ordinal"])
        assert (text != "").all(axis=None)
        assert set(table["detects"]) == {"linear", "monotone", "any"}

    @pytest.mark.parametrize("measure", REGISTRY)
    def test_values_agree_with_the_table(self, measure: str) -> None:
        R = compute(answers_for(measure, p=12), measure)
        signed = dt.measures().loc[measure, "population_range"] == "[-1, 1]"
        assert (R.values < 0).any() == signed
        assert (np.abs(R.values) <= 1).all()
        assert (R.values == R.values.T).all()
        assert (np.diag(R.values) == 1).all()
        assert (R.measure, R.n_obs) == (measure, 120)
        assert R.names == tuple("abcdefghijkl")

    @pytest.mark.parametrize("measure", FOR_CONTINUOUS)
    def test_detects_what_the_table_says(self, measure: str) -> None:
        """A rough parabola, symmetric about 0, has no monotone dependence."""
        x = np.linspace(-1, 1, 301)
        data = np.column_stack([x, x**2 + 0.05 * np.cos(40 * x)])
        seen = abs(compute(data, measure).values[0, 1])
        if dt.measures().loc[measure, "detects"] == "any":
            assert seen > 0.3
        else:
            assert seen < 0.01

    @pytest.mark.parametrize("measure", REGISTRY)
    @pytest.mark.parametrize("gaps", [False, True])
    def test_threads_do_not_change_a_bit(self, measure: str, gaps: bool) -> None:
        data = answers_for(measure, n=150, p=10)
        data = with_gaps(data, "acdfgi") if gaps else data
        one, two = (compute(data, measure, n_jobs=jobs) for jobs in (1, 2))
        assert one.values.tobytes() == two.values.tobytes()

    @pytest.mark.parametrize("n_jobs", [1, 2])
    @pytest.mark.parametrize("gaps", [False, True])
    @pytest.mark.parametrize("measure", [*REPORTING, "a function"])
    def test_every_stage_of_progress_ends_at_its_total(
        self, measure: str, gaps: bool, n_jobs: int
    ) -> None:
        data = answers_for(measure)
        data = with_gaps(data) if gaps else data
        calls: list[tuple[int, int]] = []

        def half(x: np.ndarray, y: np.ndarray) -> float:
            return 0.5

        compute(
            data,
            half if measure == "a function" else measure,
            n_jobs=n_jobs,
            progress=lambda done, total: calls.append((done, total)),
        )
        totals = [total for done, total in calls if done == total]
        assert calls == [(done, total) for total in totals for done in range(1, total + 1)]
        assert 1 <= len(totals) <= 2  # what comes first is to sort the answers


class TestTwins:
    @pytest.mark.parametrize("measure", ["pearson", "spearman", "kendall", "distance", "maximal"])
    def test_copies_of_an_item_warn(self, measure: str) -> None:
        data = answers(p=3).assign(copy=lambda d: -2 * d["b"])
        message = r"Items 'b' and 'copy' determine each other \(dependence -?1\.0000\)"
        with pytest.warns(DataWarning, match=message):
            compute(data, measure)

    def test_counts_the_other_pairs(self) -> None:
        data = answers(p=2).assign(c=lambda d: d["a"], d=lambda d: d["a"])
        with pytest.warns(DataWarning, match="'a' and 'c' and 2 more pairs"):
            compute(data)

    def test_points_at_the_line_of_the_user(self) -> None:
        data = answers(p=2).assign(c=lambda d: d["a"])
        with pytest.warns(DataWarning, match="determine each other") as caught:
            dt.dependence(data)
        assert caught[0].filename == __file__

    def test_strong_dependence_does_not_warn(self) -> None:
        rng = np.random.default_rng(0)
        x = rng.normal(size=500)
        data = np.column_stack([x, x + 0.1 * rng.normal(size=500)])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert compute(data, "pearson").values[0, 1] > 0.99


def test_a_dependence_matrix_is_returned_as_it_is() -> None:
    R = DependenceMatrix.from_matrix(SMALL)
    assert dt.dependence(R) is R


def test_public_function_passes_everything_on() -> None:
    data = with_gaps(answers())
    ours = dt.dependence(data, "kendall", "listwise", 2)
    np.testing.assert_array_equal(ours.values, compute(data, "kendall", "listwise").values)


# --- some of the items --------------------------------------------------------------------------


def test_selected_items_keep_their_values_rows_and_counts():
    X = np.random.default_rng(0).normal(size=(50, 4))
    X[:9, 0] = X[5:20, 2] = np.nan
    whole = dt.dependence(pd.DataFrame(X, columns=list("abcd")))
    part = whole.select(("d", "a", "c"))
    assert (part.names, part.n_obs, part.measure) == (("d", "a", "c"), 50, "spearman")
    pd.testing.assert_frame_equal(
        part.to_frame(), whole.to_frame().loc[["d", "a", "c"], ["d", "a", "c"]]
    )
    at = np.ix_([3, 0, 2], [3, 0, 2])
    np.testing.assert_array_equal(part.pairwise_n, whole.pairwise_n[at])
    again = dt.dependence(pd.DataFrame(X, columns=list("abcd"))[["d", "a", "c"]])
    np.testing.assert_allclose(part.values, again.values, atol=1e-12)


def test_a_matrix_without_counts_has_none_of_some_items():
    part = dt.DependenceMatrix.from_matrix(np.eye(3), 20, names=list("abc")).select(["c", "b"])
    assert (part.names, part.pairwise_n, part.n_obs) == (("c", "b"), None, 20)


def test_an_item_that_is_not_there_cannot_be_selected():
    matrix = dt.DependenceMatrix.from_matrix(np.eye(3), 20, names=["alpha", "beta", "gamma"])
    with pytest.raises(dt.InputError, match=r"no item 'gama' in the matrix.*'gamma'"):
        matrix.select(["alpha", "gama"])
