"""The paper's first simulation with three estimators: ``python -m benchmarks.table1``.

Finished data sets are in ``results/table1``; what is missing there is computed, from nothing in
about an hour of one core.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.harness import ROOT, Report
from dtstat.core.tables import Table
from dtstat.studies.table1 import table1

RESULTS = ROOT / "benchmarks" / "results"
STUDIES = {
    "copula": {"estimator": "copula", "reps": 100},
    "spline": {"estimator": "spline", "reps": 100},
    "paper_fast": {"preset": "paper_fast", "reps": 5},
}

COLUMNS = {
    "estimator": "estimator",
    "design": "design",
    "d": "d",
    "n_factors_mean": "found",
    "f1_mean": "F1",
    "f1_se": "SE",
    "f1_paper": "paper",
    "hamming_mean": "HD",
    "data_sets": "sets",
    "seconds": "seconds",
}


def main() -> None:
    """Run or complete the studies, and write their tables to one file."""
    report = Report()
    report.line("# The paper's first simulation\n\nWritten by `python -m benchmarks.table1`.")
    rows = []
    for name, options in STUDIES.items():
        result = table1(**options, out=_ledger(name), progress=True)  # type: ignore[arg-type]
        report.heading(name)
        report.line("```\n" + repr(result.summary()) + "\n```")
        rows.append(result.table().assign(estimator=name))
    report.heading("All together")
    frame = pd.concat(rows)
    shown = frame[frame["selection"] == "likelihood"]
    title = "Structures that were chosen, and the F1 that the paper reports"
    shown = shown[[*COLUMNS]].rename(columns=COLUMNS)
    notes = ("seconds: a data set, on a shared machine that was doing other work too.",)
    table = Table.from_frame(shown, title, notes).to_text()
    report.line(f"```\n{table}\n```")
    (RESULTS / "table1.txt").write_text(table + "\n")
    (RESULTS / "table1.md").write_text("\n".join(report.parts) + "\n")


def _ledger(name: str) -> Path:
    return RESULTS / "table1" / f"{name}.jsonl"


main()
