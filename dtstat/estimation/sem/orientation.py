"""Which way factors point: a factor and its mirror image fit equally well."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dtstat.estimation.sem.estimate import SEMEstimate
from dtstat.structure import Structure


def oriented(estimate: SEMEstimate, structure: Structure) -> SEMEstimate:
    """Let factors without a marker point where the structure says.

    With variances fixed at 1 nothing but the start of the search decides on the signs of a factor.
    Turning it round changes the signs of its loadings and of its covariances with others. A factor
    is turned if its loadings, weighed by the sizes of the items, disagree with the structure.

    Parameters
    ----------
    estimate
        Every factor measured by its children, variances of factors fixed.
    structure
        What was fitted.
    """
    model = estimate.model
    signs = {
        (factor, item): -1.0 if structure.reversed[i, k] else 1.0
        for k, factor in enumerate(model.latent)
        for i, item in enumerate(structure.item_names)
    }
    sd = dict(zip(model.observed, np.sqrt(np.diag(estimate.S)), strict=True))
    agreement = dict.fromkeys(model.latent, 0.0)
    for row, value in zip(model.parameters, estimate.estimates, strict=True):
        if row.op == "=~":
            agreement[row.lhs] += signs[row.lhs, row.rhs] * float(value) / sd[row.rhs]
    turned = {name for name, total in agreement.items() if total < 0}
    s = np.ones(len(estimate.theta))
    for row in model.parameters:
        if row.free:
            s[row.free - 1] = -1.0 if (row.lhs in turned) != (row.rhs in turned) else 1.0
    covariance = estimate.covariance * np.outer(s, s)
    return replace(estimate, theta=s * estimate.theta, covariance=covariance)
