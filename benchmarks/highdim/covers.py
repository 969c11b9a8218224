"""medil, which covers the edges of a dependence graph by cliques: how far it gets.

Used where an interpreter has it; it is no dependency of ours, not even of the benchmarks.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.choice.scores import scores
from benchmarks.harness import Report
from benchmarks.highdim.methods import OURS

ALGORITHMS = {"heuristic": "find_heuristic_1pc", "exact": "find_clique_min_cover"}
SIZES = (2, 3, 4, 5, 6, 25)  # factors of 15 items
ROWS = 250


def run(report: Report, python: str | None, sets: int, limit: float) -> None:
    """Print F₁, number of factors and seconds for growing numbers of factors."""
    python = python or sys.executable
    version = _version(python)
    if version is None:
        report.line(
            "medil: not installed here, so not run; `--medil PYTHON` names an interpreter that "
            "has it."
        )
        return
    rows: list[dict[str, Any]] = []
    late: set[str] = set()
    for size in SIZES:
        for seed in range(1, sets + 1):
            drawn = dt.simulate("clusters", ROWS, n_factors=size, items_per_factor=15, seed=seed)
            case = {"factors": size, "items": 15 * size, "set": seed}
            tried = [name for name in ALGORITHMS if name not in late or seed == 1]
            found = {name: _found(drawn, python, name, limit) for name in tried}
            late |= {name for name in found if found[name]["result"] == "too slow"}
            rows += [case | {"method": f"medil, {k}"} | row for k, row in found.items()]
            rows.append(case | {"method": "ours", "result": "", **_ours(drawn)})
    report.table(_table(pd.DataFrame(rows)), f"medil {version} on {ROWS} rows, factors unrelated")
    report.line(
        f"medil: graph of estimate_UDG at its defaults, then {' or '.join(ALGORITHMS.values())} "
        f"({' or '.join(ALGORITHMS)}); {limit:g} s a data set, {sets} data sets a row; after one "
        "too slow only one of each larger size. Factors of one item count as found."
    )


def _version(python: str) -> str | None:
    code = "import medil; from importlib.metadata import version; print(version('medil'))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def _found(drawn: dt.Simulation, python: str, algorithm: str, limit: float) -> dict[str, Any]:
    script = Path(__file__).with_name("clique_cover.py")
    with tempfile.TemporaryDirectory() as made:
        table, out = Path(made) / "x.csv", Path(made) / "out.json"
        drawn.data.to_csv(table, index=False)
        command = [python, str(script), str(table), str(out), algorithm]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return {"result": "too slow", "seconds": limit}
        answer = json.loads(out.read_text())
    if "error" in answer:
        return {"result": answer["error"], "seconds": answer["seconds"]}
    support = np.array(answer["cover"], dtype=bool).T
    agreement = dt.compare(dt.Structure(support, list(drawn.data.columns)), drawn.structure)
    return {"result": "", "f1": agreement.f1, "d": len(support.T), "seconds": answer["seconds"]}


def _ours(drawn: dt.Simulation) -> dict[str, Any]:
    only = {"ours": OURS["ours"]}
    found = scores(only, partial(dt.dependence, drawn.data), drawn.structure).iloc[0]
    return {"f1": found["f1"], "d": found["d"], "seconds": found["seconds"]}


def _table(rows: pd.DataFrame) -> pd.DataFrame:
    case = ["factors", "items", "method"]
    grouped = rows.groupby(case, sort=False)
    means = grouped.agg(
        sets=("set", "size"), finished=("f1", "count"), F1=("f1", "mean"), error=("f1", "sem"),
        found=("d", "mean"), seconds=("seconds", "mean"),
        failures=("result", lambda texts: "; ".join(sorted(set(texts) - {""}))),
    ).reset_index()  # fmt: skip
    return means.astype(object).where(means.notna(), "")
