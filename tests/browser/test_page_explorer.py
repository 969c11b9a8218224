"""The explorer in a real browser: the slider shows the exact path."""

import math
import re

import numpy as np
import pytest
from conftest import SETTLE, open_tab

import dtstat as dt
from dtstat.structure.margin import structure_margin


def plain(name):
    """A data set without the texts of its items."""
    data = dt.load_dataset(name)
    data.attrs.clear()
    return data


@pytest.fixture(scope="module")
def fit():
    return dt.fit(plain("holzinger_swineford_26"))


@pytest.fixture(scope="module")
def file(fit, tmp_path_factory):
    return fit.report(tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture
def explored(opened):
    """Open a page at its thresholds."""

    def open_file(file):
        page = opened(file)
        open_tab(page, "explore")
        return page

    return open_file


def sets(shown):
    """Factors shown, as sets of items, without the row of those in none."""
    rows = [items for label, items in shown.factors if label != "none"]
    return [{name.removesuffix("*") for name in items} for items in rows]


def expected(fit, threshold):
    structure = fit.path.at(threshold)
    return [set(structure.children(k)) for k in range(structure.n_factors)]


def levels(fit):
    strength = fit.dependence.strength
    return np.unique(strength[np.triu_indices(len(strength), 1)])


def move_to(page, threshold):
    page.evaluate(
        """(value) => { const slider = document.getElementById("threshold");
          slider.value = value; slider.dispatchEvent(new Event("input")); }""",
        threshold,
    )


def test_every_threshold_shows_the_factors_of_the_path(fit, file, explored, explorer):
    page = explored(file)
    ends = np.concatenate([fit.path.barcode().births, fit.path.barcode().deaths])
    rng = np.random.default_rng(0)
    for threshold in [0.0, *rng.choice(ends, 25, replace=False), *rng.uniform(0, 0.8, 25)]:
        move_to(page, float(threshold))
        shown = explorer(page)
        assert shown.threshold == pytest.approx(threshold, rel=1e-14)  # digits of a slider
        assert sets(shown) == expected(fit, shown.threshold)


def test_arrow_keys_step_through_every_graph(fit, file, explored, explorer):
    page = explored(file)
    page.focus("#threshold")
    page.keyboard.press("Home")
    assert explorer(page).threshold == 0
    for level in levels(fit)[:12]:
        page.keyboard.press("ArrowRight")
        shown = explorer(page)
        assert shown.threshold == level
        assert sets(shown) == expected(fit, level)
    page.keyboard.press("ArrowLeft")
    assert explorer(page).threshold == levels(fit)[10]
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    assert explorer(page).threshold == levels(fit)[10]


def test_page_keys_step_through_the_structures(fit, file, explored, explorer):
    page = explored(file)
    bars = fit.path.barcode()
    changes = np.unique(np.concatenate([bars.births, bars.deaths]))
    page.focus("#threshold")
    page.keyboard.press("Home")
    for change in changes[changes > 0][:10]:
        page.keyboard.press("PageUp")
        assert explorer(page).threshold == change
    page.keyboard.press("PageDown")
    assert explorer(page).threshold == changes[changes > 0][8]
    page.keyboard.press("End")
    shown = explorer(page)
    assert shown.threshold >= levels(fit)[-1]
    assert sets(shown) == []
    assert shown.readout["Pairs joined"] == "0 of 325"


def test_the_slider_follows_the_mouse(fit, file, explored, explorer):
    page = explored(file)
    box = page.locator("#threshold").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.8, middle)
    page.mouse.down()
    high = explorer(page)
    page.mouse.move(box["x"] + box["width"] * 0.3, middle, steps=5)
    page.mouse.up()
    low = explorer(page)
    assert low.threshold < high.threshold
    top = float(page.get_attribute("#threshold", "max"))
    # The middle of the thumb is under the pointer, half a thumb from either end.
    assert low.threshold == pytest.approx(
        top * (0.3 * box["width"] - 8) / (box["width"] - 16), abs=0.01
    )
    for shown in (low, high):
        assert sets(shown) == expected(fit, shown.threshold)


def test_screen_readers_are_told_the_structure(fit, file, explored, explorer):
    page = explored(file)
    page.focus("#threshold")
    page.keyboard.press("ArrowRight")
    threshold = explorer(page).threshold
    structure = fit.path.at(threshold)
    covered = int(structure.support.any(axis=1).sum())
    spoken = page.get_attribute("#threshold", "aria-valuetext")
    d = structure.n_factors
    assert spoken == f"{threshold:.3f}: {d} factor{'' if d == 1 else 's'} of {covered} of 26 items"
    assert spoken.split(": ")[1] in page.get_attribute("canvas", "aria-label")


def test_beside_it_stand_joins_margin_and_criterion(fit, file, explored, explorer):
    page = explored(file)
    scores, strength = fit.path_scores(), fit.dependence.strength
    for row in scores.iloc[[3, 12, -2]].itertuples():
        threshold = (row.tau_low + row.tau_high) / 2
        move_to(page, threshold)
        shown = explorer(page).readout
        joins = int((strength[np.triu_indices(26, 1)] > threshold).sum())
        assert shown["Pairs joined"] == f"{joins} of 325"
        margin = structure_margin(strength, fit.path.at(threshold), "spearman")
        assert shown["Margin"].startswith(f"{margin.value:.3f}".replace("-", "−"))
        pair = {margin.weakest_edge.first, margin.weakest_edge.second}
        assert set(re.search(r"within (\S+)–(\S+) \(", shown["Margin"]).groups()) == pair
        assert shown["ebic"].startswith(f"{row.ebic:.1f}, ")
        assert f"bic {row.bic:.1f}" in shown["ebic"]
        gap = row.ebic - fit.candidates["cost"].iloc[0]
        assert f"{abs(gap):.1f} {'above' if gap > 0 else 'below'}" in shown["ebic"]


def test_the_structure_holds_over_the_span_that_is_said(fit, file, explored, explorer):
    page = explored(file)
    move_to(page, 0.4)
    shown = explorer(page)
    count, low, high = re.match(
        r"(\d+), the same from (\S+) to (\S+)", shown.readout["Factors here"]
    ).groups()
    assert int(count) == len(expected(fit, 0.4))
    inside = np.linspace(float(low) + 0.001, float(high) - 0.001, 9)
    assert all(expected(fit, tau) == expected(fit, 0.4) for tau in inside)
    assert expected(fit, float(low) - 0.001) != expected(fit, 0.4)
    assert expected(fit, float(high) + 0.001) != expected(fit, 0.4)


def test_chosen_factors_can_be_shown(fit, file, explored, explorer):
    page = explored(file)
    button = page.get_by_role("button", name="Show the factors of the level")
    shown = explorer(page)  # the page opens on what its title says
    assert [label for label, _ in shown.factors] == list(fit.factor_names)
    assert sets(shown) == [set(fit.structure.children(k)) for k in fit.factor_names]
    assert button.get_attribute("aria-pressed") == "true"
    page.focus("#threshold")
    page.keyboard.press("ArrowRight")
    shown = explorer(page)
    assert button.get_attribute("aria-pressed") == "false"
    assert sets(shown) == expected(fit, shown.threshold)
    button.click()
    assert [label for label, _ in explorer(page).factors] == list(fit.factor_names)


def numbers(page):
    return page.evaluate("() => JSON.parse(document.getElementById('numbers').textContent)")


def item_point(page, fit, item):
    """Where on the screen an item of the graph is."""
    order = numbers(page)["order"]
    box = page.locator("canvas").bounding_box()
    turn = 2 * math.pi * order.index(fit.item_names.index(item)) / len(order) - math.pi / 2
    reach = box["width"] * 0.4
    return (
        box["x"] + box["width"] / 2 + reach * math.cos(turn),
        box["y"] + box["height"] / 2 + reach * math.sin(turn),
    )


def test_pointing_at_an_item_says_why_it_is_in(fit, file, explored, explorer):
    page = explored(file)
    move_to(page, 0.45)
    page.locator("canvas").scroll_into_view_if_needed()
    page.mouse.move(*item_point(page, fit, "t07_sentcomp"))
    shown = explorer(page)
    members = next(one for one in expected(fit, 0.45) if "t07_sentcomp" in one) - {"t07_sentcomp"}
    strength = fit.dependence.to_frame().abs()["t07_sentcomp"]
    loosest = strength[list(members)].idxmin()
    assert "t07_sentcomp at 0.450" in shown.why
    assert f"least to {loosest} ({strength[loosest]:.3f})" in shown.why
    assert f"Joined to {(strength.drop('t07_sentcomp') > 0.45).sum()} items" in shown.why
    loading = fit.loadings.loc["t07_sentcomp", "F2"]
    assert f"loads {loading:.2f} on F2" in shown.why


def test_tab_key_reaches_items_and_says_why_they_are_out(fit, file, explored, explorer):
    page = explored(file)
    move_to(page, 0.45)
    page.get_by_role("button", name="t22_probreas", exact=True).focus()
    shown = explorer(page)
    strength = fit.dependence.to_frame().abs()["t22_probreas"].drop("t22_probreas")
    near = strength[strength > 0.45]
    assert f"Joined to {len(near)} item" in shown.why
    assert f"{near.idxmax()} ({near.max():.3f})" in shown.why
    assert "In no factor" in shown.why
    cut = shown.why.split("not joined to ")[1].split(".  ")[0]
    shares = {tuple(one): len(one & set(near.index)) / len(one) for one in expected(fit, 0.45)}
    lacking = max(shares, key=shares.get)
    weakest = strength[list(lacking)].idxmin()
    assert cut.startswith(f"{weakest} ({strength[weakest]:.3f})")


def test_the_graph_is_drawn_and_changes(file, explored):
    page = explored(file)
    picture = "() => document.querySelector('canvas').toDataURL().length"
    move_to(page, 0.0)
    page.evaluate(SETTLE)
    full = page.evaluate(picture)
    page.focus("#threshold")
    page.keyboard.press("End")
    page.evaluate(SETTLE)
    assert page.evaluate(picture) < full / 2


def test_one_threshold_for_all_is_shaded_and_shown_first(explored, explorer, tmp_path):
    data = plain("holzinger_swineford_9")
    fit = dt.fit(data, search="threshold", min_children=3)
    page = explored(fit.report(tmp_path / "r.html"))
    start = explorer(page).threshold
    low, high = numbers(page)["chosen"]
    assert low < start < high
    assert f"threshold {low:.3f}" == fit.contenders[0].origin
    cores = (fit.support & ~fit.attached[:, None]).T
    shown = [set(np.array(fit.item_names)[core]) for core in cores]
    assert sets(explorer(page)) == shown
    assert page.locator("rect.chosen").count() == 2


def test_cliques_within_a_chosen_factor_are_called_so(explored, explorer, tmp_path):
    """Attached items make a factor much larger than the clique that it was read off."""
    data = plain("holzinger_swineford_26")
    fit = dt.fit(data, search="threshold", min_children=3)
    page = explored(fit.report(tmp_path / "r.html"))
    labels = [label for label, _ in explorer(page).factors if label != "none"]
    assert labels == ["core of F1", "F2", "core of F3"]
    move_to(page, 0.39)  # where another clique within F3 is seen
    labels = [label for label, _ in explorer(page).factors if label != "none"]
    assert "part of F3" in labels


def test_in_the_chosen_structure_the_reasons_are_about_it(fit, file, explored, explorer):
    page = explored(file)
    factors = fit.factors.dropna(subset="from").set_index("factor")
    factor, core, item = next(
        (name, one, item)
        for name, one in factors.iterrows()
        for item in fit.structure.unique_children(name)
        if item not in one["core"]
    )
    page.get_by_role("button", name=f"{item}*", exact=True).focus()
    why = explorer(page).why
    assert why.startswith(f"{item} in the chosen structureIt loads")
    assert f"Outside the core of {factor}, which is seen from {core['from']:.3f}: " in why
    strength = fit.dependence.to_frame().abs()[item]
    lacking = strength[list(core["core"])]
    lacking = lacking[lacking <= core["from"]].sort_values()
    assert why.endswith(", ".join(f"{name} ({value:.3f})" for name, value in lacking.items()) + ".")
