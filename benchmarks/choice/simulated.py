"""The rules on simulated data, where the truth is known."""

from __future__ import annotations

import math

import pandas as pd

import dtstat as dt
from benchmarks.choice.designs import GRAPHS, Cell, cells
from benchmarks.choice.rules import RULES
from benchmarks.choice.scores import at_least, scores, side_by_side, under
from benchmarks.harness import Report

CASE = ["group", "design", "n"]
SEARCHES = ("ours", "sequential")  # tried on every data set
BELOW = 0.002  # mean F1 that the sequential search may lose where it is not needed
REFINED = {"v_structure": 0.95, "chain": 0.99, "double_mediation": 0.99}  # wanted F1


def run(report: Report, share: float) -> None:
    """Print tables and targets; ``share`` of the full number of data sets."""
    every = cells()
    _warm_up(every[0])
    results = pd.concat([_tried(cell, share) for cell in every], ignore_index=True)
    means = results.groupby([*CASE, "rule"], sort=False).agg(
        f1=("f1", "mean"), error=("f1", "sem"), exact=("exact", "mean"), d=("d", "mean"),
        seconds=("seconds", "mean"), sets=("f1", "size"),
    ).reset_index()  # fmt: skip
    _tables(report, means)
    _targets(report, results)
    _refined(report, share)


def _refined(report: Report, share: float) -> None:
    """Search for cross-loadings where there are two, and where there are none."""
    for crossing, sets, wanted in ((2, 20, REFINED), (0, 10, dict.fromkeys(GRAPHS, 0.998))):
        for graph in GRAPHS:
            found = []
            for seed in range(1, math.ceil(share * sets) + 1):
                drawn = dt.simulate(graph, 4000, cross_loadings=crossing, seed=seed)
                fit = dt.fit(drawn.data, refine=True)
                found.append(dt.compare(fit.structure, drawn.structure).f1)
            text = f"refine=True, {crossing} cross-loadings, {graph}, mean F1 of {len(found)} sets"
            at_least(report, text, sum(found) / len(found), wanted[graph])


def _warm_up(cell: Cell) -> None:
    """Compile what is compiled at first use."""
    data, truth = cell.draw(0)
    scores(RULES, data, truth)


def _tried(cell: Cell, share: float) -> pd.DataFrame:
    """One row a data set and rule."""
    ours, others = (math.ceil(share * count) for count in (cell.ours, cell.others))
    rows = []
    for seed in range(1, ours + 1):
        data, truth = cell.draw(seed)
        rules = RULES if seed <= others else {name: RULES[name] for name in SEARCHES}
        rows.append(scores(rules, data, truth))
    return pd.concat(rows).assign(group=cell.group, design=cell.name, n=cell.n)


def _tables(report: Report, means: pd.DataFrame) -> None:
    means["F1"] = [f"{f1:.3f} ({e:.3f})" for f1, e in zip(means["f1"], means["error"], strict=True)]
    for value, title, digits in (
        ("sets", "Simulated data sets", 0),
        ("F1", "Mean F1 and its standard error", 3),
        ("exact", "Share of data sets with exactly the true structure", 2),
        ("d", "Mean number of factors (truth: v_structure 3, chain and double 4, five, 25)", 2),
        ("seconds", "Seconds per data set", 3),
    ):
        report.table(side_by_side(means, CASE, value, list(RULES)), title, digits)


def _targets(report: Report, results: pd.DataFrame) -> None:
    mine = results[results["rule"] == "ours"]
    f1 = mine.groupby("group")["f1"].mean()
    first = mine[mine["group"] == "first"]
    at_least(report, "first simulation, n = 4000, mean F1", f1["first"], 0.998)
    at_least(report, "first simulation, n = 4000, share exact", first["exact"].mean(), 0.97)
    at_least(report, "first simulation, n = 300, mean F1", f1["first, n = 300"], 0.998)
    at_least(report, "first simulation, five-point, mean F1", f1["first, five-point"], 0.998)
    under(report, "first simulation, 300 data sets", 300 * first["seconds"].mean(), 180)
    wrong = mine[mine["group"] == "misspecified"].groupby("n")[["f1", "d"]].mean()
    at_least(report, "misspecified, least mean F1 over n", wrong["f1"].min(), 0.99)
    numbers = ", ".join(f"{d:.2f} at n = {n}" for n, d in wrong["d"].items())
    grown = wrong["d"].iloc[-1] - wrong["d"].iloc[0]
    under(report, f"misspecified, mean number of factors {numbers}; grows by", grown, 0.5, "")
    at_least(report, "high-dimensional, mean F1", f1["high-dimensional"], 0.995)
    _sequential(report, results)


def _sequential(report: Report, results: pd.DataFrame) -> None:
    """Say what the sequential search gains or loses where the default is at home."""
    f1 = results.groupby(["group", "rule"], sort=False)["f1"].mean().unstack()
    gained = f1["sequential"] - f1["ours"]
    for group in gained.index:
        if group.startswith("first") or group == "two cross-loadings":
            text = f"sequential above ours, {group}, mean F1"
            at_least(report, text, gained[group], -BELOW, digits=4)
