"""Which way of choosing a structure is right how often."""

from __future__ import annotations

from pathlib import Path

from benchmarks.choice import real, simulated
from benchmarks.harness import Report


def run(
    report: Report, share: float = 1.0, cached: Path | None = None, everything: bool = False
) -> str:
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

    Returns
    -------
    Table of the surveys for the README.
    """
    report.heading("Simulations")
    simulated.run(report, share)
    report.heading("Surveys with a published key")
    return real.run(report, cached, everything)
