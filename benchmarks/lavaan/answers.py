"""What lavaan and dtstat answer to a model: parameters, fit measures, or why there are none."""

from __future__ import annotations

import hashlib
import json
import math
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

import dtstat as dt
from benchmarks.harness import ROOT
from benchmarks.lavaan.entry import Entry
from dtstat.core.errors import silenced

HERE = Path(__file__).parent
BUILT = ROOT / ".build" / "lavaan"
CACHE = BUILT / "answers.json"
LONGEST = 120  # seconds of dtstat for one model

Key = tuple[str, str, str, str]  # group, lhs, op, rhs
NAN = float("nan")


@dataclass(frozen=True)
class Value:
    """One parameter: estimate, standard error (0 if fixed), completely standardized estimate."""

    est: float
    se: float
    std: float = NAN


@dataclass(frozen=True)
class Answer:
    """Parameters and fit measures, or in ``error`` the sentence that says why there are none.

    ``crashed`` if that is not a refusal but an exception nobody meant for users.
    """

    parameters: dict[Key, Value] = field(default_factory=dict)
    measures: dict[str, float] = field(default_factory=dict)
    error: str = ""
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    crashed: bool = False

    @property
    def fits(self) -> bool:
        return not self.error


def lavaan_answers(entries: Sequence[Entry], fresh: bool = False) -> dict[str, Answer]:
    """Ask live lavaan, in one process; answers of former runs are kept unless ``fresh``."""
    known: dict[str, Any] = json.loads(CACHE.read_text()) if CACHE.exists() else {}
    keys = {entry.name: _hash(entry) for entry in entries}
    wanted = [entry for entry in entries if fresh or keys[entry.name] not in known]
    if wanted:
        known |= _run_r([_call(entry, keys[entry.name]) for entry in wanted])
        CACHE.write_text(json.dumps(known))
    return {entry.name: _read(known[keys[entry.name]]) for entry in entries}


def dtstat_answer(entry: Entry) -> Answer:
    """Ask dtstat; whatever goes wrong is an answer, too."""
    start = time.process_time()
    try:
        with _at_most(LONGEST), silenced(dt.DTWarning):
            fit = _dtstat_fit(entry)
            table, measures, said = fit.parameters, dict(fit.fit_measures), tuple(fit.warnings)
    except dt.DTError as error:
        return Answer(error=_line(str(error)), seconds=time.process_time() - start)
    except Exception as error:
        words = _line(f"{type(error).__name__}: {error}")
        return Answer(error=words, seconds=time.process_time() - start, crashed=True)
    seconds = time.process_time() - start
    return Answer(_parameters(table), measures, warnings=said, seconds=seconds)


def data_file(name: str) -> Path:
    """Return the CSV file of a data set; it is made if need be."""
    folder = BUILT / "data"
    script = HERE / "data.R"
    made = folder / "made"
    if not made.exists() or made.read_text() != script.read_text():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["Rscript", "--vanilla", str(script), str(folder)], check=True)
        made.write_text(script.read_text())
    return folder / f"{name}.csv"


@cache
def rows(name: str) -> pd.DataFrame:
    """Read a data set of the catalog."""
    return pd.read_csv(data_file(name))


def _dtstat_fit(entry: Entry) -> Any:
    function = getattr(dt, entry.function)
    data, args = rows(entry.data), dict(entry.args)
    if not entry.moments:
        return function(data, entry.model, **args)
    names = [name for name in data.columns if name in re.findall(r"\w+", entry.model)]
    if "group" not in args:
        parts = data[names]
        args |= {"n_obs": len(parts)} | (
            {"means": parts.mean()} if entry.moments == "means" else {}
        )
        return function(parts.cov(), entry.model, **args)
    groups = {str(label): part[names] for label, part in data.groupby(args.pop("group"))}
    args["n_obs"] = {label: len(part) for label, part in groups.items()}
    if entry.moments == "means":
        args["means"] = {label: part.mean() for label, part in groups.items()}
    return function({label: part.cov() for label, part in groups.items()}, entry.model, **args)


def _call(entry: Entry, key: str) -> dict[str, Any]:
    call = {"key": key, "function": entry.function, "data": entry.data, "model": entry.model}
    return (
        call | {"args": entry.lavaan_args} | ({"moments": entry.moments} if entry.moments else {})
    )


def _hash(entry: Entry) -> str:
    """Sum up what the answer depends on: the call, the data, and how R is asked."""
    text = json.dumps(_call(entry, ""), sort_keys=True) + (HERE / "fit.R").read_text()
    content = data_file(entry.data).read_bytes()
    return hashlib.sha256(text.encode() + content).hexdigest()[:16]


def _run_r(calls: list[dict[str, Any]]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        models, answers = Path(folder) / "models.json", Path(folder) / "answers.jsonl"
        models.write_text(json.dumps(calls))
        command = ["Rscript", "--vanilla", HERE / "fit.R", models, BUILT / "data", answers]
        done = subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True)
        found = [json.loads(line) for line in answers.read_text().splitlines()]
    if done.returncode:
        raise RuntimeError(f"R stopped after {len(found)} of {len(calls)} models: {done.stderr}")
    return {answer.pop("key"): answer for answer in found}


def _read(found: dict[str, Any]) -> Answer:
    """Read an answer of ``fit.R``; jsonlite leaves out what is NA in rows, and unboxes lists."""
    said = found.get("warnings") or []
    warnings = (said,) if isinstance(said, str) else tuple(said)
    error = found.get("error", "")
    if not error and not found["converged"]:
        error = " ".join(["Did not converge.", *warnings])
    if error:
        return Answer(error=error, warnings=warnings, seconds=found["seconds"])
    measures = {name: _number(value) for name, value in found["measures"].items()}
    table = pd.DataFrame(found["parameters"])
    return Answer(_parameters(table), measures, "", warnings, found["seconds"])


def _parameters(table: pd.DataFrame) -> dict[Key, Value]:
    """Rows of a parameter table by what they are about; constraints are no parameters."""
    found = {}
    for row in table.rename(columns={"std.all": "std"}).to_dict("records"):
        if row["op"] in ("==", "<", ">"):
            continue
        lhs, rhs = str(row["lhs"]), _text(row["rhs"])
        if row["op"] == "~~":
            lhs, rhs = sorted((lhs, rhs))
        group = "" if row["op"] == ":=" else _text(row.get("group", ""))
        group += "" if row.get("level", 1) in (1, "", None) else f" level {row['level']}"
        key = (group, lhs, str(row["op"]), "" if row["op"] in ("~1", ":=") else rhs)
        found[key] = Value(*(_number(row.get(name)) for name in ("est", "se", "std")))
    return found


def _text(value: object) -> str:
    """Write a label as both do: 1.0 of a column with gaps is 1."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else NAN


def _line(text: str) -> str:
    return " ".join(text.split())


@contextmanager
def _at_most(seconds: int) -> Iterator[None]:
    """Stop what takes longer."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
