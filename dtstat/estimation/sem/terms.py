"""From whatever gives a model to terms whose names are columns of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dtstat.errors import InputError
from dtstat.estimation.sem.syntax import Term, parse
from dtstat.structure import Structure
from dtstat.structure.names import distinct_names, r_name


def model_terms(model: str | Structure, items: Sequence[str]) -> tuple[Term, ...]:
    """Terms of a model text, or of a structure: every factor measured by its children.

    Parameters
    ----------
    model
        Model text, in which columns may have the names that R gives them, or a structure.
    items
        Names of the columns.
    """
    if isinstance(model, Structure):
        return _structure_terms(model)
    terms = parse(model)
    latent = {term.lhs for term in terms if term.op == "=~"}
    names = {name for term in terms for name in (term.lhs, term.rhs)}
    columns = {
        name: _column_of(name, items) for name in names if name not in latent and name not in items
    }
    return tuple(
        term
        if term.op == "=="
        else replace(term, lhs=columns.get(term.lhs, term.lhs), rhs=columns.get(term.rhs, term.rhs))
        for term in terms
    )


def _structure_terms(structure: Structure) -> tuple[Term, ...]:
    """Measure every factor by its children; any names will do."""
    if not structure.n_factors:
        raise InputError("`model` must have a factor; got a structure without one.", "model")
    names = structure.item_names
    factors = distinct_names([*names, *structure.factor_names])[structure.n_items :]
    terms = []
    for k, factor in enumerate(factors):
        marker, *others = structure.marker_first(k)
        start = -1.0 if structure.reversed[marker, k] else None  # the marker is fixed there
        terms.append(Term(factor, "=~", names[marker], start=start))
        terms += [Term(factor, "=~", names[i]) for i in others]
    return tuple(terms)


def _column_of(name: str, items: Sequence[str]) -> str:
    """Return the column that R would call by this name; the name itself if there is none."""
    found = [item for item in items if r_name(item) == name]
    if len(found) > 1:
        raise InputError(
            f"`model` names '{name}', which may be the column '{found[0]}' or '{found[1]}': in R "
            "both have that name. Rename one of them, or give the structure instead of its text.",
            "model",
        )
    return found[0] if found else name
