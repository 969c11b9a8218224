"""The result of ``dtstat.diagnose``, and the dependence that a fitted model implies.

The tables are made in :mod:`dtstat.trust.diagnosis_tables`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import FloatArray
from dtstat.core.canvas import draw
from dtstat.core.errors import silenced
from dtstat.core.saved import Saved, register
from dtstat.core.tables import Printed, Summary
from dtstat.data.frame import Frame
from dtstat.data.items import as_items
from dtstat.dependence.compute import dependence_matrix
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.measures import INVERSE_BRIDGES, NULL_VARIANCES, REGISTRY
from dtstat.dependence.on_demand import whole_matrix
from dtstat.factors.robust import implied_correlations
from dtstat.simulation.designs import draw_normal
from dtstat.structure.margin import Margin, structure_margin
from dtstat.trust import diagnosis_tables as tables
from dtstat.trust.bounds import Bound, find_bound
from dtstat.trust.certificate import Certificate
from dtstat.trust.plots import DIAGNOSIS_KINDS
from dtstat.trust.survey import simulated_rows
from dtstat.trust.unique_child import UniqueChildAudit

if TYPE_CHECKING:
    from dtstat.fit.result import DTFit

_IMPLIED_SEED = 0


@register(shapes={"fit.support": "pd", "implied.values": "pp", "intervals.factors": "d2"})
@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Saved, Printed):
    """How far a fit can be trusted.

    Attributes
    ----------
    fit
        The fit.
    implied
        Dependence that the fitted model implies, by the measure of the fit; None if that is a
        function, which a fit does not keep.
    implied_is_simulated
        Whether that was simulated, because no formula is known.
    intervals
        Intervals of the margins; None without data.
    certificate
        What is certain about the factors, with error 5 %; None without data, or where errors of the
        measure are not known.
    """

    fit: DTFit
    implied: DependenceMatrix | None
    implied_is_simulated: bool
    intervals: MarginIntervals | None
    certificate: Certificate | None = None

    @property
    def measure(self) -> str:
        """Measure of dependence."""
        return self.fit.dependence.measure

    @cached_property
    def margin(self) -> Margin:
        """Margins of the structure in the sample."""
        strength = self.fit.dependence.strength
        return structure_margin(strength, self.fit.structure, self.measure)

    @cached_property
    def implied_margin(self) -> Margin | None:
        """Margins of the structure in the fitted model."""
        if self.implied is None:
            return None
        strength, simulated = self.implied.strength, self.implied_is_simulated
        return structure_margin(strength, self.fit.structure, self.measure, simulated)

    @property
    def verdict(self) -> str:
        """Thresholdability in words."""
        return self.margin.verdict

    @property
    def gap(self) -> tuple[float, float] | None:
        """Absolute dependences next below and above the chosen threshold.

        None if every factor has its own threshold; see ``factors`` then.
        """
        return tables.threshold_gap(self.fit)

    @property
    def bound(self) -> Bound | None:
        """Concentration inequality of the measure; None if there is none for items like these.

        Those of correlations hold for items without ties only. Of a matrix it is not known whether
        there were ties: then the inequality is conditional on there being none.
        """
        return find_bound(self.measure, bool(self.n_tied))

    @property
    def normal(self) -> Bound | None:
        """Large-sample approximation of the same, not a guarantee; None as for ``bound``."""
        if self.measure not in NULL_VARIANCES:
            return None
        known = Bound.normal(self.measure)
        return known if known.covers_ties or not self.n_tied else None

    @property
    def n_tied(self) -> int | None:
        """Items with ties (two people gave the same answer); None if that is not known."""
        return None if self.fit.sample is None else self.fit.sample.n_tied

    @property
    def error_bound(self) -> float:
        """Bound on P(Ê(τ₀) ≠ E₀), if the margin of the population is that of the sample.

        τ₀ is in the middle of the gap. Each pair uses its own number of rows. 1 if the margin is
        not positive; NaN without a bound, as for items with ties.
        """
        if self.bound is None:
            return float("nan")
        return tables.graph_error_bound(
            whole_matrix(self.fit.dependence), self.margin.value, self.bound
        )

    @cached_property
    def factors(self) -> pd.DataFrame:
        """One row per factor: how well it is supported.

        Columns: factor, n_items, margin (γ_C of all its items), lower, upper (95 %), weakest_within
        and outside (the pairs that set it), core (the clique it is read off), core_margin,
        core_lower, core_upper, core_weakest, core_outside, error_bound (of the probability that the
        core is missed if its margin is as in the sample; NaN for items with ties), error_normal
        (the same, by the normal approximation),
        verdict ("firm": the interval of the core's margin is above 0; "unsure"; "seen" without
        intervals; "no core").
        """
        return tables.factor_frame(self)

    @cached_property
    def audit(self) -> UniqueChildAudit:
        """Unique children, what depends on single items, and what keeps items out of factors."""
        return tables.unique_child_audit(self.fit)

    @property
    def pairs(self) -> pd.DataFrame:
        """One row per pair of items: dependence, implied, rows, whether they share a factor."""
        return tables.pair_frame(self)

    def tidy(self) -> pd.DataFrame:
        """One row per margin: of the whole structure, of every factor, of every core."""
        return tables.tidy_frame(self)

    def glance(self) -> pd.DataFrame:
        """One row about the whole."""
        interval = [np.nan, np.nan] if self.intervals is None else self.intervals.whole
        about = {
            "measure": self.measure,
            "n_obs": self.fit.n_obs,
            "n_items": len(self.fit.item_names),
            "n_factors": self.fit.n_factors,
            "margin": self.margin.value,
            "lower": float(interval[0]),
            "upper": float(interval[1]),
            "implied_margin": np.nan if self.implied_margin is None else self.implied_margin.value,
            "thresholdable": self.margin.satisfied,
            "error_bound": self.error_bound,
            "n_firm": int((self.factors["verdict"] == "firm").sum()),
            "unique_children": self.audit.satisfied,
            "n_fragile": len(self.audit.fragile),
        }
        return pd.DataFrame([about])

    def summary(self, max_rows: int = 20) -> Summary:
        """Print the diagnosis on a page or two; at most ``max_rows`` rows per table."""
        rows = checks.integer("max_rows", max_rows, 0, "It is the number of rows of a table.")
        return tables.diagnosis_summary(self, rows)

    def plot(self, kind: str = "margin", ax: Any = None) -> Any:
        """Draw the diagnosis; needs matplotlib (the extra ``plot``).

        Parameters
        ----------
        kind
            "margin": pairs that share a factor beside those that do not. "factors": margins of the
            factors with their intervals.
        ax
            Axes to draw on; a new figure if None.

        Raises
        ------
        InputError
            If the kind or an option is unknown, or there is nothing to draw.
        MissingExtraError
            If matplotlib is not installed.
        """
        return draw(DIAGNOSIS_KINDS, self, kind, ax, {})

    def __repr__(self) -> str:
        return f"Diagnosis: margin {self.margin.value:.3f} by {self.measure}, {self.verdict}"


@register(shapes={"whole": "2", "factors": "d2", "cores": "d2"})
@dataclass(frozen=True, eq=False)
class MarginIntervals:
    """Intervals of margins that allow for every pair being the one that decides, 95 %.

    Attributes
    ----------
    whole
        (2,) of γ.
    factors, cores
        (d, 2) of the local margins of the factors, and of the cliques they are read off (NaN
        without one).
    n_boot, n_failed
        Resamples they are from, and those that could not be used.
    """

    whole: FloatArray
    factors: FloatArray
    cores: FloatArray
    n_boot: int
    n_failed: int = 0


def implied_dependence(fit: DTFit) -> tuple[DependenceMatrix | None, bool]:
    """Return the dependence that the fitted model implies, and whether it is simulated.

    By formula for rank measures and correlations of linear and copula models; from rows drawn
    from the model otherwise. None if the measure is not one of dtstat's.
    """
    measure, names = fit.dependence.measure, fit.item_names
    if measure not in REGISTRY:
        return None, False
    from_latent = INVERSE_BRIDGES.get(measure)
    if fit.nonlinear is None and from_latent is not None:
        values = from_latent(np.clip(implied_correlations(fit.estimate), -1.0, 1.0))
        return DependenceMatrix(values, names, measure), False
    rng = np.random.default_rng(_IMPLIED_SEED)
    n = simulated_rows(measure)
    if fit.nonlinear is not None:
        X = fit.nonlinear.draw(n, rng)
    else:
        R = implied_correlations(fit.estimate)
        frame = Frame.of(R)
        X = frame.columns_as_given(draw_normal(n, frame.matrix(R), rng))
    with silenced():
        drawn = dependence_matrix(as_items(X, screened=False), measure)
    return DependenceMatrix(drawn.values, names, measure), True
