"""The result of ``dtstat.stability``, and what is printed of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import BoolArray, IntArray
from dtstat.core.canvas import draw
from dtstat.core.saved import Saved, register
from dtstat.core.tables import Facts, Printed, Summary, Table, labeled_lines, with_texts
from dtstat.data.frame import Frame
from dtstat.dependence.maximal import HiddenPair
from dtstat.dependence.on_demand import whole_matrix
from dtstat.structure.compare import compare
from dtstat.structure.structure import Structure
from dtstat.trust.plots import STABILITY_KINDS
from dtstat.trust.resampling import Agreement, agreement

if TYPE_CHECKING:
    from dtstat.fit.result import DTFit

_SURE = 0.75  # items below are listed as unstable in the head
_STRUCTURES = 5  # listed in the table of structures


@register(
    shapes={"fit.support": "pd", "main.supports[]": "p*", "smaller[].supports[]": "p*"},
    rules={"pairs are of the items": lambda one: _pairs_exist(one)},
)
@dataclass(frozen=True, eq=False, repr=False)
class Stability(Saved, Printed):
    """How stable a structure is under resampling of the whole procedure.

    All shares are shares of resamples: how often something comes out again. They are not
    probabilities that it is right; a procedure that errs can err in the same way every time.

    Attributes
    ----------
    fit
        The fit to all rows: the reference.
    scheme
        "bootstrap" or "subsample".
    main
        Resamples that the tables are about.
    smaller
        Subsamples of other sizes, for the effect of n.
    disagreements
        Pairs whose dependence exceeds what ranks show, by more than chance, the clearest first.
    seed
        Of the resamples.
    """

    fit: DTFit
    scheme: str
    main: SampleRound
    smaller: tuple[SampleRound, ...]
    disagreements: tuple[HiddenPair, ...]
    seed: int

    @cached_property
    def _order(self) -> IntArray:
        """(p,) the items in their frame, so that the order of columns decides nothing."""
        return Frame.of(whole_matrix(self.fit.dependence).values).order

    @cached_property
    def agreement(self) -> Agreement:
        """How the resamples agree with the reference."""
        return agreement(self.fit.support, self.main.supports, self._order)

    @property
    def edges(self) -> pd.DataFrame:
        """Share of resamples in which two items share a factor, items by items."""
        names = list(self.fit.item_names)
        return pd.DataFrame(self.agreement.edges, index=names, columns=names)

    @property
    def memberships(self) -> pd.DataFrame:
        """Share of resamples in which an item is in a factor, factors matched: items by factors."""
        names = list(self.fit.item_names)
        values = self.agreement.memberships
        return pd.DataFrame(values, index=names, columns=list(self.fit.factor_names))

    @property
    def n_factors(self) -> pd.DataFrame:
        """How many resamples found each number of factors: n_factors, count, share."""
        counts = self.agreement.n_factors
        frame = pd.DataFrame({"n_factors": list(counts), "count": list(counts.values())})
        return frame.assign(share=frame["count"] / max(self.main.n_done, 1))

    @property
    def items(self) -> pd.DataFrame:
        """One row per item: factors, stability, the other factor it is in most often.

        stability is the share of resamples in which the item is in the partners of its factors and
        in no other factor; elsewhere the factor it does not belong to, but is most often in.
        """
        shares = np.where(self.fit.support, -1.0, self.agreement.memberships)
        other = shares.argmax(axis=1) if shares.shape[1] else np.zeros(len(shares), dtype=int)
        often = shares.max(axis=1, initial=0.0)
        names = self.fit.factor_names
        in_none = np.stack([~support.any(axis=1) for support in self.main.supports])
        return pd.DataFrame(
            {
                "item": list(self.fit.item_names),
                "factors": [self.fit.structure.parents(i) for i in range(len(shares))],
                "stability": self.agreement.items,
                "elsewhere": [
                    names[k] if share > 0 else "" for k, share in zip(other, often, strict=True)
                ],
                "elsewhere_share": np.maximum(often, 0.0),
                "no_factor": in_none.mean(axis=0).tolist(),
            }
        )

    @property
    def factors(self) -> pd.DataFrame:
        """One row per factor: n_items, exact (share that is the same), jaccard (mean overlap)."""
        return pd.DataFrame(
            {
                "factor": list(self.fit.factor_names),
                "n_items": self.fit.support.sum(axis=0),
                "exact": self.agreement.exact,
                "jaccard": self.agreement.jaccard,
                "items": [self.fit.structure.children(k) for k in self.fit.factor_names],
            }
        )

    @property
    def sizes(self) -> pd.DataFrame:
        """Effect of n: one row per size of subsamples, with agreement and number of factors."""
        rows = []
        for part in (*self.smaller, self.main):
            found = agreement(self.fit.support, part.supports, self._order)
            factors = np.array([support.shape[1] for support in part.supports])
            rows.append(
                {
                    "n": part.n_rows,
                    "resamples": part.n_done,
                    "scheme": "subsample" if part is not self.main else self.scheme,
                    "f1": float(found.f1.mean()),
                    "same_structure": float((found.f1 == 1).mean()),
                    "same_n_factors": float((factors == self.fit.n_factors).mean()),
                    "n_factors": float(factors.mean()),
                }
            )
        return pd.DataFrame(rows)

    @cached_property
    def structures(self) -> tuple[tuple[Structure, int], ...]:
        """Distinct structures of the resamples with their counts, the most frequent first."""
        names = self.fit.item_names
        counts = Counter(Structure(support, names) for support in self.main.supports)
        return tuple(counts.most_common())

    @property
    def alternatives(self) -> pd.DataFrame:
        """One row per structure found: count, share, n_factors, loadings that differ."""
        mine = self.fit.structure
        rows = [
            (count, count / self.main.n_done, one.n_factors, compare(one, mine).hamming)
            for one, count in self.structures
        ]
        return pd.DataFrame(rows, columns=["count", "share", "n_factors", "differs_by"])

    @property
    def disagreement(self) -> pd.DataFrame:
        """Pairs that depend more than ranks show: first, second, rank, any, excess."""
        names = self.fit.item_names
        rows = [
            (names[one.first], names[one.second], one.rank_correlation, one.any_correlation)
            for one in self.disagreements
        ]
        frame = pd.DataFrame(rows, columns=["first", "second", "rank", "any"])
        return frame.assign(excess=frame["any"] - frame["rank"])

    def tidy(self) -> pd.DataFrame:
        """One row per item and factor: share of resamples, and whether it is in the structure."""
        frame = self.memberships.rename_axis("item").reset_index()
        long = frame.melt(id_vars="item", var_name="factor", value_name="share")
        belongs = self.fit.support.T.reshape(-1)
        return long.assign(in_structure=belongs)

    def glance(self) -> pd.DataFrame:
        """One row about the whole."""
        about = {
            "scheme": self.scheme,
            "n_obs": self.fit.n_obs,
            "n_resampled": self.main.n_rows,
            "n_asked": self.main.n_asked,
            "n_done": self.main.n_done,
            "n_failed": self.main.n_failed,
            "f1": float(self.agreement.f1.mean()),
            "same_structure": float((self.agreement.f1 == 1).mean()),
            "same_n_factors": self.agreement.n_factors.get(self.fit.n_factors, 0)
            / self.main.n_done,
            "seed": self.seed,
        }
        return pd.DataFrame([about])

    def summary(self, max_rows: int = 30) -> Summary:
        """Print the stability of factors and items, at most ``max_rows`` rows per table."""
        rows = checks.integer("max_rows", max_rows, 0, "It is the number of rows of a table.")
        return stability_summary(self, rows)

    def plot(self, kind: str = "items", ax: Any = None) -> Any:
        """Draw what the resamples found; needs matplotlib (the extra ``plot``).

        Parameters
        ----------
        kind
            "items": how often items are in factors. "n_factors": how often each number of factors
            was found. "sizes": agreement against the rows of a resample.
        ax
            Axes to draw on; a new figure if None.

        Raises
        ------
        InputError
            If the kind or an option is unknown, or there is nothing to draw.
        MissingExtraError
            If matplotlib is not installed.
        """
        return draw(STABILITY_KINDS, self, kind, ax, {})

    def __repr__(self) -> str:
        f1 = self.agreement.f1.mean()
        return (
            f"Stability: {self.main.n_done} {self.scheme} resamples of {self.main.n_rows} rows, "
            f"mean agreement F1 {f1:.3f}"
        )


@register(shapes={"supports[]": "p*"})
@dataclass(frozen=True, eq=False)
class SampleRound:
    """Structures found in resamples of one size.

    Attributes
    ----------
    n_rows
        Rows of a resample.
    supports
        (p, d) what was found in each.
    n_asked, n_failed
        Resamples asked for, and those in which an item did not vary.
    """

    n_rows: int
    supports: tuple[BoolArray, ...]
    n_asked: int
    n_failed: int

    @property
    def n_done(self) -> int:
        """Resamples with a structure."""
        return len(self.supports)


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
    table = Table.from_frame(shown, "Items, the least stable first", notes)
    return with_texts(table, shown["item"], result.fit.item_texts)


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
    return Table.from_frame(shown, "Pairs that depend more than ranks show", notes)


def _pairs_exist(stability: Stability) -> bool:
    p = len(stability.fit.support)
    return all(0 <= pair.first < p and 0 <= pair.second < p for pair in stability.disagreements)
