"""Make the pictures that the README shows: a plot, and the page as a browser shows it.

python tools/readme_pictures.py [FOLDER]
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import dtstat as dt

FOLDER = Path(__file__).parents[1] / "vignettes" / "figures"
DATA = "holzinger_swineford_26"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
THRESHOLD = 0.4


def main(folder: Path = FOLDER) -> list[Path]:
    """Write both; return the files."""
    fit = dt.fit(dt.load_dataset(DATA))
    return [plot(fit, folder / "readme_dependence.png"), page(fit, folder / "readme_page.png")]


def plot(fit: dt.DTFit, file: Path) -> Path:
    """Draw the dependence of the items."""
    import matplotlib

    matplotlib.use("Agg")
    fit.plot("dependence").figure.savefig(file, dpi=90)
    return file


def page(fit: dt.DTFit, file: Path) -> Path:
    """Photograph the page at a threshold, an item pointed at."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, BROWSERS)))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        report = fit.report(Path(folder) / "report.html")
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        view = browser.new_page(viewport={"width": 1100, "height": 1500})
        view.goto(report.as_uri())
        slider = "document.getElementById('threshold')"
        view.evaluate(
            f"() => {{ {slider}.value = {THRESHOLD}; {slider}.dispatchEvent(new Event('input')); }}"
        )
        view.get_by_role("button", name="t22_probreas").focus()
        view.wait_for_timeout(200)
        view.screenshot(path=file)
        browser.close()
    return file


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
