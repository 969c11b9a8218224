"""lavaan's model syntax, read into terms.

    visual  =~ x1 + a*x2 + start(0.7)*x3    # measurement: loadings
    dem65   ~  ind60 + dem60                # regression
    y1      ~~ y5                           # (residual) covariance or variance
    x1      ~  1                            # intercept
    a == b                                  # equality of two labeled parameters

A modifier in front of ``*`` fixes (a number), frees (NA), labels (a name) or starts a parameter.
Statements end with the line or a semicolon; a line goes on while it ends in an operator. A comment
``# Q1. is "Q1?"``, as ``to_lavaan()`` writes them, says what a name stands for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal, NoReturn

from dtstat.core.errors import InputError
from dtstat.structure.structure import Structure, read_legend

Given = Structure | Mapping[str, Any] | str | Any  # the last: a result that has a structure
Operator = Literal["=~", "~", "~~", "~1", "=="]

_TOKEN = re.compile(
    r"(?P<blank>[ \t\r]+|[#!][^\n]*)"
    r"|(?P<number>(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)"
    r"|(?P<name>[^\W\d][\w.]*|\.(?!\d)[\w.]*)"
    r'|(?P<string>"[^"\n]*")'
    r"|(?P<operator>=~|~~|:=|==|~\*~|~|\|)"
    r"|(?P<sign>[-+*(),])"
    r"|(?P<end>[\n;])"
)
_UNSUPPORTED = {
    ":=": "defined parameters (:=) are not supported",
    "|": "thresholds (|) are estimated by themselves; name the items in `ordered`",
    "~*~": "scaling factors (~*~) are not supported",
}
_MOST_TERMS = 1_000_000
_LARGEST = 1e60  # a number that fixes a parameter is squared and summed on the way
_FORMS = "a Structure, a fit, a dict from factor to items, or lavaan's syntax"
_ONLY_EQUAL = "only 'label == label' and 'label == number' are supported"


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
    start
        Starting value, or None.
    """

    lhs: str
    op: Operator
    rhs: str
    fixed: float | None = None
    free: bool = False
    label: str = ""
    start: float | None = None


def parse(model: str) -> tuple[Term, ...]:
    """Read a model text.

    Raises
    ------
    ModelSyntaxError
        With the line and column where the text stops making sense.

    Examples
    --------
    >>> [(t.lhs, t.op, t.rhs, t.fixed) for t in parse("f =~ 1*x1 + x2")]
    [('f', '=~', 'x1', 1.0), ('f', '=~', 'x2', None)]
    """
    if not isinstance(model, str):
        raise InputError(
            f"`model` must be a model text or a Structure; got {type(model).__name__}.", "model"
        )
    terms = [term for words in _statements(_tokens(model)) for term in _Statement(words).terms()]
    if not terms:
        raise InputError("`model` has no statements. For example: 'f =~ x1 + x2 + x3'.", "model")
    names = read_legend(model)
    return tuple(
        replace(term, lhs=names.get(term.lhs, term.lhs), rhs=names.get(term.rhs, term.rhs))
        if names and term.op != "=="
        else term
        for term in terms
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
        if term.op == "=~":
            keys.setdefault(term.lhs, []).append(term.rhs)
    if not keys:
        raise InputError("`model` has no factors. For example: 'f =~ x1 + x2 + x3'.", "model")
    return Structure.from_keys(keys)


def as_structure(value: object, argument: str) -> Structure:
    """Return the structure that was given in one of its forms.

    Raises
    ------
    InputError
        If it is none of them.
    """
    if isinstance(value, Structure):
        return value
    if isinstance(value, Mapping):
        return Structure.from_keys(value)
    if isinstance(value, str):
        return measured_structure(value)
    found = getattr(value, "structure", None)
    if isinstance(found, Structure):
        return found
    raise InputError(f"`{argument}` must be {_FORMS}; got {type(value).__name__}.", argument)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    line: int
    column: int


def _tokens(text: str) -> list[_Token]:
    tokens, line, start, position = [], 1, 0, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        column = position - start + 1
        if match is None:
            raise ModelSyntaxError(f"unexpected character {text[position]!r}.", line, column)
        kind = str(match.lastgroup)
        if kind != "blank":
            tokens.append(_Token(kind, match.group(), line, column))
        position = match.end()
        if match.group() == "\n":
            line, start = line + 1, position
    return tokens


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
        open_end = last is not None and (last.kind == "operator" or last.text in "+*,(")
        if statements and not broken and (open_end or words[0].text in ("+", "*")):
            statements[-1] += words
        else:
            statements.append(words)
    return statements


class _Statement:
    """Reads the words of one statement from left to right."""

    def __init__(self, words: list[_Token]) -> None:
        self._words = words
        self._at = 0

    def terms(self) -> list[Term]:
        left = [self._take("name", "the name of a variable").text]
        while self._skip("+"):
            left.append(self._take("name", "the name of a variable").text)
        operator = self._take("operator", "one of =~ ~ ~~ ==")
        if operator.text in _UNSUPPORTED:
            self._fail(_UNSUPPORTED[operator.text] + ".", operator)
        if operator.text == "==":
            if len(left) > 1:
                self._fail(f"'+' is unexpected here; {_ONLY_EQUAL}.", self._words[1])
            return [self._equality(left[0])]
        right = self._right_side(operator)
        if len(left) * len(right) > _MOST_TERMS:
            self._fail(f"a statement may have {_MOST_TERMS} terms, not more.", operator)
        return [replace(term, lhs=lhs) for lhs in left for term in right]

    def _equality(self, label: str) -> Term:
        sign = -1.0 if self._skip("-") else 1.0
        if sign < 0 or (self._at < len(self._words) and self._words[self._at].kind == "number"):
            fixed = sign * self._number(self._take("number", "a number"))
            self._finish(_ONLY_EQUAL)
            return Term(label, "==", "", fixed=fixed)
        other = self._take("name", "a label or a number")
        self._finish(_ONLY_EQUAL)
        return Term(label, "==", other.text)

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
        if word.kind == "number" and operator.text == "~" and float(word.text) in (0, 1):
            term = replace(term, op="~1", rhs="")
            return term if float(word.text) == 1 else replace(term, fixed=0.0)
        if word.kind != "name":
            self._fail(f"expected the name of a variable, got '{word.text}'.", word)
        return replace(term, rhs=word.text)

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
        if word.text == "-":
            return replace(term, fixed=-self._number(self._take("number", "a number")))
        if word.kind == "number":
            return replace(term, fixed=self._number(word))
        if word.kind == "string":
            return replace(term, label=word.text.strip('"'))
        if word.kind != "name":
            self._fail(f"expected a number, NA, a label or start(), got '{word.text}'.", word)
        if self._skip("("):
            return self._call(term, word)
        return replace(term, free=True) if word.text == "NA" else replace(term, label=word.text)

    def _call(self, term: Term, name: _Token) -> Term:
        if name.text not in ("start", "label", "equal"):
            advice = " (one group only)" if name.text == "c" else ""
            self._fail(f"'{name.text}()' is not supported as a modifier{advice}.", name)
        sign = -1.0 if self._skip("-") else 1.0
        word = self._next("a value")
        self._take("sign", "')'", ")")
        if name.text == "start":
            if word.kind != "number":
                self._fail("start() takes a number.", word)
            return replace(term, start=sign * self._number(word))
        return replace(term, label="".join(word.text.strip('"').split()))

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

    def _finish(self, hint: str = "") -> None:
        if self._at < len(self._words):
            word = self._words[self._at]
            self._fail(f"'{word.text}' is unexpected here{'; ' + hint if hint else ''}.", word)

    def _fail(self, message: str, word: _Token) -> NoReturn:
        raise ModelSyntaxError(message, word.line, word.column)
