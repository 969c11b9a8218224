"""From a model text or a structure to a model: every parameter, and its place in the matrices.

The terms of the text are completed as lavaan does. All models are brought into one form (LISREL
with all variables on the y side):

    Σ = Λ (I − B)⁻¹ Ψ (I − B)⁻ᵀ Λᵀ + Θ,    μ = ν + Λ (I − B)⁻¹ α.

η holds the latent variables and those observed ones that regress, are regressed on, or stand
outside the measurement model; such an observed variable is its own η with loading 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from dtstat.core.errors import InputError, nearest
from dtstat.core.saved import register
from dtstat.dependence.moments import Source
from dtstat.structure.structure import Structure, distinct_names, r_name
from dtstat.structure.syntax import Term, parse

Place = tuple[str, int, int]  # matrix (lambda, theta, psi, beta, nu, alpha), row, column


@register()
@dataclass(frozen=True)
class Parameter:
    """One row of the parameter table.

    Attributes
    ----------
    lhs, op, rhs
        As in the model text; intercepts have op "~1".
    free
        0 if fixed, else the number (from 1) of the free parameter; equal ones share it.
    value
        Value if fixed; starting value if the user gave one, else None.
    label
        Label, "" for none.
    user
        Whether the user wrote it; the others were added.
    exogenous
        Whether it is a moment of observed predictors, fixed at its sample value.
    """

    lhs: str
    op: str
    rhs: str
    free: int
    value: float | None = None
    label: str = ""
    user: bool = True
    exogenous: bool = False

    @property
    def name(self) -> str:
        """How people write it."""
        return f"{self.lhs} ~ 1" if self.op == "~1" else f"{self.lhs} {self.op} {self.rhs}"

    @property
    def is_variance(self) -> bool:
        """Whether it is the (residual) variance of a variable."""
        return self.op == "~~" and self.lhs == self.rhs


_MOST_ANSWERS = 1_000  # of a rating, in a saved file


def _places_exist(model: Model) -> bool:
    """Whether every parameter sits inside its matrix, and free ones are numbered from 1."""
    p, e = len(model.observed), len(model.eta)
    sizes = {"lambda": (p, e), "theta": (p, p), "psi": (e, e), "beta": (e, e)}
    sizes |= {"nu": (p, 1), "alpha": (e, 1), "tau": (p, _MOST_ANSWERS)}
    inside = all(
        matrix in sizes and 0 <= row < sizes[matrix][0] and 0 <= column < sizes[matrix][1]
        for matrix, row, column in model.places
    )
    free = {parameter.free for parameter in model.parameters} - {0}
    return inside and free == set(range(1, len(free) + 1))


@register(
    shapes={"parameters": "r", "places": "r"}, rules={"parameters have places": _places_exist}
)
@dataclass(frozen=True)
class Model:
    """A model ready to be fitted: its parameter table, and names of its variables.

    ``eta`` names the variables η, ``mean_structure`` says whether means are modeled, and
    ``places`` where each parameter sits in the matrices.
    """

    parameters: tuple[Parameter, ...]
    observed: tuple[str, ...]
    latent: tuple[str, ...]
    eta: tuple[str, ...]
    mean_structure: bool
    places: tuple[Place, ...] = field(repr=False)

    @property
    def n_free(self) -> int:
        """Number of free parameters."""
        return max((parameter.free for parameter in self.parameters), default=0)


def build_model(
    model: str | Structure,
    items: Sequence[str],
    mean_structure: bool = False,
    std_lv: bool = False,
    orthogonal: bool = False,
) -> Model:
    """Complete a model the way ``cfa`` and ``sem`` of lavaan do.

    Added are: residual variances of all observed and latent variables, covariances of exogenous
    factors and of outcomes that predict nothing (``orthogonal`` fixes those of two factors at 0),
    moments of observed predictors (fixed), intercepts if ``mean_structure``; the first loading of
    each factor is fixed at 1, or with ``std_lv`` its variance.

    Parameters
    ----------
    model
        Model text, or a structure (every factor measured by its children).
    items
        Names of the variables in the data.
    """
    written = _structure_terms(model) if isinstance(model, Structure) else _text_terms(model, items)
    terms = [term for term in written if term.op != "=="]
    equalities = [term for term in written if term.op == "=="]
    roles = _Roles(terms)
    roles.check(items)
    means = mean_structure or any(term.op == "~1" for term in terms)
    table = _user_rows(terms, roles, std_lv)
    table += _added_rows(table, roles, means, std_lv, orthogonal)
    numbered = _number(table, equalities)
    eta, places = _places(numbered, roles)
    return Model(tuple(numbered), roles.observed, roles.latent, eta, means, places)


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


def _text_terms(model: str, items: Sequence[str]) -> tuple[Term, ...]:
    """Terms of a model text, in which columns may have the names that R gives them."""
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


class _Roles:
    """What each variable does in the model."""

    def __init__(self, terms: Sequence[Term]) -> None:
        measured = [t for t in terms if t.op == "=~"]
        regressed = [t for t in terms if t.op == "~"]
        self.latent = _unique(t.lhs for t in measured)
        indicators = _unique(t.rhs for t in measured if t.rhs not in self.latent)
        others = _unique(name for t in terms if t.op != "=~" for name in (t.lhs, t.rhs) if name)
        self.observed = _unique([*indicators, *(n for n in others if n not in self.latent)])
        self.outcomes = frozenset(t.lhs for t in regressed)
        self.predictors = frozenset(t.rhs for t in regressed)
        self.measured_latent = frozenset(t.rhs for t in measured if t.rhs in self.latent)
        self.indicators = frozenset(indicators)
        self.own_cause = next((t.lhs for t in regressed if t.lhs == t.rhs), "")
        self.own_moments = frozenset(
            n for t in terms if t.op in ("~~", "~1") for n in (t.lhs, t.rhs)
        )
        self.loads_on = {f: [t.rhs for t in measured if t.lhs == f] for f in self.latent}

    def check(self, items: Sequence[str]) -> None:
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
        loaded = [name for names in self.loads_on.values() for name in _unique(names)]
        alone = {names[0] for names in self.loads_on.values() if len(set(names)) == 1}
        return frozenset(name for name in alone if loaded.count(name) == 1)

    @property
    def exogenous_latent(self) -> list[str]:
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


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _user_rows(terms: Sequence[Term], roles: _Roles, std_lv: bool) -> list[Parameter]:
    merged: dict[tuple[str, str, str], Term] = {}
    for term in terms:
        key: tuple[str, str, str] = (term.lhs, term.op, term.rhs)
        if term.op == "~~" and (term.rhs, "~~", term.lhs) in merged:
            key = (term.rhs, "~~", term.lhs)
        merged[key] = _merge(merged[key], term) if key in merged else term
    markers = set() if std_lv else {(f, "=~", names[0]) for f, names in roles.loads_on.items()}
    rows = []
    for key, term in merged.items():
        fixed = term.fixed
        if fixed is None and key in markers and not term.free:
            fixed = 1.0 if term.start is None else term.start  # as in lavaan
        value = fixed if fixed is not None else term.start
        rows.append(Parameter(*key, int(fixed is None), value, term.label))
    return rows


def _merge(first: Term, second: Term) -> Term:
    """One parameter written twice, as in ``f =~ a*x1 + start(.5)*x1``."""
    return replace(
        first,
        fixed=first.fixed if second.fixed is None else second.fixed,
        free=first.free or second.free,
        label=second.label or first.label,
        start=first.start if second.start is None else second.start,
    )


def _added_rows(
    table: Sequence[Parameter], roles: _Roles, mean_structure: bool, std_lv: bool, orthogonal: bool
) -> list[Parameter]:
    known = {(row.lhs, row.op, row.rhs) for row in table}
    known |= {(row.rhs, row.op, row.lhs) for row in table if row.op == "~~"}
    covariates = frozenset(roles.covariates)

    def row(lhs: str, op: str, rhs: str, fixed: float | None = None) -> Parameter:
        exogenous = lhs in covariates and (op == "~1" or rhs in covariates)
        free = int(fixed is None and not exogenous)
        return Parameter(lhs, op, rhs, free, fixed, user=False, exogenous=exogenous)

    added = [row(name, "~~", name) for name in roles.observed]
    for name in roles.latent:
        added.append(row(name, "~~", name, 1.0 if std_lv else None))
    single = roles.single
    added = [replace(r, free=0, value=0.0) if r.lhs in single else r for r in added]
    apart = frozenset(roles.latent) if orthogonal else frozenset()
    for a, b in (*combinations(roles.exogenous_latent, 2), *combinations(roles.pure_outcomes, 2)):
        added.append(row(a, "~~", b, 0.0 if {a, b} <= apart else None))
    added += [row(a, "~~", b) for a, b in combinations(roles.plain_predictors, 2)]
    if mean_structure:
        added += [row(name, "~1", "") for name in roles.observed]
        added += [row(name, "~1", "", 0.0) for name in roles.latent]
    return [r for r in added if (r.lhs, r.op, r.rhs) not in known]


def _number(table: Sequence[Parameter], equalities: Sequence[Term]) -> list[Parameter]:
    """Give free parameters their numbers; equal ones share one, or the value of a fixed one."""
    alias = _aliases(table, equalities)
    keys = [alias.get(row.label, row.label) or _plain_label(row) for row in table]
    fixed = {alias[term.lhs]: term.fixed for term in equalities if not term.rhs}
    for key, row in zip(keys, table, strict=True):
        if not row.free and row.value is not None:
            fixed.setdefault(key, row.value)
    numbers: dict[str, int] = {}
    numbered = []
    for key, row in zip(keys, table, strict=True):
        if row.free and key in fixed:
            row = replace(row, free=0, value=fixed[key])
        if row.free:
            row = replace(row, free=numbers.setdefault(key, len(numbers) + 1))
        numbered.append(row)
    return numbered


def _plain_label(row: Parameter) -> str:
    """Label of a parameter without one, by which equal() may call it."""
    return row.lhs + row.op + row.rhs


def _aliases(table: Sequence[Parameter], equalities: Sequence[Term]) -> dict[str, str]:
    labels = {row.label for row in table if row.label}
    unlabeled = {_plain_label(row) for row in table if not row.label}
    for label in sorted(labels - unlabeled):
        if "~" in label:
            raise InputError(
                f"`model` sets a parameter equal to '{label}', which it does not have, or which "
                "has a label of its own. Give both parameters the same label.",
                "model",
            )
    alias = {label: label for label in labels}
    for term in equalities:
        for name in (term.lhs, term.rhs):
            if name and name not in labels:
                raise InputError(
                    f"`model` constrains '{name}', which is the label of no parameter. "
                    + nearest(name, labels or {"(no labels)"}),
                    "model",
                )
        if term.rhs:
            old, new = alias[term.rhs], alias[term.lhs]
            alias = {label: new if root == old else root for label, root in alias.items()}
    return alias


def _places(table: Sequence[Parameter], roles: _Roles) -> tuple[tuple[str, ...], tuple[Place, ...]]:
    """Choose η, then find the matrix entry of every parameter."""
    inner = set(roles.latent) | roles.outcomes | roles.predictors
    inner |= {n for n in roles.observed if n not in roles.indicators}
    pairs = [{row.lhs, row.rhs} for row in table if row.op == "~~"]
    while halves := [pair for pair in pairs if pair & inner and pair - inner]:
        inner |= set().union(*halves)  # a covariance with an η makes its other end one too
    eta = (*roles.latent, *(name for name in roles.observed if name in inner))
    return eta, tuple(place_of(row, eta, roles.observed) for row in table)


def place_of(row: Parameter, eta: Sequence[str], observed: Sequence[str]) -> Place:
    """Find the matrix entry of a parameter; both ends of a covariance must be η, or neither."""
    inside = row.lhs in eta
    if row.op == "~1":
        return ("alpha", eta.index(row.lhs), 0) if inside else ("nu", observed.index(row.lhs), 0)
    if row.op == "~~":
        where = eta if inside else observed
        return ("psi" if inside else "theta"), where.index(row.lhs), where.index(row.rhs)
    cause, effect = (row.lhs, row.rhs) if row.op == "=~" else (row.rhs, row.lhs)
    if effect in eta:
        return "beta", eta.index(effect), eta.index(cause)
    return "lambda", observed.index(effect), eta.index(cause)


def check_model(model: Model, source: Source) -> None:
    """Refuse models that cannot be fitted to a matrix of covariances or correlations.

    Correlations have lost the scales of the items, so that only models hold for them whose fit is
    the same on every scale (Cudeck 1989): no parameters of items that are equal or fixed, except
    zeros and one marker per factor.

    References
    ----------
    Cudeck, R. (1989). Analysis of correlation matrices using covariance structure models.
    Psychological Bulletin 105, 317-327.
    """
    if model.mean_structure:
        raise InputError(
            "`model` has intercepts, and a matrix says nothing of means. Give the data, or leave "
            "them out.",
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
