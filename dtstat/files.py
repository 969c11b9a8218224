"""Files that dtstat writes: never under another format's name, over other files, or by halves.

A script that is run again overwrites what it wrote before, so a file that is recognized by its
content as one of dtstat's, of the same kind, may be replaced. Any other file stays unless the user
says ``overwrite=True`` (``--force`` in the shell, which recognizes nothing).
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from dtstat import checks
from dtstat.errors import InputError

# Endings that name a format. Others, as in "answers.v2", name none and may be chosen freely.
_FORMATS = re.compile(
    r"\.(csv|tsv|txt|json|xml|yaml|md|tex|html|htm|docx?|odt|rtf|pdf|xlsx?|ods|pptx?|png|jpe?g|gif"
    r"|svg|tiff?|eps|ps|zip|gz|z?sav|dta|rds|rda|rdata|parquet|feather|npy|npz|pkl|pickle|py|r|rmd"
    r"|qmd|ipynb|dtstat)",
    re.IGNORECASE,
)


class FileKind(NamedTuple):
    """What is written into a file.

    Attributes
    ----------
    words
        What it is: "an HTML page".
    endings
        Endings of its name, the usual one first.
    advice
        How to get what other endings promise; may be empty.
    """

    words: str
    endings: tuple[str, ...]
    advice: str = ""


def check_ending(file: Path, kind: FileKind) -> None:
    """Refuse a name whose ending promises another format than what will be written."""
    ending = file.suffix.lower()
    if ending in kind.endings or not _FORMATS.fullmatch(ending):
        return
    known = " or ".join(kind.endings)
    raise InputError(
        f"Cannot write '{file}': what is written is {kind.words}, and '{ending}' is the ending of "
        f"another format. Give a name that ends in {known}.{kind.advice and ' ' + kind.advice}",
        "path",
    )


def target(
    path: str | os.PathLike[str],
    kind: FileKind,
    recognize: Callable[[Path], bool],
    overwrite: bool,
) -> Path:
    """Return the file to write, after all that can be refused before any work is done.

    Parameters
    ----------
    path
        Where the user wants it.
    kind
        What will be written.
    recognize
        Whether a file that exists is one that dtstat wrote, of this kind.
    overwrite
        Whether any file may be replaced.
    """
    replaced = checks.flag("overwrite", overwrite, "True replaces a file, whatever it is.")
    file = checks.writable(path)
    check_ending(file, kind)
    if file.is_file() and file.stat().st_size and not (replaced or recognize(file)):
        raise InputError(
            f"Cannot write '{file}': it exists and is not {kind.words} that dtstat wrote. Give "
            "another name, or overwrite=True to replace it.",
            "path",
        )
    return file


def write(file: Path, content: bytes) -> None:
    """Write a file whole or not at all: what was there before stays if anything goes wrong.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    try:
        if file.exists() and not file.is_file():  # a pipe or a device
            file.write_bytes(content)
        else:
            _replace(Path(os.path.realpath(file)), content)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        why = error.strerror if isinstance(error, OSError) else None
        raise InputError(f"Cannot write '{file}': {why or error}.", "path") from None


def _replace(file: Path, content: bytes) -> None:
    part = file.with_name(f".{uuid.uuid4().hex}.part")
    try:
        part.write_bytes(content)
    except PermissionError:  # of the folder; the file itself may be open to us
        file.write_bytes(content)
        return
    except OSError:  # a full disk
        part.unlink(missing_ok=True)
        raise
    try:
        if file.exists():
            shutil.copymode(file, part)
        part.replace(file)
    except OSError:
        part.unlink(missing_ok=True)
        raise
