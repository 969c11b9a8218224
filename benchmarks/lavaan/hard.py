"""Hard cases: who fails, and what is said."""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks.harness import ROOT
from benchmarks.lavaan.answers import Answer, dtstat_answer, lavaan_answers
from benchmarks.lavaan.compare import differences
from benchmarks.lavaan.entry import Entry
from benchmarks.lavaan.models.texts import HS, ONE, TWO, scales
from benchmarks.lavaan.tables import ITEMS, write_tables

RESULTS = ROOT / "benchmarks" / "results" / "lavaan_hard.md"
LONGEST = 220  # characters of a message in the table

# fmt: off
CASES: list[Entry] = []
THREE = "f =~ y1 + y2 + y3"
BINARY = "f =~ b1 + b2 + b3 + b4"


def add(right: str, name: str, data: str, model: str, **args: Any) -> None:
    """Add a case; ``right`` is "fit" if there is an answer, "tell" if users must be told."""
    CASES.append(Entry(right, name, data, model, args.pop("function", "cfa"), args))


# Improper and unidentified models
add("tell", "Heywood case", "hard_heywood", THREE)
add("tell", "two factors that are one", "hard_same_factor", "f =~ y1 + y2 + y3\ng =~ y4 + y5 + y6")
add("tell", "items of pure noise", "hard_noise", HS)
add("tell", "one factor of two items", "hs", "f =~ x1 + x2")
add("tell", "no scale: free marker and variance", "hs", "f =~ NA*x1 + x2 + x3 + x4\nf ~~ NA*f")
add("tell", "two items per factor, orthogonal", "hs", "f =~ x1 + x2\ng =~ x4 + x5", orthogonal=True)
add("tell", "more parameters than moments", "hs",
    "f =~ x1 + x2 + x3\nx1 ~~ x2\nx1 ~~ x3")
add("tell", "loop without instruments", "mediation", "y ~ m1\nm1 ~ y", function="sem")
add("tell", "two mean levels for one item", "hs", ONE + "\nvisual ~ NA*1", mean_structure=True)
add("tell", "a general factor on two factors", "hs", TWO + "\ng =~ visual + textual")

# Data
add("tell", "a copy of an item", "hard_copy", HS)
add("tell", "an item that is a sum of two", "hard_sum", HS)
add("fit", "items that correlate .9999", "hard_nearly", HS)
add("tell", "a constant item", "hard_constant", HS)
add("fit", "scales from 1e-4 to 1e4", "hard_scaled", HS)
add("fit", "means of a million", "hard_far", HS, mean_structure=True)
add("tell", "one answer of a million", "hard_outlier", HS)
add("tell", "an infinite answer", "hard_infinite", HS)
add("tell", "words among numbers", "hard_words", HS)
add("tell", "8 rows, 9 items", "hard_eight_rows", HS)
add("tell", "12 rows, 9 items", "hard_twelve_rows", HS)
add("tell", "40 rows, WLS of 45 moments", "hard_forty_rows", HS, estimator="wls")
add("fit", "100,000 rows", "hard_many_rows", scales("y", 3, 3), estimator="mlr")
add("fit", "150 items", "hard_many_items", scales("y", ITEMS // 15, 15))
add("tell", "rows without an answer, fiml", "hard_gaps", HS, missing="fiml")
add("tell", "two items never together, fiml", "hard_gaps",
    "visual =~ a1 + x2 + x3\ntextual =~ x4 + a5 + x6", missing="fiml")
add("tell", "an item nobody answered, fiml", "hard_gaps", TWO + "\nspeed =~ x7 + x8 + never",
    missing="fiml")

# Starting values
add("fit", "start(90) of a covariance", "hs", TWO + "\nvisual ~~ start(90)*textual")
add("fit", "loadings started at -50", "hs", "visual =~ x1 + start(-50)*x2 + start(-50)*x3\n"
    "textual =~ x4 + x5 + x6")
add("fit", "variances started at 1e-8", "hs", TWO + "\nx1 ~~ start(0.00000001)*x1\n"
    "visual ~~ start(0.00000001)*visual")
add("fit", "variances started at a million", "hs", TWO + "\nx4 ~~ start(1000000)*x4")

# Ordered items
U = [f"u{k}" for k in range(1, 7)]
add("tell", "a category that one group lacks", "hard_ordered", "f =~ empty + u2 + u3 + u4",
    ordered=True, group="g", group_equal=["thresholds", "loadings"])
add("tell", "an ordered item constant in one group", "hard_ordered", "f =~ u1 + fixed + u3 + u4",
    ordered=True, group="g")
add("fit", "a category chosen once", "hard_ordered", "f =~ u1 + u2 + rare + u4", ordered=True)
add("tell", "an empty cell of two binary items", "hard_ordered", BINARY, ordered=True)
add("fit", "an ordered item of 30 categories", "hard_ordered", "f =~ u1 + u2 + u3 + fine",
    ordered=True)

# Groups, weights, clusters
add("tell", "a group of one row", "hard_groups", TWO, group="one")
add("tell", "a group of six rows", "hard_groups", TWO, group="few")
add("tell", "gaps in the group column", "hard_groups", TWO, group="gaps")
add("tell", "a group column that is not there", "hs", TWO, group="sckool")
add("tell", "an unknown kind of equality", "hs", TWO, group="school", group_equal=["loading"])
add("tell", "an unknown partial parameter", "hs", TWO, group="school", group_equal=["loadings"],
    group_partial=["visual=~x9"])
add("tell", "labels for three groups, two groups", "hs", TWO.replace("x2", "c(a, b, d)*x2"),
    group="school")
add("tell", "a negative weight", "hard_weights", TWO, sampling_weights="negative")
add("tell", "a missing weight", "hard_weights", TWO, sampling_weights="gaps")
add("tell", "all weights zero", "hard_weights", TWO, sampling_weights="zero")
add("fit", "weights of 1e12", "hard_weights", TWO, sampling_weights="huge")
add("tell", "a single cluster", "hard_weights", TWO, cluster="single")

# Model texts
LABELED = "visual =~ x1 + a*x2 + b*x3 + x4"
add("tell", "constraints that contradict each other", "hs", LABELED + "\na == 1\na == 2")
add("tell", "inequalities that exclude each other", "hs", LABELED + "\na > 2\na < 1")
add("tell", ":= of an unknown label", "hs", LABELED + "\nab := a*q")
add("tell", "== of an unknown label", "hs", LABELED + "\na == q")
add("tell", "a parameter defined by itself", "hs", LABELED + "\nk := k + a")
add("tell", "an item that is not there", "hs", "visual =~ x1 + x2 + x33")
add("tell", "a variable regressed on itself", "hs", "x1 ~ x1 + x2", function="sem")
add("tell", "a parameter fixed twice", "hs", ONE + "\nx1 ~~ 0.5*x1\nx1 ~~ 0.7*x1")
add("tell", "a model without statements", "hs", "# nothing")
add("tell", "an unfinished line", "hs", "visual =~ x1 + x2 +")
# fmt: on


def run(arguments: argparse.Namespace) -> None:
    """Put every case to both, and write the table."""
    write_tables()
    cases = [case for case in CASES if arguments.name in case.name]
    theirs = lavaan_answers(cases, arguments.fresh)
    rows = [_row(case, theirs[case.name], dtstat_answer(case)) for case in cases]
    ours_failed, theirs_failed = (sum(row[k].startswith("**") for row in rows) for k in (3, 2))
    lines = [
        "# Hard cases\n",
        "Written by `python -m benchmarks.lavaan hard`. Right is to *fit* where an answer exists, "
        "with or without a warning, and elsewhere to *tell*: to refuse, or to warn. What is not "
        "right is in bold. No word means a fit without warning.\n",
        "| case | right | lavaan | dtstat |",
        "|---|---|---|---|",
        *("| " + " | ".join(row) + " |" for row in rows),
        f"\nOf {len(rows)} cases lavaan fails {theirs_failed}, dtstat {ours_failed}.",
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if not arguments.name:
        RESULTS.write_text(text)


def _row(case: Entry, theirs: Answer, ours: Answer) -> tuple[str, str, str, str]:
    said = [_said(case.feature, answer) for answer in (theirs, ours)]
    if theirs.fits and ours.fits:
        found = differences(theirs, ours)
        said[1] += f"; {len(found)} numbers differ, as {found[0]}" if found else "; equal"
    return case.name, case.feature, said[0], said[1]


def _said(right: str, answer: Answer) -> str:
    """Say what came out, in bold if it is not right."""
    if answer.crashed:
        words, failed = f"crashes: {answer.error}", True
    elif answer.error:
        words, failed = f"refuses: {answer.error}", right == "fit"
    elif answer.warnings:
        words, failed = f"warns: {' '.join(answer.warnings)}", False
    else:
        words, failed = "fits", right == "tell"
    words = words.replace("|", "\\|").replace("*", "\\*")
    words = words if len(words) <= LONGEST else words[:LONGEST] + " …"
    return f"**{words}**" if failed else words
