"""The result of ``dtstat.plan``: how many rows a survey needs.

The printed plan of a survey.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from dtstat.core.arrays import FloatArray
from dtstat.core.errors import InputError
from dtstat.core.saved import register, save
from dtstat.core.tables import Summary, Table
from dtstat.structure.margin import Margin
from dtstat.trust.bounds import Bound, bounds
from dtstat.trust.planning import smallest_rows
from dtstat.trust.plots import draw_plan
from dtstat.trust.recovery import RecoveryCurve
from dtstat.trust.survey import CriticalPairs, SurveyDesign, global_pairs, local_error, local_pairs

TARGETS = {
    "graph": "one threshold separates all pairs",
    "factors": "every factor is seen at its own threshold",
    "fit": "fitting finds exactly these factors",
}
_CURVE_POINTS = 60


@register()
@dataclass(frozen=True, eq=False, repr=False)
class SurveyPlan:
    """Rows a survey needs for its structure to be found.

    Attributes
    ----------
    design
        The survey.
    measure
        Measure of dependence.
    error
        Probability of error that is accepted.
    sharp
        Whether guarantees are in the sharp form.
    simulated
        For "graph", "factors" and "fit" what simulation found; empty if none was asked for.
    seed
        Of the simulation.
    """

    design: SurveyDesign
    measure: str
    error: float
    sharp: bool
    simulated: dict[str, RecoveryCurve]
    seed: int

    @cached_property
    def margin(self) -> Margin:
        """Margins of the population."""
        return self.design.margin(self.measure)

    @property
    def bound(self) -> Bound | None:
        """Concentration inequality of the measure; None if there is none for such items.

        Those of correlations hold for items without ties only, and ratings have ties.
        """
        try:
            known = Bound.of(self.measure, self.sharp)
        except InputError:
            return None
        return known if known.covers_ties or self.design.levels is None else None

    @property
    def n_items(self) -> int:
        """Number of items p."""
        return len(self.design.loadings)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per target: n by guarantee, by normal approximation, by simulation.

        NaN where there is no such number: no bound holds for such items (none for ratings), or no
        number of rows is enough. The targets are different events.
        """
        rows = []
        for target, meaning in TARGETS.items():
            curve = self.simulated.get(target)
            rows.append(
                {
                    "target": target,
                    "meaning": meaning,
                    "guarantee": self._needed(self._guarantee(target)),
                    "normal": self._needed(self._normal(target)),
                    "simulation": math.nan if curve is None or curve.n is None else curve.n,
                    "simulation_low": math.nan if curve is None else curve.low,
                    "simulation_high": math.nan if curve is None else curve.high,
                }
            )
        return pd.DataFrame(rows)

    def curves(self) -> pd.DataFrame:
        """Probability of error against n, ready to plot: target, method, n, error.

        Methods "guarantee", "normal", "simulation" (the fitted curve) and "draws" (the share of
        draws that failed at each n tried).
        """
        needed = self.table[["guarantee", "normal", "simulation"]].to_numpy(dtype=np.float64)
        largest = float(np.nanmax(needed, initial=50))
        n = np.unique(np.geomspace(10, 2 * largest, _CURVE_POINTS).astype(int))
        parts = []
        for target in TARGETS:
            for method, error in (
                ("guarantee", self._guarantee(target)),
                ("normal", self._normal(target)),
            ):
                if error is not None:
                    parts.append(_curve(target, method, n, [error(int(m)) for m in n]))
            if target in self.simulated:
                tried = self.simulated[target]
                parts.append(_curve(target, "simulation", n, 1 - tried.rate(n.astype(float))))
                parts.append(_curve(target, "draws", tried.rows, 1 - tried.recovered / tried.draws))
        return pd.concat(parts, ignore_index=True) if parts else _curve("", "", n[:0], [])

    def tidy(self) -> pd.DataFrame:
        """One row per target and method: n."""
        long = self.table.melt(
            id_vars="target",
            value_vars=["guarantee", "normal", "simulation"],
            var_name="method",
            value_name="n",
        )
        return long.assign(error=self.error, measure=self.measure)

    def summary(self) -> Summary:
        """Print the margin and the table."""
        return plan_summary(self)

    def plot(self, ax: Any = None, target: str = "factors") -> Any:
        """Draw the probability of error against n; needs matplotlib (the extra ``plot``).

        Parameters
        ----------
        ax
            Axes to draw on; a new figure if None.
        target
            "graph", "factors" or "fit", as in ``table``.

        Raises
        ------
        InputError
            If the target is unknown, or nothing is known of it.
        MissingExtraError
            If matplotlib is not installed.
        """
        return draw_plan(self, ax, target)

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write the result to a file that :func:`dtstat.load` reads, such as "name.dtstat".

        A result saved there before is replaced; any other file only with ``overwrite=True``.
        """
        save(self, path, overwrite)

    def _guarantee(self, target: str) -> Callable[[int], float] | None:
        bound = self.bound
        if target == "fit" or bound is None:
            return None
        if target == "factors":
            if any(one.value <= 0 for one in self.margin.factors):
                return None
            return lambda n: local_error(n, self.margin, bound, self.n_items)
        if not self.margin.satisfied:
            return None
        pairs, gamma = self.n_items * (self.n_items - 1) // 2, self.margin.value
        return lambda n: min(1.0, pairs * bound(n, gamma))

    def _normal(self, target: str) -> Callable[[int], float] | None:
        if target == "fit":
            return None
        pairs: CriticalPairs | None = self._pairs[target]
        return None if pairs is None else pairs.error

    @cached_property
    def _pairs(self) -> dict[str, CriticalPairs | None]:
        return {
            "graph": global_pairs(self.design, self.measure),
            "factors": local_pairs(self.design, self.measure),
        }

    def _needed(self, error: Callable[[int], float] | None) -> float:
        if error is None:
            return math.nan
        n = smallest_rows(error, self.error)
        return math.nan if n is None else float(n)

    def __repr__(self) -> str:
        return f"SurveyPlan: {self.design}, margin {self.margin.value:.3f} by {self.measure}"


def _curve(target: str, method: str, n: object, error: object) -> pd.DataFrame:
    return pd.DataFrame({"target": target, "method": method, "n": n, "error": error})


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
