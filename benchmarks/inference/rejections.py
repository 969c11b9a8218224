"""How often true models are rejected at 5 %, and intervals contain the truth."""

from __future__ import annotations

import json
import math
import warnings
from itertools import product
from pathlib import Path

import joblib
import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import ROOT, Report
from benchmarks.inference.designs import ANSWERS, SIZES, Cell

SETS = 300
WIDTH = 1.959964
CELLS = [
    Cell(size, answers, n, gaps)
    for n, size, answers, gaps in product((1000, 300), SIZES, ANSWERS, (0.0, 0.1))
]
LEDGER = ROOT / "benchmarks" / "results" / "inference" / "rejections.jsonl"


def run(report: Report) -> None:
    """Simulate what is not in the ledger yet, and print all."""
    LEDGER.parent.mkdir(parents=True, exist_ok=True)
    done = {json.dumps(row["cell"]) for row in _kept()}
    wanted = [
        (cell, measure)
        for cell in CELLS
        for measure in cell.measures
        if json.dumps([*vars(cell).values(), measure]) not in done
    ]
    rows = joblib.Parallel(n_jobs=2, return_as="generator_unordered")(
        joblib.delayed(simulate)(cell, measure) for cell, measure in wanted
    )
    with LEDGER.open("a") as file:
        for row in rows:
            print(row, flush=True)
            file.write(json.dumps(row) + "\n")
            file.flush()
    _print(report)


def simulate(cell: Cell, measure: str) -> dict[str, object]:
    """Fit the true structure to data sets of one cell."""
    warnings.simplefilter("ignore")
    structure, (loading, phi) = cell.structure, cell.truth(measure)
    design = [*cell.shape, cell.n, ANSWERS.index(cell.answers), int(100 * cell.gaps)]
    rejected, loadings, correlations = 0, [], []
    for k in range(SETS):
        X = cell.draw(np.random.default_rng([*design, k]))
        fit = dt.fit(X, structure=structure, measure=measure)
        rejected += fit.fit_measures["pvalue"] < 0.05
        tidy = fit.tidy()
        for op, truth, covered in (("=~", loading, loadings), ("~~", phi, correlations)):
            part = tidy[tidy["op"] == op]
            covered += list((part["estimate"] - truth).abs() <= WIDTH * part["std_error"])
    return {
        "cell": [*vars(cell).values(), measure],
        "sets": SETS,
        "rejected": rejected / SETS,
        "loadings": float(np.mean(loadings)),
        "phi": float(np.mean(correlations)) if correlations else math.nan,
    }


def _kept() -> list[dict[str, object]]:
    text = LEDGER.read_text() if Path(LEDGER).exists() else ""
    return [json.loads(line) for line in text.splitlines()]


def _print(report: Report) -> None:
    report.heading("True models rejected at 5 %, and coverage of 95 % intervals")
    columns = ["design", "answers", "n", "gaps", "measure"]
    frame = pd.DataFrame(
        [
            dict(zip(columns, row["cell"], strict=True))
            | {name: row[name] for name in ("rejected", "loadings", "phi")}
            for row in _kept()
        ]
    )
    frame = frame.sort_values(["n", "design", "answers", "gaps", "measure"], ignore_index=True)
    ratings = ~frame["answers"].isin(("normal", "skewed"))
    frame.loc[ratings, "measure"] = "any"
    report.table(frame, f"Test of fit and intervals, {SETS} data sets per row", 3)
    error = math.sqrt(0.05 * 0.95 / SETS)
    report.line(
        f"Monte Carlo error of a rejection rate of .05: {error:.3f}. Loadings are .7, factor "
        "correlations .4. The default measure is Spearman; ratings are reported from polychoric "
        "correlations with every measure."
    )
    for n in (300, 1000):
        part = frame[frame["n"] == n]
        report.line(
            f"n = {n}: rejections {part['rejected'].min():.3f} to {part['rejected'].max():.3f} "
            f"over {len(part)} rows; coverage of loadings {part['loadings'].min():.3f} to "
            f"{part['loadings'].max():.3f}, of factor correlations {part['phi'].min():.3f} to "
            f"{part['phi'].max():.3f}."
        )
