"""From answers to the structure behind them, in one call."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from dtstat.core import checks
from dtstat.core.checkpoints import CheckpointFile
from dtstat.core.checks import Seed, Thresholds
from dtstat.core.errors import InputError, nearest
from dtstat.core.parallel import Jobs, Progress, one_thread
from dtstat.data.containers import as_frame, has_names
from dtstat.data.items import ItemData, as_items, item_names
from dtstat.data.readers import take_columns
from dtstat.data.texts import Labels, given_texts, texts_of
from dtstat.dependence.api import Data
from dtstat.dependence.compute import Missing, PairFunction
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.moments import as_matrix, has_unit_diagonal
from dtstat.dependence.sparse import SparseDependence
from dtstat.fit.curve_pipeline import fit_curves
from dtstat.fit.many import fit_many, take_many
from dtstat.fit.pipeline import fit_items, fit_matrix
from dtstat.fit.record import FitRecord
from dtstat.fit.request import (
    Estimator,
    FitRequest,
    Misfit,
    Preset,
    Run,
    Search,
    Uncovered,
    take_request,
)
from dtstat.fit.result import DTFit
from dtstat.structure.structure import Structure
from dtstat.structure.syntax import Given, as_structure


def fit(
    data: Data,
    n_factors: int | None = FitRequest.n_factors,
    measure: str | PairFunction = FitRequest.measure,
    search: Search = FitRequest.search,
    thresholds: Thresholds = FitRequest.thresholds,
    estimator: Estimator = FitRequest.estimator,
    criterion: str = FitRequest.criterion,
    min_children: int = FitRequest.min_children,
    uncovered: Uncovered = FitRequest.uncovered,
    refine: bool = FitRequest.refine,
    missing: Missing = FitRequest.missing,
    misfit: Misfit = FitRequest.misfit,
    structure: Given | None = None,
    finalists: int | None = FitRequest.finalists,
    preset: Preset | None = FitRequest.preset,
    n_obs: int | None = None,
    seed: Seed = None,
    n_jobs: Jobs = None,
    progress: Progress = None,
    checkpoint: CheckpointFile = None,
    labels: Labels = None,
) -> DTFit:
    """Find the factors behind the items, fit them, and say what else was possible.

    Items are joined where their dependence exceeds a threshold; independent maximal cliques are
    candidate factors (Algorithm 1). They are the leaves of a tree that has a structure for every
    number of factors down to one; the level that stands out most is the answer, and ``levels`` and
    ``level(k)`` have the others. With an estimator of curves, the best few are fitted again as

        X_i = g_i(Z) + ε_i,   or for a rating   P(X_i ≤ c | Z) = Φ(τ_c − g_i(Z)),   Z ~ N(0, Φ),

    and the choice is among these.

    Parameters
    ----------
    data
        DataFrame, 2-d array, path of a file, ItemData, or a DependenceMatrix; or a covariance
        matrix with ``n_obs``, of which the correlations are taken. More than 1,000 items are read
        some columns at a time, and need not fit into memory: a .parquet or .npy file, a
        memory-mapped array, a dask array or dataframe.
    n_factors
        Number of factors, if it is known; None to let the data decide.
    measure
        What is thresholded; see :func:`dtstat.measures`.
    search
        "tree": cliques, each factor at its own threshold, are joined two by two down to one factor
        (:mod:`dtstat.search.tree`); "threshold": one threshold for all factors, as in the paper;
        "sequential": the tree, then factors that show only when others are explained, because all
        their items have a second parent. A heuristic: no theorem says when it is right. Use it
        where cross-loadings may hide factors; unless it explains clearly more, the answer is that
        of "tree".
    thresholds
        For search="threshold": "exact" for all, a number of evenly spaced ones, or a list.
    estimator
        "copula": maximum likelihood on latent correlations from ranks (any increasing item
        response). Ratings are modeled as ordinal: structures are searched and compared by ranks;
        loadings, factor correlations, scores and fit of the chosen one are from polychoric
        correlations, or mixed ones if some items are continuous. "linear": on Pearson correlations,
        ratings as numbers. With curves of the item responses: "spline" (penalized splines; also
        rising and falling responses, with ``measure="maximal"``; ratings as ordinal), "neural" (the
        paper's network by stochastic EM) and "variational" (the same by an autoencoder); both need
        the extra ``neural``. Long-tailed items are fitted by their normal scores, except with
        ``preset="paper"``; ``notes`` names them.
    criterion
        "step": among the levels the data support, the one where removing a factor costs most
        relative to what adding one gains and where different ways of sorting the items agree
        (:mod:`dtstat.search.choose`); where there is no tree, or curves are fitted, it means
        "ebic". "ebic", "bic" or "aic": fit against number of parameters; of the three, only ebic
        penalizes the search. "validation": likelihood of a fifth of the rows under models of
        the others; "validation_2se": the smallest structure not clearly behind the best of those;
        "cv": five-fold cross-validation. These find the structure that predicts new answers best,
        which usually has too many factors: an extra factor hardly hurts prediction.
    min_children
        Fewest items of a factor.
    uncovered
        Items of no clique: "attach" them to the factor they load on most where the loading pays
        (marked in every table), "report" them, or make it an "error" if an item is in no factor.
    refine
        Whether to add and drop single loadings (cross-loadings) as long as the criterion falls;
        only loadings of at least 0.2 are added.
    missing
        As in :func:`dtstat.dependence`.
    misfit
        "estimated": the model is an approximation; misfit of the finest level beyond sampling error
        limits what the rows count in the choice (Wu & Browne 2015), so that large surveys do not
        buy a factor for every small misfit. "none": the model is exactly true of some structure.
    structure
        A structure to fit instead of searching for one (a Structure, a fit, a scoring key or
        lavaan's syntax); its items are picked from the data, its factors keep their names.
    finalists
        With curves: how many of the structures ranked best by the copula model are refitted with
        curves.
    preset
        "paper": as in the paper (threshold search on a grid of 50, isolated items as factors of
        one item, every structure fitted by the network in 3000 iterations, chosen by validation
        with the reciprocal estimator), except for what the Notes list: about five minutes per
        structure of 15 items with 4000 rows, hours per data set; ``progress=True`` tells how long.
        "paper_fast": the same, but factors have two items or more, the network is pretrained and
        averaged, likelihoods are importance-sampled and only ``finalists`` structures get a
        network.
    n_obs
        Number of rows behind a matrix that does not know it.
    seed
        For criteria that hold out rows and for curves: a whole number; None for a fresh one,
        recorded in the result, or that of ``checkpoint``.
    n_jobs, progress
        As in :func:`dtstat.dependence`; structures are fitted with curves side by side.
    checkpoint
        With curves: file to which each structure is added when it is fitted. The same call resumes
        where that file ends, whatever ended it.
    labels
        Questions of the items, for tables, pictures and the page: a dict from item to text, or a
        codebook as in :func:`dtstat.read_survey` (items that are not fitted are passed over).
        Without it, those that the data carry in ``attrs["item_texts"]``, as
        :func:`dtstat.read_survey` and :func:`dtstat.load_dataset` leave them there.

    Returns
    -------
    DTFit

    Raises
    ------
    InputError
        If the data or an argument cannot be used.
    EstimationError
        If ``uncovered="error"`` and an item is in no factor, or the sampler of the factors freezes
        twice.
    MissingExtraError
        If a network is asked for and torch is not installed.

    Warns
    -----
    DataWarning
        If answers look like codes for missing ones (-9, 99, ...), or an item is a copy, a sum or
        another exact combination of others.
    EstimationWarning
        If there are fewer rows than items, the correlations had to be smoothed, an item is
        explained without error, items rise and fall with their factor, factors of yes/no items
        reflect item difficulty, or two runs with curves end far apart.

    Notes
    -----
    Cost: the dependence matrix, and for each level some maximum-likelihood fits of milliseconds
    ("threshold": as many as the path has structures). Splines: about two seconds per structure with
    4000 rows of 20 items, in two runs; networks: 10 to 60.

    Beyond 1,000 items no matrix of items by items is made (:mod:`dtstat.fit.many`): loadings are by
    maximum likelihood of each factor's items alone, factor correlations from composites of these;
    there is no test of fit, and there are no standard errors. With ``refine`` and
    ``search="sequential"`` loadings are by maximum likelihood of all items. What needs the whole
    matrix (gaps, ``search="threshold"``, other measures, held-out criteria, curves) is refused
    beyond 5,000.

    ``preset="paper"`` differs from the paper, or fills in what the paper leaves open, as follows.
    Factors start at draws from the Gaussian copula model of the structure, Φ at its factor
    correlations. Φ is held fixed for 100 iterations, then goes a tenth of the way to the
    correlations of each draw. Tuning of the sampler ends after 50 moves at the latest; if it
    freezes, estimation is restarted once with slower updates; a structure that freezes twice is
    dropped. Items are standardized, noise variances at least .001. The structure in which every
    item is a factor is left out (the paper assumes d < p). Draws for held-out rows are
    preconditioned. The chosen structure is fitted again to all rows.

    Examples
    --------
    >>> import dtstat as dt
    >>> fit = dt.fit(dt.load_dataset("holzinger_swineford_9"))
    >>> fit.structure
    Structure: 3 factors, 9 items
      F1: x1 x2 x3
      F2: x4 x5 x6
      F3: x7 x8 x9
    """
    data = _take_matrix(data, n_obs)
    if isinstance(data, DependenceMatrix):
        measure = data.measure
    asked = FitRequest(
        search=search,
        estimator=estimator,
        criterion=criterion,
        min_children=min_children,
        uncovered=uncovered,
        refine=refine,
        missing=missing,
        misfit=misfit,
        finalists=finalists,
        n_factors=n_factors,
    )
    known = None
    if structure is not None:
        known = as_structure(structure, "structure", lambda: item_names(data))
    request, run = take_request(
        asked, measure, thresholds, known, preset, seed, n_jobs, progress, checkpoint
    )
    known = run.structure
    with one_thread():
        if isinstance(data, DependenceMatrix):
            matrix = data if known is None else data.select(known.item_names)
            texts = given_texts(labels, matrix.names)
            return _finish(fit_matrix(matrix, n_obs, request, run), known, texts)
        many = _fit_many(data, labels, request, run) if known is None else None
        if many is not None:
            return many
        items = (
            as_items(data, progress=progress)
            if known is None
            else pick_items(data, known.item_names, progress)
        )
        if known is None and not isinstance(data, pd.DataFrame | np.ndarray):
            many = _fit_many(items, labels, request, run)  # of what is read whole only
        if many is not None:
            return many
        items = items.labeled(labels)
        found = (fit_curves if request.draws_curves else fit_items)(items, request, run)
        return _finish(found, known, dict(items.texts))


def _fit_many(data: Data, labels: Labels, request: FitRequest, run: Run) -> DTFit | None:
    """Fit very many items without their whole matrix; None if there are fewer, or it is needed."""
    columns = take_many(data, request)
    found = None if columns is None else fit_many(columns, request, run)
    if columns is None or found is None:
        return None
    carried = dict(data.texts) if isinstance(data, ItemData) else {}
    if isinstance(data, pd.DataFrame):
        carried = texts_of(data, columns.names)
    return _finish(found, None, {**carried, **given_texts(labels, columns.names)})


def _finish(found: FitRecord, known: Structure | None, texts: dict[str, str]) -> DTFit:
    """Add the texts of the items, and let the factors of a given structure point as it says."""
    fit = DTFit.of(replace(found, item_texts=texts))
    if known is None:
        return fit
    agreement = (fit.loadings.to_numpy() * np.where(known.reversed, -1, 1)).sum(axis=0)
    wrong = known.reversed.any(axis=0) & (agreement < 0)
    return fit.reflect([fit.factor_names[k] for k in np.flatnonzero(wrong)])


def _take_matrix(data: Data, n_obs: int | None) -> Data:
    """Take the correlations of a covariance matrix whose rows are known; answers stay as they are.

    Of a raw matrix of correlations nobody knows which they are, so that it has to be said, to
    DependenceMatrix.from_matrix.
    """
    if isinstance(data, SparseDependence):
        raise InputError(
            "`data` must contain all pairs, but only those above a floor were kept. Fit the items "
            "of some factors: fit(data[items]), with items from solution_path(...).at(threshold).",
            "data",
        )
    if n_obs is None:
        return data
    matrix: Data = as_matrix(data, n_obs)
    if not isinstance(matrix, DependenceMatrix):
        advice = "The rows are counted. For a matrix: DependenceMatrix.from_matrix(matrix, n_obs)."
        raise checks.refusal("n_obs", "left out with data", n_obs, advice)
    if not isinstance(data, DependenceMatrix) and has_unit_diagonal(data):
        raise InputError(
            "`data` holds correlations; say which kind: fit(DependenceMatrix."
            "from_matrix(data, n_obs, measure='pearson')), or 'spearman', 'polychoric', ...",
            "data",
        )
    return matrix


def pick_items(data: Data, names: tuple[str, ...], progress: Progress = None) -> ItemData:
    """Answers to some items; other columns may hold anything."""
    if not isinstance(data, ItemData) and has_names(data):
        data = as_frame(data, progress)
        known = [str(name) for name in data.columns]
        absent = [name for name in names if name not in known]
        if absent:
            raise InputError(
                f"`structure` has the item '{absent[0]}', which is not in the data. "
                + nearest(absent[0], known),
                "structure",
            )
        data = take_columns(data, [known.index(name) for name in names])
    return as_items(data).select(names)
