"""Run this benchmark alone: ``python -m benchmarks.trust``, or with the names of some parts."""

from __future__ import annotations

from benchmarks.harness import ROOT, run_parts
from benchmarks.trust import bounds, difficulty, intervals, planner, resampling

RESULTS = ROOT / "benchmarks" / "results" / "trust"
PARTS = {
    "bounds": bounds.run,
    "difficulty": difficulty.run,
    "planner": planner.run,
    "intervals": intervals.run,
    "resampling": resampling.run,
}

if __name__ == "__main__":
    run_parts(PARTS, RESULTS, __doc__)
