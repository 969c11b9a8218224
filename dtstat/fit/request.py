"""Sets of arguments of ``fit`` that go together.

The call that makes a fit again, as code.
"""

from __future__ import annotations

import json
import keyword
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from dtstat.core import checks
from dtstat.core.errors import InputError
from dtstat.core.saved import register
from dtstat.dependence.measures import REGISTRY
from dtstat.search.choose import GIVEN

if TYPE_CHECKING:
    from dtstat.fit.result import DTFit


@register()
@dataclass(frozen=True)
class FitCall:
    """What was asked for; the arguments of :func:`dtstat.fit`, and the version that answered."""

    measure: str
    search: str
    thresholds: str
    estimator: str
    criterion: str
    min_children: int
    uncovered: str
    refine: bool
    missing: str
    misfit: str
    seed: int | None
    version: str
    preset: str | None = None
    finalists: int | None = None

    def asked(self) -> dict[str, Any]:
        """Return the arguments by name, without the version."""
        return {name: value for name, value in asdict(self).items() if name != "version"}


# Section 5.1 and appendix C: a grid of 50 thresholds on [0, 1], networks, validation. A single item
# that is isolated is an independent maximal clique, hence a factor, in the paper; "paper_fast" asks
# for two. dtstat.curves.stochastic_em has what else differs from the paper.
_PAPER: dict[str, Any] = {
    "search": "threshold",
    "thresholds": "50",
    "estimator": "neural",
    "criterion": "validation",
    "min_children": 1,
    "uncovered": "report",
    "misfit": "none",
}
PRESETS: dict[str, dict[str, Any]] = {
    "paper": {**_PAPER, "finalists": None},
    "paper_fast": {**_PAPER, "min_children": 2},
}
_DEFAULTS = {
    "search": "barcode",
    "thresholds": "exact",
    "estimator": "copula",
    "criterion": "ebic",
    "min_children": 3,
    "uncovered": "attach",
    "misfit": "estimated",
    "finalists": 3,
}


def with_preset(call: FitCall, preset: str | None) -> FitCall:
    """Return the call with what a preset says.

    Raises
    ------
    InputError
        If there is no such preset, or an argument was given that contradicts it.
    """
    if preset is None:
        return call
    settings = PRESETS[checks.choice("preset", preset, PRESETS)]
    if call.search == GIVEN:
        raise InputError("`preset` searches for a structure. Leave `structure` out.", "structure")
    for name, usual in _DEFAULTS.items():
        given = getattr(call, name)
        if name in settings and given not in (usual, settings[name]):
            meant = "all structures" if settings[name] is None else repr(settings[name])
            raise InputError(
                f"`preset` '{preset}' means {name}={meant}; got {given!r}. Leave one of the two "
                "out.",
                name,
            )
    return replace(call, preset=preset, **settings)


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
_BESIDE_PRESET = ("refine", "missing", "finalists", "seed")  # what a preset leaves open


class _Name(str):
    """A name in code, not a text."""


def python_code(fit: DTFit) -> str:
    """Return the call in Python, every argument written out."""
    found = _arguments(fit)
    if fit.sample is None:
        del found["measure"]  # the matrix knows
    arguments = [f"    {name}={_literal(value)}," for name, value in found.items()]
    given = [f"structure = {_structure(fit)}"] if fit.call.search == GIVEN else []
    return "\n".join(
        ["import dtstat as dt", "", *given, "fit = dt.fit(", "    data,", *arguments, ")"]
    )


def r_code(fit: DTFit) -> str:
    """Return the call in R; a matrix of R's own does not know its measure."""
    written = [f"  {name} = {_literal(value, True)}" for name, value in _arguments(fit).items()]
    given = f"structure <- {_structure_in_r(fit)}\n" if fit.call.search == GIVEN else ""
    arguments = ",\n".join(written)
    return f"library(dtstat)\n\n{given}fit <- dt_fit(\n  data,\n{arguments}\n)"


def _structure(fit: DTFit) -> str:
    """Return code for a structure that was given; items of no factor are named besides."""
    items = f", {list(fit.item_names)!r}" if fit.structure.uncovered else ""
    return f"dt.Structure.from_keys({fit.structure.to_keys()!r}{items})"


def _structure_in_r(fit: DTFit) -> str:
    def vector(names: Iterable[str]) -> str:
        # JSON writes texts as R reads them.
        return f"c({', '.join(json.dumps(name, ensure_ascii=False) for name in names)})"

    keys = fit.structure.to_keys().items()
    listed = [f"{json.dumps(k, ensure_ascii=False)} = {vector(names)}" for k, names in keys]
    items = f", {vector(fit.item_names)}" if fit.structure.uncovered else ""
    return f"dt_structure(list({', '.join(listed)}){items})"


def _arguments(fit: DTFit) -> dict[str, object]:
    call = fit.call
    found: dict[str, object] = {"measure": _measure(fit)}
    if call.preset is not None:
        return {"preset": call.preset} | found | _known(fit, _BESIDE_PRESET)
    if call.search == GIVEN:
        found["structure"] = _Name("structure")
    else:
        found["search"] = call.search
    if call.search == "threshold":
        found["thresholds"] = _thresholds(fit)
    options = _known(fit, _OPTIONS)
    if fit.sample is None:  # a matrix has no answers that may be missing
        del options["missing"]
        if fit.n_typical == fit.n_obs:  # else it has counts of its own, for each pair
            found["n_obs"] = fit.n_obs
    return found | options


def _known(fit: DTFit, names: tuple[str, ...]) -> dict[str, object]:
    values = {name: getattr(fit.call, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _measure(fit: DTFit) -> object:
    """Return the name of the measure; a function of the user's is named as code."""
    name = fit.call.measure
    if name in REGISTRY or fit.sample is None:
        return name
    plain = name.isidentifier() and not keyword.iskeyword(name)
    return _Name(name if plain else "measure")


def _thresholds(fit: DTFit) -> object:
    if fit.grid is None:
        return "exact"
    text = fit.call.thresholds
    return int(text) if text.isdigit() else tuple(fit.grid.tolist())


def _literal(value: object, in_r: bool = False) -> str:
    if isinstance(value, bool):
        return str(value).upper() if in_r else str(value)
    if isinstance(value, tuple):
        listed = ", ".join(map(repr, value))
        return f"c({listed})" if in_r else f"[{listed}]"
    if isinstance(value, _Name) or not isinstance(value, str):
        return str(value)
    return f'"{value}"'
