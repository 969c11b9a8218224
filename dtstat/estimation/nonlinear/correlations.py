"""Correlations of factors that stay apart."""

from __future__ import annotations

import numpy as np

from dtstat.arrays import FloatArray

_LEAST_EIGENVALUE = 0.02


def correlations(moments: FloatArray) -> FloatArray:
    """(d, d) correlation matrix of second moments, eigenvalues raised to .02 at least.

    Factors that become the same would freeze the sampler.
    """
    scale = np.sqrt(moments.diagonal())
    values, vectors = np.linalg.eigh(moments / np.outer(scale, scale))
    Phi = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
    scale = np.sqrt(Phi.diagonal())
    found: FloatArray = Phi / np.outer(scale, scale)
    found = (found + found.T) / 2
    np.fill_diagonal(found, 1.0)
    return found
