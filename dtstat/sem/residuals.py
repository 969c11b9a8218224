"""What a model leaves of the covariances, relative to how much of it is sampling error.

The estimates follow the moments s by E⁻¹ Δᵀ W, W the weights of normal answers at the implied
moments, so that with Γ of normal answers at the moments found the residuals have the covariance

    P Γ Pᵀ / n,   P = I − Δ E⁻¹ Δᵀ W,

over all groups (Bollen 1989, p. 259). Divided by their standard errors they are z values. With
gaps W and Γ⁻¹ are the information of the rows as they are. If groups share parameters, P has blocks
between them, which lavaan 0.6-14 leaves out: in samples from a model of equal loadings its z values
of variances have standard deviations of 1.2 to 1.5, these 1.0 to 1.1
(benchmarks/sem_inference/residuals.py).

References
----------
Bollen, K. A. (1989). Structural equations with latent variables. Wiley.
"""

from __future__ import annotations

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.errors import InputError
from dtstat.sem.constraints import Constraints
from dtstat.sem.discrepancy import inverse, inverse_within
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.exploratory import Exploratory
from dtstat.sem.gaps import saturated_hessian
from dtstat.sem.matrices import Layout
from dtstat.sem.rows import Sample
from dtstat.sem.second_moments import moment_derivatives, normal_weights

_NONE = 1e-10  # share of a moment's variance below which its residual has none


def standardized_residuals(estimate: SEMEstimate) -> list[FloatArray]:
    """(p, p) z values of the residual covariances of each group; NaN where one cannot vary."""
    if any(row.op == "|" for row in estimate.model.parameters):
        raise InputError(
            "Standardized residuals need continuous items; this model has ordered ones. Look at "
            "residuals() instead."
        )
    means, q = estimate.model.mean_structure, len(estimate.theta)
    layouts = [Layout(block, q) for block in estimate.model.blocks]
    n = sum(sample.n_obs for sample in estimate.samples)
    pulls, slopes, spreads, total = [], [], [], np.zeros((q, q))
    for block, sample, layout in zip(estimate.blocks, estimate.samples, layouts, strict=True):
        D = moment_derivatives(layout, estimate.theta, means)
        W = _information(sample, block.Sigma, block.mu)
        pull = sample.n_obs / n * D.T @ W
        slopes.append(D)
        pulls.append(pull)
        spreads.append(inverse(_information(sample, block.S, block.mean)) / sample.n_obs)
        total += pull @ D
    space = Constraints(estimate.model).space(estimate.theta)
    if estimate.model.exploratory:
        space = Exploratory(estimate.model, layouts).space(estimate.theta, space)
    inner = inverse_within(total, space)
    found = []
    for g, block in enumerate(estimate.blocks):
        variance = np.zeros(len(slopes[g]))
        for h, spread in enumerate(spreads):
            P = (np.eye(len(variance)) if g == h else 0.0) - slopes[g] @ inner @ pulls[h]
            variance += np.einsum("ma,ab,mb->m", P, spread, P)
        below = np.tril_indices(len(block.S))
        known = variance > _NONE * np.diag(spreads[g])
        z = np.full_like(block.S, np.nan)
        z[below] = (block.S - block.Sigma)[below]
        z[below] /= np.sqrt(np.where(known, variance, np.nan))[: len(below[0])]
        found.append(np.where(np.isnan(z), z.T, z))
    return found


def _information(sample: Sample, Sigma: FloatArray, mu: FloatArray) -> FloatArray:
    """Information of all moments, per row."""
    if sample.complete:
        return normal_weights(Sigma, sample.means)
    return saturated_hessian(sample.batches, Sigma, mu)
