"""Expected factors given ratings (EAP), by expectation propagation.

Behind the rating of item i is x = λ'z + e with e of variance ψ, seen only as an interval (w, u).
The density of the factors z given all intervals is not normal, but nearly so. Expectation
propagation (Minka 2001) finds the normal density that agrees with it, item by item, in mean and
variance of s = λ'z. With the cavity N(m, v), what all items but one say about s, and the total
variance q = v + ψ,

    Z = Φ(b) − Φ(a),   a, b = (w, u − m) / √q,
    r = [φ(a) − φ(b)] / Z,   c = r² + [bφ(b) − aφ(a)] / Z,

the mean of s becomes m + v r/√q and its variance v − v²c/q; the item then counts as an observation
of s with precision τ = (c/q) / (1 − vc/q) and τ times value ν = (r/√q + m c/q) / (1 − vc/q).
Items are visited in turn until nothing changes. The likelihood is log-concave, which makes this
stable, and any number of factors is fine. All rows move together.

Means are then good to a hundredth, but of few items with high loadings the density is skewed, and
its variance up to a sixth off. So mean and variance of each factor are computed once more, by
quadrature: with the items that load on it alone as they are, and the others as the normal density
they were replaced by. With one factor this is exact.

References
----------
Bock, R. D. & Mislevy, R. J. (1982). Adaptive EAP estimation of ability in a microcomputer
environment. Applied Psychological Measurement 6, 431-444.
Minka, T. P. (2001). Expectation propagation for approximate Bayesian inference. Uncertainty in
Artificial Intelligence 17, 362-369.
"""

from __future__ import annotations

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.dependence.ordinal_scores import UNBOUNDED, interval_probabilities, normal_density
from dtstat.factors.copula import FactorEstimate
from dtstat.factors.scores import Marginals

_SWEEPS = 50
_NODES = 41  # of the quadrature
_STILL = 1e-8  # change of a score at which the items have been visited often enough
_LEAST_SHARE = 1e-10  # of a variance that an item leaves


def expected_factors(
    estimate: FactorEstimate, margins: Marginals, X: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(n, d) means and (n, d, d) covariances of the factors given answers.

    Parameters
    ----------
    estimate
        The model of the variables behind the answers, which have variance 1.
    margins
        Of the answers.
    X
        (n, p) answers, NaN where missing.
    """
    posterior = _Posterior(estimate, *answer_limits(margins, X), ~np.isnan(X))
    for _ in range(_SWEEPS):
        before = posterior.mean.copy()
        posterior.visit_items()
        if np.abs(posterior.mean - before).max(initial=0.0) < _STILL:
            break
    for k in range(estimate.loadings.shape[1]):
        posterior.integrate_factor(k)
    return posterior.mean, posterior.covariance


class _Posterior:
    """Normal densities of the factors of all rows, and what each item adds to them.

    Attributes
    ----------
    mean, covariance
        (n, d) and (n, d, d).
    precision, value
        (p, n) τ and ν of the items.
    """

    def __init__(
        self, estimate: FactorEstimate, low: FloatArray, high: FloatArray, seen: BoolArray
    ) -> None:
        self._L, self._psi = estimate.loadings, estimate.uniquenesses
        self._low, self._high, self._seen = low, high, seen
        n, p = seen.shape
        self.mean = np.zeros((n, self._L.shape[1]))
        self.covariance = np.repeat(estimate.factor_correlations[None], n, axis=0)
        self.precision, self.value = np.zeros((2, p, n))
        self._measuring = np.flatnonzero((self._L != 0).any(axis=1) & seen.any(axis=0))

    def visit_items(self) -> None:
        """Let every item say anew what it adds, given the others."""
        for i in self._measuring:
            L, seen = self._L[i], self._seen[:, i]
            VL = self.covariance @ L
            spread, center = VL @ L, self.mean @ L
            rest = 1 - self.precision[i] * spread
            v, m = spread / rest, (center - self.value[i] * spread) / rest
            tau, nu = _interval(m, v, self._psi[i], self._low[:, i], self._high[:, i])
            more = np.where(seen, tau - self.precision[i], 0.0)
            moved = np.where(seen, nu - self.value[i], 0.0)
            share = 1 + more * spread
            self.mean += ((moved - more * center) / share)[:, None] * VL
            outer = VL[:, :, None] * VL[:, None, :]
            self.covariance -= (more / share)[:, None, None] * outer
            self.precision[i] += more
            self.value[i] += moved

    def integrate_factor(self, k: int) -> None:
        """Compute mean and variance of a factor from the answers to the items that it has alone.

        Nodes are those of the normal density found before, so that few are enough. Covariances
        keep their correlations.
        """
        alone = (self._L[self._measuring] != 0).sum(axis=1) == 1
        own = self._measuring[alone & (self._L[self._measuring, k] != 0)]
        L, mean, sd = self._L[own, k], self.mean[:, k], np.sqrt(self.covariance[:, k, k])
        # what the other items say of the factor
        rest = 1 / sd**2 - L**2 @ self.precision[own]
        center = (mean / sd**2 - L @ self.value[own]) / rest
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        z = mean + nodes[:, None] * sd
        log = -0.5 * rest * (z - center) ** 2 + (0.5 * nodes**2 + np.log(weights))[:, None]
        for i in own:
            root = np.sqrt(self._psi[i])
            a, b = ((x[:, i] - self._L[i, k] * z) / root for x in (self._low, self._high))
            log += np.where(self._seen[:, i], np.log(interval_probabilities(a, b)), 0.0)
        share = np.exp(log - log.max(axis=0))
        share /= share.sum(axis=0)
        self.mean[:, k] = (share * z).sum(axis=0)
        scale = np.sqrt((share * (z - self.mean[:, k]) ** 2).sum(axis=0)) / sd
        self.covariance[:, k] *= scale[:, None]
        self.covariance[:, :, k] *= scale[:, None]


def _interval(
    m: FloatArray, v: FloatArray, psi: float, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Precision τ and precision times value ν that an interval stands for."""
    q = v + psi
    root = np.sqrt(q)
    a, b = (low - m) / root, (high - m) / root
    Z = interval_probabilities(a, b)
    at_a, at_b = normal_density(a) / Z, normal_density(b) / Z
    r = (at_a - at_b) / root
    c = np.clip(r**2 + (b * at_b - a * at_a) / q, 0.0, (1 - _LEAST_SHARE) / v)
    left = 1 - v * c
    return c / left, (r + m * c) / left


def answer_limits(margins: Marginals, X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(n, p) limits of the normal variable behind each answer.

    An answer that nobody gave, or that is not among those kept, counts as either of the two next to
    it.
    """
    low, high = np.full(X.shape, -UNBOUNDED), np.full(X.shape, UNBOUNDED)
    for i, (answers, inner) in enumerate(zip(margins.answers, margins.thresholds, strict=True)):
        edges = np.concatenate([[-UNBOUNDED], inner, [UNBOUNDED]])
        first = np.searchsorted(answers, X[:, i], side="right") - 1
        last = np.searchsorted(answers, X[:, i], side="left")
        low[:, i] = edges[first.clip(0)]
        high[:, i] = edges[last.clip(None, len(answers) - 1) + 1]
    return low, high
