"""The variables behind ordered items: what gives them their scale.

An ordered item shows in which interval a normal variable y* lies. Neither its mean nor its variance
can be seen, so one of two conventions fixes its scale. With v the variance of y* given the observed
predictors, and δ the factor that brings y* to the scale on which thresholds and correlations are
estimated,

    delta    δ is a parameter (1, unless groups differ): the residual variance follows from
             δ² v = 1;
    theta    the residual variance is a parameter (1, unless groups differ): δ = 1 / √v

(Muthén & Asparouhov 2002). The residual variance of an item is its entry of Θ or, if it takes part
in regressions and so is an η, of Ψ.

References
----------
Muthén, B. & Asparouhov, T. (2002). Latent variable analysis with categorical outcomes:
Multiple-group and growth modeling in Mplus. Mplus Web Notes 4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dtstat.core.arrays import IntArray

if TYPE_CHECKING:
    from dtstat.sem.matrices import Matrices
    from dtstat.sem.parameters import Model


@dataclass(frozen=True)
class Responses:
    """Where the variables behind ordered items are in the matrices of a model.

    Attributes
    ----------
    items
        Positions of the ordered items among the observed variables.
    regressed, eta
        Those of them that are η, and which η they are.
    given
        Which η are observed predictors.
    delta
        Whether scales are parameters and residual variances follow; else it is the other way round.
    """

    items: IntArray
    regressed: IntArray
    eta: IntArray
    given: IntArray
    delta: bool

    @classmethod
    def of(cls, model: Model) -> Responses:
        """Find the ordered items of a model."""
        items = [k for k, name in enumerate(model.observed) if name in model.ordered]
        regressed = [k for k in items if model.observed[k] in model.eta]
        eta = [model.eta.index(model.observed[k]) for k in regressed]
        given = [model.eta.index(name) for name in model.covariates]
        where = [np.array(one, dtype=np.int64) for one in (items, regressed, eta, given)]
        return cls(where[0], where[1], where[2], where[3], model.parameterization == "delta")

    def conditional(self, M: Matrices) -> Matrices:
        """Return the matrices given the observed predictors, which then have no moments."""
        if not len(self.given):
            return M
        Psi, alpha = M.Psi.copy(), M.alpha.copy()
        Psi[self.given], Psi[:, self.given], alpha[self.given] = 0.0, 0.0, 0.0
        return replace(M, Psi=Psi, alpha=alpha)

    def complete(self, M: Matrices) -> Matrices:
        """Fill in what follows: residual variances, or scales.

        Residual variances r of ordered items solve v = 1 / δ², which is linear: an item's own adds
        to its variance, that of an ordered η k adds T_ik² r_k to the variance of item i, where T
        are the effects of the disturbances of η on the items.
        """
        Theta, Psi = M.Theta.copy(), M.Psi.copy()
        if self.delta:
            Theta[self.items, self.items] = 0.0
            Psi[self.eta, self.eta] = 0.0
        filled = replace(M, Theta=Theta, Psi=Psi)
        T = M.Lambda if not M.Beta.any() else M.Lambda @ M.total_effects
        inner = self.conditional(filled).Psi
        variance = np.einsum("ij,jk,ik->i", T, inner, T) + np.diag(Theta)
        if not self.delta:
            delta = M.delta.copy()
            with np.errstate(invalid="ignore", divide="ignore"):
                delta[self.items] = 1.0 / np.sqrt(variance[self.items])
            return replace(filled, delta=delta)
        rest = np.zeros(len(T))
        rest[self.items] = M.delta[self.items] ** -2.0 - variance[self.items]
        if len(self.eta):
            share = T[np.ix_(self.regressed, self.eta)] ** 2
            Psi[self.eta, self.eta] = np.linalg.solve(share, rest[self.regressed])
            rest -= T[:, self.eta] ** 2 @ Psi[self.eta, self.eta]
            rest[self.regressed] = 0.0
        Theta[self.items, self.items] = rest[self.items]
        return filled
