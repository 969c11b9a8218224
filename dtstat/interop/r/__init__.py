"""R from Python: its data, psych's and lavaan's models beside ours, and values there and back.

Needs R and the extra ``r`` (rpy2). R starts on first use, in this process. Whatever comes back is
plain Python: frames, numbers, text. What is missing in R is missing here, of every type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from dtstat.core.errors import DTError, InputError, nearest
from dtstat.efa.congruence import SolutionComparison, compare_solutions
from dtstat.interop.r import session
from dtstat.interop.r.models import (
    RFactors,
    RModel,
    lavaan_cfa,
    psych_fa,
    read_factors,
    read_parameters,
)
from dtstat.interop.r.session import RUnavailableError
from dtstat.interop.r.values import kind, read_frame, read_matrix, read_vector, write

__all__ = [
    "RFactors",
    "RModel",
    "RUnavailableError",
    "compare",
    "from_r",
    "lavaan_cfa",
    "psych_fa",
    "r_available",
    "r_dataset",
    "to_r",
]

_READERS: dict[str, Callable[[Any], Any]] = {
    "frame": read_frame,
    "matrix": read_matrix,
    "vector": read_vector,
    "factors": read_factors,
    "lavaan": read_parameters,
}
_DATASET = """
function(name, package) {
  place <- new.env()
  suppressWarnings(utils::data(list = name, package = package, envir = place))
  if (exists(name, place, inherits = FALSE)) return(list(get(name, place)))
  sub(" .*", "", utils::data(package = package)$results[, "Item"])
}
"""


def r_available(*packages: str) -> bool:
    """Whether R can be used from here, and has these packages.

    Parameters
    ----------
    packages
        Names of R packages.
    """
    try:
        return all([session.interface() is not None, *map(session.has_package, packages)])
    except (ImportError, DTError):
        return False


def from_r(obj: Any) -> Any:
    """Turn a value of R, as rpy2 holds it, into a Python value.

    Parameters
    ----------
    obj
        Data frame, tibble or matrix (→ DataFrame; row names become the index), vector or factor
        (→ Series; names become the index), list (→ dict if it has names, else list), what psych's
        ``fa`` or R's ``factanal`` returned (→ RFactors), a lavaan fit (→ its parameter table) or
        NULL (→ None). Whole numbers with gaps become floats, truth values with gaps pandas'
        "boolean". Labeled columns keep their codes; those declared missing become missing.

    Raises
    ------
    InputError
        If the value, or a column of it, is anything else: dates, times, lists inside a frame.
    """
    if not isinstance(obj, session.interface().Sexp):
        raise InputError(
            f"`obj` must be a value of R, as rpy2 holds it; got {type(obj).__name__}.", "obj"
        )
    what = kind(obj)
    if what in _READERS:
        return _READERS[what](obj)
    if what == "list":
        return _read_list(obj)
    if what == "nothing":
        return None
    raise InputError(
        f"A value of R's class '{what.removeprefix('refused: ')}' has no counterpart here. Take "
        "the parts you need in R: frames, matrices, vectors or lists of them.",
        "obj",
    )


def _read_list(obj: Any) -> dict[str, Any] | list[Any]:
    # Called through R, because objects of rpy2's upper interface convert what they hold.
    plain, names = session.value("function(x) list(unname(x), as.character(names(x)))", obj)
    values, keys = [from_r(part) for part in plain], [str(name) for name in names]
    if "" in keys or len(set(keys)) != len(keys) or len(keys) != len(values) or not keys:
        return values
    return dict(zip(keys, values, strict=True))


def to_r(value: Any) -> Any:
    """Turn a Python value into one of R, as rpy2 holds it.

    Parameters
    ----------
    value
        DataFrame, Series, array of one or two dimensions, Structure or DTFit (→ psych's keys list),
        DependenceMatrix (→ matrix with names), number, text, truth value, None (→ NULL), or a
        list or dict of them. Columns may hold numbers, truth values, text or categories; gaps
        become NA. R has no text beside its levels: categories become text.

    Raises
    ------
    InputError
        If there is no counterpart in R: dates, whole numbers of more than 15 digits, columns of
        mixed types.
    """
    converted = write(value)
    from rpy2 import robjects

    plain = robjects.default_converter  # whatever others have activated
    with robjects.conversion.localconverter(plain):
        return plain.rpy2py(converted)


def r_dataset(package: str, name: str) -> pd.DataFrame:
    """Load a data set of an R package, such as ``r_dataset("psych", "bfi")``.

    Parameters
    ----------
    package, name
        R package, and its data set.

    Raises
    ------
    InputError
        If R does not have it, or it is no table.
    """
    session.require_package(package)
    found = session.value(_DATASET, write(name), write(package))
    if kind(found) != "list":
        known = nearest(name, {str(item) for item in found})
        raise InputError(f"There is no data set '{name}' in R's '{package}'. {known}", "name")
    table = from_r(found[0])
    if not isinstance(table, pd.DataFrame):
        raise InputError(
            f"'{name}' of R's '{package}' is neither a data frame nor a matrix.", "name"
        )
    return table


def compare(result: Any, other: Any) -> SolutionComparison:
    """Match the factors of a dtstat result with those that R found, by Tucker's congruence.

    Parameters
    ----------
    result
        What :func:`dtstat.fit`, :func:`dtstat.cfa` or :func:`dtstat.efa` returned, or a Structure.
    other
        What :func:`psych_fa`, :func:`lavaan_cfa` or :func:`from_r` returned.

    Raises
    ------
    InputError
        If one has no loadings, or the items are not the same.
    """
    return compare_solutions(result, other)
