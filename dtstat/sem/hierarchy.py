"""Reliability of sums of items that several factors share, and how far factors are apart.

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
from dtstat.core.reliability import cronbach_alpha
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.scores import measurement, reliability, score_reliability
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
    for k, items in enumerate(_measured(estimate)):
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
    sets = _measured(estimate)
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


def _measured(estimate: SEMEstimate) -> list[IntArray]:
    """Positions of the items of each factor; loadings fixed at 0 do not count."""
    observed = estimate.model.observed
    sets = []
    for factor in estimate.model.latent:
        rows = [
            row
            for row in estimate.model.parameters
            if (row.lhs, row.op) == (factor, "=~") and row.rhs in observed
        ]
        places = [observed.index(row.rhs) for row in rows if row.free or row.value != 0]
        sets.append(np.array(places, dtype=np.int64))
    return sets
