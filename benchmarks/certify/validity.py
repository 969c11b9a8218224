"""How often anything false is certified: at most as often as promised, in every design."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.certify.designs import POPULATIONS, Population
from benchmarks.harness import ROOT, Report
from dtstat.core.errors import silenced

SETS, BLOCK, ERROR = 1000, 50, 0.05
LEDGER = ROOT / ".build" / "certify_validity.jsonl"


def certify_once(design: Population, k: int, key: int) -> dict[str, int]:
    """Certify one data set: whether anything was certified, and anything false."""
    X = design.draw(np.random.default_rng([key, k]))
    with silenced():
        found = dt.certify(X, ERROR, measure=design.measure, n_draws=20, n_splits=0, seed=0)
    claims = np.argwhere(found.errors <= ERROR)
    false = any(not design.holds(found.members[c], int(u)) for c, u in claims)
    return {"false": int(false), "some": int(bool(len(claims)))}


def in_blocks(
    populations: Sequence[Population],
    work: Callable[[Population, int, int], dict[str, int]],
    sets: int,
    ledger: Path,
) -> pd.DataFrame:
    """Work on data sets of all designs, going on where the ledger ends; shares by design."""
    ledger.parent.mkdir(exist_ok=True)
    lines = ledger.read_text().splitlines() if ledger.exists() else []
    done = {(one.pop("key"), one.pop("block")): one for one in map(json.loads, lines)}
    for block in range(sets // BLOCK):
        for key, design in enumerate(populations):
            if (key, block) in done:
                continue
            numbers = range(block * BLOCK, (block + 1) * BLOCK)
            found = pd.DataFrame([work(design, k, key) for k in numbers]).sum().to_dict()
            done[key, block] = found
            with ledger.open("a") as file:
                file.write(json.dumps({"key": key, "block": block, **found}) + "\n")
    rows = []
    for key, design in enumerate(populations):
        own = pd.DataFrame([done[key, block] for block in range(sets // BLOCK)])
        about = {"design": design.label, "measure": design.measure, "n": design.n}
        rows.append(about | (own.sum() / sets).to_dict())
    return pd.DataFrame(rows)


def run(report: Report) -> None:
    """Print the share of data sets with any false certificate."""
    report.heading("False certificates")
    frame = in_blocks(POPULATIONS, certify_once, SETS, LEDGER)
    limit = ERROR + 2 * math.sqrt(ERROR * (1 - ERROR) / SETS)
    report.table(frame, f"{SETS} data sets per design, error {ERROR}", 3)
    report.line(
        f"Largest share of data sets with any false certificate: {frame['false'].max():.3f}; "
        f"promised {ERROR}, with two Monte Carlo errors {limit:.3f}. some: anything certified."
    )
