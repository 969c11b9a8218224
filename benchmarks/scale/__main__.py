"""``python -m benchmarks.scale``: writes benchmarks/results/scale.md."""

from __future__ import annotations

import argparse

from benchmarks.harness import ROOT, Report
from benchmarks.scale.items import SIZES, growth, same_path
from benchmarks.scale.workers import gain


def main() -> None:
    parser = argparse.ArgumentParser(description="Many workers, many items.")
    parser.add_argument("--most-items", type=int, default=SIZES[-1])
    most = parser.parse_args().most_items
    report = Report()
    report.line("# Many workers, many items\n")
    report.line(f"`python -m benchmarks.scale --most-items {most}` on two cores.")
    gain(report)
    same_path(report)
    growth(report, tuple(p for p in (*SIZES, 50_000, 100_000) if p <= most))
    (ROOT / "benchmarks/results/scale.md").write_text("\n".join(report.parts) + "\n")


if __name__ == "__main__":
    main()
