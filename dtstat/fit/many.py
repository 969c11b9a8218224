"""Whole fits of very many items, without anything of size p × p.

    answers, by columns ─► normal scores ─► graph of the strongest pairs ─► barcode ─► leaves
         ─► tree of joins ─► level ─► estimates block by block ─► record

Beyond :data:`MANY` items :func:`dtstat.fit` goes this way by itself, as far as the request allows.
The rules are those of fewer items; what differs is what would take p² numbers:

- cliques are those of the graph of pairs above the floor of chance, or above that at which items
  have 64 neighbors on average, if this is higher;
- latent correlations are those of normal scores (with Pearson's measure, of the answers), so that
  sums of them are products of sums of answers;
- factors are joined whole between the stages of :mod:`dtstat.search.joins`; what each split gains
  is judged by itself (:func:`dtstat.search.choose.least_of_splits`);
- the model is estimated by :mod:`dtstat.factors.blockwise`; there are no standard errors, and no
  test of fit;
- second loadings (``refine=True``) and factors that show only when others are explained
  (``search="sequential"``) are looked for along the edges of the graph
  (:mod:`dtstat.search.crossings`), and estimated by :mod:`dtstat.factors.crossed`.
"""

from __future__ import annotations

import math
import os
import tempfile
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.errors import EstimationWarning, InputError, warn
from dtstat.core.parallel import Jobs, track
from dtstat.data.description import SampleFacts
from dtstat.data.frame import DECIMALS, Frame, reorder
from dtstat.data.items import ItemData, ItemKind
from dtstat.data.sources import Columns, columns_of
from dtstat.dependence.compute import FEWEST_ROWS
from dtstat.dependence.on_demand import MOST_WHOLE, CorrelationsOnDemand
from dtstat.dependence.pearson import standardize_items
from dtstat.dependence.sparse import (
    MEMORY,
    chance_floor,
    crowd_floor,
    product_pairs,
    rows_to_stand_out,
)
from dtstat.dependence.spearman import average_ranks
from dtstat.factors.blockwise import ESTIMATOR, BlockModel, fit_blocks, judge_blocks
from dtstat.factors.copula import as_given
from dtstat.factors.crossed import CrossedModel, crossed_estimator
from dtstat.factors.derivatives import StandardErrors
from dtstat.factors.maximum_likelihood import LEAST_UNIQUENESS
from dtstat.factors.reported import ReportedModel
from dtstat.factors.scores import Marginals, learn_marginals, linear_marginals, normal_scores
from dtstat.fit.pipeline import refuse_uncovered
from dtstat.fit.record import FitRecord
from dtstat.fit.request import FitRequest, Run, check_n_factors
from dtstat.search.choose import least_of_splits, rank_levels, second_level, steps_of
from dtstat.search.criteria import HELD_OUT, INFORMATION, least_loading
from dtstat.search.crossings import explain_in_turn, refine_many
from dtstat.search.joins import grow, leaves
from dtstat.search.levels import pays_for_itself
from dtstat.search.ranking import Ranking, contenders, first_item_order, rank
from dtstat.search.records import TREE, Fitted, Outcome, Proposal
from dtstat.structure.barcode import Barcode, sparse_barcode
from dtstat.structure.cliques import attached_items
from dtstat.structure.composites import Composites, Neighbors
from dtstat.structure.groups import canonical_labels, overlaps

# Items beyond which fits go this way: at 1,000 it takes less than half of the time
# (benchmarks/results/scale_accuracy.md), and the dense way grows as their cube.
MANY = 1000
_NEIGHBORS = 64  # of an item on average, at most: the items of a factor are among them
_COLUMNS = 512  # read at a time
_FROM_FIT, _FROM_LEVEL = 7, 6  # calls from a warning up to the user's own line
_NAMED = {"spearman": "normal-score", "pearson": "pearson"}
UNTESTED = (
    "With so many items there is no test of fit and there are no standard errors: both need the "
    "covariances of all correlations. Test parts of the structure with cfa."
)


def open_many(data: Any) -> Columns | None:
    """Open data of more than ``MANY`` items for reading by columns; None if they have fewer."""
    if isinstance(data, pd.DataFrame | np.ndarray):
        wide = data.ndim == 2 and data.shape[1] > MANY
    elif isinstance(data, str | os.PathLike):
        wide = Path(data).suffix.lower() in (".npy", ".parquet")
    elif isinstance(data, ItemData):
        wide = data.n_items > MANY
    else:
        wide = hasattr(data, "__dask_graph__")
    if not wide:
        return None
    columns = columns_of(data)
    return columns if len(columns.names) > MANY else None


def take_many(data: Any, request: FitRequest) -> Columns | None:
    """Open data that are to be fitted without their whole matrix; None if they are not."""
    columns = open_many(data)
    return None if columns is None or _goes_whole(columns, request) else columns


def _goes_whole(columns: Columns, request: FitRequest) -> bool:
    """Whether what was asked for needs the whole matrix; refuse it of too many items."""
    asked = {
        f"the search '{request.search}'": request.search == "threshold",
        f"the estimator '{request.estimator}'": request.draws_curves,
        f"the criterion '{request.criterion}'": request.criterion in HELD_OUT,
        f"the measure '{request.measure}'": request.measure not in _NAMED,
        "factors of one item": request.min_children < 2,
    }
    whole = [name for name, holds in asked.items() if holds]
    if whole:
        _refuse_whole(columns, f"{whole[0]} needs")
    return bool(whole)


def _refuse_whole(columns: Columns, what: str) -> None:
    p = len(columns.names)
    if p > MOST_WHOLE:
        raise InputError(
            f"With more than {MOST_WHOLE} items {what} all correlations, {8e-9 * p**2:.3g} GB; got "
            f"{p} items. Fit them with the defaults first, then the items of some factors.",
            "data",
        )


@dataclass(frozen=True, eq=False)
class _Answers:
    """Answers as they are computed with.

    Z are normal scores, W ranks, both (p, n) and standardized; the same with Pearson's measure.
    Both are in the frame of the items, and so is all that is computed of them; names and margins
    are as given.
    """

    names: tuple[str, ...]
    Z: FloatArray
    W: FloatArray
    margins: Marginals
    facts: SampleFacts
    in_memory: bool
    frame: Frame

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.Z.shape[1])

    @property
    def floor(self) -> float:
        """Standard error of a correlation."""
        return 1 / math.sqrt(self.n)


def fit_many(columns: Columns, request: FitRequest, run: Run) -> FitRecord | None:
    """Fit answers; None if they have gaps and are few enough for the whole matrix."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        answers = _read(columns, request, run, folder)
        if answers is None:
            _refuse_whole(columns, "answers with gaps need")
            return None
        found = _fit(answers, request, run)
        if answers.in_memory:  # the record keeps them
            _reorder(answers, answers.frame.place)
        return found


def _read(columns: Columns, request: FitRequest, run: Run, folder: str) -> _Answers | None:
    """Read all columns, some at a time; on disk if they would take too much memory."""
    p, n = len(columns.names), columns.n_rows
    if n < FEWEST_ROWS:
        raise InputError(f"The data must have at least {FEWEST_ROWS} rows; got {n}.", "data")
    linear = request.estimator == "linear"
    ranked = request.measure == "spearman"
    arrays = 1 + int(ranked)
    in_memory = 8.0 * n * p * arrays <= 1e9 * MEMORY
    made: list[FloatArray] = []
    for k in range(arrays):
        where = f"{folder}/{k}"
        shape = (p, n)
        made.append(
            np.empty(shape) if in_memory else np.memmap(where, np.float64, "w+", shape=shape)
        )
    Z, W = made[0], made[-1]
    learn = linear_marginals if linear or not ranked else learn_marginals
    kinds: list[ItemKind] = []
    margins: list[Marginals] = []
    tied = 0
    spans = [*pairwise([*range(0, p - 1, _COLUMNS), p])]  # of two columns or more
    for start, stop in track(spans, run.progress, "answers"):
        part = columns.read(start, stop)
        X = part.values
        if np.isnan(X).any():
            return None
        at = slice(start, stop)
        if ranked:
            W[at] = standardize_items(average_ranks(X))
        Z[at] = standardize_items(normal_scores(X) if ranked and not linear else X)
        kinds += part.kinds
        margins.append(learn(X))
        tied += sum(len(np.unique(x)) < len(x) for x in X.T)
    facts = SampleFacts(n, n, n, {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}, tied)
    joined = Marginals(
        tuple(a for one in margins for a in one.answers),
        tuple(a for one in margins for a in one.scores),
        tuple(a for one in margins for a in one.thresholds),
    )
    return _in_frame(_Answers(columns.names, Z, W, joined, facts, in_memory, Frame.as_they_are(p)))


def _in_frame(answers: _Answers) -> _Answers:
    """Put items, and people, in their frame; no second copy of the answers is made."""
    frame, people = Frame.of_many(answers.Z)
    _reorder(answers, frame.order, people)
    return replace(answers, frame=frame)


def _reorder(answers: _Answers, order: IntArray, people: IntArray | None = None) -> None:
    """Put the items, and in each the people, in another order, where they are."""
    for Z in (answers.Z,) if answers.W is answers.Z else (answers.Z, answers.W):
        reorder(Z, order, people)


def _fit(answers: _Answers, request: FitRequest, run: Run) -> FitRecord:
    check_n_factors(request.n_factors, request, len(answers.names))
    bars, neighbors = _graph(answers, request, run)
    smallest = request.min_children
    start = leaves(answers.Z, bars, neighbors, smallest, answers.floor, run.n_jobs)
    if request.n_factors is not None and request.n_factors > start.n_groups:
        raise InputError(
            f"`n_factors` must be at most {start.n_groups}, the factors that the graph of the "
            f"strongest pairs starts from; got {request.n_factors}. Ask for fewer.",
            "n_factors",
        )
    levels = grow(start, neighbors, smallest, run.n_jobs, run.progress)
    rules = request.rules
    n: float = answers.n
    if rules.approximate:
        near = least_of_splits(levels.prices, levels.asked, rules, n)
        model = _model(answers, levels[near].labels, neighbors, smallest, run.n_jobs)
        n = judge_blocks(answers.Z, model).n_effective
    supported = least_of_splits(levels.prices, levels.asked, rules, n) + 1
    levels = replace(levels, steps=steps_of(levels.prices, n))
    order = rank_levels(levels.steps, levels.correlations, supported)
    if request.criterion in INFORMATION and request.search == "tree":
        order = [supported]
    answer = request.n_factors or order[0]
    second = second_level(levels.steps, order, answer)
    labels = levels[answer - 1].labels
    levels = levels.as_given(answers.frame)
    found = Outcome(_nothing(answers), n, (), levels, supported, second)
    return _conclude(answers, request, run, found, labels, bars, neighbors, _FROM_FIT)


def _nothing(answers: _Answers) -> Fitted:
    """Items taken for independent."""
    p, n = len(answers.names), answers.n
    labels = np.full(p, -1)
    model = BlockModel(labels, np.zeros(p), np.ones(p), np.zeros((0, 0)), 0.0, 0.0)
    log_likelihood = -n * p / 2 * (math.log(2 * math.pi) + 1)
    return Fitted(Proposal(model.support, TREE), log_likelihood, n, model.estimate(log_likelihood))


def _graph(answers: _Answers, request: FitRequest, run: Run) -> tuple[Barcode, Neighbors]:
    """Find the strongest pairs, and the cliques that they make."""
    W, measure = answers.W, request.measure
    names = tuple(answers.names[i] for i in answers.frame.order)
    floor = max(chance_floor(measure, answers.n, len(names)), crowd_floor(W, _NEIGHBORS))
    pairs = product_pairs(W, names, measure, floor, run.n_jobs, run.progress)
    # In later digits the order of sums shows.
    strength = np.round(np.abs(pairs.values), DECIMALS).astype(np.float64, copy=False)
    graph = pairs.starts, pairs.neighbors, strength
    jobs = run.n_jobs
    bars = sparse_barcode(*graph, floor, names, request.min_children, jobs, run.progress)
    return bars, Neighbors(pairs.starts, pairs.neighbors)


def _model(
    answers: _Answers, labels: IntArray, neighbors: Neighbors | None, smallest: int, n_jobs: Jobs
) -> BlockModel:
    """Sort the items anew, among the factors of their neighbors and then among all, and fit."""
    groups = Composites(answers.Z, labels, answers.floor)
    if neighbors is not None:
        groups.settle(neighbors, smallest)
    groups.settle_everywhere(smallest, n_jobs)
    return fit_blocks(answers.Z, canonical_labels(groups.labels), answers.floor, n_jobs)


def _conclude(
    answers: _Answers,
    request: FitRequest,
    run: Run,
    outcome: Outcome,
    labels: IntArray,
    bars: Barcode | None,
    neighbors: Neighbors | None,
    stacklevel: int,
) -> FitRecord:
    """Fit a level, and put everything together, brought back to the items as they are given.

    Labels of the level and the barcode are in the frame, what was found before is not.
    """
    rules, n, k = request.rules, outcome.n_effective, int(labels.max()) + 1
    model = _model(answers, labels, neighbors, rules.min_children, run.n_jobs)
    out = np.abs(model.loadings) < least_loading(rules.criterion, k, n)
    attached = np.zeros(len(labels), dtype=bool)
    if bars is not None:
        attached = attached_items(bars, model.support)
    if not rules.attach:
        out |= attached
    if out.any():
        kept = _without(model.labels, out, rules.min_children)
        model = fit_blocks(answers.Z, kept, answers.floor, run.n_jobs)
    holds = pays_for_itself(model.gain, model.support, rules, float(answers.n))
    if request.n_factors is None and not holds:
        fitted = outcome.best
        outcome = replace(outcome, second=None)
        notes: tuple[str, ...] = ()
    else:
        simple = whole = CrossedModel.of(model)
        if request.search == "sequential" and neighbors is not None:
            whole = explain_in_turn(
                answers.Z, whole, neighbors, answers.names, rules, n, run.n_jobs, run.progress
            )
        if request.refine:
            whole = refine_many(answers.Z, whole, neighbors, rules, n, run.progress)
        fit = judge_blocks(answers.Z, whole)
        estimate = whole.estimate(fit.log_likelihood)
        fitted = Fitted(Proposal(whole.support, TREE), fit.log_likelihood, answers.n, estimate)
        how = ESTIMATOR if whole is simple else crossed_estimator(whole)
        notes = tuple(_notes(answers, whole, how, request, stacklevel))
    frame = answers.frame
    factors = first_item_order(fitted.proposal.support[frame.place])
    fitted = replace(
        fitted,
        proposal=replace(fitted.proposal, support=fitted.proposal.support[frame.place][:, factors]),
        estimate=as_given(fitted.estimate, frame, factors),
    )
    bars = None if bars is None else bars.as_given(answers.names, frame.order)
    choice = rank(
        contenders([fitted], (), n, None),
        request.criterion,
        n / answers.n,
        replace(outcome, best=fitted),
        request.n_factors is not None,
    )
    return _record(
        answers,
        request,
        choice,
        fitted,
        attached[frame.place] & fitted.proposal.support.any(axis=1),
        bars,
        notes,
    )


def _without(labels: IntArray, out: BoolArray, smallest: int) -> IntArray:
    """Take items out, but from no factor so many that it becomes too small."""
    kept = np.bincount(labels[~out], minlength=int(labels.max()) + 1)
    out = out & (kept >= smallest)[labels]
    found = np.full(len(labels), -1)
    found[~out] = canonical_labels(labels[~out])
    return found


def _notes(
    answers: _Answers, model: CrossedModel, how: str, request: FitRequest, stacklevel: int
) -> list[str]:
    """Say, and where it is a doubt warn of, what is special about this fit."""
    p, n, k = len(answers.names), answers.n, len(model.factor_correlations)
    notes = [f"{p} items: found without the whole matrix of correlations. {how}"]
    ratings = set(answers.facts.kinds) - {"continuous"}
    if ratings and request.estimator != "linear":
        notes.append(
            "Ratings were taken by their normal scores, not as ratings: loadings are smaller than "
            "those of the variables behind them."
        )
    if model.weight:
        notes.append(
            f"{n} rows are too few for all correlations of {k} factors: as computed no variables "
            f"could have them, and they were moved {100 * model.weight:.0f} % of the way to their "
            "mean."
        )
    doubts = []
    if n < p:
        floor = chance_floor(request.measure, n, p)
        half, third = (rows_to_stand_out(request.measure, r, p) for r in (0.5, 0.3))
        doubts.append(
            f"There are fewer rows ({n}) than items ({p}). If people are in columns, "
            "transpose the data. By chance alone an item has one other with which it correlates by "
            f"more than {floor:.2f}; a correlation of 0.5 is above chance from {half} rows on, one "
            f"of 0.3 from {third}."
        )
    exact = np.flatnonzero(model.uniquenesses <= 1.01 * LEAST_UNIQUENESS)
    if len(exact):
        some = ", ".join(answers.names[i] for i in np.sort(answers.frame.order[exact])[:5])
        doubts.append(
            f"The factors explain {some} without error (Heywood case): an item nearly repeats "
            "another, or its factor has too few items to be sure."
        )
    for doubt in doubts:
        warn(doubt, EstimationWarning, stacklevel=stacklevel)
    return [*notes, *doubts]


def _record(
    answers: _Answers,
    request: FitRequest,
    choice: Ranking,
    fitted: Fitted,
    attached: BoolArray,
    bars: Barcode | None,
    notes: tuple[str, ...],
) -> FitRecord:
    outcome, support = choice.outcome, choice.contenders[0].support
    assert outcome is not None
    support.setflags(write=False)
    names, n = answers.names, answers.n
    refuse_uncovered(support, names, request)
    Z, W = (answers.Z, answers.W) if answers.in_memory else (None, None)
    measure = "pearson" if request.estimator == "linear" else _NAMED[request.measure]
    dependence = CorrelationsOnDemand(names, request.measure, n, W)
    latent = CorrelationsOnDemand(names, measure, n, Z)
    p, d = support.shape
    # One number that looks like a matrix of it.
    unknown = StandardErrors(np.broadcast_to(np.nan, (p, d)), np.broadcast_to(np.nan, (d, d)))
    return FitRecord(
        call=request,
        dependence=dependence,
        latent=latent,
        support=support,
        attached=attached,
        estimate=fitted.estimate,
        reported=ReportedModel(latent, fitted.estimate, unknown, None, UNTESTED),
        n_obs=n,
        n_typical=n,
        n_effective=min(choice.share, 1.0) * n,
        contenders=choice.contenders,
        explanation=choice.explanation,
        grid=None,
        sample=answers.facts,
        marginals=answers.margins,
        notes=notes,
        tree=outcome.levels,
        supported=outcome.supported,
        second=outcome.second,
        barcode=bars,
    )


def many_at_level(
    found: FitRecord, k: int, names: tuple[str, ...], signs: tuple[int, ...]
) -> FitRecord:
    """Fit another level of the tree of such a fit."""
    Z = found.latent.rows if isinstance(found.latent, CorrelationsOnDemand) else None
    W = found.dependence.rows if isinstance(found.dependence, CorrelationsOnDemand) else None
    if Z is None or W is None:
        raise InputError(
            "Another level is fitted to the answers, which are not there: the fit is from a file, "
            "or they were read from disk. Fit the data again with n_factors.",
        )
    assert found.marginals is not None
    assert found.sample is not None
    own = Frame.as_they_are(len(Z))
    known = _Answers(found.item_names, Z, Z, found.marginals, found.sample, True, own)
    # Other results, perhaps in other threads, have the same rows, so that a copy is moved.
    answers = _in_frame(replace(known, Z=(moved := Z.copy()), W=moved))
    request = replace(found.call, n_factors=k)
    second = found.n_factors if found.n_factors != k else found.second
    n = found.n_effective
    outcome = Outcome(_nothing(answers), n, (), found.tree, found.supported, second)
    run = Run(request.measure)
    labels, bars = found.tree[k - 1].labels[answers.frame.order], found.barcode
    if bars is not None:
        framed = tuple(found.item_names[i] for i in answers.frame.order)
        bars = bars.as_given(framed, answers.frame.place)
    made = _conclude(
        answers, request, run, outcome, canonical_labels(labels), bars, None, _FROM_LEVEL
    )
    reported = replace(made.reported, latent=found.latent)
    made = replace(made, latent=found.latent, dependence=found.dependence, reported=reported)
    order = overlaps(found.tree[k - 1].labels, made.support).argmax(axis=0)
    if len(set(order.tolist())) < k:  # items moved so far that names do not carry over
        return replace(made, item_texts=found.item_texts)
    return replace(
        made,
        given_names=tuple(names[j] for j in order),
        signs=tuple(signs[j] for j in order) if signs else (),
        item_texts=found.item_texts,
    )
