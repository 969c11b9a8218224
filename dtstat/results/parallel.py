"""The result of a parallel analysis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dtstat import checks
from dtstat.data import ItemData
from dtstat.dependence import DependenceMatrix, dependence_matrix
from dtstat.dependence.registry import LATENT
from dtstat.errors import InputError
from dtstat.estimation.efa.parallel import ParallelEigenvalues, parallel_eigenvalues
from dtstat.progress import Progress
from dtstat.report import Summary
from dtstat.report.plots.scree_plot import scree_plot
from dtstat.results.efa import ROWS_ADVICE, correlations, number_table
from dtstat.simulation.seeds import Seed, seed_number


@dataclass(frozen=True, eq=False, repr=False)
class ParallelAnalysis(ParallelEigenvalues):
    """Eigenvalues beside those of data without factors, and how many exceed them.

    Attributes
    ----------
    observed, simulated, resampled, quantile
        As in :class:`~dtstat.estimation.efa.parallel.ParallelEigenvalues`.
    dependence, n_obs
        The correlations, and the rows behind them.
    seed
        The number that repeats the analysis.
    """

    dependence: DependenceMatrix
    n_obs: int
    seed: int

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

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
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

    Parameters
    ----------
    data, n_obs
        As in :func:`fit_efa`; the number of rows must be known.
    n_iter
        Number of simulated, and of resampled, data sets.
    quantile
        Quantile of their eigenvalues that an observed one has to exceed.
    measure
        Correlations of answers: "pearson", or the latent ones "polychoric", "tetrachoric" and
        "mixed", which are compared with those of noise cut as the items are.
    seed
        Whole number; None for a fresh one, recorded in the result.
    progress
        True for a bar, or a function of (done, total).
    """
    checks.choice("measure", measure, ("pearson", *LATENT))
    if isinstance(data, ItemData):
        given, X = dependence_matrix(data, measure), data.values
        kinds = data.kinds if measure in LATENT else None
    else:
        given, X, kinds = _comparable(data), None, None
    matrix, n = correlations(given, n_obs)
    if n is None:
        raise InputError(
            f"`n_obs` must be given with a matrix that has none. {ROWS_ADVICE}", "n_obs"
        )
    draws = checks.integer("n_iter", n_iter, 2, "20 are enough to see the number of factors.")
    q = checks.unit_interval("quantile", quantile, "Usual is 0.95.")
    number = seed_number(seed)
    found = parallel_eigenvalues(matrix.values, n, X, draws, q, number, progress, kinds)
    return ParallelAnalysis(**vars(found), dependence=matrix, n_obs=n, seed=number)


def _comparable(matrix: DependenceMatrix) -> DependenceMatrix:
    """Refuse correlations whose noise cannot be drawn without the answers."""
    if matrix.measure not in LATENT:
        return matrix
    raise InputError(
        f"`data` is a matrix of {matrix.measure} correlations, and noise has to be cut where the "
        "items are, which a matrix does not tell. Give the answers instead: "
        f'parallel_analysis(data, measure="{matrix.measure}").',
        "data",
    )
