"""Real surveys with a published key, read from R: what ``fit`` finds without being told.

The margins are a little below what was measured. They guard against a step back; they are no
evidence about new surveys, since these were in view when the rule of choice was made.
"""

import json
import subprocess
from pathlib import Path

import pandas as pd
import pytest

import dtstat as dt

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "surveys" / "keyed.R"
# In the spi, which has 27 scales of five items, 30 factors are found; with the number given nearly
# all items are where the key has them.
AT_LEAST = {"bfi": 0.95, "spi": 0.93, "holzinger_swineford_24": 0.85, "thurstone": 1.0}
IF_COUNTED = {"bfi": 0.95, "spi": 0.98, "holzinger_swineford_24": 0.85, "thurstone": 1.0}

pytestmark = pytest.mark.against_r


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("keyed")
    subprocess.run(["Rscript", str(SCRIPT), str(path)], capture_output=True, check=True)
    return path


def survey(folder, name):
    about = json.loads((folder / f"{name}.json").read_text())
    data = pd.read_csv(folder / f"{name}.csv")
    truth = dt.Structure.from_keys(about["key"], list(data.columns))
    if about["is_matrix"]:
        return dt.DependenceMatrix.from_matrix(data, about["n_obs"]), truth
    return data, truth


@pytest.mark.parametrize("name", AT_LEAST)
def test_scales_are_found(require_r, folder, name):
    data, truth = survey(folder, name)
    assert dt.compare(dt.fit(data).structure, truth).f1 >= AT_LEAST[name]


@pytest.mark.parametrize("name", IF_COUNTED)
def test_scales_are_found_if_their_number_is_known(require_r, folder, name):
    data, truth = survey(folder, name)
    found = dt.fit(data, n_factors=truth.n_factors)
    assert found.n_factors == truth.n_factors
    assert dt.compare(found.structure, truth).f1 >= IF_COUNTED[name]


def test_domains_of_100_adjectives_are_a_level(require_r, folder):
    """Whatever level stands out, that of five factors has the five domains."""
    data, truth = survey(folder, "big5_adjectives")
    fit = dt.fit(data)
    domains = fit.level(5)
    assert domains.structure.support.tolist() == dt.fit(data, 5).structure.support.tolist()
    assert dt.compare(domains.structure, truth).f1 > 0.85


def test_more_rows_do_not_buy_factors(require_r, folder):
    """A quarter of the answers, and all of them; plain criteria find more in more."""
    data, _ = survey(folder, "bfi")
    few = data.sample(len(data) // 4, random_state=1)
    assert dt.fit(data).n_factors <= dt.fit(few).n_factors + 1
    plain = dt.fit(data, misfit="none").n_factors
    assert plain > dt.fit(data).n_factors
