"""Files of answers as they come: by other programs, other countries, and accidents."""

from __future__ import annotations

import gzip
import inspect
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from fuzz_harness import attempt, entry, expect
from fuzz_tables import factor_answers, values
from fuzz_values import bad_values, item_names
from hypothesis import strategies as st

import dtstat as dt

HOSTILE_CELLS = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "x" * 100_000,
    "1" * 100_000 + "x",
    "\0",
    '"',
]
HOSTILE_CELLS += ["é", "1e999", "1e-999", "nan", "inf", "1_000", "0x10", "１", "1,5", "", "NA", "'"]
HOSTILE_CELLS += ['"unclosed', "<script>", "\r", "a\nb", "9" * 400, "1 2", "TRUE", "1/2/2020", "½"]
ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".parquet", ".xlsx", ".sav", ".zsav", ".dta", ".CSV")


def table(draw: Any) -> pd.DataFrame:
    X = values(draw)
    return pd.DataFrame(X, columns=pd.Index(item_names(draw, X.shape[1]), dtype=object))


def text_file(draw: Any) -> bytes:
    """Delimited text with one thing that is odd about it."""
    separator = draw(st.sampled_from([",", ";", "\t", "|", " "]))
    text = table(draw).to_csv(index=draw(st.booleans()), sep=separator)
    for _ in range(draw(st.integers(0, 2))):
        text = draw(st.sampled_from(ODDITIES))(draw, text, separator)
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252", "utf-32"]))
    content = text.encode(encoding, "surrogatepass" if "utf" in encoding else "replace")
    return content if draw(st.integers(0, 5)) else content[: draw(st.integers(0, len(content)))]


def _hostile_cell(draw: Any, text: str, separator: str) -> str:
    lines = text.split("\n")
    row = draw(st.integers(0, len(lines) - 1))
    cells = lines[row].split(separator)
    cells[draw(st.integers(0, len(cells) - 1))] = draw(st.sampled_from(HOSTILE_CELLS))
    lines[row] = separator.join(cells)
    return "\n".join(lines)


def _line_ends(draw: Any, text: str, separator: str) -> str:
    kind = draw(st.integers(0, 2))
    if kind == 0:
        return text.replace("\n", "\r\n")
    return text.replace("\n", "\r") if kind == 1 else text.replace("\n", "\r\n", 3)


def _ragged(draw: Any, text: str, separator: str) -> str:
    lines = text.split("\n")
    row = draw(st.integers(0, len(lines) - 1))
    lines[row] += separator * draw(st.integers(1, 5)) + draw(st.sampled_from(["", "7"]))
    return "\n".join(lines)


def _header_only(draw: Any, text: str, separator: str) -> str:
    return text.split("\n")[0] + draw(st.sampled_from(["", "\n", "\n\n\n"]))


def _decimal_commas(draw: Any, text: str, separator: str) -> str:
    return text.replace(".", ",")


def _noise(draw: Any, text: str, separator: str) -> str:
    at = draw(st.integers(0, len(text)))
    return (
        text[:at]
        + draw(st.sampled_from(["\0", '"', "\x1a", "\ufeff", "\u2028", "\n\n"]))
        + text[at:]
    )


ODDITIES = [
    _hostile_cell,
    _hostile_cell,
    _line_ends,
    _ragged,
    _header_only,
    _decimal_commas,
    _noise,
]


def binary_file(draw: Any, ending: str, folder: Path) -> bytes:
    """A file of another program: whole, cut, flipped, or with the wrong ending."""
    frame = table(draw)
    try:
        content = _written(
            frame.set_axis([f"v{k}" for k in range(frame.shape[1])], axis=1), ending, folder
        )
    except Exception:  # tables that the format cannot hold
        return b"PK\x03\x04nonsense"
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return content[: _place(draw, content)]
    if kind == 1 and content:
        changed = bytearray(content)
        for _ in range(draw(st.integers(1, 5))):
            changed[_place(draw, content)] ^= 1 << draw(st.integers(0, 7))
        return bytes(changed)
    return content


def _place(draw: Any, content: bytes) -> int:
    """A place in a file whose length depends on the time of day: what is drawn must not."""
    return int(draw(st.floats(0, 1, exclude_max=True)) * len(content))


def _written(frame: pd.DataFrame, ending: str, folder: Path) -> bytes:
    import pyreadstat

    file = folder / f"source{ending}"
    if ending == ".parquet":
        frame.to_parquet(file)
    elif ending == ".xlsx":
        frame.to_excel(file, index=False)
    elif ending == ".dta":
        pyreadstat.write_dta(frame, file)
    else:
        pyreadstat.write_sav(frame, file, compress=ending == ".zsav")
    return file.read_bytes()


_OPTIONS = [name for name in inspect.signature(dt.read_survey).parameters if name != "path"]


@entry("read_survey of odd files", 4.0)
def odd_files(draw: Any) -> None:
    """Any file: a table of numbers and text, or a refusal."""
    ending = draw(st.sampled_from([*ENDINGS, ".csv", ".csv", ".csv", ".dat"]))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        textual = ending.lower() in (".csv", ".tsv", ".txt", ".csv.gz", ".dat")
        content = text_file(draw) if textual else binary_file(draw, ending, folder)
        if ending.endswith(".gz"):
            content = gzip.compress(content) if draw(st.integers(0, 3)) else content
        file = folder / f"answers{ending}"
        file.write_bytes(content)
        options = draw(st.sampled_from([{}, {}, {"columns": "x*"}, {"missing_codes": [99, "NA"]}]))
        if not draw(st.integers(0, 5)):
            options = {draw(st.sampled_from(_OPTIONS)): draw(bad_values)}
        frame = attempt("read_survey", dt.read_survey, file, **options)
        if frame is not None:
            expect(isinstance(frame, pd.DataFrame), "read_survey: no table", frame)
            attempt("items", dt.items, frame)
        attempt("dependence", dt.dependence, file)


@entry("read_survey gives back what was written", 1.0)
def round_trip(draw: Any) -> None:
    """Numbers survive every format and separator."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    frame = pd.DataFrame(factor_answers(rng, 20, 4).round(6), columns=list("abcd"))
    ending = draw(st.sampled_from([".csv", ".tsv", ".parquet", ".xlsx", ".sav", ".zsav", ".dta"]))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / f"answers{ending}"
        if ending in (".csv", ".tsv"):
            separator, decimal = draw(
                st.sampled_from([(",", "."), (";", ","), (";", "."), ("\t", ",")])
            )
            frame.to_csv(file, index=False, sep=separator, decimal=decimal)
        else:
            file.write_bytes(_written(frame, ending, folder))
        again = attempt("read_survey", dt.read_survey, file)
    expect(again is not None, "read_survey: refused what was written", ending)
    expect(
        np.allclose(again.to_numpy(dtype=float), frame, atol=1e-12), "read_survey: changed", ending
    )
