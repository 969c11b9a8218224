"""Populations made to break what certify says: where conditions fail, and what whitening is for.

The conditions are those of the vignette "What is guaranteed". Where a statement fails, the vignette
or the printed line names the condition.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import special

import dtstat as dt
from benchmarks.certify.tails import CHUNK, LEVEL, SETS, contrast
from benchmarks.harness import Report
from dtstat.core.arrays import FloatArray
from dtstat.core.errors import silenced
from dtstat.data.items import as_items
from dtstat.trust.factor_number import number_errors

_FIXED, _SURVEYS = 1500, 100


def run(report: Report) -> None:
    """Print what each attack finds."""
    report.heading("Attacks")
    report.line(f"{__doc__}")
    _small_factors(report)
    _ranks_of_a_linear_model(report)
    _outliers(report)
    _unlike_shapes(report)


def _small_factors(report: Report) -> None:
    """One factor, two fixed groups of items, of which only one measures it."""
    rows = []
    for loading, items in ((0.15, 20), (0.1, 40), (0.2, 20)):
        for whitened in (False, True):
            rng = np.random.default_rng([61, items])
            T = [_ratio(rng, loading, items, whitened) for _ in range(_FIXED)]
            about = {"items": items, "loading": loading, "whitened": "yes" if whitened else ""}
            rows.append(about | {"share": float(np.mean(np.array(T) > 1.96))})
    title = (
        f"Fixed groups, one of them without a factor, n = 300: share with |T| > 1.96; {_FIXED} sets"
    )
    report.table(pd.DataFrame(rows), title, 3)


def _ratio(rng: np.random.Generator, loading: float, items: int, whitened: bool) -> float:
    n = 300
    factor = loading * rng.standard_normal(n)
    own = np.sqrt((1 - loading**2) / items)

    def side() -> FloatArray:
        sums = np.column_stack([factor + own * rng.standard_normal(n), rng.standard_normal(n)])
        sums -= sums.mean(axis=0)
        if whitened:
            values, vectors = np.linalg.eigh(sums.T @ sums / n)
            sums = sums @ (vectors / np.sqrt(values)) @ vectors.T
        return sums

    first, second = side(), side()
    U, sigma, V = np.linalg.svd(first.T @ second / n)
    return float(np.sqrt(n) * sigma[-1] / ((first @ U[:, -1]) * (second @ V[-1])).std())


def _ranks_of_a_linear_model(report: Report) -> None:
    """One lognormal factor, normal errors: linear, but its ranks follow no linear model."""
    rows = []
    loadings = np.repeat([0.95, 0.4], 6)
    for n in (1000, 3000):
        for measure in ("spearman", "pearson"):
            claimed = 0
            for k in range(_SURVEYS):
                rng = np.random.default_rng([62, n, k])
                factor = (np.exp(rng.standard_normal(n)) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)
                noise = np.sqrt(1 - loadings**2) * rng.standard_normal((n, 12))
                items = as_items(factor[:, None] * loadings + noise, screened=False)
                with silenced():
                    claimed += int((number_errors(items, measure, 3, k) <= 0.05).sum() > 1)
            rows.append({"measure": measure, "n": n, "share": claimed / _SURVEYS})
    title = (
        f'One lognormal factor, loadings .95 and .4: share with "at least 2"; {_SURVEYS} surveys'
    )
    report.table(pd.DataFrame(rows), title, 2)


def _outliers(report: Report) -> None:
    """Items 1 to 4 share an outlier in one row of 1000, which makes 1 and 4 the strongest tie."""
    clique = np.array([False] * 3 + [True] * 3)
    Sigma = np.kron(np.eye(2), np.full((3, 3), 0.85))
    np.fill_diagonal(Sigma, 1)
    rows = []
    for n in (100, 300, 1000):
        false = 0
        for k in range(_SURVEYS):
            rng = np.random.default_rng([63, n, k])
            X = rng.multivariate_normal(np.zeros(6), Sigma, n, method="cholesky")
            out = rng.random(n) < 0.001
            X[out] = 40 * rng.choice([-1, 1], (int(out.sum()), 1)) * np.array([1, 1, 1, 1, 0, 0])
            found = dt.certify(X, measure="pearson", n_draws=20, n_splits=0, seed=1)
            same = (found.members == clique).all(axis=1)
            false += bool((found.errors[same, 3] <= 0.05).any())
        rows.append({"n": n, "false": false / _SURVEYS})
    title = f"Outliers in one row of 1000, Pearson: share with a false clique; {_SURVEYS} surveys"
    report.table(pd.DataFrame(rows), title, 2)


def _unlike_shapes(report: Report) -> None:
    """Two equal correlations of .5, the first of normal and the second of lognormal items."""
    rows = []
    for spread in (0.5, 1.0):
        # Correlation of the normal variables whose exponentials correlate at .5.
        inner = np.log1p(0.5 * np.expm1(spread**2)) / spread**2
        for n in (100, 300):
            rng = np.random.default_rng([64, n])
            false = 0.0
            for _ in range(SETS // CHUNK):
                X = rng.standard_normal((CHUNK, n, 4))
                X[..., 1] = 0.5 * X[..., 0] + np.sqrt(0.75) * X[..., 1]
                X[..., 3] = inner * X[..., 2] + np.sqrt(1 - inner**2) * X[..., 3]
                X[..., 2:] = np.exp(spread * X[..., 2:])
                t, df = contrast(X)
                false += float(((t > 0) & (special.stdtr(df, -np.abs(t)) < LEVEL)).sum())
            rows.append({"log sd": spread, "n": n, "tail": false / (SETS // CHUNK * CHUNK) / LEVEL})
    title = (
        f"Normal items found to correlate more than lognormal ones: tail at {LEVEL:g}, a multiple"
    )
    report.table(pd.DataFrame(rows), title, 1)
