"""Parallel analysis: eigenvalues compared with those of data without factors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dtstat.core import canvas, checks
from dtstat.core.arrays import FloatArray
from dtstat.core.checks import Seed, seed_number, streams
from dtstat.core.errors import InputError
from dtstat.core.parallel import Progress, one_thread, track
from dtstat.core.tables import Printed, Summary
from dtstat.data.frame import Frame, rows_by_content
from dtstat.data.items import ItemData
from dtstat.dependence.api import Data
from dtstat.dependence.compute import dependence_matrix
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.measures import LATENT
from dtstat.dependence.pearson import pearson
from dtstat.dependence.polychoric import Kind, latent_correlation_matrix, thresholds
from dtstat.efa.extraction import minres
from dtstat.efa.result import ROWS_ADVICE, correlations, matrix_or_items, number_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TOLERANCE = 1e-5  # of the one-factor solutions: far below the spread of the eigenvalues
_MARKERS = {"factors": ("o", canvas.BLUE), "components": ("^", canvas.VERMILION)}


def parallel_analysis(
    data: Data,
    n_obs: int | None = None,
    n_iter: int = 20,
    quantile: float = 0.95,
    measure: str = "pearson",
    seed: int | None = None,
    progress: Progress = None,
) -> ParallelAnalysis:
    """Suggest a number of factors: those stronger than factors of noise (Horn 1965).

    Parameters
    ----------
    data
        As in :func:`dtstat.efa`; not a matrix of polychoric, tetrachoric or mixed correlations,
        whose noise needs the answers.
    n_obs
        Number of rows behind a matrix that does not know it.
    n_iter
        Number of data sets of noise.
    quantile
        Of their eigenvalues, the one to be exceeded.
    measure
        Correlations of answers: "pearson", "polychoric", "tetrachoric" or "mixed". Beside the last
        three, noise is cut where the items are and has the same gaps. A DependenceMatrix has its
        own.
    seed
        The same seed gives the same answer.
    progress
        True for a bar, or a function of (done, total).

    Returns
    -------
    ParallelAnalysis

    Raises
    ------
    InputError
        If the data or an argument cannot be used.

    Notes
    -----
    Cost: two matrices per data set of noise, as :func:`dtstat.dependence` computes them; 2800 rows
    of 25 ratings by "polychoric": about a second.

    Examples
    --------
    >>> import dtstat as dt
    >>> dt.parallel_analysis(dt.load_dataset("holzinger_swineford_9"), seed=1).n_factors
    3
    """
    given = matrix_or_items(data, n_obs)
    with one_thread():
        return run_parallel_analysis(given, n_obs, n_iter, quantile, measure, seed, progress)


def run_parallel_analysis(
    data: DependenceMatrix | ItemData,
    n_obs: int | None = None,
    n_iter: int = 20,
    quantile: float = 0.95,
    measure: str = "pearson",
    seed: Seed = None,
    progress: Progress = None,
) -> ParallelAnalysis:
    """Suggest numbers of factors and components (Horn 1965).

    Arguments as in :func:`dtstat.parallel_analysis`; without a ``seed`` a fresh one is recorded in
    the result.
    """
    checks.choice("measure", measure, ("pearson", *LATENT))
    if isinstance(data, DependenceMatrix) and data.measure in LATENT:
        raise InputError(
            f"`data` is a matrix of {data.measure} correlations, and noise has to be cut where the "
            "items are, which a matrix does not tell. Give the answers instead: "
            f'parallel_analysis(data, measure="{data.measure}").',
            "data",
        )
    given = dependence_matrix(data, measure) if isinstance(data, ItemData) else data
    matrix, n = correlations(given, n_obs)
    if n is None:
        raise InputError(
            f"`n_obs` must be given with a matrix that has none. {ROWS_ADVICE}", "n_obs"
        )
    draws = checks.repeats("n_iter", n_iter, 2, "20 are enough to see the number of factors.")
    q = checks.unit_interval("quantile", quantile, "Usual is 0.95.")
    number = seed_number(seed)
    generators = streams(number, 2 * draws)
    first, second = generators[:draws], generators[draws:]
    resampled: Eigenvalues | None = None
    if not isinstance(data, ItemData):
        simulated = simulated_eigenvalues(n, len(matrix.values), first, progress)
    else:
        frame = Frame.of_answers(data.values)
        X = frame.answers(data.values)[rows_by_content(data.values, frame)]
        if measure in LATENT:
            kinds = tuple(data.kinds[i] for i in frame.order)
            simulated = cut_eigenvalues(X, kinds, first, progress)
            resampled = resampled_eigenvalues(
                X, second, progress, lambda drawn: latent_correlation_matrix(drawn, kinds)
            )
        else:
            simulated = simulated_eigenvalues(n, len(matrix.values), first, progress)
            resampled = resampled_eigenvalues(X, second, progress)
    observed = eigenvalues(matrix.values)
    return ParallelAnalysis(observed, simulated, resampled, q, matrix, n, number)


@dataclass(frozen=True, eq=False, repr=False)
class ParallelAnalysis(Printed):
    """Eigenvalues beside those of data without factors, and how many exceed them.

    Attributes
    ----------
    observed
        Of the correlations, (p,) each.
    simulated
        Of independent normal items, (n_iter, p) each; beside latent correlations, of such items
        cut where those of the data are.
    resampled
        Of the data with each item shuffled, (n_iter, p) each; None without the data.
    quantile
        Quantile of the reference that an eigenvalue has to exceed.
    dependence, n_obs
        The correlations, and the rows behind them.
    seed
        The number that repeats the analysis.
    """

    observed: Eigenvalues
    simulated: Eigenvalues
    resampled: Eigenvalues | None
    quantile: float
    dependence: DependenceMatrix
    n_obs: int
    seed: int

    @property
    def n_factors(self) -> int:
        """Leading factor eigenvalues above the simulated quantile."""
        reference = self.simulated.quantile(self.quantile)
        return suggested_number(self.observed.factors, reference.factors)

    @property
    def n_components(self) -> int:
        """Leading component eigenvalues above the simulated quantile."""
        reference = self.simulated.quantile(self.quantile)
        return suggested_number(self.observed.components, reference.components)

    def to_frame(self) -> pd.DataFrame:
        """One row per eigenvalue, from 1: observed, and the quantiles of the references.

        Columns: factors, simulated_factors, resampled_factors, components, simulated_components,
        resampled_components; those of resampled data only if there are data.
        """
        sources = {"": self.observed, "simulated_": self.simulated.quantile(self.quantile)}
        if self.resampled is not None:
            sources["resampled_"] = self.resampled.quantile(self.quantile)
        columns = {f"{name}factors": values.factors for name, values in sources.items()}
        columns |= {f"{name}components": values.components for name, values in sources.items()}
        return pd.DataFrame(columns, index=pd.RangeIndex(1, len(self.observed.factors) + 1))

    def summary(self, max_rows: int = 10) -> Summary:
        """Head lines and the ``max_rows`` largest eigenvalues."""
        rows = checks.integer("max_rows", max_rows, 0, "It is the number of rows of a table.")
        frame = self.to_frame().head(rows)
        frame.columns = [name.replace("_", " ") for name in frame.columns]
        return Summary(tuple(repr(self).splitlines()), (number_table("Eigenvalues", frame, 3),))

    def plot(self, ax: Any = None) -> Any:
        """Draw the scree beside that of data without factors; needs the extra ``plot``.

        Parameters
        ----------
        ax
            Axes to draw on; a new figure if None.
        """
        found = f"Parallel analysis: {self.n_factors} factors, {self.n_components} components"
        return scree_plot(self.to_frame(), self.quantile, found, ax)

    def __repr__(self) -> str:
        count = len(self.simulated.factors)
        cut = ", cut as the items are" if self.dependence.measure in LATENT else ""
        return (
            f"Parallel analysis: {self.n_factors} factors, {self.n_components} components\n"
            f"{self.dependence}\n"
            f"An eigenvalue counts above the {self.quantile:g} quantile of {count} simulated data "
            f"sets of {self.n_obs} rows{cut} (seed {self.seed})"
        )


@dataclass(frozen=True, eq=False)
class Eigenvalues:
    """Eigenvalues of one matrix (p,), or of many (m, p), largest first.

    Attributes
    ----------
    factors
        Of the reduced matrix R − Ψ, Ψ from one minres factor.
    components
        Of R itself.
    """

    factors: FloatArray
    components: FloatArray

    def __post_init__(self) -> None:
        self.factors.setflags(write=False)
        self.components.setflags(write=False)

    def quantile(self, q: float) -> Eigenvalues:
        """Quantile over the matrices, for each place in the order."""
        return Eigenvalues(
            np.quantile(self.factors, q, axis=0), np.quantile(self.components, q, axis=0)
        )


def eigenvalues(R: FloatArray) -> Eigenvalues:
    """Eigenvalues for factors and for components of a correlation matrix.

    Components: those of R. Factors: those of R − Ψ̂, the correlations with communalities on the
    diagonal, where Ψ̂ are the uniquenesses of a one-factor minres solution.
    """
    R = Frame.of(R).matrix(R)  # where the search ends depends on the order of the items
    psi = minres(R, 1, _TOLERANCE).uniquenesses
    factors = np.linalg.eigvalsh(R - np.diag(psi))[::-1].astype(np.float64)
    components = np.linalg.eigvalsh(R)[::-1].astype(np.float64)
    return Eigenvalues(factors, components)


def simulated_eigenvalues(
    n: int, p: int, generators: Sequence[np.random.Generator], progress: Progress = None
) -> Eigenvalues:
    """Eigenvalues for n rows of p independent normal items, one matrix per generator (Horn 1965).

    Cost: a one-factor solution per matrix; the rows themselves are not drawn if n > p, for the
    matrix of their products has a known distribution (see :func:`random_correlations`).

    References
    ----------
    Horn, J. L. (1965). A rationale and test for the number of factors in factor analysis.
    Psychometrika 30, 179–185.
    """
    return _collect(lambda rng: random_correlations(n, p, rng), generators, progress, "simulated")


def cut_eigenvalues(
    X: FloatArray,
    kinds: Sequence[Kind],
    generators: Sequence[np.random.Generator],
    progress: Progress = None,
) -> Eigenvalues:
    """Eigenvalues of latent correlations for items that share nothing, one matrix per generator.

    Polychoric correlations scatter more than those of normal items, the more so the fewer and the
    more uneven the categories: independent binary items with shares p, p′ of yes by

        Var(r) ≈ p(1 − p) p′(1 − p′) / (n φ(τ)² φ(τ′)²) ≥ (π²/4) / n   (Pearson 1900),

    so that beside uncut noise they show factors that are none (Timmerman & Lorenzo-Seva 2011). The
    data X (n, p) say where items are cut and answers missing.

    References
    ----------
    Timmerman, M. E. & Lorenzo-Seva, U. (2011). Dimensionality assessment of ordered polytomous
    items with parallel analysis. Psychological Methods 16, 209–220.
    """
    cuts = [None if k == "continuous" else thresholds(x) for k, x in zip(kinds, X.T, strict=True)]
    gaps = np.isnan(X)

    def latent(rng: np.random.Generator) -> FloatArray:
        Z = rng.normal(size=X.shape)
        for j, cut in enumerate(cuts):
            if cut is not None:
                Z[:, j] = np.searchsorted(cut, Z[:, j])
        Z[gaps] = np.nan
        # A rare answer may not be drawn at all; who always answers the same shares nothing.
        return np.nan_to_num(latent_correlation_matrix(Z, kinds))

    return _collect(latent, generators, progress, "simulated")


def resampled_eigenvalues(
    X: FloatArray,
    generators: Sequence[np.random.Generator],
    progress: Progress = None,
    correlate: Callable[[FloatArray], FloatArray] = pearson,
) -> Eigenvalues:
    """Eigenvalues for the data with each item's answers shuffled (Buja & Eyuboglu 1992).

    Keeps the distribution of every item, gaps included, and destroys what they share; one matrix
    per generator.

    References
    ----------
    Buja, A. & Eyuboglu, N. (1992). Remarks on parallel analysis. Multivariate Behavioral Research
    27, 509–540.
    """
    items = np.ascontiguousarray(X.T)

    def shuffled(rng: np.random.Generator) -> FloatArray:
        # A pair that has only one answer in its common rows shares nothing.
        return np.nan_to_num(correlate(rng.permuted(items, axis=1).T))

    return _collect(shuffled, generators, progress, "resampled")


def _collect(
    draw: Callable[[np.random.Generator], FloatArray],
    generators: Sequence[np.random.Generator],
    progress: Progress,
    label: str,
) -> Eigenvalues:
    found = [eigenvalues(draw(rng)) for rng in track(generators, progress, label)]
    return Eigenvalues(
        np.array([one.factors for one in found]), np.array([one.components for one in found])
    )


def random_correlations(n: int, p: int, rng: np.random.Generator) -> FloatArray:
    """Correlations of n rows of p independent normal items.

    The centered products are Wishart with n − 1 degrees of freedom: AA' with A lower triangular,
    a_ii² ~ χ²(n − i) for i = 1, ..., p, the rest standard normal (Bartlett 1933). With n ≤ p
    they are computed from rows.
    """
    if n <= p:
        return pearson(rng.normal(size=(n, p)))
    A = np.tril(rng.normal(size=(p, p)), -1)
    A[np.diag_indices(p)] = np.sqrt(rng.chisquare(n - 1 - np.arange(p)))
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    R: FloatArray = A @ A.T
    return R


def suggested_number(observed: FloatArray, reference: FloatArray) -> int:
    """Count the leading eigenvalues that exceed the reference, up to the first that does not."""
    exceeds = observed > reference
    return int(exceeds.size if exceeds.all() else exceeds.argmin())


def scree_plot(
    eigenvalues: pd.DataFrame, quantile: float, suggested: str, ax: Axes | None = None
) -> Axes:
    """Draw a table of eigenvalues as :meth:`ParallelAnalysis.to_frame` returns it.

    ``quantile`` is that of the references; ``suggested``, what was found, becomes the title.
    """
    ax = canvas.axes(ax, 4.4)
    rank = eigenvalues.index.to_numpy()
    for kind, (marker, color) in _MARKERS.items():
        ax.plot(rank, eigenvalues[kind], marker, ls="-", color=color, ms=4, label=f"{kind}, data")
        for source, line in (("simulated", "--"), ("resampled", ":")):
            column = f"{source}_{kind}"
            if column in eigenvalues:
                label = f"{kind}, {source}, {100 * quantile:g} % quantile"
                ax.plot(rank, eigenvalues[column], line, color=color, lw=1.4, label=label)
    ax.axhline(0, color=canvas.PALE, linewidth=0.8, zorder=0)
    ax.locator_params(axis="x", integer=True)
    canvas.strip_frame(ax)
    canvas.set_titles(ax, suggested, "rank of the eigenvalue", "eigenvalue")
    canvas.legend_below(ax, 2)
    return ax
