"""Mistakes people make: each call either just works, or is answered with the right sentence."""

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.errors import InputError, MissingExtraError

DATA = dt.load_dataset("holzinger_swineford_9")
KEYS = {"visual": ["x1", "x2", "x3"], "verbal": ["x4", "x5", "x6"], "speed": ["x7", "x8", "x9"]}
SYNTAX = "visual =~ x1 + x2 + x3; verbal =~ x4 + x5 + x6; speed =~ x7 + x8 + x9"
ODD = ["Q 1?", "Q1!", "Q\n3", "F1", "x-5", "6", "a b", "ä", "[z]"]


@pytest.fixture(scope="module")
def fit():
    return dt.fit(DATA)


FORMS = {
    "a fit": lambda fit: fit,
    "a structure": lambda fit: fit.structure,
    "keys": lambda fit: KEYS,
    "syntax": lambda fit: SYNTAX,
    "syntax of the fit": lambda fit: fit.to_lavaan(),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_structure_is_taken_in_any_form(fit, form):
    given = FORMS[form](fit)
    assert dt.cfa(DATA, given).fit_measures["chisq"] == pytest.approx(85.306, abs=1e-3)
    assert dt.compare(fit, given).exact
    assert dt.fit(DATA, structure=given).structure == fit.structure
    assert dt.margin(DATA, given).value == dt.margin(DATA, fit).value


def test_odd_names_survive_the_way_into_a_model():
    odd = DATA.set_axis(ODD, axis=1)
    fit = dt.fit(odd)
    model = dt.cfa(odd, fit.to_lavaan())
    assert model.fit_measures["chisq"] == pytest.approx(85.306, abs=1e-3)
    assert set(model.item_names) == set(ODD)
    named = fit.rename(["Q 1", "a+b", "=~"])
    assert dt.cfa(odd, named.to_lavaan()).fit_measures["chisq"] == pytest.approx(85.306, abs=1e-3)


def test_a_header_with_a_line_break_stays_in_its_line():
    fit = dt.fit(DATA.set_axis(ODD, axis=1))
    printed = str(fit.summary())
    assert "Q 3" in printed
    assert "Q\n3" not in printed


CORRELATIONS = DATA.corr()
TEXTS = pd.DataFrame(np.tile(["agree", "disagree"], (20, 3)), columns=list("abcdef"))
LONG = DATA.head(20).reset_index().melt("index")

# What somebody writes, and a part of what is answered.
SENTENCES = {
    "dt.cfa(DATA, 'A ~= x1 + x2')": "measured with =~",
    "dt.cfa(DATA, 'A = x1 + x2')": "measured with =~",
    "dt.cfa(DATA, 'A: x1 + x2')": "measured with =~",
    "dt.cfa(DATA, 'A =~ x1 x2 x3')": "Join items with +",
    "dt.cfa(DATA, 'A =~ x1, x2')": "Join items with +",
    "dt.cfa(SYNTAX, DATA)": r"Pass the data first: cfa\(data, model\)",
    "dt.cfa(fit, DATA)": r"Pass the data first: cfa\(data, model\)",
    "dt.cfa(DATA, 'A =~ X1 + x2 + x3')": "names 'X1', .* Did you mean 'x1'",
    "dt.cfa(DATA, {'v': ['x1', 'x2', 'x33']})": "names 'x33', .* Did you mean 'x3'",
    "dt.cfa(DATA, KEYS, group='school')": "`group` must be the name of a column",
    "dt.cfa(DATA, DATA)": r"got DataFrame. Structure\(table\)",
    "dt.fit(DATA, structure=fit.structure.support)": r"got ndarray. Structure\(table\)",
    "dt.fit(DATA, measure='Spearman')": "Did you mean 'spearman'",
    "dt.fit(DATA, criterion='BIC')": "Did you mean 'bic'",
    "dt.fit(DATA, n_factors='3')": "`n_factors` must be a whole number .* got '3'",
    "dt.fit(DATA, n_factors=99)": "at most 4 with 9 items",
    "dt.fit(DATA, missing='drop')": "Known: error, listwise, pairwise",
    "dt.fit(DATA['x1'])": "got Series. Pass a DataFrame with several items",
    "dt.fit(DATA[['x1']])": "at least two items",
    "dt.fit(DATA.head(0))": "at least two rows; got 0",
    "dt.fit(DATA.to_dict('list'))": r"got dict. pandas.DataFrame\(data\)",
    "dt.fit(None)": "got NoneType",
    "dt.fit('no such file.csv')": "a file that exists; got 'no such file.csv'. Check name",
    "dt.fit(CORRELATIONS)": r"symmetric 9 × 9 .* DependenceMatrix.from_matrix\(matrix",
    "dt.fit(CORRELATIONS, n_obs=301)": "holds correlations; say which kind",
    "dt.fit(DATA, n_obs=301)": "left out with data",
    "dt.fit(DATA.assign(id=[f'P{i}' for i in DATA.index]))": "item 'id' holds text: 'P0'",
    "dt.fit(TEXTS)": "item 'a' holds text: 'agree' in row 1. Code the answers as numbers",
    "dt.fit(LONG)": "item 'variable' holds text",
    "dt.fit(DATA, labels=['a'])": "`labels` must be a dict from item to text",
    "fit.plot('digram')": "Did you mean 'diagram'",
    "fit.plot('diagram', cut=0.3)": "Did you mean 'cutoff'",
    "fit.level('3')": "a whole number, 'fine' or 'broad'; got '3'",
    "fit.level(99)": "at most 4; got 99",
    "fit.rename('visual')": "3 names, one per factor; got 1. A dict renames some",
    "fit.rename({'visual': 'F1'})": r"goes from old to new .* Turn it round: \{'F1': 'visual'\}",
    "fit.rename({'visual': 'Seeing'})": "no factor 'visual'. Known: F1, F2, F3",
    "fit.reflect('x1')": "no factor 'x1'",
    "fit.factor_scores(DATA[['x1', 'x2']])": "lack the item 'x3' and 6 more",
    "dt.stability(fit)": "got DTFit. A result does not keep the answers",
    "dt.diagnose(DATA, fit)": r"got DataFrame. Call diagnose\(fit, data\)",
    "dt.compare_models(fit, fit)": r"got DTFit. cfa\(data, fit\) makes one of it",
    "dt.efa(DATA, '3')": "`n_factors` must be a whole number",
    "dt.efa(DATA, 3, rotation='Oblimin')": "Did you mean 'oblimin'",
    "dt.load_dataset('holzinger')": "Did you mean 'holzinger_swineford_9'",
}


@pytest.mark.parametrize("call", SENTENCES)
def test_the_sentence(call, fit):
    with pytest.raises(InputError, match=SENTENCES[call]):
        eval(call, globals() | {"fit": fit})


@pytest.mark.filterwarnings("ignore")  # of further doubts
def test_few_rows_are_no_evidence_of_no_factor():
    noise = np.random.default_rng(0).standard_normal((20, 25))
    with pytest.warns(dt.DTWarning, match="fewer rows .20. than items .25.: the fit cannot be"):
        found = str(dt.fit(noise).summary())
    assert "Weaker dependence may be there; 20 rows do not show it." in found
    assert "min_children`, or" not in found  # it cannot be smaller


@pytest.mark.filterwarnings("ignore")
def test_people_in_columns_are_noticed():
    with pytest.warns(dt.DTWarning, match="If people are in columns, transpose the data"):
        dt.fit(DATA.head(8).T.iloc[:6])


@pytest.mark.filterwarnings("ignore")  # two items of a factor may be a Heywood case
def test_two_item_scales_are_hinted_at():
    rng = np.random.default_rng(5)
    Z = rng.standard_normal((400, 6))
    three = Z[:, :2].repeat(3, axis=1)
    two = Z[:, 2:5].repeat(2, axis=1)
    X = np.hstack([three, two])
    X += 0.6 * rng.standard_normal(X.shape)
    summary = str(dt.fit(X, min_children=3).summary())
    fine = dt.fit(X)
    assert {fine.structure.children(k) for k in range(5)} >= {("x7", "x8"), ("x11", "x12")}
    assert "min_children=2 allows factors of two items" in summary


def test_missing_extras_can_be_had_from_a_checkout():
    sentence = str(MissingExtraError("Plotting", "matplotlib", "plot"))
    assert 'pip install "dtstat[plot]"' in sentence
    assert 'pip install ".[plot]"' in sentence
