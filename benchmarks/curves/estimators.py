"""Seconds and validation likelihood: splines, quadrature, networks, the paper's network."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from benchmarks.curves.fits import Split, of_design
from benchmarks.harness import ROOT, Report
from dtstat.curves.response_model import ResponseModel
from dtstat.curves.spline import fit_spline
from dtstat.curves.stochastic_em import FAST, PAPER, fit_network
from dtstat.curves.variational import fit_variational

_EXTRAPOLATED = 30  # iterations of the paper's network from which its time is extrapolated


def run(report: Report, whole: bool) -> None:
    """Compare estimators of one structure; ``whole`` runs all 3000 iterations of the paper's."""
    report.heading("One structure, estimated in five ways")
    rows = []
    for design in ("v_structure", "double_mediation"):
        split = of_design(design, seed=1)
        rows += _compare(design, split, whole and design == "v_structure")
    report.table(pd.DataFrame(rows), "4000 rows fitted, log-likelihood of 1000 others", 2)
    report.line(
        "times: seconds of the paper's network (3000 iterations, a pass for each distinct mask; "
        f"extrapolated from {_EXTRAPOLATED} unless run whole) over those of the estimator. Its "
        "likelihood is that after the iterations it ran."
    )


def _compare(design: str, split: Split, whole: bool) -> list[dict[str, object]]:
    support, Phi = split.simulation.structure.support, split.start.factor_correlations
    kinds = np.zeros(len(support), dtype=np.int64)

    def spline() -> ResponseModel:
        Z, rng = split.factors(0)
        return fit_spline(split.fitted, support, Z, Phi, kinds, rng).model

    def network(schedule: object) -> Callable[[], object]:
        def work() -> object:
            Z, rng = split.factors(0)
            return fit_network(split.fitted, support, Z, Phi, rng, schedule).model  # type: ignore[arg-type]

        return work

    def variational() -> object:
        Z, rng = split.factors(0)
        return fit_variational(split.fitted, support, Z, Phi, rng).model

    spline()  # compile
    papers = PAPER if whole else replace(PAPER, iterations=_EXTRAPOLATED)
    ways: dict[str, Callable[[], object]] = {"spline": spline}
    if support.shape[1] <= 3:
        ways["quadrature EM"] = lambda: _quadrature(split)
    ways |= {
        "network, paper_fast": network(FAST),
        "network, variational": variational,
        f"network, paper ({papers.iterations} iterations)": network(papers),
    }
    found = {name: _timed(work, split) for name, work in ways.items()}
    slowest = list(found.values())[-1][0] * PAPER.iterations / papers.iterations
    best = found["spline"][1]
    return [
        {
            "design": design,
            "estimator": name,
            "seconds": seconds,
            "times": slowest / seconds if "paper (" not in name else 1.0,
            "log-likelihood": value,
            "less spline": value - best,
            "error": error,
        }
        for name, (seconds, value, error) in found.items()
    ]


def _timed(work: Callable[[], object], split: Split) -> tuple[float, float, float]:
    start = time.perf_counter()
    model = work()
    seconds = time.perf_counter() - start
    if isinstance(model, float):
        return seconds, model, 0.0
    found = split.validation(model)  # type: ignore[arg-type]
    return seconds, found.total, found.standard_error


def _quadrature(split: Split) -> float:
    """Fit and score by the tests' independent implementation."""
    sys.path.insert(0, str(ROOT / "tests" / "statistical"))
    import quadrature_em  # type: ignore[import-not-found]

    parent = split.simulation.structure.support.argmax(axis=1)
    Z, _ = split.factors(0)
    fit = quadrature_em.fit(split.fitted, parent, split.start.factor_correlations, Z, 60)
    return float(quadrature_em.log_likelihood(fit, split.held, nodes=65).sum())
