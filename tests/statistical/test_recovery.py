"""The paper's designs: the truth is on the path (Section 6)."""

import numpy as np
import pytest

import dtstat as dt

SEEDS = range(5)
PAPER_GRID = 50


def oracle_f1(path, truth):
    """F1 of the best structure on the path."""
    return max(dt.compare(c.structure, truth).f1 for c in path.candidates)


@pytest.mark.parametrize("design", ["v_structure", "chain", "double_mediation"])
def test_first_simulation(design):
    """The paper reports a mean F1 of .988 to .994 here; all of these seeds reach 1."""
    for seed in SEEDS:
        simulation = dt.simulate(design, n=5000, seed=seed)
        matrix = dt.dependence(simulation.data)
        exact = dt.solution_path(matrix)
        assert simulation.structure in {c.structure for c in exact.candidates}
        grid = dt.solution_path(matrix, thresholds=PAPER_GRID, min_children=2)
        assert oracle_f1(grid, simulation.structure) == 1.0


@pytest.mark.parametrize("seed", range(2))
def test_second_simulation(seed):
    """More items than rows: p = 375, n = 250, d = 25, uncorrelated factors."""
    simulation = dt.simulate("high_dimensional", n=250, seed=seed)
    path = dt.solution_path(simulation.data, thresholds=PAPER_GRID)
    assert simulation.structure.n_factors == 25
    assert oracle_f1(path, simulation.structure) >= 0.98


def test_items_that_rank_correlation_cannot_see():
    """Every fifth item is z² or |z|: Spearman's best path leaves one item of each factor out."""
    for seed in range(2):
        simulation = dt.simulate("v_structure", n=3000, maps="one_in_five", seed=seed)
        truth = simulation.structure
        spearman = dt.solution_path(simulation.data)
        maximal = dt.solution_path(simulation.data, measure="maximal")
        assert oracle_f1(maximal, truth) == 1.0
        assert oracle_f1(spearman, truth) < 0.95


def test_independent_items_have_no_factor_that_lasts():
    """A factor of pure noise lives no longer than |r| varies by chance, some 1/√n."""
    n = 5000
    path = dt.solution_path(np.random.default_rng(1).standard_normal((n, 12)))
    assert path.barcode().persistence.max() < 3 / np.sqrt(n)
