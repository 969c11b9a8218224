import dataclasses
import io
import json
import math
import zipfile
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core import saved as serialize
from dtstat.curves.network_model import NetworkModel
from dtstat.curves.response_model import ResponseModel
from dtstat.curves.result import NonlinearFit
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.model import Model

MODEL = "textual =~ x4 + a*x5 + x6; speed =~ x7 + x8 + x9"
NINE = dt.load_dataset("holzinger_swineford_9")
RATED = NINE.apply(lambda x: pd.cut(x, 3, labels=False) + 1)


def gaps():
    return NINE.mask(np.random.default_rng(1).random(NINE.shape) < 0.05)


def same(a, b):
    """Whether two values have the same types and contents, all the way down."""
    if type(a) is not type(b):
        return False
    if dataclasses.is_dataclass(a):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True)
    return a == b


@pytest.fixture
def file(tmp_path):
    return tmp_path / "fit.dtstat"


FITS = {
    "ml": lambda: dt.cfa(NINE, MODEL),
    "mlr": lambda: dt.cfa(NINE, MODEL, estimator="mlr"),
    "fiml": lambda: dt.cfa(gaps(), MODEL, missing="fiml"),
    "dwls": lambda: dt.cfa(RATED, MODEL, ordered=True),
    "sem": lambda: dt.sem(NINE, MODEL + "; speed ~ x1 + textual", mean_structure=True),
}


@pytest.mark.parametrize("kind", FITS)
def test_what_is_loaded_is_what_was_saved(kind, file):
    fit = FITS[kind]()
    fit.save(file)
    again = dt.load(file)
    assert same(again, fit)
    assert again.summary().to_text() == fit.summary().to_text()
    pd.testing.assert_frame_equal(again.parameters, fit.parameters)


def test_loaded_results_score(file):
    fit = dt.cfa(NINE, MODEL)
    fit.save(str(file))
    pd.testing.assert_frame_equal(dt.load(str(file)).factor_scores(NINE), fit.factor_scores(NINE))


def test_the_same_result_gives_the_same_bytes(file, tmp_path):
    dt.cfa(NINE, MODEL).save(file)
    dt.cfa(NINE, MODEL).save(tmp_path / "again")
    assert file.read_bytes() == (tmp_path / "again").read_bytes()


def test_the_name_of_the_file_is_kept(file):
    dt.cfa(NINE, MODEL).save(file)
    assert [path.name for path in file.parent.iterdir()] == ["fit.dtstat"]


def test_the_file_is_arrays_and_json(file):
    dt.cfa(NINE, MODEL).save(file)
    archive = zipfile.ZipFile(file)
    metadata = json.loads(archive.read("metadata.json"))
    assert (metadata["format"], metadata["format_version"]) == ("dtstat result", 1)
    assert metadata["result"]["$class"] == "CFAFit"
    assert {name.rpartition(".")[2] for name in archive.namelist()} == {"json", "npy"}
    with np.load(file, allow_pickle=False) as arrays:
        assert arrays["a0"].dtype == float


def test_arrays_cannot_be_changed(file):
    dt.cfa(NINE, MODEL).save(file)
    with pytest.raises(ValueError, match="read-only"):
        dt.load(file).estimate.theta[0] = 1.0


def rewrite(file, change):
    """Save a fit with changed metadata."""
    dt.cfa(NINE, MODEL).save(file)
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    metadata = json.loads(members["metadata.json"])
    change(metadata)
    members["metadata.json"] = json.dumps(metadata).encode()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def fields(metadata):
    return metadata["result"]["fields"]


CHANGES = {
    "future": (lambda m: m.update(format_version=2), "has format version 2, .* up to 1. Update"),
    "no version": (lambda m: m.pop("format_version"), "has format version None"),
    "foreign": (lambda m: m.update(format="other"), "was not saved by dtstat"),
    "unknown class": (lambda m: m["result"].update({"$class": "Popen"}), "is damaged"),
    "missing field": (lambda m: fields(m).pop("call"), "is damaged"),
    "new field": (lambda m: fields(m).update(more=1), "is damaged"),
    "missing array": (lambda m: fields(m).update(estimate={"$array": "a99"}), "is damaged"),
    "unknown mark": (lambda m: fields(m).update(warnings={"$call": []}), "is damaged"),
    "two marks": (lambda m: fields(m).update(warnings={"a": 1, "b": 2}), "is damaged"),
    "no result": (lambda m: m.pop("result"), "is damaged"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_changed_files_are_refused(case, file):
    change, message = CHANGES[case]
    rewrite(file, change)
    with pytest.raises(dt.InputError, match=message) as refused:
        dt.load(file)
    assert "fit.dtstat" in str(refused.value)
    assert "\n" not in str(refused.value)


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


@pytest.mark.parametrize("content", [b"", b"x,y\n1,2\n", npz(a0=np.ones(3)), b"PK\x03\x04broken"])
def test_foreign_files_are_refused(content, file):
    file.write_bytes(content)
    with pytest.raises(dt.InputError, match=r"was not saved by dtstat\. Give a file written by"):
        dt.load(file)


def test_pickled_arrays_are_not_read(file):
    rewrite(file, lambda m: fields(m).update(warnings={"$array": "a999"}))
    buffer = io.BytesIO()
    np.save(buffer, np.array([print], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("a999.npy", buffer.getvalue())
    with pytest.raises(dt.InputError, match="is damaged"):
        dt.load(file)


def test_a_cut_file_is_refused(file):
    dt.cfa(NINE, MODEL).save(file)
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(dt.InputError, match="was not saved by dtstat"):
        dt.load(file)


def test_a_file_with_changed_bytes_is_refused(file):
    """The archive's checksums notice what the text does not."""
    dt.cfa(NINE, MODEL).save(file)
    content = bytearray(file.read_bytes())
    content[60:90] = bytes(30)
    file.write_bytes(content)
    with pytest.raises(dt.InputError, match=r"is damaged|was not saved"):
        dt.load(file)


def test_files_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(dt.InputError, match=r"Cannot read '.*nowhere': No such file"):
        dt.load(tmp_path / "nowhere")
    fit = dt.cfa(NINE, MODEL)
    with pytest.raises(dt.InputError, match=r"Cannot write '.*fit': there is no folder"):
        fit.save(tmp_path / "nowhere" / "fit")
    with pytest.raises(dt.InputError, match=r"Cannot write '.*': it is a folder"):
        fit.save(tmp_path)


@dataclass(frozen=True)
class Anything:
    """One of each kind of value."""

    nothing: None
    numbers: tuple[float, ...]
    table: dict[str, list[int]]
    flags: np.ndarray
    scalars: tuple[object, ...]


def test_every_kind_of_value(file, monkeypatch):
    monkeypatch.setattr(serialize, "_CLASSES", {})
    serialize.register()(Anything)
    value = Anything(
        None, (1.5, math.inf, -math.inf), {"a": [1, 2], "$x": []}, np.array([[True], [False]]),
        (True, 3, "text", -0.0, ("nested", ())),
    )  # fmt: skip
    serialize.save(value, file)
    assert same(serialize.load(file), value)


def test_not_a_number_survives(file, monkeypatch):
    monkeypatch.setattr(serialize, "_CLASSES", {})
    serialize.register()(Anything)
    serialize.save(Anything(None, (math.nan,), {}, np.array([np.nan]), ()), file)
    again = serialize.load(file)
    assert math.isnan(again.numbers[0])
    assert np.isnan(again.flags).all()


def test_numpy_scalars_become_plain(file, monkeypatch):
    monkeypatch.setattr(serialize, "_CLASSES", {})
    serialize.register()(Anything)
    numbers = (np.float64(0.1), np.int64(3), np.bool_(True))
    serialize.save(Anything(None, (), {}, np.zeros(1), numbers), file)
    assert [type(x) for x in serialize.load(file).scalars] == [float, int, bool]


def test_what_is_not_registered_cannot_be_saved(file):
    with pytest.raises(TypeError, match="Anything is not registered"):
        serialize.save(Anything(None, (), {}, np.zeros(1), ()), file)
    assert not file.exists()


def test_registering(monkeypatch):
    monkeypatch.setattr(serialize, "_CLASSES", {})
    assert serialize.register()(Anything) is Anything
    serialize.register()(Anything)
    other = dataclasses.make_dataclass("Anything", ["x"])
    with pytest.raises(TypeError, match="two classes are called Anything"):
        serialize.register()(other)
    with pytest.raises(TypeError, match="int is no dataclass"):
        serialize.register()(int)


@pytest.mark.parametrize("cls", serialize._CHECKS, ids=lambda cls: cls.__name__)
def test_types_of_all_fields_are_known(cls):
    assert {field.name for field in dataclasses.fields(cls)} <= set(serialize._hints(cls))


def test_a_name_means_what_it_means_in_its_own_module():
    """Models of SEM and of curves are both called Model where they are used."""
    assert serialize._hints(NonlinearFit)["model"] == ResponseModel | NetworkModel
    assert serialize._hints(SEMEstimate)["model"] is Model


@pytest.mark.parametrize("path", [None, 3, b"fit.dtstat"])
def test_what_is_no_name_of_a_file_is_refused(path):
    with pytest.raises(dt.InputError, match=r"`path` must be the name of a file; got"):
        dt.load(path)
