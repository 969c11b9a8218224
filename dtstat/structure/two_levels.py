"""Two levels of a tree as one model: factors above factors, or general beside group factors."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from dtstat.core.errors import InputError
from dtstat.structure.structure import Structure, distinct_names, legend, r_names

_FEWEST = 3  # indicators of a factor that correlates with no other
_NOTHING_MORE = "# Fits as well as correlated fine factors do: the broad level restricts nothing."


def two_level_syntax(fine: Structure, broad: Structure, model: str) -> str:
    """Write a model of two levels in lavaan's syntax.

    Parameters
    ----------
    fine, broad
        Structures of the same items. A fine factor belongs to the broad one that has most of its
        items; a broad one of a single fine factor is that factor.
    model
        "higher_order": fine factors load on broad ones; a comment says so if that restricts
        nothing, as with one broad factor above three, or above two of three. "bifactor": items load
        on a fine and on a broad factor, which do not correlate; broad factors correlate with each
        other.

    Raises
    ------
    InputError
        If no broad factor takes in two fine ones, or the model would not be identified.
    """
    above = (fine.support.T.astype(np.int64) @ broad.support).argmax(axis=1)
    groups = [np.flatnonzero(above == j).tolist() for j in range(broad.n_factors)]
    groups = [group for group in groups if group]
    joined = [group for group in groups if len(group) > 1]
    if not joined:
        raise InputError("No broad factor takes in two fine ones: the levels make no hierarchy.")
    if len(groups) == 1 and len(joined[0]) < _FEWEST and model == "higher_order":
        raise InputError(
            "One factor above two others is not identified: two correlated factors say the same. "
            "Use to_lavaan(), or the bifactor model."
        )
    items = list(fine.item_names)
    stems = [f"G{k + 1}" for k in range(len(joined))]
    factors = distinct_names([*items, *fine.factor_names, *stems])[len(items) :]
    spelled = dict(zip([*items, *factors], r_names([*items, *factors]), strict=True))
    lower, upper = factors[: fine.n_factors], factors[fine.n_factors :]
    lines = legend({spelled[name]: name for name in [*items, *factors]})

    def line(factor: str, terms: list[str]) -> str:
        return f"{spelled[factor]} =~ " + " + ".join(terms)

    def measured(k: int) -> list[str]:
        return [spelled[items[i]] for i in fine.marker_first(k)]

    if model == "higher_order":
        lines += [] if _restrictions(fine.n_factors, joined) else [_NOTHING_MORE]
        lines += [line(lower[k], measured(k)) for k in range(fine.n_factors)]
        for name, group in zip(upper, joined, strict=True):
            lines.append(line(name, [spelled[lower[k]] for k in group]))
        return "\n".join(lines)
    for name, group in zip(upper, joined, strict=True):
        lines.append(line(name, [term for k in group for term in measured(k)]))
    alone = [group[0] for group in groups if len(group) == 1]
    lines += [line(lower[k], measured(k)) for k in alone]
    specific = [k for group in joined for k in group]
    for k in specific:
        terms = measured(k)
        if len(terms) < _FEWEST:  # two loadings cannot be told apart: both are 1, as they point
            signs = np.where(fine.reversed[fine.marker_first(k), k], "-1", "1")
            terms = [f"{sign}*{term}" for sign, term in zip(signs, terms, strict=True)]
        lines.append(line(lower[k], terms))
    apart = [*combinations([lower[k] for k in specific], 2)]
    apart += [(name, lower[k]) for name in [*upper, *(lower[j] for j in alone)] for k in specific]
    lines += [f"{spelled[a]} ~~ 0*{spelled[b]}" for a, b in apart]
    return "\n".join(lines)


def _restrictions(d: int, joined: list[list[int]]) -> int:
    """Covariances of d fine factors less the parameters that broad ones explain them by.

    A joined factor has a loading and a variance left, another one a variance; broad factors and
    those that are not joined correlate.
    """
    below = sum(len(group) for group in joined)
    top = len(joined) + d - below
    return d * (d + 1) // 2 - 2 * below - (d - below) - top * (top - 1) // 2
