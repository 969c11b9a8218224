"""One case: the same question put to lavaan and to dtstat."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd


@dataclass(frozen=True)
class Case:
    """What is asked, and who answers what.

    Attributes
    ----------
    item
        Subject, by which rows are sorted in the table.
    what
        The question in a few words.
    before
        What version 0.1.0 answered.
    lavaan
        Asks live lavaan; values by name.
    ours
        Asks dtstat; values by the same names, or the sentence by which it refuses.
    tolerance
        Largest absolute difference that counts as equal.
    """

    item: str
    what: str
    before: str
    lavaan: Callable[[], dict[str, float]]
    ours: Callable[[], dict[str, float] | str]
    tolerance: float


def ask_r(code: str, data: Mapping[str, pd.DataFrame] | None = None) -> dict[str, float]:
    """Run R code with lavaan loaded and tables by name; it ends in a named vector of numbers."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        reads = []
        for name, frame in (data or {}).items():
            frame.to_csv(place / f"{name}.csv", index=False)
            reads.append(f'{name} <- read.csv("{place / name}.csv", check.names = FALSE)')
        script = place / "ask.R"
        script.write_text(
            "suppressPackageStartupMessages(library(lavaan))\n" + "\n".join(reads)
            + f"\nanswer <- suppressWarnings({{\n{code}\n}})\n"
            + 'value <- ifelse(is.na(answer), "NaN", sprintf("%.17g", as.numeric(answer)))\n'
            + 'cat("\\n{", paste0("\\"", names(answer), "\\": ", value, collapse = ", "), "}", '
            + 'sep = "")\n'
        )  # fmt: skip
        done = subprocess.run(
            ["Rscript", "--vanilla", str(script)], capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return {str(k): float(v) for k, v in json.loads(done.stdout.splitlines()[-1]).items()}
