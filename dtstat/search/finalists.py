"""The best few structures of a search, fitted with curves and compared by their likelihoods.

Copula models cost milliseconds and say which structures are worth the second that curves cost. All
finalists are fitted with the same random numbers, so that chance favors none of them. A
checkpoint keeps each when it is fitted.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.checkpoints import Ledger, Resumable, digest
from dtstat.core.errors import EstimationError, EstimationWarning, InputError, silenced
from dtstat.core.parallel import Jobs, Outcomes, Progress, run, track
from dtstat.core.saved import from_bytes, register, to_bytes
from dtstat.curves.estimate import Method, NonlinearEstimate, answers_log_likelihood, fit_nonlinear
from dtstat.curves.likelihood import Independence, LogLikelihood
from dtstat.curves.scales import AnswerScale, better_by_scores
from dtstat.factors.copula import FactorEstimate, fit_factors
from dtstat.factors.scores import normal_scores
from dtstat.search.held_out import HeldOut
from dtstat.search.ranking import by_first_item
from dtstat.search.records import Fitted, Proposal, Scored

Levels = Sequence[Sequence[float] | None]
_DRAWS = 60  # of the factors a row, for the likelihood of the rows fitted
_RUNS = 2
_FAR = 0.1  # nats a row: what curves hardly make good
U = TypeVar("U")


@dataclass(frozen=True)
class Curves:
    """How finalists are fitted.

    Attributes
    ----------
    method
        The estimator.
    likelihood, draws
        How likelihoods of held-out rows are estimated, and from how many draws a row.
    seed
        Of all random numbers.
    n_jobs
        Finalists fitted at a time.
    saved
        Where finalists are kept as they come; None for nowhere.
    """

    method: Method
    likelihood: str
    draws: int
    seed: int
    n_jobs: Jobs = None
    saved: Resumable[Tried] | None = None

    @property
    def runs(self) -> int:
        """Independent runs of the estimation: two of splines, one of a network, which costs more.

        Draws of one run do not show how far another would end from it.
        """
        return _RUNS if self.method.takes_ratings else 1

    def rng(self, run: int = 0) -> np.random.Generator:
        """Start the random numbers of a run, the same for every finalist."""
        return np.random.default_rng([self.seed, run] if run else self.seed)


@register(shapes={"runs": "*"})
@dataclass(frozen=True, eq=False)
class Finalist(Scored):
    """A structure with fitted curves.

    Attributes
    ----------
    start
        The copula model.
    estimate
        The nonlinear one.
    likelihood
        Of the rows, with the Monte Carlo error of its estimation.
    runs
        Log-likelihoods of independent runs of the estimation, the most likely of which is kept.
    """

    start: FactorEstimate
    estimate: NonlinearEstimate
    likelihood: LogLikelihood
    runs: FloatArray

    @property
    def run_sd(self) -> float:
        """Standard deviation of the log-likelihood from run to run; 0 if there was one only."""
        return float(np.std(self.runs, ddof=1)) if len(self.runs) > 1 else 0.0

    @property
    def monte_carlo_se(self) -> float:
        """Standard error of the log-likelihood, from its draws and from run to run.

        The draws' part is in both: of two runs that agree by luck it is what remains.
        """
        return math.hypot(self.likelihood.standard_error, self.run_sd)

    @property
    def apart(self) -> float:
        """How far runs ended apart, in errors of their draws."""
        error = math.sqrt(2) * self.likelihood.standard_error
        return float(np.ptp(self.runs)) / error if error else 0.0

    @property
    def n_parameters(self) -> float:
        """Effective number of parameters."""
        return self.estimate.n_parameters


Tried = Finalist | EstimationError | InputError


@dataclass(frozen=True, eq=False)
class CurveRows:
    """Rows to fit: answers, their levels (None for continuous items), latent correlations.

    ``by_scores``: (p,) which items are known by their normal scores; None for none of them. All
    structures are compared on one scale.
    """

    X: FloatArray
    levels: Levels
    R: FloatArray
    n_obs: int
    by_scores: BoolArray | None = None

    @cached_property
    def scale(self) -> AnswerScale:
        """How answers are coded."""
        return AnswerScale.learn(self.X, self.levels, self.by_scores)

    def margins(self) -> Independence:
        """Learn the model without factors."""
        return Independence.learn(self.X, self.scale)

    def on_scale_of(self, proposal: Proposal) -> CurveRows:
        """Choose the items known by their normal scores, with the factors of a structure."""
        support = proposal.support
        start = fit_factors(self.R, self.n_obs, support)
        scores = normal_scores(self.X)
        return replace(self, by_scores=better_by_scores(self.X, support, start, scores))


@dataclass(frozen=True, eq=False)
class Unrelated(Scored):
    """No factor at all: the answer when items are independent."""

    margins: Independence

    @classmethod
    def of(cls, answers: CurveRows) -> Unrelated:
        """Fit margins only."""
        margins = answers.margins()
        proposal = Proposal(np.zeros((answers.X.shape[1], 0), dtype=bool), "no factor")
        total = float(margins.rows(answers.X).sum())
        return cls(proposal, total, len(answers.X), margins)

    @property
    def n_parameters(self) -> float:
        """Parameters of the margins."""
        return self.margins.n_parameters


def most_promising(fitted: Sequence[Fitted], criterion: str, n: float, most: int) -> list[Proposal]:
    """Return the structures of least cost that have factors, the best first.

    Of more than ``most``, from the third on, those whose likelihood is far behind are left out.

    Their factors are in the order of their first items, so that curves need no sorting later.
    """
    known = sorted((one for one in fitted if one.n_factors), key=lambda o: o.cost(criterion, n))
    if most < len(known):
        limit = known[0].log_likelihood - _FAR * known[0].n_obs
        known = known[:2] + [one for one in known[2:] if one.log_likelihood > limit]
    return [
        replace(one.proposal, support=by_first_item(one.proposal.support)) for one in known[:most]
    ]


def fit_finalists(
    proposals: Sequence[Proposal], answers: CurveRows, curves: Curves, progress: Progress = None
) -> list[Finalist]:
    """Fit curves to each structure, and estimate the likelihood of the rows they were fitted to.

    Structures that cannot be fitted (factors that cannot be told apart, so that the sampler
    freezes; too many coefficients for the rows) are left out; if all are, the first reason is
    raised.
    """
    inner = progress if progress is True and curves.n_jobs in (None, 1) else None

    def one(proposal: Proposal) -> Tried:
        # Of the chosen one the result tells. Here, because each thread is silenced by itself.
        with silenced(EstimationWarning):
            try:
                return _fit(proposal, answers, curves, inner)
            except (EstimationError, InputError) as error:
                return error

    if curves.saved is None:
        done = run(one, proposals, curves.n_jobs, threads=True)
    else:
        keys = [_key(proposal, answers, curves) for proposal in proposals]
        done = curves.saved.run(one, proposals, keys, curves.n_jobs, threads=True)
    found = _in_order(done, len(proposals), progress, "structures")
    # From a file or another process comes a copy of the proposal, and callers look for their own.
    finalists = [
        replace(one, proposal=own)
        for own, one in zip(proposals, found, strict=True)
        if isinstance(one, Finalist)
    ]
    if not finalists:
        raise next(error for error in found if isinstance(error, Exception))
    return finalists


def _key(proposal: Proposal, answers: CurveRows, curves: Curves) -> str:
    """Name a fit by all it depends on: the same structure may be fitted to several parts."""
    how = f"{curves.method} {curves.seed}"
    return digest([how, proposal.support, answers.X, answers.R, answers.scale.by_scores])


def _fit(proposal: Proposal, answers: CurveRows, curves: Curves, progress: Progress) -> Finalist:
    """Run the estimation as often as it takes to see its own variation; keep the best run."""
    found: list[tuple[FactorEstimate, NonlinearEstimate, LogLikelihood]] = []
    for number in range(curves.runs):
        try:
            found.append(_run(proposal, answers, curves, number, progress))
        except EstimationError:
            if number == curves.runs - 1 and not found:
                raise
    runs = np.array([likelihood.total for _, _, likelihood in found])
    start, estimate, likelihood = found[int(runs.argmax())]
    # A run that froze is reported, whether it is the one kept or not.
    froze = max(int(len(found) < curves.runs), *(one.restarts for _, one, _ in found))
    estimate = replace(estimate, restarts=froze)
    return Finalist(proposal, likelihood.total, len(answers.X), start, estimate, likelihood, runs)


def _run(
    proposal: Proposal, answers: CurveRows, curves: Curves, number: int, progress: Progress
) -> tuple[FactorEstimate, NonlinearEstimate, LogLikelihood]:
    rng = curves.rng(number)
    start, estimate = _estimate(proposal, answers, curves, rng, progress)
    model, scale = estimate.model, estimate.scale
    found = answers_log_likelihood(model, scale, answers.X, rng, draws=_DRAWS)
    return start, estimate, found


def _estimate(
    proposal: Proposal,
    answers: CurveRows,
    curves: Curves,
    rng: np.random.Generator,
    progress: Progress = None,
) -> tuple[FactorEstimate, NonlinearEstimate]:
    X = answers.X
    start = fit_factors(answers.R, answers.n_obs, proposal.support)
    scores = normal_scores(X)
    support = proposal.support
    return start, fit_nonlinear(
        X, answers.scale, support, start, scores, curves.method, rng, progress
    )


def validate_curves(
    finalists: Sequence[Finalist], held: FloatArray, curves: Curves, progress: Progress = None
) -> HeldOut:
    """Score finalists on rows that were not fitted, with the errors of draws and runs."""

    def one(finalist: Finalist) -> LogLikelihood:
        rng = curves.rng()
        model, scale = finalist.estimate.model, finalist.estimate.scale
        return answers_log_likelihood(model, scale, held, rng, curves.likelihood, curves.draws)

    done = run(one, finalists, curves.n_jobs, threads=True)
    found = _in_order(done, len(finalists), progress, "held-out rows")
    # Runs are taken to differ as much per row here as in the rows fitted.
    from_run_to_run = np.array([one.run_sd * len(held) / one.n_obs for one in finalists])
    errors = np.hypot([likelihood.standard_error for likelihood in found], from_run_to_run)
    return HeldOut(np.array([likelihood.rows for likelihood in found]), errors)


def cross_validate_curves(
    proposals: Sequence[Proposal],
    folds: Sequence[tuple[CurveRows, FloatArray]],
    curves: Curves,
    progress: Progress = None,
) -> tuple[HeldOut, list[int]]:
    """Score structures on each fold, with curves from the other folds.

    Parameters
    ----------
    proposals
        The structures.
    folds
        For each fold the rows outside it, and the answers in it.
    curves, progress
        As in :func:`fit_finalists`.

    Returns
    -------
    held, kept
        Likelihoods of the structures that could be fitted in every fold, and which these are.
    """
    rows: dict[int, list[FloatArray]] = {k: [] for k in range(len(proposals))}
    variances = np.zeros(len(proposals))
    for answers, held in track(folds, progress, "folds"):
        finalists = fit_finalists(proposals, answers, curves)
        found = validate_curves(finalists, held, curves)
        places = [_place(one.proposal, proposals) for one in finalists]
        for k, own in zip(places, found.rows, strict=True):
            rows[k].append(own)
        variances[places] += 0.0 if found.errors is None else found.errors**2
    kept = [k for k, parts in rows.items() if len(parts) == len(folds)]
    if not kept:
        raise EstimationError(
            "No structure could be fitted in every fold. Use another criterion, or the estimator "
            "'copula'."
        )
    together = np.array([np.concatenate(rows[k]) for k in kept])
    return HeldOut(together, np.sqrt(variances[kept])), kept


def _place(proposal: Proposal, among: Sequence[Proposal]) -> int:
    return next(k for k, one in enumerate(among) if one is proposal)


def _in_order(done: Outcomes[U], count: int, progress: Progress, label: str) -> list[U]:
    found = dict(track(done, progress, label, count))
    return [found[k] for k in range(count)]


def saved_finalists(ledger: Ledger) -> Resumable[Tried]:
    """Return what keeps structures fitted with curves, and why others could not be."""
    return Resumable(ledger, "structure", _encode, _decode)


def _encode(tried: Tried) -> Any:
    if isinstance(tried, Exception):
        about = getattr(tried, "argument", None)
        return {"error": type(tried).__name__, "text": str(tried), "argument": about}
    return {"fitted": base64.b64encode(to_bytes(tried)).decode()}


def _decode(written: Any) -> Tried:
    if "error" in written:
        if written["error"] == InputError.__name__:
            return InputError(written["text"], written["argument"])
        return EstimationError(written["text"])
    finalist: Finalist = from_bytes(base64.b64decode(written["fitted"]), "checkpoint")
    return finalist
