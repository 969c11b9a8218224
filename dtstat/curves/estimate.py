"""Nonlinear factor models of a given structure: one call for all ways of estimating them.

    spline        additive penalized splines, stochastic-approximation EM; ratings are ratings
    neural        the paper's masked network, stochastic EM; all items are normal
    variational   the same network, by an importance-weighted autoencoder

All start from the Gaussian copula model of the structure and draws of its factors: from plain
means of items a fit can end in a poor optimum.

How much evidence the rows are about a model that is only an approximation is counted as in
:mod:`dtstat.factors.robust`, with the rank correlations that the model implies in place of
ΛΦΛᵀ + Ψ. They come from rows drawn from the model, whose own sampling error is taken off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.errors import InputError, silenced
from dtstat.core.parallel import Progress
from dtstat.core.saved import register
from dtstat.curves import bspline
from dtstat.curves.likelihood import LogLikelihood, log_likelihood
from dtstat.curves.network_model import NetworkModel
from dtstat.curves.response_model import ResponseModel
from dtstat.curves.scales import AnswerScale
from dtstat.curves.spline import SplineEstimate, fit_spline
from dtstat.data.items import as_items
from dtstat.dependence.compute import dependence_matrix
from dtstat.dependence.measures import BRIDGES
from dtstat.factors.copula import FactorEstimate
from dtstat.factors.scores import plausible_values
from dtstat.simulation.designs import draw_normal

if TYPE_CHECKING:
    from dtstat.curves.network import NetworkEstimate

NONLINEAR = ("spline", "neural", "variational")
NETWORKS = ("neural", "variational")
CurveModel = ResponseModel | NetworkModel
_DRAWN_ROWS, _TIMES = 50_000, 10  # to draw at least, and for each row there is


@dataclass(frozen=True)
class Method:
    """How to estimate: the estimator, and whether a network is trained by the paper's schedule."""

    estimator: str
    as_in_paper: bool = False

    @property
    def takes_ratings(self) -> bool:
        """Whether ratings are modeled as such; otherwise they count as numbers."""
        return self.estimator not in NETWORKS


@register(shapes={"model.support": "*d", "z": "nd", "smoothing": "*"})
@dataclass(frozen=True, eq=False)
class NonlinearEstimate:
    """A fitted nonlinear model.

    Attributes
    ----------
    model, scale
        Parameters, and how answers are coded for them.
    z
        (n, d) a draw of the factors of the rows it was fitted to.
    n_parameters
        Effective number; NaN for a network, which has no honest count.
    smoothing
        (E,) smoothing parameters of splines; empty for a network.
    acceptance, restarts
        Of the sampler.
    """

    model: CurveModel
    scale: AnswerScale
    z: FloatArray
    n_parameters: float
    smoothing: FloatArray
    acceptance: float
    restarts: int


def fit_nonlinear(
    X: FloatArray,
    scale: AnswerScale,
    support: BoolArray,
    start: FactorEstimate,
    normal_scores: FloatArray,
    method: Method,
    rng: np.random.Generator,
    progress: Progress = None,
) -> NonlinearEstimate:
    """Fit curves to a structure.

    Parameters
    ----------
    X
        (n, p) answers; NaN if missing.
    scale
        How they are coded.
    support
        (p, d) the structure.
    start
        Its copula model.
    normal_scores
        (n, p) normal scores of the answers, from which its factors are drawn.
    method
        How to estimate.
    rng
        Source of randomness.
    progress
        True for a bar, or a function of (done, total).

    Raises
    ------
    InputError
        If there are fewer rows than spline coefficients of an item.
    MissingExtraError
        If a network is asked for and torch is not installed.
    EstimationError
        If the sampler freezes twice.
    """
    coded = scale.encode(X)
    Z, Phi = plausible_values(start, normal_scores, rng), start.factor_correlations
    found: SplineEstimate | NetworkEstimate
    if method.estimator not in NETWORKS:
        _check_rows(len(X), support)
        found = fit_spline(coded, support, Z, Phi, scale.n_categories, rng, progress=progress)
        k, smoothing = _n_parameters(found.edf, scale, support), found.smoothing
    else:
        from dtstat.curves.stochastic_em import FAST, PAPER, fit_network
        from dtstat.curves.variational import fit_variational

        if method.estimator == "variational":
            found = fit_variational(coded, support, Z, Phi, rng, progress=progress)
        else:
            schedule = PAPER if method.as_in_paper else FAST
            found = fit_network(coded, support, Z, Phi, rng, schedule, progress)
        k, smoothing = math.nan, np.empty(0)
    return NonlinearEstimate(
        found.model, scale, found.z, k, smoothing, found.acceptance, found.restarts
    )


def _check_rows(n: int, support: BoolArray) -> None:
    most = int(support.sum(axis=1).max(initial=1))
    if n < most * bspline.K:
        raise InputError(
            f"`data` must have at least {most * bspline.K} rows for curves of items with {most} "
            f"factor{'' if most == 1 else 's'}; got {n}. Use the estimator 'copula', which needs "
            "fewer.",
            "data",
        )


def _n_parameters(edf: FloatArray, scale: AnswerScale, support: BoolArray) -> float:
    """Count curves, noise or thresholds, and factor correlations.

    The level of a curve is in its effective degrees of freedom; a rating has thresholds instead.
    Knots of normal scores are not counted: they are the same for all structures.
    """
    d, categories = support.shape[1], scale.n_categories
    rated, covered = categories > 0, support.any(axis=1)
    curves = np.where(covered, edf, 1.0)
    items = np.where(rated, curves - 1 + (categories - 1), curves + 1)
    return float(items.sum() + d * (d - 1) / 2)


def answers_log_likelihood(
    model: CurveModel,
    scale: AnswerScale,
    X: FloatArray,
    rng: np.random.Generator,
    method: str = "importance",
    draws: int = 100,
) -> LogLikelihood:
    """Estimate the log-likelihood of rows of answers, each on the item's own scale.

    Arguments as in :func:`dtstat.curves.likelihood.log_likelihood`.
    """
    found = log_likelihood(model, scale.encode(X), rng, method, draws)
    return LogLikelihood(found.rows + scale.log_jacobian(X).sum(axis=1), found.variances)


def effective_rows(
    estimate: NonlinearEstimate, R: FloatArray, n_obs: int, rng: np.random.Generator
) -> float:
    """Count what ``n_obs`` rows are worth as evidence about this model.

    Parameters
    ----------
    estimate
        The fitted model.
    R
        (p, p) rank correlations of the data; see :func:`rank_correlations`.
    n_obs
        Rows behind them.
    rng
        Source of randomness.
    """
    p, d = estimate.model.support.shape
    free = int(estimate.model.support.sum()) + p + d * (d - 1) // 2
    df = p * (p + 1) // 2 - free
    rows = max(_DRAWN_ROWS, _TIMES * n_obs)
    Sigma = rank_correlations(draw_answers(estimate.model, rows, rng))
    residual = np.linalg.solve(Sigma, R) - np.eye(p)
    G = 0.5 * float(np.sum(residual * residual.T))
    G -= p * (p - 1) / 2 / rows  # what is drawn varies in every correlation; nothing is fitted
    return float(n_obs) if df <= 0 or df >= n_obs * G else df / G


def draw_answers(model: CurveModel, n: int, rng: np.random.Generator) -> FloatArray:
    """(n, p) coded answers of n people drawn from a model: numbers, and categories from 0.

    A rating is the number of thresholds that the response behind it exceeds.
    """
    eta = model.predictors(draw_normal(n, model.factor_correlations, rng))
    X: FloatArray = eta + np.sqrt(model.noise) * rng.standard_normal(eta.shape)
    if isinstance(model, ResponseModel):
        for i in np.flatnonzero(model.n_thresholds):
            tau = model.thresholds[i, : model.n_thresholds[i]]
            X[:, i] = np.searchsorted(tau, X[:, i])
    return X


def rank_correlations(X: FloatArray) -> FloatArray:
    """(p, p) Spearman's correlations of answers, made latent by the sine formula."""
    with silenced():  # the user was warned of the data, by name
        R = BRIDGES["spearman"](dependence_matrix(as_items(X, screened=False), "spearman").values)
    np.fill_diagonal(R, 1.0)
    return R
