"""Timing, calling R, and printing: what all benchmarks share."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dtstat.core.tables import Table

ROOT = Path(__file__).parents[1]


def best_of(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Return the shortest of some runs in seconds, and what the last one returned."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def seconds_in_r(code: str, data: np.ndarray | None = None) -> tuple[float, np.ndarray]:
    """Time R code on a matrix ``x``; return seconds and the matrix it evaluates to.

    Reading the data and starting R are not counted.
    """
    with tempfile.TemporaryDirectory() as folder:
        read = ""
        if data is not None:
            pd.DataFrame(data).to_csv(f"{folder}/x.csv", index=False)
            read = f'x <- as.matrix(read.csv("{folder}/x.csv"))'
        script = (
            f"options(mc.cores = 1); {read}\n"
            f"invisible(gc()); t <- system.time(r <- {{ {code} }})[['elapsed']]\n"
            f'write.table(format(as.matrix(r), digits = 17), "{folder}/r.csv", sep = ",", '
            f"quote = FALSE, row.names = FALSE, col.names = FALSE); cat(t)"
        )
        done = subprocess.run(
            ["Rscript", "--vanilla", "-e", script], capture_output=True, text=True, check=True
        )
        result = pd.read_csv(f"{folder}/r.csv", header=None).to_numpy(dtype=float)
    return float(done.stdout.split()[-1]), result


def fresh_python(code: str) -> str:
    """Run code in a new interpreter and return what it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@dataclass
class Report:
    """Prints tables as they are ready, and keeps them for the results file."""

    parts: list[str] = field(default_factory=list)
    headline: list[dict[str, str]] = field(default_factory=list)

    def heading(self, text: str) -> None:
        self._say(f"\n## {text}\n")

    def line(self, text: str) -> None:
        self._say(text)

    def table(self, frame: pd.DataFrame, title: str, digits: int = 2) -> None:
        self._say("```\n" + Table.from_frame(frame, title, digits=digits).to_text() + "\n```")

    def _say(self, text: str) -> None:
        print(text, flush=True)
        self.parts.append(text)

    def best(self, work: str, peer: str, ratio: float) -> None:
        """Keep a ratio for the table of the README."""
        self.headline.append({"work": work, "peer": peer, "time of peer / ours": f"{ratio:.1f}"})

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "results.md").write_text("\n".join(self.parts) + "\n")
        table = Table.from_frame(pd.DataFrame(self.headline), "dtstat beside its peers")
        (folder / "headline.txt").write_text(table.to_text() + "\n")


def versus(
    report: Report, title: str, ours: float, peers: dict[str, tuple[float, float, float]]
) -> None:
    """Print a table of peers: (seconds a unit, largest difference, wanted ratio)."""
    rows = [
        {
            "peer": name,
            "ours (µs)": ours * 1e6,
            "peer (µs)": seconds * 1e6,
            "ratio": seconds / ours,
            "wanted": wanted,
            "reached": "yes" if seconds / ours >= wanted else "NO",
            "largest difference": f"{difference:.1e}",
        }
        for name, (seconds, difference, wanted) in peers.items()
    ]
    report.table(pd.DataFrame(rows), title)
    for row in rows:
        report.best(title.removesuffix(": microseconds a pair"), row["peer"], row["ratio"])


def run_parts(
    parts: dict[str, Callable[[Report], object]], folder: Path, about: str | None
) -> None:
    """Run the parts of a benchmark that the command line names, or all; each writes its own file.

    Parameters
    ----------
    parts
        What each part is called, and the function that writes its report.
    folder
        Where the files go.
    about
        What the command says of itself.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("parts", nargs="*", help=", ".join(parts))
    folder.mkdir(parents=True, exist_ok=True)
    for name in parser.parse_args().parts or parts:
        report = Report()
        report.line("Written by `make bench`.")
        parts[name](report)
        (folder / f"{name}.md").write_text("\n".join(report.parts) + "\n")
