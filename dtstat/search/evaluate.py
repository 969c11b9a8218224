"""Proposals are fitted, each distinct structure once, and compared.

Criteria weigh fit against the number of parameters; smaller is better. With ℓ the log-likelihood
per row, k parameters of which e are loadings, p items and n rows (see
:mod:`dtstat.factors.robust` for how many rows count):

    aic  = −2nℓ + 2k                         (Akaike 1974)
    bic  = −2nℓ + k log n                    (Schwarz 1978)
    ebic = −2nℓ + k log n + 2 log N          (Chen & Chen 2008, γ = 1)

The last term of ebic pays for having searched. Chen & Chen give every *size* of model the same
prior weight and share it out among the N models of that size, so that a structure costs 2 log N.
N is
counted in :mod:`dtstat.search.counting`. Criteria that hold out rows are in
:mod:`dtstat.search.held_out`.

References
----------
Akaike, H. (1974). A new look at the statistical model identification. IEEE Transactions on
Automatic Control 19, 716–723. Chen, J. & Chen, Z. (2008). Extended Bayesian information criteria
for model selection with large model spaces. Biometrika 95, 759–771. Schwarz, G. (1978). Estimating
the dimension of a model. Annals of Statistics 6, 461–464.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.saved import register
from dtstat.efa.extraction import maximum_likelihood
from dtstat.factors.copula import FactorEstimate, fit_factors
from dtstat.factors.maximum_likelihood import EM_STEPS, MANY_ITEMS
from dtstat.factors.robust import effective_rows
from dtstat.factors.small_models import fit_small, small_log_likelihood
from dtstat.search.counting import log_structures

if TYPE_CHECKING:
    from dtstat.search.joins import JoinedLevels


@dataclass(frozen=True)
class Rules:
    """What a structure must be like, and how structures are compared.

    Attributes
    ----------
    criterion
        "ebic", "bic" or "aic".
    min_children
        Fewest items of a factor.
    attach
        Whether items of no clique are attached to a factor.
    approximate
        Whether the model is taken as an approximation, so that misfit limits what the rows count.
    """

    criterion: str
    min_children: int
    attach: bool
    approximate: bool


@register(
    shapes={"labels": "p"},
    rules={
        "factors are numbered": lambda one: (
            min(one.labels) == 0 and len(set(one.labels.tolist())) == one.n_factors
        ),
        "a pair is joined": lambda one: all(0 <= k < max(one.n_factors, 2) for k in one.pair),
    },
)
@dataclass(frozen=True, eq=False)
class Level:
    """One number of factors.

    Attributes
    ----------
    labels
        (p,) factor of each item, in the order of their first items.
    price
        What one fewer factor costs: log-likelihood per person that the two factors' items lose.
    pair
        The two factors that would be joined.
    correlation
        Of these two.
    agreement
        Mean adjusted Rand index of the ways to sort the items; NaN if there was only one.
    step
        How much one fewer costs beside what one more would save (:mod:`dtstat.search.levels`).
    """

    labels: IntArray
    price: float
    pair: tuple[int, int]
    correlation: float
    agreement: float
    step: float = math.nan

    @property
    def n_factors(self) -> int:
        """Number of factors."""
        return int(self.labels.max()) + 1

    @property
    def support(self) -> BoolArray:
        """(p, d) which item is in which factor."""
        marks: BoolArray = self.labels[:, None] == np.arange(self.n_factors)
        return marks


@dataclass(frozen=True)
class Outcome:
    """What a search found.

    Attributes
    ----------
    best
        The structure that the search takes: of the answering level of a tree, else of least cost.
    n_effective
        What the rows counted as.
    passed_over
        Structures that cannot win, with the least cost they could have.
    levels
        Structures with one factor, two, and so on, if a tree was searched.
    supported
        Largest number of factors that the rows support.
    second
        Number of factors of the other level that stands out, if there is one.
    in_turn
        Whether factors were also explained in turn.
    """

    best: Fitted
    n_effective: float
    passed_over: tuple[Scored, ...] = ()
    levels: tuple[Level, ...] | JoinedLevels = ()
    supported: int = 0
    second: int | None = None
    in_turn: bool = False


_MOST_STEPS = 300  # candidates that are still creeping then have factors that coincide
# Gain in log-likelihood of a step that counts as standing still; with many items steps are dear,
# and no choice depends on a hundredth.
_TOLERANCE, _TOLERANCE_OF_MANY = 1e-6, 0.01
# The same per row for parts of a model; the differences of large parts are large.
_PER_ROW, _ROUGHLY, _FEW_STEPS = 1e-6, 1e-3, 30
_FEW_ITEMS = 60  # up to which compiled loops are faster than products of matrices
_SINGULAR = 1e-8


@register()
@dataclass(frozen=True, eq=False)
class Proposal:
    """A structure worth fitting.

    Attributes
    ----------
    support
        (p, d) which item is in which factor.
    origin
        Where it comes from, in words.
    """

    support: BoolArray
    origin: str

    @property
    def key(self) -> frozenset[bytes]:
        """The same for structures that differ in the order of factors only."""
        return frozenset(np.packbits(column).tobytes() for column in self.support.T)


def no_factors(p: int) -> Proposal:
    """No factor at all: the answer when items are independent."""
    return Proposal(np.zeros((p, 0), dtype=bool), "no factor")


@dataclass(frozen=True, eq=False)
class Scored:
    """A proposal with a log-likelihood: its own, or one that it cannot exceed.

    Attributes
    ----------
    proposal
        The structure.
    log_likelihood
        Of all rows.
    n_obs
        Number of rows.
    """

    proposal: Proposal
    log_likelihood: float
    n_obs: int

    @property
    def n_factors(self) -> int:
        """Number of factors d."""
        return int(self.proposal.support.shape[1])

    @property
    def n_edges(self) -> int:
        """Number of loadings."""
        return int(self.proposal.support.sum())

    @property
    def n_parameters(self) -> float:
        """Loadings, uniquenesses and factor correlations."""
        d = self.n_factors
        return self.n_edges + len(self.proposal.support) + d * (d - 1) // 2

    @property
    def monte_carlo_se(self) -> float:
        """Standard error of the log-likelihood, if it was estimated from draws."""
        return 0.0

    def cost(self, criterion: str, n: float) -> float:
        """Value of an information criterion if the rows count as ``n``; smaller is better."""
        fit = -2 * n * self.log_likelihood / self.n_obs
        return fit + price_of_structure(criterion, self.proposal.support, self.n_parameters, n)


@dataclass(frozen=True, eq=False)
class Fitted(Scored):
    """A proposal with its maximum-likelihood estimate."""

    estimate: FactorEstimate


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
    """

    def __init__(
        self,
        R: FloatArray,
        n_obs: int,
        scaling: Callable[[FactorEstimate], float] | None = None,
        gives_up: bool | None = None,
    ) -> None:
        self.R, self.n_obs, self._scaling = R, n_obs, scaling
        self.strength = np.abs(R)
        many = len(R) >= MANY_ITEMS
        self._tolerance = _TOLERANCE_OF_MANY if many else _TOLERANCE
        self._gives_up = many if gives_up is None else gives_up
        self._fitted: dict[frozenset[bytes], Fitted] = {}
        self._hopeless: dict[frozenset[bytes], Scored] = {}
        self._exploratory: dict[int, float] = {}
        self._rejected: set[frozenset[bytes]] = set()
        self._blocks: dict[tuple[bytes, int], float] = {}

    def afresh(self) -> Evaluator:
        """Return an evaluator of the same correlations that has fitted nothing yet."""
        return Evaluator(self.R, self.n_obs, self._scaling, self._gives_up)

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
        if proposal.key in self._fitted or self.n_items <= _FEW_ITEMS:
            return self.fit(proposal)
        fit = _fit_model(self.n_items)
        tolerance = self.n_obs * _ROUGHLY
        estimate = fit(self.R, self.n_obs, proposal.support, tolerance, EM_STEPS)
        return Fitted(proposal, estimate.log_likelihood, self.n_obs, estimate)

    def beats(self, proposal: Proposal, rival: Fitted, criterion: str, n: float) -> Fitted | None:
        """Fit a structure if its cost can be less than that of another, and return it if it is.

        The search for its maximum is given up when the likelihood would have to rise faster, in
        the steps left, than it did in the last ones.
        """
        key, least = proposal.key, rival.cost(criterion, n)
        given_up = self._hopeless.get(key)
        if key not in self._fitted and (given_up is None or given_up.cost(criterion, n) < least):
            without_likelihood = Scored(proposal, 0.0, self.n_obs).cost(criterion, n)
            enough = (without_likelihood - least) / 2 * self.n_obs / n
            self._keep(proposal, self._estimate(proposal, enough if self._gives_up else -math.inf))
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
        return fit(self.R, self.n_obs, proposal.support, self._tolerance, _MOST_STEPS, enough)

    def reject(self, fitted: Fitted) -> None:
        """Leave a structure out of the comparison for other reasons than its cost."""
        self._rejected.add(fitted.proposal.key)

    def bound(self, proposal: Proposal) -> Scored:
        """Score a structure by a likelihood that it cannot exceed, without fitting it.

        A model with d factors and given zeros is a special case of the exploratory model with d
        factors, whose maximum is found once for every d; with an item explained without error
        (at a bound of its own) that of the saturated model is taken. Infinite if the correlations
        are singular.
        """
        d = proposal.support.shape[1]
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
        typical = fitted if like is None else like
        c = 1.0 if self._scaling is None else self._scaling(typical.estimate)
        return effective_rows(self.R, fitted.estimate, self.n_obs, c)


def log_likelihood_per_row(R: FloatArray, n: int, support: BoolArray) -> float:
    """Log-likelihood per row of a model of a few items, as exactly as prices of joins need it."""
    if len(R) <= _FEW_ITEMS:
        return small_log_likelihood(R, n, support, n * _PER_ROW, _MOST_STEPS) / n
    return fit_factors(R, n, support, n * _ROUGHLY, _FEW_STEPS).log_likelihood / n


def _fit_model(p: int) -> Callable[..., FactorEstimate]:
    """Return the faster search for the maximum likelihood of p items."""
    return fit_small if p <= _FEW_ITEMS else fit_factors


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


STEP = "step"  # the largest step of the tree
SEQUENTIAL = "sequential"  # origin of what was found by explaining factors in turn
INFORMATION = ("ebic", "bic", "aic")
HELD_OUT = ("validation", "validation_2se", "cv")
CRITERIA = (STEP, *INFORMATION, *HELD_OUT)

SALIENT = 0.2  # least size of a second loading that is worth a place in the structure


def price_of_structure(criterion: str, support: BoolArray, k: float, n: float) -> float:
    """Return what a structure with k parameters costs, whatever its fit."""
    searched = 2 * log_structures(support) if criterion == "ebic" else 0.0
    return price_of_parameter(criterion, n) * k + searched


def searching(criterion: str) -> str:
    """Return the information criterion that proposes structures; others only choose."""
    return criterion if criterion in INFORMATION else "ebic"


def price_of_cross_loading(criterion: str, support: BoolArray, n: float) -> float:
    """Return what one more loading of an item that has a factor costs."""
    p, d = support.shape
    room = p * (d - 1)
    crossed = min(max(int(support.sum()) - p, 0), max(room - 1, 0))
    searched = 2 * math.log(max(room - crossed, 1) / (crossed + 1)) if criterion == "ebic" else 0.0
    return price_of_parameter(criterion, n) + max(searched, 0.0)


def least_loading(criterion: str, d: int, n: float) -> float:
    """Smallest loading that pays for taking an item into one of d factors.

    An item of loading λ on a factor that is known gains −n log(1 − λ²), which must exceed the
    price of a parameter and of having looked at d factors.
    """
    price = price_of_parameter(criterion, n)
    price += 2 * math.log(max(d, 1)) if criterion == "ebic" else 0.0
    return math.sqrt(-math.expm1(-price / n))


def price_of_parameter(criterion: str, n: float) -> float:
    """Return what a parameter costs that was not searched for, such as a correlation."""
    return 2.0 if criterion == "aic" else math.log(n)
