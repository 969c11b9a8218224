import math

import numpy as np
import pytest

from dtstat.core.errors import InputError
from dtstat.simulation.designs import independent_clusters
from dtstat.simulation.maps import MAP_SETS, MAPS, additive_signal, assign_maps, find_map_set

E = math.e
# Values at z = -1, 0 and 2, worked out from the formulas of Appendix B.
BY_HAND = {
    "g1": (-1.5 - math.sin(0.5), 0, 3 + math.sin(1)),
    "g2": (-0.8427007929497149, 0, 0.9953222650189527),
    "g3": (-1 / 2, 0, 2 / 3),
    "g4": (math.log(1 / E + 1), math.log(2), math.log(E**2 + 1)),
    "g5": (-math.sqrt(1.001), 0, math.sqrt(2.001)),
    "g6": (-math.log(1 + math.sqrt(2)), 0, math.log(2 + math.sqrt(5))),
    "g7": (-math.pi / 4, 0, math.atan(2)),
    "g8": (1 / math.sqrt(E), 1, E),
    "g9": (-math.tanh(0.8), 0, math.tanh(1.6)),
    "g10": (E / (E + 1), 1 / 2, 1 / (1 + E**2)),
    "linear": (-1, 0, 2),
    "square": (1, 0, 4),
    "absolute": (1, 0, 2),
    "cosine": (math.cos(1.5), 1, math.cos(3)),
    "bump": (1 / E, 1, E**-4),
}


def names(edges):
    return [edge.map.name for edge in edges]


def test_every_map_has_a_hand_computed_value():
    assert BY_HAND.keys() == MAPS.keys()


@pytest.mark.parametrize("name", MAPS)
def test_map_formula(name):
    values = MAPS[name](np.array([-1.0, 0.0, 2.0]))
    np.testing.assert_allclose(values, BY_HAND[name], rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name", MAPS)
def test_monotone_flag(name):
    steps = np.diff(MAPS[name](np.linspace(-3, 3, 61)))
    assert MAPS[name].monotone == bool((steps > 0).all() or (steps < 0).all())


def test_the_paper_set_is_the_ten_maps_in_order():
    assert [m.name for m in MAP_SETS["paper"].cycle] == [f"g{k}" for k in range(1, 11)]


def test_one_counter_runs_over_all_uses():
    support = independent_clusters(2, 6)
    support[1, 1] = True
    edges = assign_maps(support, MAP_SETS["paper"])
    assert names(edges) == [f"g{k}" for k in (*range(1, 11), 1, 2, 3)]
    assert [(e.item, e.factor) for e in edges[:3]] == [(0, 0), (1, 0), (1, 1)]


def test_one_in_five_replaces_every_fifth_item_of_each_factor():
    edges = assign_maps(independent_clusters(3, 6), MAP_SETS["one_in_five"])
    replaced = {e.item: e.map.name for e in edges if not e.map.monotone}
    assert replaced == {4: "square", 10: "absolute", 16: "square"}
    assert names(edges)[:7] == ["g1", "g2", "g3", "g4", "square", "g6", "g7"]


def test_non_monotone_set_is_all_non_monotone():
    assert [m.name for m in MAP_SETS["non_monotone"].cycle] == [
        "square",
        "absolute",
        "cosine",
        "bump",
    ]


def test_maps_may_be_a_name_a_function_or_a_list():
    def halved(z):
        return z / 2

    assert find_map_set("g2").cycle == (MAPS["g2"],)
    assert [m.name for m in find_map_set(halved).cycle] == ["halved"]
    mixed = find_map_set(["g1", halved]).cycle
    assert [(m.name, m.monotone) for m in mixed] == [("g1", True), ("halved", None)]


def test_signal_is_the_sum_over_parents():
    support = np.array([[True, True], [False, True]])
    edges = assign_maps(support, find_map_set(["linear", "square", "absolute"]))
    Z = np.array([[1.0, -2.0], [3.0, -4.0]])
    np.testing.assert_array_equal(additive_signal(Z, edges, p=2), [[5, 2], [19, 4]])


@pytest.mark.parametrize(
    ("maps", "message"),
    [
        ("papr", "`maps` must be known names or functions; got 'papr'. Did you mean 'paper'?"),
        (["g1", "sqare"], "got 'sqare'. Did you mean 'square'?"),
        ([None], "`maps` must be known names or functions; got None. Known: absolute, "),
        (0, "`maps` must be known names or functions; got 0. Known: absolute, "),
        ([], "`maps` must be the name of a set of maps or a list of maps; got []. Name one."),
    ],
)
def test_unknown_maps(maps, message):
    with pytest.raises(InputError) as caught:
        find_map_set(maps)
    assert message in str(caught.value)
    assert caught.value.argument == "maps"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda z: z[:1], "from 3 values it made shape (1,). Write it"),
        (lambda z: z * np.nan, "it made shape (3,) with infinite or missing entries. Write it"),
    ],
)
def test_a_function_must_return_as_many_finite_numbers(function, message):
    (response,) = find_map_set(function).cycle
    with pytest.raises(InputError, match="must turn an array of n factor values into n") as caught:
        response(np.arange(3.0))
    assert message in str(caught.value)
