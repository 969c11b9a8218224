"""From data to a fit: dependence, search, choice, estimate.

What structures are searched in, how to run the search, and the search itself.

The warning that factors follow how hard the items are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast, get_args

import numpy as np

from dtstat.core import checks
from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.checkpoints import CheckpointFile
from dtstat.core.errors import EstimationError, EstimationWarning, InputError, silenced, warn
from dtstat.core.parallel import Jobs, Progress
from dtstat.curves.estimate import NONLINEAR
from dtstat.curves.result import NonlinearFit
from dtstat.data.checks import quote_names
from dtstat.data.items import ItemData, check_usable
from dtstat.dependence.compute import Missing, PairFunction, dependence_matrix
from dtstat.dependence.hidden import hidden_pairs, responsible_items
from dtstat.dependence.influence import Influence
from dtstat.dependence.matrix import DependenceMatrix
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
from dtstat.fit.request import FitCall
from dtstat.search.choose import GIVEN, Contender, contenders, explanation, ranking
from dtstat.search.evaluate import (
    CRITERIA,
    HELD_OUT,
    Evaluator,
    FitModel,
    HeldOut,
    Learn,
    Outcome,
    Proposal,
    Rules,
    cross_validate,
    folds,
    searching,
    split_rows,
    validate,
)
from dtstat.search.proposals import SEARCHES, assess, search_barcode, search_threshold
from dtstat.search.refine import SWEPT, refine
from dtstat.search.sequential import search_sequential
from dtstat.structure.barcode import barcode
from dtstat.structure.cliques import attached_items
from dtstat.structure.path import candidates

ESTIMATORS = ("copula", "linear", *NONLINEAR)
UNCOVERED = ("attach", "report", "error")
MISFIT = ("estimated", "none")
_FEWEST_ROWS = 3
_TOLERANCE, _TOLERANCE_OF_MANY = 1e-6, 1e-3  # gain in log-likelihood of a step that stands still
_OF_FACTORS = (
    "The items are factors of another fit. Their correlations are estimates, not observations: "
    "chi-square and RMSEA look better than they are."
)


@dataclass(frozen=True, eq=False)
class Choice:
    """Structures with their scores, the share of the rows that counted, what went before."""

    contenders: tuple[Contender, ...]
    share: float
    before: str = ""


def check_call(call: FitCall) -> None:
    """Refuse names that are not known."""
    checks.choice("search", call.search, (*SEARCHES, GIVEN))
    checks.choice("estimator", call.estimator, ESTIMATORS)
    checks.choice("criterion", call.criterion, CRITERIA)
    checks.choice("uncovered", call.uncovered, UNCOVERED)
    checks.choice("misfit", call.misfit, MISFIT)
    checks.choice("missing", call.missing, get_args(Missing))


def fit_items(items: ItemData, call: FitCall, work: Work) -> FitRecord:
    """Fit answers."""
    whole = prepare(items, call, work)
    learn = linear_marginals if call.estimator == "linear" else learn_marginals
    held: HeldOut | None = None
    if call.criterion in ("validation", "validation_2se"):
        fitted_rows, held_rows = split_rows(items.n_rows, cast(int, call.seed))
        part = items.take(fitted_rows)
        check_usable(part)
        searched = prepare(part, call, work)
        evaluator, outcome = search(searched, call, work)
        held = validate(evaluator.fitted, part.values, items.values[held_rows], learn)
    else:
        evaluator, outcome = search(whole, call, work)
        if call.criterion == "cv":
            held = _cross_validated(items, evaluator, call, work, learn)
    everything = contenders(evaluator.fitted, outcome.passed_over, outcome.n_effective, held)
    margins = learn(items.values)
    choice = Choice(everything, outcome.n_effective / evaluator.n_obs)
    notes = warn_of_hidden(items, call)
    facts = sample_facts(items, whole)
    found = result(whole, call, work, choice, facts, margins, notes=notes)
    return replace(found, notes=(*found.notes, *warn_of_difficulty(items, found)))


def warn_of_hidden(items: ItemData, call: FitCall) -> tuple[str, ...]:
    """Warn of dependence that the measure or the estimator does not see; return the warning.

    The copula compares structures by rank correlations, whatever they were read off. Curves of a
    given structure need no measure.
    """
    if call.estimator in NONLINEAR and (call.measure not in BRIDGES or call.search == GIVEN):
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
    warn(text, EstimationWarning, stacklevel=5)
    return (text,)


def sample_facts(items: ItemData, whole: Input) -> SampleFacts:
    """Count rows, kinds of items, and items with ties."""
    observed = (x[~np.isnan(x)] for x in items.values.T)
    return SampleFacts(
        items.n_rows,
        whole.dependence.n_obs or items.n_rows,
        items.complete_rows().n_rows,
        {kind: items.kinds.count(kind) for kind in dict.fromkeys(items.kinds)},
        sum(len(np.unique(x)) < len(x) for x in observed),
    )


def fit_matrix(matrix: DependenceMatrix, n_obs: int | None, call: FitCall, work: Work) -> FitRecord:
    """Fit a matrix of dependence, with the number of rows behind it."""
    n = matrix.n_obs if n_obs is None else n_obs
    if n is None:
        raise InputError(
            "`n_obs` must be given with a matrix that has none: every criterion weighs fit by the "
            "number of rows. Without it, solution_path() still lists the structures.",
            "n_obs",
        )
    if call.criterion in HELD_OUT:
        raise InputError(
            f"The criterion '{call.criterion}' holds out rows, and a matrix has none. Give the "
            "data, or use 'ebic', 'bic' or 'aic'.",
            "criterion",
        )
    if call.estimator == "linear" and matrix.measure != "pearson":
        raise InputError(
            f"The estimator 'linear' needs Pearson correlations; the matrix is of the measure "
            f"'{matrix.measure}'. Use the estimator 'copula', or give the data.",
            "estimator",
        )
    rows = checks.integer("n_obs", n, _FEWEST_ROWS, "It is the number of rows behind the matrix.")
    known = replace(matrix, n_obs=rows)
    n = rows if n_obs is not None else typical_rows(known)
    latent = latent_correlations(known)
    problem = Input(known, Source(latent, None), latent.R, n)
    evaluator, outcome = search(problem, call, work)
    counted = outcome.n_effective
    everything = contenders(evaluator.fitted, outcome.passed_over, counted, None)
    choice = Choice(everything, counted / problem.n)
    return result(problem, call, work, choice, None, None)


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
        options = {"criterion": "ebic", **options}  # a matrix has no rows to hold out
    if lower.call.search == GIVEN:
        options = {"search": "barcode", **options}
    call = replace(
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
    check_call(call)
    matrix = DependenceMatrix.from_matrix(Phi, lower.n_obs, names=lower.factor_names)
    found = fit_matrix(matrix, lower.n_obs, call, Work())
    return replace(found, stem="G", notes=(*found.notes, _OF_FACTORS))


def _reports_ratings(problem: Input, call: FitCall) -> bool:
    """Whether ratings are reported from other correlations than those they were searched in."""
    return call.estimator != "linear" and problem.latent.measure not in LATENT


def _cross_validated(
    items: ItemData, evaluator: Evaluator, call: FitCall, work: Work, learn: Learn
) -> HeldOut:
    fold = folds(items.n_rows, cast(int, call.seed))
    correlations = []
    for k in np.unique(fold):
        part = items.take(fold != k)
        check_usable(part)
        with silenced(EstimationWarning):  # said once, of all rows
            correlations.append(prepare(part, call, replace(work, progress=None)).latent.R)
    supports = [one.proposal.support for one in evaluator.fitted]
    return cross_validate(supports, items.values, correlations, fold, learn, work.progress)


def result(
    problem: Input,
    call: FitCall,
    work: Work,
    choice: Choice,
    sample: SampleFacts | None,
    margins: Marginals | None,
    curves: NonlinearFit | None = None,
    notes: tuple[str, ...] = (),
) -> FitRecord:
    """Choose, fit to all rows, and put everything together."""
    everything = choice.contenders
    order = ranking(everything, call.criterion)
    support = everything[order[0]].support
    support.setflags(write=False)
    matrix = problem.dependence
    bars = barcode(matrix.values, matrix.names, call.min_children)
    refuse_uncovered(support, problem.dependence.names, call)
    few = len(support) < MANY_ITEMS
    tolerance = _TOLERANCE if few else _TOLERANCE_OF_MANY
    estimate = fit_factors(problem.latent.R, problem.n, support, tolerance)
    reported = as_reported(
        problem.source,
        estimate,
        support,
        cast(int, matrix.n_obs),
        _reports_ratings(problem, call),
    )
    rest = [k for k in range(len(everything)) if k not in set(order)]
    attached = attached_items(bars, support)
    return FitRecord(
        call=call,
        dependence=matrix,
        latent=problem.latent,
        support=support,
        attached=attached if work.given is None else np.zeros_like(attached),
        estimate=estimate,
        reported=reported,
        n_obs=cast(int, matrix.n_obs),
        n_typical=problem.n,
        n_effective=min(choice.share, 1.0) * problem.n,
        contenders=tuple(everything[k] for k in [*order, *rest]),
        explanation=choice.before
        + explanation(everything, order, call.criterion)
        + _in_turn(call, everything[order[0]]),
        grid=work.grid,
        sample=sample,
        marginals=margins,
        notes=(*notes, *_warned(problem, reported.estimate)),
        nonlinear=curves,
        given_names=work.names,
    )


def _in_turn(call: FitCall, chosen: Contender) -> str:
    """Say what came of explaining factors in turn."""
    if call.search != "sequential":
        return ""
    if chosen.origin != SWEPT:
        return " Explaining factors in turn showed nothing that is clearly more."
    own = chosen.support[chosen.support.sum(axis=1) == 1].any(axis=0)
    hidden = int((~own).sum())
    without = {0: "each has an item of its own", 1: "1 has no item of its own"}
    said = without.get(hidden, f"{hidden} have no item of their own")
    return f" Found by explaining factors in turn; {said}."


def refuse_uncovered(support: BoolArray, names: tuple[str, ...], call: FitCall) -> None:
    """Refuse a structure that leaves items out, if that was asked for."""
    out = [names[i] for i in np.flatnonzero(~support.any(axis=1))]
    if out and call.uncovered == "error":
        listed = ", ".join(out[:5]) + (", ..." if len(out) > 5 else "")
        raise EstimationError(
            f"{len(out)} items are in no factor ({listed}) and `uncovered` is 'error'. Use "
            "'attach' to give them to the factor they load on most, or 'report' to leave them out."
        )


def _warned(problem: Input, estimate: FactorEstimate) -> Iterator[str]:
    """Warn of what makes the fit doubtful, and yield the warnings."""
    R, names = problem.latent.R, problem.dependence.names
    exact = estimate.uniquenesses <= 1.01 * LEAST_UNIQUENESS
    exact &= ~is_single(estimate.loadings)  # free of error by convention
    listed = ", ".join([names[i] for i in np.flatnonzero(exact)][:5])
    doubts = {
        f"There are fewer rows ({problem.n}) than items ({len(R)}): the search is fine, but the "
        "fit cannot be tested.": problem.n < len(R),
        f"The factors explain {listed} without error (Heywood case): an item nearly repeats "
        "another, or its factor has too few items to be sure.": bool(exact.any()),
        "The estimate did not converge; do not trust the loadings.": not estimate.converged,
    }
    if problem.latent.smoothed:  # the user was warned when it was done
        yield "The correlations had negative eigenvalues and were smoothed."
    for doubt in (text for text, holds in doubts.items() if holds):
        warn(doubt, EstimationWarning, stacklevel=6)
        yield doubt


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


def warn_of_difficulty(items: ItemData, fit: FitRecord) -> tuple[str, ...]:
    """Warn of factors found from other than latent correlations; return the warning."""
    if fit.call.measure in LATENT or fit.call.search == GIVEN:
        return ()
    pairs = difficulty_pairs(items.values, fit.support, fit.estimate)
    if not pairs:
        return ()
    names = fit.factor_names
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
    warn(text, EstimationWarning, stacklevel=5)
    return (text,)
