"""What a fitted model says: parameters, standardized solution, loadings, modification indices.

``std.lv`` scales the latent variables to variance 1, ``std.all`` the observed ones too. Residual
covariances become correlations of the residuals; variances become shares of the total variance.
Standard errors of the standardized solution are by the delta method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pandas as pd

from dtstat.core.arrays import FloatArray
from dtstat.core.errors import EstimationError
from dtstat.sem.constraints import Constraints, evaluate_definitions
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.least_squares import least_squares_slope
from dtstat.sem.matrices import Layout
from dtstat.sem.normal import expected_information, objective
from dtstat.sem.parameters import Model, Parameter, place_of
from dtstat.structure.structure import Structure, legend, plain_structure, r_names

_QUANTILE = 1.959963984540054  # of the normal distribution, for intervals of 95 %
_FLAT = 1e-8  # share of a candidate's information that must not be explained by the model's


def parameter_frame(estimate: SEMEstimate) -> pd.DataFrame:
    """Every parameter, free or fixed, then the defined ones; raw and standardized."""
    defined, errors = estimate.defined
    values = np.concatenate([estimate.estimates, defined])
    labels = [row.label for row in estimate.model.parameters]
    lv, all_ = standardize(estimate)
    return pd.DataFrame(
        {
            **_names(estimate.model),
            "label": [*labels, *(relation.left for relation in estimate.model.definitions)],
            "est": values,
            **_inference(values, np.concatenate([estimate.standard_errors, errors])),
            "std.lv": lv,
            "std.all": all_,
        }
    )


def standardized_frame(estimate: SEMEstimate) -> pd.DataFrame:
    """Every parameter with all variables standardized, with its own standard error."""
    values, se = standardized_table(estimate)
    return pd.DataFrame({**_names(estimate.model), "est.std": values, **_inference(values, se)})


def _names(model: Model) -> dict[str, list[str]]:
    """Columns that say which parameter a row is about."""
    names = [row.key for row in model.parameters]
    names += [(one.left, ":=", " ".join(one.right.split())) for one in model.definitions]
    columns = {name: [key[k] for key in names] for k, name in enumerate(("lhs", "op", "rhs"))}
    if model.groups:
        groups = [model.groups[row.group - 1] for row in model.parameters]
        columns["group"] = groups + [""] * len(model.definitions)
    return columns


def by_group(
    estimate: SEMEstimate, table: Callable[[SEMEstimate], pd.DataFrame | pd.Series[float]]
) -> Any:
    """Tabulate each group; with several groups their names become the outer rows."""
    if not estimate.model.groups:
        return table(estimate)
    tables = dict(zip(estimate.model.groups, map(table, estimate.views), strict=True))
    return pd.concat(tables, names=["group"])


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


def loading_frame(estimate: SEMEstimate) -> pd.DataFrame:
    """Items by factors, std.all, 0 where there is none; factors measured by factors left out."""
    model = estimate.model
    _, all_ = standardize(estimate)
    places = {
        (row.rhs, row.lhs): float(value)
        for row, value in zip(model.parameters, all_, strict=False)  # then come defined ones
        if row.op == "=~" and row.rhs in model.observed
    }
    items = [name for name in model.observed if any(item == name for item, _ in places)]
    factors = [name for name in model.latent if any(factor == name for _, factor in places)]
    values = [[places.get((item, factor), 0.0) for factor in factors] for item in items]
    return pd.DataFrame(values, index=items, columns=factors, dtype=float)


def factor_correlation_frame(estimate: SEMEstimate) -> pd.DataFrame:
    """Implied correlations of the latent variables: of (I − B)⁻¹ Ψ (I − B)⁻ᵀ."""
    M = estimate.layout.matrices(estimate.theta)
    d = len(estimate.model.latent)
    return square_frame(correlation(M.eta_covariance[:d, :d]), estimate.model.latent)


def correlation(covariance: FloatArray) -> FloatArray:
    """Correlations of a covariance matrix; NaN where a variance is not positive."""
    variance = np.diag(covariance)
    sd = np.sqrt(np.where(variance > 0, variance, np.nan))
    scaled: FloatArray = covariance / np.outer(sd, sd)
    return scaled


def square_frame(values: FloatArray, names: Sequence[str]) -> pd.DataFrame:
    """Matrix with the same names on both sides."""
    return pd.DataFrame(values, index=list(names), columns=list(names))


def residual_shares(estimate: SEMEstimate) -> pd.Series[float]:
    """Unexplained share of the variance of every variable, by name."""
    _, all_ = standardize(estimate)
    return pd.Series(
        {
            row.lhs: float(value)
            for row, value in zip(estimate.model.parameters, all_, strict=False)
            if row.is_variance
        },
        dtype=float,
    )


def explained_variables(model: Model) -> tuple[str, ...]:
    """Variables that something in the model explains: observed ones first, then latent."""
    targets = {row.rhs for row in model.parameters if row.op == "=~"}
    targets |= {row.lhs for row in model.parameters if row.op == "~"}
    return tuple(name for name in (*model.observed, *model.latent) if name in targets)


def measurement_structure(estimate: SEMEstimate) -> Structure:
    """Which items measure which factors, and which of them load negatively."""
    estimate = estimate.views[0]
    loadings = loading_frame(estimate).to_numpy()
    model = estimate.model
    keys: dict[str, list[str]] = {}
    for row in model.parameters:
        if row.op == "=~" and row.rhs in model.observed:
            keys.setdefault(row.lhs, []).append(row.rhs)
    measured = {item for items in keys.values() for item in items}
    plain = plain_structure(keys, [name for name in model.observed if name in measured])
    negative = plain.support & (loadings < 0)
    return Structure(plain.support, plain.item_names, plain.factor_names, negative)


def measurement_text(model: Model) -> str:
    """Measurement part in lavaan syntax: loadings, and variances of factors that are fixed."""
    model = model.blocks[0]
    labels = {
        row.free: row.label
        for row in model.parameters
        if row.free and row.label and not row.label.startswith(".p")
    }
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
        if row.is_variance and row.lhs in model.latent and not row.free
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


def standardize(estimate: SEMEstimate) -> tuple[FloatArray, FloatArray]:
    """(rows,) std.lv and std.all of every parameter, then of the defined ones."""
    blocks = [
        (view.estimates, scales(view.layout, estimate.theta), view.model.parameters)
        for view in estimate.views
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        lv, all_ = (
            np.concatenate([rescale(rows, values, by, whole) for values, by, rows in blocks])
            for whole in (False, True)
        )
    lv, all_ = _in_table_order(estimate.model, lv), _in_table_order(estimate.model, all_)
    if not estimate.model.definitions:
        return lv, all_
    return (
        np.append(lv, evaluate_definitions(estimate.model, lv)),
        np.append(all_, evaluate_definitions(estimate.model, all_)),
    )


def _in_table_order(model: Model, values: FloatArray) -> FloatArray:
    """Return values of the groups, one group after the other, in the order of the table."""
    order = np.argsort([row.group for row in model.parameters], kind="stable")
    sorted_ = np.empty_like(values)
    sorted_[order] = values
    return sorted_


def standardized_table(estimate: SEMEstimate) -> tuple[FloatArray, FloatArray]:
    """(rows,) std.all and its standard errors, √diag(J V Jᵀ) with J by central differences."""
    blocks = [_standardizer(view) for view in estimate.views]

    def restandardize(theta: FloatArray) -> FloatArray:
        values = np.concatenate([block(theta) for block in blocks])
        values = _in_table_order(estimate.model, values)
        if estimate.model.definitions:
            values = np.append(values, evaluate_definitions(estimate.model, values))
        return values

    q = len(estimate.theta)
    J = np.empty((len(estimate.model.parameters) + len(estimate.model.definitions), q))
    errors = np.sqrt(np.abs(np.diag(estimate.covariance)))  # the scale of each parameter
    for k in range(q):
        step = np.zeros(q)
        step[k] = 1e-3 * errors[k] or 1e-6
        rise = restandardize(estimate.theta + step) - restandardize(estimate.theta - step)
        J[:, k] = rise / (2 * step[k])
    variance = np.einsum("rk,kl,rl->r", J, estimate.covariance, J)
    variance[variance < 1e-12] = 0.0
    return restandardize(estimate.theta), np.sqrt(variance)


def _standardizer(estimate: SEMEstimate) -> Callable[[FloatArray], FloatArray]:
    """Return the standardized parameters of one group as a function of the free ones."""
    layout, rows = estimate.layout, estimate.model.parameters
    free = np.array([row.free for row in rows])
    fixed = estimate.estimates
    ordered = estimate.model.ordered if estimate.model.parameterization == "delta" else ()
    residual = [k for k, row in enumerate(rows) if row.is_variance and row.lhs in ordered]

    def restandardize(theta: FloatArray) -> FloatArray:
        by = scales(layout, theta)
        values = np.where(free > 0, theta[np.maximum(free, 1) - 1], fixed)
        values[residual] = [by.residual[rows[k].lhs] ** 2 for k in residual]
        return rescale(rows, values, by, all_=True)

    return restandardize


@dataclass(frozen=True)
class Scales:
    """Standard deviations by variable name: total, and of the residual or disturbance."""

    latent: dict[str, float]
    observed: dict[str, float]
    residual: dict[str, float]


def scales(layout: Layout, theta: FloatArray) -> Scales:
    """Find the standard deviations that parameter values imply."""
    M = layout.matrices(theta)
    eta = _roots(np.diag(M.eta_covariance))
    names, observed = layout.model.eta, layout.model.observed
    total = _roots(np.diag(layout.implied(theta).Sigma))
    residual = dict(zip(observed, _roots(np.diag(M.Theta)), strict=True))
    residual |= dict(zip(names, _roots(np.diag(M.Psi)), strict=True))
    return Scales(
        {name: sd for name, sd in zip(names, eta, strict=True) if name in layout.model.latent},
        dict(zip(observed, total, strict=True)),
        residual,
    )


def _roots(variances: FloatArray) -> list[float]:
    """Take square roots; NaN for the negative variances of an improper solution, and for 0."""
    positive = np.where(variances > 0, variances, np.nan)
    return [float(v) for v in np.sqrt(positive)]


def rescale(rows: Sequence[Parameter], values: FloatArray, by: Scales, all_: bool) -> FloatArray:
    """Standardize the values of some rows: latent variables only, or all."""
    size = {name: 1.0 for name in by.observed} | by.latent
    if all_:
        size |= by.observed
    scaled = np.array(values, dtype=float)
    for k, row in enumerate(rows):
        if row.op == "=~":
            factor = size[row.lhs] / size[row.rhs]
        elif row.op == "~":
            factor = size[row.rhs] / size[row.lhs]
        elif row.op in ("~1", "|"):
            factor = 1.0 / size[row.lhs]
        elif row.op == "~*~":
            factor = 1.0 / scaled[k] if all_ else 1.0
        elif row.lhs == row.rhs:
            factor = 1.0 / size[row.lhs] ** 2
        else:
            factor = 1.0 / (_residual(row.lhs, by, all_) * _residual(row.rhs, by, all_))
        scaled[k] *= factor
    return scaled


def _residual(name: str, by: Scales, all_: bool) -> float:
    return by.residual[name] if all_ or name in by.latent else 1.0


def modification_indices(estimate: SEMEstimate) -> pd.DataFrame:
    """Compute the expected fall of chi-square, and change, for every parameter one could add.

    With gradient g and information I of −log L per row (or of half the least-squares distance), a
    candidate a beside the free parameters f:

        mi = n g_a² / (I_aa − I_af I_ff⁻¹ I_fa),   epc = −g_a / (I_aa − I_af I_ff⁻¹ I_fa)

    (Sörbom 1989). Candidates are what the model fixes, and what it does not have of: loadings of
    items, covariances of items and of factors, and regressions among the variables that regress
    or are regressed on. The moments of observed predictors count as free: they would be if
    something explained them.

    Returns
    -------
    DataFrame
        lhs, op, rhs, mi, epc, sepc.lv, sepc.all; largest first.
    """
    model, names = (
        estimate.model,
        ["lhs", "op", "rhs", *(["group"] if estimate.model.groups else [])],
    )
    rows = [row for g, block in enumerate(model.blocks, 1) for row in _candidates(block, g)]
    given = [row for row in model.parameters if row.exogenous]
    if model.ordered:  # all is conditional on them: nothing explains them
        rows = [row for row in rows if not (row.op == "~" and row.lhs in model.covariates)]
        given = []
    if not rows:
        return pd.DataFrame(columns=[*names, "mi", "epc", "sepc.lv", "sepc.all"])
    extended = extend_model(model, [*given, *rows])
    theta = np.concatenate([estimate.theta, [row.value or 0.0 for row in (*given, *rows)]])
    q = len(theta) - len(rows)
    slope = least_squares_slope if model.ordered else slope_and_information
    g, information = slope(estimate, extended, theta)
    space = Constraints(model).space(estimate.theta)
    free = np.zeros((q, space.shape[1] + len(given)))
    free[: len(space), : space.shape[1]] = space
    free[len(space) :, space.shape[1] :] = np.eye(len(given))
    own = _partial(information, free)
    with np.errstate(divide="ignore", invalid="ignore"):
        # chi-square counts rows less one per group if there is no likelihood
        n = estimate.n_obs - (0 if estimate.procedure.likelihood else model.n_groups)
        mi, epc = n * g[q:] ** 2 / own, -g[q:] / own
    by = [scales(view.layout, estimate.theta) for view in estimate.views]
    table = pd.DataFrame([row.key for row in rows], columns=["lhs", "op", "rhs"])
    if model.groups:
        table["group"] = [model.groups[row.group - 1] for row in rows]
    table = table.assign(mi=mi, epc=epc)
    for name, whole in (("sepc.lv", False), ("sepc.all", True)):
        table[name] = [
            rescale([row], epc[k : k + 1], by[row.group - 1], whole)[0]
            for k, row in enumerate(rows)
        ]
    return table.dropna(subset=["mi"]).sort_values("mi", ascending=False, ignore_index=True)


def slope_and_information(
    estimate: SEMEstimate, model: Model, theta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Gradient and expected information of −log L per row of another model for the same rows."""
    g, information = np.zeros(len(theta)), np.zeros((len(theta),) * 2)
    for sample, block in zip(estimate.samples, model.blocks, strict=True):
        layout, share = Layout(block, len(theta)), sample.n_obs / estimate.n_obs
        g += share * objective(sample, layout, theta)[1]
        information += share * expected_information(sample, layout, theta)
    return g, information


def _candidates(model: Model, group: int) -> list[Parameter]:
    known = {row.key for row in model.parameters}
    known |= {(row.rhs, row.op, row.lhs) for row in model.parameters if row.op == "~~"}
    new = [
        Parameter(*key, 0, 0.0, user=False, group=group)
        for key in _possible(model)
        if key not in known
    ]
    fixed = [row for row in model.parameters if not row.free and not row.exogenous]
    return [*new, *(row for row in fixed if not model.follows(row))]


def _possible(model: Model) -> list[tuple[str, str, str]]:
    """List loadings, covariances and regressions that variables of these roles may have."""
    given = {row.lhs for row in model.parameters if row.exogenous}
    related = dict.fromkeys(row.lhs for row in model.parameters if row.op == "~")
    related |= dict.fromkeys(row.rhs for row in model.parameters if row.op == "~")
    loaded = {row.rhs for row in model.parameters if row.op == "=~"}
    items = [name for name in model.observed if name in loaded]
    measurable = [name for name in model.observed if name not in given and name not in related]
    found = [(factor, "=~", item) for factor in model.latent for item in measurable]
    found += [(a, "~~", b) for a, b in combinations(items, 2)]
    found += [(a, "~~", b) for a, b in combinations(model.latent, 2)]
    # an item's regression on a factor is its loading
    found += [
        (y, "~", x) for y, x in permutations(related, 2) if not (y in items and x in model.latent)
    ]
    return found


def extend_model(model: Model, rows: list[Parameter]) -> Model:
    """Free the candidates, numbered after the model's own parameters."""
    eta = model.eta
    if set(eta) & set(model.observed):  # any residual may covary with that of an item that is an η
        eta = (*model.latent, *model.observed)
    kept = [row for row in model.parameters if row not in rows]
    freed = [replace(row, free=model.n_free + k) for k, row in enumerate(rows, start=1)]
    places = tuple(place_of(row, eta, model.observed) for row in (*kept, *freed))
    return replace(model, parameters=(*kept, *freed), eta=eta, places=places)


def _partial(information: FloatArray, free: FloatArray) -> FloatArray:
    """Information of each candidate that the free parameters do not already carry.

    ``free`` (q, r) are the directions in which the first q parameters can move.
    """
    q = len(free)
    if free.shape[1] == q:
        known, cross = information[:q, :q], information[:q, q:]
    else:
        known, cross = free.T @ information[:q, :q] @ free, free.T @ information[:q, q:]
    try:
        explained = np.einsum("fa,fa->a", cross, np.linalg.solve(known, cross))
    except np.linalg.LinAlgError:
        raise EstimationError(
            "The information matrix is singular, so there are no modification indices: parameters "
            "of this model have no values of their own. Fit the model again, or simplify it."
        ) from None
    own = np.diag(information)[q:]
    left: FloatArray = np.where(own - explained > _FLAT * own, own - explained, np.nan)
    return left


def orient(estimate: SEMEstimate, structure: Structure) -> SEMEstimate:
    """Let factors without a marker point where the structure says.

    A factor and its mirror image fit equally well: with its variance fixed at 1 nothing but the
    start of the search decides on its sign. It is reversed, with the signs of its loadings and of
    its covariances with others, if its loadings, relative to the standard deviations of the items,
    disagree with the structure.
    """
    apart = [_disagreements(view, structure) for view in estimate.views]
    pooled = {name for name in estimate.model.latent if sum(one[name] for one in apart) < 0}
    to_reverse = [{name for name, total in one.items() if total < 0} for one in apart]
    s = reversal_signs(estimate, to_reverse)
    if s is None:  # groups share parameters of factors that would point apart
        s = reversal_signs(estimate, [pooled] * len(apart))
    assert s is not None
    covariance = estimate.covariance * np.outer(s, s)
    return replace(estimate, theta=s * estimate.theta, covariance=covariance)


def _disagreements(estimate: SEMEstimate, structure: Structure) -> dict[str, float]:
    """Sum the loadings of each factor in the directions of the structure; negative is wrong."""
    model = estimate.model
    signs = {
        (factor, item): -1.0 if structure.reversed[i, k] else 1.0
        for k, factor in enumerate(model.latent)
        for i, item in enumerate(structure.item_names)
    }
    sd = dict(zip(model.observed, np.sqrt(np.diag(estimate.S)), strict=True))
    agreement = dict.fromkeys(model.latent, 0.0)
    for row, value in zip(model.parameters, estimate.estimates, strict=True):
        if row.op == "=~":
            agreement[row.lhs] += signs[row.lhs, row.rhs] * float(value) / sd[row.rhs]
    return agreement


def reversal_signs(estimate: SEMEstimate, to_reverse: Sequence[set[str]]) -> FloatArray | None:
    """Signs of the free parameters after some factors are reversed; None if they contradict."""
    s = np.zeros(len(estimate.theta))
    for row in estimate.model.parameters:
        if row.free:
            turned = to_reverse[row.group - 1]
            sign = -1.0 if (row.lhs in turned) != (row.rhs in turned) else 1.0
            if s[row.free - 1] not in (0.0, sign):
                return None
            s[row.free - 1] = sign
    return s
