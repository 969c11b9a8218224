"""What a fit with curves keeps of them, and what it tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from dtstat.arrays import FloatArray
from dtstat.estimation.nonlinear import ratings
from dtstat.estimation.nonlinear.answer_scale import AnswerScale
from dtstat.estimation.nonlinear.estimate import Model, NonlinearEstimate, answers_log_likelihood
from dtstat.estimation.nonlinear.likelihood import LogLikelihood, posterior_moments
from dtstat.estimation.nonlinear.network_model import NetworkModel
from dtstat.estimation.nonlinear.normal_scores import NormalScores
from dtstat.estimation.nonlinear.posterior import posterior_draws
from dtstat.estimation.nonlinear.response_model import Edges, ResponseModel
from dtstat.estimation.nonlinear.response_shape import GRID, Shape, curves, shape
from dtstat.estimation.nonlinear.uncertainty import phi_uncertainty, spline_uncertainty
from dtstat.results.serialize import register

_DRAWS, _THIN, _BURN_IN = 80, 2, 40  # of the factors, for standard errors
_SCORE_DRAWS = 400
CURVE_COLUMNS = ["item", "factor", "z", "value", "lower", "upper"]
LOADING_COLUMNS = ["item", "factor", "loading", "slope", "r2_map", "r2_line", "nonlinearity"]
_BAND = 1.959963984540054  # 95 %

for _part in (AnswerScale, NetworkModel, NormalScores, ResponseModel):
    register(_part)


@register
@dataclass(frozen=True, eq=False)
class NonlinearFit:
    """Curves of the chosen structure.

    Attributes
    ----------
    model, scale
        Parameters, and how answers are coded for them.
    log_likelihood, monte_carlo_se
        Of the rows, with the error of its estimation: from the draws and, of splines, from two
        independent runs.
    n_parameters
        Effective number; NaN for a network.
    factor_correlation_errors
        (d, d) standard errors of Φ.
    grid, values, lower, upper
        (G,) values of a factor, (E, G) the mean answers there, and a 95 % band; NaN for a network.
    acceptance, restarts
        Of the sampler.
    seed
        Of the random numbers.
    """

    model: Model
    scale: AnswerScale
    log_likelihood: float
    monte_carlo_se: float
    n_parameters: float
    factor_correlation_errors: FloatArray
    grid: FloatArray
    values: FloatArray
    lower: FloatArray
    upper: FloatArray
    acceptance: float
    restarts: int
    seed: int

    @cached_property
    def shape(self) -> Shape:
        """How steep and how straight the curves are."""
        return shape(self.model)

    @property
    def edges(self) -> Edges:
        """The item–factor pairs, sorted by item."""
        return Edges.of(self.model.support)

    def curve_frame(self, items: tuple[str, ...], factors: tuple[str, ...]) -> pd.DataFrame:
        """One row per edge and value of its factor: item, factor, z, value, lower, upper."""
        frames = [
            pd.DataFrame(
                {
                    "item": items[i],
                    "factor": factors[k],
                    "z": self.grid,
                    "value": self.values[e],
                    "lower": self.lower[e],
                    "upper": self.upper[e],
                }
            )
            for e, (i, k) in enumerate(zip(self.edges.item, self.edges.factor, strict=True))
        ]
        return pd.concat(frames, ignore_index=True)

    def loading_frame(self, items: tuple[str, ...], factors: tuple[str, ...]) -> pd.DataFrame:
        """One row per edge: item, factor, loading, slope, r2_map, r2_line, nonlinearity."""
        item, about = self.edges.item, self.shape
        r2, line = about.r2_map[item], about.r2_line[item]
        return pd.DataFrame(
            {
                "item": [items[i] for i in item],
                "factor": [factors[k] for k in self.edges.factor],
                "loading": about.loading,
                "slope": about.slope,
                "r2_map": r2,
                "r2_line": line,
                "nonlinearity": 1 - line / np.maximum(r2, 1e-12),
            }
        )

    def scores(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n, d) posterior means and standard deviations of the factors; NaN without answers."""
        rng = np.random.default_rng(self.seed)
        coded = self.scale.encode(X)
        mean, sd = posterior_moments(self.model, coded, rng, _SCORE_DRAWS)
        nothing = np.isnan(X).all(axis=1)
        mean[nothing], sd[nothing] = np.nan, np.nan
        return mean, sd

    def log_likelihoods(self, X: FloatArray) -> LogLikelihood:
        """Log-likelihoods of rows of answers, by importance sampling."""
        rng = np.random.default_rng(self.seed)
        return answers_log_likelihood(self.model, self.scale, X, rng)


def summarise(
    estimate: NonlinearEstimate,
    X: FloatArray,
    log_likelihood: float,
    monte_carlo_se: float,
    seed: int,
) -> NonlinearFit:
    """Work out curves and standard errors of a fitted model.

    Parameters
    ----------
    estimate
        The model.
    X
        (n, p) answers it was fitted to.
    log_likelihood, monte_carlo_se
        Of these rows.
    seed
        Of the random numbers.
    """
    model, coded = estimate.model, estimate.scale.encode(X)
    draws = posterior_draws(model, coded, np.random.default_rng(seed), _DRAWS, estimate.z, _BURN_IN)
    draws = draws[::_THIN]
    if isinstance(model, ResponseModel):
        unsure = spline_uncertainty(model, coded, draws, estimate.smoothing, GRID)
    else:
        unsure = phi_uncertainty(model, draws, len(GRID), int(model.support.sum()))
    read, half = answer_reader(model, estimate.scale), _BAND * unsure.curves
    return NonlinearFit(
        model=model,
        scale=estimate.scale,
        log_likelihood=log_likelihood,
        monte_carlo_se=monte_carlo_se,
        n_parameters=estimate.n_parameters,
        factor_correlation_errors=unsure.factor_correlations,
        grid=GRID,
        values=curves(model, read),
        lower=curves(model, read, -half),
        upper=curves(model, read, half),
        acceptance=estimate.acceptance,
        restarts=estimate.restarts,
        seed=seed,
    )


def answer_reader(model: Model, scale: AnswerScale) -> Callable[[int, FloatArray], FloatArray]:
    """Return what turns an item's predictors into mean answers on its own scale."""

    def read(i: int, eta: FloatArray) -> FloatArray:
        if not len(scale.levels[i]) or not isinstance(model, ResponseModel):
            return scale.mean_answers(i, eta, float(model.noise[i]))
        tau = model.thresholds[i, : model.n_thresholds[i]]
        mean: FloatArray = ratings.probabilities(eta, tau) @ scale.levels[i]
        return mean

    return read
