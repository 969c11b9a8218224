"""Files of a survey, read by their ending into a table as it stands in the file."""

from __future__ import annotations

import importlib
import os
import zipfile
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from dtstat.core import checks
from dtstat.core.checks import LARGEST_WHOLE
from dtstat.core.errors import DTError, InputError, foreign_warnings, shown
from dtstat.core.files import allowed_bytes, check_unpacked
from dtstat.core.parallel import Progress
from dtstat.data.checks import check_names
from dtstat.data.exports import MOST_HEADER_ROWS, note_of_numbers, read_header, recognize
from dtstat.data.formats import (
    RawTable,
    named_table,
    read_delimited,
    read_spss,
    read_stata,
    require,
    row_names,
)

Sheet = str | int | None

_CELL = 8  # bytes that a cell takes in memory


class _Format(NamedTuple):
    """How to read the files of one ending."""

    name: str
    read: Callable[[Path, Sheet, int | None, Progress], RawTable]


def _read_excel(path: Path, wanted: Sheet, header_rows: int | None, _: Progress) -> RawTable:
    openpyxl = require("openpyxl", "Reading .xlsx files")
    with zipfile.ZipFile(path) as archive:
        check_unpacked(path.stat().st_size, sum(member.file_size for member in archive.infolist()))
    # openpyxl warns of styles and drop-down lists it does not keep; answers are unaffected.
    with foreign_warnings("ignore"):
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        sheets = [sheet.title for sheet in book.worksheets]  # without those that are charts
        name = _choose_sheet(sheets, wanted, path)
        sheet = pd.DataFrame(_sheet_rows(book[name], path), dtype=object)
        book.close()
    if sheet.empty:
        raise no_rows(path, 0)
    header = read_header(sheet.iloc[:MOST_HEADER_ROWS].to_numpy().tolist(), header_rows)
    body = sheet.iloc[header.rows :].reset_index(drop=True)
    others = len(sheets) - 1
    note = f"Of {len(sheets)} sheets the first, '{name}', was read; `sheet` chooses another."
    return RawTable(
        named_table(body, header.names),
        item_texts=header.texts,
        program=header.program,
        aside=header.aside,
        notes=(
            *((note,) if others and wanted is None else ()),
            *note_of_numbers(header.names),
        ),
        row_names=row_names(body, header.names),
    )


def _sheet_rows(sheet: Any, path: Path) -> list[list[object]]:
    """Cells of a sheet from the first row that has any, None where nothing is.

    One cell far from the others would take the memory of all between them.
    """
    sheet.reset_dimensions()  # what the file says of its size need not be so
    size = path.stat().st_size
    rows: list[list[object]] = []
    width = filled = 0
    for number, row in enumerate(sheet.rows, start=1):
        cells = _cells(row)
        if cells or rows:
            rows.append(cells)
        if cells:
            width, filled = max(width, len(cells)), len(rows)
        if number * max(width, 1) * _CELL > allowed_bytes(size):
            raise InputError(
                f"sheet '{sheet.title}' of '{path.name}' goes on beyond row {number} with {width} "
                f"columns, more cells than a file of {size} bytes can hold answers. Delete what "
                "stands far from the others.",
                argument="path",
            )
    return rows[:filled]


def _cells(row: Iterable[Any]) -> list[object]:
    """Values of a row up to the last that is there; errors such as #DIV/0! are none."""
    cells = [None if cell.data_type == "e" or cell.value == "" else cell.value for cell in row]
    while cells and cells[-1] is None:
        cells.pop()
    return [
        int(cell)
        if isinstance(cell, float) and cell.is_integer() and abs(cell) <= LARGEST_WHOLE
        else cell
        for cell in cells
    ]


def _choose_sheet(sheets: list[str], wanted: Sheet, path: Path) -> str:
    if wanted is None:
        return sheets[0]
    if isinstance(wanted, str):
        if wanted not in sheets:
            raise checks.unknown("sheet", f"a sheet of '{path.name}'", wanted, sheets)
        return wanted
    number = checks.integer("sheet", wanted, 1, "Give its number, from 1, or its name.")
    if number > len(sheets):
        listed = ", ".join(sheets)
        raise checks.refusal("sheet", f"at most {len(sheets)}", wanted, f"There are: {listed}.")
    return sheets[number - 1]


def _read_text(path: Path, _: Sheet, header_rows: int | None, progress: Progress) -> RawTable:
    return read_delimited(path, header_rows, progress)


def _read_spss(path: Path, *_: object) -> RawTable:
    return read_spss(path)


def _read_stata(path: Path, *_: object) -> RawTable:
    return read_stata(path)


def _read_parquet(path: Path, *_: object) -> RawTable:
    require("pyarrow", "Reading .parquet files")
    about = importlib.import_module("pyarrow.parquet").read_metadata(path)
    # Equal answers take next to no room in the file, and eight bytes each in memory.
    checks.size("path", path.name, (about.num_rows, about.num_columns))
    frame = pd.read_parquet(path, engine="pyarrow").reset_index(drop=True)
    frame.columns = pd.Index([str(name) for name in frame.columns], dtype=object)
    check_names(list(frame.columns))
    known = recognize(list(frame.columns))
    unclear = _merged_beside_gaps(about)
    return RawTable(frame, unclear=unclear, program=known.program, aside=known.aside)


def _merged_beside_gaps(about: Any) -> dict[str, str]:
    """Sentence of refusal by item, for whole numbers that become others: gaps make them floats."""
    found = {}
    for k in range(about.num_columns):
        column = about.schema.column(k)
        if column.physical_type != "INT64" or column.logical_type.type not in ("NONE", "INT"):
            continue
        parts = [about.row_group(j).column(k).statistics for j in range(about.num_row_groups)]
        known = [part for part in parts if part is not None]
        ends = [end for part in known if part.has_min_max for end in (part.min, part.max)]
        gaps = any(part.null_count for part in known)
        if gaps and any(abs(end) > LARGEST_WHOLE for end in ends):
            found[column.path] = (
                f"item '{column.path}' has missing answers and whole numbers beyond "
                f"{LARGEST_WHOLE}, which cannot be told apart when computed with. Leave it out "
                "with `drop`."
            )
    return found


_DELIMITED = _Format("delimited text", _read_text)
_SPSS = _Format("an SPSS file", _read_spss)
FORMATS: dict[str, _Format] = {
    ".csv": _DELIMITED,
    ".tsv": _DELIMITED,
    ".txt": _DELIMITED,
    ".csv.gz": _DELIMITED,
    ".tsv.gz": _DELIMITED,
    ".txt.gz": _DELIMITED,
    ".parquet": _Format("a Parquet file", _read_parquet),
    ".xlsx": _Format("an Excel workbook", _read_excel),
    ".sav": _SPSS,
    ".zsav": _SPSS,
    ".dta": _Format("a Stata file", _read_stata),
}


def read_raw(
    path: str | os.PathLike[str],
    sheet: Sheet = None,
    header_rows: int | None = None,
    progress: Progress = None,
) -> RawTable:
    """Read a file as its ending says; what cannot be read is refused in words."""
    file = check_path(path)
    form = FORMATS[_ending(file)]
    if sheet is not None and form.read is not _read_excel:
        raise checks.refusal(
            "sheet", "left out for files other than .xlsx", sheet, f"Got {file.name}."
        )
    if header_rows is not None and form.read not in (_read_excel, _read_text):
        advice = f"'{file.name}' knows the names of its columns."
        raise checks.refusal("header_rows", "left out for such files", header_rows, advice)
    raw = _read(file, form, sheet, header_rows, progress)
    if not raw.frame.size:
        raise no_rows(file, raw.frame.shape[1])
    return raw


def _read(
    path: Path, form: _Format, sheet: Sheet, header_rows: int | None, progress: Progress
) -> RawTable:
    try:
        return form.read(path, sheet, header_rows, progress)
    except (DTError, ImportError, MemoryError):
        raise
    except Exception as error:  # each library has its own errors for a damaged file
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(
            f"'{path.name}' cannot be read as {form.name}; got the error: {reason}. "
            "Check that the file is complete and that its extension is right.",
            argument="path",
        ) from error


def _ending(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return "".join(suffixes[-2:] if suffixes[-1:] == [".gz"] else suffixes[-1:])


def check_path(path: str | os.PathLike[str]) -> Path:
    """Return the file to read; refuse what is none, or has an unknown ending."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(
            f"`path` must be the path of a file; got {type(path).__name__}. "
            "Answers that are in memory need no reading.",
            argument="path",
        )
    file = Path(path)
    _check_name(file)
    if file.is_dir():
        raise InputError(
            f"`path` must be a file; got the folder '{file}'. Name a file in it.", argument="path"
        )
    if not file.exists():
        raise _not_found(file)
    if not file.is_file():
        raise InputError(
            f"`path` must be a file; got '{file}', a device or a pipe, which may have no end. Save "
            "what comes out of it first.",
            argument="path",
        )
    if _ending(file) not in FORMATS:
        raise InputError(
            f"`path` must end in one of {', '.join(FORMATS)}; got '{file.name}'. "
            "Save the data in one of these formats.",
            argument="path",
        )
    if file.stat().st_size == 0:
        raise InputError(
            f"'{file.name}' is empty; got 0 bytes. Export the data again.", argument="path"
        )
    return file


def _check_name(file: Path) -> None:
    """Refuse a name that the system cannot even look up."""
    try:
        file.stat()
    except FileNotFoundError:
        return  # refused later, with a suggestion
    except (OSError, ValueError) as error:  # too long, a null byte, no permission, no text
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(
            f"`path` must be a file that exists; got {shown(str(file))}: {why}. Check name and "
            "folder.",
            argument="path",
        ) from None


def _not_found(file: Path) -> InputError:
    if file.is_symlink():
        advice = f"It is a link to '{file.readlink()}', which is not there."
    elif not file.parent.is_dir():
        advice = "There is no such folder either."
    else:
        neighbors = [p.name for p in file.parent.iterdir() if _ending(p) in FORMATS]
        close = get_close_matches(file.name, neighbors, 1)
        advice = f"Did you mean '{close[0]}'?" if close else "Check name and folder."
    return InputError(f"`path` must be a file that exists; got '{file}'. {advice}", argument="path")


def no_rows(path: Path, n_columns: int) -> InputError:
    """Refuse a file without answers."""
    return InputError(
        f"'{path.name}' holds no answers; got 0 rows below a header of {n_columns} columns. "
        "Check the export.",
        argument="path",
    )
