"""Tables of other libraries, and rows to be scored."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dtstat as dt
from dtstat.data.containers import as_frame

FRAME = dt.load_dataset("holzinger_swineford_9")
POLARS = pl.DataFrame({name: FRAME[name].tolist() for name in FRAME})
MODEL = "visual =~ x1 + x2 + x3; textual =~ x4 + x5 + x6"


class OnlyInterchange:
    """A table that offers no other protocol than the older one."""

    def __init__(self, frame):
        self._frame = frame

    def __dataframe__(self, *args, **kwargs):
        return self._frame.__dataframe__(*args, **kwargs)


class Broken:
    def __arrow_c_stream__(self, requested_schema=None):
        raise RuntimeError("lost connection")


TABLES = {
    "polars": POLARS,
    "table": pa.Table.from_pandas(FRAME),
    "batch": pa.RecordBatch.from_pandas(FRAME),
    "single": POLARS.cast(pl.Float64),
}


@pytest.mark.parametrize("kind", TABLES)
def test_values_and_names_are_kept(kind):
    items = dt.items(TABLES[kind])
    assert items.names == tuple(FRAME.columns)
    np.testing.assert_array_equal(items.values, FRAME)


@pytest.mark.filterwarnings("ignore")  # pandas may warn of the end of the protocol it offers here
def test_the_older_protocol():
    if not hasattr(FRAME, "__dataframe__"):
        pytest.skip("this pandas no longer offers the protocol")
    assert dt.items(OnlyInterchange(FRAME)).names == tuple(FRAME.columns)


@pytest.mark.newest  # the oldest pyarrow does not know all that polars says
def test_missing_answers_and_ratings():
    table = pl.DataFrame({"a": [1, None, 3, 1], "b": [1.5, float("nan"), 2.0, 1.0]})
    items = dt.items(table)
    assert np.isnan(items.values[1]).all()
    levels = pl.Series(["low", "high", "low", "mid"], dtype=pl.Enum(["low", "mid", "high"]))
    coded = dt.items(table.with_columns(c=levels, d=pl.Series(["1", "2", "3", "4"])))
    assert coded.values[:, 2].tolist() == [1, 3, 1, 2]
    assert coded.values[:, 3].tolist() == [1, 2, 3, 4]


def test_every_function_takes_them():
    fit = dt.fit(POLARS)
    assert fit.structure == dt.fit(FRAME).structure
    model = dt.cfa(POLARS, MODEL)
    assert model.n_obs == 301
    pd.testing.assert_frame_equal(fit.factor_scores(POLARS), fit.factor_scores(FRAME))
    pd.testing.assert_frame_equal(model.factor_scores(POLARS), model.factor_scores(FRAME))
    assert dt.margin(POLARS, fit.structure).value == dt.margin(FRAME, fit.structure).value


@pytest.mark.newest  # the oldest pyarrow does not know all that polars says
def test_names_are_looked_up_in_any_order():
    fit = dt.fit(FRAME)
    turned = POLARS.select(POLARS.columns[::-1]).with_columns(extra=pl.lit("text"))
    pd.testing.assert_frame_equal(fit.factor_scores(turned), fit.factor_scores(FRAME))


@pytest.mark.newest  # the oldest pyarrow does not know all that polars says
def test_what_cannot_be_taken_is_refused():
    with pytest.raises(dt.InputError, match="lost connection"):
        dt.items(Broken())
    with pytest.raises(dt.InputError, match=r"collect\(\) first"):
        dt.items(POLARS.lazy())
    with pytest.raises(dt.InputError, match="several items"):
        dt.items(FRAME["x1"])
    with pytest.raises(dt.InputError, match="holds text"):
        dt.items(POLARS.with_columns(extra=pl.lit("text")))
    with pytest.raises(dt.InputError, match="equally long"):
        as_frame([np.zeros(2), np.zeros(3)])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.full((2, 9), "text"), "holds text"),
        (np.full((2, 9), np.inf), "must be finite"),
        (np.zeros((2, 3)), "must have 9 columns"),
        (np.zeros(9), "2 dimensions"),
        (None, "must be a DataFrame"),
        (np.zeros((2, 9), dtype=complex), "complex"),
    ],
)
def test_rows_to_score_are_checked(rows, message):
    with pytest.raises(dt.InputError, match=message):
        dt.fit(FRAME).factor_scores(rows)


def test_a_null_character_in_a_name():
    """It ended the whole process, since Arrow hands names over as C strings."""
    table = POLARS.rename({"x2": "x\0b"})
    with pytest.raises(dt.InputError, match=r"the name of column 2, 'x\\x00b', has a null"):
        as_frame(table)
    assert list(as_frame(POLARS).columns) == list(FRAME.columns)


def test_numbers_in_the_byte_order_of_another_machine():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(200, 6)) + rng.normal(size=(200, 1))
    X[:, 5] = np.arange(200) % 2
    frame = pd.DataFrame(X, columns=[*"abcde", "group"])
    foreign = pd.DataFrame({name: frame[name].astype(">f8") for name in frame})
    foreign.attrs["kept"] = 1
    model = "f =~ a + b + c + d"
    ours, theirs = (dt.invariance(one, model, group="group").table for one in (frame, foreign))
    pd.testing.assert_frame_equal(ours, theirs)
    assert foreign["a"].dtype == ">f8"
    assert dt.fit(X.astype(">f8")[:, :5]).structure == dt.fit(X[:, :5]).structure
