"""Reliability of scales, against live psych."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dtstat as dt

pytestmark = [pytest.mark.against_r, pytest.mark.usefixtures("require_r")]


def answers(gaps):
    rng = np.random.default_rng(11)
    z = rng.normal(size=(400, 1))
    X = np.digitize(
        z * [0.8, -0.7, 0.6, 0.9, 0.5] + rng.normal(size=(400, 5)), [-1.5, -0.5, 0.5, 1.5]
    )
    data = pd.DataFrame(X.astype(float), columns=[f"q{k}" for k in range(1, 6)])
    return data.mask(rng.random(data.shape) < gaps)


@pytest.mark.parametrize("gaps", [0.0, 0.08])
def test_alpha_equals_psych(gaps, run_r):
    data = answers(gaps)
    theirs = run_r(
        """
        library(psych)
        a <- suppressWarnings(alpha(d, keys = "q2"))
        s <- scoreItems(list(f = c("q1", "-q2", "q3", "q4", "q5")), d, impute = "none")
        list(total = unlist(a$total[c("raw_alpha", "std.alpha", "average_r")]),
             drop = a$alpha.drop$raw_alpha, r_drop = a$item.stats$r.drop,
             n = a$item.stats$n, sd = a$item.stats$sd, scored = c(s$alpha))
        """,
        d=data,
    )
    found = dt.reliability(data, {"f": ["q1", "-q2", "q3", "q4", "q5"]})
    total = found.factors[["alpha", "std_alpha", "mean_r"]].to_numpy()[0]
    assert total == pytest.approx(np.asarray(theirs["total"]), abs=1e-6)
    assert total[0] == pytest.approx(float(np.ravel(theirs["scored"])[0]), abs=1e-6)
    assert found.items["alpha_drop"].to_numpy() == pytest.approx(theirs["drop"], abs=1e-6)
    assert found.items["r_drop"].to_numpy() == pytest.approx(theirs["r_drop"], abs=1e-6)
    assert found.items["n"].tolist() == np.asarray(theirs["n"]).tolist()
    assert found.items["sd"].to_numpy() == pytest.approx(theirs["sd"], abs=1e-6)
