"""What a model is fitted to, and which way its factors point, against live lavaan."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dtstat as dt

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.lavaan.cases import ask_r
from benchmarks.lavaan.data_cases import CASES, HS, bfi, found, nine

pytestmark = [pytest.mark.against_r, pytest.mark.usefixtures("require_r")]

DEMOCRACY = "ind =~ x1 + x2 + x3\ndem =~ y1 + a*y2 + a*y3 + y4\ndem ~ ind\ny1 ~~ y2"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_equal_to_lavaan_or_refused(case):
    ours = case.ours()
    if isinstance(ours, str):
        assert ours.endswith(".")
        return
    assert ours == pytest.approx(case.lavaan(), abs=case.tolerance)


def lavaan_parameters(call, data):
    """Estimates, standard errors and tests of a call of lavaan, by name."""
    code = f"""
      f <- {call}
      p <- parameterEstimates(f)
      name <- paste0(p$lhs, p$op, p$rhs)
      c(setNames(p$est, name), setNames(p$se, paste("se", name)),
        fitMeasures(f, c("chisq", "df", "pvalue", "cfi", "rmsea", "srmr", "aic", "bic")))"""
    return ask_r(code, data)


def our_parameters(fit):
    p = fit.parameters
    name = p["lhs"] + p["op"] + p["rhs"]
    measures = ("chisq", "df", "pvalue", "cfi", "rmsea", "srmr", "aic", "bic")
    return (
        dict(zip(name, p["est"], strict=True))
        | dict(zip("se " + name, p["se"], strict=True))
        | {name: fit.fit_measures[name] for name in measures}
    )


@pytest.mark.parametrize("std_lv", [False, True])
@pytest.mark.parametrize(
    ("dataset", "model"), [("holzinger_swineford_9", HS), ("political_democracy", DEMOCRACY)]
)
def test_a_covariance_matrix_is_analyzed_as_lavaan_does(dataset, model, std_lv):
    data = dt.load_dataset(dataset)
    n = len(data)
    lv = "TRUE" if std_lv else "FALSE"
    theirs = lavaan_parameters(
        f"sem('{model}', sample.cov = cov(d), sample.nobs = {n}, std.lv = {lv})", {"d": data}
    )
    ours = our_parameters(dt.sem(data.cov(), model, std_lv=std_lv, n_obs=n))
    assert ours == pytest.approx(theirs, abs=1e-4)
    rows = our_parameters(dt.sem(data, model, std_lv=std_lv))
    assert ours == pytest.approx(rows, abs=1e-5)


def test_a_correlation_matrix_is_analyzed_as_lavaan_does():
    theirs = lavaan_parameters(
        f"cfa('{HS}', sample.cov = cor(d), sample.nobs = 301)", {"d": nine()}
    )
    assert our_parameters(dt.cfa(nine().corr(), HS, n_obs=301)) == pytest.approx(theirs, abs=1e-4)


def test_markers_of_to_lavaan_keep_the_orientation_of_the_fit():
    """Every factor of the 25 items correlates positively with its scores, here and in lavaan."""
    items = bfi().drop(columns="gender")
    fit = found()
    scores = fit.factor_scores(items)
    confirmed = dt.cfa(items, fit)
    again = confirmed.factor_scores(items)
    complete = items.dropna()
    code = f"""
      s <- lavPredict(cfa('{fit.to_lavaan()}', d))
      diag(cor(s, fs[colnames(s)]))"""
    theirs = ask_r(code, {"d": complete, "fs": scores.loc[complete.index]})
    assert len(theirs) == fit.n_factors
    assert min(theirs.values()) > 0.8
    for factor in fit.factor_names:
        assert np.corrcoef(scores[factor], again[factor])[0, 1] > 0.8
    signs = np.sign(confirmed.loadings.loc[list(items.columns), list(fit.factor_names)])
    agree = (signs == np.sign(fit.loadings)).to_numpy()[fit.structure.support]
    assert agree.mean() > 0.95  # a weak cross-loading may change its sign
    free = dt.cfa(items, fit, std_lv=True).factor_scores(items)
    for factor in fit.factor_names:
        assert np.corrcoef(free[factor], again[factor])[0, 1] > 0.99


@pytest.mark.parametrize("std_lv", [False, True])
def test_a_factor_of_reversed_items_points_away_from_them(std_lv):
    key = {"Calm": ["-x4", "-x5", "-x6"]}
    fit = dt.cfa(nine(), key, std_lv=std_lv)
    assert (fit.loadings["Calm"] < -0.8).all()
    text = dt.Structure.from_keys(key).to_lavaan()
    same = dt.cfa(nine(), text, std_lv=std_lv)
    pd.testing.assert_frame_equal(same.loadings, fit.loadings, atol=1e-6)
    if not std_lv:  # without a marker lavaan turns the first loading positive
        theirs = lavaan_parameters(f"cfa('{text}', d)", {"d": nine()})
        assert our_parameters(fit) == pytest.approx(theirs, abs=1e-4, nan_ok=True)


def test_texts_with_any_names_are_read_by_lavaan():
    names = ["Q1?", "Q1!", "F1", 'a "b"', "1st", "line\nbreak", "if", "é;!#", "back\\slash"]
    data = nine().set_axis(names, axis=1)
    structure = dt.Structure.from_keys({"F1": names[:3], "F 2": names[3:6], "F3": names[6:]})
    text = structure.to_lavaan()
    from dtstat.structure.structure import r_names

    renamed = data.set_axis(r_names(names), axis=1)
    code = """
      f <- cfa(paste(text$line, collapse = "\\n"), d)
      c(fitMeasures(f, c("chisq", "df")))"""
    theirs = ask_r(code, {"d": renamed, "text": pd.DataFrame({"line": text.split("\n")})})
    for model in (text, structure, structure.to_keys()):
        fit = dt.cfa(data, model)
        assert {k: fit.fit_measures[k] for k in theirs} == pytest.approx(theirs, abs=1e-4)
        assert fit.item_names == tuple(names)
    assert dt.cfa(data, text).estimate.model.latent == ("F1.1", "F 2", "F3")


def test_names_are_those_of_r():
    names = ["Q1?", "Q1!", "Q1.", "a b", "a.b", "NA", "_x", "1st", ".1", "..", "é", "a-b", "a b.1"]
    from dtstat.structure.structure import r_names

    code = "x <- make.names(d$name, unique = TRUE); setNames(seq_along(x), x)"
    assert list(ask_r(code, {"d": pd.DataFrame({"name": names})})) == r_names(names)


def test_glance_names_the_test_as_lavaan_does():
    code = f"f <- cfa('{HS}', d, estimator = 'MLR'); t <- lavInspect(f, 'options')$test\n"
    code += "setNames(1, tail(t, 1))"
    fit = dt.cfa(nine(), HS, estimator="mlr")
    assert list(ask_r(code, {"d": nine()})) == [fit.glance()["test"].iloc[0]]
    rounded = nine().round().clip(1, 6)[["x4", "x5", "x6"]]
    code = "f <- cfa('f =~ x4 + x5 + x6', d, ordered = TRUE); t <- lavInspect(f, 'options')$test\n"
    code += "setNames(1, tail(t, 1))"
    fit = dt.cfa(rounded, "f =~ x4 + x5 + x6", ordered=True)
    assert list(ask_r(code, {"d": rounded})) == [fit.glance()["test"].iloc[0]]
