"""Run all benchmarks; keep what they print in ``benchmarks/results``.

With OMP_NUM_THREADS=1 single cores are compared, in ``results.md``. Otherwise everybody has the
threads that they take by themselves, as users do, in ``default_threads.md``.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

import dtstat
from benchmarks import dependence, factors, growth, path, sem
from benchmarks.harness import Report, fresh_python

RESULTS = Path(__file__).parent / "results"
LIGHT = """
import time; start = time.perf_counter()
import dtstat, sys; seconds = time.perf_counter() - start
heavy = [m for m in ("torch", "matplotlib", "rpy2") if m in sys.modules]
print(seconds, ",".join(heavy) or "none")
"""


def main() -> None:
    report = Report()
    pinned = os.environ.get("OMP_NUM_THREADS") == "1"
    how = "one core" if pinned else f"default threads on {os.cpu_count()} cores"
    report.line(f"# Benchmarks\n\nWritten by `make bench`; {how}, ratios within one run.")
    report.line(f"\ndtstat {dtstat.__version__}, Python {platform.python_version()}.")
    path.run(report)
    dependence.run(report)
    sem.run(report)
    factors.run(report)
    report.heading("Import")
    runs = [fresh_python(LIGHT).split() for _ in range(5)]
    seconds = min(float(run[0]) for run in runs)
    report.line(f"import dtstat: {seconds:.2f} s (wanted: under 1.5); heavy modules: {runs[0][1]}.")
    if not pinned:
        (RESULTS / "default_threads.md").write_text("\n".join(report.parts) + "\n")
        return
    growth.run(report, RESULTS / "growth.png")
    report.line("\n![Growth of cost](growth.png)")
    report.write(RESULTS)


main()
