import dataclasses

import numpy as np
import pytest

import dtstat as dt

NINE = dt.dependence(dt.load_dataset("holzinger_swineford_9"))


@pytest.fixture(scope="module")
def path():
    return dt.solution_path(NINE)


def block_path(names):
    """One clique of items that correlate at .5."""
    p = len(names)
    R = np.full((p, p), 0.5) + 0.5 * np.eye(p)
    return dt.solution_path(dt.DependenceMatrix.from_matrix(R, names=names, n_obs=100))


def test_repr_says_what_was_done(path):
    assert repr(path).splitlines() == [
        "Solution path by dependence thresholding",
        "DependenceMatrix: spearman of 9 items, 301 rows",
        f"{len(path)} distinct structures over all thresholds, factors of at least 3 items",
    ]
    assert "over 50 thresholds" in repr(dt.solution_path(NINE, thresholds=50))


def test_tables_have_the_numbers_of_the_frame(path):
    structures, factors = path.summary(max_rows=1000).tables
    frame = path.to_frame()
    assert structures.headers == ("from", "to", "width", "factors", "loadings", "in factors")
    for cells, row in zip(structures.rows, frame.itertuples(), strict=True):
        low, high, width = (f"{x:.3f}" for x in (row.tau_low, row.tau_high, row.persistence))
        counts = map(str, (row.n_factors, row.n_edges, row.n_covered))
        assert cells == (low, high, width, *counts)
    assert len(factors.rows) == len(path.barcode())
    assert not any("not shown" in note for note in (*structures.notes, *factors.notes))


def test_the_longest_lived_are_shown_in_order_of_threshold(path):
    k = 4
    structures, factors = path.summary(max_rows=k).tables
    shown = path.to_frame().nlargest(k, "persistence").sort_values("tau_low")
    assert [row[0] for row in structures.rows] == [f"{low:.3f}" for low in shown["tau_low"]]
    longest = [f"{bar.persistence:.3f}" for bar in path.barcode()][:k]
    assert [row[2] for row in factors.rows] == longest


def test_what_is_left_out_is_said(path):
    structures, factors = path.summary(max_rows=4).tables
    assert f"{len(path) - 4} shorter-lived structures not shown." in structures.notes
    assert f"{len(path.barcode()) - 4} shorter-lived factors not shown." in factors.notes
    summary = path.summary(max_rows=4)
    for text in (summary.to_text(), summary.to_html(), summary.to_latex()):
        assert text.count("not shown.") == 2


def test_unique_members_are_marked(path):
    _, factors = path.summary().tables
    for bar, row in zip(path.barcode(), factors.rows, strict=False):
        marked = {name.removesuffix("*") for name in row[-1].split() if name.endswith("*")}
        assert marked == set(bar.unique_members)


@pytest.mark.parametrize(("p", "ending"), [(12, "q12*"), (13, "q12* and 1 more"), (20, "8 more")])
def test_long_factors_are_cut(p, ending):
    _, factors = block_path([f"q{i + 1}" for i in range(p)]).summary().tables
    assert factors.rows[0][-1].endswith(ending)


def test_hostile_names():
    names = ["<script>alert(1)</script>", "50%_a", "b&c"]
    summary = block_path(names).summary()
    assert "<script" not in summary.to_html()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;*" in summary.to_html()
    assert r"50\%\_a* b\&c*" in summary.to_latex()
    assert "<script>alert(1)</script>* 50%_a* b&c*" in summary.to_text()


def test_no_factors_are_explained():
    rng = np.random.default_rng(1)
    path = dt.solution_path(rng.standard_normal((100, 5)), min_children=6)
    summary = path.summary()
    largest = path.dependence.strength[np.triu_indices(5, 1)].max()
    for text in (summary.to_text(), summary.to_html(), summary.to_latex()):
        assert "No threshold gives a factor of at least 6 items" in text
        assert f"Strongest dependence: {largest:.3f}" in text
        assert "Try a smaller" in text
    assert summary.tables == ()


def test_no_factors_on_a_grid_blames_the_grid():
    text = dt.solution_path(NINE, thresholds=[0.95]).summary().to_text()
    assert "None of these thresholds gives a factor of at least 3 items" in text


def test_frozen(path):
    with pytest.raises(dataclasses.FrozenInstanceError):
        path.min_children = 2


def test_repr_of_parts(path):
    c = path.candidates[-1]
    assert repr(c) == (
        f"Candidate: thresholds [{c.tau_low:.4f}, {c.tau_high:.4f}), 1 factors, 3 edges"
    )
    assert repr(path.barcode()) == f"Barcode: {len(path.barcode())} cliques of 9 items"


def test_steps_are_what_every_threshold_gives():
    path = dt.solution_path(dt.load_dataset("holzinger_swineford_26"))
    steps = path.steps()
    assert (steps["tau_low"].diff().dropna() > 0).all()
    assert len(steps) > len(path)  # a structure comes back
    for row in steps.itertuples():
        there = path.at((row.tau_low + row.tau_high) / 2)
        assert there.n_factors == row.n_factors
        assert there.support.sum() == row.n_loadings
        assert there.support.any(axis=1).sum() == row.n_covered
