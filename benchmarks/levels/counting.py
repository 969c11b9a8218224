"""Count what a fit finds in many data sets, resumed where a run before ended."""

from __future__ import annotations

import ast
import hashlib
import json
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dtstat as dt
from benchmarks.harness import ROOT
from benchmarks.levels.draws import Design
from dtstat.core.checkpoints import Ledger
from dtstat.core.errors import InputError
from dtstat.core.parallel import one_thread
from dtstat.data.items import as_items
from dtstat.fit.pipeline import find_structure, prepare
from dtstat.fit.request import FitRequest, Run
from dtstat.search.records import Outcome

RESULTS = ROOT / "benchmarks" / "results" / "levels"
CODE = ("dependence", "efa", "factors", "search", "structure", "fit/pipeline.py")
SEED = 20260


def found(data: np.ndarray, measure: str = FitRequest.measure) -> Outcome:
    """Search as ``dt.fit(data, measure=measure)`` does, without the report that follows."""
    request, run = FitRequest(measure=measure), Run(measure)
    with warnings.catch_warnings(action="ignore"), one_thread():
        return find_structure(prepare(as_items(data), request, run), request, run)[1]


@dataclass(frozen=True)
class Cell:
    """A design at a number of rows."""

    design: Design
    n: int
    sets: int
    measure: str = FitRequest.measure

    @property
    def name(self) -> str:
        """As in the ledger."""
        return f"{self.design.name}, n {self.n}, {self.measure}, {self.sets} sets"

    def count(self) -> dict[str, Any]:
        """Return how often each number of factors came out, and how often exactly the truth."""
        numbers: Counter[int] = Counter()
        exact = 0
        for k in range(self.sets):
            rng = np.random.default_rng([SEED, k, *self.name.encode()])
            data = self.design.draw(self.n, rng)
            support = found(data, self.measure).best.proposal.support
            if k == 0:
                _check_same(data, self.measure, support)
            numbers[support.shape[1]] += 1
            same = support.shape == self.design.truth.support.shape
            exact += same and dt.compare(dt.Structure(support), self.design.truth).exact
        counts = {str(d): numbers[d] for d in sorted(numbers)}
        return {"sets": self.sets, "numbers": counts, "exact": int(exact)}


def _check_same(data: np.ndarray, measure: str, support: np.ndarray) -> None:
    """Make sure that a user gets the same from ``dt.fit``."""
    with warnings.catch_warnings(action="ignore"):
        fit = dt.fit(data, measure=measure)
    same = fit.n_factors == support.shape[1]
    same = same and (not fit.n_factors or dt.compare(fit.structure, dt.Structure(support)).exact)
    assert same, "the search alone gives another structure than fit"


def resumed(
    name: str, pieces: Iterable[tuple[str, Callable[[], dict[str, Any]]]]
) -> dict[str, dict[str, Any]]:
    """Return the outcome of each piece, from the ledger of this name where it is there."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.jsonl"
    header = {"work": f"benchmarks.levels {name}", "code": code()}
    try:
        ledger = Ledger.open(path, header)
    except InputError as error:
        advice = f"What decides a fit has changed; remove {path.name} to count again."
        raise SystemExit(advice) from error
    outcomes = {record["piece"]: record["outcome"] for record in ledger.finished}
    for piece, work in pieces:
        if piece not in outcomes:
            outcomes[piece] = work()
            ledger.append({"piece": piece, "outcome": outcomes[piece]})
            print(piece, json.dumps(outcomes[piece])[:150], flush=True)
    return outcomes


def code() -> str:
    """Return a digest of what decides the answer of a fit, comments and docstrings left out."""
    hashed = hashlib.sha256()
    for part in CODE:
        path = ROOT / "dtstat" / part
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            hashed.update(_bare(file).encode())
    return hashed.hexdigest()[:16]


def _bare(file: Path) -> str:
    tree = ast.parse(file.read_text())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                body[0] = ast.Expr(ast.Constant(""))
    return ast.dump(tree)


def count(name: str, cells: list[Cell]) -> list[tuple[Cell, dict[str, Any]]]:
    """Count all cells."""
    outcomes = resumed(name, ((cell.name, cell.count) for cell in cells))
    return [(cell, outcomes[cell.name]) for cell in cells]


def monte_carlo_error(count: int, sets: int) -> float:
    """Monte Carlo error of a share; of 0 or all, that of half a data set."""
    share = min(max(count, 0.5), sets - 0.5) / sets
    return math.sqrt(share * (1 - share) / sets)


def rate(count: int, sets: int) -> str:
    """Show a share with its count and Monte Carlo error."""
    return f"{count / sets:.3f} ({count}/{sets}, {monte_carlo_error(count, sets):.3f})"


def listed(numbers: dict[str, int]) -> str:
    """Show how often each number of factors came out."""
    return ", ".join(f"{d}: {count}" for d, count in numbers.items())
