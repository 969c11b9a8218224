"""Nonlinear factor models of a given structure: one call for all ways of estimating them.

    spline        additive penalised splines, stochastic-approximation EM; ratings are ratings
    neural        the paper's masked network, stochastic EM; all items are normal
    variational   the same network, by an importance-weighted autoencoder

All start from the Gaussian copula model of the structure and draws of its factors: from plain
means of items a fit can end in a poor optimum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dtstat.arrays import BoolArray, FloatArray
from dtstat.errors import InputError
from dtstat.estimation.factors.copula import FactorEstimate
from dtstat.estimation.factors.rows import plausible_values
from dtstat.estimation.nonlinear import bspline
from dtstat.estimation.nonlinear.answer_scale import AnswerScale
from dtstat.estimation.nonlinear.likelihood import LogLikelihood, log_likelihood
from dtstat.estimation.nonlinear.network_model import NetworkModel
from dtstat.estimation.nonlinear.response_model import ResponseModel
from dtstat.estimation.nonlinear.spline import fit_spline
from dtstat.progress import Progress

NONLINEAR = ("spline", "neural", "variational")
NETWORKS = ("neural", "variational")
Model = ResponseModel | NetworkModel


@dataclass(frozen=True)
class Method:
    """How to estimate: the estimator, and whether a network is trained by the paper's schedule."""

    estimator: str
    as_in_paper: bool = False

    @property
    def takes_ratings(self) -> bool:
        """Whether ratings are modelled as such; otherwise they count as numbers."""
        return self.estimator not in NETWORKS


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

    model: Model
    scale: AnswerScale
    z: FloatArray
    n_parameters: float
    smoothing: FloatArray
    acceptance: float
    restarts: int


def answers_log_likelihood(
    model: Model,
    scale: AnswerScale,
    X: FloatArray,
    rng: np.random.Generator,
    method: str = "importance",
    draws: int = 100,
) -> LogLikelihood:
    """Estimate the log-likelihood of rows of answers, each on the item's own scale.

    Arguments as in :func:`dtstat.estimation.nonlinear.likelihood.log_likelihood`.
    """
    found = log_likelihood(model, scale.encode(X), rng, method, draws)
    return LogLikelihood(found.rows + scale.log_jacobian(X).sum(axis=1), found.variances)


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
    if method.estimator in NETWORKS:
        return _network(coded, scale, support, Z, Phi, method, rng, progress)
    _check_rows(len(X), support)
    found = fit_spline(coded, support, Z, Phi, scale.n_categories, rng, progress=progress)
    k = _n_parameters(found.edf, scale, support)
    return NonlinearEstimate(
        found.model, scale, found.z, k, found.smoothing, found.acceptance, found.restarts
    )


def _network(
    coded: FloatArray,
    scale: AnswerScale,
    support: BoolArray,
    Z: FloatArray,
    Phi: FloatArray,
    method: Method,
    rng: np.random.Generator,
    progress: Progress,
) -> NonlinearEstimate:
    from dtstat.estimation.neural import FAST, PAPER, fit_network, fit_variational

    if method.estimator == "variational":
        found = fit_variational(coded, support, Z, Phi, rng, progress=progress)
    else:
        schedule = PAPER if method.as_in_paper else FAST
        found = fit_network(coded, support, Z, Phi, rng, schedule, progress)
    none = np.empty(0)
    return NonlinearEstimate(
        found.model, scale, found.z, math.nan, none, found.acceptance, found.restarts
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
    """Curves, noise or thresholds, and factor correlations.

    Knots of normal scores are not counted: they are the same for all structures.

    The level of a curve is in its effective degrees of freedom; a rating has thresholds instead.
    """
    d, categories = support.shape[1], scale.n_categories
    rated, covered = categories > 0, support.any(axis=1)
    curves = np.where(covered, edf, 1.0)
    items = np.where(rated, curves - 1 + (categories - 1), curves + 1)
    return float(items.sum() + d * (d - 1) / 2)
