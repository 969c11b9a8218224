"""Run this benchmark alone: ``python -m benchmarks.choice``."""

from __future__ import annotations

import argparse

from benchmarks.choice import simulated
from benchmarks.harness import ROOT, Report

RESULTS = ROOT / "benchmarks" / "results"


def main() -> None:
    """Write ``choice.md``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the simulated data sets")
    chosen = parser.parse_args()
    report = Report()
    report.line(
        "# Choice of a structure\n\nWritten by `make bench`. Simulations in which the truth is "
        "known; surveys with a key are in [Keyed surveys](surveys/surveys.md)."
    )
    simulated.run(report, chosen.share)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "choice.md").write_text("\n".join(report.parts) + "\n")


if __name__ == "__main__":
    main()
