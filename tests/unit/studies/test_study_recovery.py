import inspect
import warnings

import numpy as np
import pytest

import dtstat as dt
from dtstat.studies import recovery
from dtstat.studies.recovery import RecoveryCall, child_seeds, oracle, recover

DESIGNS = ("v_structure", "chain", "double_mediation")


def call(**changes):
    arguments = {
        "n": 80,
        "seed": 1,
        "thresholds": 50,
        "min_children": 2,
        "estimator": "copula",
        "criterion": "ebic",
        "preset": None,
    }
    return RecoveryCall(**(arguments | changes))


def agreement(structure, truth):
    found = dt.compare(structure, truth)
    return found.n_factors[0], found.f1, found.hamming


def outcome(record, selection):
    return tuple(record[selection][name] for name in ("n_factors", "f1", "hamming"))


def test_seeds_are_those_of_the_first_release():
    """A ledger that is gone on with must find the data sets it was begun with."""
    assert child_seeds(1, "chain", 1) == (4549600316711456, 4469159603611187)


def test_all_seeds_differ():
    seeds = [
        one
        for seed in (0, 1, 2)
        for design in DESIGNS
        for k in range(1, 30)
        for one in child_seeds(seed, design, k)
    ]
    assert len(set(seeds)) == len(seeds) == 3 * 3 * 29 * 2


def test_the_oracle_is_the_best_of_all_thresholds_of_the_grid():
    gaps = []
    for k in range(8):
        drawn = dt.simulate("double_mediation", n=60, seed=k)
        found = dt.compare(oracle(drawn.data, drawn.structure, call()), drawn.structure)
        path = dt.solution_path(drawn.data, min_children=2)
        each = [dt.compare(path.at(tau), drawn.structure) for tau in np.linspace(0, 1, 50)]
        assert found.f1 == max(one.f1 for one in each)
        equals = [one.hamming for one in each if one.f1 == found.f1]
        assert found.hamming == min(equals)
        gaps.append(found.f1)
    assert min(gaps) < 1  # the data are few enough to tell good from best


def test_the_oracle_depends_on_grid_and_size_of_factors():
    drawn = dt.simulate("chain", n=60, seed=1)
    few = oracle(drawn.data, drawn.structure, call(thresholds=3))
    assert agreement(few, drawn.structure) != agreement(
        oracle(drawn.data, drawn.structure, call()), drawn.structure
    )
    large = oracle(drawn.data, drawn.structure, call(min_children=4))
    assert large.support.sum(axis=0).min() >= 4


def test_where_nothing_is_found_the_oracle_has_no_factor():
    drawn = dt.simulate("chain", n=60, seed=1)
    nothing = oracle(drawn.data, drawn.structure, call(thresholds=2, min_children=21))
    assert nothing.n_factors == 0


def test_a_record_can_be_repeated_with_the_public_functions():
    record = recover(call(criterion="validation", thresholds=10), "chain", 3)
    assert (record["seed"], record["fit_seed"]) == child_seeds(1, "chain", 3)
    drawn = dt.simulate("chain", n=80, seed=record["seed"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = dt.fit(
            drawn.data,
            search="threshold",
            thresholds=10,
            min_children=2,
            criterion="validation",
            uncovered="report",
            seed=record["fit_seed"],
        )
    assert outcome(record, "likelihood") == agreement(fit.structure, drawn.structure)
    best = oracle(drawn.data, drawn.structure, call(thresholds=10))
    assert outcome(record, "oracle") == agreement(best, drawn.structure)


def test_the_oracle_is_never_behind_a_choice_from_the_same_path():
    few = call(n=40, thresholds=10)
    records = [recover(few, design, k) for design in DESIGNS for k in range(1, 5)]
    pairs = [(one["oracle"]["f1"], one["likelihood"]["f1"]) for one in records]
    assert all(best >= chosen for best, chosen in pairs)
    assert any(best > chosen for best, chosen in pairs)


@pytest.fixture
def passed(monkeypatch):
    """What fit is called with."""
    seen = []
    real = recovery.fit

    def fit(data, **arguments):
        seen.append(arguments)
        return real(data)

    monkeypatch.setattr(recovery, "fit", fit)
    return seen


def test_every_argument_is_passed_on(passed):
    chosen = {"thresholds": 20, "min_children": 3, "estimator": "spline", "criterion": "cv"}
    recover(call(**chosen), "chain", 1)
    fixed = {"measure": "spearman", "search": "threshold", "uncovered": "report"}
    assert passed == [chosen | fixed | {"seed": child_seeds(1, "chain", 1)[1]}]


def test_a_preset_is_passed_on_alone(passed):
    recover(call(estimator=None, criterion=None, preset="paper"), "chain", 1)
    assert passed == [{"preset": "paper", "seed": child_seeds(1, "chain", 1)[1]}]


def test_arguments_of_fit_are_spelled_as_fit_spells_them():
    assert set(call().fit_arguments()) <= set(inspect.signature(dt.fit).parameters)


def test_warnings_are_kept_and_not_shown(monkeypatch):
    real = recovery.fit

    def fit(data, **arguments):
        warnings.warn("Careful.", dt.EstimationWarning, stacklevel=2)
        return real(data, **arguments)

    monkeypatch.setattr(recovery, "fit", fit)
    record = recover(call(thresholds=10), "v_structure", 1)
    assert "Careful." in record["likelihood"]["warnings"]
    assert record["oracle"]["warnings"] == []


def test_a_data_set_that_cannot_be_fitted_is_named(monkeypatch):
    def fit(data, **arguments):
        raise dt.EstimationError("The sampler froze.")

    monkeypatch.setattr(recovery, "fit", fit)
    seed = child_seeds(1, "chain", 7)[0]
    said = rf"Data set 7 of 'chain' \(seed {seed}\) cannot be fitted. The sampler froze."
    with pytest.raises(dt.EstimationError, match=said):
        recover(call(), "chain", 7)


def test_seconds_are_those_of_the_choice(monkeypatch):
    times = iter([10.0, 10.5, 20.0, 23.0])
    monkeypatch.setattr("dtstat.studies.recovery.time.perf_counter", lambda: next(times))
    record = recover(call(thresholds=5), "chain", 1)
    assert (record["oracle"]["seconds"], record["likelihood"]["seconds"]) == (0.5, 3.0)


def test_of_equally_accurate_structures_the_oracle_takes_the_nearest(monkeypatch):
    drawn = dt.simulate("chain", n=60, seed=1)

    def alike(structure, truth):
        return dt.Comparison(0.5, 100 - int(structure.support.sum()), 0.5, 0.5, (4, 4), {})

    monkeypatch.setattr(recovery, "compare", alike)
    nearest = oracle(drawn.data, drawn.structure, call())
    path = dt.solution_path(drawn.data, thresholds=50, min_children=2)
    assert nearest.support.sum() == path.to_frame()["n_edges"].max()
