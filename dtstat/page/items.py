"""The part about items: what people answered, and how reliable the sum of a factor's items is.

Both are those of :func:`dtstat.describe` and ``fit.reliability()``. A fit that was saved has no
answers any more: its page says what margins and correlations tell.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.errors import InputError
from dtstat.data.description import answer_bars, answer_moments
from dtstat.data.levels import count_levels
from dtstat.page.document import numbers_of

if TYPE_CHECKING:
    from dtstat.fit.result import DTFit

_SUMS = ("alpha", "alpha_lower", "alpha_upper", "omega", "omega_lower", "omega_upper")


def item_texts(fit: DTFit) -> list[str]:
    """Return the text of every item; "" where there is none."""
    return [fit.item_texts.get(name, "") for name in fit.item_names]


def has_answers(fit: DTFit) -> bool:
    """Whether the fit still has the answers it was made from."""
    return fit.source is not None and fit.source.answers is not None


def descriptives(fit: DTFit) -> list[dict[str, Any]]:
    """One record per item: n, min, max, mean, sd, skew, kurtosis, floor, ceiling, bars.

    Without the answers they are moments of the margin that the fit keeps: of up to 257 different
    answers all, with their shares; of more some that are spread evenly, which moves mean and
    standard deviation by less than a hundredth of the latter. Where margins are straight lines,
    mean and standard deviation are known, and no more. Empty for a fit to a matrix.
    """
    if fit.source is not None and fit.source.answers is not None:
        return [_described(*count_levels(column)) for column in fit.source.answers.values.T]
    if fit.marginals is None:
        return []
    pairs = fit.dependence.pairwise_n
    counts = np.full(len(fit.item_names), fit.n_obs) if pairs is None else np.diag(pairs)
    known = fit.marginals
    margins = zip(known.answers, known.scores, known.thresholds, counts, strict=True)
    return [_margin(answers, scores, cuts, int(n)) for answers, scores, cuts, n in margins]


def _margin(answers: FloatArray, scores: FloatArray, cuts: FloatArray, n: int) -> dict[str, Any]:
    if not len(cuts):  # answers are a straight line over their standard scores
        center, above = np.interp([0.0, 1.0], scores, answers).tolist()
        return {"n": n, "mean": center, "sd": (above - center) * math.sqrt(n / (n - 1))}
    shares = np.diff(ndtr(np.concatenate([[-np.inf], cuts, [np.inf]])))
    return _described(answers, n * shares)


def _described(values: FloatArray, counts: FloatArray | IntArray) -> dict[str, Any]:
    n = float(counts.sum())
    shares = [round(float(count) / n, 4) for count in answer_bars(values, counts)]
    moments = answer_moments(values, counts)  # some are no numbers where all answers are the same
    known = dict(zip(moments, numbers_of(list(moments.values())), strict=True))
    return {"n": round(n), **known, "bars": shares}


def reliability(fit: DTFit) -> list[dict[str, float | None]]:
    """Alpha and omega of every factor, with intervals where the answers are known.

    Of a matrix of polychoric correlations, those of the variables behind the ratings. None where
    a sum of the items makes no sense.
    """
    try:
        known = fit.reliability().factors
    except InputError:
        return [dict.fromkeys(_SUMS)] * fit.n_factors
    if known["alpha"].isna().all():
        known = known.assign(alpha=known["ordinal_alpha"], omega=known["ordinal_omega"])
    return [
        dict(zip(_SUMS, numbers_of(row), strict=True)) for row in known[list(_SUMS)].values.tolist()
    ]


def about_reliability(fit: DTFit) -> str:
    """Return what alpha and omega on the page are, or why there are none."""
    try:
        fit.reliability()
    except InputError as error:
        return f"There is no alpha and no omega. {error}"
    reversed_ = "those that load negatively reversed"
    by = "Alpha is by Cronbach; omega by McDonald, of one factor behind these items."
    if has_answers(fit):
        return (
            "Alpha and omega are the reliability of the sum of a factor's items, "
            f"{reversed_}, with 95 % intervals. {by}"
        )
    if fit.reported.as_ratings:
        return (
            "Alpha and omega are those of the sum of the responses behind the ratings of a "
            f"factor, {reversed_}; the sum of the ratings is less reliable. {by}"
        )
    return (
        "Alpha and omega are the reliability of the sum of a factor's items, each scaled to "
        f"variance 1, {reversed_}. {by}"
    )
