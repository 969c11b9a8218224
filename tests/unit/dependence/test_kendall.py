"""Kendall's tau-b: the table, the bits and the merging, each against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dtstat.dependence import kendall as kendall_pairs
from dtstat.dependence import kendall as module
from dtstat.dependence.kendall import kendall, tau_b_by_bits
from dtstat.dependence.spearman import dense_codes

# All ways count exactly; only the final division rounds.
ROUNDING_TOL = 1e-12

SIZES = [3, 4, 5, 7, 8, 9, 10, 17, 64, 65, 66, 129, 300]
KINDS = ["no ties", "few ties", "likert", "binary", "mixed"]
SMALLEST_CHUNK = 1  # bytes: one row of the data in each chunk


def sample(kind: str, n: int, p: int = 5, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng([seed, n, p])
    X = rng.normal(size=(n, 1)) * np.linspace(-1, 1, p) + rng.normal(size=(n, p))
    X[0], X[1] = -9, 9  # no column is constant
    if kind == "few ties":
        X[2:4] = X[2]
    elif kind == "likert":
        X = np.clip(np.rint(X), -2, 2)
    elif kind == "binary":
        X = (X > 0).astype(float)
    elif kind == "mixed":
        X[:, ::2] = np.clip(np.rint(X[:, ::2]), -2, 2)
    return X


def with_gaps(X: np.ndarray, share: float = 0.15) -> np.ndarray:
    gap = np.random.default_rng(len(X)).random(X.shape) < share
    gap[:2] = False  # these rows keep every pair from being constant
    return np.where(gap, np.nan, X)


def by_scipy(X: np.ndarray) -> np.ndarray:
    R = np.eye(X.shape[1])
    for i in range(len(R)):
        for j in range(i):
            common = ~np.isnan(X[:, i] + X[:, j])
            R[i, j] = R[j, i] = stats.kendalltau(X[common, i], X[common, j]).statistic
    return R


def by_signs(X: np.ndarray) -> np.ndarray:
    """Tau-b of complete data as the cosine of the signs of all differences."""
    a, b = np.triu_indices(len(X), 1)
    S = np.sign(X[a] - X[b])
    norm = np.linalg.norm(S, axis=0)
    return S.T @ S / np.outer(norm, norm)


def by_kernel(X: np.ndarray, way: str) -> np.ndarray:
    codes, order = dense_codes(X)
    R = np.eye(len(codes))
    for i in range(len(codes)):
        for j in range(len(codes)):
            if way == "table":
                s, ui, uj = kendall_pairs._from_table(codes[i], codes[j])
            else:
                s, ui, uj = kendall_pairs._by_merging(codes[i], codes[j], order[j])
            R[i, j] = s / np.sqrt(float(ui) * float(uj))
    return R


def by_bits(X: np.ndarray, planes: int, n_jobs: int = 1) -> np.ndarray:
    return tau_b_by_bits(dense_codes(X)[0], planes, n_jobs)


def close(ours: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(ours, expected, rtol=0, atol=ROUNDING_TOL)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", KINDS)
class TestEveryWay:
    @pytest.mark.parametrize("way", ["table", "merging"])
    def test_one_pair_at_a_time(self, way: str, kind: str, n: int) -> None:
        X = sample(kind, n)
        close(by_kernel(X, way), by_scipy(X))

    @pytest.mark.parametrize("way", ["table", "merging"])
    def test_one_pair_at_a_time_with_gaps(self, way: str, kind: str, n: int) -> None:
        X = with_gaps(sample(kind, n))
        close(by_kernel(X, way), by_scipy(X))

    def test_two_planes_of_bits(self, kind: str, n: int) -> None:
        X = sample(kind, n)
        close(by_bits(X, planes=2), by_scipy(X))

    def test_as_chosen(self, kind: str, n: int) -> None:
        X = sample(kind, n)
        close(kendall(X), by_scipy(X))
        gaps = with_gaps(X)
        close(kendall(gaps), by_scipy(gaps))


@pytest.mark.parametrize("n", SIZES)
def test_one_plane_of_bits(n: int) -> None:
    X = sample("no ties", n)
    close(by_bits(X, planes=1), by_scipy(X))


@pytest.mark.parametrize("p", [33, 65, 100])
@pytest.mark.parametrize("chunk", [SMALLEST_CHUNK, 3000, 10**7])
@pytest.mark.parametrize(("kind", "planes"), [("no ties", 1), ("mixed", 2)])
def test_tiles_and_chunks(
    p: int, chunk: int, kind: str, planes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CHUNK_BYTES", chunk)
    X = sample(kind, 77, p)
    expected = by_signs(X)
    close(by_bits(X, planes), expected)
    np.testing.assert_array_equal(by_bits(X, planes, n_jobs=2), by_bits(X, planes))


def test_more_words_than_a_tile_holds() -> None:
    X = sample("mixed", 420, 35)  # 11000 bytes a column, a tile has 8192
    close(by_bits(X, planes=2), by_signs(X))


@pytest.mark.parametrize("chunk", [SMALLEST_CHUNK, 100, 555, 10**6])
@pytest.mark.parametrize("n", [2, 3, 10, 100])
def test_chunks_cover_every_row_once_and_fit(
    chunk: int, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CHUNK_BYTES", chunk)
    columns = 5
    chunks = module._chunks(n, columns)
    assert [a for rows in chunks for a in rows] == list(range(n - 1))
    for rows in chunks:
        size = sum(module._packed_bytes(a, n) for a in rows) * columns
        assert size <= chunk or len(rows) == 1


def test_a_chunk_is_no_longer_than_its_bits() -> None:
    """Work on a few rows must not grow with the size allowed for a chunk."""
    codes, _ = dense_codes(sample("no ties", 20))
    words = module._packed_signs(codes, 1, range(19))
    bits_at_most = 19 * 24  # each row padded to whole bytes
    assert words.shape[1] <= bits_at_most // 64 + 1


def test_progress_ends_at_its_total(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK_BYTES", 2000)
    calls: list[tuple[int, int]] = []
    codes, _ = dense_codes(sample("no ties", 100, 40))
    tau_b_by_bits(codes, 2, 1, lambda done, total: calls.append((done, total)))
    total = calls[-1][1]
    assert total > 10
    assert calls == [(done, total) for done in range(1, total + 1)]


def test_popcount() -> None:
    rng = np.random.default_rng(0)
    words = [0, 1, 2**63, 2**64 - 1, 0x5555555555555555, 0x0F0F0F0F0F0F0F0F]
    words += [int(word) for word in rng.integers(0, 2**64 - 1, 200, dtype=np.uint64)]
    for word in words:
        assert module._popcount(np.uint64(word)) == word.bit_count()


def test_inversions() -> None:
    rng = np.random.default_rng(1)
    for n in (0, 1, 2, 3, 5, 16, 33):
        z = rng.integers(0, 6, n)
        expected = sum(int(z[a] > z[b]) for a in range(n) for b in range(a + 1, n))
        assert kendall_pairs._inversions(z.copy()) == expected


@pytest.mark.parametrize("levels", [200_000, 150_000, 1000, 2])
def test_counts_of_many_rows_do_not_overflow(levels: int) -> None:
    """2e10 pairs of rows: more than 32 bits hold, and their product more than 64."""
    x = np.random.default_rng(0).permutation(200_000).astype(float) % levels
    codes, order = dense_codes(np.column_stack([x, x, -x]))
    pairs = len(x) * (len(x) - 1) // 2
    counts = np.bincount(codes[0]).astype(object)
    untied = pairs - sum(counts * (counts - 1)) // 2
    assert kendall_pairs._by_merging(codes[0], codes[1], order[1]) == (untied,) * 3
    assert kendall_pairs._by_merging(codes[0], codes[2], order[2]) == (-untied, untied, untied)
    if levels <= 1000:
        assert kendall_pairs._from_table(codes[0], codes[2]) == (-untied, untied, untied)


def test_many_rows_with_identical_and_reversed_columns() -> None:
    x = np.random.default_rng(0).normal(size=200_000)
    np.testing.assert_allclose(
        kendall(np.column_stack([x, x, -x])),
        [[1, 1, -1], [1, 1, -1], [-1, -1, 1]],
        rtol=0,
        atol=ROUNDING_TOL,
    )


def test_every_way_is_chosen_somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def spy(name: str):
        original = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a: (seen.append((name, a[1])), original(*a))[1])

    spy("tau_b_by_bits")
    kendall(sample("no ties", 300, 60))
    kendall(sample("few ties", 300, 60))
    planes = [second for _, second in seen]
    assert planes == [1, 2]
    kendall(sample("likert", 300, 60))
    kendall(with_gaps(sample("no ties", 300, 60)))
    kendall(sample("no ties", 300, 2))
    assert len(seen) == 2
