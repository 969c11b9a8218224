"""Factor scores from answers to ordered items.

Given the factors η an ordered item falls into category k with probability

    P(k | η) = Φ((τ_k − m) / √θ) − Φ((τ_{k−1} − m) / √θ),   m = ν + λᵀη,

a continuous one has the normal density with mean m and variance θ, and η is normal with the moments
of the model, given the observed predictors. Residuals are taken as uncorrelated. Two scores follow:

    ebm    the mode of the density of η given the answers, by Newton's method (the density is
           log-concave, so there is one mode);
    eap    its mean, by adaptive Gauss-Hermite quadrature around the mode (Bock & Mislevy 1982).

The parameterizations "delta" and "theta" are one model in other units of the factors, and so are
their scores; those of lavaan 0.6-14 for "theta" are no multiples of its own for "delta".

Missing answers are left out. If all items are continuous both are the regression score.

References
----------
Bock, R. D. & Mislevy, R. J. (1982). Adaptive EAP estimation of ability in a microcomputer
environment. Applied Psychological Measurement 6, 431-444.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.errors import EstimationError, InputError
from dtstat.dependence.ordinal_scores import UNBOUNDED, interval_probabilities, normal_density
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.matrices import NotPositiveDefiniteError, inverse
from dtstat.sem.scores import measurement

_NODES = {1: 21, 2: 13, 3: 9}  # of the quadrature in each direction, by number of factors
_STEPS, _HALVINGS = 100, 20
_SMALL = 1e-10  # squared length of a Newton step, in the metric of the posterior


def response_scores(estimate: SEMEstimate, X: FloatArray, method: str = "ebm") -> FloatArray:
    """Scores of every row on every factor, for models of ordered items.

    Parameters
    ----------
    estimate
        The fitted model of one group.
    X
        (n, p) rows, columns in the order of ``estimate.model.observed``; NaN is missing.
    method
        "ebm" or "eap".

    Returns
    -------
    (n, d) scores, columns in the order of ``estimate.model.latent``. A row without any item, or
    without one of the observed predictors, is NaN.
    """
    posterior = _Posterior(estimate, X)
    mode = posterior.mode()
    scores = mode if method == "ebm" or not mode.shape[1] else posterior.mean(mode)
    scores[~posterior.scored] = np.nan
    return scores


@dataclass(frozen=True)
class _Lines:
    """Log-density of the answers of each row, first and minus second derivative in m: (n, p)."""

    value: FloatArray
    slope: FloatArray
    curvature: FloatArray


class _Posterior:
    """The density of the factors given the answers, for all rows at once."""

    def __init__(self, estimate: SEMEstimate, X: FloatArray) -> None:
        model, layout = estimate.model, estimate.layout
        block = estimate.blocks[0]
        assert block.ordinal is not None
        self.names = model.observed
        self._ordered = np.array([name in model.ordered for name in self.names])
        given = np.array([name in model.covariates for name in self.names])
        M = layout.matrices(estimate.theta)
        form, d = measurement(estimate), len(model.latent)
        self.Lambda = form.Lambda * ~given[:, None]
        _check_direct_effects(form.D, self._ordered, self.names)
        variance = np.diag(form.Theta).copy()
        self._sd = np.sqrt(np.where(variance > 0, variance, np.nan))
        used = ~given & (self.Lambda != 0).any(axis=1)
        if np.isnan(self._sd[used]).any():
            name = self.names[int(np.flatnonzero(np.isnan(self._sd) & used)[0])]
            raise EstimationError(
                f"Scores need positive residual variances; that of item '{name}' is not. Leave out "
                "the item."
            )
        self._seen = ~np.isnan(X) & used
        self.scored = self._seen.any(axis=1) & ~np.isnan(X[:, given]).any(axis=1)
        self._low, self._high = self._limits(X, block.ordinal.names, block.ordinal.levels, M.tau)
        self._X = np.where(self._seen & ~self._ordered, X, 0.0)
        own = M.Lambda[:, d:]
        nu = M.nu + own @ M.alpha[d:]
        nu[given] = 0.0
        self._base = nu + np.nan_to_num(X) @ form.D.T  # what other items and predictors add
        self._prior(estimate, X, given)

    def _limits(
        self,
        X: FloatArray,
        names: tuple[str, ...],
        levels: tuple[FloatArray, ...],
        tau: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """(n, p) limits of the categories of ordered items."""
        low, high = np.full(X.shape, -UNBOUNDED), np.full(X.shape, UNBOUNDED)
        for name, known in zip(names, levels, strict=True):
            if not known.size:
                continue
            i = self.names.index(name)
            seen = ~np.isnan(X[:, i])
            answers = X[seen, i]
            code = np.searchsorted(known, answers)
            strange = (code == known.size) | (known[np.minimum(code, known.size - 1)] != answers)
            if strange.any():
                raise InputError(
                    f"`data` has the answer {answers[strange][0]:g} to '{name}', which nobody gave "
                    "when the model was fitted. Merge it with a known answer, or make it missing.",
                    "data",
                )
            edges = np.concatenate([[-UNBOUNDED], tau[i, : known.size - 1], [UNBOUNDED]])
            low[seen, i], high[seen, i] = edges[code], edges[code + 1]
        return low, high

    def _prior(self, estimate: SEMEstimate, X: FloatArray, given: BoolArray) -> None:
        """Mean of the factors of each row given its predictors, and their inverse covariance."""
        model, layout = estimate.model, estimate.layout
        responses, d = layout.responses, len(model.latent)
        M = layout.matrices(estimate.theta)
        inside = M if responses is None else responses.conditional(M)
        K = M.total_effects
        mean = (K @ inside.alpha)[:d]
        x = [model.eta.index(name) for name in model.covariates]
        self._mean = mean + np.nan_to_num(X[:, given]) @ K[:d, x].T
        V = (K @ inside.Psi @ K.T)[:d, :d]
        try:
            self._inverse, _ = inverse(V)
        except NotPositiveDefiniteError:
            raise EstimationError(
                "Scores need a positive definite covariance matrix of the factors; that of this "
                "model is not. Leave out factors that others determine."
            ) from None

    def _lines(self, eta: FloatArray) -> _Lines:
        """Log-densities of the answers at factors (n, d)."""
        m = self._base + eta @ self.Lambda.T
        sd = np.where(np.isnan(self._sd), 1.0, self._sd)
        u, w = (self._high - m) / sd, (self._low - m) / sd
        bounded_u, bounded_w = self._high < UNBOUNDED, self._low > -UNBOUNDED
        P = interval_probabilities(w, u)
        a = np.where(bounded_u, normal_density(np.where(bounded_u, u, 0.0)), 0.0) / P
        b = np.where(bounded_w, normal_density(np.where(bounded_w, w, 0.0)), 0.0) / P
        z = (self._X - m) / sd
        value = np.where(self._ordered, np.log(P), -0.5 * z * z)
        slope = np.where(self._ordered, b - a, z) / sd
        curved = np.where(bounded_u, u, 0.0) * a - np.where(bounded_w, w, 0.0) * b + (a - b) ** 2
        curvature = np.where(self._ordered, np.maximum(curved, 0.0), 1.0) / sd**2
        seen = self._seen
        return _Lines(value * seen, slope * seen, curvature * seen)

    def _log_density(self, eta: FloatArray) -> FloatArray:
        off = eta - self._mean
        prior = -0.5 * np.einsum("ni,ij,nj->n", off, self._inverse, off)
        return np.asarray(self._lines(eta).value.sum(axis=1) + prior)

    def _hessian(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n, d) slope and (n, d, d) minus second derivative of the log-density."""
        lines = self._lines(eta)
        slope = lines.slope @ self.Lambda - (eta - self._mean) @ self._inverse
        H = np.einsum("np,pi,pj->nij", lines.curvature, self.Lambda, self.Lambda, optimize=True)
        return slope, H + self._inverse

    def mode(self) -> FloatArray:
        """Newton's method, with steps halved where the density does not rise."""
        eta = self._mean.copy()
        if not eta.size:
            return eta
        for _ in range(_STEPS):
            slope, H = self._hessian(eta)
            step = np.linalg.solve(H, slope[:, :, None])[:, :, 0]
            if float(np.max(np.sum(step * slope, axis=1))) < _SMALL:
                break
            before, length = self._log_density(eta), np.ones(len(eta))
            for _ in range(_HALVINGS):
                worse = self._log_density(eta + length[:, None] * step) < before - 1e-12
                if not worse.any():
                    break
                length[worse] /= 2
            eta = eta + length[:, None] * step
        return eta

    def mean(self, mode: FloatArray) -> FloatArray:
        """Gauss-Hermite quadrature with nodes scaled by the curvature at the mode."""
        n, d = mode.shape
        if d not in _NODES:
            raise InputError(
                f"`method` 'eap' is for up to {max(_NODES)} factors; the model has {d}. Use "
                "'regression', the mode.",
                "method",
            )
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES[d])
        _, H = self._hessian(mode)
        half = np.linalg.inv(np.linalg.cholesky(H)).transpose(0, 2, 1)  # half halfᵀ = H⁻¹
        peak = self._log_density(mode)
        total, mean = np.zeros(n), np.zeros((n, d))
        for at in product(range(len(nodes)), repeat=d):
            z = nodes[list(at)]
            eta = mode + half @ z
            share = np.prod(weights[list(at)]) * np.exp(
                self._log_density(eta) - peak + 0.5 * float(z @ z)
            )
            total += share
            mean += share[:, None] * eta
        return np.asarray(mean / total[:, None])


def _check_direct_effects(D: FloatArray, ordered: BoolArray, names: tuple[str, ...]) -> None:
    """Refuse items that regress on an ordered one: the variable behind it is not observed."""
    causes = np.flatnonzero((D != 0).any(axis=0) & ordered)
    if causes.size:
        raise EstimationError(
            f"Scores of models in which the ordered item '{names[causes[0]]}' is a predictor are "
            "not available: the variable behind it is not observed."
        )
