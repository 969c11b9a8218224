"""How many factors a fit finds where their number is known.

``python -m benchmarks.levels``, or with the names of some parts. What is finished is in ledgers
beside the tables; a run goes on where the one before ended, unless what decides a fit has changed.
"""

from __future__ import annotations

from benchmarks.harness import run_parts
from benchmarks.levels import calibration, correlated, minor, one_factor, real, support
from benchmarks.levels.counting import RESULTS

PARTS = {
    "one_factor": one_factor.run,
    "correlated": correlated.run,
    "support": support.run,
    "minor": minor.run,
    "calibration": calibration.run,
    "real": real.run,
}

if __name__ == "__main__":
    run_parts(PARTS, RESULTS, __doc__)
