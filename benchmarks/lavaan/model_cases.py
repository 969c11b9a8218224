"""Models that need care: means and thresholds, orthogonal factors, paths, gaps, bad starts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.lavaan.cases import Case, ask_r
from dtstat.core.errors import silenced

HS = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9"
TWO = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6"
MIXED = "A =~ a1 + a2 + a3\nC =~ c1 + c2 + c3"
MEANS = HS + "\nx1 ~ 5*1\nx2 ~ 6*1\nx4 ~ a*1\nx5 ~ a*1"
ITEMS = ["a1", "a2", "a3", "c1", "c2", "c3"]
ROBUST = ("cfi.robust", "tli.robust", "rmsea.robust", "rmsea.ci.lower.robust",
          "rmsea.ci.upper.robust")  # fmt: skip
Answer = Callable[[], dict[str, float] | str]


def nine() -> pd.DataFrame:
    """Nine tests, and a predictor z."""
    data = dt.load_dataset("holzinger_swineford_9")
    return data.assign(z=np.random.default_rng(1).normal(size=len(data)) + 0.3 * data["x1"])


def with_gaps() -> pd.DataFrame:
    """Nine tests, of which 8 % of the answers are missing."""
    data = dt.load_dataset("holzinger_swineford_9")
    return data.mask(np.random.default_rng(2).random(data.shape) < 0.08)


def planned() -> pd.DataFrame:
    """Nine tests; nobody answers both x1 and x5."""
    data = dt.load_dataset("holzinger_swineford_9")
    first = data.index < 150
    return data.assign(x1=data["x1"].mask(first), x5=data["x5"].where(first))


def ordered() -> pd.DataFrame:
    """Six items of four categories, and a predictor z of mean 2."""
    rng = np.random.default_rng(3)
    z = rng.normal(size=800)
    F = (
        rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 800, method="cholesky")
        + 0.4 * z[:, None]
    )
    X = np.repeat(F, 3, axis=1) * 0.8 + 0.6 * rng.normal(size=(800, 6))
    return pd.DataFrame(np.digitize(X, [-1, 0, 0.9]), columns=ITEMS).assign(z=z + 2.0)


def skewed() -> pd.DataFrame:
    """Three ordered items and three skewed continuous ones."""
    rng = np.random.default_rng(1)
    F = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 500, method="cholesky")
    A = np.digitize(0.8 * F[:, [0]] + 0.6 * rng.normal(size=(500, 3)), [-1, 0, 0.9])
    return pd.DataFrame(
        np.hstack([A, 2 + 0.7 * F[:, [1]] + rng.exponential(size=(500, 3))]), columns=ITEMS
    )


def _ask(data: Callable[[], pd.DataFrame], model: str, options: str, result: str) -> Answer:
    """Question to lavaan: a fit called f, and the R code that takes numbers from it."""
    code = f"f <- sem('{model}', d{options and ', ' + options})\n{result}"
    return lambda: ask_r(code, {"d": data()})


def _try(call: Callable[[], dict[str, float]]) -> Answer:
    def answer() -> dict[str, float] | str:
        try:
            with silenced(dt.EstimationWarning):
                return call()
        except dt.DTError as error:
            return str(error)

    return answer


def _measures(
    item: str, what: str, before: str, data: Callable[[], pd.DataFrame], model: str,
    options: str, names: tuple[str, ...], **arguments: object,
) -> Case:  # fmt: skip
    """Case about fit measures of one model."""
    wanted = ", ".join(f"'{name}'" for name in names)

    def ours() -> dict[str, float]:
        measures = dt.sem(data(), model, **arguments).fit_measures  # type: ignore[arg-type]
        return {name: measures[name] for name in names}

    theirs = _ask(data, model, options, f"unclass(fitMeasures(f, c({wanted})))")
    return Case(item, what, before, theirs, _try(ours), 1e-3)  # type: ignore[arg-type]


def _parameters(
    item: str, what: str, before: str, data: Callable[[], pd.DataFrame], model: str,
    options: str, rows: tuple[str, ...], tolerance: float = 1e-3, **arguments: object,
) -> Case:  # fmt: skip
    """Case about estimates."""
    wanted = ", ".join(f"'{row}'" for row in rows)
    code = (
        "t <- parameterEstimates(f); x <- setNames(t$est, paste0(t$lhs, t$op, t$rhs)); "
        f"x[c({wanted})]"
    )

    def ours() -> dict[str, float]:
        t = dt.sem(data(), model, **arguments).parameters  # type: ignore[arg-type]
        values = dict(zip(t["lhs"] + t["op"] + t["rhs"], t["est"], strict=True))
        return {row: float(values[row]) for row in rows}

    return Case(item, what, before, _ask(data, model, options, code), _try(ours), tolerance)  # type: ignore[arg-type]


_MEANS = ("c1~1", "c2~1", "c3~1")
# lavaan's own standard errors take the items for normal; its bootstrap does not
_BOOTSTRAP = """names <- with(standardizedSolution(f), paste0(lhs, op, rhs))
set.seed(1)
draws <- t(replicate(150, {
  g <- sem(model, d[sample(nrow(d), replace = TRUE), ], estimator = "WLSMV",
           ordered = c("a1", "a2", "a3"))
  setNames(standardizedSolution(g, se = FALSE)$est.std, names)[c("c1~1", "c2~1", "c3~1")]
}))
apply(draws, 2, sd)"""


def _standard_errors() -> dict[str, float]:
    t = dt.sem(skewed(), MIXED, ordered=["a1", "a2", "a3"]).standardized
    values = dict(zip(t["lhs"] + t["op"] + t["rhs"], t["se"], strict=True))
    return {name: float(values[name]) for name in _MEANS}


def _indices() -> dict[str, float]:
    table = dt.sem(nine(), "x1 ~ z\nx4 ~ x1\nx7 ~ x4").modification_indices()
    values = dict(zip(table["lhs"] + table["op"] + table["rhs"], table["mi"], strict=True))
    return {name: values[name] for name in ("x1~x4", "x4~z", "x7~x1", "z~x7")}


_WLSMV = "estimator = 'WLSMV', ordered = c('a1','a2','a3'"
_SIX = _WLSMV + ",'c1','c2','c3')"
_FIT = ("chisq", "df")

CASES: list[Case] = [
    _measures("dwls: means", "C1 ~ 2*1 of a continuous item", "dropped: chi-square as without it",
              skewed, MIXED + "\nc1 ~ 2*1", _WLSMV + ")", _FIT, ordered=["a1", "a2", "a3"]),
    _parameters("dwls: means", "a free ~1", "KeyError", skewed, MIXED + "\nc1 ~ 1", _WLSMV + ")",
                ("c1~1", "c2~1"), ordered=["a1", "a2", "a3"]),
    _measures("dwls: variances", "a residual variance of an ordered item, written", "ignored",
              ordered, MIXED + "\na1 ~~ 1*a1", _SIX, _FIT, ordered=ITEMS),
    _parameters("dwls: predictors", "thresholds with A ~ z; z ~~ z", "off by the predictor's mean",
                ordered, MIXED + "\nA ~ z\nz ~~ z", _SIX, ("a1|t1", "a3|t3", "A~z", "c1|t1"),
                3e-3, ordered=ITEMS),
    _measures("orthogonal", "disturbances of endogenous factors", "left correlated", nine,
              HS + "\ntextual ~ visual\nspeed ~ visual", "orthogonal = TRUE", _FIT,
              orthogonal=True),
    # 150 draws tell a standard error of .1 to within four times 6 %
    Case("mixed dwls", "SE of standardized means of skewed items; a bootstrap in lavaan",
         "cross block taken as zero",
         _ask(skewed, MIXED, _WLSMV + ")", f"model <- '{MIXED}'\n{_BOOTSTRAP}"),  # type: ignore[arg-type]
         _try(_standard_errors), 0.025),
    Case("modification", "indices of a path model", "an empty table",
         _ask(nine, "x1 ~ z\nx4 ~ x1\nx7 ~ x4", "",
              "m <- modindices(f); x <- setNames(m$mi, paste0(m$lhs, m$op, m$rhs)); "
              "x[c('x1~x4', 'x4~z', 'x7~x1', 'z~x7')]"),  # type: ignore[arg-type]
         _try(_indices), 5e-3),
    _measures("fit measures", "GFI family with gaps", "weights of complete rows", with_gaps, HS,
              "missing = 'ml'", ("gfi", "agfi", "pgfi"), missing="fiml"),
    _measures("fit measures", "CRMR with constrained means", ".191 for .144", nine, MEANS, "",
              ("crmr", "srmr")),
    _measures("fit measures", "RFI without degrees of freedom", "NaN", nine, "f =~ x1 + x2 + x3",
              "", ("rfi",)),
    _measures("fit measures", "robust indices with gaps", "missing", with_gaps, HS,
              "missing = 'ml'", ROBUST, missing="fiml"),
    _measures("fit measures", "robust indices with gaps, mlr", "missing", with_gaps, HS,
              "missing = 'ml', estimator = 'MLR'", ROBUST, missing="fiml", estimator="mlr"),
    _measures("fit measures", "robust indices of ordered items", "missing", ordered, MIXED, _SIX,
              ROBUST, ordered=ITEMS),
    _measures("searches", "a bad start()", "did not converge", nine,
              TWO + "\nvisual ~~ start(90)*textual", "", _FIT),
    _parameters("gaps", "two items never answered together: estimates", "refused", planned, HS,
                "missing = 'ml'", ("visual=~x2", "textual=~x5", "visual~~textual"),
                missing="fiml"),
]  # fmt: skip
