"""The picture of the tree: items, their factors, and what one fewer factor costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dtstat.core import canvas
from dtstat.core.canvas import NO_FACTOR
from dtstat.core.errors import InputError
from dtstat.fit.dendrogram import Dendrogram, dendrogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dtstat.fit.result import DTFit


_MOST_ITEMS = 80  # named one by one; of more items, factors are the leaves
_ROW, _GAP = 0.16, 0.10  # inches of a row, and between factors
_FACTOR_ROW = 0.30  # inches of a factor that is a leaf
_LISTED = 44  # letters of the items of a factor that is a leaf
_LONGEST = 14  # letters of a factor
_NARROW = 0.8  # width of the letters of a head beside the widest
_BRACKET = 0.22  # inches from the items to the stem of their factor
_SCALE = 3.1  # inches of the axis of prices
_STEPS = (1.0, 2.0, 5.0)  # ticks in a power of ten


def draw_tree(fit: DTFit, ax: Any, texts: bool = False) -> Any:
    """Draw items and factors, joined at what one fewer factor costs; the two levels marked.

    Levels are not nested, so this is the nested tree that follows them most closely (see
    :mod:`dtstat.fit.dendrogram`). At the chosen level its factors are those of the fit.
    """
    if not fit.n_factors and fit.tree:
        raise InputError(NO_FACTOR, "kind")
    return _Drawing(fit, dendrogram(fit), ax, canvas.item_texts(fit, texts)).ax


class _Drawing:
    """Where everything stands: x is the logarithm of the price, y is in inches from the top."""

    def __init__(
        self, fit: DTFit, tree: Dendrogram, ax: Axes | None, texts: Mapping[str, str]
    ) -> None:
        self.fit, self.tree, self.texts = fit, tree, texts
        self.low, self.high = math.log10(tree.floor), math.log10(tree.top)
        self.inch = (self.high - self.low) / _SCALE  # of the figure made for it
        self.items = len(fit.item_names) <= _MOST_ITEMS
        self.rows: list[list[float]] = []  # heights of the rows of each leaf
        self.bottom = self._place()
        names = self._names()
        letters = canvas.LETTER * max(len(name) for name in names.values())
        width = max(canvas.WIDTH, letters + _BRACKET + _SCALE + 0.6)
        self.ax = canvas.axes(ax, self.bottom + 1.4, width)
        self.ax.set_ylim(self.bottom, -0.5)
        self.ax.set_xlim(self.low - (_BRACKET + 0.05) * self.inch, self.high)
        self.ax.set_yticks(list(names), list(names.values()))
        self._leaves()
        ends = self._joins()
        self._levels(ends)
        self._frame()

    def _place(self) -> float:
        """Give every row its height; return where the picture ends."""
        y = 0.0
        for leaf in self.tree.leaves:
            count = len(leaf.items) if self.items else 1
            step = _ROW if self.items else _FACTOR_ROW
            self.rows.append([y + step * k for k in range(count)])
            y += step * count + (_GAP if self.items else 0.0)
        self.outside = []
        if self.tree.outside:
            count = len(self.tree.outside) if self.items else 1
            self.outside = [y + _ROW * k for k in range(count)]
            y += _ROW * count + _GAP
        return y - (_ROW if self.items else _FACTOR_ROW) / 2

    def _names(self) -> dict[float, str]:
        """Return what stands at each height."""
        known, found = self.fit.item_names, dict[float, str]()
        for leaf, rows in zip(self.tree.leaves, self.rows, strict=True):
            own = [known[i] for i in leaf.items]
            if self.items:
                found |= dict(zip(rows, map(self._label, own), strict=True))
            else:
                found[rows[0]] = canvas.list_names(own, _LISTED)
        out = [known[i] for i in self.tree.outside]
        if self.items:
            found |= {y: self._label(name) for y, name in zip(self.outside, out, strict=True)}
        elif out:
            found[self.outside[0]] = canvas.list_names(out, _LISTED)
        return found

    def _label(self, item: str) -> str:
        return canvas.item_label(item, self.texts)

    def _color(self, node: int) -> str:
        """Color of a chosen factor and of its parts; what joins several is dark."""
        factors = {self.tree.leaves[k].factor for k in self.tree.under(node)}
        return canvas.CYCLE[factors.pop() % len(canvas.CYCLE)] if len(factors) == 1 else canvas.INK

    def _line(self, x: list[float], y: list[float], color: str, gid: str) -> None:
        style: dict[str, Any] = {"solid_capstyle": "butt", "solid_joinstyle": "miter"}
        self.ax.plot(x, y, color=color, linewidth=1.6, gid=gid, zorder=2, **style)

    def _leaves(self) -> None:
        """Draw a bracket around the items of every leaf."""
        start = self.low - _BRACKET * self.inch
        for k, rows in enumerate(self.rows):
            color = self._color(k)
            for y in rows:
                self._line([start, self.low], [y, y], color, f"item of {k}")
            self._line([self.low, self.low], [rows[0], rows[-1]], color, f"leaf {k}")
        if self.outside:
            x = [start] * len(self.outside)
            self.ax.scatter(x, self.outside, s=14, marker="x", color=canvas.GREY, zorder=2)
            y = (self.outside[0] + self.outside[-1]) / 2
            style: dict[str, Any] = {"va": "center", "color": canvas.GREY}
            x_text = self.low - 0.5 * _BRACKET * self.inch
            self.ax.text(x_text, y, "in no factor", fontsize=canvas.SMALL, **style)

    def _joins(self) -> list[tuple[float, float, float]]:
        """Draw joins; return of every node the height, and from where to where its stem goes."""
        stems = [(sum(rows) / len(rows), self.low, self.high) for rows in self.rows]
        for k, join in enumerate(self.tree.joins):
            x, node = math.log10(join.price), self.tree.n_leaves + k
            ends = []
            for part in (join.first, join.second):
                y, left, _ = stems[part]
                stems[part] = (y, left, x)
                ends.append(y)
                self._line([left, x], [y, y], self._color(part), f"stem {part}")
            self._line([x, x], ends, self._color(node), f"join {k}")
            stems.append((sum(ends) / 2, x, self.high))
        y, left, _ = stems[-1]
        end = left + 0.3 * (self.high - left)
        self._line([left, end], [y, y], self._color(len(stems) - 1), "root")
        return stems

    def _levels(self, stems: list[tuple[float, float, float]]) -> None:
        """Mark the levels that stand out, and name their factors where there is room."""
        marked = {self.fit.n_factors, self.fit.second or self.fit.n_factors}
        heads: list[tuple[float, float]] = []
        for k in sorted(marked, key=lambda k: k != self.fit.n_factors):
            if k > self.tree.n_leaves:
                continue
            chosen = k == self.fit.n_factors
            left, right = (math.log10(price) for price in self.tree.span(k))
            x = (left + right) / 2
            color, line = (canvas.INK, "-") if chosen else (canvas.GREY, (0, (4, 2)))
            words = f"{k} factor{'' if k == 1 else 's'}" + (" (chosen)" if chosen else "")
            top = self._head(x, words, color, heads)
            style: dict[str, Any] = {"color": color, "linestyle": line, "linewidth": 1.0}
            self.ax.plot([x, x], [top, self.bottom], gid=f"level {k}", zorder=1, **style)
            names = {node: self._called(node, k) for node in self.tree.nodes(k)}
            letters = min(max(map(len, names.values())), _LONGEST)
            if chosen or right - left > (letters + 2) * canvas.LETTER * self.inch:
                for node, name in names.items():
                    self._name(x, stems[node][0], name, chosen)

    def _head(self, x: float, words: str, color: str, others: list[tuple[float, float]]) -> float:
        """Write above a line, also at the ends of the picture inside it; return the height."""
        half = _NARROW * canvas.LETTER * len(words) / 2 * self.inch
        left = self.low - _BRACKET * self.inch
        middle = min(max(x, left + half), self.high - half)
        meets = any(abs(middle - other) < half + room for other, room in others)
        others.append((middle, half))
        y = -2 * _ROW if meets else -_ROW
        style: dict[str, Any] = {"ha": "center", "va": "bottom", "color": color}
        self.ax.text(middle, y - 0.03, words, fontsize=canvas.SMALL, **style)
        return y

    def _called(self, node: int, k: int) -> str:
        leaves = [self.tree.leaves[j] for j in self.tree.under(node)]
        if k > self.fit.n_factors:
            return leaves[0].name
        names = [self.fit.factor_names[j] for j in sorted({one.factor for one in leaves})]
        whole = "+".join(names)
        return whole if len(whole) <= _LONGEST else f"{names[0]}+…+{names[-1]}"

    def _name(self, x: float, y: float, name: str, chosen: bool) -> None:
        edge = canvas.INK if chosen else "none"
        shape: dict[str, Any] = {"facecolor": "white", "edgecolor": edge, "linewidth": 0.8}
        shape["boxstyle"] = "round,pad=0.25" if chosen else "square,pad=0.1"
        style: dict[str, Any] = {"ha": "center", "va": "center", "bbox": shape, "zorder": 4}
        ink = canvas.INK if chosen else "#555555"
        self.ax.text(
            x, y, canvas.shorten(name, _LONGEST), fontsize=canvas.SMALL, color=ink, **style
        )

    def _frame(self) -> None:
        ax = self.ax
        canvas.strip_frame(ax)
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ticks = _ticks(self.tree.floor, self.tree.top)
        ax.set_xticks([math.log10(tick) for tick in ticks], [f"{tick:g}" for tick in ticks])
        ax.spines["bottom"].set_bounds(self.low, self.high)
        title = f"Tree of the factors behind {len(self.fit.item_names)} items"
        label = "what one fewer factor costs (log-likelihood per person)"
        canvas.set_titles(ax, title, label)


def _ticks(low: float, high: float) -> list[float]:
    """Round prices between two, few enough to be read."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in (_STEPS, (1.0, 3.0), (1.0,)):
        ticks = [step * 10.0**power for power in powers for step in steps]
        ticks = [round(tick, 12) for tick in ticks if low <= tick <= high]
        if len(ticks) <= 6:
            break
    return ticks
