"""The parameter table of a model, and where its entries sit in the matrices.

All models are brought into one form (LISREL with all variables on the y side), in every group:

    Σ = Λ (I − B)⁻¹ Ψ (I − B)⁻ᵀ Λᵀ + Θ,    μ = ν + Λ (I − B)⁻¹ α.

These are the moments of the variables behind the items, which an ordered item cuts at thresholds τ
after it was scaled by δ (:mod:`dtstat.sem.matrices`).

η holds the latent variables and those observed ones that regress, are regressed on, or stand
outside the measurement model; such an observed variable is its own η with loading 1. The groups
have the same variables and the same η; their parameters are numbered together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from dtstat.core.saved import register
from dtstat.structure.syntax import Relation

# matrix (lambda, theta, psi, beta, nu, alpha, tau, delta), row, column
Place = tuple[str, int, int]
Parameterization = Literal["delta", "theta"]
Bounds = Literal["none", "pos.var", "pos.ov.var", "pos.lv.var"]


@register()
@dataclass(frozen=True)
class Parameter:
    """One row of the parameter table.

    Attributes
    ----------
    lhs, op, rhs
        As in the model text; intercepts have op "~1", thresholds "|", scales "~*~".
    free
        0 if fixed, else the number (from 1) of the free parameter; equal ones share it.
    value
        Value if fixed, None if it follows from other parameters; of a free one the starting value
        that was written, if any.
    label
        Label, "" for none.
    user
        Whether the user wrote it; the others were added.
    exogenous
        Whether it is a moment of observed predictors, fixed at its sample value.
    group
        Number of its group, from 1.
    lower, upper
        Bounds, or None.
    """

    lhs: str
    op: str
    rhs: str
    free: int
    value: float | None = None
    label: str = ""
    user: bool = True
    exogenous: bool = False
    group: int = 1
    lower: float | None = None
    upper: float | None = None

    def change(self, **values: Any) -> Parameter:
        """Return the row with other values.

        ``dataclasses.replace`` would do, but sets each field by itself: half of the time that it
        takes to build a model.
        """
        row = object.__new__(Parameter)
        row.__dict__.update(self.__dict__, **values)
        return row

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is, in any group."""
        return self.lhs, self.op, self.rhs

    @property
    def plain_label(self) -> str:
        """Label of a parameter without one: as written without blanks, and the group from 2."""
        return self.lhs + self.op + self.rhs + (f".g{self.group}" if self.group > 1 else "")

    @property
    def name(self) -> str:
        """How people write it."""
        return f"{self.lhs} ~ 1" if self.op == "~1" else f"{self.lhs} {self.op} {self.rhs}"

    @property
    def is_variance(self) -> bool:
        """Whether it is the (residual) variance of a variable."""
        return self.op == "~~" and self.lhs == self.rhs


_MOST_ANSWERS = 1_000  # of a rating, and columns of any matrix, in a saved file
_OPERATORS = ("=~", "~", "~~", "~1", "|", "~*~")


def _places_exist(model: Model) -> bool:
    """Whether every parameter is of the variables, and free ones are numbered from 1."""
    rows = model.parameters
    known = all(row.op in _OPERATORS and 1 <= row.group <= model.n_groups for row in rows)
    free = {row.free for row in rows} - {0}
    return (
        known
        and model.places == tuple(place_of(row, model.eta, model.observed) for row in rows)
        and free == set(range(1, len(free) + 1))
        and all(
            len(set(names)) == len(names) for names in (model.observed, model.eta, model.groups)
        )
        and all(column < _MOST_ANSWERS for *_, column in model.places)
        and all(row >= 0 and column >= 0 for _, row, column in model.places)
        and model.eta[: len(model.latent)] == model.latent
    )


@register(
    shapes={"parameters": "r", "places": "r"}, rules={"parameters have places": _places_exist}
)
@dataclass(frozen=True)
class Model:
    """A model ready to be fitted: its parameter table, and names of its variables.

    ``eta`` names the variables η, ``mean_structure`` says whether means are modeled, and
    ``places`` where each parameter sits in the matrices of its group. ``groups`` names the groups
    if there are several; ``relations`` are constraints and definitions of parameters.
    ``exploratory`` names the factors of each exploratory block, which ``rotation`` tells apart.
    ``parameterization`` says what gives the variables behind ordered items their scale.
    """

    parameters: tuple[Parameter, ...]
    observed: tuple[str, ...]
    latent: tuple[str, ...]
    eta: tuple[str, ...]
    mean_structure: bool
    places: tuple[Place, ...] = field(repr=False)
    groups: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()
    exploratory: tuple[tuple[str, ...], ...] = ()
    rotation: str = "geomin"
    parameterization: Parameterization = "delta"

    @cached_property
    def ordered(self) -> frozenset[str]:
        """Names of the items that have thresholds."""
        return frozenset(row.lhs for row in self.parameters if row.op == "|")

    def follows(self, row: Parameter) -> bool:
        """Whether a parameter of an ordered item follows from others: its scale or residual."""
        scale = row.is_variance if self.parameterization == "delta" else row.op == "~*~"
        return scale and row.lhs in self.ordered

    @property
    def covariates(self) -> tuple[str, ...]:
        """Observed predictors whose moments are given, in the order of the observed variables."""
        given = {row.lhs for row in self.parameters if row.exogenous}
        return tuple(name for name in self.observed if name in given)

    @property
    def n_groups(self) -> int:
        """Number of groups; 1 if there are none."""
        return max(len(self.groups), 1)

    @property
    def n_free(self) -> int:
        """Number of free parameters."""
        return max((parameter.free for parameter in self.parameters), default=0)

    @cached_property
    def blocks(self) -> tuple[Model, ...]:
        """One model for each group; its free parameters keep their numbers."""
        if self.n_groups == 1:
            return (self,)
        rows = list(zip(self.parameters, self.places, strict=True))
        return tuple(
            replace(
                self,
                parameters=tuple(row for row, _ in rows if row.group == g),
                places=tuple(place for row, place in rows if row.group == g),
                groups=(),
                relations=(),
            )
            for g in range(1, self.n_groups + 1)
        )

    @property
    def definitions(self) -> tuple[Relation, ...]:
        """Parameters that are defined by others (:=)."""
        return tuple(relation for relation in self.relations if relation.op == ":=")

    def describe(self, row: Parameter) -> str:
        """Name a parameter, and its group if there are several."""
        return f"{row.name} in {self.groups[row.group - 1]}" if self.groups else row.name


def place_of(row: Parameter, eta: Sequence[str], observed: Sequence[str]) -> Place:
    """Find the matrix entry of a parameter; both ends of a covariance must be η, or neither."""
    if row.op == "|":
        return "tau", observed.index(row.lhs), int(row.rhs[1:]) - 1
    if row.op == "~*~":
        return "delta", observed.index(row.lhs), 0
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


def bound_variances(
    rows: list[Parameter], latent: Sequence[str], bounds: Bounds
) -> list[Parameter]:
    """Keep free variances at 0 or above: all, or those of observed or of latent variables."""
    if bounds == "none":
        return rows
    kept = {"pos.var": (True, False), "pos.lv.var": (True,), "pos.ov.var": (False,)}[bounds]
    return [
        row.change(lower=0.0)
        if row.is_variance and row.lower is None and (row.lhs in latent) in kept
        else row
        for row in rows
    ]
