import dtstat as dt
from dtstat.studies.paper import (
    HIGHDIM,
    HIGHDIM_MOST_SECONDS,
    HIGHDIM_SHARES,
    HIGHDIM_SIZES,
    MODELS,
    TABLE1,
    TABLE1_NOTES,
)
from dtstat.studies.recovery import SELECTIONS


def reported(*names):
    return [getattr(row, name) for row in TABLE1.values() for name in names]


def test_there_is_a_row_for_each_selection_and_model():
    assert list(TABLE1) == [(one, design) for one in SELECTIONS for design in MODELS]


def test_true_numbers_of_factors_are_those_of_the_designs():
    for design, (_, d) in MODELS.items():
        assert dt.simulate(design, n=10, seed=1).structure.n_factors == d


def test_what_is_printed_is_read_as_numbers():
    row = TABLE1["likelihood", "double_mediation"]
    assert (row.hamming.mean, row.hamming.plus_minus) == (2.13, 3.05)
    assert (row.n_factors.mean, row.f1.plus_minus) == (4.3, 0.066)


def test_the_range_of_f1_is_that_of_the_text():
    """Section 6: 0.988 to 0.994 by the oracle, 0.952 to 0.964 by likelihood."""
    f1 = [one.mean for one in reported("f1")]
    assert (min(f1[:3]), max(f1[:3])) == (0.988, 0.994)
    assert (min(f1[3:]), max(f1[3:])) == (0.952, 0.964)


def test_means_are_multiples_of_a_thirtieth_as_the_note_says():
    assert any("multiples of 1/30" in note for note in TABLE1_NOTES)
    for one in reported("n_factors", "hamming"):
        text = one.text.split(" ± ")[0]
        decimals = 2 if text == "2.130" else len(text.split(".")[1])  # 2.13 with a zero added
        assert round(round(one.mean * 30) / 30, decimals) == one.mean


def test_the_second_simulation_is_that_of_the_text():
    """Section 6.2: 0.9 and 80 % of the factors at a share of 0.2, 0.75 and 60 % at 0.4."""
    found = {share: (one.f1, one.found) for share, one in HIGHDIM.items()}
    assert found == {0.2: (0.9, 0.8), 0.4: (0.75, 0.6)}
    assert set(HIGHDIM) == set(HIGHDIM_SHARES) - {0}
    assert HIGHDIM_MOST_SECONDS == 3 * 60


def test_sizes_have_the_papers_numbers_of_factors_and_items():
    for n in HIGHDIM_SIZES:
        drawn = dt.simulate("high_dimensional", n=n, seed=1)
        assert (drawn.structure.n_factors, drawn.data.shape) == (n / 10, (n, 1.5 * n))
