"""At the true structure: curves, factor correlations and scores against the truth."""

from __future__ import annotations

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report
from dtstat.core.arrays import FloatArray
from dtstat.curves.result import answer_reader
from dtstat.simulation.generate import Simulation
from dtstat.simulation.maps import MAPS

DESIGNS = ("v_structure", "chain", "double_mediation")
CASES = [(5000, "paper"), (5000, "one_in_five"), (300, "paper"), (300, "one_in_five")]
SEEDS = range(1, 6)


def run(report: Report) -> None:
    """Print R² of maps, correlation of scores with factors, error of Φ."""
    report.heading("Curves against the truth")
    rows = []
    for n, maps in CASES:
        for design in DESIGNS:
            found = [recovered(dt.simulate(design, n, maps=maps, seed=seed)) for seed in SEEDS]
            frame = pd.DataFrame(found)
            rows.append(
                {
                    "n": n,
                    "maps": maps,
                    "design": design,
                    "R2 mean": frame["mean"].mean(),
                    "R2 worst": frame["worst"].min(),
                    "scores": frame["scores"].mean(),
                    "lowest": frame["scores"].min(),
                    "Phi off by": frame["phi"].mean(),
                    "at most": frame["phi"].max(),
                }
            )
    report.table(pd.DataFrame(rows), f"True structure, {len(SEEDS)} data sets a row", 3)
    report.line(
        "R2: of a fitted map about the true one, over the factor's distribution. scores: mean "
        "correlation of E[z | x] with z, over factors. Wanted at n = 5000: mean .995, worst .98, "
        "scores .965, Φ within .05; at n = 300 mean .97."
    )


def recovered(simulation: Simulation) -> dict[str, float]:
    """Fit splines to the true structure and compare."""
    fit = dt.fit(simulation.data, structure=simulation.structure, estimator="spline", seed=1)
    r2 = map_r2(simulation, fit)
    scores = fit.factor_scores(simulation.data).to_numpy()
    pairs = zip(scores.T, simulation.latents.T, strict=True)
    gap = fit.factor_correlations.to_numpy() - simulation.factor_correlations
    return {
        "mean": float(r2.mean()),
        "worst": float(r2.min()),
        "scores": float(np.mean([np.corrcoef(s, z)[0, 1] for s, z in pairs])),
        "phi": float(np.abs(gap).max()),
    }


def map_r2(simulation: Simulation, fit: dt.DTFit) -> FloatArray:
    """1 − E(ĝ − g)² / Var g of each item, at the factors that were drawn."""
    curves, model = fit.nonlinear, fit.nonlinear.model
    read = answer_reader(model, curves.scale)
    eta = model.predictors(curves.factors.answers(simulation.latents))
    framed = np.column_stack([read(i, own) for i, own in enumerate(eta.T)])
    fitted = curves.items.columns_as_given(framed)
    truth = np.zeros_like(fitted)
    parents = {name: k for k, name in enumerate(simulation.structure.factor_names)}
    items = {name: i for i, name in enumerate(simulation.structure.item_names)}
    for row in simulation.maps.itertuples():
        z = simulation.latents[:, parents[row.factor]]
        truth[:, items[row.item]] += MAPS[row.map](z)
    r2: FloatArray = 1 - ((fitted - truth) ** 2).mean(axis=0) / truth.var(axis=0)
    return r2
