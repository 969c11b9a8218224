"""Public calls give linear algebra one thread, whatever the user's settings are."""

import importlib

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import dtstat as dt
from dtstat.core.errors import InputError

X = np.random.default_rng(1).normal(size=(50, 6))
R = dt.DependenceMatrix.from_matrix(np.eye(6), 50)
NINE = dt.load_dataset("holzinger_swineford_9")
FOUND = dt.fit(NINE)
MODEL, EXPLORED = dt.cfa(NINE, FOUND.structure), dt.efa(NINE, 3)
CALLS = {
    "fit.api.fit_items": lambda: dt.fit(X),
    "fit.api.fit_curves": lambda: dt.fit(X, estimator="spline"),
    "fit.api.fit_matrix": lambda: dt.fit(R),
    "sem.fitting._select_columns": lambda: dt.cfa(X, "f =~ x1 + x2 + x3"),
    "sem.fitting.fit_moments": lambda: dt.cfa(R, "f =~ x1 + x2 + x3"),
    "efa.result.fit_efa": lambda: dt.efa(X, 1),
    "efa.parallel_analysis.run_parallel_analysis": lambda: dt.parallel_analysis(X),
    "efa.adequacy.sampling_adequacy": lambda: dt.kmo(R),
    "efa.adequacy.sphericity_test": lambda: dt.bartlett_test(R),
    "dependence.api.dependence_matrix": lambda: dt.dependence(X),
    "dependence.api.sparse_dependence": lambda: dt.dependence(X, floor=0.5),
    "fit.api.fit_items of a resampled fit": lambda: dt.stability(X, n_boot=2),
    "trust.stability.row_dependence": lambda: dt.stability(NINE, n_boot=2, fit=FOUND),
    "fit.result.at_level": lambda: FOUND.level(2),
    "fit.frames.path_scores": lambda: FOUND.path_scores(),
    "fit.scoring.score_rows": lambda: FOUND.factor_scores(NINE),
    "fit.scoring.draw_values": lambda: FOUND.plausible_values(NINE),
    "fit.scoring.reliability": lambda: FOUND.reliability(NINE),
    "page.content.fit_page": lambda: FOUND.report("never.html"),
    "sem.result.rows_to_score": lambda: MODEL.factor_scores(NINE),
    "sem.result.factor_table": lambda: MODEL.factor_table(),
    "sem.result.fit_measures": lambda: MODEL.fit_measures,
    "efa.result.rows_to_score": lambda: EXPLORED.factor_scores(NINE),
    "trust.survey.structure_margin": lambda: dt.survey_design(2, 4).margin(),
}


def blas_threads():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.mark.parametrize("place", CALLS)
def test_linear_algebra_has_one_thread(monkeypatch, place):
    seen = []

    def look(*_, **__):
        seen.append(blas_threads())
        raise InputError("seen")

    module, name = place.split()[0].rsplit(".", 1)
    monkeypatch.setattr(importlib.import_module(f"dtstat.{module}"), name, look)
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with pytest.raises(InputError, match="seen"):
            CALLS[place]()
        assert blas_threads() == before
    assert seen == [{1}]
