"""Tests of nested models against each other: ``compare_models``.

Of two nested models the restricted one (0) has the larger chi-square T and more degrees of freedom
d. T₀ − T₁ is chi-square distributed with m = d₀ − d₁ degrees of freedom if the restrictions hold
and the answers are normal. Otherwise it is scaled:

* Satorra & Bentler (2001): (T₀ − T₁) / c with c = (d₀ c₀ − d₁ c₁) / m, from the scaling factors of
  the two tests alone. It can be negative in small samples.
* Satorra (2000): with the restrictions written as a(θ₁) = 0, A = ∂a/∂θ₁, P the information on which
  the standard errors of model 1 rest and C the covariance matrix of its estimates, let
  M = n (A P⁻¹ Aᵀ)⁻¹ A C Aᵀ. The mean of T₀ − T₁ is tr M and its variance 2 tr M², so that
  a (T₀ − T₁) + m − a tr M with a² = m / tr M² has the mean and variance of a chi-square. A is
  orthogonal to F, the directions in which model 0 can move in terms of θ₁, which follow from the
  derivatives Δ of the moments: F = Δ₁⁺ Δ₀.
  For mlr, C is the sandwich of the rows' scores. lavaan 0.6-14 has Δᵀ W Γ W Δ for their squares, Γ
  the covariance of the rows' moments around the means of each group; the same P and A then give its
  value (scalar against strict invariance of Holzinger & Swineford's schools: 15.125; here 15.45).
  The two agree in large samples in which model 1 holds.

Nested is a model whose implied moments the other can reproduce; that is tried (Bentler & Satorra
2010).

References
----------
Satorra, A. (2000). Scaled and adjusted restricted tests in multi-sample analysis of moment
structures. In: Innovations in multivariate statistical analysis, 233-247. Kluwer.
Satorra, A. & Bentler, P. M. (2001). A scaled difference chi-square test statistic for moment
structure analysis. Psychometrika 66, 507-514.
Bentler, P. M. & Satorra, A. (2010). Testing model nesting and equivalence. Psychological Methods
15, 111-123.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import FloatArray
from dtstat.core.errors import DTError, InputError, silenced
from dtstat.core.fit_indices import p_value
from dtstat.core.parallel import one_thread
from dtstat.core.saved import Saved, register
from dtstat.core.tables import Printed, Summary, Table
from dtstat.sem.constraints import Constraints
from dtstat.sem.discrepancy import PROCEDURES
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.fit_measures import fit_measures
from dtstat.sem.likelihood import NormalLikelihood
from dtstat.sem.matrices import Layout
from dtstat.sem.model_statistics import ModelStatistics
from dtstat.sem.normal import expected_information, observed_information
from dtstat.sem.result import CFAFit
from dtstat.sem.rows import complete_sample
from dtstat.sem.search import search
from dtstat.sem.second_moments import moment_derivatives

METHODS = ("default", "standard", "satorra_bentler_2001", "satorra_2000")
_BY_MEAN = ("satorra.bentler", "yuan.bentler", "yuan.bentler.mplus")  # tests scaled by their mean
_SAME = 1e-6  # relative distance of moments of the same data
_REPRODUCED = 1e-5  # discrepancy per row at which moments count as reproduced
_BETTER = 1e-3  # chi-square that a search may leave open
_ADVICE = "Use vuong() for models that are not nested."


@register()
@dataclass(frozen=True)
class Difference:
    """One test of two nested models: the statistic, its degrees of freedom and its p value."""

    chisq: float
    df: int
    pvalue: float


@register(shapes={"names": "m", "df": "m", "chisq": "m", "aic": "m", "bic": "m"})
@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(Saved, Printed):
    """Nested models and the tests between them, the least restricted first.

    Attributes
    ----------
    names
        Of the models.
    df, chisq, aic, bic
        Of each model; chisq is the unscaled statistic, which difference tests are made from.
    differences
        Tests of each model against the one before it.
    method
        "standard", "satorra_bentler_2001" or "satorra_2000".
    n_obs, n_groups
        Rows and groups.
    notes
        What needs attention, as sentences.
    """

    names: tuple[str, ...]
    df: tuple[int, ...]
    chisq: tuple[float, ...]
    aic: tuple[float, ...]
    bic: tuple[float, ...]
    differences: tuple[Difference, ...]
    method: str
    n_obs: int
    n_groups: int
    notes: tuple[str, ...] = ()

    @property
    def table(self) -> pd.DataFrame:
        """One row per model, with the columns of R's ``anova``.

        Df, AIC, BIC, Chisq (unscaled), Chisq diff, RMSEA (of the difference, if it is not scaled),
        Df diff, Pr(>Chisq); a difference is to the row above.
        """
        frame = pd.DataFrame(
            {
                "Df": self.df,
                "AIC": self.aic,
                "BIC": self.bic,
                "Chisq": self.chisq,
                "Chisq diff": [math.nan, *(one.chisq for one in self.differences)],
                "RMSEA": [math.nan, *map(self._rmsea, self.differences)],
                "Df diff": [math.nan, *(float(one.df) for one in self.differences)],
                "Pr(>Chisq)": [math.nan, *(one.pvalue for one in self.differences)],
            },
            index=pd.Index(self.names, name="model"),
        )
        return frame if self.method == "standard" else frame.drop(columns="RMSEA")

    def _rmsea(self, one: Difference) -> float:
        excess = (one.chisq - one.df) / (one.df * self.n_obs)
        return math.sqrt(self.n_groups * max(excess, 0.0))

    def summary(self) -> Summary:
        """Lay out the table to print."""
        frame = self.table.reset_index()
        for column in ("AIC", "BIC"):
            frame = frame if frame[column].notna().any() else frame.drop(columns=column)
        frame["Df diff"] = ["" if math.isnan(d) else f"{d:g}" for d in frame["Df diff"]]
        frame["Pr(>Chisq)"] = [_written_p(p) for p in frame["Pr(>Chisq)"]]
        words = "Chi-square difference test"
        if self.method != "standard":
            words = f"Scaled chi-square difference test ({self.method})"
        notes = list(self.notes)
        if self.method != "standard":
            notes.append("Chisq is unscaled: a scaled difference is made from unscaled statistics.")
        alignment = "l" + "r" * (frame.shape[1] - 1)
        plain = Table.from_frame(frame, words, notes)
        return Summary((), (Table(words, plain.headers, plain.rows, alignment, plain.notes),))

    def __repr__(self) -> str:
        return self.summary().to_text().lstrip("\n")


def _written_p(p: float) -> str:
    if math.isnan(p):
        return ""
    return "<0.001" if p < 0.0005 else f"{p:.3f}"


def compare_models(
    *fits: CFAFit, names: Iterable[str] | None = None, method: str = "default"
) -> ModelComparison:
    """Test nested models against each other (likelihood-ratio or scaled difference test).

    Parameters
    ----------
    fits
        Two or more results of :func:`dtstat.cfa` or :func:`dtstat.sem` for the same data, in any
        order: they are sorted by their degrees of freedom.
    names
        Of the models, in the order given; "model 1", "model 2", ... if omitted.
    method
        "standard": the difference of the chi-squares; "satorra_bentler_2001" and "satorra_2000":
        scaled ones; "default": "standard" for tests that are not scaled, "satorra_bentler_2001"
        for those scaled by their mean (mlr), "satorra_2000" for those that are also shifted (dwls).

    Returns
    -------
    ModelComparison

    Raises
    ------
    InputError
        If the models are not nested, or not of the same data and estimator.

    Notes
    -----
    Whether models are nested is tried: the less restricted one must reproduce the moments that the
    other implies. That is not done for ordered items.

    Examples
    --------
    >>> import dtstat as dt
    >>> data = dt.load_dataset("holzinger_swineford_9")
    >>> full = dt.cfa(data, "visual =~ x1 + x2 + x3; speed =~ x7 + x8 + x9; x7 ~~ x8")
    >>> less = dt.cfa(data, "visual =~ x1 + x2 + x3; speed =~ x7 + x8 + x9")
    >>> dt.compare_models(less, full, names=["simple", "covariance"]).table["Df"]
    model
    covariance    7
    simple        8
    Name: Df, dtype: int64
    """
    labels = _names(names, len(fits))
    _check_fits(fits)
    order = sorted(range(len(fits)), key=lambda k: fits[k].estimate.test.df)
    estimates = [fits[k].estimate for k in order]
    labels = [labels[k] for k in order]
    chosen = _method(method, estimates[-1])
    differences, notes = [], []
    with one_thread(), silenced():
        for (more, less), (name1, name0) in zip(pairwise(estimates), pairwise(labels), strict=True):
            _check_nested(more, less, name1, name0)
            found = difference_test(more, less, chosen)
            if math.isnan(found.chisq):
                notes.append(
                    f"The scaling factor of the difference of '{name0}' and '{name1}' is not "
                    "positive, which can happen in small samples; method='satorra_2000' has no "
                    "such cases."
                )
            differences.append(found)
    measures = [fit_measures(one) for one in estimates]
    return ModelComparison(
        names=tuple(labels),
        df=tuple(one.test.df for one in estimates),
        chisq=tuple(float(one.test.chisq) for one in estimates),
        aic=tuple(m.get("aic", math.nan) for m in measures),
        bic=tuple(m.get("bic", math.nan) for m in measures),
        differences=tuple(differences),
        method=chosen,
        n_obs=estimates[0].n_obs,
        n_groups=estimates[0].model.n_groups,
        notes=tuple(notes),
    )


def _names(names: Iterable[str] | None, count: int) -> list[str]:
    if count < 2:
        got = "none" if count == 0 else "one"
        raise InputError(f"`fits` must be two fitted models or more; got {got}.", "fits")
    if names is None:
        return [f"model {k}" for k in range(1, count + 1)]
    given = checks.texts("names", names, "Give one name for each model.")
    if len(given) != count or len(set(given)) != count:
        raise checks.refusal("names", f"{count} different names", given, "One for each model.")
    return given


def check_fit(name: str, value: object) -> CFAFit:
    """Return a fitted model, or refuse what is none."""
    if not isinstance(value, CFAFit):
        raise InputError(
            f"`{name}` must be a result of cfa() or sem(); got {type(value).__name__}."
            + (" cfa(data, fit) makes one of it." if hasattr(value, "structure") else ""),
            name,
        )
    return value


def _check_fits(fits: Sequence[object]) -> None:
    """Refuse what are not models of the same data by the same procedure."""
    first, *others = (check_fit("fits", one).estimate for one in fits)
    if any(one.procedure.errors == "twostep" for one in (first, *others)):
        raise InputError(
            "`fits` must be fitted all at once: two-step estimates (method='sam') do not maximize "
            "a likelihood.",
            "fits",
        )
    for other in others:
        check_same_data(first, other)
        if first.procedure != other.procedure:
            raise InputError(
                "`fits` must have the same estimator; got "
                f"'{first.procedure.estimator}' and '{other.procedure.estimator}'.",
                "fits",
            )
        if first.model.mean_structure != other.model.mean_structure:
            raise InputError(
                "`fits` must all have a mean structure, or none of them. Give `mean_structure` the "
                "same value in both.",
                "fits",
            )


def check_same_data(a: SEMEstimate, b: SEMEstimate) -> None:
    """Refuse models of other variables, groups or rows."""
    named = {
        "observed variables": (sorted(a.model.observed), sorted(b.model.observed)),
        "groups": (list(a.model.groups), list(b.model.groups)),
    }
    for what, (ours, theirs) in named.items():
        if ours != theirs:
            alone = sorted(set(ours) ^ set(theirs))
            said = f"; '{alone[0]}' is in one of them only" if alone else ""
            raise InputError(
                f"`fits` must have the same {what}{said}. Models of different data cannot be "
                "compared.",
                "fits",
            )
    order = [b.model.observed.index(name) for name in a.model.observed]
    for mine, its in zip(a.blocks, b.blocks, strict=True):
        scale = np.sqrt(np.outer(np.diag(mine.S), np.diag(mine.S)))
        apart = np.nanmax(np.abs(mine.S - its.S[np.ix_(order, order)]) / scale)
        if mine.n_obs != its.n_obs or apart > _SAME:
            rows = f"{mine.n_obs} and {its.n_obs} rows" if mine.n_obs != its.n_obs else "others"
            raise InputError(
                f"`fits` must be of the same rows; got {rows}. Fit both models to the same data.",
                "fits",
            )


def _method(method: object, restricted: SEMEstimate) -> str:
    """Choose the test that goes with the procedure."""
    plain = method.replace(".", "_").lower() if isinstance(method, str) else method
    chosen = checks.choice("method", plain, METHODS)
    if not restricted.procedure.robust:
        if chosen not in ("default", "standard"):
            raise checks.refusal(
                "method", "'standard' for tests that are not scaled", method, "Use 'mlr' to fit."
            )
        return "standard"
    if chosen != "default":
        return chosen
    by_mean = restricted.procedure.test in _BY_MEAN
    return "satorra_bentler_2001" if by_mean else "satorra_2000"


def _check_nested(more: SEMEstimate, less: SEMEstimate, name1: str, name0: str) -> None:
    both = f"'{name1}' and '{name0}'"
    if more.test.df == less.test.df:
        raise InputError(
            f"{both} have the same degrees of freedom, {less.test.df}, so neither is nested in the "
            f"other. {_ADVICE}",
            "fits",
        )
    if less.test.chisq < more.test.chisq - _BETTER:
        raise InputError(
            f"{both} are not nested, or one search ended too early: the model with fewer "
            f"parameters fits better, {less.test.chisq:.3f} against {more.test.chisq:.3f}. "
            f"{_ADVICE}",
            "fits",
        )
    if more.procedure.likelihood and more.test.df and not _reproduces(more, less):
        raise InputError(
            f"{both} are not nested: the one with more parameters cannot have the moments that "
            f"the other implies. {_ADVICE}",
            "fits",
        )


def _reproduces(more: SEMEstimate, less: SEMEstimate) -> bool:
    """Whether the first model can have the moments that the second implies; True if not known."""
    order = [less.model.observed.index(name) for name in more.model.observed]
    means = more.model.mean_structure
    samples = [
        complete_sample(
            block.Sigma[np.ix_(order, order)], block.mu[order] if means else None, block.n_obs
        )
        for block in less.blocks
    ]
    if not means:  # those of observed predictors are not needed then
        samples = [complete_sample(one.patterns[0].S, None, one.n_obs) for one in samples]
    counts = [block.n_obs for block in less.blocks]
    likelihood = NormalLikelihood(more.model, samples, PROCEDURES["ml"], counts)
    try:
        found, _ = search(
            likelihood.objective,
            likelihood.information,
            likelihood.model,
            likelihood.starting_moments(),
            Constraints(likelihood.model),
        )
    except DTError:
        return True
    h0, h1 = likelihood.log_likelihoods(found.theta)
    return 2 * (h1 - h0) / less.n_obs < _REPRODUCED


def difference_test(more: SEMEstimate, less: SEMEstimate, method: str) -> Difference:
    """Test the restrictions that turn the first model into the second."""
    m = less.test.df - more.test.df
    plain = max(less.test.chisq - more.test.chisq, 0.0)
    if method == "standard":
        value = plain
    elif method == "satorra_bentler_2001":
        c = (less.test.df * less.test.scaling - more.test.df * more.test.scaling) / m
        value = plain / c if c > 0 else math.nan
    else:
        mean, square = _difference_traces(more, less)
        a = math.sqrt(m / square)
        value = a * plain + m - a * mean
    return Difference(float(value), m, p_value(value, m) if value == value else math.nan)


def _difference_traces(more: SEMEstimate, less: SEMEstimate) -> tuple[float, float]:
    """Tr M and tr M², with M as at the head of this module."""
    K1, K0 = (Constraints(one.model).space(one.theta) for one in (more, less))
    D1, D0 = _all_derivatives(more) @ K1, _all_derivatives(less, more.model.observed) @ K0
    F = np.linalg.pinv(D1) @ D0
    A = np.linalg.svd(F)[0][:, -(less.test.df - more.test.df) :].T
    inverse = np.linalg.inv(K1.T @ bread(more) @ K1)
    # chi-square counts rows less one per group if there is no likelihood
    n = more.n_obs - (0 if more.procedure.likelihood else more.model.n_groups)
    spread = n * K1.T @ more.covariance @ K1
    M = np.linalg.solve(A @ inverse @ A.T, A @ spread @ A.T)
    return float(np.trace(M)), float(np.sum(M * M.T))


def bread(estimate: SEMEstimate) -> FloatArray:
    """(q, q) information per row on which the standard errors of a model rest."""
    if not estimate.procedure.likelihood:
        assert estimate.information is not None
        return estimate.information
    kind = observed_information
    if estimate.procedure.information == "expected":
        kind = expected_information
    q = len(estimate.theta)
    total = np.zeros((q, q))
    for sample, block in zip(estimate.samples, estimate.model.blocks, strict=True):
        total += sample.n_obs / estimate.n_obs * kind(sample, Layout(block, q), estimate.theta)
    return total


def _all_derivatives(estimate: SEMEstimate, observed: Sequence[str] | None = None) -> FloatArray:
    """Differentiate the moments of all groups, the variables in the given order.

    Of ordered items they are the statistics that least squares fits; these models have the same
    variables in the same order.
    """
    names, q = estimate.model.observed, len(estimate.theta)
    if estimate.model.ordered:
        layouts = (Layout(block, q) for block in estimate.model.blocks)
        parts = [ModelStatistics(one).values_and_derivatives(estimate.theta)[1] for one in layouts]
        return np.concatenate(parts)
    order = np.array([names.index(name) for name in observed or names])
    p = len(order)
    i, j = np.tril_indices(p)
    at = np.zeros((p, p), dtype=np.int64)
    at[i, j] = at[j, i] = np.arange(len(i))
    moments = np.concatenate([at[order[i], order[j]], len(i) + order])
    parts = [
        moment_derivatives(Layout(block, q), estimate.theta, True)[moments]
        for block in estimate.model.blocks
    ]
    return np.concatenate(parts)
