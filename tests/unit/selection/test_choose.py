"""The order of the contenders, and the sentence about it."""

import math

import numpy as np
import pytest

from dtstat.selection.choose import Contender, explanation, ranking

ONE = np.ones((6, 1), dtype=bool)
TWO = np.kron(np.eye(2), np.ones((3, 1))).astype(bool)
MOVED = TWO.copy()
MOVED[5] = [True, False]
NONE = np.zeros((6, 0), dtype=bool)


def contender(support, cost=0.0, held=math.nan, behind=math.nan, se=math.nan, fitted=True, k=None):
    parameters = int(support.sum()) + 6 if k is None else k
    return Contender(support, "test", -1.0, parameters, cost, cost, cost, held, behind, se, fitted)


def sentence(contenders, criterion):
    return explanation(contenders, ranking(contenders, criterion), criterion)


@pytest.mark.parametrize("criterion", ["ebic", "bic", "aic"])
def test_least_cost_first(criterion):
    all_ = (contender(ONE, 3.0), contender(TWO, 1.0), contender(NONE, 2.0))
    assert ranking(all_, criterion) == [1, 2, 0]


def test_what_was_not_fitted_cannot_win():
    all_ = (contender(ONE, 3.0), contender(TWO, 1.0, fitted=False))
    assert ranking(all_, "ebic") == [0]
    assert sentence(all_, "ebic").startswith("1 factor")


@pytest.mark.parametrize("criterion", ["validation", "cv"])
def test_most_likely_held_out_first(criterion):
    all_ = (contender(ONE, 0.0, -2.0, 1.0, 0.1), contender(TWO, 9.0, -1.0, 0.0, 0.0))
    assert ranking(all_, criterion) == [1, 0]


def test_two_standard_errors_prefer_the_smaller_structure():
    best = contender(TWO, 0, -1.0, 0.0, 0.0, k=13)
    close = contender(ONE, 0, -1.1, 0.1, 0.06, k=12)
    far = contender(NONE, 0, -3.0, 2.0, 0.1, k=6)
    assert ranking((best, close, far), "validation_2se") == [1, 0, 2]
    clearly = contender(ONE, 0, -1.1, 0.1, 0.04, k=12)
    assert ranking((best, clearly, far), "validation_2se") == [0, 1, 2]


def test_two_standard_errors_take_the_likelier_of_equally_large_structures():
    worse = contender(MOVED, 0, -1.1, 0.1, 0.06, k=13)
    best = contender(TWO, 0, -1.0, 0.0, 0.0, k=13)
    assert ranking((worse, best), "validation_2se") == [1, 0]


@pytest.mark.parametrize(
    ("gap", "words"),
    [
        (0.5, "hardly any evidence"),
        (3.0, "some evidence"),
        (7.0, "strong evidence"),
        (11.0, "very strong evidence"),
    ],
)
@pytest.mark.parametrize("criterion", ["ebic", "bic"])
def test_sentence_grades_the_evidence(criterion, gap, words):
    all_ = (contender(TWO, 100.0), contender(ONE, 100.0 + gap))
    assert sentence(all_, criterion) == (
        f"2 factors by {criterion}, of 2 structures; runner-up: 1 factor, {gap:.1f} higher "
        f"({words})."
    )


def test_aic_gives_no_grade():
    all_ = (contender(NONE, 1.0), contender(ONE, 4.0))
    assert sentence(all_, "aic") == (
        "no factor by aic, of 2 structures; runner-up: 1 factor, 3.0 higher."
    )


def test_sentence_counts_changed_loadings():
    all_ = (contender(TWO, 0.0), contender(MOVED, 3.0))
    assert "2 factors too, with 2 loadings changed, 3.0 higher (some evidence)" in sentence(
        all_, "ebic"
    )
    added = TWO.copy()
    added[0, 1] = True
    all_ = (contender(TWO, 0.0), contender(added, 3.0))
    assert "with 1 loading changed" in sentence(all_, "ebic")


@pytest.mark.parametrize("criterion", ["ebic", "validation_2se", "cv"])
def test_sentence_about_a_single_contender(criterion):
    all_ = (contender(ONE, 0.0, -1.0, 0.0, 0.0),)
    assert sentence(all_, criterion) == "1 factor; no other structure was possible."


def test_sentence_about_held_out_rows():
    all_ = (contender(TWO, 0, -1.0, 0.0, 0.0, k=13), contender(ONE, 0, -1.1, 0.1, 0.06, k=12))
    assert sentence(all_, "cv").endswith("1 factor, 0.1000 a row less likely (SE 0.0600).")
    assert sentence(all_, "validation_2se").endswith(
        "2 factors, 0.1000 a row more likely, but with more parameters (SE 0.0600)."
    )


def test_names_are_those_of_the_items():
    assert contender(ONE).structure(tuple("abcdef")).children("F1") == tuple("abcdef")
