"""Fitting a structural equation model by normal maximum likelihood: ml, mlr, fiml."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.errors import EstimationError, EstimationWarning, warn
from dtstat.core.fit_indices import Test
from dtstat.core.saved import register
from dtstat.sem.matrices import Layout
from dtstat.sem.model import Model
from dtstat.sem.normal import (
    Covariates,
    case_scores,
    expected_information,
    independence_layout,
    log_likelihood,
    objective,
    observed_information,
    parameters_of,
    saturated_moments,
)
from dtstat.sem.optimize import check_identified, review_solution, search
from dtstat.sem.robust import (
    MOST_ITEMS,
    conditional_score_trace,
    corrected_for_gaps,
    sandwich,
    saturated_score_trace,
    score_trace,
)
from dtstat.sem.rows import (
    Sample,
    complete_sample,
    independence_moments,
    pairwise_moments,
    sample_from_rows,
)

Estimator = Literal["ml", "mlr", "fiml", "dwls"]


@register(
    shapes={
        "theta": "q",
        "covariance": "qq",
        "Sigma": "pp",
        "mu": "p",
        "S": "pp",
        "mean": "p",
        "model.observed": "p",
    },
    rules={
        "items were observed": lambda one: (
            one.sample is None or one.sample.n_items == len(one.model.observed)
        ),
        "parameters have values": lambda one: one.model.n_free == len(one.theta),
        "rows were counted": lambda one: one.n_obs > 0,
    },
)
@dataclass(frozen=True)
class SEMEstimate:
    """A fitted model, as numbers.

    Attributes
    ----------
    model
        The model.
    estimator
        "ml", "mlr", "fiml" or "dwls".
    theta, covariance
        (q,) free parameters and the (q, q) covariance matrix of their estimates.
    Sigma, mu
        Implied moments.
    S, mean
        Moments of the saturated model: those of the sample, or by EM with gaps. If some pairs of
        items are never answered together, those of the rows that each pair has in common.
    n_obs, n_given, n_patterns
        Rows used, rows given, and patterns of missing values.
    logl, saturated_logl
        Log-likelihoods of the model and of the saturated one (None for dwls).
    test, baseline
        Tests of the model and of the independence model.
    robust
        Whether standard errors and tests are robust.
    information
        "expected" or "observed".
    iterations, converged, tried
        How the search went.
    notes
        Warnings about the solution, as sentences.
    sample
        Sufficient statistics of the rows, where they are more than S and mean (fiml).
    corrected, corrected_baseline
        The tests that robust CFI, TLI and RMSEA rest on; None where they are not known.
    source
        What was given: rows, or their covariances or correlations.
    """

    model: Model
    estimator: Estimator
    theta: FloatArray
    covariance: FloatArray
    Sigma: FloatArray
    mu: FloatArray
    S: FloatArray
    mean: FloatArray
    n_obs: int
    n_given: int
    n_patterns: int
    logl: float | None
    saturated_logl: float | None
    test: Test
    baseline: Test
    robust: bool
    information: str
    iterations: int
    converged: bool
    tried: tuple[str, ...]
    notes: tuple[str, ...] = ()
    sample: Sample | None = None
    corrected: Test | None = None
    corrected_baseline: Test | None = None
    source: Literal["rows", "covariances", "correlations"] = "rows"

    @property
    def layout(self) -> Layout:
        """Where the parameters sit."""
        return Layout(self.model)

    @property
    def estimates(self) -> FloatArray:
        """(rows of the parameter table,) values, free and fixed."""
        return np.array(
            [self.theta[row.free - 1] if row.free else row.value for row in self.model.parameters],
            dtype=float,
        )

    @property
    def standard_errors(self) -> FloatArray:
        """(rows of the parameter table,) standard errors; 0 for fixed ones, NaN if unknown."""
        variances = np.diag(self.covariance)
        se = np.sqrt(np.where(variances >= 0, variances, np.nan))
        return np.array(
            [se[row.free - 1] if row.free else 0.0 for row in self.model.parameters], dtype=float
        )


def fit_normal(model: Model, X: FloatArray, estimator: Estimator, n_given: int) -> SEMEstimate:
    """Fit by ``ml`` (complete rows), ``mlr`` or ``fiml`` (rows with or without gaps).

    The columns of X (n, p) are the observed variables of the model, in order; ``n_given`` counts
    the rows before any were dropped. Rows that lack an observed predictor are left out: the model
    is conditional on them.
    """
    x = covariate_positions(model)
    kept = X[~np.isnan(X[:, x]).any(axis=1)] if x else X
    notes: tuple[str, ...] = ()
    if len(kept) < len(X):
        notes = (
            f"{len(X) - len(kept)} rows were left out: they do not answer all observed predictors.",
        )
        warn(notes[0], EstimationWarning, stacklevel=2)
    if model.mean_structure and np.isnan(kept).any():
        sample = sample_from_rows(kept)
    else:
        mean = kept.mean(axis=0)
        D = kept - mean
        S = D.T @ D / len(kept)
        sample = complete_sample(S, mean if model.mean_structure else None, len(kept))
    return _fit_sample(model, sample, kept, estimator, n_given, notes)


def fit_moments(
    model: Model, S: FloatArray, n_obs: int, source: Literal["covariances", "correlations"]
) -> SEMEstimate:
    """Fit by ``ml`` to a covariance or correlation matrix of n_obs rows, with divisor n − 1.

    The likelihood has the divisor n, so the matrix is taken times (n − 1) / n, as in lavaan.
    """
    sd = np.sqrt(np.diag(S))
    if np.linalg.eigvalsh(S / np.outer(sd, sd))[0] <= 1e-10:
        raise EstimationError(
            f"The matrix of {len(S)} items is not positive definite, so the likelihood does "
            "not exist. Leave out items that others determine, or smooth the matrix."
        )
    sample = complete_sample(S * ((n_obs - 1) / n_obs), None, n_obs)
    return replace(_fit_sample(model, sample, None, "ml", n_obs), source=source)


def _fit_sample(
    model: Model,
    sample: Sample,
    X: FloatArray | None,
    estimator: Estimator,
    n_given: int,
    notes: tuple[str, ...] = (),
) -> SEMEstimate:
    apart = _note_pairs_apart(sample, model)
    S, mean = (pairwise_moments if apart else saturated_moments)(sample)
    means = mean if sample.means or X is None else X.mean(axis=0)
    model = with_exogenous_moments(model, S, means)
    layout = Layout(model)
    df = degrees_of_freedom(model, sample.means)
    found, dropped = search(
        lambda theta: objective(sample, layout, theta),
        lambda theta: expected_information(sample, layout, theta),
        model,
        np.nan_to_num(S),  # a guess at what no rows tell
        mean,
    )
    check_identified(expected_information(sample, layout, found.theta), model)
    implied = layout.implied(found.theta)
    given = covariate_log_likelihood(model, sample, S, mean)
    h1 = np.nan if apart else log_likelihood(sample, S, mean) - given
    h0 = log_likelihood(sample, implied.Sigma, implied.mu) - given
    robust = estimator == "mlr"
    rows = X - means if robust and X is not None and not sample.means else X
    information = "expected" if estimator == "ml" else "observed"
    covariance = _covariance(sample, layout, found.theta, information, rows if robust else None)
    test = Test(2 * (h1 - h0), df)
    saturated = None
    if robust and rows is not None:
        saturated = np.nan if apart else _saturated_trace(rows, sample, S, mean, model)
        if df > 0:
            own = score_trace(rows, sample, layout, found.theta)
            test = replace(test, scaling=(saturated - own) / df)
    baseline = _baseline(model, sample, S, mean, h1 + given, rows, saturated)
    corrected: tuple[Test | None, Test | None] = (None, None)
    if estimator != "ml" and not apart:
        rows = rows if robust else None
        corrected = _corrected(sample, layout, found.theta, S, mean, (test, baseline), rows)
    return SEMEstimate(
        model, estimator, found.theta, covariance, implied.Sigma, implied.mu, S, means,
        sample.n_obs, n_given, len(sample.patterns), h0, h1, test, baseline, robust, information,
        found.iterations, found.converged, found.tried,
        (*notes, *apart, *dropped, *review_solution(layout, found.theta)),
        None if sample.complete else sample, *corrected,
    )  # fmt: skip


def _note_pairs_apart(sample: Sample, model: Model) -> tuple[str, ...]:
    """Warn of items never answered together: no rows tell of their covariance."""
    if sample.complete:
        return ()
    i, j = np.nonzero(np.triu(np.isnan(pairwise_moments(sample)[0]), 1))
    if not i.size:
        return ()
    first, second = model.observed[i[0]], model.observed[j[0]]
    more = f" (nor are {i.size - 1} other pairs)" if i.size > 1 else ""
    note = (
        f"Items '{first}' and '{second}' are not answered together by two rows or more{more}, so "
        "the saturated model is not determined: chi-square and the fit measures that need it are "
        "not available (NaN). Estimates and standard errors are."
    )
    warn(note, EstimationWarning, stacklevel=2)
    return (note,)


def with_exogenous_moments(model: Model, S: FloatArray, mean: FloatArray) -> Model:
    """Fix the moments of observed predictors at their sample values."""
    if not any(row.exogenous for row in model.parameters):
        return model
    position = {name: k for k, name in enumerate(model.observed)}

    def value(lhs: str, rhs: str) -> float:
        return float(S[position[lhs], position[rhs]] if rhs else mean[position[lhs]])

    rows = tuple(
        replace(row, value=value(row.lhs, row.rhs)) if row.exogenous else row
        for row in model.parameters
    )
    return replace(model, parameters=rows)


def covariate_positions(model: Model) -> list[int]:
    """Positions of the observed predictors, whose moments are given, among the observed."""
    names = {row.lhs for row in model.parameters if row.exogenous}
    return [k for k, name in enumerate(model.observed) if name in names]


def covariate_log_likelihood(
    model: Model, sample: Sample, S: FloatArray, mean: FloatArray
) -> float:
    """Log-likelihood of the observed predictors, on which the model is conditional."""
    x = covariate_positions(model)
    if not x:
        return 0.0
    part = complete_sample(S[np.ix_(x, x)], mean[x], sample.n_obs)
    return log_likelihood(part, S[np.ix_(x, x)], mean[x])


def degrees_of_freedom(model: Model, means: bool) -> int:
    """Distinct moments less free parameters; moments of observed predictors do not count."""
    p = len(model.observed)
    moments = p * (p + 1) // 2 + (p if means else 0)
    moments -= sum(row.exogenous for row in model.parameters)
    df = moments - model.n_free
    if df < 0:
        raise EstimationError(
            f"The model is not identified: it has {model.n_free} free parameters for {moments} "
            "moments. Fix or equate parameters, or measure the factors with more items."
        )
    return df


def _covariance(
    sample: Sample, layout: Layout, theta: FloatArray, information: str, X: FloatArray | None
) -> FloatArray:
    which = expected_information if information == "expected" else observed_information
    A = which(sample, layout, theta)
    if X is None:
        covariance: FloatArray = np.linalg.inv(A) / sample.n_obs
        return covariance
    return sandwich(A, case_scores(X, layout, theta, sample.means))


def _saturated_trace(
    X: FloatArray, sample: Sample, S: FloatArray, mean: FloatArray, model: Model
) -> float:
    x = covariate_positions(model)
    if sample.complete and not x:
        return saturated_score_trace(X, sample, S, mean)
    return conditional_score_trace(X, sample, model.observed, Covariates(tuple(x), S, mean))


def _baseline(
    model: Model,
    sample: Sample,
    S: FloatArray,
    mean: FloatArray,
    h1: float,
    X: FloatArray | None,
    saturated: float | None,
) -> Test:
    """Test of the independence model (observed predictors keep their moments)."""
    x = covariate_positions(model)
    Sigma, mu = independence_moments(sample)
    Sigma[np.ix_(x, x)], mu[x] = S[np.ix_(x, x)], mean[x]
    p, c = len(model.observed), len(x)
    df = p * (p - 1) // 2 - c * (c - 1) // 2
    test = Test(2 * (h1 - log_likelihood(sample, Sigma, mu)), df)
    if saturated is None or X is None or df == 0:
        return test
    layout = independence_layout(model.observed, sample.means, Covariates(tuple(x), S, mean))
    own = score_trace(X, sample, layout, parameters_of(layout, Sigma, mu))
    return replace(test, scaling=(saturated - own) / df)


def _corrected(
    sample: Sample,
    layout: Layout,
    theta: FloatArray,
    S: FloatArray,
    mean: FloatArray,
    tests: tuple[Test, Test],
    X: FloatArray | None,
) -> tuple[Test | None, Test | None]:
    """Find the tests of robust indices: the same, or with gaps as if no answers were missing."""
    if sample.complete:
        return tests
    if len(mean) > MOST_ITEMS or covariate_positions(layout.model):
        return None, None
    return corrected_for_gaps(sample, layout, theta, S, mean, tests[0].df, X)
