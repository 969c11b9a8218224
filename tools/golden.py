"""Record what the public functions return, and compare two recordings.

    python tools/golden.py record OUTDIR [--only PATTERN] [--saved DIR]
    python tools/golden.py compare DIR1 DIR2 [--tolerance 1e-9] [--all]

Use it around a change that must not change any result: record before, record after, compare. Small
data, fixed seeds, one thread. Everything is reached through public names, so that modules may move.
``record`` writes OUTDIR/golden.json and the results it saved (OUTDIR/saved); ``--saved`` reads
those of an older recording instead, which shows that old files can still be read.

``compare`` also reads what golden.R writes. Numbers must agree to the tolerance, relative to the
larger one or to 0.001; columns, index and cells of tables must be equal; texts are listed by
themselves, as wording. Versions, memory addresses, temporary folders and times are taken out.
"""

# ruff: noqa: E402  (threads are set before numpy is imported)
from __future__ import annotations

import argparse
import os

for _threads in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_threads}_NUM_THREADS"] = "1"
os.environ["MPLBACKEND"] = "Agg"
os.environ["COLUMNS"] = "100"

import contextlib
import dataclasses
import difflib
import enum
import fnmatch
import functools
import html
import importlib
import io
import json
import math
import pickle
import re
import runpy
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import dtstat as dt

# Public modules besides dtstat itself.
STUDIES = "dtstat.studies"
SKLEARN = "dtstat.interop.sklearn"
FROM_R = "dtstat.interop.r"

FILE = "golden.json"
LONGEST = 1_500  # longer runs of numbers are written as sums
DEEPEST = 7
FLOOR = 1e-3  # numbers smaller than this are compared as if they were of this size

Calls = dict[str, Callable[[], Any]]


class Ready(dict[str, Any]):
    """What is JSON already."""


def as_text(text: str) -> Ready:
    """Return a text, which is compared as wording."""
    return Ready(text=cleaned(text))


# Values as JSON
# --------------

# What differs from run to run, or is recorded by a call of its own.
_TIMED = {"version", "seconds", "elapsed"}
_LEFT_OUT = _TIMED | {"fit", "path"}
_SHOWN = (
    *("summary", "tidy", "glance", "to_frame", "to_frames", "to_keys", "to_lavaan", "to_html"),
    *("to_latex", "residuals", "reliability", "modification_indices", "steps", "curves", "table"),
    *("factor_table", "response_curves", "parent_sharing_graph"),
)
_WRITTEN: list[tuple[str, str]] = []  # names of folders, and what is written instead


def canonical(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON: lists, dicts, numbers, names; a text is {"text": ...}."""
    if value is None or isinstance(value, bool | int | float):
        return value
    for types, write in _WRITERS:
        if isinstance(value, types):
            return write(value, depth)
    if type(value).__module__.startswith("matplotlib"):
        return _picture(value)
    if callable(value) and not dataclasses.is_dataclass(value):
        return {"function": getattr(value, "__name__", "")}
    return _described(value, depth)


def cleaned(text: str) -> str:
    """Take out of a text what differs from run to run."""
    for folder, name in _WRITTEN:
        text = text.replace(folder, name)
    text = re.sub(r"\b0x[0-9a-f]{6,}", "ADDRESS", text)
    return re.sub(rf"\b{re.escape(dt.__version__)}\b", "VERSION", text)


def _text(value: str, depth: int = 0) -> Any:
    value = cleaned(value)
    return Ready(text=value) if re.search(r"\s", value) else value


def _numbers(values: np.ndarray) -> Any:
    """Write numbers one by one, or as sums if there are many."""
    if values.size <= LONGEST:
        return values.tolist()
    known = np.nan_to_num(values.astype(float), nan=-7.0, posinf=-8.0, neginf=-9.0)
    weighted = known * np.cos(np.arange(known.size))
    sums = [known.sum(), np.abs(known).sum(), weighted.sum(), np.abs(weighted).sum()]
    return {"count": values.size, "first": values[:20].tolist(), "sums": [float(s) for s in sums]}


def _array(values: np.ndarray, depth: int) -> Any:
    if values.dtype.kind in "OUSM":
        cells: Any = [canonical(cell, depth + 1) for cell in values.ravel().tolist()]
    else:
        cells = _numbers(values.ravel())
    return {"shape": list(values.shape), "kind": values.dtype.kind, "values": cells}


def _column(column: pd.Series) -> Any:
    if column.dtype.kind in "biuf" and isinstance(column.dtype, np.dtype):
        return _numbers(column.to_numpy())
    cells = column.astype(object).tolist()
    return [_cell(cell) for cell in cells[: LONGEST // 5]]


def _cell(cell: Any) -> Any:
    if isinstance(cell, str):
        return cleaned(cell)
    if isinstance(cell, float) or cell is pd.NA or cell is None:
        return None if pd.isna(cell) else float(cell)
    return canonical(cell)


def _labels(index: pd.Index) -> Any:
    if isinstance(index, pd.RangeIndex):
        return [index.start, index.stop, index.step]
    return [_cell(label) for label in index[:LONGEST].tolist()]


def _table(frame: pd.DataFrame, depth: int) -> Any:
    frame = frame[[name for name in frame if not str(name).startswith("seconds")]]
    return {
        "columns": [_cell(name) for name in frame.columns],
        "kinds": [str(kind) for kind in frame.dtypes],
        "index": _labels(frame.index),
        "cells": {str(name): _column(frame.iloc[:, k]) for k, name in enumerate(frame.columns)},
    }


def _series(series: pd.Series, depth: int) -> Any:
    return {
        "name": _cell(series.name),
        "kind": str(series.dtype),
        "index": _labels(series.index),
        "cells": _column(series),
    }


def _mapping(value: Mapping[Any, Any], depth: int) -> Any:
    kept = {str(key): part for key, part in value.items() if str(key) not in _TIMED}
    return {key: canonical(part, depth + 1) for key, part in kept.items()}


def _listed(value: Any, depth: int) -> Any:
    return [canonical(part, depth + 1) for part in value]


_WRITERS: tuple[tuple[Any, Callable[[Any, int], Any]], ...] = (
    (Ready, lambda value, _: value),
    (str, _text),
    (enum.Enum, lambda value, _: value.name),
    (np.generic, lambda value, depth: canonical(value.item(), depth)),
    (np.ndarray, _array),
    (pd.DataFrame, _table),
    (pd.Series, _series),
    (pd.Index, lambda value, _: _labels(value)),
    (Mapping, _mapping),
    ((set, frozenset), lambda value, depth: _listed(sorted(value), depth)),
    (os.PathLike, lambda value, depth: _text(os.fspath(value))),
)


def _described(value: Any, depth: int) -> Any:
    """Write a result: how it prints, its public parts, and at the top what its methods return."""
    if isinstance(value, list | tuple):
        return _sequence(value, depth)
    if depth > DEEPEST:
        return {"class": type(value).__name__}
    described = {"class": type(value).__name__, "repr": as_text(repr(value))}
    for name in _parts(value):
        described[name] = _attempt(lambda name=name: getattr(value, name), depth + 1)
    for name in _SHOWN if depth == 0 else ():
        if callable(getattr(value, name, None)):
            described[f"{name}()"] = _attempt(getattr(value, name), 1)
    if hasattr(value, "to_text"):
        described["to_text()"] = as_text(value.to_text())
    return described


def _sequence(value: Any, depth: int) -> Any:
    if hasattr(value, "_fields"):  # a named tuple
        return _mapping(value._asdict(), depth)
    return _listed(value, depth)


def _parts(value: Any) -> list[str]:
    names = [part.name for part in dataclasses.fields(value)] if _is_record(value) else []
    for kind in reversed(type(value).__mro__):
        names += [n for n, p in vars(kind).items() if isinstance(p, _PROPERTIES)]
    names += vars(value) if type(value).__module__.startswith("dtstat") and not names else []
    unique = dict.fromkeys(names)
    return [name for name in unique if not name.startswith("_") and name not in _LEFT_OUT]


_PROPERTIES = (property, functools.cached_property)


def _is_record(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _attempt(function: Callable[[], Any], depth: int) -> Any:
    try:
        return canonical(function(), depth)
    except Exception as error:
        return _refusal(error)


def _refusal(error: BaseException) -> Any:
    argument = getattr(error, "argument", None)
    return {
        "error": type(error).__name__,
        "argument": argument,
        "message": as_text(str(error)),
    }


# Pictures, pages, files
# ----------------------


def _picture(drawn: Any) -> Any:
    """Write the data of a picture: lines, areas, images and texts of all its panels."""
    figure = drawn if hasattr(drawn, "add_subplot") else drawn.get_figure()
    figure.canvas.draw()
    panels = [_panel(axes) for axes in figure.axes]
    titles = [text.get_text() for text in figure.texts]
    importlib.import_module("matplotlib.pyplot").close(figure)
    return {"panels": panels, "titles": as_text("\n".join(titles))}


def _panel(axes: Any) -> Any:
    legend = axes.get_legend()
    words = [axes.get_title(), axes.get_title("left"), axes.get_xlabel(), axes.get_ylabel()]
    words += [text.get_text() for text in legend.get_texts()] if legend else []
    ticks = [*axes.get_xticklabels(), *axes.get_yticklabels()]
    if axes.get_ylabel().startswith("seconds"):
        return {"words": as_text("\n".join(words))}
    return {
        "limits": [float(limit) for limit in (*axes.get_xlim(), *axes.get_ylim())],
        "lines": [canonical(np.asarray(line.get_xydata(), float)) for line in axes.lines],
        "patches": [canonical(_vertices(patch)) for patch in axes.patches],
        "collections": [_collection(part) for part in axes.collections],
        "images": [canonical(np.ma.filled(image.get_array(), np.nan)) for image in axes.images],
        "places": [[float(place) for place in text.get_position()] for text in axes.texts],
        "texts": as_text("\n".join(text.get_text() for text in axes.texts)),
        "words": as_text("\n".join(words)),
        "ticks": as_text("\n".join(tick.get_text() for tick in ticks)),
    }


def _vertices(patch: Any) -> np.ndarray:
    if hasattr(patch, "get_bbox") and hasattr(patch, "get_xy"):
        return np.asarray(patch.get_bbox().extents, float)
    return np.asarray(patch.get_path().vertices, float)


def _collection(part: Any) -> Any:
    values = part.get_array()
    return {
        "offsets": canonical(np.ma.filled(np.ma.asarray(part.get_offsets(), float), np.nan)),
        "outlines": [canonical(np.asarray(path.vertices, float)) for path in part.get_paths()],
        "values": None if values is None else canonical(np.ma.filled(values, np.nan)),
        "colors": canonical(np.asarray(part.get_facecolor(), float)),
    }


def _page(text: str) -> Any:
    """Write the numbers and the words of a page."""
    found = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.S)
    words = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.S)
    words = html.unescape(re.sub(r"<[^>]+>", " ", words))
    return {
        "numbers": canonical(json.loads(found[1])) if found else None,
        "words": as_text(re.sub(r"[ \t]*\n\s*", "\n", words)),
    }


def _archive(file: Path) -> Any:
    with zipfile.ZipFile(file) as archive:
        content = {"members": sorted(archive.namelist())}
        content["metadata"] = canonical(json.loads(archive.read("metadata.json")))
        arrays = [name for name in content["members"] if name.endswith(".npy")]
        for name in arrays:
            content[name] = canonical(np.load(io.BytesIO(archive.read(name))))
    return content


def written(file: Path) -> Ready:
    """Write the content of a file, by its ending."""
    readers: dict[str, Callable[[], Any]] = {
        ".csv": lambda: canonical(pd.read_csv(file)),
        ".json": lambda: canonical(json.loads(file.read_text())),
        ".html": lambda: _page(file.read_text()),
        ".dtstat": lambda: _archive(file),
        ".jsonl": lambda: {"lines": len(file.read_text().splitlines())},
        ".png": lambda: {"is": file.read_bytes()[:4].hex()},
    }
    return Ready(readers.get(file.suffix, lambda: as_text(file.read_text()))())


# Data
# ----

NINE = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9"
DEMOCRACY = """
ind60 =~ x1 + x2 + x3
dem60 =~ y1 + y2 + y3 + y4
dem65 =~ y5 + y6 + y7 + y8
dem60 ~ ind60
dem65 ~ ind60 + dem60
y1 ~~ y5
y2 ~~ y4 + y6
y3 ~~ y7
y4 ~~ y8
y6 ~~ y8
"""
LABELLED = """
ind60 =~ x1 + x2 + x3
dem60 =~ y1 + y2 + y3 + y4
dem65 =~ y5 + y6 + y7 + y8
dem60 ~ a*ind60
dem65 ~ a*ind60 + b*dem60
"""
THREE = {
    "visual": ["x1", "x2", "x3"],
    "textual": ["x4", "x5", "x6"],
    "speed": ["x7", "x8", "x9"],
}
TWO = {name: [f"{name}_{k}" for k in range(1, 5)] for name in ("engage", "support")}


@functools.cache
def nine() -> pd.DataFrame:
    """Nine ability tests."""
    return dt.load_dataset("holzinger_swineford_9")


@functools.cache
def gaps() -> pd.DataFrame:
    """Nine tests of which a tenth of the answers is missing."""
    missing = np.random.default_rng(5).random(nine().shape) < 0.1
    return nine().mask(missing)


@functools.cache
def ratings() -> pd.DataFrame:
    """Ratings of two scales, some missing."""
    return dt.load_dataset("likert_survey").iloc[:, :12]


@functools.cache
def yes_no() -> pd.DataFrame:
    """Yes/no answers."""
    return (ratings().fillna(3) > 3).astype(int)


@functools.cache
def mixed() -> pd.DataFrame:
    """Continuous items, ratings and yes/no answers of two factors."""
    drawn = dt.simulate("clusters", n=300, n_factors=2, items_per_factor=4, seed=8).data
    drawn["x2"] = pd.qcut(drawn["x2"], 4, labels=False) + 1
    drawn["x6"] = pd.qcut(drawn["x6"], 5, labels=False) + 1
    drawn["x7"] = (drawn["x7"] > drawn["x7"].median()).astype(int)
    return drawn


@functools.cache
def few() -> Any:
    """Draw a small simulation, for what is slow."""
    return dt.simulate("clusters", n=150, n_factors=2, items_per_factor=3, seed=3)


@functools.cache
def hidden() -> Any:
    """Draw data in which one of three factors has no item of its own."""
    return dt.simulate("clusters", n=400, n_factors=3, items_per_factor=6, violating=1 / 3, seed=2)


@functools.cache
def found() -> Any:
    """Fit by default."""
    return dt.fit(nine())


@functools.cache
def curved() -> Any:
    """Fit curves."""
    return dt.fit(few().data, estimator="spline", seed=1, finalists=2)


@functools.cache
def confirmed() -> Any:
    """Fit a confirmatory model."""
    return dt.cfa(nine(), NINE)


@functools.cache
def trusted() -> Any:
    """Diagnose the default fit."""
    return dt.diagnose(found(), nine(), n_boot=50, seed=1)


@functools.cache
def stable() -> Any:
    """Resample the default fit."""
    return dt.stability(nine(), n_boot=12, sizes=(0.5, 0.75), seed=1)


@functools.cache
def planned() -> Any:
    """Plan with simulations."""
    return dt.plan(n_factors=2, items_per_factor=4, loading=0.7, n_draws=40, seed=1)


def design() -> Any:
    """Describe a survey."""
    return dt.survey_design(n_factors=2, items_per_factor=[4, 5], loading=[0.7, 0.6])


def spread(a: np.ndarray, b: np.ndarray) -> float:
    """Measure dependence in a user's own way: correlation of signs about the medians."""
    return float(np.mean(np.sign(a - np.median(a)) * np.sign(b - np.median(b))))


# The calls
# ---------


def _dependence_calls() -> Calls:
    def measured(data: Callable[[], pd.DataFrame], measure: str) -> Callable[[], Any]:
        return lambda: dt.dependence(data(), measure)

    ordinal = {"polychoric", "tetrachoric"}
    names = [str(name) for name in dt.measures().index if name not in ordinal]
    calls: Calls = {f"dependence.{name}": measured(nine, name) for name in names}
    calls |= {
        f"dependence.ratings.{name}": measured(ratings, name) for name in [*names, "polychoric"]
    }
    return calls | {
        "measures": dt.measures,
        "dependence.tetrachoric": lambda: dt.dependence(yes_no(), "tetrachoric"),
        "dependence.mixed_kinds": lambda: dt.dependence(mixed(), "mixed"),
        "dependence.function": lambda: dt.dependence(nine(), spread),
        "dependence.gaps_pairwise": lambda: dt.dependence(gaps(), "kendall"),
        "dependence.gaps_listwise": lambda: dt.dependence(gaps(), missing="listwise"),
        "dependence.array": lambda: dt.dependence(nine().to_numpy(), n_jobs=2),
        "dependence.floor": lambda: dt.dependence(nine(), floor=0.25),
        "dependence.floor_chance": lambda: dt.dependence(
            dt.simulate("high_dimensional", n=60, seed=1).data, floor="chance"
        ),
        "dependence.select": lambda: dt.dependence(nine()).select(["x7", "x1", "x4"]),
        "dependence.from_matrix": lambda: dt.DependenceMatrix.from_matrix(
            nine().corr().to_numpy(), n_obs=301, names=list("abcdefghi")
        ),
        "dependence.from_covariance": lambda: dt.DependenceMatrix.from_matrix(nine().cov()),
    }


def _path_calls() -> Calls:
    def path() -> Any:
        return dt.solution_path(nine())

    return {
        "path": path,
        "path.at": lambda: [path().at(tau) for tau in (0.1, 0.25, 0.5, 0.9)],
        "path.structures": lambda: [candidate.structure for candidate in path().candidates],
        "path.barcode": lambda: path().barcode(),
        "path.barcode_at": lambda: [path().barcode().at(0.2), path().barcode().alive(0.2)],
        "path.summary_short": lambda: path().summary(max_rows=3),
        "path.grid": lambda: dt.solution_path(nine(), thresholds=20),
        "path.thresholds": lambda: dt.solution_path(nine(), thresholds=[0.1, 0.2, 0.4]),
        "path.min_children_2": lambda: dt.solution_path(nine(), min_children=2),
        "path.kendall": lambda: dt.solution_path(ratings(), "kendall", min_children=2),
        "path.floor": lambda: dt.solution_path(nine(), floor=0.2),
        "path.sparse_input": lambda: dt.solution_path(dt.dependence(nine(), floor=0.3)),
        "path.matrix": lambda: dt.solution_path(dt.dependence(nine(), "xi")),
        "path.26": lambda: dt.solution_path(dt.load_dataset("holzinger_swineford_26")),
        "cliques": lambda: dt.independent_maximal_cliques(nine().corr().abs() > 0.3),
        "cliques.array": lambda: dt.independent_maximal_cliques(
            dt.dependence(nine()).strength > 0.15, min_children=3
        ),
    }


def _fit_calls() -> Calls:
    def fitted(data: Callable[[], Any] = nine, **options: Any) -> Callable[[], Any]:
        return lambda: dt.fit(data(), **options)

    names = [str(name) for name in dt.measures().index]
    calls: Calls = {
        f"fit.measure.{name}": fitted(measure=name)
        for name in names
        if name not in {"tetrachoric", "polychoric"}
    }
    for criterion in ("bic", "aic", "validation", "validation_2se", "cv"):
        calls[f"fit.criterion.{criterion}"] = fitted(criterion=criterion, seed=4)
    for search in ("threshold", "sequential"):
        calls[f"fit.search.{search}"] = fitted(search=search)
    return calls | {
        "fit": found,
        "fit.function": fitted(measure=spread),
        "fit.polychoric": fitted(ratings, measure="polychoric"),
        "fit.tetrachoric": fitted(yes_no, measure="tetrachoric"),
        "fit.yes_no": fitted(yes_no),
        "fit.ratings": fitted(ratings),
        "fit.mixed": fitted(mixed),
        "fit.hidden": lambda: dt.fit(hidden().data, search="sequential"),
        "fit.linear": fitted(estimator="linear"),
        "fit.linear_ratings": fitted(ratings, estimator="linear"),
        "fit.thresholds": fitted(search="threshold", thresholds=[0.15, 0.25, 0.3]),
        "fit.grid": fitted(search="threshold", thresholds=25, criterion="bic"),
        "fit.refine": fitted(refine=True),
        "fit.min_children_2": fitted(min_children=2, misfit="none"),
        "fit.uncovered_report": fitted(min_children=2, uncovered="report"),
        "fit.gaps_pairwise": fitted(gaps),
        "fit.gaps_listwise": fitted(gaps, missing="listwise"),
        "fit.26": lambda: dt.fit(dt.load_dataset("holzinger_swineford_26")),
        "fit.few_rows": lambda: dt.fit(nine().head(40)),
        "fit.structure_keys": fitted(structure=THREE),
        "fit.structure_text": fitted(structure="speed =~ x7 + x8 + x9; rest =~ x1 + x2 + x4 + x5"),
        "fit.structure_ratings": fitted(ratings, structure=TWO),
        "fit.array": lambda: dt.fit(nine().to_numpy()),
        "fit.items": lambda: dt.fit(dt.items(ratings(), kinds="continuous")),
        "fit.matrix": lambda: dt.fit(dt.dependence(nine(), "kendall")),
        "fit.covariance": lambda: dt.fit(nine().cov(), n_obs=301),
        "fit.correlations": lambda: dt.fit(
            dt.DependenceMatrix.from_matrix(nine().corr()), n_obs=301
        ),
        "fit.no_factor": lambda: dt.fit(np.random.default_rng(1).normal(size=(200, 5))),
        "fit.spline": curved,
        "fit.spline_ratings": lambda: dt.fit(
            ratings().iloc[:300, [0, 1, 2, 6, 7, 8]], estimator="spline", seed=2, finalists=1
        ),
        "fit.spline_maximal": lambda: dt.fit(
            dt.simulate(
                "clusters", 200, n_factors=2, items_per_factor=3, maps="non_monotone", seed=1
            ).data,
            measure="maximal",
            estimator="spline",
            seed=1,
            finalists=1,
        ),
        "fit.spline_structure": lambda: dt.fit(
            few().data, structure=few().structure, estimator="spline", seed=1
        ),
        "fit.spline_checkpoint": _checkpointed,
        "fit.neural": lambda: dt.fit(
            few().data,
            structure=few().structure,
            estimator="neural",
            criterion="validation",
            seed=1,
        ),
        "fit.variational": lambda: dt.fit(
            few().data,
            structure=few().structure,
            estimator="variational",
            criterion="validation",
            seed=1,
        ),
        "fit.paper_fast": lambda: dt.fit(few().data, preset="paper_fast", seed=1, finalists=1),
        "fit.paper": lambda: dt.fit(
            dt.simulate("clusters", 30, n_factors=1, items_per_factor=2, seed=3).data,
            preset="paper",
            seed=1,
        ),
    }


def _checkpointed() -> list[Any]:
    fits = []
    for _ in range(2):
        fit = dt.fit(
            few().data, estimator="spline", seed=1, finalists=1, checkpoint="kept.checkpoint"
        )
        fits.append([fit.explanation, fit.loadings, fit.nonlinear_loadings])
    return fits


def _result_calls() -> Calls:
    calls: Calls = {}
    for kind in ("diagram", "dependence", "path", "barcode", "margin", "curves", "residuals"):
        calls[f"fit.plot.{kind}"] = lambda kind=kind: found().plot(kind)
    return calls | {
        "fit.plot.loadings": lambda: found().plot("loadings", cutoff=0.5),
        "fit.plot.curves_spline": lambda: curved().plot("curves"),
        "fit.plot.path_threshold": lambda: dt.fit(nine(), search="threshold").plot("path"),
        "fit.candidates": lambda: found().candidates,
        "fit.candidate": lambda: [found().candidate(0), found().candidate(1)],
        "fit.path_scores": lambda: found().path_scores(),
        "fit.provenance": lambda: found().provenance,
        "fit.path": lambda: found().path,
        "fit.factor_scores": lambda: found().factor_scores(nine()),
        "fit.factor_scores_sd": lambda: found().factor_scores(gaps().head(60), sd=True),
        "fit.augment": lambda: found().augment(nine().head(60)),
        "fit.residuals": lambda: found().residuals(),
        "fit.response_curves": lambda: found().response_curves(),
        "fit.summary_intervals": lambda: found().summary(cutoff=0.1, max_rows=1, intervals=True),
        "fit.second_level": lambda: dt.fit(
            dt.load_dataset("holzinger_swineford_26")
        ).second_level(),
        "fit.to_lavaan": lambda: [found().to_lavaan(), found().to_keys()],
        "fit.spline_scores": lambda: curved().factor_scores(few().data.head(40), sd=True),
        "fit.spline_curves": lambda: curved().response_curves(),
        "fit.spline_likelihoods": lambda: curved().nonlinear.log_likelihoods(
            few().data.head(30).to_numpy()
        ),
        "fit.report": _reported,
        "fit.report_full": lambda: _reported(
            diagnosis=trusted(), stability=stable(), title="All of it"
        ),
        "fit.report_spline": _reported_curves,
    }


def _reported(**options: Any) -> Any:
    return written(found().report("page.html", **options))


def _reported_curves() -> Any:
    return written(curved().report("page.html"))


def _trust_calls() -> Calls:
    return {
        "diagnose": trusted,
        "diagnose.no_rows": lambda: dt.diagnose(found()),
        "diagnose.structure": lambda: dt.diagnose(dt.fit(nine(), structure=THREE)),
        "diagnose.kendall": lambda: dt.diagnose(
            dt.fit(nine(), measure="kendall"), nine(), n_boot=20, seed=3
        ),
        "diagnose.ratings": lambda: dt.diagnose(dt.fit(ratings()), ratings(), n_boot=20, seed=3),
        "diagnose.spline": lambda: dt.diagnose(curved(), few().data, n_boot=10, seed=3),
        "diagnose.plot.margin": lambda: trusted().plot("margin"),
        "diagnose.plot.factors": lambda: trusted().plot("factors"),
        "stability": stable,
        "stability.subsample": lambda: dt.stability(
            nine(), n_boot=8, scheme="subsample", share=0.6, seed=2, n_jobs=2
        ),
        "stability.fit": lambda: dt.stability(nine(), n_boot=5, fit=found(), seed=2),
        "stability.options": lambda: dt.stability(
            nine(), n_boot=5, seed=2, measure="kendall", search="threshold", checkpoint="some"
        ),
        "stability.plot.items": lambda: stable().plot("items"),
        "stability.plot.n_factors": lambda: stable().plot("n_factors"),
        "stability.plot.sizes": lambda: stable().plot("sizes"),
        "margin": lambda: dt.margin(nine(), THREE),
        "margin.spearman": lambda: dt.margin(nine(), NINE, "spearman"),
        "margin.design": lambda: dt.margin(design(), measure="spearman"),
        "margin.matrix": lambda: dt.margin(dt.dependence(nine(), "kendall"), THREE),
    }


def _planning_calls() -> Calls:
    measures = ("kendall", "spearman", "pearson")
    return {
        "plan": planned,
        "plan.no_draws": lambda: dt.plan(n_factors=3, n_draws=0, seed=1),
        "plan.design": lambda: dt.plan(design(), measure="kendall", n_draws=20, seed=2),
        "plan.ratings": lambda: dt.plan(
            n_factors=2, items_per_factor=3, levels=5, n_draws=10, seed=1
        ),
        "plan.paper": lambda: dt.plan(
            n_factors=2, factor_correlation=0.3, sharp=False, n_draws=0, measure="kendall", seed=1
        ),
        "plan.plot": lambda: planned().plot(),
        "plan.plot.fit": lambda: planned().plot(target=str(planned().table["target"].iloc[-1])),
        "survey_design": design,
        "survey_design.matrix": lambda: dt.survey_design(
            loading=[[0.7, 0], [0.6, 0.2], [0.8, 0], [0, 0.7], [0, 0.5], [0, 0.6]],
            factor_correlation=[[1, 0.3], [0.3, 1]],
        ),
        "survey_design.levels": lambda: dt.survey_design(2, 4, 0.6, levels=5),
        "survey_design.dependence": lambda: [
            design().dependence("kendall"),
            design().dependence("distance", seed=1),
            design().closed_form("kendall"),
        ],
        "survey_design.draw": lambda: design().draw(20, np.random.default_rng(1)),
        "sample_size": lambda: [dt.sample_size(25, 0.2, measure=m) for m in measures],
        "sample_size.paper": lambda: dt.sample_size(25, 0.2, sharp=False),
        "sample_size.normal": lambda: [
            dt.sample_size(25, 0.2, measure=m, method="normal") for m in measures
        ],
        "sample_size.factor": lambda: dt.sample_size(25, 0.2, factor_size=5, error=0.01),
        "sample_size.table": lambda: dt.sample_size_table([10, 25], [0.1, 0.2]),
        "sample_size.table_factor": lambda: dt.sample_size_table(25, 0.2, factor_size=4),
        "error_bound": lambda: [dt.error_bound(2000, 25, 0.2, measure=m) for m in measures],
        "error_bound.pairs": lambda: dt.error_bound(dt.dependence(gaps()).pairwise_n, 9, 0.4),
        "error_bound.normal": lambda: dt.error_bound(400, 25, 0.2, method="normal"),
        "error_bound.simulation": lambda: dt.error_bound(
            200, 10, 0.2, method="simulation", n_draws=100, seed=1
        ),
        "min_margin": lambda: [dt.min_margin(1000, 25, measure=m) for m in measures],
        "max_items": lambda: [dt.max_items(2000, 0.2, measure=m) for m in measures],
        "ucc_probability": lambda: [
            dt.ucc_probability(20, 4, 0.2, form=form) for form in ("exact", "bound", "sparse")
        ],
        "ucc_probability.small": lambda: [dt.ucc_probability(12, d, 0.4) for d in (1, 2, 3)],
        "bounds": dt.bounds,
        "bounds.paper": lambda: dt.bounds(sharp=False),
        "bound.kinds": lambda: [
            [bound, dt.sample_size(10, 0.3, measure=bound)]
            for bound in (
                dt.Bound.of("spearman"),
                dt.Bound.normal("kendall"),
                dt.Bound.bounded_pearson(0.25),
                dt.Bound.subgaussian_pearson(),
                dt.Bound.u_statistic(2, -1, 1),
            )
        ],
    }


def _simulation_calls() -> Calls:
    def drawn(name: str, **options: Any) -> Callable[[], Any]:
        return lambda: dt.simulate(name, **{"n": 60, "seed": 7} | options)

    calls: Calls = {
        f"simulate.{name}": drawn(name)
        for name in ("v_structure", "chain", "double_mediation", "high_dimensional")
    }
    for latent in ("t5", "skewed", "uniform", "bimodal"):
        calls[f"simulate.{latent}"] = drawn("chain", latent=latent, n=30)
    for maps in ("linear", "non_monotone", "one_in_five", "g3"):
        calls[f"simulate.maps_{maps}"] = drawn("v_structure", maps=maps, n=30)
    return calls | {
        "simulate.clusters": drawn("clusters", n_factors=3, factor_correlation=0.4),
        "simulate.violating": drawn("clusters", n_factors=5, violating=0.4, second_parent="shared"),
        "simulate.cross_loadings": drawn("clusters", n_factors=3, cross_loadings=4, snr=2.0),
        "simulate.levels": drawn("chain", levels=5, path_coefficient=0.7, items_per_factor=3),
        "simulate.function": drawn("chain", maps=[np.tanh, "square"]),
        "simulate.generator": lambda: dt.simulate("chain", 20, seed=np.random.default_rng(3)),
    }


def _structure_calls() -> Calls:
    keys = {"A": ["a1", "a2", "-a3", "c"], "B": ["b1", "b2", "c"]}

    def structure() -> Any:
        return dt.Structure.from_keys(keys, item_names=["a1", "a2", "a3", "b1", "b2", "c", "d"])

    return {
        "structure.keys": structure,
        "structure.matrix": lambda: dt.Structure(
            np.array([[1, 0], [1, 1], [0, 1]], bool), ["p", "q", "r"], ["A", "B"]
        ),
        "structure.queries": lambda: {
            "children": [structure().children("A"), structure().children(1)],
            "parents": [structure().parents("c"), structure().parents(0)],
            "unique": structure().unique_children("B"),
            "marker_first": structure().marker_first(0),
            "graph": structure().parent_sharing_graph(),
        },
        "structure.under": lambda: dt.Structure.from_keys(THREE).under(
            dt.Structure.from_keys({"G": ["visual", "textual", "speed"]})
        ),
        "structure.equal": lambda: [structure() == structure(), hash(structure()) == hash("A")],
        "structure.pickle": lambda: pickle.loads(pickle.dumps(structure())),
        "compare": lambda: dt.compare(found(), THREE),
        "compare.other": lambda: dt.compare(
            {"F": ["x1", "x2", "x3", "x4"], "G": ["x5", "x6", "x7", "x8", "x9"]}, NINE
        ),
    }


def _model_calls() -> Calls:
    def model(data: Callable[[], Any] = nine, text: Any = NINE, **options: Any) -> Any:
        return lambda: dt.cfa(data(), text, **options)

    def country() -> pd.DataFrame:
        return dt.load_dataset("political_democracy")

    return {
        "cfa": confirmed,
        "cfa.std_lv": model(std_lv=True),
        "cfa.orthogonal": model(orthogonal=True),
        "cfa.mean_structure": model(mean_structure=True),
        "cfa.mlr": model(estimator="mlr"),
        "cfa.mlr_means": model(estimator="mlr", mean_structure=True, std_lv=True),
        "cfa.fiml": model(gaps, estimator="fiml"),
        "cfa.mlr_fiml": model(gaps, estimator="mlr", missing="fiml"),
        "cfa.listwise": model(gaps),
        "cfa.dwls": model(ratings, TWO, estimator="dwls"),
        "cfa.ordered": model(ratings, TWO, ordered=True, std_lv=True),
        "cfa.ordered_some": model(ratings, TWO, ordered=["engage_1", "engage_2"]),
        "cfa.ordered_yes_no": model(yes_no, TWO, ordered=True),
        "cfa.covariance": lambda: dt.cfa(nine().cov(), NINE, n_obs=301),
        "cfa.correlations": lambda: dt.cfa(dt.dependence(nine(), "pearson"), NINE),
        "cfa.structure": lambda: dt.cfa(nine(), found().structure, estimator="mlr"),
        "cfa.fit": lambda: dt.cfa(nine(), found(), std_lv=True),
        "cfa.constraints": model(text="f =~ x1 + a*x2 + a*x3\ng =~ x4 + x5 + x6\nf ~~ 0.3*g"),
        "cfa.second_order": model(text=NINE + "\ng =~ visual + textual + speed"),
        "cfa.residual_covariance": model(text=NINE + "\nx7 ~~ x8"),
        "cfa.modification_indices": lambda: confirmed().modification_indices(minimum=5.0),
        "cfa.scores": lambda: confirmed().factor_scores(nine().head(50)),
        "cfa.scores_bartlett": lambda: confirmed().factor_scores(nine().head(50), "bartlett"),
        "cfa.scores_gaps": lambda: dt.cfa(gaps(), NINE, missing="fiml").factor_scores(
            gaps().head(50)
        ),
        "cfa.augment": lambda: confirmed().augment(nine().head(30)),
        "cfa.residuals_raw": lambda: confirmed().residuals("raw"),
        "cfa.factor_table": lambda: confirmed().factor_table(cutoff=0.5, sort=False),
        "cfa.summary_all": lambda: confirmed().summary(ci=True, rsquare=True, modindices=True),
        "cfa.summary_short": lambda: confirmed().summary(fit_measures=False, standardized=False),
        "cfa.plot.diagram": lambda: confirmed().plot(),
        "cfa.plot.loadings": lambda: confirmed().plot("loadings"),
        "cfa.plot.residuals": lambda: confirmed().plot("residuals"),
        "sem": lambda: dt.sem(country(), DEMOCRACY),
        "sem.mlr": lambda: dt.sem(country(), DEMOCRACY, estimator="mlr"),
        "sem.labels": lambda: dt.sem(country(), LABELLED),
        "sem.labels_std_lv": lambda: dt.sem(country(), LABELLED, std_lv=True),
        "sem.regression": lambda: dt.sem(country(), "y1 ~ x1 + x2\ny5 ~ y1"),
        "sem.fiml": lambda: dt.sem(
            country().mask(np.random.default_rng(2).random((75, 11)) < 0.05),
            DEMOCRACY,
            missing="fiml",
        ),
    }


def _exploratory_calls() -> Calls:
    def explored(**options: Any) -> Callable[[], Any]:
        return lambda: dt.efa(nine(), 3, **options)

    calls: Calls = {}
    for method in ("minres", "ml"):
        for rotation in ("oblimin", "promax", "varimax", "none"):
            calls[f"efa.{method}.{rotation}"] = explored(rotation=rotation, method=method)
    return calls | {
        "efa.one": lambda: dt.efa(nine(), 1),
        "efa.matrix": lambda: dt.efa(nine().corr(), 2, n_obs=301),
        "efa.polychoric": lambda: dt.efa(dt.dependence(ratings(), "polychoric"), 2),
        "efa.summary": lambda: dt.efa(nine(), 3).summary(sort=True, cutoff=0.3, digits=3),
        "efa.to_structure": lambda: dt.efa(nine(), 3).to_structure(cutoff=0.4),
        "efa.plot.loadings": lambda: dt.efa(nine(), 3).plot(),
        "efa.plot.diagram": lambda: dt.efa(nine(), 3).plot("diagram"),
        "parallel_analysis": lambda: dt.parallel_analysis(nine(), seed=1),
        "parallel_analysis.polychoric": lambda: dt.parallel_analysis(
            ratings(), measure="polychoric", n_iter=5, seed=1
        ),
        "parallel_analysis.matrix": lambda: dt.parallel_analysis(
            dt.dependence(nine(), "pearson"), n_iter=10, quantile=0.9, seed=1
        ),
        "parallel_analysis.plot": lambda: dt.parallel_analysis(nine(), n_iter=5, seed=1).plot(),
        "compare_solutions": lambda: dt.compare_solutions(found(), dt.efa(nine(), 3)),
        "compare_solutions.cfa": lambda: dt.compare_solutions(
            confirmed(), dt.efa(nine(), 2, rotation="varimax")
        ),
        "kmo": lambda: dt.kmo(nine()),
        "kmo.matrix": lambda: dt.kmo(dt.dependence(ratings(), "polychoric")),
        "bartlett_test": lambda: dt.bartlett_test(nine()),
    }


def _data_calls() -> Calls:
    calls: Calls = {
        f"load_dataset.{name}": lambda name=name: dt.load_dataset(name)
        for name in dt.datasets()["name"]
    }
    for ending in ("csv", "tsv", "xlsx", "parquet", "sav", "dta"):
        calls[f"read_survey.{ending}"] = lambda ending=ending: _read(ending)
    return calls | {
        "datasets": dt.datasets,
        "read_survey.codes": lambda: _read("csv", missing_codes=[2], columns="engage*"),
        "read_survey.columns": lambda: _read("csv", columns=["support_2", "engage_1"]),
        "items": lambda: dt.items(mixed()),
        "items.kinds": lambda: dt.items(ratings(), kinds={"engage_1": "continuous"}),
        "items.categories": lambda: dt.items(
            ratings().iloc[:, :4].apply(lambda c: pd.Categorical(c, ordered=True))
        ),
        "items.digest": lambda: dt.items(nine()).digest(),
        "items.parts": lambda: [
            dt.items(gaps()).complete_rows(),
            dt.items(gaps()).select(["x3", "x1"]),
            dt.items(gaps()).take(np.arange(5)),
        ],
        "items.codes_warned": lambda: dt.items(nine().round().replace(5, 99).head(80)),
        "items.copy_warned": lambda: dt.fit(nine().assign(sum=nine().x1 + nine().x2)),
        "items.polars": lambda: dt.items(importlib.import_module("polars").DataFrame(nine())),
        "all": lambda: sorted(dt.__all__),
    }


def _read(ending: str, **options: Any) -> pd.DataFrame:
    table, file = ratings().head(60), f"answers.{ending}"
    writers: dict[str, Callable[[], Any]] = {
        "csv": lambda: table.to_csv(file, index=False),
        "tsv": lambda: table.to_csv(file, index=False, sep="\t"),
        "xlsx": lambda: table.to_excel(file, index=False),
        "parquet": lambda: table.to_parquet(file),
        "sav": lambda: importlib.import_module("pyreadstat").write_sav(table, file),
        "dta": lambda: table.to_stata(file, write_index=False),
    }
    writers[ending]()
    return dt.read_survey(file, **options)


def _saved_calls(saved: Path, target: Path) -> Calls:
    makers: Calls = {
        "fit": found,
        "spline": curved,
        "cfa": confirmed,
        "diagnosis": trusted,
        "stability": stable,
        "plan": planned,
    }

    def stored(name: str) -> Any:
        file = target / f"{name}.dtstat"
        makers[name]().save(file, overwrite=True)
        return written(file)

    calls: Calls = {f"save.{name}": lambda name=name: stored(name) for name in makers}
    for name in makers:
        calls[f"load.{name}"] = lambda name=name: dt.load(saved / f"{name}.dtstat")
    return calls


def _study_calls() -> Calls:
    def studies() -> Any:
        return importlib.import_module(STUDIES)

    def untimed(result: Any) -> Any:
        outcome = [result.records, result.outcomes, result.table()]
        return [*outcome, as_text(_outline(repr(result.summary())))]

    return {
        "study.table1": lambda: untimed(studies().table1(reps=2, n=200)),
        "study.table1_options": lambda: untimed(
            studies().table1(
                reps=1, designs="chain", n=150, criterion="bic", min_children=3, out="kept.jsonl"
            )
        ),
        "study.highdim": lambda: untimed(
            studies().highdim(reps=1, sizes=40, phis=0.25, shares=0.2, readings="own")
        ),
        "study.highdim_plot": lambda: (
            studies().highdim(reps=2, sizes=30, phis=0, shares=0.2, searches="plain").plot()
        ),
    }


def _outline(text: str) -> str:
    """Keep the words of a text with times in it."""
    return re.sub(r"[-\s]*\s[-\s]*", " ", re.sub(r"\d+(\.\d+)?", "#", text))


def _interop_calls() -> Calls:
    def model(**options: Any) -> Any:
        return importlib.import_module(SKLEARN).DependenceThresholding(**options)

    def r() -> Any:
        return importlib.import_module(FROM_R)

    def searched() -> Any:
        selection = importlib.import_module("sklearn.model_selection")
        grid = selection.GridSearchCV(model(), {"measure": ["spearman", "kendall"]}, cv=3)
        grid.fit(nine())
        return [grid.best_params_, grid.cv_results_["mean_test_score"]]

    def estimated() -> Any:
        fitted = model().fit(nine())
        scores = [fitted.transform(nine()), fitted.score(nine())]
        parts = [fitted.loadings_, fitted.factor_correlations_, fitted.n_factors_]
        return [*scores, *parts, fitted.structure_, fitted.get_feature_names_out(), repr(fitted)]

    def answers() -> pd.DataFrame:
        return r().r_dataset("psych", "bfi").iloc[:300, :10]

    def there_and_back() -> Any:
        return [r().from_r(r().to_r(value)) for value in (mixed(), THREE, [1, 2.5], "x", None)]

    return {
        "sklearn": estimated,
        "sklearn.grid": searched,
        "sklearn.spline": lambda: [
            model(estimator="spline", finalists=1, random_state=1).fit(few().data).score(few().data)
        ],
        "r.available": lambda: r().r_available("psych", "lavaan"),
        "r.dataset": answers,
        "r.fit": lambda: dt.fit(answers()),
        "r.there_and_back": there_and_back,
        "r.psych_fa": lambda: r().psych_fa(nine(), 3, rotate="varimax"),
        "r.lavaan_cfa": lambda: r().lavaan_cfa(NINE, nine()),
        "r.lavaan_same": lambda: r().lavaan_cfa(confirmed(), nine()),
        "r.compare": lambda: r().compare(found(), r().psych_fa(nine(), 3, rotate="varimax")),
    }


def _wrong_calls() -> Calls:
    wrong: Calls = {
        "measure": lambda: dt.fit(nine(), measure="spaerman"),
        "search": lambda: dt.fit(nine(), search="all"),
        "criterion": lambda: dt.fit(nine(), criterion="abic"),
        "estimator": lambda: dt.fit(nine(), estimator="neural"),
        "thresholds": lambda: dt.fit(nine(), thresholds=20),
        "preset": lambda: dt.fit(nine(), preset="paper", criterion="bic"),
        "uncovered": lambda: dt.fit(nine().assign(z=range(301)), uncovered="error"),
        "missing": lambda: dt.fit(gaps(), missing="error"),
        "structure_item": lambda: dt.fit(nine(), structure={"A": ["x1", "x2", "x33"]}),
        "matrix_rows": lambda: dt.fit(nine().cov()),
        "sparse": lambda: dt.fit(dt.dependence(nine(), floor=0.2)),
        "text_column": lambda: dt.fit(nine().assign(sex="f")),
        "constant": lambda: dt.fit(nine().assign(one=1)),
        "one_column": lambda: dt.fit(nine()[["x1"]]),
        "no_file": lambda: dt.read_survey("nowhere.csv"),
        "dataset": lambda: dt.load_dataset("holzinger"),
        "load": lambda: dt.load("nowhere.dtstat"),
        "syntax": lambda: dt.cfa(nine(), "f =~ x1 + + x2"),
        "model_item": lambda: dt.cfa(nine(), "f =~ x1 + x2 + y3"),
        "identified": lambda: dt.cfa(nine(), "f =~ x1 + x2"),
        "defined": lambda: dt.cfa(nine(), NINE + "\nproduct := a * b"),
        "cfa_estimator": lambda: dt.cfa(nine(), NINE, estimator="wlsm"),
        "efa_factors": lambda: dt.efa(nine(), 12),
        "rotation": lambda: dt.efa(nine(), 2, rotation="quartimax"),
        "sample_size": lambda: dt.sample_size(25, 1.5),
        "no_bound": lambda: dt.sample_size(25, 0.2, measure="xi"),
        "design": lambda: dt.simulate("clusters"),
        "design_name": lambda: dt.simulate("chains"),
        "keys": lambda: dt.Structure.from_keys({"A": []}),
        "adjacency": lambda: dt.independent_maximal_cliques([[0, 1], [0, 0]]),
        "diagnose": lambda: dt.diagnose(found(), nine().head(100)),
        "plot": lambda: found().plot("pie"),
        "stability": lambda: dt.stability(nine(), n_boot=0),
        "compare": lambda: dt.compare(found(), {"A": ["a", "b"]}),
        "save": lambda: found().save("fit.csv"),
        "alpha": lambda: dt.ucc_probability(0, 3, 0.5),
    }
    return {f"error.{name}": call for name, call in wrong.items()}


def _command(line: list[str]) -> Any:
    """Run a command in this process, in the folder of the call."""
    out, err, status, before = io.StringIO(), io.StringIO(), 0, sys.argv
    there = {file.name for file in Path().iterdir()}
    sys.argv = ["dtstat", *line]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            runpy.run_module("dtstat", run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0
    finally:
        sys.argv = before
    said = _outline(out.getvalue()) if line[0] == "study" else out.getvalue()
    return {
        "status": status,
        "stdout": as_text(said),
        "stderr": as_text(err.getvalue()),
        "files": {f.name: written(f) for f in sorted(Path().iterdir()) if f.name not in there},
    }


def _process() -> Any:
    command = [sys.executable, "-m", "dtstat", "fit", "holzinger_swineford_9"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [done.returncode, as_text(done.stdout), as_text(done.stderr)]


def _matrix_command() -> Any:
    nine().corr().to_csv("matrix.csv")
    return _command(["fit", "matrix.csv", "--matrix", "--n-obs", "301", "--csv", "loadings.csv"])


_COMMANDS = {
    "help": "--help",
    "version": "--version",
    **{f"help.{name}": f"{name} --help" for name in ("fit", "path", "report", "diagnose", "plan")},
    **{f"help.{name}": f"{name} --help" for name in ("cfa", "simulate", "study")},
    "measures": "measures",
    "datasets": "datasets",
    "fit": "fit holzinger_swineford_9 --csv l.csv --candidates c.csv --scores s.csv --json f.json "
    "--lavaan m.lav --save f.dtstat",
    "fit.options": "fit holzinger_swineford_9 --measure kendall --search threshold --criterion bic "
    "--min-children 2 --uncovered report --refine --misfit none --cutoff 0.1 --rows 2 --columns x*",
    "fit.cv": "fit holzinger_swineford_9 --criterion cv --seed 3 --estimator linear",
    "fit.spline": "fit sim_v_structure --columns x1,x2,x3,x6,x7,x8 --estimator spline "
    "--finalists 1 --seed 1 --curves c.csv",
    "path": "path holzinger_swineford_9 --rows 6 --csv p.csv --json p.json --structures 2",
    "path.at": "path holzinger_swineford_9 --at 0.25 --measure kendall",
    "path.floor": "path holzinger_swineford_9 --floor 0.2 --by factors",
    "report": "report holzinger_swineford_9 -o page.html --resamples 20 --stability 3 --seed 1",
    "diagnose": "diagnose holzinger_swineford_9 --resamples 20 --stability 3 --sizes 0.5 --seed 1 "
    "--csv d.csv --json d.json --save d.dtstat",
    "plan.margin": "plan --items 25 --margin 0.2 --csv p.csv",
    "plan.factors": "plan --factors 2 --items-per-factor 4 --draws 20 --seed 1 --csv p.csv",
    "simulate": "simulate s.csv --design chain --n 30 --levels 5 --seed 2",
    "simulate.clusters": "simulate s.csv --design clusters --factors 3 --n 20 --cross-loadings 2",
    "study.table1": "study table1 --reps 1 --n 100 --designs chain --table t.csv --out t.jsonl",
    "study.highdim": "study highdim --reps 1 --sizes 30 --phis 0 --shares 0.2 --readings own "
    "--searches plain --table t.csv",
    "error.file": "fit nowhere.csv",
    "error.name": "fit holzinger",
    "error.option": "path holzinger_swineford_9 --thresholds many",
}


def _command_calls() -> Calls:
    calls: Calls = {
        f"cli.{name}": lambda line=line: _command(line.split()) for name, line in _COMMANDS.items()
    }
    model = "speed =~ x7 + x8 + x9; visual =~ x1 + x2 + x3"
    cfa = ["cfa", "holzinger_swineford_9", "--model", model]
    return calls | {
        "cli.cfa": lambda: _command([*cfa, "--csv", "p.csv", "--json", "p.json"]),
        "cli.cfa.options": lambda: _command([*cfa, "--estimator", "mlr", "--std-lv"]),
        "cli.cfa.table": lambda: _command([*cfa, "--factor-table", "--orthogonal"]),
        "cli.fit.matrix": _matrix_command,
        "cli.process": _process,
    }


def all_calls(saved: Path, target: Path) -> Calls:
    """Return every call by its name, those that start R last."""
    return (
        _data_calls()
        | _dependence_calls()
        | _path_calls()
        | _fit_calls()
        | _result_calls()
        | _trust_calls()
        | _planning_calls()
        | _simulation_calls()
        | _structure_calls()
        | _model_calls()
        | _exploratory_calls()
        | _saved_calls(saved, target)
        | _study_calls()
        | _wrong_calls()
        | _command_calls()
        | _interop_calls()
    )


# Recording
# ---------


def recorded(call: Callable[[], Any]) -> dict[str, Any]:
    """Run a call in an empty folder; return what came of it, and what was warned of."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _WRITTEN.append((folder, "FOLDER"))
        os.chdir(folder)
        try:
            outcome = {"value": canonical(call())}
        except Exception as error:
            outcome = {"value": _refusal(error)}
        finally:
            os.chdir(before)
            _WRITTEN.pop()
    told = [one for one in caught if issubclass(one.category, dt.DTWarning)]
    outcome["warned"] = [
        {"class": one.category.__name__, "message": as_text(str(one.message))} for one in told
    ]
    return outcome


def record(folder: Path, only: str, saved: Path | None) -> None:
    """Run all calls and write what they return."""
    folder = folder.resolve()
    target = folder / "saved"
    target.mkdir(parents=True, exist_ok=True)
    package = Path(dt.__file__).resolve().parent
    _WRITTEN[:] = [(str(folder), "OUTDIR"), (str(package.parent), "ROOT")]
    print(f"dtstat is {package}", file=sys.stderr)
    calls = all_calls(saved.resolve() if saved else target, target)
    chosen = {name: call for name, call in calls.items() if fnmatch.fnmatch(name, only)}
    outcomes, seconds = {}, {}
    for name, call in chosen.items():
        start = time.process_time()
        outcomes[name] = recorded(call)
        seconds[name] = time.process_time() - start
        print(f"{seconds[name]:6.2f} s  {name}", file=sys.stderr, flush=True)
    text = json.dumps(outcomes, ensure_ascii=False, indent=None, separators=(",", ":"))
    (folder / FILE).write_text(text + "\n", encoding="utf-8")
    failed = [name for name in chosen if _unwanted(name, outcomes[name]["value"])]
    print(f"{len(chosen)} calls, {sum(seconds.values()):.0f} s of processor time")
    for name in failed:
        print(f"  refused: {name}: {outcomes[name]['value']['message']['text']}")


def _unwanted(name: str, value: Any) -> bool:
    refused = isinstance(value, dict) and {"error", "message"} <= value.keys()
    return refused and not name.startswith("error.")


# Comparing
# ---------


class Difference(NamedTuple):
    """One place at which two recordings differ: a number, a value, or wording."""

    kind: str
    place: str
    detail: str
    size: float = 0.0


class Tally:
    """What was compared: numbers, and those that are not the same to the last digit."""

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance
        self.numbers = self.inexact = self.texts = self.renumbered = 0
        self.largest = 0.0

    def differences(self, a: Any, b: Any, place: str) -> Iterator[Difference]:
        """Go through two values side by side."""
        if _is_text(a) and _is_text(b):
            yield from self._wording(a["text"], b["text"], place)
        elif isinstance(a, dict) and isinstance(b, dict):
            yield from self._entries(a, b, place)
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                yield Difference("value", place, f"{len(a)} entries and {len(b)}")
            for k, (one, other) in enumerate(zip(a, b, strict=False)):
                yield from self.differences(one, other, f"{place}[{k}]")
        elif _is_number(a) and _is_number(b):
            yield from self._number(a, b, place)
        elif a != b:
            yield Difference("value", place, f"{_short(a)} and {_short(b)}")

    def _entries(self, a: dict[str, Any], b: dict[str, Any], place: str) -> Iterator[Difference]:
        for key in [key for key in a if key not in b]:
            yield Difference("value", f"{place}.{key}", "only in the first")
        for key in [key for key in b if key not in a]:
            yield Difference("value", f"{place}.{key}", "only in the second")
        shared = [key for key in a if key in b]
        if a.keys() == b.keys() and list(a) != list(b):
            yield Difference("value", place, "another order of entries")
        for key in shared:
            yield from self.differences(a[key], b[key], f"{place}.{key}")

    def _number(self, a: float, b: float, place: str) -> Iterator[Difference]:
        self.numbers += 1
        if a == b or (math.isnan(a) and math.isnan(b)):
            return
        self.inexact += 1
        size = abs(a - b) / max(abs(a), abs(b), FLOOR)
        size = size if math.isfinite(size) else math.inf
        self.largest = max(self.largest, size)
        if size > self.tolerance:
            yield Difference("number", place, f"{a!r} and {b!r}", size)

    def _wording(self, a: str, b: str, place: str) -> Iterator[Difference]:
        self.texts += 1
        if a == b:
            return
        changed = [
            line
            for line in difflib.unified_diff(a.splitlines(), b.splitlines(), "", "", "", "", 0)
            if not line.startswith(("---", "+++", "@@"))
        ]
        numbers = re.findall(r"\d+(?:\.\d+)?", a) != re.findall(r"\d+(?:\.\d+)?", b)
        self.renumbered += numbers
        note = "with other numbers: " if numbers else ""
        yield Difference("wording", place, note + " | ".join(map(_short, changed[:4])))


def _is_text(value: Any) -> bool:
    return isinstance(value, dict) and list(value) == ["text"]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:197] + "..."


def compare(one: Path, other: Path, tolerance: float, limit: int) -> int:
    """Print what differs between two recordings; return the number of calls that do."""
    a, b = (json.loads((folder / FILE).read_text(encoding="utf-8")) for folder in (one, other))
    tally, kinds = Tally(tolerance), {"number": "numbers", "value": "values", "wording": "wording"}
    both = [name for name in a if name in b]
    found = {name: list(tally.differences(a[name], b[name], name)) for name in both}
    for kind, title in kinds.items():
        hits = [d for differences in found.values() for d in differences if d.kind == kind]
        places = {name for name in both if any(d.kind == kind for d in found[name])}
        print(f"{title}: {len(hits)} differences in {len(places)} calls")
        for d in sorted(hits, key=lambda d: -d.size)[: limit or None]:
            print(f"  {d.place}: {d.detail}" + (f" ({d.size:.2g})" if d.size else ""))
    for title, names in (("first", a.keys() - b.keys()), ("second", b.keys() - a.keys())):
        print(f"only in the {title}: {', '.join(sorted(names)) or 'none'}")
    changed = [n for n in both if any(d.kind != "wording" for d in found[n])]
    same = sum(not differences for differences in found.values())
    print(
        f"{len(both)} calls in both, {same} the same in every respect, {len(changed)} with other "
        f"numbers or values\n{tally.numbers} numbers, {tally.numbers - tally.inexact} equal to the "
        f"last digit, largest relative difference {tally.largest:.3g}\n{tally.texts} "
        f"texts, {tally.renumbered} with other numbers in them"
    )
    return len(changed) + len(a.keys() ^ b.keys())


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Record results, or compare two recordings.")
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("folder", type=Path)
    recording.add_argument("--only", default="*", help="calls to run, such as 'fit.*'")
    recording.add_argument("--saved", type=Path, help="folder of saved results to load")
    comparing = commands.add_parser("compare")
    comparing.add_argument("folders", type=Path, nargs=2)
    comparing.add_argument("--tolerance", type=float, default=1e-9)
    comparing.add_argument("--all", action="store_true", help="list every difference")
    given = parser.parse_args()
    if given.command == "record":
        record(given.folder, given.only, given.saved)
    else:
        limit = 0 if given.all else 40
        sys.exit(1 if compare(*given.folders, given.tolerance, limit) else 0)


if __name__ == "__main__":
    main()
