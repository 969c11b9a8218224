"""Distance correlation and normalised HSIC, against plain twins in double precision."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import ndtri

from dtstat.dependence import distance_hsic as module
from dtstat.dependence.distance_hsic import distance_correlation, normalized_hsic
from dtstat.dependence.spearman import spearman

# Entries are kept in single precision, 6e-8 each; sums over pairs of rows average it out.
SINGLE_TOL = 1e-6


def centred(K: np.ndarray) -> np.ndarray:
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


def cosine(A: np.ndarray, B: np.ndarray) -> float:
    return np.sum(A * B) / np.sqrt(np.sum(A * A) * np.sum(B * B))


def distance_twin(x: np.ndarray, y: np.ndarray) -> float:
    A, B = (centred(np.abs(v[:, None] - v)) for v in (x, y))
    return np.sqrt(max(cosine(A, B), 0.0))


def hsic_twin(x: np.ndarray, y: np.ndarray) -> float:
    """Bandwidth: the standard deviation, with divisor n."""
    A, B = (centred(np.exp(-((v[:, None] - v) ** 2) / (2 * v.var()))) for v in (x, y))
    return cosine(A, B)


def pair_by_pair(X: np.ndarray, twin: Callable) -> np.ndarray:
    R = np.eye(X.shape[1])
    for i in range(len(R)):
        for j in range(i):
            R[i, j] = R[j, i] = twin(X[:, i], X[:, j])
    return R


def sample(n: int) -> np.ndarray:
    """Linear, curved, skewed, rated, binary and unrelated items, on scales far apart."""
    rng = np.random.default_rng(n)
    x, noise = rng.normal(size=n), rng.normal(size=(4, n))
    rated = np.clip(np.rint(x + noise[1]), -2, 2)
    rated[:2] = -2, 2
    binary = (x + noise[2] > 0).astype(float)
    binary[:2] = 0, 1
    return np.column_stack(
        [x, x + noise[0], x**2, np.exp(2 * noise[0]), rated, 1e6 * binary, 5e8 + noise[3]]
    )


BOTH = pytest.mark.parametrize(
    ("measure", "twin"),
    [(distance_correlation, distance_twin), (normalized_hsic, hsic_twin)],
    ids=["distance", "hsic"],
)


@BOTH
@pytest.mark.parametrize("n", [3, 4, 5, 17, 100, 301, 700])
def test_equals_twin(measure: Callable, twin: Callable, n: int) -> None:
    X = sample(n)
    np.testing.assert_allclose(measure(X), pair_by_pair(X, twin), rtol=0, atol=SINGLE_TOL)


@BOTH
@pytest.mark.parametrize("chunk", [1, 4 * 7 * 101 * 2, 4 * 7 * 101 * 50, 4 * 7 * 101 * 100])
def test_chunks_do_not_change_the_values(
    measure: Callable, twin: Callable, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From one row of the 101 at a time to all but one."""
    monkeypatch.setattr(module, "_CHUNK_BYTES", chunk)
    X = sample(101)
    np.testing.assert_allclose(measure(X), pair_by_pair(X, twin), rtol=0, atol=SINGLE_TOL)


@BOTH
def test_progress_counts_chunks(
    measure: Callable, twin: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CHUNK_BYTES", 4 * 7 * 101 * 10)
    calls: list[tuple[int, int]] = []
    measure(sample(101), lambda done, total: calls.append((done, total)))
    assert calls == [(done, 11) for done in range(1, 12)]


@BOTH
def test_symmetric_with_ones_and_in_range(measure: Callable, twin: Callable) -> None:
    R = measure(np.random.default_rng(0).normal(size=(150, 30)))
    assert (R == R.T).all()
    assert (np.diag(R) == 1).all()
    assert (R >= 0).all()
    assert (R <= 1).all()


@BOTH
def test_linear_maps_give_one(measure: Callable, twin: Callable) -> None:
    x = np.random.default_rng(1).normal(size=99)
    R = measure(np.column_stack([x, 3 * x + 1, -0.01 * x]))
    np.testing.assert_allclose(R, 1.0, rtol=0, atol=SINGLE_TOL)


@BOTH
@pytest.mark.parametrize("scale", [1e-12, 1e12, -1.0])
def test_scale_and_sign_do_not_matter(measure: Callable, twin: Callable, scale: float) -> None:
    X = sample(60)
    np.testing.assert_allclose(measure(scale * X), measure(X), rtol=0, atol=SINGLE_TOL)


@BOTH
def test_row_order_does_not_matter(measure: Callable, twin: Callable) -> None:
    X = sample(61)
    shuffled = np.random.default_rng(0).permutation(X)
    np.testing.assert_allclose(measure(shuffled), measure(X), rtol=0, atol=SINGLE_TOL)


@BOTH
def test_sees_what_ranks_do_not(measure: Callable, twin: Callable) -> None:
    x = ndtri((np.arange(999) + 0.5) / 999)  # symmetric, so that the ranks see nothing
    X = np.column_stack([x, x**2])
    assert abs(spearman(X)[0, 1]) < 0.01
    assert measure(X)[0, 1] > 0.3


def test_independent_items_fall_as_one_over_root_n() -> None:
    """What the docstring says: four times the rows, half the value."""
    rng = np.random.default_rng(3)
    upper = np.triu_indices(20, 1)
    few, many = (distance_correlation(rng.normal(size=(n, 20)))[upper].mean() for n in (200, 800))
    assert few / many == pytest.approx(2, rel=0.1)
    assert many == pytest.approx(1.5 / np.sqrt(800), rel=0.3)
