import numpy as np
import pandas as pd
import pytest

import dtstat as dt

DATA = dt.load_dataset("holzinger_swineford_9")
MATRIX = dt.dependence(DATA)


def structures_seen(thresholds, min_children=3):
    """Structures with a factor at these thresholds, one graph at a time."""
    seen = {}
    for tau in thresholds:
        graph = pd.DataFrame(MATRIX.strength > tau, columns=MATRIX.names)
        structure = dt.independent_maximal_cliques(graph, min_children)
        if structure.n_factors:
            seen.setdefault(structure, []).append(tau)
    return seen


def test_a_number_of_thresholds_is_the_papers_grid():
    path = dt.solution_path(MATRIX, thresholds=50)
    np.testing.assert_array_equal(path.thresholds, np.linspace(0, 1, 50))
    assert {c.structure for c in path.candidates} == set(structures_seen(np.linspace(0, 1, 50)))


@pytest.mark.parametrize("k", [2, 7, 13.0, np.int64(200)])
def test_candidates_of_a_grid_are_the_structures_seen_there(k):
    path = dt.solution_path(MATRIX, thresholds=k, min_children=2)
    grid = np.linspace(0, 1, int(k))
    seen = structures_seen(grid, min_children=2)
    assert {c.structure for c in path.candidates} == set(seen)
    for c in path.candidates:
        for tau in seen[c.structure]:
            assert any(low <= tau < high for low, high in c.intervals)


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series, iter])
def test_own_thresholds_in_any_container(kind):
    values = [0.3, 0.1, 0.3, 0.9]
    path = dt.solution_path(MATRIX, thresholds=kind(values))
    assert path.thresholds.tolist() == [0.1, 0.3, 0.9]
    assert {c.structure for c in path.candidates} == set(structures_seen(values))


def test_both_ends_may_be_asked_for():
    path = dt.solution_path(MATRIX, thresholds=[0, 1])
    assert [c.structure for c in path.candidates] == list(structures_seen([0]))


def test_exact_holds_everything_any_grid_sees():
    path = dt.solution_path(MATRIX)
    assert path.thresholds is None
    exact = {c.structure for c in path.candidates}
    every = np.unique([0.0, *MATRIX.strength[np.triu_indices(9, 1)]])
    assert exact == set(structures_seen(every))
    assert {c.structure for c in dt.solution_path(MATRIX, thresholds=500).candidates} <= exact


def test_intervals_include_their_low_end_and_exclude_their_high_end():
    path = dt.solution_path(MATRIX)
    assert len(path) == len(path.candidates) > 5
    for c in path.candidates:
        for low, high in c.intervals:
            assert path.at(low) == path.at(np.nextafter(high, 0)) == c.structure
            assert path.at(high) != c.structure
            assert low == 0 or path.at(np.nextafter(low, 0)) != c.structure
        assert c.persistence == max(high - low for low, high in c.intervals)


def test_at_needs_no_candidate_there():
    path = dt.solution_path(MATRIX, thresholds=[0.9])
    assert path.at(0.3) == next(iter(structures_seen([0.3])))
    assert path.at(1).n_factors == 0


@pytest.mark.parametrize("threshold", [1.3, -0.1, np.nan, "0.3", None])
def test_at_refuses(threshold):
    with pytest.raises(dt.InputError, match=r"`threshold` must be a number in \[0, 1\]; got "):
        dt.solution_path(MATRIX).at(threshold)


def test_to_frame():
    path = dt.solution_path(MATRIX)
    frame = path.to_frame()
    assert list(frame.columns) == [
        *("tau_low", "tau_high", "persistence", "n_intervals"),
        *("n_factors", "n_edges", "n_covered"),
    ]
    assert frame["tau_low"].is_monotonic_increasing
    for row, c in zip(frame.itertuples(), path.candidates, strict=True):
        structure = path.at(row.tau_low)
        assert row.n_factors == structure.n_factors
        assert row.n_edges == structure.n_edges
        assert row.n_covered == structure.n_items - len(structure.uncovered)
        assert row.n_intervals == len(c.intervals)
        assert row.persistence == row.tau_high - row.tau_low


def test_barcode_of_the_path():
    path = dt.solution_path(MATRIX, min_children=4)
    assert path.min_children == 4
    assert path.barcode().sizes.min() == 4
    assert path.barcode().at(0.2) == path.at(0.2)


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ([0.2, 1.3], r"numbers in \[0, 1\]; got 1.3. They are compared with absolute dependence"),
        ([-0.1], "got -0.1"),
        ([0.1, np.nan], "got nan"),
        ([], "got none"),
        (["a"], r"must be numbers in \[0, 1\]; got \['a'\]"),
        (np.array(5), "must be numbers in"),
        ("all", "must be 'exact', a number of thresholds, or numbers in .*; got 'all'"),
        (True, "must be a whole number of at least 2; got True"),
        (1, "must be a whole number of at least 2; got 1"),
        (1.3, "must be a whole number of at least 2; got 1.3"),
        (None, "must be a whole number of at least 2; got None"),
        (0.3, r"got 0.3. For this one threshold give \[0.3\]"),
    ],
)
def test_bad_thresholds(thresholds, message):
    with pytest.raises(dt.InputError, match=f"`thresholds` .*{message}") as caught:
        dt.solution_path(MATRIX, thresholds=thresholds)
    assert caught.value.argument == "thresholds"


@pytest.mark.parametrize("min_children", [1, 0, -3, 2.5, "all", None, True, np.nan, np.inf])
def test_bad_min_children(min_children):
    with pytest.raises(dt.InputError, match="`min_children` must be a whole number of at least 2"):
        dt.solution_path(MATRIX, min_children=min_children)


@pytest.mark.parametrize("n_jobs", [0, 1.5, "two", np.nan])
def test_bad_n_jobs(n_jobs):
    with pytest.raises(dt.InputError, match=r"`n_jobs` must be a .*-1 for all cores"):
        dt.dependence(DATA, n_jobs=n_jobs)


def test_arguments_are_checked_before_the_work_is_done():
    def never(x, y):
        raise AssertionError("the matrix was computed")

    for wrong in ({"thresholds": "all"}, {"min_children": 1}):
        with pytest.raises(dt.InputError):
            dt.solution_path(DATA, measure=never, **wrong)


def test_a_dependence_matrix_is_taken_as_it_is():
    path = dt.solution_path(MATRIX)
    assert path.dependence is MATRIX
    assert dt.dependence(MATRIX) is MATRIX


def test_kinds_of_data_give_the_same_path(tmp_path):
    file = tmp_path / "survey.csv"
    DATA.to_csv(file, index=False)
    expected = dt.solution_path(MATRIX).to_frame()
    for data in (DATA, dt.items(DATA), file, str(file), DATA.to_numpy()):
        pd.testing.assert_frame_equal(dt.solution_path(data).to_frame(), expected)


@pytest.mark.parametrize("measure", list(dt.measures().index))
def test_every_matrix_is_exactly_symmetric(measure):
    """The path compares entries with each other: a difference in the last bit would tell."""
    data = DATA.gt(DATA.median()).astype(int) if measure == "tetrachoric" else DATA.round()
    R = dt.dependence(data, measure).values
    np.testing.assert_array_equal(R, R.T)


def test_no_factors_at_all():
    path = dt.solution_path(MATRIX, min_children=10)
    assert path.candidates == ()
    assert len(path) == len(path.to_frame()) == len(path.barcode()) == 0
    assert path.at(0.1).n_factors == 0
