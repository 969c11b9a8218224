"""A real browser, with everything that must not happen in it written down."""

from types import SimpleNamespace

import pytest
from playwright.sync_api import sync_playwright

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
SETTLE = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.fixture(scope="session")
def chromium(chromium_program):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium):
    """Open a file; afterwards nothing was complained of, asked of the network, or popped up."""
    contexts = []
    troubles = []

    def open_file(path, width=1280, height=900):
        context = chromium.new_context(viewport={"width": width, "height": height})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: troubles.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: _note(request, path, troubles))
        page.goto(path.as_uri())
        page.evaluate(SETTLE)
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert troubles == []


def _note(request, path, troubles):
    if request.url.split("#")[0] != path.as_uri():
        troubles.append(f"request: {request.url}")


@pytest.fixture
def explorer():
    """Return what the explorer shows, as data."""

    def read(page):
        page.evaluate(SETTLE)
        return SimpleNamespace(
            threshold=float(page.get_attribute("output[for=threshold]", "data-exact")),
            said=page.text_content("table.factors caption"),
            factors=page.evaluate(
                """() => [...document.querySelectorAll("table.factors tbody tr")]
                  .map(row => [row.querySelector("th").textContent,
                    [...row.querySelectorAll("button.item")].map(b => b.textContent)])"""
            ),
            readout=dict(
                page.evaluate(
                    """() => [...document.querySelectorAll(".readout > div")]
                      .map(row => [row.querySelector("dt").textContent,
                        row.querySelector("dd").textContent])"""
                )
            ),
            why=page.text_content(".why"),
        )

    return read
