"""What ours and the peers find in one data set of known structure."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd

import dtstat as dt
from benchmarks.choice.rules import ours
from benchmarks.choice.scores import scores
from benchmarks.harness import best_of
from benchmarks.surveys.keyed import Survey
from benchmarks.surveys.peers import PEERS, found_in_time
from dtstat.studies.recovery import RecoveryCall, oracle

OURS = {"ours": ours, "sequential": partial(ours, search="sequential")}
METHODS = [*OURS, "oracle", *PEERS]
# The peers' own settings take four minutes and more a data set where items outnumber rows.
SETTINGS = {"parallel": 5, "penalties": 12, "least_penalty": 0.15, "definite": False}
PATH = RecoveryCall(
    n=0, seed=0, thresholds=1000, min_children=3, estimator=None, criterion=None, preset=None
)


def ours_found(drawn: dt.Simulation) -> pd.DataFrame:
    """One row each for our searches and for the best structure of one threshold."""
    found = scores(OURS, drawn.data, drawn.structure)
    seconds, best = best_of(_most_accurate(drawn), 1)
    agreement = dt.compare(best, drawn.structure)
    row = {"rule": "oracle", "f1": agreement.f1, "d": agreement.n_factors[0], "seconds": seconds}
    return pd.concat([found, pd.DataFrame([row])], ignore_index=True).assign(note="")


def _most_accurate(drawn: dt.Simulation) -> Callable[[], dt.Structure]:
    return partial(oracle, drawn.data, drawn.structure, PATH)


def peers_found(drawn: dt.Simulation, limit: float) -> pd.DataFrame:
    """One row a peer, F₁ missing where it failed; ``note`` has its error or its warnings."""
    with tempfile.TemporaryDirectory(prefix="highdim-") as made:
        survey = _written(drawn, Path(made))
        found = found_in_time(survey, Path(made), limit)
    rows = []
    for name in PEERS:
        result = found[name]
        row = {"rule": name, "seconds": result["seconds"]}
        if "error" in result:
            rows.append(row | {"note": f"failed: {result['error']}"})
        else:
            note = "; ".join(result["warnings"])
            rows.append(row | {"f1": result["f1"], "d": result["d"], "note": note})
    return pd.DataFrame(rows)


def _written(drawn: dt.Simulation, folder: Path) -> Survey:
    """Pearson correlations as ``peers.R`` reads them: what psych makes of answers first."""
    matrix = drawn.data.corr()
    truth = drawn.structure
    key = {factor: list(truth.children(factor)) for factor in truth.factor_names}
    described = {"name": "drawn", "source": "", "is_matrix": True, "n_obs": len(drawn.data)}
    described |= {"key": key, "note": ""}
    matrix.to_csv(folder / "drawn.csv", index=False)
    (folder / "drawn.json").write_text(json.dumps(described | {"settings": SETTINGS}))
    return Survey(data=matrix, **described)
