"""Regress factors on covariates, outcomes on factors, factors on factors.

formula ─► design ─► measurement model of the rows ─► covariances ─► coefficients ─► result
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dtstat.core.parallel import one_thread
from dtstat.data.containers import as_frame
from dtstat.data.frame import rows_by_content
from dtstat.data.items import ItemData, rows_to_score
from dtstat.dependence.influence import most_rows
from dtstat.regression.formula import Design, check_design, read_formula
from dtstat.regression.latent import Projection, project
from dtstat.regression.measurement import (
    Measurement,
    as_fit,
    influence_on_model,
    measure_rows,
)
from dtstat.regression.moments import Observed, numeric_covariances, rating_covariances

if TYPE_CHECKING:
    from dtstat.regression.result import LatentRegression

_SEED = 0  # which rows errors are computed from, if there are very many


def regress(formula: str, fit: Any, data: Any) -> LatentRegression:
    """Regress factors on covariates, outcomes on factors, or factors on factors.

    The factors themselves take part, not scores: coefficients are free of the bias that scores
    have as predictors, and standard errors contain that of the loadings. Factors have mean 0 and
    variance 1 in the rows used. The measurement model is that of the fit, estimated
    from the rows used; with the rows that were fitted it is the reported one.

    Parameters
    ----------
    formula
        As in statsmodels: ``"F1 ~ age + C(gender) + F2"``, ``"np.log(wage) ~ F1 + F2 + age"``,
        with interactions of observed covariates (``age * C(gender)``). A factor is named by itself;
        products of factors are refused. Names that are not valid in Python go into ``Q("...")``.
    fit
        A result of :func:`dtstat.fit`; or a structure: a :class:`dtstat.Structure`, a dict of keys,
        lavaan syntax.
    data
        DataFrame or file with the items and what else the formula names; the rows that were fitted,
        or others.

    Returns
    -------
    LatentRegression
        As of statsmodels: ``summary()``, ``params``, ``bse``, ``tvalues``, ``pvalues``,
        ``conf_int()``, ``cov_params()``, ``t_test()``, ``wald_test()``, ``nobs``, ``rsquared``.

    Raises
    ------
    InputError
        If the formula cannot be read, multiplies factors, or names what is not there; if the fit
        has curves.
    EstimationError
        If the model of the factors cannot be estimated from the rows.
    MissingExtraError
        If statsmodels is not installed (the extra ``regression``).

    Notes
    -----
    Rows without the outcome or a covariate are left out, and counted in the result; missing answers
    to items are not a reason to leave a row out. Comparing groups, as by ``F1 ~ C(group)``, takes
    for granted that items measure the same in each: :func:`dtstat.invariance` tests that. Each
    rating is assumed to reflect a latent variable that is normal given the covariates.

    References
    ----------
    Rosseel, Y. & Loh, W. W. (2022). A structural after measurement approach to structural equation
    modeling. Psychological Methods 29, 561-588.

    Examples
    --------
    >>> import dtstat as dt
    >>> data = dt.load_dataset("holzinger_swineford_9")
    >>> fit = dt.fit(data, n_factors=3)
    >>> found = dt.regress("F1 ~ F2 + F3", fit, data)
    >>> found.params.round(2).to_dict()
    {'Intercept': 0.0, 'F2': 0.38, 'F3': 0.35}
    """
    found = as_fit(fit, data)
    frame = data.to_frame() if isinstance(data, ItemData) else as_frame(data)
    _, answers = rows_to_score(frame, found.item_names)
    gaps = np.isnan(answers)
    lacking = gaps.any(axis=1) if found.call.missing == "listwise" else gaps.all(axis=1)
    with one_thread():
        names = found.factor_names, found.item_names
        design = read_formula(formula, frame, *names, np.asarray(~lacking))
        check_design(design)
        model = measure_rows(found, answers[design.kept])
        projection = _estimate(design, model)
    from dtstat.regression.result import LatentRegression

    return LatentRegression.of(design, projection, len(answers), model.is_reported)


def _estimate(design: Design, model: Measurement) -> Projection:
    """Step 2, in units of standard deviations, and back in those of the columns."""
    n, p = model.values.shape
    m = most_rows(n, p, model.measure)
    part = np.arange(n)
    if m < n:
        part = rows_by_content(model.values)[np.random.default_rng(_SEED).permutation(n)[:m]]
    columns = design.W if design.y is None else np.column_stack([design.W, design.y])
    scale = columns.std(axis=0)
    columns = columns / scale
    center = columns - columns.mean(axis=0)
    q = design.W.shape[1]
    observed = Observed(center[:, :q], None if design.y is None else center[:, q])
    items = []
    for x, name, numeric in zip(model.values.T, model.names, model.numeric, strict=True):
        found = (
            numeric_covariances(x, observed) if numeric else rating_covariances(x, observed, name)
        )
        items.append(replace(found, influence=found.influence[part]))
    moved = influence_on_model(model, part)
    made = project(design, model.estimate, moved, items, columns, part)
    unit = 1.0 if design.y is None else float(scale[q])
    back = np.full(len(design.names) + 1, unit)
    back[1:][[k < 0 for k in design.factors]] /= scale[:q]
    return Projection(
        made.params * back,
        made.covariance * np.outer(back, back),
        made.variance * unit**2,
        made.residual_variance * unit**2,
    )
