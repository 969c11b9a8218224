"""What a fit holds: the request, the data in numbers, the structure, its model, its rivals."""

from __future__ import annotations

from dataclasses import dataclass

from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.saved import register
from dtstat.curves.result import NonlinearFit
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.factors.copula import FactorEstimate, LatentCorrelations
from dtstat.factors.reported import ReportedModel
from dtstat.factors.scores import Marginals
from dtstat.fit.request import FitCall
from dtstat.search.choose import Contender


@register()
@dataclass(frozen=True)
class SampleFacts:
    """What the data were.

    Attributes
    ----------
    n_given, n_used, n_complete
        Rows given and used, and complete rows.
    kinds
        Number of items by kind.
    n_tied
        Items to which two people gave the same answer; None in files that do not say.
    """

    n_given: int
    n_used: int
    n_complete: int
    kinds: dict[str, int]
    n_tied: int | None = None


@dataclass(frozen=True, eq=False, repr=False)
class FitRecord:
    """The structure behind the items, fitted, with what else was possible.

    Attributes
    ----------
    call
        What was asked for.
    dependence
        The matrix that was thresholded.
    latent
        The correlations by which structures were compared.
    support
        (p, d) which item is in which factor.
    attached
        (p,) items that no clique within their factor takes in.
    estimate
        The model fitted to these.
    reported
        The model that is reported: for ratings fitted to polychoric correlations, with standard
        errors and test.
    n_obs, n_typical, n_effective
        Rows; rows behind a correlation (fewer if answers are missing: their harmonic mean); what
        they counted as in the choice.
    contenders
        Every structure considered, the chosen one first.
    explanation
        The choice in one sentence.
    grid
        Thresholds that were asked for; None for all.
    sample, marginals
        What the data were, and their margins; None if a matrix was given.
    notes
        What the user was warned of or should know.
    stem
        What names of factors begin with.
    nonlinear
        Curves of the items, with the estimators "spline", "neural" and "variational".
    given_names
        Names of the factors of a structure that was given; empty if it was found.
    """

    call: FitCall
    dependence: DependenceMatrix
    latent: LatentCorrelations
    support: BoolArray
    attached: BoolArray
    estimate: FactorEstimate
    reported: ReportedModel
    n_obs: int
    n_typical: int
    n_effective: float
    contenders: tuple[Contender, ...]
    explanation: str
    grid: FloatArray | None
    sample: SampleFacts | None
    marginals: Marginals | None
    notes: tuple[str, ...]
    stem: str = "F"
    nonlinear: NonlinearFit | None = None
    given_names: tuple[str, ...] = ()

    @property
    def item_names(self) -> tuple[str, ...]:
        """Names of the p items."""
        return self.dependence.names

    @property
    def factor_names(self) -> tuple[str, ...]:
        """F1, F2, ... (G1, G2, ... at a second level), or as given; by their first items."""
        return self.given_names or tuple(f"{self.stem}{k + 1}" for k in range(self.n_factors))

    @property
    def n_factors(self) -> int:
        """Number of factors d."""
        return int(self.support.shape[1])
