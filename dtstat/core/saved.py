"""Results as files: one zip archive with arrays (npy) and a JSON text, never pickle.

    metadata.json   {"format": "dtstat result", "format_version": 1, "result": ...}
    a0.npy, ...     the arrays that the JSON text refers to

A file may come from anywhere. Only classes decorated with :func:`register` can be built from one;
what an archive may unpack to is limited (:mod:`dtstat.core.files`); fields are checked for their
declared types before an object is made of them, and objects for shapes that go together and for
rules of their own. A result that passes can be asked anything; what does not pass is refused when
it is loaded, not when one of its methods stumbles over it.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import stat
import sys
import types
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from dtstat.core import checks, files
from dtstat.core.errors import DTError, InputError, shown, silenced
from dtstat.core.files import METADATA, FileKind, ReadArray, TooLargeError

FORMAT = "dtstat result"
FORMAT_VERSION = 1
SAVED = FileKind("a saved result", (".dtstat", ".zip"), "For a table use tidy().to_csv(path).")

Rule = Callable[[Any], bool]

_CLASSES: dict[str, type[Any]] = {}
_CHECKS: dict[type[Any], tuple[Mapping[str, str], Mapping[str, Rule]]] = {}
_KINDS = {np.float64: "f", np.int64: "i", np.bool_: "b"}  # of arrays, by type of number
_Class = TypeVar("_Class", bound=type[Any])


def register(
    *,
    shapes: Mapping[str, str] | None = None,
    rules: Mapping[str, Rule] | None = None,
    formerly: str | None = None,
) -> Callable[[_Class], _Class]:
    """Decorate a dataclass so that it can be saved and loaded, under its own name.

    Parameters
    ----------
    shapes
        Sizes of fields: a letter is a size that is the same wherever it stands, a digit is itself,
        * is any. Dots lead into parts, [] to every entry of a tuple; None is skipped. So
        ``{"loadings": "pd", "names": "p", "rounds[].support": "p*"}``.
    rules
        What else must hold of a loaded object, by what messages say when it does not.
    formerly
        Name of the class in files of earlier versions.
    """

    def decorate(cls: _Class) -> _Class:
        if not dataclasses.is_dataclass(cls):
            raise TypeError(f"{cls.__name__} is no dataclass")
        if _CLASSES.setdefault(cls.__name__, cls) is not cls:
            raise TypeError(f"two classes are called {cls.__name__}")
        if formerly is not None:
            _CLASSES[formerly] = cls
        _CHECKS[cls] = (shapes or {}, rules or {})
        return cls

    return decorate


def distinct(names: tuple[str, ...], count: int) -> bool:
    """Whether names are so many, and each of them another."""
    return len(set(names)) == len(names) == count


def to_bytes(result: object, compressed: bool = True) -> bytes:
    """Return the content of the file that a result is saved to."""
    arrays: list[NDArray[Any]] = []
    metadata = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "result": _encode(result, arrays),
    }
    return files.write_archive(json.dumps(metadata, allow_nan=False), arrays, compressed)


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


class Saved:
    """A result that can be written to a file."""

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write the result to a file that :func:`dtstat.load` reads, such as "name.dtstat".

        A result saved there before is replaced; any other file only with ``overwrite=True``.
        """
        save(self, path, overwrite)


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
            raise ValueError("it is not a file but a device or a pipe, which may have no end")
        files.check_size(about.st_size)
        content = Path(path).read_bytes()
    except TooLargeError as error:
        raise _too_large(name, error) from None
    except (OSError, ValueError) as error:
        why = (isinstance(error, OSError) and error.strerror) or error
        raise InputError(f"Cannot read {shown(name)}: {why}.", "path") from None
    result = from_bytes(content, name)
    if isinstance(result, Saved):
        _rehearse(result, name)
    return result


def _rehearse(result: Any, name: str) -> None:
    """Refuse a result that cannot be summarized: its parts are of their types, but do not agree."""
    try:
        with silenced():
            str(result.summary())
    except DTError:  # an answer too
        return
    except Exception as error:  # whatever a method stumbles over
        raise _damaged(name, error) from None


def _damaged(name: str, error: Exception) -> InputError:
    return InputError(
        f"{shown(name)} is damaged, or was saved by another version of dtstat "
        f"({type(error).__name__}: {error}). Fit the model again.",
        "path",
    )


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
        raise _damaged(name, error) from None
    if _CLASSES.get(type(result).__name__) is not type(result):
        raise InputError(
            f"{shown(name)} holds no result but a {type(result).__name__}. Give a file written by "
            "a result's save().",
            "path",
        )
    return result


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
        metadata, unpack = files.read_archive(content)
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
    name = type(value).__name__
    if _CLASSES.get(name) is not type(value):
        raise TypeError(f"{name} is not registered to be saved")
    fields = dataclasses.fields(value)  # type: ignore[arg-type]
    encoded = {
        f.name: _encode(getattr(value, f.name), arrays)
        for f in fields
        if f.metadata.get("saved", True)
    }
    return {"$class": name, "fields": encoded}


def _decode(value: Any, read: ReadArray) -> Any:
    if isinstance(value, list):
        return [_decode(entry, read) for entry in value]
    if isinstance(value, str):
        value.encode()  # refuses lone surrogates, which no table, page or file can hold
    if not isinstance(value, dict):
        return value
    if "$class" in value:
        cls = _CLASSES[value["$class"]]
        given = {name: _decode(entry, read) for name, entry in value["fields"].items()}
        _check_types(cls, given)
        result = cls(**given)
        _check_shapes(result)
        return result
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


def _check_types(cls: Any, given: Mapping[str, Any]) -> None:
    """Refuse fields of a class whose values are not of their declared types."""
    hints = _hints(cls)
    known = {field.name for field in dataclasses.fields(cls)}
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"{cls.__name__} has no field of one of the names")
        if not _fits(value, hints[name]):
            raise ValueError(f"{cls.__name__}.{name} is of another type")


def _check_shapes(part: Any) -> None:
    """Refuse an object whose arrays and names are not as long as they must be together."""
    name = type(part).__name__
    shapes, rules = _CHECKS[type(part)]
    sizes: dict[str, int] = {}

    def agrees(letter: str, size: int) -> bool:
        if letter == "*":
            return True
        return size == (int(letter) if letter.isdigit() else sizes.setdefault(letter, size))

    for path, letters in shapes.items():
        for value in _follow(part, path):
            shape = np.shape(value) if isinstance(value, np.ndarray) else (len(value),)
            if len(shape) != len(letters) or not all(map(agrees, letters, shape)):
                raise ValueError(f"{name}.{path} has another shape")
    for rule, holds in rules.items():
        if not holds(part):
            raise ValueError(f"{name}: {rule}")


def _follow(part: Any, path: str) -> Iterator[Any]:
    """Yield the values at the end of a path of fields; those that are None are left out."""
    if part is None:
        return
    if not path:
        yield part
        return
    step, _, rest = path.partition(".")
    value = getattr(part, step.removesuffix("[]"))
    for one in (value or ()) if step.endswith("[]") else (value,):
        yield from _follow(one, rest)


@cache
def _hints(cls: Any) -> dict[str, Any]:
    names: dict[str, Any] = dict(_CLASSES)  # some are imported for types only, in their modules
    for base in reversed(cls.__mro__):
        names |= vars(sys.modules[base.__module__])  # where a name may mean something else
    return get_type_hints(cls, localns=names)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value read from a file is of a type, as far as results use types."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in get_args(hint))
    if origin is Literal:
        return value in get_args(hint)
    if origin is np.ndarray:
        (number,) = get_args(get_args(hint)[1])
        return isinstance(value, np.ndarray) and value.dtype.kind == _KINDS[number]
    if origin in (tuple, list, dict):
        return isinstance(value, origin) and _entries_fit(value, get_args(hint))
    if hint is float:
        return isinstance(value, float | int) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return value is None if hint is types.NoneType else isinstance(value, hint)


def _entries_fit(value: Any, hints: tuple[Any, ...]) -> bool:
    if isinstance(value, dict):
        return all(_fits(k, hints[0]) and _fits(v, hints[1]) for k, v in value.items())
    if hints[-1] is Ellipsis or isinstance(value, list):
        return all(_fits(one, hints[0]) for one in value)
    return len(value) == len(hints) and all(map(_fits, value, hints))
