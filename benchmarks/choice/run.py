"""Which way of choosing a structure is right how often."""

from __future__ import annotations

from pathlib import Path

from benchmarks.choice import real, simulated
from benchmarks.harness import Report


def run(
    report: Report, share: float = 1.0, cached: Path | None = None, everything: bool = False
) -> None:
    """Compare the rules of :mod:`benchmarks.choice.rules` on simulations and keyed surveys.

    Parameters
    ----------
    report
        Where to print.
    share
        Share of the full number of simulated data sets.
    cached
        A folder that ``keyed.R`` has filled before; without it R runs once.
    everything
        Whether the survey on which the peers take longest is in.
    """
    report.heading("Choice of a structure")
    simulated.run(report, share)
    real.run(report, cached, everything)
