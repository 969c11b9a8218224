"""The measures of dependence dtstat knows, with what each can and cannot do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import FloatArray
from dtstat.core.errors import InputError
from dtstat.core.parallel import Jobs, Progress
from dtstat.data.items import ItemData
from dtstat.dependence.alignment import distance_correlation, normalised_hsic
from dtstat.dependence.kendall import kendall
from dtstat.dependence.maximal import maximal_correlation
from dtstat.dependence.pearson import pearson
from dtstat.dependence.polychoric import latent_correlation_matrix
from dtstat.dependence.spearman import spearman
from dtstat.dependence.xi import xi_correlation

Compute = Callable[[ItemData, Jobs, Progress], FloatArray]


@dataclass(frozen=True)
class Measure:
    """One measure of dependence.

    Attributes
    ----------
    name, title
        What to pass as ``measure``, and what it is.
    detects
        "linear", "monotone" or "any" dependence.
    handles_ordinal
        Whether ties, as answers on a rating scale have them, are part of its definition.
    population_range
        Values it can take in the population.
    cost
        Work for one pair of items with n rows.
    bound
        For which items a concentration inequality P(|r − ρ| > ε) ≤ b(n, ε) is known, else ""; see
        :func:`dtstat.bounds`.
    reference
        Where it comes from.
    compute
        Function of items, threads, progress → (p, p) matrix.
    allows_missing
        Whether ``compute`` itself uses the common rows of each pair.
    """

    name: str
    title: str
    detects: Literal["linear", "monotone", "any"]
    handles_ordinal: bool
    population_range: str
    cost: str
    bound: str
    reference: str
    compute: Compute
    allows_missing: bool


def _latent(items: ItemData, n_jobs: Jobs, progress: Progress) -> FloatArray:
    return latent_correlation_matrix(items.values, items.kinds, n_jobs, progress)


def _polychoric(items: ItemData, n_jobs: Jobs, progress: Progress) -> FloatArray:
    _refuse(items, ("continuous",), "polychoric", 'Use measure="mixed" for data of both kinds.')
    return _latent(items, n_jobs, progress)


def _tetrachoric(items: ItemData, n_jobs: Jobs, progress: Progress) -> FloatArray:
    _refuse(items, ("continuous", "ordinal"), "tetrachoric", 'Use measure="polychoric" or "mixed".')
    return _latent(items, n_jobs, progress)


def _refuse(items: ItemData, kinds: tuple[str, ...], measure: str, advice: str) -> None:
    for name, kind in zip(items.names, items.kinds, strict=True):
        if kind in kinds:
            raise InputError(
                f"`measure` {measure} cannot use the {kind} item '{name}'. {advice}", "measure"
            )


_MEASURES = (
    Measure(
        "pearson", "Pearson correlation", "linear", False, "[-1, 1]", "n",
        "normal items, exactly; others", "Pearson 1896",
        lambda items, n_jobs, progress: pearson(items.values, n_jobs), True,
    ),
    Measure(
        "spearman", "Spearman rank correlation", "monotone", True, "[-1, 1]", "n",
        "items without ties", "Spearman 1904",
        lambda items, n_jobs, progress: spearman(items.values, n_jobs, progress), True,
    ),
    Measure(
        "kendall", "Kendall tau-b", "monotone", True, "[-1, 1]", "n²/128, n log n",
        "items without ties", "Kendall 1945",
        lambda items, n_jobs, progress: kendall(items.values, n_jobs, progress), True,
    ),
    Measure(
        "polychoric", "polychoric correlation, two-step", "monotone", True, "[-1, 1]",
        "n + levels²", "", "Olsson 1979", _polychoric, True,
    ),
    Measure(
        "tetrachoric", "tetrachoric correlation, two-step", "monotone", True, "[-1, 1]",
        "n", "", "Pearson 1900", _tetrachoric, True,
    ),
    Measure(
        "mixed", "polychoric, polyserial or Pearson, by kind of item", "monotone", True, "[-1, 1]",
        "n", "", "Olsson, Drasgow & Dorans 1982", _latent, True,
    ),
    Measure(
        "distance", "distance correlation", "any", True, "[0, 1]", "n²/2",
        "of the covariance, bounded items", "Székely, Rizzo & Bakirov 2007",
        lambda items, n_jobs, progress: distance_correlation(items.values, progress), False,
    ),
    Measure(
        "hsic", "normalized HSIC, Gaussian kernel", "any", True, "[0, 1]", "n²/2",
        "", "Gretton et al. 2005",
        lambda items, n_jobs, progress: normalised_hsic(items.values, progress), False,
    ),
    Measure(
        "maximal", "maximal correlation, Hermite polynomials", "any", True, "[0, 1]", "16 n",
        "", "Rényi 1959",
        lambda items, n_jobs, progress: maximal_correlation(items.values, progress), False,
    ),
    Measure(
        "xi", "Chatterjee's xi, larger direction", "any", True, "[0, 1]", "n",
        "", "Chatterjee 2021",
        lambda items, n_jobs, progress: xi_correlation(items.values, n_jobs, progress), False,
    ),
)  # fmt: skip

# Correlations of the normal variables behind the items.
LATENT = ("polychoric", "tetrachoric", "mixed")
REGISTRY = {measure.name: measure for measure in _MEASURES}


def find_measure(name: str) -> Measure:
    """Look a measure up by name; suggest the nearest when it is not known."""
    if not isinstance(name, str) or name not in REGISTRY:
        wanted = "one of dtstat.measures() or a function of two columns"
        raise checks.unknown("measure", wanted, name, REGISTRY)
    return REGISTRY[name]


def measures() -> pd.DataFrame:
    """Table of the measures: what each detects, costs, and whether a bound is known.

    Examples
    --------
    >>> measures().loc["kendall", "detects"]
    'monotone'
    """
    columns = (
        "title",
        "detects",
        "handles_ordinal",
        "population_range",
        "cost",
        "bound",
        "reference",
    )
    rows = {m.name: [getattr(m, column) for column in columns] for m in _MEASURES}
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(columns)).rename_axis(
        "measure"
    )
