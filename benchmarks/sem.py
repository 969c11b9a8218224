"""Confirmatory factor analysis beside lavaan and semopy, whole calls."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report, best_of, seconds_in_r

HS = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9"
SIZES = ((20, 2), (40, 4), (100, 10), (200, 10), (200, 20))


def run(report: Report) -> None:
    report.heading("Confirmatory factor analysis")
    _holzinger(report)
    _large(report)


def _whole_fit(data: pd.DataFrame, model: str) -> dict[str, float]:
    """Estimates, standard errors and fit measures, as a user would ask for them."""
    return dt.cfa(data, model).fit_measures


def _holzinger(report: Report) -> None:
    data = dt.load_dataset("holzinger_swineford_9")
    ours, measures = best_of(lambda: _whole_fit(data, HS), 20)
    lavaan, chisq = _lavaan(data, HS, repeats=10)
    semopy, semopy_chisq = _semopy(data)
    rows = [
        _row("lavaan", ours, lavaan, chisq - measures["chisq"]),
        _row("semopy", ours, semopy, semopy_chisq - measures["chisq"]),
    ]
    report.table(pd.DataFrame(rows), "Nine tests, 301 rows: with standard errors and fit measures")
    for row in rows:
        report.best("CFA, 9 items, 3 factors", str(row["peer"]), float(row["ratio"]))


def _row(peer: str, ours: float, theirs: float, difference: float) -> dict[str, object]:
    return {
        "peer": peer,
        "ours (ms)": ours * 1e3,
        "peer (ms)": theirs * 1e3,
        "ratio": theirs / ours,
        "wanted": 10,
        "reached": "yes" if theirs >= 10 * ours else "NO",
        "chi-square differs by": f"{abs(difference):.1e}",
    }


def _large(report: Report) -> None:
    rows = []
    for p, d in SIZES:
        data, model = _simulated(p, d)
        ours, measures = best_of(lambda x=data, m=model: _whole_fit(x, m), 3)
        row: dict[str, object] = {"items": p, "factors": d, "ours (s)": ours}
        if p <= 100:
            lavaan, chisq = _lavaan(data, model, repeats=1)
            row |= {"lavaan (s)": f"{lavaan:.2f}", "ratio": f"{lavaan / ours:.1f}"}
            row |= {"chi-square differs by": f"{abs(chisq - measures['chisq']):.1e}"}
            if (p, d) == (100, 10):
                report.best("CFA, 100 items, 10 factors", "lavaan", lavaan / ours)
        else:
            row |= {"lavaan (s)": "", "ratio": "", "chi-square differs by": ""}
        rows.append(row)
    report.table(pd.DataFrame(rows), "Growth with items and factors, n = 1000", digits=3)


def _simulated(p: int, d: int) -> tuple[pd.DataFrame, str]:
    simulation = dt.simulate(
        "clusters", 1000, n_factors=d, items_per_factor=p // d, factor_correlation=0.3,
        maps="linear", snr=1.0, seed=1,
    )  # fmt: skip
    return simulation.data, simulation.structure.to_lavaan()


def _lavaan(data: pd.DataFrame, model: str, repeats: int) -> tuple[float, float]:
    """Shortest of some calls of cfa and fitMeasures in one R process, and the chi-square."""
    names = ", ".join(f"'{name}'" for name in data.columns)
    code = f"""
      d <- as.data.frame(x); colnames(d) <- c({names}); model <- '{model}'
      f <- function() lavaan::fitMeasures(lavaan::cfa(model, d))
      m <- f(); t <- replicate({repeats}, system.time(for (k in 1:3) f())[['elapsed']] / 3)
      c(min(t), m[['chisq']])"""
    _, result = seconds_in_r(code, data.to_numpy())
    return float(result[0, 0]), float(result[1, 0])


def _semopy(data: pd.DataFrame) -> tuple[float, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import semopy

        def fit() -> float:
            model = semopy.Model(HS)
            model.fit(data)
            model.inspect()
            return float(semopy.calc_stats(model)["chi2"].iloc[0])

        fit()
        start = time.perf_counter()
        chisq = fit()
        first = time.perf_counter() - start
        seconds, _ = best_of(fit, 3)
    return min(first, seconds), chisq if np.isfinite(chisq) else np.nan
