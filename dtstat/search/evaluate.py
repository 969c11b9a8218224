"""Proposals are fitted, each distinct structure once."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.efa.extraction import maximum_likelihood
from dtstat.factors.copula import FactorEstimate, fit_as_ordered
from dtstat.factors.maximum_likelihood import EM_STEPS, MANY_ITEMS
from dtstat.factors.robust import effective_rows
from dtstat.factors.small_models import fit_small, small_log_likelihood
from dtstat.search.records import Fitted, Proposal, Scored

Scaling = Callable[[FactorEstimate], float]

_MOST_STEPS = 300  # candidates that are still creeping then have factors that coincide
# Gain in log-likelihood of a step that counts as standing still; with many items steps are dear,
# and no choice depends on a hundredth.
_TOLERANCE, _TOLERANCE_OF_MANY = 1e-6, 0.01
# The same per row for parts of a model; the differences of large parts are large.
_PER_ROW, _ROUGHLY, _FEW_STEPS = 1e-6, 1e-3, 30
FEW_ITEMS = 60  # up to which compiled loops are faster than products of matrices
_SINGULAR = 1e-8
# Every number of factors up to 12 has a bound of its own; beyond, each a fifth larger.
_EVERY_NUMBER, _NEXT_NUMBER = 12, 1.2


class Evaluator:
    """Fits structures to one matrix of latent correlations.

    Parameters
    ----------
    R
        (p, p) latent correlations.
    n_obs
        Rows behind them.
    scaling
        Function of an estimate: how much larger its misfit is by sampling error than that of normal
        rows; None if it is not.
    gives_up
        Whether structures that cannot win are given up; if None, with many items only: a fit of
        few is quick, and what else was possible is worth knowing.
    roughly
        Whether all fits go without the last steps, as those of :meth:`fit_roughly`.
    """

    def __init__(
        self,
        R: FloatArray,
        n_obs: int,
        scaling: Scaling | None = None,
        gives_up: bool | None = None,
        roughly: bool = False,
    ) -> None:
        self.R, self.n_obs, self._scaling = R, n_obs, scaling
        self.strength = np.abs(R)
        many = len(R) >= MANY_ITEMS
        self._tolerance = _TOLERANCE_OF_MANY if many else _TOLERANCE
        self._most_steps = _MOST_STEPS
        if roughly:
            self._tolerance, self._most_steps = n_obs * _ROUGHLY, EM_STEPS
        self._gives_up = many if gives_up is None else gives_up
        self._fitted: dict[frozenset[bytes], Fitted] = {}
        self._hopeless: dict[frozenset[bytes], Scored] = {}
        self._exploratory: dict[int, float] = {}
        self._rejected: set[frozenset[bytes]] = set()
        self._blocks: dict[tuple[bytes, int], float] = {}

    def afresh(self, roughly: bool = False) -> Evaluator:
        """Return an evaluator of the same correlations that has fitted nothing yet."""
        return Evaluator(self.R, self.n_obs, self._scaling, self._gives_up, roughly)

    @property
    def n_items(self) -> int:
        """Number of items p."""
        return len(self.R)

    @property
    def fitted(self) -> tuple[Fitted, ...]:
        """Everything fitted so far and not rejected, in that order."""
        return tuple(one for key, one in self._fitted.items() if key not in self._rejected)

    @property
    def hopeless(self) -> tuple[Scored, ...]:
        """Structures that were given up, with log-likelihoods out of their reach."""
        return tuple(self._hopeless.values())

    def fit(self, proposal: Proposal) -> Fitted:
        """Fit a structure, or return the fit it had."""
        key = proposal.key
        if key not in self._fitted:
            self._keep(proposal, self._estimate(proposal))
        return self._fitted[key]

    def fit_roughly(self, proposal: Proposal) -> Fitted:
        """Fit a structure for its misfit alone: with many items without the last steps.

        Where the search is cut short depends on the order of the items, so that few are fitted to
        the end.
        """
        if proposal.key in self._fitted or self.n_items <= FEW_ITEMS:
            return self.fit(proposal)
        fit = _fit_model(self.n_items)
        tolerance = self.n_obs * _ROUGHLY
        estimate = fit(self.R, self.n_obs, proposal.support, tolerance, EM_STEPS)
        return Fitted(proposal, estimate.log_likelihood, self.n_obs, estimate)

    def beats(
        self,
        proposal: Proposal,
        rival: Fitted,
        criterion: str,
        n: float,
        gives_up: bool | None = None,
    ) -> Fitted | None:
        """Fit a structure if its cost can be less than that of another, and return it if it is.

        The search for its maximum is given up when the likelihood would have to rise faster, in
        the steps left, than it did in the last ones; unless ``gives_up``, if None that of the
        evaluator, says otherwise.
        """
        gives_up = self._gives_up if gives_up is None else gives_up
        key, least = proposal.key, rival.cost(criterion, n)
        given_up = self._hopeless.get(key)
        if key not in self._fitted and (given_up is None or given_up.cost(criterion, n) < least):
            without_likelihood = Scored(proposal, 0.0, self.n_obs).cost(criterion, n)
            enough = (without_likelihood - least) / 2 * self.n_obs / n
            self._keep(proposal, self._estimate(proposal, enough if gives_up else -math.inf))
        found = self._fitted.get(key)
        return found if found is not None and found.cost(criterion, n) < least else None

    def _keep(self, proposal: Proposal, estimate: FactorEstimate) -> None:
        if estimate.reach is None:
            self._hopeless.pop(proposal.key, None)
            fitted = Fitted(proposal, estimate.log_likelihood, self.n_obs, estimate)
            self._fitted[proposal.key] = fitted
        else:
            self._hopeless[proposal.key] = Scored(proposal, estimate.reach, self.n_obs)

    def _estimate(self, proposal: Proposal, enough: float = -math.inf) -> FactorEstimate:
        fit = _fit_model(self.n_items)
        return fit(self.R, self.n_obs, proposal.support, self._tolerance, self._most_steps, enough)

    def reject(self, fitted: Fitted) -> None:
        """Leave a structure out of the comparison for other reasons than its cost."""
        self._rejected.add(fitted.proposal.key)

    def bound(self, proposal: Proposal) -> Scored:
        """Score a structure by a likelihood that it cannot exceed, without fitting it.

        A model with d factors and given zeros is a special case of the exploratory model with d
        factors, whose maximum is found once for every d; with an item explained without error
        (at a bound of its own) that of the saturated model is taken. Infinite if the correlations
        are singular. Of more than a few items it is found for some d only, since a model with more
        factors bounds it, too.
        """
        d = proposal.support.shape[1]
        if self.n_items > FEW_ITEMS:
            d = _some_number(d)
        if d not in self._exploratory:
            self._exploratory[d] = _exploratory_log_likelihood(self.R, d)
        return Scored(proposal, self.n_obs * self._exploratory[d], self.n_obs)

    def block_log_likelihood(self, items: IntArray, support: BoolArray) -> float:
        """Log-likelihood per row of a model of some items alone."""
        key = items.tobytes() + np.packbits(support).tobytes(), support.shape[1]
        if key not in self._blocks:
            block = self.R[np.ix_(items, items)]
            self._blocks[key] = log_likelihood_per_row(block, self.n_obs, support)
        return self._blocks[key]

    def best(self, criterion: str, n: float) -> Fitted:
        """Of all fitted structures the one of least cost; the first of equals."""
        return min(self.fitted, key=lambda one: one.cost(criterion, n))

    def reconsidered_best(self, criterion: str, n: float) -> Fitted:
        """Of all structures the best, those given up that may win with so many rows among them."""
        for one in self.hopeless:
            self.beats(one.proposal, self.best(criterion, n), criterion, n)
        return self.best(criterion, n)

    def worth(self, fitted: Fitted, like: Fitted | None = None) -> float:
        """Rows that the data are worth as evidence, by the misfit of a structure.

        How much more than normal rows they vary is asked of the structure ``like``, if it is given.
        """
        c = self._varying(fitted if like is None else like)
        return effective_rows(self.R, fitted.estimate, self.n_obs, c)

    def misfit(self, fitted: Fitted) -> float:
        """Misfit beyond sampling error: v of :mod:`dtstat.factors.robust`."""
        return 1 / (self._varying(fitted) * self.worth(fitted)) - 1 / self.n_obs

    def _varying(self, fitted: Fitted) -> float:
        """How much more than those of normal rows the correlations vary."""
        return 1.0 if self._scaling is None else self._scaling(fitted.estimate)


def log_likelihood_per_row(R: FloatArray, n: int, support: BoolArray) -> float:
    """Log-likelihood per row of a model of a few items, as exactly as prices of joins need it."""
    if len(R) <= FEW_ITEMS:
        return small_log_likelihood(R, n, support, n * _PER_ROW, _MOST_STEPS) / n
    return fit_as_ordered(R, n, support, n * _ROUGHLY, _FEW_STEPS).log_likelihood / n


def _fit_model(p: int) -> Callable[..., FactorEstimate]:
    """Return the faster search for the maximum likelihood of p items."""
    return fit_small if p <= FEW_ITEMS else fit_as_ordered


def _some_number(d: int) -> int:
    """Round up to one of fewer and fewer numbers."""
    rounded = _EVERY_NUMBER
    while rounded < d:
        rounded = math.ceil(_NEXT_NUMBER * rounded)
    return d if d <= _EVERY_NUMBER else rounded


def _exploratory_log_likelihood(R: FloatArray, d: int) -> float:
    """Log-likelihood per row of d factors without zeros, or of the saturated model."""
    p = len(R)
    eigenvalues = np.linalg.eigvalsh(R)
    if eigenvalues[0] < _SINGULAR:
        return math.inf
    F = float(np.log(eigenvalues).sum()) + p
    if 0 < d < p:
        found = maximum_likelihood(R, d)
        if found.converged and not found.heywood.any():
            Sigma = found.loadings @ found.loadings.T + np.diag(found.uniquenesses)
            F = float(np.linalg.slogdet(Sigma)[1] + np.trace(np.linalg.solve(Sigma, R)))
    return -0.5 * (p * math.log(2 * math.pi) + F)
