"""The code that the page prints makes the fit again."""

import ast
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.fit.request import python_code, r_code

NINE = dt.load_dataset("holzinger_swineford_9")
MANY = dt.load_dataset("holzinger_swineford_26")
OPTIONS = [
    {},
    {"measure": "kendall", "min_children": 2, "uncovered": "report", "misfit": "none"},
    {"search": "threshold"},
    {"search": "threshold", "thresholds": 20},
    {"search": "threshold", "thresholds": [0.25, 0.3, 1 / 3]},
    {"search": "threshold", "thresholds": [0.3]},
    {"search": "threshold", "thresholds": 20.0},
    {"search": "threshold", "thresholds": np.int64(20)},
    {"refine": True, "criterion": "bic"},
    {"criterion": "cv", "seed": 3},
    {"criterion": "validation_2se"},
    {"estimator": "linear"},
    {"estimator": "spline", "finalists": 1},
]


def made_again(fit, data, **names):
    names = {"data": data, **names}
    exec(python_code(fit), names)
    return names["fit"]


def assert_same(fit, again):
    assert again.item_names == fit.item_names
    assert again.structure == fit.structure
    assert again.explanation == fit.explanation
    assert again.n_effective == fit.n_effective
    pd.testing.assert_frame_equal(again.loadings, fit.loadings)
    pd.testing.assert_frame_equal(again.candidates, fit.candidates)
    pd.testing.assert_frame_equal(again.path.to_frame(), fit.path.to_frame())
    assert python_code(again) == python_code(fit)


def assert_r(code, names):
    """Calls dt_fit with what R knows: TRUE and FALSE, c(), texts in quotes, no Python."""
    assert code.startswith("library(dtstat)\n\nfit <- dt_fit(\n  data,\n")
    assert code.endswith("\n)")
    assert not re.search(r"\b(True|False|None|nan|inf|array|np)\b|[\[\]'<>](?!-)", code[28:])
    assert code.count("(") == code.count(")")
    lines = code.split("\n")[4:-1]
    assert [line.strip().split(" = ")[0] for line in lines] == names
    assert all(line.endswith(",") for line in lines[:-1])
    assert not lines[-1].endswith(",")
    value = r'"[\w.]+"|TRUE|FALSE|\w+|c\([\d., e-]+\)'
    assert all(re.fullmatch(rf"  \w+ = ({value}),?", line) for line in lines)


def arguments(code):
    (call,) = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    return {one.arg: ast.unparse(one.value) for one in call.keywords}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_code_makes_the_fit_again(options):
    fit = dt.fit(NINE, **options)
    assert_same(fit, made_again(fit, NINE))
    assert_r(r_code(fit), list(arguments(python_code(fit))))


@pytest.mark.parametrize("missing", ["pairwise", "listwise"])
def test_with_answers_missing(missing):
    fit = dt.fit(MANY, missing=missing)
    assert_same(fit, made_again(fit, MANY))


def test_a_structure_that_was_given():
    structure = dt.Structure.from_keys({"a": ["x4", "x5", "x6"], "b": ["x7", "x8", "x9"]})
    fit = dt.fit(NINE, structure=structure, criterion="bic")
    assert_same(fit, made_again(fit, NINE, structure=structure))
    assert "  structure = structure,\n" in r_code(fit)


@pytest.mark.parametrize("n_obs", [None, 500])
@pytest.mark.parametrize("data", [NINE, MANY], ids=["whole", "with gaps"])
def test_a_matrix(data, n_obs):
    """One with counts for each pair, too, of which a number of rows would make less."""
    matrix = dt.dependence(data)
    fit = dt.fit(matrix, n_obs=n_obs)
    again = made_again(fit, matrix)
    assert again.n_typical == fit.n_typical
    assert_same(fit, again)
    assert not {"measure", "missing"} & set(arguments(python_code(fit)))
    assert '  measure = "spearman",\n' in r_code(fit)  # R's own matrix does not know it


def test_a_matrix_of_correlations():
    matrix = dt.DependenceMatrix.from_matrix(NINE.corr())
    fit = dt.fit(matrix, n_obs=301, estimator="linear")
    assert_same(fit, made_again(fit, matrix))
    assert 'measure = "pearson"' in r_code(fit)


def product_moment(x, y):
    return float(np.corrcoef(x, y)[0, 1])


def test_a_function_is_named_not_quoted():
    fit = dt.fit(NINE, measure=product_moment)
    assert_same(fit, made_again(fit, NINE, product_moment=product_moment))


def test_a_function_without_a_name():
    fit = dt.fit(NINE, measure=lambda x, y: product_moment(x, y))
    assert_same(fit, made_again(fit, NINE, measure=lambda x, y: product_moment(x, y)))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            {"preset": "paper", "finalists": None, "seed": 5},
            {"preset": "'paper'", "measure": "'spearman'", "seed": "5"},
        ),
        (
            {"preset": "paper_fast", "finalists": 2, "seed": 5, "measure": "pearson"},
            {"preset": "'paper_fast'", "measure": "'pearson'", "finalists": "2", "seed": "5"},
        ),
    ],
)
def test_a_preset_says_the_rest_but_not_what_it_leaves_open(call, expected):
    fit = dt.fit(NINE)
    fit = replace(fit, call=replace(fit.call, **call))
    found = arguments(python_code(fit))
    assert found == {"missing": "'pairwise'", "refine": "False", **expected}
    assert_r(r_code(fit), list(found))


def test_a_given_structure_is_written_out():
    data = dt.load_dataset("holzinger_swineford_9").rename(columns={"x2": 'it\'s "2"'})
    keys = {"a": ["x1", 'it\'s "2"', "x3"], "b b": ["x4", "x5", "x6"]}
    fit = dt.fit(data, structure=dt.Structure.from_keys(keys, list(data.columns)))
    names = {"data": data}
    exec(python_code(fit), names)
    assert names["fit"].structure == fit.structure
    assert names["fit"].factor_names == ("a", "b b")
    text = r_code(fit)
    assert """list("a" = c("x1", "it's \\"2\\"", "x3"), "b b" = c(""" in text
    assert text.count('"x9"') == 1  # an item of no factor, among the names of all


def test_one_threshold_for_all_has_cores_seen_there():
    fit = dt.fit(dt.load_dataset("holzinger_swineford_26"), search="threshold")
    origin = float(fit.contenders[0].origin.removeprefix("threshold "))
    assert (fit.factors["from"] <= origin + 0.0005).all()
    assert (origin < fit.factors["to"]).all()
