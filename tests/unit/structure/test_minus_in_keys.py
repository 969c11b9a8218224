"""A minus in a key reverses an item, unless an item is called so."""

import numpy as np
import pytest

import dtstat as dt
from dtstat.fit.request import python_code
from dtstat.structure.syntax import as_structure

NINE = dt.load_dataset("holzinger_swineford_9")
NAMES = ["-1", *map(str, range(2, 10))]
KEYS = {"a": ["-1", "2", "3"], "b": ["-4", "5", "6"], "c": ["7", "8", "9"]}
DATA = NINE.set_axis(NAMES, axis=1)
TWINS = DATA.rename(columns={"2": "1"})

CALLS = {
    "reliability": lambda data, keys: dt.reliability(data, keys).items["item"].tolist(),
    "fit": lambda data, keys: dt.fit(data, structure=keys).item_names,
    "cfa": lambda data, keys: dt.cfa(data, keys).structure.item_names,
    "sem": lambda data, keys: dt.sem(data, keys).structure.item_names,
    "certify": lambda data, keys: dt.certify(data, structure=keys).item_names,
    "margin": lambda data, keys: repr(dt.margin(data, keys)),
    "regress": lambda data, keys: repr(dt.regress("a ~ b", keys, data)),
    "invariance": lambda data, keys: (
        dt.invariance(
            data.assign(half=np.arange(len(data)) % 2), keys, "half", steps=["configural", "metric"]
        )
        .fits[0]
        .structure.item_names
    ),
    "compare": lambda data, keys: dt.compare(dt.Structure(np.ones((9, 1)), list(data)), keys),
    "describe": lambda data, keys: dt.describe(data, keys).people["even_odd"],
}


@pytest.mark.parametrize("call", CALLS)
def test_an_item_that_is_called_so_is_meant(call):
    found = CALLS[call](DATA, KEYS)
    if isinstance(found, list | tuple):
        assert set(found) == set(NAMES)


@pytest.mark.parametrize("call", CALLS)
def test_two_meanings_are_refused(call):
    keys = {**KEYS, "a": ["-1", "3"]}
    with pytest.raises(dt.InputError, match="the item '-1' or the item '1' reversed"):
        CALLS[call](TWINS, keys)


def test_signs():
    structure = as_structure(KEYS, "keys", lambda: NAMES)
    assert dict(zip(structure.item_names, structure.reversed.any(axis=1), strict=True)) == {
        name: name == "4" for name in NAMES
    }
    table = dt.reliability(DATA, KEYS).items.set_index("item")["reversed"]
    assert table[table].index.tolist() == ["4"]


def test_a_minus_more_reverses_it():
    structure = dt.Structure.from_keys({"f": ["--1", "2"]}, ["1", "-1", "2"])
    assert structure.children("f") == ("-1", "2")
    assert structure.reversed.tolist() == [[False], [True], [False]]


def test_scales_of_a_fit_have_its_items():
    fit = dt.fit(TWINS)
    assert {"1", "-1"} <= set(fit.item_names)
    same = dt.describe(NINE.rename(columns={"x1": "y", "x2": "z"}), dt.fit(NINE.set_axis(
        ["y", "z", *NINE.columns[2:]], axis=1)))  # fmt: skip
    np.testing.assert_array_equal(
        dt.describe(TWINS, fit).people["even_odd"], same.people["even_odd"]
    )


def test_a_model_of_both_and_the_code_of_a_fit():
    assert dt.cfa(TWINS, dt.fit(TWINS).structure).structure.n_items == 9
    known = {}
    exec(python_code(dt.fit(DATA, structure=KEYS)).split("\nfit =")[0], known)
    assert known["structure"].children("a") == ("-1", "2", "3")
