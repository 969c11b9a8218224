import dtstat as dt


def test_measures_lists_them_all(run):
    status, out, err = run("measures")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines[3 : 3 + len(dt.measures())]] == list(
        dt.measures().index
    )
    assert "True" not in out


def test_datasets_lists_them_all(run):
    status, out, err = run("datasets")
    assert (status, err) == (0, "")
    for row in dt.datasets().itertuples():
        assert any(
            line.split()[:3] == [row.name, str(row.rows), str(row.items)]
            for line in out.splitlines()
        )


def test_compile_fits_what_first_fits_are_like(run, monkeypatch):
    """Answers of all kinds, with and without gaps, and more items than fit a matrix."""
    asked = []
    monkeypatch.setattr(dt, "fit", lambda data, **how: asked.append((data, how)))
    status, out, err = run("compile")
    assert (status, err) == (0, "")
    assert out == "Compiled: fits start at once now.\n"
    assert any(data.isna().any(axis=None) for data, _ in asked if hasattr(data, "isna"))
    assert max(data.shape[1] for data, _ in asked) > 1000
    assert {"measure": "kendall"} in [how for _, how in asked]
