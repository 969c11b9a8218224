"""Make the pictures that the README shows: two plots, and the page as a browser shows it.

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


def main(folder: Path = FOLDER) -> list[Path]:
    """Write all; return the files."""
    fit = dt.fit(dt.load_dataset(DATA), n_factors=5)  # as many as the codebook has groups
    return [
        plot(fit, "tree", folder / "readme_tree.png"),
        plot(fit, "dependence", folder / "readme_dependence.png"),
        page(fit, folder / "readme_page.png"),
    ]


def plot(fit: dt.DTFit, kind: str, file: Path) -> Path:
    """Draw one kind of picture of the fit."""
    import matplotlib

    matplotlib.use("Agg")
    fit.plot(kind).figure.savefig(file, dpi=90)
    return file


def page(fit: dt.DTFit, file: Path) -> Path:
    """Photograph the page as it opens."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, BROWSERS)))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        report = fit.report(Path(folder) / "report.html")
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        view = browser.new_page(viewport={"width": 1200, "height": 1100})
        view.goto(report.as_uri())
        view.wait_for_timeout(200)
        view.screenshot(path=file)
        browser.close()
    return file


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
