"""How well a model fits: the indices psychometricians report, under lavaan's names."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.fit_indices import (
    comparative_fit,
    incremental_indices,
    p_value,
    rmsea_measures,
    tucker_lewis,
)
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.likelihood import covariate_positions
from dtstat.sem.normal import squared_length
from dtstat.sem.rows import pairwise_moments


def fit_measures(estimate: SEMEstimate) -> dict[str, float]:
    """All fit measures, in lavaan's order.

    Robust estimators add the scaled statistics (``.scaled``). CFI, TLI and RMSEA that estimate the
    fit to complete, continuous and normal answers (``.robust``) are those of Brosseau-Liard &
    Savalei for mlr, of Zhang & Savalei with gaps and of Savalei for ordered items.
    """
    test, robust = estimate.test, estimate.procedure.robust
    # RMSEA counts rows as chi-square does, per group (Steiger 1998)
    n = (estimate.n_obs - (not estimate.procedure.likelihood)) / estimate.model.n_groups
    measures = {"npar": float(estimate.n_parameters), "fmin": test.chisq / (2 * estimate.n_obs)}
    measures |= _tests(estimate)
    measures |= incremental_indices(test, estimate.baseline)
    if robust:
        base = estimate.baseline
        d, e = test.df_scaled, base.df_scaled
        measures["cfi.scaled"] = comparative_fit(test.scaled - d, base.scaled - e)
        measures["tli.scaled"] = tucker_lewis(test.scaled, d, base.scaled, e)
    measures |= _robust_incremental(estimate)
    measures |= _likelihood(estimate)
    measures |= rmsea_measures(test.chisq, test.df, n)
    if estimate.procedure.test == "scaled.shifted":
        measures |= rmsea_measures(test.scaled, test.df, n, ".scaled")
    elif robust:  # the statistic has mean scaling · df if the model is right
        measures |= rmsea_measures(test.chisq, test.scaling * test.df_scaled, n, ".scaled")
    if (corrected := estimate.corrected) is not None:
        scale = corrected.scaling
        measures |= rmsea_measures(corrected.scaled, corrected.df, n, ".robust", scale)
    measures |= _averaged(estimate, _residual_size)
    if estimate.logl is not None:
        measures |= _absolute(estimate)
    return measures


def _averaged(
    estimate: SEMEstimate, measure: Callable[[SEMEstimate], dict[str, float]]
) -> dict[str, float]:
    """Average measures over the groups, weighted by their rows."""
    total: dict[str, float] = {}
    n = sum(block.size for block in estimate.blocks)
    for view, block in zip(estimate.views, estimate.blocks, strict=True):
        for name, value in measure(view).items():
            total[name] = total.get(name, 0.0) + block.size / n * value
    return total


def _tests(estimate: SEMEstimate) -> dict[str, float]:
    measures: dict[str, float] = {}
    for prefix, test in (("", estimate.test), ("baseline.", estimate.baseline)):
        measures |= {
            f"{prefix}chisq": test.chisq,
            f"{prefix}df": float(test.df),
            f"{prefix}pvalue": p_value(test.chisq, test.df),
        }
        if estimate.procedure.robust:
            measures |= {
                f"{prefix}chisq.scaled": test.scaled,
                f"{prefix}df.scaled": test.df_scaled,
                f"{prefix}pvalue.scaled": p_value(test.scaled, test.df_scaled),
                f"{prefix}chisq.scaling.factor": test.scaling,
            }
    return measures


def _robust_incremental(estimate: SEMEstimate) -> dict[str, float]:
    test, base = estimate.corrected, estimate.corrected_baseline
    if test is None or base is None:
        return {}
    excess, base_excess = test.excess, base.excess
    tli = 1.0
    if test.df:
        whole = base_excess * test.df
        tli = 1 - excess * base.df / whole if whole else math.nan
    return {"cfi.robust": comparative_fit(excess, base_excess), "tli.robust": tli}


def _likelihood(estimate: SEMEstimate) -> dict[str, float]:
    if estimate.logl is None or estimate.saturated_logl is None:
        return {"ntotal": float(estimate.n_obs)}
    q, n = estimate.n_parameters, estimate.n_obs
    deviance = -2 * estimate.logl
    factors: dict[str, float] = {}
    if estimate.test.traces is not None:  # as in Mplus, per independent parameter
        own, whole = estimate.test.traces
        factors["scaling.factor.h1"] = whole / (q + estimate.test.df)
        factors["scaling.factor.h0"] = own / q
    return {
        "logl": estimate.logl,
        "unrestricted.logl": estimate.saturated_logl,
        "aic": deviance + 2 * q,
        "bic": deviance + q * math.log(n),
        "ntotal": float(n),
        "bic2": deviance + q * math.log((n + 2) / 24),
        **factors,
    }


def _residual_size(estimate: SEMEstimate) -> dict[str, float]:
    """RMR, SRMR (Bentler) and CRMR; means count where they are modeled."""
    S, Sigma = estimate.S, estimate.Sigma
    if estimate.logl is None:
        x = covariate_positions(estimate.model)
        S, Sigma = _given(S, x), _given(Sigma, x)
    lower, below = np.tri(len(S), dtype=bool), np.tri(len(S), k=-1, dtype=bool)
    sd, implied_sd = np.sqrt(np.diag(S)), np.sqrt(np.maximum(np.diag(Sigma), 1e-300))
    raw = (S - Sigma)[lower]
    standard = ((S - Sigma) / np.outer(sd, sd))[lower]
    correlation = (S / np.outer(sd, sd) - Sigma / np.outer(implied_sd, implied_sd))[below]
    if estimate.model.ordered:  # the other two would mix correlations with thresholds
        standard = np.append(standard, np.zeros(len(estimate.S) - len(S)))  # variances of x
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


def _given(S: FloatArray, x: list[int]) -> FloatArray:
    """Covariances of all other variables given those at the positions x."""
    y = [k for k in range(len(S)) if k not in x]
    cross = S[np.ix_(x, y)]
    return np.asarray(S[np.ix_(y, y)] - cross.T @ np.linalg.solve(S[np.ix_(x, x)], cross))


def _root_mean_square(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0


def _absolute(estimate: SEMEstimate) -> dict[str, float]:
    """GFI and its kin (Jöreskog & Sörbom), McDonald's fit index, ECVI."""
    gfi = _averaged(estimate, _goodness)["gfi"]
    p = len(estimate.model.observed)
    moments = p * (p + 1) / 2 + (p if estimate.model.mean_structure else 0)
    moments *= estimate.model.n_groups
    df, n, q = estimate.test.df, estimate.n_obs, estimate.n_parameters
    return {
        "gfi": gfi,
        "agfi": 1 - moments / df * (1 - gfi) if df else 1.0,
        "pgfi": df / moments * gfi,
        "mfi": math.exp(-0.5 * (estimate.test.chisq - df) / n),
        "ecvi": estimate.test.chisq / n + 2 * q / n,
    }


def _goodness(estimate: SEMEstimate) -> dict[str, float]:
    """GFI of one group.

    With gaps it compares the model with the moments of the rows that pairs of items have in
    common, weighted by the information of the rows as they are.
    """
    (sample,) = estimate.samples
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
    return {"gfi": 1 - lost / total}
