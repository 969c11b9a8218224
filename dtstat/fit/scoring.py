"""What a fit says of people: scores by several methods, draws of factors, reliability of sums."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import FloatArray
from dtstat.core.checks import Seed
from dtstat.core.errors import EstimationError, InputError
from dtstat.core.parallel import one_thread
from dtstat.core.reliability import cronbach_alpha
from dtstat.data.frame import Frame, rows_by_content
from dtstat.data.items import ItemData, rows_to_score, with_scores
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.factors.reliability import (
    Reliability,
    reliability,
    reliability_of_matrix,
    reliability_of_rows,
)
from dtstat.fit.record import FitRecord, Lines, Reflected

SCORE_METHODS = ("regression", "bartlett", "eap", "sum")
_FEWEST_ROWS = 3  # that an error of measurement is computed from


class ScoredFit(FitRecord):
    """A fit with what it says of people."""

    @one_thread()
    def factor_scores(
        self, data: Any, method: str = "regression", sd: bool = False
    ) -> pd.DataFrame:
        """Estimate everybody's position on every factor.

        Answers become normal scores by the margins of the data that were fitted (with a fit to a
        matrix: by their own), so that any increasing transformation of an item is the same item.
        With curves: means of the factors given the answers, by simulation.

        Parameters
        ----------
        data
            Rows to score: DataFrame with the items among its columns, array, or file.
        method
            "regression": the best linear prediction of the factors; "bartlett": unbiased given the
            factors, with more scatter, NaN where items do not tell factors apart; "eap": the mean
            of the factors given the answers, which for ratings is not linear in them (for other
            items it is the regression score); "sum": the sum of the items of a factor, negative
            ones turned round within the range of answers, in the units of the answers; where
            answers are missing, the mean of the others stands in for them.
        sd
            Whether to add columns ``<factor>_sd``, which say how far to trust a score: standard
            deviations of the factors given the answers for "regression" and "eap", standard
            errors for "bartlett"; for "sum" the standard error of measurement, s √(1 − alpha) in
            the rows given. Of ratings with high loadings those of "regression" and "bartlett" are
            too small, of yes/no items by up to a third; those of "eap" are not.

        Returns
        -------
        DataFrame
            Rows of the data, with their index, by factors. Missing answers are left out of a row's
            score.

        Raises
        ------
        InputError
            If an item is not in the data, the method is unknown, or the fit has curves and the
            method is another than "regression" or "eap", which are the same then.
        """
        checks.flag("sd", sd, "True adds columns.")
        name = checks.choice("method", method, SCORE_METHODS)
        index, X = rows_to_score(data, self.item_names)
        scores, errors = score_rows(self, X, name)
        frame = pd.DataFrame(scores, index=index, columns=list(self.factor_names))
        return frame.assign(**{f"{f}_sd": errors[:, k] for k, f in enumerate(frame)} if sd else {})

    @one_thread()
    def plausible_values(self, data: Any, draws: int = 5, seed: Seed = None) -> pd.DataFrame:
        """Draw everybody's position on every factor from what the answers leave open.

        Unlike scores, draws vary and correlate as the factors do. Analyze each draw, then average:
        the variance between draws tells what the answers leave open (Rubin 1987). Regressions on
        covariates need no draws, and draws that do not know the covariates would bias them: use
        :func:`dtstat.regress`.

        Parameters
        ----------
        data
            Rows, as in :meth:`factor_scores`.
        draws
            How many.
        seed
            Whole number, to repeat the draws.

        Returns
        -------
        DataFrame
            One row per draw and row of the data: ``draw`` (from 1), then the factors; the index is
            that of the data, once per draw. Drawn from the normal distribution with the mean and
            covariances of "eap". NaN for rows without answers.

        Raises
        ------
        InputError
            If the fit has curves.
        """
        count = checks.integer("draws", draws, 1, "5 to 20 are usual.")
        rng = np.random.default_rng(checks.seed_number(seed))
        index, X = rows_to_score(data, self.item_names)
        checks.size("draws", draws, (count, *X.shape))
        return draw_values(self, X, index, count, rng)

    @one_thread()
    def reliability(self, data: Any = None) -> Reliability:
        """Alpha and omega of each factor's items with intervals, and what each item does for it.

        As :func:`dtstat.reliability`, with the factors of this fit as scales; items with negative
        loadings are turned round.

        Parameters
        ----------
        data
            The answers; those that were fitted if omitted. A fit that was loaded from a file, or
            fitted to a matrix, has none: what its correlations say of standardized items is given
            then, without intervals; of polychoric correlations "ordinal" values only.
        """
        if data is not None:
            return reliability(data, self.structure)
        answers = None if self.source is None else self.source.answers
        if answers is None:
            latent = self.reported.latent
            return reliability_of_matrix(
                DependenceMatrix.from_matrix(latent.R, self.n_obs, latent.measure, self.item_names),
                self.structure,
            )
        levels = (None,) * len(self.item_names)
        items = ItemData(answers.values, self.item_names, answers.kinds, levels)
        return reliability_of_rows(items, self.structure)

    @one_thread()
    def augment(self, data: Any) -> pd.DataFrame:
        """Return the data with one column of scores for each factor, named ``<factor>_score``."""
        return with_scores(data, self.factor_scores(data))


def score_rows(fit: FitRecord, X: FloatArray, method: str) -> tuple[FloatArray, FloatArray]:
    """(n, d) scores of answers, and their standard errors."""
    if method == "sum":
        return sum_scores(fit, X)
    if fit.has_curves:
        if method == "bartlett":
            raise InputError(
                "Items of this fit have response curves, for which there are no Bartlett scores. "
                "Use method='eap'.",
                "method",
            )
        return fit.responses.scores(X)
    return cast(Lines | Reflected, fit.responses).scores(X, method)


def sum_scores(fit: FitRecord, X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(n, d) sums of the items of each factor, and the standard error of measurement.

    An item with a negative loading counts as least plus largest answer, less the answer. Missing
    answers count as the mean of those to the other items. The error is s √(1 − α), with s the
    standard deviation of the sums and α of the rows given; NaN for fewer than three rows.
    """
    n, d = len(X), fit.n_factors
    scores, errors = np.full((n, d), np.nan), np.full((n, d), np.nan)
    structure = fit.structure
    low, high = _ranges(fit, X)
    for k in range(d):
        own = np.flatnonzero(structure.support[:, k])
        turned = structure.reversed[own, k]
        part = np.where(turned, (low + high)[own] - X[:, own], X[:, own])
        seen = ~np.isnan(part)
        count = seen.sum(axis=1)
        total = np.where(seen, part, 0.0).sum(axis=1)
        answered = count > 0
        scores[answered, k] = total[answered] / count[answered] * len(own)
        S = pd.DataFrame(part).cov().to_numpy()
        if n >= _FEWEST_ROWS and np.isfinite(S).all() and S.sum() > 0:
            errors[answered, k] = np.sqrt(S.sum() * max(1 - cronbach_alpha(S), 0.0))
    return scores, errors


def _ranges(fit: FitRecord, X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Least and largest answers to the items: of the rows fitted, or of those given."""
    if fit.marginals is None or fit.call.estimator == "linear":
        source = None if fit.source is None or fit.source.answers is None else fit.source.answers
        known = X if source is None else source.values
        blank = np.isnan(known).all(axis=0)
        filled = np.where(blank, 0.0, known)
        return np.nanmin(filled, axis=0), np.nanmax(filled, axis=0)
    answers = fit.marginals.answers
    return np.array([a[0] for a in answers]), np.array([a[-1] for a in answers])


def draw_values(
    fit: FitRecord, X: FloatArray, index: pd.Index, count: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Draw plausible values; see :meth:`dtstat.DTFit.plausible_values`."""
    if fit.has_curves:
        raise InputError(
            "Items of this fit have response curves, for which plausible values are not offered. "
            "Fit with estimator='copula'."
        )
    mean, V = cast(Lines | Reflected, fit.responses).posterior(X)
    frame = Frame.of_scores(mean)
    mean = frame.answers(mean)
    V = (V * np.outer(frame.signs, frame.signs))[:, frame.order][:, :, frame.order]
    root = np.full_like(V, np.nan)
    known = ~np.isnan(mean).any(axis=1)
    try:
        root[known] = np.linalg.cholesky((V[known] + V[known].transpose(0, 2, 1)) / 2)
    except np.linalg.LinAlgError:
        raise EstimationError(
            "Plausible values need factors that can be told apart; the correlation matrix of these "
            "is not positive definite. Fit fewer factors with n_factors=, or use factor_scores()."
        ) from None
    # Each row and factor meets the same noise in every order.
    rows = np.argsort(rows_by_content(X))
    frames = []
    for k in range(count):
        noise = rng.standard_normal(mean.shape)[rows]
        drawn = frame.columns_as_given(mean + np.einsum("nij,nj->ni", root, noise))
        table = pd.DataFrame(drawn, index=index, columns=list(fit.factor_names))
        table.insert(0, "draw", k + 1, allow_duplicates=True)
        frames.append(table)
    return pd.concat(frames)
