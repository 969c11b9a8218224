"""Modification indices: what freeing a parameter would gain, without refitting."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd

from dtstat.arrays import FloatArray
from dtstat.estimation.sem.estimate import SEMEstimate
from dtstat.estimation.sem.matrices import Layout
from dtstat.estimation.sem.model import Model, Parameter, Place
from dtstat.estimation.sem.normal import Sample, complete_sample, expected_information, objective
from dtstat.estimation.sem.standardized import rescale, scales

_FLAT = 1e-8  # share of a candidate's information that must not be explained by the model's


def modification_indices(estimate: SEMEstimate) -> pd.DataFrame:
    """Compute the expected fall of chi-square, and change, for every parameter one could add.

    With gradient g and information I of −log L per row, a candidate a beside the free parameters f:

        mi = n g_a² / (I_aa − I_af I_ff⁻¹ I_fa),   epc = −g_a / (I_aa − I_af I_ff⁻¹ I_fa)

    (Sörbom 1989). Candidates are loadings of all items on all factors, residual covariances of all
    items and covariances of all factors that the model fixes at zero.

    Returns
    -------
    DataFrame
        lhs, op, rhs, mi, epc, sepc.lv, sepc.all; largest first.
    """
    rows, places = _candidates(estimate.model)
    if not rows:
        return pd.DataFrame(columns=["lhs", "op", "rhs", "mi", "epc", "sepc.lv", "sepc.all"])
    extended = _extended(estimate.model, rows, places)
    layout = Layout(extended)
    theta = np.concatenate([estimate.theta, [row.value or 0.0 for row in rows]])
    sample = estimate.sample or _complete(estimate)
    g = objective(sample, layout, theta)[1][len(estimate.theta) :]
    own = _partial(expected_information(sample, layout, theta), len(estimate.theta))
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


def _candidates(model: Model) -> tuple[list[Parameter], list[Place]]:
    known = {(row.lhs, row.op, row.rhs) for row in model.parameters}
    known |= {(row.rhs, row.op, row.lhs) for row in model.parameters if row.op == "~~"}
    eta = {name: k for k, name in enumerate(model.eta)}
    plain = {name: k for k, name in enumerate(model.observed) if name not in eta}
    found = [
        (factor, "=~", item, ("lambda", plain[item], eta[factor]))
        for factor in model.latent
        for item in plain
    ]
    found += [(a, "~~", b, ("theta", plain[a], plain[b])) for a, b in combinations(plain, 2)]
    pairs = combinations(model.latent, 2)
    found += [(a, "~~", b, ("psi", eta[a], eta[b])) for a, b in pairs]
    new = [entry for entry in found if entry[:3] not in known]
    rows = [Parameter(lhs, op, rhs, 0, 0.0, user=False) for lhs, op, rhs, _ in new]
    places = [place for *_, place in new]
    for row, place in zip(model.parameters, model.places, strict=True):
        zero = not row.free and row.value == 0 and not row.exogenous
        if zero and row.lhs != row.rhs and row.op in ("=~", "~~", "~"):
            rows.append(row)
            places.append(place)
    return rows, places


def _extended(model: Model, rows: list[Parameter], places: list[Place]) -> Model:
    """Free the candidates, numbered after the model's own parameters."""
    kept = [
        (row, place)
        for row, place in zip(model.parameters, model.places, strict=True)
        if row not in rows
    ]
    freed = [replace(row, free=model.n_free + k) for k, row in enumerate(rows, start=1)]
    return replace(
        model,
        parameters=(*(row for row, _ in kept), *freed),
        places=(*(place for _, place in kept), *places),
    )


def _partial(information: FloatArray, q: int) -> FloatArray:
    """Information of each candidate that the first q parameters do not already carry."""
    cross = information[:q, q:]
    explained = np.einsum("fa,fa->a", cross, np.linalg.solve(information[:q, :q], cross))
    own = np.diag(information)[q:]
    left: FloatArray = np.where(own - explained > _FLAT * own, own - explained, np.nan)
    return left
