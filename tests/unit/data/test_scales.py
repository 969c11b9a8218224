"""Answers that are texts, put in order."""

import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.errors import InputError
from dtstat.data.columns import choose_columns
from dtstat.data.scales import SCALES, numbers_of_texts, order_texts, plain

KNOWN = [
    "Strongly disagree, Disagree, Neither agree nor disagree, Agree, Strongly agree",
    "Strongly disagree, Somewhat disagree, Neither agree nor disagree, Somewhat agree, "
    "Strongly agree",
    "Strongly disagree, Disagree, Somewhat disagree, Neither agree nor disagree, Somewhat agree, "
    "Agree, Strongly agree",
    "Disagree strongly, Disagree a little, Neutral, Agree a little, Agree strongly",
    "Strongly disagree, Disagree, Agree, Strongly agree",
    "Never, Rarely, Sometimes, Often, Always",
    "Never, Almost never, Sometimes, Fairly often, Very often",
    "Not at all, Several days, More than half the days, Nearly every day",
    "Very slightly or not at all, A little, Moderately, Quite a bit, Extremely",
    "Not at all, A little, A moderate amount, Very much, An extreme amount",
    "Very inaccurate, Moderately inaccurate, Neither accurate nor inaccurate, Moderately accurate, "
    "Very accurate",
    "Not at all like me, Not much like me, Somewhat like me, Mostly like me, Very much like me",
    "Not like me at all, Not like me, A little like me, Somewhat like me, Like me, "
    "Very much like me",
    "Not at all true, Hardly true, Moderately true, Exactly true",
    "Extremely dissatisfied, Somewhat dissatisfied, Neither satisfied nor dissatisfied, "
    "Somewhat satisfied, Extremely satisfied",
    "Very unlikely, Unlikely, Neutral, Likely, Very likely",
    "Poor, Fair, Good, Very good, Excellent",
    "Not at all important, Slightly important, Moderately important, Very important, "
    "Extremely important",
    "No, Yes",
    "False, True",
]


@pytest.mark.parametrize("text", KNOWN)
def test_known_scales(text):
    levels = text.split(", ")
    column = pd.Series([*reversed(levels), None])
    ordered = order_texts({"a": column}, None)
    assert ordered.columns["a"].cat.categories.tolist() == levels
    assert ordered.columns["a"].cat.ordered
    assert ordered.columns["a"].cat.codes.tolist() == [*reversed(range(len(levels))), -1]


def test_no_scale_contradicts_another():
    """Two texts stand in one order wherever both are used, and no text twice in a scale."""
    order = {}
    for scale in SCALES:
        places = [(text, k) for k, texts in enumerate(scale) for text in texts]
        assert len(dict(places)) == len(places), scale
        for one, i in places:
            for other, j in places:
                if i < j:
                    assert order.setdefault(frozenset((one, other)), one) == one, (
                        one,
                        other,
                        scale,
                    )


def test_case_blanks_and_apostrophes_do_not_count():
    assert plain("Don’t  Know ") == plain("don't know.")
    column = pd.Series(["STRONGLY  agree", "strongly agree", "Agree ", "disagree"])
    ordered = order_texts({"a": column}, None).columns["a"]
    assert ordered.cat.codes.tolist()[0] == ordered.cat.codes.tolist()[1]


def test_a_column_that_lacks_answers_takes_the_scale_of_the_others():
    five = pd.Series(["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"])
    short = pd.Series(["Disagree", "Neutral", "Agree", "Agree", None])
    columns = {f"q{k}": five for k in range(4)} | {"short": short}
    ordered = order_texts(columns, None)
    assert ordered.columns["short"].cat.codes.tolist() == [1, 2, 3, 3, -1]
    assert len(ordered.orders) == 1
    alone = order_texts({"short": short}, None)
    assert alone.columns["short"].cat.codes.tolist() == [0, 1, 2, 2, -1]


def test_items_of_five_and_of_seven_places_keep_their_own():
    five = pd.Series(["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"] * 2)
    seven = pd.Series([*five[:5], "Slightly agree", "Slightly disagree", *five[:3]])
    ordered = order_texts({"a": five, "b": five, "c": seven, "d": seven, "e": seven}, None)
    assert [len(ordered.columns[k].cat.categories) for k in "abcde"] == [5, 5, 7, 7, 7]


def test_two_words_for_one_place_are_not_guessed_at():
    column = pd.Series(["Neutral", "Undecided", "Agree", "Disagree"])
    assert order_texts({"a": column}, None).unordered == ["a"]


def test_levels_of_the_user():
    a = pd.Series(["low", "HIGH", "mid"])
    other = pd.Series(["yes", "no", "no"])
    ordered = order_texts({"a": a, "b": other}, ["low", "mid", "high"])
    assert ordered.columns["a"].cat.codes.tolist() == [0, 2, 1]
    assert ordered.columns["b"].cat.codes.tolist() == [1, 0, 0]
    ordered = order_texts({"a1": a, "a2": a, "b": other}, {"a1-a2": ["high", "mid", "low"]})
    assert ordered.columns["a2"].cat.codes.tolist() == [2, 0, 1]
    with pytest.raises(InputError, match="every answer of item 'a'; got 'mid'"):
        order_texts({"a": a}, {"a": ["low", "high"]})
    with pytest.raises(InputError, match="two or more different answers"):
        order_texts({"a": a}, ["low"])


def test_texts_without_an_order_are_refused_where_they_are_asked_for(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("town,q\nBonn,1\nKiel,2\n")
    with pytest.raises(
        InputError, match=r"'town' holds texts .*levels=\{\"town\": \[\"Kiel\", \"Bonn\"\]"
    ):
        dt.read_survey(file, columns="town, q")
    with pytest.warns(dt.DataWarning, match="read as ordered categories: Kiel < Bonn"):
        frame = dt.read_survey(file, levels={"town": ["Kiel", "Bonn"]})
    assert dt.items(frame).kinds == ("binary", "binary")


@pytest.mark.parametrize(
    "texts",
    [["1 - never", "2", "3 - always"], ["1=never", "2 = now and then", "3= always"],
     ["1 (never)", "2", "3 (always)"], ["1\nnever", "2", "3\nalways"],
     ["1. never", "2.0", "3. always"]],
)  # fmt: skip
def test_texts_that_begin_with_their_number(texts):
    column, labels = numbers_of_texts(pd.Series([*texts, None]))
    assert column.tolist()[:3] == [1, 2, 3]
    assert (labels[1.0], labels[3.0]) == ("never", "always")


@pytest.mark.parametrize(
    "texts",
    [["18-24", "25-34"], ["2 children", "3 children"], ["1 a", "1 b"], ["1", "2"], ["a", "1 b"]],
)
def test_texts_that_merely_have_numbers(texts):
    assert numbers_of_texts(pd.Series(texts)) is None


NAMES = ["A1", "A2", "C1", "C2", "C10", "C1_time", "pre-test", "a,b", "x"]


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ("A*, C1-C2", ["A1", "A2", "C1", "C2"]),
        ("C1-C10", ["C1", "C2", "C10"]),
        ("C10-1", ["C1", "C2", "C10"]),
        ("pre-test", ["pre-test"]),
        ("a,b", ["a,b"]),
        (["x", "A*,C2"], ["x", "A1", "A2", "C2"]),
        ("C?", ["C1", "C2"]),
        ("A2-C2", ["A2", "C1", "C2"]),  # as they stand in the file
    ],
)
def test_columns_are_chosen_by_names_patterns_and_ranges(wanted, chosen):
    assert choose_columns(NAMES, wanted) == chosen


@pytest.mark.parametrize("wanted", ["C1-C3", "A1-C3", "Q*", "-", " , "])
def test_columns_that_are_not_there(wanted):
    with pytest.raises(InputError) as caught:
        choose_columns(NAMES, wanted, "drop")
    assert caught.value.argument == "drop"
    assert "`drop`" in str(caught.value)
