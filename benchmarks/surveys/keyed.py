"""Real surveys with a published key, read from R packages: see ``keyed.R``."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd

import dtstat as dt

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Survey:
    """Answers or a correlation matrix, and the scales its authors made of the items."""

    name: str
    source: str
    data: pd.DataFrame
    is_matrix: bool
    n_obs: int
    key: dict[str, list[str]]
    note: str

    @property
    def truth(self) -> dt.Structure:
        """The key as a structure over all items."""
        return dt.Structure.from_keys(self.key, list(self.data.columns))

    def dependence(self) -> dt.DependenceMatrix:
        """Spearman correlations of the answers, or the published matrix."""
        if self.is_matrix:
            return dt.DependenceMatrix.from_matrix(self.data, self.n_obs)
        return dt.dependence(self.data)


@cache
def folder() -> Path:
    """Write all surveys once a process; the folder goes with the process."""
    made = tempfile.TemporaryDirectory(prefix="keyed-")
    _kept.append(made)
    subprocess.run(["Rscript", "--vanilla", str(HERE / "keyed.R"), made.name], check=True)
    return Path(made.name)


_kept: list[tempfile.TemporaryDirectory[str]] = []


def surveys(cached: Path | None = None) -> list[Survey]:
    """Return all surveys that can be had, fewest items first.

    Parameters
    ----------
    cached
        A folder that ``keyed.R`` has filled before; without it R runs once.
    """
    source = folder() if cached is None else cached
    found = [_read(path) for path in source.glob("*.json") if path.with_suffix(".csv").exists()]
    return sorted(found, key=lambda survey: (survey.data.shape[1], survey.name))


def _read(path: Path) -> Survey:
    described = json.loads(path.read_text())
    data = pd.read_csv(path.with_suffix(".csv"))
    if described["is_matrix"]:
        data.index = data.columns
    return Survey(data=data, **described)
