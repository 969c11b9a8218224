"""All that R may call: one function in, one plain answer out.

R sends the name of a function and its arguments as :mod:`dtstat.interop.bridge.wire` writes them,
and gets back a dict that is either ``{"ok": True, "value": ..., "warnings": [...]}`` or ``{"ok":
False, "error": {...}}``. Nothing is raised into R, nothing is printed, no Python object crosses.
Progress is a function of (done, total) that is called from the main thread alone.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from joblib import parallel_config

from dtstat.errors import DTError, DTWarning, InputError, nearest
from dtstat.interop.bridge.functions import FUNCTIONS
from dtstat.interop.bridge.wire import Wire, decode, encode
from dtstat.version import __version__

PROTOCOL = 1

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
        return _refused(
            "ForkError",
            "dtstat cannot be used in a forked process, as parallel::mclapply makes them. Use "
            "parallel::parLapply, or the argument `n_jobs`.",
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DTWarning)
        try:
            value = _run(name, arguments, progress)
        except KeyboardInterrupt:
            return _refused("KeyboardInterrupt", "Interrupted.")
        except DTError as error:
            answer = _refused(type(error).__name__, str(error))
            answer["error"]["argument"] = getattr(error, "argument", None)
            return answer | {"warnings": _told(caught)}
        except Exception as error:
            text = f"internal error ({type(error).__name__}): {error}"
            return _refused("InternalError", text, traceback.format_exc())
    return {"ok": True, "value": value, "warnings": _told(caught)}


def _run(name: str, arguments: Mapping[str, Any], progress: Any) -> Wire:
    function = FUNCTIONS.get(name)
    if function is None:
        raise InputError(f"There is no function '{name}'. {nearest(name, FUNCTIONS)}")
    decoded = {key: _decoded(key, value) for key, value in arguments.items()}
    if progress is not None:
        decoded["progress"] = _on_main_thread(progress)
    # Worker processes would outlive R; threads share the data, and kernels release the lock.
    with parallel_config(backend="threading"):
        return encode(function(**decoded))


def _decoded(name: str, value: Any) -> Any:
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


def _told(caught: list[warnings.WarningMessage]) -> list[dict[str, str]]:
    return [
        {"class": one.category.__name__, "message": str(one.message)}
        for one in caught
        if issubclass(one.category, DTWarning)
    ]


def _refused(kind: str, message: str, trace: str = "") -> dict[str, Any]:
    error = {"class": kind, "message": message, "argument": None, "traceback": trace}
    return {"ok": False, "error": error, "warnings": []}
