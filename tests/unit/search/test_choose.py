"""The order of the contenders, and the sentence about it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dtstat.search.explain import explanation
from dtstat.search.ranking import best_first, contenders
from dtstat.search.records import Contender, Proposal, Scored

ONE = np.ones((6, 1), dtype=bool)
TWO = np.kron(np.eye(2), np.ones((3, 1))).astype(bool)
MOVED = TWO.copy()
MOVED[5] = [True, False]
NONE = np.zeros((6, 0), dtype=bool)


def contender(support, cost=0.0, held=math.nan, behind=math.nan, se=math.nan, fitted=True, k=None):
    parameters = int(support.sum()) + 6 if k is None else k
    return Contender(support, "test", -1.0, parameters, cost, cost, cost, held, behind, se, fitted)


def sentence(all_, criterion):
    return explanation(all_, best_first(all_, criterion), criterion)


@pytest.mark.parametrize("criterion", ["ebic", "bic", "aic"])
def test_least_cost_first(criterion):
    all_ = (contender(ONE, 3.0), contender(TWO, 1.0), contender(NONE, 2.0))
    assert best_first(all_, criterion) == [1, 2, 0]


def test_what_was_not_fitted_cannot_win():
    all_ = (contender(ONE, 3.0), contender(TWO, 1.0, fitted=False))
    assert best_first(all_, "ebic") == [0]
    assert sentence(all_, "ebic").startswith("1 factor")


@pytest.mark.parametrize("criterion", ["validation", "cv"])
def test_most_likely_held_out_first(criterion):
    all_ = (contender(ONE, 0.0, -2.0, 1.0, 0.1), contender(TWO, 9.0, -1.0, 0.0, 0.0))
    assert best_first(all_, criterion) == [1, 0]


def test_two_standard_errors_prefer_the_smaller_structure():
    best = contender(TWO, 0, -1.0, 0.0, 0.0, k=13)
    close = contender(ONE, 0, -1.1, 0.1, 0.06, k=12)
    far = contender(NONE, 0, -3.0, 2.0, 0.1, k=6)
    assert best_first((best, close, far), "validation_2se") == [1, 0, 2]
    clearly = contender(ONE, 0, -1.1, 0.1, 0.04, k=12)
    assert best_first((best, clearly, far), "validation_2se") == [0, 1, 2]


def test_two_standard_errors_take_the_likelier_of_equally_large_structures():
    worse = contender(MOVED, 0, -1.1, 0.1, 0.06, k=13)
    best = contender(TWO, 0, -1.0, 0.0, 0.0, k=13)
    assert best_first((worse, best), "validation_2se") == [1, 0]


@pytest.mark.parametrize("gap", [0.5, 3.0, 7.0, 3000.0])
@pytest.mark.parametrize("criterion", ["ebic", "bic", "aic"])
def test_sentence_gives_the_difference_and_no_grade(criterion, gap):
    all_ = (contender(TWO, 100.0), contender(ONE, 100.0 + gap))
    assert sentence(all_, criterion) == (
        f"2 factors by {criterion}, of 2 structures; best other structure found: 1 factor, "
        f"{criterion} {gap:.1f} higher."
    )


def test_sentence_counts_changed_loadings():
    all_ = (contender(TWO, 0.0), contender(MOVED, 3.0))
    assert "2 factors too, with 2 loadings changed, ebic 3.0 higher." in sentence(all_, "ebic")
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
    assert sentence(all_, "cv").endswith("1 factor, 0.1000 per row less likely (SE 0.0600).")
    assert sentence(all_, "validation_2se").endswith(
        "2 factors, 0.1000 per row more likely, but with more parameters (SE 0.0600)."
    )


def test_names_are_those_of_the_items():
    assert contender(ONE).structure(tuple("abcdef")).children("F1") == tuple("abcdef")


# --- likelihoods estimated from draws -----------------------------------------------------------

DOUBT = (
    "; best other structure found: 1 factor. The two differ by less than the Monte Carlo error of "
    "their likelihoods: examine both, or rerun with other seeds."
)


def estimated(support, behind, error, k=12):
    """A structure so many nats behind the best, known up to an error; all rows count."""
    cost = 2 * (100 + behind)
    return Contender(support, "test", -100 - behind + k, k, cost, cost, cost, monte_carlo_se=error)


@pytest.mark.parametrize("criterion", ["ebic", "bic", "aic"])
def test_contenders_closer_than_their_errors_are_in_doubt(criterion):
    """Twice √(2² + 1.5²) nats is the limit; criteria are twice the likelihood."""
    best = estimated(TWO, 0.0, 2.0)
    assert sentence((best, estimated(ONE, 4.9, 1.5)), criterion).endswith(DOUBT)
    clear = sentence((best, estimated(ONE, 5.1, 1.5)), criterion)
    assert "Monte Carlo" not in clear
    assert f"1 factor, {criterion} 10.2 higher" in clear


@pytest.mark.parametrize("errors", [(0.0, 1.0), (1.0, 0.0)])
def test_the_error_of_either_is_enough_for_doubt(errors):
    all_ = (estimated(TWO, 0.0, errors[0]), estimated(ONE, 1.9, errors[1]))
    assert sentence(all_, "ebic").endswith(DOUBT)


def test_exact_likelihoods_leave_no_such_doubt():
    all_ = (estimated(TWO, 0.0, 0.0), estimated(ONE, 0.0, 0.0))
    assert "Monte Carlo" not in sentence(all_, "ebic")


@pytest.mark.parametrize("criterion", ["validation", "cv", "validation_2se"])
def test_held_out_rows_are_in_doubt_by_the_error_of_their_mean(criterion):
    best = replace(contender(TWO, 0, -1.0, 0.0, 0.0, k=12), monte_carlo_se=0.03)
    second = contender(ONE, 0, -1.09, 0.09, 0.01, k=13)
    close, clear = (replace(second, monte_carlo_se=error) for error in (0.04, 0.01))
    assert sentence((best, close), criterion).endswith(DOUBT)
    assert "Monte Carlo" not in sentence((best, clear), criterion)


def test_only_the_runner_up_is_doubted():
    all_ = (estimated(TWO, 0.0, 0.1), estimated(ONE, 20.0, 0.1), estimated(MOVED, 21.0, 50.0))
    assert "Monte Carlo" not in sentence(all_, "ebic")


def test_two_standard_errors_prefer_the_smaller_of_structures_that_do_not_count_parameters():
    """Networks have no count; the smaller structure has fewer loadings and factors."""
    best = contender(TWO, math.nan, -1.0, 0.0, 0.0, k=math.nan)
    close = contender(ONE, math.nan, -1.1, 0.1, 0.06, k=math.nan)
    assert best_first((best, close), "validation_2se") == [1, 0]


class Sampled(Scored):
    """A structure whose log-likelihood is known to two nats."""

    monte_carlo_se = 2.0


@pytest.mark.parametrize("n", [1000, 100])
def test_likelihoods_that_differ_clearly_are_not_doubted(n):
    """Thirty nats against errors of two, whatever the rows count as."""
    pair = [Sampled(Proposal(s, "test"), ll, 1000) for s, ll in ((ONE, -5030.0), (TWO, -5000.0))]
    found = contenders(pair, (), n, None)
    assert sentence(found, "aic").startswith("2 factors")
    assert "Monte Carlo" not in sentence(found, "aic")


@pytest.mark.parametrize("n", [1000, 100])
def test_likelihoods_that_hardly_differ_are_doubted(n):
    pair = [Sampled(Proposal(s, "test"), ll, 1000) for s, ll in ((MOVED, -5003.0), (TWO, -5000.0))]
    found = contenders(pair, (), n, None)
    assert "differ by less than the Monte Carlo error" in sentence(found, "ebic")
