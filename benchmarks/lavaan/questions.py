"""Questions that version 0.1.0 answered otherwise than lavaan, in one table."""

from __future__ import annotations

import importlib
import importlib.util
import math

from benchmarks.harness import ROOT
from benchmarks.lavaan.cases import Case

MODULES = ("data_cases", "model_cases")


def run() -> None:
    """Put every case to both, and write one table."""
    cases = [case for name in MODULES for case in _cases(name)]
    rows = [_row(case) for case in sorted(cases, key=lambda case: _place(case.item))]
    agreed = sum(row[-1] != "DIFFERS" for row in rows)
    lines = [
        "# Beside lavaan\n",
        "Written by `python -m benchmarks.lavaan questions`: questions that version 0.1.0 answered "
        "otherwise than lavaan, or answered where no valid answer exists. A sentence in the column "
        "*dtstat* is a refusal.\n",
        "| | question | 0.1.0 | lavaan | dtstat | |",
        "|---|---|---|---|---|---|",
        *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows),
        f"\n{agreed} of {len(rows)} equal or refused with reason.",
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    (ROOT / "benchmarks/results/lavaan.md").write_text(text)


def _cases(name: str) -> list[Case]:
    full = f"benchmarks.lavaan.{name}"
    if importlib.util.find_spec(full) is None:
        return []
    cases: list[Case] = importlib.import_module(full).CASES
    return cases


def _place(item: str) -> tuple[float, str]:
    """Cases by number, others last."""
    return (float(item), "") if item.isdecimal() else (math.inf, item)


def _row(case: Case) -> tuple[str, ...]:
    theirs, ours = case.lavaan(), case.ours()
    if isinstance(ours, str):
        return case.item, case.what, case.before, _shown(theirs), ours, "refused"
    equal = ours.keys() == theirs.keys() and all(
        math.isclose(ours[name], theirs[name], rel_tol=0, abs_tol=case.tolerance) for name in theirs
    )
    verdict = f"equal to {case.tolerance:g}" if equal else "DIFFERS"
    return case.item, case.what, case.before, _shown(theirs), _shown(ours), verdict


def _shown(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in values.items())
