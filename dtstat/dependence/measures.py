"""The measures of dependence that dtstat knows, and all that is known about each.

Every fact about a measure stands here once: what it detects and costs, how it is computed, and, in
the Gaussian copula, how it is tied to the correlation ρ of the normal variables behind the items.
Rank measures do not change if items are increasing functions of normal variables, so they are
functions of ρ (Kruskal 1958),

    Kendall  τ = (2/π) asin ρ,      Spearman  r_S = (6/π) asin(ρ/2),

and √n (r − population value) is asymptotically normal with a variance that depends on ρ alone:
(1 − ρ²)² for Pearson, 4/9 − (4/π)² asin²(ρ/2) for Kendall (Esscher 1924), and for Spearman the
series of David & Mallows (1961) in ρ².

A new measure is a module with its function, and an entry below. One with a bridge to ρ also needs
the influence of a row on it (:mod:`dtstat.dependence.influence`), for tests and standard errors; a
concentration inequality goes to :mod:`dtstat.trust.bounds`.

References
----------
David, F. N. & Mallows, C. L. (1961). The variance of Spearman's rho in normal samples. Biometrika
48, 19–28. Esscher, F. (1924). On a method of determining correlation from the ranks of the
variates. Skandinavisk Aktuarietidskrift 7, 201–219. Kruskal, W. H. (1958). Ordinal measures of
association. Journal of the American Statistical Association 53, 814–861.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import FloatArray
from dtstat.core.errors import InputError
from dtstat.core.parallel import Jobs, Progress
from dtstat.data.items import ItemData
from dtstat.dependence.distance_hsic import distance_correlation, normalized_hsic
from dtstat.dependence.kendall import kendall, kendall_from_counts
from dtstat.dependence.maximal import maximal_correlation
from dtstat.dependence.pearson import pearson
from dtstat.dependence.polychoric import latent_correlation_matrix
from dtstat.dependence.spearman import spearman, spearman_from_counts
from dtstat.dependence.xi import xi_correlation

Compute = Callable[[ItemData, Jobs, Progress], FloatArray]
Transform = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One measure of dependence.

    Attributes
    ----------
    name, title, reference
        What to pass as ``measure``, what it is, and where it comes from.
    label
        Its absolute value, on an axis.
    detects
        "linear", "monotone" or "any" dependence.
    family
        "moment"; "rank" for correlations of ranks; "latent" for correlations of the normal
        variables behind the items; "general" for measures of any dependence.
    handles_ordinal
        Whether ties, as answers on a rating scale have them, are part of its definition.
    population_range
        Values it can take in the population.
    cost, quadratic
        Work for one pair of items with n rows, and whether it always grows with n².
    bound
        For which items a concentration inequality P(|r − ρ| > ε) ≤ b(n, ε) is known, else ""; see
        :func:`dtstat.bounds`.
    compute
        Function of items, threads, progress → (p, p) matrix.
    allows_missing
        Whether ``compute`` itself uses the common rows of each pair.
    from_counts
        Whether ``compute`` reads ratings off the counts of all pairs where there are many rows.
    single_precision
        Whether sums are short of digits, so that the order of the rows would show in them.
    to_latent, from_latent
        Bridge from the population value to ρ, and back; None if there is none.
    latent_variance
        Function of ρ: n times the variance in large samples from a normal copula; None if unknown.
    null_variance
        Function of n: the variance for independent items; None if unknown.
    """

    name: str
    title: str
    label: str
    reference: str
    detects: Literal["linear", "monotone", "any"]
    family: Literal["moment", "rank", "latent", "general"]
    cost: str
    compute: Compute
    handles_ordinal: bool = True
    population_range: str = "[-1, 1]"
    quadratic: bool = False
    allows_missing: bool = True
    from_counts: bool = False
    single_precision: bool = False
    bound: str = ""
    to_latent: Transform | None = None
    from_latent: Transform | None = None
    latent_variance: Transform | None = None
    null_variance: Callable[[int], float] | None = None


def find_measure(name: str) -> Measure:
    """Look up a measure by name; suggest the nearest when it is not known."""
    if not isinstance(name, str) or name not in REGISTRY:
        wanted = "one of dtstat.measures() or a function of two columns"
        raise checks.unknown("measure", wanted, name, REGISTRY)
    return REGISTRY[name]


def strength_label(measure: str) -> str:
    """Name absolute dependence by a measure, which may be a user's own, for an axis."""
    return REGISTRY[measure].label if measure in REGISTRY else f"|{measure}|"


def measures() -> pd.DataFrame:
    """Table of the measures: what each detects, costs, and whether a bound is known.

    Examples
    --------
    >>> measures().loc["kendall", "detects"]
    'monotone'
    """
    facts = ["title", "detects", "handles_ordinal", "population_range", "cost", "bound"]
    facts.append("reference")
    rows = {name: [getattr(one, fact) for fact in facts] for name, one in REGISTRY.items()}
    return pd.DataFrame.from_dict(rows, orient="index", columns=facts).rename_axis("measure")


def _compute_latent(items: ItemData, n_jobs: Jobs, progress: Progress) -> FloatArray:
    tables = items.pair_tables(progress)
    return latent_correlation_matrix(items.values, items.kinds, n_jobs, progress, tables)


def _compute_spearman(items: ItemData, n_jobs: Jobs, progress: Progress) -> FloatArray:
    tables = items.pair_tables(progress)
    if tables is not None:
        return spearman_from_counts(tables)
    return spearman(items.values, n_jobs, progress)


def _compute_kendall(items: ItemData, n_jobs: Jobs, progress: Progress) -> FloatArray:
    tables = items.pair_tables(progress)
    if tables is not None:
        return kendall_from_counts(tables)
    return kendall(items.values, n_jobs, progress)


def _compute_polychoric(items: ItemData, n_jobs: Jobs, progress: Progress) -> FloatArray:
    _refuse(items, ("continuous",), "polychoric", 'Use measure="mixed" for data of both kinds.')
    return _compute_latent(items, n_jobs, progress)


def _compute_tetrachoric(items: ItemData, n_jobs: Jobs, progress: Progress) -> FloatArray:
    _refuse(items, ("continuous", "ordinal"), "tetrachoric", 'Use measure="polychoric" or "mixed".')
    return _compute_latent(items, n_jobs, progress)


def _refuse(items: ItemData, kinds: tuple[str, ...], measure: str, advice: str) -> None:
    for name, kind in zip(items.names, items.kinds, strict=True):
        if kind in kinds:
            raise InputError(
                f"`measure` {measure} cannot use the {kind} item '{name}'. {advice}", "measure"
            )


# Of ρ⁰, ρ², ρ⁴, ...; the last one stands for all that follow, so that the sum is 0 at ρ = 1. It
# agrees with simulation to .0003.
_SPEARMAN_SERIES = (1.0, -1.563465, 0.304743, 0.155286, 0.061552, 0.022099, 0.0, 0.019785)

# Variances for independent items: Kendall (1938); Pearson (1907) for ranks; for normal items
# exactly, by r² ~ Beta(½, (n − 2)/2).
# fmt: off
_MEASURES = (
    Measure(
        name="pearson", title="Pearson correlation", label="|Pearson|", reference="Pearson 1896",
        detects="linear", family="moment", handles_ordinal=False, cost="n",
        compute=lambda items, n_jobs, progress: pearson(items.values, n_jobs, progress),
        to_latent=np.copy, from_latent=np.copy,
        bound="normal items, exactly; others",
        latent_variance=lambda rho: (1 - rho**2) ** 2,
        null_variance=lambda n: 1 / (n - 1),
    ),
    Measure(
        name="spearman", title="Spearman rank correlation", label="|Spearman|",
        reference="Spearman 1904", detects="monotone", family="rank", cost="n",
        compute=_compute_spearman, from_counts=True,
        to_latent=lambda r: 2 * np.sin(np.pi / 6 * r),
        from_latent=lambda rho: 6 / np.pi * np.arcsin(rho / 2),
        bound="items without ties",
        latent_variance=lambda rho: np.asarray(np.polyval(_SPEARMAN_SERIES[::-1], rho**2)),
        null_variance=lambda n: 1 / (n - 1),
    ),
    Measure(
        name="kendall", title="Kendall tau-b", label="|Kendall|",
        reference="Kendall 1945", detects="monotone", family="rank", cost="n²/128, n log n",
        compute=_compute_kendall, from_counts=True,
        to_latent=lambda r: np.sin(np.pi / 2 * r),
        from_latent=lambda rho: 2 / np.pi * np.arcsin(rho),
        bound="items without ties",
        latent_variance=lambda rho: 4 / 9 - (4 / np.pi * np.arcsin(rho / 2)) ** 2,
        null_variance=lambda n: 2 * (2 * n + 5) / (9 * n * (n - 1)),
    ),
    Measure(
        name="polychoric", title="polychoric correlation, two-step", label="|polychoric|",
        reference="Olsson 1979", detects="monotone", family="latent", cost="n + levels²",
        compute=_compute_polychoric, from_counts=True, to_latent=np.copy, from_latent=np.copy,
    ),
    Measure(
        name="tetrachoric", title="tetrachoric correlation, two-step", label="|tetrachoric|",
        reference="Pearson 1900", detects="monotone", family="latent", cost="n",
        compute=_compute_tetrachoric, from_counts=True, to_latent=np.copy, from_latent=np.copy,
    ),
    Measure(
        name="mixed", title="polychoric, polyserial or Pearson, by kind of item", label="|mixed|",
        reference="Olsson, Drasgow & Dorans 1982", detects="monotone", family="latent", cost="n",
        compute=_compute_latent, from_counts=True, to_latent=np.copy, from_latent=np.copy,
    ),
    Measure(
        name="distance", title="distance correlation", label="distance correlation",
        reference="Székely, Rizzo & Bakirov 2007", detects="any", family="general",
        population_range="[0, 1]", cost="n²/2", quadratic=True, allows_missing=False,
        single_precision=True,
        compute=lambda items, n_jobs, progress: distance_correlation(items.values, progress),
        bound="of the covariance, bounded items",
    ),
    Measure(
        name="hsic", title="normalized HSIC, Gaussian kernel", label="HSIC",
        reference="Gretton et al. 2005", detects="any", family="general",
        population_range="[0, 1]", cost="n²/2", quadratic=True, allows_missing=False,
        single_precision=True,
        compute=lambda items, n_jobs, progress: normalized_hsic(items.values, progress),
    ),
    Measure(
        name="maximal", title="maximal correlation, Hermite polynomials",
        label="maximal correlation", reference="Rényi 1959", detects="any", family="general",
        population_range="[0, 1]", cost="16 n", allows_missing=False,
        compute=lambda items, n_jobs, progress: maximal_correlation(items.values, progress),
    ),
    Measure(
        name="xi", title="Chatterjee's xi, larger direction", label="|ξ|",
        reference="Chatterjee 2021", detects="any", family="general",
        population_range="[0, 1]", cost="n", allows_missing=False,
        compute=lambda items, n_jobs, progress: xi_correlation(items.values, n_jobs, progress),
    ),
)
# fmt: on

REGISTRY = {one.name: one for one in _MEASURES}
RANKS = tuple(one.name for one in _MEASURES if one.family == "rank")
LATENT = tuple(one.name for one in _MEASURES if one.family == "latent")
BRIDGES = {one.name: one.to_latent for one in _MEASURES if one.to_latent is not None}
INVERSE_BRIDGES = {one.name: one.from_latent for one in _MEASURES if one.from_latent is not None}
LATENT_VARIANCES = {
    one.name: one.latent_variance for one in _MEASURES if one.latent_variance is not None
}
NULL_VARIANCES = {one.name: one.null_variance for one in _MEASURES if one.null_variance is not None}
