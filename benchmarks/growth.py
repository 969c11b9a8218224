"""How cost grows with the number of rows and of items, as a table and a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report, best_of

ROWS = (250, 500, 1000, 2000)
ITEMS = (50, 100, 200, 400)
FIXED_ROWS, FIXED_ITEMS = 500, 60
PATH_ITEMS = (250, 500, 1000, 2000, 4000)


def run(report: Report, picture: Path) -> None:
    report.heading("Growth of cost")
    by_rows = {name: [_matrix_time(name, n, FIXED_ITEMS) for n in ROWS] for name in _names()}
    by_items = {name: [_matrix_time(name, FIXED_ROWS, p) for p in ITEMS] for name in _names()}
    path = {"exact path": [_path_time(p) for p in PATH_ITEMS]}
    _table(report, by_rows, ROWS, f"Seconds for {FIXED_ITEMS} items by number of rows")
    _table(report, by_items, ITEMS, f"Seconds for {FIXED_ROWS} rows by number of items")
    _table(report, path, PATH_ITEMS, "Seconds of the exact path by number of items")
    _plot(by_rows, by_items, path, picture)


def _names() -> list[str]:
    return [name for name in dt.measures().index if name not in ("tetrachoric", "mixed")]


def _matrix_time(name: str, n: int, p: int) -> float:
    levels = 5 if name == "polychoric" else None
    X = dt.simulate("clusters", n, n_factors=p // 5, levels=levels, seed=1).data
    dt.dependence(X.iloc[:, :10], name)
    return best_of(lambda: dt.dependence(X, name), 2)[0]


def _path_time(p: int) -> float:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, p // 10)).repeat(10, axis=1) + rng.normal(size=(500, p))
    matrix = dt.dependence(X, "pearson")
    return best_of(lambda: dt.solution_path(matrix), 2)[0]


def _exponent(sizes: tuple[int, ...], seconds: list[float]) -> float:
    """Slope of log seconds on log size over the upper half, where overhead has faded."""
    half = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[half - 1 :]), np.log(seconds[half - 1 :]), 1)[0])


def _table(
    report: Report, times: dict[str, list[float]], sizes: tuple[int, ...], title: str
) -> None:
    rows = [
        {"": name, **dict(zip(map(str, sizes), t, strict=True)), "power": _exponent(sizes, t)}
        for name, t in times.items()
    ]
    report.table(pd.DataFrame(rows), f"{title}, and the power it grows with", digits=3)


def _plot(
    by_rows: dict[str, list[float]],
    by_items: dict[str, list[float]],
    path: dict[str, list[float]],
    picture: Path,
) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    panels = (
        (by_rows, ROWS, f"rows ({FIXED_ITEMS} items)"),
        (by_items, ITEMS, f"items ({FIXED_ROWS} rows)"),
        (path, PATH_ITEMS, "items"),
    )
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
    markers = "osv^D<>P"
    for axis, (times, sizes, label) in zip(axes, panels, strict=True):
        for k, (name, seconds) in enumerate(times.items()):
            axis.loglog(sizes, seconds, marker=markers[k % len(markers)], ms=4, lw=1, label=name)
        axis.set_xlabel(label)
        axis.set_xticks(sizes, [str(s) for s in sizes], minor=False)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("seconds, one core")
    axes[1].legend(fontsize=7, ncols=2)
    for axis, title in zip(axes, ("dependence matrix", "", "exact path"), strict=True):
        axis.set_title(title, fontsize=10)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=110)
