"""Tables and targets of the cells."""

from __future__ import annotations

import pandas as pd

from benchmarks.choice.scores import at_least, side_by_side, under
from benchmarks.harness import Report
from benchmarks.highdim.designs import Cell, N, cells
from benchmarks.highdim.methods import METHODS, OURS, SETTINGS, ours_found, peers_found
from benchmarks.surveys.peers import PEERS

CASE = ["cell", "n"]
WANTED = {"phi = 0": 0.995, "phi = 0.25": 0.995, "phi = 0.75": 0.995, "own 0.2": 0.9,
          "own 0.4": 0.75}  # fmt: skip
PAPER_SECONDS = 180


def run(report: Report, sets: int, peer_sets: int, limit: float) -> None:
    """Print what all methods find in the same data sets, and targets.

    Parameters
    ----------
    report
        Where to print.
    sets, peer_sets
        Data sets a cell for ours, and for the peers, which get the first of them.
    limit
        Seconds a peer may take for a data set.
    """
    every = cells()
    ours_found(every[0].draw(0))  # compile
    results = pd.concat([_tried(cell, sets, peer_sets, limit) for cell in every])
    _tables(report, every, results)
    _notes(report, results, sets, peer_sets, limit)
    _targets(report, results)


def _tried(cell: Cell, sets: int, peer_sets: int, limit: float) -> pd.DataFrame:
    """One row a data set and method."""
    rows = []
    for seed in range(1, sets + 1):
        drawn = cell.draw(seed)
        found = [ours_found(drawn)]
        if seed <= peer_sets:
            found.append(peers_found(drawn, limit))
        rows.append(pd.concat(found).assign(seed=seed))
    return pd.concat(rows).assign(cell=cell.name, n=N)


def _tables(report: Report, every: list[Cell], results: pd.DataFrame) -> None:
    grouped = results.groupby([*CASE, "rule"], sort=False)
    means = grouped.agg(
        f1=("f1", "mean"), error=("f1", "sem"), d=("d", "mean"), seconds=("seconds", "mean"),
        sets=("seed", "size"), finished=("f1", "count"),
    ).reset_index()  # fmt: skip
    pairs = zip(means["f1"], means["error"], strict=True)
    means["F1"] = [f"{f1:.3f} ({error:.3f})" for f1, error in pairs]
    means["done"] = [f"{a} of {b}" for a, b in zip(means["finished"], means["sets"], strict=True)]
    ours = means[means["rule"] == "ours"].set_index("cell")["seconds"]
    means["ratio"] = means["seconds"] / means["cell"].map(ours)
    methods = [name for name in METHODS if name in set(means["rule"])]
    paper_f1 = [cell.paper_f1 for cell in every]
    paper_d = [cell.paper_d for cell in every]
    for value, title, digits, paper in (
        ("done", "Data sets finished", 0, None),
        ("F1", "Mean F1 and its standard error", 3, paper_f1),
        ("d", "Mean number of factors found; the truth is 25", 1, paper_d),
        ("seconds", "Seconds a data set", 1, ["under 180"] * len(every)),
        ("ratio", "Seconds over those of ours", 1, None),
    ):
        wide = side_by_side(means, CASE, value, methods)
        report.table(wide if paper is None else wide.assign(paper=paper), title, digits)


def _notes(report: Report, results: pd.DataFrame, sets: int, peer_sets: int, limit: float) -> None:
    report.line(
        f"n = {N}, 375 items, 25 factors, noise and maps of the paper. Data sets a cell: {sets} "
        f"for ours and the oracle, the first {peer_sets} of them for the peers, each with "
        f"{limit:g} s a data set. F1 is the mean over those finished. Seconds of ours hold the "
        "dependence matrix, those of the peers not the correlations and the start of R.\n\n"
        '- ours: `fit(data)`; sequential: `fit(data, search="sequential")`\n'
        "- oracle: the most accurate structure of one threshold; it knows the truth"
    )
    for peer, recipe in PEERS.items():
        report.line(f"- {peer}: {recipe}")
    report.line(
        "- paper: its words and figures, other data sets and another computer; seconds are its "
        '"less than three minutes" of the slowest average\n\n'
        f"Settings that spare the peers time: {SETTINGS['parallel']} random data sets in parallel "
        f"analysis (usual: 20), {SETTINGS['penalties']} penalties from {SETTINGS['least_penalty']} "
        "of the largest on (usual: 100 from .01), and no check that correlations are positive "
        "definite, at which EBICglasso would stop, as items outnumber rows.\n"
    )
    noted = results[results["note"].fillna("") != ""]
    for (rule, note), rows in noted.groupby(["rule", "note"]):
        where = ", ".join(f"{cell} ({k})" for cell, k in rows["cell"].value_counts().items())
        report.line(f"- {rule}, data sets of {where}: {' '.join(str(note).split())}")
    report.line("")


def _targets(report: Report, results: pd.DataFrame) -> None:
    wide = results.pivot_table(index="cell", columns="rule", values="f1", sort=False)
    for cell, wanted in WANTED.items():
        at_least(report, f"sequential, {cell}, mean F1", wide.loc[cell, "sequential"], wanted)
    same = results[results["seed"] <= results.loc[results["rule"].isin(PEERS), "seed"].max()]
    paired = same.pivot_table(index="cell", columns="rule", values="f1", sort=False)
    finished = [peer for peer in PEERS if peer in paired]
    if finished:
        better = paired[list(OURS)].max(axis=1) - paired[finished].max(axis=1)
        for cell, ahead in better.items():
            text = f"{cell}, the better of ours above the best peer on the same data sets, F1"
            at_least(report, text, ahead, 0.0)
    mine = results[results["rule"].isin(OURS)]
    under(report, "slowest data set of ours", mine["seconds"].max(), PAPER_SECONDS)
