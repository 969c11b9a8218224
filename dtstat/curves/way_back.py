"""From the frames of items and factors, in which curves are fitted, to these as they are given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.curves.estimate import CurveModel
from dtstat.curves.response_model import Edges
from dtstat.data.frame import Frame


@dataclass(frozen=True, eq=False)
class Shape:
    """Slopes and shares of variance.

    Attributes
    ----------
    slope, loading
        (E,) of the edges, sorted by item.
    r2_map, r2_line
        (p,) of the items; 0 for items without factors.
    """

    slope: FloatArray
    loading: FloatArray
    r2_map: FloatArray
    r2_line: FloatArray


@dataclass(frozen=True, eq=False)
class WayBack:
    """Brings what belongs to edges in the frames of items and factors to these as they are given.

    Attributes
    ----------
    items, factors
        The frames.
    edges
        The item–factor pairs as given, sorted by item.
    numbers
        (E,) where each of them is in the frames.
    """

    items: Frame
    factors: Frame
    edges: Edges
    numbers: IntArray

    @classmethod
    def of(cls, model: CurveModel, items: Frame | None, factors: Frame | None) -> WayBack:
        """Find the edges of a model in frames; None for items or factors as given."""
        p, d = model.support.shape
        items, factors = items or Frame.as_they_are(p), factors or Frame.as_they_are(d)
        there = np.cumsum(model.support).reshape(p, d) - 1
        places = np.ix_(items.place, factors.place)
        edges = Edges.of(model.support[places])
        return cls(items, factors, edges, there[places][edges.item, edges.factor])

    def shape(self, there: Shape) -> Shape:
        """Bring slopes, loadings and shares of variance back."""
        edges, place = self.edges, self.items.place
        signs = self.items.signs[edges.item] * self.factors.signs[edges.factor]
        return Shape(
            there.slope[self.numbers],
            there.loading[self.numbers] * signs,
            there.r2_map[place],
            there.r2_line[place],
        )

    def curves(self, values: FloatArray) -> FloatArray:
        """(E, G) mean answers on a grid symmetric around 0, in the units of the answers."""
        values = values[self.numbers]
        turned = self.factors.signs[self.edges.factor] < 0
        values[turned] = values[turned, ::-1]
        own: FloatArray = values * self.items.signs[self.edges.item][:, None]
        return own
