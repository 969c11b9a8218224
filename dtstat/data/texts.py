"""What the items ask: texts that come with a table, or that the user gives."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from dtstat.core import checks
from dtstat.core.errors import InputError, nearest
from dtstat.data.checks import check_writable_names
from dtstat.data.files import read_raw

Labels = Mapping[str, str] | pd.Series | pd.DataFrame | str | os.PathLike[str] | None

_ITEM = ("item", "name", "variable", "variable name", "var", "column", "code", "field name")
_TEXT = (
    *("text", "item text", "item_text", "label", "question", "question text", "wording"),
    *("statement", "description", "variable label", "field label", "content", "item"),
)
_ADVICE = "Give a dict from item to its question, as in labels={'q1': 'I worry a lot'}."


def texts_of(frame: pd.DataFrame, names: Sequence[str]) -> dict[str, str]:
    """Texts that a table carries in ``attrs["item_texts"]``, of the named items.

    What others put there is not checked: anything that is no text is passed over.
    """
    carried = frame.attrs.get("item_texts")
    if not isinstance(carried, Mapping):
        return {}
    return {
        name: one_line(text)
        for name in names
        if isinstance(text := carried.get(name), str) and text.strip() and _is_writable(text)
    }


def given_texts(labels: Labels, names: Sequence[str]) -> dict[str, str]:
    """Texts that a user gives, of the named items; a codebook may have others, too.

    Parameters
    ----------
    labels
        Dict or Series from item to text; or a codebook, a DataFrame or a file with a column (or
        row names) for the names of the items and one for their texts; None for none.
    names
        Names of the items.

    Raises
    ------
    InputError
        If they are no such thing, or no item is among them.

    Examples
    --------
    >>> given_texts({"q1": "I worry a lot", "age": "Age in years"}, ["q1", "q2"])
    {'q1': 'I worry a lot'}
    """
    if labels is None:
        return {}
    texts = _as_texts(labels, names)
    for item, text in texts.items():
        if text is not None and not isinstance(text, str) and text == text:  # NaN is no text
            raise checks.refusal("labels", f"texts; that of '{item}' is none", text, _ADVICE)
    known = {name: texts[name] for name in names if isinstance(texts.get(name), str)}
    if texts and not any(name in texts for name in names):
        first = next(iter(texts))
        raise InputError(
            f"`labels` has no text of any item; it begins with '{first}'. {nearest(first, names)}",
            "labels",
        )
    check_writable_names(list(known.values()), "labels")
    return {name: one_line(text) for name, text in known.items() if text.strip()}


def _as_texts(labels: object, names: Sequence[str]) -> dict[str, Any]:
    """Return what was given as a dict from item to text."""
    if isinstance(labels, str | os.PathLike):
        labels = _read_codebook(labels)
    if isinstance(labels, pd.DataFrame):
        return _from_codebook(labels, names)
    if isinstance(labels, pd.Series):
        labels = labels.to_dict()
    if not isinstance(labels, Mapping):
        raise checks.refusal(
            "labels", "a dict from item to text, a DataFrame or a file", labels, _ADVICE
        )
    return {str(item): text for item, text in labels.items()}


def _read_codebook(path: str | os.PathLike[str]) -> pd.DataFrame:
    try:
        raw = read_raw(path)
    except InputError as error:  # two files may be read at a time: say which one it is
        raise InputError(str(error).replace("`path`", "`labels`"), "labels") from None
    return raw.frame.set_axis(list(raw.row_names)) if raw.row_names else raw.frame


def _from_codebook(book: pd.DataFrame, names: Sequence[str]) -> dict[str, Any]:
    """Texts by item; a column named "item" may hold either, as its cells show."""
    wanted = set(names)
    lowered = {str(name).strip().lower(): book[name].tolist() for name in book.columns}
    cells = {k: [str(cell).strip() for cell in lowered[k]] for k in _ITEM if k in lowered}
    if not isinstance(book.index, pd.RangeIndex):
        cells["row names"] = [str(name).strip() for name in book.index]
    item = next((name for name in cells if wanted & set(cells[name])), next(iter(cells), None))
    text = next((name for name in _TEXT if name in lowered and name != item), None)
    if item is None or text is None:
        listed = ", ".join(f"'{name}'" for name in list(book.columns)[:10])
        raise InputError(
            f"A codebook in `labels` must have a column 'item' and a column 'text'; got {listed}.",
            "labels",
        )
    return dict(zip(cells[item], lowered[text], strict=True))


def one_line(text: str) -> str:
    """Return a text without line breaks and repeated blanks."""
    return " ".join(text.split())


def _is_writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
