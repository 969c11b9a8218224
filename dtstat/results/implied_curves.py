"""How items answer to factors by the copula: straight before the margins, bent by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dtstat.arrays import FloatArray
from dtstat.errors import InputError
from dtstat.estimation.nonlinear.response_shape import GRID
from dtstat.results.nonlinear import CURVE_COLUMNS

if TYPE_CHECKING:
    from dtstat.results.fit import DTFit


def implied_curves(fit: DTFit) -> pd.DataFrame:
    """One row per item, factor and value of the factor: the mean answer there.

    With λ the standardised loading and Y = λ z + rest the variable behind the answer, the rest,
    other factors of the item included, is averaged over its own distribution.

    Raises
    ------
    InputError
        If the fit is to a matrix, which has no answers.
    """
    if not fit.n_factors:
        return pd.DataFrame(columns=CURVE_COLUMNS)
    if fit.marginals is None:
        raise InputError(
            "A matrix has no answers to draw curves of. Fit the data, or read the loadings.", "data"
        )
    loadings, Phi = fit.loadings.to_numpy(), fit.factor_correlations.to_numpy()
    frames = []
    for i, k in zip(*np.nonzero(fit.support), strict=True):
        sd = np.sqrt(_rest(loadings[i], Phi, k))
        value = fit.marginals.mean_answers(i, loadings[i, k] * GRID, float(sd))
        names = {"item": fit.item_names[i], "factor": fit.factor_names[k]}
        band = {"lower": np.nan, "upper": np.nan}
        frames.append(pd.DataFrame(names | {"z": GRID, "value": value} | band))
    return pd.concat(frames, ignore_index=True)


def _rest(loadings: FloatArray, Phi: FloatArray, k: int) -> float:
    """Variance of an item of variance 1 that factor k alone does not explain."""
    others = np.delete(loadings, k)
    among = np.delete(np.delete(Phi, k, axis=0), k, axis=1)
    unique = 1 - loadings @ Phi @ loadings
    return max(float(others @ among @ others + unique), 0.0)
