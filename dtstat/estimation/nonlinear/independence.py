"""The model without factors: every item by itself, normal or with the shares of its ratings."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.estimation.nonlinear import ratings
from dtstat.estimation.nonlinear.answer_scale import AnswerScale


@dataclass(frozen=True, eq=False)
class Independence:
    """Margins of p items.

    Attributes
    ----------
    scale
        How answers are coded.
    log_shares
        For each rating the logarithms of the shares of its answers; empty for normal items.
    """

    scale: AnswerScale
    log_shares: tuple[FloatArray, ...]

    @classmethod
    def learn(cls, X: FloatArray, scale: AnswerScale) -> Independence:
        """Learn the margins of (n, p) answers."""
        coded = scale.encode(X)
        shares = [
            np.log(np.diff(ratings.shares_up_to(coded[:, i], int(c) - 1), prepend=0, append=1))
            if c
            else np.empty(0)
            for i, c in enumerate(scale.n_categories)
        ]
        return cls(scale, tuple(shares))

    @property
    def n_parameters(self) -> float:
        """Mean and variance of a continuous item, shares of a rating less one."""
        c = self.scale.n_categories
        return float(np.where(c > 0, c - 1, 2).sum())

    def rows(self, X: FloatArray) -> FloatArray:
        """(n,) log-likelihoods of rows of answers; missing ones are left out."""
        coded = self.scale.encode(X)
        values = -0.5 * (math.log(2 * math.pi) + coded**2) + self.scale.log_jacobian(X)
        for i, shares in enumerate(self.log_shares):
            if len(shares):
                seen = ~np.isnan(coded[:, i])
                values[seen, i] = shares[coded[seen, i].astype(np.int64)]
        total: FloatArray = np.nansum(values, axis=1)
        return total
