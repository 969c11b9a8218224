"""A formula with factors among its names: what is latent, what is observed, and the rows used.

Formulas are those of statsmodels (patsy). The name of a factor stands for the latent variable, so
it can only be a term by itself: nobody has seen a value to square, to log or to multiply.
"""

from __future__ import annotations

import tokenize
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd

from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.errors import InputError, MissingExtraError, nearest, shown

_INTERCEPT = "Intercept"
_FEWEST = 30  # rows
_SINGULAR = 1e-8  # least eigenvalue of correlations of predictors that differ
_EXAMPLE = 'Write one such as "F1 ~ age + C(gender) + F2", or "wage ~ F1 + age".'


@dataclass(frozen=True, eq=False)
class Design:
    """A regression read off a formula.

    Attributes
    ----------
    formula
        As it was written.
    outcome
        Name of the outcome.
    y
        (n,) the observed outcome; None if it is a factor.
    names
        Names of the predictors, factors included, in the order of the formula, without intercept.
    factors
        Of each predictor the number of the factor that it is, or −1.
    outcome_factor
        Number of the factor that is the outcome, or −1.
    W
        (n, q) the observed predictors, in the order of ``names``.
    kept
        Rows of the data that have the outcome and all predictors.
    """

    formula: str
    outcome: str
    y: FloatArray | None
    names: tuple[str, ...]
    factors: tuple[int, ...]
    outcome_factor: int
    W: FloatArray
    kept: BoolArray


def read_formula(
    formula: object,
    frame: pd.DataFrame,
    factor_names: Sequence[str],
    item_names: Sequence[str],
    usable: BoolArray,
) -> Design:
    """Evaluate a formula in a table.

    Parameters
    ----------
    formula
        The text.
    frame
        Rows with the covariates among their columns.
    factor_names, item_names
        Names that mean factors, and those of the items that measure them.
    usable
        Rows that have answers.

    Raises
    ------
    InputError
        If the formula cannot be read or evaluated, or does with a factor what cannot be done.
    MissingExtraError
        If statsmodels is not installed.
    """
    try:
        import patsy
        import statsmodels.api  # noqa: F401  # what the result is made of
    except ImportError as error:
        raise MissingExtraError("regress()", "statsmodels", "regression") from error
    if not isinstance(formula, str) or formula.count("~") != 1:
        raise InputError(
            f"`formula` must be one formula; got {shown(formula)}. {_EXAMPLE}", "formula"
        )
    try:
        described = patsy.ModelDesc.from_formula(formula)
    except Exception as error:  # patsy's own, and what Python says to code that is none
        raise _unreadable(formula, error, ()) from None
    outcome = described.lhs_termlist
    if len(outcome) != 1 or not outcome[0].factors:
        raise InputError(
            f"`formula` must have one outcome; got {shown(formula)}. {_EXAMPLE}", "formula"
        )
    if patsy.INTERCEPT not in described.rhs_termlist:
        raise InputError(
            f"`formula` must have an intercept, because the only natural zero of a factor is its "
            f"mean; got {shown(formula)}. Leave out '- 1' or '+ 0'.",
            "formula",
        )
    if len(described.rhs_termlist) == 1:
        raise InputError(
            f"`formula` has no predictors; got {shown(formula)}. {_EXAMPLE}", "formula"
        )
    known = [name for name in factor_names if _mentions(formula, name)]
    _check_names(formula, known, frame, factor_names, item_names)
    for term in (*outcome, *described.rhs_termlist):
        _refuse_products(term, known)
    # A factor is a column of ones here: patsy needs some numbers, and nobody looks at them.
    table = _plain(frame).assign(**{name: 1.0 for name in known})[usable]
    table.index = pd.RangeIndex(len(table))
    try:
        action = patsy.NAAction(NA_types=["None", "NaN"])
        names = patsy.EvalEnvironment([{"np": np}])  # what expressions may use besides columns
        left, right = patsy.dmatrices(
            described, table, names, NA_action=action, return_type="dataframe"
        )
    except Exception as error:  # of patsy, pandas, numpy or the user's own expressions
        raise _unreadable(formula, error, (*factor_names, *frame.columns)) from None
    return _as_design(formula, left, right, factor_names, usable)


def _check_names(
    formula: str,
    known: Sequence[str],
    frame: pd.DataFrame,
    factor_names: Sequence[str],
    item_names: Sequence[str],
) -> None:
    """Refuse a formula without factors, with items, or with a name of two meanings."""
    taken = next((name for name in known if name in frame.columns), None)
    if taken is not None:
        raise InputError(
            f"'{taken}' is a factor of the fit and a column of the data. Rename one of them.",
            "data",
        )
    item = next((name for name in item_names if _mentions(formula, name)), None)
    if item is not None:
        raise InputError(
            f"`formula` names '{item}', an item that measures factors; its measurement error would "
            "enter both sides of the equation. Name its factor, or fit without the item.",
            "formula",
        )
    if not known:
        some = ", ".join(factor_names[:5]) + (", ..." if len(factor_names) > 5 else "")
        raise InputError(
            f"`formula` must name a factor of the fit ({some}); got {shown(formula)}. Without "
            "factors use statsmodels itself.",
            "formula",
        )


def check_design(design: Design) -> None:
    """Refuse too few rows, predictors that do not vary, and outcomes that are no numbers."""
    n = int(design.kept.sum())
    needed = max(_FEWEST, 2 * (len(design.names) + 1))
    if n < needed:
        raise InputError(
            f"{n} rows have the outcome and all predictors; at least {needed} are needed, because "
            "the standard errors are those of large samples.",
            "data",
        )
    if not design.names:
        raise InputError(f"The predictors of {shown(design.formula)} do not vary.", "formula")
    observed = [name for name, k in zip(design.names, design.factors, strict=True) if k < 0]
    for name, column in zip(observed, design.W.T, strict=True):
        if not np.isfinite(column).all() or np.ptp(column) == 0:
            what = "one value only" if np.isfinite(column).all() else "infinite values"
            raise InputError(f"The predictor '{name}' has {what} in the rows used.", "formula")
    center = design.W - design.W.mean(axis=0)
    refuse_dependent(center.T @ center, observed)
    if design.y is None:
        return
    if not np.isfinite(design.y).all():
        raise InputError(f"The outcome '{design.outcome}' has infinite values.", "formula")
    if len(np.unique(design.y)) < 3:
        raise _no_number(design.outcome, "fewer than three values")


def refuse_dependent(V: FloatArray, names: Sequence[str]) -> None:
    """Refuse predictors, with covariances V, of which one follows from those before it."""
    scale = np.sqrt(np.outer(V.diagonal(), V.diagonal()))
    for k in range(1, len(V)):
        if np.linalg.eigvalsh((V / scale)[: k + 1, : k + 1])[0] < _SINGULAR:
            raise InputError(
                f"The predictor '{names[k]}' is determined by the predictors before it, or "
                "correlates too highly with them. Leave one of them out.",
                "formula",
            )


def _no_number(outcome: str, what: str) -> InputError:
    return InputError(
        f"The outcome '{outcome}' has {what}, and regress() is linear. For yes/no and ordered "
        "outcomes use sem(data, model, ordered=[...]).",
        "formula",
    )


def _as_design(
    formula: str,
    left: pd.DataFrame,
    right: pd.DataFrame,
    factor_names: Sequence[str],
    usable: BoolArray,
) -> Design:
    """Sort the columns that patsy made into latent and observed ones."""
    if left.shape[1] != 1:
        raise _no_number(left.columns[0].split("[")[0], "categories")
    numbers = {spelled: k for k, name in enumerate(factor_names) for spelled in _spellings(name)}
    predictors = right.drop(columns=_INTERCEPT)
    outcome_factor = numbers.get(left.columns[0], -1)
    factors = tuple(numbers.get(name, -1) for name in predictors.columns)
    if outcome_factor in factors and outcome_factor >= 0:
        raise InputError(f"'{left.columns[0]}' is on both sides of the formula.", "formula")
    names = tuple(
        factor_names[k] if k >= 0 else name
        for k, name in zip(factors, predictors.columns, strict=True)
    )
    kept = usable.copy()
    kept[np.flatnonzero(usable)] = np.isin(np.arange(usable.sum()), right.index)
    observed = [k < 0 for k in factors]
    y = None if outcome_factor >= 0 else left.iloc[:, 0].to_numpy(np.float64)
    outcome = factor_names[outcome_factor] if outcome_factor >= 0 else str(left.columns[0])
    W = predictors.loc[:, observed].to_numpy(np.float64)
    return Design(formula, outcome, y, names, factors, outcome_factor, W, kept)


def _spellings(name: str) -> tuple[str, ...]:
    return name, f"Q('{name}')", f'Q("{name}")'


def _mentions(formula: str, name: str) -> bool:
    """Whether a formula has a name as a word of its own, or quoted."""
    if any(quoted in formula for quoted in _spellings(name)[1:]):
        return True
    try:
        tokens = tokenize.generate_tokens(StringIO(formula).readline)
        # An item may be called "~" or "1", which mean something else here.
        return any(t.string == name and t.type == tokenize.NAME for t in tokens)
    except (tokenize.TokenError, SyntaxError):
        return False


def _refuse_products(term: Any, known: Sequence[str]) -> None:
    """Refuse a term that does more with a factor than name it."""
    codes = [part.code for part in term.factors]
    for name in known:
        if len(codes) == 1 and codes[0] in _spellings(name):
            return
        if any(_mentions(code, name) for code in codes):
            raise InputError(
                f"The term '{term.name()}' transforms the factor '{name}' or multiplies it, which "
                "cannot be estimated from factor covariances. Name the factor by itself; "
                "interactions of observed covariates are fine. To let effects differ between "
                "groups use sem(data, model, group=...).",
                "formula",
            )


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns as patsy knows them: plain numbers, and texts as objects."""
    frame = frame.rename(columns=str)
    kinds = dict(frame.dtypes)
    texts = {name: object for name, kind in kinds.items() if isinstance(kind, pd.StringDtype)}
    numbers = {
        name: np.float64
        for name, kind in kinds.items()
        if pd.api.types.is_numeric_dtype(kind) and not isinstance(kind, np.dtype)
    }
    return frame.astype({**texts, **numbers})


def _unreadable(formula: str, error: Exception, names: Sequence[Any]) -> InputError:
    why = str(error).splitlines()[0] if str(error) else type(error).__name__
    missing = why.split("'")[1] if "is not defined" in why and "'" in why else None
    if missing is not None:
        return InputError(
            f"`formula` names '{missing}', which is neither a column of the data nor a factor. "
            + nearest(missing, map(str, names)),
            "formula",
        )
    return InputError(f"The formula {shown(formula)} cannot be used: {why}. {_EXAMPLE}", "formula")
