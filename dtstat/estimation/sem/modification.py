"""Modification indices: what freeing a parameter would gain, without refitting."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pandas as pd

from dtstat.arrays import FloatArray
from dtstat.estimation.sem.estimate import SEMEstimate
from dtstat.estimation.sem.matrices import Layout
from dtstat.estimation.sem.model import Model, Parameter, place_of
from dtstat.estimation.sem.normal import Sample, complete_sample, expected_information, objective
from dtstat.estimation.sem.standardized import rescale, scales

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
