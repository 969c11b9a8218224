"""The result of a latent regression, as a result of statsmodels."""

from __future__ import annotations

from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.base.model import LikelihoodModelResults
from statsmodels.iolib.summary import Summary

from dtstat.core import checks
from dtstat.regression.formula import Design
from dtstat.regression.latent import Projection

_NOTES = (
    "Two steps (local SAM). Factors have mean 0 and variance 1 in the rows used.",
    "Standard errors are robust and account for the uncertainty of the loadings.",
)
_GROUPS = (
    "Group comparisons assume that items measure the same thing in each group; test this with "
    "dtstat.invariance()."
)


class LatentRegression(LikelihoodModelResults):  # type: ignore[misc]
    """A regression with factors in it, with the methods of statsmodels.

    ``params``, ``bse``, ``tvalues``, ``pvalues``, ``conf_int()``, ``cov_params()``, ``t_test()``,
    ``f_test()``, ``wald_test()`` and ``summary()`` are those of any result of statsmodels. There
    are no residuals or fitted values of people: nobody has seen the factors.

    Attributes
    ----------
    formula, outcome
        As written, and the left side of it.
    nobs, n_given
        Rows used, and rows of the data.
    df_model, df_resid
        Predictors, and rows less coefficients.
    rsquared, rsquared_adj
        Share of the variance of the outcome that the predictors explain.
    scale
        Variance of the residual.
    notes
        What else to know; printed below the table.
    """

    def __init__(
        self, design: Design, projection: Projection, n_given: int, notes: tuple[str, ...]
    ) -> None:
        names = ["Intercept", *design.names]
        data = SimpleNamespace(xnames=names, ynames=design.outcome, cov_names=names)
        data.param_names = names
        model = SimpleNamespace(
            endog_names=design.outcome, exog_names=names, formula=design.formula, data=data
        )
        super().__init__(model, pd.Series(projection.params, names), projection.covariance)
        n, k = int(design.kept.sum()), len(names)
        self.formula, self.outcome, self.notes = design.formula, design.outcome, notes
        self.nobs, self.n_given = float(n), n_given
        self.df_model, self.df_resid = float(k - 1), float(n - k)
        self.cov_type, self.use_t = "two-step", True
        self.cov_params_default = projection.covariance
        self.scale = projection.residual_variance
        self.rsquared = 1 - projection.residual_variance / projection.variance
        self.rsquared_adj = 1 - (1 - self.rsquared) * (n - 1) / self.df_resid
        self._names = names
        # Tests of statsmodels compute with arrays.
        self._arrays = LikelihoodModelResults(model, projection.params, projection.covariance)
        self._arrays.df_resid, self._arrays.use_t = self.df_resid, True

    @classmethod
    def of(
        cls, design: Design, projection: Projection, n_given: int, is_reported: bool
    ) -> LatentRegression:
        """Make a result of what was estimated.

        Parameters
        ----------
        design, projection
            What was regressed on what, and the coefficients.
        n_given
            Rows of the data.
        is_reported
            Whether the loadings are those that the fit reports.
        """
        notes = [*_NOTES]
        left_out = n_given - int(design.kept.sum())
        if left_out:
            notes.append(f"{left_out} of {n_given} rows were left out: values are missing.")
        if not is_reported:
            notes.append("Loadings were estimated from the rows used, which are not all the fit's.")
        if any("[T." in name for name in design.names):
            notes.append(_GROUPS)
        return cls(design, projection, n_given, tuple(notes))

    @cached_property
    def bse(self) -> pd.Series[float]:
        """Standard errors."""
        return pd.Series(np.sqrt(np.diag(self.cov_params_default)), self._names)

    @cached_property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values, by the t distribution."""
        return pd.Series(np.asarray(super().pvalues), self._names)

    def cov_params(self, *given: Any, **options: Any) -> Any:
        """Covariance matrix of the coefficients, or of contrasts; arguments as in statsmodels."""
        found = super().cov_params(*given, **options)
        if given or options:
            return found
        return pd.DataFrame(found, self._names, self._names)

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Confidence intervals of the level 1 − alpha: columns 0 and 1, as in statsmodels."""
        level = checks.open_unit("alpha", alpha, "0.05 gives intervals of 95 %.")
        return pd.DataFrame(np.asarray(super().conf_int(level)), self._names)

    def t_test(self, r_matrix: Any, **options: Any) -> Any:
        """Test linear hypotheses one by one, as ``"F1 = F2"``; arguments as in statsmodels."""
        return self._arrays.t_test(r_matrix, **options)

    def wald_test(self, r_matrix: Any, **options: Any) -> Any:
        """Test linear hypotheses together, as ``"F1 = 0, F2 = 0"``; arguments as in statsmodels."""
        return self._arrays.wald_test(r_matrix, **{"scalar": True, **options})

    def f_test(self, r_matrix: Any, **options: Any) -> Any:
        """Test linear hypotheses together by F; arguments as in statsmodels."""
        return self._arrays.f_test(r_matrix, **options)

    def table(self, alpha: float = 0.05) -> pd.DataFrame:
        """One row per coefficient: coef, std err, t, p and the interval.

        Parameters
        ----------
        alpha
            Intervals have the level 1 − alpha.
        """
        columns = {"coef": self.params, "std err": self.bse, "t": self.tvalues, "p": self.pvalues}
        limits = self.conf_int(alpha)
        return pd.DataFrame(columns | {"lower": limits[0], "upper": limits[1]})

    def summary(self, yname: str | None = None, alpha: float = 0.05) -> Any:
        """Summarize the regression as statsmodels does; print it, or use ``as_latex()``.

        Parameters
        ----------
        yname
            Name of the outcome to print.
        alpha
            Intervals have the level 1 − alpha.
        """
        level = checks.open_unit("alpha", alpha, "0.05 gives intervals of 95 %.")
        if yname is not None and not isinstance(yname, str):
            raise checks.refusal("yname", "a text", yname, "It is printed as the outcome.")
        made = Summary()
        left = [
            ("Dep. Variable:", [yname or self.outcome]),
            ("Method:", ["Two-step (SAM)"]),
            ("No. Observations:", [f"{self.nobs:.0f}"]),
        ]
        right = [
            ("R-squared:", [f"{self.rsquared:.3f}"]),
            ("Adj. R-squared:", [f"{self.rsquared_adj:.3f}"]),
            ("Df Residuals:", [f"{self.df_resid:.0f}"]),
        ]
        made.add_table_2cols(self, "Latent regression", left, right, yname, self._names)
        made.add_table_params(self, yname=yname, xname=self._names, alpha=level, use_t=True)
        made.add_extra_txt([f"[{k + 1}] {note}" for k, note in enumerate(self.notes)])
        return made

    def __repr__(self) -> str:
        return str(self.summary())
