"""The search for the minimum: scoring, BFGS, and what happens where there is none."""

import numpy as np
import pytest

from dtstat.sem.matrices import Layout, NotPositiveDefiniteError
from dtstat.sem.model import build_model
from dtstat.sem.normal import expected_information, objective
from dtstat.sem.optimize import minimize
from dtstat.sem.rows import complete_sample
from dtstat.sem.search import starting_values

# The search ends where the objective is expected to fall by less than 1e-13.
MINIMUM = 1e-6
BOTH = ("Fisher scoring", "L-BFGS, then scoring")


def quadratic(A, b):
    def value(theta):
        d = theta - b
        return 0.5 * float(d @ A @ d), A @ d

    return value


def rosenbrock(theta):
    x, y = theta
    value = 0.5 * (10 * (y - x * x)) ** 2 + 0.5 * (1 - x) ** 2
    return value, np.array([-200 * x * (y - x * x) - (1 - x), 100 * (y - x * x)])


def rosenbrock_information(theta):
    """Gauss–Newton: what Fisher's information is to a likelihood."""
    J = np.array([[-20 * theta[0], 10.0], [-1.0, 0.0]])
    return J.T @ J


def test_a_quadratic_takes_one_step():
    A, b = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([5.0, -7.0])
    found = minimize(quadratic(A, b), lambda _: A, [np.zeros(2)])
    np.testing.assert_allclose(found.theta, b, atol=MINIMUM)
    assert found.converged
    assert found.iterations == 2
    assert found.tried == ("start 1, Fisher scoring",)
    assert found.value == pytest.approx(0.0, abs=1e-12)


def test_wrong_information_only_costs_steps():
    A, b = np.diag([1.0, 100.0, 1e4]), np.array([1.0, 2.0, 3.0])
    found = minimize(quadratic(A, b), lambda _: np.eye(3) * 300, [np.zeros(3)])
    assert found.converged
    np.testing.assert_allclose(found.theta, b, atol=MINIMUM)


@pytest.mark.parametrize("start", [(-1.2, 1.0), (0.0, 0.0), (30.0, -40.0), (-3.0, 1e3)])
def test_a_curved_valley_is_followed(start):
    found = minimize(rosenbrock, rosenbrock_information, [np.array(start)])
    assert found.converged
    np.testing.assert_allclose(found.theta, [1.0, 1.0], atol=1e-5)


def test_a_direction_without_information_stays_where_it_is():
    A = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    found = minimize(quadratic(A, np.array([2.0, 1.0, 0.0])), lambda _: A, [np.array([0, 0, 9.0])])
    assert found.converged
    assert found.theta[:2].sum() == pytest.approx(3.0, abs=MINIMUM)
    assert found.theta[0] == pytest.approx(found.theta[1], abs=MINIMUM)
    assert found.theta[2] == 9.0


@pytest.mark.parametrize("size", [1e-12, 1e-6, 1e6, 1e12])
def test_the_scale_of_a_parameter_does_not_matter(size):
    A = np.array([[3.0, 1.0], [1.0, 2.0]]) / np.outer([size, 1.0], [size, 1.0])
    b = np.array([5.0 * size, -7.0])
    found = minimize(quadratic(A, b), lambda _: A, [np.zeros(2)])
    assert found.converged
    np.testing.assert_allclose(found.theta, b, rtol=MINIMUM)


def barrier(theta):
    """−log(x) + x, defined for x > 0 only; the first full step from far right leaps below 0."""
    x = float(theta[0])
    if x <= 0:
        raise NotPositiveDefiniteError
    return x - np.log(x), np.array([1 - 1 / x])


def test_steps_into_the_impossible_are_halved():
    found = minimize(barrier, lambda theta: np.array([[1 / theta[0] ** 2]]), [np.array([50.0])])
    assert found.converged
    assert found.theta[0] == pytest.approx(1.0, abs=MINIMUM)


def test_singular_matrices_on_the_way_are_impossible_points_too():
    def singular(theta):
        if theta[0] <= 0:
            raise np.linalg.LinAlgError
        return barrier(theta)

    found = minimize(singular, lambda theta: np.array([[1 / theta[0] ** 2]]), [np.array([50.0])])
    assert found.theta[0] == pytest.approx(1.0, abs=MINIMUM)


def test_values_that_are_not_finite_are_no_progress():
    def cliff(theta):
        value, g = barrier(np.maximum(theta, 1e-3))
        return (value, g) if theta[0] > 0 else (np.nan, np.full(1, np.nan))

    found = minimize(cliff, lambda theta: np.array([[1 / theta[0] ** 2]]), [np.array([50.0])])
    assert found.converged
    assert found.theta[0] == pytest.approx(1.0, abs=MINIMUM)


def test_the_second_start_is_tried_if_the_first_is_impossible():
    starts = [np.array([-1.0]), np.array([3.0])]
    found = minimize(barrier, lambda theta: np.array([[1 / theta[0] ** 2]]), starts)
    assert found.converged
    assert found.theta[0] == pytest.approx(1.0, abs=MINIMUM)
    assert found.tried == tuple(f"start {k}, {way}" for k in (1, 2) for way in BOTH)


def test_no_possible_start_is_reported():
    start = np.array([-1.0])
    found = minimize(barrier, lambda _: np.eye(1), [start, start])
    assert not found.converged
    assert found.iterations == 0
    assert found.value == np.inf
    assert found.tried == tuple(f"start {k}, {way}" for k in (1, 2) for way in BOTH)


def test_an_objective_without_minimum_does_not_converge():
    def slope(theta):
        return -float(theta[0]), np.array([-1.0])

    found = minimize(slope, lambda _: np.eye(1), [np.zeros(1)])
    assert not found.converged
    assert found.value < 0
    assert found.tried == tuple(f"start 1, {way}" for way in BOTH)


def test_a_search_that_did_not_converge_is_never_passed_off_as_one_that_did():
    """One side falls for ever, the other has a minimum that is higher."""

    def two_sided(theta):
        x = float(theta[0])
        if x < 0:
            return x, np.array([1.0])
        return 0.5 * (x - 3) ** 2 + 1, np.array([x - 3])

    found = minimize(two_sided, lambda _: np.eye(1), [np.array([-1.0]), np.array([5.0])])
    assert found.converged
    np.testing.assert_allclose(found.theta, [3.0], atol=MINIMUM)
    assert found.value == pytest.approx(1.0)
    assert len(found.tried) == 4


ITEMS = tuple(f"x{k}" for k in range(1, 7))
TWO = "f =~ x1 + x2 + x3; g =~ x4 + x5 + x6"


def exact(text=TWO):
    """A model and the covariances it implies, which it must find again."""
    layout = Layout(build_model(text, ITEMS))
    free = {row.name: row.free for row in layout.model.parameters if row.free}
    theta = np.full(layout.model.n_free, 0.9)
    theta[free["f ~~ g"] - 1] = -0.3
    theta[free["f =~ x2"] - 1] = -0.6
    return layout, theta, layout.implied(theta).Sigma


def search(layout, S, starts):
    sample = complete_sample(S, None, 100)
    return minimize(
        lambda theta: objective(sample, layout, theta),
        lambda theta: expected_information(sample, layout, theta),
        starts,
    )


@pytest.mark.parametrize("which", [0, 1])
def test_both_starting_values_lead_to_the_exact_solution(which):
    layout, theta, S = exact()
    start = starting_values(layout.model, [(S, np.zeros(6))])[which]
    found = search(layout, S, [start])
    assert found.converged
    np.testing.assert_allclose(found.theta, theta, atol=1e-5)


def test_far_starts_reach_a_solution_as_good():
    """Some are so far that the curvature there says nothing of the way; no answer is wrong."""
    layout, _, S = exact()
    best = 0.5 * (np.linalg.slogdet(S)[1] + 6)
    values = []
    for seed in range(40):
        away = np.random.default_rng(seed).uniform(0, 5, layout.model.n_free)
        away[-1] = 0.0  # the covariance of the factors, which must stay below their variances
        start = starting_values(layout.model, [(S, np.zeros(6))])[0] + away
        found = search(layout, S, [start])
        values += [found.value] * found.converged
    assert len(values) >= 38
    np.testing.assert_allclose(values, best, rtol=0, atol=1e-9)


def test_of_two_minima_the_lower_one_is_found_in_any_units():
    """Where scoring ends nowhere, all ways are tried: which comes first may depend on units."""

    def two_valleys(theta, unit):  # minima at 0 and 4, the second lower; no end from -3
        x = theta[0] / unit
        if x < -2:
            return 10.0 + x, np.array([1.0 / unit])
        value = 0.05 * x**2 * (x - 4) ** 2 - 0.1 * x
        return value, np.array([0.1 * x * (x - 4) * (2 * x - 4) - 0.1]) / unit

    ends = []
    for unit in (1e-3, 1.0, 1e3):
        found = minimize(
            lambda theta, unit=unit: two_valleys(theta, unit),
            lambda _, unit=unit: np.eye(1) / unit**2,
            [np.array([-3.0]) * unit, np.array([-0.5]) * unit, np.array([4.5]) * unit],
        )
        assert found.converged
        ends.append(found.theta[0] / unit)
    np.testing.assert_allclose(ends, ends[0], atol=1e-6)
    assert ends[0] == pytest.approx(4.06, abs=0.02)


def test_starting_values_obey_the_user_and_the_signs_of_the_data():
    layout, _, S = exact("f =~ x1 + x2 + start(7)*x3; g =~ x4 + x5 + x6; f ~~ start(0.2)*g")
    rows = [row for row in layout.model.parameters if row.free]
    for start in starting_values(layout.model, [(S, np.zeros(6))]):
        value = {row.name: start[row.free - 1] for row in rows}
        assert value["f =~ x3"] == 7.0
        assert value["f ~~ g"] == 0.2
        assert value["f =~ x2"] < 0 < value["g =~ x5"]
        assert value["x1 ~~ x1"] == pytest.approx(0.5 * S[0, 0])


def test_of_equal_parameters_the_first_one_starts():
    model = build_model("f =~ x1 + a*x2 + a*x3 + start(0.3)*x2 + start(0.9)*x3", ITEMS)
    start = starting_values(model, [(np.eye(3) + 0.3, np.zeros(3))])[0]
    assert start[0] == 0.3


def test_starting_means_are_the_sample_means():
    model = build_model(TWO, ITEMS, mean_structure=True)
    start = starting_values(model, [(np.eye(6) + 0.3, np.arange(6.0))])[0]
    np.testing.assert_array_equal(start[-6:], np.arange(6.0))


def test_starting_values_of_all_kinds_of_models_have_a_proper_covariance():
    texts = [
        TWO,
        "f =~ x1 + x2; g =~ x3 + x4; h =~ x5 + x6; t =~ f + g + h",
        "f =~ x1 + x2 + x3; f ~ x4; x5 ~ f + x6; x6 ~~ x6; x4 ~~ x4",
        "f =~ NA*x1 + x2 + x3 + x4 + x5 + x6; f ~~ 1*f",
        "f =~ x1; g =~ x2 + x3 + x4 + x5 + x6",
    ]
    S = exact()[2]
    for text in texts:
        layout = Layout(build_model(text, ITEMS))
        for start in starting_values(layout.model, [(S, np.zeros(6))]):
            assert np.linalg.eigvalsh(layout.implied(start).Sigma)[0] > 0, text
