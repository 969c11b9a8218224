"""Latent regression, against live lavaan: sam() and sem() with factors standardized."""

from __future__ import annotations

import numpy as np
import pytest

import dtstat as dt

pytestmark = [pytest.mark.against_r, pytest.mark.usefixtures("require_r")]

KEYS = {"visual": ["x1", "x2", "x3"], "textual": ["x4", "x5", "x6"], "speed": ["x7", "x8", "x9"]}
MEASURED = "\n".join(f"{name} =~ {' + '.join(items)}" for name, items in KEYS.items())
# One measurement model of all factors, as that of a fit; errors that do not need normal answers.
OPTIONS = {
    "sam": ", mm.list = list(c('visual', 'textual', 'speed'))",
    "sem": ", estimator = 'MLR'",
}
CASES = {
    "speed ~ visual + textual + age": "speed ~ visual + textual + age",
    "age ~ visual + textual + speed": "age ~ visual + textual + speed",
    "textual ~ age + grant": "textual ~ age + grant\nvisual ~ age + grant\nspeed ~ age + grant",
}


@pytest.mark.parametrize("function", ["sam", "sem"])
@pytest.mark.parametrize("formula", CASES)
def test_equals_lavaan(formula, function, run_r):
    data = dt.load_dataset("holzinger_swineford_9", people=True)
    data["grant"] = (data["school"] == "Grant-White").astype(float)
    columns = [name for names in KEYS.values() for name in names]
    outcome, predictors = (part.strip() for part in formula.split("~"))
    names = predictors.split(" + ")
    model = f"{MEASURED}\n{CASES[formula]}"
    theirs = run_r(
        f"""
        library(lavaan)
        fit <- suppressWarnings({function}("{model}", d, fixed.x = FALSE{OPTIONS[function]}))
        p <- standardizedSolution(fit, type = "std.lv")
        p <- p[p$op == "~" & p$lhs == "{outcome}", ]
        p <- p[match(c({", ".join(f"'{name}'" for name in names)}), p$rhs), ]
        list(est = p$est.std, se = p$se)
        """,
        d=data[[*columns, "age", "grant"]],
    )
    fit = dt.fit(data[columns], structure=dt.Structure.from_keys(KEYS), estimator="linear")
    found = dt.regress(formula, fit, data)
    near = 0.01 if function == "sam" else 0.05  # the items of sem() also follow the regression
    assert found.params[names].to_numpy() == pytest.approx(np.array(theirs["est"]), abs=near)
    if function == "sem":  # sam() has those of normal answers; the model misfits
        assert found.bse[names].to_numpy() == pytest.approx(np.array(theirs["se"]), rel=0.25)
