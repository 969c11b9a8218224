"""Answers drawn from a fitted nonlinear model."""

from __future__ import annotations

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.estimation.nonlinear.estimate import Model
from dtstat.estimation.nonlinear.response_model import ResponseModel


def draw_answers(model: Model, n: int, rng: np.random.Generator) -> FloatArray:
    """(n, p) answers of n people: standardised, and categories from 0 for ratings.

    A rating is the number of thresholds that the response behind it exceeds.
    """
    Phi = model.factor_correlations
    Z = rng.standard_normal((n, len(Phi))) @ np.linalg.cholesky(Phi).T
    X: FloatArray = model.predictors(Z)
    X = X + np.sqrt(model.noise) * rng.standard_normal(X.shape)
    if isinstance(model, ResponseModel):
        for i in np.flatnonzero(model.n_thresholds):
            tau = model.thresholds[i, : model.n_thresholds[i]]
            X[:, i] = np.searchsorted(tau, X[:, i])
    return X
