"""Factors turned toward others: the same model, written with fewer loadings.

Put η_j − c η_k in place of η_j. The covariances of the items are the same if every item of j has
the loading λ_ik + c λ_ij on k in place of λ_ik: items of j alone come to load on k, in proportion
to their loadings on j, and items with λ_ik = −c λ_ij no longer do. So zeros that a factor model
has by nature can be hidden behind others, until the factor is turned back. Turning saves

    Σ_i [ π 1(λ_ik ≠ 0) − min(π, n (λ_ik + c λ_ij)² / θ_i) ]   over the items i of j,

if a loading costs π and leaving one out costs n λ² / θ.
"""

from __future__ import annotations

import numpy as np

from dtstat.arrays import BoolArray, FloatArray
from dtstat.estimation.factors.copula import FactorEstimate

_FEWEST = 2  # items of j that load on k, from which a turn can save any


def turned(
    estimate: FactorEstimate, support: BoolArray, n: float, price: float
) -> BoolArray | None:
    """(p, d) support with all factors turned for which that saves loadings; None if for none.

    Parameters
    ----------
    estimate, support
        A fitted model, and its loadings.
    n, price
        What the rows count as, and what a loading costs.
    """
    A = support.astype(np.float32)
    shared = A.T @ A
    np.fill_diagonal(shared, 0.0)
    turns = [
        (*_turn(estimate, support, j, k, n, price), j, k) for j, k in np.argwhere(shared >= _FEWEST)
    ]
    changed = support.copy()
    used: set[int] = set()
    for saved, after, j, k in sorted(turns, key=lambda turn: -turn[0]):
        if saved > 0 and used.isdisjoint((j, k)):
            changed[support[:, j], k] = after
            used |= {j, k}
    return changed if used else None


def _turn(
    estimate: FactorEstimate, support: BoolArray, j: int, k: int, n: float, price: float
) -> tuple[float, BoolArray]:
    """Return what turning j toward k saves, and which items of j then load on k."""
    items = support[:, j]
    own, other = estimate.loadings[items, j], estimate.loadings[items, k]
    theta = estimate.uniquenesses[items]
    c = _ratio(own, -other, own**2 / theta, support[items, k])
    loss: FloatArray = n * (other + c * own) ** 2 / theta
    saved = price * support[items, k].sum() - np.minimum(loss, price).sum()
    return float(saved), loss > price


def _ratio(own: FloatArray, other: FloatArray, weight: FloatArray, both: BoolArray) -> float:
    """Weighted median of other / own where both are loadings, so that outliers have no say."""
    usable = both & (own != 0)
    if not usable.any():
        return 0.0
    ratio, w = other[usable] / own[usable], weight[usable]
    order = ratio.argsort()
    return float(ratio[order][np.searchsorted(w[order].cumsum(), w.sum() / 2)])
