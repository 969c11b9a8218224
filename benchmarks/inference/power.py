"""How often a structure that omits a cross-loading is rejected, beside lavaan's robust tests."""

from __future__ import annotations

import subprocess
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report
from benchmarks.inference.designs import CROSS, Cell

SETS = 300
SCRIPT = Path(__file__).with_name("power.R")
CASES = (
    ("normal", "pearson", "linear", "MLR"),
    ("skewed", "pearson", "linear", "MLR"),
    ("five-point", "polychoric", "copula", "WLSMV"),
    ("skewed five-point", "polychoric", "copula", "WLSMV"),
)


def run(report: Report) -> None:
    """Print rejections at 5 % of both, of the wrong structure and of the true one."""
    warnings.simplefilter("ignore")
    rows = []
    for answers, measure, estimator, peer in CASES:
        cell = Cell("3 x 5", answers, 300, 0.0)
        row: dict[str, object] = {"answers": answers, "ours": measure, "lavaan": peer}
        for name, cross in (("omitted", CROSS), ("true", 0.0)):
            data = [cell.draw(np.random.default_rng([300, k]), cross) for k in range(SETS)]
            ours = [
                dt.fit(X, structure=cell.structure, measure=measure, estimator=estimator)
                for X in data
            ]
            row[f"{name}: ours"] = np.mean([one.fit_measures["pvalue"] < 0.05 for one in ours])
            row[f"{name}: lavaan"] = _lavaan(data, cell.structure, peer)
        rows.append(row)
        print(row, flush=True)
    report.heading("Power: one cross-loading of .3 omitted")
    report.table(pd.DataFrame(rows), f"Rejected at 5 %, 3 x 5 items, n = 300, {SETS} data sets", 3)
    report.line("Beside it the same for the true structure: power that rests on a test that is")
    report.line("too liberal is none.")


def _lavaan(data: list[np.ndarray], structure: dt.Structure, estimator: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        np.vstack(data).tofile(f"{folder}/x.bin")
        (Path(folder) / "model.txt").write_text(structure.to_lavaan())
        command = ["Rscript", "--vanilla", str(SCRIPT), folder, estimator]
        size = [str(len(data)), *map(str, data[0].shape)]
        done = subprocess.run([*command, *size], check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])
