"""Tails of one contrast in small samples: without and with Satterthwaite's degrees of freedom."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import special, stats

from benchmarks.harness import Report
from dtstat.core.arrays import FloatArray

SETS, CHUNK, LEVEL = 60_000, 4000, 2e-4
_CUTS = {"five points": [-1.5, -0.5, 0.5, 1.5], "binary": [0.0], "binary 15/85": [1.04]}


def draw(kind: str, loading: float, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw (CHUNK, n, 4) answers of one factor: all correlations are equal."""
    common = loading * rng.standard_normal((CHUNK, n, 1))
    X = common + np.sqrt(1 - loading**2) * rng.standard_normal((CHUNK, n, 4))
    if kind == "skewed":
        return np.exp(0.8 * X)
    return X if kind == "normal" else np.digitize(X, _CUTS[kind]).astype(float)


def contrast(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Studentized z₁₂ − z₃₄ of every data set, and the degrees of freedom."""
    n = X.shape[1]
    Z = X - X.mean(axis=1, keepdims=True)
    Z /= np.maximum(np.sqrt((Z**2).mean(axis=1, keepdims=True)), 1e-9)

    def one(i: int, j: int) -> tuple[FloatArray, FloatArray]:
        product = Z[..., i] * Z[..., j]
        r = np.clip(product.mean(axis=1), -0.999, 0.999)
        J = product - 0.5 * r[:, None] * (Z[..., i] ** 2 + Z[..., j] ** 2)
        return np.arctanh(r), J / (1 - r**2)[:, None]

    (za, Ja), (zb, Jb) = one(0, 1), one(2, 3)
    D = Ja - Jb
    D -= D.mean(axis=1, keepdims=True)
    second = np.maximum((D**2).mean(axis=1), 1e-9)
    kurtosis = (D**4).mean(axis=1) / second**2
    return (za - zb) / np.sqrt(second / (n - 1)), 2 * (n - 1) / np.maximum(kurtosis - 1, 1e-3)


def run(report: Report) -> None:
    """Print the tail at a nominal level, as a multiple of it."""
    report.heading("Tails of one contrast of equal correlations, Pearson")
    rows = []
    for n in (100, 300):
        for kind in ("normal", "skewed", *_CUTS):
            for loading in (0.4, 0.7, 0.9):
                rng = np.random.default_rng(1)
                parts = [contrast(draw(kind, loading, n, rng)) for _ in range(SETS // CHUNK)]
                t, df = (np.concatenate(part) for part in zip(*parts, strict=True))
                plain = np.abs(t) > stats.norm.isf(LEVEL)
                student = special.stdtr(df, -np.abs(t)) < LEVEL
                rows.append(
                    {
                        "items": kind,
                        "loading": loading,
                        "n": n,
                        "normal": float(plain.mean() / (2 * LEVEL)),
                        "Student": float(student.mean() / (2 * LEVEL)),
                    }
                )
    report.table(
        pd.DataFrame(rows), f"Tail at the nominal level {LEVEL:g}, as a multiple; {SETS} sets", 1
    )
