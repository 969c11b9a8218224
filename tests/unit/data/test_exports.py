"""Files as survey programs export them, read without help."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.errors import DataWarning, InputError

AGREE = ["Strongly disagree", "Somewhat disagree", "Neither agree nor disagree", "Somewhat agree"]
AGREE.append("Strongly agree")
N = 60


def answers(n_items=6, n=N, levels=5):
    """Two factors' worth of ratings from 1 on."""
    rng = np.random.default_rng(7)
    z = rng.standard_normal((n, 2))
    x = z[:, np.arange(n_items) % 2] + 0.7 * rng.standard_normal((n, n_items))
    return np.clip(np.round(x + 1 + levels / 2), 1, levels).astype(int)


def as_csv(rows, delimiter=",", quoting=csv.QUOTE_MINIMAL):
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter, quoting=quoting, lineterminator="\n").writerows(rows)
    return stream.getvalue()


def read(file, text=None, encoding="utf-8", **options):
    """Read a file, and return it with all warnings as one text."""
    if text is not None:
        file.write_bytes(text.encode(encoding))
    with pytest.warns(DataWarning) as caught:
        frame = dt.read_survey(file, **options)
    return frame, " ".join(str(one.message) for one in caught)


# ---- Qualtrics -------------------------------------------------------------------------------

META = [
    "StartDate", "EndDate", "Status", "IPAddress", "Progress", "Duration (in seconds)", "Finished",
    "RecordedDate", "ResponseId", "RecipientLastName", "RecipientFirstName", "RecipientEmail",
    "ExternalReference", "LocationLatitude", "LocationLongitude", "DistributionChannel",
    "UserLanguage",
]  # fmt: skip
STEM = "How far do you agree? - "


def qualtrics(texts=True):
    X = answers()
    items = [f"Q3_{k}" for k in range(1, 7)]
    header = [*META, "Q1", *items, "Q7", "Q7_4_TEXT", "Q9_First Click"]
    questions = [
        *["Start Date", "End Date", "Response Type", "IP Address", "Progress"],
        *["Duration (in seconds)", "Finished", "Recorded Date", "Response ID"],
        *META[9:],
        "How old are you?",
        *[f"{STEM}<strong>I am</strong> tired,\n at {k} - or later" for k in range(6)],
        "What is your gender? - Selected Choice",
        "What is your gender? - Other - Text",
        "Timing - First Click",
    ]
    ids = [f'{{"ImportId":"QID{k}","timeZone":"America/Denver"}}' for k in range(len(header))]
    rows = [
        [
            *["2024-01-15 10:30:00", "2024-01-15 10:40:00", "IP Address", "10.0.0.1", "100", "600"],
            *["True", "2024-01-15 10:40:01", f"R_{k:03d}", "", "", "", "", "48.1", "11.6"],
            *["anonymous", "EN", 20 + k % 40],
            *[AGREE[v - 1] if texts else v for v in row],
            *[["Female", "Male", "Other"][k % 3], "", "1.5"],
        ]
        for k, row in enumerate(X)
    ]
    return X, [header, questions, ids, *rows]


@pytest.mark.parametrize("texts", [True, False])
@pytest.mark.parametrize("form", ["csv", "tsv", "xlsx"])
def test_qualtrics(tmp_path, texts, form):
    X, rows = qualtrics(texts)
    file = tmp_path / f"survey.{form}"
    if form == "xlsx":
        pd.DataFrame(rows).to_excel(file, header=False, index=False)
        frame, said = read(file)
    else:
        tab = {"delimiter": "\t"} if form == "tsv" else {}
        frame, said = read(file, as_csv(rows, **tab), "utf-16" if form == "tsv" else "utf-8")
    items = [f"Q3_{k}" for k in range(1, 7)]
    assert set(frame.attrs["aside"]) == {*META, "Q7", "Q7_4_TEXT", "Q9_First Click"}
    assert frame.attrs["item_texts"]["Q3_2"] == "I am tired, at 1 - or later"
    assert frame.attrs["item_texts"]["Q1"] == "How old are you?"
    assert "export of Qualtrics" in said
    assert "Texts of item 'Q7' have no known order and are kept aside" in said
    codes = [frame[item].cat.codes + 1 if texts else frame[item] for item in items]
    np.testing.assert_array_equal(np.column_stack(codes), X)
    assert dt.items(frame).names == ("Q1", *items)
    assert frame["ResponseId"].iloc[3] == "R_003"


def test_qualtrics_without_its_third_row_and_with_an_id(tmp_path):
    X, (header, questions, _, *rows) = qualtrics()
    frame, _ = read(tmp_path / "a.csv", as_csv([header, questions, *rows]), id="ResponseId",
                    drop="Q1, Q7*", aside="EndDate")  # fmt: skip
    assert frame.index.name == "ResponseId"
    assert frame.index[0] == "R_000"
    assert dt.items(frame).n_items == 6
    assert "Q7" not in frame
    fit = dt.fit(frame, n_factors=2)
    assert fit.factor_scores(frame).index.equals(frame.index)
    np.testing.assert_array_equal(frame["Q3_1"].cat.codes + 1, X[:, 0])


def test_a_path_to_an_export_can_be_fitted(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text(as_csv(qualtrics()[1]))
    with pytest.warns(DataWarning, match="Qualtrics"):
        fit = dt.fit(file, n_factors=2)
    assert set(fit.loadings.index) == {"Q1", *(f"Q3_{k}" for k in range(1, 7))}


# ---- Google Forms ----------------------------------------------------------------------------


def test_google_forms(tmp_path):
    X = answers(4)
    often = ["Never", "Rarely", "Sometimes", "Often", "Always"]
    header = [
        "Timestamp", "Email Address",
        "How often ... [I can’t sleep]", "How often ... [I worry]",
        "I am satisfied with my work, all in all.", "How likely is it that you stay?",
        "What do you do for a living?",
    ]  # fmt: skip
    ends = {1: "1 (very unlikely)", 5: "5 (very likely)"}
    rows = [
        [f"2024/01/15 10:{k:02d}:00 AM GMT+1", f"p{k}@example.org",
         often[a - 1], often[b - 1].upper(),
         ["Strongly Disagree", "Disagree", "Neutral", "Agree", " Strongly agree "][c - 1],
         ends.get(d, d), f"job {k}"]
        for k, (a, b, c, d) in enumerate(X)
    ]  # fmt: skip
    frame, said = read(tmp_path / "form.csv", as_csv([header, *rows]))
    assert list(dt.items(frame).names) == ["Q1", "Q2", "Q3", "Q4"]
    assert frame.attrs["aside"] == ["Timestamp", "Email Address", "Q5"]
    assert frame.attrs["item_texts"] == {
        "Q1": "I can’t sleep", "Q2": "I worry", "Q3": header[4], "Q4": header[5], "Q5": header[6],
    }  # fmt: skip
    coded = [frame[q].cat.codes + 1 for q in ("Q1", "Q2", "Q3")]
    np.testing.assert_array_equal(np.column_stack([*coded, frame["Q4"]]), X)
    assert frame.attrs["value_labels"] == {"Q4": {1.0: "very unlikely", 5.0: "very likely"}}
    assert "Google Forms" in said
    assert "never < rarely < sometimes < often < always" in said.lower()


# ---- LimeSurvey ------------------------------------------------------------------------------


@pytest.mark.parametrize("heading", ["code", "text", "both"])
@pytest.mark.parametrize("answer", ["code", "text"])
def test_limesurvey(tmp_path, heading, answer):
    X = answers(4)
    meta = {
        "id": "Response ID", "submitdate": "Date submitted", "lastpage": "Last page",
        "startlanguage": "Start language", "seed": "Seed",
    }  # fmt: skip
    asked = {f"G01Q01[SQ00{k}]": f"How true is this? [I am {k} times tired]" for k in range(1, 5)}
    columns = {**meta, **asked, "G02Q02": "Please comment."}
    header = {
        "code": list(columns),
        "text": list(columns.values()),
        "both": [f"{code}. {text}" for code, text in columns.items()],
    }[heading]
    likert = ["Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree"]
    likert.append("Strongly agree")
    rows = [
        [k + 1, "2024-01-15 10:30:00", 3, "en", 1234567 + k,
         *(f"AO{v:02d}" if answer == "code" else likert[v - 1] for v in row), "nothing" + "!" * k]
        for k, row in enumerate(X)
    ]  # fmt: skip
    text = as_csv([header, *rows], quoting=csv.QUOTE_ALL)
    frame, said = read(tmp_path / "results.csv", "\ufeff" + text)
    names = (
        [f"G01Q01_SQ00{k}" for k in range(1, 5)] if heading != "text" else ["Q1", "Q2", "Q3", "Q4"]
    )
    assert list(dt.items(frame).names) == names
    got = [frame[name] if answer == "code" else frame[name].cat.codes + 1 for name in names]
    np.testing.assert_array_equal(np.column_stack(got), X)
    assert "LimeSurvey" in said
    if heading != "code":
        assert frame.attrs["item_texts"][names[2]] == "I am 3 times tired"
    assert len(frame.attrs["aside"]) == 6


# ---- REDCap ----------------------------------------------------------------------------------


def test_redcap(tmp_path):
    X = answers(3)
    header = ["record_id", "redcap_event_name", "redcap_survey_identifier", "mood_timestamp"]
    header += ["mood_1", "mood_2", "mood_3", "meds___1", "meds___2", "mood_complete"]
    rows = [
        [k + 1, "baseline_arm_1", "", "2024-01-15 10:30:00", *row, k % 2, (k + 1) % 3 // 2, 2]
        for k, row in enumerate(X)
    ]
    frame, said = read(tmp_path / "redcap.csv", as_csv([header, *rows]), id="record_id")
    assert list(dt.items(frame).names) == ["mood_1", "mood_2", "mood_3", "meds___1", "meds___2"]
    assert frame.attrs["aside"] == [*header[1:4], "mood_complete"]
    assert frame.index.tolist() == list(range(1, N + 1))
    assert "REDCap" in said


def test_redcap_with_labels_has_one_complete_for_each_form(tmp_path):
    header = [
        "Record ID",
        "I am glad today",
        "Pets (choice=Dog)",
        "Complete?",
        "I sleep well",
        "Complete?",
    ]
    rows = [
        [k, AGREE[a - 1], ["Unchecked", "Checked"][k % 2], "Complete", AGREE[b - 1], "Incomplete"]
        for k, (a, b) in enumerate(answers(2))
    ]
    frame, _ = read(tmp_path / "labels.csv", as_csv([header, *rows]))
    assert list(dt.items(frame).names) == ["Q1", "Q2", "Q3"]
    assert frame.attrs["aside"] == ["Record ID", "Complete?.1", "Complete?.2"]
    assert frame.attrs["item_texts"]["Q3"] == "I sleep well"


# ---- SPSS and Stata --------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_spss_and_stata(tmp_path, ending):
    import pyreadstat

    X = answers(4)
    frame = pd.DataFrame(X, columns=["A1", "A2", "A3", "A4"]).astype(float)
    frame.insert(0, "ResponseId", [f"R_{k}" for k in range(N)])
    frame["StartDate"] = "2024-01-15"
    frame["Finished"] = 1.0
    frame["gender"] = ["f", "m"] * (N // 2)
    labels = {"A1": {1: "never", 5: "always"}}
    texts = ["", "I sleep well", "", "", "", "", "", ""]
    file = tmp_path / f"a.{ending}"
    if ending == "sav":
        frame.loc[0, "A2"] = 9
        pyreadstat.write_sav(frame, str(file), column_labels=texts, variable_value_labels=labels,
                             missing_ranges={"A2": [9]})  # fmt: skip
    else:
        frame.loc[0, "A2"] = np.nan
        pyreadstat.write_dta(frame, str(file), column_labels=texts, variable_value_labels=labels)
    again, said = read(file, id="ResponseId")
    assert list(dt.items(again).names) == ["A1", "A2", "A3", "A4"]
    assert again.attrs["item_texts"]["A1"] == "I sleep well"
    assert again.attrs["value_labels"]["A1"] == {1.0: "never", 5.0: "always"}
    assert np.isnan(again["A2"].iloc[0])
    assert set(again.attrs["aside"]) == {"StartDate", "Finished", "gender"}
    assert "Qualtrics" in said


# ---- sheets, header rows, codebooks ----------------------------------------------------------


@pytest.fixture
def workbook(tmp_path):
    file = tmp_path / "book.xlsx"
    with pd.ExcelWriter(file) as writer:
        pd.DataFrame({"about": ["x"]}).to_excel(writer, sheet_name="Read me", index=False)
        pd.DataFrame({"a": [1, 2], "b": [3, 4]}).to_excel(writer, sheet_name="Data", index=False)
    return file


@pytest.mark.parametrize("sheet", ["Data", 2])
def test_a_sheet_is_chosen(workbook, sheet):
    assert dt.read_survey(workbook, sheet=sheet).to_dict("list") == {"a": [1, 2], "b": [3, 4]}


def test_the_first_sheet_is_said(workbook):
    assert "Of 2 sheets the first, 'Read me', was read" in read(workbook)[1]


@pytest.mark.parametrize(
    ("sheet", "message"),
    [("data", r"sheet of 'book\.xlsx'; got 'data'\. Did you mean 'Data'\?"),
     (3, "at most 2; got 3"), (0, "at least 1; got 0")],
)  # fmt: skip
def test_sheets_that_are_not_there(workbook, sheet, message):
    with pytest.raises(InputError, match=message) as caught:
        dt.read_survey(workbook, sheet=sheet)
    assert caught.value.argument == "sheet"


def test_sheets_and_header_rows_of_other_files(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"left out for files other than \.xlsx"):
        dt.read_survey(tmp_path / "a.csv", sheet=1)
    pd.DataFrame({"a": [1], "b": [2]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="knows the names of its columns"):
        dt.read_survey(tmp_path / "a.parquet", header_rows=2)


def test_header_rows_hold_names_and_texts(tmp_path):
    (tmp_path / "a.csv").write_text('a,b\n"How, \nold?",Sex\nskip,me\n1,2\n3,4\n')
    frame = dt.read_survey(tmp_path / "a.csv", header_rows=3)
    assert frame.to_dict("list") == {"a": [1, 3], "b": [2, 4]}
    assert frame.attrs["item_texts"] == {"a": "How, old?", "b": "Sex"}


def test_codebooks(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "book.csv").write_text("Variable,Label,values\na,I sleep well,1 to 5\nz,gone,\n")
    book = pd.DataFrame({"item": ["a"], "text": ["I sleep well"]})
    for labels in ({"a": "I sleep well"}, book, tmp_path / "book.csv"):
        frame = dt.read_survey(tmp_path / "a.csv", labels=labels)
        assert frame.attrs["item_texts"] == {"a": "I sleep well"}
    for labels, message in (
        ({"c": "x"}, "no text of any item; it begins with 'c'"),
        (book.rename(columns={"text": "x"}), "column 'item' and a column 'text'; got 'item', 'x'"),
        (book.assign(item="q"), "no text of any item; it begins with 'q'"),
        (3, "a dict from item to text, a DataFrame or a file; got 3"),
    ):
        with pytest.raises(InputError, match=message):
            dt.read_survey(tmp_path / "a.csv", labels=labels)


# ---- what is aside ---------------------------------------------------------------------------


def test_columns_kept_aside_are_no_items_but_can_be_named(tmp_path):
    X = answers(6, 200)
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(1, 7)]).assign(age=np.arange(200) % 50)
    frame.to_csv(tmp_path / "a.csv", index=False)
    data = dt.read_survey(tmp_path / "a.csv", aside="age")
    assert data.attrs["aside"] == ["age"]
    assert dt.dependence(data).names == tuple(frame.columns[:6])
    assert dt.dependence(data, floor=0.1).names == tuple(frame.columns[:6])
    assert dt.items(data[data["age"] > 20]).n_items == 6
    model = dt.sem(data, "f =~ x1 + x3 + x5\nf ~ age")
    assert model.parameters.query("op == '~'")["rhs"].tolist() == ["age"]
    alone = dt.fit(data, structure={"f": ["x1", "x3", "x5", "age"]})
    assert "age" in alone.loadings.index
    pd.testing.assert_frame_equal(pd.concat([data, data]), pd.concat([data.copy(), data]))


def test_ids_must_be_known_and_are_said_if_they_repeat(tmp_path):
    (tmp_path / "a.csv").write_text("who,a,b\nx,1,2\ny,2,3\nx,3,4\n")
    frame, said = read(tmp_path / "a.csv", id="who")
    assert frame.index.tolist() == ["x", "y", "x"]
    assert "1 rows have an id that an earlier row has, such as x" in said
    (tmp_path / "b.csv").write_text("who,a,b\nx,1,2\n,2,3\n")
    with pytest.raises(InputError, match="nothing in column 'who', row 2"):
        dt.read_survey(tmp_path / "b.csv", id="who")


def test_two_ids_make_an_index_of_two_levels(tmp_path):
    (tmp_path / "a.csv").write_text("school,pupil,a,b\n1,1,1,2\n1,2,2,3\n")
    assert dt.read_survey(tmp_path / "a.csv", id="school, pupil").index.names == ["school", "pupil"]


def test_long_numbers_are_kept_to_the_digit_where_they_are_no_items(tmp_path):
    long = ["90071992547409931", "90071992547409932", ""]
    (tmp_path / "a.csv").write_text("".join(["who,a,b\n", *(f"{k},1,{k[:1]}\n" for k in long)]))
    assert dt.read_survey(tmp_path / "a.csv", aside="who")["who"].tolist()[:2] == long[:2]
    with pytest.raises(InputError, match=r"'who' holds 90071992547409931 in row 1.*drop=\['who'\]"):
        dt.read_survey(tmp_path / "a.csv")


@pytest.mark.parametrize("cell", ["1,234", "1'234", "1 234", "1,5"])
def test_marks_of_thousands_are_refused_with_their_cell(tmp_path, cell):
    (tmp_path / "a.csv").write_text(f'a,income\n1,"{cell}"\n2,"{cell}"\n')
    with pytest.raises(InputError, match=f"'income' holds '{cell}' in row 1"):
        dt.read_survey(tmp_path / "a.csv")
