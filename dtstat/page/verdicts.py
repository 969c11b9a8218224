"""What the page says in one sentence each: of the whole, and of every factor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dtstat.core.errors import printable
from dtstat.structure.barcode import Bar
from dtstat.trust.diagnosis import Diagnosis
from dtstat.trust.stability_result import Stability

if TYPE_CHECKING:
    from dtstat.fit.result import DTFit

LEVEL = 0.05  # of the test that decides whether a model misfits
_NAMED = 6  # items of a core that a sentence names
# Of one factor and of several, by the verdicts of Diagnosis.factors.
_GROUND = {
    "firm": (
        "is clearly supported at its own thresholds",
        "are clearly supported, each at its own thresholds",
    ),
    "unsure": ("is not distinguishable from chance", "are not distinguishable from chance"),
    "seen": ("is seen at its own thresholds", "are seen, each at its own thresholds"),
    "no core": ("is seen at no threshold", "are seen at no threshold"),
}


def bottom_line(
    fit: DTFit, diagnosis: Diagnosis | None, stability: Stability | None
) -> tuple[str, ...]:
    """How sure the structure is: its factors, its fit, and whether it comes out again."""
    return (
        *(() if diagnosis is None else (_ground(diagnosis),)),
        *((_fit(fit),) if fit.n_factors else ()),
        _again(stability),
    )


def factor_verdict(name: str, core: Bar | None, verdict: str) -> str:
    """Say where a factor is seen, by its core and its verdict, which is one of ``Diagnosis``."""
    said = f"{printable(name)} {_GROUND[verdict][0]}"
    if core is None:
        return f"{said}."
    more = f" and {len(core.items) - _NAMED} more" if len(core.items) > _NAMED else ""
    items = ", ".join(map(printable, core.items[:_NAMED]))
    return f"{said}: {items}{more}, from {core.birth:.3f} to {core.death:.3f}."


def _ground(diagnosis: Diagnosis) -> str:
    found = diagnosis.factors.groupby("verdict", sort=False)["factor"].agg(list)
    if len(found) == 1 and len(found.iloc[0]) > 1:
        if found.index[0] == "unsure":  # "all are not" may be read as "not all are"
            return f"None of the {len(found.iloc[0])} factors is seen beyond chance."
        return f"All {len(found.iloc[0])} factors {_GROUND[found.index[0]][1]}."
    parts = (
        f"{_listed(found[key])} {words[len(found[key]) > 1]}"
        for key, words in _GROUND.items()
        if key in found
    )
    return f"{'; '.join(parts)}."


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _fit(fit: DTFit) -> str:
    p = fit.fit_measures["pvalue"]
    if math.isnan(p):
        return f"The fit was not tested. {fit.reported.untested}"
    value = f"p = {p:.3f}" if p >= 0.0005 else "p < 0.001"
    if p < LEVEL:
        return f"The model misfits by more than sampling error ({value})."
    return f"No misfit beyond sampling error was found ({value})."


def _again(stability: Stability | None) -> str:
    if stability is None:
        return "Whether other samples would give the same was not looked at; see stability()."
    main, found = stability.main, stability.agreement
    same = (found.f1 == 1).mean()
    number = found.n_factors.get(stability.fit.n_factors, 0) / main.n_done
    return (
        f"Of {main.n_done} resamples {same:.1%} gave the same structure, {number:.1%} the same "
        "number of factors."
    )
