"""The zip archive a result is saved in: written the same on any day, read without trusting it.

A file may come from anywhere, so nothing in it is believed before it is checked:

- it holds ``metadata.json`` and arrays ``a0.npy``, ``a1.npy``, ... and no other member, none twice;
- what it unpacks to is checked before anything is unpacked: at most 4 GB, and at most 200 times
  its own size once that is beyond 64 MB (:mod:`dtstat.data.limits` has these numbers, and how to
  raise them). Nothing is ever written to disk, and no more is unpacked than a member says it has;
- arrays hold plain numbers and are as long as their headers say; objects (pickles) are refused.
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dtstat.data import limits

MOST_MEMBERS = 100_000

METADATA = "metadata.json"
_MEMBER = re.compile(r"a(0|[1-9][0-9]{0,6})\.npy")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same result gives the same bytes on any day
_ENCRYPTED = 0x1
_NUMBERS = "biuf"  # kinds of arrays: booleans and real numbers

ReadArray = Callable[[str], NDArray[Any]]


class DamagedError(ValueError):
    """The archive is none of dtstat's, or no longer whole."""


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


def check_size(n_bytes: int) -> None:
    """Refuse a file that is larger than anything it may hold."""
    if n_bytes > limits.MOST_BYTES:
        raise limits.TooLargeError(f"it has {n_bytes} bytes, and {limits.MOST_BYTES} are allowed")


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

    metadata = json.loads(unpack(METADATA), parse_constant=_no_constant)
    return metadata, lambda name: _array(unpack(f"{name}.npy"))


def _check_members(members: list[zipfile.ZipInfo], n_bytes: int) -> None:
    if len(members) > MOST_MEMBERS:
        raise limits.TooLargeError(f"it has {len(members)} members, and {MOST_MEMBERS} are allowed")
    names = [member.filename for member in members]
    if METADATA not in names or len(set(names)) != len(names):
        raise DamagedError("it has no metadata, or a member twice")
    for member in members:
        if member.filename != METADATA and not _MEMBER.fullmatch(member.filename):
            raise DamagedError("it has a member that dtstat does not write")
        plain = member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if not plain or member.flag_bits & _ENCRYPTED:
            raise DamagedError("it is encrypted, or packed in another way than dtstat does")
    limits.check_unpacked(n_bytes, sum(member.file_size for member in members))


def _array(content: bytes) -> NDArray[Any]:
    """Read an array, after checking that its header says what follows it."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise DamagedError("an array has an unknown version")
    header = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, by_columns, dtype = header(stream)
    if dtype.kind not in _NUMBERS or not all(type(n) is int and n >= 0 for n in shape):
        raise DamagedError("an array does not hold numbers")
    start = stream.tell()
    if math.prod(shape) * dtype.itemsize != len(content) - start:
        raise DamagedError("an array is longer or shorter than its header says")
    values = np.frombuffer(content, dtype, offset=start).reshape(
        shape, order="F" if by_columns else "C"
    )
    return values.copy(order="K")


def _no_constant(name: str) -> NoReturn:
    raise DamagedError(f"its metadata hold {name}")
