"""The numbers of a fitted structural equation model as data frames.

The pictures of exploratory and confirmatory factor models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dtstat.core.arrays import FloatArray
from dtstat.core.canvas import DrawFunction
from dtstat.core.loading_table import table_order
from dtstat.core.plots import (
    draw_diagram,
    draw_loadings,
    residual_map,
)
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.model import Model, Parameter
from dtstat.sem.solution import standardized, standardized_table
from dtstat.structure.structure import Structure, legend, r_names

if TYPE_CHECKING:
    from dtstat.sem.result import CFAFit


_QUANTILE = 1.959963984540054  # of the normal distribution, for intervals of 95 %


def parameter_frame(estimate: SEMEstimate) -> pd.DataFrame:
    """Every parameter, free or fixed, raw and standardised."""
    rows = estimate.model.parameters
    lv, all_ = standardized(estimate)
    return _names_frame(rows).assign(
        label=[row.label for row in rows],
        est=estimate.estimates,
        **_inference(estimate.estimates, estimate.standard_errors),
        **{"std.lv": lv, "std.all": all_},
    )


def standardized_frame(estimate: SEMEstimate) -> pd.DataFrame:
    """Every parameter with all variables standardised, with its own standard error."""
    values, se = standardized_table(estimate)
    frame = _names_frame(estimate.model.parameters)
    return frame.assign(**{"est.std": values}, **_inference(values, se))


def _names_frame(rows: Sequence[Parameter]) -> pd.DataFrame:
    names = [(row.lhs, row.op, row.rhs) for row in rows]
    return pd.DataFrame(names, columns=["lhs", "op", "rhs"])


def _inference(estimates: FloatArray, se: FloatArray) -> dict[str, FloatArray]:
    """Wald z and p value (NaN without standard error), and the 95 % interval."""
    from scipy.special import ndtr

    z = np.divide(estimates, se, out=np.full(len(se), np.nan), where=se > 0)
    return {
        "se": se,
        "z": z,
        "pvalue": 2 * ndtr(-np.abs(z)),
        "ci.lower": estimates - _QUANTILE * se,
        "ci.upper": estimates + _QUANTILE * se,
    }


def explained(model: Model) -> tuple[str, ...]:
    """Variables that something in the model explains: observed ones first, then latent."""
    targets = {row.rhs for row in model.parameters if row.op == "=~"}
    targets |= {row.lhs for row in model.parameters if row.op == "~"}
    return tuple(name for name in (*model.observed, *model.latent) if name in targets)


def residual_shares(estimate: SEMEstimate) -> pd.Series[float]:
    """Unexplained share of the variance of every variable, by name."""
    _, all_ = standardized(estimate)
    return pd.Series(
        {
            row.lhs: float(value)
            for row, value in zip(estimate.model.parameters, all_, strict=True)
            if row.op == "~~" and row.lhs == row.rhs
        },
        dtype=float,
    )


def loading_frame(estimate: SEMEstimate) -> pd.DataFrame:
    """Items by factors, std.all, 0 where there is none; factors measured by factors left out."""
    model = estimate.model
    _, all_ = standardized(estimate)
    places = {
        (row.rhs, row.lhs): float(value)
        for row, value in zip(model.parameters, all_, strict=True)
        if row.op == "=~" and row.rhs in model.observed
    }
    items = [name for name in model.observed if any(item == name for item, _ in places)]
    factors = [name for name in model.latent if any(factor == name for _, factor in places)]
    values = [[places.get((item, factor), 0.0) for factor in factors] for item in items]
    return pd.DataFrame(values, index=items, columns=factors, dtype=float)


def factor_correlation_frame(estimate: SEMEstimate) -> pd.DataFrame:
    """Implied correlations of the latent variables: of (I − B)⁻¹ Ψ (I − B)⁻ᵀ."""
    M = estimate.layout.matrices(estimate.theta)
    K = np.linalg.inv(np.eye(len(M.Beta)) - M.Beta)
    d = len(estimate.model.latent)
    return square_frame(correlation(np.asarray(K @ M.Psi @ K.T)[:d, :d]), estimate.model.latent)


def correlation(covariance: FloatArray) -> FloatArray:
    """Correlations of a covariance matrix; NaN where a variance is not positive."""
    variance = np.diag(covariance)
    sd = np.sqrt(np.where(variance > 0, variance, np.nan))
    scaled: FloatArray = covariance / np.outer(sd, sd)
    return scaled


def square_frame(values: FloatArray, names: Sequence[str]) -> pd.DataFrame:
    """Matrix with the same names on both sides."""
    return pd.DataFrame(values, index=list(names), columns=list(names))


def measurement_structure(estimate: SEMEstimate) -> Structure:
    """Which items measure which factors, and which of them load negatively."""
    loadings = loading_frame(estimate).to_numpy()
    model = estimate.model
    keys: dict[str, list[str]] = {}
    for row in model.parameters:
        if row.op == "=~" and row.rhs in model.observed:
            keys.setdefault(row.lhs, []).append(row.rhs)
    measured = {item for items in keys.values() for item in items}
    plain = Structure.from_keys(keys, [name for name in model.observed if name in measured])
    negative = plain.support & (loadings < 0)
    return Structure(plain.support, plain.item_names, plain.factor_names, negative)


def measurement_text(model: Model) -> str:
    """Measurement part in lavaan syntax: loadings, and variances of factors that are fixed."""
    labels = {row.free: row.label for row in model.parameters if row.free and row.label}
    known = (*model.observed, *model.latent)
    names = dict(zip(known, r_names(known), strict=True))
    lines: dict[str, list[str]] = {}
    for row in model.parameters:
        if row.op == "=~":
            terms = lines.setdefault(row.lhs, [])
            terms.append(_term(row, names[row.rhs], labels.get(row.free, ""), first=not terms))
    loadings = [f"{names[factor]} =~ {' + '.join(terms)}" for factor, terms in lines.items()]
    variances = [
        f"{names[row.lhs]} ~~ {_value(row)}*{names[row.lhs]}"
        for row in model.parameters
        if row.op == "~~" and row.lhs == row.rhs and row.lhs in model.latent and not row.free
    ]
    said = legend({spelling: name for name, spelling in names.items()})
    return "\n".join([*said, *loadings, *variances])


def _term(row: Parameter, name: str, label: str, first: bool) -> str:
    if label:
        return f"{label}*{name}"
    if row.free:
        return f"NA*{name}" if first else name
    return name if first and row.value == 1 else f"{_value(row)}*{name}"


def _value(row: Parameter) -> str:
    return repr(row.value).removesuffix(".0")


def draw_residuals(model: CFAFit, ax: Any) -> Any:
    """Draw residual correlations, items by factor."""
    residuals, loadings = model.residuals(), model.loadings
    rest = [name for name in residuals.index if name not in loadings.index]
    by_factor = [*(str(loadings.index[i]) for i in table_order(loadings)), *rest]
    support = (loadings != 0).reindex(by_factor, fill_value=False).to_numpy(dtype=bool)
    return residual_map(residuals.loc[by_factor, by_factor], support, ax)


CFA_KINDS: dict[str, DrawFunction] = {
    "diagram": draw_diagram,
    "loadings": draw_loadings,
    "residuals": draw_residuals,
}
