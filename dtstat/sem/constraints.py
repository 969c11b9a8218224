"""Parameters that must satisfy equations and inequalities, and parameters defined by others.

Linear equalities A θ = b are solved: θ = θ₀ + K φ, and the search runs in φ. What is left, c(θ) = 0
and h(θ) ≥ 0 (bounds among them), is met by an augmented Lagrangian (Nocedal & Wright 2006, ch. 17):
the objective plus

    Σ λ c + ρ c²/2 + Σ [max(0, μ − ρ h)² − μ²] / (2ρ)

is minimized over φ, then λ ← λ + ρ c, μ ← max(0, μ − ρ h), until the conditions hold.

Estimates move only in the directions that all equalities and the active inequalities leave, the
columns of H (their tangent space). With information I the covariance of the estimates is
H (Hᵀ I H)⁻¹ Hᵀ / n, which is a block of the inverse of the information bordered by the derivatives
of the constraints (Silvey 1959).

References
----------
Nocedal, J. & Wright, S. J. (2006). Numerical optimization. Springer.
Silvey, S. D. (1959). The Lagrangian multiplier test. Annals of Mathematical Statistics 30, 389-407.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.errors import EstimationError
from dtstat.sem.expressions import Dual, Expression, check_labels, parse_expression
from dtstat.sem.optimize import Information, Minimum, Objective, minimize
from dtstat.sem.parameters import Model
from dtstat.structure.syntax import At, ModelSyntaxError, Relation, parse

_PENALTY = 100.0  # ρ, for constraints scaled to vary by 1 where one row's estimates do
_MET = 1e-9  # largest miss of a scaled constraint
_ACTIVE = 1e-6  # distance from its bound at which an inequality is active
_ROUNDS = 60
_SAME = 1e-9  # relative size of what is left of a row of A that others determine


class Undefined(ArithmeticError):
    """An expression has no value at these parameters, as the logarithm of a negative number."""


@dataclass(frozen=True)
class Condition:
    """One constraint: a function of the parameters that must be 0, or at least 0.

    ``at`` is where it was written, ``degree`` 1 if it is linear.
    """

    text: str
    at: At
    function: Callable[[FloatArray], Dual]
    degree: float


class Constraints:
    """What the free parameters of a model must satisfy.

    Attributes
    ----------
    origin, basis
        θ₀ (q,) and K (q, r): the solutions of the linear equalities, some parameters that are
        ``zeros`` (counted from 0) among them.
    equalities, inequalities
        Conditions c(θ) = 0 that are not linear, and h(θ) ≥ 0.
    """

    def __init__(self, model: Model, zeros: Sequence[int] = ()) -> None:
        self.q = model.n_free
        self._labels = _Labels(model)
        self.equalities: list[Condition] = []
        self.inequalities: list[Condition] = []
        linear = [_zero(k, self.q) for k in zeros]
        for relation in model.relations:
            if relation.op == ":=":
                continue
            condition = self._labels.condition(relation)
            if relation.op != "==":
                self.inequalities.append(condition)
            elif condition.degree <= 1:
                linear.append(condition)
            else:
                self.equalities.append(condition)
        self.inequalities += _bounds(model)
        self.origin, self.basis = _solve(linear, self.q)
        _check_feasible(self.origin, self.basis, self.inequalities)

    @property
    def rank(self) -> int:
        """Number of independent equalities, which parameters lose to them."""
        return int(self.q - self.basis.shape[1]) + len(self.equalities)

    @property
    def none(self) -> bool:
        """Whether there are no constraints at all."""
        return not (self.equalities or self.inequalities or self.basis.shape[1] < self.q)

    def space(self, theta: FloatArray) -> FloatArray:
        """(q, r) H: directions that equalities and active inequalities leave open at ``theta``."""
        rows = [one.function(theta).gradient for one in self.equalities]
        for one in self.inequalities:
            value = one.function(theta)
            if value.value <= _ACTIVE * max(1.0, float(np.abs(value.gradient).max(initial=0.0))):
                rows.append(value.gradient)
        if not rows:
            return self.basis
        return np.asarray(self.basis @ _null_space(np.array(rows) @ self.basis), dtype=np.float64)

    def defined(self, theta: FloatArray) -> list[Dual]:
        """Values and gradients of the defined parameters; NaN where one is not defined."""
        return self._labels.defined(theta)


def minimize_within(
    objective: Objective,
    information: Information,
    starts: Sequence[FloatArray],
    constraints: Constraints,
) -> Minimum:
    """Minimize an objective of the free parameters under constraints.

    Raises
    ------
    EstimationError
        If a constraint cannot be met.
    """
    if constraints.none:
        return minimize(objective, information, list(starts))
    K, origin = constraints.basis, constraints.origin
    inner = [K.T @ (start - origin) for start in starts]

    def reduced(phi: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = objective(origin + K @ phi)
        return value, K.T @ gradient

    def reduced_information(phi: FloatArray) -> FloatArray:
        return np.asarray(K.T @ information(origin + K @ phi) @ K)

    if not (constraints.equalities or constraints.inequalities):
        found = minimize(reduced, reduced_information, inner)
        return replace(found, theta=origin + K @ found.theta)
    lagrangian = _Lagrangian(constraints, reduced, reduced_information, inner[0])
    return lagrangian.minimize(inner)


class _Lagrangian:
    """The augmented Lagrangian, over φ, with its multipliers."""

    def __init__(
        self,
        constraints: Constraints,
        objective: Objective,
        information: Information,
        start: FloatArray,
    ) -> None:
        self.constraints, self.objective, self.information = constraints, objective, information
        self.conditions = [*constraints.equalities, *constraints.inequalities]
        self.n_equal = len(constraints.equalities)
        self.multipliers = np.zeros(len(self.conditions))
        self.scale = np.ones(len(self.conditions))
        try:
            _, J = self.evaluate(start)
            known = np.linalg.pinv(information(start), hermitian=True)
            size = np.sqrt(np.einsum("ca,ab,cb->c", J, known, J))
            self.scale = np.where(size > 0, size, 1.0)
        except (ArithmeticError, np.linalg.LinAlgError):
            pass  # the first start is impossible; another may do

    def evaluate(self, phi: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(c,) scaled values of the conditions and their (c, r) derivatives."""
        constraints = self.constraints
        theta = constraints.origin + constraints.basis @ phi
        values = [one.function(theta) for one in self.conditions]
        J = np.array([value.gradient for value in values]) @ constraints.basis
        return np.array([v.value for v in values]) / self.scale, J / self.scale[:, None]

    def _force(self, c: FloatArray) -> FloatArray:
        """Return the next multipliers: of equalities λ + ρ c, of inequalities −max(0, μ − ρ h)."""
        force = self.multipliers + _PENALTY * c
        force[self.n_equal :] = np.minimum(force[self.n_equal :], 0.0)
        return force

    def value(self, phi: FloatArray) -> tuple[float, FloatArray]:
        f, g = self.objective(phi)
        c, J = self.evaluate(phi)
        force = self._force(c)
        f += float(np.sum(force**2 - self.multipliers**2)) / (2 * _PENALTY)
        return f, g + J.T @ force

    def curvature(self, phi: FloatArray) -> FloatArray:
        c, J = self.evaluate(phi)
        pushing = self._force(c) != 0
        pushing[: self.n_equal] = True
        return np.asarray(self.information(phi) + _PENALTY * J[pushing].T @ J[pushing])

    def minimize(self, starts: list[FloatArray]) -> Minimum:
        iterations, miss = 0, np.full(len(self.conditions), np.inf)
        found = None
        for _ in range(_ROUNDS):
            found = minimize(self.value, self.curvature, starts)
            iterations += found.iterations
            if not np.isfinite(found.value):
                break
            c, _ = self.evaluate(found.theta)
            force = self._force(c)
            miss = np.abs(force - self.multipliers) / _PENALTY
            self.multipliers = force
            starts = [found.theta]
            if miss.max() < _MET:
                break
        assert found is not None
        if miss.max() > 1e-5:
            worst = self.conditions[int(np.argmax(miss))]
            raise EstimationError(
                f"No parameters were found that satisfy the constraint '{worst.text}' (line "
                f"{worst.at[0]}, column {worst.at[1]} of the model). It may contradict other "
                "constraints, or need starting values, with start(), that satisfy it."
            )
        theta = self.constraints.origin + self.constraints.basis @ found.theta
        value = self.objective(found.theta)[0]
        tried = tuple(f"{way}, augmented Lagrangian" for way in found.tried)
        return replace(found, theta=theta, value=value, iterations=iterations, tried=tried)


class _Labels:
    """Values of labels, and of what is defined by them, as functions of the parameters."""

    def __init__(self, model: Model) -> None:
        self.q = model.n_free
        self._free: dict[str, int] = {}
        self._fixed: dict[str, float] = {}
        for row in model.parameters:
            for label in (row.label, row.plain_label):
                if row.free:
                    self._free.setdefault(label, row.free - 1)
                elif row.value is not None:
                    self._fixed.setdefault(label, row.value)
        self._definitions = [
            (relation.left, parse_expression(relation.right, relation.right_at))
            for relation in model.definitions
        ]

    @cached_property
    def _degrees(self) -> dict[str, float]:
        degrees = dict.fromkeys(self._fixed, 0.0) | dict.fromkeys(self._free, 1.0)
        for name, expression in self._definitions:
            degrees[name] = expression.degree(degrees)
        return degrees

    def condition(self, relation: Relation) -> Condition:
        """Make left − right of a relation a condition; the sign is such that it is ≥ 0."""
        sides = (
            parse_expression(relation.left, relation.left_at),
            parse_expression(relation.right, relation.right_at),
        )
        first, second = sides[::-1] if relation.op == "<" else sides
        difference = Expression("-", (first, second), at=relation.left_at)
        used = difference.labels()
        degree = difference.degree(self._degrees)
        if not degree:
            self._check_constant(difference, relation)

        def function(theta: FloatArray) -> Dual:
            values = self._values(theta, [node.label for node in used])
            return _evaluated(difference, values, self.q)

        return Condition(relation.text, relation.left_at, function, degree)

    def _check_constant(self, difference: Expression, relation: Relation) -> None:
        """Refuse a relation between fixed values that does not hold."""
        none = np.zeros(self.q)
        values = self._values(none, [node.label for node in difference.labels()])
        value = _evaluated(difference, values, self.q).value
        if abs(value) > 1e-12 if relation.op == "==" else value < 0:
            raise ModelSyntaxError(
                f"'{relation.text}' does not hold: all its labels are fixed. Free one of them, or "
                "leave out the constraint.",
                *relation.left_at,
            )

    def _values(self, theta: FloatArray, wanted: Sequence[str]) -> dict[str, Dual]:
        values: dict[str, Dual] = {}
        waiting = list(wanted)
        names = dict(self._definitions)
        needed = set()
        while waiting:
            label = waiting.pop()
            if label not in needed:
                needed.add(label)
                waiting += [node.label for node in names[label].labels()] if label in names else []
        for label in needed - set(names):
            if label in self._free:
                k = self._free[label]
                values[label] = Dual(float(theta[k]), np.eye(1, self.q, k)[0])
            else:
                values[label] = Dual(self._fixed.get(label, np.nan), np.zeros(self.q))
        for name, expression in self._definitions:
            if name in needed:
                values[name] = _evaluated(expression, values, self.q)
        return values

    def defined(self, theta: FloatArray) -> list[Dual]:
        """Evaluate all definitions."""
        found = []
        for name, _ in self._definitions:
            try:
                found.append(self._values(theta, [name])[name])
            except Undefined:
                found.append(Dual(np.nan, np.full(self.q, np.nan)))
        return found


def read_equalities(model: Model, text: str) -> list[Condition]:
    """Read equations of labels, as in "a == b; c == 0", as conditions on the free parameters."""
    known: dict[str, object] = dict.fromkeys(relation.left for relation in model.definitions)
    for row in model.parameters:
        known |= dict.fromkeys(label for label in (row.label, row.plain_label) if label)
    found = []
    for one in parse(text):
        if not isinstance(one, Relation) or one.op != "==":
            at = one.left_at if isinstance(one, Relation) else one.at
            raise ModelSyntaxError("expected an equation of labels, as in 'a == b'.", *at)
        for side, where in ((one.left, one.left_at), (one.right, one.right_at)):
            check_labels(parse_expression(side, where), known)
        found.append(_Labels(model).condition(one))
    return found


def evaluate_definitions(model: Model, values: Sequence[FloatArray] | FloatArray) -> FloatArray:
    """Compute defined parameters from all rows of the parameter table, as if none were tied.

    ``values`` has a number for each row, or (draws,) numbers; the result has one more axis.
    """
    labels: dict[str, FloatArray] = {}
    for row, value in zip(model.parameters, values, strict=True):
        for label in (row.label, row.plain_label):
            labels.setdefault(label, value)
    for relation in model.definitions:
        expression = parse_expression(relation.right, relation.right_at)
        labels[relation.left] = expression.values(labels)
    found = [labels[relation.left] for relation in model.definitions]
    return np.array(np.broadcast_arrays(*found), dtype=float)


def _evaluated(expression: Expression, values: Mapping[str, Dual], size: int) -> Dual:
    try:
        return expression.evaluate(values, size)
    except (ArithmeticError, ValueError):
        raise Undefined from None


def _zero(k: int, q: int) -> Condition:
    unit = np.eye(1, q, k)[0]
    return Condition(f"parameter {k + 1}", (1, 1), lambda theta: Dual(float(theta[k]), unit), 1.0)


def _bounds(model: Model) -> list[Condition]:
    """Bounds of parameters, as inequalities."""
    found: dict[tuple[int, float, float], Condition] = {}
    for row in model.parameters:
        for sign, bound, word in ((1.0, row.lower, "lower"), (-1.0, row.upper, "upper")):
            if not row.free or bound is None:
                continue
            k, direction = row.free - 1, sign * np.eye(1, model.n_free, row.free - 1)[0]

            def function(
                theta: FloatArray,
                k: int = k,
                s: float = sign,
                b: float = bound,
                d: FloatArray = direction,
            ) -> Dual:
                return Dual(s * (float(theta[k]) - b), d)

            text = f"{word}({bound:g}) of {model.describe(row)}"
            found[k, sign, bound] = Condition(text, (1, 1), function, 1.0)
    return list(found.values())


def _solve(conditions: Sequence[Condition], q: int) -> tuple[FloatArray, FloatArray]:
    """Solve linear equalities one after the other; a contradiction is found where it is written."""
    A, b = np.zeros((0, q)), np.zeros(0)
    for one in conditions:
        at_zero = one.function(np.zeros(q))
        row, constant = at_zero.gradient, -at_zero.value
        size = float(np.abs(row).max(initial=0.0)) or 1.0
        solved = np.linalg.lstsq(A.T, row, rcond=None)[0] if len(A) else np.zeros(0)
        if np.abs(row - A.T @ solved).max(initial=0.0) > _SAME * size:
            A, b = np.vstack([A, row / size]), np.append(b, constant / size)
        elif abs(constant - b @ solved) > _SAME * max(1.0, abs(constant)):
            raise ModelSyntaxError(
                f"'{one.text}' contradicts the constraints before it. Leave out one of them.",
                *one.at,
            )
    if not len(A):
        return np.zeros(q), np.eye(q)
    return np.asarray(np.linalg.lstsq(A, b, rcond=None)[0]), _null_space(A)


def _null_space(A: FloatArray) -> FloatArray:
    """(columns, r) orthonormal basis of the x with A x = 0."""
    _, values, rows = np.linalg.svd(A)
    rank = int((values > 1e-10 * values.max(initial=1.0)).sum())
    basis: FloatArray = rows[rank:].T
    return basis


def _check_feasible(
    origin: FloatArray, basis: FloatArray, inequalities: Sequence[Condition]
) -> None:
    """Refuse linear inequalities that nothing satisfies, naming the one that is too much."""
    rows = []
    for one in inequalities:
        if one.degree > 1:
            continue
        at = one.function(origin)
        rows.append((-(at.gradient @ basis), at.value))
        if len(rows) > 1 or not np.any(rows[0][0]):
            _check_rows(rows, one)


def _check_rows(rows: Sequence[tuple[FloatArray, float]], last: Condition) -> None:
    from scipy.optimize import linprog

    A, b = np.array([row for row, _ in rows]), np.array([limit for _, limit in rows])
    if linprog(np.zeros(A.shape[1]), A, b, bounds=(None, None)).status == 2:
        raise ModelSyntaxError(
            f"'{last.text}' contradicts the constraints before it: no values satisfy all of them. "
            "Leave out one of them.",
            *last.at,
        )
