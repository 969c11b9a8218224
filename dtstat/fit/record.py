"""What a fit holds: the request, the data in numbers, the structure, its model, its rivals."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.errors import InputError
from dtstat.core.saved import register
from dtstat.curves.result import CURVE_COLUMNS, GRID, NonlinearFit
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.factors.copula import FactorEstimate, LatentCorrelations
from dtstat.factors.reported import ReportedModel, scoring_model
from dtstat.factors.scores import Marginals, factor_scores, learn_marginals
from dtstat.fit.request import FitRequest
from dtstat.search.choose import Contender
from dtstat.structure.barcode import Barcode


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


@dataclass(frozen=True, eq=False)
class Lines:
    """How items answer to factors by the copula: straight before the margins, bent by them.

    Has what :class:`dtstat.curves.result.NonlinearFit` has, so that a fit need not ask which of
    the two it holds.

    Attributes
    ----------
    support
        (p, d) which item is in which factor.
    estimate, reported
        The models fitted in the search, and reported.
    marginals
        Of the answers; None if a matrix was given.
    """

    support: BoolArray
    estimate: FactorEstimate
    reported: ReportedModel
    marginals: Marginals | None

    @cached_property
    def _variances(self) -> FloatArray:
        model = self.reported.estimate
        L = model.loadings
        variances: FloatArray = ((L @ model.factor_correlations) * L).sum(axis=1)
        return variances + model.uniquenesses

    @property
    def loadings(self) -> FloatArray:
        """(p, d) loadings of items scaled to variance 1."""
        return self.reported.estimate.loadings / np.sqrt(self._variances)[:, None]

    @property
    def uniquenesses(self) -> FloatArray:
        """(p,) share of each item's variance that the factors leave unexplained."""
        return self.reported.estimate.uniquenesses / self._variances

    @property
    def factor_correlations(self) -> FloatArray:
        """(d, d) Φ."""
        return self.reported.estimate.factor_correlations

    @property
    def loading_errors(self) -> FloatArray:
        """(p, d) standard errors of the loadings."""
        return self.reported.errors.loadings.copy()

    @property
    def factor_correlation_errors(self) -> FloatArray:
        """(d, d) standard errors of Φ."""
        return self.reported.errors.factor_correlations

    @property
    def log_likelihood(self) -> float:
        """Of all rows, under the model of the search."""
        return self.estimate.log_likelihood

    @property
    def n_parameters(self) -> int:
        """Loadings, uniquenesses and factor correlations."""
        return self.estimate.n_parameters

    def scores(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n, d) regression scores and their standard deviations."""
        margins = self.marginals or learn_marginals(X)
        return factor_scores(scoring_model(self.reported, margins), margins.normal_scores(X))

    def curve_frame(self, items: tuple[str, ...], factors: tuple[str, ...]) -> pd.DataFrame:
        """One row per item, factor and value of the factor: the mean answer there.

        With λ the standardized loading and Y = λ z + rest the variable behind the answer, the rest,
        other factors of the item included, is averaged over its own distribution.

        Raises
        ------
        InputError
            If the fit is to a matrix, which has no answers.
        """
        if not factors:
            return pd.DataFrame(columns=CURVE_COLUMNS)
        if self.marginals is None:
            raise InputError(
                "A matrix has no answers to draw curves of. Fit the data, or read the loadings.",
                "data",
            )
        loadings, Phi = self.loadings, self.factor_correlations
        frames = []
        for i, k in zip(*np.nonzero(self.support), strict=True):
            sd = np.sqrt(_unexplained(loadings[i], Phi, k))
            value = self.marginals.mean_answers(i, loadings[i, k] * GRID, float(sd))
            names = {"item": items[i], "factor": factors[k]}
            band = {"lower": np.nan, "upper": np.nan}
            frames.append(pd.DataFrame(names | {"z": GRID, "value": value} | band))
        return pd.concat(frames, ignore_index=True)


def _unexplained(loadings: FloatArray, Phi: FloatArray, k: int) -> float:
    """Variance of an item of variance 1 that factor k alone does not explain."""
    others = np.delete(loadings, k)
    among = np.delete(np.delete(Phi, k, axis=0), k, axis=1)
    unique = 1 - loadings @ Phi @ loadings
    return max(float(others @ among @ others + unique), 0.0)


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
    barcode
        All cliques of the path; None if there was no search, and in a fit from a file.
    """

    call: FitRequest
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
    barcode: Barcode | None = field(default=None, metadata={"saved": False})

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

    @property
    def has_curves(self) -> bool:
        """Whether items answer by curves of their own."""
        return self.nonlinear is not None

    @cached_property
    def responses(self) -> Lines | NonlinearFit:
        """How items answer to the factors, by lines or by curves."""
        if self.nonlinear is not None:
            return self.nonlinear
        return Lines(self.support, self.estimate, self.reported, self.marginals)
