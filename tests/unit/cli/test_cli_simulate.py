import pandas as pd

import dtstat as dt


def test_simulate_writes_what_the_function_returns(run, tmp_path, read_exactly):
    file = tmp_path / "simulated.csv"
    status, out, err = run("simulate", file, "--design", "chain", "--n", 200, "--seed", 7)
    simulation = dt.simulate("chain", n=200, seed=7)
    pd.testing.assert_frame_equal(read_exactly(file), simulation.data)
    assert (status, err) == (0, "")
    assert out == f"{simulation}\nwritten to {file}\n{simulation.structure}\n"


def test_simulate_passes_every_option_on(run, tmp_path):
    options = {
        "design": "clusters",
        "n": 100,
        "maps": "linear",
        "snr": 2.0,
        "items_per_factor": 4,
        "factor_correlation": 0.3,
        "violating": 0.25,
        "cross_loadings": 1,
        "levels": 5,
        "seed": 3,
    }
    flags = [t for k, v in options.items() for t in (f"--{k.replace('_', '-')}", v)]
    file = tmp_path / "simulated.csv"
    assert run("simulate", file, *flags, "--factors", 4)[0] == 0
    expected = dt.simulate(**options, n_factors=4).data
    pd.testing.assert_frame_equal(pd.read_csv(file), expected)


def test_mistyped_design(refusal):
    assert "mean 'chain'?" in refusal("simulate", "FOLDER/x.csv", "--design", "chian")
