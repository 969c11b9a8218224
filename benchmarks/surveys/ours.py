"""What dtstat finds in keyed surveys: the number of factors given, the default, other levels."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import dtstat as dt
from benchmarks.surveys.keyed import Survey
from dtstat.fit.pipeline import at_level


@dataclass(frozen=True, eq=False)
class Ours:
    """The fits of one survey.

    Attributes
    ----------
    survey
        The survey.
    fit
        The default.
    told, told_factors
        F₁ with the number of scales given, and the number of factors of that fit.
    seconds, seconds_told
        CPU time of the default and of the fit with the number given.
    f1
        F₁ of the levels that were asked for so far.
    """

    survey: Survey
    fit: dt.DTFit
    told: float
    told_factors: int
    seconds: float
    seconds_told: float
    f1: dict[int, float]

    def at(self, k: int) -> float:
        """F₁ of the level with k factors."""
        if k not in self.f1:
            support, names = self.fit.support, self.fit.item_names
            if k != self.fit.n_factors:
                with warnings.catch_warnings(action="ignore"):
                    support = at_level(self.fit, k, ("",) * k, (), tested=False).support
            found = dt.compare(dt.Structure(support, names), self.survey.truth)
            self.f1[k] = float(found.f1)
        return self.f1[k]

    @property
    def default(self) -> float:
        """F₁ of the answer; no factor at all scores 0."""
        return self.at(self.fit.n_factors) if self.fit.n_factors else 0.0

    @property
    def better(self) -> float:
        """F₁ of the better of the two levels that are printed."""
        second = self.fit.second
        return self.default if second is None else max(self.default, self.at(second))

    def row(self) -> dict[str, Any]:
        """Return a line of the table."""
        return {
            "set": self.survey.group,
            "survey": self.survey.name,
            "n": self.survey.n_obs,
            "items": self.survey.data.shape[1],
            "scales": len(self.survey.key),
            "given": self.told,
            "default": self.default,
            "better": self.better,
            "chosen": self.fit.n_factors,
            "second": "-" if self.fit.second is None else self.fit.second,
            "supported": self.fit.supported,
            "CPU s": self.seconds,
            "CPU s, given": self.seconds_told,
        }


def warm_up() -> None:
    """Compile what a first fit compiles, so that no survey pays for it."""
    data = dt.load_dataset("holzinger_swineford_9")
    dt.fit(data, n_factors=dt.fit(data).n_factors)
    dt.fit(dt.dependence(data))


def fit_survey(survey: Survey) -> Ours:
    """Fit as a user would: the answers, or the published matrix."""
    data = survey.dependence() if survey.is_matrix else survey.data
    with warnings.catch_warnings(action="ignore"):
        fit, seconds = _timed(data)
        told, seconds_told = _timed(data, n_factors=len(survey.key))
        score = float(dt.compare(told.structure, survey.truth).f1)
    return Ours(survey, fit, score, told.n_factors, seconds, seconds_told, {})


def _timed(data: Any, **arguments: Any) -> tuple[dt.DTFit, float]:
    start = time.process_time()
    return dt.fit(data, **arguments), time.process_time() - start
