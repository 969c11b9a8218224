"""The pictures of a diagnosis, of stability, and of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dtstat import checks
from dtstat.errors import InputError
from dtstat.report.factor_table import table_order
from dtstat.report.plots.heat_maps import share_map
from dtstat.report.plots.planning_plot import planning_plot
from dtstat.report.plots.trust_plots import agreement_by_size, factor_margins, factor_numbers
from dtstat.results.drawing import Drawer
from dtstat.results.fit_drawers import draw_margin

if TYPE_CHECKING:
    from dtstat.results.trust.diagnosis import Diagnosis
    from dtstat.results.trust.stability import Stability
    from dtstat.results.trust.survey_plan import SurveyPlan


def draw_diagnosed_margin(diagnosis: Diagnosis, ax: Any) -> Any:
    """Draw the margin of the fit."""
    return draw_margin(diagnosis.fit, ax)


def draw_factor_margins(diagnosis: Diagnosis, ax: Any) -> Any:
    """Draw the margins of the single factors."""
    return factor_margins(diagnosis.factors, ax)


def draw_items(stability: Stability, ax: Any) -> Any:
    """Draw how often items are in factors."""
    fit = stability.fit
    if not fit.n_factors:
        raise InputError(
            "There is no factor that items could be in; see plot('n_factors').", "kind"
        )
    order = table_order(fit.loadings)
    return share_map(stability.memberships.iloc[order], fit.support[order], ax)


def draw_n_factors(stability: Stability, ax: Any) -> Any:
    """Draw how often each number of factors was found."""
    return factor_numbers(stability.n_factors, stability.fit.n_factors, ax)


def draw_sizes(stability: Stability, ax: Any) -> Any:
    """Draw agreement against the rows of a resample."""
    return agreement_by_size(stability.sizes.sort_values("n"), ax)


def draw_plan(plan: SurveyPlan, ax: Any, target: str) -> Any:
    """Draw the probability of error against n for one target of the plan."""
    checks.choice("target", target, plan.table["target"])
    row = plan.table[plan.table["target"] == target].iloc[0]
    curves = plan.curves()
    curves = curves[curves["target"] == target]
    if curves.empty:
        raise InputError(
            f"No sample-size curve is available for target '{target}'. Plan with simulations "
            "(`n_draws` above 0), or see the summary.",
            "target",
        )
    needed = {name: float(row[name]) for name in ("guarantee", "normal", "simulation")}
    meaning = str(row["meaning"])
    title = f"{meaning[0].upper()}{meaning[1:]}: rows needed"
    return planning_plot(curves, needed, plan.error, title, ax)


DIAGNOSIS_KINDS: dict[str, Drawer] = {
    "margin": draw_diagnosed_margin,
    "factors": draw_factor_margins,
}
STABILITY_KINDS: dict[str, Drawer] = {
    "items": draw_items,
    "n_factors": draw_n_factors,
    "sizes": draw_sizes,
}
