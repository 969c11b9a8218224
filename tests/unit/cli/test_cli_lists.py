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
