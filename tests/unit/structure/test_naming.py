"""Names that users give to factors, and words that their items share."""

import pytest

from dtstat.core.errors import InputError
from dtstat.structure.naming import new_names, suggest_names, turned
from dtstat.structure.structure import Structure

FACTORS, ITEMS = ("F1", "F2"), ("x1", "x2", "x3", "x4")


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"F2": "speed"}, ("F1", "speed")),
        (["a", "b"], ("a", "b")),
        ({"F1": "F2", "F2": "F1"}, ("F2", "F1")),
        ({}, FACTORS),
    ],
)
def test_some_or_all_factors_get_new_names(given, names):
    assert new_names(given, FACTORS, ITEMS) == names


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"F3": "a"}, "no factor 'F3'"),
        ({"F1": "F2"}, "'F2' occurs twice"),
        (["a"], "must have 2 names, one per factor; got 1"),
        (["a", " "], "empty name"),
        (["a", "x3"], "'x3' is an item"),
        (["a", "\ud800"], "surrogate"),
        (3, "a list of names"),
    ],
)
def test_names_that_cannot_be_are_refused(given, words):
    with pytest.raises(InputError, match=words):
        new_names(given, FACTORS, ITEMS)


def test_one_factor_may_be_named_by_a_text():
    assert new_names("general", ["F1"], ITEMS) == ("general",)


def test_a_factor_that_has_an_items_name_already_keeps_it():
    assert new_names({"F2": "b"}, ["x1", "F2"], ITEMS) == ("x1", "b")


def test_factors_to_turn_round_are_known():
    assert turned("F2", FACTORS) == (False, True)
    assert turned([], FACTORS) == (False, False)
    with pytest.raises(InputError, match="no factor 'x1'"):
        turned(["x1"], FACTORS)


PAIRS = Structure.from_keys({"A": ["a1", "a2", "a3"], "B": ["b1", "b2"]})


def test_words_are_those_that_two_items_share_and_other_factors_less():
    texts = {
        "a1": "I worry about the future",
        "a2": "My worries keep me awake",
        "a3": "Worrying is what I do with people",
        "b1": "People like me",
        "b2": "I like people around me",
    }
    assert suggest_names(PAIRS, texts) == {"A": "Worry", "B": "People"}


def test_a_word_that_both_factors_share_as_much_names_neither():
    texts = {
        "a1": "timed adding",
        "a2": "timed code",
        "a3": "timed dots",
        "b1": "timed",
        "b2": "timed",
    }
    assert suggest_names(PAIRS, texts) == {}


def test_nothing_is_said_of_other_languages():
    german = {
        "a1": "Ich mache mir oft Sorgen um die Zukunft",
        "a2": "Meine Sorgen halten mich nachts wach",
        "a3": "Sorgen begleiten mich durch den Tag",
        "b1": "Ich bin gern unter vielen Leuten",
        "b2": "Andere Leute finden mich gesellig",
    }
    assert suggest_names(PAIRS, german) == {}
    assert suggest_names(PAIRS, {"a1": "Ängste", "a2": "Ängste"}) == {}
