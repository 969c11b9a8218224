"""Factor models that R fits: exploratory by psych's ``fa``, confirmatory by lavaan's ``cfa``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dtstat.core import checks
from dtstat.core.errors import InputError, nearest
from dtstat.data.items import as_items
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.fit.result import DTFit
from dtstat.interop.r import session
from dtstat.interop.r.session import r_options, warn
from dtstat.interop.r.values import read_frame, read_matrix, read_vector, write
from dtstat.sem.call import SEMCall
from dtstat.sem.result import CFAFit
from dtstat.structure.structure import Structure, read_legend

# A solution of psych::fa in a fixed order. The names of its measures are those of dtstat.efa.
_FACTORS = """
function(x) {
  number <- function(v, k = 1) if (is.null(v) || length(v) < k) NA_real_ else as.numeric(v[[k]])
  word <- function(v) if (is.character(v) && length(v) == 1) v else ""
  L <- unclass(x$loadings)
  if (is.null(rownames(L))) rownames(L) <- paste0("x", seq_len(nrow(L)))
  Phi <- if (is.null(x$Phi)) diag(ncol(L)) else unclass(x$Phi)
  u <- if (is.null(x$uniquenesses)) 1 - rowSums((L %*% Phi) * L) else x$uniquenesses
  measures <- c(
    df = number(x$dof), df_null = number(x$null.dof), objective = number(x$objective),
    objective_null = number(x$null.model), chi_square = number(x$STATISTIC),
    p_value = number(x$PVAL), chi_square_null = number(x$null.chisq),
    empirical_chi_square = number(x$chi), empirical_p_value = number(x$EPVAL),
    rmsr = number(x$rms), rmsr_corrected = number(x$crms),
    fit_off_diagonal = number(x$fit.off), tli = number(x$TLI), rmsea = number(x$RMSEA),
    rmsea_low = number(x$RMSEA, 2), rmsea_high = number(x$RMSEA, 3), bic = number(x$BIC)
  )
  list(matrix(as.numeric(L), nrow(L), dimnames = dimnames(L)), unname(Phi), as.numeric(u),
       number(x$n.obs), word(x$fm), word(x$rotation), measures)
}
"""
_FA = "function(r, nfactors, ...) psych::fa(r, nfactors = nfactors, ...)"
_PARAMETERS = """
function(fit) {
  table <- lavaan::parameterEstimates(fit, standardized = TRUE)
  attributes(table) <- attributes(table)[c("names", "class", "row.names")]
  class(table) <- "data.frame"
  table
}
"""
_CFA = """
function(model, ..., parameters) {
  fit <- lavaan::cfa(model, ...)
  converged <- lavaan::lavInspect(fit, "converged")
  measures <- if (converged) lavaan::fitMeasures(fit) else numeric()
  list(parameters(fit), lavaan::lavInspect(fit, "ntotal"), converged,
       setNames(as.numeric(measures), names(measures)),
       unclass(lavaan::lavInspect(fit, "cor.lv")))
}
"""
_NAMING_COLUMNS = ("ordered", "cluster", "sampling.weights")  # options whose values are columns


@dataclass(frozen=True, eq=False, repr=False)
class RFactors:
    """An exploratory factor solution that R computed (psych's ``fa`` and its kin).

    Attributes
    ----------
    loadings
        Items by factors: the pattern matrix.
    factor_correlations
        Factors by factors.
    uniquenesses
        Share of each item's variance that the factors do not explain.
    n_obs
        Number of rows; None if unknown.
    method, rotation
        How factors were extracted and rotated, as R calls it; empty if it does not say.
    fit_measures
        Fit indices under the names of :func:`dtstat.efa`; NaN where R has none.
    warnings
        What R warned of.
    """

    loadings: pd.DataFrame
    factor_correlations: pd.DataFrame
    uniquenesses: pd.Series[float]
    n_obs: int | None
    method: str
    rotation: str
    fit_measures: dict[str, float]
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        p, d = self.loadings.shape
        how = ", ".join(word for word in (self.method, self.rotation) if word)
        return f"RFactors: {d} factor{'' if d == 1 else 's'}, {p} items ({how})"


def read_factors(value: Any, notes: Iterable[str] = ()) -> RFactors:
    """Read what psych's ``fa`` or ``principal``, or R's ``factanal``, returned."""
    L, Phi, u, n, method, rotation, measures = session.value(_FACTORS, value)
    loadings = read_matrix(L)
    factors = [str(name) for name in loadings.columns]
    loadings.columns = pd.Index(factors)
    correlations = pd.DataFrame(read_matrix(Phi).to_numpy(), index=factors, columns=factors)
    shares = pd.Series(read_vector(u).to_numpy(), index=loadings.index, name="uniqueness")
    n_obs = None if np.isnan(n[0]) else int(n[0])
    found = {str(name): float(number) for name, number in read_vector(measures).items()}
    return RFactors(
        loadings, correlations, shares, n_obs, str(method[0]), str(rotation[0]), found, tuple(notes)
    )


def psych_fa(data: Any, n_factors: int, **options: Any) -> RFactors:
    """Fit an exploratory factor model with R's ``psych::fa``.

    Parameters
    ----------
    data
        Answers as in :func:`dtstat.efa`, or a DependenceMatrix.
    n_factors
        Number of factors.
    options
        More arguments of ``psych::fa``, such as ``rotate="varimax"``, ``fm="ml"``; R's dots are
        written as underscores (``n_obs``).

    Raises
    ------
    InputError
        If the data cannot be used, or psych is not installed in R.
    EstimationError
        If R stops, with its message.

    Warns
    -----
    EstimationWarning
        Of what R warns.
    """
    wanted = checks.integer("n_factors", n_factors, 1, "It is the number of factors to extract.")
    session.require_package("psych")
    named = r_options(options)
    if named.get("rotate", "oblimin") in ("oblimin", "quartimin", "simplimax"):
        session.require_package("GPArotation")
    if isinstance(data, DependenceMatrix):
        given: Any = data
        if data.n_obs is not None:
            named.setdefault("n.obs", data.n_obs)
    else:
        given = as_items(data).to_frame().reset_index(drop=True)
    arguments = {name: write(option) for name, option in named.items()}
    fit, notes = session.call(_FA, write(given), write(wanted), doing="psych::fa", **arguments)
    warn(notes, "psych::fa")
    return read_factors(fit, notes)


@dataclass(frozen=True, eq=False, repr=False)
class RModel:
    """A confirmatory factor model that lavaan fitted.

    Attributes
    ----------
    parameters
        One row per parameter, as lavaan's ``parameterEstimates(standardized = TRUE)``.
    loadings
        Items by factors: standardized loadings, 0 where the model has none.
    factor_correlations
        Factors by factors.
    uniquenesses
        Share of each item's variance that the factors do not explain.
    fit_measures
        Fit measures by lavaan's names; empty if it did not converge.
    n_obs
        Rows used.
    converged
        Whether lavaan's search ended well.
    warnings
        What lavaan warned of.
    """

    parameters: pd.DataFrame
    loadings: pd.DataFrame
    factor_correlations: pd.DataFrame
    uniquenesses: pd.Series[float]
    fit_measures: dict[str, float]
    n_obs: int
    converged: bool
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        p, d = self.loadings.shape
        state = "" if self.converged else ", not converged"
        return (
            f"RModel: {d} factor{'' if d == 1 else 's'}, {p} items, {self.n_obs} rows, by "
            f"lavaan{state}"
        )


def read_parameters(value: Any) -> pd.DataFrame:
    """Read the parameter table of a lavaan fit."""
    return read_frame(session.value(_PARAMETERS, value))


def lavaan_cfa(model: str | Structure | DTFit | CFAFit, data: Any, **options: Any) -> RModel:
    """Fit a confirmatory factor model with R's ``lavaan::cfa``.

    Parameters
    ----------
    model
        Text in lavaan's syntax; a Structure, or a fit with one, whose names may be any; or what
        :func:`dtstat.cfa` returned, to fit the same model in the same way.
    data
        DataFrame or 2-d array of answers, or a DependenceMatrix with ``n_obs``. Columns that the
        model does not name are ignored.
    options
        More arguments of ``lavaan::cfa``, such as ``estimator="MLR"``; R's dots are written as
        underscores (``std_lv=True``).

    Raises
    ------
    InputError
        If the data cannot be used, there are several groups, or lavaan is not installed in R.
    EstimationError
        If R stops, with its message.

    Warns
    -----
    EstimationWarning
        Of what lavaan warns.
    """
    session.require_package("lavaan")
    named = (_call_options(model.call) if isinstance(model, CFAFit) else {}) | r_options(options)
    if named.get("group") is not None:
        raise InputError("`group` is not supported: fit one group at a time.", "group")
    task = _prepare(model, data, named)
    arguments = {name: write(option) for name, option in task.arguments.items()}
    parameters = session.function(_PARAMETERS)
    answer, notes = session.call(
        _CFA, write(task.text), doing="lavaan::cfa", parameters=parameters, **arguments
    )
    warn(notes, "lavaan::cfa")
    return _read_model(answer, task, notes)


class _Task(NamedTuple):
    """What lavaan gets, the names its own names stand for, and the items of the result."""

    text: str
    arguments: dict[str, Any]
    back: dict[str, str]
    items: tuple[str, ...]


def _prepare(model: Any, data: Any, options: dict[str, Any]) -> _Task:
    frame = _columns(data)
    columns = [str(name) for name in frame.columns]
    named = [name for option in _NAMING_COLUMNS for name in _texts(options.get(option))]
    factors: dict[str, str] = {}
    items: tuple[str, ...] = ()
    if isinstance(model, Structure | DTFit):
        structure = model if isinstance(model, Structure) else model.structure
        # lavaan sees names of our own: not every name of an item can be written in its syntax.
        neutral = Structure(structure.support, reversed=structure.reversed)
        text, items, known = (
            neutral.to_lavaan(),
            structure.item_names,
            _neutral_names(structure, named),
        )
        factors = dict(zip(neutral.factor_names, structure.factor_names, strict=True))
    else:
        text = _text(model)
        known = _named_columns(text, named, columns)
    absent = [name for name in known.values() if name not in columns]
    if absent:
        raise InputError(
            f"Item '{absent[0]}' of the model is not in the data. {nearest(absent[0], columns)}",
            "data",
        )
    arguments = _rename_columns(options, known) | _sample(data, frame, columns, known)
    return _Task(text, arguments, known | factors, items)


def _text(model: Any) -> str:
    text = model.call.model if isinstance(model, CFAFit) else model
    if isinstance(text, str):
        return text
    raise InputError(
        "`model` must be text in lavaan's syntax, a Structure, a DTFit or a CFAFit; got "
        f"{type(model).__name__}.",
        "model",
    )


def _columns(data: Any) -> pd.DataFrame:
    if isinstance(data, pd.DataFrame):
        return data
    return data.to_frame() if isinstance(data, DependenceMatrix) else as_items(data).to_frame()


def _texts(option: Any) -> list[str]:
    if isinstance(option, str):
        return [option]
    return [str(name) for name in option] if isinstance(option, list | tuple) else []


def _neutral_names(structure: Structure, named: list[str]) -> dict[str, str]:
    """Names of our own for the items with a factor, and for other columns that options name."""
    neutral = Structure(structure.support)
    pairs = zip(neutral.item_names, structure.item_names, strict=True)
    known = {ours: item for ours, item in pairs if ours not in neutral.uncovered}
    others = [name for name in dict.fromkeys(named) if name not in known.values()]
    return known | {f"other{k}": name for k, name in enumerate(others)}


def _named_columns(text: str, named: list[str], columns: list[str]) -> dict[str, str]:
    """Columns that the model or an option names, under the names R makes of them."""
    words = set(re.findall(r"[\w.]+", text))
    in_r = session.value("function(x) make.names(x)", write(columns))
    known = {name: column for name, column in read_legend(text).items() if column in columns}
    for column, spelling in zip(columns, map(str, in_r), strict=True):
        name = column if column in words else spelling
        if column not in known.values() and (name in words or column in named):
            known[name] = column
    return known


def _rename_columns(options: dict[str, Any], known: dict[str, str]) -> dict[str, Any]:
    """Options with columns under the names that lavaan knows them by."""
    names = {column: name for name, column in known.items()}
    renamed = {
        option: [names.get(name, name) for name in _texts(options[option])]
        for option in _NAMING_COLUMNS
        if _texts(options.get(option))
    }
    return options | renamed


def _sample(
    data: Any, frame: pd.DataFrame, columns: list[str], known: dict[str, str]
) -> dict[str, Any]:
    positions = [columns.index(name) for name in known.values()]
    if not isinstance(data, DependenceMatrix):
        chosen = frame.iloc[:, positions].reset_index(drop=True)
        return {"data": chosen.set_axis(list(known), axis=1)}
    if data.n_obs is None:
        raise InputError("lavaan needs the number of rows: give the matrix its `n_obs`.", "data")
    part = DependenceMatrix(
        data.values[np.ix_(positions, positions)], tuple(known), data.measure, data.n_obs
    )
    return {"sample.cov": part, "sample.nobs": data.n_obs}


def _call_options(call: SEMCall) -> dict[str, Any]:
    """Arguments of lavaan that mean what :func:`dtstat.cfa` was asked for."""
    if call.group is not None or call.effect_coding:
        raise InputError(
            "A fit with groups or effect coding cannot be handed to lavaan. Give the model text "
            "and lavaan's own arguments instead.",
            "model",
        )
    wished: dict[str, Any] = {
        "estimator": "ML" if call.estimator == "fiml" else call.estimator.upper(),
        "std.lv": call.std_lv,
        "orthogonal": call.orthogonal,
    }
    if call.ordered:
        return wished | {
            "ordered": list(call.ordered),
            "missing": call.missing,
            "parameterization": call.parameterization,
        }
    gaps = "ml" if call.missing == "fiml" else "listwise"
    return wished | {"missing": gaps, "meanstructure": call.mean_structure}


def _read_model(answer: Any, task: _Task, notes: list[str]) -> RModel:
    table, n, converged, measures, phi = answer
    parameters = read_frame(table)
    for column in ("lhs", "rhs"):
        parameters[column] = [task.back.get(name, name) for name in parameters[column]]
    rows = parameters[parameters["op"] == "=~"]
    rows = rows[~rows["rhs"].isin(rows["lhs"])]  # factors measured by factors are left out
    factors = list(dict.fromkeys(rows["lhs"]))
    items = task.items or tuple(dict.fromkeys(rows["rhs"]))
    loadings = pd.DataFrame(0.0, index=list(items), columns=factors)
    for factor, item, loading in zip(rows["lhs"], rows["rhs"], rows["std.all"], strict=True):
        loadings.loc[item, factor] = loading
    own = parameters[(parameters["op"] == "~~") & (parameters["lhs"] == parameters["rhs"])]
    shares = own.set_index("lhs")["std.all"].reindex(list(dict.fromkeys(rows["rhs"])))
    correlations = read_matrix(phi).rename(index=task.back, columns=task.back)
    return RModel(
        parameters,
        loadings,
        correlations,
        shares.rename("uniqueness").rename_axis(None),
        {str(name): float(value) for name, value in read_vector(measures).items()},
        int(n[0]),
        bool(converged[0]),
        tuple(notes),
    )
