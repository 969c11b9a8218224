"""The printed stability."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dtstat.report import Summary, Table

if TYPE_CHECKING:
    from dtstat.results.trust.stability import Stability

_SURE = 0.75  # items below are listed as unstable in the head
_STRUCTURES = 5


def stability_summary(result: Stability, max_rows: int) -> Summary:
    """Head, factors, items, other structures, effect of n, disagreements."""
    tables = [_factors(result), _items(result, max_rows)]
    tables += [_alternatives(result)]
    tables += [_sizes(result)] if result.smaller else []
    tables += [_disagreement(result, max_rows)] if result.disagreements else []
    return Summary(_head(result), tuple(tables))


def _head(result: Stability) -> tuple[str, ...]:
    fit, main, found = result.fit, result.main, result.agreement
    plural = "" if fit.n_factors == 1 else "s"
    counts = ", ".join(f"{d} in {count / main.n_done:.1%}" for d, count in found.n_factors.items())
    how = "with" if result.scheme == "bootstrap" else "without"
    lines = [
        f"Stability of {fit.n_factors} factor{plural} behind {len(fit.item_names)} items",
        f"Resamples:         {main.n_done} of {main.n_rows} rows drawn {how} replacement from "
        f"{fit.n_obs}, seed {result.seed}",
        f"Number of factors: {counts} of the resamples",
        f"Same structure:    in {(found.f1 == 1).mean():.1%} of the resamples; mean agreement F1 "
        f"{found.f1.mean():.3f}",
    ]
    unstable = [
        name for name, share in zip(fit.item_names, found.items, strict=True) if share < _SURE
    ]
    if unstable:
        lines.append(f"Unstable (< 75 %): {', '.join(unstable)}")
    if main.n_failed:
        lines.append(f"{main.n_failed} resamples could not be used: an item did not vary in them.")
    if main.n_done + main.n_failed < main.n_asked:
        lines.append(f"Interrupted: {main.n_asked} resamples were asked for.")
    return tuple(lines)


def _factors(result: Stability) -> Table:
    frame = result.factors.rename(columns={"n_items": "size", "jaccard": "overlap"})
    frame = frame.assign(items=frame["items"].map(" ".join))
    notes = [
        "exact: share of resamples with the same items; overlap: mean |A ∩ B| / |A ∪ B|.",
        "A share of resamples says how often a result comes out again, not how likely it is right.",
    ]
    return Table.from_frame(frame, "Factors", notes)


def _items(result: Stability, max_rows: int) -> Table:
    frame = result.items.sort_values("stability", kind="stable")
    frame = frame.assign(factors=frame["factors"].map(" ".join))
    shown = frame.head(max_rows).rename(
        columns={"elsewhere_share": "share", "no_factor": "in none"}
    )
    notes = ["stability: share of resamples in which the item is where it is here, and only there."]
    if len(shown) < len(frame):
        notes.append(f"{len(frame) - len(shown)} more stable items not shown.")
    return Table.from_frame(shown, "Items, the least stable first", notes)


def _alternatives(result: Stability) -> Table:
    frame = result.alternatives
    shown = frame.head(_STRUCTURES).rename(columns={"n_factors": "factors"})
    shown = shown.rename(columns={"differs_by": "loadings that differ"})
    rest = len(frame) - len(shown)
    notes = [f"{rest} rarer structures not shown."] if rest > 0 else []
    return Table.from_frame(shown, "Structures found most often", notes)


def _sizes(result: Stability) -> Table:
    frame = result.sizes.rename(
        columns={
            "same_structure": "same structure",
            "same_n_factors": "same number",
            "n_factors": "mean factors",
        }
    )
    return Table.from_frame(frame, "Effect of the number of rows")


def _disagreement(result: Stability, max_rows: int) -> Table:
    frame = result.disagreement
    shown = frame.head(min(max_rows, 10))
    notes = ["any: correlation after the best functions of both items; rank: Spearman's."]
    if len(shown) < len(frame):
        notes.append(f"{len(frame) - len(shown)} more pairs not shown.")
    return Table.from_frame(shown, "Pairs that depend by more than ranks show", notes)
