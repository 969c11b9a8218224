"""Sample size for a survey design: by guarantee, and by the normal distribution of estimates.

The guarantee uses the margin alone. The normal approximation knows more: each pair has its own
distance from the threshold and its own standard error, so that

    P(Ê ≠ E₀) ≈< Σ_{i<j} Φ(−|ρ_ij − τ₀| √n / σ_ij),   τ₀ in the middle of the gap

(and for a pair below τ₀ the other tail, Φ(−(ρ_ij + τ₀) √n / σ_ij), since |r| is compared), with σ²
of the normal copula: (1 − ρ²)² for Pearson, 4/9 − (4/π)² asin²(ρ/2) for Kendall (Esscher 1924), and
for Spearman the series of David & Mallows (1961) in ρ², closed by one more term so that it is 0 at
ρ = 1. It is no guarantee.

References
----------
David, F. N. & Mallows, C. L. (1961). The variance of Spearman's rho in normal samples. Biometrika
48, 19–28. Esscher, F. (1924). On a method of determining correlation from the ranks of the
variates. Skandinavisk Aktuarietidskrift 7, 201–219.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dtstat.arrays import BoolArray, FloatArray
from dtstat.theory.bounds import Bound
from dtstat.theory.margin import Margin
from dtstat.theory.survey import POPULATION, SurveyDesign

# Of ρ⁰, ρ², ρ⁴, ...; the last one stands for all that follow, and agrees with simulation to .0003.
_SPEARMAN = (1.0, -1.563465, 0.304743, 0.155286, 0.061552, 0.022099, 0.0, 0.019785)
_LEAST_SE = 1e-6
ASYMPTOTIC_VARIANCES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "pearson": lambda rho: (1 - rho**2) ** 2,
    "kendall": lambda rho: 4 / 9 - (4 / np.pi * np.arcsin(rho / 2)) ** 2,
    "spearman": lambda rho: np.asarray(np.polyval(_SPEARMAN[::-1], rho**2)),
}


@dataclass(frozen=True, eq=False)
class CriticalPairs:
    """Pairs that must keep on their side of a threshold, as columns.

    Attributes
    ----------
    strength
        (m,) |ρ_ij|.
    threshold
        (m,) τ of each pair.
    se
        (m,) σ_ij, the standard error of one row.
    """

    strength: FloatArray
    threshold: FloatArray
    se: FloatArray

    def error(self, n: int) -> float:
        """Sum the probabilities that a pair is on the wrong side."""
        from scipy.special import ndtr

        z = np.sqrt(n) / np.maximum(self.se, _LEAST_SE)
        near = ndtr(-np.abs(self.strength - self.threshold) * z)
        far = np.where(
            self.strength < self.threshold, ndtr(-(self.strength + self.threshold) * z), 0.0
        )
        return float(min(1.0, (near + far).sum()))


def global_pairs(design: SurveyDesign, measure: str) -> CriticalPairs | None:
    """All pairs and one threshold; None if the margin is not positive or σ is not known."""
    rho = _known(design, measure)
    if rho is None:
        return None
    strength = POPULATION[measure](rho)
    shared = design.structure.parent_sharing_graph()
    margin = design.margin(measure)
    if not margin.satisfied:
        return None
    tau = margin.weakest_edge.value - margin.value
    return _critical(strength, rho, measure, np.triu(np.ones_like(shared), 1), tau)


def local_pairs(design: SurveyDesign, measure: str) -> CriticalPairs | None:
    """For every factor the pairs that its own threshold depends on; None as for the global."""
    rho = _known(design, measure)
    if rho is None:
        return None
    strength, names = POPULATION[measure](rho), design.structure.item_names
    parts = []
    for members, local in zip(design.support.T, design.margin(measure).factors, strict=True):
        if local.value <= 0:
            return None
        pairs = np.triu(np.outer(members, members), 1)
        o = 0.0
        if local.outside is not None:
            pairs[names.index(local.outside.first), ~members] = True
            o = local.outside.value
        parts.append(_critical(strength, rho, measure, pairs, o + local.value))
    columns = zip(*((part.strength, part.threshold, part.se) for part in parts), strict=True)
    return CriticalPairs(*(np.concatenate(column) for column in columns))


def local_error(n: int, margin: Margin, bound: Bound, p: int) -> float:
    """Bound the probability that some factor is missed, each at its own threshold."""
    total = 0.0
    for one in margin.factors:
        size = len(one.items)
        pairs = size * (size - 1) // 2 + p - size
        total += pairs * (bound(n, one.value) if one.value > 0 else 1.0)
    return min(1.0, total)


def _known(design: SurveyDesign, measure: str) -> FloatArray | None:
    """Return absolute correlations where distances and standard errors are formulas of them."""
    return np.abs(design.correlations) if design.closed_form(measure) else None


def _critical(
    strength: FloatArray, rho: FloatArray, measure: str, pairs: BoolArray, tau: float
) -> CriticalPairs:
    i, j = np.nonzero(pairs)
    se = np.sqrt(np.maximum(ASYMPTOTIC_VARIANCES[measure](rho[i, j]), 0.0))
    return CriticalPairs(strength[i, j], np.full(len(i), tau), se)
