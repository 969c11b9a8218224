"""From a model text or a structure to a model: every parameter, and its place in the matrices.

The terms of the text are completed as lavaan does, in each group, and equal parameters get the same
number. What labels must satisfy beyond that is kept as relations (:mod:`dtstat.sem.constraints`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from dtstat.core.errors import InputError
from dtstat.dependence.moments import Source
from dtstat.sem.exploratory import ORTHOGONAL
from dtstat.sem.expressions import Expression, check_labels, parse_expression
from dtstat.sem.groups import equate_groups
from dtstat.sem.parameters import (
    Bounds,
    Model,
    Parameter,
    Parameterization,
    Place,
    bound_variances,
    place_of,
)
from dtstat.sem.terms import Roles, auxiliary_terms, read_terms
from dtstat.structure.structure import Structure
from dtstat.structure.syntax import ModelSyntaxError, Relation, Term


@dataclass(frozen=True)
class Defaults:
    """How a model is completed.

    Attributes
    ----------
    mean_structure
        Whether there are intercepts.
    std_lv
        Whether variances of factors are fixed at 1 instead of first loadings.
    orthogonal
        Whether factors are uncorrelated.
    effect_coding
        Of "loadings" and "intercepts", those that average 1 and 0 in each factor.
    growth
        Whether factors have means and items no intercepts.
    fixed_x
        Whether the moments of observed predictors are given.
    auxiliary
        Variables that covary with all observed ones and with each other.
    rotation
        How the factors of exploratory blocks are told apart.
    groups
        Names of the groups, if there are several.
    group_equal, group_partial
        Kinds of parameters that are equal in all groups, and parameters that are not.
    ordered
        Ordered items, and in how many categories they are answered.
    parameterization
        What gives the variables behind them their scale: "delta" or "theta".
    bounds
        Which variances must not be negative.
    """

    mean_structure: bool = False
    std_lv: bool = False
    orthogonal: bool = False
    effect_coding: tuple[str, ...] = ()
    growth: bool = False
    fixed_x: bool = True
    auxiliary: tuple[str, ...] = ()
    rotation: str = "geomin"
    groups: tuple[str, ...] = ()
    group_equal: tuple[str, ...] = ()
    group_partial: tuple[str, ...] = ()
    ordered: Mapping[str, int] = field(default_factory=dict)
    parameterization: Parameterization = "delta"
    bounds: Bounds = "none"

    def frees_means(self, group: int) -> bool:
        """Whether means of factors are free: their items' intercepts are anchored elsewhere."""
        later = self._anchored(group) and "means" not in self.group_equal
        # the intercepts of ordered items are 0 in any case, and thresholds say where they are
        coded = "intercepts" in self.effect_coding and not self.ordered
        return later or self.growth or coded

    def frees_scales(self, group: int) -> bool:
        """Whether scales (delta) or residual variances (theta) of ordered items are free."""
        strict = self.parameterization == "theta" and "residuals" in self.group_equal
        return self._anchored(group) and not strict

    def _anchored(self, group: int) -> bool:
        """Whether the first group says where the items of this one are on their scale."""
        return group > 1 and not {"intercepts", "thresholds"}.isdisjoint(self.group_equal)

    def frees_variances(self, group: int) -> bool:
        """Whether variances of factors are free although ``std_lv`` fixes them."""
        tied = "loadings" in self.group_equal and "lv_variances" not in self.group_equal
        return not self.std_lv or (group > 1 and tied)


def build_model(
    model: str | Structure,
    items: Sequence[str],
    mean_structure: bool = False,
    std_lv: bool = False,
    orthogonal: bool = False,
    **further: Any,
) -> Model:
    """Complete a model the way ``cfa`` and ``sem`` of lavaan do.

    Added are: residual variances of all observed and latent variables, covariances of exogenous
    factors and of outcomes that predict nothing (``orthogonal`` fixes those of two factors at 0),
    moments of observed predictors (fixed), intercepts if ``mean_structure``, thresholds and scales
    of ordered items; the first loading of each factor is fixed at 1, or with ``std_lv`` its
    variance.

    Parameters
    ----------
    model
        Model text, or a structure (every factor measured by its children).
    items
        Names of the variables in the data.
    mean_structure, std_lv, orthogonal, further
        See :class:`Defaults`.
    """
    given = Defaults(mean_structure, std_lv, orthogonal, **further)
    terms, relations = read_terms(model, items)
    roles = Roles(terms)
    if given.auxiliary:
        terms = [*terms, *auxiliary_terms(roles, items, given.auxiliary)]
        roles = Roles(terms)
    roles.check(items)
    given = replace(given, ordered={n: k for n, k in given.ordered.items() if n in roles.observed})
    _refuse_unsupported(terms, given)
    _check_exploratory(terms, roles, given)
    means = mean_structure or bool(given.ordered) or any(term.op == "~1" for term in terms)
    given = replace(given, mean_structure=means)
    table: list[Parameter] = []
    for group in range(1, max(len(given.groups), 1) + 1):
        rows = _user_rows(terms, roles, given, group)
        table += rows + _added_rows(rows, roles, given, group)
    table = equate_groups(table, roles, given.group_equal, given.group_partial, given.groups)
    relations += _effect_codes(table, roles, given)
    numbered, kept = _number(bound_variances(table, roles.latent, given.bounds), relations)
    eta, places = _places(numbered, roles)
    return Model(
        tuple(numbered), roles.observed, roles.latent, eta, means, places, given.groups,
        tuple(kept), roles.exploratory, given.rotation, given.parameterization,
    )  # fmt: skip


def _refuse_unsupported(terms: Sequence[Term], given: Defaults) -> None:
    for term in terms:
        if term.op in ("|", "~*~"):
            _check_scaled(term, given)
        own = term.op == "~~" and term.lhs == term.rhs in given.ordered
        if own and given.parameterization == "delta":
            raise ModelSyntaxError(
                f"'{term.lhs} ~~ {term.lhs}' is the residual variance of an ordered item, which "
                "follows from the other parameters. Leave it out, or use parameterization='theta'.",
                *term.at,
            )
        if term.efa and given.ordered:
            raise ModelSyntaxError(
                "exploratory blocks, efa(), are not supported for ordered items. Write the "
                "loadings, or use dtstat.efa with polychoric correlations.",
                *term.at,
            )


def _check_scaled(term: Term, given: Defaults) -> None:
    """Refuse thresholds and scales that there are not."""
    item, op = term.lhs, term.op
    if item not in given.ordered:
        raise ModelSyntaxError(
            f"'{item} {op} {term.rhs}' needs an ordered item. Name '{item}' in `ordered`.", *term.at
        )
    if op == "~*~" and (term.rhs != item or given.parameterization == "theta"):
        reason = (
            f"'{item} {op} {term.rhs}' must have the same item on both sides."
            if term.rhs != item
            else f"the scale of '{item}' follows from its residual variance if parameterization is "
            "'theta'. Leave it out, or use parameterization='delta'."
        )
        raise ModelSyntaxError(reason, *term.at)
    cuts = [f"t{k}" for k in range(1, given.ordered[item])]
    if op == "|" and term.rhs not in cuts:
        known = "the threshold t1" if len(cuts) == 1 else f"the thresholds t1 to {cuts[-1]}"
        raise ModelSyntaxError(
            f"'{item}' has {len(cuts) + 1} categories, so {known}; got '{term.rhs}'.", *term.at
        )


def _user_rows(terms: Sequence[Term], roles: Roles, given: Defaults, group: int) -> list[Parameter]:
    merged: dict[tuple[str, str, str], Term] = {}
    for everywhere in terms:
        if everywhere.op == "=~" and not everywhere.rhs:
            continue
        term = everywhere.in_group(group - 1, max(len(given.groups), 1))
        key: tuple[str, str, str] = (term.lhs, term.op, term.rhs)
        if term.op == "~~" and (term.rhs, "~~", term.lhs) in merged:
            key = (term.rhs, "~~", term.lhs)
        _check_fixed_once(merged.get(key), term)
        merged[key] = merged[key].merge(term) if key in merged else term
    markers = {(f, "=~", names[0]) for f, names in roles.loads_on.items() if names}
    if given.std_lv or "loadings" in given.effect_coding:
        markers = set()
    markers = {key for key in markers if key[0] not in roles.explored}
    rows = []
    for key, term in merged.items():
        fixed = term.fixed
        if fixed is None and key in markers and not term.free:
            fixed = 1.0 if term.start is None else term.start  # as in lavaan
        value = fixed if fixed is not None else term.start
        bounds = (None, None) if fixed is not None else (term.lower, term.upper)
        if None not in bounds and bounds[0] > bounds[1]:  # type: ignore[operator]
            raise ModelSyntaxError(f"lower({bounds[0]:g}) is above upper({bounds[1]:g}).", *term.at)
        rows.append(
            Parameter(*key, int(fixed is None), value, term.label, True, False, group, *bounds)
        )
    return rows


def _check_exploratory(terms: Sequence[Term], roles: Roles, given: Defaults) -> None:
    """Refuse exploratory blocks whose loadings are not all free, or that groups share."""
    if not roles.exploratory:
        return
    if given.group_equal:
        raise InputError(
            "`group_equal` is not supported for models with exploratory blocks, efa(): each group "
            "is rotated by itself.",
            "group_equal",
        )
    for block in roles.exploratory:
        items = [set(roles.loads_on[factor]) for factor in block]
        if any(own != items[0] for own in items) or len(items[0]) <= len(block):
            raise InputError(
                f"`model` must measure the factors {', '.join(block)} of an exploratory block by "
                "the same items, and by more of them than factors.",
                "model",
            )
    for term in terms:
        written = term.fixed is not None or term.label or term.groups
        variance = term.op == "~~" and term.lhs == term.rhs
        pair = term.op == "~~" and any({term.lhs, term.rhs} <= set(b) for b in roles.exploratory)
        if (term.efa and written) or (pair and (written or variance)):
            raise ModelSyntaxError(
                f"'{term.lhs} {term.op} {term.rhs}' belongs to an exploratory block, whose "
                "parameters are all free until they are rotated. Leave out what holds it.",
                *term.at,
            )


def _check_fixed_once(before: Term | None, term: Term) -> None:
    if before is None or before.fixed is None or term.fixed is None or before.fixed == term.fixed:
        return
    raise ModelSyntaxError(
        f"'{term.lhs} {term.op} {term.rhs}' is fixed at {before.fixed:g} (line {before.at[0]}) and "
        f"at {term.fixed:g}. Leave out one of them.",
        *term.at,
    )


def _added_rows(
    table: Sequence[Parameter], roles: Roles, given: Defaults, group: int
) -> list[Parameter]:
    known = {row.key for row in table}
    known |= {(row.rhs, row.op, row.lhs) for row in table if row.op == "~~"}
    covariates = frozenset(roles.covariates if given.fixed_x else ())

    def row(lhs: str, op: str, rhs: str, fixed: float | None = None) -> Parameter:
        exogenous = lhs in covariates and (op == "~1" or rhs in covariates)
        free = int(fixed is None and not exogenous)
        return Parameter(lhs, op, rhs, free, fixed, "", False, exogenous, group)

    added = [row(name, "~~", name) for name in roles.observed]
    for name in roles.latent:
        free = given.frees_variances(group) and name not in roles.explored
        added.append(row(name, "~~", name, None if free else 1.0))
    single = roles.single - set(given.ordered)
    added = [r.change(free=0, value=0.0) if r.lhs in single else r for r in added]
    added = [_scaled_row(r, given, group) if r.lhs in given.ordered else r for r in added]
    apart = frozenset(roles.latent) if given.orthogonal else frozenset()
    upright = given.rotation in ORTHOGONAL
    within = [pair for block in roles.exploratory for pair in combinations(block, 2)]
    pairs = (*combinations(roles.exogenous_latent, 2), *combinations(roles.pure_outcomes, 2))
    for a, b in dict.fromkeys((*within, *pairs)):
        none = upright if (a, b) in within else {a, b} <= apart
        added.append(row(a, "~~", b, 0.0 if none else None))
    added += [row(a, "~~", b) for a, b in combinations(roles.plain_predictors, 2)]
    if given.mean_structure:
        zero = dict.fromkeys(given.ordered, 0.0)  # thresholds say where they are
        if given.growth:
            zero |= {name: 0.0 for name in roles.observed if name not in covariates}
        added += [row(name, "~1", "", zero.get(name)) for name in roles.observed]
        mean = None if given.frees_means(group) else 0.0
        added += [row(name, "~1", "", mean) for name in roles.latent]
    for name, categories in given.ordered.items():
        added += [row(name, "|", f"t{k}") for k in range(1, categories)]
    added += [_scaled_row(row(name, "~*~", name), given, group) for name in given.ordered]
    return [r for r in added if r.key not in known]


def _scaled_row(row: Parameter, given: Defaults, group: int) -> Parameter:
    """Return the residual variance or scale of an ordered item: one is 1, the other follows."""
    if (row.op == "~*~") != (given.parameterization == "delta"):
        return row.change(free=0, value=None)
    return row if given.frees_scales(group) else row.change(free=0, value=1.0)


def _effect_codes(table: Sequence[Parameter], roles: Roles, given: Defaults) -> list[Relation]:
    """Let loadings of a factor average 1, and intercepts 0 (Little, Slegers & Card 2006)."""
    relations = []
    for group in range(1, max(len(given.groups), 1) + 1):
        own = {row.key: row for row in table if row.group == group}
        for factor, names in roles.loads_on.items():
            for kind, total in (("loadings", len(set(names))), ("intercepts", 0)):
                keys = [(factor, "=~", n) if kind == "loadings" else (n, "~1", "") for n in names]
                rows = [own[key] for key in dict.fromkeys(keys) if key in own]
                if kind in given.effect_coding and rows:
                    terms = " + ".join(f'"{row.label or row.plain_label}"' for row in rows)
                    relations.append(Relation(terms, "==", str(total)))
    return relations


def _number(
    table: Sequence[Parameter], relations: Sequence[Relation]
) -> tuple[list[Parameter], list[Relation]]:
    """Give free parameters their numbers; equal ones share one, or the value of a fixed one.

    Returns the table, and the relations that numbers cannot express.
    """
    alias, fixed, kept = _resolve(table, relations)
    keys = [alias.get(row.label, row.label) or row.plain_label for row in table]
    for key, row in zip(keys, table, strict=True):
        if not row.free and row.value is not None:
            fixed.setdefault(key, row.value)
    numbers: dict[str, int] = {}
    numbered = []
    for key, row in zip(keys, table, strict=True):
        if row.free and key in fixed:
            row = row.change(free=0, value=fixed[key], lower=None, upper=None)
        if row.free:
            row = row.change(free=numbers.setdefault(key, len(numbers) + 1))
        numbered.append(row)
    return numbered, kept


def _resolve(
    table: Sequence[Parameter], relations: Sequence[Relation]
) -> tuple[dict[str, str], dict[str, float], list[Relation]]:
    """Read relations: which labels mean the same, which have a value, and all others."""
    labels = {row.label for row in table if row.label}
    plain = {row.plain_label for row in table if not row.label}
    for label in sorted(labels - plain):
        if "~" in label:
            raise InputError(
                f"`model` sets a parameter equal to '{label}', which it does not have, or which "
                "has a label of its own. Give both parameters the same label.",
                "model",
            )
    alias = {label: label for label in labels}
    known: dict[str, object] = dict.fromkeys((*labels, *plain))
    joined, kept = [], []
    constants: list[tuple[str, float, Relation | None]] = [
        (row.label, row.value, None)
        for row in table
        if row.label and not row.free and row.value is not None
    ]
    for relation in relations:
        left, right = _sides(relation, known)
        if relation.op == ":=":
            known[relation.left] = None
        if relation.op != "==" or left.kind != "label" or left.label not in labels:
            kept.append(relation)
        elif right.kind == "label" and right.label in labels:
            old, new = alias[right.label], alias[left.label]
            alias = {label: new if root == old else root for label, root in alias.items()}
            joined.append(relation)
        elif not right.labels():
            constants.append((left.label, _constant(right, relation), relation))
        else:
            kept.append(relation)
    return alias, _agreed_values(constants, alias, joined), kept


def _agreed_values(
    constants: Sequence[tuple[str, float, Relation | None]],
    alias: dict[str, str],
    joined: Sequence[Relation],
) -> dict[str, float]:
    """Values of labels; two that differ contradict each other if constraints brought them up."""
    values: dict[str, float] = {}
    for label, value, relation in constants:
        root = alias[label]
        before = values.setdefault(root, value)
        culprit = relation or (joined[-1] if joined else None)
        if before != value and culprit is not None:
            raise ModelSyntaxError(
                f"'{culprit.text}' contradicts what is written elsewhere: '{label}' would be "
                f"{before:g} and {value:g}. Leave out one of the two.",
                *culprit.left_at,
            )
    return values


def _constant(expression: Expression, relation: Relation) -> float:
    try:
        return expression.evaluate({}, 0).value
    except (ArithmeticError, ValueError) as error:
        raise ModelSyntaxError(
            f"'{relation.right}' is not defined ({error}).", *relation.right_at
        ) from None


def _sides(relation: Relation, known: dict[str, object]) -> tuple[Expression, Expression]:
    """Parse both sides of a relation and check their labels."""
    right = parse_expression(relation.right, relation.right_at)
    check_labels(right, known)
    if relation.op != ":=":
        left = parse_expression(relation.left, relation.left_at)
        check_labels(left, known)
        return left, right
    if relation.left in known:
        raise ModelSyntaxError(
            f"'{relation.left}' already is a label. Give the new parameter another name.",
            *relation.left_at,
        )
    return Expression("label", label=relation.left, at=relation.left_at), right


def _places(table: Sequence[Parameter], roles: Roles) -> tuple[tuple[str, ...], tuple[Place, ...]]:
    """Choose η, then find the matrix entry of every parameter."""
    inner = set(roles.latent) | roles.outcomes | roles.predictors
    inner |= {n for n in roles.observed if n not in roles.indicators}
    pairs = [{row.lhs, row.rhs} for row in table if row.op == "~~"]
    while halves := [pair for pair in pairs if pair & inner and pair - inner]:
        inner |= set().union(*halves)  # a covariance with an η makes its other end one too
    eta = (*roles.latent, *(name for name in roles.observed if name in inner))
    return eta, tuple(place_of(row, eta, roles.observed) for row in table)


def check_model(model: Model, source: Source, means: bool = False) -> None:
    """Refuse models that cannot be fitted to a matrix of covariances or correlations.

    Correlations have lost the scales of the items, so that only models hold for them whose fit is
    the same on every scale (Cudeck 1989): no parameters of items that are equal or fixed, except
    zeros and one marker per factor.

    References
    ----------
    Cudeck, R. (1989). Analysis of correlation matrices using covariance structure models.
    Psychological Bulletin 105, 317-327.
    """
    if model.mean_structure and not means:
        raise InputError(
            "`model` has intercepts, and a matrix says nothing of means. Give them as `means`, or "
            "leave the intercepts out.",
            "model",
        )
    tied = next((r.text for r in model.relations if r.op != ":="), None)
    if tied is not None and source == "correlations":
        raise InputError(
            f"`model` has the constraint '{tied}', which may depend on the scales of the items, "
            "and correlations have none. Give the data, or the covariance matrix with `n_obs`.",
            "model",
        )
    bound = _scale_bound(model) if source == "correlations" else None
    if bound is not None:
        raise InputError(
            f"`model` holds '{bound.name}' at a value or equal to another parameter, which depends "
            "on the scales of the items, and correlations have none. Give the data, or the "
            "covariance matrix with `n_obs`.",
            "model",
        )


def _scale_bound(model: Model) -> Parameter | None:
    """Return a parameter that would change if items were measured in other units."""

    def fixed(row: Parameter) -> bool:
        return not row.free and not row.exogenous and bool(row.value)

    variances = [row for row in model.parameters if row.is_variance and row.lhs in model.latent]
    standard = {row.lhs for row in variances if fixed(row)}
    numbers = [row.free for row in model.parameters if row.free]
    anchored: set[str] = set()
    for row in model.parameters:
        own = {row.lhs, row.rhs} <= standard  # between factors of variance 1: a correlation
        equal = row.free > 0 and numbers.count(row.free) > 1
        if (equal or fixed(row)) and not own:
            marks = row.op == "=~" and not equal and row.lhs not in standard | anchored
            if not marks:
                return row
            anchored.add(row.lhs)  # one value gives the factor its unit
    return None
