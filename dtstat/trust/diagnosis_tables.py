"""The tables of a diagnosis: first its numbers as data frames, then what is printed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dtstat.core.arrays import BoolArray, IntArray
from dtstat.core.tables import Facts, Summary, Table, labeled_lines, with_texts
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.on_demand import whole_matrix
from dtstat.fit.frames import chosen_candidate
from dtstat.structure.margin import LocalMargin, Pair, local_margin_of
from dtstat.trust.bounds import Bound, bounds
from dtstat.trust.sample_size import union_bound
from dtstat.trust.unique_child import UniqueChildAudit, audit

if TYPE_CHECKING:
    from dtstat.fit.result import DTFit
    from dtstat.trust.certificate import Certificate
    from dtstat.trust.diagnosis import Diagnosis

_MOST_ITEMS = 8  # named in a cell
_HEADERS = {
    "n_items": "items",
    "n_unique": "unique",
    "weakest_within": "weakest within",
    "unique_children": "which",
    "core_margin": "margin",
    "core_lower": "lower",
    "core_upper": "upper",
    "bound": "missed",
    "own": "its own",
    "missing_edges": "lacks edges to",
    "would_need": "all below",
}
# Of one factor and of several, by the verdicts of ``factor_frame``.
_VERDICTS = {
    "firm": (
        "clearly supported at its own thresholds",
        "clearly supported, each at its own thresholds",
    ),
    "unsure": ("not distinguishable from chance",) * 2,
    "seen": ("seen at its own thresholds", "seen, each at its own thresholds"),
    "no core": ("seen at no threshold",) * 2,
}


def factor_frame(diagnosis: Diagnosis) -> pd.DataFrame:
    """One row per factor with its margin, its core's, and the bound of this."""
    fit = diagnosis.fit
    core_sets = core_support(fit)
    none = np.full((fit.n_factors, 2), np.nan)
    intervals = diagnosis.intervals
    whole = none if intervals is None else intervals.factors
    core = none if intervals is None else intervals.cores
    rows = []
    for k, local in enumerate(diagnosis.margin.factors):
        members = core_sets[:, k]
        clique = None
        if members.any():
            clique = local_margin_of(fit.dependence.strength, members, fit.item_names, "core")
        verdict = "no core"
        if clique is not None:
            lower = core[k, 0]
            verdict = "seen" if np.isnan(lower) else "firm" if lower > 0 else "unsure"
        rows.append(
            {
                "factor": local.factor,
                "n_items": len(local.items),
                "margin": local.value,
                "lower": whole[k, 0],
                "upper": whole[k, 1],
                "weakest_within": _pair(local.weakest),
                "outside": _pair(local.outside),
                "core": () if clique is None else clique.items,
                "core_margin": np.nan if clique is None else clique.value,
                "core_lower": core[k, 0],
                "core_upper": core[k, 1],
                "core_weakest": "" if clique is None else _pair(clique.weakest),
                "core_outside": "" if clique is None else _pair(clique.outside),
                "error_bound": _core_error_bound(fit, members, clique, diagnosis.bound),
                "error_normal": _core_error_bound(fit, members, clique, diagnosis.normal),
                "verdict": verdict,
            }
        )
    return pd.DataFrame(rows)


def _core_error_bound(
    fit: DTFit, members: BoolArray, core: LocalMargin | None, bound: Bound | None
) -> float:
    """Bound P(the core is missed): pairs within it, and of its loosest item with the outside."""
    if core is None or bound is None:
        return np.nan
    if core.value <= 0:
        return 1.0
    rows = _rows_of_pairs(whole_matrix(fit.dependence))
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


def _pair(pair: Pair | None) -> str:
    return "" if pair is None else str(pair)


def core_support(fit: DTFit) -> BoolArray:
    """(p, d) the cliques that the factors are read off; empty for a factor without one."""
    found = np.zeros_like(fit.support)
    for k, items in enumerate(fit.factors["core"]):
        found[:, k] = np.isin(np.asarray(fit.item_names, dtype=object), list(items))
    return found


def threshold_gap(fit: DTFit) -> tuple[float, float] | None:
    """Absolute dependences next below and above the threshold of the chosen structure."""
    chosen = chosen_candidate(fit)
    if chosen is None:
        return None
    tau = chosen.tau_low
    strength = fit.dependence.strength[np.triu_indices(len(fit.item_names), 1)]
    below, above = strength[strength <= tau], strength[strength > tau]
    return float(below.max(initial=0.0)), float(above.min(initial=1.0))


def graph_error_bound(matrix: DependenceMatrix, margin: float, bound: Bound) -> float:
    """Bound P(Ê ≠ E₀) for a margin, each pair with its own rows."""
    if margin <= 0:
        return 1.0
    return union_bound(bound, _rows_of_pairs(matrix)[np.triu_indices(matrix.n_items, 1)], margin)


def unique_child_audit(fit: DTFit) -> UniqueChildAudit:
    """Audit the structure at the thresholds its factors are seen from."""
    strength, core_sets = fit.dependence.strength, core_support(fit)
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
            "n": _rows_of_pairs(whole_matrix(fit.dependence))[i, j],
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


def diagnosis_summary(diagnosis: Diagnosis, max_rows: int) -> Summary:
    """Head, margins, factors, unique children, items that are left out."""
    tables = (
        _factor_table(diagnosis),
        _core_table(diagnosis),
        _unique_table(diagnosis),
        _dropping_table(diagnosis, max_rows),
        _outside_table(diagnosis, max_rows),
    )
    head = (diagnosis_title(diagnosis), *labeled_lines(diagnosis_facts(diagnosis)))
    return Summary(head, tuple(table for table in tables if table is not None))


def diagnosis_title(diagnosis: Diagnosis) -> str:
    """Return the first line of what is printed."""
    d, p = diagnosis.fit.n_factors, len(diagnosis.fit.item_names)
    return f"How far to trust {d} factor{'' if d == 1 else 's'} behind {p} items"


def diagnosis_facts(diagnosis: Diagnosis) -> Facts:
    """Return what is said of the whole, each with its label."""
    found = diagnosis.factors.groupby("verdict", sort=False)["factor"].agg(list)
    support = (
        f"{words[len(found[key]) > 1]}: {', '.join(found[key])}"
        for key, words in _VERDICTS.items()
        if key in found
    )
    facts = [
        ("Data", f"{diagnosis.fit.n_obs} rows, {diagnosis.measure} dependence"),
        ("Thresholdable", diagnosis.verdict),
        ("Margin", _margin_text(diagnosis)),
        ("Wrong graph", _graph_text(diagnosis)),
        ("Factors", "; ".join(support)),
        ("Unique children", _unique_text(diagnosis.audit)),
    ]
    if diagnosis.gap is not None:
        low, high = diagnosis.gap
        facts.insert(3, ("Threshold", f"no dependence lies between {low:.3f} and {high:.3f}"))
    if diagnosis.certificate is not None:
        facts.append(("Certified", _certified_text(diagnosis, diagnosis.certificate)))
    if diagnosis.intervals is None:
        facts.append(("", "Intervals need the answers: diagnose(fit, data)."))
    return tuple(facts)


def _certified_text(diagnosis: Diagnosis, certificate: Certificate) -> str:
    """Say which factors, or the cliques they are read off, are cliques of the population."""
    sure = {members.tobytes() for members in certificate.members[certificate.certified]}
    parts = []
    for support, what in ((diagnosis.fit.support, ""), (core_support(diagnosis.fit), "core of ")):
        names = diagnosis.fit.factor_names
        found = [n for n, one in zip(names, support.T, strict=True) if one.tobytes() in sure]
        parts += [what + name for name in found if name not in parts]
    percent = f"{100 * certificate.error:g} %"
    text = f"{', '.join(parts) or 'no factor'} (error at most {percent} for all)"
    if certificate.at_least is not None:
        text += f"; at least {certificate.at_least} factors, small ones included (error {percent})"
    return text


def _margin_text(diagnosis: Diagnosis) -> str:
    text = f"{diagnosis.margin.value:.3f}"
    if diagnosis.intervals is not None:
        (low, high), failed = diagnosis.intervals.whole, diagnosis.intervals.n_failed
        unused = f", {failed} more could not be used" if failed else ""
        count = f"{diagnosis.intervals.n_boot} resamples{unused}"
        text += f" (95 % interval {low:.3f} to {high:.3f}, {count})"
    if diagnosis.implied_margin is not None:
        how = " (simulated)" if diagnosis.implied_is_simulated else ""
        text += f"; the fitted model implies {diagnosis.implied_margin.value:.3f}{how}"
    return text


def _graph_text(diagnosis: Diagnosis) -> str:
    bound = diagnosis.bound
    if not diagnosis.margin.satisfied:
        return "no single threshold gives this structure; each factor has its own, see below"
    if bound is None:
        return f"{_no_bound(diagnosis)} (see bounds())"
    return (
        f"probability at most {_probability(diagnosis.error_bound)} at the threshold in the middle "
        f"of the gap, if the population has this margin ({bound.formula} per pair; for "
        f"{bound.holds_for}). At another threshold another structure may have a margin."
    )


def _no_bound(diagnosis: Diagnosis) -> str:
    """Say why there is no inequality."""
    if diagnosis.measure in bounds().index:
        have = "has" if diagnosis.n_tied == 1 else "have"
        return (
            f"no guarantee, because the bound for '{diagnosis.measure}' requires items without "
            f"ties, and {diagnosis.n_tied} of the {len(diagnosis.fit.item_names)} items {have} "
            "ties; use plan() to simulate"
        )
    return f"no inequality is known for the measure '{diagnosis.measure}'"


def _unique_text(audit: UniqueChildAudit) -> str:
    if not audit.satisfied:
        without = audit.factors.loc[audit.factors["n_unique"] == 0, "factor"]
        have = "has none" if len(without) == 1 else "have none"
        return f"{', '.join(without)} {have}: the condition is violated"
    if audit.fragile:
        items = ", ".join(audit.fragile)
        return f"every factor has one; removing any one of these items would lose a factor: {items}"
    return "every factor has at least two; no factor depends on a single item"


def _factor_table(diagnosis: Diagnosis) -> Table:
    frame = diagnosis.factors
    shown = frame[["factor", "n_items", "margin", "lower", "upper", "weakest_within", "outside"]]
    shown = _drop_empty_intervals(shown, diagnosis).rename(columns=_HEADERS)
    notes = [
        "margin: half the difference between the weakest pair within the factor and the pair under",
        "'outside'; positive if one threshold shows all its items together. outside: the strongest",
        "link to the outside of the item least connected to it.",
    ]
    return Table.from_frame(shown, "Margin of each factor, all its items", notes)


def _core_table(diagnosis: Diagnosis) -> Table:
    frame = diagnosis.factors
    shown = frame[["factor", "verdict", "core_margin", "core_lower", "core_upper"]].assign(
        bound=[_probability(value) for value in frame["error_bound"]],
        normal=[_probability(value) for value in frame["error_normal"]],
        core=[_first_names(items) for items in frame["core"]],
    )
    offered = {"bound": diagnosis.bound, "normal": diagnosis.normal}
    shown = shown.drop(columns=[name for name, bound in offered.items() if bound is None])
    shown = _drop_empty_intervals(shown, diagnosis).rename(columns=_HEADERS)
    notes = [
        "core: the clique that the factor is read off; firm: its margin is above 0 beyond chance."
    ]
    if diagnosis.bound is not None:
        notes += [
            "missed: the probability that the core is not among the cliques of the path is at most "
            "this,",
            f"if its margin in the population is as here (for {diagnosis.bound.holds_for}).",
        ]
    else:
        notes.append(f"Probability of missing a core: {_no_bound(diagnosis)}.")
    if diagnosis.normal is not None:
        notes.append("normal: the same bound by a normal approximation; no guarantee.")
    return Table.from_frame(shown, "How well each factor is supported", notes)


def _unique_table(diagnosis: Diagnosis) -> Table:
    frame = diagnosis.audit.factors
    names = [_first_names(items) for items in frame["unique_children"]]
    shown = frame.assign(unique_children=names).rename(columns=_HEADERS)
    return Table.from_frame(shown, "Unique children (items of no other factor)")


def _dropping_table(diagnosis: Diagnosis, max_rows: int) -> Table | None:
    """Items without which a factor is lost, or no longer seen at any threshold."""
    frame = diagnosis.audit.dropping
    before = {one.factor: one.value for one in diagnosis.margin.factors}
    rows = []
    for item, factors, lost, into, change in zip(
        *(frame[c] for c in ("item", "factors", "lost", "merged_into", "margin_change")),
        strict=True,
    ):
        own = min((before[factor] for factor in factors), default=0.0)
        gone, home = " ".join(lost), " ".join(into)
        if lost:
            rows.append((item, f"{gone} merges into {home}" if into else f"{gone} is lost"))
        elif own > 0 >= own + change:
            at_home = " ".join(factors)
            rows.append((item, f"{at_home}: no threshold shows all its other items together"))
    if not rows:
        return None
    shown = pd.DataFrame(rows[:max_rows], columns=["item", "without it"])
    table = Table.from_frame(shown, "Items without which a factor is lost or harder to see")
    return with_texts(table, shown["item"], diagnosis.fit.item_texts)


def _outside_table(diagnosis: Diagnosis, max_rows: int) -> Table | None:
    """For every item outside the cores its own factor, or the one it lacks the fewest edges to."""
    frame = diagnosis.audit.outside
    if frame.empty:
        return None
    nearest = frame.sort_values(["own", "share"], ascending=[False, True], kind="stable")
    nearest = nearest.groupby("item", sort=False).head(1).sort_index()
    shown = nearest.assign(
        missing_edges=[_first_names(items) for items in nearest["missing_edges"]],
        own=["yes" if own else "no" for own in nearest["own"]],
    )[["item", "factor", "own", "missing_edges", "threshold", "would_need"]]
    notes = [
        "At the lowest threshold that shows the core, the item has no edge to these members; below",
        "the threshold in the last column it would be joined to all of them. More: audit.outside.",
    ]
    if len(shown) > max_rows:
        notes.append(f"{len(shown) - max_rows} items not shown.")
    title = "Items outside the cores, and the edges they lack"
    table = Table.from_frame(shown.head(max_rows).rename(columns=_HEADERS), title, notes)
    return with_texts(table, shown["item"].head(max_rows), diagnosis.fit.item_texts)


def _drop_empty_intervals(frame: pd.DataFrame, diagnosis: Diagnosis) -> pd.DataFrame:
    """Leave out columns of intervals if there are none."""
    if diagnosis.intervals is not None:
        return frame
    return frame.drop(columns=[c for c in frame if str(c).endswith(("lower", "upper"))])


def _first_names(names: tuple[str, ...]) -> str:
    more = len(names) - _MOST_ITEMS
    return " ".join(names[:_MOST_ITEMS]) + (f" and {more} more" if more > 0 else "")


def _probability(value: float) -> str:
    if math.isnan(value):
        return "unknown"
    return f"{value:.2g}" if value < 0.995 else "1"
