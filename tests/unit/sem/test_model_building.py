"""From a model text to a parameter table: what is added, fixed, numbered and refused.

The counts of free parameters are those of lavaan 0.6 (cfa and sem).
"""

import pytest
from examples import DEMOCRACY, HS

from dtstat.core.errors import InputError
from dtstat.sem.model import build_model
from dtstat.structure.structure import Structure

X = tuple(f"x{k}" for k in range(1, 10))
Y = tuple(f"y{k}" for k in range(1, 9))
ITEMS = (*X, *Y, "z", "w")
THREE = "f =~ x1 + x2 + x3"
TWO = "f =~ x1 + x2 + x3; g =~ x4 + x5 + x6"


def rows(text, **options):
    """{"lhs op rhs": row}."""
    model = build_model(text, ITEMS, **options)
    table = {row.name: row for row in model.parameters}
    assert len(table) == len(model.parameters), "a parameter stands twice in the table"
    return table


def state(text, **options):
    """{"lhs op rhs": "free", "given" or the value it is fixed at}."""

    def of(row):
        if row.exogenous:
            return "given"
        return "free" if row.free else row.value

    return {name: of(row) for name, row in rows(text, **options).items()}


def added(text, **options):
    return {n: s for n, s in state(text, **options).items() if not rows(text, **options)[n].user}


def count(text, **options):
    return build_model(text, ITEMS, **options).n_free


@pytest.mark.parametrize(
    ("text", "options", "n_free"),
    [
        (HS, {}, 21),
        (HS, {"std_lv": True}, 21),
        (HS, {"orthogonal": True}, 18),
        (HS, {"mean_structure": True}, 30),
        (HS + "\ng =~ visual + textual + speed", {}, 21),
        (HS + "\ng =~ visual + textual + speed", {"std_lv": True}, 21),
        (DEMOCRACY.format("", "", ""), {}, 31),
        (DEMOCRACY.format("a*", "b*", "c*"), {}, 28),
        (DEMOCRACY.format("a*", "b*", "c*"), {"mean_structure": True}, 39),
        (TWO + "; g ~ f", {"std_lv": True}, 13),
        ("f =~ x1 + x2 + x3; y1 ~ f; y2 ~ f + z", {}, 12),
        ("f =~ x1 + x2 + x3; x1 ~ z; y2 ~ f + z", {}, 10),
        ("f =~ x1 + x2 + x3; y1 ~ x1", {}, 8),
        (TWO + "; y1 ~ f; z ~ g", {"orthogonal": True}, 17),
        ("f =~ x1 + x2 + x3; y1 ~~ z", {}, 9),
        ("f =~ x1 + x2 + x3; f ~~ z", {}, 8),
        ("f =~ x1 + x2 + x3; g =~ y1 + y2 + y3; f ~ g; g ~ f", {}, 14),
        ("f =~ x1 + x2 + x3; g =~ f + y1 + y2; z ~ f", {}, 13),
        ("y1 ~ z; y2 ~ y1 + z", {}, 5),
        ("y1 ~ z; y2 ~ z; y3 ~ y1", {}, 7),
        ("y1 ~ x1 + x2; x1 ~~ x2", {}, 6),
        ("f =~ x1; g =~ x1 + x2 + x3 + x4", {}, 10),
        ("f =~ x1 + x2 + x3; g =~ f", {}, 6),
    ],
)
def test_free_parameters_are_as_many_as_in_lavaan(text, options, n_free):
    model = build_model(text, ITEMS, **options)
    assert model.n_free == n_free
    assert {row.free for row in model.parameters} - {0} == set(range(1, n_free + 1))


def test_a_factor_model_gets_variances_covariances_and_markers():
    assert state(TWO) == {
        "f =~ x1": 1.0, "f =~ x2": "free", "f =~ x3": "free",
        "g =~ x4": 1.0, "g =~ x5": "free", "g =~ x6": "free",
        **{f"{x} ~~ {x}": "free" for x in X[:6]},
        "f ~~ f": "free", "g ~~ g": "free", "f ~~ g": "free",
    }  # fmt: skip


def test_std_lv_fixes_variances_instead_of_markers():
    table = state(TWO, std_lv=True)
    assert table["f =~ x1"] == table["g =~ x4"] == table["f ~~ g"] == "free"
    assert table["f ~~ f"] == table["g ~~ g"] == 1.0


def test_orthogonal_factors_have_covariance_zero_unless_written():
    assert state(HS, orthogonal=True)["visual ~~ textual"] == 0.0
    written = state(HS + "\nvisual ~~ textual", orthogonal=True)
    assert (written["visual ~~ textual"], written["visual ~~ speed"]) == ("free", 0.0)


def test_a_mean_structure_has_free_intercepts_and_factor_means_of_zero():
    table = added(TWO, mean_structure=True)
    assert [table[f"{x} ~ 1"] for x in X[:6]] == ["free"] * 6
    assert table["f ~ 1"] == table["g ~ 1"] == 0.0
    assert not any("~ 1" in name for name in state(TWO))


def test_one_written_intercept_brings_the_whole_mean_structure():
    model = build_model(THREE + "; x2 ~ 0*1", ITEMS)
    table = state(THREE + "; x2 ~ 0*1")
    assert model.mean_structure
    assert not build_model(THREE, ITEMS).mean_structure
    assert (table["x1 ~ 1"], table["x2 ~ 1"], table["f ~ 1"]) == ("free", 0.0, 0.0)


def test_what_is_written_is_not_added():
    table = rows(THREE + "; f ~~ 2*f; x2 ~~ 0.1*x2; x3 ~~ x1")
    assert (table["f ~~ f"].value, table["f ~~ f"].free, table["f ~~ f"].user) == (2.0, 0, True)
    assert table["x2 ~~ x2"].value == 0.1
    assert "x1 ~~ x3" not in table


def test_a_covariance_may_be_written_in_either_order():
    table = state(TWO + "; g ~~ 0.2*f")
    assert table["g ~~ f"] == 0.2
    assert "f ~~ g" not in table


def test_a_covariance_written_both_ways_is_one_parameter():
    table = rows(THREE + "; x1 ~~ a*x2; x2 ~~ 0.3*x1")
    assert table["x1 ~~ x2"].value == 0.3
    assert "x2 ~~ x1" not in table


def test_a_second_order_factor_frees_no_covariances_of_the_first_order():
    table = state(HS + "\ng =~ visual + textual + speed")
    assert "visual ~~ textual" not in table
    assert (table["g =~ visual"], table["g =~ speed"]) == (1.0, "free")
    model = build_model(HS + "\ng =~ visual + textual + speed", ITEMS)
    places = dict(zip((row.name for row in model.parameters), model.places, strict=True))
    g, speed = model.eta.index("g"), model.eta.index("speed")
    assert places["g =~ speed"] == ("beta", speed, g)
    assert places["speed =~ x8"] == ("lambda", 7, speed)


def test_endogenous_factors_are_not_correlated_with_their_causes():
    table = state(TWO + "; g ~ f")
    assert "f ~~ g" not in table
    assert "g ~~ f" not in table


def test_outcomes_that_predict_nothing_are_correlated():
    table = added(THREE + "; y1 ~ f; y2 ~ f; y3 ~ y2")
    assert table["y1 ~~ y3"] == "free"
    assert "y1 ~~ y2" not in table


def test_moments_of_observed_predictors_are_given():
    table = added(THREE + "; f ~ z + w; z ~ y1", mean_structure=True)
    given = {name for name, value in table.items() if value == "given"}
    assert given == {"w ~~ w", "y1 ~~ y1", "w ~~ y1", "w ~ 1", "y1 ~ 1"}
    assert table["z ~ 1"] == table["z ~~ z"] == "free"


def test_a_predictor_whose_moments_are_written_is_random():
    table = state("y1 ~ z + w; z ~~ z")
    assert table["z ~~ z"] == "free"
    assert table["w ~~ w"] == "given"
    assert table["z ~~ w"] == "free", "lavaan would take them as uncorrelated"
    assert state("y1 ~ z + w; z ~~ w") == {
        "y1 ~ z": "free", "y1 ~ w": "free", "z ~~ w": "free",
        "y1 ~~ y1": "free", "z ~~ z": "free", "w ~~ w": "free",
    }  # fmt: skip


def test_an_indicator_that_predicts_is_no_given_predictor():
    assert state(THREE + "; y1 ~ x1")["x1 ~~ x1"] == "free"


def test_the_only_item_of_a_factor_has_no_residual():
    table = state("f =~ x1; g =~ x2 + x3 + x4")
    assert (table["f =~ x1"], table["x1 ~~ x1"], table["f ~~ f"]) == (1.0, 0.0, "free")
    assert state("f =~ x1; g =~ x2 + x3 + x4; x1 ~~ 0.2*x1")["x1 ~~ x1"] == 0.2
    assert state("f =~ x1; g =~ x1 + x2 + x3")["x1 ~~ x1"] == "free"
    assert state(THREE + "; g =~ f")["f ~~ f"] == 0.0


@pytest.mark.parametrize(
    ("marker", "value"), [("a*x1", 1.0), ("start(0.8)*x1", 0.8), ("2*x1", 2.0), ("NA*x1", "free")]
)
def test_only_na_frees_a_marker(marker, value):
    table = rows(f"f =~ {marker} + x2 + x3")
    assert (table["f =~ x1"].value if not table["f =~ x1"].free else "free") == value
    assert table["f =~ x2"].free


def test_starting_values_are_kept():
    row = rows("f =~ x1 + start(0.4)*x2 + x3")["f =~ x2"]
    assert row.free
    assert row.value == 0.4


def test_one_parameter_written_twice_keeps_all_its_modifiers():
    table = rows("f =~ x1 + a*x2 + x3 + start(0.4)*x2")
    assert (table["f =~ x2"].label, table["f =~ x2"].value) == ("a", 0.4)


def test_equal_labels_share_a_number():
    table = rows("f =~ x1 + a*x2 + a*x3 + b*x4")
    assert table["f =~ x2"].free == table["f =~ x3"].free != table["f =~ x4"].free


def test_equalities_of_labels_chain():
    table = rows("f =~ x1 + a*x2 + b*x3 + c*x4 + d*x5; c == d; a == b; b == c")
    assert len({table[f"f =~ x{k}"].free for k in (2, 3, 4, 5)}) == 1
    assert count("f =~ x1 + a*x2 + b*x3 + c*x4 + d*x5; c == d; a == b; b == c") == 8 - 1


def test_equality_with_a_number_fixes_the_whole_class():
    table = state("f =~ x1 + a*x2 + b*x3 + c*x4; a == b; b == 2")
    assert (table["f =~ x2"], table["f =~ x3"], table["f =~ x4"]) == (2.0, 2.0, "free")


def test_equality_with_a_fixed_parameter_fixes():
    table = state("f =~ a*x1 + a*x2 + x3")
    assert (table["f =~ x1"], table["f =~ x2"], table["f =~ x3"]) == (1.0, 1.0, "free")


def test_equal_calls_a_parameter_by_what_it_is():
    table = rows('f =~ x1 + x2 + equal("f=~x2")*x3')
    assert table["f =~ x2"].free == table["f =~ x3"].free
    with pytest.raises(InputError, match="sets a parameter equal to 'f=~x9', which it does not"):
        rows('f =~ x1 + x2 + equal("f=~x9")*x3')


def test_numbers_follow_the_table():
    free = [row.free for row in build_model(HS, ITEMS).parameters if row.free]
    assert free == list(range(1, 22))


def test_a_structure_is_a_model():
    support = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    structure = Structure(support, X[:6], ("f", "g"))
    assert build_model(structure, ITEMS) == build_model(TWO, ITEMS)


def test_variables_are_sorted_into_observed_latent_and_eta():
    model = build_model(THREE + "; f ~ z; y1 ~ x2", ITEMS)
    assert model.observed == ("x1", "x2", "x3", "z", "y1")
    assert model.latent == ("f",)
    assert model.eta == ("f", "x2", "z", "y1")


@pytest.mark.parametrize(
    "order", ["x1 ~~ x2; x1 ~~ y1", "x1 ~~ y1; x1 ~~ x2", "x2 ~~ x1; y1 ~~ x1"]
)
def test_both_ends_of_a_covariance_sit_in_the_same_matrix(order):
    model = build_model(THREE + "; y1 ~ f; " + order, ITEMS)
    assert set(model.eta) == {"f", "x1", "x2", "y1"}
    places = dict(zip((row.name for row in model.parameters), model.places, strict=True))
    assert {places[name][0] for name in order.split("; ")} == {"psi"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f =~ x1 + x2 + X33", "`model` names 'X33', which is neither an item of the data nor a "
         "factor. Did you mean 'x3'?"),
        (THREE + "; y1 ~ q0q", "`model` names 'q0q', which is neither an item"),
        ("x1 =~ x2 + x3", "`model` uses 'x1' as a factor, but the data have an item of that name. "
         "Rename the factor."),
        ("f =~ x1 + a*x2; a == bb", "`model`, line 1, column 22: 'bb' is the label of no "
         "parameter. Known: a."),
        (THREE + "; a == 1", "`model`, line 1, column 20: 'a' is the label of no parameter. No "
         "parameter has a label."),
        ("f =~ f + x1", "`model` measures the factor 'f' by itself."),
        ("f =~ g + x1; g =~ f + x2", "`model` measures the factor 'f' by itself."),
        ("y1 ~ y1 + z", "`model` regresses 'y1' on itself."),
    ],
)  # fmt: skip
def test_refusals(text, message):
    with pytest.raises(InputError) as caught:
        build_model(text, ITEMS)
    assert str(caught.value).startswith(message)
    assert caught.value.argument == "model"
