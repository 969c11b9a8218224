"""How well a factor model fits the latent correlations: the usual measures under lavaan's names."""

from __future__ import annotations

import math

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.estimation.factors.copula import FactorEstimate
from dtstat.estimation.factors.misfit import degrees_of_freedom
from dtstat.estimation.factors.reported import ReportedModel
from dtstat.estimation.sem.fitmeasures import p_value, rmsea_measures

_RMSEA = ("rmsea", "rmsea.ci.lower", "rmsea.ci.upper", "rmsea.pvalue")


def implied_correlations(estimate: FactorEstimate) -> FloatArray:
    """(p, p) correlations that the model implies."""
    L = estimate.loadings
    Sigma = L @ estimate.factor_correlations @ L.T + np.diag(estimate.uniquenesses)
    scale = np.sqrt(Sigma.diagonal())
    implied: FloatArray = Sigma / np.outer(scale, scale)
    return implied


def srmr(R: FloatArray, estimate: FactorEstimate) -> float:
    """Root mean square of the residual correlations, the diagonal counted as lavaan does."""
    residual = (R - implied_correlations(estimate))[np.tril_indices(len(R))]
    return float(np.sqrt(np.mean(residual**2)))


def factor_fit_measures(model: ReportedModel, n: int) -> dict[str, float]:
    """Chi-square, CFI, TLI, RMSEA with interval and SRMR of a reported model.

    With T, t₁ and t₂ of :mod:`dtstat.estimation.factors.robust`, and b for independent items:

        chisq   T scaled and shifted to mean df and variance 2 df;
        CFI     1 − (T − t₁) / (T_b − t₁_b),     TLI   1 − (T − t₁)/df · df_b / (T_b − t₁_b);
        RMSEA   √[(T − t₁) / (n df)], its interval from T t₁/t₂ on t₁²/t₂ degrees of freedom.

    All but SRMR are NaN if the model was not tested.

    Parameters
    ----------
    model
        The model with its test.
    n
        Rows.
    """
    test, estimate = model.test, model.estimate
    df = float(degrees_of_freedom(estimate))
    known = {"npar": float(estimate.n_parameters), "df": df}
    if test is None:
        names = ("npar", "chisq", "df", "pvalue", "chisq.scaling.factor", "cfi", "tli", *_RMSEA)
        return dict.fromkeys(names, math.nan) | known | {"srmr": srmr(model.latent.R, estimate)}
    excess, base = test.statistic - test.trace, test.baseline - test.baseline_trace
    worst = max(excess, base, 0.0)
    wide = rmsea_measures(
        test.statistic * test.trace / test.trace_of_square,
        test.trace**2 / test.trace_of_square,
        n,
        scale=test.scaling,
    )
    return {
        "npar": known["npar"],
        "chisq": test.chisq,
        "df": df,
        "pvalue": p_value(test.chisq, df),
        "chisq.scaling.factor": test.scaling,
        "cfi": 1 - max(excess, 0.0) / worst if worst > 0 else 1.0,
        "tli": 1 - excess / df * test.baseline_df / base if base > 0 else math.nan,
        **{name: wide[name] for name in _RMSEA},
        "srmr": srmr(model.latent.R, estimate),
    }
