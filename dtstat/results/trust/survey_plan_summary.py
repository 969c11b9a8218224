"""The printed plan of a survey."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dtstat.arrays import FloatArray
from dtstat.report import Summary, Table
from dtstat.theory.bounds import bounds

if TYPE_CHECKING:
    from dtstat.results.trust.survey_plan import SurveyPlan


def plan_summary(plan: SurveyPlan) -> Summary:
    """Head: the survey and its margin; then the table of sample sizes."""
    return Summary(_head(plan), (_table(plan),))


def _head(plan: SurveyPlan) -> tuple[str, ...]:
    design, margin = plan.design, plan.margin
    L, Phi = np.abs(design.loadings[design.support]), design.factor_correlations
    d = len(Phi)
    between = Phi[np.triu_indices(d, 1)]
    lines = [
        "People needed for a survey's factors to be found",
        f"Survey:        {str(design).removeprefix('SurveyDesign: ')}, loadings {_range(L)}"
        + (f", factor correlations {_range(between)}" if d > 1 else ""),
        f"Thresholdable: {margin.verdict}",
        f"Margin:        {margin.value:.3f} by {plan.measure}"
        + (" (simulated)" if margin.simulated else ""),
    ]
    local = [one.value for one in margin.factors]
    lines.append(f"Local margins: {_range(np.array(local))}, each factor at its own threshold")
    return tuple(lines)


def _table(plan: SurveyPlan) -> Table:
    frame = plan.table
    draws = max((int(c.draws.sum()) for c in plan.simulated.values()), default=0)
    shown = pd.DataFrame(
        {
            "so that": frame["meaning"],
            "guarantee": [_rows(n) for n in frame["guarantee"]],
            "normal": [_rows(n) for n in frame["normal"]],
            "simulation": [
                _simulated(n, low, high)
                for n, low, high in zip(
                    frame["simulation"],
                    frame["simulation_low"],
                    frame["simulation_high"],
                    strict=True,
                )
            ],
        }
    )
    notes = [
        f"guarantee: {_inequality(plan)}.",
        "normal: approximation, each pair with its own distance and error; no guarantee.",
        "-: no number of people is enough, or it is not known.",
        "The rows are different events: the exact graph at one threshold; every factor among the",
        "cliques of the path, with others perhaps; exactly these factors chosen by fit().",
    ]
    if plan.simulated:
        notes.append(
            f"simulation: surveys drawn from the design (up to {draws}, seed {plan.seed}) with 95 "
            "% interval; no guarantee."
        )
    else:
        notes.append("simulation: not asked for.")
    title = f"Number of people for at most {100 * plan.error:g}% error"
    return Table(
        title,
        tuple(shown.columns),
        tuple(tuple(row) for row in shown.itertuples(index=False, name=None)),
        "lrrr",
        tuple(notes),
    )


def _inequality(plan: SurveyPlan) -> str:
    """Say what the guarantee is and for which items it holds."""
    bound = plan.bound
    if bound is None and plan.measure in bounds().index:
        return (
            f"none for ratings: the inequality of '{plan.measure}' is for items without ties. "
            "Simulation is what there is"
        )
    if bound is None:
        return f"none is known for the measure '{plan.measure}'"
    form = "sharp" if plan.sharp else "the paper's"
    return (
        f"inequality in {form} form, for {bound.holds_for} and the threshold in the middle of the "
        "gap"
    )


def _rows(n: float) -> str:
    return "-" if math.isnan(n) else f"{n:.0f}"


def _simulated(n: float, low: float, high: float) -> str:
    return "-" if math.isnan(n) else f"{n:.0f} ({low:.0f} to {high:.0f})"


def _range(values: FloatArray) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f}"
