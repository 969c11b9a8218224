"""lavaan's model syntax: every construct, and the place of every error."""

import pytest

from dtstat.core.errors import InputError
from dtstat.structure.syntax import ModelSyntaxError, Relation, Term, parse


def brief(model):
    """(lhs, op, rhs) of every term."""
    return [(t.lhs, t.op, t.rhs) for t in parse(model)]


def only(model):
    """The last term of a model."""
    return parse(model)[-1]


THREE = [("f", "=~", "x1"), ("f", "=~", "x2"), ("f", "=~", "x3")]


@pytest.mark.parametrize(
    "model",
    [
        "f =~ x1 + x2 + x3",
        "f=~x1+x2+x3",
        "\tf  =~\tx1 +  x2 + x3  ",
        "f =~ x1 +\n x2 + x3",
        "f =~\nx1 + x2\n + x3",
        "f =~ x1 + x2 # comment + x9\n + x3",
        "f =~ x1 + x2 + ! comment\n\n   x3",
        "# only a comment\n\nf =~ x1 + x2 + x3  # the end",
        "\r\nf =~ x1 + x2 +\r\n x3\r\n",
        "f =~ x1; f =~ x2 + x3;",
        "f =~ x1\nf =~ x2\n;;\nf =~ x3",
    ],
)
def test_layout_of_the_text_does_not_matter(model):
    assert brief(model) == THREE


def test_a_new_statement_begins_at_a_line_end_or_semicolon():
    assert brief("f =~ x1 + x2\ny ~ f ; x1 ~~ x2") == [
        ("f", "=~", "x1"),
        ("f", "=~", "x2"),
        ("y", "~", "f"),
        ("x1", "~~", "x2"),
    ]


def test_a_comment_ends_with_its_line():
    assert brief("f =~ x1 # + x2\ny ~ f ! + z\nx1 ~~ x1") == [
        ("f", "=~", "x1"),
        ("y", "~", "f"),
        ("x1", "~~", "x1"),
    ]


def test_several_left_sides_share_the_right_side():
    assert brief("y + z ~ f + g") == [
        ("y", "~", "f"),
        ("y", "~", "g"),
        ("z", "~", "f"),
        ("z", "~", "g"),
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        ("0", 0.0),
        ("0.5", 0.5),
        (".5", 0.5),
        ("2.", 2.0),
        ("-0.5", -0.5),
        ("- .5", -0.5),
        ("1e-3", 1e-3),
        ("-2.5E+2", -250.0),
        ("3e2", 300.0),
    ],
)
def test_numbers_fix(text, value):
    assert parse(f"f =~ x1 + {text}*x2 + x3") == (
        Term("f", "=~", "x1"),
        Term("f", "=~", "x2", fixed=value),
        Term("f", "=~", "x3"),
    )


@pytest.mark.parametrize("text", ["a", '"a"', 'label("a")', "label(a)", 'equal("a")'])
def test_names_label(text):
    assert only(f"f =~ {text}*x2") == Term("f", "=~", "x2", label="a")


def test_quoted_labels_may_hold_anything():
    assert only('x1 ~~ "my label!"*x2') == Term("x1", "~~", "x2", label="my label!")


def test_equal_names_a_parameter_without_blanks():
    assert only('f =~ equal("f =~ x2")*x3').label == "f=~x2"


def test_na_frees():
    assert only("f =~ NA*x1") == Term("f", "=~", "x1", free=True)


@pytest.mark.parametrize(
    ("text", "value"), [("start(0.7)", 0.7), ("start(-2)", -2.0), ("start( 1e-2 )", 0.01)]
)
def test_start_gives_a_starting_value_and_fixes_nothing(text, value):
    assert only(f"y ~ {text}*x") == Term("y", "~", "x", start=value)


def test_modifiers_join():
    term = only("f =~ NA*a*start(2)*x1")
    assert term == Term("f", "=~", "x1", free=True, label="a", start=2.0)


def test_a_modifier_belongs_to_its_own_term_only():
    terms = parse("f =~ a*x1 + x2 + 0*x3")
    assert [(t.label, t.fixed) for t in terms] == [("a", None), ("", None), ("", 0.0)]


@pytest.mark.parametrize(
    ("model", "term"),
    [
        ("x1 ~ 1", Term("x1", "~1", "")),
        ("x1 ~ 0*1", Term("x1", "~1", "", fixed=0.0)),
        ("x1 ~ 2.5*1", Term("x1", "~1", "", fixed=2.5)),
        ("x1 ~ a*1", Term("x1", "~1", "", label="a")),
        ("x1 ~ 0", Term("x1", "~1", "", fixed=0.0)),
    ],
)
def test_intercepts(model, term):
    assert parse(model) == (term,)


def test_intercepts_stand_beside_regressions():
    assert brief("y ~ 1 + x + 0*z") == [("y", "~1", ""), ("y", "~", "x"), ("y", "~", "z")]


@pytest.mark.parametrize(
    ("model", "relation"),
    [
        ("a == b", Relation("a", "==", "b")),
        ("a==b", Relation("a", "==", "b")),
        ("a == -0.5", Relation("a", "==", "-0.5")),
        ("a ==\n1e3", Relation("a", "==", "1e3")),
        ("(a + b)^2 == 1 # one", Relation("(a + b)^2", "==", "1")),
        ("exp(a) > 2*b", Relation("exp(a)", ">", "2*b")),
        ("a < b", Relation("a", "<", "b")),
        ("ind := a*b/2 -\n c", Relation("ind", ":=", "a*b/2 -\n c")),
    ],
)
def test_relations(model, relation):
    assert parse(model) == (relation,)


def test_relations_know_where_their_sides_are():
    (relation,) = parse("\n  a + b  ==\n c")
    assert (relation.left_at, relation.right_at) == ((2, 3), (3, 2))


def test_thresholds_and_scales():
    assert parse("x1 | t1 + a*t2") == (
        Term("x1", "|", "t1"),
        Term("x1", "|", "t2", label="a"),
    )
    assert only("x1 ~*~ 1*x1") == Term("x1", "~*~", "x1", fixed=1.0)


def test_bounds():
    assert only("f =~ lower(-1)*upper(2)*x") == Term("f", "=~", "x", lower=-1.0, upper=2.0)


def test_each_group_has_its_modifiers():
    term = only("f =~ c(a, NA)*start(c(1, -2))*x")
    first, second = (term.in_group(g, 2) for g in range(2))
    assert first == Term("f", "=~", "x", label="a", start=1.0)
    assert second == Term("f", "=~", "x", free=True, start=-2.0)
    assert only("f =~ c(1, 2)*x").in_group(1, 2) == Term("f", "=~", "x", fixed=2.0)
    with pytest.raises(ModelSyntaxError, match=r"column 14: c\(\) has 2 values, but there is one"):
        only("f =~ c(a, b)*x").in_group(0, 1)


def test_exploratory_blocks():
    terms = parse('efa("b")*f + efa("b")*g =~ x1 + x2')
    assert [(t.lhs, t.rhs, t.efa) for t in terms] == [
        ("f", "x1", "b"),
        ("f", "x2", "b"),
        ("g", "x1", "b"),
        ("g", "x2", "b"),
    ]


@pytest.mark.parametrize(
    "name", ["größe", "年齢", "Ответ1", "item.1", "a_b", "_hidden", ".dot", "x1.y_2", "NAME", "é1"]
)
def test_names(name):
    assert brief(f"f =~ {name} + x2")[0] == ("f", "=~", name)
    assert brief(f"{name} =~ x1")[0] == (name, "=~", "x1")


@pytest.mark.parametrize("model", ["", "  \n\n", "# nothing", ";;\n;", "! a\n# b\n"])
def test_a_model_without_statements_is_refused(model):
    with pytest.raises(InputError, match=r"`model` has no statements\. For example: 'f =~ x1"):
        parse(model)


@pytest.mark.parametrize("model", [None, 3, ["f =~ x1"]])
def test_a_model_must_be_text(model):
    name = type(model).__name__
    with pytest.raises(InputError, match=f"must be a model text or a Structure; got {name}"):
        parse(model)


@pytest.mark.parametrize(
    ("model", "line", "column", "message"),
    [
        ("f =~ x1 + x2 ?", 1, 14, "unexpected character '?'."),
        (
            "f =~ x1\n  g <~ x2",
            2,
            5,
            "composites (<~) are not supported. Compute the composite before fitting and name its "
            "column, or measure a factor with =~.",
        ),
        ("größe =~ x1 §", 1, 13, "unexpected character '§'."),
        ("f =~ x1 +", 1, 10, "expected the name of a variable after '+'."),
        ("f =~", 1, 5, "expected the name of a variable after '=~'."),
        ("# c\n\nf =~ x1 + ", 3, 10, "expected the name of a variable after '+'."),
        ("f", 1, 2, "expected one of =~ ~ ~~ == := after 'f'."),
        ("f x1", 1, 3, "expected one of =~ ~ ~~ == :=, got 'x1'."),
        ("f + =~ x1", 1, 5, "expected the name of a variable, got '=~'."),
        ("=~ x1", 1, 1, "expected the name of a variable, got '=~'."),
        ("1 ~ x1", 1, 1, "expected the name of a variable, got '1'."),
        (
            "f =~ x1 x2",
            1,
            9,
            "'x2' is unexpected here. Join items with +, as in 'f =~ x1 + x2 + x3'.",
        ),
        ("f =~ x1 - x2", 1, 9, "'-' is unexpected here."),
        ("f =~ x1 + + x2", 1, 11, "expected the name of a variable, got '+'."),
        ("f =~ 3", 1, 6, "expected the name of a variable, got '3'."),
        ("y ~ 2", 1, 5, "expected the name of a variable, got '2'."),
        ("f =~ x1 +\n g =~ x2", 2, 4, "'=~' is unexpected here."),
        ("f =~ 0.5 x1*x2", 1, 10, "expected '*', got 'x1'."),
        ("f =~ *x1", 1, 6, "expected a number, NA, a label or start(), got '*'."),
        ("f =~ a*", 1, 8, "expected the name of a variable after '*'."),
        ("f =~ -a*x1", 1, 7, "expected a number, got 'a'."),
        ("f =~ start(a)*x1", 1, 12, "start() takes a number."),
        ("f =~ start(1*x1", 1, 13, "expected ')', got '*'."),
        ('f =~ "a*x1', 1, 6, "unexpected character '\"'."),
        ("f =~ c(a, *x1", 1, 11, "expected a number, NA, a label or start(), got '*'."),
        ("f =~ c(a, b*x1", 1, 12, "expected ')', got '*'."),
        ("f =~ c(a, b)*c(1, 2, 3)*x1", 1, 14, "c() has 3 values here and 2 before."),
        ("f =~ lower(a)*x1", 1, 12, "lower() takes a number."),
        ("f =~ log(2)*x1", 1, 6, "'log()' is not supported as a modifier."),
        (
            "efa(b)*f =~ x1",
            1,
            5,
            "expected the name of a block in quotes, as in efa(\"b\"), got 'b'.",
        ),
        ('efa("b")*f ~ x1', 1, 12, "efa() in front of 'f' needs =~."),
        ("a == ", 1, 5, "expected an expression after '=='."),
        ("== a", 1, 1, "expected an expression before '=='."),
        ("f =~ x1\n a < b < c", 2, 8, "'<' is unexpected here."),
        ("a + b := 1", 1, 1, "expected one new name on the left of ':='."),
    ],
)
def test_errors_say_where_and_what(model, line, column, message):
    with pytest.raises(ModelSyntaxError) as caught:
        parse(model)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(caught.value) == f"`model`, line {line}, column {column}: {message}"
    assert caught.value.argument == "model"
