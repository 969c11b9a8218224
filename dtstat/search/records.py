"""What a search works with: its rules, the structures it proposes and scores, and what it found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from dtstat.core.arrays import BoolArray, IntArray
from dtstat.core.saved import register
from dtstat.factors.copula import FactorEstimate
from dtstat.search.criteria import price_of_structure
from dtstat.structure.structure import Structure

if TYPE_CHECKING:
    from dtstat.search.joins import JoinedLevels

SEQUENTIAL = "sequential"  # origin of what was found by explaining factors in turn
TREE = "tree"  # origin of what the tree found
GIVEN: Final = "given"  # origin of a structure that was not searched for


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


@register(shapes={"support": "**"})
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


@register(shapes={"support": "pd"})
@dataclass(frozen=True, eq=False)
class Contender:
    """A structure that was considered, with all its scores.

    Attributes
    ----------
    support
        (p, d) which item is in which factor.
    origin
        Where it comes from, in words.
    log_likelihood, n_parameters
        Of its fit to all rows (with "validation": to the rows for fitting).
    aic, bic, ebic
        Information criteria, the rows counting as much as the model deserves.
    held_out, behind, behind_se
        Mean log-likelihood of a row that was not fitted, how far that is behind the best, and
        the standard error of this; NaN if no rows were held out.
    fitted
        False if it could not win by a bound on its likelihood: its scores are bounds then.
    monte_carlo_se
        Standard error from the draws that estimated the likelihood that decides (``held_out`` if
        rows were held out, else ``log_likelihood``); 0 if it is exact.
    """

    support: BoolArray
    origin: str
    log_likelihood: float
    n_parameters: float
    aic: float
    bic: float
    ebic: float
    held_out: float = math.nan
    behind: float = math.nan
    behind_se: float = math.nan
    fitted: bool = True
    monte_carlo_se: float = 0.0

    def structure(self, item_names: tuple[str, ...]) -> Structure:
        """Return the structure with names."""
        return Structure(self.support, item_names)
