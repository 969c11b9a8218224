"""The page of a fit: which parts it has, what they say, and that saving changes nothing."""

import functools
import html
import re
from dataclasses import replace

import numpy as np
import pytest

import dtstat as dt
from dtstat.page.content import fit_page

NINE = dt.load_dataset("holzinger_swineford_9")
MANY = dt.load_dataset("holzinger_swineford_26")
NOISE = np.random.default_rng(3).normal(size=(150, 8))
WHOLE = ["explore", "loadings", "responses", "choice", "trust", "reproduce"]
GIVEN = dt.Structure.from_keys({"words": ["x4", "x5", "x6"]}, [f"x{k}" for k in range(3, 9)])
FITS = {
    "nine": lambda: dt.fit(NINE),
    "many": lambda: dt.fit(MANY),
    "threshold": lambda: dt.fit(NINE, search="threshold"),
    "grid": lambda: dt.fit(NINE, search="threshold", thresholds=20),
    "refined": lambda: dt.fit(NINE, refine=True),
    "cv": lambda: dt.fit(NINE, criterion="cv", seed=1),
    "linear": lambda: dt.fit(NINE, estimator="linear"),
    "any dependence": lambda: dt.fit(NINE, measure="maximal"),
    "spline": lambda: dt.fit(NINE, estimator="spline", finalists=1, seed=1),
    "given": lambda: dt.fit(NINE, structure=GIVEN),
    "matrix": lambda: dt.fit(dt.dependence(MANY)),
    "second level": lambda: dt.fit(MANY, misfit="none").second_level(),
    "one factor": lambda: dt.fit(NINE[["x4", "x5", "x6"]]),
    "numbers": lambda: dt.fit(NINE.set_axis(range(9), axis=1)),
    "none": lambda: dt.fit(NOISE),
    "none of two": lambda: dt.fit(NINE[["x1", "x2"]]),
    "none by spline": lambda: dt.fit(NOISE, estimator="spline", seed=1),
}
NONE = [name for name in FITS if name.startswith("none")]
MATRICES = ["matrix", "second level"]
pytestmark = pytest.mark.filterwarnings("ignore:The factors explain:dtstat.EstimationWarning")


@functools.cache
def known(name):
    return FITS[name]()


@functools.cache
def page(name):
    return fit_page(known(name), None, None, None)


def section(of, name):
    (found,) = [one for one in of.sections if one.name == name]
    return found


def said(one):
    """All texts of a section."""
    tables = "\n".join(table.to_text() for table in one.tables)
    return "\n".join([*one.intro, tables, *(text for _, text in one.texts)])


# --- parts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FITS)
def test_parts_are_those_that_have_something_to_say(name):
    expected = WHOLE
    if name in NONE:
        expected = ["explore", "choice", "reproduce"]
    elif name in MATRICES:
        expected = [one for one in WHOLE if one != "responses"]
    assert [one.name for one in page(name).sections] == expected


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("nine", "3 factors behind 9 items"),
        ("one factor", "1 factor behind 3 items"),
        ("none", "No factor behind 8 items"),
    ],
)
def test_the_title_says_what_was_found(name, title):
    assert page(name).title == title
    assert fit_page(known(name), None, None, "Mine").title == "Mine"


@pytest.mark.parametrize("name", FITS)
def test_facts_are_those_of_the_summary(name):
    fit, facts = known(name), page(name).facts
    head = " ".join(" ".join(fit.summary().head).split())
    for label, text in facts:
        assert " ".join(text.split()) in head, label
    labels = [label for label, _ in facts]
    assert labels[:2] == ["Data", "Choice"]
    assert dict(facts)["Choice"] == fit.explanation
    counted = " carry the evidence of about " in head or " counted as about " in head
    assert ("Evidence" in labels) == counted
    if name not in NONE:
        assert counted == (fit.n_effective < 0.95 * fit.n_typical)
    assert [text for label, text in facts if label == "Note"] == list(fit.notes)
    assert ("Why" in labels) == (name in NONE)
    assert ("What next" in labels) == (name in ("none", "none by spline"))


@pytest.mark.parametrize("name", FITS)
def test_no_table_of_the_summary_is_lost_or_told_twice(name):
    """But the loadings, which the script draws, or which the curves replace."""
    titles = [table.title for table in known(name).summary(0.3, 30).tables]
    parts = [one for one in page(name).sections if one.name in ("loadings", "choice")]
    shown = [table.title for one in parts for table in one.tables]
    assert sorted(shown) == sorted(t for t in titles if not t.startswith("Standardized loadings"))


@pytest.mark.parametrize("name", [name for name in FITS if name not in (*NONE, *MATRICES)])
def test_what_is_said_of_curves_fits_the_estimator(name):
    text = said(section(page(name), "responses"))
    assert ("Bands hold the curve with 95 %" in text) == (name == "spline")
    assert ("bent by its margin alone" in text) == (name not in ("spline", "linear"))
    assert ("straight line" in text) == (name == "linear")


def test_networks_have_no_bands():
    fit = known("spline")
    nowhere = np.full_like(fit.nonlinear.lower, np.nan)
    curves = replace(fit.nonlinear, lower=nowhere, upper=nowhere)
    bare = replace(fit, nonlinear=curves, call=replace(fit.call, estimator="neural"))
    found = fit_page(bare, None, None, None)
    assert "The estimator 'neural' has no bands." in said(section(found, "responses"))
    assert all(one["lower"] is None for one in found.numbers["curves"])


def test_the_choice_names_the_criterion_of_the_explorer():
    assert "The tab Thresholds shows ebic" in said(section(page("nine"), "choice"))
    assert "The tab Thresholds shows ebic" in said(section(page("cv"), "choice"))
    assert "The explorer shows" not in said(section(page("given"), "choice"))


@pytest.mark.parametrize("name", FITS)
def test_the_call_is_there_to_reproduce(name):
    fit, part = known(name), section(page(name), "reproduce")
    texts = dict(part.texts)
    assert texts["Python"].startswith("import dtstat as dt\n\n")
    assert "fit = dt.fit(\n    data,\n" in texts["Python"]
    given = fit.call.search == "given"
    assert ("structure = dt.Structure.from_keys({" in texts["Python"]) == given
    assert ("structure <- dt_structure(list(" in texts["R"]) == given
    assert "dt_fit(" in texts["R"]
    assert texts["In short"] in fit.summary().head[1]
    assert ("Model in lavaan's syntax" in texts) == bool(fit.n_factors)
    assert dict(part.tables[0].rows)["dtstat"] == dt.__version__


def test_a_preset_is_named():
    fit = known("nine")
    paper = replace(fit, call=replace(fit.call, preset="paper", seed=4))
    code = dict(section(fit_page(paper, None, None, None), "reproduce").texts)
    assert 'preset="paper"' in code["Python"]
    assert 'preset = "paper"' in code["R"]
    assert "criterion" not in code["Python"]


def test_too_many_items_get_the_path_as_tables(monkeypatch):
    monkeypatch.setattr("dtstat.page.content.MOST_DRAWN", 5)
    found = fit_page(known("nine"), None, None, None)
    names = [one.name for one in found.sections]
    assert names == ["structures", "loadings", "choice", "trust", "reproduce"]
    assert len(found.sections[0].tables) == 2
    assert not found.sections[0].widget


# --- trust --------------------------------------------------------------------------------------


@functools.cache
def diagnosis():
    return dt.diagnose(known("nine"), NINE, 10, seed=1)


@functools.cache
def stability():
    return dt.stability(NINE, 4, known("nine"), seed=1)


def test_without_results_trust_is_what_needs_no_answers():
    text = said(section(page("nine"), "trust"))
    assert "Intervals need the answers" in text
    assert "dt.stability(data)" in text
    assert dt.diagnose(known("nine")).verdict.split(":")[0] in text


def test_diagnosis_and_stability_are_shown_whole():
    found = section(fit_page(known("nine"), diagnosis(), stability(), None), "trust")
    text = said(found)
    assert "Intervals need the answers" not in text
    assert "dt.stability(data)" not in text
    titles = [table.title for table in found.tables]
    for part in (diagnosis(), stability()):
        summary = part.summary(30)
        assert {summary.head[0], *(table.title for table in summary.tables)} <= set(titles)
        for line in summary.head[1:]:
            words = re.sub(r":? +", " ", line).strip()
            assert words in re.sub(r":? +", " ", text)


def test_results_of_the_same_fit_made_again_are_welcome(tmp_path):
    again = dt.diagnose(dt.fit(NINE))
    known("nine").report(tmp_path / "page.html", again, dt.stability(NINE, 2, seed=1))


OTHERS = {
    "other items": lambda: dt.fit(NINE[["x4", "x5", "x6"]]),
    "another structure": lambda: dt.fit(NINE, structure=GIVEN),
    "other rows": lambda: dt.fit(NINE.iloc[:200]),
    "another measure": lambda: dt.fit(NINE, measure="kendall"),
    "another order": lambda: dt.fit(NINE[list(NINE)[::-1]]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_diagnosis_of_another_fit_is_refused(name, tmp_path):
    other = dt.diagnose(OTHERS[name]())
    with pytest.raises(dt.InputError, match="`diagnosis` is about another fit") as caught:
        known("nine").report(tmp_path / "page.html", other)
    assert caught.value.argument == "diagnosis"
    assert not (tmp_path / "page.html").exists()


def test_a_stability_of_another_fit_is_refused(tmp_path):
    other = replace(stability(), fit=dt.fit(NINE.iloc[:200]))
    with pytest.raises(dt.InputError, match="`stability` is about another fit"):
        known("nine").report(tmp_path / "page.html", None, other)


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        ({"diagnosis": "yes"}, "diagnosis"),
        ({"diagnosis": True}, "diagnosis"),
        ({"stability": 200}, "stability"),
        ({"title": 5}, "title"),
        ({"title": b"x"}, "title"),
    ],
)
def test_what_is_no_result_is_refused(parts, name, tmp_path):
    with pytest.raises(dt.InputError, match=f"`{name}` must be") as caught:
        known("nine").report(tmp_path / "page.html", **parts)
    assert caught.value.argument == name
    with pytest.raises(dt.InputError, match=r"a result of dtstat\.diagnose\("):
        known("nine").report(tmp_path / "page.html", diagnosis=stability())


def test_that_nothing_is_found_again_is_told():
    """Without factors there is nothing to diagnose, but stability can be asked for."""
    fit = known("none")
    found = fit_page(fit, None, dt.stability(NOISE, 2, fit, seed=1), None)
    assert [one.name for one in found.sections] == ["explore", "choice", "trust", "reproduce"]
    assert "Stability of 0 factors" in section(found, "trust").tables[0].title


# --- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FITS)
def test_a_fit_that_was_saved_has_the_same_page(name, tmp_path):
    known(name).save(tmp_path / "fit.dtstat")
    document = page(name).to_html()
    file = dt.load(tmp_path / "fit.dtstat").report(str(tmp_path / "page.html"))
    assert file == tmp_path / "page.html"
    assert file.read_bytes() == document.encode()
    text = html.unescape(document)
    assert all(item in text for item in known(name).item_names)
    tables = " ".join(re.findall(r"<td.*?</td>", text, re.S))
    assert not re.search(r"\b(nan|NaN|None|inf)\b", tables)


def test_results_that_were_saved_have_the_same_page(tmp_path):
    diagnosis().save(tmp_path / "diagnosis.dtstat")
    stability().save(tmp_path / "stability.dtstat")
    loaded = [dt.load(tmp_path / f"{name}.dtstat") for name in ("diagnosis", "stability")]
    first = known("nine").report(tmp_path / "first.html", diagnosis(), stability(), "T")
    second = loaded[0].fit.report(tmp_path / "second.html", *loaded, "T")
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("path", ["absent/page.html", "x" * 300, "."])
def test_a_file_that_cannot_be_written_is_refused_before_the_work(path, tmp_path, monkeypatch):
    def work(*_):
        raise AssertionError("the page was made")

    monkeypatch.setattr("dtstat.page.content.fit_page", work)
    with pytest.raises(dt.InputError, match="Cannot write"):
        known("nine").report(tmp_path / path)
