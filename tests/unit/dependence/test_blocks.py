import sys
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.data.frame import rows_by_content
from dtstat.dependence.matrix import blocks_of
from dtstat.dependence.sparse import chance_floor

RNG = np.random.default_rng(8)
FACTOR = RNG.normal(size=(120, 6))
X = np.round(FACTOR[:, np.arange(30) % 6] + RNG.normal(size=(120, 30)), 1)
GAPS = np.where(RNG.random(X.shape) < 0.05, np.nan, X)
RATINGS = np.clip(np.round(X + 3), 1, 5)


@pytest.fixture
def narrow(monkeypatch):
    """Blocks of seven items, so that thirty have several."""
    for module in ("matrix", "sparse"):
        monkeypatch.setattr(sys.modules[f"dtstat.dependence.{module}"], "BLOCK", 7)


def dense_above(data, measure, floor):
    """Pairs of the whole matrix above a floor, by name."""
    matrix = dt.dependence(data, measure).to_frame()
    i, j = np.nonzero(np.triu(matrix.abs().to_numpy() > floor, 1))
    names = matrix.columns
    return {(names[a], names[b]): matrix.iloc[a, b] for a, b in zip(i, j, strict=True)}


def pairs(sparse):
    frame = sparse.to_frame()
    return {(a, b): r for a, b, r in frame.itertuples(index=False)}


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize(
    ("data", "measure"),
    [
        (X, "spearman"),
        (X, "pearson"),
        (X, "kendall"),
        (X[rows_by_content(X)], "distance"),  # the order in which a matrix sums them
        (GAPS, "spearman"),
        (GAPS, "kendall"),
        (RATINGS, "polychoric"),
    ],
)
def test_the_pairs_are_those_of_the_matrix(narrow, data, measure, n_jobs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sparse = dt.dependence(data, measure, floor=0.3, n_jobs=n_jobs)
    expected = dense_above(data, measure, 0.3)
    assert 10 < len(expected) < 400
    assert pairs(sparse) == expected  # to the last bit
    assert (sparse.n_items, sparse.n_pairs, sparse.n_obs) == (30, len(expected), 120)
    assert sparse.floor == 0.3


def test_pairwise_products_with_gaps_agree_up_to_rounding(narrow):
    found, expected = pairs(dt.dependence(GAPS, "pearson", floor=0.3)), None
    expected = dense_above(GAPS, "pearson", 0.3)
    assert found.keys() == expected.keys()
    assert all(abs(found[k] - expected[k]) < 1e-12 for k in expected)


def test_a_function_of_two_columns(narrow):
    def smallest(x, y):
        return float(np.corrcoef(x, y)[0, 1]) / 2

    assert dt.dependence(X, smallest, floor=0.2).measure == "smallest"


def test_blocks_cover_every_pair_once():
    for p, width in [(1, 5), (5, 5), (6, 5), (23, 5), (100, 7)]:
        seen = np.zeros((p, p), dtype=int)
        for rows, others in blocks_of(p, width):
            assert rows.stop - rows.start <= width
            seen[rows, others] += 1
        assert (seen[np.triu_indices(p)] == 1).all()


def test_every_source_gives_the_same(narrow, tmp_path):
    from dask import array

    frame = pd.DataFrame(X, columns=[f"q{k}" for k in range(30)])
    frame.to_parquet(tmp_path / "x.parquet")
    frame.to_csv(tmp_path / "x.csv", index=False)
    np.save(tmp_path / "x.npy", X)
    expected = dt.dependence(X, floor=0.3).values.tobytes()
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    by_number = [mapped, tmp_path / "x.npy", array.from_array(X, chunks=(50, 8)), X.tolist()]
    by_name = [
        frame,
        dt.items(frame),
        tmp_path / "x.parquet",
        str(tmp_path / "x.csv"),
    ]
    for source in by_number + by_name:
        sparse = dt.dependence(source, floor=0.3)
        assert sparse.values.tobytes() == expected
        assert sparse.names[0] == ("x1" if any(source is s for s in by_number) else "q0")


@pytest.mark.newest  # before, its dataframes were an extra of their own
def test_a_dask_dataframe(narrow):
    from dask import dataframe

    frame = pd.DataFrame(X, columns=[f"q{k}" for k in range(30)])
    lazy = dataframe.from_pandas(frame, npartitions=3)
    assert pairs(dt.dependence(lazy, floor=0.3)) == pairs(dt.dependence(frame, floor=0.3))


def test_prepared_items_may_lie_on_disk(narrow):
    wide = np.tile(X, (1, 20)) + 0.5 * np.random.default_rng(1).normal(size=(120, 600))
    whole = dt.dependence(wide, floor=0.5)
    on_disk = dt.dependence(wide, floor=0.5, memory=8e-9 * 120 * 600 * 3)
    assert pairs(on_disk) == pairs(whole)


def test_too_many_pairs_raise_the_floor(narrow):
    whole = pairs(dt.dependence(X, floor=0.05))
    memory = 1e-5  # half of it for 125 pairs of 40 bytes
    found = []
    for n_jobs in (1, 2, 4):
        with pytest.warns(dt.DataWarning, match=r"floor was raised from 0\.050 to 0\."):
            found.append(dt.dependence(X, floor=0.05, memory=memory, n_jobs=n_jobs))
    sparse = found[0]
    assert len({(one.floor, one.values.tobytes()) for one in found}) == 1
    assert 50 < sparse.n_pairs <= 125 < len(whole)
    kept = {k for k, r in whole.items() if abs(r) > sparse.floor + 1e-12}
    assert kept == pairs(sparse).keys()


def test_twins_are_pointed_out(narrow):
    twice = np.column_stack([X, X[:, 3]])
    with pytest.warns(dt.DataWarning, match="'x4' and 'x31' determine each other"):
        dt.dependence(twice, floor=0.3)


def test_the_floor_of_chance_lets_one_neighbour_an_item_through():
    noise = np.random.default_rng(5).normal(size=(400, 600))
    for measure in ("spearman", "pearson", "kendall"):
        found = dt.dependence(noise, measure, floor="chance")
        expected = 599 / 2  # pairs; about Poisson
        assert abs(found.n_pairs - expected) < 4 * np.sqrt(expected)
    with pytest.raises(dt.InputError, match=r"`floor` 'chance' is known for .* 'distance'"):
        dt.dependence(noise, "distance", floor="chance")
    assert chance_floor("spearman", 3, 10) <= 0.999


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"floor": 1.0}, "`floor` must be a number in"),
        ({"floor": -0.1}, "`floor` must be a number in"),
        ({"floor": "high"}, "`floor` must be a number in"),
        ({"floor": 0.2, "memory": 0}, "`memory` must be a positive number"),
        ({"floor": 0.2, "memory": 1e-6}, "`memory` must be at least .* It is in GB"),
        ({"floor": 0.2, "missing": "listwise"}, "`missing` must be 'pairwise' or 'error'"),
        ({"floor": 0.2, "measure": "spearmann"}, "Did you mean 'spearman'"),
    ],
)
def test_bad_arguments_are_refused(arguments, said):
    with pytest.raises(dt.InputError, match=said):
        dt.dependence(X, **arguments)


def test_gaps_can_be_refused(narrow):
    with pytest.raises(dt.InputError, match='`missing` is "error"'):
        dt.dependence(GAPS, missing="error", floor=0.2)


def test_a_matrix_has_no_floor():
    matrix = dt.dependence(X)
    with pytest.raises(dt.InputError, match="`floor` must be left out with a matrix"):
        dt.dependence(matrix, floor=0.2)
    sparse = dt.dependence(X, floor=0.2)
    assert dt.dependence(sparse) is sparse


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"PK\x03\x04"])
@pytest.mark.parametrize("ending", ["npy", "parquet"])
def test_damaged_files_are_refused(tmp_path, content, ending):
    file = tmp_path / f"x.{ending}"
    file.write_bytes(content)
    with pytest.raises(dt.InputError, match=r"x\."):
        dt.dependence(file, floor=0.2)


def test_an_array_of_objects_is_not_opened(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[object(), 1]], dtype=object), allow_pickle=True)
    with pytest.raises(dt.InputError, match="cannot be read as an array"):
        dt.dependence(tmp_path / "x.npy", floor=0.2)


def test_reports_of_a_sparse_path(drawing):
    path = dt.solution_path(X, floor=0.3)
    assert "pairs above 0.300" in str(path.summary())
    path.plot()
    path.plot("barcode")
    with pytest.raises(dt.InputError, match="needs all pairs"):
        path.plot("dependence")
    assert "Strongest dependence" in str(dt.solution_path(X, floor=0.9).summary())


def test_what_is_advised_for_the_memory_will_do(narrow):
    with pytest.raises(dt.InputError) as caught:
        dt.dependence(X, floor=0.5, memory=1e-9)
    least = float(str(caught.value).split("least ")[1].split()[0])
    assert dt.dependence(X, floor=0.5, memory=least).n_pairs > 0


def test_little_memory_and_many_rows_change_no_bit(monkeypatch):
    long = np.random.default_rng(2).normal(size=(4000, 90))
    long[:, 40:] += long[:, :50]
    whole = dt.dependence(long, "pearson", floor=0.3)
    assert pairs(dt.dependence(long, "pearson", floor=0.3, memory=2e-3)) == pairs(whole)


@pytest.mark.parametrize("p", [2, 3, 5, 9])
def test_few_items_and_least_memory(p):
    some = dt.dependence(X[:, :p], "kendall", floor=0.0, memory=2e-5)
    assert some.n_pairs == p * (p - 1) / 2


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_a_parquet_file_is_read_side_by_side(tmp_path, backend):
    frame = pd.DataFrame(GAPS, columns=[f"q{k}" for k in range(30)])
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=20)
    expected = pairs(dt.dependence(frame, "kendall", floor=0.2))
    with joblib.parallel_config(backend, n_jobs=2):
        for _ in range(5):  # threads that share an open file crash now and then
            found = dt.dependence(tmp_path / "x.parquet", "kendall", floor=0.2, memory=4e-4)
            assert pairs(found) == expected


def test_progress_counts_blocks(narrow):
    seen = []
    dt.dependence(X, floor=0.3, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(k, 15) for k in range(1, 16)]
