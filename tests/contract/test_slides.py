"""The slides of the lesson: what the code computes, one file, every slide within its frame."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "slides.py"))
SLIDES = TOOL["SOURCE"].with_suffix(".html")
DRAWING = re.compile(r"<svg.*?</svg>", re.DOTALL)
ROOM = """() => [...document.querySelectorAll(".slide")].map(slide =>
  [slide.scrollHeight - slide.clientHeight, slide.scrollWidth - slide.clientWidth])"""


def test_slides_are_up_to_date():
    fresh, shown = TOOL["slides"](TOOL["SOURCE"].read_text()), SLIDES.read_text()
    assert DRAWING.sub("", fresh) == DRAWING.sub("", shown), "run `make refresh`"
    assert len(DRAWING.findall(fresh)) == len(DRAWING.findall(shown))


def test_one_file_that_needs_no_network():
    text = SLIDES.read_text()
    assert "src=" not in text
    assert "<link" not in text
    assert "@import" not in text
    assert not re.search(r"url\(\s*['\"]?(https?:)?//", text)


def test_no_two_things_have_one_name():
    names = re.findall(r'\sid="([^"]+)"', SLIDES.read_text())
    assert len(names) == len(set(names))


@pytest.fixture
def page(chromium):
    context = chromium.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    page.goto(SLIDES.as_uri())
    yield page
    context.close()


def shown(page):
    return page.evaluate(
        "[...document.querySelectorAll('section')].filter(s => s.offsetParent).map(s => s.id)"
    )


def test_keys_go_from_slide_to_slide(page):
    assert shown(page) == ["s1"]
    for key, slide in (("ArrowRight", "s2"), (" ", "s3"), ("PageUp", "s2"), ("Home", "s1")):
        page.keyboard.press(key)
        assert shown(page) == [slide]
    page.keyboard.press("End")
    last = shown(page)
    page.keyboard.press("ArrowRight")
    assert shown(page) == last
    assert page.url.endswith("#" + last[0])


def test_notes_are_shown_on_demand(page):
    assert not page.locator("#s1 .note").is_visible()
    page.keyboard.press("n")
    assert page.locator("#s1 .note").is_visible()


def test_every_slide_keeps_within_its_frame(page):
    page.emulate_media(media="print")  # all at once
    assert all(height <= 0 and width <= 0 for height, width in page.evaluate(ROOM))
