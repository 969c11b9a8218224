"""Nearly as the paper, and faster."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import dtstat as dt
from dtstat.data.frame import rows_by_content
from dtstat.fit import curve_pipeline as curve_fitting
from dtstat.fit.request import PRESETS, FitRequest, apply_preset

SETTINGS = {
    "search": "threshold",
    "thresholds": "50",
    "estimator": "neural",
    "criterion": "validation",
    "uncovered": "report",
    "misfit": "none",
}
FEWEST = {"paper": 1, "paper_fast": 2}
PLAIN = FitRequest(
    measure="spearman",
    search="tree",
    thresholds="exact",
    estimator="copula",
    criterion="step",
    min_children=2,
    uncovered="attach",
    refine=False,
    missing="pairwise",
    misfit="estimated",
    seed=None,
    version="0",
    finalists=3,
)


def answers(n=80, seed=0):
    """Two factors of two items each, as small as the paper allows."""
    rng = np.random.default_rng(seed)
    Z = rng.multivariate_normal(np.zeros(2), [[1, 0.3], [0.3, 1]], n, method="cholesky")
    return np.repeat(Z, 2, axis=1) + 0.5 * rng.normal(size=(n, 4))


def refused(match):
    return pytest.raises(dt.InputError, match=match)


@pytest.mark.parametrize("preset", ["paper", "paper_fast"])
def test_what_a_preset_says(preset):
    call = apply_preset(PLAIN, preset)
    assert {name: getattr(call, name) for name in SETTINGS} == SETTINGS
    assert call.preset == preset
    assert call.min_children == FEWEST[preset]
    assert call.finalists == (None if preset == "paper" else 3)
    untouched = ("measure", "refine", "missing", "version")
    assert all(getattr(call, name) == getattr(PLAIN, name) for name in untouched)


def test_without_a_preset_nothing_changes():
    assert apply_preset(PLAIN, None) is PLAIN


def test_the_presets_are_these():
    assert set(PRESETS) == {"paper", "paper_fast"}
    with refused("`preset` must be a known name; got 'papers'. Did you mean 'paper'"):
        dt.fit(answers(), preset="papers")
    with refused("`preset`"):
        dt.fit(answers(), preset=3)


@pytest.mark.parametrize("preset", ["paper", "paper_fast"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("estimator", "spline"),
        ("estimator", "linear"),
        ("criterion", "bic"),
        ("criterion", "cv"),
        ("min_children", 4),
        ("uncovered", "error"),
        ("thresholds", 20),
    ],
)
def test_contradictions_are_refused_by_name(preset, name, value):
    with refused(f"`preset` '{preset}' means {name}=") as caught:
        dt.fit(answers(), preset=preset, **{name: value})
    assert caught.value.argument == name
    assert "Leave one of the two out." in str(caught.value)
    assert repr(str(value) if name == "thresholds" else value) in str(caught.value)


def test_a_list_of_thresholds_contradicts():
    with refused("means thresholds='50'; got 'given'"):
        dt.fit(answers(), preset="paper", thresholds=[0.1, 0.2])


def test_saying_the_same_is_no_contradiction():
    same = replace(PLAIN, **SETTINGS, min_children=2)
    assert apply_preset(same, "paper_fast") == apply_preset(PLAIN, "paper_fast")


def test_no_other_call_takes_single_items_for_factors():
    with refused("`min_children` must be"):
        dt.fit(answers(), min_children=1)


def test_finalists_contradict_a_preset_that_fits_every_structure():
    with refused("finalists"):
        apply_preset(replace(PLAIN, finalists=2), "paper")


# --- fits ---------------------------------------------------------------------------------------


@pytest.fixture
def brief(monkeypatch):
    """Networks that hardly learn; what was asked for is kept."""
    pytest.importorskip("torch")
    from dtstat.curves import stochastic_em as neural

    asked = []
    real = neural.fit_network

    def watched(coded, support, Z, Phi, rng, schedule, progress=None):
        asked.append(schedule)
        return real(coded, support, Z, Phi, rng, schedule, progress)

    for name in ("PAPER", "FAST"):
        short = replace(getattr(neural, name), iterations=3, pretraining=5)
        monkeypatch.setattr(neural, name, short)
    monkeypatch.setattr(neural, "fit_network", watched)
    return asked


@pytest.fixture
def methods(monkeypatch):
    """How held-out rows were scored."""
    from dtstat.search import finalists

    seen = []
    real = finalists.answers_log_likelihood

    def watched(model, scale, X, rng, method="importance", draws=100):
        seen.append((len(X), method, draws))
        return real(model, scale, X, rng, method, draws)

    monkeypatch.setattr(finalists, "answers_log_likelihood", watched)
    return seen


def structures(X, seed):
    """Definition 2 and Algorithm 1 read literally, by networkx; fewer factors than items."""
    X = X[rows_by_content(X)]  # the order that rows are drawn in
    rows = curve_fitting.split_rows(len(X), seed)[0]
    R = np.abs(spearmanr(X[rows]).statistic)
    found = set()
    for tau in np.linspace(0, 1, 50):
        G = nx.from_numpy_array((tau < R) & ~np.eye(len(R), dtype=bool))
        cliques = [set(c) for c in nx.find_cliques(G)]
        own = [
            c for c in cliques if not c <= set().union(*(o for o in cliques if o is not c), set())
        ]
        if len(own) < len(R):
            A = np.array([[i in c for c in own] for i in range(len(R))])
            found.add(dt.Structure(A))
    return found


@pytest.mark.filterwarnings("ignore::dtstat.DTWarning")
def test_the_paper_fits_every_structure_by_the_reciprocal_estimator(brief, methods):
    from dtstat.curves import stochastic_em as neural

    X = answers()
    fit = dt.fit(X, preset="paper", seed=1)
    assert (fit.call.preset, fit.call.finalists, fit.call.seed) == ("paper", None, 1)
    found = {fit.candidate(k) for k in range(len(fit.candidates))}
    assert found == structures(X, 1)
    assert any(one.support.sum(axis=0).min() == 1 for one in found)  # an isolated item
    assert any(one.support.sum(axis=0).min() > 1 for one in found)
    assert set(brief) == {neural.PAPER}
    assert len(brief) == len(found) + 1  # the chosen one again, of all rows
    assert methods.count((16, "reciprocal", 1000)) == len(found)
    assert 'preset="paper"' in str(fit.summary())
    assert 'thresholds=50, estimator="neural", criterion="validation", min_children=1' in str(
        fit.summary()
    )
    np.testing.assert_allclose(fit.grid, np.linspace(0, 1, 50))


@pytest.mark.filterwarnings("ignore::dtstat.DTWarning")
def test_the_paper_does_not_choose_by_the_copula(brief):
    assert "by the copula" not in dt.fit(answers(), preset="paper", seed=1).explanation


@pytest.mark.filterwarnings("ignore::dtstat.DTWarning")
def test_the_fast_paper_fits_a_few_by_importance_sampling(brief, methods):
    from dtstat.curves import stochastic_em as neural

    fit = dt.fit(answers(seed=8), preset="paper_fast", finalists=2, seed=1)
    assert (fit.call.preset, fit.call.finalists) == ("paper_fast", 2)
    assert len(fit.candidates) == 2
    assert set(brief) == {neural.FAST}
    assert len(brief) == 3
    assert methods.count((16, "importance", 200)) == 2
    assert "finalists=2" in str(fit.summary())


@pytest.mark.filterwarnings("ignore::dtstat.DTWarning")
def test_presets_are_saved_with_the_fit(brief, tmp_path):
    fit = dt.fit(answers(), preset="paper_fast", finalists=1, seed=1)
    fit.save(tmp_path / "fit.dtstat")
    again = dt.load(tmp_path / "fit.dtstat")
    assert again.call == fit.call
    pd.testing.assert_frame_equal(again.response_curves(), fit.response_curves())


@pytest.mark.filterwarnings("ignore::dtstat.DTWarning")
def test_an_isolated_item_is_a_factor_in_the_paper(brief, tmp_path):
    """Three items of one factor and one that is tied to none."""
    rng = np.random.default_rng(3)
    X = np.column_stack(
        [rng.normal(size=(80, 1)) + 0.4 * rng.normal(size=(80, 3)), rng.normal(size=80)]
    )
    fit = dt.fit(X, preset="paper", seed=1)
    found = {fit.candidate(k) for k in range(len(fit.candidates))}
    assert found == structures(X, 1)
    assert dt.Structure([[1, 0], [1, 0], [1, 0], [0, 1]]) in found
    assert not any(one.uncovered for one in found)
    fast = dt.fit(X, preset="paper_fast", seed=1)
    sizes = [fast.candidate(k).support.sum(axis=0).min() for k in range(len(fast.candidates))]
    assert min(sizes) >= 2
    fit.save(tmp_path / "fit.dtstat")
    assert dt.load(tmp_path / "fit.dtstat").structure == fit.structure
