"""How well a model fits: the indices psychometricians report, under lavaan's names."""

from __future__ import annotations

import math

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.fit_indices import (
    comparative_fit,
    incremental_indices,
    p_value,
    rmsea_measures,
    tucker_lewis,
)
from dtstat.sem.estimate import SEMEstimate, covariate_positions
from dtstat.sem.normal import squared_length
from dtstat.sem.rows import complete_sample, pairwise_moments


def fit_measures(estimate: SEMEstimate) -> dict[str, float]:
    """All fit measures, in lavaan's order.

    Robust estimators add the scaled statistics (``.scaled``). CFI, TLI and RMSEA that estimate the
    fit to complete, continuous and normal answers (``.robust``) are those of Brosseau-Liard &
    Savalei for mlr, of Zhang & Savalei with gaps and of Savalei for ordered items.
    """
    test, n = estimate.test, estimate.n_obs - (estimate.estimator == "dwls")  # as in chi-square
    measures = {"npar": float(estimate.model.n_free), "fmin": test.chisq / (2 * estimate.n_obs)}
    measures |= _tests(estimate)
    measures |= incremental_indices(test, estimate.baseline)
    if estimate.robust:
        base = estimate.baseline
        measures["cfi.scaled"] = comparative_fit(test.scaled - test.df, base.scaled - base.df)
        measures["tli.scaled"] = tucker_lewis(test.scaled, test.df, base.scaled, base.df)
    measures |= _robust_incremental(estimate)
    measures |= _likelihood(estimate)
    measures |= rmsea_measures(test.chisq, test.df, n)
    if estimate.estimator == "mlr":  # the statistic has mean scaling · df if the model is right
        measures |= rmsea_measures(test.chisq, test.scaling * test.df, n, ".scaled")
    elif estimate.robust:
        measures |= rmsea_measures(test.scaled, test.df, n, ".scaled")
    if (corrected := estimate.corrected) is not None:
        scale = corrected.scaling
        measures |= rmsea_measures(corrected.scaled, corrected.df, n, ".robust", scale)
    measures |= _residual_size(estimate)
    if estimate.logl is not None:
        measures |= _absolute(estimate)
    return measures


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


def _robust_incremental(estimate: SEMEstimate) -> dict[str, float]:
    test, base = estimate.corrected, estimate.corrected_baseline
    if test is None or base is None:
        return {}
    excess = test.chisq - test.scaling * test.df
    base_excess = base.chisq - base.scaling * base.df
    tli = 1.0
    if test.df:
        whole = base_excess * test.df
        tli = 1 - excess * base.df / whole if whole else math.nan
    return {"cfi.robust": comparative_fit(excess, base_excess), "tli.robust": tli}


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


def _residual_size(estimate: SEMEstimate) -> dict[str, float]:
    """RMR, SRMR (Bentler) and CRMR; means count where they are modeled."""
    S, Sigma = estimate.S, estimate.Sigma
    lower = np.tril_indices(len(S))
    below = np.tril_indices(len(S), -1)
    sd, implied_sd = np.sqrt(np.diag(S)), np.sqrt(np.maximum(np.diag(Sigma), 1e-300))
    raw = (S - Sigma)[lower]
    standard = ((S - Sigma) / np.outer(sd, sd))[lower]
    correlation = (S / np.outer(sd, sd) - Sigma / np.outer(implied_sd, implied_sd))[below]
    if estimate.logl is None:  # the other two would mix correlations with thresholds
        return {"srmr": _root_mean_square(standard)}
    if estimate.model.mean_structure:
        d = estimate.mean - estimate.mu
        raw = np.append(raw, d)
        standard, correlation = np.append(standard, d / sd), np.append(correlation, d / sd)
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
