"""Robust CFI, TLI and RMSEA for ordered items: misfit as if the variables behind them were known.

The tests measure misfit by the maximum likelihood discrepancy of correlations, as
:mod:`dtstat.sem.robust` does for gaps, at the estimates of least squares (Savalei 2021).

References
----------
Savalei, V. (2021). Improving fit indices in structural equation modeling with categorical data.
Multivariate Behavioral Research 56, 390-407.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.fit_indices import Test
from dtstat.sem.matrices import inverse
from dtstat.sem.ordinal_moments import OrdinalMoments
from dtstat.sem.robust import discrepancy


def corrected_for_categories(
    moments: Sequence[OrdinalMoments],
    implied: Sequence[FloatArray],
    derivatives: Sequence[FloatArray],
    weighted: Sequence[FloatArray],
    bread: FloatArray,
    df: int,
) -> tuple[Test, Test] | None:
    """Test a model, and independent items, as if the variables behind the items were known.

    If the model is right the discrepancy has the mean tr(W_c P Γ Pᵀ), P = I − Δ E⁻¹ Δᵀ W, over all
    groups; W_c are the weights of the discrepancy, which knows correlations only.

    Parameters
    ----------
    moments, implied
        Statistics of each group, and the correlations that the model implies.
    derivatives, weighted
        Δ and W Δ of each group.
    bread, df
        E⁻¹ of all groups, along the directions that constraints leave; degrees of freedom.

    Returns
    -------
    tuple or None
        None if a matrix of correlations is not positive definite: there is no discrepancy.
    """
    found = [m.correlations for m in moments]
    if min(np.linalg.eigvalsh(R)[0] for R in (*found, *implied)) < 1e-8:
        return None
    n = sum(m.n_obs - 1 for m in moments)
    q = len(bread)
    chisq = base = whole = base_whole = 0.0
    mixed, own, taken = np.zeros((q, q)), np.zeros((q, q)), np.zeros((q, q))
    pairs = 0
    for m, Sigma, D, WD in zip(moments, implied, derivatives, weighted, strict=True):
        share, zero = (m.n_obs - 1) / n, np.zeros(len(Sigma))
        j, i = np.triu_indices(len(Sigma), 1)
        below = slice(len(m.statistics) - len(i), None)
        W, _ = inverse(Sigma)
        Wc = W[np.ix_(i, i)] * W[np.ix_(j, j)] + W[np.ix_(i, j)] * W[np.ix_(j, i)]
        G, gamma = m.gamma @ WD, m.gamma[below, below]
        WcD = Wc @ D[below]
        chisq += m.n_obs * discrepancy(m.correlations, zero, Sigma, zero)
        base += m.n_obs * discrepancy(m.correlations, zero, np.eye(len(Sigma)), zero)
        whole += float(np.sum(Wc * gamma))
        base_whole += float(np.trace(gamma))
        mixed += share * (G[below].T @ WcD)
        own += share * (D[below].T @ WcD)
        taken += share * (WD.T @ G)
        pairs += len(i)
    whole -= 2 * float(np.sum(bread * mixed))
    whole += float(np.sum((bread @ own) * (bread @ taken).T))
    test = Test(chisq, df, whole / df) if df else Test(chisq, df)
    return test, Test(base, pairs, base_whole / pairs) if pairs else Test(base, pairs)
