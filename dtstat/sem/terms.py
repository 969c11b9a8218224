"""What a model says, as terms: from a text, from a structure, and from auxiliary variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from dtstat.core import checks
from dtstat.core.errors import InputError
from dtstat.sem.roles import Roles
from dtstat.structure.structure import Structure, distinct_names, r_name
from dtstat.structure.syntax import Relation, Term, parse


def observed_variables(
    model: str | Structure, items: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the observed variables of a model, and predictors whose moments are given."""
    roles = Roles(read_terms(model, items)[0])
    roles.check(items)
    return roles.observed, tuple(roles.covariates)


def read_terms(model: str | Structure, items: Sequence[str]) -> tuple[list[Term], list[Relation]]:
    """Return the terms of a model, and what relates its parameters."""
    return (
        (_structure_terms(model), []) if isinstance(model, Structure) else _text_terms(model, items)
    )


def _structure_terms(structure: Structure) -> list[Term]:
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
    return terms


def _text_terms(model: str, items: Sequence[str]) -> tuple[list[Term], list[Relation]]:
    """Terms of a model text, in which columns may have the names that R gives them."""
    found = parse(model)
    terms = [one for one in found if isinstance(one, Term)]
    relations = [one for one in found if isinstance(one, Relation)]
    latent = {term.lhs for term in terms if term.op == "=~"}
    names = {name for term in terms for name in (term.lhs, term.rhs)}
    columns = {
        name: _column_of(name, items)
        for name in names
        if name and name not in latent and name not in items
    }
    if not terms:
        raise InputError("`model` has no parameters. For example: 'f =~ x1 + x2 + x3'.", "model")
    if not columns:
        return terms, relations
    renamed = [
        replace(term, lhs=columns.get(term.lhs, term.lhs), rhs=columns.get(term.rhs, term.rhs))
        for term in terms
    ]
    return renamed, relations


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


def auxiliary_terms(roles: Roles, items: Sequence[str], names: Sequence[str]) -> list[Term]:
    """Let auxiliary variables covary with all observed variables and with each other."""
    for name in names:
        if name not in items:
            raise checks.unknown("auxiliary", "columns of the data", name, items)
        if name in roles.observed:
            raise InputError(
                f"`auxiliary` names '{name}', which the model has already.", "auxiliary"
            )
    pairs = [(a, b) for a in names for b in roles.observed]
    return [Term(a, "~~", b) for a, b in (*pairs, *combinations(names, 2))]
