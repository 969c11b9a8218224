"""How near the machine's limits the kernels come: ``python -m benchmarks.limits``.

Each kernel is set beside a rate that is measured in the same run, on one thread, by a loop that
does nothing else: words of common bits counted per second within the first-level cache,
multiply-adds per second of a large matrix product, bytes per second read from memory. The share is
the time the work would take at that rate, over the time the kernel takes, its preparation included.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numba import njit

import dtstat as dt
from benchmarks.harness import ROOT, Report
from dtstat.core.parallel import one_thread
from dtstat.data.pair_tables import count_pairs
from dtstat.dependence.distance_hsic import distance_correlation
from dtstat.dependence.kendall import tau_b_by_bits
from dtstat.dependence.pearson import pearson, product_block, standardize_items
from dtstat.dependence.spearman import dense_codes
from dtstat.factors.maximum_likelihood import FactorLikelihood
from dtstat.structure.barcode import barcode

RESULTS = ROOT / "benchmarks" / "results" / "limits.md"
WANTED = 0.3
REPEATS = 3


@njit(nogil=True)
def _common_bits(x, y, times):
    """Count common bits of two short arrays again and again."""
    total = np.uint64(0)
    for k in range(times):
        count = np.uint64(0)
        for w in range(len(x)):
            v = x[w] & (y[w] ^ np.uint64(k))  # another word each time, or it would be done once
            v = v - ((v >> np.uint64(1)) & np.uint64(0x5555555555555555))
            v = (v & np.uint64(0x3333333333333333)) + (
                (v >> np.uint64(2)) & np.uint64(0x3333333333333333)
            )
            v = (v + (v >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
            count += (v * np.uint64(0x0101010101010101)) >> np.uint64(56)
        total += count
    return total


def _seconds(work: Callable[[], Any]) -> float:
    """CPU seconds of the best of some runs, the first of which compiles."""
    work()
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def bounds() -> dict[str, float]:
    """Words, multiply-adds and bytes per second that one thread of this machine reaches."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 2**63, (2, 1024)).astype(np.uint64)
    times = 50_000
    A, B = rng.normal(size=(2, 1200, 1200))
    a, b = A.astype(np.float32), B.astype(np.float32)
    long = rng.random(20_000_000)
    return {
        "words": times * len(x) / _seconds(lambda: _common_bits(x, y, times)),
        "double": 1200**3 / _seconds(lambda: A @ B),
        "single": 1200**3 / _seconds(lambda: a @ b),
        "bytes": long.nbytes / _seconds(long.sum),
    }


def _likelihood() -> tuple[float, Callable[[], Any]]:
    """Return multiply-adds of an evaluation with dense loadings, R W and W'(R W), and the work."""
    p, d = 300, 20
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, p)) + np.repeat(rng.normal(size=(1000, d)), p // d, axis=1)
    support = np.arange(p)[:, None] // (p // d) == np.arange(d)
    likelihood = FactorLikelihood(np.corrcoef(X.T), support)
    theta = likelihood.start()

    def work() -> None:
        for _ in range(20):
            likelihood.evaluate(theta)

    return 20.0 * p * p * d, work


def kernels() -> dict[str, tuple[str, float, Callable[[], Any]]]:
    """Return, of each kernel, its bound, the units of work it cannot avoid, and the work."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1500, 200)) + np.repeat(rng.normal(size=(1500, 20)), 10, axis=1)
    codes, n, p = dense_codes(X)[0], *X.shape
    pairs = p * (p + 1) / 2
    long = np.repeat(X, 10, axis=0)[:10_000]
    standardized = standardize_items(long)
    ratings = np.clip(np.rint(rng.normal(size=(200_000, 30)) + 3), 1, 5)
    cells = 30 * 29 / 2 * 25
    R, names = np.abs(np.corrcoef(X.T)), tuple(f"x{i}" for i in range(p))
    return {
        "Kendall, 1500 × 200": (
            "words", pairs * n * (n - 1) / 2 / 64, lambda: tau_b_by_bits(codes, 1)
        ),
        "tables of pairs, 200,000 × 30": (
            "words",
            cells * len(ratings) / 64,
            lambda: count_pairs(ratings, [range(1, 6)] * 30),
        ),
        "Spearman product, 10,000 × 200": (
            "double",
            pairs * len(long),
            lambda: product_block(standardized, (slice(0, p), slice(0, p))),
        ),
        "standardizing and product": ("double", pairs * len(long), lambda: pearson(long)),
        "distance, 1500 × 200": ("single", pairs * n * n / 2, lambda: distance_correlation(X)),
        "barcode, 200 items": ("bytes", 8.0 * p * p, lambda: barcode(R, names, 2)),
        "likelihood, 300 items, 20 factors": ("double", *_likelihood()),
    }  # fmt: skip


def main() -> None:
    """Write ``limits.md``."""
    with one_thread():
        limit = bounds()
        rows = []
        for name, (unit, amount, work) in kernels().items():
            seconds = _seconds(work)
            share = amount / limit[unit] / seconds
            product = name.split(",")[0] in ("Kendall", "Spearman product", "distance")
            rows.append(
                {
                    "kernel": name, "bound": unit, "units": f"{amount:.2e}", "CPU s": seconds,
                    "share of the bound": share, "wanted": f"{WANTED}" if product else "",
                    "reached": ("yes" if share >= WANTED else "NO") if product else "",
                }
            )  # fmt: skip
            print(rows[-1], flush=True)
    report = Report()
    report.line("# How near the limit\n\nWritten by `make bench`.\n")
    report.line(f"```\n{__doc__}```")
    load = os.getloadavg()[0]
    report.line(
        f"dtstat {dt.__version__}, {os.cpu_count()} cores, load average at the end {load:.1f}"
        + (": the machine did other work too.\n" if load > 1.5 else ".\n")
    )
    report.line("Rates of one thread: " + ", ".join(f"{v:.2e} {k}/s" for k, v in limit.items()))
    report.table(pd.DataFrame(rows), "Kernels beside the rate that bounds them")
    report.line(
        "The barcode's bound is one look at the matrix; it sorts and follows cliques, so its share "
        "is small by nature. The likelihood's bound counts its products with the matrix as if "
        "every factor loaded on every item; what it spends beside is on small matrices."
    )
    RESULTS.write_text("\n".join(report.parts) + "\n")


if __name__ == "__main__":
    main()
