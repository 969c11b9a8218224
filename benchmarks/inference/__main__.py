"""Run this benchmark alone: ``python -m benchmarks.inference``, or with the names of some parts."""

from __future__ import annotations

from benchmarks.harness import ROOT, run_parts
from benchmarks.inference import loadings, power, rejections

RESULTS = ROOT / "benchmarks" / "results" / "inference"
PARTS = {"loadings": loadings.run, "power": power.run, "rejections": rejections.run}

if __name__ == "__main__":
    run_parts(PARTS, RESULTS, __doc__)
