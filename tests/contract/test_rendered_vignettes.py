"""The vignettes as pages for a browser: whole, linked, and without the network."""

import re
import runpy
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from requirement import require

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "render_vignettes.py"))
SOURCES = sorted((ROOT / "vignettes").glob("*.md"))
NAMES = [TOOL["page_name"](source) for source in SOURCES]


class Page(HTMLParser):
    """Titles, places, links and pictures of a page."""

    def __init__(self, file):
        super().__init__()
        self.title, self.places, self.links, self.sources, self._tag = "", set(), [], [], ""
        self.text = file.read_text()
        self.feed(self.text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self._tag = tag
        self.places |= {given[name] for name in ("id", "name") if name in given}
        self.links += [given["href"]] if "href" in given else []
        self.sources += [given["src"]] if "src" in given else []

    def handle_data(self, data):
        self.title += data if self._tag == "title" else ""

    def handle_endtag(self, tag):
        self._tag = ""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of the rendered pages."""
    require(shutil.which("pandoc") is not None, "pandoc")
    rendered = tmp_path_factory.mktemp("rendered")
    TOOL["render_all"](rendered)
    return rendered


@pytest.fixture(scope="module")
def pages(folder):
    """All pages of the folder, by their path in it."""
    return {str(file.relative_to(folder)): Page(file) for file in folder.rglob("*.html")}


def test_every_vignette_has_a_page_with_its_title(pages):
    for source, name in zip(SOURCES, NAMES, strict=True):
        assert pages[name].title.strip() == source.read_text().splitlines()[0].removeprefix("# ")


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(folder, pages, name):
    for link in pages[name].links:
        file, _, place = link.partition("#")
        assert not file or (folder / file).is_file(), link
        if place and (file or name) in pages:
            assert place in pages[file or name].places, link


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_within_the_page(pages, name):
    source = SOURCES[NAMES.index(name)].read_text()
    assert len(pages[name].sources) == len(re.findall(r"^!\[", source, re.MULTILINE))
    assert all(one.startswith("data:image/png;base64,") for one in pages[name].sources)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_fetched(pages, name):
    page = pages[name]
    assert not [one for one in (*page.links, *page.sources) if re.match(r"(https?:)?//", one)]
    assert "@import" not in page.text
    assert not re.search(r"url\(\s*['\"]?(https?:)?//", page.text)
    assert "<script" not in page.text


def test_the_index_links_to_all(pages):
    assert set(NAMES) - {"index.html"} <= set(pages["index.html"].links)


def test_solutions_are_folded(pages):
    for name in set(NAMES) - {"index.html"}:
        assert pages[name].text.count('<details class="solutions"') == 1


def test_pages_of_r_are_taken_if_built(tmp_path):
    build = tmp_path / "r"
    (build / "dtstat" / "inst" / "doc").mkdir(parents=True)
    (build / "dtstat" / "inst" / "doc" / "planning-a-survey.html").write_text("made by R")
    shutil.make_archive(str(build / "dtstat_0"), "gztar", build, "dtstat")
    page_of_r = TOOL["page_of_r"]
    known = page_of_r.__globals__["BUILD"]
    page_of_r.__globals__["BUILD"] = tmp_path
    try:
        assert page_of_r("planning-a-survey") == b"made by R"
        assert page_of_r("another") is None
    finally:
        page_of_r.__globals__["BUILD"] = known
