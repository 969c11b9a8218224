"""Items with names that mean something to a formula, a page, a shell, or a reader: all works."""

import ast
import re
import sys
import zipfile

import numpy as np
import pytest

import dtstat as dt
from dtstat.cli.app import main
from dtstat.fit.request import python_code

NINE = dt.load_dataset("holzinger_swineford_9")
SCRIPT = "</script><script>alert(1)"
SETS = {
    "formulas": ["1", "~", "a=~b", "x*y", "-1", "nan", "index", "const", "Intercept"],
    "twins": ["F1", "F1_score", "F2", "Q1?", "Q1!", "Q1.", "if", "if.", "none"],
    "written": ["[b]", "*b*", "$x_1$", "back\\slash", "{}%#&^", "|", '"q"', SCRIPT, "@sum"],
    "unseen": [
        "a\nb",
        "\u202egnp",
        "a\u200bb",
        "\x1b[2J",
        "\u00e9",
        "e\u0301",
        "😀",
        "L" * 300,
        "=1+1",
    ],
}
COMMANDS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
ENDINGS = ("xlsx", "csv", "html", "md", "docx", "tex", "txt")

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::dtstat.core.errors.DTWarning"),
    pytest.mark.filterwarnings("ignore:Glyph"),  # of matplotlib, about its fonts
]


@pytest.fixture(scope="module", params=SETS)
def data(request):
    return NINE.set_axis(SETS[request.param], axis=1)


@pytest.fixture(scope="module")
def fit(data):
    return dt.fit(data)


@pytest.fixture(scope="module")
def model(data, fit):
    return dt.cfa(data, fit.structure)


RESULTS = {
    "fit": lambda data, fit: fit,
    "cfa": lambda data, fit: dt.cfa(data, fit.structure),
    "reliability": lambda data, fit: dt.reliability(data, fit),
    "describe": lambda data, fit: dt.describe(data, fit),
    "diagnose": lambda data, fit: dt.diagnose(fit, data, n_boot=3, seed=1),
    "certify": lambda data, fit: dt.certify(data, structure=fit, n_draws=50),
    "stability": lambda data, fit: dt.stability(data, 2, fit, seed=1),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_print_and_are_saved(name, data, fit, tmp_path):
    result = RESULTS[name](data, fit)
    summary = result.summary()
    for form in ("to_text", "to_latex", "to_markdown", "to_html"):
        assert not COMMANDS.search(getattr(summary, form)())
    assert "<script>" not in summary.to_html() + summary.to_markdown() + result._repr_html_()
    for ending in ENDINGS if name == "fit" else ["csv"]:
        assert summary.save(tmp_path / f"x.{ending}").stat().st_size
    assert not re.search(r"(^|,)\"?[=@]", (tmp_path / "x.csv").read_text(), re.MULTILINE)


def test_pages_and_documents(fit, tmp_path):
    page = fit.report(tmp_path / "x.html").read_text()
    assert "<script>alert" not in page
    with zipfile.ZipFile(fit.report(tmp_path / "x.docx")) as document:
        assert b"<script>" not in document.read("word/document.xml")


@pytest.mark.parametrize("form", ["simple", "higher_order", "bifactor"])
def test_models_come_back_from_their_text(form, data, fit):
    text = fit.to_lavaan(form)
    again = dt.cfa(data, text)
    measured = {one for factor in again.loadings for one in again.loadings.index}
    assert measured == set(data)
    if form == "simple":
        assert dt.compare(text, fit).exact
        assert again.fit_measures["chisq"] == pytest.approx(85.306, abs=0.01)


def test_code_to_paste_is_one_call(fit):
    calls = [n.func for n in ast.walk(ast.parse(python_code(fit))) if isinstance(n, ast.Call)]
    assert [ast.unparse(call) for call in calls] == ["dt.fit"]


def test_scores_and_tables_name_the_items(data, fit, model):
    assert fit.loadings.index.tolist() == list(data)
    assert np.isfinite(fit.factor_scores(data)).all(axis=None)
    assert set(model.loadings.index) == set(data)
    assert set(data) <= {*fit.tidy()["lhs"], *fit.tidy()["rhs"]}
    if "F1_score" in data:
        with pytest.raises(dt.InputError, match="already have a column 'F1_score'"):
            fit.augment(data)
    else:
        assert fit.augment(data).shape == (len(data), len(data.columns) + fit.n_factors)


def test_regressions_take_quoted_names(data, fit):
    pytest.importorskip("statsmodels")
    named = fit.rename([f"factor {k}" for k in range(fit.n_factors)])
    aged = data.assign(age=np.arange(len(data)) % 7)
    found = dt.regress("Q('factor 0') ~ age", named, aged)
    plain = dt.fit(NINE).rename([f"factor {k}" for k in range(fit.n_factors)])
    same = dt.regress("Q('factor 0') ~ age", plain, NINE.assign(age=aged["age"].to_numpy()))
    np.testing.assert_allclose(found.params, same.params, atol=1e-4)


def test_saved_results_come_back(fit, model, tmp_path):
    for k, result in enumerate((fit, model)):
        result.save(tmp_path / f"{k}.dtstat")
        assert repr(dt.load(tmp_path / f"{k}.dtstat").summary()) == repr(result.summary())


@pytest.mark.parametrize("kind", ["loadings", "diagram", "tree"])
def test_pictures(kind, fit, drawing, tmp_path):
    fit.plot(kind)
    drawing.rcParams["svg.fonttype"] = "none"
    try:
        drawing.gcf().savefig(tmp_path / "x.svg")
    finally:
        drawing.rcParams["svg.fonttype"] = "path"
    assert "<script>" not in (tmp_path / "x.svg").read_text()


def test_diagrams_as_text(model):
    assert not COMMANDS.search(model.to_dot() + model.to_tikz())


def test_the_command_line(data, fit, tmp_path, monkeypatch, capsys):
    file, out = tmp_path / "in.csv", tmp_path / "out.json"
    data.to_csv(file, index=False)
    monkeypatch.setattr(sys, "argv", ["dtstat", "fit", str(file), "--json", str(out)])
    with pytest.raises(SystemExit) as ended:
        main()
    shown = capsys.readouterr()
    assert ended.value.code in (0, None), shown.err
    assert not COMMANDS.search(shown.out + shown.err)
    assert out.stat().st_size
