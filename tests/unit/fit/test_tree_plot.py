"""The tree as a picture: nested, true to the chosen factors and to the prices of the levels."""

import functools

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core import canvas
from dtstat.fit import tree_plot
from dtstat.fit.dendrogram import dendrogram
from dtstat.search.records import Level

pytestmark = [
    pytest.mark.usefixtures("drawing"),
    pytest.mark.filterwarnings("ignore::dtstat.DTWarning"),
]
NINE = dt.load_dataset("holzinger_swineford_9")
MANY = dt.load_dataset("holzinger_swineford_26")


def facets(p, d, broad, seed=0, n=500):
    """Items of d facets, which are of a few domains."""
    rng = np.random.default_rng(seed)
    domains = rng.normal(size=(n, broad))[:, np.arange(d) % broad]
    factors = 0.75 * domains + 0.66 * rng.normal(size=(n, d))
    X = 0.75 * factors[:, np.sort(np.arange(p) % d)] + 0.66 * rng.normal(size=(n, p))
    return pd.DataFrame(X, columns=[f"item_{i + 1:03d}" for i in range(p)])


FITS = {
    "nine": lambda: dt.fit(NINE),
    "many": lambda: dt.fit(MANY),
    "sixty": lambda: dt.fit(facets(60, 12, 4)),
    "broad": lambda: known("sixty").level("broad"),
    "one": lambda: known("many").level(1),
    "two": lambda: known("many").level(2),
    "finest": lambda: known("many").level(len(known("many").tree)),
    "left out": lambda: dt.fit(NINE.assign(noise=np.random.default_rng(0).normal(size=301))),
    "refined": lambda: dt.fit(MANY, refine=True),
    "ebic": lambda: dt.fit(MANY, criterion="ebic"),
    "matrix": lambda: dt.fit(dt.dependence(MANY)),
}


@functools.cache
def known(name):
    return FITS[name]()


def members(tree, node):
    return {i for leaf in tree.under(node) for i in tree.leaves[leaf].items}


# --- what is drawn ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FITS)
def test_at_the_chosen_level_factors_are_those_of_the_fit(name):
    fit, tree = known(name), dendrogram(known(name))
    found = [members(tree, node) for node in tree.nodes(fit.n_factors)]
    assert len(found) == fit.n_factors
    strongest = fit.loadings.abs().to_numpy().argmax(axis=1)
    inside = fit.support.any(axis=1)
    expected = [set(np.flatnonzero(inside & (strongest == k))) for k in range(fit.n_factors)]
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))
    assert set(tree.outside) == set(np.flatnonzero(~inside))


@pytest.mark.parametrize("name", FITS)
def test_joins_stand_at_the_prices_of_the_levels_none_below_a_finer_one(name):
    fit, tree = known(name), dendrogram(known(name))
    recorded = fit.levels.set_index("n_factors")["one_fewer_costs"]
    assert len(tree.joins) == tree.n_leaves - 1
    highest = 0.0
    for k, price in zip(range(tree.n_leaves, 1, -1), tree.prices, strict=True):
        highest = max(highest, recorded[k])
        assert price == pytest.approx(highest, abs=1e-3 * tree.prices[-1])
        low, high = tree.span(k)
        assert 0 < low <= high == price
    assert tree.span(1)[1] > tree.prices[-1]


@pytest.mark.parametrize("name", FITS)
def test_both_levels_that_stand_out_are_in_the_tree(name):
    fit, tree = known(name), dendrogram(known(name))
    assert tree.n_leaves == max(fit.n_factors, fit.second or 0, 2)
    if fit.second:
        assert len(tree.nodes(fit.second)) == fit.second


@pytest.mark.parametrize("name", FITS)
def test_lines_do_not_cross(name):
    tree = dendrogram(known(name))
    for node in range(tree.n_leaves + len(tree.joins)):
        leaves = tree.under(node)
        assert leaves == list(range(leaves[0], leaves[0] + len(leaves)))
    assert len(tree.under(node)) == tree.n_leaves


def test_where_the_levels_are_nested_the_tree_is_theirs():
    fit, tree = known("sixty"), dendrogram(known("sixty"))
    labels = fit.tree[fit.second - 1].labels
    found = [members(tree, node) for node in tree.nodes(fit.second)]
    expected = [set(np.flatnonzero(labels == k)) for k in range(fit.second)]
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))
    fine = fit.tree[max(fit.second, fit.n_factors) - 1].labels
    parts = [set(leaf.items) for leaf in dendrogram(known("broad")).leaves]
    assert sorted(map(sorted, parts)) == sorted(
        sorted(np.flatnonzero(fine == k)) for k in range(fine.max() + 1)
    )


def test_a_fit_from_a_file_has_the_same_tree(tmp_path):
    known("many").save(tmp_path / "fit.dtstat")
    assert dendrogram(dt.load(tmp_path / "fit.dtstat")) == dendrogram(known("many"))


# --- the picture --------------------------------------------------------------------------------


def words(ax):
    return [text.get_text() for text in ax.texts]


def gids(ax):
    return {line.get_gid(): line for line in ax.lines}


@pytest.mark.parametrize("name", ["nine", "many", "sixty", "broad", "left out"])
def test_every_item_is_named_once(name):
    ax = known(name).plot("tree")
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert sorted(labels) == sorted(known(name).item_names)


@pytest.mark.parametrize("name", FITS)
def test_levels_are_marked_where_their_factors_are(name):
    fit, ax = known(name), known(name).plot("tree")
    tree, drawn = dendrogram(fit), gids(ax)
    plural = "" if fit.n_factors == 1 else "s"
    assert f"{fit.n_factors} factor{plural} (chosen)" in words(ax)
    marked = {fit.n_factors} | ({fit.second} if fit.second else set())
    assert {gid for gid in drawn if gid.startswith("level")} == {f"level {k}" for k in marked}
    for k in marked:
        low, high = tree.span(k)
        x = drawn[f"level {k}"].get_xdata()[0]
        assert np.log10(low) <= x <= np.log10(high)
    assert {canvas.shorten(name, 14) for name in fit.factor_names if len(name) <= 14} <= set(
        words(ax)
    )


def test_joins_are_drawn_at_their_prices():
    tree, drawn = dendrogram(known("many")), gids(known("many").plot("tree"))
    for k, join in enumerate(tree.joins):
        assert set(drawn[f"join {k}"].get_xdata()) == {np.log10(join.price)}


def test_items_of_no_factor_stand_apart():
    fit = known("left out")
    assert list(fit.uncovered["item"]) == ["noise"]
    ax = fit.plot("tree")
    assert "in no factor" in words(ax)
    assert [label.get_text() for label in ax.get_yticklabels()][-1] == "noise"


def test_of_many_items_factors_are_the_leaves(monkeypatch):
    monkeypatch.setattr(tree_plot, "_MOST_ITEMS", 20)
    fit = known("many")
    labels = [label.get_text() for label in fit.plot("tree").get_yticklabels()]
    assert len(labels) == dendrogram(fit).n_leaves
    assert all(", " in label for label in labels)


def test_without_a_tree_the_error_says_how_to_get_one():
    given = dt.Structure.from_keys({"a": ["x1", "x2", "x3"]}, list(NINE))
    with pytest.raises(dt.InputError, match=r"no tree to draw: none was searched\. Fit with"):
        dt.fit(NINE, structure=given).plot("tree")
    with pytest.raises(dt.InputError, match=r"A fit with curves has no tree\. Draw that of"):
        dt.fit(NINE, estimator="spline", finalists=1, seed=1).plot("tree")
    with pytest.raises(dt.InputError, match="no tree to draw: it has no levels"):
        dt.fit(NINE[["x4", "x5", "x6"]]).plot("tree")


def test_prices_of_nothing_can_be_drawn():
    """On a logarithmic axis they stand at its lower end."""
    from dataclasses import replace

    fit = known("nine")
    free = tuple(level if level.n_factors == 1 else replace(level, price=0.0) for level in fit.tree)
    assert all(isinstance(level, Level) for level in free)
    ax = replace(fit, tree=free).plot("tree")
    ax.figure.canvas.draw()
    assert np.isfinite(ax.get_xlim()).all()
