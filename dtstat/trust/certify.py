"""``dtstat.certify``: which factors are there, with one error for everything that is said.

    answers → correlations and influences of the rows → barcode → claims → certificate

:mod:`dtstat.trust.certificates` says what is claimed and why it is right,
:mod:`dtstat.trust.contrasts` how two correlations are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from dtstat.core import checks
from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.checks import Seed, seed_number
from dtstat.core.errors import EstimationWarning, InputError, warn
from dtstat.core.parallel import Progress, one_thread
from dtstat.data.items import ItemData, as_items, item_names
from dtstat.dependence.api import Data
from dtstat.dependence.compute import Missing, dependence_matrix
from dtstat.dependence.influence import draw_rows, most_rows, pair_influences
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.measures import BRIDGES, find_measure
from dtstat.factors.copula import LatentCorrelations
from dtstat.factors.reported import Answers, Source
from dtstat.fit.api import pick_items
from dtstat.fit.request import FitRequest
from dtstat.fit.result import DTFit
from dtstat.structure.barcode import barcode
from dtstat.structure.structure import Structure
from dtstat.structure.syntax import Given, as_structure
from dtstat.trust.bounds import find_bound
from dtstat.trust.certificate import Certificate
from dtstat.trust.certificates import claim_errors, errors_of_clique, guaranteed_errors
from dtstat.trust.contrasts import PairErrors, on_scale
from dtstat.trust.factor_number import hardly_overlap, number_errors

FEWEST_ROWS = 20
MIN_CHILDREN = 3
_MOST_NUMBERS = 40_000_000  # of p² times the rows whose influences are computed
_LARGEST_ERROR = 0.2  # beyond, the sign of a correlation is too unsure; see the vignette
_FINE = 1e-6
_UNBOUNDED = (
    "No lower bound on the number of factors is given: for too many pairs of items nearly everyone "
    "who endorses one endorses the other, so their correlations are poorly determined. "
    "Collect more rows, or leave out items that nearly everybody answers alike."
)


def certify(
    data: Data,
    error: float = 0.05,
    structure: Given | None = None,
    measure: str | None = None,
    min_children: int = MIN_CHILDREN,
    guarantee: bool = False,
    missing: Missing = FitRequest.missing,
    n_draws: int = 1000,
    n_splits: int = 3,
    seed: Seed = None,
    progress: Progress = None,
) -> Certificate:
    """State which factors are certain; all statements hold jointly with probability 1 − error.

    A clique of items is certified if in the population any two of its items depend on each other
    more than its unique member depends on any item outside: then a threshold exists at which it is
    an independent maximal clique, which is what the method calls a factor. The error covers all
    cliques that could have been certified, not only those the data suggested.

    What is certain is the dependence of the population. That a certified clique is the set of
    children of a latent factor follows if a threshold between its ends is one that separates
    pairs with a common factor from others (thresholdability), and every factor has a unique child.

    A second statement, with its own error rate of the same size, is a lower bound on the number of
    factors: so many are needed for the correlations of the normal variables behind the items to
    follow a linear factor model with independent errors, whatever the loadings. Small factors
    count, such as two items with the same wording. By Pearson, continuous items need not be normal.

    Parameters
    ----------
    data
        Answers; or a DependenceMatrix of Pearson, Spearman or Kendall correlations with its number
        of rows, which are then taken to be normal.
    error
        Probability of any false certificate, at most .2.
    structure
        Factors to assess: a fit, a Structure, keys, or lavaan syntax. A fit has its measure
        and its handling of missing answers, too, and a tree of which every level is assessed.
    measure
        "pearson", "spearman", "kendall", "polychoric", "tetrachoric" or "mixed"; Spearman, or the
        measure of the fit, if None.
    min_children
        Smallest clique to look for, at least 2.
    guarantee
        Whether to go by an inequality that holds at every n (:func:`dtstat.bounds`) instead of
        estimated errors, for items without ties. It takes several times the rows.
    missing
        As in :func:`dtstat.dependence`.
    n_draws
        Multiplier draws for the band.
    n_splits
        How often rows are split in halves for the lower bound on the number of factors; 0 for no
        bound. A matrix has no rows to split; nor is there a bound if the answers of too many pairs
        of ratings hardly overlap, as those of easy and hard yes/no items.
    seed
        Of draws and splits; None for a fresh one, recorded in the result. Certified cliques do not
        depend on it.
    progress
        True for a bar, or a function of (done, total), of each stage in turn.

    Returns
    -------
    Certificate

    Raises
    ------
    InputError
        If the measure has no known errors, or there are too few rows or items.

    Warns
    -----
    EstimationWarning
        If ratings are too unequally distributed to bound the number of factors.

    Notes
    -----
    Cost: the influence of every row on every pair, and ``n_draws`` sums of them. Where that is too
    much memory, errors are estimated from some of the rows.

    Examples
    --------
    >>> import dtstat as dt
    >>> data = dt.load_dataset("holzinger_swineford_9")
    >>> found = dt.certify(data, seed=1)
    >>> found.to_frame().query("certified")["items"].tolist()
    [('x4', 'x5', 'x6')]
    """
    level = checks.open_unit("error", error, "0.05 accepts one error in twenty.")
    if level > _LARGEST_ERROR:
        raise checks.refusal("error", f"at most {_LARGEST_ERROR}", error, "0.05 is usual.")
    smallest = checks.integer("min_children", min_children, 2, "3 is the default.")
    draws = checks.repeats("n_draws", n_draws, 20, "1000 is the default.")
    exact = checks.flag("guarantee", guarantee, "True goes by an inequality.")
    splits = checks.repeats("n_splits", n_splits, 0, "3 is the default; 0 for no bound.")
    number = seed_number(seed)
    if isinstance(data, DTFit):
        raise InputError(
            "A fit does not keep its answers. Call certify(data, structure=fit).", "data"
        )
    if isinstance(structure, DTFit):
        missing = structure.call.missing
        measure = structure.call.measure if measure is None else measure
    asked = None
    if structure is not None:
        asked = as_structure(structure, "structure", lambda: item_names(data))
    with one_thread():
        source, matrix, items = _source(data, asked, measure, missing, progress)
        n = cast(int, matrix.n_obs)
        bars = barcode(matrix.values, matrix.names, smallest)
        if exact:
            tail = _inequality(matrix, items)
            claims = guaranteed_errors(bars, matrix.strength, tail)
            half = _width(tail, level)
            lower, upper = (np.clip(matrix.values + s * half, -1.0, 1.0) for s in (-1, 1))
        else:
            errors = pair_errors(source, n, progress=progress)
            claims = claim_errors(bars, errors, smallest, progress)
            width = errors.band(level, draws, np.random.default_rng(number), progress)
            lower, upper = (_matrix(errors, s * width, matrix.measure) for s in (-1, 1))
        of_number = np.empty(0)
        if items is not None:
            of_number = number_errors(items, matrix.measure, splits, number, progress)
            if splits and hardly_overlap(items):
                warn(_UNBOUNDED, EstimationWarning, stacklevel=3)
    return Certificate(
        matrix.names,
        matrix.measure,
        n,
        level,
        smallest,
        bars.members,
        bars.births,
        bars.deaths,
        claims,
        lower,
        upper,
        of_number,
        np.empty((len(matrix.names), 0), bool) if asked is None else asked.support,
        () if asked is None else asked.factor_names,
        _tree(structure, len(matrix.names)),
        exact,
        source.answers is not None,
        items is not None and any(kind != "continuous" for kind in items.kinds),
        draws,
        number,
    )


def _tree(structure: Given | None, p: int) -> IntArray:
    """(l, p) labels of the levels of a fit; no row of anything else."""
    levels = structure.tree if isinstance(structure, DTFit) else ()
    return np.array([level.labels for level in levels], dtype=np.int64).reshape(len(levels), p)


def certifies(items: ItemData, measure: str, support: BoolArray, error: float) -> bool:
    """Whether all the factors of a (p, d) structure are certified cliques of these answers."""
    smallest = min(MIN_CHILDREN, int(support.sum(axis=0).min()))
    source, matrix, _ = _source(items, None, measure, "pairwise")
    errors = pair_errors(source, cast(int, matrix.n_obs))
    for members in support.T:
        clique = np.flatnonzero(members)
        if errors_of_clique(clique, clique, errors, smallest).min() > error:
            return False
    return True


def pair_errors(
    source: Source, n: int, most_numbers: int = _MOST_NUMBERS, progress: Progress = None
) -> PairErrors:
    """Errors of the correlations, from all rows or so many that memory stays bounded."""
    rows, latent = source.rows, source.latent
    assert rows is not None
    values, p = rows.values, len(latent.R)
    m = most_rows(len(values), p, latent.measure, most_numbers)
    values = values[draw_rows(values, latent.R, m, rows.by_content, progress)]
    influence = pair_influences(values, rows.kinds, latent.measure, latent.R)
    return PairErrors.of(latent.R, influence, n)


def _source(
    data: Data,
    asked: Structure | None,
    measure: str | None,
    missing: Missing,
    progress: Progress = None,
) -> tuple[Source, DependenceMatrix, ItemData | None]:
    """Return correlations with their rows, the same as a matrix of the measure, and the answers."""
    if isinstance(data, DependenceMatrix):
        if measure is not None and find_measure(measure).name != data.measure:
            raise InputError(
                f"`data` is a matrix of the measure '{data.measure}'; leave out `measure`.",
                "measure",
            )
        matrix = data if asked is None else data.select(asked.item_names)
        items = None
    else:
        known: ItemData = as_items(data) if asked is None else pick_items(data, asked.item_names)
        name = find_measure(FitRequest.measure if measure is None else measure).name
        _check_measure(name)
        matrix = dependence_matrix(known, name, missing, progress=progress)
        items = known.complete_rows() if missing == "listwise" else known
    _check_measure(matrix.measure)
    n = matrix.n_obs
    if n is None:
        raise InputError("`data` is a matrix without its number of rows; give `n_obs`.", "data")
    if n < FEWEST_ROWS:
        raise InputError(f"`data` must have at least {FEWEST_ROWS} rows; got {n}.", "data")
    if len(matrix.names) < 3:
        raise InputError(
            f"`data` must have at least 3 items to compare; got {len(matrix.names)}.", "data"
        )
    R = BRIDGES[matrix.measure](matrix.values)
    np.fill_diagonal(R, 1.0)
    latent = LatentCorrelations(R, matrix.measure, n, False, 0.0)
    source = Source(latent, None if items is None else Answers.of(items))
    if source.rows is None:
        raise InputError(
            f"`data` is a matrix of the measure '{matrix.measure}', whose errors depend on the "
            "answers. Give the answers.",
            "data",
        )
    return source, matrix, items


def _check_measure(name: str) -> None:
    if name not in BRIDGES:
        raise InputError(
            f"`measure` must be one whose errors are known: {', '.join(BRIDGES)}; got '{name}'.",
            "measure",
        )


def _inequality(matrix: DependenceMatrix, items: ItemData | None) -> Callable[[float], float]:
    """Bound the probability that any of all values is off by so much or more."""
    tied = items is not None and any(
        len(np.unique(x)) < len(x) for x in (x[~np.isnan(x)] for x in items.values.T)
    )
    bound = find_bound(matrix.measure, tied)
    if bound is None:
        raise InputError(
            f"`guarantee` needs an inequality for '{matrix.measure}'"
            + (" of items with ties, and there is none." if tied else ", and there is none.")
            + " Leave it out.",
            "guarantee",
        )
    counts = matrix.pairwise_n
    n = cast(int, matrix.n_obs) if counts is None else int(counts.min())
    pairs = len(matrix.names) * (len(matrix.names) - 1) / 2
    return lambda distance: min(1.0, pairs * bound(n, distance)) if distance > 0 else 1.0


def _width(tail: Callable[[float], float], error: float) -> float:
    """Return the smallest distance, to a millionth, at which the bound is at most the error."""
    low, high = 0.0, 2.0
    while high - low > _FINE:
        middle = (low + high) / 2
        low, high = (low, middle) if tail(middle) <= error else (middle, high)
    return high


def _matrix(errors: PairErrors, shift: FloatArray, measure: str) -> FloatArray:
    """(p, p) end of the band as values of the measure."""
    found = np.eye(errors.p)
    i, j = np.triu_indices(errors.p, 1)
    found[i, j] = found[j, i] = on_scale(errors.z + shift, measure)
    return found
