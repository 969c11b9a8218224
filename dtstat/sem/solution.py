"""Standardised solutions, with standard errors by the delta method.

``std.lv`` scales the latent variables to variance 1, ``std.all`` the observed ones too. Residual
covariances become correlations of the residuals; variances become shares of the total variance.

Modification indices: what freeing a parameter would gain, without refitting.

Which way factors point: a factor and its mirror image fit equally well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations

import numpy as np
import pandas as pd

from dtstat.core.arrays import FloatArray
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.matrices import Layout
from dtstat.sem.model import Model, Parameter, place_of
from dtstat.sem.normal import Sample, complete_sample, expected_information, objective
from dtstat.structure.structure import Structure


@dataclass(frozen=True)
class Scales:
    """Standard deviations by variable name: total, and of the residual or disturbance."""

    latent: dict[str, float]
    observed: dict[str, float]
    residual: dict[str, float]


def scales(layout: Layout, theta: FloatArray) -> Scales:
    """Find the standard deviations that parameter values imply."""
    M = layout.matrices(theta)
    K = np.linalg.inv(np.eye(len(M.Beta)) - M.Beta)
    eta = _roots(np.diag(K @ M.Psi @ K.T))
    variance, unique = np.diag(layout.implied(theta).Sigma).copy(), np.diag(M.Theta).copy()
    names, observed = layout.model.eta, layout.model.observed
    ordered = [name in ordered_items(layout.model) for name in observed]
    # the variable behind an ordered item has variance 1: what the factors leave is its residual
    unique[ordered] = 1.0 - (variance - unique)[ordered]
    variance[ordered] = 1.0
    total = _roots(variance)
    residual = dict(zip(observed, _roots(unique), strict=True))
    residual |= dict(zip(names, _roots(np.diag(M.Psi)), strict=True))
    return Scales(
        {name: sd for name, sd in zip(names, eta, strict=True) if name in layout.model.latent},
        dict(zip(observed, total, strict=True)),
        residual,
    )


def ordered_items(model: Model) -> frozenset[str]:
    """Names of the items that have thresholds."""
    return frozenset(row.lhs for row in model.parameters if row.op == "|")


def _roots(variances: FloatArray) -> list[float]:
    """Take square roots; NaN for the negative variances of an improper solution, and for 0."""
    positive = np.where(variances > 0, variances, np.nan)
    return [float(v) for v in np.sqrt(positive)]


def rescale(rows: Sequence[Parameter], values: FloatArray, by: Scales, all_: bool) -> FloatArray:
    """Standardise the values of some rows: latent variables only, or all."""
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
        elif row.lhs == row.rhs:
            factor = 1.0 / size[row.lhs] ** 2
        else:
            factor = 1.0 / (_residual(row.lhs, by, all_) * _residual(row.rhs, by, all_))
        scaled[k] *= factor
    return scaled


def _residual(name: str, by: Scales, all_: bool) -> float:
    return by.residual[name] if all_ or name in by.latent else 1.0


def standardized(estimate: SEMEstimate) -> tuple[FloatArray, FloatArray]:
    """(rows,) std.lv and std.all of every row of the parameter table."""
    layout, rows = estimate.layout, estimate.model.parameters
    by = scales(layout, estimate.theta)
    with np.errstate(divide="ignore", invalid="ignore"):
        lv = rescale(rows, estimate.estimates, by, all_=False)
        return lv, rescale(rows, estimate.estimates, by, all_=True)


def standardized_table(estimate: SEMEstimate) -> tuple[FloatArray, FloatArray]:
    """(rows,) std.all and its standard errors, √diag(J V Jᵀ) with J by central differences."""
    layout, rows = estimate.layout, estimate.model.parameters
    free = np.array([row.free for row in rows])
    fixed = estimate.estimates

    ordered = ordered_items(estimate.model)
    residual = [k for k, r in enumerate(rows) if r.op == "~~" and r.lhs == r.rhs in ordered]

    def all_of(theta: FloatArray) -> FloatArray:
        by = scales(layout, theta)
        values = np.where(free > 0, theta[np.maximum(free, 1) - 1], fixed)
        values[residual] = [by.residual[rows[k].lhs] ** 2 for k in residual]
        return rescale(rows, values, by, all_=True)

    q = len(estimate.theta)
    J = np.empty((len(rows), q))
    errors = np.sqrt(np.abs(np.diag(estimate.covariance)))  # the scale of each parameter
    for k in range(q):
        step = np.zeros(q)
        step[k] = 1e-3 * errors[k] or 1e-6
        rise = all_of(estimate.theta + step) - all_of(estimate.theta - step)
        J[:, k] = rise / (2 * step[k])
    variance = np.einsum("rk,kl,rl->r", J, estimate.covariance, J)
    variance[variance < 1e-12] = 0.0
    return all_of(estimate.theta), np.sqrt(variance)


_FLAT = 1e-8  # share of a candidate's information that must not be explained by the model's


def modification_indices(estimate: SEMEstimate) -> pd.DataFrame:
    """Compute the expected fall of chi-square, and change, for every parameter one could add.

    With gradient g and information I of −log L per row, a candidate a beside the free parameters f:

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
    rows = _candidates(estimate.model)
    if not rows:
        return pd.DataFrame(columns=["lhs", "op", "rhs", "mi", "epc", "sepc.lv", "sepc.all"])
    given = [row for row in estimate.model.parameters if row.exogenous]
    layout = Layout(_extended(estimate.model, [*given, *rows]))
    theta = np.concatenate([estimate.theta, [row.value or 0.0 for row in (*given, *rows)]])
    sample = estimate.sample or _complete(estimate)
    q = len(theta) - len(rows)
    g = objective(sample, layout, theta)[1][q:]
    own = _partial(expected_information(sample, layout, theta), q)
    with np.errstate(divide="ignore", invalid="ignore"):
        mi, epc = sample.n_obs * g**2 / own, -g / own
    by = scales(estimate.layout, estimate.theta)
    table = pd.DataFrame(
        {
            "lhs": [row.lhs for row in rows],
            "op": [row.op for row in rows],
            "rhs": [row.rhs for row in rows],
            "mi": mi,
            "epc": epc,
            "sepc.lv": rescale(rows, epc, by, all_=False),
            "sepc.all": rescale(rows, epc, by, all_=True),
        }
    )
    return table.dropna(subset=["mi"]).sort_values("mi", ascending=False, ignore_index=True)


def _complete(estimate: SEMEstimate) -> Sample:
    mean = estimate.mean if estimate.model.mean_structure else None
    return complete_sample(estimate.S, mean, estimate.n_obs)


def _candidates(model: Model) -> list[Parameter]:
    known = {(row.lhs, row.op, row.rhs) for row in model.parameters}
    known |= {(row.rhs, row.op, row.lhs) for row in model.parameters if row.op == "~~"}
    new = [Parameter(*key, 0, 0.0, user=False) for key in _possible(model) if key not in known]
    return [*new, *(row for row in model.parameters if not row.free and not row.exogenous)]


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


def _extended(model: Model, rows: list[Parameter]) -> Model:
    """Free the candidates, numbered after the model's own parameters."""
    eta = model.eta
    if set(eta) & set(model.observed):  # any residual may covary with that of an item that is an η
        eta = (*model.latent, *model.observed)
    kept = [row for row in model.parameters if row not in rows]
    freed = [replace(row, free=model.n_free + k) for k, row in enumerate(rows, start=1)]
    places = tuple(place_of(row, eta, model.observed) for row in (*kept, *freed))
    return replace(model, parameters=(*kept, *freed), eta=eta, places=places)


def _partial(information: FloatArray, q: int) -> FloatArray:
    """Information of each candidate that the first q parameters do not already carry."""
    cross = information[:q, q:]
    explained = np.einsum("fa,fa->a", cross, np.linalg.solve(information[:q, :q], cross))
    own = np.diag(information)[q:]
    left: FloatArray = np.where(own - explained > _FLAT * own, own - explained, np.nan)
    return left


def oriented(estimate: SEMEstimate, structure: Structure) -> SEMEstimate:
    """Let factors without a marker point where the structure says.

    With variances fixed at 1 nothing but the start of the search decides on the signs of a factor.
    Turning it round changes the signs of its loadings and of its covariances with others. A factor
    is turned if its loadings, weighed by the sizes of the items, disagree with the structure.

    Parameters
    ----------
    estimate
        Every factor measured by its children, variances of factors fixed.
    structure
        What was fitted.
    """
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
    turned = {name for name, total in agreement.items() if total < 0}
    s = np.ones(len(estimate.theta))
    for row in model.parameters:
        if row.free:
            s[row.free - 1] = -1.0 if (row.lhs in turned) != (row.rhs in turned) else 1.0
    covariance = estimate.covariance * np.outer(s, s)
    return replace(estimate, theta=s * estimate.theta, covariance=covariance)
