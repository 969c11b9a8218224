"""Do items measure the same in all groups? ``invariance`` fits a ladder of models.

Each step holds more parameters equal in all groups, and is tested against the one before. Items
taken as numbers: loadings (metric), intercepts (scalar), residual variances (strict). Ordered
items: thresholds, loadings, intercepts, identified after Wu & Estabrook (2016): in the first group
the variables behind the items have mean 0 and scale 1; from the second on scales are free as soon
as thresholds are equal, intercepts until they are equal, variances of factors with equal loadings,
and their means with equal intercepts.

References
----------
Wu, H. & Estabrook, R. (2016). Identification of confirmatory factor analysis models of different
levels of invariance for ordered categorical outcomes. Psychometrika 81, 1014-1045.
Cheung, G. W. & Rensvold, R. B. (2002). Evaluating goodness-of-fit indexes for testing measurement
invariance. Structural Equation Modeling 9, 233-255.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from dtstat.core import canvas, checks
from dtstat.core.parallel import Progress
from dtstat.core.saved import Saved, register
from dtstat.core.tables import Printed, Summary, Table
from dtstat.data.containers import as_frame
from dtstat.sem.api import cfa
from dtstat.sem.comparison import ModelComparison, compare_models
from dtstat.sem.fitting import as_model, check_ordered, ordered_columns
from dtstat.sem.groups import find_groups
from dtstat.sem.hypotheses import ScoreTest, score_test
from dtstat.sem.result import CFAFit
from dtstat.sem.summary import headline
from dtstat.structure.structure import Structure, r_name
from dtstat.structure.syntax import Given, Term, parse

LADDER: dict[str, tuple[str, ...]] = {
    "configural": (),
    "metric": ("loadings",),
    "scalar": ("loadings", "intercepts"),
    "strict": ("loadings", "intercepts", "residuals"),
}
ORDERED_LADDER: dict[str, tuple[str, ...]] = {
    "configural": (),
    "thresholds": ("thresholds",),
    "loadings": ("thresholds", "loadings"),
    "intercepts": ("thresholds", "loadings", "intercepts"),
}
_NOTABLE = 0.01  # fall of CFI, after Cheung & Rensvold (2002)
_CRITICAL = 3.841  # 5 % of chi-square with one degree of freedom
_MOST_ROWS = 12  # parameters in the picture and in the summary
_LEVEL = 0.05


@register(shapes={"fits": "m", "steps": "m"})
@dataclass(frozen=True, eq=False, repr=False)
class Invariance(Saved, Printed):
    """The steps of a ladder of invariance.

    Attributes
    ----------
    steps, fits
        Names of the steps, and the fitted model of each.
    comparison
        Tests of each step against the one before it.
    tests
        Score tests of the parameters that each step but the first holds equal.
    notes
        What needs attention, as sentences.
    """

    steps: tuple[str, ...]
    fits: tuple[CFAFit, ...]
    comparison: ModelComparison
    tests: tuple[ScoreTest, ...]
    notes: tuple[str, ...] = ()

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups."""
        return self.fits[0].groups

    @property
    def table(self) -> pd.DataFrame:
        """One row per step.

        chisq, df, pvalue, cfi, rmsea (scaled where the estimator scales them), srmr, aic, bic;
        chisq_diff, df_diff, pvalue_diff of the test against the step before; delta_cfi,
        delta_rmsea.
        """
        rows = []
        for fit in self.fits:
            m = fit.fit_measures
            shown = headline(m)
            row = {name: shown[name] for name in ("chisq", "df", "pvalue", "cfi", "rmsea")}
            row["df"] = int(row["df"])
            row |= {name: m.get(name, np.nan) for name in ("srmr", "aic", "bic")}
            rows.append(row)
        frame = pd.DataFrame(rows, index=pd.Index(self.steps, name="step"))
        tests = self.comparison.differences
        frame["chisq_diff"] = [np.nan, *(one.chisq for one in tests)]
        frame["df_diff"] = [np.nan, *(float(one.df) for one in tests)]
        frame["pvalue_diff"] = [np.nan, *(one.pvalue for one in tests)]
        frame["delta_cfi"] = frame["cfi"].diff()
        frame["delta_rmsea"] = frame["rmsea"].diff()
        return frame

    @property
    def releases(self) -> pd.DataFrame:
        """Score tests of what each step holds equal: which parameters break it, largest first.

        step, lhs, op, rhs, group, chisq, df, pvalue, and the expected change: epc, how far the
        parameter of that group would be from the others if it were free, and sepc.all, the same
        with all variables standardized. The tests assume normal answers.
        """
        tables = [
            _own_rows(test.table, before, step).assign(step=step)
            for (before, step), test in zip(pairwise(self.steps), self.tests, strict=False)
        ]
        names = ["step", "lhs", "op", "rhs", "group", "chisq", "df", "pvalue", "epc", "sepc.all"]
        if not tables:
            return pd.DataFrame(columns=names)
        whole = pd.concat(tables, ignore_index=True)
        place = {step: k for k, step in enumerate(self.steps)}
        whole["place"] = whole["step"].map(place)
        whole = whole.sort_values(["place", "chisq"], ascending=[True, False], ignore_index=True)
        return whole[names]

    @property
    def rejected(self) -> str | None:
        """First step whose difference test rejects it at the 5 % level; None if none does."""
        tests = zip(self.steps[1:], self.comparison.differences, strict=True)
        return next((step for step, test in tests if test.pvalue < _LEVEL), None)

    def fit(self, step: str) -> CFAFit:
        """Return the fitted model of a step."""
        return self.fits[self.steps.index(checks.choice("step", step, self.steps))]

    def summary(self) -> Summary:
        """Lay out the ladder, and the parameters that break the first step that is rejected."""
        first = self.rejected
        said = "No step is rejected by its difference test at the 5 % level."
        if first is not None:
            said = f"First step rejected by its difference test (5 % level): {first}."
        frame = self.table.reset_index()
        for column in ("srmr", "aic", "bic"):
            frame = frame if frame[column].notna().any() else frame.drop(columns=column)
        frame["df_diff"] = ["" if np.isnan(d) else f"{d:g}" for d in frame["df_diff"]]
        ladder = Table.from_frame(frame, "Invariance", self.comparison.notes)
        tables = [Table(*_right(ladder), ladder.notes)]
        broken = self.releases.query("step == @first") if first else self.releases.iloc[:0]
        if len(broken):
            shown = broken.head(_MOST_ROWS).drop(columns=["step", "df"])
            notes = ("Score tests; epc: expected difference from the other groups.",)
            tables.append(Table.from_frame(shown, f"What breaks the step '{first}'", notes))
        head = (repr(self), said, *self.notes)
        return Summary(head, tuple(tables))

    def plot(self, ax: Any = None) -> Any:
        """Draw the change of CFI and RMSEA at each step, and the parameters that break one.

        Needs matplotlib (the extra ``plot``). The dashed line marks a fall of CFI by .01.

        Parameters
        ----------
        ax
            Axes to draw on; a new figure if None.
        """
        return _draw(self, ax)

    def __repr__(self) -> str:
        model = self.fits[0].estimate.model
        return (
            f"Invariance: {', '.join(self.steps)}; {len(model.observed)} items, "
            f"{self.fits[0].n_obs} rows in {model.n_groups} groups, {self.fits[0].call.estimator}"
        )


def invariance(
    data: Any,
    model: Given,
    group: str,
    estimator: str = "ml",
    missing: str = "listwise",
    ordered: bool | Iterable[str] | None = None,
    steps: Iterable[str] | str | None = None,
    group_partial: Iterable[str] | str | None = None,
    std_lv: bool = False,
    method: str = "default",
    progress: Progress = None,
) -> Invariance:
    """Test whether items measure the same in all groups, one step at a time.

    Parameters
    ----------
    data
        Answers, as in :func:`dtstat.cfa`.
    model
        Structure, result of :func:`dtstat.fit` or :func:`dtstat.cfa`, scoring key (dict from factor
        to items), or model text.
    group
        Column that says which group a row belongs to.
    estimator, missing, ordered, std_lv
        As in :func:`dtstat.cfa`. Ordered items have a ladder of their own, with ``std_lv``.
    steps
        Some of "configural", "metric", "scalar", "strict" (of ordered items "configural",
        "thresholds", "loadings", "intercepts"); all of them by default.
    group_partial
        Parameters that stay free in all steps, as in "x3 ~ 1": partial invariance.
    method
        Difference test, as in :func:`dtstat.compare_models`.
    progress
        True for a bar of each step, or a function of (done, total).

    Returns
    -------
    Invariance

    Raises
    ------
    InputError
        If there are no groups, or a step is not known.

    Examples
    --------
    >>> import dtstat as dt
    >>> data = dt.load_dataset("holzinger_swineford_9")
    >>> data["half"] = ["first"] * 150 + ["second"] * 151
    >>> model = "visual =~ x1 + x2 + x3; textual =~ x4 + x5 + x6; speed =~ x7 + x8 + x9"
    >>> found = dt.invariance(data, model, "half")
    >>> found
    Invariance: configural, metric, scalar, strict; 9 items, 301 rows in 2 groups, ml
    >>> found.rejected
    'scalar'
    """
    frame = as_frame(data, progress)
    model = as_model(model, list(map(str, frame.columns)))
    if ordered is None:
        ordered = ordered_columns(frame, model, estimator, missing) or None
    is_ordered = bool(check_ordered(ordered)) or (
        isinstance(estimator, str) and estimator == "dwls"
    )
    ladder = ORDERED_LADDER if is_ordered else LADDER
    chosen = _choose_steps(steps, ladder)
    given: dict[str, Any] = {"estimator": estimator, "missing": missing, "std_lv": std_lv}
    given |= {"group": group, "group_partial": group_partial}
    notes: tuple[str, ...] = ()
    texts: dict[str, Given] = dict.fromkeys(chosen, model)
    if is_ordered:
        given |= {"ordered": True if ordered is None else ordered, "std_lv": True}
        items = _text_items(_as_text(model), ordered)
        chosen, notes = _ordered_steps(chosen, frame, items)
        n_groups = len(find_groups(frame, group).names)
        plain = _as_text(model)
        texts = {step: plain + _identified(plain, items, step, n_groups) for step in chosen}
    given |= {"progress": progress}
    fits = [cfa(frame, texts[step], group_equal=ladder[step], **given) for step in chosen]
    comparison = compare_models(*fits, names=chosen, method=method)
    tests = [score_test(fit) for fit in fits[1:]]
    return Invariance(tuple(chosen), tuple(fits), comparison, tuple(tests), notes)


def _choose_steps(steps: Iterable[str] | str | None, ladder: dict[str, Any]) -> list[str]:
    if steps is None:
        return list(ladder)
    given = checks.texts("steps", steps, f"Give some of {', '.join(ladder)}.")
    wanted = {checks.choice("steps", step, ladder) for step in given}
    if len(wanted) < 2:
        raise checks.refusal("steps", "two steps or more", given, "Steps are compared.")
    return [step for step in ladder if step in wanted]


def _as_text(model: str | Structure) -> str:
    return model if isinstance(model, str) else model.to_lavaan()


def _text_items(model: str, ordered: object) -> list[str]:
    """Ordered items of a model text, in its order."""
    terms = [one for one in parse(model) if isinstance(one, Term) and one.op == "=~"]
    factors = {term.lhs for term in terms}
    items = list(dict.fromkeys(term.rhs for term in terms if term.rhs not in factors))
    wanted = check_ordered(ordered)
    return items if isinstance(wanted, bool) else [item for item in items if item in wanted]


def _ordered_steps(
    steps: Sequence[str], frame: pd.DataFrame, items: Sequence[str]
) -> tuple[list[str], tuple[str, ...]]:
    """Leave out steps that cannot be told from the one before, and say so."""
    columns = {str(name): k for k, name in enumerate(frame.columns)}
    known = [frame.iloc[:, columns[item]].nunique() for item in items if item in columns]
    if known and min(known) <= 2:
        left = [step for step in steps if step not in ("thresholds", "loadings")]
        why = "yes/no items have one threshold each, so that thresholds, loadings and intercepts "
        return left, (f"Tested together: {why}can only be held equal at once.",)
    if known and max(known) <= 3 and "configural" in steps:
        left = [step for step in steps if step != "thresholds"]
        why = "items with three answers have equal thresholds in all groups by choice of scale."
        return left, (f"No test of thresholds: {why}",)
    return list(steps), ()


def _identified(model: str, items: Sequence[str], step: str, n_groups: int) -> str:
    """Lines that identify a step after Wu & Estabrook (2016)."""
    terms = [one for one in parse(model) if isinstance(one, Term) and one.op == "=~"]
    factors = list(dict.fromkeys(term.lhs for term in terms))
    later = list(ORDERED_LADDER).index(step)

    def values(first: str, free: bool) -> str:
        return f"c({', '.join([first, *['NA' if free else first] * (n_groups - 1)])})"

    lines = []
    for name in map(r_name, items):
        lines.append(f"{name} ~*~ {values('1', later > 0)}*{name}")
        lines.append(f"{name} ~ {values('0', later in (1, 2))}*1")
    for name in map(r_name, factors):
        lines.append(f"{name} ~~ {values('1', later > 1)}*{name}")
        lines.append(f"{name} ~ {values('0', later > 2)}*1")
    return "\n" + "\n".join(lines)


def _own_rows(table: pd.DataFrame, before: str, step: str) -> pd.DataFrame:
    """Rows of the parameters that a step holds equal, and the one before did not."""
    ladder = LADDER if step in LADDER and before in LADDER else ORDERED_LADDER
    variance = (table["op"] == "~~") & (table["lhs"] == table["rhs"])
    kinds = {
        "loadings": table["op"] == "=~",
        "intercepts": table["op"] == "~1",
        "residuals": variance,
        "thresholds": table["op"] == "|",
    }
    new = set(ladder[step]) - set(ladder[before])
    own: pd.Series[bool] = np.logical_or.reduce([kinds[kind] for kind in sorted(new)])
    return table[own]


def _right(table: Table) -> tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...], str]:
    """Parts of a table with all columns but the first aligned right."""
    return table.title, table.headers, table.rows, "l" + "r" * (len(table.headers) - 1)


def _draw(result: Invariance, ax: Any) -> Any:
    table, releases = result.table, result.releases
    top = releases.sort_values("chisq", ascending=False).head(_MOST_ROWS)
    lines = max(len(top), 2 * len(table))
    figure, panels = canvas.tile_panels(ax, 2 if len(top) else 1, 2, 1.2 + 0.22 * lines)
    left, place = panels[0], np.arange(1, len(table))
    for column, mark, color, label in (
        ("delta_cfi", "o", canvas.BLUE, "CFI"),
        ("delta_rmsea", "s", canvas.VERMILION, "RMSEA"),
    ):
        left.plot(table[column].to_numpy()[1:], place, mark, color=color, label=label)
    left.axvline(0, color=canvas.GREY, linewidth=1)
    left.axvline(-_NOTABLE, color=canvas.BLUE, linewidth=1, linestyle="--")
    left.set_yticks(place, list(table.index[1:]))
    left.set_ylim(len(table) - 0.4, 0.6)
    canvas.strip_frame(left)
    canvas.set_titles(left, "Change from the step before", "change")
    canvas.legend_below(left)
    if len(top):
        right, rows = panels[1], np.arange(len(top))
        right.hlines(rows, 0, top["chisq"], color=canvas.PALE, linewidth=2)
        right.plot(top["chisq"].to_numpy(), rows, "o", color=canvas.BLUE)
        right.axvline(_CRITICAL, color=canvas.GREY, linewidth=1, linestyle="--")
        names = [
            canvas.shorten(f"{row.lhs} {row.op} {row.rhs}".strip(), 18)
            for row in top.itertuples(index=False)
        ]
        right.set_yticks(rows, names)
        right.set_ylim(len(top) - 0.4, -0.6)
        canvas.strip_frame(right)
        canvas.set_titles(right, "What would fit better apart", "score test, chi-square")
    return figure
