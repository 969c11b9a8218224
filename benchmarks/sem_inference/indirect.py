"""How often 95 % intervals of an indirect effect contain it: ten ways, several designs.

The model m ~ a x, y ~ b m + c x is saturated, so its estimates are those of least squares, and
hundreds of resamples of a data set are one product of counts and squares of the rows. That they are
the estimates of ``sem``, and the errors its errors, is checked on the first data set of every
design.

    delta            est ± 1.96 se, se of expected information; "mlr": of the sandwich
    Monte Carlo      quantiles of products of draws from the normal distributions of a and b
                     (MacKinnon, Lockwood & Williams 2004); "mlr": with sandwich errors
    likelihood       effects whose likelihood ratio is below the 95 % quantile of chi-square
    percentile       quantiles of the resamples; also basic and BCa, see dtstat.sem.bootstrap
    bias-corrected   BCa without acceleration
    studentized      quantiles of (est* − est) / se*, times the sandwich error

MacKinnon, D. P., Lockwood, C. M. & Williams, J. (2004). Confidence limits for the indirect effect.
Multivariate Behavioral Research 39, 99-128.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

import dtstat as dt
from benchmarks.harness import Report
from benchmarks.sem_inference.ledger import simulate
from dtstat.core.arrays import FloatArray

BATCHES, SIZE = 5, 100  # of data sets; the ledger has one line per batch
SETS, RESAMPLES, DRAWS = BATCHES * SIZE, 499, 2000
WANTED = (0.93, 0.97)
MODEL = "m ~ a*x; y ~ b*m + x; ab := a*b"
EFFECTS = ((0.4, 0.4), (0.15, 0.4), (0.0, 0.4))
CELLS = [
    (answers, n, a, b)
    for answers in ("normal", "skewed")
    for n in (150, 300, 500)
    for a, b in EFFECTS
]
KINDS = (
    "delta", "delta mlr", "monte carlo", "monte carlo mlr", "likelihood", "percentile",
    "bias-corrected", "bca", "basic", "studentized",
)  # fmt: skip


def run(report: Report) -> None:
    """Simulate mediation, and print the coverage of each kind of interval."""
    found = simulate("indirect", CELLS, BATCHES, one_batch)
    rows = []
    for answers, n, a, b in CELLS:
        own = found[[cell == [answers, n, a, b] for cell in found["cell"]]]
        shares = {kind: float(own[kind].mean()) for kind in KINDS}
        rows.append({"answers": answers, "n": n, "a": a, "b": b, **shares})
    report.heading("Coverage of 95 % intervals of an indirect effect")
    title = f"Indirect effect ab; {SETS} data sets per line, {RESAMPLES} resamples"
    report.table(pd.DataFrame(rows), title, 3)
    table = pd.DataFrame(rows)[list(KINDS)]
    inside = ((table >= WANTED[0]) & (table <= WANTED[1])).sum()
    report.table(
        pd.DataFrame(
            {
                "interval": list(KINDS),
                "designs within": [f"{inside[kind]} of {len(table)}" for kind in KINDS],
                "lowest": table.min().to_numpy(),
                "mean distance from .95": (table - 0.95).abs().mean().to_numpy(),
            }
        ),
        f"Coverage between {WANTED[0]} and {WANTED[1]}",
        3,
    )
    error = math.sqrt(0.05 * 0.95 / SETS)
    report.line(f"Monte Carlo error of a coverage of .95: {error:.3f}.")


def one_batch(answers: str, n: int, a: float, b: float, batch: int) -> dict[str, float]:
    """Share of the intervals of some data sets that contain the effect."""
    sets = range(batch * SIZE, (batch + 1) * SIZE)
    found = pd.DataFrame([one_set(answers, n, a, b, k) for k in sets])
    return {kind: float(found[kind].mean()) for kind in KINDS}


def draw(answers: str, n: int, a: float, b: float, k: int) -> pd.DataFrame:
    """Mediation of x by m, predictor and residuals normal or skewed (chi-square, 3 df)."""
    rng = np.random.default_rng([n, answers == "skewed", round(100 * a), round(100 * b), k])
    x, u, v = rng.standard_normal((3, n))
    if answers == "skewed":
        x, u, v = (rng.chisquare(3, (3, n)) - 3) / np.sqrt(6)
    m = a * x + u
    return pd.DataFrame({"x": x, "m": m, "y": b * m + 0.2 * x + v})


def one_set(answers: str, n: int, a: float, b: float, k: int) -> dict[str, Any]:
    """Whether each interval of one data set contains the effect."""
    data = draw(answers, n, a, b, k)
    rng = np.random.default_rng([k, n])
    X = data.to_numpy() - data.to_numpy().mean(axis=0)
    rows = rng.integers(0, n, (RESAMPLES, n))
    counts = np.stack([np.bincount(own, minlength=n) for own in rows]).astype(float)
    whole, drawn = estimates(X, np.ones((1, n))), estimates(X, counts)
    est, (se, robust) = whole["ab"][0], (whole["se"][0], whole["robust"][0])
    jackknife = estimates(X, 1 - np.eye(n))["ab"]
    intervals = {
        "delta": (est - 1.96 * se, est + 1.96 * se),
        "delta mlr": (est - 1.96 * robust, est + 1.96 * robust),
        "monte carlo": _products(whole, "se", rng),
        "monte carlo mlr": _products(whole, "robust", rng),
        **_resampled(drawn, est, robust, jackknife.mean() - jackknife),
    }
    if k == 0:
        _check_against_package(data, whole, rng)
    found = {kind: bool(low <= a * b <= high) for kind, (low, high) in intervals.items()}
    return found | {"likelihood": bool(_likelihood_ratio(X, a * b) <= 1.959964**2)}


def estimates(X: FloatArray, counts: FloatArray) -> dict[str, FloatArray]:
    """Slopes, indirect effect and its errors, of samples that have each row some times."""
    n = counts.sum(axis=1)
    mean = counts @ X / n[:, None]
    squares = np.einsum("ki,kj->kij", X, X).reshape(len(X), 9)
    S = (counts @ squares / n[:, None]).reshape(-1, 3, 3) - np.einsum("ri,rj->rij", mean, mean)
    a = S[:, 0, 1] / S[:, 0, 0]
    left = S[:, 1, 1] - a * S[:, 0, 1]  # variance of m given x
    b = (S[:, 1, 2] - a * S[:, 0, 2]) / left
    c = (S[:, 0, 2] - b * S[:, 0, 1]) / S[:, 0, 0]
    left_y = S[:, 2, 2] - b * S[:, 1, 2] - c * S[:, 0, 2]
    x, m, y = (X[:, k] - mean[:, k, None] for k in range(3))
    u = m - a[:, None] * x
    v = y - b[:, None] * m - c[:, None] * x
    scores_a = x * u / S[:, 0, 0, None]
    scores_b = u * v / left[:, None]
    se_a, se_b = np.sqrt(left / S[:, 0, 0] / n), np.sqrt(left_y / left / n)

    def spread(scores: FloatArray) -> FloatArray:
        root: FloatArray = np.sqrt((counts * scores**2).sum(axis=1)) / n
        return root

    return {
        "a": a, "b": b, "ab": a * b, "se": np.sqrt((b * se_a) ** 2 + (a * se_b) ** 2),
        "robust": spread(b[:, None] * scores_a + a[:, None] * scores_b),
        "a se": se_a, "b se": se_b, "a robust": spread(scores_a), "b robust": spread(scores_b),
    }  # fmt: skip


def _products(
    whole: dict[str, FloatArray], error: str, rng: np.random.Generator
) -> tuple[float, float]:
    a, b = (rng.normal(whole[name][0], whole[f"{name} {error}"][0], DRAWS) for name in ("a", "b"))
    low, high = np.quantile(a * b, (0.025, 0.975))
    return float(low), float(high)


def _resampled(
    drawn: dict[str, FloatArray], est: float, robust: float, deviations: FloatArray
) -> dict[str, tuple[float, float]]:
    ab = drawn["ab"]
    shift = norm.ppf(np.clip((ab < est).mean(), 1 / len(ab), 1 - 1 / len(ab)))
    bend = (deviations**3).sum() / (6 * (deviations**2).sum() ** 1.5)
    found = {}
    for kind, acceleration in (("bias-corrected", 0.0), ("bca", bend)):
        z = shift + norm.ppf((0.025, 0.975))
        found[kind] = np.quantile(ab, norm.cdf(shift + z / (1 - acceleration * z)))
    low, high = np.quantile(ab, (0.025, 0.975))
    found |= {"percentile": (low, high), "basic": (2 * est - high, 2 * est - low)}
    t = np.quantile((ab - est) / drawn["robust"], (0.975, 0.025))
    return found | {"studentized": est - t * robust}


def _likelihood_ratio(X: FloatArray, effect: float) -> float:
    """Twice the log-likelihood lost by ab = effect, the smallest over all a."""
    x, m, y = X.T
    whole = estimates(X, np.ones((1, len(X))))
    a_hat, b_hat = whole["a"][0], whole["b"][0]
    u = m - a_hat * x
    v = y - b_hat * m - (y - b_hat * m) @ x / (x @ x) * x
    a = a_hat + np.linspace(-8, 8, 4001) * whole["a se"][0]
    a = a[np.abs(a) > 1e-9]
    b = effect / a
    lost = np.log1p((a - a_hat) ** 2 * (x @ x) / (u @ u))
    lost += np.log1p((b - b_hat) ** 2 * (u @ u) / (v @ v))
    if effect == 0:  # then a or b is 0
        lost = np.array(
            [
                np.log1p(a_hat**2 * (x @ x) / (u @ u)),
                np.log1p(b_hat**2 * (u @ u) / (v @ v)),
            ]
        )
    return float(len(X) * lost.min())


def _check_against_package(
    data: pd.DataFrame, whole: dict[str, FloatArray], rng: np.random.Generator
) -> None:
    """Check that estimates and errors, of the data and of a resample, are those of ``sem``."""
    X = data.to_numpy() - data.to_numpy().mean(axis=0)
    for estimator, error in (("ml", "se"), ("mlr", "robust")):
        table = dt.sem(data, MODEL, estimator=estimator).parameters
        row = table[table["lhs"] == "ab"].iloc[0]
        assert abs(row["est"] - whole["ab"][0]) < 1e-6
        assert abs(row["se"] / whole[error][0] - 1) < 1e-3, (estimator, row["se"], whole[error][0])
    counts = np.bincount(rng.integers(0, len(X), len(X)), minlength=len(X)).astype(float)
    again = data.loc[np.repeat(np.arange(len(X)), counts.astype(int))]
    table = dt.sem(again.reset_index(drop=True), MODEL).parameters
    one = estimates(X, counts[None])["ab"][0]
    assert abs(table.loc[table["lhs"] == "ab", "est"].iloc[0] - one) < 1e-6
