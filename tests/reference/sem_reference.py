"""Fits the same models with live lavaan and with dtstat, for the tests beside this file."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

_SCRIPT = """
suppressPackageStartupMessages(library(lavaan))
folder <- commandArgs(TRUE)[1]
for (file in list.files(folder, "[.]lav$")) {
  stem <- file.path(folder, sub("[.]lav$", "", file))
  d <- read.csv(paste0(stem, ".csv"), check.names = FALSE)
  model <- paste(readLines(paste0(stem, ".lav")), collapse = "\\n")
  call <- paste0("sem(model, data = d", readLines(paste0(stem, ".opt")), ")")
  fit <- tryCatch(suppressWarnings(eval(parse(text = call))), error = function(e) NULL)
  ok <- !is.null(fit) && lavInspect(fit, "converged")
  if (!ok) { cat("rejected", file = paste0(stem, ".rejected")); next }
  save <- function(x, what) write.csv(x, paste0(stem, ".", what), row.names = FALSE, na = "")
  save(parameterEstimates(fit, standardized = TRUE, remove.nonfree = FALSE), "parameters")
  save(standardizedSolution(fit), "standardized")
  m <- fitMeasures(fit)
  save(data.frame(name = names(m), value = as.numeric(m)), "measures")
  mi <- tryCatch(modindices(fit), error = function(e) NULL)
  if (!is.null(mi)) save(mi, "modification")
}
"""


@dataclass(frozen=True)
class Case:
    """One model, its data, and further arguments for lavaan, as R code."""

    name: str
    model: str
    data: pd.DataFrame
    options: str = ""


def lavaan_results(cases: list[Case], folder: Path) -> dict[str, dict[str, pd.DataFrame] | None]:
    """All results of lavaan by case; None where it stopped or did not converge."""
    for case in cases:
        case.data.to_csv(folder / f"{case.name}.csv", index=False)
        (folder / f"{case.name}.lav").write_text(case.model + "\n")
        (folder / f"{case.name}.opt").write_text(
            (", " + case.options if case.options else "") + "\n"
        )
    script = folder / "run.R"
    script.write_text(_SCRIPT)
    done = subprocess.run(
        ["Rscript", "--vanilla", str(script), str(folder)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return {case.name: _read(folder, case.name) for case in cases}


def _read(folder: Path, name: str) -> dict[str, pd.DataFrame] | None:
    if (folder / f"{name}.rejected").exists():
        return None
    kinds = ("parameters", "standardized", "measures", "modification")
    files = {kind: folder / f"{name}.{kind}" for kind in kinds}
    texts = {"rhs": str, "lhs": str, "op": str}
    return {
        kind: pd.read_csv(
            file, dtype=texts, keep_default_na=False, na_values={c: [] for c in texts}
        ).apply(lambda column: column if column.name in texts else pd.to_numeric(column, "coerce"))
        if kind != "measures"
        else pd.read_csv(file)
        for kind, file in files.items()
        if file.exists()
    }


def random_case(seed: int) -> Case:
    """Simple structure with cross-loadings, residual covariances, regressions or equality."""
    rng = np.random.default_rng(seed)
    d, per = int(rng.integers(2, 5)), int(rng.integers(3, 5))
    p, n = d * per, int(rng.integers(200, 600))
    L = np.zeros((p, d))
    for k in range(d):
        L[k * per : (k + 1) * per, k] = rng.uniform(0.5, 1.0, per) * rng.choice([1, 1, 1, -1], per)
    lines = [
        f"f{k + 1} =~ " + " + ".join(f"x{i + 1}" for i in range(k * per, (k + 1) * per))
        for k in range(d)
    ]
    if rng.random() < 0.5:
        L[1, 1] = 0.4
        lines.append("f2 =~ x2")
    if rng.random() < 0.5:
        lines.append(f"x1 ~~ x{p}")
    if rng.random() < 0.3:
        L[:3, 0] = np.abs(L[:3, 0])  # equal loadings of opposite sign make a degenerate model
        lines[0] = lines[0].replace("x2", "a*x2").replace("x3", "a*x3")
    regressed = rng.random() < 0.5
    if regressed:
        lines.append(f"f{d} ~ f1" + (" + f2" if d > 2 else ""))
    Z = rng.normal(size=(n, d)) + 0.7 * rng.normal(size=(n, 1))
    if rng.random() < 0.4:  # heavy tails, for the robust estimators
        Z *= np.sqrt(5 / rng.chisquare(5, size=(n, 1)))
    X = (Z @ L.T + rng.normal(size=(n, p))) * rng.uniform(0.5, 3, p) + rng.normal(size=p)
    data = pd.DataFrame(X, columns=[f"x{i + 1}" for i in range(p)])
    return Case(f"random{seed}", "\n".join(lines), data)


def as_lavaan_counts(ours: dict[str, float], theirs: dict[str, float]) -> dict[str, float]:
    """Check the scaling factor of H0, and return our measures with lavaan's value of it.

    It is a trace, divided by the number of parameters. lavaan 0.6-14 counts all of them, here equal
    ones count once: their product with the factor must be the same.
    """
    name = "scaling.factor.h0"
    if name not in ours or not np.isfinite(theirs.get(name, np.nan)):
        return ours
    counted = ours[name] * ours["npar"] / theirs[name]
    assert abs(counted - round(counted)) < 0.02
    assert round(counted) >= ours["npar"]
    return {**ours, name: theirs[name]}
