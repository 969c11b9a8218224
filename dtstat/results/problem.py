"""What structures are searched in, how to run the search, and the search itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import cast

import numpy as np

from dtstat.arrays import BoolArray, FloatArray
from dtstat.data import ItemData
from dtstat.dependence import DependenceMatrix, dependence_matrix
from dtstat.dependence.compute import Missing, PairFunction
from dtstat.dependence.influence import Influence
from dtstat.estimation.factors.copula import (
    BRIDGES,
    FactorEstimate,
    LatentCorrelations,
    fit_factors,
    latent_correlations,
    nearest_correlation,
)
from dtstat.estimation.factors.reported import Answers, Source
from dtstat.estimation.factors.robust import misfit_scaling
from dtstat.estimation.nonlinear.estimate import NONLINEAR
from dtstat.execution.parallel import Jobs
from dtstat.execution.saved import CheckpointFile
from dtstat.progress import Progress
from dtstat.results.fit_call import FitCall
from dtstat.selection.choose import GIVEN
from dtstat.selection.criteria import searching
from dtstat.selection.evaluate import Evaluator, FitModel, Proposal
from dtstat.selection.refine import refine
from dtstat.selection.search import (
    Outcome,
    Rules,
    assess,
    search_barcode,
    search_threshold,
)
from dtstat.selection.sequential import search_sequential
from dtstat.structure.barcode import barcode
from dtstat.structure.path import candidates

# How much correlations vary is looked up in some rows: numbers in the array of their influences,
# fewest rows, and most items for which that is worth its time.
_INFLUENCES, _FEWEST_INFLUENCES, _MOST_ITEMS = 500_000, 50, 300


@dataclass(frozen=True)
class Work:
    """How to run: measure, thresholds, workers, progress; a given structure and its names.

    ``checkpoint`` is the file that keeps what takes long.
    """

    measure: str | PairFunction = "spearman"
    grid: FloatArray | None = None
    given: BoolArray | None = None
    n_jobs: Jobs = None
    progress: Progress = None
    names: tuple[str, ...] = ()
    checkpoint: CheckpointFile = None


@dataclass(frozen=True, eq=False)
class Input:
    """What the model is searched in.

    Attributes
    ----------
    dependence
        The matrix to threshold.
    source
        Correlations that copula models are fitted to, with their rows.
    screened
        (p, p) correlations by which structures are compared while searching; those of ``source``,
        or with curves any dependence, which they can describe.
    n
        Rows behind an entry.
    """

    dependence: DependenceMatrix
    source: Source
    screened: FloatArray
    n: int

    @property
    def latent(self) -> LatentCorrelations:
        """The correlations alone."""
        return self.source.latent


def prepare(items: ItemData, call: FitCall, work: Work) -> Input:
    """Compute the matrix to threshold and, where that is another, the one to fit."""
    missing = cast(Missing, call.missing)
    matrix = dependence_matrix(items, work.measure, missing, work.n_jobs, work.progress)
    basis = "pearson" if call.estimator == "linear" else matrix.measure
    if basis not in BRIDGES:
        basis = "spearman"  # a measure of any dependence has no latent correlation
    fitted = matrix if basis == matrix.measure else dependence_matrix(items, basis, missing)
    latent = latent_correlations(fitted)
    any_dependence = call.estimator in NONLINEAR and matrix.measure not in BRIDGES
    screened = nearest_correlation(np.abs(matrix.values)) if any_dependence else latent.R
    used = items.complete_rows() if missing == "listwise" else items
    return Input(matrix, Source(latent, Answers.of(used)), screened, typical_rows(matrix))


def typical_rows(matrix: DependenceMatrix) -> int:
    """Rows behind an entry: their harmonic mean, since variances go with 1/n."""
    if matrix.pairwise_n is None:
        return cast(int, matrix.n_obs)
    counts = matrix.pairwise_n[np.triu_indices(matrix.n_items, 1)]
    return round(float(counts.size / np.sum(1.0 / counts)))


def search(
    problem: Input, call: FitCall, work: Work, fit: FitModel = fit_factors
) -> tuple[Evaluator, Outcome]:
    """Propose, fit and compare structures; held-out criteria choose among what ebic proposes."""
    rules = Rules(
        searching(call.criterion),
        call.min_children,
        call.uncovered == "attach",
        call.misfit == "estimated",
    )
    evaluator = Evaluator(problem.screened, problem.n, fit, _scaling(problem))
    if work.given is not None:
        return evaluator, assess(evaluator, Proposal(work.given, GIVEN), rules)
    bars = barcode(problem.dependence.values, problem.dependence.names, call.min_children)
    if call.search == "barcode":
        outcome = search_barcode(evaluator, bars, rules, work.progress)
    elif call.search == "sequential":
        outcome = search_sequential(evaluator, bars, rules, work.progress)
    else:
        path = candidates(bars, work.grid)
        outcome = search_threshold(evaluator, path, rules, work.progress)
    if call.refine:
        outcome = refine(evaluator, outcome, rules, work.progress)
    return evaluator, outcome


def _scaling(problem: Input) -> Callable[[FactorEstimate], float] | None:
    """Return what tells how much larger than that of normal rows a model's misfit is by chance.

    None where that cannot be told: of a matrix of polychoric correlations, with curves of any
    dependence, with few rows, and with very many items.
    """
    source, n = problem.source, cast(int, problem.dependence.n_obs)
    rows, p = source.rows, len(source.latent.R)
    if rows is None or p > _MOST_ITEMS or problem.screened is not source.latent.R:
        return None
    if len(rows.values) < _FEWEST_INFLUENCES:
        return None
    share = 1.0 if source.answers is None else problem.n / n
    known = rows

    @cache
    def influence() -> Influence:
        return known.influence(source.latent, max(_INFLUENCES, _FEWEST_INFLUENCES * p**2))

    return lambda estimate: misfit_scaling(estimate, influence()) * share
