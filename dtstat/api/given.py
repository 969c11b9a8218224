"""What may stand for a structure, a model or a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dtstat import checks
from dtstat.arrays import FloatArray
from dtstat.data import ItemData, as_frame
from dtstat.data.checks import is_symmetric_matrix
from dtstat.dependence import DependenceMatrix
from dtstat.errors import InputError
from dtstat.estimation.sem.moments import Moments, given_correlations, given_covariances
from dtstat.estimation.sem.syntax import measured_structure
from dtstat.results import CFAFit
from dtstat.structure import Comparison, Structure
from dtstat.structure import compare as compare_structures

Given = Structure | Mapping[str, Any] | str | Any  # the last: a result that has a structure

_FORMS = "a Structure, a fit, a dict from factor to items, or lavaan's syntax"


def as_structure(value: object, argument: str) -> Structure:
    """Return the structure that was given in one of its forms.

    Raises
    ------
    InputError
        If it is none of them.
    """
    if isinstance(value, Structure):
        return value
    if isinstance(value, Mapping):
        return Structure.from_keys(value)
    if isinstance(value, str):
        return measured_structure(value)
    found = getattr(value, "structure", None)
    if isinstance(found, Structure):
        return found
    raise InputError(f"`{argument}` must be {_FORMS}; got {type(value).__name__}.", argument)


def as_model(model: object) -> str | Structure:
    """Return a model text or a structure; of a fitted model the text that was fitted."""
    if isinstance(model, CFAFit):
        return model.call.model
    return model if isinstance(model, str) else as_structure(model, "model")


def compare(estimated: Given, truth: Given) -> Comparison:
    """Compare two structures over the best matching of their factors.

    F₁ = max_π 2|Â^π ∩ A| / (2|Â^π ∩ A| + |Â^π △ A|) and HD = min_π |Â^π △ A|. Both are reached by
    the matching π that has the most edges in common, found by optimal assignment; a factor left
    without a partner counts with all its edges as wrong.

    Parameters
    ----------
    estimated, truth
        Structures of the same items, in any order, with any numbers of factors; fits, scoring keys
        and lavaan's syntax will do.

    Raises
    ------
    InputError
        If the items are not the same.

    Examples
    --------
    >>> import dtstat as dt
    >>> truth = {"A": ["a1", "a2"], "B": ["b1", "b2"]}
    >>> result = dt.compare({"F1": ["b1", "b2", "a2"], "F2": ["a1", "a2"]}, truth)
    >>> result.hamming, result.matching
    (1, {'F1': 'B', 'F2': 'A'})
    """
    return compare_structures(as_structure(estimated, "estimated"), as_structure(truth, "truth"))


def as_moments(data: Any, n_obs: int | None) -> Moments | None:
    """Return covariances or correlations, if that is what was given as data."""
    if isinstance(data, DependenceMatrix):
        return given_correlations(data, n_obs)
    S = _symmetric(data)
    if S is not None:
        return given_covariances(*S, n_obs)
    if n_obs is not None:
        advice = "The rows are counted; it is for a covariance matrix."
        raise checks.refusal("n_obs", "left out with answers", n_obs, advice)
    return None


def as_matrix(data: Any, n_obs: int | None) -> Any:
    """Return a covariance matrix that was given as data as correlations; anything else as it is."""
    if isinstance(data, DependenceMatrix):
        return data
    S = _symmetric(data)
    if S is None:
        return data
    moments = given_covariances(*S, n_obs)
    return DependenceMatrix.from_matrix(moments.values, moments.n_obs, names=moments.names)


def has_unit_diagonal(data: Any) -> bool:
    """Whether a square table has ones on its diagonal, as correlations have."""
    return bool(np.allclose(np.diag(as_frame(data).to_numpy(dtype=float)), 1, rtol=0, atol=1e-6))


def _symmetric(data: Any) -> tuple[FloatArray, list[str]] | None:
    """Values and names of a table that can only be a matrix of items by items."""
    if isinstance(data, ItemData) or not isinstance(data, pd.DataFrame | np.ndarray | list | tuple):
        return None
    if len(data) < 3 or (isinstance(data, pd.DataFrame | np.ndarray) and len(set(data.shape)) > 1):
        return None  # most data leave here, before anything is copied
    frame = as_frame(data)
    try:
        values = frame.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError):
        return None
    return (values, list(map(str, frame.columns))) if is_symmetric_matrix(values) else None
