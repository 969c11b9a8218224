"""medil, which covers the edges of a dependence graph by cliques: how far it gets.

Used where an interpreter has it; it is no dependency of ours, not even of the benchmarks.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.choice.scores import scores
from benchmarks.harness import Report
from benchmarks.highdim.designs import cells
from benchmarks.highdim.methods import OURS

ALGORITHMS = {"heuristic": "find_heuristic_1pc", "cover": "find_clique_min_cover"}
SIZES = (2, 3, 4, 5, 6)  # unrelated factors of 15 items
ROWS = 250


def run(report: Report, python: str | None, sets: int, limit: float) -> None:
    """Print F₁, number of factors and seconds: few factors first, then the cells themselves."""
    python = python or sys.executable
    version = _version(python)
    if version is None:
        report.line(
            "medil: not installed here, so not run; `--medil PYTHON` names an interpreter that "
            "has it."
        )
        return
    rows: list[dict[str, Any]] = []
    for method in ALGORITHMS:
        rows += _every_case(python, method, sets, limit)
    for case, draw in _cases():
        drawn = [draw(seed) for seed in range(1, sets + 1)]
        rows += [{"case": case, "method": "ours", "result": "", **_ours(one)} for one in drawn]
    report.table(_table(pd.DataFrame(rows)), f"medil {version} on {ROWS} rows", 3)
    report.line(
        f"medil: graph of estimate_UDG at its defaults, then {' or '.join(ALGORITHMS.values())} "
        f"({' or '.join(ALGORITHMS)}); at most {limit:g} s a data set, start included, up to "
        f"{sets} data sets a row. A case ends with its first data set that is too slow, and the "
        "heuristic, which goes through all largest sets of unrelated items, ends there for good. "
        "The cover need not be the smallest: the search stops branching at depth three."
    )


def _cases() -> list[tuple[str, Callable[[int], dt.Simulation]]]:
    few = [(f"{size} factors, {15 * size} items", partial(_clusters, size)) for size in SIZES]
    return [*few, *((f"375 items, {cell.name}", cell.draw) for cell in cells())]


def _clusters(size: int, seed: int) -> dt.Simulation:
    return dt.simulate("clusters", ROWS, n_factors=size, items_per_factor=15, seed=seed)


def _every_case(python: str, method: str, sets: int, limit: float) -> list[dict[str, Any]]:
    """One row a data set until it is too slow."""
    rows = []
    for case, draw in _cases():
        for seed in range(1, sets + 1):
            found = _found(draw(seed), python, method, limit)
            rows.append({"case": case, "method": f"medil, {method}"} | found)
            if found["result"] == "too slow":
                break
        if method == "heuristic" and rows[-1]["result"] == "too slow":
            break
    return rows


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
        except subprocess.CalledProcessError as error:
            return {"result": f"ended with code {error.returncode}"}
        answer = json.loads(out.read_text())
    if "error" in answer:
        return {"result": answer["error"], "seconds": answer["seconds"]}
    support = np.array(answer["cover"], dtype=bool).T
    agreement = dt.compare(dt.Structure(support, list(drawn.data.columns)), drawn.structure)
    return {"result": "", "f1": agreement.f1, "d": len(support.T), "seconds": answer["seconds"]}


def _ours(drawn: dt.Simulation) -> dict[str, Any]:
    only = {"ours": OURS["ours"]}
    found = scores(only, drawn.data, drawn.structure).iloc[0]
    return {"f1": found["f1"], "d": found["d"], "seconds": found["seconds"]}


def _table(rows: pd.DataFrame) -> pd.DataFrame:
    grouped = rows.groupby(["case", "method"], sort=False)
    means = grouped.agg(
        sets=("result", "size"), finished=("f1", "count"), F1=("f1", "mean"), error=("f1", "sem"),
        found=("d", "mean"), seconds=("seconds", "mean"),
        failures=("result", lambda texts: "; ".join(sorted(set(texts) - {""}))),
    ).reset_index()  # fmt: skip
    order = {case: place for place, (case, _) in enumerate(_cases())}
    means = means.sort_values("case", key=lambda names: names.map(order), kind="stable")
    return means.astype(object).where(means.notna(), "")
