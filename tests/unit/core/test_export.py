"""Tables as files: the ending says the format, numbers stay numbers, names stay names."""

import csv
import html.parser
import io
import re
import zipfile

import docx
import openpyxl
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core import documents
from dtstat.core.markup import markdown_escape
from dtstat.core.tables import Summary, Table

FRAME = pd.DataFrame(
    {
        "item": ["A1", "=cmd()", "a|b*c_<i>&", "-x"],
        "F1": [0.71, -0.05, float("nan"), 1.0],
        "chisq": [12.5, 0.25, 3.0, -4.0],
        "df": [3, 1, 2, 4],
        "p": [0.0, 0.012, 0.5, 1.0],
    }
)
TABLE = Table.from_frame(
    FRAME, "Loadings & more", ("First note.", "second half", "Third"), digits=3, bounded=("F1",)
)
SUMMARY = Summary(
    ("=head", "Line <two>"), (TABLE, TABLE, Table("", ("", "v"), (("CFI", "0.95"),), "lr"))
)
ENDINGS = ("docx", "xlsx", "tex", "html", "htm", "md", "csv", "txt")


def grid(table):
    return [[cell.text for cell in row.cells] for row in table.rows]


@pytest.mark.parametrize("style", ["plain", "apa"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_every_format_is_written_and_never_over_another_file(tmp_path, ending, style):
    for what in (TABLE, SUMMARY):
        file = tmp_path / f"{type(what).__name__}.{ending}"
        assert what.save(file, style=style) == file
        content = file.read_bytes()
        assert content
        with pytest.raises(dt.InputError, match="it exists"):
            what.save(file, style=style)
        file.write_bytes(b"mine")
        what.save(str(file), style=style, overwrite=True)
        assert file.read_bytes() != b"mine"


@pytest.mark.parametrize("name", ["x.pdf", "x", "x.doc", "x.dtstat", "x.png"])
def test_other_endings_are_refused_in_words(tmp_path, name):
    for what in (TABLE, SUMMARY):
        with pytest.raises(dt.InputError, match=r"ends in \.docx, \.xlsx, \.tex, .* or \.txt"):
            what.save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_bad_arguments_are_refused_before_anything_is_written(tmp_path):
    for bad in (
        {"style": "apalike"},
        {"number": 0},
        {"caption": 3},
        {"label": 3},
        {"overwrite": 7},
    ):
        with pytest.raises(dt.InputError):
            TABLE.save(tmp_path / "t.tex", **bad)
    assert not list(tmp_path.iterdir())


def test_apa_cells():
    shown = TABLE.grid("apa", 2)
    assert shown.number == "Table 2"
    assert shown.headers == ("item", "F1", "chisq", "df", "p")
    assert shown.rows[0] == ("A1", ".710", "12.500", "3", "< .001")
    assert shown.rows[1] == ("=cmd()", "−.050", "0.250", "1", ".012")
    assert shown.rows[2][1] == ""
    assert shown.rows[3] == ("-x", "1.000", "−4.000", "4", "1.000")
    assert shown.note == "First note. second half. Third."
    fit_row = SUMMARY.tables[2].grid("apa").rows[0]
    assert fit_row == ("CFI", ".95")


def test_word_reads_back(tmp_path):
    file = TABLE.save(tmp_path / "t.docx", style="apa", number=4, caption="My caption")
    document = docx.Document(str(file))
    texts = [paragraph.text for paragraph in document.paragraphs]
    assert texts[:2] == ["Table 4", "My caption"]
    assert texts[-1] == "Note. First note. second half. Third."
    title, caption, note = document.paragraphs[0], document.paragraphs[1], document.paragraphs[-1]
    assert title.runs[0].bold
    assert caption.runs[0].italic
    assert (note.runs[0].text, note.runs[0].italic) == ("Note.", True)
    (table,) = document.tables
    assert grid(table) == [
        list(row) for row in (TABLE.grid("apa").headers, *TABLE.grid("apa").rows)
    ]
    xml = table._tbl.xml
    borders = re.findall(r"<w:(top|bottom|left|right|insideH|insideV) w:val", xml)
    assert set(borders) == {"top", "bottom"}  # horizontal rules only
    assert "w:tblHeader" in xml


def test_word_summaries_have_their_lines_and_count_their_tables(tmp_path):
    document = docx.Document(str(SUMMARY.save(tmp_path / "s.docx", style="apa", number=3)))
    texts = [paragraph.text for paragraph in document.paragraphs]
    assert texts[:2] == ["=head", "Line <two>"]
    assert [text for text in texts if text.startswith("Table ")] == [
        "Table 3",
        "Table 4",
        "Table 5",
    ]
    assert len(document.tables) == 3


def test_long_texts_fit_the_page(tmp_path):
    rows = tuple((f"i{k}", "what the item asks, in many words " * 3, "0.50") for k in range(3))
    table = Table("T", ("item", "text", "F1"), rows, "llr")
    (written,) = docx.Document(str(table.save(tmp_path / "t.docx"))).tables
    widths = [cell.width.inches for cell in written.rows[0].cells]
    assert sum(widths) == pytest.approx(6.5, abs=0.01)
    assert widths[0] > 0.3
    assert widths[2] > 0.3
    assert r"p{0.60\linewidth}" in table.to_latex()


def test_excel_has_numbers_where_the_table_has_and_texts_stay_texts(tmp_path):
    sheet = openpyxl.load_workbook(TABLE.save(tmp_path / "t.xlsx")).worksheets[0]
    rows = list(sheet.iter_rows(min_row=2, values_only=True))
    assert rows[0] == ("item", "F1", "chisq", "df", "p")
    assert rows[1] == ("A1", 0.71, 12.5, 3, 0)
    assert rows[2][0] == "=cmd()"
    assert rows[3] == ("a|b*c_<i>&", None, 3, 2, 0.5)
    cells = list(sheet.iter_rows())
    assert "f" not in {cell.data_type for row in cells for cell in row}  # no formula
    assert cells[2][1].number_format == "0.000"
    assert cells[2][3].number_format == "0"
    assert cells[3][0].quotePrefix
    apa = openpyxl.load_workbook(TABLE.save(tmp_path / "a.xlsx", style="apa")).worksheets[0]
    assert apa["B4"].value == 0.71
    assert apa["B4"].number_format == ".000"
    assert apa["E4"].value == "< .001"


def test_excel_sheets_have_the_titles_as_excel_allows(tmp_path):
    names = ("a/b:c?[d]", "a/b:c?[d]", "x" * 40, "X" * 40, "", "'quoted'")
    tables = tuple(Table(name, ("a",), (("1",),), "r") for name in names)
    book = openpyxl.load_workbook(Summary((), tables).save(tmp_path / "s.xlsx"))
    found = book.sheetnames
    assert len({name.lower() for name in found}) == len(names)
    assert all(0 < len(name) <= 31 and not set(name) & set("[]:*?/\\'") for name in found)


def test_csv_reads_back_and_no_cell_is_a_formula(tmp_path):
    file = TABLE.save(tmp_path / "t.csv")
    rows = list(csv.reader(io.StringIO(file.read_text())))
    assert rows[0] == list(TABLE.headers)
    assert [row[0] for row in rows[1:]] == ["A1", "'=cmd()", "a|b*c_<i>&", "'-x"]
    assert [row[1] for row in rows[1:]] == ["0.710", "-0.050", "", "1.000"]
    pd.testing.assert_series_equal(pd.read_csv(file)["chisq"], FRAME["chisq"])
    text = SUMMARY.save(tmp_path / "s.csv").read_text()
    first = [row[0] for row in csv.reader(io.StringIO(text)) if row]
    assert not [cell for cell in first if cell.startswith(("=", "+", "@"))]


def test_markdown_is_a_pipe_table_whose_names_mean_nothing():
    lines = TABLE.to_markdown().splitlines()
    assert lines[0] == r"**Loadings \& more**"
    head = lines.index("| item | F1 | chisq | df | p |")
    assert lines[head + 1] == "| :--- | ---: | ---: | ---: | ---: |"
    assert lines[head + 4].startswith(r"| a\|b\*c\_\<i\>\& |")
    cells = [len(re.split(r"(?<!\\)\|", line)) for line in lines[head : head + 6]]
    assert set(cells) == {7}
    assert markdown_escape("+ attached") == r"\+ attached"
    apa = TABLE.to_markdown(style="apa", number=2).splitlines()
    assert apa[0] == "**Table 2**"
    assert apa[-1].startswith("*Note.* First note.")


def test_latex_environment_with_caption_and_label():
    assert "table}" not in TABLE.to_latex()
    text = TABLE.to_latex(caption="Loadings & 100%", label="tab:load ings")
    assert text.startswith(r"\begin{table}[htbp]")
    assert r"\caption{Loadings \& 100\%}\label{tab:load-ings}" in text
    assert text.rstrip().endswith(r"\end{table}")
    assert r"\textit{Note.} First note." in text
    apa = TABLE.to_latex(style="apa", label="tab:x")
    assert r"\refstepcounter{table}\label{tab:x}" in apa
    assert r"\textbf{Table \thetable}\par\textit{Loadings \& more}" in apa
    assert r"\ensuremath{-}.050" in apa
    many = SUMMARY.to_latex(label="tab")
    assert [f"\\label{{tab-{k}}}" in many for k in (1, 2, 3)] == [True] * 3


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.opened, self.text = [], []

    def handle_starttag(self, tag, attrs):
        self.opened.append(tag)

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.parametrize("style", ["plain", "apa"])
def test_html_escapes_and_has_rules_in_apa_style(tmp_path, style):
    file = SUMMARY.save(tmp_path / "s.html", style=style)
    found = Tags()
    found.feed(file.read_text())
    assert found.opened.count("table") == 3
    assert "a|b*c_<i>&" in found.text
    assert found.opened.count("i") == (0 if style == "plain" else 3 + 2 + 4)  # titles, notes, df, p
    assert ("border-bottom" in file.read_text()) == (style == "apa")


def test_what_xml_cannot_hold_is_replaced(tmp_path):
    table = Table("t", ("a",), (("x\ufffe\x00y",), ("\ud800",)), "l")
    for ending in ENDINGS:
        assert table.save(tmp_path / f"t.{ending}").stat().st_size
    assert "x\ufffd" in docx.Document(str(tmp_path / "t.docx")).tables[0].rows[1].cells[0].text


def test_a_summary_of_a_fit_reads_back_with_its_numbers(tmp_path):
    fit = dt.fit(dt.load_dataset("holzinger_swineford_9"))
    book = openpyxl.load_workbook(fit.summary().save(tmp_path / "fit.xlsx"))
    sheet = next(sheet for sheet in book if sheet.title.startswith("Standardized loadings"))
    rows = {row[0]: row for row in sheet.iter_rows(min_row=3, values_only=True)}
    position = [cell.value for cell in sheet[2]].index("F1")
    strongest = fit.loadings["F1"].abs().idxmax()
    assert rows[strongest][position] == pytest.approx(fit.loadings.loc[strongest, "F1"], abs=0.005)


def test_missing_packages_are_named(monkeypatch, tmp_path):
    import importlib

    whole = importlib.import_module

    def without(name, *rest):
        if name in ("docx", "openpyxl"):
            raise ModuleNotFoundError(name=name)
        return whole(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without)
    for ending in ("docx", "xlsx"):
        with pytest.raises(dt.MissingExtraError, match=r"dtstat\[office\]"):
            TABLE.save(tmp_path / f"t.{ending}")


def test_word_reports(tmp_path):
    data = dt.load_dataset("holzinger_swineford_9")
    fit = dt.fit(data)
    file = fit.report(tmp_path / "r.docx", title="Three <factors>")
    document = docx.Document(str(file))
    texts = [paragraph.text for paragraph in document.paragraphs]
    assert texts[0] == "Three <factors>"
    for heading in (
        "Factors",
        "Fit",
        "How sure",
        "Path diagram",
        "How to reproduce it",
        "References",
    ):
        assert heading in texts
    assert any(text.startswith("Kim, D. S.") for text in texts)
    loadings = grid(document.tables[0])
    assert loadings[0] == ["Item", "Text", *fit.factor_names, "h²"]
    for name, text, *cells, _ in loadings[1:]:
        assert text == fit.item_texts[name.rstrip("+")]
        known = fit.loadings.loc[name.rstrip("+")]
        shown = [float(cell.replace("−", "-")) if cell else 0.0 for cell in cells]
        assert shown == pytest.approx(known.tolist(), abs=0.005)
    with zipfile.ZipFile(file) as archive:
        assert [name for name in archive.namelist() if name.endswith(".png")]
    with pytest.raises(dt.InputError, match="it exists"):
        fit.report(file)
    with pytest.raises(dt.InputError, match=r"\.docx gives a Word document"):
        fit.report(tmp_path / "r.pdf")


def test_word_report_of_nothing(tmp_path):
    import numpy as np

    fit = dt.fit(np.random.default_rng(1).normal(size=(200, 6)))
    assert not fit.n_factors
    texts = [p.text for p in docx.Document(str(fit.report(tmp_path / "r.docx"))).paragraphs]
    assert texts[0] == "No factor behind 6 items"


def test_numbers_are_not_broken_in_tables_of_many_columns():
    headers = (*(f"c{k}" for k in range(13)), "text")
    row = (*["-1.23"] * 13, "a long text " * 9)
    grid = Table("Wide", headers, (row,), "r" * 13 + "l", long=True).grid()
    widths = documents._column_widths(grid, 8)
    assert sum(widths) <= 6.5 + 1e-9
    assert min(widths) >= 5 * 0.5 * 8 / 72 + 2 * 0.05  # five letters and the margins beside them


def test_columns_are_as_wide_as_their_longest_words(tmp_path):
    names = ("Agreeableness", "Conscientiousness", "Extraversion", "Neuroticism", "Openness")
    text = "Carry the conversation to a higher level."
    row = ("O3", text, *["0.75"] * 5)
    table = Table("Loadings", ("item", "text", *names), (row,), "llrrrrr", long=True)
    widths = documents._column_widths(table.grid(), 8)
    assert sum(widths) <= 6.5 + 1e-9
    longest = [4, 12, *map(len, names)]
    assert all(w >= 0.5 * n * 8 / 72 + 0.1 for w, n in zip(widths, longest, strict=True))
    table = Table("Reliability", ("factor", "alpha_lower"), (("F1", "0.70"),), "lr")
    file = table.save(tmp_path / "t.docx")
    heads = grid(docx.Document(str(file)).tables[0])[0]
    assert heads == ["factor", "alpha_\u200blower"]
