"""Write the simulated data sets that are shipped with dtstat, byte for byte the same each time.

Run from the top folder of the repository: ``python tools/make_simulated_datasets.py``
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from dtstat.simulation.generate import simulate

FILES = Path(__file__).parents[1] / "dtstat" / "data" / "files"
# One seed a file: with the same seed, designs of equally many factors share their first ones.
SEEDS = {"v_structure": 1, "chain": 2, "double_mediation": 3, "likert_survey": 4}
SCALES = ("engage", "support", "autonomy", "growth")
ITEMS_PER_SCALE = 6
# Rising maps only, so that the reversed items are exactly those of likert_survey().
RISING_MAPS = ("linear", "g7", "g1", "g9", "g6")


def paper_design(design: str) -> pd.DataFrame:
    """Return 1000 observations of one of the paper's three graphs."""
    return simulate(design, n=1000, seed=SEEDS[design]).data.round(6)


def likert_survey() -> pd.DataFrame:
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
    return answers.astype("Int64").mask(missing)


def all_files() -> dict[str, str]:
    """Return the text of each file by its name."""
    frames = {f"sim_{d}": paper_design(d) for d in ("v_structure", "chain", "double_mediation")}
    frames["likert_survey"] = likert_survey()
    return {f"{k}.csv": v.to_csv(index=False, lineterminator="\n") for k, v in frames.items()}


if __name__ == "__main__":
    FILES.mkdir(parents=True, exist_ok=True)
    for name, text in all_files().items():
        (FILES / name).write_bytes(text.encode())
