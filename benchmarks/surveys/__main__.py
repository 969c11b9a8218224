"""Keyed surveys: what dtstat and its peers find, number of factors unknown or given.

``python -m benchmarks.surveys [--cached FOLDER]``; peers are read from ``peers.json``, which
``python -m benchmarks.surveys.peers`` makes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from benchmarks.harness import ROOT, Report
from benchmarks.surveys import other_level, rules
from benchmarks.surveys.keyed import LEFT_OUT, SETS, both_sets
from benchmarks.surveys.ours import Ours, fit_survey, warm_up
from benchmarks.surveys.peers import EVERY, PEERS, TOLD, kept
from dtstat.core.tables import Table

RESULTS = ROOT / "benchmarks" / "results"
HEADLINE = ("bfi", "spi", "holzinger_swineford_24", "thurstone")
EFA = "oblimin_told"
BELOW = 0.08  # F1 that a survey may be below EFA told the number
STEPS = (1.0, 2.0, 3.0)  # bounds of bands
SHORT = {"default": "dtstat", "better": "better of two", "given": "dtstat"}
IN_VIEW = (
    "Not unseen data: the rule by which a level is taken was chosen with these surveys in view "
    "(the rules below); the peers were not. The last tables say what that is worth."
)


def main() -> None:
    """Fit all surveys; write ``surveys/surveys.md``, ``surveys.txt`` and ``surveys_means.txt``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cached", type=Path, help="folder that keyed.R filled")
    report = Report()
    report.line("# Keyed surveys\n\nWritten by `make bench`.\n")
    warm_up()
    everything = [fit_survey(survey) for survey in both_sets(parser.parse_args().cached)]
    found = [one for one in everything if one.survey.name != LEFT_OUT]
    table = pd.DataFrame([one.row() for one in everything]).merge(_peers(everything), on="survey")
    table["order"] = [SETS.index(name) for name in table["set"]]
    table = table.sort_values(["order", "items", "survey"]).drop(columns="order")
    counted = table[table["survey"] != LEFT_OUT]
    _tables(report, table, counted)
    _targets(report, counted)
    _by_step(report, found)
    rules.run(report, found)
    other_level.run(report, found)
    (RESULTS / "surveys").mkdir(parents=True, exist_ok=True)
    (RESULTS / "surveys" / "surveys.md").write_text("\n".join(report.parts) + "\n")
    (RESULTS / "surveys.txt").write_text(_short(counted) + "\n")
    (RESULTS / "surveys_means.txt").write_text(_shortest(counted) + "\n")


def _peers(found: list[Ours]) -> pd.DataFrame:
    """One row per survey: F₁ of every peer, 0 if it failed."""
    known, rows = kept(), []
    for one in found:
        entry = known[one.survey.name]
        if entry["digest"] != one.survey.digest():
            raise SystemExit(
                f"peers.json has other data for {one.survey.name}. Run benchmarks.surveys.peers."
            )
        scores = {peer: entry["peers"][peer]["f1"] for peer in EVERY}
        rows.append({"survey": one.survey.name} | scores)
    return pd.DataFrame(rows)


def _tables(report: Report, table: pd.DataFrame, counted: pd.DataFrame) -> None:
    about = ["set", "survey", "n", "items", "scales"]
    report.line(
        "F1 is agreement with the published key, 1 if every item is where its authors put it. "
        "given: fit(data, n_factors=scales); default: fit(data); better: the better of the two "
        f"levels that a fit prints. {LEFT_OUT} is in no mean (240 items are slow for the peers).\n"
    )
    for name, recipe in EVERY.items():
        report.line(f"- {name}: {recipe}")
    missing = _missing(table)
    if missing:
        report.line(f"\nLeft out, because they could not be had: {', '.join(missing)}.")
    numbers = ["chosen", "second", "supported", "CPU s", "CPU s, given"]
    report.heading("Surveys")
    report.table(table[[*about, "given", "default", "better", *numbers]], "dtstat: F1", 3)
    unknown = table[[*about, "default", "better", *PEERS]]
    report.table(unknown, "F1, number of factors unknown to all", 3)
    report.table(table[[*about, "given", *TOLD]], "F1, number of factors given to all", 3)
    report.line(IN_VIEW)
    report.heading("Means")
    report.table(_means(counted, ["default", "better", *PEERS]), "Mean F1, number unknown", 3)
    report.table(_means(counted, ["given", *TOLD]), "Mean F1, number given", 3)
    seconds = counted["CPU s"]
    report.line(
        f"CPU of the default: {seconds.sum():.1f} s for {len(seconds)} surveys, at most "
        f"{seconds.max():.1f} s ({counted['survey'][seconds.idxmax()]}); one thread, compiled."
    )


def _missing(table: pd.DataFrame) -> list[str]:
    """Return the surveys that peers were run on and that could not be had now."""
    return sorted(set(kept()) - set(table["survey"]))


def _parts(counted: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the surveys of each set, and all."""
    sets = {name: counted[counted["set"] == name] for name in SETS}
    parts = {f"{name} ({len(part)})": part for name, part in sets.items() if len(part)}
    return parts | {f"all {len(counted)}": counted}


def _means(counted: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Mean F₁ of each column, and of our first one above each peer, with standard errors."""
    rows = []
    for name, part in _parts(counted).items():
        rows.append({"surveys": name, "": "mean"} | part[columns].mean().to_dict())
        rows.append({"surveys": "", "": "SE of the mean"} | part[columns].sem().to_dict())
        behind = part[columns[1:]].rsub(part[columns[0]], axis=0)
        rows.append(
            {"surveys": "", "": f"{columns[0]} above", columns[0]: 0.0} | behind.mean().to_dict()
        )
        rows.append({"surveys": "", "": "its SE", columns[0]: 0.0} | behind.sem().to_dict())
    return pd.DataFrame(rows)


def _targets(report: Report, counted: pd.DataFrame) -> None:
    """Print what was wanted, what was found, and whether that is enough."""
    report.heading("Targets")
    packages, further = (counted[counted["set"] == name] for name in SETS)
    told = list(TOLD)
    rows = [_target("number given, packages", packages["given"].mean(), 0.915)]
    rows.append(_ahead("number given, further", further, "given", told, 0.01))
    behind = counted[EFA] - counted["given"]
    rows.append(
        _target("number given, surveys more than .08 below EFA", (behind > BELOW + 1e-9).sum(), 0)
    )
    rows += [
        _ahead("default, packages", packages, "default", list(PEERS), 0.0),
        _ahead("default, further", further, "default", list(PEERS), 0.0),
        _ahead("default, all", counted, "default", list(PEERS), 0.03),
        _target("better of two, packages", packages["better"].mean(), 0.88),
        _target("better of two, further", further["better"].mean(), 0.82),
    ]
    rows[2]["reached"] = "yes" if not (behind > BELOW + 1e-9).any() else "NO"
    report.table(pd.DataFrame(rows), "Targets", 3)
    missing = [name for name in _missing(counted) if name != LEFT_OUT]
    if missing:
        report.line(
            f"Targets were set for all surveys; {len(missing)} of packages could not be had, so "
            "that means of packages are not comparable with those of all."
        )
    lost = counted[behind > BELOW + 1e-9]
    for _, row in lost.iterrows():
        report.line(f"- {row['survey']}: {row['given']:.3f}, EFA told {row[EFA]:.3f}")


def _by_step(report: Report, found: list[Ours]) -> None:
    """Print how often the number of scales is met, by the step of the chosen level."""
    report.heading("How clear the levels are")
    rows = []
    for one in found:
        k, d = one.fit.n_factors, len(one.survey.key)
        step = one.fit.tree[k - 1].step if k > 1 else float("nan")
        rows.append((step, k == d, d in (k, one.fit.second), one.default))
    frame = pd.DataFrame(rows, columns=["step", "as the key", "one of the two", "F1"])
    bands = pd.cut(frame["step"], [-1, *STEPS, 100]).astype(str)
    table = frame.groupby(bands.where(frame["step"].notna(), "one factor"))
    shown = table[["as the key", "one of the two", "F1"]].mean()
    shown.insert(0, "surveys", table.size())
    report.table(shown.reset_index(), "Share with as many factors as the key, by step", 2)
    report.line(
        "A key is one of several levels that its authors could have taken: a large step says that "
        "a level is there, not that it is the authors'."
    )


def _target(what: str, found: float, wanted: float) -> dict[str, object]:
    reached = "yes" if found >= wanted else "NO"
    return {"what": what, "found": float(found), "wanted": wanted, "reached": reached, "peer": ""}


def _ahead(
    what: str, part: pd.DataFrame, ours: str, peers: list[str], wanted: float
) -> dict[str, object]:
    means = part[peers].mean()
    row = _target(f"{what}: above the best peer", part[ours].mean() - means.max(), wanted)
    return row | {"peer": f"{means.idxmax()} {means.max():.3f}, dtstat {part[ours].mean():.3f}"}


def _short(counted: pd.DataFrame) -> str:
    """Show the surveys of the headline and the means, number of factors unknown and given."""
    unknown = _headline(counted, ["default", "better", *PEERS])
    told = _headline(counted, ["given", *TOLD])
    told.columns = [name.removesuffix("_told") for name in told.columns]
    notes = ["better of two: the better of the two levels that a fit prints"]
    notes += [f"{peer}: {recipe}" for peer, recipe in PEERS.items()]
    given = [f"{peer.removesuffix('_told')}: {recipe}" for peer, recipe in TOLD.items()]
    title = "F1 against the published key, number of factors "
    first = Table.from_frame(unknown, title + "unknown", notes, digits=3).to_text()
    return first + "\n\n" + Table.from_frame(told, title + "given", given, digits=3).to_text()


def _shortest(counted: pd.DataFrame) -> str:
    """Show the means alone, number of factors unknown."""
    means = _headline(counted, ["default", "better", *PEERS]).iloc[len(HEADLINE) :]
    means = means.drop(columns=["n", "items", "scales"]).rename(columns={"survey": "surveys"})
    notes = ["better of two: the better of the two levels that a fit prints"]
    notes += [f"{peer}: {recipe}" for peer, recipe in PEERS.items()]
    return Table.from_frame(means, "Mean F1, number of factors unknown", notes, digits=3).to_text()


def _headline(counted: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    table = counted.set_index("survey").loc[list(HEADLINE)].reset_index()
    table = table[["survey", "n", "items", "scales", *columns]].astype({"n": object})
    parts = _parts(counted)
    names = [f"mean of {len(part)} ({name.split()[0]})" for name, part in parts.items()]
    names[-1] = f"mean of all {len(counted)}"
    means = [
        {"survey": name, "n": "", "items": "", "scales": ""} | part[columns].mean().to_dict()
        for name, part in zip(names, parts.values(), strict=True)
    ]
    return pd.concat(
        [table.astype({"items": object, "scales": object}), pd.DataFrame(means)]
    ).rename(columns=SHORT)


if __name__ == "__main__":
    main()
