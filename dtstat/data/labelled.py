"""Reading SPSS and Stata files, whose answers are codes with labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api import types

from dtstat.data.checks import check_names, items_phrase
from dtstat.data.raw import Code, RawTable, ValueLabels, require
from dtstat.errors import DataWarning, foreign_warnings, warn

# Codes that survey houses use for missing answers.
USUAL_MISSING_CODES = frozenset({-999, -99, -9, -1, 97, 98, 99, 997, 998, 999})
# A scale such as -1, 0, 1 must not be taken for one; a code this far from the scale may be.
MIN_GAP = 2
_MISSING_LABEL = re.compile(
    r"\b(missing|refus(ed|al)|no (answer|response|reply)|not (answered|applicable|asked|stated)"
    r"|prefer not|(don['’`]?t|do not|doesn['’`]?t) know|skipped|keine angaben?|wei(ß|ss) nicht"
    r"|verweigert|nicht beantwortet|sans réponse|ne sait pas|no (sabe|contesta))\b"
    r"|^\W*(n\s?/\s?a|n\.a\.|dk|k\.\s?a\.)\W*$",
    re.IGNORECASE,
)

Range = Mapping[str, Any]


def read_spss(path: Path) -> RawTable:
    """Read a .sav or .zsav file; answers declared missing in it become NaN."""
    pyreadstat = require("pyreadstat", "Reading SPSS files")
    # The codes are needed as they are, to leave out the labels of those declared missing.
    with _no_renaming():
        frame, meta = pyreadstat.read_sav(path, user_missing=True)
    declared: dict[str, list[Range]] = meta.missing_ranges
    for item, ranges in declared.items():
        frame[item] = frame[item].mask(_declared_missing(frame[item], ranges))

    def is_answer(item: str, code: Code) -> bool:
        return not _declared_missing(pd.Series([code]), declared.get(item, ())).any()

    return _raw_table(frame, meta, is_answer)


def read_stata(path: Path) -> RawTable:
    """Read a .dta file; the missing values ., .a to .z become NaN."""
    pyreadstat = require("pyreadstat", "Reading Stata files")
    with _no_renaming():
        frame, meta = pyreadstat.read_dta(path)
    # Labels of .a to .z come under the letter; all other labels of Stata are on numbers.
    return _raw_table(frame, meta, lambda _, code: not isinstance(code, str))


def _no_renaming() -> AbstractContextManager[None]:
    """Refuse names that occur twice, as in a damaged file; pyreadstat would rename one of them."""
    return foreign_warnings("error", UserWarning, ".*duplicated")


def warn_of_missing_codes(frame: pd.DataFrame, labels: ValueLabels) -> None:
    """Warn of labelled codes that occur in the data and look like missing answers.

    A code looks so when its label says so, or when it is one of the usual codes (such as 99) and
    lies at least two beyond the other labelled codes of the item.
    """
    holders: dict[tuple[float, str], list[str]] = {}
    for item in frame.columns:
        for code, label in _suspects(frame[item], labels.get(item, {})):
            holders.setdefault((code, label), []).append(item)
    for (code, label), items in holders.items():
        warn(
            f"{items_phrase(items)}: code {code:g} is labelled '{label}' but not declared missing; "
            f"pass missing_codes=[{code:g}] if it is not an answer.",
            DataWarning,
            stacklevel=4,
        )


def _suspects(column: pd.Series[Any], labels: Mapping[Code, str]) -> Iterator[tuple[float, str]]:
    numeric = {code: label for code, label in labels.items() if not isinstance(code, str)}
    scale = [code for code in numeric if code not in USUAL_MISSING_CODES]
    for code, label in numeric.items():
        unusual = code in USUAL_MISSING_CODES and _beyond(code, scale)
        if (unusual or _MISSING_LABEL.search(label)) and column.eq(code).any():
            yield code, label


def _beyond(code: float, scale: list[float]) -> bool:
    return bool(scale) and not min(scale) - MIN_GAP < code < max(scale) + MIN_GAP


def _declared_missing(codes: pd.Series[Any], ranges: Sequence[Range]) -> pd.Series[bool]:
    """Mark the codes that lie in one of the ranges declared missing."""
    missing = pd.Series(False, index=codes.index)
    for limits in ranges:
        low, high = limits["lo"], limits["hi"]
        if isinstance(low, str):
            missing |= codes.eq(low)
        elif types.is_numeric_dtype(codes.dtype):
            missing |= codes.between(low, high)
    return missing


def _raw_table(frame: pd.DataFrame, meta: Any, is_answer: Callable[[str, Code], bool]) -> RawTable:
    check_names(list(frame.columns))
    labels = {
        item: {_plain(code): str(label) for code, label in of_item.items() if is_answer(item, code)}
        for item, of_item in meta.variable_value_labels.items()
    }
    texts = {item: text for item, text in meta.column_names_to_labels.items() if text}
    return RawTable(frame, value_labels=labels, item_texts=texts)


def _plain(code: Any) -> Code:
    return code if isinstance(code, str) else float(code)
