"""The numbers of a diagnosis as data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dtstat.arrays import BoolArray, IntArray
from dtstat.dependence import DependenceMatrix
from dtstat.results.fit import DTFit
from dtstat.results.fit_frames import chosen_candidate
from dtstat.theory.bounds import Bound
from dtstat.theory.margin import LocalMargin, Pair, local_margin_of
from dtstat.theory.planning import union_bound
from dtstat.theory.unique_child import UniqueChildAudit, audit

if TYPE_CHECKING:
    from dtstat.results.trust.diagnosis import Diagnosis


def cores(fit: DTFit) -> BoolArray:
    """(p, d) the cliques that the factors are read off; empty for a factor without one."""
    found = np.zeros_like(fit.support)
    for k, items in enumerate(fit.factors["core"]):
        found[:, k] = np.isin(np.asarray(fit.item_names, dtype=object), list(items))
    return found


def gap(fit: DTFit) -> tuple[float, float] | None:
    """Absolute dependences next below and above the threshold of the chosen structure."""
    if fit.call.search != "threshold":
        return None
    chosen = chosen_candidate(fit)
    if chosen is None:
        return None
    tau = chosen.tau_low
    strength = fit.dependence.strength[np.triu_indices(len(fit.item_names), 1)]
    below, above = strength[strength <= tau], strength[strength > tau]
    return float(below.max(initial=0.0)), float(above.min(initial=1.0))


def graph_error(matrix: DependenceMatrix, margin: float, bound: Bound) -> float:
    """Bound P(Ê ≠ E₀) for a margin, each pair with its own rows."""
    if margin <= 0:
        return 1.0
    return union_bound(bound, _rows_of_pairs(matrix)[np.triu_indices(matrix.n_items, 1)], margin)


def factor_frame(diagnosis: Diagnosis) -> pd.DataFrame:
    """One row per factor with its margin, its core's, and the bound of this."""
    fit = diagnosis.fit
    core_sets = cores(fit)
    none = np.full((fit.n_factors, 2), np.nan)
    intervals = diagnosis.intervals
    whole = none if intervals is None else intervals.factors
    core = none if intervals is None else intervals.cores
    rows = []
    for k, local in enumerate(diagnosis.margin.factors):
        clique = _core_margin(fit, core_sets[:, k])
        rows.append(
            {
                "factor": local.factor,
                "n_items": len(local.items),
                "margin": local.value,
                "lower": whole[k, 0],
                "upper": whole[k, 1],
                "weakest_within": _text(local.weakest),
                "outside": _text(local.outside),
                "core": () if clique is None else clique.items,
                "core_margin": np.nan if clique is None else clique.value,
                "core_lower": core[k, 0],
                "core_upper": core[k, 1],
                "core_weakest": "" if clique is None else _text(clique.weakest),
                "core_outside": "" if clique is None else _text(clique.outside),
                "error_bound": _core_error(fit, core_sets[:, k], clique, diagnosis.bound),
                "error_normal": _core_error(fit, core_sets[:, k], clique, diagnosis.normal),
                "verdict": _verdict(clique, core[k, 0]),
            }
        )
    return pd.DataFrame(rows)


def _verdict(core: LocalMargin | None, lower: float) -> str:
    """Say whether a factor stands on firm ground, as far as the rows tell."""
    if core is None:
        return "no core"
    return "seen" if np.isnan(lower) else "firm" if lower > 0 else "unsure"


def _core_margin(fit: DTFit, members: BoolArray) -> LocalMargin | None:
    if not members.any():
        return None
    return local_margin_of(fit.dependence.strength, members, fit.item_names, "core")


def _core_error(
    fit: DTFit, members: BoolArray, core: LocalMargin | None, bound: Bound | None
) -> float:
    """Bound P(the core is missed): pairs within it, and of its loosest item with the outside."""
    if core is None or bound is None:
        return np.nan
    if core.value <= 0:
        return 1.0
    rows = _rows_of_pairs(fit.dependence)
    within = rows[np.ix_(members, members)]
    counts = within[np.triu_indices(len(within), 1)]
    if core.outside is not None:
        u = fit.item_names.index(core.outside.first)
        counts = np.concatenate([counts, rows[u, ~members]])
    return union_bound(bound, counts, core.value)


def _rows_of_pairs(matrix: DependenceMatrix) -> IntArray:
    if matrix.pairwise_n is not None:
        return matrix.pairwise_n
    return np.full((matrix.n_items, matrix.n_items), matrix.n_obs or 0, dtype=np.int64)


def unique_child_audit(fit: DTFit) -> UniqueChildAudit:
    """Audit the structure at the thresholds its factors are seen from."""
    strength, core_sets = fit.dependence.strength, cores(fit)
    thresholds = fit.factors["from"].to_numpy(dtype=np.float64, copy=True)
    for k in np.flatnonzero(np.isnan(thresholds)):
        members = fit.support[:, k]
        inside = strength[np.ix_(members, members)]
        thresholds[k] = inside[~np.eye(len(inside), dtype=bool)].min(initial=1.0)
    # Items of no core of theirs; a factor without a core is one itself.
    loose = np.asarray(~(fit.support & (core_sets | ~core_sets.any(axis=0))).any(axis=1))
    return audit(fit.structure, strength, thresholds, loose)


def pair_frame(diagnosis: Diagnosis) -> pd.DataFrame:
    """All pairs, the strongest first."""
    fit = diagnosis.fit
    i, j = np.triu_indices(len(fit.item_names), 1)
    names = np.asarray(fit.item_names, dtype=object)
    frame = pd.DataFrame(
        {
            "first": names[i],
            "second": names[j],
            "dependence": fit.dependence.strength[i, j],
            "implied": np.nan if diagnosis.implied is None else diagnosis.implied.strength[i, j],
            "n": _rows_of_pairs(fit.dependence)[i, j],
            "share_factor": fit.structure.parent_sharing_graph()[i, j],
        }
    )
    return frame.sort_values("dependence", ascending=False, kind="stable", ignore_index=True)


def tidy_frame(diagnosis: Diagnosis) -> pd.DataFrame:
    """List margins with intervals and bounds."""
    none = np.full(2, np.nan)
    whole = none if diagnosis.intervals is None else diagnosis.intervals.whole
    margin, implied = diagnosis.margin, diagnosis.implied_margin
    by_factor = {} if implied is None else {one.factor: one.value for one in implied.factors}
    of_all = np.nan if implied is None else implied.value
    rows: list[tuple[object, ...]] = [
        ("structure", "all", margin.value, *whole, of_all, diagnosis.error_bound)
    ]
    for row in diagnosis.factors.itertuples(index=False):
        within = (row.margin, row.lower, row.upper, by_factor.get(str(row.factor), np.nan), np.nan)
        rows.append(("factor", row.factor, *within))
    for row in diagnosis.factors.itertuples(index=False):
        core = (row.core_margin, row.core_lower, row.core_upper, np.nan, row.error_bound)
        rows.append(("core", row.factor, *core))
    columns = ["what", "factor", "margin", "lower", "upper", "implied", "error_bound"]
    return pd.DataFrame(rows, columns=columns)


def _text(pair: Pair | None) -> str:
    return "" if pair is None else str(pair)
