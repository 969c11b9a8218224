"""Arguments of public functions: for every parameter what may be given, and now and then what not.

Good values are looked up by the name of the parameter, or by function and parameter where a name
means two things. A public function whose parameter is in neither table fails the contract test.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from fuzz_tables import factor_answers, square, tables, usable_tables
from fuzz_values import HOSTILE_NAMES, bad_values
from hypothesis import strategies as st

import dtstat as dt

MEASURES = [*dt.measures().index]
Draw = Callable[[Any], Any]


def one_of(*values: Any) -> Callable[[Draw], Any]:
    """Choose among values."""
    return lambda draw: draw(st.sampled_from(list(values)))


def _whole(low: int, high: int) -> Callable[[Draw], Any]:
    return lambda draw: draw(st.integers(low, high))


def _real(low: float, high: float) -> Callable[[Draw], Any]:
    return lambda draw: draw(st.floats(low, high))


def correlation_like(x: np.ndarray, y: np.ndarray) -> float:
    """A measure of the user's own."""
    return float(np.tanh(np.mean(np.sign(x) * np.sign(y))))


def _seed(draw: Draw) -> Any:
    kind = draw(st.integers(0, 3))
    number = draw(st.integers(0, 2**40))
    made = [number, np.random.default_rng(number), np.random.SeedSequence(number), None]
    return made[kind]


def structure(draw: Draw) -> dt.Structure:
    """A structure over x1, x2, ...; now and then with other names."""
    p, d = draw(st.sampled_from([3, 6, 6, 6, 7, 9])), draw(st.integers(0, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    support = rng.random((p, d)) < draw(st.sampled_from([0.2, 0.5, 1.0]))
    support[0] |= ~support.any(axis=0)
    if draw(st.booleans()) and d:
        support = np.arange(p)[:, None] * d // p == np.arange(d)
    names = None
    if not draw(st.integers(0, 3)):
        texts = list(dict.fromkeys(str(name) for name in HOSTILE_NAMES if str(name).strip()))
        start = draw(st.integers(0, len(texts) - p))
        names = texts[start : start + p]
    try:
        return dt.Structure(support, names)
    except dt.InputError:  # names that are refused
        return dt.Structure(support)


OPERATORS = ["=~", "~~", "~", "~1", ":=", "==", "<~", "+", "*", "\n", ";", "#", "0*", "a*", "NA*"]
PIECES = [*OPERATORS, "x1", "x2", "x3", "f", "g", '"', "start(1)*", "c(1,2)*", "1e999", "-1", "("]
PIECES += ["\n" * 20_000, "a*" * 2_000, "1" * 20_000]
PIECES += [*(str(name) for name in HOSTILE_NAMES[:50]), "x" * 10_000, "|", "%"]
MODELS = [
    "f =~ x1 + x2 + x3",
    "f =~ x1 + x2 + x3\ng =~ x4 + x5 + x6",
    "f =~ x1 + x2 + x3; g =~ x4 + x5 + x6; g ~ f",
    "f =~ x1 + a*x2 + a*x3\nx1 ~~ x2",
    "f =~ NA*x1 + x2 + x3\nf ~~ 1*f",
    "x1 ~ x2 + x3",
    "x1 ~~ x2",
    "f =~ x1",
    "f =~ x1 + x2",
    "f =~ f",
    "f =~ g\ng =~ f",
    "f =~ x1 + x2 + x3\nx1 ~ f",
    "x1 ~ 1",
    "f =~ 0*x1 + 0*x2 + 0*x3",
    "f =~ 1e300*x1 + x2 + x3",
    "f =~ x1 + x1 + x1",
]


KEYS = {"f": ["x1", "-x2", "x3"], "g": ["x2", "x3", "x4"], "h": ["x5", "x6"]}
FORMULAS = [
    "F1 ~ F2",
    "F1 ~ z",
    "z ~ F1 + F2",
    "F1 ~ C(z) + F2",
    "F1 ~ z * w",
    "F1 ~ x1",
    "F1 ~ F1 * F2",
    "F1 ~ 0",
    "F1 ~ 1 / 0",
    "F1 ~ z ~ w",
    "Q('F1') ~ F2",
    "",
    "~",
    "F1 ~ __import__",
    "F1 ~ " + "(" * 500,
]


def model(draw: Draw) -> Any:
    """A model text, or a structure."""
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return structure(draw)
    if kind > 5:
        return draw(st.sampled_from(MODELS[:5]))
    if kind == 1:
        return " ".join(draw(st.lists(st.sampled_from(PIECES), max_size=12)))
    if kind == 2:
        return draw(st.sampled_from(MODELS)) + draw(st.sampled_from(PIECES))
    return draw(st.sampled_from(MODELS))


def adjacency(draw: Draw) -> Any:
    """A graph, in various clothes."""
    p = draw(st.sampled_from([1, 2, 3, 5, 8]))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    graph = rng.random((p, p)) < draw(st.sampled_from([0.0, 0.3, 0.6, 0.9, 1.0]))
    graph = graph | graph.T
    kind = draw(st.integers(0, 6))
    if kind == 0:
        return graph.astype(draw(st.sampled_from(["i1", "f4", "O", "f8", "c16", "U5"])))
    if kind == 1:
        return graph.tolist()
    if kind == 2:
        return pd.DataFrame(graph, columns=[f"q{k}" for k in range(p)])
    if kind == 3:
        return square(draw)
    return graph


def _design(draw: Draw) -> Any:
    return dt.survey_design(draw(st.integers(1, 3)), draw(st.integers(2, 5)), 0.7)


@functools.cache
def one_fit() -> dt.DTFit:
    """A fit like any other."""
    return dt.fit(factor_answers(np.random.default_rng(1), 80, 6))


GOOD: dict[str, Callable[[Draw], Any]] = {
    "data": tables,
    "measure": one_of(*MEASURES, "spearman", "pearson", "kendall", correlation_like),
    "missing": one_of("pairwise", "listwise", "error"),
    "n_jobs": one_of(None, 1, 1.0, np.int64(1), 2),
    "floor": one_of(None, 0.0, 0.3, np.float32(0.5), 0, "chance"),
    "memory": one_of(2.0, 1, np.int64(3), 1e-4),
    "labels": one_of(
        *(None, {}, {"x1": "I worry a lot", "x2": ""}, {1: "one"}, {"x1": None}),
        pd.DataFrame({"item": ["x1"], "text": ["a"]}),
    ),
    "checkpoint": one_of(None, "no/such/folder.jsonl"),
    "progress": one_of(None, False, lambda done, total: None),
    "thresholds": one_of("exact", 5, 50, [0.2, 0.4], np.array([0.0, 1.0]), (0.3,), 10.0),
    "min_children": one_of(2, 3, 4, 3.0, np.int8(2), 50),
    "search": one_of("tree", "threshold", "sequential"),
    "estimator": one_of("copula", "linear"),
    "criterion": one_of("step", "ebic", "bic", "aic", "validation", "validation_2se", "cv"),
    "uncovered": one_of("attach", "report", "error"),
    "people": one_of(True, False),
    "refine": one_of(True, False),
    "misfit": one_of("estimated", "none"),
    "structure": structure,
    "finalists": one_of(1, 2),
    "preset": one_of(None),
    "n_obs": one_of(None, None, 100, 1000.0, 3),
    "seed": _seed,
    "kinds": one_of(None, "ordinal", "continuous", "binary", {"x1": "ordinal"}, {}),
    "n_factors": one_of(1, 2, 3, 4.0),
    "rotation": one_of("oblimin", "varimax", "promax", "none", "quartimin", "geomin"),
    "method": one_of("guarantee", "normal"),
    "n_iter": one_of(1, 2, 5),
    "quantile": one_of(0.5, 0.95, 0.99),
    "n_boot": one_of(2, 3, 5),
    "scheme": one_of("bootstrap", "subsample"),
    "share": one_of(None, 0.5, 0.9),
    "sizes": one_of((), (0.5,), [0.3, 0.6]),
    "model": model,
    "ordered": one_of(None, True, False, ["x1"], "x1", ["x1", "x2", "x3", "x4"]),
    "std_lv": one_of(True, False),
    "orthogonal": one_of(True, False),
    "mean_structure": one_of(None, True, False),
    "adjacency": adjacency,
    "estimated": structure,
    "truth": structure,
    "n": one_of(2, 10, 200, 5000, 10**6),
    "p": one_of(2, 10, 25, 1000),
    "d": one_of(1, 3, 10),
    "alpha": _real(0.001, 0.999),
    "form": one_of("exact", "bound", "sparse"),
    "margin": _real(1e-6, 1.0),
    "error": _real(1e-9, 0.999),
    "sharp": one_of(True, False),
    "factor_size": one_of(None, 2, 5),
    "n_draws": one_of(1, 5, 20),
    "design": one_of("v_structure", "chain", "double_mediation", "clusters", "high_dimensional"),
    "maps": one_of("paper", "linear", "non_monotone", "one_in_five"),
    "snr": one_of(4.0, 1, 1e-3, 1e3),
    "items_per_factor": one_of(None, 2, 3, 5),
    "factor_correlation": one_of(0.0, 0.3, 0.9),
    "path_coefficient": one_of(0.5, 0.0, -0.5, 0.9),
    "violating": one_of(0.0, 0.2, 0.5),
    "second_parent": one_of("own", "shared"),
    "cross_loadings": one_of(0, 1, 2),
    "latent": one_of("gaussian", "uniform", "exponential"),
    "levels": one_of(None, 2, 5),
    "loading": one_of(0.7, 0.5, [0.6, 0.7], [[0.7, 0.0], [0.7, 0.0], [0.0, 0.6], [0.1, 0.6]]),
    "most_rows": one_of(50, 500),
    "formula": one_of(*FORMULAS),
    "keys": lambda draw: draw(st.sampled_from([structure(draw), KEYS, "f =~ x1 + x2 + x3"])),
    "name": one_of("holzinger_swineford_9", "political_democracy"),
    "matrix": square,
    "names": one_of(None, ["a", "b", "c"], list("abcdef"), tuple("abcdefghi")),
    "path": one_of("no_such_file.csv", "no_such_file.dtstat"),
    "columns": one_of(None, "x*", ["x1", "x2"], "x1-x3, x*"),
    "drop": one_of(None, "x1", ["x2"]),
    "id": one_of(None, "x1", ["x1", "x2"]),
    "aside": one_of(None, "x3", "x*"),
    "sheet": one_of(None, 1, "Sheet1"),
    "header_rows": one_of(None, 1, 2, 3.0),
    "limits": one_of(None, (1, 5), {"x1": [0, 1]}),
    "level": one_of(0.001, 0.05),
    "missing_codes": one_of(None, 99, [99, "refused"], {"x1": [1, 2]}),
    "support": lambda draw: structure(draw).support,
    "reversed": lambda draw: draw(st.sampled_from([None, structure(draw).support])),
    "item_names": one_of(None, list("abcdef"), ["a", "a"]),
    "factor_names": one_of(None, ["A"], ["A", "B"], ["A", "B", "C"]),
    "fit": lambda draw: one_fit(),
    "a": structure,
    "b": structure,
    "method_of_efa": one_of("minres", "ml", "paf", "uls"),
}

_POPULATION = "f =~ .7*x1 + .6*x2; g =~ .7*x3 + .5*x4; f ~~ .3*g"

# Names that mean something else in these functions.
BY_FUNCTION: dict[tuple[str, str], Callable[[Draw], Any]] = {
    ("cfa", "estimator"): one_of("ml", "mlr", "fiml", "wlsmv", "dwls", "uls"),
    ("sem", "estimator"): one_of("ml", "mlr", "fiml", "wlsmv", "dwls", "uls"),
    ("cfa", "parameterization"): one_of("delta", "theta"),
    ("cfa", "missing"): one_of("listwise", "fiml", "pairwise"),
    ("sem", "parameterization"): one_of("delta", "theta"),
    ("cfa", "bounds"): one_of("none", "pos.var", "pos.lv.var"),
    ("sem", "bounds"): one_of("none", "pos.var", "pos.ov.var"),
    ("cfa", "group"): one_of(None, "x1", "q1", "a"),
    ("sem", "group"): one_of(None, "x1", "q1", "a"),
    ("cfa", "group_equal"): one_of(None, "loadings", ["loadings", "intercepts"]),
    ("sem", "group_equal"): one_of(None, "loadings", ["loadings", "intercepts"]),
    ("cfa", "group_partial"): one_of(None, ["f =~ x1"]),
    ("sem", "group_partial"): one_of(None, ["f =~ x1"]),
    ("cfa", "effect_coding"): one_of(False, True, "loadings"),
    ("sem", "effect_coding"): one_of(False, True, "loadings"),
    ("sem", "missing"): one_of("listwise", "fiml"),
    ("cfa", "method"): one_of("joint", "joint", "sam"),
    ("sem", "method"): one_of("joint", "joint", "sam"),
    ("invariance", "group"): one_of("x1", "q1", "a"),
    ("invariance", "estimator"): one_of("ml", "mlr", "fiml"),
    ("invariance", "missing"): one_of("listwise", "fiml"),
    ("invariance", "steps"): one_of(None, ["configural", "metric"], "scalar"),
    ("invariance", "group_partial"): one_of(None, ["f =~ x2"], "x2 ~ 1"),
    ("invariance", "method"): one_of("default", "standard", "satorra_2000"),
    ("compare_models", "names"): one_of(None, ["a", "b"], ["a", "a"]),
    ("compare_models", "method"): one_of("default", "standard", "satorra.2000"),
    ("bootstrap", "test"): one_of(True, False),
    ("wald_test", "constraints"): one_of("a == b", "a == 0; b == 0"),
    ("score_test", "release"): one_of(None, "f =~ x2"),
    ("score_test", "add"): one_of(None, "x1 ~~ x4"),
    ("model_power", "model"): one_of(None, "f =~ x1 + x2 + x3 + x4", "f =~ x1 + x2; g =~ x3 + x4"),
    ("model_power", "population"): one_of(None, _POPULATION, "x1 ~ .5*x2 + .2*x3; x4 ~ .9*x1"),
    ("model_power", "power"): one_of(None, 0.8),
    ("model_power", "n_obs"): one_of(None, 100, 300.0),
    ("model_power", "df"): one_of(None, 1, 50),
    ("model_power", "rmsea"): one_of(None, 0.08, 0.0),
    ("model_power", "null_rmsea"): one_of(0.0, 0.05),
    ("model_power", "alpha"): one_of(0.05, 0.01),
    ("efa", "method"): GOOD["method_of_efa"],
    ("error_bound", "method"): one_of("guarantee", "normal", "simulation"),
    ("error_bound", "n"): one_of(2, 10, 200),
    ("error_bound", "p"): one_of(2, 10, 25),
    ("stability", "fit"): one_of(None),
    ("certify", "guarantee"): one_of(False, False, True),
    ("certify", "n_splits"): one_of(0, 1),
    ("certify", "n_draws"): one_of(20, 50),
    ("certify", "error"): one_of(0.05, 0.2),
    ("plan", "design"): _design,
    ("plan", "items_per_factor"): one_of(2, 3, [3, 4], 5.0),
    ("plan", "n_factors"): one_of(None, 1, 2, 3),
    ("survey_design", "items_per_factor"): one_of(2, 3, [3, 4], 5.0),
    ("sample_size_table", "p"): one_of(10, [10, 20], np.array([5])),
    ("sample_size_table", "margin"): one_of(0.2, [0.1, 0.3]),
    ("margin", "data"): lambda draw: _design(draw) if draw(st.booleans()) else usable_tables(draw),
    ("simulate", "n"): one_of(2, 10, 50),
    ("describe", "keys"): one_of(None, {"a": ["x1", "-x2"], "b": ["x3", "x4"], "c": ["x5", "x6"]}),
    ("read_survey", "levels"): one_of(None, ["low", "high"], {"x1": ["a", "b"]}),
    ("simulate", "n_factors"): one_of(None, 2, 3),
    ("parallel_analysis", "measure"): one_of("pearson", "polychoric", "tetrachoric", "mixed"),
    ("from_matrix", "measure"): one_of("pearson", "mine", ""),
}


# Both, and growth, have the arguments of cfa.
_MODELS: dict[str, Callable[[Draw], Any]] = {
    "estimator": one_of("ml", "mlr", "fiml", "dwls", "MLM", "mlmvs", "mlf", "gls", "ulsmv"),
    "means": one_of(None),
    "information": one_of(None, "observed", "first.order"),
    "se": one_of(None, "standard", "none"),
    "test": one_of(None, "standard", "satorra.bentler"),
    "sampling_weights": one_of(None, "x1", "a"),
    "sampling_weights_normalization": one_of("total", "group", "none"),
    "cluster": one_of(None, "x2", "a"),
    "fixed_x": one_of(True, False),
    "group_label": one_of(None),
    "rotation": one_of("geomin", "oblimin", "varimax"),
    "auxiliary": one_of(None, ["x4"]),
}
BY_FUNCTION |= {(f, name): one for f in ("cfa", "sem", "growth") for name, one in _MODELS.items()}
BY_FUNCTION |= {("growth", n): one for (f, n), one in list(BY_FUNCTION.items()) if f == "cfa"}


def good_value(function: str, parameter: str) -> Callable[[Draw], Any] | None:
    """What may be given for a parameter; None if nobody said."""
    return BY_FUNCTION.get((function, parameter), GOOD.get(parameter))


def parameters_of(function: Any) -> dict[str, inspect.Parameter]:
    """Parameters by name, without those that take any number of others."""
    every = inspect.signature(function).parameters
    return {k: v for k, v in every.items() if v.kind not in (v.VAR_POSITIONAL, v.VAR_KEYWORD)}


# Arguments that are given in every case: without them nothing could be answered, or only slowly.
ALWAYS = {
    "plan": ("n_factors", "n_draws", "most_rows"),
    "survey_design": ("n_factors",),
    "stability": ("n_boot",),
    "parallel_analysis": ("n_iter",),
    "error_bound": ("n_draws",),
    "simulate": ("n",),
    "model_power": ("n_obs", "df", "rmsea"),
}
# Where cases go: good arguments of all sorts, hostile data, one bad argument.
MODES = ("options", "options", "data", "data", "argument")


def arguments(draw: Draw, name: str, function: Any, **given: Any) -> dict[str, Any]:
    """Draw arguments: those without a default always, and a few of the others."""
    mode = draw(st.sampled_from(MODES))
    found = dict(given)
    parameters = {k: v for k, v in parameters_of(function).items() if k not in given}
    needed = [k for k, v in parameters.items() if v.default is v.empty or k in ALWAYS.get(name, ())]
    optional = [k for k in parameters if k not in needed]
    most = min(len(optional), 3 if mode == "options" else 1)
    chosen = draw(st.lists(st.sampled_from(optional), max_size=most, unique=True)) if most else []
    for parameter in [*needed, *chosen]:
        good = good_value(name, parameter)
        assert good is not None, f"{name}({parameter}) has no good value; add one to GOOD"
        if good is tables and mode != "data":
            good = usable_tables
        found[parameter] = good(draw)
    if parameters and mode == "argument":
        found[draw(st.sampled_from(list(parameters)))] = draw(bad_values)
    return found
