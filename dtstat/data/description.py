"""What the answers look like, and what to look at before anything is computed from them.

Also what a fit keeps of the data it was made of, in numbers: :class:`SampleFacts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dtstat.core import canvas, checks
from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.errors import InputError, shorten_middle
from dtstat.core.export import html_fragment
from dtstat.core.parallel import one_thread
from dtstat.core.saved import register
from dtstat.core.tables import Printed, Summary, Table
from dtstat.data.checks import check_finite, check_names
from dtstat.data.columns import table_numbers
from dtstat.data.containers import as_frame
from dtstat.data.items import ItemData, ItemKind, detect_kind, observed_levels
from dtstat.data.levels import count_levels
from dtstat.data.readers import items_only
from dtstat.data.screening import Limits, ScreenedData, read_scales, screen_items, screen_people

_BLOCKS = "▁▂▃▄▅▆▇█"
_BINS = 8  # bars of an item with many answers
_MOST_BARS = 11
_LONGEST_TEXT = 60


@dataclass(frozen=True, eq=False, repr=False)
class Description(Printed):
    """Items and people of a survey, as :func:`describe` found them.

    Attributes
    ----------
    items
        One row per item: item, kind, n, missing, min, max, mean, sd, skew, kurtosis, floor and
        ceiling (shares of answers at min and max), and text. Skew and kurtosis are m₃/s³ and
        m₄/s⁴ − 3, with s² the usual variance (type 3 of psych::describe). Ordered texts count
        from 1.
    findings
        One row per finding: what, where, and what to do.
    people
        One row per person: missing, longest_string, variability, distance (Mahalanobis, squared),
        distance_p (chi-square), even_odd, and flags, the indices by which the row is flagged. NaN
        where the answers do not give an index.
    level
        Share of attentive respondents whom each index flags.
    notes
        What could not be looked at, and why.
    bars
        Numbers of answers per item, from low to high, as drawn.
    """

    items: pd.DataFrame
    findings: pd.DataFrame
    people: pd.DataFrame
    level: float
    notes: tuple[str, ...]
    bars: tuple[FloatArray, ...]

    @property
    def flagged(self) -> pd.DataFrame:
        """The people who are flagged by one index or more."""
        return self.people[self.people["flags"] != ""]

    def to_frame(self) -> pd.DataFrame:
        """Return the items as a table."""
        return self.items.copy()

    def summary(self, max_rows: int = 20) -> Summary:
        """Lay out items, findings and flagged rows.

        Parameters
        ----------
        max_rows
            Rows listed as flagged, those with most flags first.
        """
        most = checks.integer("max_rows", max_rows, 0, "0 lists no rows.")
        n, p = len(self.people), len(self.items)
        gaps = int(self.items["missing"].sum())
        head = (f"{n} rows, {p} items, {gaps} missing answers ({gaps / (n * p):.1%})",)
        tables: list[Table] = [self._item_table()]
        if len(self.findings):
            tables.append(Table.from_frame(self.findings, "To look at"))
        if len(self.flagged) and most:
            tables.append(self._people_table(most))
        notes = self.notes if len(self.findings) else ("Nothing stands out.", *self.notes)
        return Summary((*head, *notes), tuple(tables))

    def _item_table(self) -> Table:
        shown = self.items.drop(columns=["kind", "text"])
        shown["answers"] = [_text_bars(counts) for counts in self.bars]
        if self.items["text"].any():
            shown["text"] = [shorten_middle(text, _LONGEST_TEXT) for text in self.items["text"]]
        for end in ("min", "max"):
            shown[end] = [f"{value:.4g}" for value in self.items[end]]
        plain = Table.from_frame(shown, "Items", digits=2)
        sides = "".join(
            "r" if name in ("min", "max") else side
            for name, side in zip(plain.headers, plain.alignment, strict=True)
        )
        return replace(plain, alignment=sides)

    def _people_table(self, most: int) -> Table:
        flagged = self.flagged
        order = flagged["flags"].str.count(",").to_numpy()
        first = flagged.iloc[np.argsort(-order, kind="stable")[:most]]
        shown = first.dropna(axis=1, how="all")
        ids = [", ".join(map(str, k)) if isinstance(k, tuple) else str(k) for k in shown.index]
        shown.insert(0, "row", ids)
        rest = len(flagged) - len(first)
        notes = [f"and {rest} more: .flagged has them all"] if rest else []
        return Table.from_frame(shown, "Rows to look at", notes, digits=2)

    def plot(self, ax: Any = None) -> Any:
        """Draw the answers of all items as bars; needs the extra ``plot``.

        Parameters
        ----------
        ax
            Axes to draw on; a new figure if None.
        """
        ax = canvas.axes(ax, max(2.0, 0.42 * len(self.items) + 0.8))
        for k, counts in enumerate(self.bars):
            if counts.sum():
                width, heights = 1 / len(counts), 0.8 * counts / counts.max()
                left = np.arange(len(counts)) * width
                ax.bar(left, heights, 0.94 * width, k - 0.4 + 0 * left, align="edge",
                       color=canvas.BLUE)  # fmt: skip
        ax.set_ylim(-0.6, len(self.items) - 0.4)
        ax.invert_yaxis()
        for bar in ax.patches:  # upwards, though the items go down
            bar.set_y(bar.get_y() + 0.8 - bar.get_height())
        ax.set_yticks(range(len(self.items)), [canvas.shorten(name) for name in self.items["item"]])
        ax.set_xticks([0, 1], ["lowest", "highest answer"])
        canvas.strip_frame(ax)
        canvas.set_titles(ax, "Answers to each item")
        return ax

    def __repr__(self) -> str:
        return self.summary().to_text()

    def _repr_html_(self) -> str:
        summary = self.summary()
        items, *others = summary.grids()
        drawn = replace(items, pictures={"answers": [*map(_drawn_bars, self.bars)]})
        return html_fragment(summary.head, [drawn, *others])


@register()
@dataclass(frozen=True)
class SampleFacts:
    """What the data of a fit were.

    Attributes
    ----------
    n_given, n_used, n_complete
        Rows given and used, and complete rows.
    kinds
        Number of items by kind.
    n_tied
        Items to which two people gave the same answer; None in files that do not say.
    """

    n_given: int
    n_used: int
    n_complete: int
    kinds: dict[str, int]
    n_tied: int | None = None

    @classmethod
    def of(cls, items: ItemData, n_used: int) -> SampleFacts:
        """Count rows, kinds of items, and items with ties."""
        answered = items.n_rows - np.isnan(items.values).sum(axis=0)
        distinct = np.array(
            [
                len(np.unique(x[~np.isnan(x)])) if own is None else len(own)
                for own, x in zip(items.levels, items.values.T, strict=True)
            ]
        )
        return cls(
            items.n_rows,
            n_used,
            items.n_complete,
            {kind: items.kinds.count(kind) for kind in dict.fromkeys(items.kinds)},
            int((distinct < answered).sum()),
        )


@np.errstate(over="ignore", invalid="ignore")  # moments of answers near the largest number
def describe(
    data: Any,
    keys: Any = None,
    limits: Limits = None,
    level: float = 0.001,
    seed: checks.Seed = 1,
) -> Description:
    """Describe items, and screen items and people before anything is computed from them.

    Anything that can be described is accepted: items without answers, constant items and codes
    such as 99 are findings here.

    Parameters
    ----------
    data
        As everywhere: DataFrame, array or path, people in rows, items in columns.
    keys
        Scales, for the even-odd index: a dict from scale to items, "-" before reversed ones, a
        structure or a fit. At least three scales of two items.
    limits
        Lowest and highest possible answer, of all items or as a dict from item to both. By default
        what labels of the file say, else the range that most ratings have.
    level
        Share of attentive respondents whom each index may flag; :mod:`dtstat.data.careless` says
        how.
    seed
        Of the simulated attentive respondents; the same seed gives the same result.

    Returns
    -------
    Description
        Prints, and has ``items``, ``findings``, ``people``, ``flagged`` and ``plot()``.

    Notes
    -----
    Flags are reasons to look, not reasons to drop a row unseen. ``benchmarks/results/screening.md``
    shows how many attentive respondents are flagged, and how many careless ones are found.

    Examples
    --------
    >>> import dtstat as dt
    >>> found = dt.describe(dt.load_dataset("likert_survey"))
    >>> print(*found.items.loc[0, ["item", "n", "missing", "min", "max"]])
    engage_1 786 14 1.0 5.0
    """
    share = checks.open_unit("level", level, "0.001 flags one attentive respondent in 1000.")
    number = checks.seed_number(seed)
    frame = items_only(data.to_frame() if isinstance(data, ItemData) else as_frame(data))
    names = [str(name) for name in frame.columns]
    check_names(names)
    if not frame.size:
        raise InputError(
            f"the data must have answers; got {frame.shape[0]} rows and {frame.shape[1]} items.",
            "data",
        )
    values, ordered = table_numbers(frame, names)
    check_finite(values, names)
    kinds = [_kind(values[:, k], ordered[k]) for k in range(len(names))]
    answers = ScreenedData.of(values, names, kinds)
    texts, labels = (frame.attrs.get(key) or {} for key in ("item_texts", "value_labels"))
    scales = read_scales(keys, answers)
    with one_thread():
        found = screen_items(answers, limits, labels)
        people, about_people, notes = screen_people(answers, scales, share, number)
    people.index = frame.index
    findings = pd.DataFrame([*found, *about_people], columns=["finding", "where", "what to do"])
    bars = tuple(answer_bars(*count_levels(column)) for column in values.T)
    items = _item_frame(answers, texts)
    return Description(items, findings, people, share, tuple(notes), bars)


def _kind(x: FloatArray, ordered: bool) -> ItemKind:
    levels = observed_levels(x)
    return detect_kind(levels, ordered) if levels else "continuous"


def _item_frame(answers: ScreenedData, texts: Mapping[str, str]) -> pd.DataFrame:
    rows = []
    for k, name in enumerate(answers.names):
        values, counts = count_levels(answers.values[:, k])
        n = int(counts.sum())
        about = {"item": name, "kind": answers.kinds[k], "n": n, "missing": len(answers.values) - n}
        rows.append({**about, **answer_moments(values, counts), "text": str(texts.get(name, ""))})
    return pd.DataFrame(rows)


def answer_moments(values: FloatArray, counts: FloatArray | IntArray) -> dict[str, float]:
    """Range, moments and shares of the ends of different answers, rising, given so many times.

    With m_k the k-th central moment and s² the variance with divisor n − 1, skew is m₃/s³ and
    kurtosis m₄/s⁴ − 3. NaN where there are too few answers.
    """
    names = ("min", "max", "mean", "sd", "skew", "kurtosis", "floor", "ceiling")
    n = float(counts.sum())
    if not n:
        return dict.fromkeys(names, np.nan)
    share = counts / n
    mean = float(share @ values)
    sd = skew = kurtosis = np.nan
    if n > 1:
        sd = float(np.sqrt(share @ (values - mean) ** 2 * (n / (n - 1))))
    if sd > 0:
        z = (values - mean) / sd
        skew, kurtosis = float(share @ z**3), float(share @ z**4 - 3)
    ends = float(values[0]), float(values[-1])
    told = (*ends, mean, sd, skew, kurtosis, float(share[0]), float(share[-1]))
    return dict(zip(names, told, strict=True))


def answer_bars(values: FloatArray, counts: FloatArray | IntArray) -> FloatArray:
    """Numbers of answers: of each one from low to high, gaps included, or in bins."""
    if not len(values):
        return np.zeros(1)
    whole = (values % 1 == 0).all() and values[-1] / 2 - values[0] / 2 < _MOST_BARS / 2
    if whole:
        bars = np.zeros(int(values[-1] - values[0]) + 1)
        bars[(values - values[0]).astype(int)] = counts
        return bars
    if len(values) <= _MOST_BARS:
        return counts.astype(float)
    half = values / 2 - values[0] / 2  # the whole range may overflow
    return np.histogram(half / half[-1], _BINS, (0.0, 1.0), weights=counts)[0].astype(float)


def _text_bars(counts: FloatArray) -> str:
    top = counts.max()
    if not top:
        return ""
    return "".join(_BLOCKS[int(np.ceil(7 * count / top))] for count in counts)


def _drawn_bars(counts: FloatArray) -> str:
    if not counts.any():
        return ""
    top, width, height = max(counts.max(), 1.0), 8, 18
    bars = "".join(
        f'<rect x="{k * width}" y="{height - height * c / top:.1f}" width="{width - 1}" '
        f'height="{height * c / top:.1f}" fill="{canvas.BLUE}"/>'
        for k, c in enumerate(counts)
    )
    size = f'width="{width * len(counts)}" height="{height}"'
    return f'<svg {size} role="img" aria-label="{_text_bars(counts)}">{bars}</svg>'
