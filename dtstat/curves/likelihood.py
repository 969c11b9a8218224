"""The likelihood of rows under a nonlinear factor model: f(x) = ∫ f(x | z) f(z) dz.

Four ways, each with its Monte Carlo error:

    quadrature    the sum over a grid of z; exact for one to three factors;
    importance    mean of f(x, z)/q(z) over draws z from t densities q about the posterior's modes;
    split         1 / mean of h(z)/f(x, z) over posterior draws, h normal with the moments of the
                  other half of the draws;
    reciprocal    the same with h from the same draws, as in the paper (appendix C.3). It is biased
                  downwards, because h lies where the draws happen to be.

:class:`Independence` is the model without factors: every item by itself, normal or with the shares
of its ratings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from dtstat.core import checks
from dtstat.core.arrays import FloatArray
from dtstat.core.saved import register
from dtstat.curves import ratings
from dtstat.curves.posterior import JointModel, log_sum, posterior_draws, propose
from dtstat.curves.scales import AnswerScale

METHODS = ("importance", "quadrature", "split", "reciprocal")
_NODES, _SPAN = 33, 4.5  # nodes no further apart than a posterior of standard deviation .2 allows
_MOST_FACTORS = 3
_ROWS = 2000  # rows whose draws are held at once
_CHUNK = 400_000  # rows evaluated at once


@register(shapes={"rows": "n", "variances": "n"})
@dataclass(frozen=True, eq=False)
class LogLikelihood:
    """Log-likelihoods of rows, and the variances of these estimates.

    Attributes
    ----------
    rows, variances
        (n,) log f(x), and Monte Carlo variances; 0 by quadrature.
    """

    rows: FloatArray
    variances: FloatArray

    @property
    def total(self) -> float:
        """Sum over the rows."""
        return float(self.rows.sum())

    @property
    def standard_error(self) -> float:
        """Monte Carlo standard error of the sum."""
        return math.sqrt(float(self.variances.sum()))


def log_likelihood(
    model: JointModel,
    X: FloatArray,
    rng: np.random.Generator,
    method: str = "importance",
    draws: int = 200,
    start: FloatArray | None = None,
) -> LogLikelihood:
    """Estimate log f(x) of every row.

    Parameters
    ----------
    model
        The fitted model.
    X
        (n, p) answers as the model was fitted to; NaN if missing.
    rng
        Source of randomness; give candidates that are compared the same seed.
    method
        "importance", "quadrature", "split" or "reciprocal".
    draws
        Draws of z for each row.
    start
        (n, d) values of z to start chains from; zeros if omitted.
    """
    checks.choice("method", method, METHODS)
    if method == "quadrature":
        return _quadrature(model, X)
    if method == "importance":
        proposal = propose(model, X)
        Z = proposal.draw(rng, draws)
        return _mean_of(_joint(model, Z, X) - proposal.log_density(Z))
    return _reciprocal(model, X, rng, draws, start, split=method == "split")


def posterior_moments(
    model: JointModel, X: FloatArray, rng: np.random.Generator, draws: int
) -> tuple[FloatArray, FloatArray]:
    """(n, d) means and standard deviations of z given x, by importance sampling.

    Every row gets the same random numbers: its moments do not depend on what other rows there are.

    Parameters
    ----------
    model, X, rng, draws
        As in :func:`log_likelihood`.
    """
    mean, square = np.empty((2, len(X), len(model.factor_correlations)))
    state = rng.bit_generator.state
    for first in range(0, len(X), _ROWS):
        rows = slice(first, first + _ROWS)
        rng.bit_generator.state = state
        proposal = propose(model, X[rows])
        Z = proposal.draw(rng, draws, same=True)
        log_w = _joint(model, Z, X[rows]) - proposal.log_density(Z)
        share = np.exp(log_w - log_sum(log_w))
        mean[rows] = np.einsum("mn,mnj->nj", share, Z)
        square[rows] = np.einsum("mn,mnj->nj", share, (Z - mean[rows]) ** 2)
    return mean, np.sqrt(square)


@dataclass(frozen=True, eq=False)
class Independence:
    """Margins of p items.

    Attributes
    ----------
    scale
        How answers are coded.
    log_shares
        For each rating the logarithms of the shares of its answers; empty for normal items.
    """

    scale: AnswerScale
    log_shares: tuple[FloatArray, ...]

    @classmethod
    def learn(cls, X: FloatArray, scale: AnswerScale) -> Independence:
        """Learn the margins of (n, p) answers."""
        coded = scale.encode(X)
        shares = [
            np.log(np.diff(ratings.shares_up_to(coded[:, i], int(c) - 1), prepend=0, append=1))
            if c
            else np.empty(0)
            for i, c in enumerate(scale.n_categories)
        ]
        return cls(scale, tuple(shares))

    @property
    def n_parameters(self) -> float:
        """Mean and variance of a continuous item, shares of a rating less one."""
        c = self.scale.n_categories
        return float(np.where(c > 0, c - 1, 2).sum())

    def rows(self, X: FloatArray) -> FloatArray:
        """(n,) log-likelihoods of rows of answers; missing ones are left out."""
        coded = self.scale.encode(X)
        values = -0.5 * (math.log(2 * math.pi) + coded**2) + self.scale.log_jacobian(X)
        for i, shares in enumerate(self.log_shares):
            if len(shares):
                seen = ~np.isnan(coded[:, i])
                values[seen, i] = shares[coded[seen, i].astype(np.int64)]
        total: FloatArray = np.nansum(values, axis=1)
        return total


def _quadrature(model: JointModel, X: FloatArray) -> LogLikelihood:
    d = len(model.factor_correlations)
    if d > _MOST_FACTORS:
        raise checks.refusal(
            "method",
            f"another than 'quadrature' with more than {_MOST_FACTORS} factors",
            d,
            "Use 'importance'.",
        )
    axis = np.linspace(-_SPAN, _SPAN, _NODES)
    total = np.full(len(X), -np.inf)
    grid = np.array(list(product(axis, repeat=d)))
    for nodes in np.array_split(grid, max(len(grid) // 256, 1)):
        Z = np.broadcast_to(nodes[:, None, :], (len(nodes), len(X), d))
        total = np.logaddexp(total, log_sum(_joint(model, Z, X)))
    return LogLikelihood(total + d * math.log(axis[1] - axis[0]), np.zeros(len(X)))


def _reciprocal(
    model: JointModel,
    X: FloatArray,
    rng: np.random.Generator,
    draws: int,
    start: FloatArray | None,
    split: bool,
) -> LogLikelihood:
    Z = posterior_draws(model, X, rng, draws, start)
    joint = _joint(model, Z, X)
    half = draws // 2
    if not split:
        weights = _mean_of(_log_normal(Z, Z) - joint)
        # As in the paper, without the delta method's correction.
        return LogLikelihood(weights.variances / 2 - weights.rows, weights.variances)
    one = _mean_of(_log_normal(Z[:half], Z[half:]) - joint[:half])
    two = _mean_of(_log_normal(Z[half:], Z[:half]) - joint[half:])
    both = np.logaddexp(one.rows, two.rows) - math.log(2)
    return LogLikelihood(-both, (one.variances + two.variances) / 4)


def _log_normal(Z: FloatArray, learned: FloatArray) -> FloatArray:
    """(m, n) log density at Z of normal densities with the moments of other draws, row by row."""
    mean = learned.mean(axis=0)
    centered = learned - mean
    S = np.einsum("mnj,mnk->njk", centered, centered) / (len(learned) - 1)
    root = np.linalg.cholesky(S + 1e-10 * np.eye(S.shape[1]))
    u = np.linalg.solve(root[None], (Z - mean)[..., None])[..., 0]
    log_det = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    density: FloatArray = (
        -0.5 * (u**2).sum(axis=2) - log_det - Z.shape[2] / 2 * math.log(2 * math.pi)
    )
    return density


def _joint(model: JointModel, Z: FloatArray, X: FloatArray) -> FloatArray:
    """(m, n) log f(x, z) of m values of z for each of n rows, in pieces."""
    values = np.empty(Z.shape[:2])
    per = max(_CHUNK // max(Z.shape[1], 1), 1)
    for first in range(0, len(Z), per):
        part = Z[first : first + per]
        flat = np.ascontiguousarray(part.reshape(-1, Z.shape[2]))
        values[first : first + per] = model.log_joint(flat, X)[0].reshape(part.shape[:2])
    Phi = model.factor_correlations
    return values - 0.5 * float(len(Phi) * math.log(2 * math.pi) + np.linalg.slogdet(Phi)[1])


def _mean_of(log_w: FloatArray) -> LogLikelihood:
    """Log of the mean of weights over draws, with the delta method's bias removed, and variance.

    E[log of a mean] falls short by half the relative variance of the mean.
    """
    m = len(log_w)
    total = log_sum(log_w)
    share = np.exp(log_w - total)
    variance = ((share**2).sum(axis=0) - 1 / m) * m / (m - 1)
    return LogLikelihood(total - math.log(m) + variance / 2, variance)
