"""Growth with the number of items: pairs above the floor of chance, and the path from there up.

Each size runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import json
import math

import pandas as pd

from benchmarks.harness import Report, fresh_python

N = 500
SIZES = (1_000, 2_000, 5_000, 10_000, 20_000)
TARGET = 200_000
DATA = """
import json, resource, time
import numpy as np

def items(n, p):  # ten items per factor, loadings from .5 to .9
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(n, p // 10))
    loadings = rng.uniform(0.5, 0.9, size=p)
    X = rng.normal(size=(n, p))
    X *= np.sqrt(1 - loadings**2)
    X += factors[:, np.arange(p) % (p // 10)] * loadings
    return X

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
"""
OURS = (
    DATA
    + """
import dtstat as dt
dt.solution_path(items(50, 40), floor=0.2)  # compiled, and loaded
X = items({n}, {p})
start = time.perf_counter()
pairs = dt.dependence(X, floor="chance")
middle = time.perf_counter()
path = dt.solution_path(pairs)
end = time.perf_counter()
print(json.dumps({{"pairs s": middle - start, "path s": end - middle, "peak GB": peak(),
    "floor": pairs.floor, "pairs": pairs.n_pairs, "cliques": len(path.barcode()),
    "structures": len(path)}}))
"""
)
DENSE = (
    DATA
    + """
from scipy.stats import rankdata
X = items({n}, {p})
start = time.perf_counter()
R = np.corrcoef(rankdata(X, axis=0), rowvar=False)
end = time.perf_counter()
print(json.dumps({{"numpy s": end - start, "numpy GB": peak()}}))
"""
)


def growth(report: Report, sizes: tuple[int, ...] = SIZES) -> None:
    """Measure every size, and project to the target."""
    rows = []
    for p in sizes:
        ours = json.loads(fresh_python(OURS.format(n=N, p=p)))
        dense = json.loads(fresh_python(DENSE.format(n=N, p=p)))
        rows.append({"items": p, **ours, **dense})
    frame = pd.DataFrame(rows)
    report.heading("Items")
    title = f"Spearman of p items, n = {N}, one core: pairs above the floor of chance, exact path"
    counts = ["items", "pairs", "cliques", "structures"]
    shown = frame.astype({name: str for name in counts})
    report.table(shown[["items", "floor", *counts[1:], "pairs s", "path s", "peak GB"]], title)
    beside = (
        frame[["items"]]
        .astype(str)
        .assign(
            **{
                "dtstat s": frame["pairs s"] + frame["path s"],
                "numpy s": frame["numpy s"],
                "dtstat GB": frame["peak GB"],
                "numpy GB": frame["numpy GB"],
            }
        )
    )
    title = "Beside the whole matrix: scipy's rankdata and numpy's corrcoef, without any path"
    report.table(beside, title)
    report.line(_projection(frame))


def _projection(frame: pd.DataFrame) -> str:
    """Powers of p from the two largest sizes, carried on to the target."""
    last, before = frame.iloc[-1], frame.iloc[-2]
    step = math.log(last["items"] / before["items"])
    ratio = TARGET / last["items"]
    power = {
        name: math.log(last[name] / before[name]) / step for name in ("pairs s", "path s", "pairs")
    }
    # Products cost p² in the end, however little the smaller sizes show of that.
    seconds = last["pairs s"] * ratio**2 + last["path s"] * ratio ** power["path s"]
    # 8 bytes a value of the prepared items and as many as they are read; 40 a pair, 60 a member of
    # a clique and its bookkeeping; and what Python and its libraries take before any work.
    pairs = last["pairs"] * ratio ** power["pairs"]
    memory = 0.3 + (2 * 8 * N * TARGET + 40 * pairs) / 1e9 + 1e-6 * last["cliques"] * ratio
    return (
        f"Seconds grow as p^{power['pairs s']:.2f} (pairs) and p^{power['path s']:.2f} (path), "
        f"pairs above the floor as p^{power['pairs']:.2f}. Carried on to p = {TARGET:,}, the "
        f"former as p²: about {seconds / 60:.0f} minutes of one core and {memory:.1f} GB, most "
        "of it the items themselves; with a smaller `memory` these lie on disk."
    )


def same_path(report: Report, p: int = 2_000) -> None:
    """Compare the sparse path with the dense one, clique by clique."""
    code = (
        DATA
        + f"""
import dtstat as dt
X = items({N}, {p})
sparse, dense = dt.solution_path(X, floor="chance"), dt.solution_path(X)
floor = sparse.dependence.floor
def bars(path):
    return {{(b.items, b.unique_members, max(b.birth, floor), b.death)
        for b in path.barcode() if b.death > floor}}
print(bars(sparse) == bars(dense), len(bars(sparse)))
"""
    )
    same, count = fresh_python(code).split()
    report.line(
        f"The path of p = {p} from the floor up {'equals' if same == 'True' else 'IS NOT'} that of "
        f"the whole matrix: {count} cliques with their members, unique members, births and deaths, "
        "to the last bit."
    )
