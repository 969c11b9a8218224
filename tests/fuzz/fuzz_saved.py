"""Saved results that were damaged or made to do harm: refused, in little time and memory."""

from __future__ import annotations

import functools
import io
import json
import struct
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_harness import attempt, entry, expect
from fuzz_results import TELLING, check_told
from hypothesis import strategies as st

import dtstat as dt

BAD_JSON: list[Any] = [
    *(None, True, -1, 0, 1e308, "", "text", [], {}, [[]], [1, 2], {"$array": "a0"}),
    *({"$array": "../../x"}, {"$array": "a99999"}, {"$array": 1}, {"$float": "nan"}),
    *({"$float": "x"}, {"$tuple": 1}, {"$tuple": []}, {"$dict": [[1]]}, {"$dict": [[[], 1]]}),
    *({"$class": "DTFit"}, {"$class": "os.system", "fields": {}}, {"$class": []}, {"$x": 1}),
    *({"$class": "Test", "fields": {"chisq": 1, "df": "x"}}, {"$array": "metadata"}, 10**30),
]


@functools.cache
def saved(kind: int) -> bytes:
    """Content of one of the files that dtstat writes."""
    rng = np.random.default_rng(7)
    answers = dt.load_dataset("holzinger_swineford_9")
    if kind == 0:
        return _bytes(dt.fit(answers))
    if kind == 1:
        return _bytes(dt.cfa(answers, "f =~ x1 + x2 + x3\ng =~ x4 + x5 + x6", missing="fiml"))
    if kind == 2:
        return _bytes(dt.diagnose(dt.fit(answers), answers, n_boot=3, seed=1))
    if kind == 3:
        return _bytes(dt.plan(n_factors=2, n_draws=2, most_rows=100, seed=1))
    if kind == 4:
        return _bytes(dt.stability(answers, 3, seed=1, sizes=(0.5,)))
    if kind == 5:
        return _bytes(dt.efa(answers, 2))
    values = rng.standard_normal((60, 3)) + rng.standard_normal((60, 1))
    structure = dt.Structure(np.ones((3, 1)))
    return _bytes(dt.fit(values, estimator="spline", structure=structure, seed=1))


def _bytes(result: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.dtstat"
        result.save(file)
        return file.read_bytes()


def members(content: bytes) -> dict[str, bytes]:
    """What an archive holds."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(parts: dict[str, bytes], **options: Any) -> bytes:
    """An archive of these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", options.get("compression", zipfile.ZIP_DEFLATED)) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return buffer.getvalue()


# --- ways to go wrong ---


def cut(draw: Any, content: bytes) -> bytes:
    """Cut off at any byte."""
    return content[: draw(st.integers(0, len(content) - 1))]


def flipped(draw: Any, content: bytes) -> bytes:
    """A few bits are others."""
    changed = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        changed[draw(st.integers(0, len(content) - 1))] ^= 1 << draw(st.integers(0, 7))
    return bytes(changed)


def edited(draw: Any, content: bytes) -> bytes:
    """One place of the JSON text is something else, or missing."""
    parts = members(content)
    metadata = json.loads(parts["metadata.json"])
    places = list(_places(metadata))
    holder, key = draw(st.sampled_from(places))
    if isinstance(holder, dict) and draw(st.booleans()):
        if draw(st.booleans()):
            del holder[key]
        else:
            holder[f"{key}x"] = holder.pop(key)
    else:
        holder[key] = draw(st.sampled_from(BAD_JSON))
    parts["metadata.json"] = json.dumps(metadata).encode()
    return packed(parts)


def _places(value: Any) -> Any:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in list(inner):
        yield value, key
        if isinstance(one, dict | list):
            yield from _places(one)


def other_array(draw: Any, content: bytes) -> bytes:
    """One array is of another shape or type, or claims what it does not hold."""
    parts = members(content)
    name = draw(st.sampled_from([n for n in parts if n.endswith(".npy")]))
    array = np.load(io.BytesIO(parts[name]))
    with np.errstate(invalid="ignore"):  # NaN as a whole number
        whole = array.astype("i8")
    others = [
        *(array.T, array.ravel(), array[:0], array[None], array.astype("f4"), whole),
        *(array.astype("c16"), array.astype("U5"), array.astype(">f8"), array * np.nan),
        *(np.zeros((2, 2)), np.array(1.0), array.astype(bool), np.array([{}], dtype=object)),
        np.zeros(3, dtype=[("a", "f8")]),
    ]
    buffer = io.BytesIO()
    np.save(buffer, draw(st.sampled_from(others)), allow_pickle=True)
    claims = [buffer.getvalue(), _claims((10**12,)), _claims((2**40, 2**40)), _claims((-1,))]
    claims += [b"", b"\x93NUMPY", parts[name][:-8], parts[name] + bytes(8), _claims((1,), "|O")]
    claims += [b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31) + b" " * 64]
    parts[name] = draw(st.sampled_from([*claims, *[buffer.getvalue()] * 8]))
    return packed(parts)


def _claims(shape: tuple[int, ...], kind: str = "<f8") -> bytes:
    text = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    text = text.ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(64)


def future(draw: Any, content: bytes) -> bytes:
    """Another version of the format, or another format."""
    parts = members(content)
    metadata = json.loads(parts["metadata.json"])
    key = draw(st.sampled_from(["format_version", "format"]))
    metadata[key] = draw(st.sampled_from([2, 10**30, -1, 0, None, "1", 1.5, [1], True, "dtstat"]))
    if key == "format_version" and metadata[key] is True:
        metadata[key] = 99
    parts["metadata.json"] = json.dumps(metadata).encode()
    return packed(parts)


def deep(draw: Any, content: bytes) -> bytes:
    """JSON nested so deeply that a reader would run out of stack."""
    parts = members(content)
    depth = draw(st.sampled_from([900, 5_000, 100_000]))
    opening, closing = draw(
        st.sampled_from([("[", "]"), ('{"$tuple":', "}"), ('{"$dict":[[1,', "]]}")])
    )
    text = f"{opening * depth}1{closing * depth}"
    whole = f'{{"format": "dtstat result", "format_version": 1, "result": {text}}}'
    parts["metadata.json"] = whole.encode()
    return packed(parts)


def bomb(draw: Any, content: bytes) -> bytes:
    """A small file that unpacks to much, or says so, or has very many members."""
    parts = members(content)
    kind = draw(st.integers(0, 3))
    if kind == 0:
        parts["metadata.json"] = b" " * 150_000_000 + parts["metadata.json"]
    if kind == 1:
        parts |= {f"a{k}.npy": b"" for k in range(1000, 1000 + 3_000)}
    if kind == 2:
        parts["a0.npy"] = parts["a0.npy"] + bytes(150_000_000)
    whole = packed(parts)
    return _lying(whole) if kind == 3 else whole


def _lying(content: bytes) -> bytes:
    """The directory says that the last member has other sizes than it has."""
    changed = bytearray(content)
    place = content.rindex(b"PK\x01\x02")
    changed[place + 24 : place + 28] = struct.pack("<I", 2**32 - 2)
    return bytes(changed)


def tricks(draw: Any, content: bytes) -> bytes:
    """Members with names that lead elsewhere, or twice."""
    buffer = io.BytesIO(content)
    names = [
        "../../x",
        "/etc/passwd",
        "C:\\x",
        "a0.npy/..",
        "metadata.json",
        "a0.npy",
        "a٣.npy",
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile warns of names that occur twice
        with zipfile.ZipFile(buffer, "a") as archive:
            archive.writestr(draw(st.sampled_from(names)), b"x")
    return buffer.getvalue()


def other_packing(draw: Any, content: bytes) -> bytes:
    """Packed by another method, or encrypted."""
    parts = members(content)
    if draw(st.booleans()):
        return packed(
            parts, compression=draw(st.sampled_from([zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]))
        )
    changed = bytearray(packed(parts))
    place = bytes(changed).index(b"PK\x01\x02")
    changed[place + 8] |= 1
    return bytes(changed)


WAYS: list[Callable[[Any, bytes], bytes]] = [
    *(cut, flipped, edited, edited, edited, other_array, other_array, future),
    *(deep, bomb, tricks, other_packing),
]
ALWAYS_REFUSED = {cut, future, deep, tricks, other_packing}


@entry("load of damaged files", 4.0)
def damaged(draw: Any) -> None:
    """A damaged file is refused; if it happens to be whole, the result can be used."""
    way = draw(st.sampled_from(WAYS))
    content = way(draw, saved(draw(st.integers(0, 6))))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.dtstat"
        file.write_bytes(content)
        result = attempt("load", dt.load, file)
    expect(result is None or way not in ALWAYS_REFUSED, f"load: took a file by {way.__name__}")
    if result is not None:
        use(result)


def use(result: Any) -> None:
    """Call what can be called without arguments; only DTErrors may come."""
    attempt("repr of loaded", repr, result)
    for name in TELLING:
        method = attempt(f"loaded {type(result).__name__}.{name}", getattr, result, name, None)
        if callable(method):
            check_told(name, attempt(f"loaded {type(result).__name__}.{name}", method))
