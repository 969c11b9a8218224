"""lavaan's model syntax, read into terms and relations.

    visual  =~ x1 + a*x2 + start(0.7)*x3    # measurement: loadings; =~ 0 for none
    dem65   ~  ind60 + dem60                # regression
    y1      ~~ y5                           # (residual) covariance or variance
    x1      ~  1                            # intercept
    x1      |  t1 + t2                      # thresholds of an ordered item
    x1      ~*~ x1                          # scale of the variable behind it
    a + b == 1;  a > 0                      # constraints on labeled parameters
    total   := a*b + c                      # a parameter defined by others

A modifier in front of ``*`` fixes (a number), frees (NA), labels (a name), starts or bounds
(``lower()``, ``upper()``) a parameter; ``c(a, b)*`` has one for each group. ``efa("block")*f`` on
the left makes a factor one of an exploratory block. Statements end with the line or a semicolon; a
line goes on while it ends in an operator. A comment ``# Q1. is "Q1?"``, as ``to_lavaan()`` writes
them, says what a name stands for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from typing import Any, Literal, NoReturn

import numpy as np
import pandas as pd

from dtstat.core.errors import InputError, shown
from dtstat.core.saved import register
from dtstat.structure.structure import Structure, keyed_structure, plain_structure, read_legend

Given = Structure | Mapping[str, Any] | str | Any  # the last: a result that has a structure
Operator = Literal["=~", "~", "~~", "~1", "|", "~*~"]
Comparison = Literal[":=", "==", "<", ">"]
At = tuple[int, int]  # line and column, counted from 1

_TOKEN = re.compile(
    r"(?P<blank>[ \t\r]+|[#!][^\n]*)"
    r"|(?P<number>(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)"
    r"|(?P<name>[^\W\d][\w.]*|\.(?!\d)[\w.]*)"
    r'|(?P<string>"[^"\n]*")'
    r"|(?P<operator>=~|~~|:=|==|~\*~|<~|~|\||<|>)"
    r"|(?P<sign>[-+*/^(),])"
    r"|(?P<end>[\n;])"
)
_COMPARISONS = (":=", "==", "<", ">")
_OPERATORS = "one of =~ ~ ~~ == :="
_LEVELS = (
    "two-level models (level:) are not supported. Fit one level with `cluster`, whose standard "
    "errors and tests allow for rows that are not independent."
)
_COMPOSITES = (
    "composites (<~) are not supported. Compute the composite before fitting and name its column, "
    "or measure a factor with =~."
)
_VALUES = {"start": "start", "lower": "lower", "upper": "upper"}
_MOST_TERMS = 1_000_000
_LARGEST = 1e60  # a number that fixes a parameter is squared and summed on the way
_FORMS = "a Structure, a fit, a dict from factor to items, or lavaan's syntax"


class ModelSyntaxError(InputError):
    """A model text cannot be read.

    Attributes
    ----------
    line, column
        Where, counted from 1.
    """

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(f"`model`, line {line}, column {column}: {message}", "model")
        self.line = line
        self.column = column


@dataclass(frozen=True)
class Term:
    """One parameter as written: ``lhs op rhs`` with its modifiers.

    Attributes
    ----------
    fixed
        Value it is fixed at, or None.
    free
        Whether it was explicitly freed (NA*).
    label
        Its label, "" for none.
    start, lower, upper
        Starting value and bounds, or None.
    groups
        Modifiers of each group, if they were written as c(...).
    efa
        The exploratory block of the factor on the left, "" for none.
    at
        Line and column of the right side.
    """

    lhs: str
    op: Operator
    rhs: str
    fixed: float | None = None
    free: bool = False
    label: str = ""
    start: float | None = None
    lower: float | None = None
    upper: float | None = None
    groups: tuple[Term, ...] = ()
    efa: str = ""
    at: At = field(default=(1, 1), compare=False, repr=False)

    def merge(self, later: Term) -> Term:
        """Join what was written twice, as in ``f =~ a*x1 + start(.5)*x1``; later words win."""
        given = {
            name: getattr(later, name)
            for name in ("fixed", "start", "lower", "upper")
            if getattr(later, name) is not None
        }
        return replace(
            self,
            free=self.free or later.free,
            label=later.label or self.label,
            groups=later.groups or self.groups,
            **given,
        )

    def in_group(self, group: int, n_groups: int) -> Term:
        """Return the term with the modifiers of one group, counted from 0."""
        if not self.groups:
            return self
        if len(self.groups) != n_groups:
            there = "there is one group" if n_groups == 1 else f"there are {n_groups} groups"
            raise ModelSyntaxError(
                f"c() has {len(self.groups)} values, but {there}. Give one value for each group.",
                *self.at,
            )
        return replace(self.merge(self.groups[group]), groups=())


@register()
@dataclass(frozen=True)
class Relation:
    """A constraint or definition as written: two expressions of labels, compared.

    Attributes
    ----------
    left, right
        Texts of the two sides; the left one of a definition (:=) is the new name.
    left_at, right_at
        Line and column where they begin.
    """

    left: str
    op: Comparison
    right: str
    left_at: At = field(default=(1, 1), compare=False, repr=False)
    right_at: At = field(default=(1, 1), compare=False, repr=False)

    @property
    def text(self) -> str:
        """How people write it."""
        return " ".join(f"{self.left} {self.op} {self.right}".split())


def parse(model: str) -> tuple[Term | Relation, ...]:
    """Read a model text.

    Raises
    ------
    ModelSyntaxError
        With the line and column where the text stops making sense.

    Examples
    --------
    >>> [(t.lhs, t.op, t.rhs, t.fixed) for t in parse("f =~ 1*x1 + x2")]
    [('f', '=~', 'x1', 1.0), ('f', '=~', 'x2', None)]
    >>> parse("total := a*b + c")
    (Relation(left='total', op=':=', right='a*b + c'),)
    """
    if not isinstance(model, str):
        raise InputError(
            f"`model` must be a model text or a Structure; got {type(model).__name__}.", "model"
        )
    found: list[Term | Relation] = []
    for words in _statements(_tokens(model)):
        statement = _Statement(words)
        found += statement.relation(model) or statement.terms()
    if not found:
        raise InputError("`model` has no statements. For example: 'f =~ x1 + x2 + x3'.", "model")
    names = read_legend(model)
    return tuple(
        replace(one, lhs=names.get(one.lhs, one.lhs), rhs=names.get(one.rhs, one.rhs))
        if names and isinstance(one, Term)
        else one
        for one in found
    )


def measured_structure(model: str) -> Structure:
    """Read which items load on which factors off a model text; everything else is passed over.

    Raises
    ------
    ModelSyntaxError
        If the text cannot be read.
    InputError
        If no factor has items.

    Examples
    --------
    >>> measured_structure("visual =~ x1 + x2; speed =~ x2 + x3")
    Structure: 2 factors, 3 items
      visual: x1 x2
      speed: x2 x3
    """
    keys: dict[str, list[str]] = {}
    for term in parse(model):
        if isinstance(term, Term) and term.op == "=~" and term.rhs:
            keys.setdefault(term.lhs, []).append(term.rhs)
    if not keys:
        raise InputError("`model` has no factors. For example: 'f =~ x1 + x2 + x3'.", "model")
    return plain_structure(keys, list(dict.fromkeys(chain(*keys.values()))))


def as_structure(
    value: object, argument: str, items: Callable[[], Iterable[str]] | None = None
) -> Structure:
    """Return the structure that was given in one of its forms.

    Parameters
    ----------
    value
        What was given.
    argument
        Name of the argument.
    items
        Finds the names there are, if they are known: "-1" in a key may be the name of an item.

    Raises
    ------
    InputError
        If it is none of them.
    """
    if isinstance(value, Structure):
        return value
    if isinstance(value, Mapping):
        keyed = keyed_structure(value, items)
        if not keyed.n_items:
            text = f"`{argument}` must name a factor with its items; got {shown(dict(value))}."
            raise InputError(text, argument)
        return keyed
    if isinstance(value, str):
        return measured_structure(value)
    found = getattr(value, "structure", None)
    if isinstance(found, Structure):
        return found
    table = isinstance(value, np.ndarray | pd.DataFrame)
    advice = " Structure(table) makes one of items by factors, true or false." if table else ""
    raise InputError(
        f"`{argument}` must be {_FORMS}; got {type(value).__name__}.{advice}", argument
    )


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    line: int
    column: int
    start: int  # where in the whole text

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    line, start, position = 1, 0, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        column = position - start + 1
        if match is None:
            if text[position] == ":" and tokens and tokens[-1].text.lower() == "level":
                raise ModelSyntaxError(_LEVELS, line, tokens[-1].column)
            raise ModelSyntaxError(
                f"unexpected character {text[position]!r}.{_meant(text[position])}", line, column
            )
        kind = str(match.lastgroup)
        if kind != "blank":
            tokens.append(_Token(kind, match.group(), line, column, position))
        position = match.end()
        if match.group() == "\n":
            line, start = line + 1, position
    return tokens


def _meant(sign: str) -> str:
    """Say what somebody meant who wrote = or : between a factor and its items."""
    return " A factor is measured with =~, as in 'f =~ x1 + x2 + x3'." if sign in "=:" else ""


def _statements(tokens: list[_Token]) -> list[list[_Token]]:
    """Cut at semicolons and line ends, except where a line obviously goes on."""
    statements: list[list[_Token]] = []
    broken = False
    for is_end, run in groupby(tokens, key=lambda token: token.kind == "end"):
        words = list(run)
        if is_end:
            broken = any(word.text == ";" for word in words)
            continue
        last = statements[-1][-1] if statements else None
        open_end = last is not None and (last.kind == "operator" or last.text in "+-*/^,(")
        if statements and not broken and (open_end or words[0].text in ("+", "*")):
            statements[-1] += words
        else:
            statements.append(words)
    return statements


_BLANK = Term("", "=~", "")  # for the modifiers of one group


class _Statement:
    """Reads the words of one statement from left to right."""

    def __init__(self, words: list[_Token]) -> None:
        self._words = words
        self._at = 0

    def relation(self, text: str) -> list[Term | Relation]:
        """Read a constraint or a definition; nothing if the statement is neither."""
        at = next((k for k, w in enumerate(self._words) if w.kind == "operator"), None)
        if at is None or self._words[at].text not in _COMPARISONS:
            return []
        left, operator, right = self._words[:at], self._words[at], self._words[at + 1 :]
        if not left:
            self._fail(f"expected an expression before '{operator.text}'.", operator)
        if not right:
            self._at = len(self._words)
            self._next("an expression")
        if second := next((w for w in right if w.kind == "operator"), None):
            self._fail(f"'{second.text}' is unexpected here.", second)
        if operator.text == ":=" and (len(left) > 1 or left[0].kind != "name"):
            self._fail("expected one new name on the left of ':='.", left[0])
        sides = [text[words[0].start : words[-1].end] for words in (left, right)]
        places = [(words[0].line, words[0].column) for words in (left, right)]
        op: Any = operator.text
        return [Relation(sides[0], op, sides[1], places[0], places[1])]

    def terms(self) -> list[Term | Relation]:
        """Read what stands left and right of an operator."""
        left = [self._left()]
        while self._skip("+"):
            left.append(self._left())
        operator = self._take("operator", _OPERATORS)
        if operator.text == "<~":
            self._fail(_COMPOSITES, operator)
        blocked = next((name for name, block in left if block), None)
        if blocked is not None and operator.text != "=~":
            self._fail(f"efa() in front of '{blocked}' needs =~.", operator)
        right = self._right_side(operator)
        if len(left) * len(right) > _MOST_TERMS:
            self._fail(f"a statement may have {_MOST_TERMS} terms, not more.", operator)
        return [replace(term, lhs=lhs, efa=block) for lhs, block in left for term in right]

    def _left(self) -> tuple[str, str]:
        """Return a name on the left, and its exploratory block if it has one."""
        word = self._take("name", "the name of a variable")
        if word.text != "efa" or not self._skip("("):
            return word.text, ""
        block = self._take("string", 'the name of a block in quotes, as in efa("b")')
        self._take("sign", "')'", ")")
        self._take("sign", "'*'", "*")
        return self._take("name", "the name of a variable").text, block.text.strip('"') or " "

    def _right_side(self, operator: _Token) -> list[Term]:
        terms = [self._term(operator)]
        while self._skip("+"):
            terms.append(self._term(operator))
        self._finish()
        return terms

    def _term(self, operator: _Token) -> Term:
        """Read modifiers joined by * and the variable they belong to."""
        term = Term("", operator.text, "")  # type: ignore[arg-type]
        while self._is_modifier():
            term = self._modify(term)
            self._take("sign", "'*'", "*")
        word = self._next("the name of a variable")
        at = (word.line, word.column)
        if word.kind == "number" and operator.text == "~" and float(word.text) in (0, 1):
            term = replace(term, op="~1", rhs="", at=at)
            return term if float(word.text) == 1 else replace(term, fixed=0.0)
        if word.text == "0" and operator.text == "=~":
            return replace(term, at=at)  # a factor that nothing measures
        if word.kind != "name":
            self._fail(f"expected the name of a variable, got '{word.text}'.", word)
        return replace(term, rhs=word.text, at=at)

    def _is_modifier(self) -> bool:
        """Whether a * follows before the term ends."""
        for k in range(self._at, len(self._words)):
            if self._words[k].text in "*+":
                return self._words[k].text == "*"
        return False

    def _number(self, word: _Token) -> float:
        number = float(word.text)
        if number > _LARGEST:
            self._fail(f"numbers must be at most {_LARGEST:g}, got '{word.text}'.", word)
        return number

    def _modify(self, term: Term) -> Term:
        word = self._next("a modifier")
        if word.kind == "name" and self._skip("("):
            return self._call(term, word)
        return self._plain(term, word)

    def _plain(self, term: Term, word: _Token) -> Term:
        """Fix, free or label a parameter."""
        if word.text == "-":
            return replace(term, fixed=-self._number(self._take("number", "a number")))
        if word.kind == "number":
            return replace(term, fixed=self._number(word))
        if word.kind == "string":
            return replace(term, label=word.text.strip('"'))
        if word.kind != "name":
            self._fail(f"expected a number, NA, a label or start(), got '{word.text}'.", word)
        return replace(term, free=True) if word.text == "NA" else replace(term, label=word.text)

    def _call(self, term: Term, name: _Token) -> Term:
        """Read what a function in front of a variable is given: one value, or c() of them."""
        if name.text == "c":
            return self._each(term, lambda: self._plain(_BLANK, self._next("a value")), name)
        if name.text not in (*_VALUES, "label", "equal"):
            self._fail(f"'{name.text}()' is not supported as a modifier.", name)
        if self._at + 1 < len(self._words) and self._words[self._at + 1].text == "(":
            self._take("name", "c(...)", "c")
            self._at += 1
            term = self._each(term, lambda: self._argument(_BLANK, name), name)
        else:
            term = self._argument(term, name)
        self._take("sign", "')'", ")")
        return term

    def _argument(self, term: Term, name: _Token) -> Term:
        sign = -1.0 if self._skip("-") else 1.0
        word = self._next("a value")
        if name.text not in _VALUES:
            return replace(term, label="".join(word.text.strip('"').split()))
        if word.kind != "number":
            self._fail(f"{name.text}() takes a number.", word)
        changes: dict[str, Any] = {_VALUES[name.text]: sign * self._number(word)}
        return replace(term, **changes)

    def _each(self, term: Term, read: Callable[[], Term], name: _Token) -> Term:
        """Read one modifier for each group, up to the closing bracket."""
        entries = [read()]
        while self._skip(","):
            entries.append(read())
        self._take("sign", "')'", ")")
        if term.groups and len(term.groups) != len(entries):
            self._fail(f"c() has {len(entries)} values here and {len(term.groups)} before.", name)
        before = term.groups or (_BLANK,) * len(entries)
        joined = tuple(old.merge(new) for old, new in zip(before, entries, strict=True))
        return replace(term, groups=joined)

    def _skip(self, text: str) -> bool:
        """Go past the next word if it is this one."""
        found = self._at < len(self._words) and self._words[self._at].text == text
        self._at += found
        return found

    def _next(self, expected: str) -> _Token:
        if self._at == len(self._words):
            last = self._words[-1]
            place = last.column + len(last.text)
            raise ModelSyntaxError(f"expected {expected} after '{last.text}'.", last.line, place)
        self._at += 1
        return self._words[self._at - 1]

    def _take(self, kind: str, expected: str, text: str | None = None) -> _Token:
        word = self._next(expected)
        if word.kind != kind or (text is not None and word.text != text):
            self._fail(f"expected {expected}, got '{word.text}'.", word)
        return word

    def _finish(self) -> None:
        if self._at < len(self._words):
            word = self._words[self._at]
            listed = word.kind == "name" or word.text == ","
            advice = " Join items with +, as in 'f =~ x1 + x2 + x3'." if listed else ""
            self._fail(f"'{word.text}' is unexpected here.{advice}", word)

    def _fail(self, message: str, word: _Token) -> NoReturn:
        raise ModelSyntaxError(message, word.line, word.column)
