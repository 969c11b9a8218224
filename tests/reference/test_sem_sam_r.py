"""Structural after measurement, against live lavaan."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dtstat as dt

pytestmark = [
    pytest.mark.against_r,
    pytest.mark.usefixtures("require_r"),
    pytest.mark.filterwarnings("ignore::dtstat.core.errors.EstimationWarning"),
]

BLOCKS = "ind60 =~ x1 + x2 + x3\ndem60 =~ y1 + y2 + y3 + y4\ndem65 =~ y5 + y6 + y7 + y8\n"
HS = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9\n"


def democracy() -> pd.DataFrame:
    return dt.load_dataset("political_democracy")


def schools() -> pd.DataFrame:
    data = dt.load_dataset("holzinger_swineford_9")
    z = np.random.default_rng(5).normal(size=len(data)) + 0.3 * data["x1"]
    return data.assign(school=["Pasteur"] * 156 + ["Grant-White"] * 145, z=z)


CASES = {
    "saturated": (BLOCKS + "dem60 ~ ind60\ndem65 ~ ind60 + dem60", democracy, "", {}),
    "restricted": (BLOCKS + "dem60 ~ ind60\ndem65 ~ dem60", democracy, "", {}),
    "factor correlations": (HS, schools, "", {}),
    "indirect": (BLOCKS + "dem60 ~ a*ind60\ndem65 ~ b*dem60\nab := a*b", democracy, "", {}),
    "covariate": (HS + "speed ~ visual + z\ntextual ~ z", schools, "", {}),
    "observed outcome": (HS + "z ~ visual + textual + speed", schools, "", {}),
    "groups": (HS + "speed ~ visual + textual", schools, ", group = 'school'",
               {"group": "school"}),
    "equal loadings": (HS + "speed ~ visual + textual", schools,
                       ", group = 'school', group.equal = 'loadings'",
                       {"group": "school", "group_equal": "loadings"}),
    "mean structure": (HS + "speed ~ visual + textual", schools, ", meanstructure = TRUE",
                       {"mean_structure": True}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_two_step_estimates_equal_lavaan(name, run_r):
    model, data, options, given = CASES[name]
    theirs = run_r(
        f"""
        library(lavaan)
        p <- parameterEstimates(suppressWarnings(sam("{model}", d{options})), zstat = FALSE)
        if (is.null(p$group)) p$group <- 1
        p <- p[p$op %in% c("~", "~~", ":=") & p$se > 0, ]
        v <- c("visual", "textual", "speed", "ind60", "dem60", "dem65", "z", "x9")
        m <- function(x) ifelse(x %in% v, match(x, v), 0)
        list(lhs = m(p$lhs), op = match(p$op, c("~", "~~", ":=")), rhs = m(p$rhs), group = p$group,
             est = p$est, se = p$se)
        """,
        d=data(),
    )
    fit = dt.sem(data(), model, method="sam", **given)
    names = ["ab", "visual", "textual", "speed", "ind60", "dem60", "dem65", "z", "x9"]
    ours = {
        (r["lhs"], r["op"], "" if r["op"] == ":=" else r["rhs"], r.get("group", "")): r
        for r in fit.parameters.to_dict("records")
    }
    groups = {k: name for k, name in enumerate(fit.groups, 1)} | {0: ""}
    compared = 0
    for lhs, op, rhs, group, est, se in zip(*theirs.values(), strict=True):
        sign = ["~", "~~", ":="][int(op) - 1]
        where = groups.get(int(group), "") if sign != ":=" else ""
        a, b = names[int(lhs)], "" if sign == ":=" else names[int(rhs)]
        row = ours.get((a, sign, b, where)) or ours.get((b, sign, a, where))
        if row is None:  # nuisance that lavaan lists
            assert sign == "~~"
            continue
        assert row["est"] == pytest.approx(est, abs=1e-3), (a, sign, b)
        assert row["se"] == pytest.approx(se, rel=5e-3), (a, sign, b)
        compared += 1
    assert compared >= 3
