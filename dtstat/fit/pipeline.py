"""From answers, or a matrix, to the record of a fit.

    answers ─► Problem: dependence, latent correlations ─► search ─► choice ─► record

:func:`fit_items` and :func:`fit_matrix` are the two ways in; :mod:`dtstat.fit.curve_pipeline` is
the third, for curves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.errors import EstimationError, EstimationWarning, silenced, warn
from dtstat.core.parallel import Progress
from dtstat.curves.result import NonlinearFit
from dtstat.data.checks import quote_names
from dtstat.data.description import SampleFacts
from dtstat.data.frame import rows_by_content
from dtstat.data.items import ItemData, check_usable
from dtstat.dependence.compute import dependence_matrix
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.maximal import HiddenPair, hidden_pairs, responsible_items
from dtstat.dependence.measures import BRIDGES, LATENT
from dtstat.dependence.on_demand import whole_matrix
from dtstat.factors.copula import (
    FactorEstimate,
    LatentCorrelations,
    fit_factors,
    heywood_items,
    latent_correlations,
    nearest_correlation,
)
from dtstat.factors.difficulty import DifficultyPair, difficulty_pairs
from dtstat.factors.maximum_likelihood import MANY_ITEMS
from dtstat.factors.reported import Answers, Source, as_reported
from dtstat.factors.scores import Marginals, learn_marginals, linear_marginals
from dtstat.fit.record import FitRecord
from dtstat.fit.request import FitRequest, Run, check_matrix, check_n_factors
from dtstat.search.criteria import HELD_OUT, INFORMATION
from dtstat.search.framed import Found, FramedSearch
from dtstat.search.held_out import HeldOut, Learn, cross_validate, folds, split_rows, validate
from dtstat.search.ranking import Ranking, contenders, first_item_order, rank, rank_found
from dtstat.search.records import GIVEN, Fitted, Outcome, Proposal, Rules
from dtstat.structure.cliques import attached_items

_TOLERANCE, _TOLERANCE_OF_MANY = 1e-6, 1e-3  # gain in log-likelihood of a step that stands still


@dataclass(frozen=True, eq=False)
class Problem:
    """What structures are searched in.

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
    rules
        What the search goes by.
    progress
        True for a bar, or a function of (done, total).
    """

    dependence: DependenceMatrix
    source: Source
    screened: FloatArray
    n: int
    rules: Rules
    progress: Progress = None

    @property
    def latent(self) -> LatentCorrelations:
        """The correlations alone."""
        return self.source.latent

    @cached_property
    def search(self) -> FramedSearch:
        """Where structures are searched, made when first asked for."""
        scaling = self.source.misfit_scaling(self.n, self.progress)
        if self.screened is not self.latent.R:  # any dependence, whose errors nobody knows
            scaling = None
        return FramedSearch(self.screened, self.dependence, self.n, self.rules, scaling)


def fit_items(items: ItemData, request: FitRequest, run: Run) -> FitRecord:
    """Fit answers."""
    if request.criterion in HELD_OUT:  # rows are drawn
        items = items.take(rows_by_content(items.values))
    whole = prepare(items, request, run)
    learn = linear_marginals if request.estimator == "linear" else learn_marginals
    held: HeldOut | None = None
    if request.criterion in ("validation", "validation_2se"):
        fitted_rows, held_rows = split_rows(items.n_rows, cast(int, request.seed))
        part = items.take(fitted_rows)
        check_usable(part)
        fitted, outcome = find_structure(prepare(part, request, run), request, run)
        held = validate(fitted, part.values, items.values[held_rows], learn)
    else:
        fitted, outcome = find_structure(whole, request, run)
        if request.criterion == "cv":
            held = _cross_validate(items, fitted, request, run, learn)
    choice = rank_found(fitted, outcome, request.criterion, request.n_factors, held)
    facts = SampleFacts.of(items, whole.dependence.n_obs or items.n_rows)
    margins = learn(items.values, run.progress)
    found = conclude(whole, request, run, choice, facts, margins)
    hidden = hidden_pairs(items, run.progress)
    hard: tuple[DifficultyPair, ...] = ()
    if request.measure not in LATENT and request.search != GIVEN:
        hard = difficulty_pairs(items.values, found.support, found.estimate)
    before, after = warn_of_hidden(items, hidden), _warn_of_difficulty(items, found, hard)
    return replace(found, notes=(*before, *found.notes, *after))


def fit_matrix(
    matrix: DependenceMatrix, n_obs: int | None, request: FitRequest, run: Run
) -> FitRecord:
    """Fit a matrix of dependence, with the number of rows behind it."""
    rows = check_matrix(matrix, n_obs, request)
    known = replace(matrix, n_obs=rows)
    n = rows if n_obs is not None else typical_rows(known)
    latent = latent_correlations(known)
    problem = Problem(known, Source(latent, None), latent.R, n, request.rules, run.progress)
    fitted, outcome = find_structure(problem, request, run)
    choice = rank_found(fitted, outcome, request.criterion, request.n_factors)
    return conclude(problem, request, run, choice, None, None)


def at_level(
    found: FitRecord,
    k: int,
    names: tuple[str, ...],
    signs: tuple[int, ...],
    tested: bool = True,
) -> FitRecord:
    """Fit another level of the tree of a fit; names and signs are of the level's factors."""
    level, request = found.tree[k - 1], replace(found.call, n_factors=k)
    # A fit from a file has no answers: the correlations that it reports are all there is.
    # With very many items other levels are fitted in dtstat.fit.many.
    dependence = whole_matrix(found.dependence)
    source = found.source or Source(cast(LatentCorrelations, found.reported.latent), None)
    problem = Problem(dependence, source, found.latent.R, found.n_typical, request.rules)
    best = problem.search.at_level(level, found.n_effective)
    chosen = contenders([best], (), found.n_effective, None)
    others = (one for one in found.contenders if Proposal(one.support, "").key != best.proposal.key)
    second = found.n_factors if found.n_factors != k else found.second
    outcome = Outcome(best, found.n_effective, (), found.tree, found.supported, second)
    share = found.n_effective / problem.n
    choice = rank((*chosen, *others), request.criterion, share, outcome, asked=True)
    run = Run(request.measure)
    made = conclude(problem, request, run, choice, found.sample, found.marginals, tested=tested)
    order = first_item_order(best.proposal.support)
    return replace(
        made,
        given_names=tuple(names[j] for j in order),
        signs=tuple(signs[j] for j in order) if signs else (),
        grid=found.grid,
        item_texts=found.item_texts,
    )


def prepare(items: ItemData, request: FitRequest, run: Run) -> Problem:
    """Compute the matrix to threshold and, where that is another, the one to fit."""
    missing = request.missing
    matrix = dependence_matrix(items, run.measure, missing, run.n_jobs, run.progress)
    basis = "pearson" if request.estimator == "linear" else matrix.measure
    if basis not in BRIDGES:
        basis = "spearman"  # a measure of any dependence has no latent correlation
    fitted = matrix if basis == matrix.measure else dependence_matrix(items, basis, missing)
    latent = latent_correlations(fitted)
    any_dependence = request.draws_curves and matrix.measure not in BRIDGES
    screened = nearest_correlation(np.abs(matrix.values)) if any_dependence else latent.R
    used = items.complete_rows() if missing == "listwise" else items
    source = Source(latent, Answers.of(used))
    n = typical_rows(matrix)
    return Problem(matrix, source, screened, n, request.rules, run.progress)


def typical_rows(matrix: DependenceMatrix) -> int:
    """Rows behind an entry: their harmonic mean, since variances go with 1/n."""
    if matrix.pairwise_n is None:
        return cast(int, matrix.n_obs)
    counts = matrix.pairwise_n[np.triu_indices(matrix.n_items, 1)]
    return round(float(counts.size / np.sum(1.0 / counts)))


def find_structure(problem: Problem, request: FitRequest, run: Run) -> Found:
    """Propose, fit and compare structures; return all that were fitted, and what was found."""
    check_n_factors(request.n_factors, request, len(problem.screened))
    if run.structure is not None:
        return problem.search.assess(run.structure.support)
    return problem.search.find(
        request.search,
        run.grid,
        request.n_factors,
        by_cost=request.criterion in INFORMATION,
        refined=request.refine,
        everything=request.draws_curves and request.finalists is None,
        progress=run.progress,
    )


def _cross_validate(
    items: ItemData, fitted: tuple[Fitted, ...], request: FitRequest, run: Run, learn: Learn
) -> HeldOut:
    fold = folds(items.n_rows, cast(int, request.seed))
    correlations = []
    for k in np.unique(fold):
        part = items.take(fold != k)
        check_usable(part)
        with silenced(EstimationWarning):  # said once, of all rows
            correlations.append(prepare(part, request, replace(run, progress=None)).latent.R)
    supports = [one.proposal.support for one in fitted]
    return cross_validate(supports, items.values, correlations, fold, learn, run.progress)


def conclude(
    problem: Problem,
    request: FitRequest,
    run: Run,
    choice: Ranking,
    sample: SampleFacts | None,
    margins: Marginals | None,
    curves: NonlinearFit | None = None,
    notes: tuple[str, ...] = (),
    tested: bool = True,
) -> FitRecord:
    """Fit the chosen structure to all rows, and put everything together."""
    outcome, support = choice.outcome, choice.contenders[0].support
    support.setflags(write=False)
    matrix = problem.dependence
    refuse_uncovered(support, matrix.names, request)
    bars, attached = None, np.zeros(len(support), dtype=bool)
    if run.structure is None:
        bars = problem.search.barcode
        attached = attached_items(bars, support)
    tolerance = _TOLERANCE if len(support) < MANY_ITEMS else _TOLERANCE_OF_MANY
    estimate = fit_factors(problem.latent.R, problem.n, support, tolerance)
    n_obs = cast(int, matrix.n_obs)
    ratings = request.estimator != "linear" and problem.latent.measure not in LATENT
    asked = n_obs, ratings, tested, run.progress
    reported = as_reported(problem.source, estimate, support, *asked)
    exact = heywood_items(reported.estimate)
    return FitRecord(
        call=request,
        dependence=matrix,
        latent=problem.latent,
        support=support,
        attached=attached,
        estimate=estimate,
        reported=reported,
        n_obs=n_obs,
        n_typical=problem.n,
        n_effective=min(choice.share, 1.0) * problem.n,
        contenders=choice.contenders,
        explanation=choice.explanation,
        grid=run.grid,
        sample=sample,
        marginals=margins,
        notes=(*notes, *_warn_of_doubts(problem, reported.estimate, exact)),
        nonlinear=curves,
        given_names=() if run.structure is None else run.structure.factor_names,
        tree=() if outcome is None else outcome.levels,
        supported=0 if outcome is None else outcome.supported,
        second=None if outcome is None else outcome.second,
        barcode=bars,
        source=problem.source,
    )


def refuse_uncovered(support: BoolArray, names: tuple[str, ...], request: FitRequest) -> None:
    """Refuse a structure that leaves items out, if that was asked for."""
    out = [names[i] for i in np.flatnonzero(~support.any(axis=1))]
    if out and request.uncovered == "error":
        some = ", ".join(out[:5]) + (", ..." if len(out) > 5 else "")
        raise EstimationError(
            f"{len(out)} items are in no factor ({some}) and `uncovered` is 'error'. Use "
            "'attach' to give them to the factor they load on most, or 'report' to leave them out."
        )


def warn_of_hidden(items: ItemData, pairs: tuple[HiddenPair, ...]) -> tuple[str, ...]:
    """Warn of dependence that the copula does not see; return the warning.

    It compares structures by rank correlations, whatever they were read off.
    """
    if not pairs:
        return ()
    first, names = pairs[0], items.names
    blamed = quote_names([names[i] for i in responsible_items(pairs)])
    others = len(pairs) - 1
    more = f" and in {others} more pair{'s' * (others > 1)}" if others else ""
    text = (
        f"Rank correlations miss the dependence between '{names[first.first]}' and "
        f"'{names[first.second]}' ({first.rank_correlation:.2f}; {first.any_correlation:.2f} after "
        f"optimal transformation){more}. Not monotone: {blamed}. "
        "Do not rely on the copula criterion here; use fit(data, measure='maximal', "
        "estimator='spline')."
    )
    warn(text, EstimationWarning, stacklevel=4)
    return (text,)


def _warn_of_doubts(problem: Problem, estimate: FactorEstimate, exact: BoolArray) -> Iterator[str]:
    """Warn of what makes the fit doubtful, and yield the warnings; ``exact`` are Heywood cases."""
    R, names = problem.latent.R, problem.dependence.names
    some = ", ".join([names[i] for i in np.flatnonzero(exact)][:5])
    doubts = {
        f"There are fewer rows ({problem.n}) than items ({len(R)}): the fit cannot be tested. If "
        "people are in columns, transpose the data.": problem.n < len(R),
        f"The factors explain {some} without error (Heywood case): an item nearly repeats "
        "another, or its factor has too few items to be sure.": bool(exact.any()),
        "The estimate did not converge; do not trust the loadings.": not estimate.converged,
    }
    if problem.latent.smoothed:  # the user was warned when it was done
        yield "The correlations had negative eigenvalues and were smoothed."
    for doubt in (text for text, holds in doubts.items() if holds):
        warn(doubt, EstimationWarning, stacklevel=5)
        yield doubt


def _warn_of_difficulty(
    items: ItemData, found: FitRecord, pairs: tuple[DifficultyPair, ...]
) -> tuple[str, ...]:
    """Warn of factors that reflect the difficulty of the items; return the warning."""
    if not pairs:
        return ()
    names = found.factor_names
    told = ", ".join(
        f"items of {names[one.easier]} are easier than those of {names[one.harder]}"
        for one in pairs[:3]
    )
    told += ", ..." if len(pairs) > 3 else ""
    near = min(one.correlation for one in pairs)
    latent = "mixed" if "continuous" in items.kinds else "polychoric"
    text = (
        f"The factors appear to reflect item difficulty ({told}); with polychoric correlations, "
        f"which do not depend on that, they correlate by {near:.2f}"
        f"{' or more' * (len(pairs) > 1)} and may be one. Correlations of items with two or "
        "three answers shrink when one is easy and the other hard; use "
        f"fit(data, measure='{latent}')."
    )
    warn(text, EstimationWarning, stacklevel=4)
    return (text,)
