"""The page of a fit: which parts it has, what they say, and that saving changes nothing."""

import functools
import html
import re
from dataclasses import replace

import numpy as np
import pytest

import dtstat as dt
from dtstat.page.content import fit_page
from dtstat.page.verdicts import bottom_line

NINE = dt.load_dataset("holzinger_swineford_9")
MANY = dt.load_dataset("holzinger_swineford_26")
NOISE = np.random.default_rng(3).normal(size=(150, 8))
WHOLE = ["answer", "trust", "explore", "items", "responses", "reproduce"]
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
    "another level": lambda: known("many").level(2),
    "one factor": lambda: dt.fit(NINE[["x4", "x5", "x6"]]),
    "numbers": lambda: dt.fit(NINE.set_axis(range(9), axis=1)),
    "none": lambda: dt.fit(NOISE),
    "two items": lambda: dt.fit(NINE[["x4", "x5"]]),
    "none by spline": lambda: dt.fit(NOISE, estimator="spline", seed=1),
}
NONE = [name for name in FITS if name.startswith("none")]
MATRICES = ["matrix"]
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
    tables = "\n".join(table.to_text() for table in (*one.tables, *one.folded))
    facts = (f"{label} {text}" for label, text in one.facts)
    return "\n".join([*one.intro, *facts, tables, *(text for _, text in one.texts)])


# --- parts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FITS)
def test_parts_are_those_that_have_something_to_say(name):
    expected = WHOLE
    if name in NONE:
        expected = ["answer", "explore", "items", "reproduce"]
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
    fit, found = known(name), page(name)
    facts = section(found, "answer").facts
    summary = " ".join(fit.summary().to_text().split())
    assert found.lead in summary
    for label, text in facts:
        if label not in ("How sure", "Fit"):
            assert " ".join(text.split()) in summary, label
    labels = [label for label, _ in facts]
    assert labels[0] == "Choice"
    assert dict(facts)["Choice"] == fit.explanation
    counted = " counted as about " in summary
    assert ("Evidence" in labels) == counted
    if name not in NONE:
        assert counted == (fit.n_effective < 0.95 * fit.n_typical)
        assert f"SRMR {fit.fit_measures['srmr']:.3f}" in dict(facts)["Fit"]
    assert [text for label, text in facts if label == "Note"] == list(fit.notes)
    assert ("How sure" in labels) == (name not in NONE)
    assert ("Why" in labels) == (name in NONE)
    assert ("What next" in labels) == (name in ("none", "none by spline"))


def test_many_items_of_no_factor_are_told_first():
    out = section(page("given"), "answer")
    assert "Left out" not in dict(out.facts)  # they were left out by whoever gave the structure
    rest = np.random.default_rng(0).normal(size=(301, 2))
    fit = dt.fit(NINE.assign(a=rest[:, 0], b=rest[:, 1]))
    facts = dict(section(fit_page(fit, None, None, None), "answer").facts)
    assert facts["Left out"].startswith("2 of 11 items are in no factor.")


@pytest.mark.parametrize("name", FITS)
def test_no_table_of_the_summary_is_lost_or_told_twice(name):
    """But levels, loadings and correlations, which the script draws, or which curves replace."""
    titles = [table.title for table in known(name).summary(0.3, 30).tables]
    whole = [table.title for one in page(name).sections for table in (*one.tables, *one.folded)]
    drawn = ("Levels", "Standardized loadings", "With factor correlations")
    wanted = sorted(title for title in titles if not title.startswith(drawn))
    assert sorted(title for title in whole if title in titles) == wanted


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


def test_the_explorer_names_its_criterion():
    assert "Over the thresholds ebic is" in said(section(page("nine"), "explore"))
    assert "Over the thresholds ebic is" in said(section(page("cv"), "explore"))
    assert "Over the thresholds" not in said(section(page("given"), "explore"))


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
    monkeypatch.setattr("dtstat.page.numbers.MOST_DRAWN", 5)
    found = fit_page(known("nine"), None, None, None)
    assert "responses" not in [one.name for one in found.sections]
    assert len(section(found, "explore").tables) == 2
    assert section(found, "explore").widget  # the tree
    alone = fit_page(known("threshold"), None, None, None)
    assert not section(alone, "explore").widget


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
    assert "see stability()" in text
    assert dt.diagnose(known("nine")).verdict.split(":")[0] in text


def test_diagnosis_and_stability_are_shown_whole():
    found = section(fit_page(known("nine"), diagnosis(), stability(), None), "trust")
    text = said(found)
    assert "Intervals need the answers" not in text
    assert "see stability()" not in text
    titles = [table.title for table in found.folded]
    for part in (diagnosis(), stability()):
        summary = part.summary(30)
        assert {table.title for table in summary.tables} <= set(titles)
        for line in summary.head[1:]:
            words = re.sub(r":? +", " ", line).strip()
            assert words in re.sub(r":? +", " ", text.replace("\u2212", "-"))


def test_the_bottom_line_comes_first_and_is_that_of_the_results():
    found = fit_page(known("nine"), diagnosis(), stability(), None)
    label, text = section(found, "trust").facts[0]
    assert label == "Bottom line"
    assert dict(section(found, "answer").facts)["How sure"] == text
    firm = diagnosis().factors.query("verdict == 'firm'")["factor"].tolist()
    assert firm
    assert ("All 3 factors are clearly supported" in text) == (len(firm) == 3)
    assert ("misfits by more than sampling error" in text) == (
        known("nine").fit_measures["pvalue"] < 0.05
    )
    about = stability().glance().iloc[0]
    assert f"{about['same_structure']:.1%} gave the same structure" in text
    assert f"{about['same_n_factors']:.1%} the same number" in text


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        (
            ["firm", "firm", "firm"],
            "All 3 factors are clearly supported, each at its own thresholds.",
        ),
        (
            ["firm", "unsure", "firm"],
            "F1 and F3 are clearly supported, each at its own thresholds; F2 is not "
            "distinguishable from chance.",
        ),
        (
            ["unsure", "firm", "unsure"],
            "F2 is clearly supported at its own thresholds; F1 and F3 are not distinguishable from "
            "chance.",
        ),
        (
            ["no core", "seen", "seen"],
            "F2 and F3 are seen, each at its own thresholds; F1 is seen at no threshold.",
        ),
    ],
)
def test_the_support_of_the_factors_is_said_in_one_sentence(verdicts, said, monkeypatch):
    other = dt.diagnose(known("nine"))
    monkeypatch.setitem(vars(other), "factors", other.factors.assign(verdict=verdicts))
    assert bottom_line(known("nine"), other, None)[0] == said


def test_fits_that_were_not_tested_are_not_called_good():
    few = dt.fit(NINE.iloc[:60])
    assert np.isnan(few.fit_measures["pvalue"])
    assert "The fit was not tested. " in " ".join(bottom_line(few, None, None))


def test_minus_signs_are_true_ones_but_in_names():
    shown = said(section(page("many"), "trust"))
    assert "Margin \u2212" in shown
    odd = dt.fit(MANY.rename(columns={MANY.columns[0]: "-1"}))
    assert "Margin -" in said(section(fit_page(odd, None, None, None), "trust"))


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
    names = [one.name for one in found.sections]
    assert names == ["answer", "trust", "explore", "items", "reproduce"]
    assert section(found, "trust").facts[0][1].startswith("Of 2 resamples ")


# --- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FITS)
def test_a_fit_that_was_saved_has_the_same_page(name, tmp_path):
    known(name).save(tmp_path / "fit.dtstat")
    # Sums of answers and their moments need the answers, which files do not keep.
    document = fit_page(replace(known(name), source=None), None, None, None).to_html()
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
    fit = replace(known("nine"), source=None)
    first = fit.report(tmp_path / "first.html", diagnosis(), stability(), "T")
    second = loaded[0].fit.report(tmp_path / "second.html", *loaded, "T")
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("path", ["absent/page.html", "x" * 300, "."])
def test_a_file_that_cannot_be_written_is_refused_before_the_work(path, tmp_path, monkeypatch):
    def work(*_):
        raise AssertionError("the page was made")

    monkeypatch.setattr("dtstat.page.content.fit_page", work)
    with pytest.raises(dt.InputError, match="Cannot write"):
        known("nine").report(tmp_path / path)
