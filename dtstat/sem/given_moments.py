"""Covariances, means and numbers of rows in the place of answers, of one group or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dtstat.core.arrays import FloatArray
from dtstat.core.errors import InputError
from dtstat.dependence.moments import Moments, as_moments


@dataclass(frozen=True)
class GroupMoments:
    """Moments of each group, their means (None if not given), and the names of several groups."""

    moments: tuple[Moments, ...]
    means: tuple[dict[str, float] | None, ...]
    groups: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Items that all groups have, in the order of the first."""
        first, *others = (one.names for one in self.moments)
        return tuple(name for name in first if all(name in other for other in others))

    def of(self, items: Sequence[str]) -> list[tuple[FloatArray, FloatArray | None, int]]:
        """Covariances, means and rows of some items, in each group."""
        found = []
        for one, means in zip(self.moments, self.means, strict=True):
            mean = None if means is None else np.array([means[name] for name in items])
            found.append((one.of(items), mean, one.n_obs))
        return found


def read_moments(data: Any, n_obs: Any, means: Any) -> GroupMoments | None:
    """Return moments if that is what was given as data: a matrix, or one per group.

    Raises
    ------
    InputError
        If ``n_obs`` or ``means`` do not go with the matrices.
    """
    parts = _parts(data)
    if parts is None:
        one = as_moments(data, n_obs)
        if one is None:
            if means is not None:
                raise InputError(
                    "`means` apply only to a covariance matrix; those of answers are computed. "
                    "Leave them out.",
                    "means",
                )
            return None
        return GroupMoments((one,), (_means(means, one.names),))
    rows = _per_group(n_obs, parts, "n_obs", "the number of rows")
    centers = _per_group(means, parts, "means", "means") if means is not None else {}
    found = []
    for name, matrix in parts.items():
        one = as_moments(matrix, rows[name])
        if one is None:
            raise InputError(
                f"`data` must have a covariance matrix for each group; that of '{name}' is not "
                "symmetric.",
                "data",
            )
        found.append(one)
    given = tuple(
        _means(centers.get(name), one.names) for name, one in zip(parts, found, strict=True)
    )
    return GroupMoments(tuple(found), given, tuple(parts))


def _parts(data: Any) -> dict[str, Any] | None:
    """Matrices by group, if ``data`` is a dict or a list of square tables."""
    named: dict[str, Any] = {}
    if isinstance(data, Mapping):
        named = {str(name): part for name, part in data.items()}
    elif isinstance(data, list | tuple):
        named = {f"Group {k}": part for k, part in enumerate(data, start=1)}
    square = all(
        isinstance(part, pd.DataFrame | np.ndarray) and part.ndim == 2 and len(set(part.shape)) == 1
        for part in named.values()
    )
    return named if len(named) > 1 and square else None


def _per_group(given: Any, parts: Mapping[str, Any], argument: str, what: str) -> dict[str, Any]:
    if isinstance(given, Mapping) and set(map(str, given)) == set(parts):
        return {str(name): value for name, value in given.items()}
    if isinstance(given, list | tuple | np.ndarray) and len(given) == len(parts):
        return dict(zip(parts, given, strict=True))
    listed = ", ".join(f"'{name}'" for name in parts)
    raise InputError(
        f"`{argument}` must have {what} of each group ({listed}), as a dict or a list.", argument
    )


def _means(means: Any, names: Sequence[str]) -> dict[str, float] | None:
    if means is None:
        return None
    if isinstance(means, Mapping | pd.Series):
        found = {str(name): float(value) for name, value in means.items()}
    elif np.ndim(means) == 1 and len(means) == len(names):
        found = dict(zip(names, map(float, means), strict=True))
    else:
        raise InputError(
            f"`means` must have one value for each of the {len(names)} items of the matrix.",
            "means",
        )
    for name in names:
        if not np.isfinite(found.get(name, np.nan)):
            raise InputError(f"`means` must be numbers; that of '{name}' is missing.", "means")
    return found
