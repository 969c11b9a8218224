"""Run this benchmark: ``python -m benchmarks.sem_inference``, or with the names of some parts."""

from __future__ import annotations

from benchmarks.harness import run_parts
from benchmarks.sem_inference import differences, indirect, residuals, samples
from benchmarks.sem_inference.ledger import RESULTS

PARTS = {
    "differences": differences.run,
    "indirect": indirect.run,
    "samples": samples.run,
    "residuals": residuals.run,
}

if __name__ == "__main__":
    run_parts(PARTS, RESULTS, __doc__)
