"""Entries for the public functions and classes, with oracles where they are cheap."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import scipy.stats
from fuzz_arguments import arguments, structure
from fuzz_harness import attempt, entry, expect
from fuzz_results import check_result
from fuzz_tables import factor_answers, values
from fuzz_values import bad_values
from hypothesis import strategies as st

import dtstat as dt

# Functions that need no more than arguments and the checks that hold for any result; and how
# many of the cases each gets.
PLAIN = {
    "bartlett_test": 1.0,
    "bounds": 0.3,
    "certify": 1.0,
    "cfa": 2.5,
    "datasets": 0.1,
    "describe": 1.5,
    "efa": 1.5,
    "error_bound": 1.5,
    "example_file": 0.1,
    "fit": 3.0,
    "invariance": 0.7,
    "items": 3.0,
    "kmo": 1.0,
    "load": 0.5,
    "load_dataset": 0.5,
    "margin": 1.0,
    "max_items": 1.0,
    "growth": 0.5,
    "measures": 0.1,
    "min_margin": 1.0,
    "model_power": 1.0,
    "parallel_analysis": 0.7,
    "plan": 0.3,
    "read_survey": 0.5,
    "regress": 1.0,
    "reliability": 1.5,
    "sample_size": 1.0,
    "sample_size_table": 0.7,
    "sem": 1.0,
    "simulate": 1.5,
    "solution_path": 1.5,
    "stability": 0.4,
    "survey_design": 1.5,
    "ucc_probability": 1.5,
}


def _plain(name: str) -> Any:
    def run(draw: Any) -> None:
        function = getattr(dt, name)
        result = attempt(name, function, **arguments(draw, name, function))
        check_result(draw, name, result)

    return run


for _name, _share in PLAIN.items():
    entry(_name, _share)(_plain(_name))


@entry("dependence", 3.0)
def dependence(draw: Any) -> None:
    """Any data; symmetric, within [-1, 1], ones on the diagonal, and finite."""
    given = arguments(draw, "dependence", dt.dependence)
    result = attempt("dependence", dt.dependence, **given)
    check_result(draw, "dependence", result)
    if isinstance(result, dt.SparseDependence):
        _same_above_the_floor(result, given)
    elif result is not None:
        R = result.values
        expect(bool((R == R.T).all()), "dependence: not symmetric", R)
        expect(bool((np.abs(R) <= 1).all()), "dependence: outside [-1, 1]", R)
        expect(bool((np.diag(R) == 1).all()), "dependence: diagonal", np.diag(R))


def _same_above_the_floor(sparse: dt.SparseDependence, given: dict[str, Any]) -> None:
    """The pairs kept are those of the whole matrix, but for those at the floor by rounding."""
    whole = {k: v for k, v in given.items() if k not in ("floor", "memory")}
    dense = attempt("dependence", dt.dependence, **whole)
    expect(dense is not None, "dependence: refused without a floor", given)
    i = np.repeat(np.arange(sparse.n_items), np.diff(sparse.starts))
    R = np.zeros((sparse.n_items, sparse.n_items))
    R[i, sparse.neighbors] = sparse.values
    wanted = np.where(dense.strength > sparse.floor, dense.values, 0.0)
    np.fill_diagonal(wanted, 0.0)
    at_floor = np.abs(dense.strength - sparse.floor) < 1e-9
    expect(bool((np.isclose(R, wanted, atol=1e-9) | at_floor).all()), "dependence: other pairs", R)


SCIPY = {
    "pearson": lambda x, y: scipy.stats.pearsonr(x, y).statistic,
    "spearman": lambda x, y: scipy.stats.spearmanr(x, y).statistic,
    "kendall": lambda x, y: scipy.stats.kendalltau(x, y).statistic,
}


@entry("dependence beside scipy", 1.5)
def dependence_oracle(draw: Any) -> None:
    """Equal to scipy on each pair, whatever the scale, and after permuting the columns."""
    X = values(draw)
    measure = draw(st.sampled_from(list(SCIPY)))
    result = attempt("dependence", dt.dependence, X, measure)
    if result is None:
        return
    order = np.random.default_rng(draw(st.integers(0, 99))).permutation(X.shape[1])
    turned = attempt("dependence", dt.dependence, X[:, order], measure)
    expect(turned is not None, "dependence: refused after permuting columns")
    far = np.abs(turned.values - result.values[np.ix_(order, order)]).max()
    expect(far < 1e-9, "dependence: changes when columns are permuted", measure, far)
    X = np.where(X == -(2**31), np.nan, X)  # R's missing integer, which a warning speaks of
    scale = np.nanmax(np.abs(X), axis=0)
    if measure == "pearson" and not ((scale < 1e100) & (scale > 1e-100)).all():
        return  # scipy itself overflows there
    for i, j in itertools.combinations(range(X.shape[1]), 2):
        x, y = X[:, i], X[:, j]
        both = ~np.isnan(x + y)
        if measure == "pearson" and _ill_conditioned(x[both], y[both]):
            continue
        wanted = SCIPY[measure](x[both], y[both])
        got = result.values[i, j]
        expect(abs(got - wanted) < 1e-6, "dependence: not scipy's", measure, i, j, got, wanted)


def _ill_conditioned(*columns: np.ndarray) -> bool:
    """Whether a spread is so small beside the mean that no two programs agree on it."""
    return any(np.ptp(column) < 1e-6 * np.abs(column).max() for column in columns)


@entry("independent_maximal_cliques", 1.5)
def cliques(draw: Any) -> None:
    """Equal to listing all maximal cliques and keeping those with a vertex of their own."""
    function = dt.independent_maximal_cliques
    given = arguments(draw, "independent_maximal_cliques", function)
    result = attempt("independent_maximal_cliques", function, **given)
    check_result(draw, "independent_maximal_cliques", result)
    if result is None:
        return
    graph = np.array(given["adjacency"]).astype(object).astype(bool)
    np.fill_diagonal(graph, False)
    smallest = int(given.get("min_children", 2))
    every = list(nx.find_cliques(nx.from_numpy_array(graph)))
    holders = [sum(v in clique for clique in every) for v in range(len(graph))]
    wanted = {
        frozenset(clique)
        for clique in every
        if len(clique) >= smallest and any(holders[v] == 1 for v in clique)
    }
    found = {frozenset(np.flatnonzero(column).tolist()) for column in result.support.T}
    expect(found == wanted, "independent_maximal_cliques: not those of brute force", found, wanted)


@entry("compare")
def compare(draw: Any) -> None:
    """Within [0, 1], and exact for a structure and itself."""
    result = attempt("compare", dt.compare, **arguments(draw, "compare", dt.compare))
    check_result(draw, "compare", result)
    one = structure(draw)
    same = attempt("compare", dt.compare, one, one)
    expect(same is not None and same.exact and same.f1 == 1, "compare: not equal to itself", same)


@entry("Structure", covers=("Structure.from_keys",))
def structures(draw: Any) -> None:
    """The constructor, and what can be asked of a structure."""
    result = attempt("Structure", dt.Structure, **arguments(draw, "Structure", dt.Structure))
    check_result(draw, "Structure", result)
    keys = attempt("Structure.from_keys", dt.Structure.from_keys, draw(bad_values))
    check_result(draw, "Structure.from_keys", keys)
    one = structure(draw)
    keyed = attempt("Structure.from_keys", dt.Structure.from_keys, one.to_keys(), one.item_names)
    expect(keyed is None or keyed == one, "Structure.from_keys: not what to_keys wrote", one, keyed)
    check_result(draw, "Structure", one)
    for method in (one.children, one.parents, one.unique_children):
        attempt(f"Structure.{method.__name__}", method, draw(bad_values))


@entry("DependenceMatrix.from_matrix", 2.0, covers=("DependenceMatrix",))
def from_matrix(draw: Any) -> None:
    """A matrix of the user's own."""
    function = dt.DependenceMatrix.from_matrix
    result = attempt("from_matrix", function, **arguments(draw, "from_matrix", function))
    check_result(draw, "from_matrix", result)
    if result is not None:
        R = result.values
        expect(bool((R == R.T).all() and (np.abs(R) <= 1).all()), "from_matrix: entries", R)
        attempt("DependenceMatrix.select", result.select, draw(bad_values))


@entry("items of a table", covers=("ItemData",))
def item_data(draw: Any) -> None:
    """Values are kept as they are; rows and items can be chosen."""
    X = values(draw)
    result = attempt("items", dt.items, pd.DataFrame(X))
    if result is None:
        return
    kept = np.where(X == -(2.0**31), np.nan, X)
    expect(np.array_equal(result.values, kept, equal_nan=True), "items: values changed", X)
    check_result(draw, "items", result)
    attempt("ItemData.select", result.select, draw(bad_values))
    attempt("ItemData.select", result.select, [result.names[0], result.names[-1]])
    attempt("ItemData.complete_rows", result.complete_rows)


def _a_model(draw: Any) -> tuple[Any, pd.DataFrame]:
    """A fitted model and its data, now and then in groups, with gaps, robust, or in two steps."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    data = pd.DataFrame(factor_answers(rng, 120, 6), columns=[f"x{k}" for k in range(1, 7)])
    data["group"] = np.resize(["a", "b"], len(data))
    given = draw(
        st.sampled_from(
            [
                {},
                {"estimator": "mlr"},
                {"missing": "fiml"},
                {"group": "group"},
                {"group": "group", "group_equal": "loadings"},
                {"std_lv": True},
                {"method": "sam"},
                {"ordered": True},
            ]
        )
    )
    text = draw(
        st.sampled_from(
            [
                "f =~ x1 + a*x2 + b*x3; g =~ x4 + x5 + x6",
                "f =~ x1 + a*x2 + a*x3; g =~ x4 + x5 + x6; x1 ~~ x4",
                "f =~ x1 + a*x2 + b*x3; a + b == 2; d := a*b",
                "x4 ~ a*x1 + b*x2; x5 ~ c*x4; i := a*c",
            ]
        )
    )
    return attempt("cfa", dt.cfa, data, text, **given), data


@entry("compare_models", 0.7)
def compare_models(draw: Any) -> None:
    """Any two fits, and anything else."""
    fits = [_a_model(draw)[0] for _ in range(draw(st.sampled_from([1, 2, 2, 2, 3])))]
    if not draw(st.integers(0, 3)):
        fits.append(draw(bad_values))
    given = arguments(draw, "compare_models", dt.compare_models)
    result = attempt("compare_models", dt.compare_models, *fits, **given)
    check_result(draw, "compare_models", result)


@entry("invariance of usable data", 0.3)
def usable_invariance(draw: Any) -> None:
    """Ladders in two groups; one argument may be bad."""
    _, data = _a_model(draw)
    given = {"data": data, "model": {"f": ["x1", "x2", "x3"], "g": ["x4", "x5", "x6"]}}
    given |= {"group": "group", "estimator": draw(st.sampled_from(["ml", "mlr"]))}
    if not draw(st.integers(0, 2)):
        given[draw(st.sampled_from(list(given)))] = draw(bad_values)
    check_result(draw, "invariance", attempt("invariance", dt.invariance, **given))


@entry("tests of parameters", 1.0, covers=("wald_test", "score_test", "WaldTest", "ScoreTest"))
def parameter_tests(draw: Any) -> None:
    """Equations and parameters, good and bad, of any fit."""
    fit, _ = _a_model(draw)
    fit = fit if draw(st.integers(0, 5)) else draw(bad_values)
    texts = ["a == b", "a == 0; b == 0", "a == a", "z == 1", "x1 ~~ x2", "f =~ x5", "x1 ~ 1", ""]
    texts += ["x4 ~~ x5; x1 ~~ x6", "log(a) == b", "a/0 == 1", "i == 0", "f ~ g"]
    one = draw(st.one_of(st.sampled_from(texts), st.sampled_from(texts), bad_values))
    check_result(draw, "wald_test", attempt("wald_test", dt.wald_test, fit, one))
    name = draw(st.sampled_from(["add", "add", "release"]))
    given = {name: one} if draw(st.integers(0, 3)) else {}
    check_result(draw, "score_test", attempt("score_test", dt.score_test, fit, **given))


@entry("rows of a fit", 0.5, covers=("vuong", "bootstrap", "VuongTest", "Bootstrap"))
def rows_of_a_fit(draw: Any) -> None:
    """What needs the data again: theirs, others, and anything else."""
    fit, data = _a_model(draw)
    other, elsewhere = _a_model(draw)
    table = draw(st.sampled_from([data, data, data, elsewhere, data.iloc[:50]]))
    table = table if draw(st.integers(0, 5)) else draw(bad_values)
    check_result(draw, "vuong", attempt("vuong", dt.vuong, fit, other, table))
    given = {"n_boot": 3, "test": draw(st.booleans()), "seed": 1}
    if not draw(st.integers(0, 3)):
        given[draw(st.sampled_from(list(given)))] = draw(bad_values)
    result = attempt("bootstrap", dt.bootstrap, fit, table, **given)
    check_result(draw, "bootstrap", result)
    if result is not None:
        attempt("Bootstrap.parameters", result.parameters, draw(bad_values))


@entry("diagnose", 0.6, covers=("Diagnosis",))
def diagnose(draw: Any) -> None:
    """A fit to usable data, and anything else."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = factor_answers(rng, 80, draw(st.sampled_from([3, 6, 9])))
    made = attempt("fit", dt.fit, X)
    given = {"fit": made, "data": X if draw(st.booleans()) else None}
    given |= {"n_boot": 3} if given["data"] is not None else {}
    bad = draw(st.sampled_from(["none", "none", "fit", "data", "n_boot", "seed", "n_jobs"]))
    if bad != "none":
        given[bad] = draw(bad_values)
    check_result(draw, "diagnose", attempt("diagnose", dt.diagnose, **given))


@entry("compare_solutions", covers=("SolutionComparison",))
def compare_solutions(draw: Any) -> None:
    """Loadings of any kind beside each other."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    L = pd.DataFrame(rng.uniform(-1, 1, (6, 2)), columns=["A", "B"])
    choices = [L, L.to_numpy(), L.iloc[::-1], structure(draw), draw(bad_values)]
    choices += [L * np.nan, L * 0, L * 1e308, L.to_numpy()[:, 0], L.T]
    a, b = draw(st.sampled_from(choices)), draw(st.sampled_from(choices))
    result = attempt("compare_solutions", dt.compare_solutions, a, b)
    check_result(draw, "compare_solutions", result)


@entry("Bound", covers=("Margin",))
def bound(draw: Any) -> None:
    """Bounds by name, and what can be asked of them."""
    given = arguments(draw, "bound", _bound_of)
    made = attempt("Bound.of", _bound_of, **given)
    attempt("Bound.normal", dt.Bound.normal, draw(bad_values))
    if made is None:
        return
    for function in (dt.error_bound, dt.sample_size, dt.max_items, dt.min_margin):
        name = function.__name__
        result = attempt(name, function, **arguments(draw, name, function, measure=made))
        check_result(draw, name, result)


def _bound_of(measure: Any, sharp: Any = True) -> Any:
    return dt.Bound.of(measure, sharp)


@entry("planning is consistent", 1.0)
def planning(draw: Any) -> None:
    """The sample size keeps the error, one row fewer does not."""
    p, gamma = draw(st.integers(2, 2000)), draw(st.floats(0.01, 1.0))
    error = draw(st.floats(1e-6, 0.9))
    measure = draw(st.sampled_from(["kendall", "spearman", "pearson"]))
    n = attempt("sample_size", dt.sample_size, p, gamma, error, measure)
    if n is None or n < 4:
        return
    reached = attempt("error_bound", dt.error_bound, n, p, gamma, measure)
    expect(reached <= error * (1 + 1e-9), "sample_size: error not kept", p, gamma, error, measure)
    fits = attempt("max_items", dt.max_items, n, gamma, error, measure)
    expect(fits is None or fits >= p, "max_items: fewer than planned for", p, gamma, error, fits)


@entry("fit is about the items, not their order", 1.0)
def fit_invariance(draw: Any) -> None:
    """The same structure after permuting columns, and after rescaling them."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    p = draw(st.sampled_from([6, 9, 12]))
    X = pd.DataFrame(factor_answers(rng, 200, p), columns=[f"q{k}" for k in range(p)])
    first = attempt("fit", dt.fit, X)
    scale = np.array([draw(st.sampled_from([1.0, 3.7, 1e-6, 1e9])) for _ in range(p)])
    second = attempt("fit", dt.fit, (X * scale)[list(rng.permutation(X.columns))])
    expect(first is not None and second is not None, "fit: refused usable data")
    same = dt.compare(first.structure, second.structure).exact
    expect(same, "fit: another structure", first.structure, second.structure)
    far = abs(first.fit_measures["cfi"] - second.fit_measures["cfi"])
    expect(not far > 1e-4, "fit: another fit", far)


@entry("fit with curves", 0.15)
def curves(draw: Any) -> None:
    """Curves through few rows of any numbers, and scores by them."""
    X = values(draw)[:60, :4]
    given: dict[str, Any] = {"estimator": "spline", "seed": 1, "finalists": 1, "min_children": 2}
    if X.shape[1] and draw(st.booleans()):
        given["structure"] = dt.Structure(np.ones((X.shape[1], 1)))
    if draw(st.booleans()):
        given["criterion"] = draw(st.sampled_from(["validation", "cv", "bic"]))
    fit = attempt("fit", dt.fit, X, **given)
    check_result(draw, "fit with curves", fit)
    if fit is not None:
        attempt("DTFit.factor_scores", fit.factor_scores, X)


@entry("errors and warnings", 0.3, covers=("DTError", "InputError", "MissingExtraError"))
def errors(draw: Any) -> None:
    """Every error can be made, printed and caught as DTError."""
    made = [
        dt.DTError("a"),
        dt.InputError("a", "b"),
        dt.EstimationError("a"),
        dt.MissingExtraError("a", "b", "c"),
        dt.ModelSyntaxError("a", 1, 2),
        dt.DTWarning("a"),
        dt.DataWarning("a"),
        dt.EstimationWarning("a"),
    ]
    expect(all(map(str, made)), "errors: without a text")


def is_number(value: Any) -> bool:
    """Whether a value is one number."""
    return isinstance(value, int | float) and math.isfinite(value)


def public_fields(result: Any) -> list[str]:
    """Fields of a result that are public."""
    return [f.name for f in dataclasses.fields(result) if not f.name.startswith("_")]
