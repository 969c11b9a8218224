"""All that R may call: one function in, one plain answer out.

R sends the name of a function and its arguments as :mod:`dtstat.interop.wire` writes them,
and gets back a dict that is either ``{"ok": True, "value": ..., "warnings": [...]}`` or ``{"ok":
False, "error": {...}}``. Nothing is raised into R, nothing is printed, no Python object crosses.
Progress is a function of (done, total) that is called from the main thread alone.

Most of ``FUNCTIONS`` are those of :mod:`dtstat` themselves: arguments have the same names, objects
of R are turned into dtstat's own on the way in, and results into the parts of an R object on the
way out (:mod:`dtstat.interop.views`). The others serve R's generics: they take the saved state of a
result and go on from there.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from inspect import signature
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from joblib import parallel_config

import dtstat as dt
from dtstat.core import checks
from dtstat.core.about import __version__
from dtstat.core.canvas import check_options
from dtstat.core.diagram_text import Diagrammed
from dtstat.core.errors import DTError, DTWarning, InputError, nearest
from dtstat.core.saved import from_bytes
from dtstat.interop.model_views import by_group
from dtstat.interop.view_parts import diagram_view
from dtstat.interop.views import view
from dtstat.interop.wire import RArray, RObject, Wire, decode, encode, matrix, vector
from dtstat.structure.syntax import measured_structure

Function = Callable[..., Any]
_Result = TypeVar("_Result")

PROTOCOL = 1
# Public functions without a twin in R; r-wrapper/PARITY.md has the reasons.
_PYTHON_ONLY = ("independent_maximal_cliques", "items")

_PROCESS = os.getpid()
# R puts its own libraries first for child processes; a worker would load the wrong Python.
os.environ.pop("LD_LIBRARY_PATH", None)


def hello() -> dict[str, Any]:
    """Return versions, for the R side to compare with its own."""
    return {
        "protocol": PROTOCOL,
        "version": __version__,
        "python": sys.version.split()[0],
        "executable": sys.executable,
        "functions": sorted(FUNCTIONS),
    }


def call(name: str, arguments: Mapping[str, Any], progress: Any = None) -> dict[str, Any]:
    """Call a function for R.

    Parameters
    ----------
    name
        One of ``FUNCTIONS``.
    arguments
        Its arguments, encoded, by name.
    progress
        Function of (done, total), or None.
    """
    if os.getpid() != _PROCESS:
        return _refusal(
            "ForkError",
            "dtstat cannot be used in a forked process, as parallel::mclapply makes them. Use "
            "parallel::parLapply, or the argument `n_jobs`.",
        )
    with warnings.catch_warnings(record=True) as caught, _interrupts():
        warnings.simplefilter("always", DTWarning)
        try:
            value = _run(name, arguments, progress)
        except KeyboardInterrupt:
            return _refusal("KeyboardInterrupt", "Interrupted.")
        except DTError as error:
            answer = _refusal(type(error).__name__, str(error))
            answer["error"]["argument"] = getattr(error, "argument", None)
            return answer | {"warnings": _list_warnings(caught)}
        except Exception as error:
            text = f"internal error ({type(error).__name__}): {error}"
            return _refusal("InternalError", text, traceback.format_exc())
    return {"ok": True, "value": value, "warnings": _list_warnings(caught)}


@contextmanager
def _interrupts() -> Iterator[None]:
    """Let every interrupt be a KeyboardInterrupt, and no business of R.

    Reticulate's handler asks R whether an interrupt is pending, by a function of R. While R
    evaluates it, R may take the interrupt itself, and a script ends. While Python is at work the
    answer is yes, and R's flag is lowered without asking; where it is out of reach (Windows), R is
    asked, and if it took the interrupt the answer was yes.
    """
    handler: Any = sys.modules.get("rpytools.signals")
    ask = getattr(handler, "_callback", None)
    if ask is None:
        yield
        return
    flag = _pending_in_r()

    def pending(taken: bool) -> Any:
        if flag is not None:
            flag.value = 0
            return True
        try:
            return ask(taken)
        except RuntimeError:
            return True

    handler._callback = pending
    try:
        yield
    finally:
        handler._callback = ask


def _pending_in_r() -> ctypes.c_int | None:
    """R's flag that an interrupt is pending, if R runs in this process and exports it."""
    try:
        return ctypes.c_int.in_dll(ctypes.CDLL(None), "R_interrupts_pending")
    except (ValueError, TypeError, OSError):
        return None


def _run(name: str, arguments: Mapping[str, Any], progress: Any) -> Wire:
    function = FUNCTIONS.get(name)
    if function is None:
        raise InputError(f"There is no function '{name}'. {nearest(name, FUNCTIONS)}")
    decoded = {key: _decode_argument(key, value) for key, value in arguments.items()}
    if progress is not None:
        decoded["progress"] = _on_main_thread(progress)
    # Worker processes would outlive R; threads share the data, and kernels release the lock.
    with parallel_config(backend="threading"):
        return encode(function(**decoded))


def _decode_argument(name: str, value: Any) -> Any:
    try:
        return decode(value)
    except DTError:
        raise
    except Exception as error:  # whatever a part that is missing or cut leads to
        raise InputError(
            f"`{name}` did not arrive as R sends values ({type(error).__name__}: {error}). Are the "
            "R package and the Python package of the same version?",
            name,
        ) from error


def _on_main_thread(progress: Callable[[int, int], Any]) -> Callable[[int, int], None]:
    """Wrap a function of R: from another thread R would abort."""

    def report(done: int, total: int) -> None:
        if threading.current_thread() is threading.main_thread():
            progress(done, total)

    return report


def _list_warnings(caught: list[warnings.WarningMessage]) -> list[dict[str, str]]:
    return [
        {"class": one.category.__name__, "message": str(one.message)}
        for one in caught
        if issubclass(one.category, DTWarning)
    ]


def _refusal(kind: str, message: str, trace: str = "") -> dict[str, Any]:
    error = {"class": kind, "message": message, "argument": None, "traceback": trace}
    return {"ok": False, "error": error, "warnings": []}


def _serve(function: Function) -> Function:
    """Let a function take and return what crosses."""

    def serve(**arguments: Any) -> Any:
        given = {name: revive(value) for name, value in arguments.items()}
        try:
            taken.bind(**given)
        except TypeError as error:
            raise InputError(
                f"R sent other arguments than Python takes ({error}). Are the R package and the "
                "Python package of the same version?"
            ) from None
        return view(function(**given))

    taken = signature(function)
    return serve


def revive(value: Any) -> Any:
    """Turn vectors and objects of R into what they stand for in Python."""
    if isinstance(value, RArray):
        return value.plain()
    if isinstance(value, list):
        return [revive(one) for one in value]
    if isinstance(value, dict):
        return {name: revive(one) for name, one in value.items()}
    if not isinstance(value, RObject):
        return value
    fields = revive(value.fields)
    if "state" in fields:
        return from_bytes(fields["state"], "the saved object")
    if value.kind == "dt_dependence":
        return _dependence(fields)
    if value.kind == "dt_sparse_dependence":
        return _sparse_dependence(fields)
    if value.kind == "dt_structure":
        negative = fields.get("reversed")
        return dt.Structure(
            _array(fields["support"]),
            _names(fields["items"]),
            _names(fields["factors"]),
            None if negative is None else _array(negative),
        )
    if value.kind == "dt_survey_design":
        loadings, Phi = _array(fields["loadings"]), _array(fields["factor_correlations"])
        return dt.survey_design(
            None, loading=loadings, factor_correlation=Phi, levels=fields["levels"]
        )
    raise dt.InputError(f"An object of the class '{value.kind}' cannot be used here.")


def _dependence(fields: dict[str, Any]) -> dt.DependenceMatrix:
    matrix = dt.DependenceMatrix.from_matrix(
        _array(fields["values"]), fields["n_obs"], fields["measure"], _names(fields["items"])
    )
    counts = fields.get("pairwise_n")
    if counts is None:
        return matrix
    return replace(matrix, pairwise_n=_array(counts).astype(np.int64))


def _sparse_dependence(fields: dict[str, Any]) -> dt.SparseDependence:
    pairs, names = fields["pairs"], _names(fields["items"])
    place = {name: k for k, name in enumerate(names)}
    i, j = (pairs[column].map(place).to_numpy(np.int32) for column in ("item", "other"))
    edges = (i, j, pairs["dependence"].to_numpy(float))
    about = fields["measure"], int(fields["n_obs"]), float(fields["floor"])
    return dt.SparseDependence.from_edges(tuple(names), *about, [edges])


def _array(value: Any) -> Any:
    return value.to_numpy() if isinstance(value, pd.DataFrame) else np.asarray(value)


def _names(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [str(name) for name in value]


def _predict(state: bytes, data: Any, **options: Any) -> pd.DataFrame:
    """Factor scores of rows."""
    result = from_bytes(state, "the saved object")
    if isinstance(result, dt.DTFit | dt.CFAFit):
        return result.factor_scores(data, **options)
    raise dt.InputError(f"A {type(result).__name__} has no factor scores. Give a fitted model.")


def _text(state: bytes, **options: Any) -> str:
    """Print the summary with other options than R keeps."""
    return str(from_bytes(state, "the saved object").summary(**options).to_text())


def _tables(state: bytes, style: str) -> dict[str, Any]:
    """Return the lines and tables of a summary, as they are set in a style."""
    summary = from_bytes(state, "the saved object").summary()
    tables = [
        {
            "number": grid.number,
            "title": grid.title,
            "columns": list(grid.headers),
            "cells": [[row[k] for row in grid.rows] for k in range(len(grid.headers))],
            "alignment": list(grid.alignment),
            "notes": list(grid.notes),
        }
        for grid in summary.grids(style)
    ]
    return {"head": list(summary.head), "tables": tables}


def _save_table(state: bytes, path: str, which: int | None = None, **options: Any) -> str:
    """Write the summary, or one of its tables, to a file whose ending says the format."""
    summary = from_bytes(state, "the saved object").summary()
    if which is None:
        return str(summary.save(path, **options))
    count = len(summary.tables)
    k = checks.integer("which", which, 1, f"There are {count} tables.", at_most=max(count, 1))
    return str(summary.tables[k - 1].save(path, **options))


def _diagrammed(state: bytes) -> Diagrammed:
    """Return a model that has a path diagram."""
    result = from_bytes(state, "the saved object")
    if not isinstance(result, Diagrammed):
        raise dt.InputError(f"A {type(result).__name__} has no path diagram. Give a fitted model.")
    return result


def _path_diagram(state: bytes, **options: Any) -> dict[str, Any]:
    """Lay out the path diagram of a model, for R to draw."""
    model = _diagrammed(state)
    return diagram_view(model.path_diagram(**check_options("diagram", model.path_diagram, options)))


def _fit(state: bytes) -> dt.DTFit:
    return _sent(state, dt.DTFit, "dt_fit")


def _model(state: bytes) -> dt.CFAFit:
    return _sent(state, dt.CFAFit, "dt_cfa")


def _sent(state: bytes, kind: type[_Result], maker: str) -> _Result:
    """Return the result that R sends; others have not what is asked of it."""
    result = from_bytes(state, "the saved object")
    if not isinstance(result, kind):
        raise dt.InputError(f"This needs a result of {maker}(); got a {type(result).__name__}.")
    return result


def _residuals(state: bytes, kind: str) -> Any:
    fit = _model(state)
    return by_group(fit, fit.residuals(kind))  # type: ignore[arg-type]  # checked there


def _htmt(state: bytes) -> Any:
    fit = _model(state)
    return by_group(fit, fit.htmt())


def _bootstrap_parameters(state: bytes, interval: str, level: float) -> pd.DataFrame:
    return _sent(state, dt.Bootstrap, "dt_bootstrap").parameters(interval, level)


def _reliability(state: bytes) -> pd.DataFrame:
    """One row per factor, or per group and factor."""
    table = _model(state).reliability()
    table.index = table.index.set_names([*table.index.names[:-1], "factor"])
    return table.reset_index()


def _regress(formula: str, fit: Any, data: Any) -> dict[str, Any]:
    """Return the parts of a latent regression."""
    one = dt.regress(formula, fit, data)
    return {
        "class": "dt_regression",
        "coefficients": vector(one.params),
        "vcov": matrix(one.cov_params()),
        "r.squared": float(one.rsquared),
        "adj.r.squared": float(one.rsquared_adj),
        "sigma": float(one.scale) ** 0.5,
        "df.residual": float(one.df_resid),
        "nobs": int(one.nobs),
        "n_given": one.n_given,
        "notes": list(one.notes),
    }


def _factor_table(state: bytes, **options: Any) -> dict[str, Any]:
    """Return the table of a psychologist as numbers, and as it is printed."""
    table = _model(state).factor_table(**options)
    return {
        "class": "dt_factor_table",
        "loadings": table.loadings,
        "variance": matrix(table.variance),
        "factor_correlations": matrix(table.correlations),
        "text": table.to_text(),
    }


def _at(dependence: Any, threshold: float, min_children: int) -> dt.Structure:
    """Return the structure at one threshold of a path, of which R keeps no cliques."""
    # Any threshold will do to make the path; it is asked for the one that is wanted.
    path = dt.solution_path(dependence, thresholds=[1.0], min_children=min_children)
    return path.at(threshold)


def _draw(design: dt.SurveyDesign, n: int, seed: int | None) -> pd.DataFrame:
    """Draw answers of a planned survey."""
    rows = checks.integer("nsim", n, 1, "It is the number of people.")
    rng = np.random.default_rng(checks.seed_number(seed))
    return pd.DataFrame(design.draw(rows, rng), columns=list(design.structure.item_names))


def _read_survey(**arguments: Any) -> pd.DataFrame:
    """Return a survey with its ids as names of rows, or aside where R would refuse them."""
    frame = dt.read_survey(**arguments)
    if frame.index.name is not None and frame.index.is_unique:
        return frame.set_axis([str(name) for name in frame.index])
    if any(frame.index.names):
        ids = [str(name) for name in frame.index.names]
        attrs = {**frame.attrs, "aside": [*ids, *frame.attrs.get("aside", ())]}
        frame = frame.reset_index()
        frame.attrs = attrs
    return frame


FUNCTIONS: dict[str, Function] = {
    **{
        name: _serve(getattr(dt, name))
        for name in dt.__all__
        if name.islower() and name not in _PYTHON_ONLY
    },
    "read_survey": _serve(_read_survey),
    "example_file": _serve(lambda name: str(dt.example_file(name))),
    "dependence_matrix": _serve(dt.DependenceMatrix.from_matrix),
    "lavaan_structure": _serve(measured_structure),
    "predict": _serve(_predict),
    "summary_text": _serve(_text),
    "candidate": _serve(lambda state, row: _fit(state).candidate(row)),
    "at": _serve(_at),
    "design_dependence": _serve(lambda design, measure: design.dependence(measure)),
    "draw": _serve(_draw),
    "factor_table": _serve(_factor_table),
    "level": _serve(lambda state, which: _fit(state).level(which)),
    "rename": _serve(lambda state, names: _fit(state).rename(names)),
    "reflect": _serve(lambda state, factors: _fit(state).reflect(factors)),
    "suggest_names": _serve(lambda state: _fit(state).suggest_names()),
    "to_lavaan": _serve(lambda state, model: _fit(state).to_lavaan(model)),
    "residuals": _serve(_residuals),
    "modification_indices": _serve(
        lambda state, **options: _model(state).modification_indices(**options)
    ),
    "compare_models": _serve(lambda fits, **options: dt.compare_models(*fits, **options)),
    "bootstrap_parameters": _serve(_bootstrap_parameters),
    "defined_intervals": _serve(
        lambda state, **options: _model(state).defined_intervals(**options)
    ),
    "htmt": _serve(_htmt),
    "model_reliability": _serve(_reliability),
    "fit_reliability": _serve(lambda state, data: _fit(state).reliability(data)),
    "plausible_values": _serve(
        lambda state, data, **options: _fit(state).plausible_values(data, **options)
    ),
    "regress": _serve(_regress),
    "path_scores": _serve(lambda state: _fit(state).path_scores()),
    "response_curves": _serve(lambda state: _fit(state).response_curves()),
    "report": _serve(lambda state, path, **options: str(_fit(state).report(path, **options))),
    "tables": _serve(_tables),
    "save_table": _serve(_save_table),
    "path_diagram": _serve(_path_diagram),
    "to_dot": _serve(lambda state, **options: _diagrammed(state).to_dot(**options)),
    "to_tikz": _serve(lambda state, **options: _diagrammed(state).to_tikz(**options)),
    "echo": lambda value: value,
}
