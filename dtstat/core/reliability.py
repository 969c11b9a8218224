"""Reliability of sums of items, from their covariances.

References
----------
Cronbach, L. J. (1951). Coefficient alpha and the internal structure of tests. Psychometrika 16,
297-334.
McDonald, R. P. (1999). Test theory: A unified treatment. Erlbaum.
"""

from __future__ import annotations

from math import nan

import numpy as np

from dtstat.core.arrays import FloatArray

_NOTHING = 1e-12  # share of the variances of items; a sum that varies less is constant


def sum_varies(S: FloatArray) -> bool:
    """Whether the sum of items with covariances S varies; items and their mirror image cancel."""
    return bool(S.sum() > _NOTHING * np.trace(S))


def cronbach_alpha(S: FloatArray) -> float:
    """k/(k−1) (1 − tr S / 1ᵀS1) of items with (k, k) covariances S.

    NaN for fewer than two items, and if their sum does not vary.
    """
    k = len(S)
    return float(k / (k - 1) * (1 - np.trace(S) / S.sum())) if k > 1 and sum_varies(S) else nan


def congeneric_omega(
    loadings: FloatArray, residual_variance: float, variance: float = 1.0
) -> float:
    """ω = (Σλ)²ψ / [(Σλ)²ψ + θ]: the share of the variance of a sum that one factor explains.

    ``residual_variance`` is θ, that of the sum; ``variance`` is ψ, that of the factor.
    """
    true = float(loadings.sum()) ** 2 * variance
    return true / (true + residual_variance)
