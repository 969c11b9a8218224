"""Two answers side by side, parameter by parameter."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.lavaan.answers import Answer, Key, Value

ESTIMATE = 1e-4  # absolute, or relative to lavaan's value where that is above 1
ERROR = 1e-3  # relative
MEASURE = 1e-3  # as estimates
SMALLEST = 1e-5  # standard errors below are those of fixed parameters, up to rounding


@dataclass(frozen=True)
class Difference:
    """One number on which they disagree; NaN where one of them has none."""

    what: str
    lavaan: float
    dtstat: float

    def __str__(self) -> str:
        return f"{self.what}: lavaan {self.lavaan:.6g}, dtstat {self.dtstat:.6g}"


def differences(theirs: Answer, ours: Answer) -> list[Difference]:
    """All numbers of lavaan that dtstat has otherwise or not at all, and parameters it added."""
    return [*_parameters(theirs, ours), *_measures(theirs, ours)]


def _parameters(theirs: Answer, ours: Answer) -> Iterator[Difference]:
    for key, value in theirs.parameters.items():
        if key not in ours.parameters:
            if _is_free(value):
                yield Difference(f"{_name(key)} (absent)", value.est, math.nan)
            continue
        other = ours.parameters[key]
        if not _close(value.est, other.est, ESTIMATE):
            yield Difference(_name(key), value.est, other.est)
        if not _close_error(value.se, other.se):
            yield Difference(f"se of {_name(key)}", value.se, other.se)
        if math.isfinite(other.std) and not _close(value.std, other.std, ESTIMATE):
            yield Difference(f"standardized {_name(key)}", value.std, other.std)
    for key, value in ours.parameters.items():
        if key not in theirs.parameters and _is_free(value):
            yield Difference(f"{_name(key)} (added)", math.nan, value.est)


def _measures(theirs: Answer, ours: Answer) -> Iterator[Difference]:
    for name, value in theirs.measures.items():
        other = ours.measures.get(name, math.nan)
        if math.isfinite(value) and not _close(value, other, MEASURE):
            yield Difference(name, value, other)


def _is_free(value: Value) -> bool:
    return value.se > SMALLEST


def _close(theirs: float, ours: float, tolerance: float) -> bool:
    """Whether two numbers agree; what lavaan leaves open cannot be missed."""
    if not math.isfinite(theirs):
        return True
    return abs(theirs - ours) <= tolerance * max(1.0, abs(theirs))


def _close_error(theirs: float, ours: float) -> bool:
    if not math.isfinite(theirs) or max(theirs, ours) < SMALLEST:
        return True
    return abs(theirs - ours) <= ERROR * theirs


def _name(key: Key) -> str:
    group, lhs, op, rhs = key
    return f"{lhs} {op} {rhs}".strip() + (f" [{group}]" if group else "")
