"""The catalog: every model fitted by both, counted by feature, and all differences."""

from __future__ import annotations

import argparse
import re
import statistics
from collections import Counter
from dataclasses import dataclass

import pandas as pd

from benchmarks.harness import ROOT, Report
from benchmarks.lavaan.answers import Answer, dtstat_answer, lavaan_answers
from benchmarks.lavaan.compare import Difference, differences
from benchmarks.lavaan.entry import Entry
from benchmarks.lavaan.known import KNOWN
from benchmarks.lavaan.models import ENTRIES

RESULTS = ROOT / "benchmarks" / "results" / "lavaan_catalog.md"
SHOWN = 6  # differences of a model in the file; --name shows all
WARM_UP = ("three factors", "ordered: by default", "gaps: three factors", "three factors, means")


@dataclass(frozen=True)
class Outcome:
    """A model with both answers."""

    entry: Entry
    lavaan: Answer
    dtstat: Answer

    @property
    def both(self) -> bool:
        return self.lavaan.fits and self.dtstat.fits

    @property
    def differences(self) -> list[Difference]:
        return differences(self.lavaan, self.dtstat) if self.both else []

    @property
    def verdict(self) -> str:
        """One of: equal, differs, refused, lavaan refused, both refused."""
        if self.both:
            return "differs" if self.differences else "equal"
        if self.lavaan.fits:
            return "refused"
        return "lavaan refused" if self.dtstat.fits else "both refused"


def run(arguments: argparse.Namespace) -> None:
    """Fit the models that the command line asks for; all of them go into the results file."""
    chosen = [
        entry
        for entry in ENTRIES
        if arguments.only in entry.feature and arguments.name in entry.name
    ]
    theirs = lavaan_answers(chosen, arguments.fresh)
    for entry in ENTRIES:  # compiles kernels, so that seconds are those of fitting
        if entry.name in WARM_UP:
            dtstat_answer(entry)
    outcomes = [Outcome(entry, theirs[entry.name], dtstat_answer(entry)) for entry in chosen]
    if arguments.only or arguments.name:
        _print_details(outcomes, everything=bool(arguments.name))
        return
    report = Report()
    report.line(
        "# Catalog of models beside lavaan 0.6-14\n\nWritten by `python -m benchmarks.lavaan "
        "catalog`. Equal means: all estimates to 1e-4 (absolute, or relative above 1), standard "
        "errors to 1e-3 relative, tests and fit measures to 1e-3, and nothing left out. Seconds "
        "are CPU time of fit, parameters and fit measures together.\n"
    )
    _counts(report, outcomes)
    _lists(report, outcomes)
    RESULTS.write_text("\n".join(report.parts) + "\n")


def _counts(report: Report, outcomes: list[Outcome]) -> None:
    features = list(dict.fromkeys(outcome.entry.feature for outcome in outcomes))
    rows = [_count(name, [o for o in outcomes if o.entry.feature == name]) for name in features]
    report.table(pd.DataFrame([*rows, _count("all", outcomes)]), "Models by feature")


def _count(feature: str, outcomes: list[Outcome]) -> dict[str, object]:
    verdicts = Counter(outcome.verdict for outcome in outcomes)
    both = [outcome for outcome in outcomes if outcome.both]
    explained = sum(o.entry.name in KNOWN and o.verdict == "differs" for o in outcomes)
    fitted = sum(outcome.lavaan.fits for outcome in outcomes)
    ratios = [o.lavaan.seconds / o.dtstat.seconds for o in both if o.dtstat.seconds]
    return {
        "feature": feature,
        "models": len(outcomes),
        "lavaan fits": fitted,
        "dtstat too": len(both),
        "share": f"{len(both) / max(fitted, 1):.0%}",
        "equal": verdicts["equal"],
        "differ": verdicts["differs"],
        "explained": explained,
        "lavaan (s)": sum(o.lavaan.seconds for o in both),
        "dtstat (s)": sum(o.dtstat.seconds for o in both),
        "median ratio": statistics.median(ratios) if ratios else float("nan"),
    }


def _lists(report: Report, outcomes: list[Outcome]) -> None:
    report.heading("Differences")
    for outcome in (o for o in outcomes if o.verdict == "differs"):
        found = outcome.differences
        report.line(f"- **{outcome.entry.name}** ({outcome.entry.feature}): {len(found)} numbers")
        if outcome.entry.name in KNOWN:
            report.line(f"  - explained: {KNOWN[outcome.entry.name]}")
        for difference in found[:SHOWN]:
            report.line(f"  - `{difference}`")
    report.heading("Fitted by lavaan only, and what dtstat says")
    refused = [outcome for outcome in outcomes if outcome.verdict == "refused"]
    for words, count in Counter(map(_refusal, refused)).most_common():
        names = [o.entry.name for o in refused if _refusal(o) == words]
        report.line(f"- {count}: {words}\n  - {'; '.join(names)}")
    report.heading("Not fitted by lavaan")
    for outcome in (o for o in outcomes if not o.lavaan.fits):
        ours = outcome.dtstat.error or "fitted"
        report.line(f"- {outcome.entry.name}: {outcome.lavaan.error}\n  - dtstat: {ours}")


def _refusal(outcome: Outcome) -> str:
    """Say why dtstat did not fit, without the place in the model, so that equals are counted."""
    return re.sub(r", line \d+, column \d+", "", outcome.dtstat.error)


def _print_details(outcomes: list[Outcome], everything: bool) -> None:
    """Print every model of a part, the equal ones in one line."""
    for o in outcomes:
        seconds = f"lavaan {o.lavaan.seconds:.3f} s, dtstat {o.dtstat.seconds:.3f} s"
        print(f"{o.verdict.upper():14s} {o.entry.name} ({seconds})")
        if everything and o.verdict != "equal":
            print(f"  {o.entry.function}({o.entry.data}, {o.entry.args})\n{_indented(o)}")
        for who, answer in (("lavaan", o.lavaan), ("dtstat", o.dtstat)):
            if answer.error:
                print(f"  {who}: {answer.error}")
            elif everything and answer.warnings:
                print(f"  {who} warns: {' '.join(answer.warnings)}")
        found = o.differences
        for difference in found if everything else found[:SHOWN]:
            print(f"  {difference}")
        if len(found) > SHOWN and not everything:
            print(f"  and {len(found) - SHOWN} more; --name '{o.entry.name}' shows all")
    print(dict(Counter(outcome.verdict for outcome in outcomes)))


def _indented(outcome: Outcome) -> str:
    return "\n".join("    " + line for line in outcome.entry.model.splitlines())
