"""``python -m benchmarks.scale``: writes benchmarks/results/scale.md and scale_fits.md."""

from __future__ import annotations

import argparse

from benchmarks.harness import ROOT, Report
from benchmarks.scale import fits
from benchmarks.scale.items import SIZES, growth, same_path
from benchmarks.scale.workers import gain


def main() -> None:
    parser = argparse.ArgumentParser(description="Many workers, many items.")
    parser.add_argument("--most-items", type=int, default=SIZES[-1])
    parser.add_argument("--only", choices=("paths", "fits"))
    asked = parser.parse_args()
    most = asked.most_items
    if asked.only != "fits":
        paths(most)
    if asked.only != "paths":
        whole_fits(most)


def whole_fits(most: int) -> None:
    """Whole fits."""
    report = Report()
    report.line("# Whole fits of many items\n")
    report.line(f"`python -m benchmarks.scale --only fits --most-items {most}`.")
    fits.growth(report, tuple(p for p in fits.SIZES if p <= most))
    fits.on_a_cluster(report, most)
    fits.few_rows(report)
    (ROOT / "benchmarks/results/scale_fits.md").write_text("\n".join(report.parts) + "\n")


def paths(most: int) -> None:
    """Workers and solution paths."""
    report = Report()
    report.line("# Many workers, many items\n")
    report.line(f"`python -m benchmarks.scale --most-items {most}` on two cores.")
    gain(report)
    same_path(report)
    growth(report, tuple(p for p in (*SIZES, 50_000, 100_000) if p <= most))
    (ROOT / "benchmarks/results/scale.md").write_text("\n".join(report.parts) + "\n")


if __name__ == "__main__":
    main()
