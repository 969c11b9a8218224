"""What the peers find in keyed surveys, the number of factors unknown.

``python -m benchmarks.surveys.peers [--cached FOLDER] [--out FILE] [NAME ...]``
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

import dtstat as dt
from benchmarks.harness import Report
from benchmarks.surveys.keyed import HERE, Survey, folder, surveys

PEERS = {
    "psych": "parallel analysis, minres, oblimin, |loading| >= .3",
    "psych_largest": "the same, each item to its largest loading",
    "ega": "EBICglasso (gamma .5), walktrap, clusters of one item dropped",
}


NEEDS = {"psych": ("psych", "psych_largest"), "ega": ("ega",)}  # what each run of R answers


def found_by_peers(survey: Survey, source: Path) -> dict[str, dict[str, Any]]:
    """Run the peers on one survey of a folder that ``keyed.R`` filled; score what they find."""
    results = _asked(survey.name, source)
    return {peer: scored(result, survey) for peer, result in results.items()}


def found_in_time(survey: Survey, source: Path, seconds: float) -> dict[str, dict[str, Any]]:
    """Do the same, each peer for itself; one that takes longer has an "error" instead."""
    results: dict[str, Any] = {}
    for asked, answered in NEEDS.items():
        try:
            results |= _asked(survey.name, source, asked, seconds=seconds)
        except subprocess.TimeoutExpired:
            late = {"error": f"more than {seconds:g} s", "seconds": seconds}
            results |= dict.fromkeys(answered, late)
    return {peer: scored(result, survey) for peer, result in results.items()}


def _asked(name: str, source: Path, *only: str, seconds: float | None = None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as made:
        out = Path(made) / "out.json"
        script = str(HERE / "peers.R")
        command = ["Rscript", "--vanilla", script, str(source), name, str(out), *only]
        subprocess.run(command, check=True, capture_output=True, timeout=seconds)
        found: dict[str, Any] = json.loads(out.read_text())
    return found


def scored(result: dict[str, Any], survey: Survey) -> dict[str, Any]:
    """Add F₁ against the key and the number of factors; no factor at all scores 0."""
    factors = result.get("factors") or {}
    score = 0.0
    if factors:
        estimated = dt.Structure.from_keys(factors, list(survey.data.columns))
        score = float(dt.compare(estimated, survey.truth).f1)
    return result | {"f1": score, "d": len(factors)}


def summary(found: dict[str, dict[str, dict[str, Any]]], all_surveys: list[Survey]) -> pd.DataFrame:
    """One row a survey: n, p, d of the key, then F₁ and number of factors of each peer."""
    rows = []
    for survey in all_surveys:
        if survey.name not in found:
            continue
        row: dict[str, object] = {
            "survey": survey.name,
            "n": survey.n_obs,
            "p": survey.data.shape[1],
            "d": len(survey.key),
        }
        for peer, result in found[survey.name].items():
            row |= {f"{peer} F1": result["f1"], f"{peer} d": result["d"]}
        rows.append(row)
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="surveys; all without it")
    parser.add_argument("--cached", type=Path, help="folder that keyed.R filled")
    parser.add_argument("--out", type=Path, help="JSON file for what the peers found")
    chosen = parser.parse_args()
    source = chosen.cached or folder()
    every = [s for s in surveys(source) if not chosen.names or s.name in chosen.names]
    found = {survey.name: found_by_peers(survey, source) for survey in every}
    if chosen.out:
        chosen.out.write_text(json.dumps(found, indent=1))
    report = Report()
    for peer, recipe in PEERS.items():
        report.line(f"{peer}: {recipe}")
    frame = summary(found, every)
    report.table(frame, "Keyed surveys: F1 and number of factors")
    means = frame[[c for c in frame if c.endswith("F1")]].mean()
    report.line("mean F1: " + ", ".join(f"{c[:-3]} {v:.3f}" for c, v in means.items()))


if __name__ == "__main__":
    main()
