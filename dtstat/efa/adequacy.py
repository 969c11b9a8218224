"""Whether a correlation matrix is worth factoring: sampling adequacy and test of sphericity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dtstat.core import checks
from dtstat.core.arrays import FloatArray
from dtstat.core.errors import InputError
from dtstat.core.fit_indices import p_value
from dtstat.core.parallel import one_thread
from dtstat.core.tables import Printed, Summary, Table
from dtstat.dependence.api import Data, dependence
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.moments import rows_behind

_SINGULAR = 1e-10  # eigenvalue below which the inverse has fewer than six digits left
_ROUNDING = 1e-8  # asymmetry, or distance of the diagonal from 1, that passes for rounding


# Kaiser (1974, p. 35): what values from these on are.
_WORDS = (
    *((0.9, "marvelous"), (0.8, "meritorious"), (0.7, "middling"), (0.6, "mediocre")),
    *((0.5, "miserable"), (-math.inf, "unacceptable")),
)


@dataclass(frozen=True, eq=False, repr=False)
class KMO(Printed):
    """Measure of sampling adequacy.

    Attributes
    ----------
    overall
        Of the whole matrix.
    per_item
        (p,) of each item.
    item_names
        (p,) names; empty if they are not known.
    """

    overall: float
    per_item: FloatArray
    item_names: tuple[str, ...] = ()

    def summary(self) -> Summary:
        """Lay out the measure of all items and of each."""
        names = self.item_names or tuple(f"item {k + 1}" for k in range(len(self.per_item)))
        cells = (("" if math.isnan(value) else f"{value:.2f}") for value in self.per_item)
        rows = tuple(zip(names, cells, strict=True))
        note = "Kaiser: .9 marvelous, .8 meritorious, .7 middling, .6 mediocre, .5 miserable."
        table = Table("Each item", ("item", "KMO"), rows, "lr", (note,), ("KMO",))
        return Summary((self._head(),), (table,))

    def _head(self) -> str:
        if math.isnan(self.overall):
            return "Kaiser-Meyer-Olkin measure of sampling adequacy: none, all correlations are 0"
        words = next(words for least, words in _WORDS if self.overall >= least)
        return f"Kaiser-Meyer-Olkin measure of sampling adequacy: {self.overall:.2f} ({words})"

    def __repr__(self) -> str:
        return self.summary().to_text()


@dataclass(frozen=True, repr=False)
class BartlettTest(Printed):
    """Test of sphericity: statistic, degrees of freedom, p-value."""

    chisq: float
    df: int
    pvalue: float

    def __repr__(self) -> str:
        p = "p < 0.001" if self.pvalue < 0.0005 else f"p = {self.pvalue:.3f}"
        said = f"chisq({self.df}) = {self.chisq:.2f}, {p}"
        return f"Bartlett's test of sphericity (no correlations at all): {said}"


def kmo(data: Data) -> KMO:
    """Measure whether the items are fit for factor analysis (Kaiser-Meyer-Olkin).

    Parameters
    ----------
    data
        As in :func:`dtstat.efa`.

    Returns
    -------
    KMO
        ``overall``, and ``per_item`` in the order of the items. Above .8 is good, below .5
        unacceptable (Kaiser 1974).

    Examples
    --------
    >>> import dtstat as dt
    >>> round(dt.kmo(dt.load_dataset("holzinger_swineford_9")).overall, 2)
    0.75
    """
    matrix = _correlations(data)
    with one_thread():
        return sampling_adequacy(matrix.values, matrix.names)


def bartlett_test(data: Data) -> BartlettTest:
    """Test whether the items are correlated at all (Bartlett's test of sphericity).

    Parameters
    ----------
    data
        As in :func:`dtstat.efa`; a matrix must know its ``n_obs``, and be of Pearson or Spearman
        correlations: others vary differently when items are unrelated.

    Raises
    ------
    InputError
        If the matrix is of another measure, or does not know its rows.

    Examples
    --------
    >>> import dtstat as dt
    >>> dt.bartlett_test(dt.load_dataset("holzinger_swineford_9")).df
    36
    """
    matrix = _correlations(data)
    if matrix.measure not in ("pearson", "spearman"):
        raise InputError(
            f"`data` is a matrix of the measure '{matrix.measure}', of which Bartlett's test is "
            "not valid. Give the data, or Pearson or Spearman correlations.",
            "data",
        )
    with one_thread():
        return sphericity_test(matrix.values, rows_behind(matrix), matrix.names)


def _correlations(data: Data) -> DependenceMatrix:
    return data if isinstance(data, DependenceMatrix) else dependence(data, "pearson")


def sampling_adequacy(R: FloatArray, names: Sequence[str] | None = None) -> KMO:
    """Kaiser-Meyer-Olkin measure: how far correlations outweigh partial correlations.

    With q_ij the partial correlation of items i and j given all others,

        KMO = Σ_{i≠j} r_ij² / (Σ_{i≠j} r_ij² + Σ_{i≠j} q_ij²),

    and the same with i fixed for item i. Common factors make the q small. Kaiser (1974) calls
    .9 marvelous, .8 meritorious, .7 middling, .6 mediocre, .5 miserable and less unacceptable.

    Parameters
    ----------
    R
        (p, p) correlation matrix, positive definite.
    names
        Names of the items, for messages.

    Returns
    -------
    Overall and per item; NaN where all correlations are exactly 0.

    Raises
    ------
    InputError
        If R is no correlation matrix, or is singular.

    References
    ----------
    Kaiser, H. F. & Rice, J. (1974). Little Jiffy, Mark IV. Educational and Psychological
    Measurement 34, 111-117.
    Kaiser, H. F. (1974). An index of factorial simplicity. Psychometrika 39, 31-36.

    Examples
    --------
    >>> import numpy as np
    >>> round(sampling_adequacy(np.full((3, 3), 0.5) + 0.5 * np.eye(3)).overall, 4)
    0.6923
    """
    R, _ = _check_correlations(R, names)
    P = np.linalg.inv(R)
    scale = np.sqrt(np.diag(P))
    r2, q2 = R**2, (P / np.outer(scale, scale)) ** 2
    np.fill_diagonal(r2, 0.0)
    np.fill_diagonal(q2, 0.0)
    r, both = r2.sum(axis=1), (r2 + q2).sum(axis=1)
    per_item = np.divide(r, both, out=np.full(len(R), np.nan), where=both > 0)
    overall = float(r.sum() / both.sum()) if both.any() else math.nan
    return KMO(overall, per_item, tuple(names or ()))


def sphericity_test(R: FloatArray, n_obs: int, names: Sequence[str] | None = None) -> BartlettTest:
    """Bartlett's test of sphericity: that all items are uncorrelated.

        χ² = −[n − 1 − (2p + 5)/6] log|R|   on   p(p − 1)/2   degrees of freedom,

    for normal items. With many rows it rejects nearly always, so that it tells little about how
    well R can be factored; see :func:`sampling_adequacy`.

    Parameters
    ----------
    R
        (p, p) correlation matrix, positive definite.
    n_obs
        Rows it was computed from.
    names
        Names of the items, for messages.

    Raises
    ------
    InputError
        If R is no correlation matrix or is singular, or there are too few rows.

    References
    ----------
    Bartlett, M. S. (1951). The effect of standardization on a χ² approximation in factor
    analysis. Biometrika 38, 337-344.

    Examples
    --------
    >>> import numpy as np
    >>> test = sphericity_test(np.full((3, 3), 0.5) + 0.5 * np.eye(3), n_obs=100)
    >>> round(test.chisq, 3), test.df
    (67.351, 3)
    """
    R, eigenvalues = _check_correlations(R, names)
    p = len(R)
    correction = 1 + (2 * p + 5) / 6
    advice = "Give the number of rows that R was computed from."
    n = checks.integer("n_obs", n_obs, 2, advice)
    if n <= correction:
        wanted = f"more than {correction:.1f} for {p} items"
        raise checks.refusal("n_obs", wanted, n_obs, "Use more rows or fewer items.")
    chisq = max(0.0, -(n - correction) * float(np.log(eigenvalues).sum()))
    df = p * (p - 1) // 2
    return BartlettTest(chisq, df, p_value(chisq, df))


def _check_correlations(
    R: FloatArray, names: Sequence[str] | None
) -> tuple[FloatArray, FloatArray]:
    """R as a symmetric matrix, and its eigenvalues, all positive."""
    R = np.asarray(R, dtype=float)
    got = ""
    if R.ndim != 2 or R.shape[0] != R.shape[1] or len(R) < 2:
        got = f"shape {R.shape}"
    elif not np.isfinite(R).all():
        got = "missing or infinite entries"
    elif not np.allclose(np.diag(R), 1, rtol=0, atol=_ROUNDING):
        got = "a diagonal other than 1"
    elif not np.allclose(R, R.T, rtol=0, atol=_ROUNDING):
        got = "one that is not symmetric"
    if got:
        raise InputError(
            f"`R` must be a correlation matrix of at least two items; got {got}. Compute it from "
            "the data, for example with dtstat.dependence(data, measure='pearson').",
            "R",
        )
    R = (R + R.T) / 2
    values, vectors = np.linalg.eigh(R)
    if values[0] <= _SINGULAR:
        raise _singular(float(values[0]), vectors[:, 0], names)
    return R, values


def _singular(value: float, vector: FloatArray, names: Sequence[str] | None) -> InputError:
    """Error that names the items of the combination without variance."""
    weight = np.abs(vector)
    involved = [int(i) for i in np.argsort(-weight, kind="stable") if weight[i] > 0.1][:6]
    shown = [f"'{names[i]}'" if names is not None else str(i) for i in sorted(involved)]
    label = "items" if names is not None else "items (counted from 0)"
    what = "singular" if abs(value) <= _SINGULAR else "not positive definite"
    return InputError(
        f"`R` must be positive definite; got a {what} matrix, smallest eigenvalue {value:.2g}, "
        f"from a combination of the {label} {', '.join(shown)}. Leave out one that repeats or sums "
        "up the others; if there are fewer rows than items, use fewer items; if R was computed "
        "pairwise, use complete rows.",
        "R",
    )
