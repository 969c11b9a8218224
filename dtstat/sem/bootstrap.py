"""The bootstrap of a fitted model: ``bootstrap``.

Rows are drawn with replacement, within each group, and the model is fitted to them. The spread of
the estimates gives standard errors; intervals at level 1 − 2α of a parameter with estimate θ̂ are
made from the quantiles Q of its values θ* (Davison & Hinkley 1997, ch. 5):

    percentile   Q(α), Q(1 − α)
    basic        2θ̂ − Q(1 − α), 2θ̂ − Q(α)
    bca          Q(Φ(z + (z + z_α) / (1 − a (z + z_α)))), and the same with 1 − α

with z = Φ⁻¹ of the share of θ* below θ̂ (bias) and the acceleration a = Σ U³ / (6 (Σ U²)^(3/2)),
where U are the deviations of a jackknife that leaves out one block of rows at a time (Efron 1987).

Percentile intervals are the default: for an indirect effect they came closest to 95 % of the three,
.926 to .962 over 18 designs with normal and skewed answers and 150 to 500 rows (bca .920 to .952,
basic .910 to .988; benchmarks/sem_inference/indirect.py, 500 data sets each). Monte Carlo intervals
(:mod:`dtstat.sem.defined`) are closer still, for what the model defines by ``:=``.

The test of Bollen & Stine (1992) draws from rows that are transformed so that the model holds:
y = μ + Σ^(1/2) S^(−1/2) (x − x̄). Its p value is the share of chi-squares above the one observed.

References
----------
Bollen, K. A. & Stine, R. A. (1992). Bootstrapping goodness-of-fit measures in structural equation
models. Sociological Methods & Research 21, 205-229.
Davison, A. C. & Hinkley, D. V. (1997). Bootstrap methods and their application. Cambridge.
Efron, B. (1987). Better bootstrap confidence intervals. Journal of the American Statistical
Association 82, 171-185.
"""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.checkpoints import (
    CheckpointFile,
    Resumable,
    checkpoint_seed,
    digest,
    open_checkpoint,
)
from dtstat.core.checks import Seed, seed_number
from dtstat.core.errors import (
    DTError,
    EstimationError,
    EstimationWarning,
    InputError,
    silenced,
    warn,
)
from dtstat.core.parallel import Jobs, Progress, check_jobs, run, track
from dtstat.core.saved import Saved, register
from dtstat.core.tables import Printed, Summary, Table
from dtstat.data.containers import as_frame
from dtstat.data.frame import rows_by_content
from dtstat.data.items import as_items
from dtstat.sem.api import cfa
from dtstat.sem.comparison import check_fit
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.groups import group_labels
from dtstat.sem.result import CFAFit
from dtstat.sem.solution import reversal_signs

INTERVALS = ("percentile", "bca", "basic")
_BLOCKS = 200  # most blocks of the jackknife
_FEWEST = 20  # fits that quantiles can be taken of
_SAME = 1e-4  # relative distance of estimates from the same data
_SHOWN = 40  # rows in a summary
Piece = tuple[str, int]


@register(shapes={"values": "br", "chisq": "b", "acceleration": "r", "test_chisq": "*"})
@dataclass(frozen=True, eq=False, repr=False)
class Bootstrap(Saved, Printed):
    """A bootstrapped model.

    Attributes
    ----------
    fit
        The fit to all rows.
    values, chisq
        (fits, parameters) estimates, and the chi-square, of each resample that could be fitted.
    acceleration
        Of each parameter, for BCa intervals.
    test_chisq
        Chi-squares of resamples in which the model holds (Bollen & Stine); empty if not asked for.
    n_asked, seed
        Resamples that were asked for, and their seed.
    """

    fit: CFAFit
    values: FloatArray
    chisq: FloatArray
    acceleration: FloatArray
    test_chisq: FloatArray
    n_asked: int
    seed: int

    @property
    def n_failed(self) -> int:
        """Resamples to which the model could not be fitted."""
        return self.n_asked - len(self.values)

    @property
    def pvalue(self) -> float:
        """P value of the test of Bollen & Stine; NaN if it was not asked for."""
        if not len(self.test_chisq):
            return float("nan")
        return float((self.test_chisq >= self.fit.estimate.test.chisq).mean())

    def parameters(self, interval: str = "percentile", level: float = 0.95) -> pd.DataFrame:
        """One row per parameter, with bootstrap standard errors and intervals.

        Parameters
        ----------
        interval
            "percentile", "bca" or "basic".
        level
            Confidence level.

        Returns
        -------
        DataFrame
            lhs, op, rhs, group if there are groups, label, est, se, bias, ci.lower, ci.upper; fixed
            parameters have se 0.
        """
        kind = checks.choice("interval", interval, INTERVALS)
        alpha = (1 - checks.open_unit("level", level, "A confidence level, such as 0.95.")) / 2
        table = self.fit.parameters
        kept = [name for name in ("lhs", "op", "rhs", "group", "label", "est") if name in table]
        table = table[kept].copy()
        table["se"] = self.values.std(axis=0, ddof=1)
        table["bias"] = self.values.mean(axis=0) - table["est"]
        limits = [
            _limits(kind, alpha, self.values[:, k], float(est), float(self.acceleration[k]))
            for k, est in enumerate(table["est"])
        ]
        table["ci.lower"], table["ci.upper"] = zip(*limits, strict=True)
        return table

    def summary(self, interval: str = "percentile", level: float = 0.95) -> Summary:
        """Lay out standard errors and intervals to print."""
        table = self.parameters(interval, level)
        shown = table[table["se"] > 0].head(_SHOWN)
        head = [repr(self)]
        if len(self.test_chisq):
            head.append(
                f"Bollen-Stine test: p = {self.pvalue:.3f}, the share of {len(self.test_chisq)} "
                "resamples in which the model holds with a larger chi-square."
            )
        title = f"Bootstrap standard errors and {float(level):.0%} {interval} intervals"
        return Summary(tuple(head), (Table.from_frame(shown, title),))

    def __repr__(self) -> str:
        failed = f", {self.n_failed} not fitted" if self.n_failed else ""
        return (
            f"Bootstrap: {len(self.values)} resamples of {self.fit.n_obs} rows{failed}, "
            f"seed {self.seed}"
        )


def bootstrap(
    fit: CFAFit,
    data: Any,
    n_boot: int = 1000,
    seed: Seed = None,
    test: bool = False,
    n_jobs: Jobs = None,
    progress: Progress = None,
    checkpoint: CheckpointFile = None,
) -> Bootstrap:
    """Resample rows for standard errors and intervals of all parameters, and test the model.

    Parameters
    ----------
    fit
        Result of :func:`dtstat.cfa` or :func:`dtstat.sem`.
    data
        The data it was fitted to; a fit does not keep them.
    n_boot
        Number of resamples.
    seed
        Whole number; None for a fresh one, recorded in the result, or that of ``checkpoint``. The
        result is the same for any ``n_jobs``.
    test
        Whether to add the test of Bollen & Stine, which needs as many fits again; for rows without
        gaps, by "ml" or "mlr".
    n_jobs, progress
        Workers, as in :func:`dtstat.dependence`, and progress.
    checkpoint
        File to which each resample is added when done. The same call resumes where that file ends.

    Returns
    -------
    Bootstrap

    Raises
    ------
    InputError
        If the data are not those of the fit.
    EstimationError
        If hardly any resample could be fitted.

    Warns
    -----
    EstimationWarning
        If some resamples could not be fitted: they are left out.

    Examples
    --------
    >>> import dtstat as dt
    >>> data = dt.load_dataset("political_democracy")
    >>> model = "y5 ~ b*y1 + c*x1; y1 ~ a*x1; indirect := a*b"
    >>> found = dt.bootstrap(dt.sem(data, model), data, n_boot=200, seed=1)
    >>> found
    Bootstrap: 200 resamples of 75 rows, seed 1
    >>> table = found.parameters("bca").set_index("lhs")
    >>> bool(table.loc["indirect", "ci.lower"] > 0)
    True
    """
    check_fit("fit", fit)
    count = checks.repeats("n_boot", n_boot, 2, "1000 is usual.")
    wanted = checks.flag("test", test, "True adds the test of Bollen & Stine.")
    jobs = check_jobs(n_jobs)
    number = seed_number(checkpoint_seed(checkpoint) if seed is None else seed)
    frame = _rows(fit, data)
    work = _Refit(fit, frame, number, _transformed(fit, frame) if wanted else None)
    n = len(frame)
    pieces: list[Piece] = [("resample", k) for k in range(count)]
    pieces += [("block", k) for k in range(min(n, _BLOCKS))]
    pieces += [("test", k) for k in range(count)] if wanted else []
    ledger = open_checkpoint(
        checkpoint,
        {
            "work": "bootstrap",
            "data": digest([frame.to_csv(index=False)]),
            "model": fit.call.model,
            "estimator": fit.call.estimator,
            "seed": number,
        },
    )
    results = run(work, pieces, jobs, fine=True)
    if ledger is not None:
        saved = Resumable(ledger, "fit", _encode, _decode)
        results = saved.run(work, pieces, [f"{kind} {k}" for kind, k in pieces], jobs)
    done: dict[Piece, FloatArray] = {}
    for k, outcome in track(results, progress, "bootstrap", total=len(pieces)):
        if outcome is not None:
            done[pieces[k]] = outcome
    by_kind = {
        kind: np.array([done[piece] for piece in pieces if piece[0] == kind and piece in done])
        for kind in ("resample", "block", "test")
    }
    fitted = by_kind["resample"]
    _check_count(len(fitted), count)
    return Bootstrap(
        fit=fit,
        values=fitted[:, :-1].copy(),
        chisq=fitted[:, -1].copy(),
        acceleration=_acceleration(by_kind["block"][:, :-1]),
        test_chisq=by_kind["test"][:, -1].copy() if wanted else np.zeros(0),
        n_asked=count,
        seed=number,
    )


def _encode(outcome: FloatArray | None) -> list[float] | None:
    return None if outcome is None else outcome.tolist()


def _decode(written: Any) -> FloatArray | None:
    return None if written is None else np.array(written, dtype=float)


def _check_count(fitted: int, asked: int) -> None:
    if fitted < min(_FEWEST, asked):
        raise EstimationError(
            f"Only {fitted} of {asked} resamples could be fitted. The sample is too small for the "
            "model; simplify it."
        )
    if fitted < asked:
        warn(
            f"{asked - fitted} of {asked} resamples could not be fitted and are left out.",
            EstimationWarning,
            stacklevel=3,
        )


def _rows(fit: CFAFit, data: Any) -> pd.DataFrame:
    """Rows and columns that the fit used, groups as they are named in it."""
    if fit.estimate.source != "rows":
        raise InputError("`fit` must be a fit to rows; a matrix has none to draw.", "fit")
    if getattr(fit.call, "cluster", None):
        raise InputError(
            "`fit` has clusters, and rows of a cluster cannot be drawn one by one. Use the "
            "standard errors of the fit, which take account of clusters.",
            "fit",
        )
    frame = as_frame(data)
    frame = frame.set_axis(list(map(str, frame.columns)), axis=1)
    named = [getattr(fit.call, one, None) for one in ("group", "sampling_weights")]
    wanted = [*fit.item_names, *(name for name in named if isinstance(name, str))]
    for name in wanted:
        if name not in frame.columns:
            raise InputError(f"`data` have no column '{name}', which the model needs.", "data")
    frame = frame[wanted].reset_index(drop=True)
    items = frame[list(fit.item_names)]
    used = items.notna().any(axis=1) if fit.call.missing == "fiml" else items.notna().all(axis=1)
    if fit.call.group is not None:
        used &= np.isin(group_labels(frame, fit.call.group), fit.groups)
    frame = frame[used].reset_index(drop=True)
    with silenced():  # rows are drawn by their numbers, which must not depend on their order
        answers = as_items(frame[list(fit.item_names)], screened=False).values
    frame = frame.iloc[rows_by_content(answers)].reset_index(drop=True)
    # one group after the other, so that the first row is one of the first group in every resample
    frame = frame.iloc[np.concatenate(_groups(fit, frame))].reset_index(drop=True)
    with silenced():  # what there is to say was said by the fit
        again = cfa(frame, **_arguments(fit)).estimate
    same = len(again.theta) == len(fit.estimate.theta)
    if same:
        apart = np.abs(_aligned(again, fit.estimate).theta - fit.estimate.theta)
        same = bool((apart <= _SAME * np.maximum(np.abs(fit.estimate.theta), 1.0)).all())
    if not same:
        raise InputError(
            "`data` are not the data of the fit: the same model has other estimates in them. Give "
            "the same rows.",
            "data",
        )
    return frame


def _arguments(fit: CFAFit) -> dict[str, Any]:
    """Arguments of the call that made a fit."""
    known = inspect.signature(cfa).parameters
    given = {field.name: getattr(fit.call, field.name) for field in dataclasses.fields(fit.call)}
    return {name: None if value == () else value for name, value in given.items() if name in known}


def _transformed(fit: CFAFit, frame: pd.DataFrame) -> pd.DataFrame:
    """Rows in which the model holds: moments of each group are those it implies."""
    items = list(fit.item_names)
    complete = not frame[items].isna().to_numpy().any()
    if not fit.estimate.procedure.likelihood or not complete:
        raise InputError(
            "`test` needs rows without gaps, fitted by 'ml' or 'mlr'. Leave it out.", "test"
        )
    if not fit.estimate.test.df:
        raise InputError("`test` needs degrees of freedom, and the model has none.", "test")
    changed = frame.astype(dict.fromkeys(items, float))
    for block, own in zip(fit.estimate.blocks, _groups(fit, frame), strict=True):
        X = frame.loc[own, items].to_numpy(dtype=float)
        D = X - X.mean(axis=0)
        half = np.linalg.cholesky(D.T @ D / len(X))
        center = block.mu if fit.estimate.model.mean_structure else X.mean(axis=0)
        changed.loc[own, items] = center + np.linalg.solve(half, D.T).T @ (
            np.linalg.cholesky(block.Sigma).T
        )
    return changed


def _groups(fit: CFAFit, frame: pd.DataFrame) -> list[IntArray]:
    """Numbers of the rows of each group."""
    if fit.call.group is None:
        return [np.arange(len(frame))]
    labels = group_labels(frame, fit.call.group)
    return [np.flatnonzero(labels == name) for name in fit.groups]


def draw_rows(groups: list[IntArray], seed: int, piece: int) -> IntArray:
    """Rows of one resample: as many from each group as it has, with replacement."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(piece,)))
    return np.concatenate([rng.choice(own, len(own)) for own in groups])


class _Refit:
    """Fits the model to a resample, or without a block of rows.

    Returns the values of all parameters, the defined ones too, and chi-square; None if the model
    cannot be fitted.
    """

    def __init__(
        self, fit: CFAFit, frame: pd.DataFrame, seed: int, holds: pd.DataFrame | None
    ) -> None:
        self._fit, self._frame, self._seed, self._holds = fit, frame, seed, holds
        self._groups, self._given = _groups(fit, frame), _arguments(fit)
        shuffled = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 0)))
        order = shuffled.permutation(len(frame))
        self._blocks = np.array_split(order, min(len(frame), _BLOCKS))

    def __call__(self, piece: Piece) -> FloatArray | None:
        kind, k = piece
        frame = self._frame if kind != "test" or self._holds is None else self._holds
        if kind == "block":
            taken = frame.iloc[np.setdiff1d(np.arange(len(frame)), self._blocks[k])]
        else:
            taken = frame.iloc[draw_rows(self._groups, self._seed, k)]
        try:
            with silenced():
                found = cfa(taken.reset_index(drop=True), **self._given).estimate
        except DTError:
            return None
        found = _aligned(found, self._fit.estimate)
        values = np.concatenate([found.estimates, found.defined[0], [found.test.chisq]])
        return values if np.isfinite(values).all() else None


def _aligned(estimate: SEMEstimate, reference: SEMEstimate) -> SEMEstimate:
    """Let factors without a marker point where those of the reference do."""
    turned: list[set[str]] = [set() for _ in range(estimate.model.n_groups)]
    agree: dict[tuple[int, str], float] = {}
    for row, mine, its in zip(
        estimate.model.parameters, estimate.estimates, reference.estimates, strict=True
    ):
        if row.op == "=~":
            key = (row.group - 1, row.lhs)
            agree[key] = agree.get(key, 0.0) + float(mine * its)
    for (group, factor), value in agree.items():
        if value < 0:
            turned[group].add(factor)
    signs = reversal_signs(estimate, turned) if any(turned) else None
    if signs is None:
        return estimate
    return dataclasses.replace(estimate, theta=signs * estimate.theta)


def _acceleration(values: FloatArray) -> FloatArray:
    """Σ U³ / (6 (Σ U²)^(3/2)) of jackknife values (blocks, parameters); 0 for fixed ones."""
    U = values.mean(axis=0) - values
    square = (U**2).sum(axis=0)
    cube = (U**3).sum(axis=0)
    return np.asarray(cube / (6 * np.where(square > 0, square, 1.0) ** 1.5), dtype=np.float64)


def _limits(
    kind: str, alpha: float, values: FloatArray, estimate: float, acceleration: float
) -> tuple[float, float]:
    from scipy.special import ndtr, ndtri

    if np.ptp(values) == 0:
        return estimate, estimate
    at = np.array([alpha, 1 - alpha])
    if kind == "bca":
        below = (np.sum(values < estimate) + 0.5 * np.sum(values == estimate)) / len(values)
        z = float(ndtri(np.clip(below, 0.5 / len(values), 1 - 0.5 / len(values))))
        moved = z + ndtri(at)
        at = ndtr(z + moved / (1 - acceleration * moved))
    low, high = (quantile(values, float(p)) for p in at)
    if kind == "basic":
        return 2 * estimate - high, 2 * estimate - low
    return low, high


def quantile(values: FloatArray, p: float) -> float:
    """Quantile of bootstrap values, order statistics interpolated on the normal scale.

    With R values it is the one of rank k = (R + 1) p; between two ranks the weights are those of
    normal quantiles (Davison & Hinkley 1997, eq. 5.8).
    """
    from scipy.special import ndtri

    ordered = np.sort(values)
    R = len(ordered)
    k = int((R + 1) * p)
    if k < 1 or k >= R:
        return float(ordered[0 if k < 1 else R - 1])
    low, high = ndtri(k / (R + 1)), ndtri((k + 1) / (R + 1))
    share = (ndtri(p) - low) / (high - low)
    return float(ordered[k - 1] + share * (ordered[k] - ordered[k - 1]))
