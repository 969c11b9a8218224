"""The simulated data sets and their codebooks are what the script makes today."""

import runpy
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest

SCRIPT = Path(__file__).parents[3] / "tools" / "make_simulated_datasets.py"
SETS = ("sim_v_structure", "sim_chain", "sim_double_mediation", "likert_survey")
NAMES = [f"{folder}{name}.csv" for name in SETS for folder in ("", "codebooks/")]


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(SCRIPT))


@pytest.fixture(scope="module")
def texts(script):
    return script["all_files"]()


def test_these_are_all_the_files(texts):
    assert list(texts) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_file_is_regenerated_byte_for_byte(name, texts, script):
    assert (script["FILES"] / name).read_bytes() == texts[name].encode()


def test_survey_looks_like_a_survey(texts):
    answers = pd.read_csv(StringIO(texts["likert_survey.csv"]))
    assert answers.shape == (800, 24)
    assert answers.stack().dropna().isin(range(1, 6)).all()
    assert 0.02 < answers.isna().to_numpy().mean() < 0.04
    correlations = answers.corr()
    assert (correlations.loc["engage_1", [f"engage_{i}" for i in range(2, 6)]] > 0.3).all()
    assert correlations.loc["engage_1", "engage_6"] < -0.3
