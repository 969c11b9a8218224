"""What is printed of the stability of a structure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dtstat.core.tables import Facts, Summary, Table, labeled_lines

if TYPE_CHECKING:
    from dtstat.trust.stability import Stability

_SURE = 0.75  # items below are listed as unstable in the head
_STRUCTURES = 5  # listed in the table of structures


def stability_summary(result: Stability, max_rows: int) -> Summary:
    """Head, factors, items, other structures, effect of n, disagreements."""
    tables = [_factor_table(result), _item_table(result, max_rows), _structure_table(result)]
    tables += [_size_table(result)] if result.smaller else []
    tables += [_pair_table(result, max_rows)] if result.disagreements else []
    head = (stability_title(result), *labeled_lines(stability_facts(result)))
    return Summary(head, tuple(tables))


def stability_title(result: Stability) -> str:
    """Return the first line of what is printed."""
    d, p = result.fit.n_factors, len(result.fit.item_names)
    return f"Stability of {d} factor{'' if d == 1 else 's'} behind {p} items"


def stability_facts(result: Stability) -> Facts:
    """Return what is said of the whole, each with its label."""
    fit, main, found = result.fit, result.main, result.agreement
    counts = ", ".join(f"{d} in {count / main.n_done:.1%}" for d, count in found.n_factors.items())
    how = "with" if result.scheme == "bootstrap" else "without"
    drawn = f"{main.n_done} of {main.n_rows} rows drawn {how} replacement from {fit.n_obs}"
    same = f"in {(found.f1 == 1).mean():.1%} of the resamples"
    facts = [
        ("Resamples", f"{drawn}, seed {result.seed}"),
        ("Number of factors", f"{counts} of the resamples"),
        ("Same structure", f"{same}; mean agreement F1 {found.f1.mean():.3f}"),
    ]
    unstable = [
        name for name, share in zip(fit.item_names, found.items, strict=True) if share < _SURE
    ]
    if unstable:
        facts.append(("Unstable (< 75 %)", ", ".join(unstable)))
    if main.n_failed:
        lost = f"{main.n_failed} resamples could not be used: an item did not vary in them."
        facts.append(("", lost))
    if main.n_done + main.n_failed < main.n_asked:
        facts.append(("", f"Interrupted: {main.n_asked} resamples were asked for."))
    return tuple(facts)


def _factor_table(result: Stability) -> Table:
    frame = result.factors.rename(columns={"n_items": "size", "jaccard": "overlap"})
    frame = frame.assign(items=frame["items"].map(" ".join))
    notes = [
        "exact: share of resamples with the same items; overlap: mean |A ∩ B| / |A ∪ B|.",
        "A share of resamples says how often a result comes out again, not how likely it is right.",
    ]
    return Table.from_frame(frame, "Factors", notes)


def _item_table(result: Stability, max_rows: int) -> Table:
    frame = result.items.sort_values("stability", kind="stable")
    frame = frame.assign(factors=frame["factors"].map(" ".join))
    shown = frame.head(max_rows).rename(
        columns={"elsewhere_share": "share", "no_factor": "in none"}
    )
    notes = ["stability: share of resamples in which the item is where it is here, and only there."]
    if len(shown) < len(frame):
        notes.append(f"{len(frame) - len(shown)} more stable items not shown.")
    return Table.from_frame(shown, "Items, the least stable first", notes)


def _structure_table(result: Stability) -> Table:
    frame = result.alternatives
    shown = frame.head(_STRUCTURES).rename(columns={"n_factors": "factors"})
    shown = shown.rename(columns={"differs_by": "loadings that differ"})
    rest = len(frame) - len(shown)
    notes = [f"{rest} rarer structures not shown."] if rest > 0 else []
    return Table.from_frame(shown, "Structures found most often", notes)


def _size_table(result: Stability) -> Table:
    frame = result.sizes.rename(
        columns={
            "same_structure": "same structure",
            "same_n_factors": "same number",
            "n_factors": "mean factors",
        }
    )
    return Table.from_frame(frame, "Effect of the number of rows")


def _pair_table(result: Stability, max_rows: int) -> Table:
    frame = result.disagreement
    shown = frame.head(min(max_rows, 10))
    notes = ["any: correlation after the best functions of both items; rank: Spearman's."]
    if len(shown) < len(frame):
        notes.append(f"{len(frame) - len(shown)} more pairs not shown.")
    return Table.from_frame(shown, "Pairs that depend by more than ranks show", notes)
