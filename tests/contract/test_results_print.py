"""Every public result prints itself, in notebooks too, whatever its items are called."""

import dataclasses
import inspect
import math
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.tables import Printed, Summary

NAMES = ["<script>alert(1)</script>", "a&b", 'q"u', "x<y", "n5", "n6", "n7", "n8", "n9"]
# Exceptions and warnings print as such.
RESULTS = [
    name
    for name in dt.__all__
    if inspect.isclass(getattr(dt, name)) and not issubclass(getattr(dt, name), BaseException)
]
BOUND = dt.Bound("own", "exp(-n e²)", "<any> items", "me", lambda n, e: math.exp(-n * e**2))
MODEL = "f =~ x4 + a*x5 + b*x6; g =~ x7 + x8 + x9"


@pytest.fixture(scope="module")
def made():
    """One result of every public class."""
    plain = dt.load_dataset("holzinger_swineford_9")
    data = plain.set_axis(NAMES, axis=1)
    fit = dt.fit(data)
    model = dt.cfa(plain, MODEL)
    group = np.arange(len(plain)) % 2
    found = [
        fit,
        fit.path,
        fit.path.candidates[0],
        fit.path.barcode(),
        fit.structure,
        fit.dependence,
        model,
        dt.items(data),
        dt.describe(data),
        dt.certify(data, n_draws=20, n_splits=1, seed=1),
        dt.reliability(data, fit.structure),
        dt.dependence(data, floor=0.3),
        dt.diagnose(fit),
        dt.margin(data, fit.structure),
        dt.stability(data, n_boot=5, seed=1),
        dt.efa(data, 2),
        dt.parallel_analysis(data, n_iter=3, seed=1),
        dt.kmo(data),
        dt.bartlett_test(data),
        dt.compare(fit.structure, fit.structure),
        dt.compare_solutions(fit, fit),
        dt.compare_models(model, dt.cfa(plain, MODEL + "; f ~~ 0*g")),
        dt.wald_test(model, "a == b"),
        dt.score_test(model, add="x7 ~~ x8"),
        dt.vuong(model, dt.cfa(plain, MODEL + "; x7 ~~ x8"), plain),
        dt.invariance(plain.assign(group=group), MODEL, group="group"),
        dt.bootstrap(model, plain, n_boot=10, seed=1),
        dt.model_power(n_obs=200, df=10, rmsea=0.05),
        dt.simulate("chain", 50, seed=1),
        dt.survey_design(n_factors=2),
        dt.plan(n_factors=2, items_per_factor=3, n_draws=50, seed=1),
        BOUND,
    ]
    return {type(one).__name__: one for one in found}


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = set()

    def handle_starttag(self, tag, attrs):
        self.found.add(tag)


def test_every_public_class_of_results_is_printed():
    assert [name for name in RESULTS if not issubclass(getattr(dt, name), Printed)] == []


def test_every_public_class_was_made(made):
    assert sorted(set(RESULTS) - set(made)) == []


def test_summary_repr_and_html_work_and_escape(made):
    for name, result in made.items():
        assert repr(result), name
        assert "array(" not in repr(result), name
        summary = result.summary()
        assert isinstance(summary, Summary), name
        assert summary.to_text().strip(), name
        tags = Tags()
        tags.feed(result._repr_html_())
        assert tags.found <= {"p", "table", "caption", "tr", "th", "td", "svg", "rect"}, name


def test_results_are_frozen(made):
    for name, result in made.items():
        if dataclasses.is_dataclass(result):
            assert type(result).__dataclass_params__.frozen, name
        assert not isinstance(result, pd.DataFrame)
