"""Nonlinear factor models of a given structure: one call for all ways of estimating them.

    spline        additive penalised splines, stochastic-approximation EM; ratings are ratings
    neural        the paper's masked network, stochastic EM; all items are normal
    variational   the same network, by an importance-weighted autoencoder

All start from the Gaussian copula model of the structure and draws of its factors: from plain
means of items a fit can end in a poor optimum.
"""

from __future__ import annotations

NONLINEAR = ("spline", "neural", "variational")
NETWORKS = ("neural", "variational")
PRESETS = ("paper", "paper_fast")
