"""Simulated data sets, one line each, so that a run goes on where the last one ended."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

import dtstat as dt
from benchmarks.harness import ROOT

RESULTS = ROOT / "benchmarks" / "results" / "sem_inference"


def simulate(
    name: str, cells: Sequence[Sequence[Any]], sets: int, one_set: Callable[..., dict[str, Any]]
) -> pd.DataFrame:
    """Simulate the data sets of all cells that the ledger does not have, and return all.

    ``one_set(*cell, k)`` is data set k of a cell; it draws with a seed made of both. A set to which
    a model cannot be fitted counts as one line without numbers.
    """
    warnings.simplefilter("ignore")
    file = RESULTS / f"{name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    done = {json.dumps([*row["cell"], row["set"]]) for row in rows}
    with file.open("a") as opened:
        for cell in cells:
            for k in range(sets):
                if json.dumps([*cell, k]) in done:
                    continue
                try:
                    found = one_set(*cell, k)
                except dt.EstimationError:
                    found = {}
                row = {"cell": list(cell), "set": k, **found}
                opened.write(json.dumps(row) + "\n")
                rows.append(row)
    wanted = {json.dumps(list(cell)) for cell in cells}
    rows = [row for row in rows if json.dumps(row["cell"]) in wanted and row["set"] < sets]
    return pd.DataFrame(rows)
