"""How often true models are rejected at 5 %, and intervals contain the truth."""

from __future__ import annotations

import json
import math
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import ROOT, Report
from benchmarks.inference.designs import ANSWERS, SIZES, Cell

SETS, MORE_SETS = 300, 2000
WANTED = {1000: (0.02, 0.08), 300: (0.0, 0.10)}  # range of rejections by rows
WIDTH = 1.959964
CELLS = [
    Cell(size, answers, n, gaps)
    for n, size, answers, gaps in product((1000, 300), SIZES, ANSWERS, (0.0, 0.1))
]
LEDGER = ROOT / "benchmarks" / "results" / "inference" / "rejections.jsonl"


def run(report: Report) -> None:
    """Simulate what is not in the ledger yet, and print all."""
    LEDGER.parent.mkdir(parents=True, exist_ok=True)
    everything = [(cell, measure) for cell in CELLS for measure in cell.measures]
    _simulate_missing(everything, range(SETS))
    outside = [_name(row["cell"]) for row in _kept(SETS) if not _as_wanted(row)]
    again = [one for one in everything if _name([*vars(one[0]).values(), one[1]]) in outside]
    _simulate_missing(again, range(SETS, SETS + MORE_SETS))
    _print(report)


def _simulate_missing(wanted: list[tuple[Cell, str]], sets: range) -> None:
    done = {_name(row["cell"]) for row in _kept(len(sets))}
    rows = joblib.Parallel(n_jobs=2, return_as="generator_unordered")(
        joblib.delayed(simulate)(cell, measure, sets)
        for cell, measure in wanted
        if _name([*vars(cell).values(), measure]) not in done
    )
    with LEDGER.open("a") as file:
        for row in rows:
            print(row, flush=True)
            file.write(json.dumps(row) + "\n")
            file.flush()


def _name(cell: object) -> str:
    return json.dumps(cell)


def _as_wanted(row: dict[str, Any]) -> bool:
    low, high = WANTED[row["cell"][2]]
    return low <= row["rejected"] <= high


def simulate(cell: Cell, measure: str, sets: range) -> dict[str, Any]:
    """Fit the true structure to data sets of one cell."""
    warnings.simplefilter("ignore")
    structure, (loading, phi) = cell.structure, cell.truth(measure)
    design = [*cell.shape, cell.n, ANSWERS.index(cell.answers), int(100 * cell.gaps)]
    rejected, loadings, correlations = 0, [], []
    for k in sets:
        X = cell.draw(np.random.default_rng([*design, k]))
        fit = dt.fit(X, structure=structure, measure=measure)
        rejected += fit.fit_measures["pvalue"] < 0.05
        tidy = fit.tidy()
        for op, truth, covered in (("=~", loading, loadings), ("~~", phi, correlations)):
            part = tidy[tidy["op"] == op]
            covered += list((part["estimate"] - truth).abs() <= WIDTH * part["std_error"])
    return {
        "cell": [*vars(cell).values(), measure],
        "sets": len(sets),
        "rejected": rejected / len(sets),
        "loadings": float(np.mean(loadings)),
        "phi": float(np.mean(correlations)) if correlations else math.nan,
    }


def _kept(sets: int) -> list[dict[str, Any]]:
    """Rows of the ledger that rest on so many data sets."""
    text = LEDGER.read_text() if Path(LEDGER).exists() else ""
    rows = [json.loads(line) for line in text.splitlines()]
    return [row for row in rows if row["sets"] == sets]


def _print(report: Report) -> None:
    report.heading("True models rejected at 5 %, and coverage of 95 % intervals")
    columns = ["design", "answers", "n", "gaps", "measure"]
    frame = pd.DataFrame(
        [
            dict(zip(columns, row["cell"], strict=True))
            | {name: row[name] for name in ("rejected", "loadings", "phi")}
            for row in _kept(SETS)
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
    for row in _kept(MORE_SETS):
        once = next(one["rejected"] for one in _kept(SETS) if one["cell"] == row["cell"])
        size, answers, n, gaps, _ = row["cell"]
        report.line(
            f"Outside {WANTED[n][0]} to {WANTED[n][1]}, and so repeated with {MORE_SETS} other "
            f"data sets: {size}, {answers}, n = {n}, gaps {gaps}: {once:.3f}, then "
            f"{row['rejected']:.3f} (Monte Carlo error {math.sqrt(0.06 / MORE_SETS):.3f})."
        )
