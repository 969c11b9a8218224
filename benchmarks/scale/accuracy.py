"""How accurate fits without a matrix are: beside maximum likelihood with it, and beside the truth.

Loadings are drawn once from .5 to .8, ten items per factor. Factors correlate by .3 each; or by
γ_k γ_l with γ from .3 to .8, so that there is something to lose where correlations are shrunk, as
with few rows they are.
"""

from __future__ import annotations

import importlib
import math
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report
from dtstat.core.errors import EstimationWarning, silenced

N, FEW, PER_FACTOR = 500, 150, 10
WEAKEST, STRONGEST, CORRELATION = 0.5, 0.8, 0.3
BESIDE, BESIDE_SETS = 1_000, 3  # items with and without the matrix
TRUTH, TRUTH_SETS = 1_200, 20
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Design:
    """A population: loadings of the items, and of the factors on what they have in common."""

    loadings: Array
    common: Array

    @classmethod
    def of(cls, p: int, varied: bool) -> Design:
        """Draw loadings; correlations all equal, or varied."""
        rng = np.random.default_rng(0)
        loadings = rng.uniform(WEAKEST, STRONGEST, p)
        k = p // PER_FACTOR
        common = rng.uniform(0.3, 0.8, k) if varied else np.full(k, math.sqrt(CORRELATION))
        return cls(loadings, common)

    @property
    def own(self) -> Array:
        """(p,) factor of each item."""
        return np.arange(len(self.loadings)) // PER_FACTOR

    @property
    def correlations(self) -> Array:
        """(k, k) correlations of the factors."""
        Phi = np.outer(self.common, self.common)
        np.fill_diagonal(Phi, 1.0)
        return Phi

    def draw(self, n: int, seed: int) -> Array:
        """(n, p) normal answers."""
        rng = np.random.default_rng(seed)
        F = self.common * rng.standard_normal((n, 1))
        F += np.sqrt(1 - self.common**2) * rng.standard_normal((n, len(self.common)))
        errors = np.sqrt(1 - self.loadings**2) * rng.standard_normal((n, len(self.loadings)))
        return self.loadings * F[:, self.own] + errors


@dataclass(frozen=True)
class Found:
    """Estimates in the order of the truth, NaN for factors that were not found exactly."""

    loadings: Array
    correlations: Array
    n_factors: int
    exact: int

    @classmethod
    def of(cls, fit: dt.DTFit, design: Design) -> Found:
        """Take the estimates of the factors that have the right items and no others."""
        L, Phi, k = fit.estimate.loadings, fit.estimate.factor_correlations, len(design.common)
        true = design.own[:, None] == np.arange(k)
        same = true.T.astype(float) @ fit.support
        full = (same == PER_FACTOR) & (fit.support.sum(axis=0) == PER_FACTOR)
        there, at = np.nonzero(full)
        items = true[:, there]
        sign = np.sign(np.where(items, L[:, at], 0.0).sum(axis=0))
        loadings, correlations = np.full(len(L), np.nan), np.full((k, k), np.nan)
        loadings[items.any(axis=1)] = (np.where(items, L[:, at], 0.0) * sign).sum(axis=1)[
            items.any(axis=1)
        ]
        correlations[np.ix_(there, there)] = Phi[np.ix_(at, at)] * np.outer(sign, sign)
        return cls(loadings, correlations, fit.n_factors, len(there))

    @property
    def between(self) -> Array:
        """Correlations of different factors, each once."""
        return self.correlations[np.triu_indices(len(self.correlations), 1)]


def _fit(X: Array, matrix: bool, measure: str = "spearman") -> tuple[dt.DTFit, float]:
    """Fit with or without the whole matrix, whatever the number of items; and CPU seconds."""
    many = importlib.import_module("dtstat.fit.many")  # its limit is no argument of fit
    before, many.MANY = many.MANY, X.shape[1] if matrix else X.shape[1] - 1
    start = time.process_time()
    try:
        with silenced(EstimationWarning):
            return dt.fit(X, measure=measure), time.process_time() - start
    finally:
        many.MANY = before


def _root_mean_square(errors: Array) -> float:
    return float(np.sqrt(np.nanmean(errors**2)))


def beside_the_matrix(report: Report) -> None:
    """Fit the same answers with the matrix, by full maximum likelihood, and without it."""
    rows = []
    design = Design.of(BESIDE, varied=False)
    Phi = design.correlations[np.triu_indices(len(design.common), 1)]
    for measure in ("spearman", "pearson"):
        for seed in range(1, BESIDE_SETS + 1):
            X = design.draw(N, seed)
            (with_it, dense_s), (without, sparse_s) = (
                _fit(X, matrix, measure) for matrix in (True, False)
            )
            one, other = Found.of(with_it, design), Found.of(without, design)
            apart = one.loadings - other.loadings, one.between - other.between
            rows.append(
                {
                    "measure": measure, "set": f"{seed}",
                    "factors, with": f"{one.n_factors}", "without": f"{other.n_factors}",
                    "F1 between": dt.compare(with_it, without).f1,
                    "largest |dλ|": np.nanmax(np.abs(apart[0])),
                    "rms dλ": _root_mean_square(apart[0]),
                    "largest |dφ|": np.nanmax(np.abs(apart[1])),
                    "rms dφ": _root_mean_square(apart[1]),
                    "λ rmse, with": _root_mean_square(one.loadings - design.loadings),
                    "λ rmse, without": _root_mean_square(other.loadings - design.loadings),
                    "φ rmse, with": _root_mean_square(one.between - Phi),
                    "φ rmse, without": _root_mean_square(other.between - Phi),
                    "CPU s, with": dense_s, "CPU s, without": sparse_s,
                }
            )  # fmt: skip
            print(rows[-1], flush=True)
    frame = pd.DataFrame(rows)
    report.heading(f"{BESIDE:,} items with the matrix and without")
    setting = list(frame.columns[:2])
    first = [*setting, *frame.columns[2:9]]
    title = f"n = {N}: structures, and how far loadings λ and factor correlations φ are apart"
    report.table(frame[first], title, digits=3)
    title = "The same fits beside the truth, and CPU seconds (the first compiles)"
    report.table(frame[[*setting, *frame.columns[9:]]], title, digits=3)
    report.line(
        "With the matrix, Spearman's correlations are turned into those of normal variables; "
        "without it, those of normal scores are taken. With Pearson's measure both start from the "
        "same correlations, and the estimators alone differ."
    )


def beside_the_truth(report: Report) -> None:
    """Simulate many sets, and give bias and root mean square error by the size of what is true."""
    rows: list[dict[str, Any]] = []
    lines = []
    for varied, n in ((False, N), (True, N), (True, FEW)):
        design = Design.of(TRUTH, varied)
        kind = {"correlations": "varied" if varied else f"{CORRELATION}", "rows": f"{n}"}
        found, shrunk = [], []
        for seed in range(1, TRUTH_SETS + 1):
            fit = _fit(design.draw(n, seed), matrix=False)[0]
            found.append(Found.of(fit, design))
            shrunk.append(any("could have them" in note for note in fit.notes))
        Phi = design.correlations[np.triu_indices(len(design.common), 1)]
        loadings = np.array([one.loadings for one in found]) - design.loadings
        between = np.array([one.between for one in found]) - Phi
        for name, errors, true, cuts in (
            ("λ", loadings, design.loadings, (0.5, 0.6, 0.7, 0.8)),
            ("φ", between, Phi, (0.0, 0.2, 0.4, 0.7) if varied else (0.0, 0.7)),
        ):
            for low, high in pairwise(cuts):
                part = errors[:, (true >= low) & (true < high)]
                rows.append({**kind, "of": name, **_row(part, true, low, high)})
        k = len(design.common)
        print(kind, flush=True)
        exact, factors = (sum(getattr(one, of) for one in found) for of in ("exact", "n_factors"))
        lines.append(
            f"Correlations {kind['correlations']}, {n} rows: {exact} of {k * TRUTH_SETS} factors "
            f"were found with exactly their items, {factors} factors in all; correlations were "
            f"shrunk in {sum(shrunk)} of {TRUTH_SETS} sets."
        )
    report.heading(f"{TRUTH:,} items beside the truth")
    title = f"{TRUTH_SETS} sets each: bias and root mean square error without the matrix"
    report.table(pd.DataFrame(rows), title, digits=4)
    for line in lines:
        report.line(line)
    report.line(
        "`± bias`: its standard error over the sets. Only factors found with exactly their items "
        "count."
    )


def _row(errors: Array, true: Array, low: float, high: float) -> dict[str, Any]:
    of_sets = np.nanmean(errors, axis=1)
    return {
        "true": f"{low} to {high}",
        "mean of true": float(true[(true >= low) & (true < high)].mean()),
        "bias": float(np.nanmean(errors)),
        "± bias": float(of_sets.std(ddof=1) / math.sqrt(len(of_sets))),
        "rmse": _root_mean_square(errors),
    }
