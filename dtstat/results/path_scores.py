"""The structures of one threshold for all factors, with what the criteria say of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dtstat.arrays import FloatArray
from dtstat.selection.criteria import INFORMATION, searching
from dtstat.selection.evaluate import Evaluator
from dtstat.selection.search import Rules, complete
from dtstat.structure import Candidate
from dtstat.theory.margin import margin_values

if TYPE_CHECKING:
    from dtstat.results.fit import DTFit

_FEWEST, _WORK = 10, 150_000  # structures that are fitted: so many, or work by the square of items


def path_scores(fit: DTFit) -> pd.DataFrame:
    """One row per interval of thresholds with one structure, by rising threshold.

    The structures that last longest are completed as in the search (items attached where that was
    asked for) and fitted by the copula; the rest, which hold over slivers of the threshold, have
    no criteria if there are very many.
    """
    evaluator = Evaluator(fit.latent.R, fit.n_typical)
    rules = Rules(
        searching(fit.call.criterion),
        fit.call.min_children,
        fit.call.uncovered == "attach",
        False,
    )
    most = max(_FEWEST, _WORK // evaluator.n_items**2)
    widest = sorted(fit.path.candidates, key=lambda one: -one.persistence)[:most]
    scores = {id(one): _scores(evaluator, one, rules, fit.n_effective) for one in widest}
    strength = fit.dependence.strength
    rows = []
    for one in fit.path.candidates:
        about = {
            "n_factors": one.n_factors,
            "n_loadings": one.n_edges,
            "n_covered": one.n_covered,
            "margin": _margin(strength, one),
            **scores.get(id(one), dict.fromkeys(INFORMATION, np.nan)),
        }
        rows += [{"tau_low": low, "tau_high": high, **about} for low, high in one.intervals]
    columns = ["tau_low", "tau_high", "n_factors", "n_loadings", "n_covered", "margin"]
    frame = pd.DataFrame(rows, columns=[*columns, *INFORMATION])
    return frame.sort_values("tau_low", ignore_index=True)


def _scores(evaluator: Evaluator, one: Candidate, rules: Rules, n: float) -> dict[str, float]:
    fitted = evaluator.fit(complete(evaluator, one.structure.support, rules, n, "path"))
    return {name: fitted.cost(name, n) for name in INFORMATION}


def _margin(strength: FloatArray, one: Candidate) -> float:
    return float(margin_values(strength, one.structure.support)[0])
