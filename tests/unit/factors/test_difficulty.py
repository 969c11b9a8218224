"""Factors that appear to reflect item difficulty."""

import numpy as np
import pytest
from scipy.special import ndtri

import dtstat as dt
from dtstat.core.errors import EstimationWarning
from dtstat.dependence.spearman import spearman
from dtstat.factors.copula import fit_factors
from dtstat.factors.difficulty import DifficultyPair, difficulty_pairs

SPREAD = np.linspace(0.1, 0.9, 10)
HALVES = np.repeat(np.eye(2, dtype=bool), 5, axis=0)


def answers(shares, phi=1.0, seed=1, n=500, levels=2):
    """Items of two factors, the first half of the first, with these shares of the lowest answer."""
    rng = np.random.default_rng(seed)
    p = len(shares)
    common = rng.normal(size=(n, 1))
    Z = np.sqrt(phi) * common + np.sqrt(1 - phi) * rng.normal(size=(n, 2))
    Y = 0.7 * np.repeat(Z, p // 2, axis=1) + np.sqrt(0.51) * rng.normal(size=(n, p))
    steps = 0.6 * np.arange(levels - 1)
    return (Y[:, :, None] > (ndtri(shares)[:, None] + steps)).sum(axis=2).astype(float)


def pairs_of(X, support=HALVES):
    R = 2 * np.sin(np.pi / 6 * spearman(X))
    return difficulty_pairs(X, support, fit_factors(R, len(X), support))


@pytest.mark.parametrize("levels", [2, 3])
def test_one_factor_split_by_difficulty_is_seen(levels):
    (found,) = pairs_of(answers(SPREAD, levels=levels))
    assert (found.easier, found.harder) == (0, 1)
    assert found.correlation > 0.9


@pytest.mark.parametrize(
    "X",
    [
        answers(SPREAD, phi=0.5),  # two factors, although one is easy and the other hard
        answers(np.full(10, 0.5)),  # one factor, but equally hard items
        answers(np.tile(SPREAD[::2], 2)),  # one factor, both halves as hard
        answers(SPREAD, levels=4),  # answers enough
    ],
    ids=["two factors", "equal", "alike", "four answers"],
)
def test_other_factors_do_not_follow_difficulty(X):
    assert pairs_of(X) == ()


def test_directions_of_items_and_columns_do_not_matter():
    X = answers(SPREAD)
    (plain,) = pairs_of(X)
    turned = X.copy()
    turned[:, [0, 3, 7, 8]] = 1 - turned[:, [0, 3, 7, 8]]
    (found,) = pairs_of(turned)
    assert found.correlation == pytest.approx(plain.correlation, abs=1e-4)
    (swapped,) = pairs_of(X, HALVES[:, ::-1])
    assert swapped == DifficultyPair(1, 0, pytest.approx(plain.correlation, abs=1e-4))


def test_gaps_change_little():
    X = answers(SPREAD)
    (whole,) = pairs_of(X)
    X[np.random.default_rng(3).random(X.shape) < 0.05] = np.nan
    estimate = fit_factors(dt.dependence(X, "polychoric").values, len(X), HALVES)
    (found,) = difficulty_pairs(X, HALVES, estimate)
    assert found.correlation == pytest.approx(whole.correlation, abs=0.05)


def test_an_item_with_more_answers_among_them_is_no_matter_of_difficulty():
    X = answers(SPREAD)
    X[:, 2] += np.random.default_rng(1).integers(0, 4, len(X))
    assert pairs_of(X) == ()


def test_fit_warns_and_keeps_the_warning():
    X = answers(SPREAD)
    with pytest.warns(EstimationWarning, match="appear to reflect item difficulty") as caught:
        fit = dt.fit(X)
    (warning,) = [one for one in caught if "item difficulty" in str(one.message)]
    assert warning.filename == __file__
    assert str(warning.message) in fit.notes
    assert "(items of F1 are easier than those of F2)" in str(warning.message)
    assert "use fit(data, measure='polychoric')" in str(warning.message)
    assert dt.fit(X, measure="polychoric").n_factors == 1


def test_a_given_structure_is_not_doubted():
    X = answers(SPREAD)
    names = [f"x{k}" for k in range(1, 11)]
    structure = dt.Structure.from_keys({"easy": names[:5], "hard": names[5:]}, names)
    assert not [note for note in dt.fit(X, structure=structure).notes if "item difficulty" in note]
