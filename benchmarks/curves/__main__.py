"""Run this benchmark alone: ``python -m benchmarks.curves``, or with the names of some parts."""

from __future__ import annotations

import argparse
from functools import partial

from benchmarks.curves import estimators, likelihoods, recovery, selection, skewed
from benchmarks.harness import ROOT, Report

RESULTS = ROOT / "benchmarks" / "results" / "curves"


def main() -> None:
    """Run the parts; each writes a file of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = "estimators, likelihoods, recovery, choice, skewed"
    parser.add_argument("parts", nargs="*", help=names)
    parser.add_argument("--sets", type=int, default=50, help="data sets a row of the choices")
    parser.add_argument("--whole", action="store_true", help="the paper's network in full")
    chosen = parser.parse_args()
    parts = {
        "estimators": partial(estimators.run, whole=chosen.whole),
        "likelihoods": likelihoods.run,
        "recovery": recovery.run,
        "choice": partial(selection.run, sets=chosen.sets),
        "skewed": skewed.run,
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name in chosen.parts or parts:
        report = Report()
        report.line("Written by `make bench`; one core.")
        parts[name](report)
        (RESULTS / f"{name}.md").write_text("\n".join(report.parts) + "\n")


main()
