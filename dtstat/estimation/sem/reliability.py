"""Reliability of the items of each factor: alpha, omega, average variance extracted."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dtstat.arrays import FloatArray, IntArray
from dtstat.estimation.sem.estimate import SEMEstimate
from dtstat.estimation.sem.scores import measurement

COLUMNS = ("alpha", "omega", "ave", "n_items")


def reliability(estimate: SEMEstimate) -> pd.DataFrame:
    """Reliability of the sum of each factor's items.

    The items of a factor are those it is measured by (``=~``), cross-loading ones included; items
    with negative loadings are reversed. Let λ, ψ, Θ be the factor's loadings, variance and the
    items' residual covariances, S and Σ the sample and implied covariances of these k items.

    ``alpha``
        k/(k−1) (1 − tr S / 1ᵀS1), Cronbach (1951), from the sample. Equals reliability only if
        loadings are equal and residuals uncorrelated.
    ``omega``
        (1ᵀλ)²ψ / [(1ᵀλ)²ψ + 1ᵀΘ1], Raykov (2001). The denominator is the variance of the sum
        that the model implies, residual covariances included, not the sample's. For items
        without cross-loadings it is 1ᵀΣ1 (McDonald's ω of a congeneric scale); what cross-loading
        items owe to other factors is left out, so that ω is the reliability with the other
        factors held fixed.
    ``ave``
        Mean of λ_i²ψ / Σ_ii, Fornell & Larcker (1981): the mean squared standardized loading. The
        variance that a cross-loading item owes to other factors counts as not extracted.
    ``n_items``
        k.

    Parameters
    ----------
    estimate
        The fitted model. By ``dwls``, S and Σ are those of the latent responses, which gives
        "ordinal" alpha and omega: of sums of the latent responses, not of the answers.

    Returns
    -------
    Table with the factors as index. Entries that do not exist are NaN: alpha of a single item,
    everything of a factor measured by factors alone. An improper solution (negative variances)
    gives improper values.

    References
    ----------
    Cronbach, L. J. (1951). Coefficient alpha and the internal structure of tests. Psychometrika
    16, 297-334.
    Raykov, T. (2001). Estimation of congeneric scale reliability using covariance structure
    analysis with nonlinear constraints. British Journal of Mathematical and Statistical
    Psychology 54, 315-323.
    Fornell, C. & Larcker, D. F. (1981). Evaluating structural equation models with unobservable
    variables and measurement error. Journal of Marketing Research 18, 39-50.
    """
    form = measurement(estimate)
    rows = []
    for k, factor in enumerate(estimate.model.latent):
        o = _items(estimate, factor)
        loadings, variance = form.Lambda[o, k], float(form.eta_covariance[k, k])
        sign = np.where(loadings < 0, -1.0, 1.0)
        block = np.ix_(o, o)
        rows.append(
            (
                cronbach_alpha(estimate.S[block] * np.outer(sign, sign)),
                _omega(loadings * sign, variance, form.Theta[block] * np.outer(sign, sign)),
                _average_extracted(loadings, variance, np.diag(estimate.Sigma)[o]),
                len(o),
            )
        )
    index = pd.Index(estimate.model.latent, name="factor")
    table = pd.DataFrame(rows, index=index, columns=list(COLUMNS))
    return table.astype({"n_items": int})


def cronbach_alpha(S: FloatArray) -> float:
    """k/(k−1) (1 − tr S / 1ᵀS1) of items with (k, k) covariances S; NaN for fewer than two."""
    k = len(S)
    return float(k / (k - 1) * (1 - np.trace(S) / S.sum())) if k > 1 else float("nan")


def _items(estimate: SEMEstimate, factor: str) -> IntArray:
    """Positions of the items that a factor is measured by; loadings fixed at 0 do not count."""
    observed = estimate.model.observed
    measured = [row for row in estimate.model.parameters if (row.lhs, row.op) == (factor, "=~")]
    position = [
        observed.index(row.rhs)
        for row in measured
        if row.rhs in observed and (row.free or row.value != 0)
    ]
    return np.array(position, dtype=np.int64)


def _omega(loadings: FloatArray, variance: float, Theta: FloatArray) -> float:
    """(1ᵀλ)²ψ / [(1ᵀλ)²ψ + 1ᵀΘ1]."""
    if not len(loadings):
        return float("nan")
    true = float(loadings.sum()) ** 2 * variance
    return true / (true + float(Theta.sum()))


def _average_extracted(loadings: FloatArray, variance: float, total: FloatArray) -> float:
    """Mean of λ²ψ / σ²."""
    return float(np.mean(loadings**2 * variance / total)) if len(loadings) else float("nan")
