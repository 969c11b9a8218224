"""The paper's first simulation (Section 6.1, Table 1): run, and its table beside the paper's."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import pandas as pd

from dtstat.core import checks
from dtstat.core.about import __version__
from dtstat.core.checkpoints import Ledger, Record
from dtstat.core.checks import check_children
from dtstat.core.errors import InputError, shown
from dtstat.core.parallel import Jobs, Progress, check_jobs
from dtstat.core.tables import Printed, Summary, Table
from dtstat.studies.paper import (
    CITATION,
    MODELS,
    TABLE1,
    TABLE1_DATA_SETS,
    TABLE1_NOTES,
    TABLE1_ROWS,
)
from dtstat.studies.recovery import MEASURE, SELECTIONS, RecoveryCall, recover
from dtstat.studies.runner import (
    SPREAD,
    check_names,
    check_seed,
    duration,
    number,
    run_missing,
    spread_columns,
    warning_notes,
    wrap_lines,
)

DESIGNS = tuple(MODELS)
OUTCOMES = {"n_factors": "d-hat", "f1": "F1", "hamming": "HD"}
Row = Mapping[Any, Any]
_DEFAULTS = {"thresholds": 50, "min_children": 2, "estimator": "copula", "criterion": "ebic"}


def table1(
    reps: int = TABLE1_DATA_SETS,
    designs: str | Iterable[str] = DESIGNS,
    n: int = TABLE1_ROWS,
    *,
    estimator: str | None = None,
    criterion: str | None = None,
    min_children: int | None = None,
    thresholds: int | None = None,
    preset: str | None = None,
    seed: int = 1,
    n_jobs: Jobs = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> Table1Result:
    """Repeat the paper's first simulation: how well known structures are recovered.

    For each data set two structures are compared with the true one: the most accurate on the
    solution path (oracle), and the one :func:`dtstat.fit` chooses from it (likelihood).

    Parameters
    ----------
    reps
        Data sets of each design.
    designs
        Any of "v_structure", "chain" and "double_mediation".
    n
        Rows of a data set.
    estimator, criterion
        What chooses, as in :func:`dtstat.fit`; "copula" and "ebic" if omitted.
    min_children, thresholds
        Fewest items of a factor, and number of thresholds spaced evenly on [0, 1]; 2 and 50 if
        omitted. The paper has 50, and counts single items as factors, as ``preset="paper"`` does.
    preset
        Preset of :func:`dtstat.fit` that chooses, instead of the four arguments above.
    seed
        Whole number. Data set k of a design depends on it, the design and k alone.
    n_jobs
        Processes; -1 for all cores. Does not change the result.
    out
        File to which each data set is added when finished, and not done again in another call
        with the same arguments; ``reps``, ``designs`` and ``n_jobs`` may differ.
    progress
        True for a bar, or a function of (done, total).

    Returns
    -------
    Table1Result

    Raises
    ------
    InputError
        If an argument cannot be used, or ``out`` is the ledger of another call.
    EstimationError
        If a data set cannot be fitted.

    Warns
    -----
    DataWarning
        If the last line of ``out`` was cut short.

    Notes
    -----
    Cost: by the copula about a tenth of a second per data set of 5000 rows.

    The oracle's path is that of all rows. Criteria that validate on a part of them threshold the
    other part, so that their choice need not be on that path.

    Examples
    --------
    >>> from dtstat.studies import table1
    >>> table1(reps=2, designs="chain", n=1000).table()[["selection", "d", "f1_mean"]]
        selection  d  f1_mean
    0      oracle  4      1.0
    1  likelihood  4      1.0
    """
    count = checks.repeats("reps", reps, 1, f"The paper uses {TABLE1_DATA_SETS}.")
    chosen = check_names("designs", designs, DESIGNS)
    given = {
        "thresholds": thresholds,
        "min_children": min_children,
        "estimator": estimator,
        "criterion": criterion,
    }
    call, jobs = _check_call(n, seed, preset, given), check_jobs(n_jobs)
    ledger = Ledger.open(out, {"study": "table1", **asdict(call)})
    # One of each design in turn, so that a study that is ended early is balanced.
    tasks = [(design, k) for k in range(1, count + 1) for design in chosen]
    work = partial(recover, call)
    records = run_missing(tasks, ("design", "replicate"), work, ledger, jobs, progress)
    return Table1Result(call, count, chosen, records)


def _check_call(
    n: object, seed: object, preset: str | None, given: Mapping[str, object]
) -> RecoveryCall:
    """Check the arguments that outcomes depend on; names are left to :func:`dtstat.fit`."""
    clash = [name for name, value in given.items() if value is not None]
    if preset is not None and clash:
        raise InputError(
            f"`{clash[0]}` cannot be combined with `preset`, which sets it; got "
            f"{shown(given[clash[0]])} and {shown(preset)}. Leave out one of them.",
            clash[0],
        )
    chosen = {k: _DEFAULTS[k] if value is None else value for k, value in given.items()}
    return RecoveryCall(
        n=checks.integer("n", n, 3, f"The paper uses {TABLE1_ROWS}."),
        seed=check_seed(seed),
        thresholds=checks.repeats("thresholds", chosen["thresholds"], 2, "The paper uses 50."),
        min_children=check_children(chosen["min_children"]),
        estimator=None if preset else _name("estimator", chosen["estimator"]),
        criterion=None if preset else _name("criterion", chosen["criterion"]),
        preset=preset,
    )


def _name(argument: str, value: object) -> str:
    if not isinstance(value, str):
        raise checks.refusal(argument, "a name", value, "fit() has the same names.")
    return value


@dataclass(frozen=True, eq=False, repr=False)
class Table1Result(Printed):
    """Recovery of known structures, data set by data set.

    Attributes
    ----------
    call
        What the outcomes depend on.
    reps, designs
        Data sets of each design, and the designs.
    """

    call: RecoveryCall
    reps: int
    designs: tuple[str, ...]
    _finished: tuple[Record, ...]

    @property
    def records(self) -> pd.DataFrame:
        """One row per data set and selection.

        Columns: design, replicate, seed (of the data), fit_seed, selection, d (true number of
        factors), n_factors, f1, hamming, seconds, warnings (a tuple of texts).
        """
        by_design = sorted(self._finished, key=lambda one: self.designs.index(one["design"]))
        return pd.DataFrame([_record(one, name) for one in by_design for name in SELECTIONS])

    @property
    def outcomes(self) -> pd.DataFrame:
        """The records without seconds: the same to the last bit however and wherever it is run."""
        return self.records.drop(columns="seconds")

    def table(self) -> pd.DataFrame:
        """One row per selection and design.

        Columns: selection, design, d; for each of n_factors, f1 and hamming the mean, sd
        (standard deviation) and se (standard error of the mean), as in f1_mean, with the paper's
        mean and the number after its ± as in f1_paper and f1_paper_plus_minus; data_sets; seconds
        (mean of a data set).
        """
        groups = self.records.groupby(["selection", "design"])
        rows = [
            _table_row(selection, design, groups.get_group((selection, design)))
            for selection in SELECTIONS
            for design in self.designs
        ]
        return pd.DataFrame(rows)

    def summary(self) -> Summary:
        """Say what was done, and show the table, and the paper's beside it."""
        rows = self.table().to_dict(orient="records")
        warned = sum(map(bool, self.records["warnings"]))
        return Summary(
            head_lines(self.call, self.reps), (outcome_table(rows, warned), comparison_table(rows))
        )

    def __repr__(self) -> str:
        return "\n".join(head_lines(self.call, self.reps))


def _record(finished: Record, selection: str) -> Record:
    outcome = finished[selection]
    return {
        **{name: finished[name] for name in ("design", "replicate", "seed", "fit_seed")},
        "selection": selection,
        "d": MODELS[finished["design"]][1],
        **outcome,
        "warnings": tuple(outcome["warnings"]),
    }


def _table_row(selection: str, design: str, group: pd.DataFrame) -> Record:
    row: Record = {"selection": selection, "design": design, "d": MODELS[design][1]}
    for name in OUTCOMES:
        reported = getattr(TABLE1[selection, design], name)
        row |= {
            **spread_columns(group, name),
            f"{name}_paper": reported.mean,
            f"{name}_paper_plus_minus": reported.plus_minus,
        }
    return row | {"data_sets": len(group), "seconds": float(group["seconds"].mean())}


def head_lines(call: RecoveryCall, reps: int) -> tuple[str, ...]:
    """Say whose table it is, what data were drawn, and how structures were chosen."""
    arguments = ", ".join(f"{k}={json.dumps(v)}" for k, v in call.fit_arguments().items())
    plural = "" if reps == 1 else "s"
    lines = (
        "Table 1: recovery of known structures by dependence thresholding",
        f"Paper:  {CITATION}",
        f"Data:   {reps} data set{plural} per model, n = {call.n}, seed {call.seed}",
        f"Path:   {MEASURE}, {call.thresholds} thresholds on [0, 1], factors of at least "
        f"{call.min_children} items",
        f"Choice: fit({arguments}), dtstat {__version__}",
    )
    return wrap_lines(lines)


def outcome_table(rows: Sequence[Row], warned: int) -> Table:
    """Return mean, standard deviation and standard error of each outcome."""
    columns = [f"{name}_{part}" for name in OUTCOMES for part in SPREAD]
    cells = tuple(
        (
            *_labels(row),
            str(row["d"]),
            *(number(row[name]) for name in columns),
            str(row["data_sets"]),
            duration(row["seconds"]),
        )
        for row in rows
    )
    spread = [header for name in OUTCOMES.values() for header in (name, "SD", "SE")]
    headers = ("selection", "model", "d", *spread, "sets", "seconds")
    notes = (
        "oracle: the most accurate structure of the path. likelihood: the one that fit chose.",
        "d-hat: factors found. F1: 1 if every item is where it belongs. HD: item-factor pairs that "
        "are wrong.",
        "Means with standard deviation SD and standard error SE, over so many data sets (sets).",
        *warning_notes(warned),
    )
    return Table("Outcomes", headers, cells, "ll" + "r" * 12, notes)


def comparison_table(rows: Sequence[Row]) -> Table:
    """Return our means, each with what the paper prints."""
    cells = []
    for row in rows:
        reported = TABLE1[row["selection"], row["design"]]
        pairs = ((number(row[f"{name}_mean"]), getattr(reported, name).text) for name in OUTCOMES)
        cells.append((*_labels(row), *(cell for pair in pairs for cell in pair)))
    headers = [header for name in OUTCOMES.values() for header in (name, "paper")]
    return Table(
        "Beside the paper",
        ("selection", "model", *headers),
        tuple(cells),
        "ll" + "rl" * len(OUTCOMES),
        TABLE1_NOTES,
    )


def _labels(row: Row) -> tuple[str, str]:
    return row["selection"], MODELS[row["design"]][0]
