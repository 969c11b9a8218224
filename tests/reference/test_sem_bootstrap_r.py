"""The bootstrap, against lavaan fitted to the same resamples and against R's package boot."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.sem.bootstrap import _limits, _rows, draw_rows, quantile

pytestmark = [pytest.mark.against_r, pytest.mark.usefixtures("require_r")]

MODEL = "ind60 =~ x1 + x2 + x3; dem60 =~ y1 + y2 + y3 + y4; dem60 ~ a*ind60; d := a^2"


@pytest.mark.filterwarnings("ignore::dtstat.core.errors.EstimationWarning")  # a Heywood case
@pytest.mark.parametrize("group", [None, "half"])
def test_each_resample_is_fitted_as_by_lavaan(group, run_r):
    data = dt.load_dataset("political_democracy")[["x1", "x2", "x3", "y1", "y2", "y3", "y4"]]
    data["half"] = ["p"] * 40 + ["q"] * 35
    fit = dt.sem(data, MODEL, group=group)
    n_boot = 8
    found = dt.bootstrap(fit, data, n_boot=n_boot, seed=11)
    groups = [np.arange(75)] if group is None else [np.arange(40), np.arange(40, 75)]
    rows = pd.DataFrame([draw_rows(groups, 11, k) + 1 for k in range(n_boot)])
    theirs = run_r(
        f"""
        library(lavaan)
        value <- function(k) {{
          f <- sem("{MODEL}", d[as.numeric(rows[k, ]), ], group = {'"half"' if group else "NULL"})
          p <- parameterEstimates(f, remove.nonfree = FALSE)
          c(p$est[p$op %in% c("=~", "~", ":=")], fitMeasures(f)["chisq"])
        }}
        list(values = t(sapply(1:{n_boot}, value)))
        """,
        d=_rows(fit, data),  # in the order in which they are drawn
        rows=rows,
    )
    table = fit.parameters
    kept = table["op"].isin(["=~", "~", ":="]).to_numpy()
    ours = np.column_stack([found.values[:, kept], found.chisq])
    assert ours == pytest.approx(np.array(theirs["values"]), abs=2e-3, rel=2e-3)


def test_intervals_equal_those_of_the_package_boot(run_r):
    rng = np.random.default_rng(1)
    values = rng.gamma(3.0, size=199)
    estimate, u = 2.7, rng.exponential(size=60) - 1  # u: empirical influence values
    acceleration = float((u**3).sum() / (6 * (u**2).sum() ** 1.5))
    theirs = run_r(
        f"""
        library(boot)
        t <- v$t; out <- list(t0 = {estimate}, t = matrix(t), R = length(t), sim = "ordinary",
          stype = "i", call = quote(boot()), data = numeric({len(u)}), strata = rep(1, {len(u)}))
        class(out) <- "boot"
        ci <- boot.ci(out, type = c("perc", "basic", "bca"), L = l$l)
        list(percentile = ci$percent[4:5], basic = ci$basic[4:5], bca = ci$bca[4:5])
        """,
        v=pd.DataFrame({"t": values}),
        l=pd.DataFrame({"l": u}),
    )
    for kind, wanted in theirs.items():
        ours = _limits(kind, 0.025, values, estimate, acceleration)
        assert ours == pytest.approx(wanted, rel=1e-6), kind
    assert quantile(values, 0.5) == pytest.approx(np.median(values))


@pytest.mark.parametrize("estimator", ["ML", "MLR"])
def test_monte_carlo_intervals_equal_draws_from_what_lavaan_estimates(estimator, run_r):
    model = """
        ind60 =~ x1 + x2 + x3; dem60 =~ y1 + y2 + y3 + y4; dem65 =~ y5 + y6 + y7 + y8
        dem60 ~ a*ind60; dem65 ~ b*dem60 + c*ind60; ab := a*b; share := ab / (ab + c)"""
    data = dt.load_dataset("political_democracy")
    fit = dt.sem(data, model, estimator=estimator)
    theirs = run_r(
        f"""
        library(lavaan)
        set.seed(1)
        fit <- sem("{model}", d, estimator = "{estimator}")
        free <- c("a", "b", "c")
        t <- MASS::mvrnorm(1e6, coef(fit)[free], vcov(fit)[free, free])
        ab <- t[, 1] * t[, 2]
        list(ab = unname(quantile(ab, c(.025, .975))),
             share = unname(quantile(ab / (ab + t[, 3]), c(.025, .975))))
        """,
        d=data,
    )
    table = fit.defined_intervals().set_index("lhs")
    for name in ("ab", "share"):
        ours = table.loc[name, ["ci.lower", "ci.upper"]].to_numpy(dtype=float)
        assert ours == pytest.approx(theirs[name], abs=0.04 * table.loc[name, "se"])
