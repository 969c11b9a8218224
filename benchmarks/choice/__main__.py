"""Run this benchmark alone: ``python -m benchmarks.choice``."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.choice.run import run
from benchmarks.harness import ROOT, Report

RESULTS = ROOT / "benchmarks" / "results"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the simulated data sets")
    parser.add_argument("--cached", type=Path, help="folder that keyed.R filled")
    parser.add_argument("--all", action="store_true", help="also the survey slowest for the peers")
    chosen = parser.parse_args()
    report = Report()
    report.line("# Choice of a structure\n\nWritten by `make bench`.")
    surveys = run(report, chosen.share, chosen.cached, chosen.all)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "choice.md").write_text("\n".join(report.parts) + "\n")
    (RESULTS / "surveys.txt").write_text(surveys + "\n")


main()
