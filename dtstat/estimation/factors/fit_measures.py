"""How well a factor model fits the latent correlations: the usual measures under lavaan's names."""

from __future__ import annotations

import math

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.estimation.factors.copula import FactorEstimate
from dtstat.estimation.factors.misfit import degrees_of_freedom
from dtstat.estimation.sem.fitmeasures import incremental_indices, p_value, rmsea_measures
from dtstat.estimation.sem.statistic import Test

_SINGULAR = 1e-5  # smallest eigenvalue below which the saturated model has no likelihood


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


def factor_fit_measures(R: FloatArray, estimate: FactorEstimate, n: int) -> dict[str, float]:
    """Chi-square, CFI, TLI, RMSEA with interval and SRMR of a factor model.

    The baseline is independence. If R is singular, as with fewer rows than items, the saturated
    model has no likelihood, and all but SRMR are NaN.

    Parameters
    ----------
    R
        (p, p) latent correlations.
    estimate
        The model fitted to them.
    n
        Rows behind them.
    """
    p, df = len(R), degrees_of_freedom(estimate)
    eigenvalues = np.linalg.eigvalsh(R)
    known = eigenvalues[0] > _SINGULAR and df >= 0
    saturated = float(np.log(eigenvalues).sum()) + p if known else math.nan
    fitted = -2 * estimate.log_likelihood / n - p * math.log(2 * math.pi)
    chisq = max(n * (fitted - saturated), 0.0) if known else math.nan
    baseline = n * (p - saturated) if known else math.nan
    measures = {"npar": float(estimate.n_parameters), "chisq": chisq, "df": float(df)}
    measures["pvalue"] = p_value(chisq, df) if known else math.nan
    if known:
        test, null = Test(chisq, df), Test(baseline, p * (p - 1) // 2)
        incremental = incremental_indices(test, null)
        measures |= {name: incremental[name] for name in ("cfi", "tli")}
        measures |= rmsea_measures(chisq, df, n)
    else:
        names = ("cfi", "tli", "rmsea", "rmsea.ci.lower", "rmsea.ci.upper", "rmsea.pvalue")
        measures |= dict.fromkeys(names, math.nan)
    measures.pop("rmsea.notclose.pvalue", None)
    return measures | {"srmr": srmr(R, estimate), "logl": estimate.log_likelihood}
