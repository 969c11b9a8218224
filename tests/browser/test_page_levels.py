"""The levels in a real browser: the tree, the table, and the factors of the level picked."""

import numpy as np
import pandas as pd
import pytest
from conftest import open_tab

import dtstat as dt

# Asked in one call: a picture that is drawn again in between has other strips.
FOOT_OF_STRIP = """k => {
  const box = document.querySelector(`.strip[data-n="${k}"]`).getBoundingClientRect();
  return [box.x + box.width / 2, box.bottom - 4];
}"""


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


def members(page):
    """Factors of the level shown, with their items."""
    rows = page.evaluate(
        """() => [...document.querySelectorAll("article.factor")]
          .map(card => [card.querySelector("h4").textContent,
            [...card.querySelectorAll("tbody .name")].map(item => item.textContent)])"""
    )
    return {name: [item.rstrip("+") for item in items] for name, items in rows}


def expected(fit, k):
    level = fit if k == fit.n_factors else fit.level(k)
    return {name: set(level.structure.children(name)) for name in level.factor_names}


def factors(page):
    return {name: set(items) for name, items in members(page).items() if name != "In no factor"}


def pressed(page):
    return page.locator("table.levels button[aria-pressed=true]").all_text_contents()


def picked_strip(page):
    return [strip.get_attribute("data-n") for strip in page.locator(".strip.picked").all()]


def test_the_page_opens_on_the_chosen_structure(fit, file, opened):
    page = opened(file)
    assert page.locator("#panel-answer").is_visible()
    d = fit.n_factors
    assert pressed(page) == picked_strip(page) == [str(d)]
    assert list(factors(page)) == list(fit.factor_names)
    assert factors(page) == expected(fit, d)
    assert page.text_content("#answer h3 [role=status]") == f"The {d} factors"
    assert page.locator(".tree text.chosen-level").text_content() == f"{d} factors (chosen)"


def test_every_level_can_be_picked_by_its_row(fit, file, opened):
    page = opened(file)
    shown = page.locator("table.levels tbody tr")
    assert shown.count() > fit.supported
    for k in range(1, shown.count() + 1):
        shown.nth(k - 1).locator("td").nth(1).click()
        assert pressed(page) == [str(k)]
        assert factors(page) == expected(fit, k)


def test_a_level_can_be_picked_in_the_tree(fit, file, opened):
    page = opened(file)
    open_tab(page, "explore")
    for k in (1, 2, 3):
        page.mouse.click(*page.evaluate(FOOT_OF_STRIP, k))
        assert picked_strip(page) == pressed(page) == [str(k)]
        assert factors(page) == expected(fit, k)
    page.locator(".tree text.other-level").click()
    assert pressed(page) == [str(fit.second)]


def test_a_level_that_is_picked_is_that_of_every_part(fit, file, opened, explorer):
    page = opened(file)
    page.select_option("#pick-level", "2")
    level = fit.level(2)
    names = list(level.factor_names)
    assert pressed(page) == picked_strip(page) == ["2"]
    assert factors(page) == expected(fit, 2)
    heads = page.locator("table.loadings thead th").all_text_contents()
    assert heads == ["item", *names, "h2", "u2", "com"]
    cell = page.locator("table.correlations tbody tr").nth(1).locator("td").first
    r = level.factor_correlations.iloc[1, 0]
    assert cell.text_content() == f"{r:.2f}".replace("-", "−")
    shown = explorer(page)
    assert [label for label, _ in shown.factors if label != "none"] == names
    assert shown.said.startswith("Level: 2 factors of ")
    rows = page.locator("#items section").first.locator("tbody th").all_text_contents()
    assert rows == names
    note = page.text_content("#responses .note")
    assert note == f"The curves are those of the chosen level with {fit.n_factors} factors."
    assert page.text_content("#answer h3 [role=status]").endswith("than the chosen one")
    page.select_option("#pick-level", str(fit.n_factors))
    assert factors(page) == expected(fit, fit.n_factors)
    assert page.text_content("#responses .note") == ""


def test_loadings_and_reasons_are_those_of_the_level(fit, file, opened, explorer):
    page = opened(file)
    for k in (fit.n_factors, 2):
        page.select_option("#pick-level", str(k))
        level = fit if k == fit.n_factors else fit.level(k)
        shown = page.evaluate(
            """() => [...document.querySelectorAll("article.factor:not(.none) tbody tr")]
              .map(row => [row.closest("article").querySelector("h4"),
                row.querySelector(".name"), row.querySelector(".value")]
                .map(part => part.textContent))"""
        )
        assert len(shown) == int(level.support.sum())
        for factor, item, value in shown:
            loading = level.loadings.loc[item.rstrip("+"), factor]
            assert value == f"{loading:.2f}".replace("-", "−")
            assert item.endswith("+") == (item.rstrip("+") in level.attached_items)
        item = level.structure.children(0)[0]
        open_tab(page, "explore")
        page.locator(f'button.item:text-matches("^{item}[*]?$")').first.focus()
        on = " and ".join(
            f"{level.loadings.loc[item, f]:.2f} on {f}" for f in level.structure.parents(item)
        )
        assert f"It loads {on}".replace("-", "−") in explorer(page).why


def test_keys_pick_a_level_and_screen_readers_are_told(fit, file, opened):
    page = opened(file)
    button = page.get_by_role("button", name="2 factors", exact=True)
    button.focus()
    page.keyboard.press("Enter")
    assert pressed(page) == ["2"]
    said = page.locator("#answer h3 [role=status]")
    assert said.text_content() == "The 2 factors of another level than the chosen one"
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert pressed(page) == ["3"]
    said = page.get_attribute(".tree svg", "aria-label")
    assert said.endswith(f"Chosen: {fit.n_factors} factors.")


def test_the_tree_names_items_and_chosen_factors(fit, file, opened):
    page = opened(file)
    names = page.locator(".tree .row").all_text_contents()
    assert sorted(names) == sorted(fit.item_names)
    assert sorted(page.locator(".tree .stem").all_text_contents()) == sorted(fit.factor_names)


def test_the_numbers_are_those_of_the_table(fit, file, opened):
    page = opened(file)
    rows = page.evaluate(
        """() => [...document.querySelectorAll("table.levels tbody tr")]
          .map(row => [...row.children].map(cell => cell.textContent))"""
    )
    for row, (_, one) in zip(rows, fit.levels.iterrows(), strict=False):
        assert row[0] == str(one["n_factors"])
        price = one["one_fewer_costs"]
        assert row[2] == ("" if np.isnan(price) else f"{price:.3f}")
        assert row[6].replace("−", "-") == ("" if np.isnan(one["step"]) else f"{one['step']:.2f}")


def test_paper_has_the_tree_and_what_was_hidden(file, opened):
    page = opened(file)
    page.emulate_media(media="print")
    assert page.locator(".tree svg").is_visible()
    assert page.locator("table.levels").is_visible()
    assert all(chart.is_visible() for chart in page.locator("#explore .chart svg").all())


def test_of_many_items_factors_are_the_leaves(monkeypatch, fit, opened, tmp_path):
    monkeypatch.setattr("dtstat.page.levels._MOST_ITEMS", 20)
    page = opened(fit.report(tmp_path / "many.html"), 390)
    open_tab(page, "explore")
    leaves = max(fit.n_factors, fit.second)
    assert page.locator(".tree .row").count() == leaves
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_items_of_no_factor_are_told(opened, tmp_path):
    data = plain("holzinger_swineford_9")
    noise = pd.Series(np.random.default_rng(0).normal(size=len(data)))
    fit = dt.fit(data.assign(noise=noise))
    page = opened(fit.report(tmp_path / "r.html"))
    assert members(page)["In no factor"] == ["noise"]
    card = page.locator("article.none")
    assert fit.uncovered["reason"].iloc[0] in card.text_content()
    assert "in no factor" in page.locator(".tree .label").all_text_contents()
