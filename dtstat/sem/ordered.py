"""Diagonally weighted least squares for ordered items (dwls; "WLSMV" elsewhere).

The variables behind the items have variance 1 (delta parameterization): thresholds are saturated
and residual variances follow from the loadings, so the model is fitted to the correlations s
alone. With weights W = diag(Γ)⁻¹, Γ the asymptotic covariance of √n s, and Δ = ∂σ/∂θ,

    F = (s − σ)ᵀ W (s − σ),   Cov(θ̂) = E Δᵀ W Γ W Δ E / n,   E = (Δᵀ W Δ)⁻¹,

and n F, scaled and shifted to the mean and variance of a chi-square, is the test (Muthén 1984;
Asparouhov & Muthén 2010).

Continuous items beside ordered ones need not be normal: W is as elsewhere, but the Γ of standard
errors and test is then the distribution-free one. (lavaan takes products of normal scores, which
for skewed items is off by as much as half.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.errors import EstimationError, InputError
from dtstat.core.fit_indices import Test
from dtstat.data.items import ItemData
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.matrices import Layout
from dtstat.sem.model import Model, Parameter, Place
from dtstat.sem.optimize import Minimum, check_identified, review_solution, search
from dtstat.sem.ordinal_moments import OrdinalMoments, diagonal_weights, ordinal_moments
from dtstat.sem.robust import corrected_for_categories


def fit_ordered(model: Model, items: ItemData, n_given: int) -> SEMEstimate:
    """Fit a model to ordered (and continuous) items by dwls with robust tests and errors.

    ``items`` holds complete rows, in which binary and ordinal items are taken as ordered;
    ``n_given`` counts the rows before any were dropped.
    """
    items = items.select(model.observed)
    moments = ordinal_moments(items.values, items.kinds, items.names)
    _check_predictors(model, moments)
    _check_written(model, moments)
    core = _without_residual_variances(model, moments)
    gamma = moments.gamma
    if moments.continuous.any():
        gamma = ordinal_moments(items.values, items.kinds, items.names, "observed").gamma
    stats = _statistics(moments, gamma)
    df = len(stats.s) - core.n_free
    if df < 0:
        raise EstimationError(
            f"The model is not identified: it has {core.n_free} free parameters for "
            f"{len(stats.s)} correlations. Fix or equate parameters, or use more items."
        )
    layout = Layout(core)
    found, dropped = _search(layout, stats, moments)
    influence, test = _inference(layout, found.theta, stats, df)
    Sigma = layout.implied(found.theta).Sigma.copy()
    complete, theta = _with_thresholds(core, layout, found.theta, moments, Sigma)
    full = _covariance(layout, found.theta, influence, moments, gamma)
    ordered = np.flatnonzero(~moments.continuous)
    Sigma[ordered, ordered] = 1.0
    corrected: tuple[Test, Test] | None = None
    if not moments.continuous.any():
        D = _delta(layout, found.theta, stats)
        corrected = corrected_for_categories(
            moments.correlations, Sigma, D, stats.weights, stats.gamma, moments.n_obs, df
        )
    return SEMEstimate(
        complete, "dwls", theta, full, Sigma, moments.means, moments.covariances, moments.means,
        moments.n_obs, n_given, 1, None, None, test, _baseline(stats), True, "expected",
        found.iterations, found.converged, found.tried,
        (*dropped, *review_solution(Layout(complete), theta)), None,
        *(corrected or (None, None)),
    )  # fmt: skip


def _check_predictors(model: Model, moments: OrdinalMoments) -> None:
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


def _check_written(model: Model, moments: OrdinalMoments) -> None:
    """Refuse means and residual variances that are not free to be what is written."""
    continuous = {n for n, c in zip(moments.names, moments.continuous, strict=True) if c}
    for row in model.parameters:
        if not row.user:
            continue
        if row.op == "~1":
            plain = row.lhs in continuous and row.free and not row.label
            if not plain and (row.free or row.value != 0 or row.lhs in continuous):
                raise InputError(
                    f"`model` writes the mean of '{row.lhs}' ('{row.name}'), but dwls estimates "
                    "the means of continuous items freely and takes those of factors and ordered "
                    "items as 0. Leave it out, or use ml.",
                    "model",
                )
        if row.op == "~~" and row.lhs == row.rhs in moments.names and row.lhs not in continuous:
            raise InputError(
                f"`model` writes the residual variance of the ordered item '{row.lhs}' "
                f"('{row.name}'), but in dwls it follows from the loadings: the variable behind "
                "the item has variance 1. Leave it out, or treat the item as continuous.",
                "model",
            )


def _without_residual_variances(model: Model, moments: OrdinalMoments) -> Model:
    """Residual variances of ordered items are not parameters; renumber what is left."""
    ordered = {n for n, c in zip(moments.names, moments.continuous, strict=True) if not c}
    kept = [
        (row, place)
        for row, place in zip(model.parameters, model.places, strict=True)
        if row.op != "~1"  # means are not fitted either, but read off
    ]
    rows = [
        replace(row, free=0, value=0.0) if row.op == "~~" and row.lhs == row.rhs in ordered else row
        for row, _ in kept
    ]
    numbers = {old: k for k, old in enumerate(sorted({r.free for r in rows if r.free}), 1)}
    return replace(
        model,
        parameters=tuple(replace(r, free=numbers[r.free]) if r.free else r for r in rows),
        places=tuple(place for _, place in kept),
        mean_structure=False,
    )


@dataclass(frozen=True)
class _Statistics:
    """The second moments that are fitted: where they sit in Σ, values, weights, covariance."""

    rows: IntArray
    columns: IntArray
    s: FloatArray
    weights: FloatArray
    gamma: FloatArray
    n: int  # rows less one, as is usual for least squares


def _statistics(moments: OrdinalMoments, gamma: FloatArray) -> _Statistics:
    """Second moments in the order of ``OrdinalMoments.statistics``: variances, then the rest."""
    own = np.flatnonzero(moments.continuous)
    columns, rows = np.triu_indices(len(moments.names), 1)  # below the diagonal, column by column
    count = len(own) + len(rows)
    return _Statistics(
        np.concatenate([own, rows]),
        np.concatenate([own, columns]),
        moments.statistics[-count:],
        diagonal_weights(moments)[-count:],
        gamma[-count:, -count:],
        moments.n_obs - 1,
    )


def _delta(layout: Layout, theta: FloatArray, stats: _Statistics) -> FloatArray:
    """(statistics, q) derivatives of the implied second moments."""
    implied = layout.implied(theta)
    U, V, i, j = implied.U, implied.V, stats.rows, stats.columns
    return layout.collect(U[i] * V[j] + V[i] * U[j])


def _residual(layout: Layout, theta: FloatArray, stats: _Statistics) -> FloatArray:
    residual: FloatArray = stats.s - layout.implied(theta).Sigma[stats.rows, stats.columns]
    return residual


def _search(
    layout: Layout, stats: _Statistics, moments: OrdinalMoments
) -> tuple[Minimum, tuple[str, ...]]:
    def objective(theta: FloatArray) -> tuple[float, FloatArray]:
        residual = _residual(layout, theta, stats)
        weighted = stats.weights * residual
        gradient: FloatArray = -_delta(layout, theta, stats).T @ weighted
        return 0.5 * float(residual @ weighted), gradient

    def information(theta: FloatArray) -> FloatArray:
        D = _delta(layout, theta, stats)
        product: FloatArray = D.T @ (stats.weights[:, None] * D)
        return product

    no_means = np.zeros(len(moments.names))
    return search(objective, information, layout.model, moments.covariances, no_means)


def _inference(
    layout: Layout, theta: FloatArray, stats: _Statistics, df: int
) -> tuple[FloatArray, Test]:
    D = _delta(layout, theta, stats)
    WD = stats.weights[:, None] * D
    check_identified(D.T @ WD, layout.model)
    E = np.linalg.inv(D.T @ WD)
    influence = WD @ E  # (statistics, q)
    residual = _residual(layout, theta, stats)
    chisq = stats.n * float(residual @ (stats.weights * residual))
    # U Γ with U = W − W Δ E Δᵀ W
    product = stats.weights[:, None] * stats.gamma - WD @ (influence.T @ stats.gamma)
    return influence, _scaled_shifted(chisq, product, df)


def _baseline(stats: _Statistics) -> Test:
    """Test of independent items: all covariances are 0, and U = W."""
    off = stats.rows != stats.columns
    chisq = stats.n * float(np.sum((stats.weights * stats.s**2)[off]))
    product = stats.weights[off][:, None] * stats.gamma[np.ix_(off, off)]
    return _scaled_shifted(chisq, product, int(off.sum()))


def _scaled_shifted(chisq: float, product: FloatArray, df: int) -> Test:
    """T* = a T + df − a tr(UΓ), a² = df / tr((UΓ)²), has the mean and variance of χ²(df)."""
    if df == 0:
        return Test(chisq, df)
    a = float(np.sqrt(df / np.sum(product * product.T)))
    return Test(chisq, df, scaling=1.0 / a, shift=df - a * float(np.trace(product)))


def _with_thresholds(
    model: Model, layout: Layout, theta: FloatArray, moments: OrdinalMoments, Sigma: FloatArray
) -> tuple[Model, FloatArray]:
    """Add thresholds and intercepts as parameters, and the residual variances that follow."""
    position = {name: k for k, name in enumerate(moments.names)}
    rows = []
    for row in model.parameters:
        k = position.get(row.lhs, -1)
        own = row.op == "~~" and row.lhs == row.rhs and k >= 0 and not moments.continuous[k]
        rows.append(replace(row, value=1.0 - float(Sigma[k, k])) if own else row)
    places: list[Place] = list(model.places)
    for k, name in enumerate(moments.names):
        keys = [("|", f"t{t + 1}") for t in range(len(moments.thresholds[k]))] or [("~1", "")]
        for t, (op, rhs) in enumerate(keys):
            number = model.n_free + len(rows) - len(model.parameters) + 1
            rows.append(Parameter(name, op, rhs, number, user=False))
            places.append(("tau", k, t))
    complete = replace(model, parameters=tuple(rows), places=tuple(places))
    first = moments.statistics[: len(rows) - len(model.parameters)]
    return complete, np.concatenate([theta, _locations(layout, theta, first, moments)])


def _locations(
    layout: Layout, theta: FloatArray, first: FloatArray, moments: OrdinalMoments
) -> FloatArray:
    """Thresholds and intercepts, given the second moments, from thresholds and means as they are.

    Factors have intercept 0, so observed predictors x with means m give η the means
    E η = (I − B)⁻¹ B_x m and the items Λ E η: a threshold is the more, an intercept the less.
    """
    model, M = layout.model, layout.matrices(theta)
    d = len(model.latent)
    cuts = [max(len(tau), 1) for tau in moments.thresholds]
    item = np.repeat(np.arange(len(cuts)), cuts)
    starts = np.cumsum([0, *cuts[:-1]])
    x = [moments.names.index(name) for name in model.eta[d:]]
    m = first[starts[x]]
    inner = np.linalg.solve(np.eye(d) - M.Beta[:d, :d], M.Beta[:d, d:] @ m)
    eta = np.concatenate([inner, m])
    expected = M.Lambda @ eta
    expected[x] = M.Beta[d:] @ eta
    located: FloatArray = first + np.where(moments.continuous, -expected, expected)[item]
    return located


def _covariance(
    layout: Layout,
    theta: FloatArray,
    influence: FloatArray,
    moments: OrdinalMoments,
    gamma: FloatArray,
) -> FloatArray:
    """Covariance of the fitted parameters, then thresholds and intercepts (delta method)."""
    q, count = len(theta), len(moments.statistics) - len(influence)
    first = moments.statistics[:count]
    F = np.zeros((len(moments.statistics), q + count))  # how the estimates follow the statistics
    F[count:, :q] = influence
    F[:count, q:] = np.eye(count)
    if len(layout.model.eta) > len(layout.model.latent):
        F = F @ _location_slopes(layout, theta, first, moments).T
    covariance: FloatArray = F.T @ gamma @ F / (moments.n_obs - 1)
    return covariance


def _location_slopes(
    layout: Layout, theta: FloatArray, first: FloatArray, moments: OrdinalMoments
) -> FloatArray:
    """Differentiate (θ, thresholds and intercepts) in (θ, first), by central differences."""
    q, at = len(theta), np.concatenate([theta, first])
    J = np.eye(len(at))
    for k, step in enumerate(1e-5 * np.maximum(1.0, np.abs(at))):
        move = np.where(np.arange(len(at)) == k, step, 0.0)
        ends = [at + move, at - move]
        up, down = (_locations(layout, end[:q], end[q:], moments) for end in ends)
        J[q:, k] = (up - down) / (2 * step)
    return J
