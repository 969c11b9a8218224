"""The page that ``DTFit.summary()`` returns: its tables, in the order a reader asks for them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dtstat.core.loading_tables import factor_table
from dtstat.core.tables import Summary, Table, with_texts
from dtstat.curves.result import correlation_table, response_table
from dtstat.dependence.measures import LATENT, RANKS
from dtstat.dependence.on_demand import CorrelationsOnDemand
from dtstat.search.criteria import STEP, searching
from dtstat.search.records import GIVEN

if TYPE_CHECKING:
    from dtstat.fit.result import DTFit


ATTACHED = "+ attached: in no clique within the factor, but it loads on it most."
_NEARLY_ALL = 0.95
_MOST_LEVELS = 12
_MOST_FACTORS = 40  # of very many items
_SMALLEST = 2  # items of a factor
_MANY_LEFT_OUT = 0.1  # share of the items
_LEVEL = 0.05  # of the test that decides whether a model misfits
_PEOPLE = ("pearson", "spearman", "kendall")
_BY_CHANCE = 0.05  # probability that the largest of all pairs is larger


def fit_summary(fit: DTFit, cutoff: float, max_rows: int, intervals: bool = False) -> Summary:
    """Put call, data, choice and tables in the order a reader asks for them."""
    if not fit.n_factors:
        return Summary((*_head(fit), *why_nothing(fit)), choice_tables(fit, max_rows))
    if isinstance(fit.latent, CorrelationsOnDemand):
        return Summary(_head(fit), (*level_tables(fit), first_factors(fit), *choice_tables(fit, 0)))
    errors = (intervals_table(fit.tidy()),) if intervals else ()
    parts = (
        *level_tables(fit),
        factor_thresholds(fit),
        *loading_tables(fit, cutoff),
        *errors,
        *choice_tables(fit, max_rows),
    )
    return Summary(_head(fit), parts)


def level_tables(fit: DTFit) -> tuple[Table, ...]:
    """Tabulate what one fewer factor costs, around the levels that stand out."""
    frame = fit.levels
    if len(frame) < 2:
        return ()
    shown = frame[frame["n_factors"] <= max(fit.supported, fit.n_factors) + 1]
    if len(shown) > _MOST_LEVELS:
        near = shown["chosen"] | (shown["level"] != "")
        most = shown["step"].rank(ascending=False) <= _MOST_LEVELS - 3
        shown = shown[near | most | near.shift(-1, fill_value=False)]
    marks = [
        " ".join(word for word in ("chosen" if one.chosen else "", str(one.level)) if word)
        for one in shown.itertuples()
    ]
    table = pd.DataFrame(
        {
            "factors": shown["n_factors"],
            "one fewer costs": [_blank(value, 3) for value in shown["one_fewer_costs"]],
            "cheapest join": shown["joins"],
            "r": [_blank(value, 2) for value in shown["correlation"]],
            "agreement": [_blank(value, 2) for value in shown["agreement"]],
            "step": [_blank(value, 2) for value in shown["step"]],
            "": marks,
        }
    )
    most_factors = f"{fit.supported} factor{'s' * (fit.supported != 1)}"
    by_step = fit.call.n_factors is None and fit.call.criterion == STEP
    notes = [
        "One fewer costs: log-likelihood per person lost by the items of the two factors if these "
        "are merged. r: their correlation. Items are re-sorted at every level, so the next coarser "
        "level need not be exactly that merger.",
        "Agreement among different ways of sorting the items (1: identical groups). Step: how much "
        "more mergers cost between this level and half as many factors than between this level and "
        "twice as many (log ratio), times agreement.",
        f"The data support at most {most_factors}"
        + ("; among these levels, the one with the largest step is chosen" * by_step)
        + ". Use fit.level(k) for another level.",
    ]
    if len(shown) < len(frame):
        notes.append(f"{len(frame) - len(shown)} more in levels.")
    levels = Table.from_frame(table, "Levels", notes, bounded=("r", "agreement"))
    return (replace(levels, alignment="rrlrrrl"),)


def _blank(value: float, digits: int) -> str:
    return "" if math.isnan(value) else f"{value:.{digits}f}"


def factor_thresholds(fit: DTFit) -> Table:
    """One row per factor, with the thresholds it is seen at."""
    title = "Factors, each at its own thresholds"
    if fit.call.search == GIVEN:
        title = "Factors as given, with the thresholds at which cliques show them"
    if fit.call.search == "threshold":
        title = f"Factors ({fit.contenders[0].origin})"
    return factors_table(fit.factors, title)


def first_factors(fit: DTFit) -> Table:
    """One row per factor, of very many the first: its items, the largest loadings first."""
    rows = []
    loadings, support = fit.responses.loadings, fit.support
    for k in range(min(fit.n_factors, _MOST_FACTORS)):
        items = np.flatnonzero(support[:, k])
        own = loadings[items, k]
        order = np.argsort(-np.abs(own), kind="stable")
        told = tuple(f"{fit.item_names[items[i]]} {own[i]:.2f}" for i in order)
        rows.append((fit.factor_names[k], len(items), _listed(told)))
    notes = ["All loadings are in loadings, all items of a factor in structure."]
    if fit.n_factors > len(rows):
        notes.append(f"{fit.n_factors - len(rows)} more factors in factors.")
    frame = pd.DataFrame(rows, columns=["factor", "items", "loadings"])
    return replace(Table.from_frame(frame, "Factors", notes), alignment="lrl")


def loading_tables(fit: DTFit, cutoff: float) -> tuple[Table, ...]:
    """Tabulate loadings (with curves: the responses), then what belongs to them."""
    if fit.has_curves:
        return _curve_tables(fit)
    return factor_table(
        fit.loadings,
        fit.factor_correlations,
        fit.uniquenesses,
        cutoff,
        marks=item_marks(fit),
        notes=(*notes_on_marks(fit), f"Loadings below {cutoff:g} are blank."),
        texts=fit.item_texts,
    ).tables


def choice_tables(fit: DTFit, max_rows: int) -> tuple[Table, ...]:
    """How well the structure fits, which items it leaves out, and the alternatives considered."""
    parts = []
    if fit.n_factors:
        parts.append(measures_table(fit.fit_measures, measure_notes(fit)))
    if fit.n_factors and (~fit.support.any(axis=1)).any():
        parts.append(uncovered_table(fit.uncovered, fit.item_texts))
    if max_rows:
        parts.append(_contenders(fit, max_rows))
    return tuple(parts)


def _curve_tables(fit: DTFit) -> tuple[Table, ...]:
    frame, marks = fit.nonlinear_loadings, item_marks(fit)
    responses = response_table(frame, marks, notes_on_marks(fit), fit.item_texts)
    if fit.n_factors == 1:
        return (responses,)
    return responses, correlation_table(fit.factor_correlations, fit.factor_correlation_errors)


def _head(fit: DTFit) -> tuple[str, ...]:
    d = fit.n_factors
    found = "no factor" if not d else "1 factor" if d == 1 else f"{d} factors"
    return (
        f"Dependence thresholding: {found} behind {len(fit.item_names)} items",
        f"Call:   {call_line(fit)}",
        f"Data:   {data_line(fit)}",
        f"Choice: {fit.explanation}",
        *left_out_lines(fit),
        *evidence_lines(fit),
        *(f"Note:   {note}" for note in fit.notes),
    )


def left_out_lines(fit: DTFit) -> tuple[str, ...]:
    """Say so if many items are in no factor, and what to do."""
    out, p = int((~fit.support.any(axis=1)).sum()), len(fit.item_names)
    if not fit.n_factors or out <= _MANY_LEFT_OUT * p or fit.call.search == GIVEN:
        return ()
    advice = "Look at them below"
    if fit.call.uncovered != "attach":
        advice += "; uncovered='attach' gives them to the factor they load on most"
    elif fit.call.search == "threshold":
        advice += "; search='tree' lets every factor have its own threshold"
    else:
        advice += ": they hardly depend on the others, or on few of them"
    if fit.call.min_children > _SMALLEST:
        advice += "; min_children=2 allows factors of two items"
    return (f"Note:   {out} of {p} items are in no factor. {advice}.",)


def call_line(fit: DTFit) -> str:
    """Return the call with what was asked for."""
    call = fit.call
    parts = [] if call.n_factors is None else [f"n_factors={call.n_factors}"]
    parts += [f'measure="{call.measure}"', f'search="{call.search}"']
    if call.search == "threshold":
        parts.append(f"thresholds={call.thresholds}")
    parts += [f'estimator="{call.estimator}"', f'criterion="{call.criterion}"']
    parts += [f"min_children={call.min_children}"]
    parts += [f'uncovered="{call.uncovered}"'] if call.uncovered != "attach" else []
    parts += ["refine=True"] if call.refine else []
    parts += ['misfit="none"'] if call.misfit == "none" else []
    parts += [f"finalists={call.finalists}"] if call.finalists is not None else []
    parts += [f'preset="{call.preset}"'] if call.preset is not None else []
    parts += [f"seed={call.seed}"] if call.seed is not None else []
    return f"fit({', '.join(parts)}), dtstat {call.version}"


def data_line(fit: DTFit) -> str:
    """Return what the data were."""
    p, sample = len(fit.item_names), fit.sample
    if sample is None:
        return f"a matrix of {fit.dependence.measure} dependence, {fit.n_obs} rows, {p} items"
    kinds = ", ".join(f"{count} {kind}" for kind, count in sample.kinds.items())
    rows = f"{sample.n_used} of {sample.n_given} rows used"
    gaps = "" if sample.n_complete == sample.n_used else f" ({sample.n_complete} complete)"
    return f"{rows}{gaps}, {p} items ({kinds})"


def evidence_lines(fit: DTFit) -> tuple[str, ...]:
    """Return what the rows count as, if that is less than all."""
    if fit.n_effective > _NEARLY_ALL * fit.n_typical:
        return ()
    each = "" if fit.n_typical == fit.n_obs else f" ({fit.n_typical} behind a typical pair)"
    p, rows = fit.fit_measures["pvalue"], f"the {fit.n_obs} rows{each}"
    if p < _LEVEL:
        said = (
            f"Because the model misfits by more than sampling error, {rows} are counted as about "
            f"{fit.n_effective:.0f}."
        )
    elif math.isnan(p):
        said = (
            f"For the choice of structure, {rows} were counted as about {fit.n_effective:.0f} "
            "because of misfit (not tested)."
        )
    else:
        said = (
            f"For the choice of structure, {rows} were counted as about {fit.n_effective:.0f} "
            f"normal ones, because {_named(fit.latent.measure)} correlations vary more."
        )
    return (f"        {said}",)


def why_nothing(fit: DTFit) -> tuple[str, ...]:
    """Why there is no factor, in numbers."""
    from scipy.special import ndtri

    if isinstance(fit.dependence, CorrelationsOnDemand):
        return ("No structure describes the items better than independence.",)
    strength, names = fit.dependence.strength, fit.item_names
    i, j = np.unravel_index(np.triu(strength, 1).argmax(), strength.shape)
    largest = f"{strength[i, j]:.3f} ({names[i]} with {names[j]})"
    if len(names) < fit.call.min_children:
        return (f"A factor needs {fit.call.min_children} items; there are {len(names)}.",)
    pairs = len(names) * (len(names) - 1) / 2
    smaller = "a smaller `min_children`, " if fit.call.min_children > _SMALLEST else ""
    chance = -float(ndtri(_BY_CHANCE / 2 / pairs)) / math.sqrt(fit.n_typical - 1)
    return (
        f"No structure describes the items better than independence. The strongest dependence is "
        f"{largest}; among {pairs:.0f} pairs of independent items values up to about "
        f"{min(chance, 1.0):.3f} come by chance. Weaker dependence may be there; "
        f"{fit.n_typical} rows do not show it.",
        f"If you expected factors: more rows, {smaller}or a measure that detects any dependence "
        "(see measures()).",
    )


def item_marks(fit: DTFit) -> pd.Series[str]:
    """Return the signs behind names, of exceptions alone: attached items."""
    return pd.Series(["+" if one else "" for one in fit.attached], index=list(fit.item_names))


def notes_on_marks(fit: DTFit) -> tuple[str, ...]:
    """Say what the signs behind names mean, if there are any."""
    return (ATTACHED,) if fit.attached.any() else ()


def measure_notes(fit: DTFit) -> tuple[str, ...]:
    """Say which correlations the fit is of, and what its test is, or why there is none."""
    model = fit.reported
    notes = [_source(fit)]
    if model.test is None:
        notes.append(f"Not tested. {model.untested}")
    else:
        notes.append(
            "The chi-square is computed from the residual correlations and adjusted to the mean "
            "and variance it has for correlations of this kind; CFI, TLI and RMSEA are of the same "
            "residuals, adjusted to the mean alone, and cannot be computed from this chi-square."
        )
    if fit.nonlinear is not None:
        likelihood, error = fit.nonlinear.log_likelihood, fit.nonlinear.monte_carlo_se
        notes.append(
            "This is the fit of increasing responses. With the curves the log-likelihood is "
            f"{likelihood:.1f} (Monte Carlo error {error:.1f})."
        )
    return tuple(notes)


def _source(fit: DTFit) -> str:
    """Say which correlations the model is reported from."""
    measure, rows = fit.reported.latent.measure, f"{fit.n_obs} rows"
    if fit.n_typical != fit.n_obs:
        rows += f" ({fit.n_typical} behind a typical pair)"
    if measure in RANKS:
        return (
            f"Based on {_named(measure)} correlations of {rows}, converted to latent correlations "
            "by the sine formula."
        )
    if fit.latent.measure in LATENT or not fit.reported.as_ratings:
        given = ", as of normal rows" if fit.sample is None else ""
        return f"Based on {_named(measure)} correlations of {rows}{given}."
    return (
        "Ratings are modeled as ordinal: loadings, factor correlations, scores and fit are from "
        f"{_named(measure)} correlations of {rows}; the structure was found by "
        f"{_named(fit.latent.measure)} correlations."
    )


def _named(measure: str) -> str:
    """Return a measure as it is written in a sentence."""
    return measure.capitalize() if measure in _PEOPLE else measure


def _contenders(fit: DTFit, max_rows: int) -> Table:
    return contenders_table(fit.candidates, fit.call.criterion, fit.n_effective, max_rows)


_MOST_MEMBERS = 12  # listed in a cell


def factors_table(frame: pd.DataFrame, title: str) -> Table:
    """One row per factor: its thresholds, its size, and the clique it was read off."""
    shown = frame.rename(columns={"persistence": "width", "n_items": "items", "n_unique": "unique"})
    shown = shown.assign(core=[_listed(core) for core in frame["core"]])
    for column in ("from", "to", "width"):
        shown[column] = ["" if math.isnan(v) else f"{v:.3f}" for v in shown[column]]
    notes = [
        "from, to: thresholds between which the core is an independent maximal clique; width: the "
        "length of that interval.",
        "core: the longest-lived such clique within the factor. unique: number of items that "
        "belong to no other factor.",
    ]
    if any(not core for core in frame["core"]):
        notes.append(
            "No core: a remainder of overlapping cliques, or a factor visible only after others "
            "are accounted for."
        )
    table = Table.from_frame(shown, title, notes)
    return replace(table, alignment="lrrrrrl")


def measures_table(measures: Mapping[str, float], notes: tuple[str, ...] = ()) -> Table:
    """Fit measures, two columns; those that do not exist are left out."""
    rows = [(name, text) for name, text in _measure_rows(measures) if text]
    return Table("Fit of the chosen structure", ("measure", "value"), tuple(rows), "ll", notes)


def measures_line(measures: Mapping[str, float]) -> str:
    """Return the same in one line, without the test."""
    return "; ".join(f"{name} {text}" for name, text in _measure_rows(measures)[1:] if text)


def _measure_rows(m: Mapping[str, float]) -> list[tuple[str, str]]:
    p = m["pvalue"]
    tested = "" if math.isnan(p) else "yes"
    test = f"p = {p:.3f}" if p >= 0.0005 else "p < 0.001"
    interval = f" (90% interval {m['rmsea.ci.lower']:.3f} to {m['rmsea.ci.upper']:.3f})"
    return [
        ("Chi-square, adjusted", tested and f"{m['chisq']:.1f} on {m['df']:.0f} df, {test}"),
        ("CFI", tested and f"{m['cfi']:.3f}"),
        ("TLI", tested and f"{m['tli']:.3f}"),
        ("RMSEA", tested and f"{m['rmsea']:.3f}{interval}"),
        ("SRMR", "" if math.isnan(m["srmr"]) else f"{m['srmr']:.3f}"),
    ]


def intervals_table(tidy: pd.DataFrame) -> Table:
    """List loadings and factor correlations with standard errors and 95 % intervals."""
    columns = {
        "term": "",
        "estimate": "estimate",
        "std_error": "SE",
        "conf_low": "95% from",
        "conf_high": "to",
    }
    shown = tidy[list(columns)].rename(columns=columns)
    notes = () if tidy["std_error"].notna().any() else ("No standard errors: not tested.",)
    return Table.from_frame(
        shown, "Loadings and factor correlations", notes, digits=3, bounded=tuple(columns.values())
    )


def contenders_table(
    frame: pd.DataFrame, criterion: str, n_effective: float, max_rows: int
) -> Table:
    """Give the best structures, one row each, the chosen one first."""
    bounds = int((~frame["fitted"]).sum())
    frame = frame[frame["fitted"]]
    columns = ["n_factors", "n_loadings", "n_uncovered", "log_likelihood"]
    if frame["cost"].notna().any():
        columns += ["cost"]
    if frame["held_out"].notna().any():
        columns += ["held_out", "behind", "behind_se"]
    shown = frame[[*columns, "origin"]].head(max_rows)
    shown = shown.rename(
        columns={
            "n_factors": "factors",
            "n_loadings": "loadings",
            "n_uncovered": "left out",
            "log_likelihood": "log-lik",
            "cost": searching(criterion),
            "held_out": "held out",
            "behind_se": "SE",
        }
    )
    for column in ("held out", "behind", "SE"):
        if column in shown:
            shown[column] = [f"{v:.4f}" for v in shown[column]]
    order = f"Best first by {criterion}"
    if criterion == STEP:
        order = f"The chosen structure first, then the others by {searching(criterion)}"
    if searching(criterion) in shown:
        order += f" (rows counted as {n_effective:.0f}; smaller is better)"
    notes = [f"{order}."]
    if "SE" in shown:
        notes.append("held out: log-likelihood per row, larger is better; behind the best; its SE.")
    if len(frame) > max_rows:
        notes.append(f"{len(frame) - max_rows} more in candidates.")
    if bounds:
        notes.append(
            f"{bounds} more could not have won, judging by an upper bound on their likelihood or "
            "its slow increase."
        )
    return Table.from_frame(shown, "Alternatives considered", notes, digits=1)


def uncovered_table(frame: pd.DataFrame, texts: Mapping[str, str]) -> Table:
    """Items of no factor, and why."""
    table = Table.from_frame(frame, "Items in no factor", digits=2)
    return with_texts(table, frame["item"], texts)


def _listed(core: tuple[str, ...]) -> str:
    more = f" and {len(core) - _MOST_MEMBERS} more" if len(core) > _MOST_MEMBERS else ""
    return " ".join(core[:_MOST_MEMBERS]) + more
