"""Power of chi-square tests of models, by noncentrality: ``model_power``.

If a model is wrong by a discrepancy F per row, its statistic is noncentral chi-square with
noncentrality n F, and the power is the share of that distribution beyond the critical value. F
follows from a population that is written down, to which the model is fitted (Satorra & Saris 1985),
or from RMSEA ε: n F = (n − 1) d ε² (MacCallum, Browne & Sugawara 1996), where the null hypothesis
itself may be one of close fit, ε₀ > 0.

References
----------
Satorra, A. & Saris, W. E. (1985). Power of the likelihood ratio test in covariance structure
analysis. Psychometrika 50, 83-90.
MacCallum, R. C., Browne, M. W. & Sugawara, H. M. (1996). Power analysis and determination of sample
size for covariance structure modeling. Psychological Methods 1, 130-149.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dtstat.core import checks
from dtstat.core.arrays import FloatArray
from dtstat.core.errors import EstimationError, InputError, silenced
from dtstat.core.parallel import one_thread
from dtstat.core.saved import Saved, register
from dtstat.core.tables import Printed
from dtstat.sem.discrepancy import PROCEDURES
from dtstat.sem.estimate import estimate_model
from dtstat.sem.likelihood import NormalLikelihood
from dtstat.sem.matrices import Layout, NotPositiveDefiniteError, inverse
from dtstat.sem.model import build_model
from dtstat.sem.parameters import Model
from dtstat.sem.rows import complete_sample
from dtstat.structure.syntax import Term, parse

_MOST_ROWS = 10_000_000
_ROWS = 1_000  # at which a discrepancy per row is computed; any number gives the same
_RMSEA = "It is a root mean square error of approximation, as 0.08."


@register()
@dataclass(frozen=True, repr=False)
class ModelPower(Saved, Printed):
    """Power of a test of a model.

    Attributes
    ----------
    power, n_obs, df, alpha
        The power that so many rows give a test with df degrees of freedom at level alpha.
    noncentrality, null_noncentrality
        Under the alternative and under the null hypothesis, with n_obs rows.
    critical
        Value of chi-square that must be exceeded, or not reached if the alternative fits better
        than the null hypothesis.
    rmsea
        Misfit of the alternative per degree of freedom of the test.
    """

    power: float
    n_obs: int
    df: int
    alpha: float
    noncentrality: float
    null_noncentrality: float
    critical: float
    rmsea: float

    def __repr__(self) -> str:
        return (
            f"ModelPower: {self.power:.3f} with {self.n_obs} rows, df {self.df}, alpha "
            f"{self.alpha:g}; RMSEA {self.rmsea:.4f}"
        )


def model_power(
    n_obs: int | None = None,
    power: float | None = None,
    model: str | None = None,
    population: str | None = None,
    df: int | None = None,
    rmsea: float | None = None,
    null_rmsea: float = 0.0,
    alpha: float = 0.05,
) -> ModelPower:
    """Power of a chi-square test of a model, or the number of rows that gives it.

    Parameters
    ----------
    n_obs
        Number of rows; leave it out to find the smallest that gives ``power``.
    power
        The power that is wanted, if ``n_obs`` is not given.
    model, population
        Model texts: the model to be tested, and the true one with a value for each loading,
        regression and covariance, as in "f =~ 0.7*x1 + 0.6*x2". Variances that are not written
        are such that every variable has variance 1; covariances that are not written are 0.
    df
        Degrees of freedom of the test. With a model: those of the model if left out, or 1 for the
        test of one parameter that the model fixes.
    rmsea
        Misfit under the alternative, instead of ``model`` and ``population``.
    null_rmsea
        Misfit under the null hypothesis: 0 for exact fit, 0.05 for close fit.
    alpha
        Level of the test.

    Returns
    -------
    ModelPower

    Raises
    ------
    InputError
        If the arguments do not say what is wanted.

    Examples
    --------
    >>> import dtstat as dt
    >>> dt.model_power(n_obs=200, df=50, rmsea=0.08, null_rmsea=0.05)
    ModelPower: 0.769 with 200 rows, df 50, alpha 0.05; RMSEA 0.0800
    >>> true = "f =~ .7*x1 + .7*x2 + .7*x3; g =~ .7*y1 + .7*y2 + .7*y3; f ~~ .2*g"
    >>> null = "f =~ x1 + x2 + x3; g =~ y1 + y2 + y3; f ~~ 0*g"
    >>> dt.model_power(power=0.8, model=null, population=true, df=1).n_obs
    353
    """
    level = checks.open_unit("alpha", alpha, "It is the level of the test, such as 0.05.")
    null = checks.proportion("null_rmsea", null_rmsea, _RMSEA)
    if (n_obs is None) == (power is None):
        raise InputError("Give one of `n_obs` and `power`; the other is computed.", "n_obs")
    rows = None if n_obs is None else checks.integer("n_obs", n_obs, 2, "Number of rows.")
    goal = None if power is None else checks.open_unit("power", power, "Such as 0.8.")
    per_row, d, lost = _misfit(model, population, df, rmsea)
    own = null**2 * d
    if per_row == own:
        raise InputError(
            "The alternative fits as well as the null hypothesis, so no number of rows tells them "
            "apart. Change `rmsea`, or `population`.",
            "population" if rmsea is None else "rmsea",
        )
    found = _Design(d, level, per_row, own, lost)
    if rows is None:
        assert goal is not None
        rows = found.smallest(goal)
    critical, reached = found.power(rows)
    effective = rows - lost
    return ModelPower(
        reached, rows, d, level, effective * per_row, effective * own, critical,
        float(np.sqrt(per_row / d)),
    )  # fmt: skip


@dataclass(frozen=True)
class _Design:
    """A test with noncentrality (n − lost) F under the alternative, F₀ under the null."""

    df: int
    alpha: float
    misfit: float
    null: float
    lost: int

    def power(self, n: int) -> tuple[float, float]:
        """Critical value, and power with n rows."""
        from scipy.stats import ncx2

        under_null, there = ((n - self.lost) * f for f in (self.null, self.misfit))
        if self.misfit > self.null:
            critical = float(ncx2.isf(self.alpha, self.df, under_null))
            return critical, float(ncx2.sf(critical, self.df, there))
        critical = float(ncx2.ppf(self.alpha, self.df, under_null))
        return critical, float(ncx2.cdf(critical, self.df, there))

    def smallest(self, goal: float) -> int:
        """Find the smallest number of rows with that power, by bisection."""
        low, high = 2, 4
        while self.power(high)[1] < goal:
            low, high = high, 2 * high
            if high > _MOST_ROWS:
                raise InputError(
                    f"`power` of {goal:g} needs more than {_MOST_ROWS} rows: null hypothesis and "
                    "alternative hardly differ.",
                    "power",
                )
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.power(middle)[1] >= goal else (middle, high)
        return high if self.power(low)[1] < goal else low


def _misfit(
    model: str | None, population: str | None, df: int | None, rmsea: float | None
) -> tuple[float, int, int]:
    """Discrepancy per row, degrees of freedom, and rows that do not count."""
    degrees = None if df is None else checks.integer("df", df, 1, "Degrees of freedom.")
    if rmsea is not None:
        if model is not None or population is not None or degrees is None:
            raise InputError("With `rmsea` give `df`, and no model.", "rmsea")
        size = checks.proportion("rmsea", rmsea, _RMSEA)
        return size**2 * degrees, degrees, 1
    if model is None or population is None:
        raise InputError(
            "Give `rmsea` and `df`, or `model` and `population`.",
            "model" if model is None else "population",
        )
    with one_thread(), silenced():
        names, Sigma = population_covariances(population)
        built = build_model(_text("model", model), names)
        order = [names.index(name) for name in built.observed]
        sample = complete_sample(Sigma[np.ix_(order, order)], None, _ROWS)
        if built.mean_structure:
            raise InputError("`model` has intercepts, of which a population says nothing.", "model")
        fitted = estimate_model(NormalLikelihood(built, [sample], PROCEDURES["ml"], [_ROWS]))
    degrees = fitted.test.df if degrees is None else degrees
    if not degrees:
        raise InputError("`model` has no degrees of freedom, so there is no test of it.", "model")
    return max(float(fitted.test.chisq), 0.0) / _ROWS, degrees, 0


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise checks.refusal(name, "a model text", value, "Such as 'f =~ x1 + x2 + x3'.")
    return value


def population_covariances(population: str) -> tuple[list[str], FloatArray]:
    """Observed variables, and the covariances that a model with given values implies.

    Variances that are not written are such that all variables have variance 1.
    """
    terms = [one for one in parse(_text("population", population)) if isinstance(one, Term)]
    latent = {term.lhs for term in terms if term.op == "=~"}
    both = dict.fromkeys(name for term in terms for name in (term.lhs, term.rhs) if name)
    names = [name for name in both if name not in latent]
    model = build_model(population, names, std_lv=True)
    written = {row.key for row in model.parameters if row.user}
    solved = [row for row in model.parameters if row.is_variance and row.key not in written]
    rows = []
    for row in model.parameters:
        if row.free and row.user and row.value is None:
            raise InputError(f"`population` gives no value for '{row.name}'.", "population")
        value = row.value if row.key in written else float(row.is_variance)
        rows.append(replace(row, free=0, value=value, exogenous=False))
    filled = replace(model, parameters=tuple(rows), relations=())
    # residual variances reach those behind them one step of the model at a time
    for _ in range(len(model.eta) + 1):
        filled = _standardize(filled, {row.lhs for row in solved})
    short = [r.lhs for r in filled.parameters if r.is_variance and (r.value or 0.0) < 0]
    Sigma = Layout(filled).implied(np.zeros(0)).Sigma
    try:
        inverse(Sigma)
    except NotPositiveDefiniteError:
        short = short or [names[0]]
    if short:
        raise InputError(
            f"`population` explains more than all of the variance of '{short[0]}'. Lower its "
            "loadings or regressions, or write its variance.",
            "population",
        )
    return list(filled.observed), Sigma


def _standardize(model: Model, names: set[str]) -> Model:
    """Change the (residual) variances of some variables so that their total is closer to 1."""
    layout = Layout(model)
    M = layout.matrices(np.zeros(0))
    Sigma = layout.implied(np.zeros(0)).Sigma
    total = dict(zip(model.observed, np.diag(Sigma), strict=True))
    total |= dict(zip(model.eta, np.diag(M.eta_covariance), strict=True))
    rows = tuple(
        replace(row, value=float((row.value or 0.0) + 1.0 - total[row.lhs]))
        if row.is_variance and row.lhs in names
        else row
        for row in model.parameters
    )
    if not all(np.isfinite(row.value or 0.0) for row in rows):
        raise EstimationError(
            "Feedback loops in `population` give effects that do not converge. Remove them."
        )
    return replace(model, parameters=rows)
