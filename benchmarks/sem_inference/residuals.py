"""Standardized residuals of two groups that share loadings, here and in lavaan."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report
from benchmarks.lavaan.models.texts import HS
from dtstat.sem.residuals import standardized_residuals

SETS = 150
LAVAAN = """
suppressPackageStartupMessages(library(lavaan))
z <- lapply(commandArgs(TRUE)[-1], function(file) {
  fit <- cfa(commandArgs(TRUE)[1], read.csv(file), group = "school", group.equal = "loadings")
  unclass(lavResiduals(fit)[[1]]$cov.z)
})
cat(jsonlite::toJSON(z, digits = NA, na = "null"))
"""


def run(report: Report) -> None:
    """Draw from the fitted model, and print the spread of the z values: 1 if they are right."""
    data = dt.load_dataset("holzinger_swineford_9", people=True)
    fit = dt.cfa(data, HS, group="school", group_equal="loadings")
    rng = np.random.default_rng(1)
    ours: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        for k in range(SETS):
            drawn = _draw(fit, rng)
            drawn.to_csv(Path(folder) / f"{k}.csv", index=False)
            again = dt.cfa(drawn, HS, group="school", group_equal="loadings")
            ours.append(standardized_residuals(again.estimate)[0])
        files = [str(Path(folder) / f"{k}.csv") for k in range(SETS)]
        done = subprocess.run(
            ["Rscript", "--vanilla", "-e", LAVAAN, HS, *files],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    spreads = {"dtstat": np.std(ours, axis=0), "lavaan": np.std(json.loads(done.stdout), axis=0)}
    rows = []
    for kind, chosen in (("variances", np.eye(9) > 0), ("covariances", np.tri(9, k=-1) > 0)):
        row: dict[str, Any] = {"residuals of": kind}
        for program, spread in spreads.items():
            row |= {f"{program}, lowest": spread[chosen].min()}
            row |= {f"{program}, highest": spread[chosen].max()}
        rows.append(row)
    report.heading("Standardized residuals of two groups that share loadings")
    title = f"Standard deviation of z in the first group, {SETS} samples from the model"
    report.table(pd.DataFrame(rows), title, 3)


def _draw(fit: dt.CFAFit, rng: np.random.Generator) -> pd.DataFrame:
    parts = [
        pd.DataFrame(
            rng.multivariate_normal(b.mu, b.Sigma, b.n_obs, method="cholesky"),
            columns=fit.item_names,
        )
        for b in fit.estimate.blocks
    ]
    return pd.concat(parts, keys=fit.groups, names=["school", None]).reset_index("school")
