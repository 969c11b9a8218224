import numpy as np
import pandas as pd
import pytest

from dtstat.core.errors import InputError
from dtstat.structure.cliques import independent_maximal_cliques
from dtstat.structure.structure import Structure

PATH_OF_THREE = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])


@pytest.mark.parametrize("shape", [(2, 3), (4,), (2, 2, 2)])
def test_not_square(shape):
    with pytest.raises(InputError, match="`adjacency` must be a square matrix; got shape"):
        independent_maximal_cliques(np.zeros(shape))


def test_asymmetric_names_the_first_entries_that_differ():
    E = np.zeros((3, 3), dtype=bool)
    E[2, 1] = True
    with pytest.raises(InputError, match=r"symmetric; entries \(2, 3\) and \(3, 2\) differ"):
        independent_maximal_cliques(E)


@pytest.mark.parametrize("value", [0.4, -1.0, 2, np.nan])
def test_weights_are_not_a_graph(value):
    with pytest.raises(InputError, match="Threshold a dependence matrix first: abs") as caught:
        independent_maximal_cliques([[1, value], [value, 1]])
    assert caught.value.argument == "adjacency"


def test_names_of_a_data_frame():
    frame = pd.DataFrame(PATH_OF_THREE, columns=["a", "b", "c"])
    expected = Structure.from_keys({"F": [*"ab"], "G": [*"bc"]})
    assert independent_maximal_cliques(frame) == expected


def test_diagonal_is_ignored_and_the_input_left_alone():
    with_ones = PATH_OF_THREE + np.eye(3, dtype=int)
    before = PATH_OF_THREE.copy()
    assert independent_maximal_cliques(with_ones) == independent_maximal_cliques(PATH_OF_THREE)
    np.testing.assert_array_equal(PATH_OF_THREE, before)


@pytest.mark.parametrize(
    ("min_children", "sizes"), [(1, [3, 2, 1]), (2, [3, 2]), (3, [3]), (4, [])]
)
def test_min_children(min_children, sizes):
    E = np.zeros((6, 6), dtype=bool)
    E[:3, :3] = E[3:5, 3:5] = True
    found = independent_maximal_cliques(E, min_children)
    assert found.support.sum(axis=0).tolist() == sizes


def test_factors_are_ordered_by_their_first_items():
    E = np.zeros((5, 5), dtype=bool)
    for i, j in [(3, 4), (0, 2), (0, 1), (0, 3)]:
        E[i, j] = E[j, i] = True
    found = independent_maximal_cliques(E)
    assert list(found.to_keys().values()) == [["x1", "x2"], ["x1", "x3"], ["x4", "x5"]]


def test_rows_of_different_lengths_are_refused():
    with pytest.raises(InputError, match="equally long rows"):
        independent_maximal_cliques([["a"], 1])
