"""A continuous item by its normal scores: a rising map y = h(x) through a few of its answers.

Between knots, answers with evenly spread scores, h is linear; beyond the last one it goes on as
the logarithm, h(x) = s + log(1 + b (x − a)), with the slope b of the last piece, so that an answer
farther out than any before is not taken for a miracle. Turned round (−x), an item has its scores
turned round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtstat.arrays import FloatArray

_MOST_KNOTS = 32  # even: a middle one would have two nearest answers
_FAR = 30.0  # scores beyond the last answer: what lies farther is not a number anybody gave
_SLOPES = (1e-280, 1e280)  # so that logarithms and products stay numbers


@dataclass(frozen=True, eq=False)
class NormalScores:
    """The map of one item.

    Attributes
    ----------
    answers, scores
        (k,) knots, rising; none if the item is left as it was measured.
    """

    answers: FloatArray
    scores: FloatArray

    @classmethod
    def learn(cls, x: FloatArray) -> NormalScores:
        """Learn the map of an item that varies; NaN for missing answers."""
        from scipy.special import ndtri

        answers, counts = np.unique(x[~np.isnan(x)], return_counts=True)
        scores = ndtri((np.cumsum(counts) - counts / 2) / counts.sum())
        scores = scores / np.sqrt(counts @ scores**2 / counts.sum())
        wanted = np.linspace(scores[0], scores[-1], _MOST_KNOTS)
        middles = (scores[1:] + scores[:-1]) / 2
        kept = np.unique(np.searchsorted(middles, wanted))  # the nearest
        return cls(answers[kept], scores[kept])

    @classmethod
    def none(cls) -> NormalScores:
        """Return the map of an item that needs none."""
        return cls(np.empty(0), np.empty(0))

    @property
    def used(self) -> bool:
        """Whether the item is known by its scores."""
        return len(self.answers) > 0

    @property
    def _slopes(self) -> FloatArray:
        with np.errstate(over="ignore", divide="ignore"):
            slopes: FloatArray = np.diff(self.scores) / np.diff(self.answers)
        return slopes.clip(*_SLOPES)

    def encode(self, x: FloatArray) -> FloatArray:
        """(n,) scores of answers; NaN stays NaN."""
        below, above = self._beyond(x)
        inside: FloatArray = np.interp(x, self.answers, self.scores)
        return inside + np.log1p(above) - np.log1p(below)

    def log_slope(self, x: FloatArray) -> FloatArray:
        """(n,) log h'(x); at a knot the mean of both sides, so that no direction is preferred."""
        logs, last = np.log(self._slopes), len(self.answers) - 2
        sides = (
            logs[(np.searchsorted(self.answers, x, side) - 1).clip(0, last)]
            for side in ("left", "right")
        )
        below, above = self._beyond(x)
        slope: FloatArray = sum(sides) / 2 - np.log1p(above) - np.log1p(below)
        return slope

    def decode(self, y: FloatArray) -> FloatArray:
        """(n,) answers of scores."""
        slopes = self._slopes
        above = np.expm1((y - self.scores[-1]).clip(0, _FAR)) / slopes[-1]
        below = np.expm1((self.scores[0] - y).clip(0, _FAR)) / slopes[0]
        answers: FloatArray = np.interp(y, self.scores, self.answers) + above - below
        return answers

    def _beyond(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How far answers lie beyond the knots, in scores of the last pieces."""
        slopes = self._slopes
        below = np.maximum(self.answers[0] - x, 0) * slopes[0]
        return below, np.maximum(x - self.answers[-1], 0) * slopes[-1]
