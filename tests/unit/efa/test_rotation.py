"""Rotations, and the comparison of solutions."""

import numpy as np
import pandas as pd
import pytest

from dtstat.core.errors import InputError
from dtstat.core.loading_tables import item_complexity, table_order
from dtstat.efa.congruence import compare_solutions, congruence
from dtstat.efa.rotation import (
    ROTATIONS,
    arrange,
    oblimin,
    promax,
    quartimin,
    rotate,
    varimax,
)
from dtstat.structure.structure import Structure

# Iterations stop at angles of 1e-10 and slopes of 1e-7.
ROTATED_TOL = 1e-5
ROUNDING_TOL = 1e-10


def simple(d=3, per_factor=4):
    rng = np.random.default_rng(3)
    P = np.kron(np.eye(d), np.ones((per_factor, 1)))
    return P * rng.uniform(0.5, 0.9, size=P.shape)


def random_turn(d, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]


def messy(seed=0, p=15, d=4):
    return np.random.default_rng(seed).uniform(-0.6, 0.8, size=(p, d))


def varimax_criterion(V):
    squares = V**2
    return float(np.sum((squares**2).mean(axis=0) - squares.mean(axis=0) ** 2))


@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("d", [1, 2, 4])
def test_rotation_keeps_what_the_factors_explain(rotation, d):
    L = messy(d=d)
    found = rotate(L, rotation)
    P, Phi = found.pattern, found.factor_correlations
    assert found.converged
    np.testing.assert_allclose(P @ Phi @ P.T, L @ L.T, atol=ROUNDING_TOL)
    np.testing.assert_allclose(np.diag(Phi), 1, atol=ROUNDING_TOL)


@pytest.mark.parametrize("rotation", ["oblimin", "promax", "varimax"])
def test_factors_are_in_order_and_point_up(rotation):
    found = rotate(messy(), rotation)
    P, Phi = found.pattern, found.factor_correlations
    assert (np.diff(np.diag(Phi @ P.T @ P)) <= 0).all()
    assert (P.sum(axis=0) >= 0).all()


@pytest.mark.parametrize("rotate_by", [varimax, promax, oblimin])
def test_orthogonal_simple_structure_is_recovered(rotate_by):
    P = arrange(rotate_by(simple())).pattern
    found = arrange(rotate_by(simple() @ random_turn(3))).pattern
    np.testing.assert_allclose(found, P, atol=ROTATED_TOL)
    np.testing.assert_allclose(np.sort(np.abs(P), axis=1)[:, :2], 0, atol=ROTATED_TOL)


def test_oblimin_recovers_correlated_simple_structure():
    P, Phi = simple(), np.array([[1, 0.5, 0.3], [0.5, 1, 0.2], [0.3, 0.2, 1]])
    L = P @ np.linalg.cholesky(Phi) @ random_turn(3)
    found = rotate(L, "oblimin")
    match = np.abs(congruence(found.pattern, P)).argmax(axis=0)
    np.testing.assert_allclose(found.pattern[:, match], P, atol=ROTATED_TOL)
    np.testing.assert_allclose(
        found.factor_correlations[np.ix_(match, match)], Phi, atol=ROTATED_TOL
    )


@pytest.mark.parametrize("normalize", [True, False])
def test_varimax_is_a_maximum(normalize):
    L = messy()
    scale = np.linalg.norm(L, axis=1, keepdims=True) if normalize else 1.0
    V = varimax(L, normalize).pattern / scale
    best = varimax_criterion(V)
    assert best > varimax_criterion(L / scale)
    for k, m in [(0, 1), (0, 3), (1, 2)]:
        for angle in (-1e-3, 1e-3):
            T = np.eye(4)
            T[[k, m], [k, m]] = np.cos(angle)
            T[k, m], T[m, k] = np.sin(angle), -np.sin(angle)
            assert varimax_criterion(V @ T) < best


def test_quartimin_gradient_is_that_of_finite_differences():
    P, step = messy(p=5, d=3), 1e-6
    numeric = np.empty_like(P)
    for place in np.ndindex(P.shape):
        e = np.zeros_like(P)
        e[place] = step
        numeric[place] = (quartimin(P + e)[0] - quartimin(P - e)[0]) / (2 * step)
    np.testing.assert_allclose(quartimin(P)[1], numeric, atol=1e-8)


def test_oblimin_lowers_the_criterion_and_more_starts_never_raise_it():
    for seed in range(5):
        L = messy(seed)
        values = [quartimin(oblimin(L, n).pattern)[0] for n in (1, 2, 8)]
        assert values[0] < quartimin(L)[0]
        assert values[0] >= values[1] - ROUNDING_TOL
        assert values[1] >= values[2] - ROUNDING_TOL


def test_oblimin_does_not_depend_on_the_start():
    L = messy(7)
    first, turned = (rotate(M, "oblimin").pattern for M in (L, L @ random_turn(4, 5)))
    np.testing.assert_allclose(first, turned, atol=ROTATED_TOL)


def test_oblimin_repeats_itself():
    np.testing.assert_array_equal(oblimin(messy()).pattern, oblimin(messy()).pattern)


def test_an_item_without_loadings_stays_so():
    L = messy()
    L[3] = 0
    for rotation in ROTATIONS:
        np.testing.assert_allclose(rotate(L, rotation).pattern[3], 0, atol=ROUNDING_TOL)


def test_rotating_leaves_the_argument_alone():
    L = messy()
    for rotation in ROTATIONS:
        rotate(L, rotation)
    np.testing.assert_array_equal(L, messy())
    assert L.flags.writeable


def test_unknown_rotation():
    with pytest.raises(InputError, match=r"`rotation`.*'varimax'"):
        rotate(messy(), "varimaks")


def test_complexity_and_order():
    P = np.array([[0.5, 0.5], [0.0, 0.7], [0.9, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(item_complexity(P), [2, 1, 1, np.nan])
    assert table_order(pd.DataFrame([[0.5, 0], [0, 0.7], [-0.9, 0]])) == [2, 0, 1]


def test_congruence_is_the_cosine():
    A, B = messy(0), messy(1, d=2)
    B[:, 1] = 0
    phi = congruence(A, B)
    expected = A[:, 2] @ B[:, 0] / np.sqrt((A[:, 2] @ A[:, 2]) * (B[:, 0] @ B[:, 0]))
    assert phi[2, 0] == pytest.approx(expected)
    assert not phi[:, 1].any()


def frame(P, factors="ABC"):
    return pd.DataFrame(P, index=[f"i{k}" for k in range(len(P))], columns=list(factors))


def test_solutions_match_up_to_order_and_sign():
    a = frame(simple())
    b = (a * [1, -1, 1]).iloc[::-1, [2, 0, 1]].set_axis(list("XYZ"), axis=1)
    result = compare_solutions(a, b)
    assert [pair[:2] for pair in result.matching] == [("A", "Y"), ("B", "Z"), ("C", "X")]
    np.testing.assert_allclose([pair.congruence for pair in result.matching], [1, -1, 1])
    assert result.mean_congruence == pytest.approx(1)
    assert result.differing_items == ()
    assert result.to_frame().loc["B", "Z"] == pytest.approx(-1)
    assert "mean congruence 1.000 of 3 matched" in repr(result)


def test_items_that_moved_are_named():
    a, b = frame(simple()), frame(simple())
    b.loc["i0"] = [0.1, 0.8, 0.0]
    assert compare_solutions(a, b).differing_items == ("i0",)


def test_structures_compare_without_sign_and_share_items():
    P = simple()
    P[1] *= -1
    support = simple() > 0
    support[0, 1] = True  # also a child of B; its strongest factor A is still among its parents
    structure = Structure(support, [f"i{k}" for k in range(12)], list("ABC"))
    result = compare_solutions(frame(P), structure)
    assert result.differing_items == ()
    assert result.mean_congruence > 0.9
    assert compare_solutions(structure, frame(P)).mean_congruence == result.mean_congruence


def test_an_item_of_a_factor_without_partner_differs():
    a, b = frame(simple()), frame(simple()[:, :2], "XY")
    result = compare_solutions(a, b)
    assert len(result.matching) == 2
    assert result.differing_items == ("i8", "i9", "i10", "i11")


def test_an_item_in_no_factor_of_either_agrees():
    P = simple()
    P[0] = 0
    assert compare_solutions(frame(P), frame(P)).differing_items == ()


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(InputError, match="`b` must be a Structure"):
        compare_solutions(frame(simple()), simple())
    with pytest.raises(InputError, match="'i0' is in only one"):
        compare_solutions(frame(simple()), frame(simple()).iloc[1:])
