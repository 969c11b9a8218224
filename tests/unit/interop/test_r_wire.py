"""What crosses to R: tested as R would see it, without R."""

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.interop.wire import NA_INTEGER, RArray, decode, encode, matrix, vector


def plain(value):
    """Only what reticulate passes on unchanged."""
    if isinstance(value, dict):
        return all(isinstance(k, str) and plain(v) for k, v in value.items())
    if isinstance(value, list):
        return all(map(plain, value))
    return value is None or type(value) in (bool, int, float, str, bytearray)


def there_and_back(value):
    wire = encode(value)
    assert plain(wire)
    return decode(wire)


@pytest.mark.parametrize("value", [True, False, 3, -7, 2**31 - 1, 2.5, float("inf"), "a", "", "漢"])
def test_scalars(value):
    back = there_and_back(value)
    assert back.plain() == value
    assert type(back.plain()) is type(value)


def test_whole_numbers_beyond_integers_of_r():
    assert there_and_back(2**40).kind == "numeric"
    assert there_and_back(2**53).plain() == 2**53
    assert there_and_back(2**60).plain() == str(2**60)
    assert there_and_back(-(2**31)).kind == "numeric"  # would be NA


@pytest.mark.parametrize("shape", [(0,), (3,), (2, 3), (0, 4), (2, 1)])
@pytest.mark.parametrize("kind", [float, np.int32, bool])
def test_arrays_keep_shape_and_kind(shape, kind):
    values = np.arange(int(np.prod(shape))).reshape(shape).astype(kind)
    array = there_and_back(values)
    back = RArray(array.kind, array.values, array.dim, many=True).plain()
    assert back.dtype == kind
    np.testing.assert_array_equal(back, values)


def test_matrices_are_stored_by_columns():
    wire = encode(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert np.frombuffer(bytes(wire["data"])).tolist() == [1.0, 3.0, 2.0, 4.0]


def test_missing_integers_and_truths_are_not_answers():
    for kind in ("integer", "logical"):
        array = RArray(kind, np.array([1, NA_INTEGER, 0], dtype=np.int32))
        back = there_and_back(array)
        assert back.values.tolist() == [1, NA_INTEGER, 0]
        np.testing.assert_array_equal(back.plain(), [1.0, np.nan, 0.0])
        assert RArray(kind, np.array([NA_INTEGER], dtype=np.int32)).plain() is None


def test_frames():
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None, 3], dtype="Int32"),
            "truth": pd.array([True, None, False], dtype="boolean"),
            "number": [1.5, np.nan, np.inf],
            "text": ["a", None, "NA"],
            "odd name": pd.Categorical(["x", None, "y"], categories=["y", "x", "z"], ordered=True),
        }
    )
    back = there_and_back(frame)
    assert list(back) == list(frame)
    assert back["whole"].isna().tolist() == [False, True, False]
    assert back["truth"].dtype == "boolean"
    assert back["text"].isna().tolist() == [False, True, False]
    assert back["text"][2] == "NA"
    assert back["odd name"].cat.categories.tolist() == ["y", "x", "z"]
    assert back["odd name"].cat.ordered
    np.testing.assert_array_equal(back["number"], frame["number"])


def test_frames_without_rows_or_columns():
    assert there_and_back(pd.DataFrame()).shape == (0, 0)
    assert there_and_back(pd.DataFrame({"a": []})).shape == (0, 1)
    assert there_and_back(pd.DataFrame(index=range(3))).shape == (3, 0)


def test_names_of_rows_cross_if_they_are_names():
    frame = pd.DataFrame({"a": [1.0]}, index=["row"])
    assert there_and_back(frame).index.tolist() == ["row"]
    assert encode(pd.DataFrame({"a": [1.0]}))["rows"] is None


def test_lists_and_names():
    back = there_and_back({"a": [1, "b"], "c": None, "d": {"e": 2.0}})
    assert back["a"][1].plain() == "b"
    assert back["c"] is None
    assert back["d"]["e"].plain() == 2.0
    assert there_and_back(["a", "b"]).plain() == ["a", "b"]
    assert there_and_back([True, False]).kind == "logical"
    assert there_and_back(b"\x00\xff") == b"\x00\xff"


def test_matrices_and_vectors_with_names():
    frame = pd.DataFrame([[1.0, 2.0]], index=["r"], columns=["a", "b"])
    pd.testing.assert_frame_equal(there_and_back(matrix(frame)).plain(), frame)
    assert there_and_back(vector(pd.Series({"x": 1.0, "y": 2.0}))).names == ["x", "y"]


def test_what_cannot_cross():
    with pytest.raises(TypeError, match="object does not cross"):
        encode(object())
    with pytest.raises(dt.InputError, match="kind 'poem'"):
        decode({"kind": "poem"})


def test_a_vector_of_one_from_r_is_a_scalar_unless_marked():
    wire = encode(np.array([0.5]))
    assert decode(wire).plain() == 0.5
    np.testing.assert_array_equal(decode(wire | {"many": True}).plain(), [0.5])


def test_na_of_doubles_is_quiet_but_still_na():
    """R's NA is a signalling NaN, with which NumPy's minima go wrong; its low word says NA."""
    bits = np.array([0x7FF00000000007A2, 0x3FF0000000000000, 0x4008000000000000], dtype=np.uint64)
    wire = encode(np.array([0.0, 1.0, 3.0])) | {"data": bytearray(bits.tobytes())}
    back = decode(wire)
    assert np.nanmin(back.values) == 1.0
    assert np.nanmax(back.values) == 3.0
    again = np.frombuffer(bytes(encode(back)["data"]), np.uint32)
    assert again[0] == 1954
