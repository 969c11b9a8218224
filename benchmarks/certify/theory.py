"""The theorems on how many rows a clique needs, tried out where a mistake would show.

The populations of Theorem 8 of the vignette "What is guaranteed": items 1 to k − 1 correlate at ½,
item j with each of them at 2γ, all others are independent. The best of all methods, maximum
likelihood, must not err less than Fano's inequality allows, and the path must not miss the
clique more often than Theorem 7 allows.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report
from dtstat.dependence.kendall import kendall

SETS = 400
CASES = ((40, 2, 0.1), (40, 4, 0.1), (100, 3, 0.15), (40, 4, 0.2))
ROWS = (10, 20, 40, 80, 160, 320, 1000, 3000)


def fano(n: int, p: int, k: int, gamma: float) -> float:
    """Smallest error that any method has in the worst of the populations."""
    explained = 8 * gamma**2 * (k - 1) / k
    divergence = n * explained / (1 - explained)
    return max(0.0, 1 - (divergence + math.log(2)) / math.log(p - k + 1))


def errors(n: int, p: int, k: int, gamma: float) -> tuple[float, float]:
    """Shares of data sets in which the likelihood, and the path by Kendall, miss the clique."""
    A = np.full((k - 1, k - 1), 0.5)
    np.fill_diagonal(A, 1.0)
    slopes = np.linalg.solve(A, np.full(k - 1, 2 * gamma))
    v = 1 - 2 * gamma * slopes.sum()
    root = np.linalg.cholesky(A)
    wrong = missed = 0
    few = SETS if n <= 320 else SETS // 8
    for s in range(SETS):
        rng = np.random.default_rng([11, n, p, k, s])
        X = rng.standard_normal((n, p))
        X[:, : k - 1] = X[:, : k - 1] @ root.T
        means = X[:, : k - 1] @ slopes
        X[:, k - 1] = means + math.sqrt(v) * X[:, k - 1]
        rest = X[:, k - 1 :]
        gain = ((rest**2).sum(axis=0) - ((rest - means[:, None]) ** 2).sum(axis=0) / v) / 2
        wrong += int(gain.argmax() != 0)
        if s < few:
            tau = np.abs(kendall(X))
            inside = tau[:k, :k][np.triu_indices(k, 1)].min()
            missed += bool(inside <= tau[k - 1, k:].max())
    return wrong / SETS, missed / few


def run(report: Report) -> None:
    """Print errors beside what the theorems say."""
    report.heading("How many rows a clique needs")
    bound = dt.Bound.of("kendall")
    rows = []
    for p, k, gamma in CASES:
        margin = math.asin(2 * gamma) / math.pi  # of Kendall's tau: half of (2/π) asin 2γ
        for n in ROWS:
            wrong, missed = errors(n, p, k, gamma)
            allowed = min(1.0, (k * (k - 1) / 2 + p - k) * bound(n, margin))
            least = fano(n, p, k, gamma)
            rows.append(
                {
                    "items": p,
                    "clique": k,
                    "margin": gamma,
                    "n": n,
                    "Fano: at least": least,
                    "likelihood": wrong,
                    "path": missed,
                    "Theorem 7: at most": allowed,
                }
            )
    frame = pd.DataFrame(rows)
    report.table(frame, f"Share of {SETS} data sets in which the clique is missed", 2)
    slack = 2 / math.sqrt(SETS)
    kept = (frame["likelihood"] >= frame["Fano: at least"] - slack) & (
        frame["path"] <= frame["Theorem 7: at most"] + slack
    )
    report.line(f"Both theorems hold in {kept.sum()} of {len(frame)} rows.")
