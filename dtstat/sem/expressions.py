"""Expressions of labels, as in ``:=``, ``==``, ``<`` and ``>``: parsed, evaluated, differentiated.

    sum      product {(+ | −) product}
    product  factor {(* | /) factor}
    factor   − factor | + factor | atom [^ factor]
    atom     number | label | "label" | function ( sum ) | ( sum )

Precedence is that of R: −a^2 is −(a²), and a^b^c is a^(b^c). Derivatives are exact, by forward
mode: every value carries its gradient in the free parameters (:class:`Dual`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.errors import nearest
from dtstat.structure.syntax import At, ModelSyntaxError

_TOKEN = re.compile(
    r"(?P<blank>\s+|[#!][^\n]*)"
    r"|(?P<number>(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)"
    r"|(?P<name>[^\W\d][\w.]*|\.(?!\d)[\w.]*)"
    r'|(?P<string>"[^"\n]*")'
    r"|(?P<sign>[-+*/^()])"
)
_DEEPEST = 100  # brackets within brackets
_LONGEST = 800  # words of an expression


@dataclass(frozen=True)
class Dual:
    """A number and its gradient in the free parameters."""

    value: float
    gradient: FloatArray

    def __add__(self, other: Dual) -> Dual:
        return Dual(self.value + other.value, self.gradient + other.gradient)

    def __sub__(self, other: Dual) -> Dual:
        return Dual(self.value - other.value, self.gradient - other.gradient)

    def __mul__(self, other: Dual) -> Dual:
        slope = self.value * other.gradient + other.value * self.gradient
        return Dual(self.value * other.value, slope)

    def __truediv__(self, other: Dual) -> Dual:
        value = self.value / other.value
        return Dual(value, (self.gradient - value * other.gradient) / other.value)

    def __pow__(self, other: Dual) -> Dual:
        value = _real_power(self.value, other.value)
        slope = np.zeros_like(self.gradient)
        if self.gradient.any() and other.value:
            slope = other.value * _real_power(self.value, other.value - 1) * self.gradient
        if other.gradient.any():
            slope = slope + value * math.log(self.value) * other.gradient
        return Dual(value, slope)

    def through(self, value: float, slope: float) -> Dual:
        """Apply a function that has this value and slope here."""
        return Dual(value, slope * self.gradient)


def _real_power(base: float, exponent: float) -> float:
    value = base**exponent
    if isinstance(value, complex):
        raise ValueError("a root of a negative number")
    return float(value)


_FUNCTIONS: dict[str, Callable[[Dual], Dual]] = {
    "exp": lambda x: x.through(math.exp(x.value), math.exp(x.value)),
    "log": lambda x: x.through(math.log(x.value), 1 / x.value),
    "sqrt": lambda x: x.through(math.sqrt(x.value), 0.5 / math.sqrt(x.value)),
    "abs": lambda x: x.through(abs(x.value), math.copysign(1.0, x.value)),
    "sin": lambda x: x.through(math.sin(x.value), math.cos(x.value)),
    "cos": lambda x: x.through(math.cos(x.value), -math.sin(x.value)),
}
_ARRAY_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "^": np.power,
    **{name: getattr(np, name) for name in _FUNCTIONS},
}
_BINARY: dict[str, Callable[[Dual, Dual], Dual]] = {
    "+": Dual.__add__,
    "-": Dual.__sub__,
    "*": Dual.__mul__,
    "/": Dual.__truediv__,
    "^": Dual.__pow__,
}


@dataclass(frozen=True)
class Expression:
    """A node of a parsed expression: a number, a label, or an operation on other nodes.

    Attributes
    ----------
    kind
        "number", "label", one of + − * / ^, or the name of a function.
    parts
        What it operates on.
    number, label
        Its value if it is a number, its text if it is a label.
    at
        Line and column in the model text.
    """

    kind: str
    parts: tuple[Expression, ...] = ()
    number: float = 0.0
    label: str = ""
    at: At = (1, 1)

    def labels(self) -> list[Expression]:
        """Return the nodes that are labels."""
        if self.kind == "label":
            return [self]
        return [node for part in self.parts for node in part.labels()]

    def evaluate(self, labels: Mapping[str, Dual], size: int) -> Dual:
        """Value and gradient, given those of the labels; ``size`` is the length of a gradient.

        Raises ArithmeticError or ValueError where the expression is not defined.
        """
        if self.kind == "number":
            return Dual(self.number, np.zeros(size))
        if self.kind == "label":
            return labels[self.label]
        values = [part.evaluate(labels, size) for part in self.parts]
        return _BINARY[self.kind](*values) if len(values) == 2 else _FUNCTIONS[self.kind](*values)

    def values(self, labels: Mapping[str, FloatArray]) -> FloatArray:
        """Values for many values of the labels at once; NaN where the expression is not defined."""
        if self.kind == "number":
            return np.array(self.number)
        if self.kind == "label":
            return labels[self.label]
        parts = [part.values(labels) for part in self.parts]
        with np.errstate(all="ignore"):
            found = _ARRAY_FUNCTIONS[self.kind](*parts)
        return np.where(np.isfinite(found), found, np.nan)

    def degree(self, degrees: Mapping[str, float]) -> float:
        """Return 0 for constants, 1 for linear expressions, more (or infinity) for others."""
        if self.kind == "number":
            return 0.0
        if self.kind == "label":
            return degrees[self.label]
        own = [part.degree(degrees) for part in self.parts]
        if not any(own):
            return 0.0
        if self.kind in ("+", "-"):
            return max(own)
        if self.kind == "*":
            return sum(own)
        return own[0] if self.kind == "/" and not own[1] else math.inf


def parse_expression(text: str, at: At = (1, 1)) -> Expression:
    """Parse an expression that begins at a place of the model text.

    Raises
    ------
    ModelSyntaxError
        With the line and column where it stops making sense.

    Examples
    --------
    >>> a = Dual(2.0, np.array([1.0, 0.0]))
    >>> b = Dual(3.0, np.array([0.0, 1.0]))
    >>> parse_expression("a*b^2 - exp(0)").evaluate({"a": a, "b": b}, 2)
    Dual(value=17.0, gradient=array([ 9., 12.]))
    """
    return _Parser(text, at).parse()


def check_labels(expression: Expression, known: Mapping[str, object]) -> None:
    """Refuse a label that no parameter has."""
    for node in expression.labels():
        if node.label not in known:
            labels = [label for label in known if "~" not in label]
            hint = nearest(node.label, labels) if labels else "No parameter has a label."
            raise ModelSyntaxError(f"'{node.label}' is the label of no parameter. {hint}", *node.at)


@dataclass(frozen=True)
class _Word:
    kind: str
    text: str
    at: At


class _Parser:
    """Recursive descent, one method for each line of the grammar."""

    def __init__(self, text: str, at: At) -> None:
        self._words = _words(text, at)
        self._at = 0
        self._depth = 0

    def parse(self) -> Expression:
        found = self._sum()
        if (word := self._peek()) is not None:
            _fail(f"'{word.text}' is unexpected here.", word.at)
        return found

    def _peek(self) -> _Word | None:
        return self._words[self._at] if self._at < len(self._words) else None

    def _sign(self, signs: str) -> _Word | None:
        """Go past the next word if it is one of these signs."""
        word = self._peek()
        if word is None or word.kind != "sign" or word.text not in signs:
            return None
        self._at += 1
        return word

    def _sum(self) -> Expression:
        self._depth += 1
        if self._depth > _DEEPEST and (word := self._peek()) is not None:
            _fail(f"brackets may be {_DEEPEST} deep, not more.", word.at)
        left = self._product()
        while word := self._sign("+-"):
            left = Expression(word.text, (left, self._product()), at=word.at)
        self._depth -= 1
        return left

    def _product(self) -> Expression:
        left = self._factor()
        while word := self._sign("*/"):
            left = Expression(word.text, (left, self._factor()), at=word.at)
        return left

    def _factor(self) -> Expression:
        negative = False
        first = self._peek()
        while word := self._sign("+-"):
            negative ^= word.text == "-"
        base = self._atom()
        if word := self._sign("^"):
            base = Expression("^", (base, self._factor()), at=word.at)
        if not negative or first is None:
            return base
        return Expression("-", (Expression("number"), base), at=first.at)

    def _atom(self) -> Expression:
        word = self._peek()
        if word is None:
            last = self._words[-1]
            _fail(
                f"expected a number or a label after '{last.text}'.",
                (last.at[0], last.at[1] + len(last.text)),
            )
        self._at += 1
        if word.kind == "number":
            return Expression("number", number=float(word.text), at=word.at)
        if word.kind == "string":
            return Expression("label", label=word.text.strip('"'), at=word.at)
        if word.text == "(":
            return self._closed()
        if word.kind != "name":
            _fail(f"expected a number or a label, got '{word.text}'.", word.at)
        if not self._sign("("):
            return Expression("label", label=word.text, at=word.at)
        if word.text not in _FUNCTIONS:
            known = ", ".join(_FUNCTIONS)
            _fail(f"'{word.text}()' is not a function that is known here ({known}).", word.at)
        return Expression(word.text, (self._closed(),), at=word.at)

    def _closed(self) -> Expression:
        inner = self._sum()
        if not self._sign(")"):
            word = self._peek() or self._words[-1]
            _fail("a bracket is not closed.", word.at)
        return inner


def _words(text: str, at: At) -> list[_Word]:
    words, position = [], 0
    while position < len(text):
        before = text[:position]
        line = at[0] + before.count("\n")
        column = position - before.rfind("\n") if "\n" in before else at[1] + position
        match = _TOKEN.match(text, position)
        if match is None:
            _fail(f"'{text[position]}' is unexpected in an expression.", (line, column))
        if match.lastgroup != "blank":
            words.append(_Word(str(match.lastgroup), match.group(), (line, column)))
            if len(words) > _LONGEST:
                _fail(f"an expression may have {_LONGEST} words, not more.", (line, column))
        position = match.end()
    return words


def _fail(message: str, at: At) -> NoReturn:
    raise ModelSyntaxError(message, *at)
