"""Diagonally weighted least squares for ordered items (dwls; "WLSMV" elsewhere).

The variables behind the items have variance 1 (delta parameterisation): thresholds are saturated
and residual variances follow from the loadings, so the model is fitted to the correlations s
alone. With weights W = diag(Γ)⁻¹, Γ the asymptotic covariance of √n s, and Δ = ∂σ/∂θ,

    F = (s − σ)ᵀ W (s − σ),   Cov(θ̂) = E Δᵀ W Γ W Δ E / n,   E = (Δᵀ W Δ)⁻¹,

and n F, scaled and shifted to the mean and variance of a chi-square, is the test (Muthén 1984;
Asparouhov & Muthén 2010).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dtstat.arrays import FloatArray, IntArray
from dtstat.data import ItemData
from dtstat.errors import EstimationError, InputError
from dtstat.estimation.sem.estimate import (
    SEMEstimate,
    Test,
)
from dtstat.estimation.sem.matrices import Layout
from dtstat.estimation.sem.model import Model, Parameter, Place
from dtstat.estimation.sem.ordinal_moments import OrdinalMoments, ordinal_moments
from dtstat.estimation.sem.scoring import Minimum, minimise
from dtstat.estimation.sem.soundness import check_identified, require_converged, review_solution
from dtstat.estimation.sem.starts import starting_values


@dataclass(frozen=True)
class _Statistics:
    """The second moments that are fitted: where they sit in Σ, values, weights, covariance."""

    rows: IntArray
    columns: IntArray
    s: FloatArray
    weights: FloatArray
    gamma: FloatArray
    n: int  # rows less one, as is usual for least squares

    def implied(self, Sigma: FloatArray) -> FloatArray:
        values: FloatArray = Sigma[self.rows, self.columns]
        return values


def fit_ordered(model: Model, items: ItemData, n_given: int) -> SEMEstimate:
    """Fit a model to ordered (and continuous) items by dwls with robust tests and errors.

    Parameters
    ----------
    model
        The model; its observed variables must be items of ``items``.
    items
        Complete rows; binary and ordinal items are taken as ordered.
    n_given
        Rows before any were dropped.
    """
    items = items.select(model.observed)
    moments = ordinal_moments(items.values, items.kinds, items.names)
    _check_places(model, moments)
    core = _without_residual_variances(model, moments)
    stats = _statistics(moments)
    layout = Layout(core)
    df = _degrees_of_freedom(core, stats)
    found = _search(layout, stats, core, moments)
    covariance, test = _inference(layout, found.theta, stats, df)
    baseline = _scaled_shifted(
        stats.n * float(np.sum((stats.weights * stats.s**2)[stats.rows != stats.columns])),
        _independence_product(stats),
        int((stats.rows != stats.columns).sum()),
    )
    Sigma = layout.implied(found.theta).Sigma.copy()
    complete, theta, full = _with_thresholds(core, found.theta, covariance, moments, Sigma)
    ordered = np.flatnonzero(~moments.continuous)
    Sigma[ordered, ordered] = 1.0
    return SEMEstimate(
        complete, "dwls", theta, full, Sigma, moments.means, moments.covariances, moments.means,
        moments.n_obs, n_given, 1, None, None, test, baseline, True, "expected",
        found.iterations, found.converged, found.tried, review_solution(Layout(complete), theta),
    )  # fmt: skip


def _check_places(model: Model, moments: OrdinalMoments) -> None:
    given = next((row.lhs for row in model.parameters if row.exogenous), None)
    if given is not None:
        raise InputError(
            f"`model` regresses on the observed variable '{given}', which dwls does not support. "
            f"Make it random by adding '{given} ~~ {given}' to the model, or use ml.",
            "model",
        )
    for name, continuous in zip(moments.names, moments.continuous, strict=True):
        if not continuous and name in model.eta:
            raise InputError(
                f"`model` regresses the ordered item '{name}' or regresses on it, which dwls does "
                "not support. Measure a factor with it, or treat it as continuous.",
                "model",
            )


def _without_residual_variances(model: Model, moments: OrdinalMoments) -> Model:
    """Residual variances of ordered items are not parameters; renumber what is left."""
    ordered = {n for n, c in zip(moments.names, moments.continuous, strict=True) if not c}
    rows: list[Parameter] = []
    for row in model.parameters:
        own = row.op == "~~" and row.lhs == row.rhs and row.lhs in ordered
        rows.append(replace(row, free=0, value=0.0) if own else row)
    kept = {number: k for k, number in enumerate(sorted({r.free for r in rows if r.free}), 1)}
    renumbered = tuple(replace(r, free=kept[r.free]) if r.free else r for r in rows)
    means = [k for k, row in enumerate(renumbered) if row.op == "~1"]
    return replace(
        model,
        parameters=tuple(r for k, r in enumerate(renumbered) if k not in means),
        places=tuple(p for k, p in enumerate(model.places) if k not in means),
        mean_structure=False,
    )


def _statistics(moments: OrdinalMoments) -> _Statistics:
    """Second moments in the order of ``OrdinalMoments.statistics``: variances, then the rest."""
    p = len(moments.names)
    own = np.flatnonzero(moments.continuous)
    columns, rows = np.triu_indices(p, 1)  # below the diagonal, column by column
    count = len(own) + len(rows)
    gamma = moments.gamma[-count:, -count:]
    return _Statistics(
        np.concatenate([own, rows]),
        np.concatenate([own, columns]),
        moments.statistics[-count:],
        1.0 / np.diag(gamma),
        gamma,
        moments.n_obs - 1,
    )


def _delta(layout: Layout, theta: FloatArray, stats: _Statistics) -> FloatArray:
    """(statistics, q) derivatives of the implied second moments."""
    implied = layout.implied(theta)
    U, V, i, j = implied.U, implied.V, stats.rows, stats.columns
    return layout.collect(U[i] * V[j] + V[i] * U[j])


def _search(layout: Layout, stats: _Statistics, model: Model, moments: OrdinalMoments) -> Minimum:
    def objective(theta: FloatArray) -> tuple[float, FloatArray]:
        residual = stats.s - stats.implied(layout.implied(theta).Sigma)
        weighted = stats.weights * residual
        gradient: FloatArray = -_delta(layout, theta, stats).T @ weighted
        return 0.5 * float(residual @ weighted), gradient

    def information(theta: FloatArray) -> FloatArray:
        D = _delta(layout, theta, stats)
        product: FloatArray = D.T @ (stats.weights[:, None] * D)
        return product

    starts = starting_values(model, moments.covariances, np.zeros(len(moments.names)))
    found = minimise(objective, information, starts)
    require_converged(found)
    return found


def _degrees_of_freedom(model: Model, stats: _Statistics) -> int:
    df = len(stats.s) - model.n_free
    if df < 0:
        raise EstimationError(
            f"The model is not identified: it has {model.n_free} free parameters for "
            f"{len(stats.s)} correlations. Fix or equate parameters, or use more items."
        )
    return df


def _inference(
    layout: Layout, theta: FloatArray, stats: _Statistics, df: int
) -> tuple[FloatArray, Test]:
    D = _delta(layout, theta, stats)
    WD = stats.weights[:, None] * D
    check_identified(D.T @ WD, layout.model)
    E = np.linalg.inv(D.T @ WD)
    influence = WD @ E  # (statistics, q)
    covariance: FloatArray = influence.T @ stats.gamma @ influence / stats.n
    residual = stats.s - stats.implied(layout.implied(theta).Sigma)
    chisq = stats.n * float(residual @ (stats.weights * residual))
    # U Γ with U = W − W Δ E Δᵀ W
    product = stats.weights[:, None] * stats.gamma - WD @ (influence.T @ stats.gamma)
    return covariance, _scaled_shifted(chisq, product, df)


def _independence_product(stats: _Statistics) -> FloatArray:
    off = stats.rows != stats.columns
    product: FloatArray = stats.weights[off][:, None] * stats.gamma[np.ix_(off, off)]
    return product


def _scaled_shifted(chisq: float, product: FloatArray, df: int) -> Test:
    """T* = a T + df − a tr(UΓ), a² = df / tr((UΓ)²), has the mean and variance of χ²(df)."""
    if df == 0:
        return Test(chisq, df)
    a = float(np.sqrt(df / np.sum(product * product.T)))
    return Test(chisq, df, scaling=1.0 / a, shift=df - a * float(np.trace(product)))


def _with_thresholds(
    model: Model,
    theta: FloatArray,
    covariance: FloatArray,
    moments: OrdinalMoments,
    Sigma: FloatArray,
) -> tuple[Model, FloatArray, FloatArray]:
    """Add thresholds (and means) as parameters, and the residual variances that follow."""
    position = {name: k for k, name in enumerate(moments.names)}
    rows = []
    for row in model.parameters:
        k = position.get(row.lhs, -1)
        own = row.op == "~~" and row.lhs == row.rhs and k >= 0 and not moments.continuous[k]
        rows.append(replace(row, value=1.0 - float(Sigma[k, k])) if own else row)
    places: list[Place] = list(model.places)
    values, q = [], model.n_free
    for k, name in enumerate(moments.names):
        cuts = moments.thresholds[k]
        for t, cut in enumerate(cuts, start=1):
            q += 1
            rows.append(Parameter(name, "|", f"t{t}", q, user=False))
            places.append(("tau", k, t - 1))
            values.append(float(cut))
        if moments.continuous[k]:
            q += 1
            rows.append(Parameter(name, "~1", "", q, user=False))
            places.append(("tau", k, 0))
            values.append(float(moments.means[k]))
    first = len(values)
    full = np.zeros((q, q))
    full[: len(theta), : len(theta)] = covariance
    full[len(theta) :, len(theta) :] = moments.gamma[:first, :first] / (moments.n_obs - 1)
    complete = replace(model, parameters=tuple(rows), places=tuple(places))
    return complete, np.concatenate([theta, values]), full
