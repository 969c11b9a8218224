"""What the items ask: carried by tables, given by users, kept by selections."""

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.errors import InputError
from dtstat.data.items import as_items
from dtstat.data.texts import given_texts

TEXTS = {"a": "First\nquestion", "b": "Second", "c": 3, "other": "elsewhere", "d": " "}


@pytest.fixture
def frame():
    frame = pd.DataFrame(np.random.default_rng(1).integers(1, 6, (40, 4)), columns=list("abcd"))
    frame.attrs["item_texts"] = TEXTS
    return frame


def test_texts_of_a_table_are_kept_by_its_items(frame):
    items = as_items(frame)
    assert items.texts == {"a": "First question", "b": "Second"}
    assert items.select(["b", "c"]).texts == {"b": "Second"}
    assert items.take(np.arange(20)).texts == items.texts
    assert as_items(items, "continuous").texts == items.texts


def test_anything_may_be_in_the_attributes_of_a_table(frame):
    for odd in (None, 3, ["a"], {"a": None}, {1: "x"}, {"a": "\ud800"}):
        frame.attrs["item_texts"] = odd
        assert as_items(frame).texts == {}


def test_labels_may_be_a_codebook_with_other_items():
    codebook = pd.DataFrame({"item": ["a", "age"], "text": ["Asked", "Age"]})
    assert given_texts(codebook.set_index("item")["text"], ["a", "b"]) == {"a": "Asked"}
    assert given_texts({"a": None, "b": np.nan}, ["a", "b"]) == {}


@pytest.mark.parametrize(
    "codebook",
    [
        pd.DataFrame({"item": ["a", "age"], "text": ["Asked", "Age"]}),
        pd.DataFrame({"Item": ["Asked", "Age"], "scale": ["s", "s"]}, index=["a", "age"]),
        pd.DataFrame({"Item": ["Asked", "Age"], "Variable": ["a", "age"]}),
        pd.DataFrame({"Name": ["a", "age"], "Label": ["Asked", "Age"], "item": [1, 2]}),
    ],
)
def test_a_column_called_item_holds_names_or_texts_as_its_cells_show(codebook):
    assert given_texts(codebook, ["a", "b"]) == {"a": "Asked"}


def test_a_codebook_that_is_no_file_is_called_by_its_argument():
    with pytest.raises(InputError, match="`labels` must be a file that exists"):
        given_texts("absent.csv", ["a"])


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["a"], "a dict from item to text"),
        ({"a": 3}, "that of 'a' is none"),
        ({"A1": "x"}, "no text of any item; it begins with 'A1'"),
        ({"a": "\ud800"}, "surrogate"),
    ],
)
def test_labels_that_are_none_are_refused(labels, words):
    with pytest.raises(InputError, match=words):
        given_texts(labels, ["a", "b"])


def test_bundled_data_have_the_texts_of_their_codebooks():
    for name in dt.datasets()["name"]:
        data = dt.load_dataset(name)
        assert set(data.attrs["item_texts"]) == set(data.columns)
    people = dt.load_dataset("holzinger_swineford_9", people=True)
    assert people.attrs["item_texts"]["x4"] == "Paragraph comprehension"


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_a_codebook_in_a_file_may_have_its_items_as_row_names(tmp_path, ending):
    book = pd.DataFrame({"text": ["Asked", "Age"]}, index=["a", "age"])
    file = tmp_path / f"book.{ending}"
    book.to_csv(file) if ending == "csv" else book.to_excel(file)
    assert given_texts(file, ["a", "b"]) == {"a": "Asked"}
