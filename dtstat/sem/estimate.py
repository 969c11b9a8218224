"""A fitted model, as numbers: the way from a discrepancy to estimates, errors and tests."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.errors import EstimationError, EstimationWarning, warn
from dtstat.core.fit_indices import Test
from dtstat.core.parallel import Steps
from dtstat.core.saved import register
from dtstat.sem.constraints import Constraints
from dtstat.sem.discrepancy import Block, Discrepancy, Procedure
from dtstat.sem.exploratory import Exploratory
from dtstat.sem.matrices import Layout
from dtstat.sem.optimize import SCORING_STEPS, Information
from dtstat.sem.parameters import Model
from dtstat.sem.rows import Sample
from dtstat.sem.search import check_identified, review_solution, search

Given = Literal["rows", "covariances", "correlations"]

STEPS = SCORING_STEPS + 5  # then come information, errors, two tests and what indices rest on
_LARGEST = 1e70  # a value; squares of products of larger ones are beyond all numbers


def _moments_are_of_items(estimate: SEMEstimate) -> bool:
    """Whether least squares was fitted to moments of observed variables, each of them once."""
    names = [
        (*block.ordinal.names, *block.ordinal.covariates)
        for block in estimate.blocks
        if block.ordinal is not None
    ]
    known = {*estimate.model.observed}
    return all(len({*own}) == len(own) and {*own} <= known for own in names)


@register(
    shapes={
        "theta": "q",
        "covariance": "qq",
        "information": "qq",
        "blocks[].mu": "p",
        "model.observed": "p",
    },
    rules={
        "groups have blocks": lambda one: len(one.blocks) == one.model.n_groups,
        "parameters have values": lambda one: one.model.n_free == len(one.theta),
        "values can be computed with": lambda one: bool(
            (np.abs(one.theta).astype(np.float64) < _LARGEST).all()  # of an edited file, any kind
        ),
        "moments are of the items": _moments_are_of_items,
    },
)
@dataclass(frozen=True)
class SEMEstimate:
    """A fitted model, as numbers.

    Attributes
    ----------
    model
        The model.
    procedure
        How it was fitted.
    theta, covariance
        (q,) free parameters and the (q, q) covariance matrix of their estimates; NaN if no
        standard errors were asked for (``se="none"``).
    blocks
        Moments and rows of each group.
    logl, saturated_logl
        Log-likelihoods of the model and of the saturated one; None for least squares.
    test, baseline
        Tests of the model and of the independence model.
    iterations, converged, tried
        How the search went.
    notes
        Warnings about the solution, as sentences.
    corrected, corrected_baseline
        The tests that robust CFI, TLI and RMSEA rest on; None where they are not known.
    source
        What was given: rows, or their covariances or correlations.
    n_constraints
        Equalities of free parameters, beyond those that share a number.
    information
        (q, q) expected second derivative of the objective at the estimates.
    """

    model: Model
    procedure: Procedure
    theta: FloatArray
    covariance: FloatArray
    blocks: tuple[Block, ...]
    logl: float | None
    saturated_logl: float | None
    test: Test
    baseline: Test
    iterations: int
    converged: bool
    tried: tuple[str, ...]
    notes: tuple[str, ...] = ()
    corrected: Test | None = None
    corrected_baseline: Test | None = None
    source: Given = "rows"
    n_constraints: int = 0
    information: FloatArray | None = None

    @property
    def n_obs(self) -> int:
        """Rows used, of all groups."""
        return sum(block.n_obs for block in self.blocks)

    @property
    def n_given(self) -> int:
        """Rows given, of all groups."""
        return sum(block.n_given for block in self.blocks)

    @property
    def n_parameters(self) -> int:
        """Independent free parameters."""
        return self.model.n_free - self.n_constraints

    @cached_property
    def views(self) -> tuple[SEMEstimate, ...]:
        """The fit of each group by itself; parameters keep their numbers."""
        if self.model.n_groups == 1:
            return (self,)
        return tuple(
            replace(self, model=model, blocks=(block,))
            for model, block in zip(self.model.blocks, self.blocks, strict=True)
        )

    @property
    def _only(self) -> Block:
        """The block of a fit without groups, or of a view."""
        (block,) = self.blocks
        return block

    @property
    def Sigma(self) -> FloatArray:
        """Implied covariances of the only group."""
        return self._only.Sigma

    @property
    def mu(self) -> FloatArray:
        """Implied means of the only group."""
        return self._only.mu

    @property
    def S(self) -> FloatArray:
        """Covariances of the only group, as they were found."""
        return self._only.S

    @property
    def mean(self) -> FloatArray:
        """Means of the only group, as they were found."""
        return self._only.mean

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """Sufficient statistics of the rows of each group."""
        return tuple(block.sample(self.model.mean_structure) for block in self.blocks)

    @cached_property
    def layout(self) -> Layout:
        """Where the parameters of the only group sit."""
        return Layout(self.model, len(self.theta))

    @property
    def estimates(self) -> FloatArray:
        """(rows of the parameter table,) values, free and fixed."""
        return np.array(
            [self.theta[row.free - 1] if row.free else row.value for row in self.model.parameters],
            dtype=float,
        )

    @property
    def standard_errors(self) -> FloatArray:
        """(rows of the parameter table,) standard errors; 0 for fixed ones, NaN if unknown."""
        variances = np.diag(self.covariance)
        se = np.sqrt(np.where(variances >= 0, variances, np.nan))
        return np.array(
            [se[row.free - 1] if row.free else 0.0 for row in self.model.parameters], dtype=float
        )

    @property
    def defined(self) -> tuple[FloatArray, FloatArray]:
        """Values of the defined parameters, and their standard errors (delta method)."""
        if not self.model.definitions:
            return np.zeros(0), np.zeros(0)
        found = Constraints(self.model).defined(self.theta)
        values = np.array([one.value for one in found], dtype=float)
        J = np.array([one.gradient for one in found], dtype=float).reshape(-1, len(self.theta))
        variance = np.einsum("rk,kl,rl->r", J, self.covariance, J)
        return values, np.sqrt(np.where(variance >= 0, variance, np.nan))


def estimate_model(
    discrepancy: Discrepancy,
    notes: tuple[str, ...] = (),
    source: Given = "rows",
    steps: Steps | None = None,
) -> SEMEstimate:
    """Minimize a discrepancy and draw all conclusions that do not depend on which one it is.

    ``notes`` are sentences about the data; ``steps`` reports ``STEPS`` of them.
    """
    steps = steps or Steps()
    model = discrepancy.model
    blocks = Exploratory(model, discrepancy.layouts) if model.exploratory else None
    constraints = Constraints(model, blocks.anchors if blocks else ())
    df = degrees_of_freedom(model, discrepancy.n_moments, constraints.rank)
    found, dropped = search(
        discrepancy.objective,
        _reported(discrepancy.information, steps),
        model,
        discrepancy.starting_moments(),
        constraints,
        blocks,
    )
    theta = found.theta
    space = constraints.space(theta)
    if blocks is not None:
        theta = blocks.rotate(theta)
        space = blocks.space(theta, Constraints(model).space(theta))
    information = discrepancy.information(theta)
    check_identified(information, model, space)
    steps.done()
    logl, saturated = discrepancy.log_likelihoods(theta)
    covariance = discrepancy.covariance(theta, space)
    steps.done()
    test = discrepancy.test(theta, df, space)
    steps.done()
    baseline = discrepancy.baseline()
    steps.done()
    corrected = discrepancy.corrected(theta, test, baseline, space)
    steps.done()
    groups = model.groups or ("",)
    improper = [
        note
        for layout, group in zip(discrepancy.layouts, groups, strict=True)
        for note in review_solution(layout, theta, group)
    ]
    return SEMEstimate(
        model, discrepancy.procedure, theta, covariance, discrepancy.blocks(theta), logl,
        saturated, test, baseline, found.iterations, found.converged, found.tried,
        (*notes, *dropped, *improper, *_review_test(test)), *corrected, source,
        constraints.rank, information,
    )  # fmt: skip


def _reported(information: Information, steps: Steps) -> Information:
    """Report the information that the scoring steps ask for, which is where time goes.

    A search that starts anew asks again; the end of the steps foreseen is nearer all the same.
    """
    foreseen = iter(range(SCORING_STEPS))

    def found(theta: FloatArray) -> FloatArray:
        value = information(theta)
        if next(foreseen, None) is not None:
            steps.done()
        return value

    return found


def _review_test(test: Test) -> tuple[str, ...]:
    """Say if a robust test is not known, and warn of it."""
    if not math.isnan(test.scaling):
        return ()
    note = (
        "The robust test is not known: its scaling factor is not positive, which happens with few "
        "rows. Use more rows, or estimator='ml' if the answers are normal."
    )
    warn(note, EstimationWarning, stacklevel=2)
    return (note,)


def degrees_of_freedom(model: Model, moments: int, rank: int = 0) -> int:
    """Moments less free parameters, ``rank`` of which constraints take away."""
    parameters = model.n_free - rank
    if moments < parameters:
        raise EstimationError(
            f"The model is not identified: it has {parameters} free parameters for {moments} "
            "moments. Fix or equate parameters, or measure the factors with more items."
        )
    return moments - parameters
