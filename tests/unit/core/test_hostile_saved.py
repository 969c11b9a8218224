"""Saved results that were damaged or made to do harm: refused, in little memory."""

import dataclasses
import io
import json
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

import dtstat as dt
from dtstat.core import files as limits
from dtstat.core import saved as serialize
from dtstat.core.files import write_archive

NINE = dt.load_dataset("holzinger_swineford_9")
FIT = serialize.to_bytes(dt.fit(NINE))
MEGABYTES = 1024**2


def members():
    with zipfile.ZipFile(io.BytesIO(FIT)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(parts):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return buffer.getvalue()


def with_metadata(change):
    parts = members()
    metadata = json.loads(parts["metadata.json"])
    change(metadata["result"]["fields"])
    return packed(parts | {"metadata.json": json.dumps(metadata).encode()})


def with_array(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return packed(members() | {"a0.npy": buffer.getvalue()})


def claiming(shape, kind="<f8"):
    text = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(64)


def refused(content, match):
    """Refuse a file; return how many megabytes that took."""
    tracemalloc.start()
    try:
        with pytest.raises(dt.InputError, match=match):
            serialize.from_bytes(content, "a.dtstat")
        return tracemalloc.get_traced_memory()[1] / MEGABYTES
    finally:
        tracemalloc.stop()


def test_the_file_itself_is_taken():
    assert serialize.from_bytes(packed(members()), "a.dtstat").n_obs == 301


class TestSizes:
    def test_a_text_of_blanks(self):
        bomb = packed(members() | {"metadata.json": b" " * (100 * MEGABYTES)})
        assert refused(bomb, "too large to be a result") < 5

    def test_what_the_directory_claims(self):
        content = bytearray(FIT)
        place = FIT.rindex(b"PK\x01\x02")
        content[place + 24 : place + 28] = struct.pack("<I", 2**32 - 2)
        assert refused(bytes(content), "too large to be a result") < 5

    def test_what_the_directory_hides(self):
        """A member that says it is small and is not is unpacked no further than it says."""
        content = bytearray(packed(members() | {"metadata.json": b" " * (100 * MEGABYTES)}))
        place = bytes(content).rindex(b"PK\x01\x02")
        content[place + 24 : place + 28] = struct.pack("<I", 10)
        assert refused(bytes(content), "was not saved by dtstat") < 5

    @pytest.mark.parametrize("shape", [(10**12,), (2**40, 2**40), (2**62, 4)])
    def test_what_an_array_claims(self, shape):
        assert refused(packed(members() | {"a0.npy": claiming(shape)}), "longer or shorter") < 5

    def test_many_members(self, monkeypatch):
        monkeypatch.setattr("dtstat.core.files.MOST_MEMBERS", 5)
        refused(FIT, "members")

    def test_a_file_beyond_the_limit_is_not_read(self, tmp_path, monkeypatch):
        (tmp_path / "a.dtstat").write_bytes(FIT)
        monkeypatch.setattr(limits, "MOST_BYTES", 1_000)
        with pytest.raises(dt.InputError, match="1000 are allowed"):
            dt.load(tmp_path / "a.dtstat")

    def test_the_limit_is_far_from_what_results_need(self):
        """Noughts pack best of all; a real fit has numbers that hardly pack."""
        unpacked = sum(map(len, members().values()))
        assert unpacked < limits.allowed_bytes(len(FIT)) / 100


class TestMembers:
    @pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "a0.npy/../x", "b.npy", "a٣.npy"])
    def test_other_names(self, name):
        refused(packed(members() | {name: b"x"}), "was not saved by dtstat")

    def test_names_that_occur_twice(self):
        buffer = io.BytesIO(FIT)
        with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(buffer, "a") as archive:
            archive.writestr("a0.npy", b"x")
        refused(buffer.getvalue(), "was not saved by dtstat")

    @pytest.mark.parametrize("kind", ["c16", "U5", "M8[s]", [("a", "f8")], "O"])
    def test_arrays_of_anything_but_numbers(self, kind):
        refused(with_array(np.zeros(3, dtype=kind)), "is damaged")

    def test_arrays_of_another_version(self):
        parts = members()
        refused(
            packed(parts | {"a0.npy": b"\x93NUMPY\x03\x00" + parts["a0.npy"][8:]}), "is damaged"
        )

    def test_a_missing_array(self):
        parts = members()
        del parts["a0.npy"]
        refused(packed(parts), "is missing")


class TestText:
    @pytest.mark.parametrize("opening", ["[", '{"$tuple":', '{"$dict":[[1,'])
    @pytest.mark.parametrize("depth", [1_000, 100_000])
    def test_nesting_that_would_use_up_the_stack(self, opening, depth):
        closing = opening.translate(str.maketrans("[{", "]}", '"$tupledic:1,'))[::-1]
        text = f"{opening * depth}1{closing * depth}"
        whole = f'{{"format": "dtstat result", "format_version": 1, "result": {text}}}'
        refused(write_archive(whole, [], True), "damaged|was not saved")

    @pytest.mark.parametrize("version", [2, 0, -1, 10**30, None, "1", [1]])
    def test_other_versions(self, version):
        metadata = json.loads(members()["metadata.json"]) | {"format_version": version}
        content = packed(members() | {"metadata.json": json.dumps(metadata).encode()})
        refused(content, "has format version")

    @pytest.mark.parametrize("constant", ["NaN", "Infinity", "1" * 5_000])
    def test_numbers_that_json_does_not_have(self, constant):
        refused(write_archive(constant, [], True), "was not saved by dtstat")

    @pytest.mark.parametrize("value", [5, None, [], {"$tuple": []}, {"$float": "nan"}])
    def test_a_value_is_no_result(self, value):
        text = json.dumps({"format": "dtstat result", "format_version": 1, "result": value})
        refused(write_archive(text, [], True), "holds no result but a")


class TestFields:
    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("n_obs", "many", "n_obs is of another type"),
            ("n_obs", -1, "rows were counted"),
            ("notes", [1], "notes is of another type"),
            ("call", None, "call is of another type"),
            ("contenders", {"$tuple": []}, "a structure was chosen"),
            ("extra", 1, "has no field"),
            ("support", {"$array": "a0"}, "another (type|shape)"),
            ("attached", {"$class": "os.system", "fields": {}}, "KeyError"),
            ("given_names", {"$tuple": ["a"]}, "factors have names"),
        ],
    )
    def test_edited_fields(self, name, value, message):
        refused(with_metadata(lambda fields: fields.update({name: value})), message)

    def test_missing_fields(self):
        refused(with_metadata(lambda fields: fields.pop("estimate")), "missing 1 required")

    def test_shapes_that_do_not_go_together(self):
        def shorten(fields):
            names = fields["dependence"]["fields"]["names"]["$tuple"]
            names.pop()

        refused(with_metadata(shorten), r"DependenceMatrix.names has another shape")

    def test_names_that_occur_twice(self):
        def rename(fields):
            fields["dependence"]["fields"]["names"]["$tuple"][0] = "x2"

        refused(with_metadata(rename), "names are distinct")

    @pytest.mark.parametrize("cls", serialize._CHECKS, ids=lambda cls: cls.__name__)
    def test_every_array_has_a_shape(self, cls):
        shapes, hints = serialize._CHECKS[cls][0], serialize._hints(cls)
        saved = [f.name for f in dataclasses.fields(cls) if f.metadata.get("saved", True)]
        for name in saved:
            kind = str(hints[name])
            if "ndarray" in kind:
                assert (f"{name}[]" if kind.startswith("tuple") else name) in shapes

    @pytest.mark.parametrize("cls", serialize._CHECKS, ids=lambda cls: cls.__name__)
    def test_every_shape_is_of_a_field(self, cls):
        steps = {path.partition(".")[0].removesuffix("[]") for path in serialize._CHECKS[cls][0]}
        assert steps <= {field.name for field in dataclasses.fields(cls)}


def test_a_device_that_never_ends_is_not_read():
    with pytest.raises(dt.InputError, match="may have no end"):
        dt.load("/dev/zero")


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "x" * 5_000])
def test_names_no_file_can_have(path):
    with pytest.raises(dt.InputError, match="Cannot read"):
        dt.load(path)
    with pytest.raises(dt.InputError, match="Cannot write"):
        dt.fit(NINE).save(path)
