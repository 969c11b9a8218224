"""How fast the page is in a browser: opening, and one move of the slider, from event to paint.

python -m benchmarks.page
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import Browser, sync_playwright

import dtstat as dt
from dtstat.core.about import __version__

RESULTS = Path(__file__).parent / "results" / "page.txt"
SIZES = ((60, 10), (120, 15), (300, 30), (400, 40), (2000, 100))  # items, factors
ROWS = 500
MOVES = 60
# From the event to the frame after the one that draws it: what the eye waits for.
MOVE = """async (values) => {
  const slider = document.getElementById("threshold");
  const times = [];
  for (const value of values) {
    const start = performance.now();
    slider.value = value;
    slider.dispatchEvent(new Event("input"));
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    times.push(performance.now() - start);
  }
  return times;
}"""
TWO_FRAMES = "() => new Promise(f => requestAnimationFrame(() => requestAnimationFrame(f)))"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]


def main() -> None:
    lines = [
        f"Page in headless Chromium, dtstat {__version__}; a frame is 16.7 ms, a move takes two"
    ]
    head = "items  thresholds  fit s  page s      MB  open s  move ms, median  95 %  most"
    lines += [head, "-" * len(head)]
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        for p, d in SIZES:
            lines.append(row(browser, Path(folder) / "page.html", p, d))
            print(lines[-1], flush=True)
        browser.close()
    RESULTS.write_text("\n".join(lines) + "\n")
    print(RESULTS.read_text())


def row(browser: Browser, file: Path, p: int, d: int) -> str:
    data = survey(p, d)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dt.DTWarning)
        # Searching among thousands of items is not what is measured here.
        fit = dt.fit(data, structure=truth(p, d) if p > 1000 else None)
    fitted = time.perf_counter()
    fit.report(file)
    written = time.perf_counter()
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(file.as_uri())
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    opened = time.perf_counter() - written
    thresholds = p * (p - 1) // 2
    about = f"{p:5d}  {thresholds:10d}  {fitted - start:5.1f}  {written - fitted:6.1f}"
    about += f"  {file.stat().st_size / 1e6:6.2f}  {opened:6.2f}"
    if page.locator("#threshold").count():
        top = float(page.get_attribute("#threshold", "max") or 1)
        values = np.random.default_rng(1).uniform(0, top, MOVES).tolist()
        times = sorted(page.evaluate(MOVE, values))
        at = times[int(0.95 * MOVES)]
        about += f"  {statistics.median(times):15.0f}  {at:4.0f}  {times[-1]:4.0f}"
    else:
        about += "  tables instead of the graph"
    page.close()
    return about


def survey(p: int, d: int) -> pd.DataFrame:
    """Correlated factors, cross-talk and noise, so that the path is as full as that of a survey."""
    rng = np.random.default_rng(p)
    Z = rng.normal(size=(ROWS, d)) + 0.5 * rng.normal(size=(ROWS, 1))
    X = np.repeat(Z, p // d, axis=1) * rng.uniform(0.4, 0.9, p) + rng.normal(size=(ROWS, p))
    return pd.DataFrame(X, columns=[f"item_{i + 1}" for i in range(p)])


def truth(p: int, d: int) -> dt.Structure:
    """Return the structure behind the survey."""
    names = [f"item_{i + 1}" for i in range(p)]
    return dt.Structure(np.repeat(np.eye(d, dtype=bool), p // d, axis=0), names)


if __name__ == "__main__":
    main()
