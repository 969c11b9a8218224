"""A table as it stands in a file, before answers are chosen and cleaned."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from dtstat.data.checks import check_names
from dtstat.errors import MissingExtraError

Code = float | str
ValueLabels = Mapping[str, Mapping[Code, str]]


@dataclass(frozen=True, slots=True)
class RawTable:
    """What a reader of one format hands on.

    Attributes
    ----------
    frame
        Rows counted from 0, column names checked; cells as the format stores them.
    decimal_comma
        Whether text such as "2,5" means two and a half.
    value_labels, item_texts
        Labels of answer codes and question texts, for the formats that have them; None otherwise.
    unclear
        Items with a number that cannot be read safely, and the sentence that says which; such an
        item is refused if it is wanted.
    """

    frame: pd.DataFrame
    decimal_comma: bool = False
    value_labels: ValueLabels | None = None
    item_texts: Mapping[str, str] = field(default_factory=dict)
    unclear: Mapping[str, str] = field(default_factory=dict)


def named_table(frame: pd.DataFrame, header: Sequence[Any]) -> pd.DataFrame:
    """Give a table its header, leaving out columns without a name that hold no answers.

    These are a first column of row names, as R and pandas write them, and empty columns, as
    spreadsheets leave behind.
    """
    names = ["" if pd.isna(cell) else str(cell).strip() for cell in header]
    unused = frame.isna().all(axis=0).to_numpy()
    kept = [k for k, name in enumerate(names) if name or not (k == 0 or unused[k])]
    check_names([names[k] for k in kept])
    return frame.iloc[:, kept].set_axis([names[k] for k in kept], axis=1)


def require(package: str, feature: str) -> Any:
    """Import a package of the extra ``survey``, or say how to do without it."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        # A broken installation of the package is another matter and must show as itself.
        if error.name != package:
            raise
        raise MissingExtraError(feature, package, "survey", "Or save the data as csv.") from error
