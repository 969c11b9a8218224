"""Run this benchmark alone: ``python -m benchmarks.trust``, or with the names of some parts."""

from __future__ import annotations

import argparse

from benchmarks.harness import ROOT, Report
from benchmarks.trust import bounds, difficulty, intervals, planner, resampling

RESULTS = ROOT / "benchmarks" / "results" / "trust"
PARTS = {
    "bounds": bounds.run,
    "difficulty": difficulty.run,
    "planner": planner.run,
    "intervals": intervals.run,
    "resampling": resampling.run,
}


def main() -> None:
    """Run the parts; each writes a file of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name in parser.parse_args().parts or PARTS:
        report = Report()
        report.line("Written by `make bench`.")
        PARTS[name](report)
        (RESULTS / f"{name}.md").write_text("\n".join(report.parts) + "\n")


main()
