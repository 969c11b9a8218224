"""Which loadings a fitted model lacks, by the score test.

With P = Σ⁻¹, E = R − Σ and B = PΛΦ, the log-likelihood per row rises along λ_ik by

    g_ik = (P E B)_ik,

and the loadings of item i have the information I = P_ii ΦΛᵀB + b_i b_iᵀ. At the maximum g is zero
for the parents S of the item, which give way to a new one:

    n g_ik² / (I_kk − I_kS I_SS⁻¹ I_Sk)

is the gain that is to be expected, twice the log-likelihood (Sörbom 1989).

References
----------
Sörbom, D. (1989). Model modification. Psychometrika 54, 371–384.
"""

from __future__ import annotations

import numpy as np

from dtstat.arrays import BoolArray, FloatArray
from dtstat.estimation.factors.copula import FactorEstimate

_NOTHING = (
    1e-9  # relative information about a loading that the parents of the item leave nothing of
)


def expected_gains(R: FloatArray, estimate: FactorEstimate, support: BoolArray) -> FloatArray:
    """(p, d) expected gains per row; zero where there is a loading.

    Parameters
    ----------
    R
        (p, p) correlations.
    estimate, support
        The fitted model, and its (p, d) loadings.

    Notes
    -----
    Cost: 4 p²d; nothing of size p × p is inverted.
    """
    gradient, B, P_ii, H = _score(R, estimate)
    information = np.outer(P_ii, H.diagonal()) + B**2
    left = information.copy()
    n_parents = support.sum(axis=1)
    for m in np.unique(n_parents[n_parents > 0]):
        items = np.flatnonzero(n_parents == m)
        S = np.nonzero(support[items])[1].reshape(-1, m)
        own = B[items[:, None], S]
        I_S = P_ii[items, None, None] * H[S] + own[:, :, None] * B[items, None, :]
        I_SS = np.take_along_axis(I_S, S[:, None, :], axis=2)
        left[items] -= (I_S * np.linalg.solve(I_SS, I_S)).sum(axis=1)
    known = support | (left <= _NOTHING * information)
    gains: FloatArray = np.where(known, 0.0, gradient**2 / np.where(known, 1.0, left))
    return gains


def _score(
    R: FloatArray, estimate: FactorEstimate
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return g, B, the diagonal of P, and H = ΦΛᵀB, by Woodbury's identity for P."""
    L, Phi, psi = estimate.loadings, estimate.factor_correlations, estimate.uniquenesses
    W = L / psi[:, None]
    V = np.linalg.solve(np.eye(len(Phi)) + Phi @ (L.T @ W), Phi)
    WV = W @ V

    def by_P(X: FloatArray) -> FloatArray:
        product: FloatArray = X / psi[:, None] - WV @ (W.T @ X)
        return product

    B = by_P(L @ Phi)
    EB = R @ B - L @ (Phi @ (L.T @ B)) - psi[:, None] * B
    P_ii = 1 / psi - (WV * W).sum(axis=1)
    return by_P(EB), B, P_ii, Phi @ (L.T @ B)
