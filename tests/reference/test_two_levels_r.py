"""Models of two levels: lavaan accepts what ``to_lavaan`` writes, and fits it as ``cfa`` does."""

import pandas as pd
import pytest

import dtstat as dt

LAVAAN_CLOSE = 1e-4
FITTED = """
fitted <- suppressWarnings(lavaan::cfa(model$text, x))
list(
  converged = lavaan::lavInspect(fitted, "converged"),
  chisq = lavaan::fitMeasures(fitted, "chisq")[[1]],
  df = lavaan::fitMeasures(fitted, "df")[[1]]
)
"""

pytestmark = pytest.mark.against_r


@pytest.fixture(scope="module")
def fits():
    """Fits by data, and number of factors; several are below a broad one."""
    nine = dt.load_dataset("holzinger_swineford_9")
    tests = dt.load_dataset("holzinger_swineford_26")
    few = tests.drop(columns=["t25_frmbord2", "t26_flags"])
    return {
        "nine tests": (nine, dt.fit(nine)),
        "24 tests": (few, dt.fit(few, 4)),
        "26 tests": (tests, dt.fit(tests)),
    }


@pytest.mark.parametrize("model", ["higher_order", "bifactor"])
@pytest.mark.parametrize("name", ["nine tests", "24 tests", "26 tests"])
@pytest.mark.filterwarnings("ignore::dtstat.EstimationWarning")  # Heywood cases, there and here
def test_lavaan_finds_the_same(run_r, fits, name, model):
    data, fit = fits[name]
    text = fit.to_lavaan(model)
    theirs = run_r(FITTED, x=data, model=pd.DataFrame({"text": [text]}))
    ours = dt.cfa(data, text)
    assert theirs["converged"] == [1]
    assert not any("converge" in note for note in ours.warnings)
    assert ours.fit_measures["df"] == theirs["df"][0]
    assert ours.fit_measures["chisq"] == pytest.approx(theirs["chisq"][0], rel=LAVAAN_CLOSE)
    simple = dt.cfa(data, fit.level("fine").to_lavaan())
    more = ours.fit_measures["df"] - simple.fit_measures["df"]
    # A factor above two others says of three factors what their correlations say.
    assert more >= 0 if model == "higher_order" else more < 0
    assert ("restricts nothing" in text) == (more == 0)
