"""The other parts of the page in a real browser: tabs, tables, curves, bad names, small screens."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import SETTLE, open_tab

import dtstat as dt

OPEN = "#responses > div:not(.closed) > .curves"  # of the factor that is looked at
HOSTILE = (
    "<script>window.hacked = 1</script>",
    "</script><img src=x onerror='window.hacked = 2'>",
    "a\"b'c` onfocus=alert(1)",
    "{{script}} {{numbers}}",
    "&lt;b&gt; & co",
    "項目 \u202e\u2028\ufeff",
    "very_long_" * 12,
    "=HYPERLINK(1)",
    "$& \\u003c \\ \ud7ff",
)


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
    data = plain("holzinger_swineford_26")
    known = dt.diagnose(fit, data, 20, seed=1)
    return fit.report(tmp_path_factory.mktemp("page") / "report.html", known)


@pytest.fixture(scope="module")
def curved(tmp_path_factory):
    data = dt.load_dataset("likert_survey")
    fit = dt.fit(data, estimator="spline", finalists=1, seed=2)
    return fit, fit.report(tmp_path_factory.mktemp("page") / "curves.html")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    data = dt.load_dataset("holzinger_swineford_9").set_axis(HOSTILE, axis=1)
    fit = dt.fit(data)
    folder = tmp_path_factory.mktemp("page")
    return fit, fit.report(folder / "hostile.html", title="<script>window.hacked = 3</script>")


def tabs(page):
    return page.locator('[role="tab"]')


def visible(page):
    panels = page.locator('[role="tabpanel"]')
    return [
        panels.nth(k).get_attribute("id")
        for k in range(panels.count())
        if panels.nth(k).is_visible()
    ]


def shown_table(page):
    return page.evaluate(
        """() => [...document.querySelectorAll("table.loadings tr")]
          .map(row => [...row.children].map(cell => cell.textContent))"""
    )


# --- tabs ---------------------------------------------------------------------------------------


def test_every_tab_opens_its_part_alone(file, opened):
    page = opened(file)
    names = [tabs(page).nth(k).text_content() for k in range(tabs(page).count())]
    assert names == ["Answer", "How sure", "Explore", "Items", "Responses", "Reproduce"]
    for k, name in enumerate(names):
        tabs(page).nth(k).click()
        assert len(visible(page)) == 1
        assert page.locator("h2:visible").text_content() == name


def test_tabs_follow_the_arrow_keys(file, opened):
    page = opened(file)
    tabs(page).nth(0).focus()
    page.keyboard.press("ArrowRight")
    assert visible(page) == ["panel-trust"]
    page.keyboard.press("End")
    assert visible(page) == ["panel-reproduce"]
    page.keyboard.press("ArrowRight")
    assert visible(page) == ["panel-answer"]
    focused = page.evaluate("() => document.activeElement.id")
    assert focused == "tab-answer"


def test_on_paper_all_parts_are_there(file, opened):
    page = opened(file)
    page.emulate_media(media="print")
    page.evaluate(SETTLE)
    assert len(visible(page)) == 6
    assert not page.locator('[role="tablist"]').is_visible()
    folded = page.locator("details").all()
    assert folded
    assert all(one.locator("> :nth-child(2)").is_visible() for one in folded)
    assert len(page.pdf()) > 50_000
    page.emulate_media(media="screen")
    page.evaluate(SETTLE)
    assert page.locator("details[open]").count() == 0
    assert len(visible(page)) == 1


def test_a_part_can_be_linked_to(file, opened):
    page = opened(file)
    page.goto(file.as_uri() + "#panel-trust")
    page.reload()
    assert visible(page) == ["panel-trust"]


# --- loadings -----------------------------------------------------------------------------------


def test_loadings_are_those_of_the_fit(fit, file, opened):
    page = opened(file)
    head, *rows = shown_table(page)
    assert head == ["item", *fit.factor_names, "h2", "u2", "com"]
    names = [row[0].rstrip("*+") for row in rows]
    assert sorted(names) == sorted(fit.item_names)
    for name, row in zip(names, rows, strict=True):
        for factor, cell in zip(fit.factor_names, row[1:], strict=False):
            loading = fit.loadings.loc[name, factor]
            assert cell == ("" if abs(loading) < 0.3 else f"{loading:.2f}".replace("-", "−"))
        assert row[-3] == f"{1 - fit.uniquenesses[name]:.2f}"


def test_the_cutoff_follows_the_slider(fit, file, opened):
    page = opened(file)
    page.focus("#cutoff")
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    assert page.text_content("output[for=cutoff]") == "0.60"
    cells = [cell for row in shown_table(page)[1:] for cell in row[1:-3] if cell]
    assert len(cells) == int((fit.loadings.abs() >= 0.6).to_numpy().sum())
    page.keyboard.press("Home")
    cells = [cell for row in shown_table(page)[1:] for cell in row[1:-3] if cell]
    assert len(cells) == int(fit.support.sum())


def test_a_click_on_a_head_sorts(fit, file, opened):
    page = opened(file)
    page.locator("table.loadings thead button", has_text="F2").click()
    names = [row[0].rstrip("*+") for row in shown_table(page)[1:]]
    strongest = fit.loadings["F2"].abs().sort_values(ascending=False)
    assert names[:5] == list(strongest.index[:5])
    assert page.locator("th[aria-sort=descending]").text_content().startswith("F2")
    page.keyboard.press("Enter")  # the head kept the focus
    assert page.locator("th[aria-sort=ascending]").text_content().startswith("F2")
    page.locator("table.loadings thead button", has_text="item").click()
    names = [row[0].rstrip("*+") for row in shown_table(page)[1:]]
    assert names == sorted(fit.item_names)


def copied(page, label):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name=label).first.click()
    page.get_by_text("copied").first.wait_for()
    return page.evaluate("() => navigator.clipboard.readText()")


def test_loadings_are_copied_as_csv(fit, file, opened):
    page = opened(file)
    rows = list(csv.reader(io.StringIO(copied(page, "Copy as CSV"))))
    assert rows == [[cell.replace("−", "-") for cell in row] for row in shown_table(page)]


def test_hostile_names_are_copied_whole(hostile, opened):
    fit, file = hostile
    page = opened(file)
    frame = pd.read_csv(io.StringIO(copied(page, "Copy as CSV")), keep_default_na=False)
    assert {name.rstrip("*+") for name in frame["item"]} == set(fit.item_names)


def test_loadings_are_copied_as_latex(hostile, opened):
    _, file = hostile
    page = opened(file)
    text = copied(page, "Copy as LaTeX")
    lines = text.strip().splitlines()
    assert lines[0].startswith(r"\begin{tabular}{lr")
    assert lines[-1] == r"\end{tabular}"
    assert r"\textless{}script\textgreater{}window.hacked = 1" in text
    assert r"\{\{script\}\} \{\{numbers\}\}" in text
    body = [line for line in lines if line.endswith(r"\\")]
    columns = len(lines[0].split("{")[-1].rstrip("}"))
    assert all(line.replace(r"\&", "").count("&") == columns - 1 for line in body)


def test_without_a_clipboard_the_text_is_shown_to_copy(file, opened):
    page = opened(file)
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    page.get_by_role("button", name="Copy as CSV").click()
    assert page.locator("textarea").input_value().startswith("item,F1,F2")


# --- curves -------------------------------------------------------------------------------------


def points(page, css, k):
    text = page.locator(css).nth(k).get_attribute("points")
    return np.array([list(map(float, pair.split(","))) for pair in text.split()])


def test_a_factor_shows_the_curves_of_its_items(curved, opened):
    fit, file = curved
    page = opened(file)
    open_tab(page, "responses")
    page.get_by_role("group", name="Factor").get_by_role("button", name="F3").click()
    names = page.locator(f"{OPEN} .name").all_text_contents()
    assert names == list(fit.structure.children("F3"))
    curve = fit.response_curves().query("factor == 'F3' and item == @names[1]")
    drawn = points(page, f"{OPEN} polyline", 1)
    heights = -(drawn[:, 1] - drawn[0, 1])
    values = curve["value"].to_numpy() - curve["value"].iloc[0]
    scale = heights[np.abs(values).argmax()] / values[np.abs(values).argmax()]
    assert scale > 0
    np.testing.assert_allclose(heights, values * scale, atol=0.12)  # tenths of a pixel
    band = points(page, f"{OPEN} polygon", 1)
    assert len(band) == 2 * len(curve)
    lower = drawn[0, 1] - (curve["lower"].to_numpy() - curve["value"].iloc[0]) * scale
    np.testing.assert_allclose(band[: len(curve), 1], lower, atol=0.12)


def test_a_factor_of_the_table_leads_to_its_curves(fit, file, opened):
    page = opened(file)
    open_tab(page, "explore")
    page.locator("table.factors").get_by_role("button", name="F4", exact=True).click()
    assert visible(page) == ["panel-responses"]
    assert page.locator("#responses button[aria-pressed=true]").text_content() == "F4"
    assert page.locator(f"{OPEN} .name").count() == len(fit.structure.children("F4"))


def test_paper_has_the_curves_of_all_factors_under_their_names(fit, file, opened):
    page = opened(file)
    page.emulate_media(media="print")
    heads = page.locator("#responses h3")
    assert heads.all_text_contents() == list(fit.factor_names)
    assert all(head.is_visible() for head in heads.all())
    assert page.locator(".curves svg:visible").count() == int(fit.support.sum())


def test_a_factor_without_curves_is_no_link(opened, tmp_path):
    r = dt.load_dataset("holzinger_swineford_9").corr()
    fit = dt.fit(dt.DependenceMatrix.from_matrix(r, n_obs=301))
    page = opened(fit.report(tmp_path / "r.html"))
    open_tab(page, "explore")
    assert page.locator("table.factors tbody th").first.text_content() == "F1"
    assert page.locator("table.factors button.link").count() == 0


# --- what the page says -------------------------------------------------------------------------


def test_choice_fit_trust_and_call_are_there(fit, file, opened):
    page = opened(file)
    text = page.evaluate("() => document.body.textContent")
    assert fit.explanation in text
    assert "301 of 301 rows used (145 complete), 26 items" in text
    assert f"{fit.fit_measures['cfi']:.3f}" in page.text_content("#panel-answer")
    trust = page.text_content("#panel-trust")
    assert "95 % interval" in trust
    assert "violated" in trust
    call = page.text_content("#panel-reproduce")
    for part in ("dt.fit(", 'criterion="step"', "dt_fit(", "Kim", "NumPy", fit.to_lavaan()):
        assert part in call


def test_the_call_makes_the_fit_again(fit, file, opened):
    page = opened(file)
    code = page.locator("#panel-reproduce pre").first.text_content()
    names = {"data": plain("holzinger_swineford_26")}
    exec(code, names)
    assert names["fit"].structure == fit.structure
    pd.testing.assert_frame_equal(names["fit"].loadings, fit.loadings)


# --- names that mean harm -----------------------------------------------------------------------


def test_hostile_names_are_only_text(hostile, opened, explorer):
    fit, file = hostile
    page = opened(file)
    for k in range(tabs(page).count()):
        tabs(page).nth(k).click()
    for button in page.locator("table.levels button").all():
        button.dispatch_event("click")
    page.select_option("#pick-level", str(fit.n_factors))
    open_tab(page, "explore")
    assert explorer(page).said.startswith("Chosen: ")
    for button in page.locator("table.factors button.item").all():
        button.focus()
    page.evaluate(SETTLE)
    assert page.evaluate("() => window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert page.text_content("h1") == "<script>window.hacked = 3</script>"
    buttons = {text.rstrip("*") for text in page.locator("button.item").all_text_contents()}
    assert buttons == set(fit.item_names)


def test_texts_of_items_stand_beside_their_names_and_are_only_text(opened, tmp_path):
    data = plain("holzinger_swineford_9")
    fit = dt.fit(data)
    texts = dict(zip(data.columns[1:], HOSTILE, strict=False))
    object.__setattr__(fit, "item_texts", texts)
    page = opened(fit.report(tmp_path / "texts.html"))
    shown = page.evaluate(
        """() => [...document.querySelectorAll("article.factor tbody tr")].map(row =>
          [row.querySelector(".name").textContent, row.querySelector(".text")?.textContent])"""
    )
    assert {name: text for name, text in shown if text} == texts
    head, *rows = shown_table(page)
    assert head[:3] == ["item", "text", "F1"]
    assert {row[0]: row[1] for row in rows if row[1]} == texts
    assert page.locator("table.described thead th").nth(1).text_content() == "text"
    assert page.evaluate("() => window.hacked") is None
    assert page.locator("img").count() == 0


# --- eyes, screens, sizes -----------------------------------------------------------------------


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_serious_bars_anybody(curved, hostile, opened, width):
    for _, file in (curved, hostile):
        page = opened(file, width)
        for k in range(tabs(page).count()):
            tabs(page).nth(k).click()
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            found = Axe().run(page).response["violations"]
            serious = [one for one in found if one["impact"] in ("serious", "critical")]
            assert [(one["id"], one["nodes"][0]["html"]) for one in serious] == []


CUT_OFF = """() => [...document.querySelectorAll("main *")].filter(one => one.checkVisibility()
  && !one.closest(".unseen, svg, canvas") && getComputedStyle(one).overflowX !== "visible"
  && one.scrollWidth > one.clientWidth + 1).map(one => one.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize("width", [1440, 800, 390])
def test_nothing_is_cut_off_or_scrolled_aside(file, hostile, curved, opened, width):
    for one in (file, hostile[1], curved[1]):
        page = opened(one, width)
        for k in range(tabs(page).count()):
            tabs(page).nth(k).click()
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            page.evaluate(SETTLE)
            assert page.evaluate("() => document.documentElement.scrollWidth") <= width
            assert page.evaluate(CUT_OFF) == []


def test_a_desktop_shows_loadings_as_a_table_and_a_phone_as_lists(fit, file, opened):
    wide, narrow = opened(file, 1440), opened(file, 390)
    assert wide.locator("table.loadings.stacked").count() == 0
    assert narrow.locator("table.loadings.stacked").count() == 1
    assert shown_table(wide) == shown_table(narrow)
    label = "td => getComputedStyle(td, '::before').content"
    cell = narrow.locator("table.loadings td:not(:empty)").first
    assert cell.evaluate(label).startswith('"F1')
    assert narrow.get_by_role("row").count() > len(fit.item_names)  # a table to screen readers


def test_the_width_of_a_desktop_is_used(file, opened):
    page = opened(file, 1440)
    right = page.evaluate(
        "() => Math.max(...[...document.querySelectorAll('article.factor')]"
        ".map(card => card.getBoundingClientRect().right))"
    )
    assert right > 1300
    boxes = [page.locator(css).bounding_box() for css in (".facts >> nth=0", "table.levels")]
    assert boxes[1]["x"] > boxes[0]["x"] + boxes[0]["width"]  # side by side


def test_answers_are_pictured_and_said(fit, file, opened):
    page = opened(file)
    open_tab(page, "items")
    data = plain("holzinger_swineford_26")
    rows = page.locator("table.described tbody tr")
    assert rows.count() == 26
    for k in (0, 13, 25):
        cells = rows.nth(k).locator("td").all_text_contents()
        column = data.iloc[:, k]
        assert cells[0] == str(column.count())
        assert float(cells[4].replace("−", "-")) == pytest.approx(column.mean(), abs=0.0051)
        assert float(cells[5]) == pytest.approx(column.std(), rel=0.01)
        said = rows.nth(k).locator("svg").get_attribute("aria-label")
        assert said.startswith(f"Shares of the answers to {fit.item_names[k]}, from the lowest: ")


def test_no_factor_is_explained_and_the_path_is_there(opened, explorer, tmp_path):
    noise = np.random.default_rng(3).normal(size=(150, 8))
    fit = dt.fit(pd.DataFrame(noise, columns=list("abcdefgh")))
    assert not fit.n_factors
    page = opened(fit.report(tmp_path / "none.html"))
    assert page.text_content("h1") == "No factor behind 8 items"
    assert "No structure describes the items better than independence" in page.text_content(
        "#panel-answer"
    )
    open_tab(page, "explore")
    page.focus("#threshold")
    page.keyboard.press("Home")
    page.keyboard.press("PageUp")
    shown = explorer(page)
    count = fit.path.at(shown.threshold).n_factors
    assert shown.said.startswith(f"At {shown.threshold:.3f}: {count} factor")
    for k in range(tabs(page).count()):
        tabs(page).nth(k).click()
    assert tabs(page).count() == 4


def test_too_many_items_get_tables_and_are_told_so(monkeypatch, opened, tmp_path):
    monkeypatch.setattr("dtstat.page.numbers.MOST_DRAWN", 20)
    fit = dt.fit(plain("holzinger_swineford_26"))
    page = opened(fit.report(tmp_path / "many.html"))
    assert "There are 26 items: more than" in page.text_content("#panel-explore")
    assert page.locator("canvas").count() == 0
    assert page.locator(".tree svg").count() == 1


def test_loadings_on_very_many_factors_are_listed(opened, tmp_path):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(400, 16)), 3, axis=1) + 0.6 * rng.normal(size=(400, 48))
    names = [f"q{i}" for i in range(48)]
    keys = {f"F{k}": names[3 * k : 3 * k + 3] for k in range(16)}
    structure = dt.Structure.from_keys(keys, names)
    fit = dt.fit(pd.DataFrame(X, columns=names), structure=structure)
    page = opened(fit.report(tmp_path / "many.html"))
    head, *rows = shown_table(page)
    assert head == ["item", "factor", "loading", "h2"]
    assert len(rows) == 48
    pairs = page.locator("table.correlations tbody tr")
    assert pairs.count() == 30
    assert "The strongest 30 of 120 pairs." in page.text_content("#answer")


def test_sixty_items_are_far_below_three_megabytes(tmp_path):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(300, 10)), 6, axis=1) + rng.normal(size=(300, 60))
    fit = dt.fit(pd.DataFrame(X, columns=[f"a_longer_item_name_{i}" for i in range(60)]))
    assert fit.report(tmp_path / "sixty.html").stat().st_size < 500_000
