"""Run this benchmark alone: ``python -m benchmarks.highdim``."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.harness import ROOT, Report
from benchmarks.highdim import covers
from benchmarks.highdim.run import run

RESULTS = ROOT / "benchmarks" / "results" / "highdim"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=5, help="data sets a cell for ours")
    parser.add_argument("--peer-sets", type=int, default=3, help="data sets a cell for the peers")
    parser.add_argument("--limit", type=float, default=120, help="seconds a peer and data set")
    parser.add_argument("--medil", help="Python interpreter that has medil; this one without it")
    parser.add_argument("--medil-limit", type=float, default=60, help="its seconds a data set")
    parser.add_argument("--out", type=Path, default=RESULTS / "peers.md")
    chosen = parser.parse_args()
    report = Report()
    report.line("# More items than rows: the paper's second simulation\n\nWritten by `make bench`.")
    report.heading("Same data for all")
    run(report, chosen.sets, chosen.peer_sets, chosen.limit)
    report.heading("Clique covers")
    covers.run(report, chosen.medil, chosen.peer_sets, chosen.medil_limit)
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text("\n".join(report.parts) + "\n")


main()
