"""``dtstat fit --search sequential``."""

import json

import dtstat as dt

SIMULATED = dt.simulate("clusters", 600, n_factors=4, items_per_factor=6, violating=0.25, seed=1)


def test_prints_and_writes_what_python_finds(run, tmp_path):
    file, written = tmp_path / "answers.csv", tmp_path / "fit.json"
    SIMULATED.data.to_csv(file, index=False)
    status, out, err = run("fit", file, "--search", "sequential", "--json", written)
    assert (status, err) == (0, "")
    expected = dt.fit(dt.read_survey(file), search="sequential")
    page = f"{expected.summary(0.3, 5)!r}\n"
    assert out == page.replace("fit.level(k)", "--n-factors")
    assert expected.structure == SIMULATED.structure
    assert json.loads(written.read_text())["call"]["search"] == "sequential"


def test_other_names_are_refused(refusal, tmp_path):
    file = tmp_path / "answers.csv"
    SIMULATED.data.to_csv(file, index=False)
    assert "sequential" in refusal("fit", file, "--search", "sequentiel")
