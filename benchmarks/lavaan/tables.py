"""Simulated tables: data that make trouble, and data that take time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.lavaan.answers import data_file, rows

X = [f"x{k}" for k in range(1, 10)]
ROWS, ITEMS = 100_000, 150


def _tests() -> pd.DataFrame:
    return rows("hs").copy()


def _copy() -> pd.DataFrame:
    return _tests().assign(x2=lambda d: d["x1"])


def _sum() -> pd.DataFrame:
    return _tests().assign(x3=lambda d: d["x1"] + d["x2"])


def _nearly() -> pd.DataFrame:
    noise = np.random.default_rng(1).normal(size=301)
    return _tests().assign(x2=lambda d: d["x1"] + 0.01 * noise)


def _constant() -> pd.DataFrame:
    return _tests().assign(x3=2.0)


def _scaled() -> pd.DataFrame:
    data = _tests()
    return data.assign(**{name: data[name] * 10.0 ** (k - 4) for k, name in enumerate(X)})


def _far() -> pd.DataFrame:
    data = _tests()
    return data.assign(**{name: data[name] + 1e6 for name in X})


def _outlier() -> pd.DataFrame:
    data = _tests()
    data.loc[0, "x1"] = 1e6
    return data


def _infinite() -> pd.DataFrame:
    data = _tests()
    data.loc[0, "x1"] = np.inf
    return data


def _words() -> pd.DataFrame:
    return _tests().assign(x3=np.resize(["low", "middle", "high"], 301))


def _groups() -> pd.DataFrame:
    """Make groups of one row, of few rows, and gaps in the column itself."""
    g = np.repeat(["a", "b"], [150, 151])
    return _tests().assign(
        one=["c", *g[1:]], few=[*("cccccc"), *g[6:]], gaps=[None] * 10 + list(g[10:])
    )


def _weights() -> pd.DataFrame:
    w = np.random.default_rng(2).uniform(0.5, 2, 301)
    return _tests().assign(
        negative=np.append(-1.0, w[1:]), gaps=np.append(np.nan, w[1:]), zero=0.0, huge=w * 1e12,
        single=1,
    )  # fmt: skip


def _gaps() -> pd.DataFrame:
    """Leave rows without any answer, a1 and a5 never together, and a column of nothing."""
    data = _tests()
    data.loc[:9, X] = np.nan
    first = data.index < 150
    return data.assign(a1=data["x1"].mask(first), a5=data["x5"].where(first), never=np.nan)


def _ordered() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    f = rng.normal(size=(400, 1))
    answers = np.digitize(0.8 * f + 0.6 * rng.normal(size=(400, 6)), [-1.0, 0.0, 1.0]) + 1
    data = pd.DataFrame(answers, columns=[f"u{k}" for k in range(1, 7)])
    group = np.repeat(["a", "b"], 200)
    data["g"] = group
    data["empty"] = np.where((group == "b") & (data["u1"] == 4), 3, data["u1"])
    data["fixed"] = np.where(group == "b", 2, data["u2"])
    data["rare"] = np.where(data["u3"] == 4, 3, data["u3"])
    data.loc[0, "rare"] = 4
    data["b1"] = (data["u1"] > 2).astype(int)
    data["b2"] = ((data["u1"] > 2) & (rng.random(400) < 0.7)).astype(int)  # never 1 without b1
    data["b3"] = (data["u4"] > 2).astype(int)
    data["b4"] = (data["u5"] > 2).astype(int)
    data["fine"] = np.digitize(0.8 * f[:, 0] + 0.6 * rng.normal(size=400), np.linspace(-2, 2, 29))
    return data


def _factor_items(n: int, p: int, factors: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    f = rng.normal(size=(n, factors)) + 0.6 * rng.normal(size=(n, 1))
    values = np.repeat(f, p // factors, axis=1) * rng.uniform(0.6, 1, p) + rng.normal(size=(n, p))
    return pd.DataFrame(values, columns=[f"y{k + 1}" for k in range(p)]).round(6)


def _heywood() -> pd.DataFrame:
    """Three items whose correlations ask for a loading above 1, exactly."""
    R = np.array([[1, 0.9, 0.8], [0.9, 1, 0.6], [0.8, 0.6, 1]])
    Z = np.random.default_rng(4).normal(size=(200, 3))
    Z = np.linalg.solve(np.linalg.cholesky(np.cov(Z.T)), (Z - Z.mean(0)).T).T
    return pd.DataFrame(Z @ np.linalg.cholesky(R).T, columns=["y1", "y2", "y3"])


def _same_factor() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    values = rng.normal(size=(120, 1)) + rng.normal(size=(120, 6))
    return pd.DataFrame(values, columns=[f"y{k}" for k in range(1, 7)])


def _noise() -> pd.DataFrame:
    values = np.random.default_rng(6).normal(size=(200, 9))
    return pd.DataFrame(values, columns=X)


def _forty_ordered() -> pd.DataFrame:
    values = _factor_items(1_000, 40, 4, 10)
    return values.apply(lambda column: np.digitize(column, [-1.5, -0.5, 0.5, 1.5]) + 1)


def _patterns() -> pd.DataFrame:
    """Hide answers so that some 600 different patterns of gaps arise."""
    data = _factor_items(1_000, 20, 4, 11)
    return data.mask(np.random.default_rng(12).random(data.shape) < 0.085)


TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    "hard_copy": _copy,
    "hard_sum": _sum,
    "hard_nearly": _nearly,
    "hard_constant": _constant,
    "hard_scaled": _scaled,
    "hard_far": _far,
    "hard_outlier": _outlier,
    "hard_infinite": _infinite,
    "hard_words": _words,
    "hard_groups": _groups,
    "hard_weights": _weights,
    "hard_gaps": _gaps,
    "hard_ordered": _ordered,
    "hard_heywood": _heywood,
    "hard_same_factor": _same_factor,
    "hard_noise": _noise,
    "hard_eight_rows": lambda: _tests().iloc[:8],
    "hard_twelve_rows": lambda: _tests().iloc[:12],
    "hard_forty_rows": lambda: _tests().iloc[:40],
    "hard_many_rows": lambda: _factor_items(ROWS, 9, 3, 7),
    "hard_many_items": lambda: _factor_items(1_000, ITEMS, 10, 8),
    "speed_30_items": lambda: _factor_items(1_000, 30, 5, 9),
    "speed_40_ordered": _forty_ordered,
    "speed_600_patterns": _patterns,
}


def write_tables() -> None:
    """Put the tables beside the data sets of the catalog."""
    source, made = Path(__file__).read_text(), data_file("made").with_name("tables")
    if made.exists() and made.read_text() == source:
        return
    for name, table in TABLES.items():
        table().to_csv(data_file(name), index=False)
    made.write_text(source)
