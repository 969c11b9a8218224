"""Descriptions and screening: brute-force twins, planted findings, shares of false alarms."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.errors import InputError
from dtstat.data import careless


def likert(n=500, p=20, seed=3, reverse=True):
    """Ratings 1 to 5 of attentive respondents, every fourth item reversed."""
    rng = np.random.default_rng(seed)
    z = rng.multivariate_normal(np.zeros(4), 0.3 + 0.7 * np.eye(4), n, method="cholesky")
    x = 0.7 * z[:, np.arange(p) % 4] + np.sqrt(0.51) * rng.standard_normal((n, p))
    x = np.clip(np.round(1.2 * x + 3), 1, 5)
    if reverse:
        x[:, ::3] = 6 - x[:, ::3]
    return pd.DataFrame(x, columns=[f"q{k}" for k in range(1, p + 1)])


def test_long_strings_against_brute_force():
    rng = np.random.default_rng(1)
    X = rng.integers(1, 4, (200, 12)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    expected = [
        max((len(list(run)) for _, run in itertools.groupby(row[~np.isnan(row)])), default=0)
        for row in X
    ]
    assert careless.longest_string(X).tolist() == expected


def test_even_odd_against_brute_force():
    X = likert(100).to_numpy(copy=True)
    X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    scales = [(list(range(j, 20, 4)), [-1.0 if k % 3 == 0 else 1.0 for k in range(j, 20, 4)])
              for j in range(4)]  # fmt: skip
    ours = careless.even_odd(X, scales, np.full(20, 6.0))
    for row, value in zip(X, ours, strict=True):
        turned = np.where(np.arange(20) % 3 == 0, 6 - row, row)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a half without answers
            first = [np.nanmean(turned[places[0::2]]) for places, _ in scales]
            second = [np.nanmean(turned[places[1::2]]) for places, _ in scales]
        first, second = np.array([first, second])[:, ~np.isnan(first) & ~np.isnan(second)]
        if min(np.ptp(first), np.ptp(second)) < 1e-9:
            assert np.isnan(value)
            continue
        r = np.corrcoef(first, second)[0, 1]
        whole = -1.0 if r <= -1 / 3 else 2 * r / (1 + r)
        assert value == pytest.approx(whole, abs=1e-10)


def test_distances_of_rows_with_gaps_use_what_they_have():
    X = likert(80, 6).to_numpy(copy=True)
    X[np.random.default_rng(4).random(X.shape) < 0.1] = np.nan
    mean, S = careless.covariance(X)
    for row, ours in zip(X, careless.mahalanobis(X, mean, S), strict=True):
        k = ~np.isnan(row)
        d = row[k] - mean[k]
        assert ours == pytest.approx(d @ np.linalg.inv(S[np.ix_(k, k)]) @ d, rel=1e-9)


def test_attentive_respondents_have_margins_gaps_and_correlations_of_the_data():
    frame = likert(2000, 8)
    X = frame.to_numpy(copy=True)
    X[np.random.default_rng(5).random(X.shape) < 0.05] = np.nan
    drawn = careless.draw_honest(X, np.random.default_rng(6))
    for k in range(8):
        ours = [np.nanmean(drawn[:, k] == v) for v in range(1, 6)]
        assert ours == pytest.approx([np.nanmean(X[:, k] == v) for v in range(1, 6)], abs=0.01)
    assert np.isnan(drawn).mean() == pytest.approx(np.isnan(X).mean(), abs=0.005)
    between = pd.DataFrame(drawn).corr().to_numpy() - pd.DataFrame(X).corr().to_numpy()
    assert np.abs(between).max() < 0.05


@pytest.mark.long
def test_shares_of_attentive_respondents_who_are_flagged():
    """Not more than the level for each index, up to Monte Carlo error: 40 x 500 people."""
    counts = pd.Series(0, index=["longest_string", "variability", "distance", "repeat"])
    for seed in range(40):
        flags = dt.describe(likert(seed=seed, reverse=seed % 2 == 0), level=0.01).people["flags"]
        for name in counts.index:
            counts[name] += flags.str.contains(name).sum()
    most = 200 + 4 * np.sqrt(200)
    assert (counts <= most).all(), counts
    assert counts["distance"] > 100


def test_straight_lines_and_random_answers_are_found():
    frame = likert(600, 30)
    rng = np.random.default_rng(8)
    frame.iloc[:15] = rng.integers(1, 6, 15)[:, None]
    frame.iloc[15:30] = rng.integers(1, 6, (15, 30))
    people = dt.describe(frame).people
    assert people["flags"][:15].str.contains("longest_string").all()
    assert people["flags"][:15].str.contains("variability").all()
    assert people["flags"][15:30].str.contains("distance").sum() >= 5
    assert (people["flags"][30:] != "").mean() < 0.01


def test_even_odd_finds_those_who_contradict_themselves():
    frame = likert(400, 40, reverse=False)
    keys = {f"s{j}": [f"q{k + 1}" for k in range(j, 40, 4)] for j in range(4)}
    # In the first half of each scale the scales rise, in the second they fall.
    frame.iloc[0] = np.where((np.arange(40) // 4) % 2, np.arange(40) % 4 + 1, 5 - np.arange(40) % 4)
    found = dt.describe(frame, keys=keys)
    assert found.people["even_odd"][0] == -1.0
    structure = dt.fit(frame, structure=keys)
    again = dt.describe(frame, keys=structure)
    pd.testing.assert_series_equal(again.people["even_odd"], found.people["even_odd"])


def test_planted_findings():
    frame = likert()
    frame.loc[3, "q2"] = 44
    frame.loc[range(20), "q5"] = 99
    frame["copy"] = frame["q1"]
    frame["total"] = frame[["q6", "q7", "q8"]].sum(axis=1)
    frame["empty"] = np.nan
    frame["same"] = 2.0
    frame.iloc[11, :20] = frame.iloc[12, :20]
    frame.iloc[11, 20:] = frame.iloc[12, 20:]
    found = dt.describe(frame)
    said = {(row.finding, row.where) for row in found.findings.itertuples()}
    assert ("no answers", "item 'empty'") in said
    assert ("always the same answer", "item 'same'") in said
    assert ("answers out of range", "item 'q2': 44 (1 times)") in said
    assert ("answers out of range", "item 'q5': 99 (20 times)") in said
    assert ("copy", "item 'copy' is a copy of 'q1'") in said
    assert ("computed from others", "item 'total' is the sum of 'q6', 'q7', 'q8'") in said
    assert ("same answers as an earlier row", "1 row") in said
    assert found.people.loc[12, "flags"] == "repeat"
    assert not found.people.loc[11, "flags"]
    assert found.notes == (
        "No Mahalanobis distance: there are too few rows, or items that others determine.",
    )
    assert "what to do" in repr(found)


def test_limits_and_labels_say_what_is_possible():
    frame = likert(50, 4)
    found = dt.describe(frame, limits={"q2": (2, 4)}).findings
    assert found["where"].tolist()[0].startswith("item 'q2': 1 (")
    frame.attrs["value_labels"] = {"q1": {1.0: "never", 4.0: "always"}}
    assert dt.describe(frame).findings["where"].tolist()[0].startswith("item 'q1': 5 (")
    for limits, message in (((5, 1), "a lower and a higher"), (3, "two numbers"),
                            ({"z": (1, 2)}, "got 'z'")):  # fmt: skip
        with pytest.raises(InputError, match=message):
            dt.describe(frame, limits=limits)


@pytest.mark.parametrize(
    ("keys", "message"),
    [({"a": ["q1", "q2"]}, "at least 3 scales"), (3, "a dict, a structure or a fit"),
     ({"a": ["q1", "-q9x"]}, "names the item 'q9x', which is not among")],
)  # fmt: skip
def test_keys_that_cannot_be(keys, message):
    with pytest.raises(InputError, match=message):
        dt.describe(likert(50, 4), keys=keys)


def test_items_texts_and_bars():
    frame = pd.DataFrame({"a": [1, 1, 2, 5], "b": [0.1, 0.5, np.nan, 0.2]})
    frame.attrs["item_texts"] = {"a": "<i>How</i> are you?"}
    found = dt.describe(frame)
    assert found.items["text"].tolist() == ["<i>How</i> are you?", ""]
    assert found.bars[0].tolist() == [2, 1, 0, 0, 1]
    assert "█▅▁▁▅" in repr(found)
    page = found._repr_html_()
    assert page.count("<svg") == 2
    assert "&lt;i&gt;How" in page
    assert "<i>" not in page
    assert found.to_frame().equals(found.items)


def test_bars_are_drawn_in_their_own_column_alone():
    """An item may be called what looks like bars, and an item without answers has none."""
    frame = pd.DataFrame({"▃▃": [1, 1, 2, 5], "b": [np.nan] * 4, "c": [0.1, 0.5, np.nan, 0.2]})
    page = dt.describe(frame)._repr_html_()
    assert ">▃▃</td>" in page
    assert page.count("<svg") == 2


def test_the_same_seed_gives_the_same_and_ids_are_kept():
    frame = likert(100, 6)
    frame.index = pd.Index([f"p{k}" for k in range(100)], name="who")
    one, two = dt.describe(frame, seed=4), dt.describe(frame, seed=4)
    pd.testing.assert_frame_equal(one.people, two.people)
    assert one.people.index.equals(frame.index)


def test_plot_draws_all_items(drawing):
    ax = dt.describe(likert(50, 5)).plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"q{k}" for k in range(1, 6)]


def test_tables_that_cannot_be_described():
    with pytest.raises(InputError, match="must have answers; got 0 rows"):
        dt.describe(pd.DataFrame({"a": [], "b": []}))
    assert "not screened" in dt.describe(likert(5, 3)).notes[0]
    assert dt.describe(pd.DataFrame({"a": [1.0, 2.0] * 10})).items["n"].tolist() == [20]
