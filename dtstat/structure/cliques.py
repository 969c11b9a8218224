"""From one graph to a structure: independent maximal cliques, and the items that none took in.

The cliques are the map ψ of the paper's Lemma 1. Items outside all of them are attached to the
factor that they would load on most. If each item has one parent, |r_ij| = λ_i λ_j within a factor
and λ_i φ λ_j across, so the loading that item i would have on factor k can be read off the
dependence without a fit:

    λ_ik = mean_{j ∈ k} |r_ij| / √(mean_{j ≠ l ∈ k} |r_jl|),   i itself left out of k.

It is largest for the factor the item belongs to, however weak the items of that factor are, as
long as loadings within a factor are of similar size; the numerator alone would favor factors with
strong items. (The multiple group method of factor analysis computes loadings in this way:
Holzinger 1944, Thurstone 1945.)

References
----------
Holzinger, K. J. (1944). A simple method of factor analysis. Psychometrika 9, 257–262.
Thurstone, L. L. (1945). A multiple group method of factoring the correlation matrix. Psychometrika
10, 73–78.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.errors import InputError
from dtstat.structure.barcode import Barcode
from dtstat.structure.structure import Structure

_TINY = 1e-6  # mean dependence below which a factor explains nothing


def independent_maximal_cliques(
    adjacency: npt.ArrayLike | pd.DataFrame, min_children: int = 2
) -> Structure:
    """Read the factors off a graph of items (Definition 2, and ψ of Lemma 1).

    A vertex whose neighbors are all joined to each other is a unique member of exactly one
    maximal clique, its closed neighborhood; those cliques, without repetition, are the
    independent maximal cliques. They are found without listing all maximal cliques.

    Parameters
    ----------
    adjacency
        (p, p) symmetric matrix of booleans or 0/1; its diagonal is ignored. Item names are taken
        from a DataFrame.
    min_children
        Smaller cliques are left out. Isolated items are cliques of one.

    Returns
    -------
    Structure
        One factor per clique, ordered by their first items.

    Raises
    ------
    InputError
        If the matrix is not square and symmetric, or not of booleans.

    Notes
    -----
    Cost: one product of two p × p matrices.

    Examples
    --------
    >>> import numpy as np
    >>> graph = np.zeros((4, 4), dtype=bool)
    >>> graph[[0, 1, 0, 2], [1, 2, 2, 3]] = True
    >>> independent_maximal_cliques(graph | graph.T)
    Structure: 2 factors, 4 items
      F1: x1 x2 x3
      F2: x3 x4
    """
    smallest = checks.integer("min_children", min_children, 1, "Isolated items are cliques of 1.")
    names = [str(c) for c in adjacency.columns] if isinstance(adjacency, pd.DataFrame) else None
    closed = _closed_neighborhoods(adjacency)
    # u is simplicial if N[u] ⊆ N[v] for every v in N[u], that is |N[u] ∩ N[v]| = |N[u]|.
    N = closed.astype(np.float32)
    common, size = N @ N.T, N.sum(axis=1)
    simplicial = (~closed | (common >= size[:, None])).all(axis=1)
    cliques = _distinct(closed[simplicial])
    kept = cliques[cliques.sum(axis=1) >= smallest]
    return Structure(kept.T, names)


def _closed_neighborhoods(adjacency: npt.ArrayLike | pd.DataFrame) -> BoolArray:
    try:
        E = np.asarray(adjacency)
    except (TypeError, ValueError):
        raise InputError("`adjacency` must have equally long rows.", "adjacency") from None
    if E.ndim != 2 or E.shape[0] != E.shape[1]:
        raise InputError(f"`adjacency` must be a square matrix; got shape {E.shape}.", "adjacency")
    if E.dtype != bool and not np.isin(E, (0, 1)).all():
        raise InputError(
            "`adjacency` must hold only true/false or 0/1. "
            "Threshold a dependence matrix first: abs(r) > threshold.",
            "adjacency",
        )
    E = E.astype(bool)
    if not np.array_equal(E, E.T):
        i, j = np.argwhere(E != E.T)[0]
        raise InputError(
            f"`adjacency` must be symmetric; entries ({i + 1}, {j + 1}) and ({j + 1}, {i + 1}) "
            "differ.",
            "adjacency",
        )
    np.fill_diagonal(E, True)
    return E


def _distinct(rows: BoolArray) -> BoolArray:
    """Return the distinct rows, those with the earliest items first."""
    bits = np.packbits(rows, axis=1)  # as bytes they sort like the rows, in an eighth of the time
    place = {bit.tobytes(): k for k, bit in enumerate(bits)}
    return rows[[place[key] for key in sorted(place, reverse=True)]]


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
        Implied loading that an item must reach; otherwise it stays in no factor.
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
    which, _ = barcode.sets.inside(support)
    taken_in[barcode.sets.take(np.unique(which)).items] = True
    attached: BoolArray = support.any(axis=1) & ~taken_in
    return attached


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
