"""Fitting by normal maximum likelihood, in one or several groups: ml, mlr, fiml."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.errors import EstimationError, EstimationWarning, warn
from dtstat.core.fit_indices import Test
from dtstat.core.parallel import Progress, Steps
from dtstat.sem.designs import Rows
from dtstat.sem.discrepancy import (
    PROCEDURES,
    Block,
    Estimator,
    Info,
    Procedure,
    inverse_within,
)
from dtstat.sem.estimate import STEPS, SEMEstimate, estimate_model
from dtstat.sem.matrices import Layout
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
from dtstat.sem.parameters import Model, Parameter
from dtstat.sem.robust import (
    MOST_ITEMS,
    conditional_score_trace,
    corrected_for_gaps,
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
from dtstat.sem.second_moments import (
    Weighted,
    adjusted_test,
    block_diagonal,
    moment_covariance,
    moment_derivatives,
    normal_weights,
    residual_product,
    sandwich,
)


def fit_normal(
    model: Model,
    rows: FloatArray | Rows | Sequence[FloatArray | Rows],
    estimator: Estimator | Procedure,
    n_given: int | Sequence[int],
    keep_x: bool = False,
    progress: Progress = None,
) -> SEMEstimate:
    """Fit by maximum likelihood; rows may have gaps if means are modeled.

    The columns of the (n, p) rows of each group are the observed variables of the model, in order;
    ``n_given`` counts the rows before any were dropped. Rows that lack an observed predictor are
    left out, as the model is conditional on them, unless ``keep_x``.
    """
    procedure = estimator if isinstance(estimator, Procedure) else PROCEDURES[estimator]
    given = [rows] if isinstance(rows, np.ndarray | Rows) else list(rows)
    groups = [one if isinstance(one, Rows) else Rows(one) for one in given]
    counts = [n_given] if isinstance(n_given, int) else list(n_given)
    x = covariate_positions(model)
    kept = groups
    if x and not keep_x:
        kept = [one.take(np.asarray(~np.isnan(one.X[:, x]).any(axis=1))) for one in groups]
    lost = sum(map(len, groups)) - sum(map(len, kept))
    notes: tuple[str, ...] = ()
    if lost:
        notes = (f"{lost} rows were left out: they do not answer all observed predictors.",)
        warn(notes[0], EstimationWarning, stacklevel=2)
    with Steps(progress, "model", 1 + STEPS) as steps:
        samples = [sample_of(one, model.mean_structure) for one in kept]
        apart = _note_pairs_apart(samples, model)
        likelihood = NormalLikelihood(model, samples, procedure, counts, kept, bool(apart), steps)
        steps.done()
        return estimate_model(likelihood, (*notes, *apart), steps=steps)


def sample_of(rows: Rows, means: bool) -> Sample:
    """Sufficient statistics of rows; gaps count only where means are modeled."""
    if means and np.isnan(rows.X).any():
        return sample_from_rows(rows.X, rows.weights)
    S, mean = rows.moments()
    return complete_sample(S, mean if means else None, rows.total)


def fit_moments(
    model: Model,
    moments: Sequence[tuple[FloatArray, FloatArray | None, int]],
    procedure: Procedure,
    source: Literal["covariances", "correlations"],
    progress: Progress = None,
) -> SEMEstimate:
    """Fit to covariances (divisor n − 1) or correlations, means and rows of each group.

    The likelihood has the divisor n, so the matrix is taken times (n − 1) / n, as in lavaan.
    """
    samples = []
    for S, mean, n in moments:
        sd = np.sqrt(np.diag(S))
        if np.linalg.eigvalsh(S / np.outer(sd, sd))[0] <= 1e-10:
            raise EstimationError(
                f"The matrix of {len(S)} items is not positive definite, so the likelihood does "
                "not exist. Leave out items that others determine, or smooth the matrix."
            )
        samples.append(
            complete_sample(S * ((n - 1) / n), mean if model.mean_structure else None, n)
        )
    likelihood = NormalLikelihood(model, samples, procedure, [n for _, _, n in moments])
    with Steps(progress, "model", STEPS) as steps:
        return estimate_model(likelihood, source=source, steps=steps)


class NormalLikelihood:
    """Minus the normal log-likelihood per row of all groups, a :class:`Discrepancy`.

    Parameters
    ----------
    model
        The model.
    samples
        Sufficient statistics of each group.
    procedure
        How standard errors and tests are computed.
    n_given
        Rows given, of each group.
    rows
        The rows of each group, which robust procedures need.
    apart
        Whether some pairs of items are never answered together.
    steps
        What long passes over the rows report to.
    """

    def __init__(
        self,
        model: Model,
        samples: Sequence[Sample],
        procedure: Procedure,
        n_given: Sequence[int],
        rows: Sequence[Rows] | None = None,
        apart: bool = False,
        steps: Steps | None = None,
    ) -> None:
        self.samples, self.procedure, self._n_given = tuple(samples), procedure, n_given
        self._apart, self._steps = apart, steps
        self._moments = [(pairwise_moments if apart else saturated_moments)(s) for s in samples]
        self.means = [mean for _, mean in self._moments]
        if rows is not None and not samples[0].means:
            self.means = [one.moments()[1] for one in rows]
        self.model = with_exogenous_moments(
            model, [(S, m) for (S, _), m in zip(self._moments, self.means, strict=True)]
        )
        self.layouts = tuple(Layout(block, self.model.n_free) for block in self.model.blocks)
        self.n_obs = sum(sample.n_obs for sample in samples)
        self._shares = [sample.n_obs / self.n_obs for sample in samples]
        self._covariates = covariate_positions(self.model)
        self.n_moments = count_moments(self.model)
        self._counts = [round(sample.n_obs) for sample in samples]
        self._weighted_rows = rows is not None and rows[0].weights is not None
        if rows is not None:
            self._counts = [len(one) for one in rows]
        self._rows: list[Rows] = []
        if rows is not None and (procedure.uses_scores or procedure.uses_gamma):
            centers = [0 * m if samples[0].means else m for m in self.means]
            self._rows = [X.centered(center) for X, center in zip(rows, centers, strict=True)]
        self._last: dict[str, tuple[FloatArray, FloatArray]] = {}

    def starting_moments(self) -> list[tuple[FloatArray, FloatArray]]:
        """Covariances and means of each group; 0 is a guess at what no rows tell."""
        return [(np.nan_to_num(S), mean) for S, mean in self._moments]

    def objective(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Minus the log-likelihood per row (no constant), and its gradient."""
        value, gradient = 0.0, np.zeros(len(theta))
        for share, sample, layout in zip(self._shares, self.samples, self.layouts, strict=True):
            own, slope = objective(sample, layout, theta)
            value, gradient = value + share * own, gradient + share * slope
        return value, gradient

    def information(self, theta: FloatArray) -> FloatArray:
        """(q, q) expected information per row."""
        return self._sum(expected_information, theta)

    def _sum(self, information: Callable[..., FloatArray], theta: FloatArray) -> FloatArray:
        total = np.zeros((len(theta), len(theta)))
        for share, sample, layout in zip(self._shares, self.samples, self.layouts, strict=True):
            total += share * information(sample, layout, theta, self._steps)
        return total

    def covariance(self, theta: FloatArray, space: FloatArray) -> FloatArray:
        """A⁻¹ / n, or A⁻¹ B A⁻¹ / n with the mean squares B of the rows' scores, or from Γ."""
        errors = self.procedure.errors
        if errors == "none":
            return np.full((len(theta), len(theta)), np.nan)
        if errors == "robust.sem":
            return sandwich(self._weighted(theta), space) / self.n_obs
        bread = inverse_within(self._kind(self.procedure.information, theta), space)
        if errors == "standard":
            return bread / self.n_obs
        B = self._kind("first.order", theta)
        return np.asarray(bread @ B @ bread / self.n_obs, dtype=np.float64)

    def _kind(self, information: Info, theta: FloatArray) -> FloatArray:
        """(q, q) information of a kind per row; the last ones asked for are kept."""
        known = self._last.get(information)
        if known is None or not np.array_equal(known[0], theta):
            known = theta.copy(), self._information(information, theta)
            self._last[information] = known
        return known[1]

    def _information(self, kind: Info, theta: FloatArray) -> FloatArray:
        if kind == "expected":
            return self.information(theta)
        if kind == "observed":
            return self._sum(observed_information, theta)
        B = np.zeros((len(theta), len(theta)))
        for share, rows, sample, layout in zip(
            self._shares, self._rows, self.samples, self.layouts, strict=True
        ):
            B += share * rows.squares(case_scores(rows.X, layout, theta, sample.means))
        return B

    def _weighted(self, theta: FloatArray) -> list[Weighted]:
        """Weights, derivatives and Γ of each group."""
        found = []
        for share, gamma, sample, layout in zip(
            self._shares, self._gammas, self.samples, self.layouts, strict=True
        ):
            W = normal_weights(layout.implied(theta).Sigma, sample.means)
            D = moment_derivatives(layout, theta, sample.means)
            found.append(Weighted(W, D, gamma, share))
        return found

    @cached_property
    def _gammas(self) -> list[FloatArray]:
        means = self.samples[0].means
        return [moment_covariance(rows.X, means, self._covariates) for rows in self._rows]

    def log_likelihoods(self, theta: FloatArray) -> tuple[float, float]:
        """Log-likelihoods of the model and of the saturated one, given observed predictors."""
        h0 = h1 = 0.0
        for sample, layout, (S, mean) in zip(
            self.samples, self.layouts, self._moments, strict=True
        ):
            implied = layout.implied(theta)
            given = covariate_log_likelihood(self._covariates, sample, S, mean)
            h0 += log_likelihood(sample, implied.Sigma, implied.mu)
            h0 -= given
            h1 -= given
        return h0, h1 + sum(self._saturated)

    @cached_property
    def _saturated(self) -> list[float]:
        """Log-likelihoods of the saturated models."""
        if self._apart:
            return [np.nan] * len(self.samples)
        return [
            log_likelihood(sample, S, mean)
            for sample, (S, mean) in zip(self.samples, self._moments, strict=True)
        ]

    def test(self, theta: FloatArray, df: int, space: FloatArray) -> Test:
        """Likelihood-ratio test; robust ones are scaled by their mean if the model is right."""
        h0, h1 = self.log_likelihoods(theta)
        chisq, kind = 2 * (h1 - h0), self.procedure.test
        if kind == "standard" or df == 0:
            return Test(chisq, df)
        if kind == "yuan.bentler.mplus":
            A, B = self._kind(self._bread, theta), self._kind("first.order", theta)
            own = float(np.sum(inverse_within(A, space) * B))
            whole = self._saturated_trace
            return Test(chisq, df, scaling=_known((whole - own) / df), traces=(own, whole))
        return adjusted_test(kind, chisq, df, residual_product(self._weighted(theta), space))

    @property
    def _bread(self) -> Info:
        """Which information the scaling of a test takes."""
        kind = self.procedure.information
        return "observed" if kind == "first.order" else kind

    @cached_property
    def _saturated_trace(self) -> float:
        """tr(B₁ A₁⁻¹) of the saturated models."""
        if self._apart:
            return np.nan
        total = 0.0
        for rows, sample, (S, mean) in zip(self._rows, self.samples, self._moments, strict=True):
            if sample.complete and not self._covariates:
                total += saturated_score_trace(rows, sample, S, mean)
            else:
                given = Covariates(tuple(self._covariates), S, mean)
                total += conditional_score_trace(
                    rows, sample, self.model.observed, given, self._steps
                )
        return total

    def baseline(self) -> Test:
        """Test of the independence model (observed predictors keep their moments)."""
        x = predictor_positions(self.model)
        p, c = len(self.model.observed), len(x)
        df = len(self.samples) * (p * (p - 1) // 2 - c * (c - 1) // 2)
        kind = self.procedure.test
        chisq = own = 0.0
        groups = []
        for k, (sample, (S, mean)) in enumerate(zip(self.samples, self._moments, strict=True)):
            Sigma, mu = independence_moments(sample)
            if x and not (sample.complete or self._covariates):  # as if they were all there is
                Sigma[np.ix_(x, x)], mu[x] = saturated_moments(sample.select(x))
            else:
                Sigma[np.ix_(x, x)], mu[x] = S[np.ix_(x, x)], mean[x]
            h1 = self._saturated[k]
            chisq += 2 * (h1 - log_likelihood(sample, Sigma, mu))
            if kind == "standard" or df == 0:
                continue
            given = Covariates(tuple(self._covariates), S, mean)
            layout = independence_layout(self.model.observed, sample.means, given, x)
            theta = parameters_of(layout, Sigma, mu)
            if kind == "yuan.bentler.mplus":
                own += score_trace(self._rows[k], sample, layout, theta, self._bread, self._steps)
                continue
            W = normal_weights(Sigma, sample.means)
            D = moment_derivatives(layout, theta, sample.means)
            every = np.eye(D.shape[1])
            groups.append(residual_product([Weighted(W, D, self._gammas[k], 1.0)], every))
        if kind == "standard" or df == 0:
            return Test(chisq, df)
        if kind == "yuan.bentler.mplus":
            return Test(chisq, df, scaling=_known((self._saturated_trace - own) / df))
        return adjusted_test(kind, chisq, df, block_diagonal(groups))

    def corrected(
        self, theta: FloatArray, test: Test, baseline: Test, space: FloatArray
    ) -> tuple[Test | None, Test | None]:
        """Find the tests of robust indices: the same, or with gaps as if none were missing."""
        if self._apart or self.procedure.test == "mean.var.adjusted":
            return None, None
        if all(sample.complete for sample in self.samples):
            return (test, baseline) if self._reports_robust else (None, None)
        if len(self.model.observed) > MOST_ITEMS:
            return None, None
        return corrected_for_gaps(
            self.samples, self.layouts, theta, space, self._moments, test.df,
            self._rows if self.procedure.robust else None, self._covariates,
            predictor_positions(self.model), self._steps,
        )  # fmt: skip

    @property
    def _reports_robust(self) -> bool:
        return self.procedure.robust or self.procedure.estimator == "fiml"

    def blocks(self, theta: FloatArray) -> tuple[Block, ...]:
        """Moments of each group."""
        found = []
        for k, (sample, layout) in enumerate(zip(self.samples, self.layouts, strict=True)):
            implied, gaps = layout.implied(theta), None if sample.complete else sample
            weight = sample.n_obs if self._weighted_rows else None
            found.append(
                Block(
                    implied.Sigma, implied.mu, self._moments[k][0], self.means[k], self._counts[k],
                    self._n_given[k], len(sample.patterns), gaps, weight,
                )
            )  # fmt: skip
        return tuple(found)


def _note_pairs_apart(samples: Sequence[Sample], model: Model) -> tuple[str, ...]:
    """Warn of items never answered together: no rows tell of their covariance."""
    for sample, group in zip(samples, model.groups or ("",), strict=True):
        if sample.complete:
            continue
        i, j = np.nonzero(np.triu(np.isnan(pairwise_moments(sample)[0]), 1))
        if not i.size:
            continue
        first, second = model.observed[i[0]], model.observed[j[0]]
        more = f" (nor are {i.size - 1} other pairs)" if i.size > 1 else ""
        where = f" of group '{group}'" if group else ""
        note = (
            f"Items '{first}' and '{second}' are not answered together by two rows or more{where}"
            f"{more}, so the saturated model is not determined: chi-square and the fit measures "
            "that need it are not available (NaN). Estimates and standard errors are."
        )
        warn(note, EstimationWarning, stacklevel=2)
        return (note,)
    return ()


def with_exogenous_moments(model: Model, moments: Sequence[tuple[FloatArray, FloatArray]]) -> Model:
    """Fix the moments of observed predictors at their sample values, in each group."""
    if not any(row.exogenous for row in model.parameters):
        return model
    position = {name: k for k, name in enumerate(model.observed)}

    def value(row: Parameter) -> float:
        S, mean = moments[row.group - 1]
        lhs = position[row.lhs]
        return float(S[lhs, position[row.rhs]] if row.rhs else mean[lhs])

    rows = tuple(row.change(value=value(row)) if row.exogenous else row for row in model.parameters)
    return replace(model, parameters=rows)


def covariate_positions(model: Model) -> list[int]:
    """Positions of the observed predictors, whose moments are given, among the observed."""
    names = {row.lhs for row in model.parameters if row.exogenous}
    return [k for k, name in enumerate(model.observed) if name in names]


def predictor_positions(model: Model) -> list[int]:
    """Positions of observed predictors of which the model says nothing; they may covary freely."""
    causes = {row.rhs for row in model.parameters if row.op == "~"}
    effects = {row.lhs for row in model.parameters if row.op == "~"}
    effects |= {row.rhs for row in model.parameters if row.op == "=~"}
    own = {
        name
        for row in model.parameters
        if row.user and row.op in ("~~", "~1")
        for name in (row.lhs, row.rhs)
    }
    return [k for k, name in enumerate(model.observed) if name in causes - effects - own]


def covariate_log_likelihood(
    covariates: Sequence[int], sample: Sample, S: FloatArray, mean: FloatArray
) -> float:
    """Log-likelihood of the observed predictors, on which the model is conditional."""
    x = list(covariates)
    if not x:
        return 0.0
    part = complete_sample(S[np.ix_(x, x)], mean[x], sample.n_obs)
    if not all(set(x) <= set(pattern.items.tolist()) for pattern in sample.patterns):
        part = sample.select(x)
    return log_likelihood(part, S[np.ix_(x, x)], mean[x])


def count_moments(model: Model) -> int:
    """Distinct moments of all groups; those of observed predictors do not count."""
    p = len(model.observed)
    own = p * (p + 1) // 2 + (p if model.mean_structure else 0)
    return model.n_groups * own - sum(row.exogenous for row in model.parameters)


def _known(scaling: float) -> float:
    """With few rows a difference of traces may not be positive, and scales nothing."""
    return scaling if scaling > 0 else math.nan
