"""The call that makes a fit again, as code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dtstat.selection.choose import GIVEN

if TYPE_CHECKING:
    from dtstat.results.fit import DTFit

_OPTIONS = (
    "estimator",
    "criterion",
    "min_children",
    "uncovered",
    "refine",
    "missing",
    "misfit",
    "finalists",
    "seed",
)


class _Name(str):
    """A name in code, not a text."""


def python_code(fit: DTFit) -> str:
    """Return the call in Python, every argument written out."""
    arguments = [f"    {name}={_literal(value)}," for name, value in _arguments(fit).items()]
    return "\n".join(["import dtstat as dt", "", "fit = dt.fit(", "    data,", *arguments, ")"])


def r_code(fit: DTFit) -> str:
    """Return the call in R."""
    written = [f"  {name} = {_literal(value, True)}" for name, value in _arguments(fit).items()]
    return "library(dtstat)\n\nfit <- dt_fit(\n  data,\n" + ",\n".join(written) + "\n)"


def _arguments(fit: DTFit) -> dict[str, object]:
    call = fit.call
    if call.preset is not None:
        return {"preset": call.preset, "missing": call.missing, "seed": call.seed}
    found: dict[str, object] = {"measure": call.measure}
    if call.search == GIVEN:
        found["structure"] = _Name("structure")
    else:
        found["search"] = call.search
    if call.search == "threshold":
        found["thresholds"] = _thresholds(call.thresholds)
    options = {name: getattr(call, name) for name in _OPTIONS}
    if fit.sample is None:  # a matrix knows its measure, and has no answers that may be missing
        del found["measure"], options["missing"]
        found["n_obs"] = fit.n_obs
    return found | {name: value for name, value in options.items() if value is not None}


def _thresholds(text: str) -> object:
    if text == "exact":
        return text
    return int(text) if text.isdigit() else _Name("thresholds")


def _literal(value: object, in_r: bool = False) -> str:
    if isinstance(value, bool):
        return str(value).upper() if in_r else str(value)
    if isinstance(value, _Name) or not isinstance(value, str):
        return str(value)
    return f'"{value}"'
