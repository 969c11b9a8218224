"""What holds for any result: its numbers are finite, its methods answer, and it can be kept."""

from __future__ import annotations

import dataclasses
import inspect
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from fuzz_harness import attempt, expect
from fuzz_values import bad_values
from hypothesis import strategies as st

import dtstat as dt
from dtstat.core.tables import Summary

# Where a result may hold NaN or an infinity, and why.
NOT_FINITE = {
    "ItemData.values": "missing answers",
    "Answers.values": "missing answers",
    "Description.items": "items without answers or variation",
    "Description.people": "indices that the answers do not give",
    "Level.price": "one factor cannot be one fewer",
    "Level.correlation": "one factor has no other",
    "Level.agreement": "the items were sorted in one way only",
    "Level.step": "one factor cannot be one fewer",
    "Contender.held_out": "no rows were held out",
    "Contender.behind": "no rows were held out",
    "StandardErrors.loadings": "not tested, or no loading there",
    "StandardErrors.factor_correlations": "not tested, and its diagonal",
    "ModelComparison.aic": "least squares has no likelihood",
    "ModelComparison.bic": "least squares has no likelihood",
    "Difference": "a scaling factor that is not positive, which is said",
    "Release": "the data say nothing about a parameter; equations are not standardized",
    "SEMEstimate.covariance": 'no standard errors were asked for: se="none"',
    "Test.scaling": "a scaling factor that is not positive, which is said",
    "KMO": "all correlations of an item are 0",
    "Reliability": "omega of two items, alpha of one, ordinal values of other items",
    "RecoveryCurve.low": "the search gave up",
    "RecoveryCurve.high": "the search gave up",
}
# Methods of results that need no argument; each result has some of them.
TELLING = ("summary", "to_frame", "tidy", "glance", "steps", "table", "reliability", "to_lavaan")
TELLING += ("to_keys", "factor_table", "residuals", "modification_indices", "barcode", "curves")
TELLING += ("parent_sharing_graph", "path_scores", "response_curves", "_repr_html_")
TELLING += ("to_dot", "to_tikz")
DEAR = ("path_scores", "response_curves")
SAVED = (dt.DTFit, dt.CFAFit, dt.Diagnosis, dt.Stability, dt.SurveyPlan, dt.Bootstrap)
SAVED += (dt.Certificate,)
SAVED += (dt.Invariance, dt.ModelComparison, dt.ModelPower, dt.ScoreTest, dt.VuongTest, dt.WaldTest)


def check_result(draw: Any, label: str, result: Any) -> None:
    """Hold a result to what all results promise."""
    if result is None:
        return
    check_numbers(label, result)
    attempt(f"repr of {label}", repr, result)
    attempt(f"str of {label}", str, result)
    if type(result).__module__.startswith("dtstat"):
        _check_methods(draw, label, result)
        _check_properties(label, result)
    if isinstance(result, SAVED):
        _check_saved(label, result)
    if isinstance(result, dt.DTFit):
        which = draw(st.sampled_from([1, 2, 3.0, "fine", "broad", "middle", None, 99]))
        found = attempt("DTFit.level", result.level, which)
        expect(found is None or found.n_factors <= len(result.tree), "DTFit.level", which)
        model = draw(st.sampled_from(["higher_order", "bifactor", "simpel"]))
        attempt("DTFit.to_lavaan", result.to_lavaan, model)
        attempt("DTFit.suggest_names", result.suggest_names)
        names = draw(st.sampled_from([{"F1": "one"}, {"F1": "\n"}, ["a"], "a", {"F1": "x1"}, 3]))
        attempt("DTFit.rename", result.rename, names)
        factors = draw(st.sampled_from([["F1"], "F2", [], None, ["F1", "F1"]]))
        turned = attempt("DTFit.reflect", result.reflect, factors)
        same = turned is None or np.abs(turned.loadings).equals(np.abs(result.loadings))
        expect(same, "DTFit.reflect", factors)
    if isinstance(result, dt.SolutionPath):
        check_result(draw, f"{label}.at", attempt("at", result.at, draw(st.floats(0, 1))))
        attempt("SolutionPath.at", result.at, draw(bad_values))


def _check_methods(draw: Any, label: str, result: Any) -> None:
    for name in TELLING:
        method = getattr(result, name, None)
        if method is None or not callable(method):
            continue
        if name in DEAR and draw(st.integers(0, 3)):
            continue
        told = attempt(f"{type(result).__name__}.{name}", method)
        check_told(f"{label}.{name}", told)
        if isinstance(told, Summary) and not draw(st.integers(0, 3)):
            _check_exported(draw, label, told)
        optional = list(inspect.signature(method).parameters)
        if optional and not draw(st.integers(0, 3)):
            bad = {draw(st.sampled_from(optional)): draw(bad_values)}
            if not any(k in bad for k in ("options", "kwargs")):
                check_told(label, attempt(f"{type(result).__name__}.{name}", method, **bad))


def check_told(label: str, told: Any) -> None:
    """Hold what a method returned to the rule."""
    if told is None:
        return
    attempt(f"repr of {label}", repr, told)
    if isinstance(told, pd.DataFrame):
        return  # how it is written is the work of pandas
    if isinstance(told, Summary):
        attempt(f"{label}.to_markdown", told.to_markdown)
    for form in ("to_text", "to_html", "to_latex"):
        if hasattr(told, form):
            text = attempt(f"{label}.{form}", getattr(told, form))
            if form == "to_html" and text is not None:
                expect("<script" not in text and "<b>" not in text, f"{label}: live HTML", text)


def _check_exported(draw: Any, label: str, summary: Any) -> None:
    """A summary can be saved in any format, and with any arguments gives a file or a DTError."""
    ending = draw(st.sampled_from(["docx", "xlsx", "tex", "html", "md", "csv", "txt"]))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"tables.{ending}"
        attempt(f"{label}.save", summary.save, file, style=draw(st.sampled_from(["plain", "apa"])))
        expect(file.exists(), f"{label}: cannot be saved as {ending}", summary)
        bad = {draw(st.sampled_from(["style", "label", "number", "overwrite"])): draw(bad_values)}
        attempt(f"{label}.save", summary.save, Path(folder) / f"again.{ending}", **bad)


def _check_properties(label: str, result: Any) -> None:
    for name, _ in inspect.getmembers(type(result), lambda member: isinstance(member, property)):
        if not name.startswith("_"):
            attempt(f"{type(result).__name__}.{name}", getattr, result, name)
    cached = [k for k, v in vars(type(result)).items() if type(v).__name__ == "cached_property"]
    for name in cached:
        attempt(f"{type(result).__name__}.{name}", getattr, result, name)


def _check_saved(label: str, result: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.dtstat"
        attempt(f"{label}.save", result.save, file)
        expect(file.exists(), f"{label}: cannot be saved", result)
        again = attempt("load", dt.load, file)
        expect(again is not None, f"{label}: saved and cannot be loaded", result)
        expect(same(result, again), f"{label}: not the same after loading", result, again)


def same(a: Any, b: Any) -> bool:
    """Whether two results are equal, field by field and bit by bit."""
    if dataclasses.is_dataclass(a) and not isinstance(a, type):
        fields = [f for f in dataclasses.fields(a) if f.metadata.get("saved", True)]
        return type(a) is type(b) and all(
            same(getattr(a, f.name), getattr(b, f.name)) for f in fields
        )
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and _equal_arrays(a, b)
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, float) and math.isnan(a):
        return isinstance(b, float) and math.isnan(b)
    return bool(a == b)


def _equal_arrays(a: np.ndarray, b: np.ndarray) -> bool:
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def check_numbers(label: str, value: Any) -> None:
    """Refuse NaN and infinities in a result, except where they are documented."""
    if label == "min_margin" and value == math.inf:  # not even a margin of 1 is enough
        return
    for path, number in _numbers(type(value).__name__, value, 0):
        if not any(path.startswith(known) for known in NOT_FINITE):
            expect(bool(np.isfinite(number).all()), f"{label}: not finite at {path}", number)


def _numbers(path: str, value: Any, depth: int) -> Any:
    if isinstance(value, float | np.floating):
        yield path, np.asarray(value)
    elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
        yield path, value
    else:
        for inner, one in _parts(path, value) if depth < 6 else ():
            yield from _numbers(inner, one, depth + 1)


def _parts(path: str, value: Any) -> list[tuple[str, Any]]:
    """What a value is made of, with names."""
    if isinstance(value, pd.DataFrame):
        named = zip(map(str, value.columns), value.dtypes, range(value.shape[1]), strict=True)
        floats = [(name, k) for name, kind, k in named if kind.kind == "f"]
        return [(f"{path}.{name}", value.iloc[:, k].to_numpy()) for name, k in floats]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        name = type(value).__name__
        fields = dataclasses.fields(value)
        return [(f"{name}.{field.name}", getattr(value, field.name)) for field in fields]
    if isinstance(value, tuple | list):
        return [(path, one) for one in value]
    if isinstance(value, dict):
        return [(f"{path}[{key}]", one) for key, one in value.items()]
    return []
