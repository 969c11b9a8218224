"""Results as files: one zip archive with arrays (npy) and a JSON text, never pickle.

    metadata.json   {"format": "dtstat result", "format_version": 1, "result": ...}
    a0.npy, ...     the arrays that the JSON text refers to

A class takes part after ``register(class)``; it must be a dataclass whose constructor takes its
fields by name. Nothing else can be built from a file, so that a foreign one can do no harm: what
an archive may unpack to is limited (:mod:`dtstat.results.archive`), and fields are checked before
an object is made of them (:mod:`dtstat.results.conform`).
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import stat
import zipfile
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dtstat import checks, files
from dtstat.data.limits import TooLargeError
from dtstat.errors import InputError, shown
from dtstat.results.archive import (
    METADATA,
    ReadArray,
    check_size,
    read_archive,
    write_archive,
)
from dtstat.results.conform import check_shapes, check_types

FORMAT = "dtstat result"
FORMAT_VERSION = 1

_CLASSES: dict[str, type[Any]] = {}
_Class = TypeVar("_Class", bound=type[Any])


def register(cls: _Class) -> _Class:
    """Let a dataclass be saved and loaded, under its own name; usable as a decorator."""
    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"{cls.__name__} is no dataclass")
    if _CLASSES.setdefault(cls.__name__, cls) is not cls:
        raise TypeError(f"two classes are called {cls.__name__}")
    return cls


def to_bytes(result: object, compressed: bool = True) -> bytes:
    """Return the content of the file that a result is saved to."""
    arrays: list[NDArray[Any]] = []
    metadata = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "result": _encode(result, arrays),
    }
    return write_archive(json.dumps(metadata, allow_nan=False), arrays, compressed)


SAVED = files.FileKind(
    "a saved result", (".dtstat", ".zip"), "For a table use tidy().to_csv(path)."
)


def save(result: object, path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write a result to a file, whole or not at all.

    Raises
    ------
    InputError
        If the file cannot be written, its ending names another format, or it exists and is no
        saved result.
    """
    file = files.target(path, SAVED, is_saved, overwrite)
    files.write(file, to_bytes(result))


def is_saved(file: Path) -> bool:
    """Whether a file is a result that dtstat saved, of any version."""
    try:
        with zipfile.ZipFile(file) as archive, archive.open(METADATA) as stream:
            return stream.read(100).startswith(f'{{"format": "{FORMAT}"'.encode())
    except (OSError, ValueError, KeyError, RuntimeError, NotImplementedError, zipfile.BadZipFile):
        return False


def load(path: str | os.PathLike[str]) -> Any:
    """Read a result that was saved with its ``save`` method.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    The result, equal to the one that was saved.

    Raises
    ------
    InputError
        If there is no such file, it was not saved by dtstat, or by a newer version of it.

    Examples
    --------
    >>> import dtstat as dt, os, tempfile
    >>> fit = dt.cfa(dt.load_dataset("holzinger_swineford_9"), "speed =~ x7 + x8 + x9")
    >>> file = os.path.join(tempfile.mkdtemp(), "speed.dtstat")
    >>> fit.save(file)
    >>> dt.load(file).n_obs
    301
    """
    if not isinstance(path, str | os.PathLike):
        raise checks.refusal("path", "the name of a file", path, "See the method save().")
    name = os.fspath(path)
    try:
        about = Path(path).stat()
        if not (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)):
            raise ValueError("it is no file but a device or a pipe, which may never end")
        check_size(about.st_size)
        content = Path(path).read_bytes()
    except TooLargeError as error:
        raise _too_large(name, error) from None
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot read {shown(name)}: {_reason(error)}.", "path") from None
    return from_bytes(content, name)


def from_bytes(content: bytes, name: str) -> Any:
    """Read a result from the content of a file; ``name`` is what messages call that."""
    metadata, read = _open(content, name)
    version = metadata.get("format_version")
    if not isinstance(version, int) or not 1 <= version <= FORMAT_VERSION:
        raise InputError(
            f"{shown(name)} has format version {shown(version)}, this dtstat reads versions up to "
            f"{FORMAT_VERSION}. Update dtstat to read it.",
            "path",
        )
    try:
        result = _decode(metadata["result"], read)
    except Exception as error:  # whatever a class says to what it cannot be made of
        raise InputError(
            f"{shown(name)} is damaged, or was saved by another version of dtstat "
            f"({type(error).__name__}: {error}). Fit the model again.",
            "path",
        ) from None
    if _CLASSES.get(type(result).__name__) is not type(result):
        raise InputError(
            f"{shown(name)} holds no result but a {type(result).__name__}. Give a file written by "
            "a result's save().",
            "path",
        )
    return result


def _reason(error: OSError | ValueError) -> str:
    return str(error.strerror or error) if isinstance(error, OSError) else str(error)


def _too_large(name: str, error: TooLargeError) -> InputError:
    return InputError(
        f"{shown(name)} is too large to be a result: {error}. Do not open it unless it is yours.",
        "path",
    )


def _open(content: bytes, name: str) -> tuple[dict[str, Any], ReadArray]:
    """Metadata of an archive, and a function that reads its arrays."""
    foreign = InputError(
        f"{shown(name)} was not saved by dtstat. Give a file written by a result's save().", "path"
    )
    try:
        metadata, unpack = read_archive(content)
    except TooLargeError as error:
        raise _too_large(name, error) from None
    except Exception:  # of zipfile, zlib or json: each has several for a damaged file
        raise foreign from None
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        raise foreign

    def read(array_name: str) -> NDArray[Any]:
        array = unpack(array_name)
        array.setflags(write=False)
        return array

    return metadata, read


def _encode(value: object, arrays: list[NDArray[Any]]) -> Any:
    """Turn a value into JSON; arrays go aside, everything JSON lacks into a marked object."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"$array": f"a{len(arrays) - 1}"}
    if isinstance(value, tuple):
        return {"$tuple": [_encode(entry, arrays) for entry in value]}
    if isinstance(value, list):
        return [_encode(entry, arrays) for entry in value]
    if isinstance(value, dict):
        return {"$dict": [[_encode(k, arrays), _encode(v, arrays)] for k, v in value.items()]}
    return _encode_object(value, arrays)


def _encode_object(value: object, arrays: list[NDArray[Any]]) -> dict[str, Any]:
    name = type(value).__name__
    if _CLASSES.get(name) is not type(value):
        raise TypeError(f"{name} is not registered to be saved")
    fields = dataclasses.fields(value)  # type: ignore[arg-type]
    return {
        "$class": name,
        "fields": {f.name: _encode(getattr(value, f.name), arrays) for f in fields},
    }


def _decode(value: Any, read: ReadArray) -> Any:
    if isinstance(value, list):
        return [_decode(entry, read) for entry in value]
    if not isinstance(value, dict):
        return value
    if "$class" in value:
        cls = _CLASSES[value["$class"]]
        given = {name: _decode(entry, read) for name, entry in value["fields"].items()}
        check_types(cls, given)
        made = cls(**given)
        check_shapes(made)
        return made
    ((mark, inner),) = value.items()
    if mark == "$array":
        return read(inner)
    if mark == "$float":
        return float(inner)
    decoded = _decode(inner, read)
    if mark == "$tuple":
        return tuple(decoded)
    if mark == "$dict":
        return dict(decoded)
    raise ValueError(f"unknown mark {mark}")
