"""The parts of fitted models, and of tests of them, that R gets."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

import dtstat as dt
from dtstat.core.saved import to_bytes
from dtstat.interop.view_parts import View, attributes, cells, diagram_view, kept, numbers, texts
from dtstat.interop.wire import matrix, vector
from dtstat.sem.summary import ParameterTable, ValueTable, headline


def cfa_view(fit: dt.CFAFit) -> View:
    """Return a fitted model, with its page as cells."""
    estimate = fit.estimate
    free = [row for row in estimate.model.parameters if row.free]
    names = [row.label or row.plain_label for row in free]
    places = [row.free - 1 for row in free]  # equal parameters share one
    covariance = estimate.covariance[np.ix_(places, places)]
    return {
        "class": "dt_cfa",
        "coefficients": vector(pd.Series(estimate.theta[places], names)),
        "vcov": matrix(pd.DataFrame(covariance, names, names)),
        "parameters": fit.parameters,
        "standardized": fit.standardized,
        "loadings": by_group(fit, fit.loadings),
        "factor_correlations": by_group(fit, fit.factor_correlations),
        "uniquenesses": by_group(fit, fit.uniquenesses),
        "r_squared": by_group(fit, fit.r_squared),
        "fit_measures": numbers(fit.fit_measures),
        "residuals": by_group(fit, fit.residuals()),
        "fitted": by_group(fit, fit.implied_covariance),
        "n_obs": fit.n_obs,
        "item_texts": dict(fit.item_texts),
        "groups": texts(fit.groups),
        "model": fit.call.model,
        "estimator": fit.call.estimator,
        "notes": texts(fit.warnings),
        "page": _page(fit),
        "diagram": {name: _diagram(fit, name) for name in fit.groups} or _diagram(fit, None),
        "tidy": fit.tidy(),
        "glance": _cfa_glance(fit),
        "state": to_bytes(fit, compressed=False),
    }


def _cfa_glance(fit: dt.CFAFit) -> pd.DataFrame:
    """Return the columns that broom has for lavaan, then the test and the likelihood."""
    shown, nan = headline(fit.fit_measures), float("nan")
    return fit.glance().assign(
        **{
            "df": shown["df"],
            "p.value": shown["pvalue"],
            "rmsea.conf.low": shown["rmsea.ci.lower"],
            "logLik": fit.fit_measures.get("logl", nan),
        }
    )


def model_comparison_view(one: dt.ModelComparison) -> View:
    """Return tests of nested models."""
    return {
        "class": "dt_model_comparison",
        "table": one.table,
        "method": one.method,
        "notes": texts(one.notes),
    }


def invariance_view(one: dt.Invariance) -> View:
    """Return the ladder of invariance, with the model of every step."""
    return {
        "class": "dt_invariance",
        "table": one.table.reset_index(),
        "releases": one.releases,
        "rejected": one.rejected,
        "fits": {step: cfa_view(fit) for step, fit in zip(one.steps, one.fits, strict=True)},
        "groups": texts(one.groups),
        "method": one.comparison.method,
        "notes": texts(one.notes),
        **kept(one, one.summary().to_text()),
    }


def score_test_view(one: dt.ScoreTest) -> View:
    """Return tests of what a model holds fixed."""
    return {
        "class": "dt_score_test",
        **attributes(one, "table", "chisq", "df", "pvalue"),
        **kept(one, one.summary().to_text()),
    }


def vuong_view(one: dt.VuongTest) -> View:
    """Return a test of models that need not be nested."""
    return {
        "class": "dt_vuong",
        **asdict(one),
        **kept(one, repr(one)),
    }


def bootstrap_view(one: dt.Bootstrap) -> View:
    """Return estimates from resamples."""
    return {
        "class": "dt_bootstrap",
        "parameters": (table := one.parameters()),
        "values": pd.DataFrame(one.values, columns=table["lhs"] + table["op"] + table["rhs"]),
        **attributes(one, "chisq", "pvalue", "n_failed", "seed"),
        **kept(one, one.summary().to_text()),
    }


def model_power_view(one: dt.ModelPower) -> View:
    """Return the power of a test."""
    return {
        "class": "dt_model_power",
        **asdict(one),
        **kept(one, repr(one)),
    }


def by_group(fit: dt.CFAFit, table: Any) -> Any:
    """Return a table of items or factors as R has it; with groups, one for each in a list."""
    make = vector if isinstance(table, pd.Series) else matrix
    return {name: make(table.loc[name]) for name in fit.groups} if fit.groups else make(table)


def _diagram(fit: dt.CFAFit, group: str | None) -> View | None:
    try:
        return diagram_view(fit.path_diagram(group=group))
    except dt.InputError:  # a model without arrows
        return None


def _page(fit: dt.CFAFit) -> View:
    """Return the longest summary as cells, for R to print as much of it as is asked for."""
    least = fit.summary(fit_measures=False, standardized=False)
    whole = fit.summary(fit_measures=True, standardized=True, ci=True, rsquare=True)
    always = {table.title for table in least.tables}
    tables = []
    for table in whole.tables:
        estimates = isinstance(table, ParameterTable) or table.title == "Parameter Estimates"
        optional = "rsquare" if estimates else "fit_measures"
        part = ("estimates" if estimates else "test") if table.title in always else optional
        group = next((g for g in fit.groups if table.title.endswith(f" [{g}]")), "")
        about = {
            "title": table.title.removesuffix(f" [{group}]"),
            "group": group,
            "part": part,
            "headed": not isinstance(table, ValueTable) or table.header_line,
            "parameters": isinstance(table, ParameterTable),
        }
        tables.append(about | cells(table))
    return {"head": texts(whole.head), "tables": tables}
