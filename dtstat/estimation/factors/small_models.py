"""Factor models by maximum likelihood when hundreds of small ones are fitted, as in resampling.

The search is that of :mod:`dtstat.estimation.factors.maximum_likelihood`, whose calls of numpy cost
more than their arithmetic when there are few items; here it is two compiled calls. For a single fit
that does not pay: loading compiled code takes longer than the fit.
"""

from __future__ import annotations

import math

import numpy as np

from dtstat.arrays import BoolArray, FloatArray
from dtstat.estimation.factors.copula import FactorEstimate, as_estimate, fit_factors
from dtstat.estimation.factors.maximum_likelihood import EM_STEPS, MEMORY, Summit
from dtstat.estimation.factors.small_kernels import LOG_LEAST, accelerated_em, climb, write_start


def fit_small(
    R: FloatArray,
    n_obs: int,
    support: BoolArray,
    tolerance: float = 1e-6,
    max_iterations: int = 300,
    enough: float = -math.inf,
) -> FactorEstimate:
    """Fit a factor model with a given support, as ``fit_factors`` does but faster if it is small.

    Parameters
    ----------
    R, n_obs, support, tolerance
        As for :func:`~dtstat.estimation.factors.copula.fit_factors`.
    max_iterations
        Most steps; a search that is not done by then is done again by ``fit_factors``.
    enough
        Log-likelihood of interest, if it comes to that.

    Notes
    -----
    Cost: pE + d³ a step for E loadings; some 5 µs for 25 items and 5 factors.

    Examples
    --------
    >>> loadings = np.array([0.9, 0.8, -0.7, 0.6])
    >>> R = np.outer(loadings, loadings)
    >>> np.fill_diagonal(R, 1)
    >>> fit_small(R, 100, np.ones((4, 1), dtype=bool)).loadings.ravel().round(3).tolist()
    [0.9, 0.8, -0.7, 0.6]
    """
    p, d = support.shape
    # Contiguous even where numpy gives columns of a table: for numba a second layout is a second
    # type, and handing a tuple of one to code for the other corrupts memory (seen with 0.60).
    item, factor = map(np.ascontiguousarray, support.nonzero())
    E, least_gain = len(item), tolerance / n_obs
    first = item.searchsorted(np.arange(p + 1))
    size = max(d, 1)  # kernels take first rows of these matrices, also without factors
    room = np.empty(E), np.empty((7, size, size)), np.empty((d, p))
    # R is copied because numba would compile for read-only and writable matrices separately.
    model = (np.array(R, order="C"), item, factor, first, *room)
    past = np.empty((2 * MEMORY + 4, E + p + d * (d + 1) // 2))
    gram = np.empty((3, MEMORY, MEMORY))  # of the changes in f, its root, weights
    write_start(model, past[2])
    most = min(max_iterations, EM_STEPS)
    found = Summit(past[0], *accelerated_em(model, past, gram, least_gain, most))
    if not found.converged and found.iterations < max_iterations:
        left = max_iterations - found.iterations
        value, converged, steps = climb(model, past[0], found.value, least_gain, left)
        found = Summit(past[0], value, converged, found.iterations + steps)
    if not found.converged:
        return fit_factors(R, n_obs, support, tolerance, enough=enough)
    L, T = np.zeros((p, d)), np.zeros((d, d))
    L[item, factor] = found.theta[:E]
    T[np.tri(d, dtype=bool)] = found.theta[E + p :]
    psi = np.exp(np.maximum(found.theta[E : E + p], LOG_LEAST))
    return as_estimate(L, T, psi, found.value, n_obs, E, found.converged, found.iterations)
