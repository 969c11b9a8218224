"""What is printed of a certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dtstat.core.tables import Facts, Summary, Table, labeled_lines

if TYPE_CHECKING:
    from dtstat.trust.certificate import Certificate

VERDICTS = "certified", "open", "refuted"  # on a factor


def certificate_facts(result: Certificate) -> Facts:
    """Return what is certified, each with its label."""
    percent = f"{100 * result.error:g} %"
    facts = [
        (
            "Certified",
            f"{result.certified.sum()} of {len(result.members)} cliques of the sample, as cliques "
            f"of the population; the probability that any of them is not one is at most {percent}",
        )
    ]
    if result.n_separated > 1:
        names = ", ".join(result.item_names[one.item] for one in result.separated)
        facts.append(
            (
                "Separated",
                f"no two of {names} measure the same single factor: if each of them measures "
                f"one factor only, there are at least {result.n_separated}",
            )
        )
    if result.at_least is not None:
        found = f"at least {result.at_least}" if result.at_least else "no lower bound above 0"
        facts.append(
            (
                "Number of factors",
                f"{found} (error at most {percent}), however small, if {_factor_model(result)}",
            )
        )
    asked = result.factors
    if len(asked):
        counts = asked["verdict"].value_counts()
        parts = [f"{counts.get(v, 0)} {v}" for v in VERDICTS]
        facts.append(("Factors asked about", ", ".join(parts)))
    if len(result.tree):
        facts.append(("Levels", _possible_levels(result)))
    if result.guaranteed:
        facts.append(
            ("", "Cliques and band rest on an inequality that holds for any number of rows.")
        )
    elif not result.from_rows:
        facts.append(("", "Computed from a matrix, as if the rows were normal."))
    return tuple(facts)


def _factor_model(result: Certificate) -> str:
    """Say what has to be true for the bound on the number of factors."""
    if result.measure == "pearson" and not result.ratings:
        return "the items follow a linear factor model"
    behind = "cuts of" if result.ratings else "increasing functions of"
    return f"the items are {behind} normal variables that follow a linear factor model"


def _possible_levels(result: Certificate) -> str:
    """Say which levels of the tree nothing excludes."""
    levels = result.levels
    possible = levels.loc[levels["possible"], "n_factors"].tolist()
    if not possible:
        return f"all {len(levels)} are excluded: more factors are needed, or one is refuted"
    return f"nothing excludes {_say_numbers(possible)} of {len(levels)}"


def _say_numbers(numbers: list[int]) -> str:
    """Write whole numbers with runs as "4 to 11"."""
    ends = [k for k in numbers if k + 1 not in numbers]
    starts = [k for k in numbers if k - 1 not in numbers]
    runs = zip(starts, ends, strict=True)
    return ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in runs)


def certificate_summary(result: Certificate, max_rows: int) -> Summary:
    """Head, the separated cliques, the factors asked about, other certified cliques."""
    head = (
        f"Certificate of {len(result.item_names)} items by {result.measure}, {result.n_obs} rows",
        *labeled_lines(certificate_facts(result)),
    )
    tables = []
    if result.certified.any():
        tables.append(_clique_table(result, max_rows))
    if result.factor_names:
        tables.append(_factor_table(result))
    if len(result.tree):
        tables.append(_level_table(result, max_rows))
    return Summary(head, tuple(tables))


def _clique_table(result: Certificate, max_rows: int) -> Table:
    frame = result.to_frame()
    first = [one.bar for one in result.separated]
    rest = [k for k in np.flatnonzero(result.certified).tolist() if k not in first]
    order = [*first, *rest]
    shown = frame.iloc[order[:max_rows]]
    table = pd.DataFrame(
        {
            "items": shown["items"].map(result.list_items),
            "unique members": shown["unique_members"].map(result.list_items),
            "error": shown["error"].map(_small),
            "seen from": shown["birth"],
            "to": shown["death"],
        }
    )
    notes = [
        "Any two items of a clique depend on each other more than a unique member depends on any",
        "item outside it. unique members: those certified to be. error: the smallest error rate",
        "at which it would be certified. seen from, to: thresholds at which the sample has it.",
    ]
    if len(order) > max_rows:
        notes.append(f"{len(order) - max_rows} more certified cliques not shown.")
    return Table.from_frame(table, "Certified cliques", notes)


def _factor_table(result: Certificate) -> Table:
    frame = result.factors
    table = pd.DataFrame(
        {
            "factor": frame["factor"],
            "verdict": frame["verdict"],
            "unique children": frame["unique_children"].map(result.list_items),
            "items": frame["items"].map(result.list_items),
        }
    )
    notes = [
        "open: neither certified nor refuted. refuted: by the band, the items are a clique with a",
        "unique member at no threshold; such a factor may exist, but no threshold shows it.",
    ]
    return Table.from_frame(table, "Factors asked about", notes)


def _level_table(result: Certificate, max_rows: int) -> Table:
    frame = result.levels.iloc[:max_rows]
    table = pd.DataFrame(
        {
            "factors": frame["n_factors"],
            "more needed": np.where(frame["rejected"], "yes", ""),
            "error": [_small(x) if np.isfinite(x) else "" for x in frame["error"]],
            **{name: frame[name] for name in VERDICTS},
            "possible": np.where(frame["possible"], "yes", ""),
        }
    )
    notes = [
        "more needed: so few factors are rejected; error: the smallest error rate at which they",
        "would be. certified, open, refuted: factors of the level. possible: nothing excludes it.",
    ]
    if len(result.levels) > max_rows:
        notes.append(f"{len(result.levels) - max_rows} finer levels not shown.")
    return Table.from_frame(table, "Levels of the tree", notes)


def _small(error: float) -> str:
    return "< .0001" if error < 1e-4 else f"{error:.4f}"
