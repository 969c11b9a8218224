"""Cells as people and programs write numbers: each is the number it says, or is refused by name."""

import datetime
import math
import warnings

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.errors import InputError

RIGHT = {
    "-0": 0.0,
    "+3": 3.0,
    "00012": 12.0,
    " 3 ": 3.0,
    ".5": 0.5,
    "1.": 1.0,
    "1e3": 1000.0,
    "1E+3": 1000.0,
    "１２": 12.0,
    "٣": 3.0,
    "1e-400": 0.0,
    "NA": math.nan,
    "N/A": math.nan,
    ".": math.nan,
    "": math.nan,
}
REFUSED = [
    *("1,5", "1,234", "1,234,567", "1.234.567", "1 234", "1'234", "1\u00a0234", "1_234", "5,"),
    *("5%", "50 %", "$5", "5€", "0x1F", "½", "1/2", "²", "−3", "3*", "<1", "=3", "'3", "3\u200b"),
    *("n/a", "-", "--", "?", "NULL", "#N/A", "TRUE", "yes", "2020-01-05", "1-2", "12:30", "1j"),
    *("9007199254740993", "9007199254740993.0", "-9007199254740993", "12345678901234567890"),
]  # fmt: skip
COLUMNS = [  # of a whole item
    *(["1,5", "2,5"], ["1,234", "2,345"], ["1.234.567", "2.345.678"], ["1 234", "2 345"]),
    *(["1'234", "2'345"], ["9007199254740993.0", "5"]),
]  # fmt: skip


def written(folder, cells, separator=","):
    """A file whose second item has these cells among plain numbers, from the third row on."""
    numbers = np.random.default_rng(1).normal(size=(12, 3)).round(2)
    table = pd.DataFrame(numbers, columns=["a", "b", "c"]).astype(object)
    for row, cell in enumerate(cells, start=2):
        table.iloc[row, 1] = cell
    text = table.to_csv(None, index=False, sep=separator)
    file = folder / "answers.csv"
    file.write_text(text.replace(".", ",") if separator == ";" else text, encoding="utf-8")
    return file


@pytest.mark.parametrize("cell", RIGHT)
def test_what_a_number_says(tmp_path, cell):
    value = dt.read_survey(written(tmp_path, [cell]))["b"].tolist()[2]
    assert value == pytest.approx(RIGHT[cell], nan_ok=True)


@pytest.mark.parametrize("cell", REFUSED)
def test_what_is_no_number_is_refused_by_its_cell(tmp_path, cell):
    with pytest.raises(InputError, match=r"item 'b' .* in row 3"):
        dt.dependence(written(tmp_path, [cell]))


@pytest.mark.parametrize("cell", ["1e400", "-1e400", "inf"])
def test_what_is_not_finite_is_refused_by_its_cell(tmp_path, cell):
    with pytest.raises(InputError, match="inf in item 'b', row 3"):
        dt.dependence(written(tmp_path, [cell]))


@pytest.mark.parametrize("cells", COLUMNS)
def test_columns_that_may_be_read_in_two_ways(tmp_path, cells):
    table = pd.DataFrame({"a": [1.5, 2.5] * 5, "b": cells * 5})
    table.to_csv(tmp_path / "answers.csv", index=False)
    with pytest.raises(InputError, match=r"item 'b' holds .* in row 1"):
        dt.read_survey(tmp_path / "answers.csv")


@pytest.mark.parametrize("cell", ["1.234", "1.234.567", "1 234,5", "5,5 %", "1,2,3"])
def test_strange_cells_of_a_file_with_decimal_commas(tmp_path, cell):
    file = written(tmp_path, ["cell"], ";")
    file.write_text(file.read_text().replace("cell", cell))
    with pytest.raises(InputError, match=r"item 'b' .* in row 3"):
        dt.read_survey(file)


@pytest.mark.parametrize(
    "cell",
    [datetime.date(2020, 1, 2), datetime.time(3), pd.Timedelta(1, "D"), 1j, "3,5", [1], b"3"],
)
def test_objects_that_are_no_numbers(cell):
    table = pd.DataFrame({"a": [1.0, 2, 3], "b": pd.Series([1, 2, cell], dtype=object)})
    with pytest.raises(InputError, match=r"item 'b' .* in row 3"):
        dt.dependence(table)


@pytest.mark.parametrize("cells", [[True, False, True], ["TRUE", "FALSE", "TRUE"]])
def test_truth_is_one_and_zero(tmp_path, cells):
    pd.DataFrame({"a": [1.5, 2, 3], "b": cells}).to_csv(tmp_path / "a.csv", index=False)
    assert dt.read_survey(tmp_path / "a.csv")["b"].tolist() == [1, 0, 1]


def test_answers_near_the_largest_number_there_is():
    """Differences, sums and squares of them are beyond all numbers; numpy must not say so."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 1)) + 0.8 * rng.normal(size=(200, 4))
    X[:, 0] = np.sign(X[:, 0]) * 1.7e308
    X[:, 1] *= 3e307
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        R = dt.dependence(X, "kendall").values
        fit = dt.fit(X, estimator="spline", finalists=1, min_children=2, seed=1)
    np.testing.assert_array_equal(R, dt.dependence(np.ldexp(X, -40), "kendall").values)
    again = dt.fit(np.ldexp(X, -40), estimator="spline", finalists=1, min_children=2, seed=1)
    assert fit.structure == again.structure
    np.testing.assert_array_equal(fit.loadings, again.loadings)


def test_answers_whose_squares_are_zero():
    """Nothing is known of rows that look careless then, and numpy does not say so."""
    X = np.random.default_rng(2).normal(size=(60, 6))
    X[:, 2] *= 5e-324
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = dt.describe(pd.DataFrame(X))
    assert len(found.items) == 6


def test_masked_answers_are_missing_wherever_arrays_are_read():
    """With a floor, or many items, they were taken for answers."""
    X = np.random.default_rng(3).normal(size=(80, 7))
    masked = np.ma.masked_array(X, np.random.default_rng(4).random(X.shape) < 0.05)
    holes = masked.filled(np.nan)
    for data in (masked, holes):
        found = dt.dependence(data, floor=0.0)
        whole = dt.dependence(holes)
        i = np.repeat(np.arange(7), np.diff(found.starts))
        np.testing.assert_allclose(found.values, whole.values[i, found.neighbors], atol=1e-12)


def test_curves_of_answers_that_are_the_least_numbers_there_are():
    X = np.random.default_rng(3).normal(size=(90, 6))
    X[:, :3] += 1.5 * X[:, [3]]
    X[:, 5] *= 5e-324
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        fit = dt.fit(X, estimator="spline", finalists=1, min_children=2, seed=1)
    assert fit.n_factors == 1
    assert {"x1", "x2", "x3"} <= set(fit.structure.to_keys()["F1"])


def test_reliability_beside_an_item_of_no_scale_whose_squares_are_no_numbers():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 5))
    X[:, :4] += rng.normal(size=(400, 1))
    plain = dt.fit(X).reliability()
    X[:, 4] = np.ldexp(X[:, 4], 1000)
    fit = dt.fit(X)
    assert fit.structure.uncovered == ("x5",)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = fit.reliability()
    assert found.factors["alpha"][0] == plain.factors["alpha"][0]
