"""``dtstat.plan``: how many people a survey needs for its structure to be found.

The survey's design gives the margins of the population; from these come the rows needed by
guarantee (:mod:`dtstat.trust.sample_size`), by a normal approximation
(:mod:`dtstat.trust.survey`), and by simulation of the survey (:mod:`dtstat.trust.recovery`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import FloatArray
from dtstat.core.checks import Seed, seed_number
from dtstat.core.errors import InputError
from dtstat.core.parallel import Jobs, Progress, check_jobs
from dtstat.core.saved import Saved, register
from dtstat.core.tables import Printed, Summary, Table, labeled_lines
from dtstat.dependence.measures import find_measure
from dtstat.fit.request import FitRequest
from dtstat.structure.margin import Margin
from dtstat.trust.bounds import Bound, bounds, find_bound
from dtstat.trust.plots import draw_plan
from dtstat.trust.recovery import RecoveryCurve, recovery_events, rows_for_recovery
from dtstat.trust.sample_size import smallest_rows
from dtstat.trust.survey import (
    CriticalPairs,
    SurveyDesign,
    describe_design,
    global_pairs,
    local_error,
    local_pairs,
    survey_design,
)

TARGETS = {
    "graph": "one threshold separates all pairs",
    "factors": "every factor is seen at its own threshold",
    "fit": "fitting finds exactly these factors",
    "certified": "every factor is certified, error 5 %",
}
_CURVE_POINTS = 60
_START = 200  # rows that simulation starts with, if nothing better is known
_SUREST = 1 - 2.0**-53  # the largest chance below 1
_CAUTIOUS = 0.5  # of the normal approximation, which is a bound
# Fits and certificates take far longer than a matrix: of their draws one in so many. So that few
# are made far from the answer, they start at a multiple of the rows at which the factors are seen.
_DEAR = {"fit": 10, "certified": 10}
_OF_SEEN = {"fit": 0.6, "certified": 5.0}


def plan(
    design: SurveyDesign | None = None,
    n_factors: int | None = None,
    items_per_factor: int | Sequence[int] = 5,
    loading: float | Sequence[float] | npt.ArrayLike | pd.DataFrame = 0.7,
    factor_correlation: float | npt.ArrayLike = 0.0,
    levels: int | None = None,
    measure: str = "spearman",
    error: float = 0.05,
    sharp: bool = True,
    n_draws: int = 400,
    most_rows: int = 20_000,
    seed: Seed = None,
    n_jobs: Jobs = None,
    progress: Progress = None,
) -> SurveyPlan:
    """Work out how many people a survey needs, from what its designer knows.

    Items per factor, loadings and factor correlations give the population dependence, hence the
    margin, hence the number of people: by guarantee (Lemma 2, and its local form), by normal
    approximation, and by simulation of the survey. Four things may be wanted: that one threshold
    separates all pairs (the paper's condition), that every factor is seen at its own threshold,
    that :func:`dtstat.fit` finds exactly the factors, or that :func:`dtstat.certify` certifies all
    of them. These are different events, so a smaller number in one row is not a better bound for
    another. Guarantees are for the threshold in the middle of the gap and for items without ties:
    for ratings (``levels``) there is none, only simulation.

    Parameters
    ----------
    design
        Result of :func:`dtstat.survey_design`; or else its arguments:
    n_factors, items_per_factor, loading, factor_correlation, levels
        As in :func:`dtstat.survey_design`.
    measure
        A name from :func:`dtstat.measures`.
    error
        Probability of error that is accepted, in (0, 1).
    sharp
        As in :func:`dtstat.error_bound`.
    n_draws
        Surveys simulated around each answer, a tenth as many of those that are fitted or
        certified; 0 for no simulation. More make the printed intervals narrower, as 1/√n_draws.
    most_rows
        Number of people at which simulation gives up.
    seed
        Whole number; None for a fresh one, recorded in the result.
    n_jobs, progress
        Processes, and progress.

    Returns
    -------
    SurveyPlan

    Raises
    ------
    InputError
        If an argument is out of range, or the measure unknown.

    Notes
    -----
    Cost with 25 items: some three seconds, the start of Python included, and on a busy machine
    twice that. A survey that is fitted takes forty times as long as one whose pairs are looked
    at, one that is certified twenty times, hence fewer of them.

    Examples
    --------
    >>> import dtstat as dt
    >>> plan = dt.plan(n_factors=5, loading=0.7, factor_correlation=0.3, n_draws=0)
    >>> plan.table[["target", "guarantee", "normal"]].head(2)
        target  guarantee  normal
    0    graph     2061.0   440.0
    1  factors     1911.0   381.0
    """
    find_measure(measure)
    accepted = checks.open_unit("error", error, "0.05 accepts one failure in twenty.")
    exact = checks.flag("sharp", sharp, "False is the paper's form.")
    draws = checks.repeats("n_draws", n_draws, 0, "400 is the default; 0 for no simulation.")
    most = checks.integer("most_rows", most_rows, 10, "20000 is the default.")
    if design is None:
        design = survey_design(n_factors, items_per_factor, loading, factor_correlation, levels)
    elif not isinstance(design, SurveyDesign):
        raise InputError(
            f"`design` must be made by survey_design(); got {type(design).__name__}.", "design"
        )
    elif n_factors is not None:
        raise checks.refusal("n_factors", "left out with `design`", n_factors, "It has its own.")
    jobs, number = check_jobs(n_jobs), seed_number(seed)
    computed = SurveyPlan(design, measure, accepted, exact, {}, number)
    if not draws:
        return computed
    return replace(computed, simulated=_simulate(computed, draws, most, jobs, progress))


def _simulate(
    computed: SurveyPlan, n_draws: int, most_rows: int, n_jobs: Jobs, progress: Progress
) -> dict[str, RecoveryCurve]:
    """Search for the number of people, target by target, starting from the approximation."""
    normal = dict(zip(computed.table["target"], computed.table["normal"], strict=True))
    found: dict[str, RecoveryCurve] = {}
    events = recovery_events(computed.design, planned_call(computed))
    if any(one.value <= 0 for one in computed.margin.factors):
        events.pop("certified", None)  # no number of people would do
    for key, (target, recovers) in enumerate(events.items()):
        seen = found["factors"].n if target in _OF_SEEN else None
        if seen is not None:
            start = _OF_SEEN[target] * seen
        else:
            start = _CAUTIOUS * normal[target if target == "graph" else "factors"]
        rows = round(start) if start == start else _START
        found[target] = rows_for_recovery(
            recovers,
            min(1 - computed.error, _SUREST),
            rows,
            math.ceil(n_draws / _DEAR.get(target, 1)),
            int(np.random.SeedSequence([computed.seed, key]).generate_state(1, np.uint64)[0]),
            n_jobs,
            progress,
            most_rows,
        )
    return found


def planned_call(plan: SurveyPlan) -> FitRequest:
    """Return what ``fit`` is asked for: its defaults, as far as the design allows."""
    return FitRequest(
        measure=plan.measure,
        min_children=min(FitRequest.min_children, int(plan.design.support.sum(axis=0).min())),
        refine=bool((plan.design.support.sum(axis=1) > 1).any()),
        finalists=None,
    )


@register()
@dataclass(frozen=True, eq=False, repr=False)
class SurveyPlan(Saved, Printed):
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
        For "graph", "factors", "fit" and "certified" what simulation found; empty if none was
        asked for.
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
        return find_bound(self.measure, self.design.levels is not None, self.sharp)

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
            bounds = {"guarantee": self._guarantee(target), "normal": self._normal(target)}
            for method, error in bounds.items():
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
        return Summary(_head(self), (_table(self),))

    def plot(self, ax: Any = None, target: str = "factors") -> Any:
        """Draw the probability of error against n; needs matplotlib (the extra ``plot``).

        Parameters
        ----------
        ax
            Axes to draw on; a new figure if None.
        target
            "graph", "factors", "fit" or "certified", as in ``table``.

        Raises
        ------
        InputError
            If the target is unknown, or nothing is known of it.
        MissingExtraError
            If matplotlib is not installed.
        """
        return draw_plan(self, ax, target)

    def _guarantee(self, target: str) -> Callable[[int], float] | None:
        bound = self.bound
        if target not in ("graph", "factors") or bound is None:
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
        if target not in self._critical_pairs:
            return None
        pairs = self._critical_pairs[target]
        return None if pairs is None else pairs.error

    @cached_property
    def _critical_pairs(self) -> dict[str, CriticalPairs | None]:
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


def _head(plan: SurveyPlan) -> tuple[str, ...]:
    design, margin = plan.design, plan.margin
    Phi = design.factor_correlations
    survey = (
        f"{describe_design(design)}, loadings {_range(np.abs(design.loadings[design.support]))}"
    )
    if len(Phi) > 1:
        survey += f", factor correlations {_range(Phi[np.triu_indices(len(Phi), 1)])}"
    simulated = " (simulated)" if margin.simulated else ""
    local = _range(np.array([one.value for one in margin.factors]))
    facts = (
        ("Survey", survey),
        ("Thresholdable", margin.verdict),
        ("Margin", f"{margin.value:.3f} by {plan.measure}{simulated}"),
        ("Local margins", f"{local}, each factor at its own threshold"),
    )
    return ("People needed for a survey's factors to be found", *labeled_lines(facts))


def _table(plan: SurveyPlan) -> Table:
    frame = plan.table
    draws = max((int(c.draws.sum()) for c in plan.simulated.values()), default=0)
    shown = pd.DataFrame(
        {
            "goal": frame["meaning"],
            "guarantee": [_count(n) for n in frame["guarantee"]],
            "normal": [_count(n) for n in frame["normal"]],
            "simulation": [
                "-" if math.isnan(n) else f"{n:.0f} ({low:.0f} to {high:.0f})"
                for n, low, high in zip(
                    *(frame[f"simulation{end}"] for end in ("", "_low", "_high")), strict=True
                )
            ],
        }
    )
    notes = [
        f"guarantee: {_inequality(plan)}.",
        "normal: approximation, each pair with its own distance and error; no guarantee.",
        "-: no sample size is large enough, or none is known.",
        "The rows are different events: the exact graph at one threshold; every factor among the",
        "cliques of the path, possibly with others; exactly these factors returned by fit(); all",
        "factors certified by certify().",
    ]
    notes.append(
        f"simulation: surveys drawn from the design (up to {draws}, seed {plan.seed}) with 95 "
        "% interval; no guarantee."
        if plan.simulated
        else "simulation: not asked for."
    )
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
            "Only simulation is available"
        )
    if bound is None:
        return f"none is known for the measure '{plan.measure}'"
    form = "sharp" if plan.sharp else "the paper's"
    return (
        f"inequality in {form} form, for {bound.holds_for} and the threshold in the middle of the "
        "gap"
    )


def _count(n: float) -> str:
    return "-" if math.isnan(n) else f"{n:.0f}"


def _range(values: FloatArray) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f}"
