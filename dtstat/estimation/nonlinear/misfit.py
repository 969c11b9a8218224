"""How much evidence the rows are about a nonlinear model that is only an approximation.

As in :mod:`dtstat.estimation.factors.misfit`, with the rank correlations that the model implies in
place of ΛΦΛᵀ + Ψ. They come from rows drawn from the model, whose own sampling error is taken off.
"""

from __future__ import annotations

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.data import as_items
from dtstat.dependence import dependence_matrix
from dtstat.errors import silenced
from dtstat.estimation.factors.copula import BRIDGES
from dtstat.estimation.nonlinear.estimate import NonlinearEstimate
from dtstat.estimation.nonlinear.response_model import ResponseModel

_ROWS, _TIMES = 50_000, 10  # to draw at least, and for each row there is


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
    rows = max(_ROWS, _TIMES * n_obs)
    Sigma = rank_correlations(drawn_answers(estimate, rows, rng))
    # What is drawn varies in every correlation; nothing is fitted to it.
    G = _discrepancy(R, Sigma) - p * (p - 1) / 2 / rows
    return float(n_obs) if df <= 0 or df >= n_obs * G else df / G


def rank_correlations(X: FloatArray) -> FloatArray:
    """(p, p) Spearman's correlations of answers, made latent by the sine formula."""
    with silenced():  # the user was warned of his own data, by name
        R = BRIDGES["spearman"](dependence_matrix(as_items(X, screened=False), "spearman").values)
    np.fill_diagonal(R, 1.0)
    return R


def drawn_answers(estimate: NonlinearEstimate, n: int, rng: np.random.Generator) -> FloatArray:
    """(n, p) coded answers of people drawn from the model."""
    model = estimate.model
    Phi = model.factor_correlations
    eta = model.predictors(rng.standard_normal((n, len(Phi))) @ np.linalg.cholesky(Phi).T)
    X: FloatArray = eta + np.sqrt(model.noise) * rng.standard_normal(eta.shape)
    if isinstance(model, ResponseModel):
        for i in np.flatnonzero(model.n_thresholds):
            X[:, i] = np.searchsorted(model.thresholds[i, : model.n_thresholds[i]], X[:, i])
    return X


def _discrepancy(R: FloatArray, Sigma: FloatArray) -> float:
    residual = np.linalg.solve(Sigma, R) - np.eye(len(R))
    return 0.5 * float(np.sum(residual * residual.T))
