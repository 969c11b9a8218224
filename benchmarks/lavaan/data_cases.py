"""What is given, what is shown, and which way factors point."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import cache
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.lavaan.cases import Case, ask_r

HS = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9"
SIX = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6"
EQUAL = "visual =~ a*x1 + a*x2 + a*x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9"
FIVE = "\n".join(f"{s} =~ " + " + ".join(f"{s}{k}" for k in range(1, 6)) for s in "ACENO")
TRUE = "f =~ " + " + ".join(f"x{k}" for k in range(1, 7)) + "\ng =~ " + " + ".join(
    f"x{k}" for k in range(7, 13)
)  # fmt: skip


@cache
def nine() -> pd.DataFrame:
    """Nine ability tests."""
    return dt.load_dataset("holzinger_swineford_9")


@cache
def gaps() -> pd.DataFrame:
    """Nine tests with a quarter of some answers missing."""
    data, rng = nine().copy(), np.random.default_rng(1)
    for name in ("x1", "x5", "x9"):
        data.loc[rng.random(len(data)) < 0.25, name] = np.nan
    return data


@cache
def ratings() -> pd.DataFrame:
    """Two factors of six ratings on three points, for which the model is true."""
    rng = np.random.default_rng(7)
    Z = rng.multivariate_normal([0, 0], [[1, 0.4], [0.4, 1]], 400, method="cholesky")
    X = 0.7 * np.repeat(Z, 6, axis=1) + np.sqrt(0.51) * rng.normal(size=(400, 12))
    codes = np.digitize(X, [-0.3, 0.8]) + 1
    return pd.DataFrame(codes, columns=[f"x{k + 1}" for k in range(12)])


@cache
def bfi() -> pd.DataFrame:
    """Personality items of psychTools, with gender (1 men, 2 women)."""
    return r_table("psychTools::bfi[1:26]")


def r_table(code: str) -> pd.DataFrame:
    """Evaluate R code to a data frame."""
    script = f'write.csv({code}, stdout(), row.names = FALSE, na = "")'
    done = subprocess.run(
        ["Rscript", "--vanilla", "-e", script], capture_output=True, text=True, check=True
    )
    return pd.read_csv(StringIO(done.stdout))


def refused(call: Callable[[], Any]) -> str:
    """Return the sentence by which a call is refused."""
    try:
        result = call()
    except dt.DTError as error:
        return str(error)
    raise AssertionError(f"not refused: {result!r}")


def tested(fit: dt.CFAFit) -> dict[str, float]:
    """Return chi-square and its degrees of freedom, and the largest standard error."""
    m = fit.fit_measures
    return {"chisq": m["chisq"], "df": m["df"], "se": float(fit.parameters["se"].max())}


def shown(fit: dt.CFAFit) -> dict[str, float]:
    """Return what glance shows first."""
    row = fit.glance().iloc[0]
    return {name: float(row[name]) for name in ("chisq", "cfi", "tli", "rmsea")}


LAVAAN_TESTED = 'c(fitMeasures(f, c("chisq", "df")), se = max(parameterEstimates(f)$se))'
LAVAAN_SCALED = (
    'setNames(fitMeasures(f, c("chisq.scaled", "cfi.scaled", "tli.scaled", "rmsea.scaled")), '
    'c("chisq", "cfi", "tli", "rmsea"))'
)


def _orientation_in_lavaan() -> dict[str, float]:
    model = found().to_lavaan()
    code = f"""
      f <- sem('{model}\nF1 ~ gender', d)
      p <- standardizedSolution(f)
      c("women - men" = p$est.std[p$lhs == "F1" & p$op == "~"])"""
    return ask_r(code, {"d": bfi()})


@cache
def found() -> dt.DTFit:
    """Structure of the 25 items."""
    return dt.fit(bfi().drop(columns="gender"))


def _orientation_here() -> dict[str, float]:
    fit = dt.sem(bfi(), found().to_lavaan() + "\nF1 ~ gender")
    table = fit.standardized
    row = table[(table["lhs"] == "F1") & (table["op"] == "~")].iloc[0]
    scores = found().factor_scores(bfi())["F1"].groupby(bfi()["gender"]).mean()
    if np.sign(scores[2] - scores[1]) != np.sign(row["est.std"]):
        return {"women - men": float("nan")}  # the scores of the fit say otherwise
    return {"women - men": float(row["est.std"])}


def _odd_names() -> pd.DataFrame:
    names = ["Q1?", "Q1!", "F1", "a b", "1st", "x 6", "if", "é", "Q-9"]
    return nine().set_axis(names, axis=1)


def _odd_here() -> dict[str, float]:
    data = _odd_names()
    return tested(dt.cfa(data, dt.fit(data).to_lavaan()))


CASES = [
    Case(
        "1",
        "a matrix of polychoric correlations of ratings (true model)",
        "p .0008 here; true model rejected in 83 % of 60 samples",
        lambda: ask_r(
            f"f <- cfa('{TRUE}', d, ordered = TRUE)\n"
            'c("p by WLSMV" = fitMeasures(f, "pvalue.scaled")[[1]])',
            {"d": ratings()},
        ),
        lambda: refused(lambda: dt.cfa(dt.dependence(ratings(), "polychoric"), TRUE)),
        1e-4,
    ),
    Case(
        "1",
        "the same ratings as data, ordered",
        "shown unscaled: chisq 36.56, cfi 1.000, tli 1.008, rmsea 0",
        lambda: ask_r(f"f <- cfa('{TRUE}', d, ordered = TRUE)\n{LAVAAN_SCALED}", {"d": ratings()}),
        lambda: shown(dt.cfa(ratings(), TRUE, ordered=True)),
        1e-3,
    ),
    Case(
        "1",
        "a matrix of Kendall's tau",
        "chisq 34.48, without a word",
        lambda: ask_r(
            f"f <- cfa('{HS}', d)\nc(\"chisq of the rows\" = fitMeasures(f, 'chisq')[[1]])",
            {"d": nine()},
        ),
        lambda: refused(lambda: dt.cfa(dt.dependence(nine(), "kendall"), HS)),
        1e-4,
    ),
    Case(
        "1",
        "a matrix of distance correlations",
        "chisq 57.15, without a word, signs lost",
        lambda: ask_r(
            f"f <- cfa('{HS}', d)\nc(\"chisq of the rows\" = fitMeasures(f, 'chisq')[[1]])",
            {"d": nine()},
        ),
        lambda: refused(lambda: dt.cfa(dt.dependence(nine(), "distance"), HS)),
        1e-4,
    ),
    Case(
        "2",
        "Pearson correlations of pairwise rows",
        "chisq 75.66, all rows counted",
        lambda: ask_r(
            f"f <- cfa('{HS}', d, missing = 'ml')\nc(\"chisq by FIML\" = "
            "fitMeasures(f, 'chisq')[[1]])",
            {"d": gaps()},
        ),
        lambda: refused(lambda: dt.cfa(dt.dependence(gaps(), "pearson"), HS)),
        1e-4,
    ),
    Case(
        "2",
        "the same data, missing='fiml'",
        "chisq 63.62, df 24, se 0.1969",
        lambda: ask_r(f"f <- cfa('{HS}', d, missing = 'ml')\n{LAVAAN_TESTED}", {"d": gaps()}),
        lambda: tested(dt.cfa(gaps(), HS, missing="fiml")),
        1e-3,
    ),
    Case(
        "2",
        "equal loadings in a correlation matrix",
        "chisq 96.79, no warning (other data: 5.88 for 15.36)",
        lambda: ask_r(
            f"f <- cfa('{EQUAL}', d)\nc(\"chisq of the rows\" = fitMeasures(f, 'chisq')[[1]])",
            {"d": nine()},
        ),
        lambda: refused(lambda: dt.cfa(dt.dependence(nine(), "pearson"), EQUAL)),
        1e-4,
    ),
    Case(
        "2",
        "equal loadings in the covariance matrix, n_obs = 301",
        "refused: nine rows for nine items",
        lambda: ask_r(
            f"f <- cfa('{EQUAL}', sample.cov = cov(d), sample.nobs = 301)\n{LAVAAN_TESTED}",
            {"d": nine()},
        ),
        lambda: tested(dt.cfa(nine().cov(), EQUAL, n_obs=301)),
        1e-4,
    ),
    Case(
        "2",
        "a covariance matrix of which the model names six items, n_obs = 301",
        "analyzed as nine people: chisq 1.854",
        lambda: ask_r(
            f"f <- cfa('{SIX}', sample.cov = cov(d), sample.nobs = 301)\n{LAVAAN_TESTED}",
            {"d": nine()},
        ),
        lambda: tested(dt.cfa(nine().cov(), SIX, n_obs=301)),
        1e-4,
    ),
    Case(
        "2",
        "a covariance matrix without n_obs",
        "analyzed as nine people: chisq 1.854",
        lambda: ask_r(
            f"f <- cfa('{SIX}', sample.cov = cov(d), sample.nobs = 301)\n"
            "c(\"chisq with n = 301\" = fitMeasures(f, 'chisq')[[1]])",
            {"d": nine()},
        ),
        lambda: refused(lambda: dt.cfa(nine().cov(), SIX)),
        1e-4,
    ),
    Case(
        "2",
        "Pearson correlations, n = 301",
        "chisq 85.31, df 24, se 0.1775; variances n/(n - 1) times lavaan's",
        lambda: ask_r(
            f"f <- cfa('{HS}', sample.cov = cor(d), sample.nobs = 301)\n{LAVAAN_TESTED}",
            {"d": nine()},
        ),
        lambda: tested(dt.cfa(dt.dependence(nine(), "pearson"), HS)),
        1e-4,
    ),
    Case(
        "7",
        "first shown for mlr: nine tests",
        "unscaled: chisq 85.31, cfi 0.9306, tli 0.8958, rmsea 0.09212",
        lambda: ask_r(f"f <- cfa('{HS}', d, estimator = 'MLR')\n{LAVAAN_SCALED}", {"d": nine()}),
        lambda: shown(dt.cfa(nine(), HS, estimator="mlr")),
        1e-3,
    ),
    Case(
        "7",
        "first shown for dwls: bfi, five scales",
        "unscaled: chisq 6056, cfi 0.9159, tli 0.9048, rmsea 0.09473",
        lambda: ask_r(
            f"f <- cfa('{FIVE}', d, ordered = TRUE)\n{LAVAAN_SCALED}", {"d": bfi().dropna()}
        ),
        lambda: shown(dt.cfa(bfi().dropna(), FIVE, ordered=True)),
        2e-3,
    ),
    Case(
        "9",
        "bfi, F1 ~ gender with the structure of fit()",
        "women - men -0.2207 (by factor_scores +0.348)",
        _orientation_in_lavaan,
        _orientation_here,
        1e-3,
    ),
    Case(
        "names",
        "columns Q1?, Q1!, F1, 'a b', 1st, if by to_lavaan()",
        "refused: Q1? and Q1! have the same name in R",
        lambda: ask_r(f"f <- cfa('{HS}', d)\n{LAVAAN_TESTED}", {"d": nine()}),
        _odd_here,
        1e-4,
    ),
]
