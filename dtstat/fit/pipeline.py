"""From answers, or a matrix, to the record of a fit.

    answers ─► Problem: dependence, latent correlations, barcode ─► search ─► choice ─► report

:func:`fit_items` and :func:`fit_matrix` are the two ways in; :mod:`dtstat.fit.curve_pipeline` is
the third, for curves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, cast

import numpy as np

from dtstat.core import checks
from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.errors import EstimationError, EstimationWarning, InputError, silenced, warn
from dtstat.curves.result import NonlinearFit
from dtstat.data.checks import quote_names
from dtstat.data.items import ItemData, check_usable
from dtstat.dependence.compute import dependence_matrix
from dtstat.dependence.influence import Influence
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.maximal import hidden_pairs, responsible_items
from dtstat.dependence.measures import BRIDGES, LATENT
from dtstat.factors.copula import (
    FactorEstimate,
    LatentCorrelations,
    fit_factors,
    is_single,
    latent_correlations,
    nearest_correlation,
)
from dtstat.factors.difficulty import difficulty_pairs
from dtstat.factors.maximum_likelihood import LEAST_UNIQUENESS, MANY_ITEMS
from dtstat.factors.reported import Answers, Source, as_reported
from dtstat.factors.robust import misfit_scaling
from dtstat.factors.scores import Marginals, learn_marginals, linear_marginals
from dtstat.fit.record import FitRecord, SampleFacts
from dtstat.fit.request import FitRequest, Run, check_request
from dtstat.search.choose import GIVEN, Contender, contenders, explanation, ranking
from dtstat.search.evaluate import (
    HELD_OUT,
    Evaluator,
    FitModel,
    HeldOut,
    Learn,
    Outcome,
    Proposal,
    cross_validate,
    folds,
    split_rows,
    validate,
)
from dtstat.search.proposals import assess, search_barcode, search_threshold
from dtstat.search.refine import SEQUENTIAL, refine
from dtstat.search.sequential import search_sequential
from dtstat.structure.barcode import Barcode, barcode
from dtstat.structure.cliques import attached_items
from dtstat.structure.path import candidates

_FEWEST_ROWS = 3
_TOLERANCE, _TOLERANCE_OF_MANY = 1e-6, 1e-3  # gain in log-likelihood of a step that stands still
# How much correlations vary is looked up in some rows: numbers in the array of their influences,
# fewest rows, and most items for which that is worth its time.
_INFLUENCES, _FEWEST_INFLUENCES, _MOST_ITEMS = 500_000, 50, 300
_OF_FACTORS = (
    "The items are factors of another fit. Their correlations are estimates, not observations: "
    "chi-square and RMSEA look better than they are."
)


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
    min_children
        Fewest items of a factor.
    """

    dependence: DependenceMatrix
    source: Source
    screened: FloatArray
    n: int
    min_children: int

    @property
    def latent(self) -> LatentCorrelations:
        """The correlations alone."""
        return self.source.latent

    @cached_property
    def barcode(self) -> Barcode:
        """Every clique of the path, computed when first asked for."""
        return barcode(self.dependence.values, self.dependence.names, self.min_children)


@dataclass(frozen=True, eq=False)
class Choice:
    """Structures with their scores, the share of the rows that counted, what went before."""

    contenders: tuple[Contender, ...]
    share: float
    before: str = ""


def fit_items(items: ItemData, request: FitRequest, run: Run) -> FitRecord:
    """Fit answers."""
    whole = prepare(items, request, run)
    facts, notes = sample_facts(items, whole), warn_of_hidden(items, request)
    learn = linear_marginals if request.estimator == "linear" else learn_marginals
    margins = learn(items.values)
    held: HeldOut | None = None
    if request.criterion in ("validation", "validation_2se"):
        fitted_rows, held_rows = split_rows(items.n_rows, cast(int, request.seed))
        part = items.take(fitted_rows)
        check_usable(part)
        evaluator, outcome = search(prepare(part, request, run), request, run)
        held = validate(evaluator.fitted, part.values, items.values[held_rows], learn)
    else:
        evaluator, outcome = search(whole, request, run)
        if request.criterion == "cv":
            held = _cross_validate(items, evaluator, request, run, learn)
    everything = contenders(evaluator.fitted, outcome.passed_over, outcome.n_effective, held)
    choice = Choice(everything, outcome.n_effective / evaluator.n_obs)
    found = report(whole, request, run, choice, facts, margins, notes=notes)
    return replace(found, notes=(*found.notes, *_warn_of_difficulty(items, found)))


def fit_matrix(
    matrix: DependenceMatrix, n_obs: int | None, request: FitRequest, run: Run
) -> FitRecord:
    """Fit a matrix of dependence, with the number of rows behind it."""
    if request.draws_curves:
        raise InputError(
            f"The estimator '{request.estimator}' draws curves through answers, and a matrix has "
            "none. Give the data, or use the estimator 'copula'.",
            "estimator",
        )
    n = matrix.n_obs if n_obs is None else n_obs
    if n is None:
        raise InputError(
            "`n_obs` must be given with a matrix that has none: every criterion weighs fit by the "
            "number of rows. Without it, solution_path() still lists the structures.",
            "n_obs",
        )
    if request.criterion in HELD_OUT:
        raise InputError(
            f"The criterion '{request.criterion}' holds out rows, and a matrix has none. Give the "
            "data, or use 'ebic', 'bic' or 'aic'.",
            "criterion",
        )
    if request.estimator == "linear" and matrix.measure != "pearson":
        raise InputError(
            f"The estimator 'linear' needs Pearson correlations; the matrix is of the measure "
            f"'{matrix.measure}'. Use the estimator 'copula', or give the data.",
            "estimator",
        )
    rows = checks.integer("n_obs", n, _FEWEST_ROWS, "It is the number of rows behind the matrix.")
    known = replace(matrix, n_obs=rows)
    n = rows if n_obs is not None else typical_rows(known)
    latent = latent_correlations(known)
    problem = Problem(known, Source(latent, None), latent.R, n, request.min_children)
    evaluator, outcome = search(problem, request, run)
    everything = contenders(evaluator.fitted, outcome.passed_over, outcome.n_effective, None)
    choice = Choice(everything, outcome.n_effective / problem.n)
    return report(problem, request, run, choice, None, None)


def fit_factors_of(
    lower: FitRecord, Phi: FloatArray, min_children: int, options: Mapping[str, Any]
) -> FitRecord:
    """Fit the correlations Φ of the factors of a fit."""
    known = {"search", "criterion", "uncovered", "refine", "misfit"}
    for name in options:
        if name not in known:
            raise checks.unknown("options", "an argument of second_level()", name, known)
    smallest = checks.integer("min_children", min_children, 2, "One factor is not a domain.")
    if lower.call.criterion in HELD_OUT:
        options = {"criterion": FitRequest.criterion, **options}  # no rows to hold out
    if lower.call.search == GIVEN:
        options = {"search": FitRequest.search, **options}
    request = replace(
        lower.call,
        min_children=smallest,
        measure="pearson",
        estimator="copula",
        thresholds="exact",
        seed=None,
        preset=None,
        finalists=None,
        **options,
    )
    check_request(request)
    matrix = DependenceMatrix.from_matrix(Phi, lower.n_obs, names=lower.factor_names)
    found = fit_matrix(matrix, lower.n_obs, request, Run())
    return replace(found, stem="G", notes=(*found.notes, _OF_FACTORS))


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
    return Problem(matrix, source, screened, typical_rows(matrix), request.min_children)


def typical_rows(matrix: DependenceMatrix) -> int:
    """Rows behind an entry: their harmonic mean, since variances go with 1/n."""
    if matrix.pairwise_n is None:
        return cast(int, matrix.n_obs)
    counts = matrix.pairwise_n[np.triu_indices(matrix.n_items, 1)]
    return round(float(counts.size / np.sum(1.0 / counts)))


def sample_facts(items: ItemData, whole: Problem) -> SampleFacts:
    """Count rows, kinds of items, and items with ties."""
    observed = (x[~np.isnan(x)] for x in items.values.T)
    return SampleFacts(
        items.n_rows,
        whole.dependence.n_obs or items.n_rows,
        items.complete_rows().n_rows,
        {kind: items.kinds.count(kind) for kind in dict.fromkeys(items.kinds)},
        sum(len(np.unique(x)) < len(x) for x in observed),
    )


def search(
    problem: Problem, request: FitRequest, run: Run, fit: FitModel = fit_factors
) -> tuple[Evaluator, Outcome]:
    """Propose, fit and compare structures."""
    rules = request.rules
    evaluator = Evaluator(problem.screened, problem.n, fit, _misfit_scaling(problem))
    if run.structure is not None:
        return evaluator, assess(evaluator, Proposal(run.structure.support, GIVEN), rules)
    bars = problem.barcode
    if request.search == "barcode":
        outcome = search_barcode(evaluator, bars, rules, run.progress)
    elif request.search == "sequential":
        outcome = search_sequential(evaluator, bars, rules, run.progress)
    else:
        outcome = search_threshold(evaluator, candidates(bars, run.grid), rules, run.progress)
    if request.refine:
        outcome = refine(evaluator, outcome, rules, run.progress)
    return evaluator, outcome


def _misfit_scaling(problem: Problem) -> Callable[[FactorEstimate], float] | None:
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


def _cross_validate(
    items: ItemData, evaluator: Evaluator, request: FitRequest, run: Run, learn: Learn
) -> HeldOut:
    fold = folds(items.n_rows, cast(int, request.seed))
    correlations = []
    for k in np.unique(fold):
        part = items.take(fold != k)
        check_usable(part)
        with silenced(EstimationWarning):  # said once, of all rows
            correlations.append(prepare(part, request, replace(run, progress=None)).latent.R)
    supports = [one.proposal.support for one in evaluator.fitted]
    return cross_validate(supports, items.values, correlations, fold, learn, run.progress)


def report(
    problem: Problem,
    request: FitRequest,
    run: Run,
    choice: Choice,
    sample: SampleFacts | None,
    margins: Marginals | None,
    curves: NonlinearFit | None = None,
    notes: tuple[str, ...] = (),
) -> FitRecord:
    """Choose, fit to all rows, and put everything together."""
    everything = choice.contenders
    order = ranking(everything, request.criterion)
    said = choice.before + explanation(everything, order, request.criterion)
    said += _say_what_rounds_found(request, everything[order[0]])
    support = everything[order[0]].support
    support.setflags(write=False)
    matrix = problem.dependence
    refuse_uncovered(support, matrix.names, request)
    bars, attached = None, np.zeros(len(support), dtype=bool)
    if run.structure is None:
        bars = problem.barcode
        attached = attached_items(bars, support)
    tolerance = _TOLERANCE if len(support) < MANY_ITEMS else _TOLERANCE_OF_MANY
    estimate = fit_factors(problem.latent.R, problem.n, support, tolerance)
    n_obs = cast(int, matrix.n_obs)
    ratings = request.estimator != "linear" and problem.latent.measure not in LATENT
    reported = as_reported(problem.source, estimate, support, n_obs, ratings)
    rest = [k for k in range(len(everything)) if k not in set(order)]
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
        contenders=tuple(everything[k] for k in [*order, *rest]),
        explanation=said,
        grid=run.grid,
        sample=sample,
        marginals=margins,
        notes=(*notes, *_warn_of_doubts(problem, reported.estimate)),
        nonlinear=curves,
        given_names=() if run.structure is None else run.structure.factor_names,
        barcode=bars,
    )


def _say_what_rounds_found(request: FitRequest, chosen: Contender) -> str:
    """Say what came of explaining factors in turn."""
    if request.search != "sequential":
        return ""
    if chosen.origin != SEQUENTIAL:
        return " Explaining factors in turn showed nothing that is clearly more."
    own = chosen.support[chosen.support.sum(axis=1) == 1].any(axis=0)
    hidden = int((~own).sum())
    without = {0: "each has an item of its own", 1: "1 has no item of its own"}
    said = without.get(hidden, f"{hidden} have no item of their own")
    return f" Found by explaining factors in turn; {said}."


def refuse_uncovered(support: BoolArray, names: tuple[str, ...], request: FitRequest) -> None:
    """Refuse a structure that leaves items out, if that was asked for."""
    out = [names[i] for i in np.flatnonzero(~support.any(axis=1))]
    if out and request.uncovered == "error":
        some = ", ".join(out[:5]) + (", ..." if len(out) > 5 else "")
        raise EstimationError(
            f"{len(out)} items are in no factor ({some}) and `uncovered` is 'error'. Use "
            "'attach' to give them to the factor they load on most, or 'report' to leave them out."
        )


def warn_of_hidden(items: ItemData, request: FitRequest) -> tuple[str, ...]:
    """Warn of dependence that the measure or the estimator does not see; return the warning.

    The copula compares structures by rank correlations, whatever they were read off. Curves of a
    given structure need no measure.
    """
    if request.draws_curves and (request.measure not in BRIDGES or request.search == GIVEN):
        return ()
    pairs = hidden_pairs(items.values)
    if not pairs:
        return ()
    first, names = pairs[0], items.names
    blamed = quote_names([names[i] for i in responsible_items(pairs)])
    more = f" and {len(pairs) - 1} more pairs" if len(pairs) > 1 else ""
    text = (
        f"Rank correlations miss how '{names[first.first]}' and '{names[first.second]}' depend "
        f"({first.rank_correlation:.2f}; {first.any_correlation:.2f} after the best functions)"
        f"{more}. Not increasing: {blamed}. "
        "The copula criterion is not to be trusted here; use fit(data, measure='maximal', "
        "estimator='spline')."
    )
    warn(text, EstimationWarning, stacklevel=4)
    return (text,)


def _warn_of_doubts(problem: Problem, estimate: FactorEstimate) -> Iterator[str]:
    """Warn of what makes the fit doubtful, and yield the warnings."""
    R, names = problem.latent.R, problem.dependence.names
    exact = estimate.uniquenesses <= 1.01 * LEAST_UNIQUENESS
    exact &= ~is_single(estimate.loadings)  # free of error by convention
    some = ", ".join([names[i] for i in np.flatnonzero(exact)][:5])
    doubts = {
        f"There are fewer rows ({problem.n}) than items ({len(R)}): the search is fine, but the "
        "fit cannot be tested.": problem.n < len(R),
        f"The factors explain {some} without error (Heywood case): an item nearly repeats "
        "another, or its factor has too few items to be sure.": bool(exact.any()),
        "The estimate did not converge; do not trust the loadings.": not estimate.converged,
    }
    if problem.latent.smoothed:  # the user was warned when it was done
        yield "The correlations had negative eigenvalues and were smoothed."
    for doubt in (text for text, holds in doubts.items() if holds):
        warn(doubt, EstimationWarning, stacklevel=5)
        yield doubt


def _warn_of_difficulty(items: ItemData, found: FitRecord) -> tuple[str, ...]:
    """Warn of factors that follow how hard the items are; return the warning."""
    if found.call.measure in LATENT or found.call.search == GIVEN:
        return ()
    pairs = difficulty_pairs(items.values, found.support, found.estimate)
    if not pairs:
        return ()
    names = found.factor_names
    told = ", ".join(f"{names[one.easier]} easier than {names[one.harder]}" for one in pairs[:3])
    told += ", ..." if len(pairs) > 3 else ""
    near = min(one.correlation for one in pairs)
    latent = "mixed" if "continuous" in items.kinds else "polychoric"
    text = (
        f"The factors follow how hard the items are ({told}); with polychoric correlations, which "
        f"do not depend on that, they correlate by {near:.2f}{' or more' * (len(pairs) > 1)} and "
        "may be one. Correlations of items with two or three answers shrink when one is easy and "
        f"the other hard; use fit(data, measure='{latent}')."
    )
    warn(text, EstimationWarning, stacklevel=4)
    return (text,)
