"""The exact path: equal to brute force, and its cost beside a grid."""

from __future__ import annotations

import re
import subprocess
import sys
import tracemalloc

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.grid import factors_on_grid
from benchmarks.harness import ROOT, Report, best_of

N, P = 1000, 1500


def run(report: Report) -> None:
    report.heading("Exact path")
    _brute_force(report)
    rows = []
    for phi in (0.0, 0.25, 0.75):
        matrix = dt.DependenceMatrix.from_matrix(_matrix(phi))
        strength = matrix.strength
        grid = np.linspace(0, 1, 50)
        compiled = strength[:50, :50].copy()
        factors_on_grid(compiled, grid)
        dt.solution_path(dt.DependenceMatrix.from_matrix(compiled))
        on_grid, counts = best_of(lambda s=strength, g=grid: factors_on_grid(s, g))
        exact, path = best_of(lambda m=matrix: dt.solution_path(m))
        agree = all(path.at(t).n_factors == c for t, c in zip(grid, counts, strict=True))
        rows.append(
            {
                "factor correlation": phi,
                "exact (s)": exact,
                "50-point grid (s)": on_grid,
                "exact / grid": exact / on_grid,
                "distinct structures": len(path),
                "on the grid": len(dt.solution_path(matrix, thresholds=50)),
                "counts agree": "yes" if agree else "NO",
            }
        )
    ratio = min(row["50-point grid (s)"] / row["exact (s)"] for row in rows)
    pairs = P * (P - 1) // 2
    report.best(f"path over {pairs:,} thresholds, p = {P}", "compiled loop over only 50", ratio)
    report.table(
        pd.DataFrame(rows), f"p = {P}, n = {N}: all {pairs:,} thresholds beside a compiled grid", 3
    )
    report.line(
        f"Memory of the path beyond the matrix: {_memory(matrix):.0f} MB (wanted: under 200)."
    )


def _brute_force(report: Report) -> None:
    file = ROOT / "tests" / "property" / "test_path_brute_force.py"
    counts = dict(re.findall(r"^(N_\w+) = (\d+)", file.read_text(), re.MULTILINE))
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    report.line(
        f"Equal to brute force on {counts['N_GRAPHS']} random graphs, {counts['N_MATRICES']} "
        f"weighted matrices with ties at all their thresholds, and psi(E0) = A0 on "
        f"{counts['N_STRUCTURES']} structures: {done.stdout.strip().splitlines()[-1]}"
    )


def _matrix(phi: float) -> np.ndarray:
    simulation = dt.simulate("high_dimensional", n=N, factor_correlation=phi, seed=1)
    return dt.dependence(simulation.data).values


def _memory(matrix: dt.DependenceMatrix) -> float:
    """Largest amount allocated at once by the path, in MB."""
    tracemalloc.start()
    dt.solution_path(matrix)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6
