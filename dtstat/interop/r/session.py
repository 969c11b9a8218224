"""R inside Python: started once, on first use, and called so that it neither prints nor crashes."""

from __future__ import annotations

import os
import warnings
from functools import cache
from typing import Any

from dtstat.core.errors import (
    DTError,
    EstimationError,
    EstimationWarning,
    InputError,
    MissingExtraError,
)

_FEATURE = "The way to R"
_INSTALL_R = "On Debian: apt-get install r-base-dev."
_PIN = "rpy2>=3.5.17,<3.6"
# What loaders of shared libraries say when rpy2 wants a function that this R does not have.
_TOO_NEW = ("undefined symbol", "symbol not found", "not found in library")

# Errors are caught in R: rpy2 would write them to the console before it raises them. Every
# function is called by another one, because some (lavaan's) read their own name from the call.
_GUARD = """
function(f, ...) {
  notes <- character()
  utils::capture.output(
    answer <- withCallingHandlers(
      tryCatch(list(value = f(...)), error = function(e) list(error = conditionMessage(e))),
      warning = function(w) {
        notes <<- c(notes, conditionMessage(w))
        invokeRestart("muffleWarning")
      },
      message = function(m) invokeRestart("muffleMessage")
    )
  )
  list(failed = names(answer) == "error", answer = answer[[1]],
       notes = unique(enc2utf8(notes)))
}
"""


class RUnavailableError(DTError, ImportError):
    """R is not there, or does not fit the installed rpy2."""


@cache
def interface() -> Any:
    """Start R and return rpy2's lower interface, which converts nothing by itself.

    Raises
    ------
    MissingExtraError
        Without rpy2.
    RUnavailableError
        Without an R that this rpy2 can use.
    """
    path = os.environ.get("LD_LIBRARY_PATH")
    try:
        with warnings.catch_warnings():
            # rpy2 warns of each variable that R's own start script would set differently.
            warnings.simplefilter("ignore")
            import rpy2.rinterface as ri

            ri.initr()
    except ModuleNotFoundError as error:
        # A broken installation of the package is another matter and must show as itself.
        if error.name != "rpy2":
            raise
        raise MissingExtraError(_FEATURE, "rpy2", "r") from error
    except Exception as error:  # rpy2 raises what comes: OSError, RuntimeError, cffi's own
        raise _unavailable(error) from error
    finally:
        # With R's own path, which rpy2 sets, child Pythons would load a wrong library.
        if path is None:
            os.environ.pop("LD_LIBRARY_PATH", None)
        else:
            os.environ["LD_LIBRARY_PATH"] = path
    return ri


def _unavailable(error: Exception) -> RUnavailableError:
    if any(sign in str(error) for sign in _TOO_NEW):
        return RUnavailableError(
            "The installed rpy2 needs a newer R than the one found: versions from 3.6 do not work "
            f'with R 4.2. Install an older rpy2 with: pip install "{_PIN}", or a newer R. '
            f"({error})"
        )
    return RUnavailableError(
        f"{_FEATURE} needs R, which could not be started: {error} Install R, or set R_HOME. "
        f"{_INSTALL_R}"
    )


@cache
def function(code: str) -> Any:
    """Make a function of its source in R, once."""
    return interface().evalr(code)


def call(code: str, *values: Any, doing: str, **named: Any) -> tuple[Any, list[str]]:
    """Call an R function with R values; return the R value and the warnings it gave.

    Parameters
    ----------
    code
        Source of the function.
    values, named
        Its arguments.
    doing
        What the error message says has failed.

    Raises
    ------
    EstimationError
        If R stops; with R's message.
    """
    failed, answer, notes = function(_GUARD)(function(code), *values, **named)
    if failed[0]:
        raise EstimationError(f"{doing} failed in R: {' '.join(str(answer[0]).split())}")
    return answer, list(notes)


def value(code: str, *values: Any) -> Any:
    """Call an R function that only converts, and return its value.

    Raises
    ------
    InputError
        If R stops; with R's message.
    """
    try:
        return call(code, *values, doing="The conversion")[0]
    except EstimationError as error:
        raise InputError(str(error)) from error


def has_package(name: str) -> bool:
    """Whether an R package can be loaded."""
    code = "function(name) suppressWarnings(requireNamespace(name, quietly = TRUE))"
    return bool(value(code, interface().StrSexpVector([name]))[0])


def require_package(name: str) -> None:
    """Refuse to go on without an R package, and say how to install it."""
    if not has_package(name):
        raise InputError(
            f"The R package '{name}' is not installed. Install it in R with "
            f"install.packages('{name}'), or on Debian with apt-get install r-cran-{name.lower()}."
        )


def r_options(options: dict[str, Any]) -> dict[str, Any]:
    """Spell options as R does: dots for underscores."""
    return {name.replace("_", "."): option for name, option in options.items()}


def warn(notes: list[str], what: str) -> None:
    """Pass on what R warned of, as if the caller of the caller had done so."""
    for note in notes:
        warnings.warn(f"{what}: {' '.join(note.split())}", EstimationWarning, stacklevel=3)
