"""Rows of a survey: answers, what each row weighs, and which cluster it was drawn with.

Weights count a row more or less than once in all moments and likelihoods. Rows of one cluster, as
pupils of one school, are not independent; the sums of their scores are, so that with scores s and
weights w the middle of a sandwich is

    B = Σ_c t_c t_cᵀ / n,   t_c = Σ_{i in c} w_i s_i,

times C / (C − 1) for C clusters (Binder 1983).

References
----------
Binder, D. A. (1983). On the variances of asymptotically normal estimators from complex surveys.
International Statistical Review 51, 279-292.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.errors import InputError

_TOTAL, _GROUP, _NONE = "total", "group", "none"


@dataclass(frozen=True)
class Rows:
    """Rows of one group, the columns in the order of the model's observed variables.

    Attributes
    ----------
    X
        (n, p) answers, NaN where they are missing.
    weights
        (n,) weights, or None if all are 1.
    clusters
        (n,) numbers of the clusters, from 0, or None if all rows are independent.
    """

    X: FloatArray
    weights: FloatArray | None = None
    clusters: IntArray | None = None

    def __len__(self) -> int:
        return len(self.X)

    @property
    def total(self) -> float:
        """Rows that they count as."""
        return float(len(self.X) if self.weights is None else self.weights.sum())

    def take(self, rows: BoolArray) -> Rows:
        """Return some of the rows."""
        if rows.all():
            return self
        return Rows(self.X[rows], *Design(self.weights, self.clusters).take(rows).columns)

    def centered(self, center: FloatArray) -> Rows:
        """Return the rows less their center."""
        return replace(self, X=self.X - center)

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Covariances (divisor n) and means of rows without gaps."""
        if self.weights is None:
            mean = self.X.mean(axis=0)
            D = self.X - mean
            return D.T @ D / len(D), mean
        mean = self.weights @ self.X / self.total
        D = self.X - mean
        return (self.weights[:, None] * D).T @ D / self.total, mean

    def squares(self, scores: FloatArray) -> FloatArray:
        """B, the mean squares of the scores of independent units."""
        t = scores if self.weights is None else self.weights[:, None] * scores
        factor = 1.0
        if self.clusters is not None:
            t = sum_by_cluster(t, self.clusters)
            factor = len(t) / (len(t) - 1)
        B: FloatArray = t.T @ t * (factor / self.total)
        return B


def sum_by_cluster(values: FloatArray, clusters: IntArray) -> FloatArray:
    """Add up the rows of each cluster."""
    order = np.argsort(clusters, kind="stable")
    starts = np.flatnonzero(np.diff(clusters[order], prepend=-1))
    sums: FloatArray = np.add.reduceat(values[order], starts, axis=0)
    return sums


@dataclass(frozen=True)
class Design:
    """Weights and clusters of all rows of the data; None where there are none."""

    weights: FloatArray | None = None
    clusters: IntArray | None = None

    @property
    def columns(self) -> tuple[FloatArray | None, IntArray | None]:
        """Both of them."""
        return self.weights, self.clusters

    def take(self, rows: BoolArray) -> Design:
        """Return those of some rows; clusters are numbered anew."""
        weights = None if self.weights is None else self.weights[rows]
        if self.clusters is None:
            return Design(weights)
        numbers = np.unique(self.clusters[rows], return_inverse=True)[1]
        return Design(weights, numbers.astype(np.int64))


def read_design(frame: pd.DataFrame, sampling_weights: str | None, cluster: str | None) -> Design:
    """Read the columns that hold weights and clusters.

    Raises
    ------
    InputError
        If a weight is missing, negative or no number, all are zero, or clusters are missing or
        fewer than two.
    """
    weights = clusters = None
    if sampling_weights is not None:
        weights = _weights(_column(frame, sampling_weights, "sampling_weights"), sampling_weights)
    if cluster is not None:
        clusters = _clusters(_column(frame, cluster, "cluster"), cluster)
    return Design(weights, clusters)


def _column(frame: pd.DataFrame, name: object, argument: str) -> pd.Series[float]:
    columns = list(map(str, frame.columns))
    if not isinstance(name, str):
        wish = "the name of a column"
        raise checks.refusal(argument, wish, name, "Give the name of a column of the data.")
    if name not in columns:
        raise checks.unknown(argument, "the name of a column of the data", name, columns)
    return frame.iloc[:, columns.index(name)]


def _weights(column: pd.Series[float], name: str) -> FloatArray:
    try:
        weights: FloatArray = np.asarray(column.to_numpy(dtype=float, na_value=np.nan))
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"`sampling_weights` must be a column of numbers; '{name}' has other values.",
            "sampling_weights",
        ) from None
    missing = np.flatnonzero(~np.isfinite(weights))
    if missing.size:
        raise InputError(
            f"`sampling_weights` must have a weight for each row; '{name}' has none in row "
            f"{missing[0] + 1}. Leave out such rows, or give them a weight.",
            "sampling_weights",
        )
    negative = np.flatnonzero(weights < 0)
    if negative.size:
        raise InputError(
            f"`sampling_weights` must not be negative; '{name}' has {weights[negative[0]]:g} in "
            f"row {negative[0] + 1}.",
            "sampling_weights",
        )
    if not weights.any():
        raise InputError(
            f"`sampling_weights` must not all be zero, as those of '{name}' are.",
            "sampling_weights",
        )
    return weights


def _clusters(column: pd.Series[float], name: str) -> IntArray:
    numbers, labels = pd.factorize(column)
    missing = np.flatnonzero(numbers < 0)
    if missing.size:
        raise InputError(
            f"`cluster` must name the cluster of each row; '{name}' has none in row "
            f"{missing[0] + 1}. Leave out such rows, or give each a cluster of its own.",
            "cluster",
        )
    if len(labels) < 2:
        raise InputError(
            f"`cluster` must be a column with two clusters or more; '{name}' has {len(labels)}.",
            "cluster",
        )
    return numbers.astype(np.int64)


def check_normalization(how: str) -> str:
    """Return what weights add up to: "total", "group" or "none"."""
    return checks.choice("sampling_weights_normalization", how, (_TOTAL, _GROUP, _NONE))


def normalize(rows: list[Rows], how: str) -> list[Rows]:
    """Let weights add up to the number of rows: of all groups together, of each, or not at all."""
    if rows[0].weights is None or how == _NONE:
        return rows
    together = sum(map(len, rows)) / sum(one.total for one in rows)
    return [
        replace(one, weights=one.weights * (together if how == _TOTAL else len(one) / one.total))
        for one in rows
        if one.weights is not None
    ]
