"""What the peers find in keyed surveys, with the number of factors unknown or told.

``python -m benchmarks.surveys.peers [--again] [--cached FOLDER] [--csv FILE] [NAME ...]``

What they find takes long and does not depend on dtstat: it is kept in ``peers.json``, from which
other benchmarks read it (:func:`kept`). What is there already is not asked for again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import ROOT, Report
from benchmarks.surveys.keyed import HERE, LEFT_OUT, SETS, Survey, both_sets

PEERS = {
    "psych": "parallel analysis, minres, oblimin, |loading| >= .3",
    "psych_largest": "the same, each item to its largest loading",
    "ega": "EBICglasso (gamma .5), walktrap, clusters of one item dropped",
}
TOLD = {  # the number of scales in the key; every item goes to one group
    "oblimin_told": "minres, oblimin, each item to its largest loading",
    "promax_told": "minres, promax, each item to its largest loading",
    "varimax_told": "principal components, varimax, each item to its largest loading",
    "walktrap_told": "EBICglasso (gamma .5), the tree of walktrap cut; more groups if in pieces",
    "ward_told": "Ward's tree on 1 - |r| cut",
    "spectral_told": "spectral clustering of |r|, r of Spearman; 50 starts of k-means",
}
EVERY = PEERS | TOLD
KEPT = ROOT / "benchmarks" / "results" / "surveys" / "peers.json"
LIMIT = 600.0  # time limit per peer, in seconds

NEEDS = {"psych": ("psych", "psych_largest"), "ega": ("ega",)}  # what each run of R answers
ASKED = NEEDS | {peer: (peer,) for peer in TOLD}

Found = dict[str, dict[str, Any]]  # by peer


def found_by_peers(survey: Survey, source: Path) -> Found:
    """Run the peers on one survey of a folder that ``keyed.R`` filled; score what they find."""
    results = _asked(survey.name, source)
    return {peer: scored(result, survey) for peer, result in results.items()}


def found_in_time(survey: Survey, source: Path, seconds: float) -> Found:
    """Do the same, each peer for itself; one that takes longer has an "error" instead."""
    results: Found = {}
    for asked, answered in NEEDS.items():
        results |= _in_time(survey, source, asked, answered, seconds)
    return {peer: scored(result, survey) for peer, result in results.items()}


def _in_time(
    survey: Survey, source: Path, asked: str, answered: tuple[str, ...], seconds: float
) -> Found:
    try:
        return _asked(survey.name, source, asked, seconds=seconds)
    except subprocess.TimeoutExpired:
        late = {"error": f"more than {seconds:g} s", "seconds": seconds, "cpu": seconds}
        return dict.fromkeys(answered, late)


def _asked(name: str, source: Path, *only: str, seconds: float | None = None) -> Found:
    with tempfile.TemporaryDirectory() as made:
        out = Path(made) / "out.json"
        script = str(HERE / "peers.R")
        command = ["Rscript", "--vanilla", script, str(source), name, str(out), *only]
        subprocess.run(command, check=True, capture_output=True, timeout=seconds)
        found: Found = json.loads(out.read_text())
    return found


def scored(result: dict[str, Any], survey: Survey) -> dict[str, Any]:
    """Add F₁ against the key and the number of factors; no factor at all scores 0."""
    factors = result.get("factors") or {}
    score = 0.0
    if factors:
        estimated = dt.Structure.from_keys(factors, list(survey.data.columns))
        score = float(dt.compare(estimated, survey.truth).f1)
    return result | {"f1": score, "d": len(factors)}


def spectral(survey: Survey) -> dict[str, Any]:
    """Cluster the items by the absolute correlations, normalized; the matrix is not timed."""
    from sklearn.cluster import SpectralClustering

    affinity = np.abs(survey.dependence().values)
    method = SpectralClustering(len(survey.key), affinity="precomputed", n_init=50, random_state=0)
    start, cpu = time.perf_counter(), time.process_time()
    try:
        labels = method.fit_predict(affinity)
        groups = [survey.data.columns[labels == label] for label in np.unique(labels)]
        answer: dict[str, Any] = {
            "factors": {f"F{k}": list(items) for k, items in enumerate(groups, 1)}
        }
    except (ValueError, np.linalg.LinAlgError) as error:
        answer = {"error": str(error)}
    return answer | {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}


def kept(file: Path = KEPT) -> dict[str, dict[str, Any]]:
    """Return what is kept: by survey its set, size and digest, and under "peers" a result each.

    A result has ``factors``, their number ``d``, ``f1``, ``cpu`` in seconds, ``warnings``, and
    ``error`` if the peer failed.
    """
    found: dict[str, dict[str, Any]] = json.loads(file.read_text()) if file.exists() else {}
    return found


def ask(survey: Survey, before: dict[str, Any] | None, limit: float) -> dict[str, Any]:
    """Return the entry of a survey; peers that an entry of the same data has are not asked."""
    digest = survey.digest()
    found: Found = {}
    if before is not None and before["digest"] == digest:
        found |= before["peers"]
    with tempfile.TemporaryDirectory(prefix="peers-") as made:
        survey.write(Path(made))
        for asked, answered in ASKED.items():
            if set(answered) <= set(found):
                continue
            if asked == "spectral_told":
                answers = {asked: spectral(survey)}
            else:
                answers = _in_time(survey, Path(made), asked, answered, limit)
            found |= {peer: _brief(scored(answers[peer], survey)) for peer in answered}
    size = {"n": survey.n_obs, "p": survey.data.shape[1], "d": len(survey.key)}
    ordered = {peer: found[peer] for peer in EVERY}
    return {"set": survey.group, **size, "digest": digest, "peers": ordered}


def _brief(result: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept of a result."""
    order = ("f1", "d", "cpu", "error", "warnings", "factors")
    brief = {name: result[name] for name in order if result.get(name) not in (None, [])}
    return brief | {"f1": round(result["f1"], 6), "cpu": round(result["cpu"], 3)}


def keep(found: dict[str, dict[str, Any]], file: Path = KEPT) -> None:
    """Write what is kept, fewest items first, one line a peer."""
    surveys = []
    for name, entry in sorted(found.items(), key=lambda item: (item[1]["p"], item[0])):
        about = json.dumps({field: entry[field] for field in entry if field != "peers"})
        peers = [f"  {json.dumps(p)}: {json.dumps(result)}" for p, result in entry["peers"].items()]
        lines = ",\n".join(peers)
        surveys.append(f'{json.dumps(name)}: {about[:-1]}, "peers": {{\n{lines}\n}}}}')
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{\n" + ",\n".join(surveys) + "\n}\n")


def summary(found: dict[str, dict[str, Any]], value: str = "f1") -> pd.DataFrame:
    """One row a survey: set, name, n, p, d of the key, then F₁ of each peer, or "d" or "cpu"."""
    rows = []
    for name, entry in found.items():
        about = {"set": entry["set"], "name": name, "n": entry["n"], "p": entry["p"]}
        values = {peer: result[value] for peer, result in entry["peers"].items()}
        rows.append(about | {"d": entry["d"]} | values)
    return pd.DataFrame(rows)


def means(found: dict[str, dict[str, Any]]) -> pd.DataFrame:
    """One row a peer: mean F₁ and seconds of CPU in each set, and in how many surveys it failed."""
    counted = {name: entry for name, entry in found.items() if name != LEFT_OUT}
    f1, cpu = summary(counted), summary(counted, "cpu")
    rows = []
    for peer in EVERY:
        row: dict[str, object] = {"peer": peer}
        for group in SETS:
            inside = f1["set"] == group
            row |= {
                f"{group} ({inside.sum()})": f1.loc[inside, peer].mean(),
                f"{group}, CPU s": cpu.loc[inside, peer].sum(),
            }
        row["failed"] = sum("error" in entry["peers"][peer] for entry in counted.values())
        rows.append(row)
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="surveys; all without it")
    parser.add_argument("--again", action="store_true", help="ask also for what is there")
    parser.add_argument("--cached", type=Path, help="folder that keyed.R filled")
    parser.add_argument("--csv", type=Path, help="file for a table of F1, written as surveys end")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds per peer at most")
    chosen = parser.parse_args()
    found = kept()
    every = both_sets(chosen.cached)
    for survey in every:
        if chosen.names and survey.name not in chosen.names:
            continue
        before = None if chosen.again else found.get(survey.name)
        found[survey.name] = ask(survey, before, chosen.limit)
        keep(found)
        if chosen.csv:
            summary(found).to_csv(chosen.csv, index=False, float_format="%.4f")
    report = Report()
    for peer, recipe in EVERY.items():
        report.line(f"{peer}: {recipe}")
    report.table(summary(found), "Keyed surveys: F1")
    report.table(summary(found, "d"), "Keyed surveys: number of factors", 0)
    report.table(means(found), f"Keyed surveys: mean F1, {LEFT_OUT} left out", 3)


if __name__ == "__main__":
    main()
