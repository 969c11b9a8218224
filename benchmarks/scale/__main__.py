"""``python -m benchmarks.scale``: scale*.md of the results."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.harness import ROOT, Report
from benchmarks.scale import accuracy, chance, fits
from benchmarks.scale.items import SIZES, growth, same_path
from benchmarks.scale.workers import gain


def main() -> None:
    parser = argparse.ArgumentParser(description="Many workers, many items.")
    parser.add_argument("--most-items", type=int, default=SIZES[-1])
    parser.add_argument("--cluster-items", type=int, help="of a fit on a cluster; as many without")
    parser.add_argument("--only", choices=("paths", "fits", "cluster", "accuracy", "chance"))
    asked = parser.parse_args()
    most = asked.most_items
    sizes = tuple(p for p in (*SIZES, 50_000, 100_000) if p <= most)
    of_paths = [gain, same_path, partial(growth, sizes=sizes)]
    of_fits = [
        partial(fits.growth, sizes=tuple(p for p in sizes if p <= fits.SIZES[-1])),
        partial(fits.crossed, sizes=tuple(p for p in fits.CROSSED if p <= most)),
        fits.few_rows,
        partial(fits.on_a_cluster, p=asked.cluster_items or most),
    ]
    of_accuracy = [accuracy.beside_the_matrix, accuracy.beside_the_truth]
    of_chance = [chance.independent, chance.among]
    pages = {
        "paths": ("scale", "Many workers, many items", of_paths),
        "fits": ("scale_fits", "Whole fits of many items", of_fits),
        "accuracy": ("scale_accuracy", "How accurate a fit without a matrix is", of_accuracy),
        "chance": ("scale_chance", "Very many items and chance", of_chance),
    }
    if asked.only == "cluster":  # printed, to put in the place of the last part of a page
        report = Report()
        fits.on_a_cluster(report, asked.cluster_items or most)
        return
    for name in [asked.only] if asked.only else pages:
        write_page(*pages[name])


def write_page(file: str, title: str, parts: Sequence[Callable[[Report], None]]) -> None:
    """Run the parts of a page; each is written when it is done."""
    report = Report()
    how = " ".join(["python -m benchmarks.scale", *sys.argv[1:]])
    report.line(f"# {title}\n\n`{how}` on two cores.")
    for part in parts:
        part(report)
        text = "\n".join(report.parts) + "\n"
        (ROOT / f"benchmarks/results/{file}.md").write_text(text)


if __name__ == "__main__":
    main()
