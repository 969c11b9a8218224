"""The test of a model against the saturated one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Test:
    """A test of a model against the saturated one.

    Attributes
    ----------
    chisq, df
        Likelihood-ratio statistic and degrees of freedom.
    scaling, shift
        The scaled statistic is chisq / scaling + shift; 1 and 0 if nothing is scaled.
    """

    chisq: float
    df: int
    scaling: float = 1.0
    shift: float = 0.0

    @property
    def scaled(self) -> float:
        """The scaled statistic."""
        return self.chisq / self.scaling + self.shift
