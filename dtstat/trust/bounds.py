"""Concentration inequalities P(|r − ρ| > ε) ≤ b(n, ε): how far an estimate strays by chance.

Lemma 2 of the paper turns each of them into a bound on the probability of a wrong graph,
P(Ê(τ₀) ≠ E₀) ≤ C(p, 2) · b(n, γ), for τ₀ in the middle of the gap
(:mod:`dtstat.trust.sample_size`). Most follow from Hoeffding's inequality for U-statistics: if U is
the average of a kernel h ∈ [a, b] over all sets of m rows, then

    P(|U − E U| ≥ ε) ≤ 2 exp(−2 ⌊n/m⌋ ε² / (b − a)²).

The paper writes n/(2m) for ⌊n/m⌋, which is never larger, so its form is safe but needs about
twice the rows.

Kendall.  h is sign(x₁ − x₂) sign(y₁ − y₂) of a pair of rows: m = 2, values in [−1, 1]. Its average
is Kendall's τ without ties. With ties it is τ-a, while dtstat computes τ-b, a ratio and no
U-statistic: nothing is claimed for items with ties.

Spearman.  Without ties, r_S = [(n − 2) U + 3 T] / (n + 1), where T is Kendall's τ of the sample and
U has the kernel 3 · (mean of sign(x_a − x_b) sign(y_a − y_c) over the six orders of three rows),
which is 1 or −1 for every one of the six rankings of three rows. T is an average over three rows,
too, so r_S itself is a U-statistic with m = 3 and values in [−1, 1]. Its mean is
[(n − 2) ρ_S + 3 τ] / (n + 1), and |ρ_S − τ| ≤ 1/2 for every pair (Daniels 1950; Durbin & Stuart
1951), so its bias is at most 3 / (2n + 2), which is taken off ε. With ties none of this holds: r_S
is divided by standard deviations of the ranks, which are estimates.

Pearson.  With u = (x₁ − x₂)/√2 and w = (y₁ − y₂)/√2 of items with variance 1, the sample
covariances are U-statistics of order 2 with kernels uw, u² and w². If all three are within δ of
their means, |r − ρ| ≤ 2δ / (1 − δ); so δ = ε / (2 + ε) is enough, and three inequalities are added.
 - Bounded items whose standard deviations are at least s times their range: in units of the range,
   the kernel of the covariance lies in [−½, ½], those of the variances in [0, ½].
 - Sub-Gaussian items with variance proxy v: E|uw|^q ≤ 2 q! (2v)^q, so Bernstein's inequality holds
   with variance 16 v² and scale 2v (Boucheron, Lugosi & Massart 2013, theorem 2.10).
 - Normal items: the exact distribution of r, at the ρ where it strays most. On Fisher's scale
   z = artanh r, the density of r from n rows (Hotelling 1953) becomes

    f(z) = c (1 − ρ²)^{(n−1)/2} (1 − r²)^{(n−2)/2} (1 − ρr)^{−(n−3/2)} F(½, ½; n − ½; (1 + ρr)/2),
    c = (n − 2) Γ(n − 1) / (√(2π) Γ(n − ½)),

   nearly normal with variance 1/(n − 3), so a Gauss rule over eighteen of its standard deviations
   integrates the tails. The tail P(|r − ρ| ≥ ε) is largest for a ρ between 0, where r varies most,
   and ε/2, from where −ε/2 is the nearest value that is ε away; the search is over that interval
   and a little more.

Distance covariance.  Of four numbers in [0, 1], the distances enter the kernel (Székely & Rizzo
2014) only through the gap g between the second and the third, and h is ⅔ g_x g_y if both items
pair the rows alike, −⅓ g_x g_y if not: m = 4, values in [−⅓, ⅔]. Proof: sum the distances over the
three ways to form two pairs; the two ways that pair across the gap give equal sums, the third
is less by 2g. h is a quarter of the product of the two triples of sums, each less its mean.

References
----------
Boucheron, S., Lugosi, G. & Massart, P. (2013). Concentration Inequalities. Oxford. Daniels, H. E.
(1950). Rank correlation and population models. Journal of the Royal Statistical Society B 12,
171–181. Durbin, J. & Stuart, A. (1951). Inversions and rank correlation coefficients. Journal of
the Royal Statistical Society B 13, 303–309. Hoeffding, W. (1948). A class of statistics with
asymptotically normal distribution. Annals of Mathematical Statistics 19, 293–325. Hoeffding, W.
(1963). Probability inequalities for sums of bounded random variables. Journal of the American
Statistical Association 58, 13–30. Hotelling, H. (1953). New light on the correlation coefficient
and its transforms. Journal of the Royal Statistical Society B 15, 193–232. Székely, G. J. & Rizzo,
M. L. (2014). Partial distance correlation with methods for dissimilarities. Annals of Statistics
42, 2382–2412.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import FloatArray
from dtstat.core.errors import DTError, InputError, shown
from dtstat.core.tables import Printed
from dtstat.dependence.measures import NULL_VARIANCES, REGISTRY

Tail = Callable[[int, float], float]

_HOEFFDING = "Hoeffding 1963"
_SHARP = "False is the paper's form."
# Of the exact tail of Pearson's correlation
_NODES = 80
_WIDTH = 18.0  # standard deviations of z that are integrated: nothing is left beyond
_LARGEST = 18.0  # beyond this z, r is 1 in floating point
_GRID = 9
_ZOOMS = 8


@dataclass(frozen=True)
class Bound(Printed):
    """A concentration inequality: ``bound(n, epsilon)`` is b(n, ε), at most 1.

    Attributes
    ----------
    measure
        What it is about.
    formula
        b(n, ε) in symbols.
    holds_for
        What the items must be like.
    source
        Where it comes from.
    tail
        The function b.
    guaranteed
        False for approximations.
    fewest_rows
        The bound says nothing with fewer rows.
    covers_ties
        Whether it holds for items with ties too, such as ratings.
    """

    measure: str
    formula: str
    holds_for: str
    source: str
    tail: Tail
    guaranteed: bool = True
    fewest_rows: int = 2
    covers_ties: bool = True

    def __call__(self, n: int, epsilon: float) -> float:
        """Return b(n, ε)."""
        if n < self.fewest_rows:
            return 1.0
        try:
            found = float(self.tail(n, epsilon))
        except DTError:
            raise
        except Exception as error:  # a function of the user's own
            raise InputError(
                f"`measure` failed as a bound b({n}, {epsilon:g}) with {type(error).__name__}: "
                f"{error}. Give a function of rows and distance that returns a probability.",
                "measure",
            ) from error
        if math.isnan(found) or found < 0:
            raise InputError(
                f"`measure` must return a probability as a bound; got {found} for "
                f"b({n}, {epsilon:g}).",
                "measure",
            )
        return min(1.0, found)

    @classmethod
    def u_statistic(
        cls, order: int, low: float, high: float, sharp: bool = True, measure: str = "U-statistic"
    ) -> Bound:
        """Hoeffding's inequality for a U-statistic whose kernel of ``order`` rows is bounded.

        Parameters
        ----------
        order
            Rows m that the kernel looks at.
        low, high
            Its smallest and largest value.
        sharp
            True for ⌊n/m⌋ in the exponent, False for the paper's n/(2m).
        measure
            What the statistic is called.

        Examples
        --------
        >>> kendall = Bound.u_statistic(2, -1, 1)
        >>> round(kendall(100, 0.5), 4)
        0.0039
        """
        sharp = checks.flag("sharp", sharp, _SHARP)
        m = checks.integer("order", order, 1, "Kendall's kernel looks at 2 rows.")
        a = checks.finite("low", low, "It is the smallest value of the kernel.")
        b = checks.finite("high", high, "It is the largest value of the kernel.")
        if b <= a:
            raise checks.refusal("high", f"larger than `low` = {a:g}", high, "Swap them?")
        formula = f"2 exp(−2 {_blocks_text(m, sharp)} ε² / {(b - a) ** 2:.4g})"

        def tail(n: int, epsilon: float) -> float:
            return _hoeffding(_blocks(n, m, sharp), epsilon, b - a)

        return cls(measure, formula, "independent rows", _HOEFFDING, tail, fewest_rows=m)

    @classmethod
    def bounded_pearson(cls, spread: float, sharp: bool = True) -> Bound:
        """Pearson's correlation of items with a range, such as answers on a scale.

        Parameters
        ----------
        spread
            Smallest standard deviation of an item divided by the range of its scale, at most 0.5;
            about 0.25 for five-point answers.
        sharp
            As in :meth:`u_statistic`.
        """
        s = checks.unit_interval("spread", spread, "Five-point answers have about 0.25.")
        if not 0 < s <= 0.5:
            raise checks.refusal("spread", "in (0, 0.5]", spread, "It is the SD over the range.")

        def tail(n: int, epsilon: float) -> float:
            k, t = _blocks(n, 2, sharp), epsilon / (2 + epsilon) * s * s
            return _hoeffding(k, t, 1.0) + 2 * _hoeffding(k, t, 0.5)

        k = _blocks_text(2, sharp)
        formula = f"2 exp(−2{k} t²) + 4 exp(−8{k} t²), t = {s * s:.4g} ε/(2 + ε)"
        return cls("pearson", formula, f"items with SD ≥ {s:g} × range", _HOEFFDING, tail)

    @classmethod
    def subgaussian_pearson(cls, proxy: float = 1.0, sharp: bool = True) -> Bound:
        """Pearson's correlation of items whose tails are no heavier than normal ones.

        Parameters
        ----------
        proxy
            Variance proxy v of the items divided by their variance, at least 1: E exp(λX) ≤
            exp(λ²v/2) for X with mean 0 and variance 1. 1 for normal and for uniform items.
        sharp
            As in :meth:`u_statistic`.
        """
        v = checks.positive("proxy", proxy, "It is 1 for normal items.")
        if v < 1:
            raise checks.refusal("proxy", "at least 1", proxy, "No item has a smaller one.")

        def tail(n: int, epsilon: float) -> float:
            delta = epsilon / (2 + epsilon)
            rate = delta**2 / (32 * v * v + 4 * v * delta)
            return 6 * math.exp(-_blocks(n, 2, sharp) * rate)

        k = _blocks_text(2, sharp)
        formula = f"6 exp(−{k} δ² / ({32 * v * v:g} + {4 * v:g} δ)), δ = ε/(2 + ε)"
        source = "Boucheron, Lugosi & Massart 2013"
        return cls("pearson", formula, f"sub-Gaussian items, proxy {v:g}", source, tail)

    @classmethod
    def normal(cls, measure: str) -> Bound:
        """Large-sample approximation: r is normal about ρ, as spread as if items were independent.

        In normal copulas estimates vary most under independence. Not a guarantee. The variances of
        Pearson's and Spearman's correlation under independence hold with ties too (they are those
        of permutations), that of Kendall's does not.
        """
        variance = NULL_VARIANCES.get(measure) if isinstance(measure, str) else None
        if variance is None:
            raise InputError(
                f"`measure` has no normal approximation for {shown(measure)}; known: "
                f"{', '.join(NULL_VARIANCES)}. Use method='simulation'.",
                "measure",
            )

        def tail(n: int, epsilon: float) -> float:
            return math.erfc(epsilon / math.sqrt(2 * variance(n)))

        holds = "large samples; approximation"
        source, tied = "variance under independence", measure != "kendall"
        return cls(measure, "2 Φ(−ε / SE₀)", holds, source, tail, False, 4, tied)

    @classmethod
    def of(cls, measure: str | Bound | Tail, sharp: bool = True) -> Bound:
        """Find the inequality of a measure.

        Parameters
        ----------
        measure
            A name from :func:`dtstat.bounds`, a Bound, or any function b(n, ε).
        sharp
            As in :meth:`u_statistic`; for names only.

        Raises
        ------
        InputError
            If none is known.
        """
        if isinstance(measure, Bound):
            return measure
        if callable(measure):
            name = getattr(measure, "__name__", "function")
            return cls(name, "b(n, ε)", "as you say", "yours", measure)
        if isinstance(measure, str) and measure in _NAMED:
            return _NAMED[measure](checks.flag("sharp", sharp, _SHARP))
        if isinstance(measure, str) and measure in REGISTRY:
            raise InputError(
                f"`measure` '{measure}' has no known bound; these have: {', '.join(_NAMED)}. "
                "Use one of them, method='simulation', or give a function b(n, eps).",
                "measure",
            )
        wanted = "a measure with a bound, or a function b(n, eps)"
        raise checks.unknown("measure", wanted, measure, _NAMED)


def find_bound(measure: str, tied: bool, sharp: bool = True) -> Bound | None:
    """Find the inequality of a measure that holds for items with ties, or without; None if none."""
    try:
        known = Bound.of(measure, sharp)
    except InputError:
        return None
    return known if known.covers_ties or not tied else None


def bounds(sharp: bool = True) -> pd.DataFrame:
    """Table of the measures whose error is bounded: formula, what it holds for, source.

    Ratings have ties, so none of the bounds of Kendall's, Spearman's and Pearson's correlation
    holds for them; :func:`dtstat.plan` simulates instead. :meth:`dtstat.Bound.bounded_pearson` is a
    bound for ratings whose standard deviations are known to be large enough.

    Parameters
    ----------
    sharp
        False for the forms with n/(2m) instead of ⌊n/m⌋, as the paper writes them.

    Examples
    --------
    >>> bounds(sharp=False).loc["kendall", "formula"]
    '2 exp(−n ε² / 8)'
    """
    sharp = checks.flag("sharp", sharp, _SHARP)
    found = {name: make(sharp) for name, make in _NAMED.items()}
    rows = {name: [b.formula, b.holds_for, b.source] for name, b in found.items()}
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["formula", "holds_for", "source"])
    return frame.rename_axis("measure")


def _kendall(sharp: bool) -> Bound:
    hoeffding = Bound.u_statistic(2, -1, 1, sharp).tail
    formula = f"2 exp(−{_blocks_text(2, sharp)} ε² / 2)" if sharp else "2 exp(−n ε² / 8)"
    source = "paper, Example 1"
    return Bound("kendall", formula, "items without ties", source, hoeffding, covers_ties=False)


def _spearman(sharp: bool) -> Bound:
    def tail(n: int, epsilon: float) -> float:
        return _hoeffding(_blocks(n, 3, sharp), max(epsilon - 1.5 / (n + 1), 0.0), 2.0)

    formula = f"2 exp(−{_blocks_text(3, sharp)} (ε − 3/(2n + 2))² / 2)"
    source = "Hoeffding 1948, 1963; Daniels 1950; Durbin & Stuart 1951"
    return Bound("spearman", formula, "items without ties", source, tail, True, 3, False)


def _pearson(sharp: bool) -> Bound:
    del sharp  # exact: there is nothing to relax
    formula = "largest P(|r − ρ| ≥ ε) over ρ, exactly"
    return Bound("pearson", formula, "normal items", "Hotelling 1953", worst_tail, True, 4, False)


def _distance_covariance(sharp: bool) -> Bound:
    hoeffding = Bound.u_statistic(4, -1 / 3, 2 / 3, sharp)
    holds = "items scaled to [0, 1], unbiased squared distance covariance"
    formula = f"2 exp(−2 {_blocks_text(4, sharp)} ε²)"
    source = "Székely & Rizzo 2014; Hoeffding 1963"
    return Bound("distance_covariance", formula, holds, source, hoeffding.tail, fewest_rows=4)


_NAMED: dict[str, Callable[[bool], Bound]] = {
    "kendall": _kendall,
    "spearman": _spearman,
    "pearson": _pearson,
    "pearson_subgaussian": lambda sharp: Bound.subgaussian_pearson(1.0, sharp),
    "distance_covariance": _distance_covariance,
}


def _blocks(n: int, m: int, sharp: bool) -> float:
    """Count independent blocks of m rows: ⌊n/m⌋, or the paper's n/(2m), which is no more."""
    return n // m if sharp else n / (2 * m)


def _blocks_text(m: int, sharp: bool) -> str:
    return (f"⌊n/{m}⌋" if m > 1 else "n") if sharp else f"(n/{2 * m})"


def _hoeffding(k: float, epsilon: float, width: float) -> float:
    return 2 * math.exp(-2 * k * (epsilon / width) ** 2)


@lru_cache(maxsize=10_000)
def worst_tail(n: int, epsilon: float) -> float:
    """Return max over ρ of P(|r − ρ| ≥ ε) for n ≥ 4 rows of normal items."""
    low, high = 0.0, min(0.75 * epsilon, 0.95)
    best = 0.0
    for _ in range(_ZOOMS):
        rho = np.linspace(low, high, _GRID)
        tails = two_sided_tail(n, epsilon, rho)
        k = int(tails.argmax())
        best = max(best, float(tails[k]))
        low, high = rho[max(k - 1, 0)], rho[min(k + 1, _GRID - 1)]
    return best


def two_sided_tail(n: int, epsilon: float, rho: FloatArray) -> FloatArray:
    """P(|r − ρ| ≥ ε) for each ρ."""
    # r falls below ρ − ε as often as, at −ρ, it exceeds −ρ + ε.
    return _upper_tail(n, rho + epsilon, rho) + _upper_tail(n, epsilon - rho, -rho)


def _upper_tail(n: int, t: FloatArray, rho: FloatArray) -> FloatArray:
    """P(r ≥ t) for each pair of t and ρ."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    possible = t < 1
    start = np.arctanh(np.where(possible, t, 0.0))
    width = np.minimum(_WIDTH / math.sqrt(n - 3), _LARGEST - np.minimum(start, _LARGEST - 1))
    z = start[:, None] + np.outer(width, (nodes + 1) / 2)
    tails: FloatArray = np.where(possible, _density(z, rho[:, None], n) @ weights * width / 2, 0.0)
    return tails


def _density(z: FloatArray, rho: FloatArray, n: int) -> FloatArray:
    from scipy.special import betaln, hyp2f1

    r = np.tanh(z)
    # Γ(n − 1)/Γ(n − ½) = B(n − 1, ½)/√π, which keeps its digits for large n
    log_c = math.log(n - 2) + betaln(n - 1, 0.5) - math.log(math.pi) - 0.5 * math.log(2)
    log_f = (
        log_c
        + (n - 1) / 2 * np.log1p(-(rho**2))
        - (n - 2) * _log_cosh(z)  # 1 − r² = 1 / cosh²
        - (n - 1.5) * np.log1p(-rho * r)
        + np.log(hyp2f1(0.5, 0.5, n - 0.5, (1 + rho * r) / 2))
    )
    density: FloatArray = np.exp(log_f)
    return density


def _log_cosh(z: FloatArray) -> FloatArray:
    """Logarithm of cosh z; near 0, where n multiplies it, by a form in which nothing cancels."""
    size = np.abs(z)
    small = 0.5 * np.log1p(np.sinh(np.minimum(size, 1.0)) ** 2)
    value: FloatArray = np.where(size < 1, small, size + np.log1p(np.exp(-2 * size)) - math.log(2))
    return value
