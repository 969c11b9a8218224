"""Arguments nobody means: refused with a sentence that can be read. One test a kind of finding."""

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat import studies
from dtstat.core import checks
from dtstat.core.errors import nearest, shorten_middle, shown
from dtstat.interop.wire import RArray

X = np.random.default_rng(1).standard_normal((60, 6)) + np.repeat(
    np.random.default_rng(2).standard_normal((60, 2)), 3, axis=1
)
HUGE = "x" * 100_000


class Unprintable:
    def __repr__(self):
        raise RuntimeError


class TestMessages:
    def test_a_value_is_shown_shortened(self):
        assert len(shown(HUGE)) <= 200
        assert shown("abc") == "'abc'"
        assert shown(Unprintable()) == "a value of type Unprintable"
        assert "int" in shown(10**10_000)  # has too many digits to be printed

    def test_the_middle_is_left_out(self):
        assert shorten_middle("a" * 10 + "b" * 10, 9) == "aaa...bbb"

    def test_no_message_is_longer_than_can_be_read(self):
        assert len(str(dt.InputError(HUGE))) <= 1_500
        assert len(str(dt.DataWarning(HUGE))) <= 1_500

    def test_suggestions_do_not_print_long_names(self):
        assert len(nearest(HUGE, ["a", HUGE])) < 300


class TestNumbers:
    @pytest.mark.parametrize("value", [10**400, -(10**400), 2**63, "3", None, True, np.nan])
    def test_whole_numbers_beyond_floats_are_refused(self, value):
        with pytest.raises(dt.InputError, match="`k` must be a whole number"):
            checks.integer("k", value, 0, "Advice.")

    def test_a_seed_may_be_as_large_as_one_likes(self):
        assert dt.simulate("chain", 10, seed=10**400).seed == 10**400

    def test_more_thresholds_than_memory(self):
        with pytest.raises(dt.InputError, match="at most 1000000"):
            dt.solution_path(X, thresholds=10**12)

    @pytest.mark.parametrize("value", [np.zeros(2), pd.DataFrame(), NotImplemented, None, "yes", 2])
    def test_flags_are_true_or_false(self, value):
        with pytest.raises(dt.InputError, match="`refine` must be true or false"):
            dt.fit(X, refine=value)

    @pytest.mark.parametrize("value", [True, np.bool_(True), 1, 1.0])
    def test_flags_of_r_and_numpy_are_taken(self, value):
        assert checks.flag("f", value, "") is True

    @pytest.mark.parametrize("rows", ["x", np.array("x"), None, -1])
    def test_rows_of_a_table(self, rows):
        with pytest.raises(dt.InputError, match="`max_rows`"):
            dt.solution_path(X).summary(rows)


class TestNames:
    @pytest.mark.parametrize("name", [[], np.array(3), pd.Series([1.0]), None, HUGE])
    def test_names_that_cannot_be_looked_up(self, name):
        for call in (
            lambda: dt.dependence(X, measure=name),
            lambda: dt.load_dataset(name),
            lambda: dt.Bound.normal(name),
            lambda: dt.Bound.of(name),
            lambda: dt.dependence(X, missing=name),
            lambda: dt.items(X, kinds={"x1": name}),
        ):
            with pytest.raises(dt.InputError):
                call()

    @pytest.mark.parametrize("names", [1, None, Unprintable(), np.array("x"), 1j])
    def test_lists_of_names_that_are_none(self, names):
        for call in (dt.items(X).select, dt.dependence(X).select):
            with pytest.raises(dt.InputError, match="`names` must be a list of names"):
                call(names)

    def test_half_characters_cannot_be_names(self):
        with pytest.raises(dt.InputError, match="invalid Unicode surrogate"):
            dt.items(pd.DataFrame(X[:, :2], columns=pd.Index(["a", "\ud800"], dtype=object)))
        with pytest.raises(dt.InputError, match="invalid Unicode surrogate"):
            dt.DependenceMatrix.from_matrix(np.eye(2), names=["a", "\udcff"])


class TestFunctionsOfTheUser:
    def test_a_measure_that_fails(self):
        def broken(x, y):
            raise KeyError("lost")

        with pytest.raises(dt.InputError, match="`measure` failed for 'x1' and 'x2' with KeyError"):
            dt.dependence(X, measure=broken)

    def test_a_bound_that_fails_or_is_none(self):
        with pytest.raises(dt.InputError, match="failed as a bound"):
            dt.error_bound(100, 5, 0.2, measure=int)
        with pytest.raises(dt.InputError, match="must return a probability"):
            dt.error_bound(100, 5, 0.2, measure=lambda n, e: float("nan"))


class TestNumbersOfExtremeSize:
    @pytest.mark.parametrize("scale", [1e308 / 10, 1e-300, 5e-310])
    @pytest.mark.parametrize("measure", ["pearson", "spearman", "distance", "hsic", "maximal"])
    def test_dependence_does_not_change_with_units(self, scale, measure):
        usual = dt.dependence(X, measure).values
        scaled = dt.dependence(X * scale, measure).values
        np.testing.assert_allclose(scaled, usual, atol=1e-9)

    def test_models_are_in_units_of_the_answers(self):
        with pytest.raises(dt.InputError, match="answers of moderate size"):
            dt.cfa(X * 1e300, "f =~ x1 + x2 + x3")
        with pytest.raises(dt.ModelSyntaxError, match="at most 1e\\+60"):
            dt.cfa(X, "f =~ 1e300*x1 + x2 + x3")

    def test_matrices_that_overflow_or_are_complex(self):
        large = np.full((3, 3), 1.7e308)
        np.fill_diagonal(large, 1.0)
        with pytest.raises(dt.InputError):
            dt.DependenceMatrix.from_matrix(large)
        same = dt.DependenceMatrix.from_matrix(np.full((3, 3), 1.7e308))  # covariances of copies
        np.testing.assert_allclose(same.values, 1.0)
        with pytest.raises(dt.InputError, match="numbers only"):
            dt.DependenceMatrix.from_matrix(np.eye(3) * 1j)


class TestModels:
    def test_a_structure_without_factors(self):
        with pytest.raises(dt.InputError, match="must have a factor"):
            dt.cfa(X, dt.Structure(np.zeros((6, 0))))

    def test_a_hundred_thousand_empty_lines(self):
        with pytest.raises(dt.InputError, match="no statements"):
            dt.cfa(X, "\n" * 100_000)

    def test_a_product_that_would_fill_the_memory(self):
        many = " + ".join(f"x{k}" for k in range(1_100))
        with pytest.raises(dt.ModelSyntaxError, match="1000000 terms"):
            dt.cfa(X, f"{many} ~~ {many}")

    def test_loadings_without_numbers_are_not_compared(self):
        L = pd.DataFrame(np.eye(3), columns=list("ABC"))
        with pytest.raises(dt.InputError, match="finite loadings"):
            dt.compare_solutions(L, L * np.nan)


class TestSizes:
    @pytest.mark.parametrize(
        "call",
        [
            lambda: dt.simulate("chain", 2**40),
            lambda: dt.simulate("chain", 10, items_per_factor=10**12),
            lambda: dt.simulate("high_dimensional", 2**31),
            lambda: dt.simulate("clusters", 10, n_factors=10**6),
            lambda: dt.survey_design(3, 2**31),
            lambda: dt.survey_design(10**6),
        ],
    )
    def test_tables_larger_than_the_memory(self, call):
        with pytest.raises(dt.InputError, match="no table has more than"):
            call()

    def test_probabilities_that_are_counted_item_by_item(self):
        with pytest.raises(dt.InputError, match="goes item by item"):
            dt.ucc_probability(10**12, 3, 0.2)
        assert dt.ucc_probability(3, 2**31, 0.2) == 0  # three items cannot serve more factors
        assert dt.ucc_probability(10**12, 3, 0.2, "bound") > 0.99

    @pytest.mark.parametrize("error", [5e-324, 1e-17, 1e-9])
    def test_errors_next_to_nothing(self, error):
        plan = dt.plan(
            n_factors=2, n_draws=5, most_rows=100, error=error, measure="pearson", seed=1
        )
        assert plan.table["guarantee"][0] > 500


class TestWhatCannotBeComputed:
    def test_factors_that_are_not_there(self):
        rows = np.tile(X[:2], (20, 1))
        with pytest.raises(dt.DTError), pytest.warns(dt.DTWarning):
            dt.efa(rows, 3)

    def test_loadings_of_extreme_size_are_compared(self):
        L = pd.DataFrame(np.eye(3) + 0.1, columns=list("ABC"))
        found = dt.compare_solutions(L, L * 1e308)
        assert found.mean_congruence == pytest.approx(1)


def test_dollars_in_names_are_no_formulas(drawing):
    names = ["$", r"$\frac$", "a_b^c$x$", "q\nr", "a\0b", "n" * 500]
    fit = dt.fit(pd.DataFrame(X, columns=names))
    for kind in ("diagram", "loadings", "dependence", "margin", "barcode"):
        fit.plot(kind)
        drawing.gcf().canvas.draw()


def test_r_is_told_of_functions_and_values_that_there_are_not():
    from dtstat.interop import r_bridge

    assert "Did you mean 'fit'?" in r_bridge.call("fitt", {})["error"]["message"]
    answer = r_bridge.call("kmo", {"data": {"kind": "numeric"}})
    assert answer["error"]["class"] == "InputError"
    assert "did not arrive as R sends values" in answer["error"]["message"]


def test_an_estimator_scores_the_columns_of_a_given_structure():
    from dtstat.interop.sklearn import DependenceThresholding

    structure = dt.Structure(np.ones((3, 1)), ["x2", "x3", "x1"])
    model = DependenceThresholding(structure=structure).fit(X)
    named = pd.DataFrame(X, columns=[f"x{k + 1}" for k in range(6)])
    np.testing.assert_allclose(model.transform(X)[:, 0], model.fit_.factor_scores(named)["F1"])
    assert np.isfinite(model.score(X))


def test_a_study_of_more_data_sets_than_memory():
    from dtstat import studies

    with pytest.raises(dt.InputError, match="`reps` must be a whole number of at most"):
        studies.highdim(2**31, sizes=20)


def test_a_label_is_text_before_anything_is_made_of_it():
    summary = dt.fit(X).summary()
    for label in (Unprintable(), 3, b"tab"):
        with pytest.raises(dt.InputError, match="`label` must be a text"):
            summary.to_latex(label=label)


@pytest.mark.parametrize("measure", [{"a": 1}, np.array("x"), ["kendall"]])
def test_the_margin_of_a_design_by_no_measure(measure):
    with pytest.raises(dt.InputError, match="measure"):
        dt.margin(dt.survey_design(2, 3), measure=measure)


@pytest.mark.parametrize("progress", [int, len, lambda done: None])
def test_progress_is_a_function_of_two(progress):
    with pytest.raises(dt.InputError, match="`progress` must be"):
        dt.dependence(X, "kendall", progress=progress)


@pytest.mark.parametrize("data", [np.array(3), np.array("x")])
def test_a_model_of_a_single_number(data):
    with pytest.raises(dt.InputError):
        dt.cfa(data, "f =~ x1 + x2 + x3")


def test_nothing_to_test_where_the_data_say_nothing():
    fit = dt.cfa(X, "f =~ x1 + x2 + x3")
    with pytest.raises(dt.InputError, match="say nothing about x1 ~1"):
        dt.score_test(fit, add="x1 ~ 1")


@pytest.mark.filterwarnings("ignore::dtstat.core.errors.DTWarning")
@pytest.mark.parametrize("measure", ["kendall", "pearson"])
def test_copies_of_one_item_are_one_factor(measure):
    assert dt.fit(np.repeat(X[:, :1], 6, axis=1), measure=measure).n_factors == 1


def test_more_workers_than_any_machine_has():
    with pytest.raises(dt.InputError, match="`n_jobs` must be a whole number of at most"):
        dt.dependence(X, n_jobs=2**31)


@pytest.mark.parametrize("given", [{"estimator": np.ones(2)}, {"missing": np.ones(2)}])
def test_steps_of_invariance_by_no_estimator(given):
    table = pd.DataFrame(X, columns=[f"x{k + 1}" for k in range(6)]).assign(g=np.arange(60) % 2)
    with pytest.raises(dt.InputError, match=next(iter(given))):
        dt.invariance(table, "f =~ x1 + x2 + x3", "g", **given)


def test_more_repeats_than_can_ever_be_done_are_refused():
    data = dt.load_dataset("holzinger_swineford_9")
    model = dt.cfa(data, "f =~ x1 + x2 + x3 + x4")
    calls = (
        lambda k: dt.parallel_analysis(data, n_iter=k),
        lambda k: dt.stability(data, n_boot=k),
        lambda k: dt.certify(data, n_draws=k),
        lambda k: dt.certify(data, n_splits=k),
        lambda k: dt.diagnose(dt.fit(data), data, n_boot=k),
        lambda k: dt.bootstrap(model, data, n_boot=k),
        lambda k: dt.plan(n_factors=2, n_draws=k),
        lambda k: dt.error_bound(100, 5, margin=0.2, method="simulation", n_draws=k),
    )
    for call in calls:
        with pytest.raises(dt.InputError, match=r"must be a whole number of at most 100000; got 2"):
            call(2**31)


@pytest.mark.parametrize("rows", [10**400, 1e300, 2.5, np.inf, ["a"]])
def test_rows_of_pairs_that_are_no_counts(rows):
    counts = [[100, rows, 100], [rows, 100, 100], [100, 100, 100]]
    with pytest.raises(dt.InputError, match="`n` must be"):
        dt.error_bound(counts, 3, margin=0.2)


def test_weights_beyond_all_numbers_are_refused():
    data = dt.load_dataset("holzinger_swineford_9")
    weighted = data.assign(w=pd.Series([10**400] * len(data), dtype=object, index=data.index))
    with pytest.raises(dt.InputError, match="w"):
        dt.cfa(weighted, "f =~ x1 + x2 + x3 + x4", sampling_weights="w")


def test_a_structure_without_items_is_refused_everywhere():
    data = dt.load_dataset("holzinger_swineford_9")
    calls = {
        "structure": (dt.fit, dt.margin, dt.certify),
        "keys": (dt.reliability,),
        "model": (dt.cfa,),
    }
    for name, functions in calls.items():
        for function in functions:
            with pytest.raises(dt.InputError, match=rf"`{name}` must name a factor with its items"):
                function(data, **{name: {}})
    with pytest.raises(dt.InputError, match="must name a factor with its items; got"):
        dt.regress("F1 ~ age", {}, data)
    with pytest.raises(dt.InputError, match="The factor 'B' has no items"):
        dt.fit(data, structure={"A": ["x1", "x2"], "B": []})


@pytest.mark.parametrize(
    ("maps", "said"),
    [
        (np.array(3), "`maps` must be known names or functions"),
        (int, "The map 'int' in `maps` ended with TypeError"),
        (lambda z: "text", "in `maps` ended with ValueError"),
        (lambda z: z[:1], "it made shape"),
    ],
)
def test_maps_that_are_none(maps, said):
    with pytest.raises(dt.InputError, match=said):
        dt.simulate(n=5, maps=maps, seed=1)


@pytest.mark.parametrize("coefficient", [1.2, -1.2, 1e200, 1e308, -1e308])
def test_path_coefficients_beyond_one(coefficient):
    with pytest.raises(dt.InputError, match="must be small enough for factors of variance 1"):
        dt.simulate(n=5, path_coefficient=coefficient, seed=1)


def test_sizes_that_are_no_list():
    with pytest.raises(dt.InputError, match="`sizes` must be a list of shares"):
        dt.stability(dt.load_dataset("holzinger_swineford_9"), n_boot=2, sizes=np.array(0.5))


def test_what_cannot_be_printed_is_refused_all_the_same():
    for given in ({"estimator": Unprintable()}, {"criterion": Unprintable()}):
        with pytest.raises(dt.InputError, match="must be a name"):
            studies.table1(1, n=60, designs="chain", seed=1, **given)
        with pytest.raises(dt.InputError, match="cannot be combined with `preset`"):
            studies.table1(1, n=60, designs="chain", seed=1, preset="paper", **given)


@pytest.mark.parametrize("rows", [np.zeros((2, 2)), pd.NA, "80", 80.5])
def test_rows_of_a_matrix_that_are_no_number(rows):
    matrix = dt.dependence(dt.load_dataset("holzinger_swineford_9"), "pearson")
    with pytest.raises(dt.InputError, match="`n_obs` must be a whole number"):
        dt.cfa(matrix, "f =~ x1 + x2 + x3 + x4", n_obs=rows)


def test_a_matrix_of_r_with_the_names_of_one_side():
    damaged = RArray("numeric", np.arange(4.0), (2, 2), (["a", "b"],))
    short = RArray("numeric", np.arange(4.0), (2, 2), (["a", "b"], ["c"]))
    for one in (damaged, short):
        with pytest.raises(dt.InputError, match="damaged on the way from R"):
            one.plain()
