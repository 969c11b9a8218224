"""Run this benchmark alone: ``python -m benchmarks.curves``."""

from __future__ import annotations

import argparse

from benchmarks.curves import estimators, likelihoods, recovery, selection
from benchmarks.harness import ROOT, Report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=50, help="data sets a row of the choices")
    parser.add_argument("--whole", action="store_true", help="the paper's network in full")
    chosen = parser.parse_args()
    report = Report()
    report.line("# Nonlinear item responses\n\nWritten by `python -m benchmarks.curves`; one core.")
    estimators.run(report, chosen.whole)
    likelihoods.run(report)
    recovery.run(report)
    selection.run(report, chosen.sets)
    (ROOT / "benchmarks" / "results" / "curves.md").write_text("\n".join(report.parts) + "\n")


main()
