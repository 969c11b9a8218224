"""How reliable sums of items are, also of items that several factors share.

And how far factors are apart, by the correlations of their items.

References
----------
Zinbarg, R. E., Revelle, W., Yovel, I. & Li, W. (2005). Cronbach's α, Revelle's β, and McDonald's
ω_H: their relations with each other and two alternative conceptualizations of reliability.
Psychometrika 70, 123-133.
Henseler, J., Ringle, C. M. & Sarstedt, M. (2015). A new criterion for assessing discriminant
validity in variance-based structural equation modeling. Journal of the Academy of Marketing Science
43, 115-135.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.reliability import congeneric_omega, cronbach_alpha
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.scores import measurement, score_reliability
from dtstat.sem.solution import correlation, square_frame


def reliability_table(estimate: SEMEstimate) -> pd.DataFrame:
    """Lay out what is known of the reliability of each factor's items, and of its scores."""
    scores = np.nan if estimate.model.ordered else score_reliability(estimate)
    found, shares = reliability(estimate), hierarchical_omega(estimate)
    found["alpha"] = found["alpha"].fillna(shares["alpha"])
    found["n_items"] = shares["n_items"]
    found.insert(2, "omega_h", shares["omega_h"])
    found.insert(3, "omega_total", shares["omega_total"])
    return found.assign(score=pd.Series(scores, index=list(estimate.model.latent)))


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
        The fitted model. For ordered items S and Σ are those of the variables behind them, which
        gives "ordinal" alpha and omega: of sums of these variables, not of the answers.

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
    total = np.diag(estimate.layout.implied(estimate.theta).Sigma)
    rows = []
    for k, factor in enumerate(estimate.model.latent):
        o = _items(estimate, factor)
        loadings, variance = form.Lambda[o, k], float(form.eta_covariance[k, k])
        sign = np.where(loadings < 0, -1.0, 1.0)
        block, signs = np.ix_(o, o), np.outer(sign, sign)
        alpha, omega, ave = cronbach_alpha(estimate.S[block] * signs), np.nan, np.nan
        if len(o):
            residual = float((form.Theta[block] * signs).sum())
            omega = congeneric_omega(loadings * sign, residual, variance)
            ave = float(np.mean(loadings**2 * variance / total[o]))
        rows.append((alpha, omega, ave, len(o)))
    index = pd.Index(estimate.model.latent, name="factor")
    table = pd.DataFrame(rows, index=index, columns=["alpha", "omega", "ave", "n_items"])
    return table.astype({"n_items": int})


def hierarchical_omega(estimate: SEMEstimate) -> pd.DataFrame:
    """Share of the variance of a sum of items that a factor, or all factors, explain.

    The items of a factor are those it is measured by (``=~``), also by way of other factors; those
    with negative loadings are reversed. With λ its loadings on them (of a second-order factor the
    products along the way), ψ its variance, Θ and Σ residual and implied covariances:

    ``omega_h``
        (1ᵀλ)²ψ / 1ᵀΣ1: of the general factor of a bifactor or second-order model McDonald's ω_H
        (Zinbarg et al. 2005).
    ``omega_total``
        1 − 1ᵀΘ1 / 1ᵀΣ1: what all factors explain together.

    Returns
    -------
    Table with the factors as index, and columns alpha and n_items of the same items.
    """
    form = measurement(estimate)
    model = estimate.model
    names = model.latent
    inner = np.zeros((len(names), len(names)))
    for row, value in zip(model.parameters, estimate.estimates, strict=True):
        if row.op == "=~" and row.rhs in names:
            inner[names.index(row.rhs), names.index(row.lhs)] = value
    direct = np.zeros_like(form.Lambda)
    for k, factor in enumerate(names):
        items = _items(estimate, factor)
        direct[items, k] = form.Lambda[items, k]
    loadings = direct @ np.linalg.inv(np.eye(len(names)) - inner)
    rows = []
    for k in range(len(names)):
        o = np.flatnonzero(loadings[:, k])
        sign = np.sign(loadings[o, k])
        block, signs = np.ix_(o, o), np.outer(sign, sign)
        total = float((estimate.Sigma[block] * signs).sum())
        own = float(np.abs(loadings[o, k]).sum()) ** 2 * float(form.eta_covariance[k, k])
        error = float((form.Theta[block] * signs).sum())
        known = len(o) > 0 and total > 0
        rows.append(
            (
                cronbach_alpha(estimate.S[block] * signs),
                own / total if known else np.nan,
                1 - error / total if known else np.nan,
                len(o),
            )
        )
    columns = ["alpha", "omega_h", "omega_total", "n_items"]
    return pd.DataFrame(rows, index=pd.Index(names, name="factor"), columns=columns)


def htmt(estimate: SEMEstimate) -> pd.DataFrame:
    """Heterotrait-monotrait ratio of correlations (Henseler et al. 2015), factors by factors.

    The mean absolute correlation of the items of two factors, divided by the geometric mean of the
    mean absolute correlations within each of them. NaN where a factor has fewer than two items, or
    two factors share one.
    """
    R = np.abs(correlation(estimate.S))
    sets = [_items(estimate, factor) for factor in estimate.model.latent]
    names = estimate.model.latent
    values = np.eye(len(names))
    for a, mine in enumerate(sets):
        for b, its in enumerate(sets):
            if a != b:
                apart = len(mine) > 1 and len(its) > 1 and not set(mine) & set(its)
                ratio = np.nan
                if apart:
                    between = float(R[np.ix_(mine, its)].mean())
                    ratio = between / np.sqrt(_within(R, mine) * _within(R, its))
                values[a, b] = ratio
    return square_frame(values, names)


def _within(R: FloatArray, items: IntArray) -> float:
    """Mean of the correlations of different items."""
    block = R[np.ix_(items, items)]
    k = len(items)
    return float((block.sum() - np.trace(block)) / (k * (k - 1)))


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
