"""How well a model fits: the indices psychometricians report, under lavaan's names."""

from __future__ import annotations

import math

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.estimation.sem.estimate import SEMEstimate, covariate_positions
from dtstat.estimation.sem.normal import complete_sample, pairwise_moments, squared_length
from dtstat.estimation.sem.statistic import Test

_CLOSE, _NOT_CLOSE = 0.05, 0.08  # RMSEA of close fit, and of fit that is not close
_LEVEL = 0.90


def fit_measures(estimate: SEMEstimate) -> dict[str, float]:
    """All fit measures, in lavaan's order.

    Robust estimators add the scaled statistics (``.scaled``). CFI, TLI and RMSEA that estimate the
    fit to complete, continuous and normal answers (``.robust``) are those of Brosseau-Liard &
    Savalei for mlr, of Zhang & Savalei with gaps and of Savalei for ordered items.
    """
    measures = {"npar": float(estimate.model.n_free)}
    measures |= {"fmin": estimate.test.chisq / (2 * estimate.n_obs)}
    measures |= _tests(estimate)
    measures |= incremental_indices(estimate.test, estimate.baseline)
    if estimate.robust:
        measures |= _scaled_incremental(estimate)
    measures |= _robust_incremental(estimate)
    measures |= _likelihood(estimate)
    measures |= rmsea_measures(estimate.test.chisq, estimate.test.df, _rows(estimate), "")
    if estimate.robust:
        measures |= _scaled_rmsea(estimate)
    if (test := estimate.corrected) is not None:
        n = _rows(estimate)
        measures |= rmsea_measures(test.scaled, test.df, n, ".robust", test.scaling)
    measures |= _residual_size(estimate)
    if estimate.logl is not None:
        measures |= _absolute(estimate)
    return measures


def _rows(estimate: SEMEstimate) -> int:
    """Rows that multiply the objective: n for likelihoods, n − 1 for least squares."""
    return estimate.n_obs - (estimate.estimator == "dwls")


def p_value(chisq: float, df: float) -> float:
    """Probability of so large a statistic if the model is right; NaN without degrees of freedom."""
    from scipy.special import chdtrc

    return float(chdtrc(df, chisq)) if df > 0 else math.nan


def _tests(estimate: SEMEstimate) -> dict[str, float]:
    measures: dict[str, float] = {}
    for prefix, test in (("", estimate.test), ("baseline.", estimate.baseline)):
        measures |= {
            f"{prefix}chisq": test.chisq,
            f"{prefix}df": float(test.df),
            f"{prefix}pvalue": p_value(test.chisq, test.df),
        }
        if estimate.robust:
            measures |= {
                f"{prefix}chisq.scaled": test.scaled,
                f"{prefix}df.scaled": float(test.df),
                f"{prefix}pvalue.scaled": p_value(test.scaled, test.df),
                f"{prefix}chisq.scaling.factor": test.scaling,
            }
    return measures


def incremental_indices(test: Test, baseline: Test) -> dict[str, float]:
    """Fit relative to the baseline; with t, d of the model and b, e of the baseline."""
    t, d, b, e = test.chisq, test.df, baseline.chisq, baseline.df
    cfi, tli = _cfi(t - d, b - e), _tli(t, d, b, e)
    return {
        "cfi": cfi,
        "tli": tli,
        "nnfi": tli,
        "rfi": _ratio(b / e - t / d, b / e) if d and e else 1.0,
        "nfi": _ratio(b - t, b),
        "pnfi": _ratio(d, e) * _ratio(b - t, b),
        "ifi": _ratio(b - t, b - d),
        "rni": _ratio((b - e) - (t - d), b - e),
    }


def _cfi(excess: float, baseline_excess: float) -> float:
    worst = max(_positive(baseline_excess), _positive(excess))
    return 1.0 - _positive(excess) / worst if worst != 0 else 1.0


def _positive(value: float) -> float:
    """Return the value or 0, and NaN for what is not known."""
    return 0.0 if value < 0 else value


def _tli(t: float, d: float, b: float, e: float) -> float:
    return _ratio(b / e - t / d, b / e - 1) if d and e else 1.0


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _scaled_incremental(estimate: SEMEstimate) -> dict[str, float]:
    test, base = estimate.test, estimate.baseline
    return {
        "cfi.scaled": _cfi(test.scaled - test.df, base.scaled - base.df),
        "tli.scaled": _tli(test.scaled, test.df, base.scaled, base.df),
    }


def _robust_incremental(estimate: SEMEstimate) -> dict[str, float]:
    test, base = estimate.corrected, estimate.corrected_baseline
    if test is None or base is None:
        return {}
    excess = test.chisq - test.scaling * test.df
    base_excess = base.chisq - base.scaling * base.df
    tli = 1 - _ratio(excess * base.df, base_excess * test.df) if test.df else 1.0
    return {"cfi.robust": _cfi(excess, base_excess), "tli.robust": tli}


def _likelihood(estimate: SEMEstimate) -> dict[str, float]:
    if estimate.logl is None or estimate.saturated_logl is None:
        return {"ntotal": float(estimate.n_obs)}
    q, n = estimate.model.n_free, estimate.n_obs
    deviance = -2 * estimate.logl
    return {
        "logl": estimate.logl,
        "unrestricted.logl": estimate.saturated_logl,
        "aic": deviance + 2 * q,
        "bic": deviance + q * math.log(n),
        "ntotal": float(n),
        "bic2": deviance + q * math.log((n + 2) / 24),
    }


def rmsea_measures(
    chisq: float, df: float, n: int, suffix: str = "", scale: float = 1.0
) -> dict[str, float]:
    """RMSEA with its interval (Steiger 1990); ``scale`` c turns the scaled into the robust one."""
    lower, upper = rmsea_interval(chisq, df, n, scale)
    close, not_close = (n * df * size**2 / scale for size in (_CLOSE, _NOT_CLOSE))
    return {
        f"rmsea{suffix}": math.sqrt(scale * _positive(chisq / n / df - 1 / n)) if df else 0.0,
        f"rmsea.ci.lower{suffix}": lower,
        f"rmsea.ci.upper{suffix}": upper,
        f"rmsea.pvalue{suffix}": 1 - _noncentral_cdf(chisq, df, close),
        f"rmsea.notclose.pvalue{suffix}": _noncentral_cdf(chisq, df, not_close),
    }


def rmsea_interval(chisq: float, df: float, n: int, scale: float = 1.0) -> tuple[float, float]:
    """90 % interval: the noncentralities for which chisq is the 95 % and the 5 % quantile."""
    if math.isnan(chisq) or df == 0:
        return 0.0 * chisq, 0.0 * chisq
    tail = (1 - _LEVEL) / 2
    limits = (_noncentrality(chisq, df, p) for p in (1 - tail, tail))
    lower, upper = (math.sqrt(scale * limit / (n * df)) for limit in limits)
    return lower, upper


def _noncentral_cdf(chisq: float, df: float, nc: float) -> float:
    from scipy.special import chndtr

    return float(chndtr(chisq, df, nc)) if df else math.nan


def _noncentrality(chisq: float, df: float, p: float) -> float:
    """Noncentrality at which P(χ² ≤ chisq) = p; 0 if it is below p already without any."""
    from scipy.optimize import brentq

    def miss(nc: float) -> float:
        return _noncentral_cdf(chisq, df, nc) - p

    if miss(0.0) <= 0:
        return 0.0
    high = max(chisq, 1.0)
    while miss(high) > 0:
        high *= 2
    return float(brentq(miss, 0.0, high, xtol=1e-10))


def _scaled_rmsea(estimate: SEMEstimate) -> dict[str, float]:
    test, n = estimate.test, _rows(estimate)
    if estimate.estimator == "mlr":  # the statistic has mean scaling · df if the model is right
        return rmsea_measures(test.chisq, test.scaling * test.df, n, ".scaled")
    return rmsea_measures(test.scaled, test.df, n, ".scaled")


def _residual_size(estimate: SEMEstimate) -> dict[str, float]:
    """RMR, SRMR (Bentler) and CRMR; means count where they are modelled."""
    S, Sigma = estimate.S, estimate.Sigma
    lower = np.tril_indices(len(S))
    below = np.tril_indices(len(S), -1)
    sd, implied_sd = np.sqrt(np.diag(S)), np.sqrt(np.maximum(np.diag(Sigma), 1e-300))
    raw = (S - Sigma)[lower]
    standard = ((S - Sigma) / np.outer(sd, sd))[lower]
    correlation = (S / np.outer(sd, sd) - Sigma / np.outer(implied_sd, implied_sd))[below]
    if estimate.model.mean_structure and estimate.logl is not None:
        raw = np.append(raw, estimate.mean - estimate.mu)
        standard = np.append(standard, (estimate.mean - estimate.mu) / sd)
        correlation = np.append(correlation, (estimate.mean - estimate.mu) / sd)
    if estimate.logl is None:  # the other two would mix correlations with thresholds
        return {"srmr": _root_mean_square(standard)}
    return {
        "rmr": _root_mean_square(raw),
        "srmr": _root_mean_square(standard),
        "crmr": _root_mean_square(correlation),
    }


def _root_mean_square(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0


def _absolute(estimate: SEMEstimate) -> dict[str, float]:
    """GFI and its kin (Jöreskog & Sörbom), McDonald's fit index, ECVI.

    With gaps GFI compares the model with the moments of the rows that pairs of items have in
    common, weighted by the information of the rows as they are.
    """
    sample = estimate.sample or complete_sample(estimate.S, estimate.mean, estimate.n_obs)
    S, mean = estimate.S.copy(), estimate.mean.copy()
    if not sample.complete:
        S, mean = pairwise_moments(sample)
    means = estimate.model.mean_structure
    lost = squared_length(
        sample, estimate.Sigma, S - estimate.Sigma, mean - estimate.mu if means else 0 * mean
    )
    covariates = covariate_positions(estimate.model)
    S[np.ix_(covariates, covariates)] = 0.0  # what is given cannot be explained
    mean[covariates] = 0.0
    total = squared_length(sample, estimate.Sigma, S, mean if means else 0 * mean)
    p = len(S)
    moments = p * (p + 1) / 2 + (p if means else 0)
    gfi = 1 - lost / total
    df, n, q = estimate.test.df, estimate.n_obs, estimate.model.n_free
    return {
        "gfi": gfi,
        "agfi": 1 - moments / df * (1 - gfi) if df else 1.0,
        "pgfi": df / moments * gfi,
        "mfi": math.exp(-0.5 * (estimate.test.chisq - df) / n),
        "ecvi": estimate.test.chisq / n + 2 * q / n,
    }
