"""Files that dtstat writes and reads: written whole or not at all, read without being trusted.

A script that is run again overwrites what it wrote before, so a file that is recognized by its
content as one of dtstat's, of the same kind, may be replaced. Any other file stays unless the user
says ``overwrite=True`` (``--force`` in the shell, which recognizes nothing), and no file gets a
name that promises another format.

Results are kept in zip archives, which are written the same on any day. An archive may come from
anywhere, so nothing in it is believed before it is checked:

- it holds ``metadata.json`` and arrays ``a0.npy``, ``a1.npy``, ... and no other member, none twice;
- what it unpacks to is checked before anything is unpacked, as for any packed file: at most
  ``MOST_BYTES`` (4 GB), and at most ``MOST_RATIO`` (200) times its own size once that is beyond
  ``FREE_BYTES`` (64 MB). Honest tables and results stay far below; set these in
  ``dtstat.core.files`` to read something larger. Nothing is ever written to disk, and no
  more is unpacked than a member says it has;
- arrays hold plain numbers and are as long as their headers say; objects (pickles) are refused.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import shutil
import uuid
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from dtstat.core import checks
from dtstat.core.errors import InputError

MOST_BYTES = 4 * 1024**3
MOST_RATIO = 200
FREE_BYTES = 64 * 1024**2
MOST_MEMBERS = 100_000

METADATA = "metadata.json"
_MEMBER = re.compile(r"a(0|[1-9][0-9]{0,6})\.npy")
_EPOCH = (1980, 1, 1, 0, 0, 0)
_ENCRYPTED = 0x1
_NUMBERS = "biuf"  # kinds of arrays: booleans and real numbers
# Endings that name a format. Others, as in "answers.v2", name none and may be chosen freely.
_FORMATS = re.compile(
    r"\.(csv|tsv|txt|json|xml|yaml|md|tex|html|htm|docx?|odt|rtf|pdf|xlsx?|ods|pptx?|png|jpe?g|gif"
    r"|svg|tiff?|eps|ps|zip|gz|z?sav|dta|rds|rda|rdata|parquet|feather|npy|npz|pkl|pickle|py|r|rmd"
    r"|qmd|ipynb|dtstat)",
    re.IGNORECASE,
)


ReadArray = Callable[[str], NDArray[Any]]


class DamagedError(ValueError):
    """The archive is none of dtstat's, or no longer whole."""


class TooLargeError(ValueError):
    """A file would unpack to more than is allowed."""


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


def target(
    path: str | os.PathLike[str],
    kind: FileKind,
    recognize: Callable[[Path], bool],
    overwrite: bool,
) -> Path:
    """Return the file to write, after all that can be refused before any work is done.

    ``recognize`` says whether a file that exists is one that dtstat wrote, of this kind; with
    ``overwrite`` any file may be replaced.
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
        if file.exists():
            shutil.copymode(file, part)
        part.replace(file)
    except BaseException as error:  # a full disk, or Ctrl-C
        part.unlink(missing_ok=True)
        if not (isinstance(error, PermissionError) and os.access(file, os.W_OK)):
            raise
        _rewrite(file, content)  # the folder is closed to us, the file itself is open


def _rewrite(file: Path, content: bytes) -> None:
    """Write into a file that cannot be replaced; put back what was there if that fails."""
    before = file.read_bytes()
    try:
        file.write_bytes(content)
    except BaseException:
        file.write_bytes(before)
        raise


def write_archive(text: str, arrays: list[NDArray[Any]], compressed: bool) -> bytes:
    """Return an archive of a JSON text and the arrays it refers to as a0, a1, ..."""
    buffer = io.BytesIO()
    how = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(buffer, "w") as archive:
        for k, array in enumerate(arrays):
            written = io.BytesIO()
            np.lib.format.write_array(written, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"a{k}.npy", _EPOCH), written.getbuffer(), how)
        archive.writestr(zipfile.ZipInfo(METADATA, _EPOCH), text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def read_archive(content: bytes) -> tuple[Any, ReadArray]:
    """Return the JSON value of an archive, and a function that reads its arrays by name.

    Raises
    ------
    DamagedError, TooLargeError
        Before anything is unpacked where that can be; or another error of the libraries that
        read zip and JSON, which the caller takes for damage.
    """
    check_size(len(content))
    archive = zipfile.ZipFile(io.BytesIO(content))
    members = archive.infolist()
    _check_members(members, len(content))
    named = {member.filename: member for member in members}

    def unpack(name: str) -> bytes:
        if name not in named:
            raise DamagedError(f"{name} is missing")
        with archive.open(named[name]) as stream:
            # A size: without one zipfile unpacks all there is, whatever the member says it has.
            return stream.read(named[name].file_size + 1)

    def refuse(constant: str) -> NoReturn:
        raise DamagedError(f"its metadata hold {constant}")

    metadata = json.loads(unpack(METADATA), parse_constant=refuse)
    return metadata, lambda name: _read_array(unpack(f"{name}.npy"))


def _check_members(members: list[zipfile.ZipInfo], n_bytes: int) -> None:
    if len(members) > MOST_MEMBERS:
        raise TooLargeError(f"it has {len(members)} members, and {MOST_MEMBERS} are allowed")
    names = [member.filename for member in members]
    if METADATA not in names or len(set(names)) != len(names):
        raise DamagedError("it has no metadata, or a member twice")
    for member in members:
        if member.filename != METADATA and not _MEMBER.fullmatch(member.filename):
            raise DamagedError("it has a member that dtstat does not write")
        plain = member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if not plain or member.flag_bits & _ENCRYPTED:
            raise DamagedError("it is encrypted, or packed in another way than dtstat does")
    check_unpacked(n_bytes, sum(member.file_size for member in members))


def _read_array(content: bytes) -> NDArray[Any]:
    """Read an array, after checking that its header says what follows it."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise DamagedError("an array has an unknown version")
    form = np.lib.format
    read_header = form.read_array_header_1_0 if version == (1, 0) else form.read_array_header_2_0
    shape, by_columns, dtype = read_header(stream)
    if dtype.kind not in _NUMBERS or not all(type(n) is int and n >= 0 for n in shape):
        raise DamagedError("an array does not hold numbers")
    start = stream.tell()
    if math.prod(shape) * dtype.itemsize != len(content) - start:
        raise DamagedError("an array is longer or shorter than its header says")
    values = np.frombuffer(content, dtype, offset=start).reshape(
        shape, order="F" if by_columns else "C"
    )
    return values.copy(order="K")


def check_size(n_bytes: int) -> None:
    """Refuse a file that is larger than anything it may hold."""
    if n_bytes > MOST_BYTES:
        raise TooLargeError(f"it has {n_bytes} bytes, and {MOST_BYTES} are allowed")


def allowed_bytes(n_bytes: int) -> int:
    """Return how many bytes a file of this size may unpack to."""
    return min(MOST_BYTES, max(FREE_BYTES, MOST_RATIO * n_bytes))


def check_unpacked(n_bytes: int, unpacked: int) -> None:
    """Refuse a file that unpacks to more than is allowed."""
    allowed = allowed_bytes(n_bytes)
    if unpacked > allowed:
        limit = "MOST_BYTES" if allowed == MOST_BYTES else "FREE_BYTES"
        raise TooLargeError(
            f"{n_bytes} bytes unpack to {unpacked} or more, and {allowed} are allowed; raise "
            f"dtstat.core.files.{limit} if that is right"
        )
