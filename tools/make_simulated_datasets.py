"""Write the simulated data sets and their codebooks, byte for byte the same each time.

Run from the top folder of the repository: ``python tools/make_simulated_datasets.py``
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from dtstat.simulation.generate import simulate

FILES = Path(__file__).parents[1] / "data"
# One seed per file: with the same seed, designs of equally many factors share their first ones.
SEEDS = {"v_structure": 1, "chain": 2, "double_mediation": 3, "likert_survey": 4}
SCALES = ("engage", "support", "autonomy", "growth")
ITEMS_PER_SCALE = 6
# Rising maps only, so that the reversed items are exactly those of likert_survey().
RISING_MAPS = ("linear", "g7", "g1", "g9", "g6")


Table = tuple[pd.DataFrame, pd.DataFrame]  # the answers and their codebook


def paper_design(design: str) -> Table:
    """Return 1000 observations of one of the paper's three graphs."""
    drawn = simulate(design, n=1000, seed=SEEDS[design])
    answers = drawn.data.round(6)
    book = pd.DataFrame(
        {
            "item": drawn.maps["item"],
            "text": "Map " + drawn.maps["map"] + " of " + drawn.maps["factor"] + ", and noise",
            "group": drawn.maps["factor"],
            "values": [f"{answers[x].min():.2f} to {answers[x].max():.2f}" for x in answers],
        }
    )
    return answers, book


def likert_survey() -> Table:
    """Return 800 five-point answers on four scales that correlate at 0.3.

    The last item of each scale is reverse-keyed, and about 3 % of the answers are missing
    completely at random. Half of each item's variance is noise, as in a questionnaire.
    """
    answers = simulate(
        "clusters",
        n=800,
        maps=RISING_MAPS,
        snr=1.0,
        n_factors=len(SCALES),
        items_per_factor=ITEMS_PER_SCALE,
        factor_correlation=0.3,
        levels=5,
        seed=SEEDS["likert_survey"],
    ).data
    answers.columns = [f"{s}_{i}" for s in SCALES for i in range(1, ITEMS_PER_SCALE + 1)]
    reversed_items = answers.columns[ITEMS_PER_SCALE - 1 :: ITEMS_PER_SCALE]
    answers[reversed_items] = 6 - answers[reversed_items]
    missing = np.random.default_rng(SEEDS["likert_survey"]).random(answers.shape) < 0.03
    rows = [(item, *described(item, item in reversed_items)) for item in answers]
    book = pd.DataFrame(rows, columns=["item", "text", "group", "values"])
    return answers.astype("Int64").mask(missing), book


def described(item: str, is_reversed: bool) -> tuple[str, str, str]:
    """Return the text, the group and the values of an item of the survey."""
    scale, number = item.split("_")
    text = f"Statement {number} of the scale {scale}" + (", reverse-keyed" if is_reversed else "")
    return text, scale, "1, 2, 3, 4, 5"


def all_files() -> dict[str, str]:
    """Return the text of each file by its name in the folder of the data."""
    tables = {f"sim_{d}": paper_design(d) for d in ("v_structure", "chain", "double_mediation")}
    tables["likert_survey"] = likert_survey()
    texts = {}
    for name, (answers, book) in tables.items():
        texts[f"{name}.csv"] = answers.to_csv(index=False, lineterminator="\n")
        texts[f"codebooks/{name}.csv"] = book.to_csv(index=False, lineterminator="\n")
    return texts


if __name__ == "__main__":
    for name, text in all_files().items():
        (FILES / name).write_bytes(text.encode())
