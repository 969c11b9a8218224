"""The result of ``dtstat.certify``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from dtstat.core import canvas, checks
from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.saved import Saved, register
from dtstat.core.tables import Printed, Summary
from dtstat.dependence.measures import LATENT
from dtstat.structure.margin import local_ends
from dtstat.trust.certificate_tables import VERDICTS, certificate_summary
from dtstat.trust.certificates import Claim, separated_claims
from dtstat.trust.plots import CERTIFICATE_KINDS

_MOST_NAMED = 8  # items in a cell


@register(
    shapes={
        "item_names": "p", "members": "mp", "errors": "mp", "births": "m", "deaths": "m",
        "lower": "pp", "upper": "pp", "number_errors": "k",
        "support": "pd", "factor_names": "d", "tree": "lp",
    },
    rules={"cliques have items": lambda one: bool(one.members.any(axis=1).all())},
)  # fmt: skip
@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Saved, Printed):
    """What is certain about the dependence of the population, with one error for all of it.

    A clique is *certified* if every pair of its items depends more, in the population, than every
    pair of one member (its unique member) with an item outside. All certificates together are right
    with probability 1 − ``error``, whatever the data suggested.

    Attributes
    ----------
    item_names
        Names of the p items.
    measure, n_obs, error, min_children
        As asked for, and the number of rows.
    members
        (m, p) marks of the items of each clique of the sample, longest-lived first.
    births, deaths
        (m,) thresholds between which each is seen in the sample.
    errors
        (m, p) the smallest error at which a clique would be certified with an item as its unique
        member; 1 if never.
    lower, upper
        (p, p) simultaneous band for the values of the measure.
    number_errors
        (k,) the smallest errors at which "at least 1, 2, ... factors" would be said; empty if rows
        were not split.
    support, factor_names
        (p, d) items of the d factors that were asked about, and their names; none if none were.
    tree
        (l, p) factor of each item at the levels of one, two, ... factors of the fit that was asked
        about; no row if none was.
    guaranteed
        Whether cliques and band rest on an inequality that holds at every n.
    from_rows
        Whether errors come from rows; else from a matrix, as if rows were normal.
    ratings
        Whether any item is a rating, or has two answers.
    n_draws, seed
        Number of multiplier draws behind the band; seed of these and of the splits of the rows.
    """

    item_names: tuple[str, ...]
    measure: str
    n_obs: int
    error: float
    min_children: int
    members: BoolArray
    births: FloatArray
    deaths: FloatArray
    errors: FloatArray
    lower: FloatArray
    upper: FloatArray
    number_errors: FloatArray
    support: BoolArray
    factor_names: tuple[str, ...]
    tree: IntArray
    guaranteed: bool
    from_rows: bool
    ratings: bool
    n_draws: int
    seed: int

    @cached_property
    def certified(self) -> BoolArray:
        """(m,) whether each clique is certified."""
        marks: BoolArray = self.errors.min(axis=1, initial=1.0) <= self.error
        return marks

    @cached_property
    def separated(self) -> tuple[Claim, ...]:
        """Certified cliques of which any two have different factors behind their unique members.

        None where ratings are correlated by their ranks or codes, for how much these say of the
        variable behind an item then depends on how its answers are distributed.
        """
        if self.ratings and self.measure not in LATENT:
            return ()
        rows, items = np.nonzero(self.errors <= self.error)
        claims = [Claim(int(k), int(u)) for k, u in zip(rows, items, strict=True)]
        sizes = self.members.sum(axis=1)
        small_first = sorted(claims, key=lambda one: int(sizes[one.bar]))
        found = [separated_claims(self.members, order) for order in (claims, small_first)]
        most = max(found, key=lambda one: len(one))
        return tuple(sorted(most, key=lambda one: one.bar))

    @property
    def n_separated(self) -> int:
        """Number of certified cliques whose unique members are certified to differ."""
        return len(self.separated)

    @property
    def at_least(self) -> int | None:
        """Lower bound on the number of factors; None if rows were not split."""
        known = self.number_errors
        return int((known <= self.error).sum()) if len(known) else None

    @cached_property
    def levels(self) -> pd.DataFrame:
        """One row per number of factors: which levels of the tree the rows do not reject.

        Columns: n_factors, rejected (more factors are needed), error (the smallest at which that
        would be said; NaN where it was not tested), and, if a fit with a tree was asked about, how
        many factors of its level are certified, open and refuted, and ``possible``: the level is
        not rejected, and none of its factors is refuted. There is no upper bound on the number, for
        factors may be as small as they like. The two reasons to exclude a level have an error
        each, so that all that is excluded is rightly excluded with probability 1 − 2 ``error``.
        """
        known, last = self.number_errors, len(self.tree)
        counts = np.arange(max(len(known), last + 1 if last else 0))
        errors = np.full(len(counts), np.nan)
        errors[: len(known)] = known
        table = pd.DataFrame(
            {"n_factors": counts, "rejected": errors <= self.error, "error": errors}
        )
        if not last:
            return table
        table = table.iloc[1 : last + 1].reset_index(drop=True)
        verdicts = [self._level_verdicts(labels) for labels in self.tree]
        for verdict in VERDICTS:
            table[verdict] = [one.count(verdict) for one in verdicts]
        return table.assign(possible=~table["rejected"] & (table["refuted"] == 0))

    def _level_verdicts(self, labels: IntArray) -> list[str]:
        return [self._verdict(labels == k)[0] for k in range(labels.max() + 1)]

    @cached_property
    def factors(self) -> pd.DataFrame:
        """One row per factor that was asked about: certified, refuted or open.

        Columns: factor, items, verdict, unique_children (those certified), error (the smallest at
        which it would be certified). "refuted": by the band, the items are a clique with a unique
        member at no threshold. Empty if no structure was given.
        """
        columns = ["factor", "items", "verdict", "unique_children", "error"]
        rows = []
        for name, support in zip(self.factor_names, self.support.T, strict=True):
            verdict, errors = self._verdict(support)
            sure = self._names(errors <= self.error)
            rows.append((name, self._names(support), verdict, sure, float(errors.min())))
        return pd.DataFrame(rows, columns=columns)

    def _verdict(self, support: BoolArray) -> tuple[str, FloatArray]:
        """Say what is certain about the items of a factor; and each one's error as unique child."""
        same = np.flatnonzero((self.members == support).all(axis=1))
        errors = self.errors[same[0]] if len(same) else np.ones(len(support))
        if errors.min() <= self.error:
            return "certified", errors
        return ("refuted" if self._refuted(support) else "open"), errors

    def _refuted(self, members: BoolArray) -> bool:
        """Whether, by the band, every item ties more to one outside than some pair inside."""
        if members.all() or members.sum() < 2:
            return False
        low, high = self._strength
        inside = high[np.ix_(members, members)]
        weakest = inside[~np.eye(len(inside), dtype=bool)].min()
        return bool((low[np.ix_(members, ~members)].max(axis=1) > weakest).all())

    @cached_property
    def _strength(self) -> tuple[FloatArray, FloatArray]:
        """(p, p) bands of absolute values."""
        high = np.maximum(np.abs(self.lower), np.abs(self.upper))
        low = np.where(
            self.lower * self.upper <= 0, 0.0, np.minimum(np.abs(self.lower), np.abs(self.upper))
        )
        return low, high

    @property
    def band(self) -> pd.DataFrame:
        """One row per pair of items: first, second, and the ends of the simultaneous band."""
        i, j = np.triu_indices(len(self.item_names), 1)
        names = np.array(self.item_names, dtype=object)
        return pd.DataFrame(
            {
                "first": names[i],
                "second": names[j],
                "lower": self.lower[i, j],
                "upper": self.upper[i, j],
            }
        )

    def list_items(self, names: tuple[str, ...]) -> str:
        """Name some items in the cell of a table."""
        if len(names) == len(self.item_names):
            return "all items"
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        return " ".join(names[:_MOST_NAMED]) + more

    def _names(self, marks: BoolArray) -> tuple[str, ...]:
        return tuple(self.item_names[i] for i in np.flatnonzero(marks))

    def to_frame(self) -> pd.DataFrame:
        """One row per clique of the sample: the confidence barcode.

        Columns: items, size, certified, error (the smallest at which it would be certified),
        unique_members (those certified), birth, birth_low, birth_high, death, death_low, death_high
        (thresholds between which it is seen in the sample, and where these are in the population,
        by the band).
        """
        low, high = self._strength
        rows = []
        for k, members in enumerate(self.members):
            ends = [local_ends(strength, members, ~members) for strength in (low, high)]
            rows.append(
                {
                    "items": self._names(members),
                    "size": int(members.sum()),
                    "certified": bool(self.certified[k]),
                    "error": float(self.errors[k].min()),
                    "unique_members": self._names(self.errors[k] <= self.error),
                    "birth": float(self.births[k]),
                    "birth_low": ends[0][0],
                    "birth_high": ends[1][0],
                    "death": float(self.deaths[k]),
                    "death_low": ends[0][1],
                    "death_high": ends[1][1],
                }
            )
        columns = ["items", "size", "certified", "error", "unique_members", "birth", "birth_low"]
        columns += ["birth_high", "death", "death_low", "death_high"]
        return pd.DataFrame(rows, columns=columns)

    def tidy(self) -> pd.DataFrame:
        """One row per clique and item: whether it is a member, and the error as unique member."""
        m, p = self.members.shape
        return pd.DataFrame(
            {
                "clique": np.repeat(np.arange(1, m + 1), p),
                "item": list(self.item_names) * m,
                "member": self.members.reshape(-1),
                "error": self.errors.reshape(-1),
                "certified": np.repeat(self.certified, p),
            }
        )

    def glance(self) -> pd.DataFrame:
        """One row about the whole."""
        about = {
            "measure": self.measure,
            "n_obs": self.n_obs,
            "n_items": len(self.item_names),
            "n_cliques": len(self.members),
            "n_certified": int(self.certified.sum()),
            "n_separated": self.n_separated,
            "at_least": np.nan if self.at_least is None else self.at_least,
            "error": self.error,
        }
        return pd.DataFrame([about])

    def summary(self, max_rows: int = 20) -> Summary:
        """Say what is certified in words and tables, at most ``max_rows`` rows per table."""
        rows = checks.integer("max_rows", max_rows, 0, "It is the number of rows of a table.")
        return certificate_summary(self, rows)

    def plot(self, kind: str = "bars", ax: Any = None, **options: Any) -> Any:
        """Draw what is certified; needs matplotlib (the extra ``plot``).

        Parameters
        ----------
        kind
            "bars", the confidence barcode: the thresholds between which cliques are seen in the
            sample, certified ones in color, each with the band of its ends; at most ``max_bars``
            (20), the certified ones first, then the longest. "levels": of each level of the tree
            how many factors are certified, open and refuted, and which levels are rejected because
            more factors are needed; for a fit that was asked about.
        ax
            Axes to draw on; a new figure if None.
        options
            ``max_bars``, as said above.

        Raises
        ------
        InputError
            If the kind or an option is unknown, or there is nothing to draw.
        MissingExtraError
            If matplotlib is not installed.
        """
        return canvas.draw(CERTIFICATE_KINDS, self, kind, ax, options)

    def __repr__(self) -> str:
        return self.summary().to_text().lstrip("\n")
