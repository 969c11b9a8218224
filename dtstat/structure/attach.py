"""Items that no clique took in: which factor they belong to, and whether to any.

If each item has one parent, |r_ij| = λ_i λ_j within a factor and λ_i φ λ_j across, so the loading
that item i would have on factor k can be read off the dependence without a fit:

    λ_ik = mean_{j ∈ k} |r_ij| / √(mean_{j ≠ l ∈ k} |r_jl|),   i itself left out of k.

It is largest for the factor the item belongs to, however weak the items of that factor are, as
long as loadings within a factor are of similar size; the numerator alone would favour factors with
strong items. (The multiple group method of factor
analysis, Thurstone 1945, Holzinger 1944, computes loadings in this way.)

References
----------
Holzinger, K. J. (1944). A simple method of factor analysis. Psychometrika 9, 257–262.
Thurstone, L. L. (1945). A multiple group method of factoring the correlation matrix. Psychometrika
10, 73–78.
"""

from __future__ import annotations

import numpy as np

from dtstat.arrays import BoolArray, FloatArray
from dtstat.structure.barcode import Barcode

_TINY = 1e-6  # mean dependence below which a factor explains nothing


def implied_loadings(strength: FloatArray, support: BoolArray) -> FloatArray:
    """(p, d) loadings λ_ik that dependence implies, each item left out of its own factors.

    Parameters
    ----------
    strength
        (p, p) absolute dependence; the diagonal is not used.
    support
        (p, d) who belongs to which factor, two items at least.
    """
    S = strength.copy()
    np.fill_diagonal(S, 0.0)
    A = support.astype(np.float64)
    sums = S @ A
    inside = (A * sums).sum(axis=0)  # over ordered pairs
    others = A.sum(axis=0) - A
    to_factor = sums / np.maximum(others, 1.0)
    pairs = others * (others - 1)
    all_pairs = np.maximum(A.sum(axis=0) * (A.sum(axis=0) - 1), 1.0)
    # Of two items one is left, and no pair: the pair itself is then all there is.
    within = np.where(
        pairs > 0, (inside - 2 * A * sums) / np.maximum(pairs, 1.0), inside / all_pairs
    )
    loadings: FloatArray = to_factor / np.sqrt(np.maximum(within, _TINY))
    return loadings


def attach(strength: FloatArray, cores: BoolArray, least: float, min_children: int) -> BoolArray:
    """Give each item that is in no core to the factor with the largest implied loading.

    Factors that stay smaller than ``min_children`` are given up, the smallest first, and their
    items attached to others.

    Parameters
    ----------
    strength
        (p, p) absolute dependence.
    cores
        (p, d) the cliques.
    least
        Implied loading an item must reach; otherwise it stays in no factor.
    min_children
        Fewest items of a factor.

    Returns
    -------
    (p, d) the factors.
    """
    loadings = implied_loadings(strength, cores)
    while cores.shape[1]:
        support = cores.copy()
        best = loadings.argmax(axis=1)
        given = ~cores.any(axis=1) & (loadings.max(axis=1) >= least)
        support[given, best[given]] = True
        sizes = support.sum(axis=0)
        if sizes.min() >= min_children:
            return support
        given_up = sizes.argmin()
        cores = np.delete(cores, given_up, axis=1)
        loadings = np.delete(loadings, given_up, axis=1)
    return cores


def attached_items(barcode: Barcode, support: BoolArray) -> BoolArray:
    """(p,) marks of the items that are in a factor, but in no clique within a factor of theirs."""
    taken_in = np.zeros(len(support), dtype=bool)
    for factor in support.T:
        within = ~(barcode.members & ~factor).any(axis=1)
        taken_in |= barcode.members[within].any(axis=0)
    attached: BoolArray = support.any(axis=1) & ~taken_in
    return attached
