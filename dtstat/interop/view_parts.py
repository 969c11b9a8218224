"""Pieces that the parts of results are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from dtstat.core.tables import Table
from dtstat.interop.wire import RArray, vector

View = dict[str, Any]

# Names that broom has for what others call otherwise.
_BROOM = {
    "std_error": "std.error",
    "conf_low": "conf.low",
    "conf_high": "conf.high",
    "lower": "conf.low",
    "upper": "conf.high",
    "pvalue": "p.value",
    "p_value": "p.value",
    "chi_square": "chisq",
    "rmsea.ci.lower": "rmsea.conf.low",
    "rmsea.ci.upper": "rmsea.conf.high",
    "rmsea_low": "rmsea.conf.low",
    "rmsea_high": "rmsea.conf.high",
    "rmsea.pvalue": "rmsea.p.value",
    "aic": "AIC",
    "bic": "BIC",
    "n_obs": "nobs",
}


def broom(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table for R's ``tidy`` or ``glance``, which have names for everything."""
    return table.rename(columns=_BROOM)


def numbers(measures: Mapping[str, float | None]) -> RArray:
    """Return named numbers; what is not known is missing."""
    values = {name: float("nan") if v is None else float(v) for name, v in measures.items()}
    return vector(pd.Series(values, dtype=float))


def texts(values: Iterable[str]) -> RArray:
    """Return texts as a vector, also if there are none: an empty list has no kind in R."""
    return RArray("character", np.array([*values, None], dtype=object)[:-1])


def attributes(one: object, *names: str) -> View:
    """Return attributes by their names."""
    return {name: getattr(one, name) for name in names}


def cells(table: Table) -> View:
    """Return a table as texts, column by column."""
    columns = zip(*table.rows, strict=True)
    return {"columns": texts(table.headers), "cells": [texts(column) for column in columns]}
