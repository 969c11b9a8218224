"""Exploratory factor analysis: the fit, and its result with tables and pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dtstat.core import checks, diagram_plot
from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.canvas import DrawFunction, draw
from dtstat.core.diagram_text import Diagrammed
from dtstat.core.errors import DataWarning, EstimationError, InputError, warn
from dtstat.core.loading_tables import item_complexity, table_order, variance_frame
from dtstat.core.parallel import one_thread
from dtstat.core.plots import draw_loadings
from dtstat.core.saved import Saved, distinct, register
from dtstat.core.tables import Printed, Summary, Table, with_texts
from dtstat.data.items import ItemData, as_items, rows_to_score, with_scores
from dtstat.data.texts import Labels, given_texts
from dtstat.dependence.api import Data
from dtstat.dependence.compute import dependence_matrix
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.moments import as_matrix
from dtstat.efa.extraction import Extraction, FitIndices, fit_indices
from dtstat.efa.rotation import OBLIQUE, Rotation, solve
from dtstat.structure.naming import new_names, turned
from dtstat.structure.structure import Structure

ROWS_ADVICE = "It is the number of rows behind the matrix."
_NO_ROWS = "Rows unknown: no chi-square, TLI, RMSEA and BIC. Give `n_obs` to have them."
_NOT_NORMAL = (
    "No chi-square, TLI, RMSEA and BIC: their theory is of Pearson correlations, not of {} ones."
)
_NOT_DEFINITE = "Matrix not positive definite: no likelihood chi-square, TLI, RMSEA and BIC."


def efa(
    data: Data,
    n_factors: int | None = None,
    rotation: str = "oblimin",
    method: str = "minres",
    n_obs: int | None = None,
    labels: Labels = None,
) -> EFAFit:
    """Fit an exploratory factor model, to compare a structure with the classical approach.

    Parameters
    ----------
    data
        DataFrame, 2-d array, path of a file or ItemData (Pearson correlations are taken, on the
        rows each pair has in common), a DependenceMatrix, or a covariance or correlation matrix
        with ``n_obs``.
    n_factors
        Number of factors, which must be given; :func:`parallel_analysis` suggests one.
    rotation
        "oblimin", "promax", "varimax" or "none".
    method
        "minres" or "ml".
    n_obs
        Number of rows behind a matrix; of a DependenceMatrix that does not know it, it may be left
        out, but tests and RMSEA need it.
    labels
        Questions of the items, as in :func:`dtstat.fit`.

    Returns
    -------
    EFAFit

    Raises
    ------
    InputError
        If an argument is impossible, or ML meets a matrix that is not positive definite.
    EstimationError
        If the correlations hold fewer factors, so that these cannot be rotated.

    Warns
    -----
    DataWarning
        If there are more factors than the correlations can determine, or items explained without
        error (Heywood cases).

    Examples
    --------
    >>> import dtstat as dt
    >>> fit = dt.efa(dt.load_dataset("holzinger_swineford_9"), n_factors=3)
    >>> fit.to_structure(cutoff=0.3).n_factors
    3
    """
    if n_factors is None:
        how_many = "`n_factors` is missing: how many? parallel_analysis() suggests a number."
        raise InputError(how_many, "n_factors")
    given = matrix_or_items(data, n_obs)
    carried = given.texts if isinstance(given, ItemData) else {}
    texts = {**carried, **given_texts(labels, given.names)}
    with one_thread():
        return replace(fit_efa(given, n_factors, method, rotation, n_obs), item_texts=texts)


def matrix_or_items(data: Data, n_obs: int | None) -> DependenceMatrix | ItemData:
    """Return the correlations of a matrix, or answers."""
    given = as_matrix(data, n_obs)
    return given if isinstance(given, DependenceMatrix) else as_items(given)


def fit_efa(
    data: DependenceMatrix | ItemData,
    n_factors: int,
    method: str = "minres",
    rotation: str = "oblimin",
    n_obs: int | None = None,
) -> EFAFit:
    """Extract and rotate factors; arguments as in :func:`dtstat.efa`."""
    matrix, n = correlations(data, n_obs)
    try:
        extraction, rotated = solve(matrix.values, n_factors, method, rotation)
    except np.linalg.LinAlgError:
        raise EstimationError(
            f"The {n_factors} factors cannot be rotated: the correlations hold "
            "fewer, so that one is made of the others. Ask for fewer factors, or use "
            "rotation='none'."
        ) from None
    pairwise_n = matrix.pairwise_n if n_obs is None else None
    counts = (n, pairwise_n) if matrix.measure == "pearson" else (None, None)
    indices = fit_indices(matrix.values, extraction, *counts)
    notes = tuple(_warn_of_doubts(matrix, extraction, rotated, indices.df))
    return EFAFit(matrix, method, rotation, n, extraction, rotated, indices, notes)


def correlations(
    data: DependenceMatrix | ItemData, n_obs: int | None
) -> tuple[DependenceMatrix, int | None]:
    """Return the correlations, and the number of rows to count with."""
    matrix = dependence_matrix(data, "pearson") if isinstance(data, ItemData) else data
    if n_obs is None:
        return matrix, matrix.n_obs
    return matrix, checks.integer("n_obs", n_obs, 3, ROWS_ADVICE)


def _warn_of_doubts(
    matrix: DependenceMatrix, extraction: Extraction, rotated: Rotation, df: int
) -> Iterator[str]:
    """Warn of what makes the solution doubtful, and yield the warnings."""
    p, d = extraction.loadings.shape
    heywood = ", ".join(_marked(matrix.names, extraction.heywood))
    doubts = {
        f"{d} factors have more loadings than {p} items have correlations ({df} degrees of "
        "freedom): they are not determined. Ask for fewer.": df < 0,
        f"Heywood case: the factors explain {heywood} without error. Ask for fewer factors, or "
        "leave out an item that nearly repeats another.": extraction.heywood.any(),
        "The extraction did not converge; do not trust the loadings.": not extraction.converged,
        "The rotation did not converge; do not trust the loadings.": not rotated.converged,
    }
    for doubt in (text for text, holds in doubts.items() if holds):
        warn(doubt, DataWarning, stacklevel=4)
        yield doubt


@register(
    shapes={"dependence.values": "pp", "extraction.loadings": "pd", "rotated.pattern": "pd"},
    rules={"factors have names": lambda fit: distinct(fit.factor_names, fit.n_factors)},
)
@dataclass(frozen=True, eq=False, repr=False)
class EFAFit(Saved, Printed, Diagrammed):
    """An exploratory factor solution.

    Attributes
    ----------
    dependence
        The correlations it was computed from.
    method, rotation
        How factors were extracted and rotated.
    n_obs
        Rows behind the correlations; None if unknown.
    extraction
        Unrotated loadings and uniquenesses, and whether the search ended well.
    rotated
        Pattern matrix and factor correlations, as arrays.
    fit_indices
        How well the factors reproduce the correlations.
    notes
        What the user was warned of.
    given_names
        Names of the factors, if they were renamed; else empty.
    item_texts
        Questions of the items, as far as they are known.
    """

    dependence: DependenceMatrix
    method: str
    rotation: str
    n_obs: int | None
    extraction: Extraction
    rotated: Rotation
    fit_indices: FitIndices
    notes: tuple[str, ...] = ()
    given_names: tuple[str, ...] = ()
    item_texts: dict[str, str] = field(default_factory=dict)

    _least_drawn = 0.3  # loading, in a path diagram

    @property
    def item_names(self) -> tuple[str, ...]:
        """Names of the p items."""
        return self.dependence.names

    @property
    def n_factors(self) -> int:
        """Number of factors d."""
        return int(self.rotated.pattern.shape[1])

    @property
    def factor_names(self) -> tuple[str, ...]:
        """F1, F2, ... by falling variance explained, or as they were renamed."""
        return self.given_names or tuple(f"F{k + 1}" for k in range(self.n_factors))

    def rename(self, names: Mapping[str, str] | Iterable[str]) -> EFAFit:
        """Return the same solution with other names of factors, as ``DTFit.rename`` does."""
        return replace(self, given_names=new_names(names, self.factor_names, self.item_names))

    def reflect(self, factors: Iterable[str]) -> EFAFit:
        """Return the same solution with the named factors reversed: high is low."""
        signs = np.where(turned(factors, self.factor_names), -1.0, 1.0)
        pattern = self.rotated.pattern * signs
        Phi = self.rotated.factor_correlations * np.outer(signs, signs)
        return replace(self, rotated=Rotation(pattern, Phi, self.rotated.converged))

    @property
    def loadings(self) -> pd.DataFrame:
        """Pattern matrix, items by factors."""
        return self._by_factor(self.rotated.pattern, self.item_names)

    @property
    def factor_correlations(self) -> pd.DataFrame:
        """Correlations of the factors; the identity for an orthogonal rotation."""
        return self._by_factor(self.rotated.factor_correlations, self.factor_names)

    @property
    def communalities(self) -> pd.Series[float]:
        """Variance of each item that the factors explain: diag(P Φ P')."""
        return self._by_item((self.extraction.loadings**2).sum(axis=1))

    @property
    def uniquenesses(self) -> pd.Series[float]:
        """Error variance of each item, at least 0.005."""
        return self._by_item(self.extraction.uniquenesses)

    @property
    def complexity(self) -> pd.Series[float]:
        """Hofmann's number of factors each item needs."""
        return self._by_item(np.nan_to_num(item_complexity(self.rotated.pattern)))

    @property
    def heywood(self) -> tuple[str, ...]:
        """Items explained without error, as far as the bound allows."""
        return _marked(self.item_names, self.extraction.heywood)

    @property
    def variance(self) -> pd.DataFrame:
        """Variance explained by each factor, diag(Φ P'P), as sum, shares and running shares."""
        return variance_frame(self.loadings, self.factor_correlations)

    @property
    def fit_measures(self) -> dict[str, float | None]:
        """Fit indices by name; None where they cannot be known."""
        return asdict(self.fit_indices)

    def to_frame(self) -> pd.DataFrame:
        """Items by factors, then communality h2, uniqueness u2 and complexity com."""
        more = {"h2": self.communalities, "u2": self.uniquenesses, "com": self.complexity}
        return self.loadings.assign(**more)

    @property
    def implied_correlations(self) -> pd.DataFrame:
        """Correlations that the factors imply, P Φ P' + diag(u2), items by items."""
        P, names = self.rotated.pattern, list(self.item_names)
        implied = P @ self.rotated.factor_correlations @ P.T + np.diag(self.extraction.uniquenesses)
        return pd.DataFrame(implied, index=names, columns=names)

    def residuals(self) -> pd.DataFrame:
        """Return the correlations less those that the factors imply, items by items."""
        return self.dependence.to_frame() - self.implied_correlations

    @property
    @one_thread()
    def weights(self) -> pd.DataFrame:
        """Weights of standardized items in regression scores, R⁻¹ P Φ (Thurstone 1935)."""
        structure = self.rotated.pattern @ self.rotated.factor_correlations
        W = np.linalg.pinv(self.dependence.values, hermitian=True) @ structure  # R may be singular
        return self._by_factor(W, self.item_names)

    @one_thread()
    def factor_scores(self, data: Any) -> pd.DataFrame:
        """Estimate everybody's position on every factor (regression scores).

        Items are standardized by the means and standard deviations of the rows that are given, as
        a matrix of correlations knows no others: score all rows at once.

        Parameters
        ----------
        data
            Rows to score: DataFrame with the items among its columns, array, or file.

        Returns
        -------
        DataFrame
            Rows of the data by factors; NaN where an answer is missing.
        """
        index, X = rows_to_score(data, self.item_names)
        rows = pd.DataFrame(X)
        spread = rows.std().to_numpy()
        if not (spread > 0).all():
            fixed = ", ".join(_marked(self.item_names, ~(spread > 0)))
            raise InputError(
                f"All rows to score have the same answer to {fixed}, so that it cannot be "
                "standardized. Give all rows that were fitted.",
                "data",
            )
        Z = (rows - rows.mean()).to_numpy() / spread
        return pd.DataFrame(Z @ self.weights.to_numpy(), index, list(self.factor_names))

    def augment(self, data: Any) -> pd.DataFrame:
        """Return the data with one column of scores for each factor, named ``.fs_<factor>``."""
        return with_scores(data, self.factor_scores(data))

    def tidy(self) -> pd.DataFrame:
        """One row per item and factor: item, factor, loading."""
        pairs = [(item, factor) for item in self.item_names for factor in self.factor_names]
        frame = pd.DataFrame(pairs, columns=["item", "factor"])
        return frame.assign(loading=self.rotated.pattern.ravel())

    def glance(self) -> pd.DataFrame:
        """One row: what was fitted, and every fit index (NaN where unknown)."""
        about = {
            "method": self.method,
            "rotation": self.rotation,
            "n_obs": math.nan if self.n_obs is None else self.n_obs,
            "n_items": len(self.item_names),
            "n_factors": self.n_factors,
            "converged": self.extraction.converged and self.rotated.converged,
        }
        known = {k: math.nan if v is None else v for k, v in self.fit_measures.items()}
        return pd.DataFrame([about | known])

    def to_structure(self, cutoff: float = 0.3) -> Structure:
        """Structure of the loadings of at least ``cutoff`` in size, without empty factors."""
        least = checks.unit_interval("cutoff", cutoff, "It is compared with absolute loadings.")
        A: BoolArray = np.abs(self.rotated.pattern) >= least
        kept: BoolArray = np.logical_or.reduce(A, axis=0)
        negative = A & (self.rotated.pattern < 0)
        names = _marked(self.factor_names, kept)
        return Structure(A[:, kept], self.item_names, names, negative[:, kept])

    def summary(self, sort: bool = False, cutoff: float = 0.0, digits: int = 2) -> Summary:
        """Tabulate loadings, variance explained, factor correlations and fit.

        Parameters
        ----------
        sort
            Group items by their strongest factor, strongest first.
        cutoff
            Loadings smaller than this in size are left blank.
        digits
            Decimals of the loadings.
        """
        least = checks.unit_interval("cutoff", cutoff, "It is compared with absolute loadings.")
        digits = checks.integer("digits", digits, 0, "2 is usual.", at_most=15)
        sort = checks.flag("sort", sort, "True groups items by factor.")
        shown = self.variance if self.n_factors > 1 else self.variance.iloc[:2]
        tables = [
            self._loading_table(sort, least, digits),
            number_table("Variance explained", shown, digits),
        ]
        if self.rotation in OBLIQUE and self.n_factors > 1:
            tables.append(number_table("Factor correlations", self.factor_correlations, digits))
        return Summary(self._head(), (*tables, self._fit_table()))

    def plot(self, kind: str = "loadings", ax: Any = None, **options: Any) -> Any:
        """Draw the solution; needs matplotlib (the extra ``plot``).

        Parameters
        ----------
        kind
            "loadings": heat map. "diagram": the path diagram, fit to print.
        ax
            Axes to draw on; a new figure if None.
        options
            ``cutoff=0.3``: loadings of smaller size have no number, or no arrow; ``texts=True``:
            items with what they ask; of a diagram also ``residuals=True``.
        """
        return draw(_PICTURES, self, kind, ax, options)

    def _head(self) -> tuple[str, ...]:
        plural = "" if self.n_factors == 1 else "s"
        return (
            f"Exploratory factor analysis by {self.method}, rotation {self.rotation}: "
            f"{self.n_factors} factor{plural}",
            str(self.dependence),
            *self.notes,
        )

    def _loading_table(self, sort: bool, cutoff: float, digits: int) -> Table:
        frame = self.to_frame()
        if sort:
            frame = frame.iloc[table_order(self.loadings)]
        d = self.n_factors
        rows = tuple(
            (
                str(item),
                *("" if abs(v) < cutoff else f"{v:.{digits}f}" for v in values[:d]),
                *(f"{v:.{digits}f}" for v in values[d:-1]),
                f"{values[-1]:.1f}",
            )
            for item, values in zip(frame.index, frame.to_numpy().tolist(), strict=True)
        )
        kind = "pattern matrix" if self.rotation in OBLIQUE else "loadings"
        notes = ["h2: communality. u2: uniqueness. com: factors an item needs (Hofmann)."]
        notes += [f"Blank: below {cutoff:g}."] if cutoff > 0 else []
        headers = ("item", *map(str, frame.columns))
        table = Table(f"Standardized {kind}", headers, rows, "l" + "r" * (d + 3), tuple(notes))
        return with_texts(table, map(str, frame.index), self.item_texts)

    def _fit_table(self) -> Table:
        f = self.fit_indices
        lines = [
            ("Likelihood chi-square", _test(f.chi_square, f.df, f.p_value)),
            ("Chi-square without factors", _test(f.chi_square_null, f.df_null, None)),
            ("Empirical chi-square", _test(f.empirical_chi_square, f.df, f.empirical_p_value)),
            ("RMSR", _number(f.rmsr, 3)),
            ("RMSR, df corrected", _number(f.rmsr_corrected, 3)),
            ("Fit off the diagonal", _number(f.fit_off_diagonal, 3)),
            ("Tucker-Lewis index", _number(f.tli, 3)),
            ("RMSEA", _number(f.rmsea, 3)),
            ("RMSEA, 90% from", _number(f.rmsea_low, 3)),
            ("RMSEA, 90% to", _number(f.rmsea_high, 3)),
            ("BIC", _number(f.bic, 2)),
            ("Mean item complexity", _number(float(self.complexity.mean()), 1)),
        ]
        rows = tuple((name, value) for name, value in lines if value)
        reasons = {
            _NO_ROWS: self.n_obs is None,
            _NOT_DEFINITE: f.objective is None,
            _NOT_NORMAL.format(self.dependence.measure): self.dependence.measure != "pearson",
        }
        notes = tuple(reason for reason, holds in reasons.items() if holds)
        return Table("Fit", ("measure", "value"), rows, "ll", notes)

    def _by_factor(self, values: FloatArray, index: Sequence[str]) -> pd.DataFrame:
        return pd.DataFrame(values.copy(), index=list(index), columns=list(self.factor_names))

    def _by_item(self, values: FloatArray) -> pd.Series[float]:
        return pd.Series(values.copy(), index=list(self.item_names))

    def __repr__(self) -> str:
        return "\n".join(self._head())


def _marked(names: Sequence[str], marks: BoolArray) -> tuple[str, ...]:
    return tuple(name for name, marked in zip(names, marks, strict=True) if marked)


def number_table(title: str, frame: pd.DataFrame, digits: int) -> Table:
    """Table of numbers with its row names as first column."""
    named = frame.rename_axis("").reset_index()
    named[""] = named[""].astype(str)
    return Table.from_frame(named, title, digits=digits)


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _test(chi: float | None, df: int, p_value: float | None) -> str:
    if chi is None:
        return ""
    test = "" if p_value is None else f", p = {p_value:.2g}" if p_value > 0 else ", p < 1e-300"
    return f"{chi:.2f} on {df} df{test}"


def _draw_diagram(
    fit: EFAFit,
    ax: Any,
    cutoff: float = 0.3,
    residuals: bool = False,
    texts: bool = False,
) -> Any:
    """Draw the path diagram."""
    return diagram_plot.draw(fit.path_diagram(cutoff, residuals, texts), ax)


_PICTURES: dict[str, DrawFunction] = {
    "loadings": partial(draw_loadings, cutoff=0.3),
    "diagram": _draw_diagram,
}
