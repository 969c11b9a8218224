"""The site: built without a warning, whole, linked, and without the network."""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from requirement import require

import dtstat

ROOT = Path(__file__).parents[2]
WIDTHS = (1280, 390)  # a desktop, a phone
SHOWN = ("index.html", "tour.html", "walk.html", "api/fit.html", "r/reference/dt_fit.html")


class Page(HTMLParser):
    """Places and links of a page."""

    def __init__(self, file):
        super().__init__()
        self.places, self.links, self.loaded = set(), [], []
        self.text = file.read_text("utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.places |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in ("img", "script", "link", "iframe"):
            self.loaded += [given[name] for name in ("src", "href") if given.get(name)]


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the site, made anew; warnings are errors."""
    require(shutil.which("Rscript") is not None, "R")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder


@pytest.fixture(scope="session")
def pages(site):
    """All pages by their place; that for missing ones has links from the top of a server."""
    files = {file.relative_to(site).as_posix(): Page(file) for file in site.rglob("*.html")}
    return {name: page for name, page in files.items() if name != "404.html"}


def target(site, name, link):
    """Return the file and the place in it that a link of a page leads to."""
    path, _, place = link.partition("#")
    file = (site / name).parent / unquote(path) if path else site / name
    return Path(os.path.normpath(file / "index.html" if file.is_dir() else file)), unquote(place)


def test_every_link_leads_somewhere(site, pages):
    broken = []
    for name, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            file, place = target(site, name, link)
            there = pages.get(file.relative_to(site).as_posix()) if file.is_file() else None
            missing = place and there is not None and place not in there.places
            if not file.is_file() or (missing and place != "__skip"):
                broken.append((name, link))
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(site, pages):
    for name, page in pages.items():
        for link in page.loaded:
            assert not re.match(r"(https?:)?//", link), (name, link)
            assert target(site, name, link.split("?")[0])[0].is_file(), (name, link)
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(https?:)?//", style.read_text("utf-8")), style.name


def test_every_public_name_is_in_the_reference(pages):
    places = [page.places for name, page in pages.items() if name.startswith("api/")]
    for name in dtstat.__all__:
        thing = getattr(dtstat, name)
        full = f"{thing.__module__}.{thing.__qualname__}"
        assert sum(full in one for one in places) == 1, name


def test_no_reference_is_left_unresolved(pages):
    for name, page in pages.items():
        if name.startswith("api/"):
            assert not re.search(r":(func|class|meth|mod|attr):", page.text), name


def test_every_help_page_of_r_is_there(pages):
    for file in (ROOT / "r-wrapper" / "man").glob("*.Rd"):
        page = pages[f"r/reference/{file.stem}.html"]
        assert "description" in page.places
        assert f"reference/{file.stem}.html" in "".join(pages["r/index.html"].links)


def test_every_vignette_and_result_is_there(pages):
    for file in (ROOT / "vignettes").glob("*.md"):
        assert f"vignettes/{file.stem.replace('README', 'index')}.html" in pages
    results = ROOT / "benchmarks" / "results"
    for file in results.rglob("*.md"):
        assert f"benchmarks/{file.relative_to(results).with_suffix('.html').as_posix()}" in pages


# On a busy machine the words may be there before the script that reads them.
ASK_UNTIL_FOUND = """() => {
  const asked = document.querySelector("input[name=query]");
  for (const kind of ["focus", "input", "keyup"]) asked.dispatchEvent(new Event(kind));
  return document.querySelector(".md-search-result__item") !== null;
}"""


@pytest.mark.parametrize("width", WIDTHS)
def test_pages_fit_the_screen_and_ask_nothing_of_the_network(site, chromium, width):
    context = chromium.new_context(viewport={"width": width, "height": 900})
    asked, troubles = [], []
    context.on("request", lambda request: asked.append(request.url))
    for name in SHOWN:
        page = context.new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto((site / name).as_uri())
        wider = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wider <= 0, f"{name} is {wider} pixels wider than the screen"
    context.close()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))] == []
    assert troubles == []


def test_search_works_in_pages_that_are_opened_as_files(site, chromium):
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto((site / "index.html").as_uri())
    page.fill("input[name=query]", "barcode")
    page.wait_for_function(ASK_UNTIL_FOUND)
    context.close()
