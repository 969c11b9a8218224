"""Run this benchmark alone: ``python -m benchmarks.regress``, or with the names of some parts."""

from __future__ import annotations

from benchmarks.harness import ROOT, run_parts
from benchmarks.regress import coverage, joint, reliability, scores

RESULTS = ROOT / "benchmarks" / "results" / "regress"
PARTS = {
    "coverage": coverage.run,
    "joint": joint.run,
    "reliability": reliability.run,
    "scores": scores.run,
}

if __name__ == "__main__":
    run_parts(PARTS, RESULTS, __doc__)
