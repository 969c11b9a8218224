"""What the neural estimators return, and what they have in common."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.estimation.nonlinear.network_model import NetworkModel

LEAST_NOISE = 1e-3  # of an item's variance, which is 1


@dataclass(frozen=True, eq=False)
class NetworkEstimate:
    """A fitted network.

    Attributes
    ----------
    model
        Its parameters.
    z
        (n, d) the last draw of the factors.
    acceptance, step_size
        Of the sampler at the end.
    restarts
        How often estimation began anew because the sampler had frozen.
    iterations, seconds
        Of EM, or steps of Adam, and the time they took, all told.
    """

    model: NetworkModel
    z: FloatArray
    acceptance: float
    step_size: float
    restarts: int
    iterations: int
    seconds: float

    @property
    def seconds_per_iteration(self) -> float:
        """Time of an iteration, with its share of what came before and after."""
        return self.seconds / max(self.iterations, 1)


def residual_variances(model: NetworkModel, X: FloatArray, Z: FloatArray) -> FloatArray:
    """(p,) mean squared residuals of the answers there are, .001 or more."""
    square = np.where(np.isnan(X), 0.0, X - model.predictors(Z)) ** 2
    seen = np.maximum((~np.isnan(X)).sum(axis=0), 1)
    variances: FloatArray = np.maximum(square.sum(axis=0) / seen, LEAST_NOISE)
    return variances
