"""The result of fitting a structural equation model."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from dtstat.core import checks
from dtstat.core.canvas import DrawFunction, draw
from dtstat.core.errors import InputError
from dtstat.core.loading_table import FactorTable, factor_table, table_order
from dtstat.core.plots import draw_diagram, draw_loadings, residual_map
from dtstat.core.saved import register, save
from dtstat.core.tables import Summary
from dtstat.data.items import rows_to_score, with_scores
from dtstat.sem import solution
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.fit_measures import fit_measures
from dtstat.sem.scores import factor_scores, reliability, score_reliability
from dtstat.sem.summary import headline, headline_text, model_summary, test_name
from dtstat.structure.structure import Structure

_CUTOFF = "Loadings of smaller absolute value are left blank; 0 shows all."
_METHODS = {"regression": "regression", "bartlett": "Bartlett"}


@register()
@dataclass(frozen=True)
class SEMCall:
    """What was asked for: everything needed to fit the same model to the same data again.

    Attributes
    ----------
    version
        Version of dtstat.
    model
        Model text.
    estimator, missing
        How the model was fitted, and what was done about missing answers.
    ordered
        Items taken as ordinal.
    std_lv, orthogonal, mean_structure
        As in :func:`dtstat.cfa`.
    """

    version: str
    model: str
    estimator: str
    missing: str
    ordered: tuple[str, ...]
    std_lv: bool
    orthogonal: bool
    mean_structure: bool


@register(shapes={"estimate.theta": "q"})
@dataclass(frozen=True, eq=False, repr=False)
class CFAFit:
    """A fitted confirmatory factor or structural equation model.

    Attributes
    ----------
    estimate
        The numbers.
    call
        What was asked for.
    warnings
        What needs attention, as sentences.

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

    @property
    def n_obs(self) -> int:
        """Rows used."""
        return self.estimate.n_obs

    @property
    def item_names(self) -> tuple[str, ...]:
        """Observed variables of the model."""
        return self.estimate.model.observed

    @property
    def parameters(self) -> pd.DataFrame:
        """One row per parameter, fixed ones included (se 0).

        Columns: lhs, op, rhs, label, est, se, z, pvalue, ci.lower, ci.upper (95 %), std.lv
        (latent variables standardized), std.all (all variables standardized).
        """
        return solution.parameter_frame(self.estimate)

    @property
    def standardized(self) -> pd.DataFrame:
        """Fully standardized solution with its own standard errors (delta method).

        Columns: lhs, op, rhs, est.std, se, z, pvalue, ci.lower, ci.upper.
        """
        return solution.standardized_frame(self.estimate)

    @property
    def fit_measures(self) -> dict[str, float]:
        """Fit measures by lavaan's names."""
        return fit_measures(self.estimate)

    @property
    def loadings(self) -> pd.DataFrame:
        """Items by factors: standardized loadings, 0 where the model has none."""
        return solution.loading_frame(self.estimate)

    @property
    def factor_correlations(self) -> pd.DataFrame:
        """Factors by factors: correlations of the factors themselves, not of scores."""
        return solution.factor_correlation_frame(self.estimate)

    @property
    def uniquenesses(self) -> pd.Series[float]:
        """Share of each item's variance that the factors do not explain."""
        shares = solution.residual_shares(self.estimate)
        return shares.loc[list(self.loadings.index)].rename("uniqueness")

    @property
    def r_squared(self) -> pd.Series[float]:
        """Explained share of the variance of every variable that the model explains."""
        shares = solution.residual_shares(self.estimate)
        return (1 - shares.loc[list(solution.explained_variables(self.estimate.model))]).rename(
            "r_squared"
        )

    @property
    def implied_covariance(self) -> pd.DataFrame:
        """Items by items: the covariances that the model implies."""
        return solution.square_frame(self.estimate.Sigma.copy(), self.item_names)

    @property
    def structure(self) -> Structure:
        """Which items measure which factors, and which of them load negatively."""
        return solution.measurement_structure(self.estimate)

    def residuals(self, kind: Literal["cor", "raw"] = "cor") -> pd.DataFrame:
        """Show what the model leaves unexplained: observed less implied.

        Parameters
        ----------
        kind
            "cor" for correlations, "raw" for covariances.
        """
        checks.choice("kind", kind, ("cor", "raw"))
        S, Sigma = self.estimate.S, self.estimate.Sigma
        if kind == "cor":
            S, Sigma = solution.correlation(S), solution.correlation(Sigma)
        return solution.square_frame(S - Sigma, self.item_names)

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

        Raises
        ------
        InputError
            If the model was fitted to ordinal items.
        """
        if self.call.estimator == "dwls":
            raise InputError(
                "Modification indices need a likelihood; this model was fitted by dwls. Look at "
                "residuals() instead."
            )
        sort = checks.flag("sort", sort, "True puts the largest first.")
        floor = checks.finite("minimum", minimum, "It is a value of chi-square, as 3.84.")
        table = solution.modification_indices(self.estimate)
        table = table[table["mi"] >= floor]
        if not sort:
            model = self.estimate.model
            names = ("=~", "~", "~~", *model.latent, *model.observed)
            position = {name: k for k, name in enumerate(names)}
            table = table.sort_values(
                ["op", "lhs", "rhs"], key=lambda column: column.map(position), ignore_index=True
            )
        return table.reset_index(drop=True)

    def factor_scores(self, data: Any, method: str = "regression") -> pd.DataFrame:
        """Estimate everybody's position on every factor.

        Parameters
        ----------
        data
            Rows to score, as in :func:`dtstat.cfa`; also others than those the model was fitted
            to, also a single one. Other columns are ignored.
        method
            "regression" (smallest error) or "bartlett" (unbiased).

        Returns
        -------
        DataFrame
            Rows of the data by factors. Missing answers are left out of a row's score.

        Raises
        ------
        InputError
            If an item of the model is not in the data.
        """
        name = method.lower() if isinstance(method, str) else method
        kind = _METHODS[checks.choice("method", name, _METHODS)]
        index, X = rows_to_score(data, self.item_names)
        scores = factor_scores(self.estimate, X, kind)
        return pd.DataFrame(scores, index=index, columns=list(self.estimate.model.latent))

    def reliability(self) -> pd.DataFrame:
        """Alpha, omega and average variance extracted of each factor, and how good its scores are.

        ``score`` is the squared correlation of the regression scores with the factor; NaN for
        ordered items, which have no such scores here.
        """
        table = reliability(self.estimate)
        known = self.estimate.estimator != "dwls"
        scores = score_reliability(self.estimate) if known else np.nan
        return table.assign(score=pd.Series(scores, index=list(self.estimate.model.latent)))

    def to_lavaan(self) -> str:
        """Measurement part of the model in lavaan syntax, with labels and fixed values.

        Regressions and residual covariances are left out; what was written is in ``call.model``.
        """
        return solution.measurement_text(self.estimate.model)

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
            Whether to show standardized values, and 95 % confidence intervals.
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

    def factor_table(self, cutoff: float = 0.3, sort: bool = True) -> FactorTable:
        """Lay out loadings the way psychologists read them, with h2, u2 and com.

        Parameters
        ----------
        cutoff
            Loadings of smaller absolute value are left blank.
        sort
            Whether to group items by their strongest factor, the strongest first.

        Returns
        -------
        FactorTable
            Prints itself; its numbers are in ``.loadings``, ``.variance`` and ``.correlations``.
        """
        loadings = self.loadings
        factors = list(loadings.columns)
        if not factors:
            raise InputError("The model has no factors, so there are no loadings to show.")
        phi = self.factor_correlations.loc[factors, factors]
        smallest = checks.unit_interval("cutoff", cutoff, _CUTOFF)
        by_factor = checks.flag("sort", sort, "True groups items by factor.")
        return factor_table(loadings, phi, self.uniquenesses, smallest, by_factor, (repr(self),))

    def tidy(self) -> pd.DataFrame:
        """One row per parameter, with the column names of R's broom."""
        table = self.parameters
        table.insert(0, "term", [row.name for row in self.estimate.model.parameters])
        renamed = {"est": "estimate", "se": "std.error", "z": "statistic", "pvalue": "p.value"}
        columns = ["term", "op", *renamed.values(), "std.lv", "std.all"]
        return table.rename(columns=renamed)[columns]

    def glance(self) -> pd.DataFrame:
        """One row about the whole fit, with the column names of R's broom.

        ``test`` says which statistic chisq is: "standard", or one that is scaled
        ("yuan.bentler.mplus" for mlr, "scaled.shifted" for dwls); cfi, tli and rmsea go with it.
        All of them are in ``fit_measures``, the scaled ones with ".scaled" behind their names.
        """
        m, nan = self.fit_measures, float("nan")
        estimate, shown = self.estimate, headline(self.fit_measures)
        return pd.DataFrame(
            {
                "agfi": m.get("agfi", nan),
                "AIC": m.get("aic", nan),
                "BIC": m.get("bic", nan),
                "cfi": shown["cfi"],
                "chisq": shown["chisq"],
                "npar": int(m["npar"]),
                "rmsea": shown["rmsea"],
                "rmsea.conf.high": shown["rmsea.ci.upper"],
                "srmr": m["srmr"],
                "tli": shown["tli"],
                "test": test_name(estimate),
                "converged": estimate.converged,
                "estimator": self.call.estimator.upper(),
                "ngroups": 1,
                "missing_method": self.call.missing,
                "nobs": estimate.n_obs,
                "norig": estimate.n_given,
                "nexcluded": estimate.n_given - estimate.n_obs,
            },
            index=[0],
        )

    def augment(self, data: Any, method: str = "regression") -> pd.DataFrame:
        """Return the data with one column of scores for each factor, named ``.fs_<factor>``."""
        return with_scores(data, self.factor_scores(data, method))

    def plot(self, kind: str = "diagram", ax: Any = None, **options: Any) -> Any:
        """Draw the model; needs matplotlib (the extra ``plot``).

        Parameters
        ----------
        kind
            "diagram": factors, items, and loadings as lines. "loadings", "residuals": heat maps.
        ax
            Axes to draw on; a new figure if None.
        options
            ``cutoff=0.0``: smaller loadings have no line, or no number.
        """
        return draw(_PICTURES, self, kind, ax, options)

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write the result to a file that :func:`dtstat.load` reads, such as "name.dtstat".

        A result saved there before is replaced; any other file only with ``overwrite=True``.
        """
        save(self, path, overwrite)

    def __repr__(self) -> str:
        model, source = self.estimate.model, self.estimate.source
        plural = "" if len(model.latent) == 1 else "s"
        rows = f"{self.n_obs} rows" if source == "rows" else f"{source} of {self.n_obs} rows"
        return (
            f"CFAFit: {len(model.latent)} factor{plural}, {len(model.observed)} items, {rows}, "
            f"{self.call.estimator}; {headline_text(self.estimate)}"
        )


def _draw_residuals(fit: CFAFit, ax: Any) -> Any:
    """Draw residual correlations, items by factor."""
    residuals, loadings = fit.residuals(), fit.loadings
    rest = [name for name in residuals.index if name not in loadings.index]
    by_factor = [*(str(loadings.index[i]) for i in table_order(loadings)), *rest]
    support = (loadings != 0).reindex(by_factor, fill_value=False).to_numpy(dtype=bool)
    return residual_map(residuals.loc[by_factor, by_factor], support, ax)


_PICTURES: dict[str, DrawFunction] = {
    "diagram": draw_diagram,
    "loadings": draw_loadings,
    "residuals": _draw_residuals,
}
