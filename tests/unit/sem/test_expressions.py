"""Expressions of labels: precedence, exact derivatives, and where errors are."""

import math

import numpy as np
import pytest

from dtstat.sem.expressions import Dual, check_labels, parse_expression
from dtstat.structure.syntax import ModelSyntaxError

NAMES = ("a", "b", "c")
AT = np.array([0.7, 1.9, 0.4])


def value(text, at=AT):
    labels = {
        name: Dual(float(x), np.eye(1, 3, k)[0])
        for k, (name, x) in enumerate(zip(NAMES, at, strict=True))
    }
    return parse_expression(text).evaluate(labels, 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2*3", 7),
        ("(1 + 2)*3", 9),
        ("-2^2", -4),
        ("2^-1", 0.5),
        ("2^3^2", 512),
        ("8/4/2", 1),
        ("5 - 3 - 1", 1),
        ("--2", 2),
        ("-2*-3", 6),
        ("1e-2*.5", 0.005),
        ("exp(log(3)) + sqrt(16) - abs(-1)", 6),
        ("sin(0) + cos(0)", 1),
        ('"a" + a', 1.4),
        ("a # comment\n + b", 2.6),
    ],
)
def test_values(text, expected):
    assert value(text).value == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(
    "text",
    ["a*b + c", "a/b - c", "(a + b)^2", "a^b", "b^-1.5", "exp(a*b)/c", "log(a + b*c)",
     "sqrt(a)*abs(-b)", "-a^2*b", "sin(a)*cos(b)", "2^a", "a*b/(a*b + c)"],
)  # fmt: skip
def test_gradients_are_those_of_central_differences(text):
    step = 1e-6
    rises = [
        (value(text, AT + step * e).value - value(text, AT - step * e).value) / (2 * step)
        for e in np.eye(3)
    ]
    np.testing.assert_allclose(value(text).gradient, rises, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(
    ("text", "degree"),
    [("a", 1), ("2", 0), ("a + 2*b", 1), ("a*b", 2), ("a/2", 1), ("2/a", math.inf),
     ("exp(a)", math.inf), ("a^2", math.inf), ("2^3*a - exp(1)", 1)],
)  # fmt: skip
def test_degrees(text, degree):
    assert parse_expression(text).degree(dict.fromkeys(NAMES, 1.0)) == degree


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a +", (3, 8), "expected a number or a label after '+'."),
        ("a b", (3, 7), "'b' is unexpected here."),
        ("(a", (3, 6), "a bracket is not closed."),
        ("a + ?", (3, 9), "'?' is unexpected in an expression."),
        ("a +\n * b", (4, 2), "expected a number or a label, got '*'."),
        ("sqr(a)", (3, 5), "'sqr()' is not a function that is known here"),
        ("(" * 200 + "a" + ")" * 200, (3, 105), "brackets may be 100 deep, not more."),
    ],
)
def test_errors_say_where(text, place, message):
    with pytest.raises(ModelSyntaxError) as caught:
        parse_expression(text, (3, 5))
    assert (caught.value.line, caught.value.column) == place
    assert message in str(caught.value)


def test_unknown_labels_are_named():
    with pytest.raises(ModelSyntaxError, match="column 5: 'bb' is the label of no parameter"):
        check_labels(parse_expression("a + bb"), dict.fromkeys(NAMES))


@pytest.mark.parametrize("text", ["log(-1)", "1/0", "(0 - 8)^0.5", "sqrt(0 - 1)", "exp(1e9)"])
def test_what_is_not_defined_raises(text):
    with pytest.raises((ArithmeticError, ValueError)):
        value(text)
