"""What medil makes of a table: ``python clique_cover.py TABLE.csv OUT.json ALGORITHM``.

Runs for itself, in any environment that has medil, and imports nothing of ours: medil's licence is
not ours. Its dependence graph is the default of ``estimate_UDG`` (distance covariance, level .05).
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from pathlib import Path

import numpy as np


def main(table: str, out: str, algorithm: str) -> None:
    from medil.ecc_algorithms import find_clique_min_cover, find_heuristic_1pc
    from medil.independence_testing import estimate_UDG

    X = np.loadtxt(table, delimiter=",", skiprows=1)
    start = time.perf_counter()
    result: dict[str, object] = {}
    try:
        graph, _ = estimate_UDG(X)
        result["edges"] = int(np.triu(graph, 1).sum())
        with contextlib.redirect_stdout(io.StringIO()):
            if algorithm == "heuristic":
                cover = find_heuristic_1pc(graph)
            else:  # it wants ones on the diagonal
                cover = find_clique_min_cover(graph.astype(int) + np.eye(len(graph), dtype=int))
        result["cover"] = np.asarray(cover).astype(int).tolist()
    except Exception as error:
        result["error"] = f"{type(error).__name__}: {error}"
    result["seconds"] = time.perf_counter() - start
    Path(out).write_text(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
