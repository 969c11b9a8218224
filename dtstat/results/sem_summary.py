"""The page that ``CFAFit.summary()`` returns: which tables, in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from dtstat.estimation.sem.estimate import SEMEstimate
from dtstat.estimation.sem.fitmeasures import fit_measures
from dtstat.report import Summary, Table
from dtstat.report import sem_tables as tables
from dtstat.report.sem_tables import Row
from dtstat.results.sem_frames import explained, parameter_frame

_CORRECTIONS = {
    "mlr": "  Yuan-Bentler correction (Mplus variant)",
    "dwls": "  simple second-order correction",
}
_TESTS = {"mlr": "yuan.bentler.mplus", "dwls": "scaled.shifted"}  # lavaan's names
_SOURCES = {
    "covariances": "Data: a covariance matrix. Tests and standard errors assume normal answers.",
    "correlations": (
        "Data: Pearson correlations, analyzed as covariances of standardized items. Tests and "
        "the standardized solution assume normal answers; standard errors of unstandardized "
        "estimates take the standard deviations of the items as known."
    ),
}
_INFERENCE: dict[str, list[Row]] = {
    "ml": [
        ("Standard errors", "Standard"),
        ("Information", "Expected"),
        ("Information saturated (h1) model", "Structured"),
    ],
    "mlr": [
        ("Standard errors", "Sandwich"),
        ("Information bread", "Observed"),
        ("Observed information based on", "Hessian"),
    ],
    "fiml": [
        ("Standard errors", "Standard"),
        ("Information", "Observed"),
        ("Observed information based on", "Hessian"),
    ],
    "dwls": [
        ("Standard errors", "Robust.sem"),
        ("Information", "Expected"),
        ("Information saturated (h1) model", "Unstructured"),
    ],
}


def model_summary(
    estimate: SEMEstimate,
    version: str,
    warnings: Sequence[str],
    *,
    full: bool,
    standardized: bool,
    ci: bool,
    r_squared: pd.Series[float] | None,
    indices: pd.DataFrame | None,
) -> Summary:
    """Put the tables of a fitted model in lavaan's order."""
    shown = parameter_frame(estimate)[[not row.exogenous for row in estimate.model.parameters]]
    parts: list[Table] = [
        tables.values("", _method_rows(estimate)),
        _observations(estimate),
        *tables.fit_tables(fit_measures(estimate), _correction_rows(estimate), full),
        tables.values("Parameter Estimates", _INFERENCE[estimate.estimator]),
        *tables.parameter_tables(shown, explained(estimate.model), standardized, ci),
    ]
    if r_squared is not None:
        parts.append(tables.r_square_table(r_squared))
    if indices is not None:
        parts.append(tables.modification_table(indices))
    head = [f"dtstat {version} ended normally after {estimate.iterations} iterations"]
    if estimate.robust:
        head.append(headline_text(estimate))
    if estimate.source in _SOURCES:
        head.append(_SOURCES[estimate.source])
    return Summary((*head, *(f"Warning: {warning}" for warning in warnings)), tuple(parts))


def test_name(estimate: SEMEstimate) -> str:
    """Name of the test statistic that is reported first, as lavaan calls it."""
    return _TESTS[estimate.estimator] if estimate.robust else "standard"


def headline(measures: Mapping[str, float]) -> dict[str, float]:
    """Test and fit indices to report first: scaled ones where the estimator has them."""
    names = ("chisq", "df", "pvalue", "cfi", "tli", "rmsea", "rmsea.ci.lower", "rmsea.ci.upper")
    return {name: measures.get(f"{name}.scaled", measures[name]) for name in names}


def headline_text(estimate: SEMEstimate) -> str:
    """Test and fit indices in one line, which says if they are scaled."""
    m = headline(fit_measures(estimate))
    scaled = "scaled " if estimate.robust else ""
    test = f" ({test_name(estimate)})" if estimate.robust else ""
    return (
        f"{scaled}chisq({m['df']:g}) = {m['chisq']:.3f}{test}, {scaled}CFI {m['cfi']:.3f}, "
        f"{scaled}RMSEA {m['rmsea']:.3f}"
    )


def _method_rows(estimate: SEMEstimate) -> list[Row]:
    free = sum(row.free > 0 for row in estimate.model.parameters)
    rows: list[Row] = [
        ("Estimator", estimate.estimator.upper()),
        ("Optimization method", estimate.tried[-1].rpartition(", ")[2]),
        ("Number of model parameters", str(free)),
    ]
    if free > estimate.model.n_free:
        rows.append(("Number of equality constraints", str(free - estimate.model.n_free)))
    return rows


def _observations(estimate: SEMEstimate) -> Table:
    dropped = estimate.n_given != estimate.n_obs
    counts = (str(estimate.n_obs), str(estimate.n_given))[: 2 if dropped else 1]
    rows: list[Row] = [("Number of observations", *counts)]
    if estimate.estimator == "fiml":
        rows.append(("Number of missing patterns", str(estimate.n_patterns)))
    return tables.values("", rows, ("", "Used", "Total") if dropped else (), dropped)


def _correction_rows(estimate: SEMEstimate) -> list[Row]:
    if not estimate.robust:
        return []
    rows: list[Row] = [("Scaling correction factor", "", tables.number(estimate.test.scaling))]
    if estimate.test.shift:
        rows.append(("Shift parameter", "", tables.number(estimate.test.shift)))
    return [*rows, (_CORRECTIONS[estimate.estimator], "", "")]
