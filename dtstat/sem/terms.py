"""What a model says, as terms: from a text, from a structure, and from auxiliary variables.

:class:`Roles` reads off them what each variable does: factor, indicator, outcome, predictor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations

from dtstat.core import checks
from dtstat.core.errors import InputError, nearest
from dtstat.structure.structure import Structure, distinct_names, r_name
from dtstat.structure.syntax import Relation, Term, parse


class Roles:
    """What each variable does in the model."""

    def __init__(self, terms: Sequence[Term]) -> None:
        factors = [t for t in terms if t.op == "=~"]
        measured = [t for t in factors if t.rhs]  # f =~ 0: by nothing
        regressed = [t for t in terms if t.op == "~"]
        written = [t for t in terms if t.op not in ("=~", "|", "~*~")]
        self.latent = unique(t.lhs for t in factors)
        indicators = unique(t.rhs for t in measured if t.rhs not in self.latent)
        others = unique(name for t in written for name in (t.lhs, t.rhs) if name)
        self.observed = unique([*indicators, *(n for n in others if n not in self.latent)])
        self.outcomes = frozenset(t.lhs for t in regressed)
        self.predictors = frozenset(t.rhs for t in regressed)
        self.measured_latent = frozenset(t.rhs for t in measured if t.rhs in self.latent)
        # as in lavaan, a factor that nothing measures covaries with nothing by itself
        self.measured_latent |= {t.lhs for t in factors if not t.rhs}
        self.indicators = frozenset(indicators)
        self.own_cause = next((t.lhs for t in regressed if t.lhs == t.rhs), "")
        self.own_moments = frozenset(
            n for t in terms if t.op in ("~~", "~1") for n in (t.lhs, t.rhs)
        )
        self.loads_on = {f: [t.rhs for t in measured if t.lhs == f] for f in self.latent}

        blocks: dict[str, list[str]] = {}
        for term in factors:
            if term.efa and term.lhs not in blocks.setdefault(term.efa, []):
                blocks[term.efa].append(term.lhs)
        self.exploratory = tuple(map(tuple, blocks.values()))
        self.explored = frozenset(name for block in self.exploratory for name in block)

    def check(self, items: Sequence[str]) -> None:
        """Refuse names that are not in the data, and factors that explain themselves."""
        for name in self.observed:
            if name not in items:
                raise InputError(
                    f"`model` names '{name}', which is neither an item of the data nor a factor. "
                    + nearest(name, items),
                    "model",
                )
        clash = [name for name in self.latent if name in items]
        if clash:
            raise InputError(
                f"`model` uses '{clash[0]}' as a factor, but the data have an item of that name. "
                "Rename the factor.",
                "model",
            )
        for name in self.latent:
            if name in self._below(name):
                raise InputError(f"`model` measures the factor '{name}' by itself.", "model")
        if self.own_cause:
            raise InputError(f"`model` regresses '{self.own_cause}' on itself.", "model")

    def _below(self, factor: str) -> set[str]:
        """All that a factor is measured by, directly or through other factors."""
        below: set[str] = set()
        waiting = [factor]
        while waiting:
            new = [name for name in self.loads_on.get(waiting.pop(), []) if name not in below]
            below |= set(new)
            waiting += new
        return below

    @property
    def single(self) -> frozenset[str]:
        """Variables that measure one factor, alone."""
        loaded = [name for names in self.loads_on.values() for name in unique(names)]
        alone = {names[0] for names in self.loads_on.values() if len(set(names)) == 1}
        return frozenset(name for name in alone if loaded.count(name) == 1)

    @property
    def exogenous_latent(self) -> list[str]:
        """Factors that nothing in the model explains."""
        inner = self.outcomes | self.measured_latent
        return [name for name in self.latent if name not in inner]

    @property
    def covariates(self) -> list[str]:
        """Observed predictors that nothing in the model explains and whose moments are given."""
        return [name for name in self.plain_predictors if name not in self.own_moments]

    @property
    def plain_predictors(self) -> list[str]:
        """Observed predictors that nothing in the model explains."""
        explained = self.outcomes | self.indicators
        return [n for n in self.observed if n in self.predictors and n not in explained]

    @property
    def pure_outcomes(self) -> list[str]:
        """Outcomes that predict nothing and measure nothing."""
        names = [*self.observed, *self.latent]
        loaded = self.indicators | self.measured_latent
        return [
            n for n in names if n in self.outcomes and n not in self.predictors and n not in loaded
        ]


def unique(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names in order of appearance, each once."""
    return tuple(dict.fromkeys(names))


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
