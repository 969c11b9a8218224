"""Shared fixtures. A skip must not look like a pass: see ``require``."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import json
import shutil
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import settings
from requirement import require

# The same cases on every machine, at every hour; none is remembered from the last run.
settings.register_profile("same", derandomize=True, database=None, deadline=None)
settings.load_profile("same")
SEED = 1  # of the order of the tests; another one by --randomly-seed

BROWSER_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
SETTLE = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
R_PACKAGES = ("psych", "psychTools", "lavaan", "pcaPP", "energy", "reticulate")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Fix what pytest-randomly would take from the clock."""
    if getattr(config.option, "randomly_seed", None) == "default":
        config.option.randomly_seed = SEED


def pytest_collection_modifyitems(items):
    """Mark what takes long and draws much: `make test` leaves it to `make test-long`."""
    for item in items:
        if item.path.parent.name == "statistical" or item.path.name == "test_killed.py":
            item.add_marker("long")


def pytest_terminal_summary(terminalreporter):
    """Say how many fuzz cases were run; their tests may have run in other processes."""
    properties = (
        found
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for found in report.user_properties
    )
    cases = sum(count for name, count in properties if name == "fuzz_cases")
    if cases:
        terminalreporter.write_line(f"fuzz: {cases} cases of the public functions and commands")


@pytest.fixture(autouse=True)
def same_fresh_seeds(monkeypatch):
    """Seeds that nobody gives differ from call to call, but are the same in every run."""
    fresh = (np.random.SeedSequence(SEED, spawn_key=(k,)) for k in itertools.count())
    monkeypatch.setattr("dtstat.core.checks.fresh_seed", lambda: next(fresh))


@pytest.fixture
def drawing(monkeypatch):
    """Draw into memory; showing a picture fails, and none is left behind."""
    require(importlib.util.find_spec("matplotlib") is not None, "matplotlib")
    plt = importlib.import_module("matplotlib.pyplot")
    plt.switch_backend("Agg")
    settings = dict(plt.rcParams)

    def refuse(*_, **__):
        raise AssertionError("a picture was shown")

    monkeypatch.setattr(plt, "show", refuse)
    yield plt
    plt.close("all")
    assert dict(plt.rcParams) == settings


@pytest.fixture(scope="session")
def chromium_program() -> str:
    """Path of a real browser."""
    found = [path for path in map(shutil.which, BROWSERS) if path]
    require(bool(found), "Chromium")
    return found[0]


# --- a real browser, with everything that must not happen in it written down ---


@pytest.fixture(scope="session")
def chromium(chromium_program):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_program, args=BROWSER_FLAGS)
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


def open_tab(page, name):
    """Open a part of the page and wait until it is drawn to its width."""
    page.click(f"#tab-{name}")
    page.evaluate(SETTLE)


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


# --- live R ---


@pytest.fixture(scope="session")
def _r_state() -> str:
    """What is missing of R: "" if nothing."""
    if shutil.which("Rscript") is None:
        return "Rscript"
    names = ", ".join(f'"{name}"' for name in R_PACKAGES)
    code = f'p <- c({names}); cat(p[!sapply(p, requireNamespace, quietly = TRUE)], sep = ", ")'
    answer = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=True)
    return answer.stdout.strip()


@pytest.fixture
def require_r(_r_state: str) -> None:
    """Live R with the packages that serve as references."""
    require(_r_state == "", f"R with {_r_state}")


@pytest.fixture
def run_r(require_r, tmp_path):
    """Run R code that reads the csv files given and ends in a list of numbers; return it.

    ``run_r(code, x=frame)`` makes the frame available in R as the data frame ``x``; the value of
    ``code`` must be a named list of numbers, vectors or matrices, which come back as nested lists.
    """

    def run(code: str, **frames) -> dict:
        reads = []
        for name, frame in frames.items():
            frame.to_csv(tmp_path / f"{name}.csv", index=False)
            reads.append(f'{name} <- read.csv("{tmp_path / name}.csv", check.names = FALSE)')
        script = "\n".join(
            [
                "suppressPackageStartupMessages({",
                *reads,
                f"result <- local({{ {code} }})",
                "})",
                "number <- function(v) ifelse(is.na(v), 'null', format(v, digits = 17))",
                "listed <- function(v) paste0('[', paste(v, collapse = ','), ']')",
                "vector <- function(v) listed(number(as.numeric(v)))",
                "value <- function(v) if (is.matrix(v)) listed(apply(v, 1, vector)) else vector(v)",
                "cat('{', paste0('\"', names(result), '\":', sapply(result, value),"
                " collapse = ','), '}', sep = '')",
            ]
        )
        (tmp_path / "script.R").write_text(script)
        done = subprocess.run(
            ["Rscript", str(tmp_path / "script.R")], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
