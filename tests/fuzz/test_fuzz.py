"""The short run: more than a thousand cases of all public functions, the same ones every time.

The long run is ``make fuzz``. A case that fails here fails there with the same entry; see
``fuzz_harness`` for the one rule that every case is held to.
"""

import importlib.util

import fuzz_entries  # noqa: F401  registers the entries
import pytest
from fuzz_arguments import good_value, parameters_of
from fuzz_every import run_every
from fuzz_functions import PLAIN
from fuzz_harness import LOG, REGISTRY, Finding, attempt, cases_for, expect, run_entry, time_limit
from fuzz_programs import FILES, OPTIONS
from fuzz_values import BAD, HUGE_TEXT
from requirement import require

import dtstat as dt
from dtstat.cli.app import app
from dtstat.interop.r_bridge import FUNCTIONS

CASES = 1_400
FEWEST = 1_000
SHORT = cases_for(CASES)

# Classes of results are made by functions, which the registry calls; these are the functions.
MADE_BY = {
    "Barcode": "solution_path",
    "CFAFit": "cfa",
    "Candidate": "solution_path",
    "Certificate": "certify",
    "Comparison": "compare",
    "DTFit": "fit",
    "Description": "describe",
    "EFAFit": "efa",
    "Invariance": "invariance",
    "ModelComparison": "compare_models",
    "ModelPower": "model_power",
    "ParallelAnalysis": "parallel_analysis",
    "Reliability": "reliability",
    "Simulation": "simulate",
    "SolutionPath": "solution_path",
    "SparseDependence": "solution_path",
    "Stability": "stability",
    "SurveyDesign": "survey_design",
    "SurveyPlan": "plan",
}
# Nothing can be drawn for these, so hypothesis ends after one case.
ONE_CASE = {"datasets", "measures", "errors and warnings"}
ERRORS = (dt.DTError, dt.DTWarning)


@pytest.fixture(autouse=True)
def _polars():
    require(importlib.util.find_spec("polars") is not None, "polars")


@pytest.mark.parametrize("name", REGISTRY)
def test_a_correct_result_or_a_clear_refusal(name, record_property):
    before = LOG.cases[name]
    run_entry(REGISTRY[name], SHORT[name], None)
    done = LOG.cases[name] - before
    record_property("fuzz_cases", done)  # pytest's last lines say how many there were in all
    assert done >= SHORT[name] or name in ONE_CASE


def test_the_short_run_is_not_too_short():
    """Each entry runs as many as it is to: see above. So this many are run in all."""
    assert sum(cases for name, cases in SHORT.items() if name not in ONE_CASE) >= FEWEST


# --- nothing public is left out ---


def covered():
    return {name for one in REGISTRY.values() for name in one.covers}


@pytest.mark.parametrize("name", dt.__all__)
def test_every_public_name_is_fuzzed(name):
    public = getattr(dt, name)
    if isinstance(public, type) and issubclass(public, ERRORS):
        name = "errors and warnings"
    assert name in covered() or MADE_BY.get(name) in covered()


@pytest.mark.parametrize("name", PLAIN)
def test_every_argument_has_good_values(name):
    for parameter in parameters_of(getattr(dt, name)):
        assert good_value(name, parameter) is not None, parameter


def test_every_bad_value_is_given_to_every_argument():
    LOG.keep_going, before = True, dict(LOG.findings)
    try:
        run_every("ucc_probability", 1)
    finally:
        LOG.keep_going = False
    assert LOG.findings == before
    calls = [name for name in LOG.cases if name.startswith("ucc_probability(")]
    assert len(calls) == len(parameters_of(dt.ucc_probability)) * len(BAD)


def commands(group, prefix=""):
    for command in group.registered_commands:
        yield prefix + (command.name or command.callback.__name__)
    for inner in group.registered_groups:
        yield from commands(inner.typer_instance, f"{inner.typer_instance.info.name} ")


def test_every_command_is_fuzzed():
    assert set(commands(app)) == set(OPTIONS)
    assert set(FILES) <= set(OPTIONS)


def test_every_function_of_r_can_be_drawn():
    for name in FUNCTIONS:
        for parameter in parameters_of(getattr(dt, name)) if name in dt.__all__ else ():
            assert good_value(name, parameter) is not None, (name, parameter)


# --- the harness itself can fail ---


def test_another_exception_is_a_finding():
    with pytest.raises(Finding, match="KeyError"):
        attempt("f", {}.__getitem__, 1)


def test_a_foreign_warning_is_a_finding():
    import numpy as np

    with pytest.raises(Finding, match="RuntimeWarning"):
        attempt("f", np.log, -1.0)


def test_a_message_nobody_can_read_is_a_finding():
    class Loud(dt.InputError):
        def __str__(self):
            return HUGE_TEXT

    def shout():
        raise Loud("x")

    with pytest.raises(Finding, match="100000 characters"):
        attempt("f", shout)


def test_what_takes_too_long_is_a_finding():
    def forever():
        while True:
            pass

    with (
        pytest.raises(Finding, match=r"sleepy: took more than 0\.05 s"),
        time_limit("sleepy", 0.05),
    ):
        forever()


def test_refusals_and_answers_are_counted():
    before = LOG.endings["refused"]
    assert attempt("f", dt.load_dataset, "nothing") is None
    assert LOG.endings["refused"] == before + 1
    with pytest.raises(Finding, match="wrong: 1"):
        expect(False, "wrong", 1)
