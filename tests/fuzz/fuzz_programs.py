"""The command line, the bridge to R, the scikit-learn estimator, the studies and the page."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from fuzz_arguments import MODELS, PIECES, arguments
from fuzz_harness import LOG, attempt, entry, expect
from fuzz_results import check_result
from fuzz_saved import saved
from fuzz_tables import csv_file, factor_answers, tables, usable_tables
from fuzz_values import bad_values
from hypothesis import strategies as st

import dtstat as dt
from dtstat import studies
from dtstat.cli.app import main
from dtstat.fit.plots import FIT_KINDS
from dtstat.interop import r_bridge
from dtstat.interop.r_bridge import FUNCTIONS
from dtstat.interop.sklearn import DependenceThresholding
from dtstat.interop.wire import encode

# Numbers and texts as they are typed; for options of any kind.
OURS = Path(dt.__file__).parent
TYPED = ["0", "1", "2", "3", "-1", "0.5", "1.5", "nan", "inf", "1e308", "", "x", "exact", "all"]
TYPED += ["=cmd()", "<b>", "é", "\udcff", "x" * 5_000, "0.2,0.4", "a,b", "spearman", "../..", "*"]
OPTIONS = {
    "describe": "columns missing-codes drop id aside sheet levels rows force!",
    "fit": "n-factors measure search thresholds estimator criterion min-children uncovered "
    "missing misfit finalists columns missing-codes cutoff rows seed n-obs refine! matrix! force!",
    "path": "measure thresholds min-children missing columns missing-codes at structures by rows "
    "floor n-obs matrix! force!",
    "diagnose": "model n-factors measure search criterion min-children missing columns "
    "resamples sizes seed jobs rows n-obs matrix! force!",
    "report": "title n-factors measure search estimator criterion min-children missing columns "
    "resamples seed n-obs matrix! force!",
    "cfa": "model estimator missing ordered std-lv! orthogonal! factor-table! columns "
    "missing-codes force!",
    "invariance": "model group estimator missing ordered std-lv! group-partial columns force!",
    "plan": "items margin factor-size factors items-per-factor loading factor-correlation levels "
    "measure error seed paper! force!",
    "simulate": "design maps snr factors items-per-factor factor-correlation violating "
    "cross-loadings levels seed force!",
    "measures": "",
    "datasets": "",
    "compile": "",
    "study table1": "designs estimator criterion min-children thresholds seed force!",
    "study highdim": "phis shares readings searches seed force!",
}
FILES = {
    "fit": "csv candidates scores curves json lavaan save",
    "path": "csv json",
    "diagnose": "csv json save",
    "report": "output",
    "cfa": "csv json",
    "describe": "csv people json",
    "invariance": "csv json",
    "plan": "csv",
    "study table1": "out table",
    "study highdim": "out table",
}
WRITTEN = {"json": ".json", "lavaan": ".txt", "save": ".dtstat", "output": ".html", "out": ".jsonl"}
SHARES = {
    "measures": 0.1,
    "datasets": 0.1,
    "compile": 0.1,
    "study table1": 0.15,
    "study highdim": 0.1,
}
USUAL = {
    "diagnose": ["--resamples", "3"],
    "report": ["--resamples", "3"],
    "plan": ["--draws", "2"],
    "simulate": ["--n", "30"],
    "study table1": ["--reps", "1", "--n", "60"],
    "study highdim": ["--reps", "1", "--sizes", "20"],
    "cfa": ["--model", MODELS[0]],
    "invariance": ["--model", MODELS[0], "--group", "x1"],
}


def run(line: list[str], folder: Path, encoding: str = "utf-8") -> tuple[int, str, str]:
    """Run the program in a folder; return how it ended and what it said."""
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    err = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="backslashreplace")
    with (
        mock.patch.object(sys, "argv", ["dtstat", *line]),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode(encoding, "replace"))
    return code, texts[0], texts[1]


# What may be typed for an option, for the half of the cases that should come to something.
GOOD_TYPED = {
    "measure": ["kendall", "pearson"],
    "n-factors": ["1", "2", "3"],
    "search": ["tree", "threshold", "sequential"],
    "criterion": ["bic", "cv", "ebic"],
    "min-children": ["2", "3"],
    "uncovered": ["report", "attach"],
    "missing": ["pairwise"],
    "misfit": ["none"],
    "cutoff": ["0.2"],
    "rows": ["3"],
    "seed": ["1", "7"],
    "refine!": [""],
    "std-lv!": [""],
    "orthogonal!": [""],
    "factor-table!": [""],
    "paper!": [""],
    "at": ["0.3"],
    "structures": ["2"],
    "by": ["factors"],
    "title": ["<script>alert(1)</script>"],
    "levels": ["5"],
    "error": ["0.1"],
    "snr": ["2"],
    "cross-loadings": ["1"],
    "factor-correlation": ["0.2"],
}
# Options that do not go with the usual design, or have another meaning there.
NOT_FOR = {"cfa": ("missing",), "simulate": ("factor-correlation",)}


def command_line(draw: Any, command: str) -> list[str]:
    """What somebody might type after ``dtstat``."""
    good = draw(st.booleans())
    line = [*command.split(), *_argument(draw, command, good), *USUAL.get(command, [])]
    if command == "plan" and good:
        line += ["--factors", "2"]
    known = OPTIONS[command].split()
    if good:
        known = [k for k in known if k in GOOD_TYPED and k not in NOT_FOR.get(command, ())]
    for option in draw(st.lists(st.sampled_from(known), max_size=3)) if known else []:
        line.append(f"--{option.rstrip('!')}")
        if not option.endswith("!"):
            line.append(draw(st.sampled_from(GOOD_TYPED[option])) if good else _typed(draw, option))
    files = FILES.get(command, "").split()
    for k, option in enumerate(
        draw(st.lists(st.sampled_from(files), max_size=2, unique=True)) if files else []
    ):
        bad = draw(st.sampled_from(["a.csv", "b.html", "b.json", "answers.csv", ".", "no/x"]))
        line += [f"--{option}", f"{'ab'[k]}{WRITTEN.get(option, '.csv')}" if good else bad]
    return line


def _argument(draw: Any, command: str, good: bool) -> list[str]:
    """The file that a command reads or writes."""
    if command in ("plan", "measures", "datasets", "compile") or command.startswith("study"):
        return []
    if command == "simulate":
        names = ["out.csv"] if good else ["out.csv", "no/such/folder.csv", "", "."]
    elif good:
        names = ["holzinger_swineford_9", "usable.csv", "usable.csv"]
    else:
        names = ["answers.csv", "answers.csv", "absent.csv", "nonsense", "bad.dtstat"]
        names += ["\udcff.csv", ".", ""]
    return [draw(st.sampled_from(names))]


def _usable(draw: Any, folder: Path) -> None:
    """A file of usable answers, some items with hostile names, x1 to x3 as they are."""
    X = factor_answers(np.random.default_rng(draw(st.integers(0, 10**6))), 80, 6)
    others = ["=cmd()", "<script>alert(1)</script>", "@SUM(A1)", "é", "a,b", "q 5", "-x", '"']
    names = draw(st.lists(st.sampled_from(others), min_size=3, max_size=3, unique=True))
    pd.DataFrame(X, columns=["x1", "x2", "x3", *names]).to_csv(folder / "usable.csv", index=False)


def _typed(draw: Any, option: str) -> str:
    if option == "model":
        return draw(st.sampled_from([*MODELS, *PIECES])).replace("\0", "").replace("\ud800", "")
    return draw(st.sampled_from([*TYPED, *GOOD_TYPED.get(option, []) * 8]))


def _command_entry(command: str) -> None:
    @entry(f"dtstat {command}", SHARES.get(command, 0.6))
    def case(draw: Any) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            csv_file(draw, folder)
            (folder / "bad.dtstat").write_bytes(b"PK nonsense")
            _usable(draw, folder)
            line = command_line(draw, command)
            before = {file.name: file.read_bytes() for file in folder.iterdir()}
            encoding = draw(st.sampled_from(["utf-8", "utf-8", "ascii", "cp1252"]))
            ended = attempt(f"dtstat {command}", run, line, folder, encoding)
            expect(ended is not None, f"dtstat {command}: raised a DTError", line)
            code, out, err = ended
            LOG.endings[f"exit status {code}"] += 1
            expect(code in (0, 2), f"dtstat {command}: ended with {code}", line, err)
            expect("Traceback" not in out + err, f"dtstat {command}: a traceback", line, err)
            expect(code == 0 or bool(err.strip()), f"dtstat {command}: no message", line)
            _check_written(folder)
            _check_kept(folder, before, line)


for _command in OPTIONS:
    _command_entry(_command)


def _check_written(folder: Path) -> None:
    """No table or page that was written holds a live formula or live HTML of a name."""
    for file in [*folder.glob("[ab].csv"), *folder.glob("[ab].html")]:
        name = file.name
        content = file.read_bytes() if file.is_file() else b""
        if content.startswith((b"PK", b"{")):
            continue  # a saved result, JSON or a ledger under that name
        text = content.decode("utf-8")
        if text.startswith("<"):
            expect("<script>alert" not in text and "<b>bold" not in text, "live HTML", name)
        else:
            alive = re.search(r"(^|,)\"?=(?!~|=)", text, re.MULTILINE)
            expect(alive is None, "a formula was written", text)


def _check_kept(folder: Path, before: dict[str, bytes], line: list[str]) -> None:
    """No file that was there is another one now, unless that was allowed; what is read never is."""
    for name, content in before.items():
        if "--force" not in line or name == line[1]:
            expect((folder / name).read_bytes() == content, "a file was overwritten", name, line)


@entry("dtstat", 0.2)
def nonsense_commands(draw: Any) -> None:
    """What is no command."""
    line = draw(
        st.lists(st.sampled_from(["--help", "--version", "fi", "", "--", "-x", "fit", "study"]))
    )
    with tempfile.TemporaryDirectory() as folder:
        ended = attempt("dtstat", run, line, Path(folder))
    expect(ended is not None and ended[0] in (0, 2), "dtstat: ended badly", line, ended)


# --- R ---


@entry("r_bridge.call", 2.0)
def bridge(draw: Any) -> None:
    """R's calls: an answer or an error with a class, never an internal one."""
    name = draw(st.sampled_from(sorted(FUNCTIONS)))
    if name in dt.__all__:
        given = arguments(draw, name, getattr(dt, name))
    else:
        given = _for_r_alone(draw, name)
    sent = {key: _crossed(draw, value) for key, value in given.items()}
    answer = attempt(f"r_bridge {name}", r_bridge.call, name, sent)
    expect(isinstance(answer, dict) and "ok" in answer, "r_bridge: no answer", name)
    if not answer["ok"]:
        kind = answer["error"]["class"]
        told = (answer["error"]["message"], answer["error"]["traceback"][-600:])
        expect(kind != "InternalError", f"r_bridge {name}: internal error", *told)


def _for_r_alone(draw: Any, name: str) -> dict[str, Any]:
    """Arguments of the functions that serve R's generics."""
    if name == "echo":
        return {"value": draw(bad_values)}
    if name == "dependence_matrix":
        return arguments(draw, "from_matrix", dt.DependenceMatrix.from_matrix)
    if name == "lavaan_structure":
        return {"model": draw(st.sampled_from([*MODELS, *PIECES[:20]]))}
    content = saved(draw(st.integers(0, 4)))
    given: dict[str, Any] = {"state": content if draw(st.integers(0, 3)) else content[:-30]}
    if name == "predict":
        given["data"] = tables(draw)
    if name == "report":
        given["path"] = draw(st.sampled_from(["no/such/folder.html", "page.pdf"]))
    if name == "tables":
        given["style"] = draw(st.sampled_from(["plain", "apa", "chicago"]))
    if name == "save_table":
        given["path"] = draw(st.sampled_from(["no/such/folder.csv", "tables.pdf"]))
    return given


def _crossed(draw: Any, value: Any) -> Any:
    """What R would send for a value; now and then damaged on the way."""
    try:
        wire = encode(value)
    except Exception:  # R has no such value
        wire = encode(draw(st.sampled_from([None, 1, 0.5, "x", True, [1.0, 2.0], {"a": 1}])))
    if not draw(st.integers(0, 9)) and isinstance(wire, dict):
        wire = {
            **wire,
            draw(st.sampled_from([*wire])): draw(st.sampled_from([None, -1, "x", b"123"])),
        }
    return wire


@entry("r_bridge.hello", 0.1)
def hello(draw: Any) -> None:
    """Versions."""
    expect("protocol" in attempt("hello", r_bridge.hello), "hello: no protocol")
    answer = attempt("r_bridge", r_bridge.call, draw(st.sampled_from(["", "nothing", "fi"])), {})
    expect(answer["error"]["class"] == "InputError", "r_bridge: unknown function", answer)


# --- scikit-learn, studies, the page ---


@entry("sklearn.DependenceThresholding", 1.0)
def estimator(draw: Any) -> None:
    """As scikit-learn documents it: ValueError or TypeError, of its own checks or of ours."""
    others = ("data", "labels", "n_obs", "seed", "progress", "checkpoint")
    options = arguments(draw, "fit", dt.fit, **dict.fromkeys(others))
    for name in others:
        options.pop(name)
    X = draw(st.sampled_from([usable_tables, usable_tables, tables]))(draw)
    if isinstance(X, dt.ItemData | dt.DependenceMatrix):
        return
    model = attempt("DependenceThresholding", DependenceThresholding, **options)

    def fitted() -> Any:
        try:
            return model.fit(X)
        except (ValueError, TypeError) as error:
            deepest = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
            if isinstance(error, dt.DTError) or deepest.is_relative_to(OURS):
                raise
            raise dt.InputError(str(error)[:500] or "refused") from error

    if attempt("DependenceThresholding.fit", fitted) is None:
        return
    scores = attempt("DependenceThresholding.transform", model.transform, X)
    expect(scores is not None, "transform: refused what was fitted", X, LOG.refusals[-1:])
    attempt("DependenceThresholding.score", model.score, X)
    attempt("DependenceThresholding.get_feature_names_out", model.get_feature_names_out)


@entry("studies.table1", 0.15)
def table1(draw: Any) -> None:
    """A tiny study, and bad settings."""
    given: dict[str, Any] = {"reps": 1, "n": 60, "designs": "chain", "seed": 1}
    if draw(st.booleans()):
        name = draw(st.sampled_from([*given, "thresholds", "min_children", "n_jobs", "estimator"]))
        given[name] = draw(bad_values)
    result = attempt("studies.table1", studies.table1, **given)
    check_result(draw, "studies.table1", result)


@entry("studies.highdim", 0.15)
def highdim(draw: Any) -> None:
    """A tiny study, and bad settings."""
    given: dict[str, Any] = {"reps": 1, "sizes": 20, "phis": [0.0], "shares": [], "seed": 1}
    given["searches"] = draw(st.sampled_from(["oracle", "plain", "sequential"]))
    if draw(st.booleans()):
        name = draw(st.sampled_from([*given, "readings", "n_jobs"]))
        given[name] = draw(bad_values)
    result = attempt("studies.highdim", studies.highdim, **given)
    check_result(draw, "studies.highdim", result)


@entry("DTFit.report", 0.4)
def page(draw: Any) -> None:
    """The page of any fit: written, and nothing in it is alive that a name brought along."""
    data = usable_tables(draw)
    fit = attempt("fit", dt.fit, data)
    if fit is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        title = draw(st.sampled_from([None, "<script>alert(1)</script>", "{{numbers}}", "\0"]))
        attempt("DTFit.report", fit.report, file, title=title)
        expect(file.exists(), "report: no file")
        text = file.read_text(encoding="utf-8")
        expect("<script>alert" not in text and "<b>bold" not in text, "report: live HTML")
        attempt("DTFit.report", fit.report, draw(bad_values))
        attempt("DTFit.report", fit.report, file, overwrite=draw(bad_values))


@entry("plots", 0.4)
def plots(draw: Any) -> None:
    """Pictures of any fit can be drawn; only letters that a font lacks may be warned of."""
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    fit = attempt("fit", dt.fit, usable_tables(draw))
    if fit is None:
        return
    kind = draw(st.sampled_from([*FIT_KINDS, draw(bad_values)]))
    options = {}
    if not draw(st.integers(0, 3)):
        name = draw(st.sampled_from(["ax", "cutoff", "max_bars", "items", "threshold"]))
        options = {name: draw(bad_values)}

    def picture() -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph", UserWarning)
            warnings.filterwarnings("ignore", "Matplotlib currently does not support", UserWarning)
            drawn = fit.plot(kind, **options)
            plt.gcf().savefig(io.BytesIO(), dpi=30)
        return drawn

    try:
        attempt("DTFit.plot", picture)
    finally:
        plt.close("all")


@entry("scores", 0.7)
def scores(draw: Any) -> None:
    """Scores of new rows of any kind, by a fit to usable ones."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    frame = pd.DataFrame(factor_answers(rng, 80, 6), columns=[f"x{k + 1}" for k in range(6)])
    made = attempt("fit", dt.fit, frame)
    model = attempt("cfa", dt.cfa, frame, MODELS[1])
    new = tables(draw)
    for fit in (made, model):
        if fit is None:
            continue
        found = attempt(f"{type(fit).__name__}.factor_scores", fit.factor_scores, new)
        if found is not None and isinstance(new, pd.DataFrame):
            expect(len(found) == len(new), "factor_scores: another number of rows")
        attempt(f"{type(fit).__name__}.augment", fit.augment, new)


assert os.name == "posix", "the time limit of a case needs signals"
