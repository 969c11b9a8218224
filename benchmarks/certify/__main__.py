"""Run this benchmark alone: ``python -m benchmarks.certify``, or with the names of some parts."""

from __future__ import annotations

from benchmarks.certify import attacks, number, planner, power, surveys, tails, theory, validity
from benchmarks.harness import ROOT, run_parts

RESULTS = ROOT / "benchmarks" / "results" / "certify"
PARTS = {
    "validity": validity.run,
    "number": number.run,
    "power": power.run,
    "tails": tails.run,
    "theory": theory.run,
    "planner": planner.run,
    "attacks": attacks.run,
    "surveys": surveys.run,
}

if __name__ == "__main__":
    run_parts(PARTS, RESULTS, __doc__)
