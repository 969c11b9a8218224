"""A survey as its designer knows it: items per factor, loadings, factor correlations.

    X_i = Σ_k λ_ik Z_k + ε_i,   Z ~ N(0, Φ),   Var X_i = 1,   ρ_ij = (ΛΦΛᵀ)_ij

Rank measures do not change if the items are any increasing functions of these X_i (the Gaussian
copula), so their population values are functions of ρ (Kruskal 1958):

    Kendall  (2/π) asin ρ,      Spearman  (6/π) asin(ρ/2).

A guarantee for such a survey uses the margin alone. The normal approximation knows more: each pair
has its own distance from the threshold and its own standard error, so that

    P(Ê ≠ E₀) ≈< Σ_{i<j} Φ(−|ρ_ij − τ₀| √n / σ_ij),   τ₀ in the middle of the gap

(and for a pair below τ₀ the other tail, Φ(−(ρ_ij + τ₀) √n / σ_ij), since |r| is compared), with σ²
of the normal copula: (1 − ρ²)² for Pearson, 4/9 − (4/π)² asin²(ρ/2) for Kendall (Esscher 1924), and
for Spearman the series of David & Mallows (1961) in ρ², closed by one more term so that it is 0 at
ρ = 1. It is no guarantee.

References
----------
David, F. N. & Mallows, C. L. (1961). The variance of Spearman's rho in normal samples. Biometrika
48, 19–28. Esscher, F. (1924). On a method of determining correlation from the ranks of the
variates. Skandinavisk Aktuarietidskrift 7, 201–219. Kruskal, W. H. (1958). Ordinal measures of
association. Journal of the American Statistical Association 53, 814–861.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.errors import InputError
from dtstat.core.parallel import one_thread
from dtstat.core.saved import register
from dtstat.core.tables import Printed
from dtstat.data.items import as_items
from dtstat.dependence.compute import dependence_matrix
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.measures import INVERSE_BRIDGES, LATENT_VARIANCES, find_measure
from dtstat.simulation.designs import draw_normal, equicorrelated
from dtstat.structure.margin import Margin, structure_margin
from dtstat.structure.structure import Structure
from dtstat.trust.bounds import Bound

_LEAST_SE = 1e-6
_ROWS = 100_000  # of a simulated population
_ROWS_QUADRATIC = 4_000  # the same for measures whose cost grows with the square of it
_HALF_SCALE = 2.0  # answers are cut at even steps between so many standard deviations


def _factors_have_items(design: SurveyDesign) -> bool:
    finite = all(np.isfinite(part).all() for part in (design.loadings, design.factor_correlations))
    return finite and bool((design.loadings != 0).any(axis=0).all())


@register(
    shapes={"loadings": "pd", "factor_correlations": "dd"},
    rules={"factors have items": _factors_have_items},
)
@dataclass(frozen=True, eq=False, repr=False)
class SurveyDesign(Printed):
    """Items, factors and how strongly they are tied; made by :func:`survey_design`.

    Attributes
    ----------
    loadings
        (p, d) Λ; item i belongs to the factors it loads on.
    factor_correlations
        (d, d) Φ.
    levels
        Points of the answer scale; None for continuous answers.
    """

    loadings: FloatArray
    factor_correlations: FloatArray
    levels: int | None = None

    def __post_init__(self) -> None:
        for values in (self.loadings, self.factor_correlations):
            values.setflags(write=False)

    @property
    def support(self) -> BoolArray:
        """(p, d) which item belongs to which factor."""
        support: BoolArray = self.loadings != 0
        return support

    @property
    def structure(self) -> Structure:
        """The factors and their items."""
        return Structure(self.support)

    @property
    def correlations(self) -> FloatArray:
        """(p, p) correlations of the items before answers are cut into points of a scale."""
        L = self.loadings
        R: FloatArray = L @ self.factor_correlations @ L.T
        np.fill_diagonal(R, 1.0)
        return R

    def closed_form(self, measure: str) -> bool:
        """Whether population dependence and standard errors are formulas."""
        return self.levels is None and isinstance(measure, str) and measure in LATENT_VARIANCES

    @one_thread()
    def dependence(self, measure: str = "kendall", seed: int = 0) -> DependenceMatrix:
        """Return the population dependence; from simulated rows where no formula is known."""
        names = self.structure.item_names
        if self.closed_form(measure):
            return DependenceMatrix(INVERSE_BRIDGES[measure](self.correlations), names, measure)
        X = self.draw(simulated_rows(measure), np.random.default_rng(seed))
        return dependence_matrix(as_items(X, screened=False), measure)

    @one_thread()
    def margin(self, measure: str = "kendall", seed: int = 0) -> Margin:
        """Margins of the population."""
        found = self.dependence(measure, seed)
        simulated = not self.closed_form(measure)
        return structure_margin(found.strength, self.structure, measure, simulated)

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw the answers of n people, (n, p)."""
        L, Phi = self.loadings, self.factor_correlations
        Z = draw_normal(n, Phi, rng)
        unique = 1 - ((L @ Phi) * L).sum(axis=1)
        X: FloatArray = Z @ L.T + np.sqrt(unique) * rng.standard_normal((n, len(L)))
        if self.levels is None:
            return X
        step = 2 * _HALF_SCALE / self.levels
        return np.clip(np.floor((X + _HALF_SCALE) / step), 0, self.levels - 1) + 1

    def __repr__(self) -> str:
        return f"SurveyDesign: {describe_design(self)}"


def describe_design(design: SurveyDesign) -> str:
    """Say how many items and factors there are, and what the answers are like."""
    p, d = design.loadings.shape
    scale = "continuous answers" if design.levels is None else f"{design.levels}-point answers"
    return f"{p} items, {d} factor{'' if d == 1 else 's'}, {scale}"


def simulated_rows(measure: str) -> int:
    """Return how many rows stand for a population."""
    return _ROWS_QUADRATIC if find_measure(measure).quadratic else _ROWS


def survey_design(
    n_factors: int | None = None,
    items_per_factor: int | Sequence[int] = 5,
    loading: float | Sequence[float] | npt.ArrayLike | pd.DataFrame = 0.7,
    factor_correlation: float | npt.ArrayLike = 0.0,
    levels: int | None = None,
) -> SurveyDesign:
    """Describe a planned survey.

    Parameters
    ----------
    n_factors
        Number of factors d; not needed if a matrix of loadings is given.
    items_per_factor
        One number, or one for each factor.
    loading
        Standardized loading of all items; or one for each factor, or for each item; or the
        (p, d) matrix of all, 0 where an item does not belong, cross-loadings allowed.
    factor_correlation
        Correlation of all factors, in [0, 1); or the (d, d) matrix of correlations.
    levels
        Points of the answer scale; None for continuous answers. Points are even steps between
        −2 and 2 standard deviations.

    Raises
    ------
    InputError
        If a number is out of range, an item has more variance from its factors than 1, or the
        factor correlations are impossible.

    Examples
    --------
    >>> design = survey_design(n_factors=5, items_per_factor=5, loading=0.7)
    >>> round(design.margin("kendall").value, 3)
    0.163
    """
    L = _loadings(n_factors, items_per_factor, loading)
    Phi = _factor_correlations(factor_correlation, L.shape[1])
    explained = ((L @ Phi) * L).sum(axis=1)
    if (explained >= 1).any():
        item = int(explained.argmax())
        raise InputError(
            f"`loading` must leave every item some variance of its own; the factors explain "
            f"{explained[item]:.2f} of item {item + 1}. Lower its loadings.",
            "loading",
        )
    if levels is not None:
        levels = checks.integer("levels", levels, 2, "Use 5 for a five-point answer scale.")
    return SurveyDesign(L, Phi, levels)


def _loadings(n_factors: object, items_per_factor: object, loading: object) -> FloatArray:
    values = _numbers("loading", loading)
    if values.ndim == 2:
        return _given_loadings(values, n_factors)
    d = checks.integer("n_factors", n_factors, 1, "A survey has one factor or more.")
    sizes = np.atleast_1d(np.asarray(items_per_factor, dtype=object))
    if sizes.ndim != 1 or len(sizes) not in (1, d):
        raise checks.refusal(
            "items_per_factor", f"one number, or {d}", items_per_factor, "One for each factor."
        )
    advice = "Three or more make a factor recoverable."
    checks.size("n_factors", n_factors, (d, d))
    counts = [checks.integer("items_per_factor", size, 2, advice) for size in sizes] * (
        d if len(sizes) == 1 else 1
    )
    p = sum(counts)
    checks.size("items_per_factor", items_per_factor, (p, max(p, d)))
    owner = np.repeat(np.arange(d), counts)
    each = np.atleast_1d(values)
    if len(each) not in (1, d, p):
        raise checks.refusal(
            "loading", f"one number, {d} (factors) or {p} (items)", len(each), "Or a matrix."
        )
    if not ((np.abs(each) > 0) & (np.abs(each) < 1)).all():
        bad = each[~((np.abs(each) > 0) & (np.abs(each) < 1))][0]
        raise checks.refusal("loading", "between 0 and 1", bad, "Items have variance 1.")
    L = np.zeros((p, d))
    L[np.arange(p), owner] = each[owner] if len(each) == d else each
    return L


def _numbers(name: str, given: object) -> FloatArray:
    try:
        if np.asarray(given).dtype.kind == "c":
            raise TypeError
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise checks.refusal(name, "numbers", given, "Give a number, a list or a matrix.") from None
    if values.ndim > 2:
        raise checks.refusal(name, "a number, a list or a matrix", values.shape, "Not more.")
    return values


def _given_loadings(values: FloatArray, n_factors: object) -> FloatArray:
    if not np.isfinite(values).all() or (np.abs(values) >= 1).any():
        raise InputError("`loading` must hold numbers between −1 and 1.", "loading")
    columns, advice = values.shape[1], "It is that of the columns of `loading`; leave it out."
    if n_factors is not None and checks.integer("n_factors", n_factors, 1, advice) != columns:
        raise checks.refusal(
            "n_factors", f"{columns}, as `loading` has columns", n_factors, "Leave it out."
        )
    if not (values != 0).any(axis=0).all():
        raise InputError("`loading` has a factor without items. Leave it out.", "loading")
    return values.copy()


def _factor_correlations(given: object, d: int) -> FloatArray:
    values = _numbers("factor_correlation", given)
    if values.ndim == 0:
        advice = "It is the correlation of every pair of factors."
        return equicorrelated(d, checks.proportion("factor_correlation", values.item(), advice))
    if values.shape != (d, d):
        raise checks.refusal(
            "factor_correlation", f"a number or a {d} × {d} matrix", values.shape, "One per factor."
        )
    if not np.allclose(values, values.T) or not np.allclose(np.diag(values), 1):
        raise InputError(
            "`factor_correlation` must be symmetric with ones on the diagonal.",
            "factor_correlation",
        )
    if np.linalg.eigvalsh(values)[0] <= 0:
        raise InputError(
            "`factor_correlation` is impossible: the matrix is not positive definite. Lower the "
            "largest correlations.",
            "factor_correlation",
        )
    return values.copy()


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
    strength = INVERSE_BRIDGES[measure](rho)
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
    strength, names = INVERSE_BRIDGES[measure](rho), design.structure.item_names
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
    se = np.sqrt(np.maximum(LATENT_VARIANCES[measure](rho[i, j]), 0.0))
    return CriticalPairs(strength[i, j], np.full(len(i), tau), se)
