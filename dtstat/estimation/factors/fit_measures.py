"""How well a factor model fits the latent correlations: the usual measures under lavaan's names."""

from __future__ import annotations

import math

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.estimation.factors.copula import FactorEstimate
from dtstat.estimation.factors.misfit import degrees_of_freedom, implied_correlations
from dtstat.estimation.factors.reported import ReportedModel
from dtstat.estimation.sem.fitmeasures import p_value, rmsea_measures

_RMSEA = ("rmsea", "rmsea.ci.lower", "rmsea.ci.upper", "rmsea.pvalue")


def srmr(R: FloatArray, estimate: FactorEstimate) -> float:
    """Root mean square of the residual correlations, the diagonal counted as lavaan does."""
    residual = (R - implied_correlations(estimate))[np.tril_indices(len(R))]
    return float(np.sqrt(np.mean(residual**2)))


def factor_fit_measures(model: ReportedModel, n: int) -> dict[str, float]:
    """Chi-square, CFI, TLI, RMSEA with interval and SRMR of a reported model.

    With T, t₁ and t₂ of :mod:`dtstat.estimation.factors.robust`, and b for independent items:

        chisq   T scaled and shifted to mean df and variance 2 df;
        TLI     1 − (T/t₁ − 1) / (T_b/t₁_b − 1),     CFI   the same with the ratio times df/df_b;
        RMSEA   √[(T/t₁ − 1) / n], its interval from T t₁/t₂ on t₁²/t₂ degrees of freedom.

    If T is a chi-square these are the usual ones. All but SRMR are NaN if the model was not tested.

    Parameters
    ----------
    model
        The model with its test.
    n
        Rows.
    """
    test, estimate = model.test, model.estimate
    df, fit = float(degrees_of_freedom(estimate)), srmr(model.latent.R, estimate)
    measures = {"npar": float(estimate.n_parameters), "chisq": math.nan, "df": df}
    if test is None:
        names = ("pvalue", "cfi", "tli", *_RMSEA)
        return measures | dict.fromkeys(names, math.nan) | {"srmr": fit}
    t1, t2 = test.trace, test.trace_of_square
    excess, base = test.statistic / t1 - 1, test.baseline / test.baseline_trace - 1
    p = len(model.latent.R)
    misfit, most = df * excess, max(df * excess, p * (p - 1) / 2 * base, 0.0)
    relative = rmsea_measures(test.statistic * t1 / t2, t1**2 / t2, n)
    return {
        **measures,
        "chisq": test.chisq,
        "pvalue": p_value(test.chisq, df),
        "cfi": 1 - max(misfit, 0.0) / most if most > 0 else 1.0,
        "tli": 1 - excess / base if base > 0 else math.nan,
        **{name: relative[name] for name in _RMSEA},
        "srmr": fit,
    }
