"""Sets of arguments of ``fit`` that go together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dtstat import checks
from dtstat.errors import InputError
from dtstat.results.fit_call import FitCall
from dtstat.selection.choose import GIVEN

# Section 5.1 and appendix C: a grid of 50 thresholds on [0, 1], networks, validation. A single item
# that is isolated is an independent maximal clique, hence a factor, in the paper; "paper_fast" asks
# for two. dtstat.estimation.neural.schedule has what else differs from the paper.
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
