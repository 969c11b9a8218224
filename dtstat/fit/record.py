"""What a fit holds: the request, the data in numbers, the structure, its model, its rivals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd

from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.errors import InputError
from dtstat.curves.result import CURVE_COLUMNS, GRID, NonlinearFit
from dtstat.data.description import SampleFacts
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.on_demand import CorrelationsOnDemand
from dtstat.factors.copula import FactorEstimate, LatentCorrelations
from dtstat.factors.expected import expected_factors
from dtstat.factors.reported import ReportedModel, Source, scoring_model
from dtstat.factors.scores import (
    Marginals,
    bartlett_scores,
    explained_variances,
    factor_scores,
    learn_marginals,
    normal_posterior,
)
from dtstat.fit.request import FitRequest
from dtstat.search.joins import JoinedLevels
from dtstat.search.records import Contender, Level
from dtstat.structure.barcode import Barcode
from dtstat.structure.naming import new_names, suggest_names, turned
from dtstat.structure.structure import Structure


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
        variances = explained_variances(L, model.factor_correlations)
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

    def scores(self, X: FloatArray, method: str = "regression") -> tuple[FloatArray, FloatArray]:
        """(n, d) scores by a method, "regression", "bartlett" or "eap", and standard errors."""
        margins = self.marginals or learn_marginals(X)
        if method == "eap":
            mean, V = self.posterior(X)
            return mean, np.sqrt(np.einsum("nkk->nk", V))
        score = bartlett_scores if method == "bartlett" else factor_scores
        return score(scoring_model(self.reported, margins), margins.normal_scores(X))

    def posterior(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n, d) means and (n, d, d) covariances of the factors given answers; NaN without any.

        Of ratings those given the categories, of other items those given their normal scores.
        """
        margins = self.marginals or learn_marginals(X)
        model = self.reported.estimate
        if self.reported.as_ratings:
            unit = replace(model, loadings=self.loadings, uniquenesses=self.uniquenesses)
            mean, V = expected_factors(unit, margins, X)
        else:
            mean, V = normal_posterior(model, margins.normal_scores(X))
        nothing = np.isnan(X).all(axis=1)
        mean[nothing], V[nothing] = np.nan, np.nan
        return mean, V

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


@dataclass(frozen=True, eq=False)
class Reflected:
    """Responses with some factors turned round: z becomes −z, and everything follows exactly.

    Attributes
    ----------
    responses
        As they were estimated.
    signs
        (d,) −1 for factors that are turned round, else 1.
    """

    responses: Lines | NonlinearFit
    signs: FloatArray

    @property
    def loadings(self) -> FloatArray:
        """(p, d) loadings."""
        return self.responses.loadings * self.signs + 0.0  # no zero is negative

    @property
    def factor_correlations(self) -> FloatArray:
        """(d, d) Φ."""
        return self.responses.factor_correlations * np.outer(self.signs, self.signs)

    def scores(self, X: FloatArray, *method: str) -> tuple[FloatArray, FloatArray]:
        """(n, d) scores and their standard deviations."""
        scores, errors = self.responses.scores(X, *method)
        return scores * self.signs, errors

    def posterior(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n, d) means and (n, d, d) covariances of the factors given answers; only of lines."""
        assert isinstance(self.responses, Lines)
        mean, V = self.responses.posterior(X)
        return mean * self.signs, V * np.outer(self.signs, self.signs)

    def curve_frame(self, items: tuple[str, ...], factors: tuple[str, ...]) -> pd.DataFrame:
        """One row per item, factor and value of the factor; curves of these run backwards."""
        frame = self.responses.curve_frame(items, factors)
        columns = ["value", "lower", "upper"]
        turned = dict(zip(factors, self.signs < 0, strict=True))
        for (_, factor), part in frame.groupby(["item", "factor"], sort=False):
            if turned[str(factor)]:  # the grid is symmetric around 0
                frame.loc[part.index, columns] = part[columns].to_numpy()[::-1]
        return frame

    def loading_frame(self, items: tuple[str, ...], factors: tuple[str, ...]) -> pd.DataFrame:
        """One row per item and factor; only curves have it."""
        assert isinstance(self.responses, NonlinearFit)
        frame = self.responses.loading_frame(items, factors)
        signs = dict(zip(factors, self.signs, strict=True))
        return frame.assign(loading=frame["loading"] * frame["factor"].map(signs))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.responses, name)  # what does not depend on signs


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
        What the data were, and their marginal distributions; None if a matrix was given.
    notes
        What the user was warned of or should know.
    nonlinear
        Curves of the items, with the estimators "spline", "neural" and "variational".
    given_names
        Names of the factors, if they were given with a structure or afterwards; else empty.
    tree
        Levels with one factor, two, and so on, if a tree was searched.
    supported
        Largest number of factors that the rows support.
    second
        Number of factors of the other level that stands out.
    signs
        −1 for factors that point the other way than they were estimated, else 1; empty if none do.
    item_texts
        Questions of the items, as far as they are known.
    barcode
        All cliques of the path; None if there was no search, and in a fit from a file.
    source
        The answers behind the correlations; None in a fit from a file.
    """

    call: FitRequest
    dependence: DependenceMatrix | CorrelationsOnDemand
    latent: LatentCorrelations | CorrelationsOnDemand
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
    nonlinear: NonlinearFit | None = None
    given_names: tuple[str, ...] = ()
    tree: tuple[Level, ...] | JoinedLevels = ()
    supported: int = 0
    second: int | None = None
    signs: tuple[int, ...] = ()
    item_texts: dict[str, str] = field(default_factory=dict)
    barcode: Barcode | None = field(default=None, metadata={"saved": False})
    source: Source | None = field(default=None, metadata={"saved": False})

    @property
    def item_names(self) -> tuple[str, ...]:
        """Names of the p items."""
        return self.dependence.names

    @property
    def factor_names(self) -> tuple[str, ...]:
        """F1, F2, ... or as given; by their first items."""
        return self.given_names or tuple(f"F{k + 1}" for k in range(self.n_factors))

    @property
    def n_factors(self) -> int:
        """Number of factors d."""
        return int(self.support.shape[1])

    @property
    def has_curves(self) -> bool:
        """Whether items answer by curves of their own."""
        return self.nonlinear is not None

    @cached_property
    def responses(self) -> Lines | NonlinearFit | Reflected:
        """How items answer to the factors, by lines or by curves."""
        found: Lines | NonlinearFit
        if self.nonlinear is not None:
            found = self.nonlinear
        else:
            found = Lines(self.support, self.estimate, self.reported, self.marginals)
        return Reflected(found, np.array(self.signs, dtype=float)) if self.signs else found

    def rename(self, names: Mapping[str, str] | Iterable[str]) -> Self:
        """Return the same fit with other names of factors.

        They go along into tables, pictures, the page, scores, files, ``level``, and the models that
        :func:`dtstat.cfa` and lavaan make of the fit.

        Parameters
        ----------
        names
            Dict from old to new names, for some of the factors; or a list with a name for each.

        Raises
        ------
        InputError
            If a factor is unknown, or a name is empty, given twice or that of an item.

        Examples
        --------
        >>> import dtstat as dt
        >>> fit = dt.fit(dt.load_dataset("holzinger_swineford_9"))
        >>> fit.rename({"F3": "speed"}).factor_names
        ('F1', 'F2', 'speed')
        """
        return replace(self, given_names=new_names(names, self.factor_names, self.item_names))

    def reflect(self, factors: Iterable[str]) -> Self:
        """Return the same fit with some factors reversed: high is low.

        Loadings, factor correlations, scores and curves change sign, and so do the models that
        :func:`dtstat.cfa` and lavaan make of the fit; nothing is estimated anew.

        Parameters
        ----------
        factors
            Names of the factors to reverse.

        Raises
        ------
        InputError
            If a factor is unknown.

        Examples
        --------
        >>> import dtstat as dt
        >>> fit = dt.fit(dt.load_dataset("holzinger_swineford_9"))
        >>> fit.reflect(["F1"]).loadings["F1"].lt(0).sum().item()
        3
        """
        before = self.signs or (1,) * self.n_factors
        flips = turned(factors, self.factor_names)
        after = tuple(-s if flip else s for s, flip in zip(before, flips, strict=True))
        return replace(self, signs=after if -1 in after else ())

    def suggest_names(self) -> dict[str, str]:
        """Words that the items of a factor share, as a hint for ``rename``; English only.

        A word counts once per item, and only if the items of every other factor share it less. A
        factor whose items share none is left out. Words are not meanings: read the items.

        Raises
        ------
        InputError
            If no texts of items are known.
        """
        if not self.item_texts:
            raise InputError(
                "The texts of the items are not known. Give them with fit(data, labels={'item': "
                "'its question', ...}), or read a file that has them.",
                "labels",
            )
        structure = Structure(self.support, self.item_names, self.factor_names)
        return suggest_names(structure, self.item_texts)

    @property
    def structure(self) -> Structure:
        """Which items are children of which factors, and which of them load negatively."""
        negative = self.support & (self.responses.loadings < 0)
        return Structure(self.support, self.item_names, self.factor_names, negative)
