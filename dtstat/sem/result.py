"""The result of fitting a structural equation model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

from dtstat.core import canvas, checks
from dtstat.core.canvas import draw
from dtstat.core.diagram import Diagram
from dtstat.core.diagram_text import Diagrammed
from dtstat.core.errors import InputError
from dtstat.core.loading_tables import FactorTable, factor_table
from dtstat.core.parallel import one_thread
from dtstat.core.saved import Saved, register
from dtstat.core.tables import Printed, Summary
from dtstat.data.items import rows_to_score, with_scores
from dtstat.sem import solution
from dtstat.sem.broom import glance_frame, tidy_frame
from dtstat.sem.call import SEMCall
from dtstat.sem.defined import DRAWS, METHODS, MOST_DRAWS, SEED, defined_intervals
from dtstat.sem.diagram import MODEL_KINDS, model_diagram
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.fit_measures import fit_measures
from dtstat.sem.groups import group_labels
from dtstat.sem.least_squares import standardized_residuals as ordered_residuals
from dtstat.sem.reliability import htmt, reliability_table
from dtstat.sem.residuals import standardized_residuals
from dtstat.sem.response_scores import response_scores
from dtstat.sem.scores import factor_scores
from dtstat.sem.summary import headline_text, model_summary
from dtstat.structure.structure import Structure

_CUTOFF = "Loadings of smaller absolute value are left blank; 0 shows all."
_METHODS = {"regression": "regression", "bartlett": "Bartlett"}
_OPERATORS = ("=~", "~", "~~", "~1", "|", "~*~")
_ORDERED_METHODS = {"regression": "ebm", "ebm": "ebm", "eap": "eap"}


@register(shapes={"estimate.theta": "q"})
@dataclass(frozen=True, eq=False, repr=False)
class CFAFit(Saved, Printed, Diagrammed):
    """A fitted confirmatory factor or structural equation model.

    With groups, tables of parameters have a column ``group``, and tables of items or factors
    have the names of the groups as outer rows: ``fit.loadings.loc["Pasteur"]``.

    Attributes
    ----------
    estimate
        The numbers.
    call
        What was asked for.
    warnings
        What needs attention, as sentences.
    item_texts
        Questions of the items, as far as the data or the fit they were modeled from had them.

    Examples
    --------
    >>> import dtstat as dt
    >>> model = "visual =~ x1 + x2 + x3; textual =~ x4 + x5 + x6; speed =~ x7 + x8 + x9"
    >>> fit = dt.cfa(dt.load_dataset("holzinger_swineford_9"), model)
    >>> fit
    CFAFit: 3 factors, 9 items, 301 rows, ml; chisq(24) = 85.306, CFI 0.931, RMSEA 0.092
    >>> fit.factor_correlations.round(3)
             visual  textual  speed
    visual    1.000    0.459  0.471
    textual   0.459    1.000  0.283
    speed     0.471    0.283  1.000
    """

    estimate: SEMEstimate
    call: SEMCall
    warnings: tuple[str, ...] = ()
    item_texts: dict[str, str] = field(default_factory=dict)

    @property
    def n_obs(self) -> int:
        """Rows used."""
        return self.estimate.n_obs

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups; empty without groups."""
        return self.estimate.model.groups

    @property
    def item_names(self) -> tuple[str, ...]:
        """Observed variables of the model."""
        return self.estimate.model.observed

    @property
    def parameters(self) -> pd.DataFrame:
        """One row per parameter, fixed ones included (se 0), then the defined ones (:=).

        Columns: lhs, op, rhs, group if there are groups, label, est, se, z, pvalue, ci.lower,
        ci.upper (95 %), std.lv (latent variables standardized), std.all (all standardized).
        """
        return solution.parameter_frame(self.estimate)

    def defined_intervals(
        self,
        method: str = "monte_carlo",
        level: float = 0.95,
        n_draws: int = DRAWS,
        seed: int = SEED,
    ) -> pd.DataFrame:
        """Find confidence intervals of the defined parameters (:=), as of indirect effects.

        Parameters
        ----------
        method
            "monte_carlo": quantiles of what draws of the free parameters give; holds its level
            better for products, whose estimates are skewed (:mod:`dtstat.sem.defined` has the
            simulation). "delta": est ± z se, as in ``parameters``.
        level
            Confidence level.
        n_draws, seed
            How often parameters are drawn, and with which seed.

        Returns
        -------
        DataFrame
            lhs, op, rhs, est, se (delta method), ci.lower, ci.upper; a Monte Carlo interval is NaN
            if a definition has no value in some draws, as the logarithm of a negative number.

        Examples
        --------
        >>> import dtstat as dt
        >>> model = "y5 ~ b*y1 + c*x1; y1 ~ a*x1; indirect := a*b"
        >>> fit = dt.sem(dt.load_dataset("political_democracy"), model)
        >>> fit.defined_intervals()[["est", "ci.lower", "ci.upper"]].round(1)
           est  ci.lower  ci.upper
        0  0.8       0.4       1.4
        """
        if not self.estimate.model.definitions:
            raise InputError("The model defines no parameters. Write one as 'indirect := a*b'.")
        return defined_intervals(
            self.estimate,
            checks.choice("method", method, METHODS),
            checks.open_unit("level", level, "A confidence level, such as 0.95."),
            checks.integer("n_draws", n_draws, 1000, f"{DRAWS} is usual.", at_most=MOST_DRAWS),
            checks.integer("seed", seed, 0, "The same seed gives the same interval."),
        )

    @property
    @one_thread()
    def standardized(self) -> pd.DataFrame:
        """Fully standardized solution with its own standard errors (delta method).

        Columns: lhs, op, rhs, est.std, se, z, pvalue, ci.lower, ci.upper.
        """
        return solution.standardized_frame(self.estimate)

    @property
    @one_thread()
    def fit_measures(self) -> dict[str, float]:
        """Fit measures by lavaan's names."""
        return fit_measures(self.estimate)

    @property
    def loadings(self) -> pd.DataFrame:
        """Items by factors: standardized loadings, 0 where the model has none."""
        table: pd.DataFrame = solution.by_group(self.estimate, solution.loading_frame)
        return table

    @property
    def factor_correlations(self) -> pd.DataFrame:
        """Factors by factors: correlations of the factors themselves, not of scores."""
        table: pd.DataFrame = solution.by_group(self.estimate, solution.factor_correlation_frame)
        return table

    @property
    def uniquenesses(self) -> pd.Series[float]:
        """Share of each item's variance that the factors do not explain."""
        shares: pd.Series[float] = solution.by_group(self.estimate, solution.residual_shares)
        return shares.loc[list(self.loadings.index)].rename("uniqueness")

    @property
    def r_squared(self) -> pd.Series[float]:
        """Explained share of the variance of every variable that the model explains."""
        names = list(solution.explained_variables(self.estimate.model))
        shares: pd.Series[float] = solution.by_group(
            self.estimate, lambda view: solution.residual_shares(view).loc[names]
        )
        return (1 - shares).rename("r_squared")

    @property
    def implied_covariance(self) -> pd.DataFrame:
        """Items by items: the covariances that the model implies."""
        table: pd.DataFrame = solution.by_group(
            self.estimate, lambda view: solution.square_frame(view.Sigma.copy(), self.item_names)
        )
        return table

    @property
    def structure(self) -> Structure:
        """Which items measure which factors, and which of them load negatively."""
        return solution.measurement_structure(self.estimate)

    @one_thread()
    def residuals(self, kind: Literal["cor", "raw", "standardized"] = "cor") -> pd.DataFrame:
        """Show what the model leaves unexplained: observed less implied.

        Parameters
        ----------
        kind
            "cor" for correlations, "raw" for covariances, "standardized" for z values: residuals
            divided by their standard errors, which assume normal answers or, of ordered items, come
            from Γ; NaN where the model reproduces a moment exactly by construction.
        """
        checks.choice("kind", kind, ("cor", "raw", "standardized"))
        if kind == "standardized":
            ordered = bool(self.estimate.model.ordered)
            parts = (ordered_residuals if ordered else standardized_residuals)(self.estimate)
            tables = [solution.square_frame(z, self.item_names) for z in parts]
            named = dict(zip(self.groups, tables, strict=True)) if self.groups else {}
            return pd.concat(named, names=["group"]) if named else tables[0]

        def left(view: SEMEstimate) -> pd.DataFrame:
            S, Sigma = view.S, view.Sigma
            if kind == "cor":
                S, Sigma = solution.correlation(S), solution.correlation(Sigma)
            return solution.square_frame(S - Sigma, self.item_names)

        table: pd.DataFrame = solution.by_group(self.estimate, left)
        return table

    @one_thread()
    def modification_indices(self, sort: bool = True, minimum: float = 0.0) -> pd.DataFrame:
        """How much chi-square would fall if a parameter were added.

        Parameters
        ----------
        sort
            Whether the largest come first; otherwise loadings before covariances.
        minimum
            Smallest index to list; 3.84 is the 5 % critical value of one added parameter.

        Returns
        -------
        DataFrame
            lhs, op, rhs, mi, epc (expected change of the value), sepc.lv, sepc.all (standardized).
        """
        model = self.estimate.model
        if model.exploratory or (self.estimate.logl is None and not model.ordered):
            fitted = f"was fitted by {self.call.estimator}, or in two steps"
            how = "has exploratory blocks, efa()" if model.exploratory else fitted
            raise InputError(
                "Modification indices need a likelihood or ordered items, and loadings that are "
                f"not rotated; this model {how}. Look at residuals() instead."
            )
        sort = checks.flag("sort", sort, "True puts the largest first.")
        floor = checks.finite("minimum", minimum, "It is a value of chi-square, as 3.84.")
        table = solution.modification_indices(self.estimate)
        table = table[table["mi"] >= floor]
        if not sort:
            names = (*_OPERATORS, *model.groups, *model.latent, *model.observed)
            position = {name: k for k, name in enumerate(names)}
            table = table.sort_values(
                [*(["group"] if model.groups else []), "op", "lhs", "rhs"],
                key=lambda column: column.map(position),
                ignore_index=True,
            )
        return table.reset_index(drop=True)

    @one_thread()
    def factor_scores(self, data: Any, method: str = "regression") -> pd.DataFrame:
        """Estimate everybody's position on every factor.

        Parameters
        ----------
        data
            Rows to score, as in :func:`dtstat.cfa`; also others than those the model was fitted
            to, also a single one. Other columns are ignored.
        method
            "regression" (smallest error) or "bartlett" (unbiased). For ordered items "regression"
            is the most probable position given the answers (posterior mode, "EBM" elsewhere),
            which for continuous items it is as well; "eap" is the expected position, for up to
            three factors. Residuals are taken as uncorrelated in both.

        Returns
        -------
        DataFrame
            Rows of the data by factors. Missing answers are left out of a row's score. Rows of
            groups that the model was not fitted to have none (NaN).

        Raises
        ------
        InputError
            If an item of the model is not in the data.
        """
        name = method.lower() if isinstance(method, str) else method
        ordered = bool(self.estimate.model.ordered)
        methods = _ORDERED_METHODS if ordered else _METHODS
        kind = methods[checks.choice("method", name, methods)]
        score = response_scores if ordered else factor_scores
        index, X = rows_to_score(data, self.item_names)
        model = self.estimate.model
        scores = np.full((len(X), len(model.latent)), np.nan)
        groups = group_labels(data, self.call.group) if self.call.group else None
        for view, name in zip(self.estimate.views, model.groups or ("",), strict=True):
            own = np.ones(len(X), dtype=bool) if groups is None else groups == name
            scores[own] = score(view, X[own], kind)
        return pd.DataFrame(scores, index=index, columns=list(model.latent))

    @one_thread()
    def reliability(self) -> pd.DataFrame:
        """Alpha, omega and average variance extracted of each factor, and how good its scores are.

        ``omega_h`` is the share of the variance of a sum of items that is due to the factor alone:
        of the general factor of a bifactor or second-order model, omega hierarchical.
        ``omega_total`` is what all factors explain of it. ``score`` is the squared correlation of
        the regression scores with the factor; NaN for ordered items, which have no such scores
        here. The items of a factor that is measured by factors are all of theirs.
        """
        found: pd.DataFrame = solution.by_group(self.estimate, reliability_table)
        return found

    def htmt(self) -> pd.DataFrame:
        """Heterotrait-monotrait ratios of the factors: how far their items tell them apart.

        Mean correlation of the items of two factors, relative to those within each; NaN for
        factors of one item, or that share items. Near 1 the factors are hardly distinct.
        """
        table: pd.DataFrame = solution.by_group(self.estimate, htmt)
        return table

    def to_lavaan(self) -> str:
        """Measurement part of the model in lavaan syntax, with labels and fixed values.

        Regressions and residual covariances are left out; what was written is in ``call.model``.
        """
        return solution.measurement_text(self.estimate.model)

    @one_thread()
    def summary(
        self,
        fit_measures: bool = True,
        standardized: bool = True,
        ci: bool = False,
        rsquare: bool = False,
        modindices: bool = False,
    ) -> Summary:
        """Everything on one page, in the order of lavaan's summary.

        Parameters
        ----------
        fit_measures
            Whether to show fit measures beyond the test of the model.
        standardized, ci
            Whether to show standardized values, and 95 % confidence intervals; those of defined
            parameters, mc.lower and mc.upper, are by Monte Carlo, see :meth:`defined_intervals`.
        rsquare, modindices
            Whether to add explained variances, and modification indices.
        """
        given = {"fit_measures": fit_measures, "standardized": standardized, "ci": ci}
        given |= {"rsquare": rsquare, "modindices": modindices}
        on = {name: checks.flag(name, value, "True shows it.") for name, value in given.items()}
        return model_summary(
            self.estimate,
            self.call.version,
            self.warnings,
            full=on["fit_measures"],
            standardized=on["standardized"],
            ci=on["ci"],
            r_squared=self.r_squared if on["rsquare"] else None,
            indices=self.modification_indices() if on["modindices"] else None,
        )

    @one_thread()
    def factor_table(
        self, cutoff: float = 0.3, sort: bool = True, group: str | None = None
    ) -> FactorTable:
        """Lay out loadings the way psychologists read them, with h2, u2 and com.

        Parameters
        ----------
        cutoff
            Loadings of smaller absolute value are left blank.
        sort
            Whether to group items by their strongest factor, the strongest first.
        group
            Which group to show, if there are several; the first by default.

        Returns
        -------
        FactorTable
            Prints itself; its numbers are in ``.loadings``, ``.variance`` and ``.correlations``.
        """
        shown = self._of_group(group) if self.groups else self
        title = (repr(self), *([f"Group: {group or self.groups[0]}"] if self.groups else []))
        loadings = shown.loadings
        factors = list(loadings.columns)
        if not factors:
            raise InputError("The model has no factors, so there are no loadings to show.")
        phi = shown.factor_correlations.loc[factors, factors]
        smallest = checks.unit_interval("cutoff", cutoff, _CUTOFF)
        by_factor = checks.flag("sort", sort, "True groups items by factor.")
        return factor_table(
            loadings, phi, shown.uniquenesses, smallest, by_factor, title, texts=self.item_texts
        )

    def _of_group(self, group: str | None) -> CFAFit:
        """Tables of one group, the first by default; its tests are those of all groups."""
        name = self.groups[0] if group is None else group
        if name not in self.groups:
            raise checks.unknown("group", "one of the groups", group, self.groups)
        view = self.estimate.views[self.groups.index(name)]
        return CFAFit(view, self.call, self.warnings, self.item_texts)

    def tidy(self) -> pd.DataFrame:
        """One row per parameter, with the column names of R's broom."""
        return tidy_frame(self.estimate)

    def glance(self) -> pd.DataFrame:
        """One row about the whole fit, with the column names of R's broom.

        ``test`` says which statistic chisq is: "standard", or one that is scaled
        ("yuan.bentler.mplus" for mlr, "scaled.shifted" for wlsmv); cfi, tli and rmsea go with it.
        All of them are in ``fit_measures``, the scaled ones with ".scaled" behind their names.
        """
        return glance_frame(self.estimate, self.call, self.fit_measures)

    def augment(self, data: Any, method: str = "regression") -> pd.DataFrame:
        """Return the data with one column of scores for each factor, named ``<factor>_score``."""
        return with_scores(data, self.factor_scores(data, method))

    def path_diagram(
        self,
        cutoff: float | None = None,
        residuals: bool = False,
        texts: bool = False,
        stars: bool = False,
        group: str | None = None,
    ) -> Diagram:
        """Lay out the path diagram that ``plot``, ``to_dot`` and ``to_tikz`` draw.

        Loadings, regressions and covariances of the standardized solution.

        Parameters
        ----------
        cutoff
            Loadings of smaller absolute value have no arrow.
        residuals
            Whether to draw unexplained shares of variances.
        texts
            Whether to write what the items ask beside them.
        stars
            Whether to mark values that differ from 0 at the 5, 1 and 0.1 % level.
        group
            Which group to draw, if there are several; the first by default.
        """
        shown = self._of_group(group) if self.groups else self
        model, asked = shown.estimate.model, canvas.item_texts(self, texts)
        least = self._least_drawn if cutoff is None else cutoff
        return model_diagram(
            shown.standardized, model.latent, model.observed, least, residuals, asked, stars
        )

    def plot(
        self, kind: str = "diagram", ax: Any = None, group: str | None = None, **options: Any
    ) -> Any:
        """Draw the model; needs matplotlib (the extra ``plot``).

        Parameters
        ----------
        kind
            "diagram": the path diagram, fit to print, with the standardized solution.
            "loadings", "residuals": heat maps.
        ax
            Axes to draw on; a new figure if None.
        group
            Which group to draw, if there are several; the first by default.
        options
            ``cutoff=0.0``: smaller loadings have no arrow, or no number; of a diagram also
            ``residuals``, ``texts`` and ``stars``, as in :meth:`path_diagram`.
        """
        drawn = self._of_group(group) if self.groups else self
        return draw(MODEL_KINDS, drawn, kind, ax, options)

    def __repr__(self) -> str:
        model, source = self.estimate.model, self.estimate.source
        plural = "" if len(model.latent) == 1 else "s"
        rows = f"{self.n_obs} rows" if source == "rows" else f"{source} of {self.n_obs} rows"
        rows += f" in {model.n_groups} groups" if model.groups else ""
        return (
            f"CFAFit: {len(model.latent)} factor{plural}, {len(model.observed)} items, {rows}, "
            f"{self.call.estimator}; {headline_text(self.estimate)}"
        )
