"""What the paper's first simulation gives: outcomes, and their table beside the paper's."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from dtstat.execution.ledger_lines import Record
from dtstat.report import Summary
from dtstat.studies.paper import MODELS, TABLE1
from dtstat.studies.recovery import SELECTIONS, RecoveryCall
from dtstat.studies.table1_summary import OUTCOMES, beside_table, head_lines, own_table
from dtstat.studies.tabulate import spread


@dataclass(frozen=True, eq=False, repr=False)
class Table1Result:
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
            head_lines(self.call, self.reps), (own_table(rows, warned), beside_table(rows))
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
            **spread(group, name),
            f"{name}_paper": reported.mean,
            f"{name}_paper_plus_minus": reported.plus_minus,
        }
    return row | {"data_sets": len(group), "seconds": float(group["seconds"].mean())}
