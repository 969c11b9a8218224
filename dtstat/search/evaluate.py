"""Proposals are fitted, each distinct structure once, and compared.

Criteria weigh fit against the number of parameters; smaller is better. With ℓ the log-likelihood
per row, k parameters of which e are loadings, p items and n rows (see
:mod:`dtstat.factors.robust` for how many rows count):

    aic  = −2nℓ + 2k                         (Akaike 1974)
    bic  = −2nℓ + k log n                    (Schwarz 1978)
    ebic = −2nℓ + k log n + 2 e log p        (Chen & Chen 2008, γ = 1)

The last term of ebic pays for having searched: every loading was picked among p items. Criteria
that hold out rows score structures on rows they have not seen: one split, or cross-validation.

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

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.parallel import Progress, track
from dtstat.core.saved import register
from dtstat.efa.extraction import maximum_likelihood
from dtstat.factors.copula import FactorEstimate, fit_factors
from dtstat.factors.maximum_likelihood import MANY_ITEMS
from dtstat.factors.robust import effective_rows
from dtstat.factors.scores import Marginals, learn_marginals, row_log_likelihoods


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


@dataclass(frozen=True)
class Outcome:
    """What a search found.

    Attributes
    ----------
    best
        The structure of least cost.
    n_effective
        What the rows counted as.
    passed_over
        Structures that cannot win, with the least cost they could have.
    """

    best: Fitted
    n_effective: float
    passed_over: tuple[Scored, ...] = ()


FitModel = Callable[..., FactorEstimate]

_MOST_STEPS = 300  # candidates that are still creeping then have factors that coincide
# Gain in log-likelihood of a step that counts as standing still; with many items steps are dear,
# and no choice depends on a hundredth.
_TOLERANCE, _TOLERANCE_OF_MANY = 1e-6, 0.01
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
        return information(
            criterion,
            self.log_likelihood / self.n_obs,
            self.n_parameters,
            self.n_edges,
            len(self.proposal.support),
            n,
        )


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
    fit
        Function of correlations, rows and support that fits a model.
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
        fit: FitModel = fit_factors,
        scaling: Callable[[FactorEstimate], float] | None = None,
        gives_up: bool | None = None,
    ) -> None:
        self.R, self.n_obs, self._fit_model, self._scaling = R, n_obs, fit, scaling
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
        return Evaluator(self.R, self.n_obs, self._fit_model, self._scaling, self._gives_up)

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
        return self._fit_model(
            self.R,
            self.n_obs,
            proposal.support,
            tolerance=self._tolerance,
            max_iterations=_MOST_STEPS,
            enough=enough,
        )

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
            estimate = self._fit_model(block, self.n_obs, support, max_iterations=_MOST_STEPS)
            self._blocks[key] = estimate.log_likelihood / self.n_obs
        return self._blocks[key]

    def best(self, criterion: str, n: float) -> Fitted:
        """Of all fitted structures the one of least cost; the first of equals."""
        return min(self.fitted, key=lambda one: one.cost(criterion, n))

    def reconsidered_best(self, criterion: str, n: float) -> Fitted:
        """Of all structures the best, those given up that may win with so many rows among them."""
        for one in self.hopeless:
            self.beats(one.proposal, self.best(criterion, n), criterion, n)
        return self.best(criterion, n)

    def worth(self, fitted: Fitted) -> float:
        """Rows that the data are worth as evidence about a structure."""
        c = 1.0 if self._scaling is None else self._scaling(fitted.estimate)
        return effective_rows(self.R, fitted.estimate, self.n_obs, c)


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


INFORMATION = ("ebic", "bic", "aic")
HELD_OUT = ("validation", "validation_2se", "cv")
CRITERIA = INFORMATION + HELD_OUT

SALIENT = 0.2  # least size of a second loading that is worth a place in the structure


def information(
    criterion: str, row_log_likelihood: float, k: float, edges: int, p: int, n: float
) -> float:
    """Value of an information criterion.

    Parameters
    ----------
    criterion
        "ebic", "bic" or "aic".
    row_log_likelihood
        ℓ, the log-likelihood per row.
    k, edges, p, n
        Parameters, loadings among them, items, rows.
    """
    fit = -2 * n * row_log_likelihood
    return (
        fit
        + price_of_parameter(criterion, n) * (k - edges)
        + price_of_edge(criterion, p, n) * edges
    )


def searching(criterion: str) -> str:
    """Return the information criterion that proposes structures; held-out rows only choose."""
    return criterion if criterion in INFORMATION else "ebic"


def price_of_edge(criterion: str, p: int, n: float) -> float:
    """Return what one more loading costs."""
    searched = 2 * math.log(p) if criterion == "ebic" else 0.0
    return price_of_parameter(criterion, n) + searched


def least_loading(criterion: str, p: int, n: float) -> float:
    """Smallest loading that pays for its edge.

    An item of loading λ on a factor that is known gains −n log(1 − λ²), which must exceed the
    price of the edge.
    """
    return math.sqrt(-math.expm1(-price_of_edge(criterion, p, n) / n))


def price_of_parameter(criterion: str, n: float) -> float:
    """Return what a parameter costs that was not searched for, such as a correlation."""
    return 2.0 if criterion == "aic" else math.log(n)


SHARE = 0.2  # of the rows that validate, as in the paper (1000 of 5000)
FOLDS = 5
_FEWEST = 2  # held-out rows: one has no standard error

Learn = Callable[[FloatArray], Marginals]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Log-likelihoods of rows under structures that were fitted to other rows.

    Attributes
    ----------
    rows
        (m, n) one row per structure, one column per held-out row.
    errors
        (m,) Monte Carlo standard errors of the sums; None if the likelihoods are exact.
    """

    rows: FloatArray
    errors: FloatArray | None = None

    @property
    def monte_carlo_se(self) -> FloatArray:
        """(m,) Monte Carlo standard errors of the means."""
        m, n = self.rows.shape
        return np.zeros(m) if self.errors is None else self.errors / n

    @property
    def mean(self) -> FloatArray:
        """(m,) mean log-likelihood of each structure; larger is better."""
        means: FloatArray = self.rows.mean(axis=1)
        return means

    def behind(self) -> tuple[FloatArray, FloatArray]:
        """How far each structure is behind the best one, and the standard error of that.

        Rows are paired: what makes a row likely or not under all structures cancels.
        """
        gaps = self.rows[self.mean.argmax()] - self.rows
        n = gaps.shape[1]
        errors = gaps.std(axis=1, ddof=1) / np.sqrt(n) if n > 1 else np.full(len(gaps), np.inf)
        return gaps.mean(axis=1), errors


def split_rows(n: int, seed: int) -> tuple[IntArray, IntArray]:
    """Return rows to fit on and rows to validate on, at random."""
    order = np.random.default_rng(seed).permutation(n)
    held = max(round(SHARE * n), _FEWEST)
    return np.sort(order[held:]), np.sort(order[:held])


def folds(n: int, seed: int) -> IntArray:
    """(n,) the fold of each row, at random and of equal sizes as far as possible."""
    fold: IntArray = np.random.default_rng(seed).permutation(np.arange(n) % FOLDS)
    return fold


def validate(
    fitted: tuple[Fitted, ...], X: FloatArray, held: FloatArray, learn: Learn = learn_marginals
) -> HeldOut:
    """Score fitted structures on held-out rows.

    Parameters
    ----------
    fitted
        Structures fitted to the rows ``X``.
    X, held
        Answers that were fitted, and those that were not.
    learn
        How margins are learnt.
    """
    Z = learn(X).normal_scores(held)
    return HeldOut(np.array([row_log_likelihoods(one.estimate, Z) for one in fitted]))


def cross_validate(
    supports: list[BoolArray],
    X: FloatArray,
    correlations: list[FloatArray],
    fold: IntArray,
    learn: Learn = learn_marginals,
    progress: Progress = None,
) -> HeldOut:
    """Score structures on each fold, with parameters from the other folds.

    Parameters
    ----------
    supports
        The structures.
    X
        (n, p) answers.
    correlations
        For each fold the latent correlations of the rows outside it.
    fold
        (n,) the fold of each row.
    learn
        How margins are learnt.
    progress
        True for a bar, or a function of (done, total).
    """
    rows = np.empty((len(supports), len(X)))
    for k, R in enumerate(track(correlations, progress, "folds")):
        out = fold == k
        Z = learn(X[~out]).normal_scores(X[out])
        for j, support in enumerate(supports):
            estimate = fit_factors(R, int((~out).sum()), support)
            rows[j, out] = row_log_likelihoods(estimate, Z)
    return HeldOut(rows)
