"""Intervals of defined parameters, as of an indirect effect ``ab := a*b``.

The delta method takes a defined parameter as normal, est ± z se. A product of two estimates is not:
it is skewed, the more so the closer one of them is to 0. The Monte Carlo interval takes only the
free parameters as normal, draws them from N(θ̂, V), computes the defined ones from each draw and
takes quantiles (MacKinnon, Lockwood & Williams 2004). It needs no data, and a fraction of a second.

Coverage of 95 % intervals of an indirect effect over 18 designs, normal and skewed answers, 150 to
500 rows (benchmarks/sem_inference/indirect.py, 500 data sets each): Monte Carlo .932 to .964 with
ml and .926 to .964 with mlr; delta method .928 to .976 and .920 to .972; percentile bootstrap .926
to .962.

References
----------
MacKinnon, D. P., Lockwood, C. M. & Williams, J. (2004). Confidence limits for the indirect effect:
Distribution of the product and resampling methods. Multivariate Behavioral Research 39, 99-128.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from dtstat.core.arrays import FloatArray
from dtstat.sem.constraints import evaluate_definitions
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.expressions import parse_expression

METHODS = ("monte_carlo", "delta")
DRAWS = 50_000  # the ends of an interval then vary by .012 standard errors
MOST_DRAWS = 10_000_000  # of each parameter a number is kept
SEED = 1


def defined_intervals(
    estimate: SEMEstimate,
    method: str = "monte_carlo",
    level: float = 0.95,
    n_draws: int = DRAWS,
    seed: int = SEED,
) -> pd.DataFrame:
    """One row per defined parameter; see :meth:`dtstat.CFAFit.defined_intervals`."""
    from scipy.special import ndtri

    values, errors = estimate.defined
    tail = (1 - level) / 2
    if method == "delta":
        low, high = values + ndtri(tail) * errors, values - ndtri(tail) * errors
    else:
        drawn = draw_defined(estimate, n_draws, seed)
        low, high = np.quantile(drawn, (tail, 1 - tail), axis=1)  # NaN if one is not defined
    definitions = estimate.model.definitions
    return pd.DataFrame(
        {
            "lhs": [one.left for one in definitions],
            "op": ":=",
            "rhs": [" ".join(one.right.split()) for one in definitions],
            "est": values,
            "se": errors,
            "ci.lower": low,
            "ci.upper": high,
        }
    )


def draw_defined(estimate: SEMEstimate, n_draws: int, seed: int) -> FloatArray:
    """(definitions, draws) values of the defined parameters when θ is drawn from N(θ̂, V)."""
    model = estimate.model
    expressions = [parse_expression(one.right, one.right_at) for one in model.definitions]
    used = {node.label for expression in expressions for node in expression.labels()}
    places = {
        row.free - 1
        for row in model.parameters
        if row.free and used.intersection((row.label, row.plain_label))
    }
    free = sorted(places)
    noise = np.random.default_rng(seed).standard_normal((n_draws, len(free)))
    theta = estimate.theta[free] + noise @ _root(estimate.covariance[np.ix_(free, free)]).T
    columns = dict(zip(free, theta.T, strict=True))
    return evaluate_definitions(
        model,
        [
            columns.get(row.free - 1, np.broadcast_to(value, n_draws))
            for row, value in zip(model.parameters, estimate.estimates, strict=True)
        ],
    )


def _root(V: FloatArray) -> FloatArray:
    """Lower triangular L with L Lᵀ = V, which may be singular: parameters can be tied."""
    L = np.zeros_like(V)
    for k in range(len(V)):
        rest = V[k:, k] - L[k:] @ L[k]
        if not rest[0] <= 1e-12 * V[k, k]:  # NaN goes on
            L[k:, k] = rest / np.sqrt(rest[0])
    return L
