"""Dependence matrices beside R and Python peers, per pair of items."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import stats

import dtstat as dt
from benchmarks.harness import Report, best_of, seconds_in_r, versus

N, P = 1000, 1500
PEER_ITEMS = 80  # peers are timed on so many items, ours on all: cost a pair is compared
FEW = 40  # pairs for the slowest peers


def run(report: Report) -> None:
    report.heading("Dependence matrices")
    rng = np.random.default_rng(1)
    factor = rng.normal(size=(N, 30)).repeat(P // 30, axis=1)
    X = factor + rng.normal(size=(N, P))
    _kendall(report, X, "Kendall, no ties")
    _kendall(report, np.clip(np.round(X), -2, 2), "Kendall, five-point answers")
    _spearman(report, X)
    _distance(report, X)
    _polychoric(report)


def _pairs(p: int) -> float:
    return p * (p - 1) / 2


def _columns(count: int) -> list[tuple[int, int]]:
    return [(i, i + 1 + i % 7) for i in range(count)]


def _kendall(report: Report, X: np.ndarray, title: str) -> None:
    dt.dependence(X[:, :70], "kendall")
    ours, matrix = best_of(lambda: dt.dependence(X, "kendall"), 2)
    r_time, r = seconds_in_r("pcaPP::cor.fk(x)", X[:, :PEER_ITEMS])
    pairs = _columns(FEW)
    s_time, s = best_of(lambda: [stats.kendalltau(X[:, i], X[:, j]).statistic for i, j in pairs])
    R = matrix.values
    versus(
        report,
        f"{title}, n = {N}, ours p = {P}: microseconds a pair",
        ours / _pairs(P),
        {
            "pcaPP cor.fk": (
                r_time / _pairs(PEER_ITEMS),
                np.abs(R[:PEER_ITEMS, :PEER_ITEMS] - r).max(),
                10,
            ),
            "scipy kendalltau": (
                s_time / FEW,
                max(abs(R[i, j] - v) for (i, j), v in zip(pairs, s, strict=True)),
                30,
            ),
        },
    )


def _spearman(report: Report, X: np.ndarray) -> None:
    ours, matrix = best_of(lambda: dt.dependence(X, "spearman"))
    peer, result = best_of(lambda: stats.spearmanr(X).statistic)
    versus(
        report,
        f"Spearman, n = {N}, p = {P}: microseconds a pair",
        ours / _pairs(P),
        {"scipy spearmanr": (peer / _pairs(P), np.abs(matrix.values - result).max(), 2)},
    )


def _distance(report: Report, X: np.ndarray) -> None:
    import dcor

    p = 500
    ours, matrix = best_of(lambda: dt.dependence(X[:, :p], "distance"), 2)
    pairs = _columns(FEW)

    def peer() -> list[float]:
        return [dcor.distance_correlation(X[:, i], X[:, j]) for i, j in pairs]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer()
        d_time, d = best_of(peer)
    few = 6
    code = f"sapply(1:{few}, function(i) sqrt(energy::dcor2d(x[, i], x[, i + 1], type = 'V')))"
    e_time, e = seconds_in_r(code, X[:, : few + 1])
    R = matrix.values
    versus(
        report,
        f"Distance correlation, n = {N}, ours p = {p}: microseconds a pair",
        ours / _pairs(p),
        {
            "dcor": (
                d_time / FEW,
                max(abs(R[i, j] - v) for (i, j), v in zip(pairs, d, strict=True)),
                20,
            ),
            "energy dcor2d": (
                e_time / few,
                max(abs(R[i, i + 1] - e[i, 0]) for i in range(few)),
                20,
            ),
        },
    )


def _polychoric(report: Report) -> None:
    _, X = seconds_in_r("psychTools::bfi[complete.cases(psychTools::bfi[, 1:25]), 1:25]")
    dt.dependence(X, "polychoric")
    ours, matrix = best_of(lambda: dt.dependence(X, "polychoric"))
    p_time, r = seconds_in_r("psych::polychoric(x)$rho", X)
    versus(
        report,
        f"Polychoric, psych::bfi, 25 items, n = {len(X)}: microseconds a pair",
        ours / _pairs(25),
        {"psych polychoric": (p_time / _pairs(25), np.abs(matrix.values - r).max(), 10)},
    )
