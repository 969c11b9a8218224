import numpy as np
import pandas as pd
import pytest

from dtstat.core.errors import InputError
from dtstat.simulation.generate import Simulation, simulate
from dtstat.simulation.maps import MAPS

# Monte Carlo standard errors allowed; a single comparison exceeds 5 once in 1.7 million, and
# tests below compare up to a hundred statistics at once.
SE = 5


def signal_of(sim: Simulation) -> np.ndarray:
    """Rebuild the signal from the recorded maps, without the package's own sum."""
    signal = pd.DataFrame(0.0, index=sim.data.index, columns=sim.data.columns)
    factors = list(sim.structure.factor_names)
    for row in sim.maps.itertuples():
        signal[row.item] += MAPS[row.map](sim.latents[:, factors.index(row.factor)])
    return signal.to_numpy()


@pytest.mark.parametrize(
    ("design", "d"), [("v_structure", 3), ("chain", 4), ("double_mediation", 4)]
)
def test_the_papers_first_simulation(design, d):
    sim = simulate(design, n=100, seed=1)
    assert sim.data.shape == (100, 5 * d)
    assert list(sim.data.columns) == [f"x{i + 1}" for i in range(5 * d)]
    assert sim.latents.shape == (100, d)
    np.testing.assert_array_equal(sim.structure.support, np.kron(np.eye(d), np.ones((5, 1))))
    assert list(sim.maps["map"]) == [f"g{k % 10 + 1}" for k in range(5 * d)]
    assert sim.structure.satisfies_ucc


@pytest.mark.parametrize(("n", "d"), [(250, 25), (500, 50), (245, 25), (244, 24), (4, 2)])
def test_the_papers_second_simulation(n, d):
    sim = simulate("high_dimensional", n=n, factor_correlation=0.25, seed=1)
    assert sim.data.shape == (n, 15 * d)
    assert sim.structure.n_factors == d
    assert set(np.unique(sim.factor_correlations)) == {0.25, 1.0}


@pytest.mark.parametrize("second_parent", ["own", "shared"])
@pytest.mark.parametrize("violating", [0.2, 0.4])
def test_the_share_of_violating_factors(violating, second_parent):
    sim = simulate(
        "high_dimensional", n=250, violating=violating, second_parent=second_parent, seed=1
    )
    without = [f for f in sim.structure.factor_names if not sim.structure.unique_children(f)]
    assert len(without) == 25 * violating
    assert not sim.structure.satisfies_ucc


def test_clusters():
    sim = simulate(
        "clusters", n=50, n_factors=3, items_per_factor=4, factor_correlation=0.3, seed=1
    )
    assert sim.data.shape == (50, 12)
    np.testing.assert_allclose(sim.factor_correlations[np.triu_indices(3, 1)], 0.3)


def test_cross_loadings_and_violations_together():
    sim = simulate("chain", n=50, violating=0.25, cross_loadings=3, seed=1)
    parents = sim.structure.support.sum(axis=1)
    assert np.count_nonzero(parents == 2) == 5 + 3
    assert len(sim.maps) == 20 + 8


def test_signal_to_noise_ratio():
    sim = simulate("chain", n=20_000, snr=4.0, seed=2)
    noise = sim.data.to_numpy() - signal_of(sim)
    ratio = signal_of(sim).var(axis=0) / noise.var(axis=0)
    np.testing.assert_allclose(ratio, 4, rtol=SE * np.sqrt(2 / 20_000))


def test_data_are_the_sum_of_maps_plus_independent_noise():
    n = 20_000
    sim = simulate("double_mediation", n=n, cross_loadings=6, maps="one_in_five", seed=3)
    noise = sim.data.to_numpy() - signal_of(sim)
    np.testing.assert_allclose(noise.var(axis=0), sim.noise_variances, rtol=SE * np.sqrt(2 / n))
    np.testing.assert_allclose(signal_of(sim).var(axis=0) / 4, sim.noise_variances)
    together = np.corrcoef(np.column_stack([noise, sim.latents]).T)
    noise_rows = together[: noise.shape[1]] - np.eye(*together[: noise.shape[1]].shape)
    assert np.abs(noise_rows).max() < SE / np.sqrt(n)


def test_same_seed_same_data_other_seed_other_data():
    first, again, other = (simulate("chain", n=30, cross_loadings=2, seed=s) for s in (1, 1, 2))
    pd.testing.assert_frame_equal(first.data, again.data)
    pd.testing.assert_frame_equal(first.maps, again.maps)
    assert not np.isclose(first.latents, other.latents).any()


@pytest.mark.parametrize(
    "seed",
    [None, 7, 7.0, np.int64(7), np.random.SeedSequence(7), np.random.default_rng(7)],
    ids=lambda seed: type(seed).__name__,
)
def test_the_recorded_seed_gives_the_simulation_again(seed):
    sim = simulate(n=20, seed=seed)
    assert isinstance(sim.seed, int)
    assert sim.seed < 2**53
    pd.testing.assert_frame_equal(sim.data, simulate(n=20, seed=sim.seed).data)


def test_a_generator_moves_on_and_a_seed_sequence_does_not():
    rng, sequence = np.random.default_rng(1), np.random.SeedSequence(1)
    assert simulate(n=5, seed=rng).seed != simulate(n=5, seed=rng).seed
    assert simulate(n=5, seed=sequence).seed == simulate(n=5, seed=sequence).seed
    assert simulate(n=5).seed != simulate(n=5).seed


def test_streams_are_separate():
    base = simulate("chain", n=40, seed=1)
    noisy = simulate("chain", n=40, snr=1.0, seed=1)
    crossed = simulate("chain", n=40, cross_loadings=3, maps="linear", seed=1)
    np.testing.assert_array_equal(base.latents, noisy.latents)
    np.testing.assert_array_equal(base.latents, crossed.latents)
    assert base.structure == noisy.structure
    np.testing.assert_allclose(noisy.noise_variances, 4 * base.noise_variances)


def test_the_global_generator_is_neither_read_nor_moved():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    simulate(n=10)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("levels", [2, 3, 5, 7])
def test_levels(levels):
    continuous = simulate("chain", n=2000, seed=1).data
    answers = simulate("chain", n=2000, levels=levels, seed=1).data
    assert (answers.dtypes == np.int64).all()
    assert (answers.min() == 1).all()
    assert (answers.max() == levels).all()
    x = continuous["x1"]
    low, high = x.quantile([0.025, 0.975])
    cuts = np.linspace(low, high, levels + 1)[1:-1]
    np.testing.assert_array_equal(answers["x1"], 1 + np.searchsorted(cuts, x, side="right"))


def test_answers_keep_two_categories_even_with_two_observations():
    answers = simulate("chain", n=2, levels=7, seed=1).data
    assert (answers.nunique() == 2).all()


def test_non_gaussian_latents_reach_the_data():
    sim = simulate(n=500, latent="skewed", seed=1)
    assert sim.latents.min() >= -1
    assert not np.array_equal(sim.latents, simulate(n=500, seed=1).latents)


def test_whole_numbers_may_be_floats():
    as_floats = simulate(
        "clusters",
        n=50.0,
        snr=4,
        n_factors=3.0,
        items_per_factor=np.float64(4),
        cross_loadings=1.0,
        levels=5.0,
        seed=1.0,
    )
    as_ints = simulate(
        "clusters", n=50, n_factors=3, items_per_factor=4, cross_loadings=1, levels=5, seed=1
    )
    pd.testing.assert_frame_equal(as_floats.data, as_ints.data)


def test_repr():
    sim = simulate("chain", n=20, seed=1)
    assert repr(sim) == "Simulation: chain, n = 20, 20 items, 4 factors, seed 1"


PAPER_N = "Use at least two observations; the paper uses 5000."
SEED_ADVICE = "Use a whole number, a numpy Generator or SeedSequence, or None."
CLUSTERS = {"design": "clusters"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 1}, f"`n` must be a whole number of at least 2; got 1. {PAPER_N}"),
        ({"n": 10.5}, f"`n` must be a whole number of at least 2; got 10.5. {PAPER_N}"),
        ({"n": "ten"}, f"`n` must be a whole number of at least 2; got 'ten'. {PAPER_N}"),
        ({"n": True}, f"`n` must be a whole number of at least 2; got True. {PAPER_N}"),
        ({"snr": -1}, "`snr` must be a positive number; got -1. The paper uses 4."),
        ({"snr": np.float64("nan")}, "`snr` must be a positive number; got nan. The paper uses 4."),
        ({"snr": np.inf}, "`snr` must be a positive number; got inf. The paper uses 4."),
        (
            {"design": "chains"},
            "`design` must be a known name; got 'chains'. Did you mean 'chain'?",
        ),
        (
            {"design": None},
            "`design` must be a known name; got None. "
            "Known: chain, clusters, double_mediation, high_dimensional, v_structure.",
        ),
        ({"maps": "papers"}, "`maps` must be known names or functions; got 'papers'. "),
        (
            {"latent": "gausian"},
            "`latent` must be a known name; got 'gausian'. Did you mean 'gaussian'?",
        ),
        (
            {"levels": 1},
            "`levels` must be a whole number of at least 2; got 1. "
            "Use 5 for a five-point answer scale.",
        ),
        (
            {"items_per_factor": 0},
            "`items_per_factor` must be a whole number of at least 1; got 0. "
            "Three or more make a factor recoverable.",
        ),
        (
            CLUSTERS,
            "`n_factors` must be a whole number of at least 1; got None. "
            "The design 'clusters' needs it, such as `n_factors=4`.",
        ),
        (
            {"n_factors": 4},
            "`n_factors` cannot be set for the design 'v_structure', which fixes it. "
            "Leave it out, or use the design 'clusters'.",
        ),
        (
            {"factor_correlation": 0.3},
            "`factor_correlation` cannot be set for the design 'v_structure', which fixes it. "
            "Its graph and `path_coefficient` set them.",
        ),
        (
            {"factor_correlation": 1.0},
            "`factor_correlation` must be a number in [0, 1); got 1.0. "
            "The paper uses 0, 0.25 and 0.75.",
        ),
        (
            {"path_coefficient": None},
            "`path_coefficient` must be a finite number; got None. The paper uses 0.5.",
        ),
        (
            {"path_coefficient": 0.9},
            "`path_coefficient` must be small enough for factors of variance 1; got 0.9, ",
        ),
        (
            {"violating": 1},
            "`violating` must be a number in [0, 1); got 1. The paper uses 0, 0.2 and 0.4.",
        ),
        (
            {"second_parent": "share"},
            "`second_parent` must be a known name; got 'share'. Did you mean 'shared'?",
        ),
        (
            {"cross_loadings": -1},
            "`cross_loadings` must be a whole number of at least 0; got -1. "
            "Give the number of items.",
        ),
        (
            CLUSTERS | {"n_factors": 1, "cross_loadings": 1},
            "`violating` and `cross_loadings` need a second factor; got `n_factors` = 1. "
            "Raise `n_factors`.",
        ),
        ({"seed": -1}, f"`seed` must be a whole number of at least 0; got -1. {SEED_ADVICE}"),
        ({"seed": "one"}, f"`seed` must be a whole number of at least 0; got 'one'. {SEED_ADVICE}"),
        (
            {"maps": ["linear", np.zeros_like]},
            "`maps` must be functions that vary with the factor; item x2 came out constant. "
            "Look at the map it uses.",
        ),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_every_refusal_says_what_to_do(arguments, message):
    with pytest.raises(InputError) as caught:
        simulate(**{"n": 20} | arguments)
    assert str(caught.value).startswith(message)
