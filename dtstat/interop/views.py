"""The parts of each result that R gets: an S3 object, readable without Python."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pandas as pd

import dtstat as dt
from dtstat.core.saved import to_bytes
from dtstat.core.tables import Table
from dtstat.dependence.on_demand import whole_matrix
from dtstat.efa.adequacy import KMO, BartlettTest
from dtstat.fit.dendrogram import dendrogram, has_tree
from dtstat.fit.frames import model_likelihood
from dtstat.fit.summary import evidence_lines, level_tables, measure_notes, why_nothing
from dtstat.interop.model_views import (
    bootstrap_view,
    cfa_view,
    invariance_view,
    model_comparison_view,
    model_power_view,
    score_test_view,
    vuong_view,
)
from dtstat.interop.view_parts import (
    View,
    attributes,
    broom,
    cells,
    diagram_view,
    kept,
    numbers,
    texts,
)
from dtstat.interop.wire import RArray, matrix, vector
from dtstat.structure.barcode import Barcode
from dtstat.structure.margin import Margin

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
        "unique_children": {k: texts(one.unique_children(k)) for k in one.factor_names},
        "uncovered": texts(one.uncovered),
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
        "n_factors": fit.n_factors,
        "structure": _structure(fit.structure),
        "loadings": matrix(fit.loadings),
        "item_texts": dict(fit.item_texts),
        "loading_errors": matrix(fit.loading_errors),
        "factor_correlations": matrix(Phi),
        "factor_correlation_errors": matrix(fit.factor_correlation_errors),
        "uniquenesses": vector(fit.uniquenesses),
        "unique_child": fit.structure.support.sum(axis=1) == 1,
        "attached": texts(fit.attached_items),
        "fit_measures": numbers(fit.fit_measures),
        "log_likelihood": log_likelihood,
        "n_parameters": n_parameters,
        "n_obs": fit.n_obs,
        "n_typical": fit.n_typical,
        "fit_notes": texts((measure_notes if fit.n_factors else why_nothing)(fit)),
        "evidence": texts(line.strip() for line in evidence_lines(fit)),
        "n_effective": fit.n_effective,
        "explanation": fit.explanation,
        "notes": texts(fit.notes),
        "levels": fit.levels,
        "level_table": _table(level_tables(fit) if fit.n_factors else ()),
        "tree": _tree(fit) if has_tree(fit) else None,
        "candidates": fit.candidates,
        "factors": _joined(factors, "core"),
        "path": fit.path.steps(),
        "barcode": _longest_bars(fit.path.barcode(), factors),
        "uncovered": fit.uncovered,
        "residuals": matrix(residuals),
        "fitted": matrix(residuals.rsub(fit.reported.latent.R)),
        "dependence": _dependence(whole_matrix(fit.dependence)),
        "arguments": {k: v for k, v in fit.provenance.items() if k != "version"},
        "keys": fit.to_keys(),
        "lavaan": fit.to_lavaan() if fit.n_factors else "",
        "diagram": diagram_view(fit.path_diagram()) if fit.n_factors else None,
        "tidy": broom(fit.tidy()),
        "glance": broom(fit.glance().assign(logLik=log_likelihood)),
        "curves": None if fit.nonlinear is None else fit.response_curves(),
        "nonlinear_loadings": None if fit.nonlinear is None else fit.nonlinear_loadings,
        "sample": None
        if fit.sample is None
        else {
            **attributes(fit.sample, "n_given", "n_used", "n_complete"),
            "kinds": dict(fit.sample.kinds),
            "n_tied": fit.sample.n_tied,
        },
        "state": to_bytes(fit, compressed=False),
    }


def _tree(fit: dt.DTFit) -> View:
    """Return the nested tree of a picture; nodes are the leaves from the top, then the joins."""
    tree, names = dendrogram(fit), fit.item_names
    pairs = [(leaf, names[i]) for leaf in tree.leaves for i in leaf.items]
    number = {id(leaf): k + 1 for k, leaf in enumerate(tree.leaves)}
    return {
        "items": pd.DataFrame(
            {
                "item": [item for _, item in pairs],
                "leaf": np.array([number[id(leaf)] for leaf, _ in pairs], dtype=np.int64),
                "factor": [fit.factor_names[leaf.factor] for leaf, _ in pairs],
            }
        ),
        "joins": pd.DataFrame(
            {
                "first": np.array([one.first + 1 for one in tree.joins], dtype=np.int64),
                "second": np.array([one.second + 1 for one in tree.joins], dtype=np.int64),
                "price": np.array(tree.prices, dtype=float),
            }
        ),
        "outside": texts(names[i] for i in tree.outside),
        "floor": tree.floor,
        "top": tree.top,
    }


def _table(tables: tuple[Table, ...]) -> View | None:
    """Cells of a table as texts, and what stands below it."""
    if not tables:
        return None
    (table,) = tables
    return cells(table) | {"notes": texts(table.notes)}


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
        "text": path.summary().to_text(),
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
        **attributes(one, "measure", "n_obs", "floor"),
    }


def _comparison(one: dt.Comparison) -> View:
    return {
        "class": "dt_comparison",
        **attributes(one, "f1", "hamming", "precision", "recall", "exact"),
        "n_factors": list(one.n_factors),
        "matching": dict(one.matching),
    }


def _margin(one: Margin) -> View:
    return {
        "class": "dt_margin",
        **attributes(one, "value", "satisfied", "verdict", "measure", "simulated"),
        "weakest_edge": asdict(one.weakest_edge),
        "strongest_non_edge": one.strongest_non_edge and asdict(one.strongest_non_edge),
        "factors": one.to_frame(),
    }


def _diagnosis(one: dt.Diagnosis) -> View:
    audit = one.audit
    return {
        "class": "dt_diagnosis",
        **attributes(one, "verdict", "measure", "gap", "n_tied"),
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
        **attributes(one, "sizes", "alternatives", "disagreement", "scheme", "seed"),
        "structures": [found.to_keys() for found, _ in one.structures],
        **_reports(one),
    }


def _certificate(one: dt.Certificate) -> View:
    return {
        "class": "dt_certificate",
        "cliques": _joined(one.to_frame(), "items", "unique_members"),
        "factors": _joined(one.factors, "items", "unique_children"),
        "separated": texts(one.item_names[claim.item] for claim in one.separated),
        **attributes(one, "band", "levels", "at_least", "measure", "n_obs", "error"),
        **_reports(one),
    }


def _plan(one: dt.SurveyPlan) -> View:
    return {
        "class": "dt_plan",
        "margin": _margin(one.margin),
        "table": one.table,
        "curves": one.curves(),
        "tidy": one.tidy(),
        **attributes(one, "error", "measure", "n_items", "seed"),
        **kept(one, one.summary().to_text()),
    }


def _design(one: dt.SurveyDesign) -> View:
    return {
        "class": "dt_survey_design",
        **attributes(one, "loadings", "factor_correlations", "levels", "correlations"),
        "structure": _structure(one.structure),
        "text": repr(one),
    }


def _simulation(one: dt.Simulation) -> View:
    return {
        "class": "dt_simulation",
        "data": one.data,
        "latents": one.latents,
        "structure": _structure(one.structure),
        **attributes(one, "factor_correlations", "maps", "noise_variances", "design", "seed"),
    }


def _efa(fit: dt.EFAFit) -> View:
    return {
        "class": "dt_efa",
        "loadings": matrix(fit.loadings),
        "factor_correlations": matrix(fit.factor_correlations),
        "uniquenesses": vector(fit.uniquenesses),
        "communalities": vector(fit.communalities),
        "complexity": vector(fit.complexity),
        "heywood": texts(fit.heywood),
        "variance": fit.variance,
        "fit_measures": numbers(fit.fit_measures),
        "weights": matrix(fit.weights),
        "residuals": matrix(fit.residuals()),
        "fitted": matrix(fit.implied_correlations),
        "dependence": _dependence(whole_matrix(fit.dependence)),
        **attributes(fit, "n_factors", "n_obs", "method", "rotation", "item_texts"),
        "notes": texts(fit.notes),
        "diagram": diagram_view(fit.path_diagram()),
        "tidy": broom(_efa_terms(fit)),
        "glance": broom(fit.glance()),
        **kept(fit, fit.summary().to_text()),
    }


def _efa_terms(fit: dt.EFAFit) -> pd.DataFrame:
    """Name loadings as those of other models are named."""
    table = fit.tidy().rename(columns={"loading": "estimate"})
    table.insert(0, "term", table["factor"] + " =~ " + table["item"])
    return table


def _description(one: dt.Description) -> View:
    rows = one.people.index
    ids = [str(k) for k in rows] if rows.map(lambda k: isinstance(k, str)).all() else None
    people = one.people.set_axis(ids or range(1, len(rows) + 1))
    people.insert(0, "row", ids or np.arange(1, len(rows) + 1))
    flagged = people[people["flags"] != ""]
    return {
        "class": "dt_description",
        "items": one.items,
        "findings": one.findings,
        "people": people.reset_index(drop=True),
        "flagged": flagged.reset_index(drop=True),
        "level": one.level,
        "notes": texts(one.notes),
        "bars": [RArray("numeric", counts, many=True) for counts in one.bars],
        "text": replace(one, people=people.drop(columns="row")).summary().to_text(),
    }


def _kmo(one: KMO) -> View:
    names = one.item_names or [f"x{k}" for k in range(1, len(one.per_item) + 1)]
    return {"overall": one.overall, "per_item": vector(pd.Series(one.per_item, index=names))}


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
        "differing_items": texts(one.differing_items),
        "congruence": matrix(one.to_frame()),
    }


def _reliability(one: dt.Reliability) -> View:
    parts = attributes(one, "factors", "items", "general", "n_obs")
    return {
        "class": "dt_reliability",
        **parts,
        "notes": texts(one.notes),
        "text": one.summary().to_text(),
    }


def _reports(one: dt.Diagnosis | dt.Stability | dt.Certificate) -> View:
    """Return what R's generics show, and the state that R sends back."""
    return {
        "tidy": broom(one.tidy()),
        "glance": broom(one.glance()),
        **kept(one, one.summary().to_text()),
    }


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
    dt.Certificate: _certificate,
    dt.SurveyPlan: _plan,
    dt.SurveyDesign: _design,
    dt.Simulation: _simulation,
    dt.CFAFit: cfa_view,
    dt.ModelComparison: model_comparison_view,
    dt.Invariance: invariance_view,
    dt.WaldTest: asdict,
    dt.ScoreTest: score_test_view,
    dt.VuongTest: vuong_view,
    dt.Bootstrap: bootstrap_view,
    dt.ModelPower: model_power_view,
    dt.EFAFit: _efa,
    dt.Reliability: _reliability,
    dt.Description: _description,
    dt.ParallelAnalysis: _parallel,
    dt.SolutionComparison: _solutions,
    KMO: _kmo,
    BartlettTest: asdict,
}
