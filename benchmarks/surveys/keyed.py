"""Real surveys with a published key, in two sets.

"packages": from R packages, see ``keyed.R``. "further": from a folder beside the repository, whose
files belong to their sources and are not copied.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

import dtstat as dt
from benchmarks.harness import ROOT

HERE = Path(__file__).parent
FURTHER = ROOT.parent / "shared" / "surveys"
SETS = ("packages", "further")
LEFT_OUT = "neo_240"  # in no mean: 240 items are slow for the peers


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
    group: str = SETS[0]  # the set it is from

    @property
    def truth(self) -> dt.Structure:
        """The key as a structure over all items."""
        return dt.Structure.from_keys(self.key, list(self.data.columns))

    @property
    def size(self) -> tuple[bool, int, str]:
        """What surveys are sorted by: fewest items first, the one left out at the end."""
        return self.name == LEFT_OUT, self.data.shape[1], self.name

    def dependence(self) -> dt.DependenceMatrix:
        """Spearman correlations of the answers, or the published matrix."""
        if self.is_matrix:
            return dt.DependenceMatrix.from_matrix(self.data, self.n_obs)
        return dt.dependence(self.data)

    def write(self, folder: Path) -> None:
        """Write NAME.csv and NAME.json as ``keyed.R`` does."""
        self.data.to_csv(folder / f"{self.name}.csv", index=False)
        described = {name: value for name, value in asdict(self).items() if name != "data"}
        (folder / f"{self.name}.json").write_text(json.dumps(described))

    def digest(self) -> str:
        """Return a short text that changes with the data, to six decimals, and with the key."""
        text = self.data.round(6).to_csv(index=False) + json.dumps([self.n_obs, self.key])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def folder() -> Path:
    """Write the surveys of R packages once a process; the folder goes with the process."""
    made = tempfile.TemporaryDirectory(prefix="keyed-")
    _kept.append(made)
    subprocess.run(["Rscript", "--vanilla", str(HERE / "keyed.R"), made.name], check=True)
    return Path(made.name)


_kept: list[tempfile.TemporaryDirectory[str]] = []


def surveys(cached: Path | None = None) -> list[Survey]:
    """Return all surveys of R packages that can be had, fewest items first.

    Parameters
    ----------
    cached
        A folder that ``keyed.R`` has filled before; without it R runs once.
    """
    source = folder() if cached is None else cached
    found = [_read(path) for path in source.glob("*.json") if path.with_suffix(".csv").exists()]
    return sorted(found, key=lambda survey: (survey.data.shape[1], survey.name))


def further(source: Path = FURTHER) -> list[Survey]:
    """Return the surveys of the folder beside the repository; without it say so, return none."""
    if not (source / "keys.json").exists():
        print("Further keyed surveys left out: no folder shared/surveys beside the repository.")
        return []
    keys = json.loads((source / "keys.json").read_text())
    found = [_from_key(name, described, source) for name, described in keys.items()]
    return sorted(found, key=lambda survey: survey.size)


def both_sets(cached: Path | None = None) -> list[Survey]:
    """Return the surveys of both sets, fewest items first, the one left out of means last."""
    return sorted([*surveys(cached), *further()], key=lambda survey: survey.size)


def _read(path: Path) -> Survey:
    described = json.loads(path.read_text())
    return Survey(data=_table(path.with_suffix(".csv"), described["is_matrix"]), **described)


def _from_key(name: str, described: dict[str, Any], source: Path) -> Survey:
    """Two keys may share a file."""
    rest = {field: value for field, value in described.items() if field != "file"}
    data = _table(source / described["file"], described["is_matrix"])
    return Survey(name=name, data=data, group=SETS[1], **rest)


def _table(path: Path, is_matrix: bool) -> pd.DataFrame:
    data = pd.read_csv(path)
    if is_matrix:
        data.index = data.columns
    return data
