"""Normal scores of an item: a rising map, its slope, and the way back."""

import numpy as np
import pytest

from dtstat.curves.scales import AnswerScale, NormalScores

NAN = np.nan
RNG = np.random.default_rng(0)
SKEWED = np.exp(RNG.normal(size=400))


@pytest.fixture
def scores():
    return NormalScores.learn(np.append(SKEWED, NAN))


def test_scores_are_standard_and_in_the_order_of_the_answers(scores):
    y = scores.encode(SKEWED)
    assert y.mean() == pytest.approx(0, abs=0.01)
    assert y.std() == pytest.approx(1, abs=0.01)
    np.testing.assert_array_equal(np.argsort(y), np.argsort(SKEWED))
    assert np.corrcoef(y, np.log(SKEWED))[0, 1] > 0.995


def test_answers_come_back_even_from_beyond(scores):
    x = np.array([-3.0, 0.0, 0.2, 1.0, 7.0, 20.0, 500.0])
    np.testing.assert_allclose(scores.decode(scores.encode(x)), x, rtol=1e-9, atol=1e-9)


def test_slopes_are_those_of_the_map(scores):
    x = np.array([-2.0, 0.3, 1.1, 4.0, 60.0])
    step = 1e-6
    slope = (scores.encode(x + step) - scores.encode(x - step)) / (2 * step)
    np.testing.assert_allclose(scores.log_slope(x), np.log(slope), atol=1e-5)


def test_an_answer_far_out_is_no_miracle(scores):
    """A thousand times the largest answer: a few scores farther, not hundreds."""
    assert scores.encode(np.array([1000 * SKEWED.max()]))[0] < 15


def test_an_item_turned_round_has_its_scores_turned_round(scores):
    turned = NormalScores.learn(-SKEWED)
    x = np.concatenate([SKEWED, [0.01, 2.34, 90.0]])
    np.testing.assert_allclose(turned.encode(-x), -scores.encode(x), atol=1e-9)
    np.testing.assert_allclose(turned.log_slope(-x), scores.log_slope(x), atol=1e-9)


def test_missing_answers_have_no_score(scores):
    assert np.isnan(scores.encode(np.array([NAN]))).all()


def test_ties_share_a_score():
    x = np.repeat([0.0, 1.0, 5.0], [50, 30, 20])
    y = NormalScores.learn(x).encode(x)
    assert len(np.unique(y)) == 3
    assert (y**2).mean() == pytest.approx(1)


def test_densities_by_scores_integrate_to_one():
    """φ(h(x)) h'(x) over all x."""
    scores = NormalScores.learn(SKEWED)
    x = np.linspace(-40, 400, 2_000_001)
    density = np.exp(-0.5 * scores.encode(x) ** 2 + scores.log_slope(x)) / np.sqrt(2 * np.pi)
    assert density.sum() * (x[1] - x[0]) == pytest.approx(1, abs=0.005)


def test_mean_answers_are_averaged_over_the_noise():
    """E exp(η + √ω u) = exp(η + ω/2), not exp(η)."""
    x = np.exp(np.random.default_rng(1).normal(size=20_000))
    scale = AnswerScale.learn(x[:, None], (None,), np.array([True]))
    eta = np.array([-1.0, 0.0, 0.8])
    np.testing.assert_allclose(scale.mean_answers(0, eta, 0.3), np.exp(eta + 0.15), rtol=0.05)
