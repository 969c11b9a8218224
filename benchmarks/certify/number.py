"""The lower bound on the number of factors: how often it is too large, and how large it is."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.certify.designs import Population, clusters, cross_loadings
from benchmarks.certify.validity import in_blocks
from benchmarks.harness import ROOT, Report
from dtstat.core.errors import silenced
from dtstat.data.items import as_items
from dtstat.trust.factor_number import number_errors

SETS, ERROR, SPLITS = 1000, 0.05, 3
LEDGER = ROOT / ".build" / "certify_number.jsonl"
_FALLING = np.linspace(0.85, 0.4, 9)

# What is in the answers is a linear factor model behind them, so that the truth is known.
POPULATIONS = (
    Population("no factor, 12", np.eye(12), 0, 100),
    Population("no factor, 12", np.eye(12), 0, 300, "five"),
    Population("no factor, 40", np.eye(40), 0, 100),
    Population("1 x 9, .7", clusters(1, 9), 1, 100),
    Population("1 x 9, .85 to .4", clusters(1, 9, _FALLING), 1, 100, measure="pearson"),
    Population("1 x 9, .85 to .4", clusters(1, 9, _FALLING), 1, 300, "skewed"),
    Population("1 x 9, .85 to .4", clusters(1, 9, _FALLING), 1, 300, "five skewed"),
    Population("1 x 12, .7", clusters(1, 12), 1, 300, "binary 25/75"),
    Population("1 x 20, .6", clusters(1, 20, 0.6), 1, 200, "five"),
    Population("1 x 20, .6", clusters(1, 20, 0.6), 1, 1000, gaps=0.1),
    Population("1 x 40, .5", clusters(1, 40, 0.5), 1, 100, measure="pearson"),
    Population("2 x 5, phi .5", clusters(2, 5, phi=0.5), 2, 200),
    Population("2 x 5, phi .8", clusters(2, 5, phi=0.8), 2, 100),
    Population("2 x 5, phi .8", clusters(2, 5, phi=0.8), 2, 300, measure="pearson"),
    Population("2 x 5, phi .9", clusters(2, 5, phi=0.9), 2, 300),
    Population("2 x 6, phi .8", clusters(2, 6, phi=0.8), 2, 300, "five"),
    Population("3 x 3, phi .3", clusters(3, 3), 3, 100),
    Population("3 x 3, phi .3", clusters(3, 3), 3, 300, measure="pearson"),
    Population("3 x 3, phi .6", clusters(3, 3, phi=0.6), 3, 300, "five"),
    Population("3 x 4, phi .3", clusters(3, 4), 3, 300, "binary"),
    Population("3 x 4, phi .3", clusters(3, 4), 3, 300, gaps=0.15),
    Population("4 x 4 crossed, phi .3", cross_loadings(4, 4), 4, 500),
    Population("3 x 5 crossed, phi .6", cross_loadings(3, 5, 0.6), 3, 500, "five"),
    Population("5 x 5, phi .5", clusters(5, 5, phi=0.5), 5, 500),
    Population("10 x 10, phi .3", clusters(10, 10), 10, 300, measure="pearson"),
    Population("1 x 12, .8", clusters(1, 12, 0.8), 1, 150, "binary 10 to 90"),
    Population("1 x 12, .8", clusters(1, 12, 0.8), 1, 300, "binary 10 to 90"),
    Population("1 x 12, .8", clusters(1, 12, 0.8), 1, 1000, "binary 10 to 90"),
    Population("1 x 12, .8", clusters(1, 12, 0.8), 1, 300, "three 10 to 90"),
)


def count_factors(design: Population, k: int, key: int) -> dict[str, int]:
    """Bound the number of factors of one data set."""
    X = design.draw(np.random.default_rng([100 + key, k]))
    with silenced():
        errors = number_errors(as_items(X, screened=False), design.measure, SPLITS, k)
    found = int((errors <= ERROR).sum())
    return {"false": int(found > design.n_factors), "all": int(found == design.n_factors)}


def run(report: Report, sets: int = SETS) -> None:
    """Print the share of data sets with too large a bound, and with the right one."""
    report.heading("At least so many factors")
    frame = in_blocks(POPULATIONS, count_factors, sets, LEDGER)
    limit = ERROR + 2 * math.sqrt(ERROR * (1 - ERROR) / sets)
    report.table(frame, f"{sets} data sets per design, error {ERROR}, {SPLITS} splits", 3)
    report.line(
        f"Largest share of data sets with too many factors: {frame['false'].max():.3f}; promised "
        f"{ERROR}, with two Monte Carlo errors {limit:.3f}. all: the bound is the true number. The "
        "split-likelihood e-value (universal inference) of the prototype found both factors of 2 x "
        "5, phi .8 in 13 % of data sets with n = 300."
    )
