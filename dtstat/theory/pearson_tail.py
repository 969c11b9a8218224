"""How far Pearson's correlation of normal items strays: its exact distribution at the worst ρ.

On Fisher's scale z = artanh r, the density of r from n rows (Hotelling 1953) becomes

    f(z) = c (1 − ρ²)^{(n−1)/2} (1 − r²)^{(n−2)/2} (1 − ρr)^{−(n−3/2)} F(½, ½; n − ½; (1 + ρr)/2),
    c = (n − 2) Γ(n − 1) / (√(2π) Γ(n − ½)),

nearly normal with variance 1/(n − 3), so a Gauss rule over eighteen of its standard deviations
integrates the tails. The tail P(|r − ρ| ≥ ε) is largest for a ρ between 0, where r varies most,
and ε/2, from where −ε/2 is the nearest value that is ε away; the search is over that interval and
a little more.

References
----------
Hotelling, H. (1953). New light on the correlation coefficient and its transforms. Journal of the
Royal Statistical Society B 15, 193–232.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dtstat.arrays import FloatArray

_NODES = 80
_WIDTH = 18.0  # standard deviations of z that are integrated: nothing is left beyond
_LARGEST = 18.0  # beyond this z, r is 1 in floating point
_GRID = 9
_ZOOMS = 8


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
