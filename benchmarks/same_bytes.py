"""The same bytes however many cores and threads there are: ``python -m benchmarks.same_bytes``.

Every result is computed in a fresh interpreter for each setting: linear algebra with 1, 2 and 4
threads, the whole process held to one core, and eight threads of the user's that call at once. Of
all numbers of a result, to the last bit, a digest is taken; all settings should give the same one.
The data are large enough for linear algebra to use its threads where it is let. With ``--write``
the table goes to ``benchmarks/results/same_bytes.md``; ``--only cfa`` runs the results so named.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from threadpoolctl import threadpool_info

import dtstat as dt
from benchmarks.harness import ROOT
from benchmarks.threads import VARIABLES

RESULTS = ROOT / "benchmarks" / "results" / "same_bytes.md"
USERS = 8


class Setting(NamedTuple):
    """How an interpreter is started, and how many threads of the user call at once in it."""

    name: str
    threads: int | None  # of linear algebra; None for as many as it takes by itself
    one_core: bool = False
    users: int = 1


SETTINGS = (
    Setting("1 thread", 1),
    Setting("2 threads", 2),
    Setting("4 threads", 4),
    Setting("one core", None, one_core=True),
    Setting(f"{USERS} user threads", None, users=USERS),
)


# --- data, the same in every process ---


def _simple(n: int, p: int, per_factor: int, seed: int) -> pd.DataFrame:
    """Items of a simple structure with correlated factors."""
    rng = np.random.default_rng(seed)
    factors = 0.8 * rng.normal(size=(n, p // per_factor)) + 0.6 * rng.normal(size=(n, 1))
    X = 0.7 * np.repeat(factors, per_factor, axis=1) + 0.7 * rng.normal(size=(n, p))
    return pd.DataFrame(X, columns=[f"q{k}" for k in range(1, p + 1)])


def _rated(X: pd.DataFrame, levels: int = 5) -> pd.DataFrame:
    cuts = np.linspace(-1.5, 1.5, levels - 1)
    return X.apply(lambda x: np.searchsorted(cuts, x) + 1)


def _gaps(X: pd.DataFrame, share: float = 0.05) -> pd.DataFrame:
    return X.mask(np.random.default_rng(9).random(X.shape) < share)


def _model(names: list[str], per_factor: int) -> str:
    scales = [names[k : k + per_factor] for k in range(0, len(names), per_factor)]
    return "\n".join(f"f{k} =~ {' + '.join(one)}" for k, one in enumerate(scales, 1))


NINE = dt.load_dataset("holzinger_swineford_9")
SCHOOLS = dt.load_dataset("holzinger_swineford_9", people=True)
TESTS = dt.load_dataset("holzinger_swineford_26")
DEMOCRACY = dt.load_dataset("political_democracy")
LIKERT = dt.load_dataset("likert_survey")
CURVED = dt.load_dataset("sim_chain")
ROWS = _simple(400, 30, 5, 1)
RATED = _rated(ROWS)
GAPS = _gaps(ROWS)
WIDE = _simple(500, 120, 10, 2)
TALL = _simple(20_000, 20, 5, 3)
MANY = _simple(300, 1100, 10, 4)
WEIGHTED = ROWS.assign(
    w=np.random.default_rng(5).uniform(0.5, 2, len(ROWS)), site=np.arange(len(ROWS)) % 40
)
NINE_MODEL = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9"
LABELED = "visual =~ x1 + a*x2 + x3\ntextual =~ x4 + b*x5 + x6\nspeed =~ x7 + x8 + x9\nab := a*b"
EQUAL = LABELED.replace("b*x5", "a*x5").replace("ab := a*b", "aa := a*a")
BOLLEN = """
ind60 =~ x1 + x2 + x3
dem60 =~ y1 + a*y2 + b*y3 + c*y4
dem65 =~ y5 + a*y6 + b*y7 + c*y8
dem60 ~ ind60
dem65 ~ ind60 + dem60
y1 ~~ y5; y2 ~~ y4 + y6; y3 ~~ y7; y4 ~~ y8; y6 ~~ y8
"""
ROWS_MODEL, WIDE_MODEL = _model([*ROWS], 5), _model([*WIDE], 10)
SIX = [*ROWS][:10]
SIX_MODEL = _model(SIX, 5)


# --- what is computed; what several results start from is computed once ---


@functools.cache
def _fit() -> dt.DTFit:
    return dt.fit(TESTS)


@functools.cache
def _wide_fit() -> dt.DTFit:
    return dt.fit(WIDE)


@functools.cache
def _curves() -> dt.DTFit:
    return dt.fit(CURVED, estimator="spline", seed=1)


@functools.cache
def _nine() -> dt.CFAFit:
    return dt.cfa(NINE, LABELED)


@functools.cache
def _equal() -> dt.CFAFit:
    return dt.cfa(NINE, EQUAL)


@functools.cache
def _wide_cfa() -> dt.CFAFit:
    return dt.cfa(WIDE, WIDE_MODEL)


@functools.cache
def _rows_cfa() -> dt.CFAFit:
    return dt.cfa(ROWS, ROWS_MODEL)


@functools.cache
def _efa() -> dt.EFAFit:
    return dt.efa(WIDE, 12)


@functools.cache
def _design() -> dt.SurveyDesign:
    return dt.survey_design(4, 6, 0.7, 0.3)


def _from_file() -> dt.DTFit:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answers.npy"
        np.save(file, MANY.to_numpy())
        return dt.fit(file)


def _loaded() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        _fit().save(Path(folder) / "fit.dtstat")
        return dt.load(Path(folder) / "fit.dtstat")


WORK: dict[str, Callable[[], Any]] = {
    **{
        f"dependence, {name}": functools.partial(dt.dependence, ROWS, name)
        for name in ("pearson", "spearman", "kendall", "mixed", "distance", "hsic", "maximal", "xi")
    },
    "dependence, polychoric": lambda: dt.dependence(RATED, "polychoric"),
    "dependence, tetrachoric": lambda: dt.dependence(_rated(ROWS, 2), "tetrachoric"),
    "dependence, pearson with gaps": lambda: dt.dependence(GAPS, "pearson"),
    "dependence, pearson of 20,000 rows": lambda: dt.dependence(TALL, "pearson"),
    "dependence, sparse": lambda: dt.dependence(WIDE, floor=0.3),
    "solution_path": lambda: dt.solution_path(WIDE),
    "describe": lambda: dt.describe(RATED),
    "fit": _fit,
    "fit, n_factors": lambda: dt.fit(TESTS, 4),
    "fit, threshold": lambda: dt.fit(TESTS, search="threshold"),
    "fit, sequential": lambda: dt.fit(TESTS, search="sequential"),
    "fit, refined": lambda: dt.fit(TESTS, refine=True),
    "fit, given": lambda: dt.fit(NINE, structure=NINE_MODEL),
    "fit, linear": lambda: dt.fit(TESTS, estimator="linear"),
    "fit, ratings": lambda: dt.fit(LIKERT),
    "fit, bic": lambda: dt.fit(TESTS, criterion="bic"),
    "fit, cv": lambda: dt.fit(TESTS, criterion="cv", seed=1),
    "fit, 120 items": _wide_fit,
    "fit, 1,100 items": lambda: dt.fit(MANY),
    "fit, 1,100 items of a file": _from_file,
    "fit, 1,100 items, refined": lambda: dt.fit(MANY, refine=True),
    "fit, 1,100 items, sequential": lambda: dt.fit(MANY, search="sequential"),
    "fit, spline": _curves,
    "response_curves": lambda: _curves().response_curves(),
    "factor_scores of curves": lambda: _curves().factor_scores(CURVED),
    "levels": lambda: _wide_fit().levels,
    "level": lambda: _wide_fit().level(6),
    "factor_scores": lambda: _wide_fit().factor_scores(WIDE),
    "plausible_values": lambda: _wide_fit().plausible_values(WIDE, 3, seed=1),
    "path_scores": lambda: _fit().path_scores(),
    "residuals": lambda: _wide_fit().residuals(),
    "fit_measures": lambda: _wide_fit().fit_measures,
    "reliability of a fit": lambda: _wide_fit().reliability(WIDE),
    "stability": lambda: dt.stability(TESTS, 8, seed=1),
    "stability, subsamples": lambda: dt.stability(ROWS, 5, scheme="subsample", seed=1),
    "certify": lambda: dt.certify(TESTS, seed=1),
    "certify, structure": lambda: dt.certify(NINE, structure=NINE_MODEL, seed=1),
    "diagnose": lambda: dt.diagnose(_fit(), TESTS, n_boot=20, seed=1),
    "margin": lambda: dt.margin(TESTS, _fit().structure),
    "efa": _efa,
    "efa, ml, promax": lambda: dt.efa(WIDE, 12, rotation="promax", method="ml"),
    "efa, factor_scores": lambda: _efa().factor_scores(WIDE),
    "efa, residuals": lambda: _efa().residuals(),
    "efa, implied_correlations": lambda: _efa().implied_correlations,
    "parallel_analysis": lambda: dt.parallel_analysis(WIDE, n_iter=5, seed=1),
    "parallel_analysis, polychoric": lambda: dt.parallel_analysis(
        RATED, n_iter=3, measure="polychoric", seed=1
    ),
    "kmo": lambda: dt.kmo(WIDE),
    "bartlett_test": lambda: dt.bartlett_test(WIDE),
    "compare_solutions": lambda: dt.compare_solutions(_efa(), _wide_fit()),
    "cfa": _nine,
    "cfa, 120 items": _wide_cfa,
    "cfa, mlr": lambda: dt.cfa(ROWS, ROWS_MODEL, estimator="mlr"),
    "cfa, mlm": lambda: dt.cfa(ROWS, ROWS_MODEL, estimator="mlm"),
    "cfa, fiml": lambda: dt.cfa(GAPS, ROWS_MODEL, missing="fiml"),
    "cfa, gls": lambda: dt.cfa(ROWS, SIX_MODEL, estimator="gls"),
    "cfa, wls": lambda: dt.cfa(TALL, _model([*TALL], 5), estimator="wls"),
    "cfa, wlsmv": lambda: dt.cfa(RATED, ROWS_MODEL, ordered=True),
    "cfa, dwls": lambda: dt.cfa(RATED, ROWS_MODEL, ordered=True, estimator="dwls"),
    "cfa, groups": lambda: dt.cfa(SCHOOLS, NINE_MODEL, group="school", estimator="mlr"),
    "cfa, weights": lambda: dt.cfa(WEIGHTED, SIX_MODEL, sampling_weights="w"),
    "cfa, clusters": lambda: dt.cfa(WEIGHTED, SIX_MODEL, cluster="site", estimator="mlr"),
    "cfa, sam": lambda: dt.cfa(DEMOCRACY, BOLLEN, method="sam"),
    "cfa, fit_measures": lambda: _wide_cfa().fit_measures,
    "cfa, standardized": lambda: _wide_cfa().standardized,
    "cfa, residuals": lambda: _wide_cfa().residuals("cor"),
    "cfa, standardized residuals": lambda: _rows_cfa().residuals("standardized"),
    "cfa, implied_covariance": lambda: _wide_cfa().implied_covariance,
    "cfa, modification_indices": lambda: _rows_cfa().modification_indices(),
    "cfa, factor_scores": lambda: _wide_cfa().factor_scores(WIDE),
    "cfa, reliability": lambda: _wide_cfa().reliability(),
    "cfa, htmt": lambda: _wide_cfa().htmt(),
    "sem": lambda: dt.sem(DEMOCRACY, BOLLEN),
    "growth": lambda: dt.growth(
        DEMOCRACY, "i =~ 1*y1 + 1*y2 + 1*y3 + 1*y4; s =~ 0*y1 + 1*y2 + 2*y3 + 3*y4"
    ),
    "bootstrap": lambda: dt.bootstrap(_nine(), NINE, 20, seed=1),
    "invariance": lambda: dt.invariance(SCHOOLS, NINE_MODEL, group="school"),
    "compare_models": lambda: dt.compare_models(_equal(), _nine()),
    "score_test": lambda: dt.score_test(_equal(), release="a"),
    "wald_test": lambda: dt.wald_test(_nine(), "a == b"),
    "vuong": lambda: dt.vuong(_equal(), _nine(), NINE),
    "model_power": lambda: dt.model_power(
        n_obs=200,
        model="f =~ x1 + x2 + x3 + x4",
        population="f =~ .7*x1 + .6*x2 + .5*x3 + .6*x4; x1 ~~ .2*x2",
    ),
    "regress": lambda: dt.regress("age ~ visual + textual", NINE_MODEL, SCHOOLS).params,
    "reliability": lambda: dt.reliability(ROWS, ROWS_MODEL),
    "reliability of a matrix": lambda: dt.reliability(dt.dependence(WIDE, "pearson"), WIDE_MODEL),
    "plan": lambda: dt.plan(_design(), n_draws=20, most_rows=2000, seed=1),
    "survey_design, margin": lambda: dt.survey_design(4, 6, levels=5).margin("spearman"),
    "sample_size": lambda: dt.sample_size(p=25, margin=0.2),
    "simulate": lambda: dt.simulate("chain", n=5000, seed=1),
    "save and load": _loaded,
}


# --- the bytes ---


def pieces(value: Any) -> Iterator[bytes]:
    """Everything a result holds, numbers to the last bit, as bytes."""
    yield type(value).__name__.encode()
    if value is None or isinstance(value, str | int):
        yield repr(value).encode()
    elif isinstance(value, float | np.generic | np.ndarray) and np.asarray(value).dtype != object:
        array = np.asarray(value)
        yield f"{array.dtype.str}{array.shape}".encode()
        yield array.tobytes()
    elif not isinstance(value, types.FunctionType):
        for one in _parts(value):
            yield from pieces(one)


def _parts(value: Any) -> list[Any]:
    if dataclasses.is_dataclass(value):
        return [getattr(value, field.name) for field in dataclasses.fields(value)]
    if isinstance(value, pd.DataFrame):
        return [value.index, *value.columns, *(value[name].to_numpy() for name in value)]
    if isinstance(value, pd.Series):
        return [value.index, value.to_numpy()]
    if sparse.issparse(value):
        return [value.toarray()]
    if isinstance(value, Mapping):
        return [*value, *value.values()]
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, pd.Index | list | tuple | np.ndarray):
        return list(value)
    raise TypeError(f"no bytes of a {type(value).__name__}")


def digest(value: Any) -> str:
    """Sum up all bytes of a result."""
    return hashlib.sha256(b"\0".join(pieces(value))).hexdigest()[:16]


def digests(wanted: list[str], users: int) -> dict[str, str]:
    """Compute results, by so many threads of the user at once."""
    if users == 1:
        return {name: digest(WORK[name]()) for name in wanted}
    with ThreadPoolExecutor(users) as pool:
        found = pool.map(lambda name: digest(WORK[name]()), wanted)
        return dict(zip(wanted, found, strict=True))


def blas_threads() -> int:
    """How many threads linear algebra takes outside of dtstat."""
    return max(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")


def fresh(setting: Setting, only: str) -> dict[str, Any]:
    """Compute the digests in a new interpreter."""
    environment = {k: v for k, v in os.environ.items() if k not in VARIABLES}
    if setting.threads is not None:
        environment |= dict.fromkeys(VARIABLES, str(setting.threads))
    core = str(min(os.sched_getaffinity(0)))
    command = ["taskset", "-c", core] if setting.one_core else []
    command += [sys.executable, "-W", "ignore", "-m", "benchmarks.same_bytes"]
    command += ["--users", str(setting.users), "--only", only]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def report(found: dict[str, dict[str, Any]]) -> str:
    """Write the table as Markdown."""
    first, *others = found
    reference = found[first]["digests"]
    same = sum(all(found[one]["digests"][k] == v for one in others) for k, v in reference.items())
    took = ", ".join(f"{name}: {one['threads']}" for name, one in found.items())
    lines = [
        "# Same bytes\n",
        "Written by `python -m benchmarks.same_bytes`, a part of `make bench`.",
        f"{os.cpu_count()} cores, dtstat {dt.__version__}. Of {len(reference)} results {same} have "
        "the same bytes in all settings: every",
        "number, to the last bit. Threads that linear algebra took outside of dtstat, by setting:",
        f"{took}.\n",
        f"| result | digest, {first} | {' | '.join(others)} |",
        f"|---|---|{'---|' * len(others)}",
    ]
    for name, expected in reference.items():
        ended = ["same" if found[k]["digests"][name] == expected else "OTHER" for k in others]
        lines.append(f"| {name} | {expected} | {' | '.join(ended)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="results whose names contain this text")
    parser.add_argument("--write", action="store_true", help="write the table to results")
    parser.add_argument("--users", type=int, help=argparse.SUPPRESS)  # in a fresh interpreter
    asked = parser.parse_args()
    if asked.users is not None:
        wanted = [name for name in WORK if asked.only in name]
        threads = blas_threads()
        print(json.dumps({"threads": threads, "digests": digests(wanted, asked.users)}))
        return 0
    found = {one.name: fresh(one, asked.only) for one in SETTINGS}
    table = report(found)
    print(table)
    if asked.write:
        RESULTS.write_text(table, encoding="utf-8")
    return int("OTHER" in table)


if __name__ == "__main__":
    sys.exit(main())
