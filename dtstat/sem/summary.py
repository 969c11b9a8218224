"""What ``CFAFit.summary()`` prints: the tables of a model, laid out as lavaan's readers know them.

Every table holds its cells once; text, HTML, LaTeX and DataFrame are written from them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dtstat.core.markup import latex_escape
from dtstat.core.tables import Summary, Table
from dtstat.sem.defined import defined_intervals
from dtstat.sem.discrepancy import Procedure
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.fit_measures import fit_measures
from dtstat.sem.normal import log_likelihood
from dtstat.sem.solution import explained_variables, parameter_frame

VALUE_END = 54  # column in which values end
SCALED_WIDTH = 12  # of the second column of values, which ends at 66
LABEL_WIDTH = 18  # of the names in a table of parameters; grows with them
COLUMN_WIDTH = 9  # of its numbers

Row = tuple[str, ...]

_RMSEA = (
    ("{}RMSEA", "rmsea"),
    ("90 Percent confidence interval - lower", "rmsea.ci.lower"),
    ("90 Percent confidence interval - upper", "rmsea.ci.upper"),
    ("P-value H_0: {}RMSEA <= 0.050", "rmsea.pvalue"),
    ("P-value H_0: {}RMSEA >= 0.080", "rmsea.notclose.pvalue"),
)
_COMPARATIVE = (("{}Comparative Fit Index (CFI)", "cfi"), ("{}Tucker-Lewis Index (TLI)", "tli"))
_OPERATORS = {"Latent Variables": "=~", "Regressions": "~", "Covariances": "~~"}
_STANDARDIZED = {"std.lv": "Std.lv", "std.all": "Std.all"}
_INTERVAL = {"ci.lower": "ci.lower", "ci.upper": "ci.upper"}
_MONTE_CARLO = {"ci.lower": "mc.lower", "ci.upper": "mc.upper"}
_ESTIMATES = {"est": "Estimate", "se": "Std.Err", "z": "z-value", "pvalue": "P(>|z|)"}

_CORRECTIONS = {
    "yuan.bentler.mplus": "  Yuan-Bentler correction (Mplus variant)",
    "satorra.bentler": "  Satorra-Bentler correction",
    "scaled.shifted": "  simple second-order correction",
    "mean.var.adjusted": "  mean and variance adjusted correction",
}
_SOURCES = {
    "covariances": "Data: a covariance matrix. Tests and standard errors assume normal answers.",
    "correlations": (
        "Data: Pearson correlations, analyzed as covariances of standardized items. Tests and "
        "the standardized solution assume normal answers; standard errors of unstandardized "
        "estimates take the standard deviations of the items as known."
    ),
}
_ERRORS = {
    "standard": "Standard",
    "sandwich": "Sandwich",
    "robust.sem": "Robust.sem",
    "twostep": "Two-step",
    "none": "None",
}
_INFORMATION = {"expected": "Expected", "observed": "Observed", "first.order": "First.order"}


def _inference_rows(procedure: Procedure) -> list[Row]:
    """Say how standard errors were computed."""
    rows: list[Row] = [("Standard errors", _ERRORS[procedure.errors])]
    if procedure.errors == "none":
        return rows
    bread = " bread" if procedure.errors == "sandwich" else ""
    rows.append((f"Information{bread}", _INFORMATION[procedure.information]))
    if procedure.information == "observed":
        rows.append(("Observed information based on", "Hessian"))
    elif procedure.information == "expected":
        plain = procedure.likelihood
        rows.append(("Information saturated (h1) model", "Structured" if plain else "Unstructured"))
    return rows


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
    model, frame = estimate.model, parameter_frame(estimate)
    given = [row.exogenous for row in model.parameters] + [False] * len(model.definitions)
    frame = frame[~np.array(given, dtype=bool)]
    parts: list[Table] = [
        value_table("", _method_rows(estimate)),
        _observations(estimate),
        *fit_tables(fit_measures(estimate), _correction_rows(estimate), full),
        value_table(
            "Parameter Estimates",
            _inference_rows(estimate.procedure),
        ),
    ]
    for group in model.groups or ("",):
        own = frame[(frame["op"] != ":=") & (frame["group"] == group if group else True)]
        tables = parameter_tables(own, explained_variables(model), standardized, ci)
        if r_squared is not None:
            shares: Any = r_squared.loc[group] if group else r_squared
            rows = tuple((str(name), number(value)) for name, value in shares.items())
            tables.append(ParameterTable("R-Square", ("", "Estimate"), rows, "lr"))
        where = f" [{group}]" if group else ""
        parts += [replace(table, title=table.title + where) for table in tables]
    parts += _defined_tables(estimate, frame[frame["op"] == ":="], standardized, ci)
    if indices is not None:
        parts.append(ListTable.from_frame(indices, "Modification Indices"))
    head = [f"dtstat {version} ended normally after {estimate.iterations} iterations"]
    if estimate.procedure.robust:
        head.append(headline_text(estimate))
    if estimate.source in _SOURCES:
        head.append(_SOURCES[estimate.source])
    return Summary((*head, *(f"Warning: {warning}" for warning in warnings)), tuple(parts))


def _defined_tables(
    estimate: SEMEstimate, frame: pd.DataFrame, standardized: bool, ci: bool
) -> list[Table]:
    """Tabulate defined parameters: z and p by the delta method, intervals by Monte Carlo (mc)."""
    if not ci or not len(frame):
        return parameter_tables(frame, (), standardized)
    found = defined_intervals(estimate).set_index(frame.index)
    frame = frame.assign(**{name: found[name] for name in _INTERVAL})
    (table,) = parameter_tables(frame, (), standardized, ci)
    headers = tuple(_MONTE_CARLO.get(name, name) for name in table.headers)
    return [replace(table, headers=headers)]


def test_name(estimate: SEMEstimate) -> str:
    """Name of the test statistic that is reported first, as lavaan calls it."""
    return estimate.procedure.test


def headline(measures: Mapping[str, float]) -> dict[str, float]:
    """Test and fit indices to report first: scaled ones where the estimator has them."""
    names = ("chisq", "df", "pvalue", "cfi", "tli", "rmsea", "rmsea.ci.lower", "rmsea.ci.upper")
    return {name: measures.get(f"{name}.scaled", measures[name]) for name in names}


def headline_text(estimate: SEMEstimate) -> str:
    """Test and fit indices in one line, which says if they are scaled."""
    m = headline(fit_measures(estimate))
    scaled = "scaled " if estimate.procedure.robust else ""
    test = f" ({test_name(estimate)})" if estimate.procedure.robust else ""
    return (
        f"{scaled}chisq({round(m['df'], 3):g}) = {m['chisq']:.3f}{test}, "
        f"{scaled}CFI {m['cfi']:.3f}, {scaled}RMSEA {m['rmsea']:.3f}"
    )


def _method_rows(estimate: SEMEstimate) -> list[Row]:
    free = sum(row.free > 0 for row in estimate.model.parameters)
    rows: list[Row] = [
        ("Estimator", estimate.procedure.estimator.upper()),
        ("Optimization method", estimate.tried[-1].rpartition(", ")[2]),
        ("Number of model parameters", str(free)),
    ]
    if free > estimate.n_parameters:
        rows.append(("Number of equality constraints", str(free - estimate.n_parameters)))
    return rows


def _observations(estimate: SEMEstimate) -> Table:
    dropped = estimate.n_given != estimate.n_obs
    groups = estimate.model.groups
    rows: list[Row] = [("Number of observations per group",)] if groups else []
    labels = [f"  {group}" for group in groups] or ["Number of observations"]
    for label, block in zip(labels, estimate.blocks, strict=True):
        counts = (str(block.n_obs), str(block.n_given))[: 2 if dropped else 1]
        rows.append((label, *counts))
    if estimate.procedure.estimator == "fiml":
        rows += [("Number of missing patterns per group",)] if groups else []
        labels = labels if groups else ["Number of missing patterns"]
        for label, block in zip(labels, estimate.blocks, strict=True):
            rows.append((label, str(block.n_patterns)))
    return value_table("", rows, ("", "Used", "Total") if dropped else (), dropped)


def _correction_rows(estimate: SEMEstimate) -> list[Row]:
    if not estimate.procedure.robust:
        return _group_rows(estimate)
    rows: list[Row] = [("Scaling correction factor", "", number(estimate.test.scaling))]
    if estimate.test.shift:
        rows.append(("Shift parameter", "", number(estimate.test.shift)))
    return [*rows, (_CORRECTIONS[estimate.procedure.test], "", ""), *_group_rows(estimate)]


def _group_rows(estimate: SEMEstimate) -> list[Row]:
    """Divide the test statistic among the groups; by least squares it is not kept for each."""
    groups, saturated = estimate.model.groups, estimate.saturated_logl
    if not groups or saturated is None or math.isnan(saturated):
        return []
    rows: list[Row] = [("Test statistic for each group:",)]
    for group, sample, block in zip(groups, estimate.samples, estimate.blocks, strict=True):
        h1 = log_likelihood(sample, block.S, block.mean)
        chisq = 2 * (h1 - log_likelihood(sample, block.Sigma, block.mu))
        test = estimate.test
        shift = test.shift * block.n_obs / estimate.n_obs
        cells = (chisq, chisq / test.scaling + shift)[: 1 + estimate.procedure.robust]
        rows.append((f"  {group}", *map(number, cells)))
    return rows


def fit_tables(
    measures: Mapping[str, float], correction: Sequence[Row] = (), full: bool = True
) -> list[Table]:
    """Tabulate tests, comparative fit, likelihood, RMSEA and SRMR of a model.

    Parameters
    ----------
    measures
        Fit measures by lavaan's names; scaled ones make a second column.
    correction
        Rows about the scaling of the test.
    full
        Whether to go beyond the test of the model.
    """
    scaled = "chisq.scaled" in measures
    headers = ("", "Standard", "Scaled") if scaled else ()
    test = [*_test_rows(measures, "", "P-value (Chi-square)"), *correction]
    first = value_table("Model Test User Model", test, headers, True)
    if not full:
        return [first]
    baseline = _test_rows(measures, "baseline.", "P-value")
    if "baseline.chisq.scaling.factor" in measures:
        factor = number(measures["baseline.chisq.scaling.factor"])
        baseline.append(("Scaling correction factor", "", factor))
    sections = {
        "Model Test Baseline Model": baseline,
        "User Model versus Baseline Model": _index_rows(measures, _COMPARATIVE),
    }
    if "logl" in measures:
        sections["Loglikelihood and Information Criteria"] = _likelihood_rows(measures, scaled)
    sections["Root Mean Square Error of Approximation"] = _index_rows(measures, _RMSEA)
    srmr = (number(measures["srmr"]),) * (2 if scaled else 1)
    sections["Standardized Root Mean Square Residual"] = [("SRMR", *srmr)]
    return [first, *(value_table(title, rows) for title, rows in sections.items())]


def _pair(measures: Mapping[str, float], name: str) -> Row:
    """Value and, if there is one, scaled value."""
    return tuple(number(measures[key]) for key in (name, f"{name}.scaled") if key in measures)


def _test_rows(measures: Mapping[str, float], prefix: str, p_label: str) -> list[Row]:
    degrees = tuple(
        f"{round(measures[key], 3):g}"
        for key in (f"{prefix}df", f"{prefix}df.scaled")
        if key in measures
    )
    return [
        ("Test statistic", *_pair(measures, f"{prefix}chisq")),
        ("Degrees of freedom", *degrees),
        (p_label, *_pair(measures, f"{prefix}pvalue")),
    ]


def _index_rows(measures: Mapping[str, float], labels: Sequence[tuple[str, str]]) -> list[Row]:
    """Values, then robust ones below a gap, under the scaled ones if there are any."""
    rows: list[Row] = [(label.format(""), *_pair(measures, name)) for label, name in labels]
    skipped = ("",) if "chisq.scaled" in measures else ()
    robust: list[Row] = [
        (label.format("Robust "), *skipped, number(measures[f"{name}.robust"]))
        for label, name in labels
        if f"{name}.robust" in measures
    ]
    return [*rows, ("", "", *skipped), *robust] if robust else rows


def _likelihood_rows(measures: Mapping[str, float], scaled: bool) -> list[Row]:
    def row(label: str, name: str) -> Row:
        return (label, *(number(measures[name]),) * (2 if scaled else 1))

    def factor(name: str) -> list[Row]:
        if name not in measures:
            return []
        rows: list[Row] = [("Scaling correction factor", "", number(measures[name]))]
        return [*rows, ("    for the MLR correction", "", "")]

    return [
        row("Loglikelihood user model (H0)", "logl"),
        *factor("scaling.factor.h0"),
        row("Loglikelihood unrestricted model (H1)", "unrestricted.logl"),
        *factor("scaling.factor.h1"),
        ("",) * (3 if scaled else 2),
        row("Akaike (AIC)", "aic"),
        row("Bayesian (BIC)", "bic"),
        row("Sample-size adjusted Bayesian (SABIC)", "bic2"),
    ]


def parameter_tables(
    frame: pd.DataFrame, residual: Collection[str], standardized: bool = True, ci: bool = False
) -> list[Table]:
    """Write one table for each kind of parameter.

    Parameters
    ----------
    frame
        Columns lhs, op, rhs, label, est, se, z, pvalue, ci.lower, ci.upper, std.lv, std.all.
    residual
        Variables that something in the model explains: what is left of them has a dot.
    standardized, ci
        Whether to show these columns.
    """
    shown = {**_ESTIMATES, **(_INTERVAL if ci else {}), **(_STANDARDIZED if standardized else {})}
    headers = ("", *shown.values())
    own = (frame["op"] == "~~") & (frame["lhs"] == frame["rhs"])
    tables: list[Table] = []
    for title, operator in _OPERATORS.items():
        dotted = residual if operator == "~~" else ()
        rows = _grouped_rows(frame[(frame["op"] == operator) & ~own], dotted, list(shown))
        tables += _parameter_table(title, headers, rows)
    single = {
        "Intercepts": frame["op"] == "~1",
        "Thresholds": frame["op"] == "|",
        "Variances": own,
        "Scales y*": frame["op"] == "~*~",
        "Defined Parameters": frame["op"] == ":=",
    }
    for title, chosen in single.items():
        rows = [
            _parameter_row(row, residual, list(shown)) for row in frame[chosen].to_dict("records")
        ]
        tables += _parameter_table(title, headers, rows)
    return tables


def _parameter_table(title: str, headers: Row, rows: Sequence[Row]) -> list[ParameterTable]:
    alignment = "l" + "r" * (len(headers) - 1)
    return [ParameterTable(title, headers, tuple(rows), alignment)] if rows else []


def _grouped_rows(frame: pd.DataFrame, residual: Collection[str], columns: list[str]) -> list[Row]:
    rows: list[Row] = []
    for lhs in dict.fromkeys(frame["lhs"]):
        members = frame[frame["lhs"] == lhs].to_dict("records")
        rows.append((f"{_dotted(str(lhs), residual)} {members[0]['op']}", *[""] * len(columns)))
        named = ({**member, "lhs": member["rhs"]} for member in members)
        rows += [_parameter_row(member, residual, columns) for member in named]
    return rows


def _parameter_row(row: Mapping[Any, Any], residual: Collection[str], columns: list[str]) -> Row:
    threshold = row["op"] == "|"
    residual = () if row["op"] == "~*~" else residual
    name = f"{row['lhs']}|{row['rhs']}" if threshold else _dotted(str(row["lhs"]), residual)
    label = f" ({row['label']})" if row["label"] and row["op"] != ":=" else ""
    fixed = row["se"] == 0
    cells = (
        "" if fixed and column in ("se", "z", "pvalue") else number(row[column])
        for column in columns
    )
    return (name + label, *cells)


def _dotted(name: str, residual: Collection[str]) -> str:
    return f".{name}" if name in residual else name


def number(value: float, digits: int = 3) -> str:
    """Write a number with three decimals, NA if there is none.

    Examples
    --------
    >>> number(0.0716), number(-0.0001), number(float("nan"))
    ('0.072', '0.000', 'NA')
    """
    if math.isnan(value):
        return "NA"
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def value_table(
    title: str, rows: Sequence[Row], headers: Row = (), header_line: bool = False
) -> ValueTable:
    """Collect rows of labels and values in a table."""
    width = max(map(len, rows))
    padded = tuple(row + ("",) * (width - len(row)) for row in rows)
    names = tuple(headers) + ("",) * (width - len(headers))
    return ValueTable(title, names, padded, "l" + "r" * (width - 1), header_line=header_line)


class _Section(Table):
    """A table that keeps its title in LaTeX, because a summary has many."""

    def to_latex(
        self, caption: str | None = None, label: str | None = None, style: str = "plain"
    ) -> str:
        r"""LaTeX tabular below its title in bold, or a table environment with its caption."""
        written = super().to_latex(caption, label, style)
        if written.startswith(r"\begin{table}") or not self.title:
            return written
        return rf"\noindent\textbf{{{latex_escape(self.title)}}}\par" + "\n" + written


@dataclass(frozen=True, repr=False)
class ValueTable(_Section):
    """Labels and one or two values each; a row of blanks is a gap.

    Attributes
    ----------
    header_line
        Whether the line below the title is for the names of the columns.
    """

    header_line: bool = False

    def to_text(self) -> str:
        """Plain text: values end in column 54, scaled ones in column 66."""
        lines = [f"{self.title}:"] if self.title else []
        if self.header_line:
            lines.append(self._value_line(self.headers))
        elif self.title:
            lines.append("")
        return "\n".join([*lines, *map(self._value_line, self.rows)])

    def _value_line(self, cells: Row) -> str:
        label, first, *second = cells
        text = f"  {label}" if label else ""
        text += first.rjust(max(VALUE_END - len(text), len(first) + 1))
        return text + "".join(value.rjust(SCALED_WIDTH) for value in second)


@dataclass(frozen=True, repr=False)
class ParameterTable(_Section):
    """Parameters in groups; the row that names a group has no other cells."""

    def to_text(self) -> str:
        """Plain text: names in 18 columns, or as many as they need; numbers in 9 each."""
        names = [_indented(row) for row in self.rows]
        width = max([LABEL_WIDTH, *(len(name) + (not name.endswith("~")) for name in names)])
        columns = list(zip(self.headers, *self.rows, strict=True))[1:]
        widths = [max(COLUMN_WIDTH, *(len(cell) + 1 for cell in column)) for column in columns]
        lines = [("", self.headers), *zip(names, self.rows, strict=True)]
        body = (_parameter_line(name, width, row, widths) for name, row in lines)
        return "\n".join([f"{self.title}:", *body])


@dataclass(frozen=True, repr=False)
class ListTable(_Section):
    """An ordinary table under a title like those of the others."""

    def to_text(self) -> str:
        """Plain text."""
        title, *lines = super().to_text().split("\n")
        return "\n".join([f"{title}:", *lines])


def _indented(row: Row) -> str:
    margin = 4 if any(row[1:]) else 2  # names of groups stand out
    return " " * (margin - row[0].startswith(".")) + row[0]


def _parameter_line(name: str, width: int, row: Row, widths: Sequence[int]) -> str:
    stem, mark, label = name.rpartition(" (")
    if name.endswith(")") and stem.strip():
        name = stem + (mark + label).rjust(width - len(stem))
    cells = (cell.rjust(w) for cell, w in zip(row[1:], widths, strict=True))
    return name.ljust(width) + "".join(cells)
