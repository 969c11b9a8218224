"""What must not matter: the order of rows and columns, signs, units, containers and file types.

``python -m benchmarks.metamorphic`` draws small surveys, hands each to every public function that
takes data, hands over the same survey in another form, and compares all that comes out, item by
item and factor by factor: structures exactly, numbers to 1e-8 (relative if they exceed 1). Each
array counts as one comparison. The forms:

    rows        in another order            columns     in another order
    signs       some items x → −x           units       items x → a x + b
    container   polars, Arrow, an array, CSV, parquet, xlsx, sav, an index of other labels
    all         rows, columns, signs and units at once

The order of factors, their names (by the first items) and their directions follow the order of the
items; they are matched before comparing. The same seed gives the same surveys. With ``--write`` a
table of counts goes to ``benchmarks/results/metamorphic.md``.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dtstat as dt

RESULTS = Path(__file__).parent / "results" / "metamorphic.md"
COMPARISONS, SURVEYS = 20_000, 40
TOLERANCE = 1e-8
FORMS = ("rows", "columns", "signs", "units", "container", "all")
CONTAINERS = ("polars", "arrow", "array", "csv", "parquet", "xlsx", "sav", "index")
# Halves of fewer rows hardly identify a model: which of several ends is found is then chance.
_FEW_FOR_GROUPS = 150
SIGNED = ("pearson", "spearman", "kendall", "polychoric", "mixed")
Numbers = dict[str, Any]


@dataclass(frozen=True)
class Survey:
    """Answers in one form.

    Attributes
    ----------
    frame
        The answers.
    rows
        Number of each row in the survey as it was drawn.
    signs
        By item: −1 if it was turned round.
    kind
        What the answers are like.
    data
        What is handed over: the frame, or the same in another container.
    scale, shift
        What items were multiplied by, and what was added.
    """

    frame: pd.DataFrame
    rows: np.ndarray
    signs: pd.Series
    kind: str
    data: Any
    scale: Any = 1.0
    shift: Any = 0.0

    @property
    def names(self) -> list[str]:
        """The items, in an order of their own."""
        return sorted(self.signs.index)

    def in_one_unit(self) -> pd.DataFrame:
        """Return answers with other units undone, for what depends on units."""
        return ((self.frame - self.shift) / self.scale).round(12)


# --- surveys, and the same surveys in other forms ---


def draw_survey(seed: int) -> Survey:
    """Draw a survey: 2 or 3 factors, 6 to 12 items, 60 to 300 rows, four kinds of answers."""
    rng = np.random.default_rng(seed)
    kind = ("continuous", "ratings", "gaps", "mixed")[seed % 4]
    d, size = int(rng.integers(2, 4)), int(rng.integers(3, 5))
    p, n = d * size, int(rng.integers(60, 301))
    Phi = np.full((d, d), rng.uniform(0, 0.5)) + 0.0
    np.fill_diagonal(Phi, 1.0)
    Z = rng.multivariate_normal(np.zeros(d), Phi, n, method="cholesky")
    loading = rng.uniform(0.5, 0.9, p)
    X = np.repeat(Z, size, axis=1) * loading + np.sqrt(1 - loading**2) * rng.normal(size=(n, p))
    rated = {"ratings": np.ones(p, bool), "mixed": np.arange(p) % 2 == 0}.get(
        kind, np.zeros(p, bool)
    )
    levels = int(rng.integers(3, 6))
    X[:, rated] = np.clip(np.round(X[:, rated] + (levels + 1) / 2), 1, levels)
    if kind == "gaps":
        X[rng.random(X.shape) < 0.04] = np.nan
    names = [f"q{k + 1}" for k in range(p)]
    frame = pd.DataFrame(X, columns=names)
    return Survey(frame, np.arange(n), pd.Series(1.0, names), kind, frame)


def draw_wide(seed: int) -> Survey:
    """Draw a survey of 1,050 items of 15 factors, which no matrix of correlations is made of."""
    rng = np.random.default_rng(seed)
    n, own = int(rng.integers(100, 201)), np.arange(1050) // 70
    Z = rng.normal(size=(n, 15)) + 0.6 * rng.normal(size=(n, 1))
    X = rng.uniform(0.4, 1.2, len(own)) * Z[:, own] + rng.normal(size=(n, len(own)))
    X[:, 7::40] += 0.8 * Z[:, (own[7::40] + 1) % 15]
    kind = ("continuous", "ratings")[seed % 2]
    X = np.clip(np.round(X + 3), 1, 5) if kind == "ratings" else X
    X[:, -5:] = X[:, :5]  # copies, of which either may come first
    names = [f"q{k + 1}" for k in range(len(own))]
    frame = pd.DataFrame(X, columns=names)
    return Survey(frame, np.arange(n), pd.Series(1.0, names), kind, frame)


def in_form(survey: Survey, form: str, seed: int, folder: Path) -> Survey:
    """Return the same survey in another form."""
    rng = np.random.default_rng(seed)
    frame, rows, signs = survey.frame, survey.rows, survey.signs
    if form in ("rows", "all"):
        order = rng.permutation(len(frame))
        frame, rows = frame.iloc[order].reset_index(drop=True), rows[order]
    if form in ("columns", "all"):
        frame = frame.iloc[:, rng.permutation(frame.shape[1])]
    if form in ("signs", "all"):
        signs = pd.Series(rng.choice([-1.0, 1.0], len(signs)), signs.index)
        frame = frame * signs[frame.columns]
    if form in ("units", "all"):  # whole numbers stay whole, so that ratings stay ratings
        scale = pd.Series(rng.choice([0.5, 2.0, 3.0, 10.0], frame.shape[1]), frame.columns)
        whole = (frame.fillna(0) % 1 == 0).all()
        scale[whole] = rng.choice([1.0, 2.0, 3.0], int(whole.sum()))
        shift = rng.integers(-4, 5, frame.shape[1])
        frame = frame * scale + shift
        survey = replace(survey, scale=scale, shift=shift)
    data: Any = frame
    if form == "container":
        data, frame = in_container(frame, CONTAINERS[seed // 100 % len(CONTAINERS)], folder)
    return replace(survey, frame=frame, rows=rows, signs=signs, data=data)


def in_container(frame: pd.DataFrame, name: str, folder: Path) -> tuple[Any, pd.DataFrame]:
    """Return what is handed over, and the same as a frame; an array has columns x1, x2, ..."""
    if name == "polars":
        import polars as pl

        return pl.from_pandas(frame), frame
    if name == "arrow":
        import pyarrow as pa

        return pa.Table.from_pandas(frame, preserve_index=False), frame
    if name == "index":
        other = frame.set_axis([f"person {k}" for k in range(len(frame))])
        return other, other
    if name == "array":  # of another layout, too
        return pd.DataFrame(np.asfortranarray(frame.to_numpy()), columns=frame.columns), frame
    path = folder / f"survey.{name}"
    if name == "sav":
        import pyreadstat

        pyreadstat.write_sav(frame, str(path))
        return str(path), frame
    write = {"csv": frame.to_csv, "parquet": frame.to_parquet, "xlsx": frame.to_excel}[name]
    write(path, index=False)
    return str(path), frame


# --- what comes out, so that it can be compared ---


def by_pairs(values: Any, survey: Survey, signed: bool = True) -> np.ndarray:
    """(p, p) numbers of pairs of items, in the order of names, signs undone."""
    frame = values.to_frame() if hasattr(values, "to_frame") else values
    table = frame.loc[survey.names, survey.names].to_numpy(dtype=float)
    s = survey.signs[survey.names].to_numpy()
    return table * np.outer(s, s) if signed else np.abs(table)


class Factors:
    """Factors by their items, and directed alike in every form of the survey."""

    def __init__(self, loadings: pd.DataFrame, survey: Survey) -> None:
        own = loadings.loc[[name for name in survey.names if name in loadings.index]]
        own = own.mul(survey.signs[own.index], axis=0)
        weight = 1 + 0.37 * (np.arange(len(own)) * 7 % 11)
        self.signs = pd.Series(np.sign(weight @ own.to_numpy()), own.columns)
        self.of = {name: tuple(own.index[own[name] != 0]) for name in own}
        self.names = sorted(
            own.columns, key=lambda name: (self.of[name], *-(own[name] * self.signs[name]))
        )
        self.loadings = (own * self.signs)[self.names].to_numpy()

    def among(self, values: pd.DataFrame) -> np.ndarray:
        """(d, d) numbers that change sign with the factors."""
        s = self.signs[self.names].to_numpy()
        return values.loc[self.names, self.names].to_numpy() * np.outer(s, s)

    def scores(self, values: pd.DataFrame, survey: Survey, signed: bool = True) -> np.ndarray:
        """(n, d) numbers of the rows as they were drawn."""
        table = values[self.names].to_numpy() * (self.signs[self.names].to_numpy() if signed else 1)
        return table[np.argsort(survey.rows)]


def by_answers(draws: np.ndarray, survey: Survey) -> np.ndarray:
    """(n, d) draws of the rows as they were drawn; of equal rows nobody can tell whose is whose."""
    answers = (survey.in_one_unit() * survey.signs)[survey.names].to_numpy()
    same = np.unique(answers[np.argsort(survey.rows)], axis=0, return_inverse=True)[1].ravel()
    return draws[np.lexsort((draws[:, 0], same))]


def by_name(frame: pd.DataFrame, columns: list[str] | None = None) -> Numbers:
    """Numbers of each column, rows by name."""
    ordered = frame.sort_index()
    chosen = ordered[columns] if columns else ordered.select_dtypes("number")
    return {str(name): chosen[name].to_numpy(dtype=float) for name in chosen}


def prefixed(prefix: str, numbers: Mapping[str, Any]) -> Numbers:
    """Add where numbers come from to their names."""
    return {f"{prefix} {name}": value for name, value in numbers.items()}


def bars_of(barcode: Any) -> Numbers:
    """Cliques, and when they live."""
    bars = sorted(
        (tuple(sorted(bar.items)), tuple(sorted(bar.unique_members)), bar.birth, bar.death)
        for bar in barcode
    )
    ends = np.array([bar[2:] for bar in bars])
    return {"cliques": [bar[:2] for bar in bars], "births and deaths": ends}


def groups_of(labels: np.ndarray, names: tuple[str, ...]) -> frozenset[frozenset[str]]:
    """Name the items of each group."""
    return frozenset(frozenset(np.array(names)[labels == k]) for k in np.unique(labels))


def fit_numbers(fit: dt.DTFit, survey: Survey, levels: bool = True) -> Numbers:
    """All that a fit says."""
    own = Factors(fit.loadings, survey)
    errors = fit.loading_errors.loc[survey.names, own.names]
    found: Numbers = {
        "structure": frozenset(own.of.values()),
        "attached": frozenset(fit.attached_items),
        "loadings": own.loadings,
        "factor correlations": own.among(fit.factor_correlations),
        "uniquenesses": fit.uniquenesses[survey.names].to_numpy(),
        "loading errors": errors.to_numpy(),
        "factor correlation errors": np.abs(own.among(fit.factor_correlation_errors)),
        "log-likelihood": fit.estimate.log_likelihood,
        "rows that count": fit.n_effective,
        "dependence": by_pairs(fit.dependence, survey, fit.dependence.measure in SIGNED),
        "latent correlations": np.sort(np.abs(fit.latent.R), axis=None),
        **prefixed("measure", fit.fit_measures),
        **prefixed("candidates", by_name(fit.candidates.reset_index(drop=True))),
    }
    if levels and len(fit.tree):
        table = fit.levels  # the correlation is that of factors, which may point the other way
        table["correlation"] = table["correlation"].abs()
        found |= prefixed("levels", by_name(table))
        found["groups of levels"] = [groups_of(one.labels, fit.item_names) for one in fit.tree]
        found |= prefixed("bars", bars_of(fit.barcode))
    return found


def dependence(survey: Survey) -> Iterator[tuple[str, Numbers]]:
    measures = ["pearson", "spearman", "kendall", "distance", "hsic", "xi", "maximal", "mixed"]
    if survey.kind == "ratings":
        measures += ["polychoric"]
    turned, tied = (survey.signs < 0).any(), survey.kind in ("ratings", "mixed")
    for measure in measures:
        if measure == "xi" and turned and tied:
            yield "dependence xi", {}  # by its definition ξ of tied answers then is another
            continue
        found = dt.dependence(survey.data, measure)
        # Distance correlation is the root of what is computed.
        power = 2 if measure == "distance" else 1
        values = by_pairs(found, survey, measure in SIGNED) ** power
        yield f"dependence {measure}", {"values": values}


def path(survey: Survey) -> Iterator[tuple[str, Numbers]]:
    for measure in ("spearman", "kendall"):
        found = dt.solution_path(survey.data, measure, min_children=2)
        numbers = (
            bars_of(found.barcode())
            | by_name(found.to_frame())
            | prefixed("steps", by_name(found.steps()))
        )
        for tau in (0.1, 0.2, 0.3, 0.4):
            numbers[f"at {tau}"] = frozenset(map(frozenset, found.at(tau).to_keys().values()))
        yield f"solution_path {measure}", numbers
        graph = found.dependence.to_frame().abs() > 0.25
        cliques = dt.independent_maximal_cliques(graph)
        yield (
            "independent_maximal_cliques",
            {"sets": frozenset(map(frozenset, cliques.to_keys().values()))},
        )


def fits(survey: Survey) -> Iterator[tuple[str, Numbers]]:
    ways: list[Numbers] = [
        {},
        {"min_children": 3},
        {"refine": True},
        {"search": "threshold"},
        {"search": "sequential"},
    ]
    ways += [{"criterion": one} for one in ("ebic", "aic")]
    ways += [{"criterion": one, "seed": 1} for one in ("cv", "validation", "validation_2se")]
    ways += [
        {"estimator": "linear", "measure": "pearson"},
        {"measure": "kendall"},
        {"measure": "mixed"},
    ]
    for options in ways:
        fit = dt.fit(survey.data, **options)
        numbers = fit_numbers(fit, survey)
        label = ", ".join(f"{name}={value}" for name, value in options.items() if name != "seed")
        yield f"fit({label})", numbers
        if options:
            continue
        own = Factors(fit.loadings, survey)
        if fit.n_factors:
            for method in ("regression", "bartlett", "eap"):
                scores = fit.factor_scores(survey.data, method=method)
                yield "fit.factor_scores", {method: own.scores(scores, survey)}
            drawn = fit.plausible_values(survey.data, draws=2, seed=1)
            draws = {
                f"draw {k}": by_answers(own.scores(one, survey), survey)
                for k, one in drawn.groupby("draw")
            }
            yield "fit.plausible_values", draws
            yield "fit.residuals", {"values": by_pairs(fit.residuals(), survey)}
        for k in range(1, min(len(fit.tree), 4) + 1):
            yield "fit.level", fit_numbers(fit.level(k), survey, levels=False)
        matrix = dt.dependence(survey.data)
        again = dt.fit(matrix, n_obs=len(survey.frame))
        yield "fit(matrix)", fit_numbers(again, survey)


def curves(survey: Survey) -> Iterator[tuple[str, Numbers]]:
    for options in ({"structure": keys_of(survey)}, {"finalists": 1}):
        fit = dt.fit(survey.data, estimator="spline", seed=1, **options)
        own = Factors(fit.loadings, survey)
        label = ", ".join(options)
        yield (
            f"fit(estimator=spline, {label})",
            {
                "structure": frozenset(own.of.values()),
                "loadings": own.loadings,
                "uniquenesses": fit.uniquenesses.sort_index().to_numpy(),
                "factor correlations": own.among(fit.factor_correlations),
                "factor correlation errors": np.abs(own.among(fit.factor_correlation_errors)),
                "parameters": fit.nonlinear.n_parameters,
                "log-likelihood": fit.nonlinear.log_likelihood + log_units(survey, fit.item_names),
                "Monte Carlo error": fit.nonlinear.monte_carlo_se,
                **prefixed("curve", by_name(curve_shapes(fit, own))),
            },
        )
        yield "fit.response_curves", response_curves(fit, own, survey)
        scores = fit.factor_scores(survey.data, sd=True)
        errors = own.scores(
            scores[[f"{name}_sd" for name in own.names]].set_axis(own.names, axis=1), survey, False
        )
        yield "fit.factor_scores", {"curves": own.scores(scores, survey), "their errors": errors}


def log_units(survey: Survey, items: tuple[str, ...]) -> float:
    """Return what other units take from a log-likelihood: log |a| for each answer x → a x + b."""
    if np.isscalar(survey.scale):
        return 0.0
    frame = survey.frame[list(items)]
    known = frame.notna().sum()[frame.nunique() > 10]  # ratings have probabilities
    return float(np.log(survey.scale[known.index]) @ known)


def curve_shapes(fit: dt.DTFit, own: Factors) -> pd.DataFrame:
    """Slopes and shares of variance of the curves, by item and factor."""
    frame = fit.nonlinear_loadings.drop(columns="loading")  # which has a sign, and is a loading
    frame["factor"] = frame["factor"].map(own.names.index)
    return frame.set_index(["item", "factor"])


def response_curves(fit: dt.DTFit, own: Factors, survey: Survey) -> Numbers:
    """Mean answers with their bands in the unit and direction of the survey as it was drawn."""
    found: Numbers = {}
    scale, shift = (
        pd.Series(np.broadcast_to(one, survey.frame.shape[1]), survey.frame.columns)
        for one in (survey.scale, survey.shift)
    )
    for (item, factor), part in fit.response_curves().groupby(["item", "factor"]):
        table = part[["value", "lower", "upper"]].to_numpy()[:: int(own.signs[factor])]
        table = np.sort((table - shift[item]) / scale[item] * survey.signs[item])
        found[f"{item} by {own.names.index(factor)}"] = table
    return found


def many(survey: Survey) -> Iterator[tuple[str, Numbers]]:
    fit = dt.fit(survey.data)
    for label, one in (
        ("fit(many items)", fit),
        ("fit(many items, refine)", dt.fit(survey.data, refine=True)),
        ("fit(many items, in turn)", dt.fit(survey.data, search="sequential")),
        ("fit.level", fit.level(max(fit.n_factors - 1, 1))),
    ):
        own = Factors(one.loadings, survey)
        table = one.levels
        table["correlation"] = table["correlation"].abs()
        yield (
            label,
            {
                "structure": frozenset(own.of.values()),
                "attached": frozenset(one.attached_items),
                "loadings": own.loadings,
                "factor correlations": own.among(one.factor_correlations),
                "uniquenesses": one.uniquenesses[survey.names].to_numpy(),
                "log-likelihood": one.estimate.log_likelihood,
                "rows that count": one.n_effective,
                **prefixed("levels", by_name(table)),
            },
        )


def keys_of(survey: Survey) -> dict[str, list[str]]:
    """Two scales of the first six items, by name."""
    return {"A": ["q1", "q2", "q3"], "B": ["q4", "q5", "q6"]}


def stability(survey: Survey) -> Iterator[tuple[str, Numbers]]:
    for options in ({}, {"search": "threshold"}):
        found = dt.stability(survey.data, n_boot=6, seed=3, **options)
        own = Factors(found.fit.loadings, survey)
        yield (
            "stability",
            {
                "edges": found.edges.loc[survey.names, survey.names].to_numpy(),
                "memberships": found.memberships.loc[survey.names, own.names].to_numpy(),
                "f1": found.agreement.f1,
                "exact": found.agreement.exact[
                    [list(found.fit.factor_names).index(k) for k in own.names]
                ],
                **prefixed("factors", by_name(found.n_factors.reset_index(drop=True))),
                "structures": [
                    frozenset(frozenset(np.array(found.fit.item_names)[f]) for f in one.T)
                    for one in found.main.supports
                ],
            },
        )


def trust(survey: Survey) -> Iterator[tuple[str, Numbers]]:
    keys = keys_of(survey)
    for measure in ("kendall", "spearman"):
        found = dt.margin(survey.data, keys, measure)
        yield "margin", {"value": found.value, **by_name(found.to_frame().reset_index(drop=True))}
    fit = dt.fit(survey.data, n_factors=2)
    found = dt.diagnose(fit, survey.data, n_boot=8, seed=1)
    yield (
        "diagnose",
        {
            "margin": found.margin.value,
            "error bound": found.error_bound,
            "intervals": np.asarray(found.intervals.whole, dtype=float),
            "gap": found.gap,
            **prefixed(
                "audit",
                by_name(found.audit.reset_index(drop=True))
                if hasattr(found.audit, "columns")
                else {},
            ),
        },
    )
    measures = ["spearman", "pearson", "kendall"] + (
        ["polychoric"] if survey.kind == "ratings" else []
    )
    for measure in measures:
        found = dt.certify(survey.data, measure=measure, seed=1, n_draws=100)
        table = found.to_frame()
        table.index = [" ".join(sorted(one)) for one in table["items"]]
        names = list(found.item_names)
        ends = np.stack([np.abs(found.lower), np.abs(found.upper)])
        low, high = (pd.DataFrame(one, names, names) for one in (ends.min(0), ends.max(0)))
        yield (
            f"certify {measure}",
            {
                "cliques": tuple(sorted(table.index)),
                **by_name(table),
                "number of factors": np.asarray(found.number_errors),
                "band from": by_pairs(low, survey, False),
                "band to": by_pairs(high, survey, False),
            },
        )


def exploratory(survey: Survey) -> Iterator[tuple[str, Numbers]]:
    solutions = {}
    for method in ("minres", "ml"):
        for rotation in ("oblimin", "promax", "varimax", "none"):
            found = solutions[rotation] = dt.efa(survey.data, 2, rotation=rotation, method=method)
            own = Factors(found.loadings, survey)
            yield (
                f"efa {method} {rotation}",
                {
                    "loadings": np.abs(own.loadings) if rotation == "none" else own.loadings,
                    "factor correlations": np.abs(own.among(found.factor_correlations)),
                    "uniquenesses": found.uniquenesses[survey.names].to_numpy(),
                    "communalities": found.communalities[survey.names].to_numpy(),
                    **prefixed("measure", found.fit_measures),
                },
            )
    compared = dt.compare_solutions(solutions["oblimin"], solutions["varimax"])
    yield "compare_solutions", {"congruence": compared.mean_congruence}
    for measure in ("pearson", "mixed"):
        found = dt.parallel_analysis(survey.data, seed=1, n_iter=4, measure=measure)
        numbers = {"factors": found.n_factors, "components": found.n_components}
        yield f"parallel_analysis {measure}", numbers | by_name(found.to_frame())
    kmo, test = dt.kmo(survey.data), dt.bartlett_test(survey.data)
    yield (
        "kmo",
        {
            "overall": kmo.overall,
            "items": pd.Series(kmo.per_item, kmo.item_names)[survey.names].to_numpy(),
        },
    )
    yield "bartlett_test", {"chi-square": test.chisq, "p": test.pvalue}


def model_numbers(fit: dt.CFAFit, survey: Survey) -> Numbers:
    """All that a model says and that has no unit."""
    table = fit.standardized
    table.index = [
        " ".join(sorted((a, b))) + op
        for a, op, b in zip(table["lhs"], table["op"], table["rhs"], strict=True)
    ]
    table = table[~table.index.str.endswith(("|", "~1"))]
    table = table[["est.std", "se", "z", "pvalue"]].abs()
    return prefixed("standardized", by_name(table)) | unitless(fit)


def unitless(fit: dt.CFAFit) -> Numbers:
    """Fit measures, but for those that have units.

    Likelihoods, residual covariances, and where means are modeled what counts them as variation.
    """
    units = ["logl", "unrestricted.logl", "aic", "bic", "bic2", "rmr"]
    units += ["gfi", "agfi", "pgfi"] if fit.call.missing == "fiml" else []
    return {f"measure {k}": value for k, value in fit.fit_measures.items() if k not in units}


def models(survey: Survey) -> Iterator[tuple[str, Numbers]]:
    model, larger = "A =~ q1 + q2 + q3; B =~ q4 + q5 + q6", "; B ~ A"
    six = [f"q{k}" for k in range(1, 7)]
    ways: list[Numbers] = [{}, {"estimator": "mlr"}, {"std_lv": True}]
    if survey.kind == "gaps":
        ways += [{"missing": "fiml"}, {"missing": "fiml", "estimator": "mlr"}]
    if survey.kind == "ratings":
        ways += [{"ordered": True}]
    for options in ways:
        label = ", ".join(f"{name}={value}" for name, value in options.items())
        for function, text in ((dt.cfa, model), (dt.sem, model + larger)):
            fit = function(survey.data, text, **options)
            yield f"{function.__name__}({label})", model_numbers(fit, survey)
        if not options:
            changes = fit.modification_indices()
            changes.index = [
                " ".join((a, op, b))
                for a, op, b in zip(changes["lhs"], changes["op"], changes["rhs"], strict=True)
            ]
            kept = changes[[name for name in ("mi", "sepc.all") if name in changes]].abs()
            yield "modification_indices", by_name(kept)
            own = Factors(fit.loadings, survey)
            scores = np.abs(
                fit.factor_scores(survey.data)[own.names].to_numpy()[np.argsort(survey.rows)]
            )
            yield "cfa.factor_scores", {"ranks": np.round(scores / scores.mean(axis=0), 12)}
            left = fit.residuals().loc[six, six].abs()
            yield "cfa.residuals", {"correlations": left.to_numpy()}
            one = dt.cfa(survey.data, "A =~ q1 + q2 + q3 + q4 + q5 + q6")
            compared = dt.compare_models(fit, one)
            yield "compare_models", {"chi-square": np.sort(compared.chisq)}
            test = dt.vuong(fit, one, survey.data)
            yield "vuong", {"z": test.z, "variance": test.variance, "p": test.a_better_pvalue}
            added = dt.score_test(fit, add="A =~ q4")
            yield "score_test", {"chi-square": added.chisq}
            single = dt.cfa(survey.data, model, std_lv=True)
            drawn = dt.bootstrap(single, survey.data, n_boot=4, seed=1)
            table = drawn.parameters()
            z = (table["est"] / table["se"]).abs().to_numpy()
            yield "bootstrap", {"z": np.where(np.isfinite(z), z, 0.0), "chi-square": drawn.chisq}
            text = "i =~ 1*q1 + 1*q2 + 1*q3 + 1*q4; s =~ 0*q1 + 1*q2 + 2*q3 + 3*q4"
            yield "growth", unitless(dt.growth(survey.in_one_unit() * survey.signs, text))


def scales(survey: Survey) -> Iterator[tuple[str, Numbers]]:
    keys = keys_of(survey)
    keyed = {
        name: [("-" if survey.signs[item] < 0 else "") + item for item in items]
        for name, items in keys.items()
    }
    found = dt.reliability(survey.in_one_unit(), keyed)
    table = found.factors.set_index(found.factors.columns[0])
    yield "reliability", by_name(table)
    found = dt.describe(survey.data, seed=1)
    # Long strings and halves are of items in their order; distances are not.
    people = found.people.iloc[np.argsort(survey.rows)].reset_index(drop=True)
    yield "describe people", by_name(people[["missing", "distance", "distance_p"]])
    table = found.items.set_index("item").loc[survey.names]
    unsigned = ["n", "missing", "kurtosis"]
    yield (
        "describe",
        by_name(table, unsigned)
        | {"skew": table["skew"].to_numpy() * survey.signs[survey.names].to_numpy()},
    )
    a, b = dt.fit(survey.data, n_factors=2), dt.fit(survey.data, n_factors=1)
    compared = dt.compare(a.structure, b.structure)
    yield "compare", {"f1": compared.f1, "hamming": compared.hamming}


def regressions(survey: Survey) -> Iterator[tuple[str, Numbers]]:
    outside = np.random.default_rng(0).normal(size=len(survey.frame))[survey.rows]
    group = np.where(survey.rows % 2, "a", "b")
    frame = survey.frame.assign(age=outside, group=group)
    fit = dt.fit(frame[list(survey.frame.columns)], structure=keys_of(survey))
    found = dt.regress("A ~ age", fit, frame)
    yield "regress", {"effects": np.abs(found.params.to_numpy()), "errors": found.bse.to_numpy()}
    if survey.kind == "gaps" or len(frame) < _FEW_FOR_GROUPS:
        return
    steps = dt.invariance(frame, "A =~ q1 + q2 + q3; B =~ q4 + q5 + q6", group="group")
    table = steps.table.reset_index(drop=True)
    yield "invariance", by_name(table.drop(columns=["aic", "bic"]))  # likelihoods have units


SUBJECTS: dict[str, Callable[[Survey], Iterator[tuple[str, Numbers]]]] = {
    one.__name__: one
    for one in (
        dependence,
        path,
        fits,
        stability,
        trust,
        exploratory,
        models,
        scales,
        regressions,
        curves,
        many,
    )
}
RARE = {"curves": 3, "many": 5}  # with how many surveys once
DRAWN = {"many": draw_wide}  # surveys of their own


# --- comparing ---


def gap(ours: Any, theirs: Any) -> float:
    """How far two results are apart, relative to what is larger than 1; infinite if in kind."""
    if isinstance(ours, bool | str | tuple | frozenset | list) or ours is None:
        return 0.0 if ours == theirs else np.inf
    a, b = (np.atleast_1d(np.asarray(one, dtype=float)) for one in (ours, theirs))
    if a.shape != b.shape:
        return np.inf
    with np.errstate(invalid="ignore"):
        apart = np.abs(a - b) / np.maximum(1.0, np.abs(a))
    apart[(a == b) | (np.isnan(a) & np.isnan(b))] = 0.0
    return float(np.nan_to_num(apart, nan=np.inf).max(initial=0.0))


def results(name: str, survey: Survey) -> dict[str, Numbers]:
    """Return everything that a subject says, or why it refuses."""
    found: dict[str, Numbers] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        subject = SUBJECTS[name](survey)
        while True:
            try:
                label, numbers = next(subject)
            except StopIteration:
                return found
            except dt.DTError as error:
                found["refused"] = {"error": type(error).__name__}
                return found
            found.setdefault(label, {}).update(
                {
                    f"{key}{'' if key not in found.get(label, {}) else len(found[label])}": value
                    for key, value in numbers.items()
                }
            )


@dataclass(frozen=True)
class Violation:
    """A difference that should not be."""

    seed: int
    kind: str
    form: str
    label: str
    key: str
    gap: float


def compare_survey(
    seed: int, names: list[str], forms: tuple[str, ...], folder: Path
) -> Iterator[tuple[str, str, Violation | None]]:
    """Yield what was compared, in which form, and a violation if there is one.

    A subject that yields nothing under a label says that this form is not the same survey to it.
    """
    for name in names:
        if seed % RARE.get(name, 1):
            continue
        survey = DRAWN.get(name, draw_survey)(seed)
        ours = results(name, survey)
        for k, form in enumerate(forms):
            theirs = results(name, in_form(survey, form, 100 * seed + k, folder))
            for label in [*ours, *(one for one in theirs if one not in ours)]:
                mine, its = ours.get(label, {}), theirs.get(label, {})
                if label in ours and label in theirs and not (mine and its):
                    continue
                for key in [*mine, *(one for one in its if one not in mine)]:
                    apart = gap(mine[key], its[key]) if key in mine and key in its else np.inf
                    wrong = Violation(seed, survey.kind, form, label, key, apart)
                    yield label, form, wrong if apart > TOLERANCE else None


def main() -> None:
    """Compare until there are enough comparisons of enough surveys; print, and write, what held."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="of the first survey")
    parser.add_argument("--comparisons", type=int, default=COMPARISONS, help="at least so many")
    parser.add_argument("--surveys", type=int, default=SURVEYS, help="at least so many")
    parser.add_argument("--only", nargs="*", choices=SUBJECTS, default=list(SUBJECTS))
    parser.add_argument("--forms", nargs="*", choices=FORMS, default=list(FORMS))
    parser.add_argument("--write", action="store_true", help=f"store the table in {RESULTS.name}")
    asked = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    wrong: list[Violation] = []
    start, seed = time.process_time(), asked.seed
    with tempfile.TemporaryDirectory() as folder:
        while sum(counts.values()) < asked.comparisons or seed < asked.seed + asked.surveys:
            for label, form, violation in compare_survey(
                seed, asked.only, tuple(asked.forms), Path(folder)
            ):
                counts[label.split("(")[0].split(" ")[0], form] += 1
                if violation is not None:
                    wrong.append(violation)
            seed += 1
    lines = report(counts, wrong, range(asked.seed, seed), time.process_time() - start)
    print("\n".join(lines))
    if asked.write:
        RESULTS.write_text("\n".join(lines) + "\n")


def report(
    counts: Counter[tuple[str, str]], wrong: list[Violation], seeds: range, seconds: float
) -> list[str]:
    """Return the table, in Markdown."""
    total = sum(counts.values())
    command = shlex.join(["python", "-m", "benchmarks.metamorphic", *sys.argv[1:]])
    lines = [
        "# What must not matter",
        "",
        f"`{command}`: {len(seeds)} surveys (seeds {seeds.start} to {seeds.stop - 1}), {total:,} "
        f"comparisons, {len(wrong)} beyond {TOLERANCE:g}; {seconds:.0f} s of CPU.",
        "",
        f"| function | {' | '.join(FORMS)} |",
        "|---|" + "---:|" * len(FORMS),
    ]
    for label in dict.fromkeys(label for label, _ in counts):
        lines.append(
            f"| {label} | " + " | ".join(f"{counts[label, form]:,}" for form in FORMS) + " |"
        )
    if wrong:
        worst: dict[tuple[str, str], list[Violation]] = {}
        for one in wrong:
            worst.setdefault((one.label, one.key), []).append(one)
        lines += [
            "",
            "| where | violations | largest | forms | kinds | seed |",
            "|---|---:|---:|---|---|---:|",
        ]
        for (label, key), those in sorted(worst.items(), key=lambda item: -len(item[1])):
            top = max(those, key=lambda one: one.gap)
            forms, kinds = (
                ", ".join(sorted(set(one)))
                for one in ([v.form for v in those], [v.kind for v in those])
            )
            where = f"| {label}: {key} | {len(those)} | {top.gap:.1e} "
            lines.append(where + f"| {forms} | {kinds} | {top.seed} |")
    return lines


if __name__ == "__main__":
    try:
        main()
    except Exception:
        traceback.print_exc()
        sys.exit(1)
