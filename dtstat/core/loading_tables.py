"""The table of loadings, as psychologists read it: sorted, small ones blank.

Columns are named after psych::print.fa: h2 is the communality of an item, u2 its uniqueness, com
Hofmann's complexity (Σλ²)² / Σλ⁴; SS loadings are the diagonal of Φ ΛᵀΛ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dtstat.core.arrays import FloatArray
from dtstat.core.tables import CompactTable, Summary, Table, with_texts

_TITLE = "Standardized loadings (pattern matrix)"
_EXPLAINED = "Explained variance"
_ROWS = (
    "SS loadings",
    "Proportion Var",
    "Cumulative Var",
    "Proportion Explained",
    "Cumulative Proportion",
)


@dataclass(frozen=True, repr=False, eq=False)
class FactorTable(Summary):
    """Loadings, explained variance and factor correlations, printed and as numbers.

    Attributes
    ----------
    loadings
        Items by item (position in the model, from 1), factors, h2, u2, com; loadings below the
        cutoff are NaN.
    variance
        SS loadings and what follows from them, by factors.
    correlations
        Factors by factors.
    """

    loadings: pd.DataFrame
    variance: pd.DataFrame
    correlations: pd.DataFrame


def factor_table(
    loadings: pd.DataFrame,
    correlations: pd.DataFrame,
    uniquenesses: pd.Series[float],
    cutoff: float = 0.3,
    sort: bool = True,
    head: tuple[str, ...] = (),
    marks: pd.Series[str] | None = None,
    notes: tuple[str, ...] = (),
    texts: Mapping[str, str] | None = None,
) -> FactorTable:
    """Lay out a loading matrix.

    Parameters
    ----------
    loadings
        Items by factors, 0 where there is none.
    correlations
        Factors by factors.
    uniquenesses
        Unexplained share of every item's variance.
    cutoff
        Loadings of smaller absolute value are left blank.
    sort
        Whether to group items by their strongest factor, the strongest first.
    head
        Lines above everything.
    marks
        Signs put behind the names of items.
    notes
        Lines below the loadings, such as what the signs mean.
    texts
        Questions of the items, for a last column.
    """
    table = loading_frame(loadings, uniquenesses)
    order = table_order(loadings) if sort else list(range(len(table)))
    factors = list(loadings.columns)
    table = table.iloc[order]
    table[factors] = table[factors].where(table[factors].abs() >= cutoff)
    shown = table if sort else table.drop(columns="item")
    if marks is not None:
        signs = marks.loc[table.index]
        shown = shown.set_axis([f"{a}{b}" for a, b in zip(signs.index, signs, strict=True)])
    variance = variance_frame(loadings, correlations).iloc[: 2 if len(factors) == 1 else None]
    complexity = f"Mean item complexity = {table['com'].mean():.1f}"
    names = tuple(map(str, factors))
    tables: list[Table] = [
        with_texts(
            _compact(shown, _TITLE, (complexity, *notes), (*names, "h2", "u2")),
            table.index,
            texts or {},
        ),
        _compact(variance, _EXPLAINED, bounded=_ROWS[1:]),
    ]
    if len(factors) > 1:
        tables.append(_compact(correlations, "With factor correlations of", bounded=names))
    return FactorTable(head, tuple(tables), table, variance, correlations)


def loading_frame(loadings: pd.DataFrame, uniquenesses: pd.Series[float]) -> pd.DataFrame:
    """Items by item (position, from 1), loadings, h2, u2 and com."""
    u2 = uniquenesses.loc[loadings.index].to_numpy()
    table = loadings.copy()
    table.insert(0, "item", np.arange(1, len(table) + 1))
    return table.assign(h2=1 - u2, u2=u2, com=item_complexity(loadings.to_numpy()))


def item_complexity(loadings: FloatArray) -> FloatArray:
    """Hofmann's (1978) number of factors each item needs, (Σλ²)² / Σλ⁴; NaN without loadings."""
    squared = loadings**2
    with np.errstate(invalid="ignore"):
        complexity: FloatArray = squared.sum(axis=1) ** 2 / (squared**2).sum(axis=1)
    return complexity


def table_order(loadings: pd.DataFrame) -> list[int]:
    """Return the rows by their strongest factor, strongest first, those without any last."""
    size = np.abs(loadings.to_numpy())
    if not size.shape[1]:
        return list(range(len(size)))
    strongest = size.argmax(axis=1)
    strongest[size.max(axis=1) == 0] = size.shape[1]  # without any loading: last
    return [int(i) for i in np.lexsort((-size.max(axis=1), strongest))]


def variance_frame(loadings: pd.DataFrame, correlations: pd.DataFrame) -> pd.DataFrame:
    """Variance explained by each factor, diag(Φ ΛᵀΛ), as sum, shares and running shares."""
    L = loadings.to_numpy()
    ss = np.diag(correlations.to_numpy() @ L.T @ L)
    total = ss.sum()
    share, explained = ss / len(L), ss / total if total > 0 else np.full(len(ss), np.nan)
    rows = [ss, share, np.cumsum(share), explained, np.cumsum(explained)]
    return pd.DataFrame(rows, index=list(_ROWS), columns=loadings.columns)


def _compact(
    frame: pd.DataFrame, title: str, notes: tuple[str, ...] = (), bounded: tuple[str, ...] = ()
) -> CompactTable:
    """Two decimals, complexity one, missing cells blank, row names left."""
    rows = tuple(
        (str(name), *(_cell(column, value) for column, value in zip(frame, row, strict=True)))
        for name, row in zip(frame.index, frame.itertuples(index=False, name=None), strict=True)
    )
    headers = ("", *map(str, frame.columns))
    return CompactTable(title, headers, rows, "l" + "r" * (len(headers) - 1), notes, bounded)


def _cell(column: object, value: float) -> str:
    if np.isnan(value):
        return ""
    if column == "item":
        return str(int(value))
    return f"{value:.{1 if column == 'com' else 2}f}"
