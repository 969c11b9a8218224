"""FILE as a dependence matrix."""

import json

import pytest

import dtstat as dt

NINE = dt.load_dataset("holzinger_swineford_9")
R = dt.dependence(NINE, measure="pearson").to_frame().round(6)
LOWER = R.where([[j <= i for j in range(9)] for i in range(9)])
UPPER_WITHOUT_DIAGONAL = R.where([[j > i for j in range(9)] for i in range(9)])


def as_r_writes_it(frame):
    header, rows = frame.to_csv().split("\n", 1)
    return header.removeprefix(",") + "\n" + rows


def without_trailing_commas(frame):
    return "\n".join(line.rstrip(",") for line in frame.to_csv().splitlines())


FORMS = {
    "without row names": R.to_csv(index=False),
    "row names without a name": R.to_csv(),
    "row names with a name": R.to_csv(index_label="item"),
    "row names as R writes them": as_r_writes_it(R),
    "semicolons and decimal commas": R.to_csv(sep=";", decimal=","),
    "tabs": R.to_csv(sep="\t"),
    "no leading zeros": R.to_csv().replace(",0.", ",.").replace(",-0.", ",-."),
    "byte order mark": "\ufeff" + R.to_csv(),
    "Windows": R.to_csv(lineterminator="\r\n"),
    "lower triangle": LOWER.to_csv(),
    "lower triangle without row names": LOWER.to_csv(index=False),
    "rows that end early": without_trailing_commas(LOWER),
    "upper triangle without its diagonal": UPPER_WITHOUT_DIAGONAL.to_csv(),
}


@pytest.fixture
def matrix_file(tmp_path):
    """Write a text to a file for --matrix."""

    def write(text):
        file = tmp_path / "matrix.csv"
        file.write_bytes(text.encode())
        return file

    return write


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_path_of_the_matrix(run, matrix_file, form):
    expected = dt.solution_path(dt.DependenceMatrix.from_matrix(R)).summary()
    assert run("path", matrix_file(FORMS[form]), "--matrix") == (0, f"{expected!r}\n", "")
    assert "pearson of 9 items\n" in repr(expected)


def test_items_may_be_numbered(run, matrix_file):
    numbered = R.set_axis(range(1, 10), axis=0).set_axis(range(1, 10), axis=1)
    for text in (numbered.to_csv(), numbered.to_csv(index=False)):
        assert "F1: 4 5 6" in run("path", matrix_file(text), "--matrix", "--at", 0.4)[1]


def test_measure_and_rows_are_passed_on(run, matrix_file):
    options = ("--matrix", "--measure", "kendall", "--n-obs", 301)
    _, out, _ = run("path", matrix_file(R.to_csv()), *options)
    assert "DependenceMatrix: kendall of 9 items, 301 rows\n" in out


@pytest.mark.parametrize("form", ["row names without a name", "lower triangle"])
def test_columns_choose_items(run, matrix_file, form):
    chosen = ["x1", "x4", "x5", "x6", "x9"]
    expected = dt.solution_path(dt.DependenceMatrix.from_matrix(R.loc[chosen, chosen])).summary()
    options = ("--matrix", "--columns", "x[4-6],x9,x1")
    assert run("path", matrix_file(FORMS[form]), *options)[1] == f"{expected!r}\n"


def test_a_missing_value_can_be_left_out(run, refusal, matrix_file):
    holed = R.copy()
    holed.loc["x1", "x2"] = holed.loc["x2", "x1"] = float("nan")
    file = matrix_file(holed.to_csv())
    assert "no value for 'x1' and 'x2'" in refusal("path", file, "--matrix")
    assert run("path", file, "--matrix", "--columns", "x[2-9]")[0] == 0


def test_json_says_that_it_was_a_matrix(run, tmp_path, matrix_file):
    file = tmp_path / "candidates.json"
    source = matrix_file(R.to_csv())
    assert run("path", source, "--matrix", "--n-obs", 301, "--json", file)[0] == 0
    call = json.loads(file.read_text())["call"]
    assert (call["matrix"], call["n_obs"], call["measure"]) == (True, 301, "pearson")
    assert call["missing"] is None


BAD_TEXTS = {
    "empty": ("\n", "is empty"),
    "only names": ("a,b\n", "0 rows and 2 columns"),
    "a row too few": (R.iloc[:8].to_csv(), "square matrix below a row of item names; got 8 rows"),
    "answers": (NINE.to_csv(index=False), "301 rows and 9 columns. For answers leave out --matrix"),
    "no names": (R.to_csv(header=False, index=False), "got 8 rows and 9 columns"),
    "a long row": ("a,b\n1,.5\n.5,1,.3,.2\n", "got 2 rows and 4 columns"),
    "other row names": (R.rename(index={"x2": "y2"}).to_csv(), "row 2 is 'y2', column 2 is 'x2'"),
    "another order": (R.iloc[::-1].to_csv(), "row 1 is 'x9', column 1 is 'x1'"),
    "a name twice": ("a,a\n1,.5\n.5,1\n", "column names must be unique"),
    "a column without a name": ("a,\n1,.5\n.5,1\n", "every column needs a name"),
    "text": (R.astype(object).replace(1.0, "one").to_csv(), "got 'one' in the row of 'x1'"),
    "not symmetric": ("a,b\n1,.5\n.4,1\n", "must be symmetric"),
    "zeros among variances": (NINE.cov().replace(NINE.cov().iloc[0, 0], 0.0).to_csv(), "ones on"),
    "one item": ("a\n1\n", "at least two items"),
}


@pytest.mark.parametrize("case", BAD_TEXTS)
def test_bad_matrices(refusal, matrix_file, case):
    text, message = BAD_TEXTS[case]
    assert message in refusal("path", matrix_file(text), "--matrix")


BAD_OPTIONS = {
    "no file": (("FOLDER/nowhere.csv", "--matrix"), "there is no file"),
    "data set": (("likert_survey", "--matrix"), "there is no file 'likert_survey'"),
    "folder": (("FOLDER", "--matrix"), "there is no file"),
    "not text": (("FOLDER/binary.xlsx", "--matrix"), "Save it as csv"),
    "rows of answers": (("likert_survey", "--n-obs", "800"), "--n-obs applies only with --matrix"),
    "rows": (("FOLDER/matrix.csv", "--matrix", "--n-obs", "1"), "at least 2; got 1"),
    "missing": (("FOLDER/matrix.csv", "--matrix", "--missing", "listwise"), "--missing does not"),
    "codes": (("FOLDER/matrix.csv", "--matrix", "--missing-codes", "9"), "--missing-codes does"),
    "columns": (("FOLDER/matrix.csv", "--matrix", "--columns", "y1"), "'y1'"),
}


@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_bad_options(refusal, matrix_file, tmp_path, case):
    matrix_file(R.to_csv())
    (tmp_path / "binary.xlsx").write_bytes(b"PK\x03\x04\xff\xfe")
    arguments, message = BAD_OPTIONS[case]
    assert message in refusal("path", *arguments)
