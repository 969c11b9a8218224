"""The levels: what the page's script draws from, against fits of the levels."""

import functools
import json

import numpy as np
import pytest

import dtstat as dt
from dtstat.fit.dendrogram import dendrogram
from dtstat.page.levels import level_colors
from dtstat.page.numbers import page_numbers

NINE = dt.load_dataset("holzinger_swineford_9")
MANY = dt.load_dataset("holzinger_swineford_26")
FITS = {
    "nine": lambda: dt.fit(NINE),
    "many": lambda: dt.fit(MANY),
    "another level": lambda: known("many")[0].level(2),
    "left out": lambda: dt.fit(NINE.assign(noise=np.random.default_rng(0).normal(size=301))),
}
pytestmark = pytest.mark.filterwarnings("ignore::dtstat.DTWarning")


@functools.cache
def known(name):
    fit = FITS[name]()
    return fit, json.loads(json.dumps(page_numbers(fit), allow_nan=False))


def levels(name):
    fit, numbers = known(name)
    return fit, numbers["levels"]


@pytest.mark.parametrize("name", FITS)
def test_rows_are_those_of_the_table(name):
    fit, rows = levels(name)
    frame = fit.levels.set_index("n_factors")
    assert [row["n"] for row in rows] == list(frame.index[: len(rows)])
    for row in rows:
        one = frame.loc[row["n"]]
        columns = ["one_fewer_costs", "correlation", "agreement", "step"]
        values = [np.nan if value is None else value for value in row["values"]]
        np.testing.assert_array_equal(values, one[columns].to_numpy(dtype=float))
        assert " and ".join(row["joins"]) == one["joins"]
        assert ("chosen" in row["mark"]) == one["chosen"]
        assert one["level"] in row["mark"]
    shown = {row["n"] for row in rows}
    assert {1, fit.n_factors, fit.second or 1, fit.supported} <= shown


@pytest.mark.parametrize("name", FITS)
def test_every_level_is_that_of_its_fit(name):
    fit, rows = levels(name)
    for row in rows:
        level = fit if row["n"] == fit.n_factors else fit.level(row["n"])
        assert [factor["name"] for factor in row["factors"]] == list(level.factor_names)
        for k, factor in enumerate(row["factors"]):
            assert factor["items"] == np.flatnonzero(level.support[:, k]).tolist()
            own = level.loadings.to_numpy()[level.support[:, k], k]
            np.testing.assert_allclose(factor["loadings"], own, rtol=1e-7)
            alone = level.structure.unique_children(k)
            assert tuple(fit.item_names[i] for i in factor["unique"]) == alone
        for k, found in enumerate(row["correlations"]):
            np.testing.assert_allclose(found, level.factor_correlations.iloc[k, :k], rtol=1e-6)
        np.testing.assert_allclose(row["h2"], 1 - level.uniquenesses, rtol=1e-6)
        out = {fit.item_names[int(i)]: text for i, text in row["reasons"].items()}
        assert out == dict(zip(level.uncovered["item"], level.uncovered["reason"], strict=True))


def test_every_factor_has_a_sentence_with_its_core():
    fit, rows = levels("many")
    own = rows[fit.n_factors - 1]["factors"]
    for factor, (_, row) in zip(own, fit.factors.iterrows(), strict=True):
        assert factor["verdict"].startswith(f"{factor['name']} is seen at its own thresholds: ")
        assert f"{row['core'][0]}, " in factor["verdict"]
        assert factor["verdict"].endswith(f", from {row['from']:.3f} to {row['to']:.3f}.")
        assert (factor["from"], factor["to"]) == (row["from"], row["to"])


def test_colors_are_kept_and_no_two_factors_share_one():
    own = np.repeat(np.eye(4, dtype=bool), 3, axis=0)
    assert level_colors(own, own) == [0, 1, 2, 3]
    joined = np.column_stack([own[:, 0] | own[:, 1], own[:, 2], own[:, 3]])
    assert level_colors(joined, own) == [0, 2, 3]
    first, rest = own[:, 0].copy(), own[:, 0].copy()
    first[2], rest[:2] = False, False
    finer = np.column_stack([rest, first, own[:, 1:]])
    assert level_colors(finer, own) == [4, 0, 1, 2, 3]  # the larger part keeps the color
    for name in FITS:
        for row in levels(name)[1]:
            colors = [factor["color"] for factor in row["factors"]]
            assert len(set(colors)) == len(colors)


@pytest.mark.parametrize("name", FITS)
def test_the_tree_is_that_of_the_plot(name):
    fit, numbers = known(name)
    tree, drawn = dendrogram(fit), numbers["tree"]
    assert [tuple(leaf["items"]) for leaf in drawn["leaves"]] == [x.items for x in tree.leaves]
    assert [join[2] for join in drawn["joins"]] == tree.prices
    assert (drawn["chosen"], drawn["second"]) == (fit.n_factors, fit.second)
    assert drawn["outside"] == list(tree.outside)
    assert drawn["floor"] < drawn["joins"][0][2] < drawn["top"]


def test_notes_say_what_the_columns_are():
    _, numbers = known("many")
    said = " ".join(numbers["levelNotes"])
    for part in ("One fewer costs: ", "Agreement among ", "Step: ", "The tree joins whole factors"):
        assert part in said


def test_without_a_tree_there_is_one_level_and_without_factors_none():
    fit = dt.fit(NINE, search="threshold")
    numbers = page_numbers(fit)
    assert [level["n"] for level in numbers["levels"]] == [numbers["chosenLevel"]] == [3]
    assert "tree" not in numbers
    nothing = page_numbers(dt.fit(np.random.default_rng(3).normal(size=(150, 8))))
    assert (nothing["levels"], nothing["chosenLevel"]) == ([], 0)
