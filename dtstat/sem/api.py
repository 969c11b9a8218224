"""What users call: ``cfa``, ``sem`` and ``growth``; :mod:`dtstat.sem.fitting` does the work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from inspect import signature
from typing import Any

from dtstat.core.parallel import Progress
from dtstat.dependence.api import Data
from dtstat.sem.fitting import fit_model
from dtstat.sem.result import CFAFit
from dtstat.structure.syntax import Given


def cfa(
    data: Data,
    model: Given,
    estimator: str = "ml",
    missing: str = "listwise",
    ordered: bool | Iterable[str] | None = None,
    std_lv: bool = False,
    orthogonal: bool = False,
    mean_structure: bool | None = None,
    n_obs: int | Mapping[str, int] | Sequence[int] | None = None,
    means: Any = None,
    group: str | None = None,
    group_equal: Iterable[str] | str | None = None,
    group_partial: Iterable[str] | str | None = None,
    effect_coding: bool | Iterable[str] = False,
    information: str | None = None,
    se: str | None = None,
    test: str | None = None,
    sampling_weights: str | None = None,
    sampling_weights_normalization: str = "total",
    cluster: str | None = None,
    fixed_x: bool = True,
    group_label: Iterable[str] | None = None,
    rotation: str = "geomin",
    auxiliary: Iterable[str] | None = None,
    parameterization: str = "delta",
    method: str = "joint",
    bounds: str = "none",
    progress: Progress = None,
) -> CFAFit:
    """Fit a confirmatory factor model, or any structural equation model.

    The model is completed as lavaan's ``cfa`` does: residual variances, correlated factors, and
    the first loading of every factor fixed at 1.

    Parameters
    ----------
    data
        DataFrame, 2-d array, path of a file, or ItemData; columns the model does not name are
        ignored. For estimator "ml" a covariance matrix with ``n_obs`` (and ``means``) serves as
        well, a dict or list of them for several groups, and for models that do not depend on the
        scales of the items a DependenceMatrix of Pearson correlations.
    model
        Text in lavaan's syntax, in which columns may have the names that R makes of theirs; or a
        Structure, a result of :func:`dtstat.fit`, or a scoring key (dict from factor to items):
        every factor measured by its children, oriented like its first non-reversed item.
    estimator
        "ml": maximum likelihood; "mlr": the same estimates with standard errors and tests that
        do not need normal answers, from the scores of the rows; "mlm", "mlmv", "mlmvs": from the
        fourth moments, with tests adjusted in mean, mean and variance (shifted), and mean and
        variance (other degrees of freedom); "mlf": standard errors from first derivatives;
        "fiml": as ``missing="fiml"``; "gls", "wls", "uls" (and "ulsm", "ulsmv", "ulsmvs"): least
        squares of covariances. For ordered items, from their polychoric correlations: "wlsmv" (the
        default with ``ordered``): diagonally weighted least squares with robust standard errors
        and a test adjusted in mean and variance; "wlsm": the same with a test adjusted in mean;
        "ulsmv", "ulsm": the same without weights; "dwls", "uls": estimates as wlsmv and ulsmv, with
        standard errors and a test that would be valid only if the weights were correct, which they
        are not; "wls": full weights, for thousands of rows. Case is ignored.
    missing
        "listwise": complete rows only; "fiml": all rows, by the likelihood of what each
        observes (answers missing at random); "fiml.x": also rows without some observed
        predictors, whose moments are then those of the saturated model; "pairwise": for ordered
        items, every threshold from the rows that have the item and every correlation from those
        that have both (answers missing completely at random).
    ordered
        Items to take as ordered, or True for all that are not mere predictors; makes the estimator
        "wlsmv". Such an item is a normal variable that thresholds cut (``x1 | t1 + t2``). Columns
        that the model does not name may be among them. By default items whose columns are ordered
        categoricals (in R ``ordered()``), if ``estimator`` and ``missing`` are the default ones;
        False takes their levels as numbers 0, 1, 2, ....
    std_lv
        Whether to fix the variances of the factors at 1 instead of their first loadings.
    orthogonal
        Whether factors, and what regressions leave of them, are uncorrelated.
    mean_structure
        Whether to estimate intercepts; by default only when rows have missing values, with groups,
        or with ordered items.
    n_obs
        Number of rows behind a covariance matrix; of each group if there are several.
    means
        Means that go with a covariance matrix, by item or in its order; of each group if there
        are several.
    group
        Column that says which group a row belongs to; the model is fitted in all groups at once.
        The first group is the one of the first row.
    group_equal
        Parameters that are equal in all groups, some of "loadings", "intercepts", "means",
        "thresholds", "regressions", "residuals", "residual_covariances", "lv_variances",
        "lv_covariances". With equal intercepts the means of factors are free from the second group
        on; with equal loadings and ``std_lv`` so are their variances.
    group_partial
        Exceptions: parameters left free, such as "visual =~ x2" or "x3 ~ 1".
    effect_coding
        Whether loadings average 1 and intercepts 0 in each factor, instead of a marker item; or
        one of "loadings", "intercepts".
    information
        "expected", "observed" or "first.order", on which standard errors of ml estimators rest; by
        default what the estimator says.
    se
        Standard errors: "standard", "robust.sem" (ml with those of mlm), "robust.huber.white" (of
        mlr), or "none"; by default what the estimator says.
    test
        Test reported first: "standard", "satorra.bentler", "yuan.bentler.mplus",
        "scaled.shifted" or "mean.var.adjusted"; by default what the estimator says.
    sampling_weights
        Column of sampling weights; standard errors and tests are then those of mlr. Thresholds
        and correlations of ordered items are weighted, too, with wlsmv, wlsm, ulsmv or ulsm.
    sampling_weights_normalization
        What weights add up to: "total", the number of rows; "group", that of each group; "none",
        what they add up to as they are.
    cluster
        Column that says with which cluster (school, household) a row was drawn. Standard errors
        and tests are then those of mlr, with scores added up by cluster, and means are modeled;
        of ordered items, those of wlsmv, wlsm, ulsmv or ulsm.
    fixed_x
        Whether observed predictors are given; False models their moments too, so that with
        ``missing="fiml"`` rows without some of them are kept.
    group_label
        Names of the groups in the order to take them; others are left out.
    rotation
        How the factors of exploratory blocks, ``efa("b")*f1 + efa("b")*f2 =~ ...``, are rotated:
        "geomin", "oblimin" (or "quartimin", the same), or "varimax".
    auxiliary
        Columns that help to say which answers are missing, with ``missing="fiml"``: they covary
        with all observed variables (or what the model leaves of them) and with one another, in the
        model and in the baseline, so that they add nothing to chi-square (Graham 2003).
    parameterization
        What gives the variables behind ordered items their scale: "delta" (variance 1, or scales
        ``x1 ~*~ x1``) or "theta" (residual variance 1).
    method
        "joint": all at once; "sam": structural after measurement (local SAM, Rosseel & Loh 2022),
        where each factor is measured by its own items first, so that misfit of one part of the
        model does not spread to the others.
    bounds
        "pos.var": no free variance may become negative; "pos.ov.var" and "pos.lv.var" say so of
        observed and of latent variables only. Single parameters are bounded in the model, by
        ``lower(0)*`` and ``upper(1)*``. At a bound the test and standard errors are only rough.
    progress
        True for a bar, or a function of (done, total).

    Returns
    -------
    CFAFit

    Raises
    ------
    InputError
        If the data or the model cannot be used.
    EstimationError
        If the model is not identified, cannot be fitted to these data, or does not converge.

    Warns
    -----
    EstimationWarning
        If the solution is improper (negative variances, correlations beyond 1), or a factor has
        one item.

    Notes
    -----
    Cost: some ten steps of Fisher scoring, O(p³ + p² q) each for p items and q parameters; with
    "fiml" O(m q²) more for each pattern of m gaps.

    Examples
    --------
    >>> import dtstat as dt
    >>> model = "textual =~ x4 + x5 + x6; speed =~ x7 + x8 + x9"
    >>> fit = dt.cfa(dt.load_dataset("holzinger_swineford_9"), model)
    >>> fit
    CFAFit: 2 factors, 6 items, 301 rows, ml; chisq(8) = 14.354, CFI 0.990, RMSEA 0.051
    >>> fit.loadings.round(2)["speed"].tolist()
    [0.0, 0.0, 0.0, 0.62, 0.77, 0.59]
    """
    return fit_model(False, **locals())


def sem(*args: Any, **kwargs: Any) -> CFAFit:
    """Fit a structural equation model: the same function as :func:`dtstat.cfa`.

    Examples
    --------
    >>> import dtstat as dt
    >>> model = "ind60 =~ x1 + x2 + x3; dem60 =~ y1 + y2 + y3 + y4; dem60 ~ ind60"
    >>> fit = dt.sem(dt.load_dataset("political_democracy"), model)
    >>> round(float(fit.r_squared["dem60"]), 3)
    0.212
    """
    return cfa(*args, **kwargs)


def growth(*args: Any, **kwargs: Any) -> CFAFit:
    """Fit a growth curve model, completed as lavaan's ``growth`` does.

    Arguments are those of :func:`dtstat.cfa`. Means are modeled: those of factors are free and the
    intercepts of observed outcomes 0.

    Examples
    --------
    >>> import dtstat as dt
    >>> data = dt.load_dataset("political_democracy")[["y1", "y5"]].set_axis(["t1", "t2"], axis=1)
    >>> fit = dt.growth(data, "level =~ 1*t1 + 1*t2; t1 ~~ e*t1; t2 ~~ e*t2")
    >>> round(float(fit.parameters.set_index(["lhs", "op"]).loc[("level", "~1"), "est"]), 2)
    5.3
    """
    given = _ARGUMENTS.bind(*args, **kwargs)
    given.apply_defaults()
    return fit_model(True, **given.arguments)


_ARGUMENTS = signature(cfa)
for _function in (sem, growth):
    _function.__signature__ = _ARGUMENTS  # type: ignore[attr-defined]
