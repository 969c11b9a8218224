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

import os
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from joblib import parallel_config

import dtstat as dt
from dtstat.core.about import __version__
from dtstat.core.errors import DTError, DTWarning, InputError, nearest
from dtstat.core.saved import from_bytes
from dtstat.interop.views import view
from dtstat.interop.wire import RArray, RObject, Wire, decode, encode
from dtstat.structure.syntax import measured_structure

Function = Callable[..., Any]

PROTOCOL = 1
_PUBLIC = (
    "bartlett_test",
    "bounds",
    "cfa",
    "compare",
    "compare_solutions",
    "datasets",
    "dependence",
    "diagnose",
    "efa",
    "error_bound",
    "fit",
    "kmo",
    "load",
    "load_dataset",
    "margin",
    "max_items",
    "measures",
    "min_margin",
    "parallel_analysis",
    "plan",
    "sample_size",
    "sample_size_table",
    "sem",
    "simulate",
    "solution_path",
    "stability",
    "survey_design",
    "ucc_probability",
)

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
    with warnings.catch_warnings(record=True) as caught:
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
        return view(function(**{name: revive(value) for name, value in arguments.items()}))

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


def _predict(state: bytes, data: Any, sd: bool = False) -> pd.DataFrame:
    """Factor scores of rows."""
    result = from_bytes(state, "the saved object")
    if isinstance(result, dt.DTFit):
        return result.factor_scores(data, sd)
    if isinstance(result, dt.CFAFit):
        return result.factor_scores(data)
    raise dt.InputError(f"A {type(result).__name__} has no factor scores. Give a fitted model.")


def _text(state: bytes, **options: Any) -> str:
    """Print the summary with other options than R keeps."""
    return str(from_bytes(state, "the saved object").summary(**options).to_text())


def _fit(state: bytes) -> dt.DTFit:
    """Return the fit that R sends; other results have not what is asked of it."""
    result = from_bytes(state, "the saved object")
    if not isinstance(result, dt.DTFit):
        raise dt.InputError(f"This needs a result of dt_fit(); got a {type(result).__name__}.")
    return result


FUNCTIONS: dict[str, Function] = {
    **{name: _serve(getattr(dt, name)) for name in _PUBLIC},
    "dependence_matrix": _serve(dt.DependenceMatrix.from_matrix),
    "lavaan_structure": _serve(measured_structure),
    "predict": _serve(_predict),
    "summary_text": _serve(_text),
    "second_level": _serve(lambda state, **options: _fit(state).second_level(**options)),
    "path_scores": _serve(lambda state: _fit(state).path_scores()),
    "response_curves": _serve(lambda state: _fit(state).response_curves()),
    "report": _serve(lambda state, path, **options: str(_fit(state).report(path, **options))),
    "echo": lambda value: value,
}
