"""Dependence thresholding as a scikit-learn estimator, for pipelines and grid searches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import dtstat
from dtstat.core.arrays import FloatArray
from dtstat.core.errors import MissingExtraError
from dtstat.dependence.compute import Missing, PairFunction
from dtstat.factors.scores import row_log_likelihoods
from dtstat.fit.request import Estimator, FitRequest, Misfit, Preset, Search, Uncovered

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from dtstat.core.checks import Seed, Thresholds
    from dtstat.factors.scores import Marginals
    from dtstat.fit.result import DTFit
    from dtstat.structure.structure import Structure


try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ModuleNotFoundError as error:
    # A broken installation of the package is another matter and must show as itself.
    if error.name != "sklearn":
        raise
    raise MissingExtraError(
        "The scikit-learn estimator", "scikit-learn", "sklearn", "Or use dtstat.fit."
    ) from error

_LARGEST_SEED = 2**31 - 1


class DependenceThresholding(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Find the factors behind the columns; ``transform`` gives everybody's factor scores.

    How many factors there are is found unless ``n_factors`` says so; if none is found,
    ``transform`` returns a table without columns. NaN means a missing answer.

    Parameters
    ----------
    n_factors
        Number of factors; None to let the data decide. A grid search over it compares numbers of
        factors by the likelihood of rows that were not fitted, which likes more of them than there
        are: a factor too many costs hardly any prediction.
    measure, search, thresholds, estimator, criterion, min_children, uncovered, refine
        As in :func:`dtstat.fit`.
    missing, misfit, structure, finalists, preset, n_jobs
        As in :func:`dtstat.fit`.
    random_state
        The ``seed`` of :func:`dtstat.fit`: a whole number, a RandomState, a Generator, or None.
        It matters to criteria that hold out rows and to estimators of curves.

    Attributes
    ----------
    fit_ : DTFit
        All that :func:`dtstat.fit` returns: summary, fit measures, what else was possible.
    structure_ : Structure
        Which items are in which factors.
    loadings_ : ndarray, shape (p, d)
        Standardized loadings, 0 where there is none.
    factor_correlations_ : ndarray, shape (d, d)
        Correlations of the factors.
    n_factors_ : int
        Number of factors d.
    n_features_in_ : int
        Number of items p.
    feature_names_in_ : ndarray, shape (p,)
        Names of the items, if ``X`` had names that are all strings.

    Examples
    --------
    >>> import dtstat as dt
    >>> from dtstat.interop.sklearn import DependenceThresholding
    >>> model = DependenceThresholding().set_output(transform="pandas")
    >>> answers = dt.load_dataset("holzinger_swineford_9")
    >>> model.fit_transform(answers).round(2).head(2)
         F1    F2    F3
    0 -1.07 -0.15  0.15
    1  0.08 -0.97  1.08
    """

    def __init__(
        self,
        n_factors: int | None = FitRequest.n_factors,
        measure: str | PairFunction = FitRequest.measure,
        search: Search = FitRequest.search,
        thresholds: Thresholds = FitRequest.thresholds,
        estimator: Estimator = FitRequest.estimator,
        criterion: str = FitRequest.criterion,
        min_children: int = FitRequest.min_children,
        uncovered: Uncovered = FitRequest.uncovered,
        refine: bool = FitRequest.refine,
        missing: Missing = FitRequest.missing,
        misfit: Misfit = FitRequest.misfit,
        structure: Structure | None = None,
        finalists: int | None = FitRequest.finalists,
        preset: Preset | None = FitRequest.preset,
        random_state: Seed | np.random.RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_factors = n_factors
        self.measure = measure
        self.search = search
        self.thresholds = thresholds
        self.estimator = estimator
        self.criterion = criterion
        self.min_children = min_children
        self.uncovered = uncovered
        self.refine = refine
        self.missing = missing
        self.misfit = misfit
        self.structure = structure
        self.finalists = finalists
        self.preset = preset
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: object = None) -> Self:
        """Find the factors behind the columns of ``X``.

        Parameters
        ----------
        X
            (n, p) answers, people in rows, NaN where missing.
        y
            Not used; scikit-learn passes it.

        Raises
        ------
        ValueError
            If the data or an argument cannot be used.
        """
        values = self._answers(X, fitting=True)
        names = getattr(self, "feature_names_in_", None)
        options = self.get_params(deep=False)
        seed = options.pop("random_state")
        if isinstance(seed, np.random.RandomState):
            seed = int(seed.randint(_LARGEST_SEED))
        data = values if names is None else pd.DataFrame(values, columns=names)
        self.fit_: DTFit = dtstat.fit(data, seed=seed, **options)
        self.structure_: Structure = self.fit_.structure
        self.loadings_: FloatArray = self.fit_.loadings.to_numpy()
        self.factor_correlations_: FloatArray = self.fit_.factor_correlations.to_numpy()
        self.n_factors_: int = self.fit_.n_factors
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return (n, d) factor scores; a row without any answer has NaN."""
        check_is_fitted(self)
        scores: FloatArray = self.fit_.factor_scores(self._fitted_items(X)).to_numpy()
        return scores

    def score(self, X: Any, y: object = None) -> float:
        """Return the mean log-likelihood of rows as normal scores; larger is better.

        Margins are those of the data that were fitted; with curves it is the likelihood of the
        answers themselves. Compare scores of models that were fitted to the same rows with the
        same ``estimator``, as a grid search does.
        """
        check_is_fitted(self)
        if self.fit_.nonlinear is not None:
            return float(self.fit_.nonlinear.log_likelihoods(self._fitted_items(X)).rows.mean())
        margins = cast("Marginals", self.fit_.marginals)  # only a fit to a matrix has none
        Z = margins.normal_scores(self._fitted_items(X))
        return float(row_log_likelihoods(self.fit_.estimate, Z).mean())

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the names of the factors, F1, F2, ...; names of the items play no part."""
        check_is_fitted(self)
        return np.array(self.fit_.factor_names, dtype=object)

    def _fitted_items(self, X: Any) -> FloatArray:
        """(n, k) answers to the items of the fit: with ``structure`` some columns may be others."""
        values = self._answers(X)
        known = getattr(self, "feature_names_in_", [f"x{k + 1}" for k in range(values.shape[1])])
        places = {str(name): k for k, name in enumerate(known)}
        chosen: FloatArray = values[:, [places[name] for name in self.fit_.item_names]]
        return chosen

    def _answers(self, X: Any, fitting: bool = False) -> FloatArray:
        """(n, p) numbers, checked as scikit-learn checks them."""
        with np.errstate(over="ignore", invalid="ignore"):  # it sums answers, huge ones too
            values: FloatArray = validate_data(
                self,
                X,
                reset=fitting,
                dtype=np.float64,
                ensure_all_finite="allow-nan",
                ensure_min_samples=2 if fitting else 1,
                ensure_min_features=2 if fitting else 1,
            )
        return values

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
