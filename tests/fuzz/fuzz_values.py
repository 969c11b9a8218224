"""Single values that nobody expects, and names that nobody would choose."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

HUGE_TEXT = "x" * 100_000


class Unprintable:
    """An object whose repr fails, as those of broken libraries do."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Number(float):
    """A subclass of float, as units libraries have them."""


def _generator() -> Any:
    yield from (1, 2, 3)


# Functions, because some of the values can be used up or changed.
BAD: list[Any] = [
    lambda: None,
    lambda: True,
    lambda: False,
    lambda: "",
    lambda: "nonsense",
    lambda: HUGE_TEXT,
    lambda: "a\0b",
    lambda: "\ud800",
    lambda: "=cmd()",
    lambda: "<script>alert(1)</script>",
    lambda: b"spearman",
    lambda: float("nan"),
    lambda: float("inf"),
    lambda: -float("inf"),
    lambda: -1,
    lambda: 0,
    lambda: 1,
    lambda: 2,
    lambda: 0.5,
    lambda: -0.0,
    lambda: 1.5,
    lambda: 1e308,
    lambda: 5e-324,
    lambda: 1e-12,
    lambda: 1e12,
    lambda: 2**31,
    lambda: 2**63,
    lambda: -(2**63),
    lambda: 10**400,
    lambda: 1 + 2j,
    lambda: np.float16(0.5),
    lambda: np.float32("nan"),
    lambda: np.longdouble("0.3"),
    lambda: np.int8(3),
    lambda: np.uint64(2**64 - 1),
    lambda: np.bool_(True),
    lambda: np.str_("spearman"),
    lambda: np.array(3),
    lambda: np.array(0.5),
    lambda: np.array("x"),
    lambda: np.array([1, 2]),
    lambda: np.array([]),
    lambda: np.array([[0.5, np.nan]]),
    lambda: np.zeros((2, 2, 2)),
    lambda: np.ma.masked,
    list,
    tuple,
    dict,
    set,
    lambda: [float("nan")],
    lambda: ["a", None],
    lambda: [["a"], 1],
    lambda: {"a": 1},
    lambda: {1: [2]},
    lambda: range(3),
    _generator,
    lambda: [10**400],
    lambda: [0.1] * 10_000,
    lambda: object(),
    Unprintable,
    lambda: Number(0.5),
    lambda: Decimal("0.5"),
    lambda: Decimal("NaN"),
    lambda: Decimal("sNaN"),
    lambda: Fraction(1, 3),
    lambda: Fraction(10**400),
    lambda: pd.NA,
    lambda: pd.NaT,
    lambda: pd.Timestamp("2020-01-01"),
    lambda: np.datetime64("NaT"),
    lambda: datetime.date(2020, 1, 1),
    lambda: Path("."),
    lambda: Path("no/such/file.csv"),
    lambda: pd.DataFrame(),
    lambda: pd.DataFrame({"a": [1, 2], "b": [3, 4]}),
    lambda: pd.Series([1.0, 2.0]),
    lambda: int,
    lambda: len,
    lambda: lambda *_: 0.5,
    lambda: lambda *_: "text",
    lambda: Ellipsis,
    lambda: NotImplemented,
]

bad_values = st.sampled_from(BAD).map(lambda make: make())

HOSTILE_NAMES: list[Any] = [
    "",
    " ",
    "x1",
    "x1 ",
    "X1",
    "é",
    "e\u0301",
    "项目",
    "\u202eabc",
    "a\nb",
    "a\tb",
    "a\rb",
    "a\0b",
    "\ud800",
    "n" * 5_000,
    "=cmd()",
    "+1",
    "-x1",
    "@SUM(A1)",
    "=cmd|' /C calc'!A0",
    "<b>bold</b>",
    "<script>alert(1)</script>",
    "</script>",
    "a&b",
    "'",
    '"',
    "`",
    "\\",
    "$",
    "%s",
    "{0}",
    "{}",
    "{name}",
    "~",
    "=~",
    "~~",
    "~1",
    "x1 + x2",
    "0*x1",
    "#",
    ";",
    "F1",
    "F2",
    "NA",
    "nan",
    "None",
    "if",
    "TRUE",
    "1",
    "item",
    "factor",
    "loading",
    "a_b^c",
    1,
    1.0,
    0,
    -3,
    1.5,
    True,
    None,
    float("nan"),
    ("a", "b"),
    b"x",
    pd.Timestamp("2020-01-01"),
]


def item_names(draw: Any, p: int) -> list[Any]:
    """Names of p columns: usual ones, hostile ones among them, or many of them; maybe repeated."""
    names: list[Any] = [f"x{k + 1}" for k in range(p)]
    if not p or draw(st.integers(0, 2)):
        return names
    for _ in range(draw(st.integers(1, max(1, min(p, 4))))):
        names[draw(st.integers(0, p - 1))] = draw(st.sampled_from(HOSTILE_NAMES))
    return names
