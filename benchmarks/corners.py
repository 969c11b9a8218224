"""Many rows, and corners that were slow once: ``python -m benchmarks.corners``.

CPU seconds (children included) and peak memory, each in a process of its own with the user's own
threads. Compiled code of an earlier run is on disk, except where a row says otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import pandas as pd

from benchmarks.harness import ROOT, Report
from benchmarks.threads import VARIABLES

RESULTS = ROOT / "benchmarks" / "results" / "corners.md"


@dataclass(frozen=True)
class Corner:
    """A piece of work: code that makes its data, the call, and what it may cost."""

    data: str
    call: str
    seconds: float | None = None
    gigabytes: float | None = None
    whole: bool = False  # count importing dtstat, and everything else the process does
    compiled: bool = True


RATINGS = "x = rows(1_000_000, {}, True)"
CLUSTERS = "x = dt.simulate('clusters', 1000, n_factors={}, items_per_factor=10, levels=5, seed=1)"
CLUSTERS += ".data"
CORNERS = {
    "fit, 1,000,000 × 30 ratings": Corner(RATINGS.format(30), "dt.fit(x)", 6, 1),
    "fit, 1,000,000 × 100 ratings": Corner(RATINGS.format(100), "dt.fit(x)", None, 3),
    "fit, 1,000,000 × 30 continuous": Corner("x = rows(1_000_000, 30, False)", "dt.fit(x)"),
    "cfa by fiml, 1000 × 50, 5 % gaps": Corner(
        "x = gaps()", "dt.cfa(x, MODEL, estimator='fiml')", 6
    ),
    "refine, 100 items": Corner(CLUSTERS.format(10), "dt.fit(x, refine=True)", 5),
    "refine, 200 items": Corner(CLUSTERS.format(20), "dt.fit(x, refine=True)"),
    "one threshold, 200 items": Corner(CLUSTERS.format(20), "dt.fit(x, search='threshold')", 8),
    "plan, 25 items, 5 factors": Corner("", "dt.plan(n_factors=5, seed=1)", 3),
    "spline, 1000 × 15": Corner(
        "x = dt.simulate('clusters', 1000, n_factors=3, items_per_factor=5, seed=1).data",
        "dt.fit(x, estimator='spline', seed=1)",
    ),
    "import dtstat": Corner("", "None", 0.6, whole=True),
    "process with a first fit": Corner(
        "", "dt.fit(dt.load_dataset('holzinger_swineford_9'))", 2.5, whole=True
    ),
    "the same, nothing compiled": Corner(
        "", "dt.fit(dt.load_dataset('holzinger_swineford_9'))", 2.5, whole=True, compiled=False
    ),
}  # fmt: skip
CODE = '''
import json, resource, warnings
warnings.simplefilter("ignore")
import dtstat as dt

def used():
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in own)

def rows(n, p, rated, step=50_000):
    """Six items per factor, factors that correlate .25; ratings as small whole numbers."""
    import numpy as np
    rng = np.random.default_rng(1)
    X = np.empty((n, p), np.int8 if rated else float)
    for start in range(0, n, step):
        F = 0.5 * rng.standard_normal((step, 1)) + 0.87 * rng.standard_normal((step, p // 6))
        Y = 0.7 * F[:, np.arange(p) % (p // 6)] + 0.7 * rng.standard_normal((step, p))
        X[start : start + step] = np.clip(np.round(1.2 * Y + 3), 1, 5) if rated else Y
    return X

def gaps():
    import numpy as np, pandas as pd
    x = dt.simulate("clusters", 1000, n_factors=5, items_per_factor=10, seed=1).data.to_numpy()
    x = pd.DataFrame(x, columns=[f"x{i + 1}" for i in range(50)])
    return x.mask(np.random.default_rng(0).random(x.shape) < 0.05)

MODEL = "\\n".join(
    f"F{k} =~ " + " + ".join(f"x{10 * k + j + 1}" for j in range(10)) for k in range(5)
)
DATA
before = 0.0 if WHOLE else used()
CALL
print(json.dumps([used() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2]))
'''


def measure(corner: Corner) -> tuple[float, float]:
    """Return CPU seconds and the peak of the process in gigabytes."""
    code = CODE.replace("DATA", corner.data).replace("CALL", corner.call)
    code = code.replace("WHOLE", str(corner.whole))
    free = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    with tempfile.TemporaryDirectory() as empty:
        if not corner.compiled:
            free["NUMBA_CACHE_DIR"] = empty
        done = subprocess.run(
            [sys.executable, "-c", code], env=free, capture_output=True, text=True, check=True
        )
    seconds, peak = json.loads(done.stdout)
    return seconds, peak


def _reached(value: float, wanted: float | None) -> str:
    return "" if wanted is None else "yes" if value <= wanted else "NO"


def main() -> None:
    """Write ``corners.md``."""
    parser = argparse.ArgumentParser(description="Many rows, and corners that were slow once.")
    parser.add_argument("only", nargs="*", help="parts of names; all rows without")
    only = parser.parse_args().only
    table = []
    for name, corner in CORNERS.items():
        if only and not any(part in name for part in only):
            continue
        if corner.compiled:
            measure(Corner("x = dt.load_dataset('likert_survey')", "dt.fit(x)"))
            if corner.gigabytes is None and not corner.whole:
                measure(corner)  # compiles what it needs
        seconds, peak = measure(corner)
        table.append(
            {
                "work": name, "CPU s": seconds, "wanted s": corner.seconds or "",
                "reached s": _reached(seconds, corner.seconds), "peak GB": peak,
                "wanted GB": corner.gigabytes or "", "reached GB": _reached(peak, corner.gigabytes),
                "load": os.getloadavg()[0],
            }
        )  # fmt: skip
        print(table[-1], flush=True)
        write(table)


def write(table: list[dict[str, object]]) -> None:
    """Write the rows measured so far."""
    report = Report()
    report.line("# Many rows, and slow corners\n\nWritten by `make bench`.\n")
    report.line(f"```\n{__doc__}```")
    report.line(
        f"{os.cpu_count()} cores. `load` is the load average after the row: above 1.5 the machine "
        "did other work too, which makes CPU seconds up to two or three times longer.\n"
    )
    report.table(pd.DataFrame(table), "CPU seconds and peak memory")
    RESULTS.write_text("\n".join(report.parts) + "\n")


if __name__ == "__main__":
    main()
