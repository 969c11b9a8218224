"""Surveys on which items were once lost or split without a word: what comes out."""

from __future__ import annotations

import subprocess
import tempfile
import warnings
from pathlib import Path

import pandas as pd

import dtstat as dt
from benchmarks.harness import Report

TABLES = {  # R code of the answers, or of the correlations
    "VerbalAggression": (
        'data(VerbalAggression, package = "psychotools"); '
        "as.data.frame(as.matrix(VerbalAggression$resp2))"
    ),
    "burt": 'data(burt, package = "psychTools"); as.data.frame(burt)',
    "bhr2000": 'data(bhr2000, package = "multilevel"); bhr2000[2:12]',
}
ROWS = {"burt": 172}  # people behind a matrix


def _read(code: str) -> pd.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "x.csv"
        script = f'write.csv({{ {code} }}, "{file}", row.names = FALSE, na = "")'
        subprocess.run(["Rscript", "--vanilla", "-e", script], check=True, capture_output=True)
        return pd.read_csv(file)


def run(report: Report) -> None:
    """Print the levels that stand out, the items left out, and what is said of them."""
    for name, code in TABLES.items():
        data: pd.DataFrame | dt.DependenceMatrix = _read(code)
        p = data.shape[1]
        if name in ROWS:
            data.index = data.columns
            data = dt.DependenceMatrix.from_matrix(data, ROWS[name])
        report.heading(name)
        for measure in ("spearman", "polychoric") if name == "VerbalAggression" else ("spearman",):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                fit = dt.fit(data) if name in ROWS else dt.fit(data, measure=measure)
            out = list(fit.structure.uncovered)
            which = "" if name in ROWS else f" ({measure})"
            report.line(
                f"{p} items, {fit.n_obs} rows{which}: {fit.n_factors} factors; second level "
                f"{fit.second}, {fit.supported} supported; items of no factor: "
                f"{', '.join(out) or 'none'}.\n"
            )
            report.line("```\n" + repr(fit.structure) + "\n```")
            named = [item for item in out if item in repr(fit.summary())]
            if out:
                report.line(f"The summary names {len(named)} of {len(out)} items left out.")
            for warning in said:
                if issubclass(warning.category, dt.EstimationWarning):
                    report.line(f"- Warning: {warning.message}")
