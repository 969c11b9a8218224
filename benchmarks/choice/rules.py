"""Ways to choose a structure: ours, and those it is weighed against.

Each is a function from answers to the support (p, d).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd

import dtstat as dt
from dtstat.core.arrays import BoolArray

Rule = Callable[[pd.DataFrame], BoolArray]


def ours(data: pd.DataFrame, **options: Any) -> BoolArray:
    """Choose as :func:`dtstat.fit` does; doubts about the fit are expected with few rows."""
    with warnings.catch_warnings(action="ignore", category=dt.EstimationWarning):
        return dt.fit(data, **options).structure.support


RULES: dict[str, Rule] = {
    "ours": ours,
    "sequential": partial(ours, search="sequential"),
    "least ebic": partial(ours, criterion="ebic"),
    "all rows count": partial(ours, misfit="none"),
    "one threshold": partial(ours, search="threshold"),
}
