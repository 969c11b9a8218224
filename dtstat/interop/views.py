"""The parts of each result that R gets: an S3 object, readable without Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

import dtstat as dt
from dtstat.core.saved import to_bytes
from dtstat.efa.adequacy import KMO, BartlettTest
from dtstat.fit.frames import model_likelihood
from dtstat.fit.summary import evidence_lines, measure_notes, why_nothing
from dtstat.interop.wire import RArray, matrix, named
from dtstat.structure.barcode import Barcode
from dtstat.structure.margin import Margin

View = dict[str, Any]

_MOST_BARS = 40  # of a fit; a path has them all
_MOST_KEYS = 2000  # structures of a path whose items are listed


def view(result: object) -> Any:
    """Return the parts of a result; anything else as it is."""
    for cls, look in _VIEWS.items():
        if isinstance(result, cls):
            return look(result)
    return result


def _structure(one: dt.Structure) -> View:
    return {
        "class": "dt_structure",
        "support": matrix(one.to_frame().astype(bool)),
        "reversed": matrix(
            pd.DataFrame(one.reversed, list(one.item_names), list(one.factor_names))
        ),
        "items": list(one.item_names),
        "factors": list(one.factor_names),
        "keys": one.to_keys(),
        "uncovered": _texts(one.uncovered),
        "satisfies_ucc": one.satisfies_ucc,
    }


def _dependence(one: dt.DependenceMatrix) -> View:
    names = list(one.names)
    counts = one.pairwise_n
    return {
        "class": "dt_dependence",
        "values": matrix(one.to_frame()),
        "items": names,
        "measure": one.measure,
        "n_obs": one.n_obs,
        "pairwise_n": None if counts is None else matrix(pd.DataFrame(counts, names, names)),
    }


def _fit(fit: dt.DTFit) -> View:
    residuals, Phi, factors = fit.residuals(), fit.factor_correlations, fit.factors
    log_likelihood, n_parameters = model_likelihood(fit)
    return {
        "class": "dt_fit",
        "structure": _structure(fit.structure),
        "loadings": matrix(fit.loadings),
        "factor_correlations": matrix(Phi),
        "uniquenesses": named(fit.uniquenesses),
        "unique_child": fit.structure.support.sum(axis=1) == 1,
        "attached": _texts(fit.attached_items),
        "fit_measures": _numbers(fit.fit_measures),
        "log_likelihood": log_likelihood,
        "n_parameters": n_parameters,
        "n_obs": fit.n_obs,
        "n_typical": fit.n_typical,
        "fit_notes": _texts((measure_notes if fit.n_factors else why_nothing)(fit)),
        "evidence": _texts(line.strip() for line in evidence_lines(fit)),
        "n_effective": fit.n_effective,
        "explanation": fit.explanation,
        "notes": _texts(fit.notes),
        "candidates": fit.candidates,
        "factors": _joined(factors, "core"),
        "path": fit.path.steps(),
        "barcode": _longest_bars(fit.path.barcode(), factors),
        "uncovered": fit.uncovered,
        "residuals": matrix(residuals),
        "fitted": matrix(residuals.rsub(fit.reported.latent.R)),
        "dependence": _dependence(fit.dependence),
        "arguments": {k: v for k, v in fit.provenance.items() if k != "version"},
        "keys": fit.to_keys(),
        "lavaan": fit.to_lavaan() if fit.n_factors else "",
        "tidy": fit.tidy(),
        "glance": fit.glance(),
        "curves": None if fit.nonlinear is None else fit.response_curves(),
        "nonlinear_loadings": None if fit.nonlinear is None else fit.nonlinear_loadings,
        "sample": None
        if fit.sample is None
        else {
            **_attributes(fit.sample, "n_given", "n_used", "n_complete"),
            "kinds": dict(fit.sample.kinds),
            "n_tied": fit.sample.n_tied,
        },
        "state": to_bytes(fit, compressed=False),
    }


def _longest_bars(barcode: Barcode, factors: pd.DataFrame) -> pd.DataFrame:
    """List the longest-lived cliques, and those that factors are read off, however short-lived."""
    names = np.array(barcode.item_names, dtype=object)
    items = [tuple(names[members]) for members in barcode.members[:_MOST_BARS]]
    births, deaths = list(barcode.births[:_MOST_BARS]), list(barcode.deaths[:_MOST_BARS])
    read_off: dict[tuple[str, ...], list[str]] = {core: [] for core in items}
    columns = (factors[name] for name in ("factor", "from", "to", "core"))
    for name, birth, death, core in zip(*columns, strict=True):
        if core and core not in read_off:
            items.append(core)
            births.append(birth)
            deaths.append(death)
        read_off.setdefault(core, []).append(name)
    return pd.DataFrame(
        {
            "birth": np.array(births, dtype=float),
            "death": np.array(deaths, dtype=float),
            "size": np.array([len(core) for core in items], dtype=np.int64),
            "items": [", ".join(core) for core in items],
            "factor": [", ".join(read_off[core]) for core in items],
        }
    )


def _path(path: dt.SolutionPath) -> View:
    return {
        "class": "dt_path",
        "candidates": path.to_frame(),
        "keys": _keys(path),
        "steps": path.steps(),
        "barcode": path.barcode().to_frame(),
        "min_children": path.min_children,
        "thresholds": path.thresholds,
        "dependence": view(path.dependence),
    }


def _keys(path: dt.SolutionPath) -> list[dict[str, Any] | None]:
    """Items of the structures; of very many only the longest-lived have them, others have none."""
    known = sorted(path.candidates, key=lambda one: one.persistence, reverse=True)[:_MOST_KEYS]
    shown = {id(one) for one in known}
    return [one.structure.to_keys() if id(one) in shown else None for one in path.candidates]


def _sparse_dependence(one: dt.SparseDependence) -> View:
    return {
        "class": "dt_sparse_dependence",
        "pairs": one.to_frame(),
        "items": list(one.names),
        **_attributes(one, "measure", "n_obs", "floor"),
    }


def _comparison(one: dt.Comparison) -> View:
    return {
        "class": "dt_comparison",
        **_attributes(one, "f1", "hamming", "precision", "recall"),
        "n_factors": list(one.n_factors),
        "matching": dict(one.matching),
    }


def _margin(one: Margin) -> View:
    return {
        "class": "dt_margin",
        **_attributes(one, "value", "satisfied", "verdict", "measure"),
        "factors": one.to_frame(),
    }


def _diagnosis(one: dt.Diagnosis) -> View:
    audit = one.audit
    return {
        "class": "dt_diagnosis",
        "verdict": one.verdict,
        "margin": _margin(one.margin),
        "implied_margin": None if one.implied_margin is None else _margin(one.implied_margin),
        "interval": None if one.intervals is None else one.intervals.whole,
        "error_bound": one.error_bound,
        "factors": _joined(one.factors, "core"),
        "unique_children": _joined(audit.factors, "unique_children"),
        "dropping": _joined(audit.dropping, "factors", "lost", "merged_into"),
        "outside": _joined(audit.outside, "missing_edges"),
        "pairs": one.pairs,
        **_reports(one),
    }


def _stability(one: dt.Stability) -> View:
    return {
        "class": "dt_stability",
        "edges": matrix(one.edges),
        "memberships": matrix(one.memberships),
        "n_factors": one.n_factors,
        "items": _joined(one.items, "factors"),
        "factors": _joined(one.factors, "items"),
        **_attributes(one, "sizes", "alternatives", "disagreement"),
        **_reports(one),
    }


def _plan(one: dt.SurveyPlan) -> View:
    return {
        "class": "dt_plan",
        "margin": _margin(one.margin),
        "table": one.table,
        "curves": one.curves(),
        "tidy": one.tidy(),
        "error": one.error,
        "measure": one.measure,
        "text": one.summary().to_text(),
        "state": to_bytes(one, compressed=False),
    }


def _design(one: dt.SurveyDesign) -> View:
    return {
        "class": "dt_survey_design",
        **_attributes(one, "loadings", "factor_correlations", "levels"),
        "text": repr(one),
    }


def _simulation(one: dt.Simulation) -> View:
    return {
        "class": "dt_simulation",
        "data": one.data,
        "latents": one.latents,
        "structure": _structure(one.structure),
        **_attributes(one, "factor_correlations", "maps", "noise_variances", "design", "seed"),
    }


def _cfa(fit: dt.CFAFit) -> View:
    return {
        "class": "dt_cfa",
        "parameters": fit.parameters,
        "standardized": fit.standardized,
        "loadings": matrix(fit.loadings),
        "factor_correlations": matrix(fit.factor_correlations),
        "uniquenesses": named(fit.uniquenesses),
        "r_squared": named(fit.r_squared),
        "fit_measures": _numbers(fit.fit_measures),
        "residuals": matrix(fit.residuals()),
        "fitted": matrix(fit.implied_covariance),
        "n_obs": fit.n_obs,
        "model": fit.call.model,
        "estimator": fit.call.estimator,
        "notes": _texts(fit.warnings),
        **_reports(fit),
    }


def _efa(fit: dt.EFAFit) -> View:
    return {
        "class": "dt_efa",
        "loadings": matrix(fit.loadings),
        "factor_correlations": matrix(fit.factor_correlations),
        "uniquenesses": named(fit.uniquenesses),
        "communalities": named(fit.communalities),
        "variance": fit.variance,
        "fit_measures": _numbers(fit.fit_measures),
        **_attributes(fit, "n_obs", "method", "rotation"),
        "notes": _texts(fit.notes),
        "tidy": fit.tidy(),
        "glance": fit.glance(),
        "text": fit.summary().to_text(),
    }


def _parallel(one: dt.ParallelAnalysis) -> View:
    return {
        "class": "dt_parallel_analysis",
        "n_factors": one.n_factors,
        "n_components": one.n_components,
        "eigenvalues": one.to_frame(),
        "quantile": one.quantile,
        "n_iter": len(one.simulated.factors),
        "n_obs": one.n_obs,
        "seed": one.seed,
        "text": one.summary().to_text(),
    }


def _solutions(one: dt.SolutionComparison) -> View:
    return {
        "class": "dt_solution_comparison",
        "mean_congruence": one.mean_congruence,
        "matching": pd.DataFrame(one.matching),
        "differing_items": _texts(one.differing_items),
        "congruence": matrix(one.to_frame()),
    }


def _attributes(one: object, *names: str) -> View:
    return {name: getattr(one, name) for name in names}


def _reports(one: dt.Diagnosis | dt.Stability | dt.CFAFit) -> View:
    """Return what R's generics show, and the state that R sends back."""
    return {
        "tidy": one.tidy(),
        "glance": one.glance(),
        "text": one.summary().to_text(),
        "state": to_bytes(one, compressed=False),
    }


def _numbers(measures: Mapping[str, float | None]) -> RArray:
    values = {name: float("nan") if v is None else float(v) for name, v in measures.items()}
    return named(pd.Series(values, dtype=float))


def _texts(values: Iterable[str]) -> RArray:
    """Return texts as a vector, also if there are none: an empty list has no kind in R."""
    return RArray("character", np.array([*values, None], dtype=object)[:-1])


def _joined(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Write tuples of names as one text each."""
    return frame.assign(**{name: frame[name].map(", ".join) for name in columns})


_VIEWS: dict[type, Any] = {
    dt.DTFit: _fit,
    dt.SolutionPath: _path,
    dt.DependenceMatrix: _dependence,
    dt.SparseDependence: _sparse_dependence,
    dt.Structure: _structure,
    dt.Comparison: _comparison,
    Margin: _margin,
    dt.Diagnosis: _diagnosis,
    dt.Stability: _stability,
    dt.SurveyPlan: _plan,
    dt.SurveyDesign: _design,
    dt.Simulation: _simulation,
    dt.CFAFit: _cfa,
    dt.EFAFit: _efa,
    dt.ParallelAnalysis: _parallel,
    dt.SolutionComparison: _solutions,
    KMO: KMO._asdict,
    BartlettTest: BartlettTest._asdict,
}
