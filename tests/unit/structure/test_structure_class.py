import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from dtstat.core.errors import InputError
from dtstat.structure.structure import Structure, read_legend

# What R 4.2's make.names() gives.
R_NAMES = {
    "x1": "x1",
    "a b": "a.b",
    "a-b": "a.b",
    "q1?": "q1.",
    "a_b": "a_b",
    "1a": "X1a",
    "1": "X1",
    "_a": "X_a",
    ".1a": "X.1a",
    ".a": ".a",
    "..1": "..1",
    " a": "X.a",
    "-x": "X.x",
    "€x": "X.x",
    "": "X",
    "é": "é",
    "性別": "性別",
    "x²": "x.",
    "²x": "X.x",
    "if": "if.",
    "in": "in.",
    "function": "function.",
    "TRUE": "TRUE.",
    "T": "T",
    "NA": "NA.",
    "NA_integer_": "NA_integer_.",
    "Inf": "Inf.",
    "NULL": "NULL.",
}


@pytest.fixture
def chain():
    """Three factors; b and d have two parents, f none."""
    A = [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1], [0, 0, 0]]
    return Structure(A, item_names="abcdef", factor_names=["F", "G", "H"])


def refused(match):
    return pytest.raises(InputError, match=match)


def test_counts(chain):
    assert (chain.n_items, chain.n_factors, chain.n_edges) == (6, 3, 7)


def test_default_names():
    structure = Structure([[1, 0], [1, 1]])
    assert structure.item_names == ("x1", "x2")
    assert structure.factor_names == ("F1", "F2")


def test_children_by_name_and_index(chain):
    assert chain.children("G") == chain.children(1) == chain.children(np.int64(1))
    assert chain.children("G") == ("b", "c", "d")


def test_parents_by_name_and_index(chain):
    assert chain.parents("b") == chain.parents(1) == ("F", "G")
    assert chain.parents("f") == ()


def test_unique_children(chain):
    assert [chain.unique_children(k) for k in "FGH"] == [("a",), ("c",), ("e",)]


def test_unique_child_condition(chain):
    assert chain.satisfies_ucc
    assert not Structure([[1, 1], [0, 1]]).satisfies_ucc
    assert Structure([[1], [0]]).satisfies_ucc


def test_uncovered(chain):
    assert chain.uncovered == ("f",)
    assert Structure([[1]]).uncovered == ()


def test_parent_sharing_graph(chain):
    edges = {tuple("abcdef"[i] for i in e) for e in np.argwhere(chain.parent_sharing_graph())}
    pairs = {"ab", "bc", "bd", "cd", "de"}
    assert edges == {(i, j) for i, j in pairs} | {(j, i) for i, j in pairs}


def test_to_frame(chain):
    frame = chain.to_frame()
    expected = pd.DataFrame(
        [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1], [0, 0, 0]],
        index=list("abcdef"),
        columns=["F", "G", "H"],
    )
    pd.testing.assert_frame_equal(frame, expected)


def test_keys_there_and_back(chain):
    keys = chain.to_keys()
    assert keys == {"F": ["a", "b"], "G": ["b", "c", "d"], "H": ["d", "e"]}
    assert Structure.from_keys(keys, item_names="abcdef") == chain


def test_from_keys_takes_items_in_order_of_appearance():
    structure = Structure.from_keys({"B": ["b2", "-b1"], "A": ["a1", "b2"]})
    assert structure.item_names == ("b2", "b1", "a1")
    assert structure.factor_names == ("B", "A")
    assert structure.support.tolist() == [[True, True], [True, False], [False, True]]


@pytest.mark.parametrize("kind", [np.array, pd.Index, tuple, pd.Series])
def test_from_keys_takes_names_in_any_container(kind):
    structure = Structure.from_keys({"F": ["a"]}, item_names=kind(["b", "a"]))
    assert structure.item_names == ("b", "a")


def test_from_keys_unknown_item():
    with refused("names the item 'engag_1', which is not among the items. Did you mean 'engage_1'"):
        Structure.from_keys({"F": ["engag_1"]}, item_names=["engage_1", "growth_1"])


def test_equality_ignores_factor_names_their_order_and_the_order_of_items(chain):
    rows, columns = [3, 5, 0, 1, 4, 2], [2, 0, 1]
    other = Structure(chain.support[rows][:, columns], ["abcdef"[i] for i in rows])
    assert other == chain
    assert hash(other) == hash(chain)
    assert len({other, chain}) == 1


@pytest.mark.parametrize(
    "other",
    [
        Structure([[1, 0], [1, 1], [0, 0]]),
        Structure([[1, 0], [1, 1], [0, 1]], item_names=["x1", "x2", "y"]),
        Structure([[1], [1], [0]]),
        Structure([[1, 0, 0], [1, 1, 1], [0, 1, 1]]),
        "a structure",
    ],
)
def test_inequality(other):
    assert Structure([[1, 0], [1, 1], [0, 1]]) != other


def test_inequality_with_repeated_factors():
    """{A, A, B} is not {A, B, B}: to turn one into the other an edge must change."""
    assert Structure([[1, 1, 0], [0, 0, 1]]) != Structure([[1, 0, 0], [0, 1, 1]])


def test_frozen(chain):
    with pytest.raises(dataclasses.FrozenInstanceError):
        chain.item_names = tuple("uvwxyz")
    with pytest.raises(ValueError, match="read-only"):
        chain.support[0, 0] = False


def test_the_users_array_stays_the_users():
    A = np.array([[True], [True]])
    structure = Structure(A)
    A[0, 0] = False
    assert structure.support.all()


def test_repr(chain):
    assert repr(chain).splitlines() == [
        "Structure: 3 factors, 6 items",
        "  F: a b",
        "  G: b c d",
        "  H: d e",
        "  in no factor: f",
    ]
    assert repr(Structure([[1]])).startswith("Structure: 1 factor, ")


def test_no_factors():
    nothing = Structure(np.zeros((2, 0)))
    assert (nothing.n_factors, nothing.n_edges, nothing.uncovered) == (0, 0, ("x1", "x2"))
    assert (nothing.to_lavaan(), nothing.to_keys()) == ("", {})
    assert nothing == Structure(np.zeros((2, 0)))
    for which in ("F1", 0):
        with refused("There is no factor .*: the structure has none"):
            nothing.children(which)


def test_to_lavaan(chain):
    assert chain.to_lavaan() == "F =~ a + b\nG =~ b + c + d\nH =~ d + e"


@pytest.mark.parametrize(("name", "in_r"), R_NAMES.items())
def test_to_lavaan_changes_names_as_r_does(name, in_r):
    said = "" if name == in_r else f"# {in_r} is {json.dumps(name, ensure_ascii=False)}\n"
    assert Structure([[1]], [name], ["F"]).to_lavaan() == f"{said}F =~ {in_r}"
    assert Structure([[1]], ["item"], [name]).to_lavaan() == f"{said}{in_r} =~ item"
    assert read_legend(said) == ({} if name == in_r else {in_r: name})


@pytest.mark.against_r
def test_table_of_r_names_is_what_r_says(run_r):
    """The table above, without the empty name, which a csv file cannot carry."""
    table = pd.DataFrame({"name": R_NAMES.keys(), "in_r": R_NAMES.values()})
    table = table[table["name"] != ""].map("<{}>".format)
    bare = "function(x) substr(x, 2, nchar(x) - 1)"
    code = f"f <- {bare}; list(same = make.names(f(table$name)) == f(table$in_r))"
    assert all(run_r(code, table=table)["same"])


@pytest.mark.parametrize(
    ("items", "factors", "text"),
    [
        (["a b", "a.b"], ["F"], '# a.b.1 is "a b"\nF =~ a.b.1 + a.b'),
        (["Q1?", "Q1!"], ["F"], '# Q1. is "Q1?"\n# Q1..1 is "Q1!"\nF =~ Q1. + Q1..1'),
        (["F1", "x"], None, "F1.1 =~ F1 + x"),
        (["x", "y"], ["y"], "y.1 =~ x + y"),
    ],
)
def test_to_lavaan_numbers_names_that_become_the_same(items, factors, text):
    assert Structure([[1], [1]], items, factors).to_lavaan() == text


def test_signs_travel_into_keys_and_syntax():
    keys = {"A": ["-a1", "a2", "a3"], "B": ["-b1", "-b2"], "C": ["c1", "-a2"]}
    structure = Structure.from_keys(keys)
    assert structure.to_keys() == {**keys, "C": ["-a2", "c1"]}
    assert structure.to_lavaan().splitlines() == [
        "A =~ a2 + a1 + a3",
        "B =~ start(-1)*b1 + start(-1)*b2",
        "C =~ c1 + a2",
    ]
    plain = Structure(structure.support, structure.item_names, structure.factor_names)
    assert structure == plain
    assert hash(structure) == hash(plain)
    assert not plain.reversed.any()
    with pytest.raises(ValueError, match="read-only"):
        structure.reversed[0, 0] = False


def test_items_under_domains_have_the_product_of_signs():
    facets = Structure.from_keys({"F1": ["-a", "b"], "F2": ["c", "-d"]})
    domains = Structure.from_keys({"G": ["F1", "-F2"]})
    assert facets.under(domains).to_keys() == {"G": ["-a", "b", "-c", "d"]}


def test_a_minus_that_is_part_of_a_name_is_no_sign():
    structure = Structure.from_keys({"F": ["-3", "-x"]}, item_names=["-3", "x"])
    assert structure.item_names == ("-3", "x")
    np.testing.assert_array_equal(structure.reversed[:, 0], [False, True])


@pytest.mark.parametrize("reversed_", [[1, 0], [[2], [0]], [["a"], ["b"]], [[1], [0, 1]]])
def test_bad_signs(reversed_):
    with refused("`reversed` must be true or false"):
        Structure([[1], [1]], reversed=reversed_)
    with refused("`reversed` marks an item of a factor that `support` lacks"):
        Structure([[1], [0]], reversed=[[0], [1]])


def test_comments_of_others_are_no_legend():
    assert read_legend('# x1 is "visual"\n# Q1. is "unclosed\n# Q1. is "Q1?"') == {"Q1.": "Q1?"}


@pytest.mark.parametrize(
    ("support", "message"),
    [
        ([1, 0], r"`support` must be a matrix of items by factors; got 1 dimension"),
        ([[0.7, 0.1]], "only true/false or 0/1; a loading matrix has to be thresholded"),
        ([[1, np.nan]], "only true/false or 0/1"),
        ([["a"]], "only true/false or 0/1"),
        ([[1, 0], [1, 0]], r"a factor without items \(column 2\). Leave it out"),
    ],
)
def test_bad_support(support, message):
    with refused(message) as caught:
        Structure(support)
    assert caught.value.argument == "support"


@pytest.mark.parametrize("argument", ["item_names", "factor_names"])
def test_bad_names(argument):
    for names, message in [
        (["a"], f"`{argument}` must have 2 names; got 1"),
        (["a", "a"], f"`{argument}` must be distinct; 'a' occurs twice"),
    ]:
        with refused(message) as caught:
            Structure([[1, 0], [0, 1]], **{argument: names})
        assert caught.value.argument == argument


@pytest.mark.parametrize("which", [-1, 3, 1.0, 1.5, True, None])
def test_bad_index(chain, which):
    with refused(f"`factor` must be a name or an index from 0 to 2; got {which}"):
        chain.children(which)


def test_unknown_names_suggest_the_nearest():
    structure = Structure([[1], [1]], ["engage_1", "growth_1"], ["Engagement"])
    with refused("There is no factor 'engagment'. Did you mean 'Engagement'?"):
        structure.unique_children("engagment")
    with refused("There is no item 'engage1'. Did you mean 'engage_1'?"):
        structure.parents("engage1")


def test_from_keys_takes_a_single_item_as_one():
    assert Structure.from_keys({"A": "q_253"}).item_names == ("q_253",)


def test_under_gives_the_items_of_each_domain(chain):
    upper = Structure([[1, 0], [0, 1], [1, 0]], ["H", "F", "G"], ["low", "high"])
    under = chain.under(upper)
    assert under.item_names == chain.item_names
    assert under.factor_names == ("low", "high")
    assert under.children("low") == ("b", "c", "d", "e")
    assert under.children("high") == ("a", "b")
    assert under.uncovered == ("f",)


def test_under_leaves_items_of_a_factor_without_domain_uncovered(chain):
    under = chain.under(Structure([[1], [1], [0]], ["F", "G", "H"], ["domain"]))
    assert under.children("domain") == ("a", "b", "c", "d")
    assert under.uncovered == ("e", "f")


@pytest.mark.parametrize("names", [["F", "G"], ["F", "G", "X"], ["F", "G", "H", "I"]])
def test_under_needs_the_factors_as_items(chain, names):
    with refused("`upper` must have the factors of this structure as its items: F, G, H"):
        chain.under(Structure(np.ones((len(names), 1)), names))
