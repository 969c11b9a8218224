"""Files, names and numbers from strangers: what is in them gets nowhere as code or half a file."""

import ast
import errno
import io
import json
import os
import re
import warnings
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core import files
from dtstat.core.saved import from_bytes, to_bytes
from dtstat.core.tables import Printed
from dtstat.fit.request import python_code, r_code

NINE = dt.load_dataset("holzinger_swineford_9")
MODEL = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6"
CODE = 'x"); __import__("os").system("evil"); ("'
COMMANDS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def fit():
    return dt.fit(NINE)


def edited(result, change, folder):
    """Load a saved result after a change of its JSON text."""
    content = io.BytesIO(to_bytes(result))
    with zipfile.ZipFile(content) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    metadata = json.loads(members["metadata.json"])
    change(metadata["result"]["fields"])
    members["metadata.json"] = json.dumps(metadata).encode()
    file = folder / "edited.dtstat"
    with zipfile.ZipFile(file, "w") as archive:
        for name, part in members.items():
            archive.writestr(name, part)
    return dt.load(file)


class TestSavedResults:
    @pytest.mark.parametrize("field", ["criterion", "thresholds", "version", "estimator", "search"])
    def test_the_call_is_one_that_can_be_made(self, fit, tmp_path, field):
        def change(fields):
            fields["call"]["fields"][field] = CODE

        with pytest.raises(dt.InputError, match="is damaged"):
            edited(fit, change, tmp_path)

    def test_the_name_of_a_measure_is_text_in_code(self, tmp_path):
        def change(fields):
            fields["call"]["fields"]["measure"] = CODE + "\u202e\n"

        again = edited(dt.fit(dt.dependence(NINE)), change, tmp_path)
        code = python_code(again)
        calls = [n.func for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Call)]
        assert [ast.unparse(call) for call in calls] == ["dt.fit"]
        assert not COMMANDS.search(code + r_code(again))

    def test_names_of_factors_hide_nothing_in_code(self, fit):
        names = ["a\u202eb", 'c"d', "e\u2028f"][: fit.n_factors]
        for code in (python_code(fit.rename(names)), r_code(fit.rename(names))):
            assert "\\u202e" in code
            assert not COMMANDS.search(code)

    def test_levels_have_one_factor_two_and_so_on(self, fit, tmp_path):
        with pytest.raises(dt.InputError, match="is damaged"):
            edited(fit, lambda fields: fields["tree"]["$tuple"].pop(0), tmp_path)

    @pytest.mark.parametrize(("field", "value"), [("lhs", "x9"), ("op", "<-"), ("rhs", "evil")])
    def test_parameters_are_of_the_variables(self, tmp_path, field, value):
        def change(fields):
            model = fields["estimate"]["fields"]["model"]["fields"]
            model["parameters"]["$tuple"][1]["fields"][field] = value

        with pytest.raises(dt.InputError, match="is damaged"):
            edited(dt.cfa(NINE, MODEL), change, tmp_path)

    def test_texts_command_no_terminal(self, fit, tmp_path):
        def change(fields):
            fields["explanation"] = "\x1b]0;evil\x07\u202e"

        again = edited(fit, change, tmp_path)
        assert not COMMANDS.search(repr(again))
        assert not COMMANDS.search(again._repr_html_())

    def test_texts_can_be_written(self, fit, tmp_path):
        def change(fields):
            fields["dependence"]["fields"]["names"]["$tuple"][3] = "\ud800"

        with pytest.raises(dt.InputError, match="is damaged"):
            edited(fit, change, tmp_path)

    @pytest.mark.parametrize("rows", [-1, 0, {"$float": "inf"}, {"$float": "nan"}])
    def test_rows_that_count_are_some(self, fit, tmp_path, rows):
        with pytest.raises(dt.InputError, match="rows were counted"):
            edited(fit, lambda fields: fields.update(n_effective=rows), tmp_path)

    def test_factors_have_a_name_each(self, fit, tmp_path):
        def change(fields):
            fields["given_names"] = {"$tuple": ["a", "b", "c", "c"]}

        for result in (fit, dt.efa(NINE, 3)):
            with pytest.raises(dt.InputError, match="factors have names"):
                edited(result, change, tmp_path)

    @pytest.mark.parametrize("latent", [["visual", "textual", "textual"], ["textual", "visual"]])
    def test_factors_of_models_are_the_first_variables(self, tmp_path, latent):
        def change(fields):
            fields["estimate"]["fields"]["model"]["fields"]["latent"] = {"$tuple": latent}

        with pytest.raises(dt.InputError, match="parameters have places"):
            edited(dt.cfa(NINE, MODEL), change, tmp_path)

    def test_cliques_have_items(self):
        certificate = dt.certify(NINE)
        content = to_bytes(replace(certificate, members=certificate.members & False))
        with pytest.raises(dt.InputError, match="cliques have items"):
            from_bytes(content, "a.dtstat")

    def test_answers_of_an_item_are_a_row_of_numbers(self, fit):
        first, *others = fit.marginals.answers
        margins = replace(fit.marginals, answers=(first.reshape(-1, 1), *others))
        with pytest.raises(dt.InputError, match=r"Marginals.answers\[\] has another shape"):
            from_bytes(to_bytes(replace(fit, marginals=margins)), "a.dtstat")

    def test_moments_are_of_the_items(self, tmp_path):
        def change(fields):
            (block,) = fields["estimate"]["fields"]["blocks"]["$tuple"]
            block["fields"]["ordinal"]["fields"]["names"]["$tuple"][4] = "y"

        model = dt.cfa((NINE.median() < NINE).astype(int), MODEL, ordered=True)
        assert edited(model, lambda _: None, tmp_path).n_obs == len(NINE)
        with pytest.raises(dt.InputError, match="moments are of the items"):
            edited(model, change, tmp_path)

    def test_values_of_a_model_can_be_computed_with(self):
        """Their squares were beyond all numbers, and modification indices an internal error."""
        model = dt.cfa((NINE.median() < NINE).astype(int), MODEL, ordered=True)
        theta = model.estimate.theta.copy()
        theta[0] = 1e90
        content = to_bytes(replace(model, estimate=replace(model.estimate, theta=theta)))
        with pytest.raises(dt.InputError, match="values can be computed with"):
            from_bytes(content, "a.dtstat")

    @pytest.mark.parametrize("kind", [np.float16, np.float32])
    def test_values_of_a_model_in_another_kind_of_number(self, kind):
        """Numbers that can be computed with are compared without an overflow."""
        model = dt.cfa(NINE, MODEL)
        short = replace(model.estimate, theta=model.estimate.theta.astype(kind))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            from_bytes(to_bytes(replace(model, estimate=short)), "a.dtstat")
        assert not caught

    def test_factor_correlations_are_symmetric(self, fit):
        Phi = fit.estimate.factor_correlations.copy()
        Phi[0, 1] = -1
        odd = replace(fit, estimate=replace(fit.estimate, factor_correlations=Phi))
        with pytest.raises(dt.InputError, match="factor correlations are symmetric"):
            from_bytes(to_bytes(odd), "a.dtstat")

    def test_no_plausible_values_of_correlations_that_cannot_be(self, fit):
        Phi = np.where(np.eye(fit.n_factors), 1.0, -0.6)
        odd = replace(fit.reported.estimate, factor_correlations=Phi)
        fit = replace(fit, reported=replace(fit.reported, estimate=odd))
        with pytest.raises(dt.EstimationError, match="factors that can be told apart"):
            fit.plausible_values(NINE, draws=1, seed=1)

    @pytest.mark.parametrize("change", ["theta", "S"])
    def test_residuals_of_matrices_without_inverse(self, change):
        fit = dt.cfa(NINE, MODEL)
        estimate = fit.estimate
        if change == "theta":
            estimate = replace(estimate, theta=0 * estimate.theta)
        else:
            huge = replace(estimate.blocks[0], S=estimate.S * 1e200)
            estimate = replace(estimate, blocks=(huge,))
        with pytest.raises(dt.EstimationError, match="information matrix is singular"):
            replace(fit, estimate=estimate).residuals("standardized")

    def test_what_cannot_be_summarized_is_refused(self, tmp_path):
        wald = dt.wald_test(dt.cfa(NINE, MODEL.replace("x2", "a*x2")), "a == 1")

        def change(fields):
            for name in fields:
                fields[name] = {"$tuple": []} if isinstance(fields[name], dict) else fields[name]

        try:
            again = edited(wald, change, tmp_path)
        except dt.InputError:
            return
        assert str(again.summary())


def test_whatever_a_result_prints_commands_no_terminal():
    class Loud(Printed):
        def __repr__(self):
            return "one\x1b[2J\ntwo\u202e"

    assert repr(Loud()) == "one\\x1b[2J\ntwo\\u202e"


class TestWriting:
    def writers(self, fit, folder):
        def save(name):
            return lambda: fit.summary().save(folder / name)

        return {
            "result": lambda: fit.save(folder / "a.dtstat"),
            "page": lambda: fit.report(folder / "a.html"),
            "table": save("a.csv"),
            "tex": save("a.tex"),
            "md": save("a.md"),
        }

    @pytest.mark.parametrize("kind", ["result", "page", "table", "tex", "md"])
    def test_a_full_disk_leaves_nothing(self, fit, tmp_path, monkeypatch, kind):
        def full(path, content):
            with path.open("wb") as opened:
                opened.write(content[:10])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(Path, "write_bytes", full)
        with pytest.raises(dt.InputError, match="No space left"):
            self.writers(fit, tmp_path)[kind]()
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("step", ["write_bytes", "replace"])
    def test_an_interrupt_leaves_what_was_there(self, tmp_path, monkeypatch, step):
        file = tmp_path / "a.txt"
        file.write_text("before")

        def interrupt(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(Path, step, interrupt)
        with pytest.raises(KeyboardInterrupt):
            files.write(file, b"after")
        assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]
        assert file.read_text() == "before"

    def test_a_checkpoint_that_no_file_can_be_called(self):
        with pytest.raises(dt.InputError, match="invalid Unicode surrogate"):
            dt.stability(NINE, 3, seed=1, checkpoint="\ud800")

    def test_a_checkpoint_on_a_full_disk(self, tmp_path, monkeypatch):
        def full(_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(dt.InputError, match="No space left"):
            dt.stability(NINE, 3, seed=1, checkpoint=tmp_path / "a.jsonl")
        assert not list(tmp_path.iterdir())


class TestNumbers:
    HUGE = NINE.assign(x1=np.linspace(-1, 1, len(NINE)) * 1.7e308)

    def test_bars_of_a_range_beyond_the_largest_number(self):
        bars = dt.describe(self.HUGE).bars[0]
        assert bars.sum() == len(NINE)
        assert np.ptp(bars) <= 1

    @pytest.mark.filterwarnings("error")
    def test_straight_lines_through_numbers_whose_squares_overflow(self):
        scale = 2.0**1000
        plain = dt.fit(NINE, estimator="linear")
        large = dt.fit(NINE * scale, estimator="linear")
        pd.testing.assert_frame_equal(
            large.factor_scores(NINE * scale), plain.factor_scores(NINE), rtol=1e-9
        )

    def test_noise_that_is_not_finite(self):
        with pytest.raises(dt.InputError, match="`snr` must be large enough"):
            dt.simulate(n=10, snr=5e-324)


@pytest.mark.parametrize("name", ["~", "1", "+"])
def test_an_item_may_be_called_like_a_sign_of_formulas(name):
    pytest.importorskip("statsmodels")
    data = NINE.rename(columns={"x1": name})
    fit = dt.fit(data)
    ages = data.assign(age=np.arange(len(data)) % 7)
    assert "age" in str(dt.regress("F1 ~ 1 + age", fit, ages).summary())


def test_a_minus_before_a_name_reverses_nothing_in_a_model_text():
    names = ["-1", "1", "-x", *[f"q{k}" for k in range(6)]]
    fit = dt.fit(NINE.set_axis(names, axis=1))
    again = dt.compare(fit, fit.to_lavaan())
    assert again.f1 == 1
    assert not any(one.startswith("--") for key in fit.to_keys().values() for one in key)
