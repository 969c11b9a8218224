"""Structural after measurement (SAM): the measurement part first, block by block, then the rest.

Local SAM (Rosseel & Loh 2022). Step 1 fits the measurement model of each factor, or of factors that
share items, by itself; misfit of one block does not reach the others. With its loadings Λ, residual
covariances Θ and intercepts ν, and the mapping M = (ΛᵀΘ⁻¹Λ)⁻¹ΛᵀΘ⁻¹, the moments of the factors are

    Var(η) = M (S − λΘ) Mᵀ,    E(η) = M (x̄ − ν),

with λ = 1, or less if the matrix would not be positive definite (Fuller 1987). Step 2 fits the
structural model to them. With the information I of the joint model per row and the covariance Σ₁₁
of the estimates of step 1 those of step 2 have the covariance

    I₂₂⁻¹ / n + I₂₂⁻¹ I₂₁ Σ₁₁ I₁₂ I₂₂⁻¹.

References
----------
Rosseel, Y. & Loh, W. W. (2022). A structural after measurement approach to structural equation
modeling. Psychological Methods 29, 561-588.
Fuller, W. A. (1987). Measurement error models. Wiley.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.errors import EstimationError, InputError
from dtstat.core.parallel import Progress, Steps
from dtstat.sem.designs import Rows
from dtstat.sem.discrepancy import PROCEDURES, Procedure
from dtstat.sem.estimate import STEPS, SEMEstimate, estimate_model
from dtstat.sem.likelihood import NormalLikelihood, covariate_positions, fit_normal, sample_of
from dtstat.sem.matrices import Layout
from dtstat.sem.parameters import Model, Parameter, place_of
from dtstat.sem.rows import complete_sample

_NO_RESIDUAL = 1e-6  # residual variance below which an item is its factor
_NOTE = (
    "Fitted in two steps (local SAM): chi-square and the indices made from it are those of the "
    "structural part alone."
)


def fit_sam(
    model: Model,
    rows: Sequence[Rows],
    procedure: Procedure,
    counts: Sequence[int],
    progress: Progress = None,
) -> SEMEstimate:
    """Fit by local SAM with maximum likelihood in both steps.

    Parameters
    ----------
    model
        The whole model. Each factor is measured by items, which take part in nothing else.
    rows
        Rows of each group, columns in the order of the observed variables.
    procedure
        How the measurement blocks are fitted.
    counts
        Rows of each group before any were dropped.
    progress
        True for a bar, or a function of (done, total): factors, and steps of what relates them.

    Raises
    ------
    InputError
        If the model cannot be taken apart.
    EstimationError
        If a block cannot be fitted.
    """
    check_separable(model)
    with Steps(progress, "model", len(measurement_blocks(model)) + STEPS) as steps:
        return _fit(model, rows, procedure, counts, steps)


def _fit(
    model: Model,
    rows: Sequence[Rows],
    procedure: Procedure,
    counts: Sequence[int],
    steps: Steps,
) -> SEMEstimate:
    """Fit by local SAM, with all that could be refused checked."""
    x = covariate_positions(model)
    # Conditional on these, as elsewhere.
    rows = [one.take(np.asarray(~np.isnan(one.X[:, x]).any(axis=1))) for one in rows]
    samples = [sample_of(one, model.mean_structure) for one in rows]
    both = replace(procedure, errors="twostep", test="standard", information="expected")
    joint = NormalLikelihood(model, samples, both, counts, rows)
    theta = np.zeros(joint.model.n_free)
    first = np.zeros((len(theta), len(theta)))
    notes: list[str] = []
    for latent in measurement_blocks(model):
        step = _fit_block(joint.model, latent, rows, procedure, counts)
        theta[step.own] = step.theta
        first[np.ix_(step.own, step.own)] = step.covariance
        notes += step.notes
        steps.done()
    structural, own = _structural_model(joint.model)
    moments = [
        _factor_moments(layout, theta, S, mean, joint.n_obs)
        for layout, (S, mean) in zip(joint.layouts, joint.starting_moments(), strict=True)
    ]
    means = model.mean_structure
    found = estimate_model(
        NormalLikelihood(
            structural,
            [
                complete_sample(V, E if means else None, sample.n_obs)
                for (V, E), sample in zip(moments, samples, strict=True)
            ],
            PROCEDURES["ml"],
            counts,
        ),
        steps=steps,
    )
    kept = [k for k, number in enumerate(own) if number >= 0]
    second = np.array([own[k] for k in kept], dtype=np.int64)
    theta[second] = found.theta[kept]
    covariance = _two_step_covariance(joint.information(theta), first, second, joint.n_obs)
    return replace(
        found,
        model=joint.model,
        procedure=both,
        theta=theta,
        covariance=covariance,
        blocks=joint.blocks(theta),
        logl=None,
        saturated_logl=None,
        notes=(_NOTE, *notes, *found.notes),
        n_constraints=0,
        information=None,
    )


def check_separable(model: Model) -> None:
    """Refuse a model whose measurement and structural parts cannot be told apart."""
    tied = next((one.text for one in model.relations if one.op != ":="), None)
    items = {row.rhs for row in model.parameters if row.op == "=~"}
    regressed = {name for row in model.parameters if row.op == "~" for name in (row.lhs, row.rhs)}
    fixed = next(
        (r for r in model.parameters if r.is_variance and r.lhs in model.latent and not r.free),
        None,
    )
    reason = ""
    if not model.latent:
        reason = "has no factors. Use method='joint'"
    elif tied is not None:
        reason = f"has the constraint '{tied}', which ties steps together"
    elif upper := sorted(items & set(model.latent)):
        reason = f"measures a factor by the factor '{upper[0]}'"
    elif both := sorted(items & regressed):
        reason = f"has the item '{both[0]}' in a regression"
    elif fixed is not None:
        reason = f"fixes the variance of '{fixed.lhs}'; fix its first loading instead"
    if reason:
        raise InputError(f"`model` {reason}: method='sam' fits in two steps.", "model")


def measurement_blocks(model: Model) -> list[list[str]]:
    """Sort factors into blocks that share items, residual covariances or parameters."""
    root = {name: name for name in model.latent}

    def find(name: str) -> str:
        while root[name] != name:
            name = root[name]
        return name

    owners: dict[object, str] = {}
    for row in model.parameters:
        if row.op == "=~":
            for key in (row.rhs, row.free or None):
                if key is not None:
                    root[find(owners.setdefault(key, row.lhs))] = find(row.lhs)
    for row in model.parameters:
        if row.op == "~~" and row.lhs in owners and row.rhs in owners and (row.free or row.value):
            root[find(owners[row.lhs])] = find(owners[row.rhs])
    blocks: dict[str, list[str]] = {}
    for name in model.latent:
        blocks.setdefault(find(name), []).append(name)
    return list(blocks.values())


@dataclass(frozen=True)
class _Step:
    """What step 1 says of one block: numbers of its parameters in the whole model, and values."""

    own: IntArray
    theta: FloatArray
    covariance: FloatArray
    notes: tuple[str, ...]


def _fit_block(
    model: Model,
    latent: Sequence[str],
    rows: Sequence[Rows],
    procedure: Procedure,
    n_given: Sequence[int],
) -> _Step:
    """Fit the measurement model of some factors, which are free to covary."""
    loaded = {row.rhs for row in model.parameters if row.op == "=~" and row.lhs in latent}
    items = tuple(name for name in model.observed if name in loaded)
    kept: list[Parameter] = []
    for row in model.parameters:
        measures = row.op == "=~" and row.lhs in latent
        residual = row.op == "~~" and {row.lhs, row.rhs} <= loaded
        intercept = row.op == "~1" and row.lhs in (*items, *latent)
        if measures or residual or intercept:
            kept.append(row)
    numbers: dict[int, int] = {}
    table = []
    for row in kept:
        if row.free:
            row = replace(row, free=numbers.setdefault(row.free, len(numbers) + 1))
        table.append(row)
    free = len(numbers)
    pairs = [(name, name) for name in latent] + list(combinations(latent, 2))
    for group in range(1, model.n_groups + 1):
        for a, b in pairs:
            free += 1
            table.append(Parameter(a, "~~", b, free, user=False, group=group))
    eta = tuple(latent)
    places = tuple(place_of(row, eta, items) for row in table)
    block = Model(tuple(table), items, eta, eta, model.mean_structure, places, model.groups)
    columns = [model.observed.index(name) for name in items]
    parts = [replace(one, X=one.X[:, columns]) for one in rows]
    try:
        found = fit_normal(block, parts, procedure, list(n_given))
    except EstimationError as error:
        raise EstimationError(f"Step 1, factor '{latent[0]}': {error}") from None
    # means of factors belong to step 2
    places_of = {
        inner: outer
        for outer, inner in numbers.items()
        if not any(r.free == outer and r.op == "~1" and r.lhs in latent for r in kept)
    }
    inner = np.array(sorted(places_of), dtype=np.int64) - 1
    outer = np.array([places_of[k + 1] - 1 for k in inner], dtype=np.int64)
    return _Step(outer, found.theta[inner], found.covariance[np.ix_(inner, inner)], found.notes)


def _structural_model(model: Model) -> tuple[Model, list[int]]:
    """Return a model of the factors as if observed, and the numbers its parameters had; −1: none.

    Exogenous variables that the whole model leaves without a covariance get one, and intercepts of
    factors that it fixes are free: they say nothing about the regressions.
    """
    names = model.eta
    items = set(model.observed) - set(names)
    outcomes = {row.lhs for row in model.parameters if row.op == "~"}
    table: list[Parameter] = []
    numbers: dict[int, int] = {}
    own: list[int] = []

    def add(row: Parameter, number: int) -> None:
        own.append(number)
        table.append(replace(row, free=len(own), label=row.label if number >= 0 else ""))

    for row in model.parameters:
        if row.op == "=~" or row.lhs in items or row.rhs in items:
            continue
        if row.free and row.free in numbers:
            table.append(replace(row, free=numbers[row.free]))
        elif row.free:
            numbers[row.free] = len(own) + 1
            add(row, row.free - 1)
        elif row.op == "~1" and row.lhs in model.latent and not row.user:
            add(replace(row, value=None), -1)
        else:
            table.append(row)
    for group in range(1, model.n_groups + 1):
        known = {frozenset((r.lhs, r.rhs)) for r in table if r.op == "~~" and r.group == group}
        outer = [name for name in names if name not in outcomes]
        for a, b in combinations(outer, 2):
            if frozenset((a, b)) not in known:
                add(Parameter(a, "~~", b, 0, None, "", False, False, group), -1)
    places = tuple(place_of(row, names, names) for row in table)
    structural = Model(tuple(table), names, (), names, model.mean_structure, places, model.groups)
    return structural, own


def _factor_moments(
    layout: Layout, theta: FloatArray, S: FloatArray, mean: FloatArray, n: float
) -> tuple[FloatArray, FloatArray]:
    """Covariances and means of η from those of the observed variables."""
    matrices = layout.matrices(theta)
    Lambda, Theta = matrices.Lambda, matrices.Theta
    weights = np.zeros_like(Theta)
    exact = np.diag(Theta) < _NO_RESIDUAL
    rest = np.ix_(~exact, ~exact)
    weights[rest] = np.linalg.inv(Theta[rest])
    weights[exact, exact] = 1.0
    M = np.linalg.solve(Lambda.T @ weights @ Lambda, Lambda.T @ weights)
    observed = [k for k, name in enumerate(layout.model.eta) if name in layout.model.observed]
    for k in observed:  # they are what they are
        M[k] = np.eye(len(S))[layout.model.observed.index(layout.model.eta[k])]
    whole, noise = M @ S @ M.T, M @ Theta @ M.T
    largest = float(np.linalg.eigvals(np.linalg.solve(whole, noise)).real.max())
    share = 1.0
    if largest * (1 + 1 / (n - 1)) > 1:  # 1 / largest is the λ at which the matrix is singular
        share = 1 / largest - 1 / (n - 1)
    V = whole - share * noise
    return (V + V.T) / 2, M @ (mean - matrices.nu)


def _two_step_covariance(
    information: FloatArray, first: FloatArray, second: IntArray, n: float
) -> FloatArray:
    """Covariance of the estimates of both steps; ``second`` are the numbers of those of step 2."""
    covariance = first.copy()
    earlier = np.setdiff1d(np.arange(len(first)), second)
    known = np.linalg.inv(information[np.ix_(second, second)])
    carried = -known @ information[np.ix_(second, earlier)]
    own = first[np.ix_(earlier, earlier)]
    covariance[np.ix_(second, second)] = known / n + carried @ own @ carried.T
    covariance[np.ix_(second, earlier)] = carried @ own
    covariance[np.ix_(earlier, second)] = (carried @ own).T
    return covariance
