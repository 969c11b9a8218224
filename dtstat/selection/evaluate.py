"""Fitting proposals, each distinct structure once, and comparing them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtstat.arrays import BoolArray, FloatArray, IntArray
from dtstat.estimation.copula import FactorEstimate, fit_factors
from dtstat.estimation.misfit import effective_rows
from dtstat.selection.criteria import information

_MOST_STEPS = 300  # candidates that are still creeping then have factors that coincide
_QUICK_STEPS = 5


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
class Fitted:
    """A proposal with its maximum-likelihood estimate."""

    proposal: Proposal
    estimate: FactorEstimate
    n_obs: int

    @property
    def n_factors(self) -> int:
        """Number of factors d."""
        return int(self.proposal.support.shape[1])

    @property
    def n_edges(self) -> int:
        """Number of loadings."""
        return int(self.proposal.support.sum())

    def cost(self, criterion: str, n: float) -> float:
        """Value of an information criterion if the rows count as ``n``; smaller is better."""
        return information(
            criterion,
            self.estimate.log_likelihood / self.n_obs,
            self.estimate.n_parameters,
            self.n_edges,
            len(self.proposal.support),
            n,
        )


class Evaluator:
    """Fits structures to one matrix of latent correlations.

    Parameters
    ----------
    R
        (p, p) latent correlations.
    n_obs
        Rows behind them.
    """

    def __init__(self, R: FloatArray, n_obs: int) -> None:
        self.R, self.n_obs = R, n_obs
        self.strength = np.abs(R)
        self._fitted: dict[frozenset[bytes], Fitted] = {}
        self._glanced: dict[frozenset[bytes], Fitted] = {}
        self._rejected: set[frozenset[bytes]] = set()
        self._blocks: dict[tuple[bytes, int], float] = {}

    @property
    def n_items(self) -> int:
        """Number of items p."""
        return len(self.R)

    @property
    def fitted(self) -> tuple[Fitted, ...]:
        """Everything fitted so far and not rejected, in that order."""
        return tuple(one for key, one in self._fitted.items() if key not in self._rejected)

    @property
    def passed_over(self) -> tuple[Fitted, ...]:
        """What was only glanced at: its costs are upper bounds."""
        return tuple(look for key, look in self._glanced.items() if key not in self._fitted)

    def fit(self, proposal: Proposal) -> Fitted:
        """Fit a structure, or return the fit it had."""
        key = proposal.key
        if key not in self._fitted:
            estimate = fit_factors(self.R, self.n_obs, proposal.support, max_iterations=_MOST_STEPS)
            self._fitted[key] = Fitted(proposal, estimate, self.n_obs)
        return self._fitted[key]

    def reject(self, fitted: Fitted) -> None:
        """Leave a structure out of the comparison for other reasons than its cost."""
        self._rejected.add(fitted.proposal.key)

    def glance(self, proposal: Proposal) -> Fitted:
        """Fit by a few steps only: a likelihood not above that of :meth:`fit`."""
        key = proposal.key
        if key not in self._glanced:
            estimate = fit_factors(
                self.R, self.n_obs, proposal.support, max_iterations=_QUICK_STEPS
            )
            self._glanced[key] = Fitted(proposal, estimate, self.n_obs)
        return self._glanced[key]

    def block_log_likelihood(self, items: IntArray, support: BoolArray) -> float:
        """Log-likelihood per row of a model of some items alone."""
        key = items.tobytes() + np.packbits(support).tobytes(), support.shape[1]
        if key not in self._blocks:
            block = self.R[np.ix_(items, items)]
            estimate = fit_factors(block, self.n_obs, support, max_iterations=_MOST_STEPS)
            self._blocks[key] = estimate.log_likelihood / self.n_obs
        return self._blocks[key]

    def best(self, criterion: str, n: float) -> Fitted:
        """Of all fitted structures the one of least cost; the first of equals."""
        return min(self.fitted, key=lambda one: one.cost(criterion, n))

    def worth(self, fitted: Fitted) -> float:
        """Rows that the data are worth as evidence about a structure."""
        return effective_rows(self.R, fitted.estimate, self.n_obs)
