"""Saved results that somebody edited: refused when loaded, or all they are asked is answered.

``python -m benchmarks.edited_files`` saves results of every class that can be saved, edits 5,000
copies at random, and loads each. What loads is asked everything it can be asked without more data:
properties, methods, prints, plots, reports, exports. It holds if every question is answered, or
refused with a DTError, and if no text of the file gets out as code, markup, formulas or commands of
a terminal. The same seed gives the same copies. With ``--write`` a table of counts goes to
``benchmarks/results/edited_files.md``.
"""

from __future__ import annotations

import argparse
import ast
import copy
import functools
import inspect
import io
import json
import re
import resource
import signal
import tempfile
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dtstat as dt
from dtstat.core import saved
from dtstat.core.files import write_archive
from dtstat.core.tables import Summary
from dtstat.fit.plots import FIT_KINDS
from dtstat.fit.request import python_code, r_code
from dtstat.interop.views import view

RESULTS = Path(__file__).parent / "results"
COPIES = 5_000
MOST_MEMORY, SECONDS = 6 * 1024**3, 60  # that a copy may take
DEAR_SHARE = 0.15  # of answers: in how many a plot is drawn, a file written, and the like
NINE = dt.load_dataset("holzinger_swineford_9")
RATED = NINE.apply(lambda x: pd.cut(x, 3, labels=False) + 1)
SCHOOL = NINE.assign(school=np.where(np.arange(len(NINE)) % 2, "A", "B"))
MODEL = "visual =~ x1 + a*x2 + x3\ntextual =~ x4 + b*x5 + x6\nab := a*b"
SMALL = "visual =~ x1 + a*x2 + x3\ntextual =~ x4 + a*x5 + x6"


@functools.cache
def _fit() -> dt.DTFit:
    return dt.fit(NINE)


@functools.cache
def _model() -> dt.CFAFit:
    return dt.cfa(NINE, MODEL)


@functools.cache
def _equal() -> dt.CFAFit:
    return dt.cfa(NINE, SMALL)


def _curves() -> dt.DTFit:
    rng = np.random.default_rng(7)
    values = rng.standard_normal((60, 3)) + rng.standard_normal((60, 1))
    return dt.fit(values, estimator="spline", structure=dt.Structure(np.ones((3, 1))), seed=1)


def _gaps() -> pd.DataFrame:
    return NINE.mask(np.random.default_rng(1).random(NINE.shape) < 0.05)


MAKERS: dict[str, Callable[[], Any]] = {
    "DTFit": _fit,
    "DTFit of ratings": lambda: dt.fit(RATED).rename(["one", "two", "three"]),
    "DTFit of a matrix": lambda: dt.fit(dt.dependence(NINE, "pearson")),
    "DTFit of a structure": lambda: dt.fit(NINE, structure=_fit().structure),
    "DTFit with curves": _curves,
    "CFAFit": _model,
    "CFAFit, fiml": lambda: dt.cfa(_gaps(), SMALL, missing="fiml"),
    "CFAFit, ordered": lambda: dt.cfa(RATED, SMALL, ordered=True),
    "CFAFit of groups": lambda: dt.cfa(SCHOOL, SMALL, group="school", estimator="mlr"),
    "EFAFit": lambda: dt.efa(NINE, 2),
    "Certificate": lambda: dt.certify(NINE),
    "Diagnosis": lambda: dt.diagnose(_fit(), NINE, n_boot=3, seed=1),
    "Stability": lambda: dt.stability(NINE, 3, seed=1, sizes=(0.5,)),
    "SurveyPlan": lambda: dt.plan(n_factors=2, n_draws=2, most_rows=100, seed=1),
    "Bootstrap": lambda: dt.bootstrap(_model(), NINE, 5, seed=1),
    "Invariance": lambda: dt.invariance(SCHOOL, SMALL, group="school"),
    "ModelComparison": lambda: dt.compare_models(_equal(), _model()),
    "ModelPower": lambda: dt.model_power(n_obs=200, df=50, rmsea=0.08),
    "ScoreTest": lambda: dt.score_test(_equal(), release="a"),
    "VuongTest": lambda: dt.vuong(_equal(), _model(), NINE),
    "WaldTest": lambda: dt.wald_test(_model(), "a == b"),
}


# --- how files are edited ---

CODE = 'x"); __import__("os").system("evil"); ("'
TEXTS = [
    *(CODE, CODE.replace('"', "'"), 'x\\"); evil(); (\\"', "x\n__import__('os').system('evil')"),
    *("<script>evil()</script>", '"><img src=x onerror=evil()>', "</script><script>evil()"),
    *("=cmd|' /C evil'!A0", "+evil()", "-evil()", "@evil()", "\tevil", "\revil", " =evil()"),
    *("\x1b]0;evil\x07", "\x1b[31mevil", "\u202eevil", "\u2066evil", "evil\u200e\u2028evil"),
    *("$\\input{/etc/evil}$", "\\write18{evil}", 'x"]; evil [label="', "a; evil(): b", "{evil}"),
    *("", " ", "\u00a0", "F1", "x1", "x2", "None", "NaN", "\ud800", "\0", "evil" * 30_000),
    *("spearman", "pearson", "ebic", "tree", "given", "copula", "ml", "mlr", "dwls", "fiml"),
    *("~", "~~", "=~", "~1", ":=", "==", "|", "lambda", "tau", "a*", "a := b", "1/0", "a**a**a"),
]  # fmt: skip
NUMBERS = [
    *(-1, 0, 1, 2, 3, 10, 10**6, 2**31, 2**53 + 1, 2**63, 10**30, -(10**30), True, False),
    *(0.5, -0.5, 1.5, 1e-300, 1e300, -1e300, None),
    *({"$float": "nan"}, {"$float": "inf"}, {"$float": "-inf"}),
]  # fmt: skip
OTHERS = [
    *(None, [], {}, [[]], {"$tuple": []}, {"$dict": []}, {"$array": "a0"}, {"$array": "a99"}),
    *({"$tuple": ["x1", "x1"]}, {"$tuple": [1]}, {"$dict": [["x1", "evil"]]}, {"$x": 1}),
    *({"$class": "Test", "fields": {"chisq": 1, "df": 1}}, {"$class": "os", "fields": {}}),
]  # fmt: skip
CELLS = [np.nan, np.inf, -np.inf, -1, 0, 1, 2, 0.5, -0.5, 1.5, 99, 1e300, -1e300, 2**40]

Place = tuple[Any, Any]  # something that holds values, and the key of one


class Draw:
    """Random choices from a seed."""

    def __init__(self, *seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def one(self, values: Any) -> Any:
        """Choose one of some values."""
        return values[int(self._rng.integers(len(values)))]

    def chance(self, share: float) -> bool:
        """Whether something happens that happens in this share of cases."""
        return bool(self._rng.random() < share)


class File:
    """Content of a saved file, taken apart."""

    def __init__(self, content: bytes) -> None:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            self.metadata = json.loads(archive.read("metadata.json"))
            names = sorted(archive.namelist(), key=lambda name: (len(name), name))
            arrays = [archive.read(name) for name in names if name.endswith(".npy")]
        self.arrays = [np.load(io.BytesIO(array)) for array in arrays]

    def copy(self) -> File:
        """Return a copy to edit."""
        return copy.deepcopy(self)

    def content(self) -> bytes:
        """Return the file."""
        return write_archive(json.dumps(self.metadata), self.arrays, compressed=False)

    def places(self) -> list[Place]:
        """Where values of the JSON text stand."""
        return list(_places(self.metadata["result"]))


def _places(value: Any) -> Iterator[Place]:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in list(inner):
        if key not in ("$class", "$array", "$float"):
            yield value, key
        if isinstance(one, dict | list):
            yield from _places(one)


def _of(file: File, wanted: Callable[[Any], bool]) -> list[Place]:
    return [(holder, key) for holder, key in file.places() if wanted(holder[key])]


def _replace(wanted: Callable[[Any], bool], values: list[Any]) -> Callable[[File, Draw], bool]:
    def edit(file: File, draw: Draw) -> bool:
        places = _of(file, wanted)
        if places:
            holder, key = draw.one(places)
            holder[key] = copy.deepcopy(draw.one(values))
        return bool(places)

    return edit


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_record(value: Any) -> bool:
    return isinstance(value, dict) and "$class" in value


def _lists(file: File) -> list[list[Any]]:
    marked = [holder[key] for holder, key in file.places() if key in ("$tuple", "$dict")]
    return [one for one in marked if isinstance(one, list) and one]


def _key(file: File, draw: Draw) -> bool:
    """Remove a field, or add one."""
    fields = draw.one([r["fields"] for r in _records(file)])
    if draw.chance(0.5):
        del fields[draw.one(list(fields))]
    else:
        fields[draw.one(["extra", "__class__", "_names", "item_names", "evil()"])] = 1
    return True


def _records(file: File) -> list[Any]:
    inner = [holder[key] for holder, key in file.places() if _is_record(holder[key])]
    return [file.metadata["result"], *inner]


def _swap(file: File, draw: Draw) -> bool:
    """Put one record, or array, in the place of another."""
    places = _of(file, lambda v: _is_record(v) or (isinstance(v, dict) and "$array" in v))
    if len(places) < 2:
        return False
    (one, k), (other, j) = draw.one(places), draw.one(places)
    given = copy.deepcopy(other[j])
    one[k] = given
    return True


def _entries(file: File, draw: Draw) -> bool:
    """Remove, repeat or reorder entries of a list."""
    lists = _lists(file)
    if not lists:
        return False
    entries = draw.one(lists)
    how = draw.one(["remove", "repeat", "reverse", "clear", "same"])
    if how == "remove":
        entries.pop()
    elif how == "repeat":
        entries.append(copy.deepcopy(draw.one(entries)))
    elif how == "reverse":
        entries.reverse()
    elif how == "clear":
        entries.clear()
    else:
        entries[-1] = copy.deepcopy(entries[0])
    return True


def _cell(file: File, draw: Draw) -> bool:
    """Change a number in an array."""
    arrays = [k for k, one in enumerate(file.arrays) if one.size]
    if not arrays:
        return False
    k = draw.one(arrays)
    array = file.arrays[k].copy()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flat = array.reshape(-1)
        flat[int(draw.one(range(flat.size)))] = np.asarray(draw.one(CELLS)).astype(array.dtype)
    file.arrays[k] = array
    return True


def _array(file: File, draw: Draw) -> bool:
    """Give an array another shape, type or content."""
    if not file.arrays:
        return False
    k = draw.one(range(len(file.arrays)))
    array = file.arrays[k]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        others = (
            [
                *(array.T, array.ravel(), array[:0], array[None], array[::-1], array * 0),
                *(array.astype("f4"), array.astype("i8"), array.astype(bool), array.astype(">f8")),
                *(
                    array * np.nan,
                    -array if array.dtype != bool else ~array,
                    array.astype("f8") * 1e200,
                ),
                *(
                    np.zeros((2, 2)),
                    np.array(1.0),
                    np.concatenate([array, array])[: len(array) + 1],
                ),
            ]
            if array.ndim
            else [array[None], array * np.nan]
        )
    file.arrays[k] = np.asarray(draw.one(others))
    return True


WAYS: dict[str, Callable[[File, Draw], bool]] = {
    "a number is another": _replace(_is_number, NUMBERS),
    "a text is another": _replace(_is_text, TEXTS),
    "a value of another kind": _replace(lambda _: True, [*OTHERS, *NUMBERS, *TEXTS]),
    "a field removed or added": _key,
    "records swapped": _swap,
    "entries removed or repeated": _entries,
    "a number of an array": _cell,
    "an array of another shape or type": _array,
}


# --- what a result is asked ---

METHODS: dict[str, list[tuple[Any, ...]]] = {
    "level": [("fine",), (1,), (2,)],
    "candidate": [(0,), (1,)],
    "rename": [({"F1": "new"},), (["a", "b", "c"],)],
    "reflect": [(["F1"],)],
    "fit": [("configural",), ("metric",)],
    "factor_scores": [(NINE,)],
    "augment": [(NINE,)],
    "plausible_values": [(NINE, 2, 1)],
    "list_items": [(("x1",),)],
    "to_lavaan": [(), ("higher_order",), ("bifactor",)],
    "residuals": [(), ("raw",), ("standardized",)],
    "defined_intervals": [("delta",)],
    "parameters": [(), ("bca",)],
}
KINDS = {
    "DTFit": FIT_KINDS,
    "EFAFit": ("loadings", "scree", "diagram"),
    "CFAFit": ("diagram",),
    "Diagnosis": ("margin", "implied", "path"),
    "Stability": ("items", "factors", "pairs"),
}
ENDINGS = ("docx", "xlsx", "tex", "html", "md", "csv", "txt")
DEAR = ("path_scores", "reliability", "plausible_values", "suggest_names", "modification_indices")


class BrokenError(AssertionError):
    """An answer that is none, or that lets a text of the file out."""


def ask(result: Any, draw: Draw, folder: Path, all_of_it: bool) -> None:
    """Ask a result everything; of the dear things one each, unless all is asked.

    Raises
    ------
    BrokenError
        If an answer is an error other than DTError, or carries code.
    """

    def wanted(values: Any) -> list[Any]:
        if all_of_it:
            return list(values)
        return [draw.one(list(values))] if draw.chance(DEAR_SHARE) else []

    told = [
        _asked(f"print of {type(result).__name__}", show, result)
        for show in (repr, lambda one: one._repr_html_(), *([view] if wanted([1]) else []))
    ]
    for label, question, arguments in _questions(result):
        if label not in DEAR or wanted([1]):
            told.append(_asked(label, question, *arguments))
    for answer in told:
        _checked(answer)
        if isinstance(answer, Summary):
            _exported(answer, folder, wanted)
    if hasattr(result, "plot"):
        _drawn(result, wanted)
    if isinstance(result, dt.DTFit):
        _called(result)
        _reported(result, folder, wanted)
    _asked("save", result.save, folder / "again.dtstat", True)


def _reported(fit: dt.DTFit, folder: Path, wanted: Callable[[Any], list[Any]]) -> None:
    for ending in wanted(("html", "html", "docx")):
        file = folder / f"report.{ending}"
        if _asked("report", fit.report, file, None, None, None, True) and ending == "html":
            _check_html(file.read_text(encoding="utf-8"))


def _questions(result: Any) -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    """Yield properties and methods, with arguments for those that need some."""
    for name, member in inspect.getmembers(type(result)):
        if name.startswith("_") or name in ("save", "plot", "report", "of"):
            continue
        if not callable(member):
            yield name, getattr, (result, name)
            continue
        most = len(inspect.signature(member).parameters) - 1
        for arguments in METHODS.get(name, [()]):
            if len(arguments) <= most:
                yield name, getattr(result, name), arguments


def _asked(label: str, question: Callable[..., Any], *arguments: Any) -> Any:
    """Return the answer; None if it was refused with a DTError."""
    try:
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            return question(*arguments)
    except dt.DTError:
        return None
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        inner = [f for f in frames if "/benchmarks/" not in f.filename]
        ours = [f for f in inner if f"{Path(dt.__file__).parent}" in f.filename] or frames
        where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
        raise BrokenError(f"{label}: {type(error).__name__} at {where}: {error}"[:300]) from error


def _exported(summary: Summary, folder: Path, wanted: Callable[[Any], list[Any]]) -> None:
    _check_html(_asked("to_html", summary.to_html) or "")
    _check_latex(_asked("to_latex", summary.to_latex) or "")
    for ending in wanted(ENDINGS):
        file = folder / f"table.{ending}"
        file.unlink(missing_ok=True)
        for style in wanted(("plain", "apa")):
            _asked(
                f"save as {ending}",
                functools.partial(summary.save, file, style=style, overwrite=True),
            )
        if ending == "csv" and file.exists():
            _check_csv(file.read_text(encoding="utf-8"))


def _drawn(result: Any, wanted: Callable[[Any], list[Any]]) -> None:
    from matplotlib import pyplot

    kinds = KINDS.get(type(result).__name__)
    for kind in wanted(kinds) if kinds else [None]:
        drawn = _asked(f"plot {kind or ''}", result.plot, *([kind] if kind else []))
        if drawn is not None:
            axes = drawn if hasattr(drawn, "figure") else np.ravel(drawn)[0]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # letters that the font lacks
                drawing = functools.partial(axes.figure.savefig, io.BytesIO(), dpi=20)
                _asked(f"picture {kind or ''}", drawing)
        pyplot.close("all")


# --- what must not get out ---

_COMMANDS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_FORMULAS = re.compile(r"""(?m)(^|,)"?[=+\-@\t\r]\D""")
_LATEX = re.compile(r"(?<!\\)\\(input|write)\b")


def _checked(answer: Any) -> None:
    """Check what is printed of an answer."""
    if answer is None or isinstance(answer, np.ndarray | bytes):
        return
    own = type(answer).__module__.startswith("dtstat")
    if isinstance(answer, str) or own:
        text = _asked(f"print of {type(answer).__name__}", str, answer) or ""
        if own and _COMMANDS.search(text):
            raise BrokenError(f"a command of the terminal in the print of {type(answer).__name__}")
        if "<table" in text:
            _check_html(text)
    else:
        _asked("print", repr, answer)


class _Page(HTMLParser):
    """Finds what runs in a browser: scripts with words of the file, and handlers of events."""

    def __init__(self) -> None:
        super().__init__()
        self.live: list[str] = []
        self._in_script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._in_script = tag == "script" and given.get("type") != "application/json"
        self.live += [name for name in given if name.startswith("on")]

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, data: str) -> None:
        if self._in_script and "evil" in data:
            self.live.append(data)


def _check_html(text: str) -> None:
    page = _Page()
    page.feed(text)
    if page.live:
        raise BrokenError(f"live HTML: {page.live[0]}"[:200])


def _check_latex(text: str) -> None:
    if _LATEX.search(text):
        raise BrokenError("a command of LaTeX")


def _check_csv(text: str) -> None:
    if _FORMULAS.search(text):
        raise BrokenError("a formula in CSV")


def _called(fit: dt.DTFit) -> None:
    """Code to paste calls dtstat alone."""
    code = _asked("python_code", python_code, fit)
    _asked("r_code", r_code, fit)
    if code is None:
        return
    if _COMMANDS.search(code):
        raise BrokenError("python_code has characters that hide code")
    try:
        calls = [node.func for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    except (SyntaxError, ValueError) as error:
        raise BrokenError(f"python_code: {type(error).__name__}: {error}") from error
    allowed = {"dt.fit", "dt.Structure.from_keys", "fit.rename", "fit.reflect"}
    strange = {ast.unparse(call) for call in calls} - allowed
    if strange:
        raise BrokenError(f"python_code calls {strange}")


# --- all of it ---


def contents() -> dict[str, File]:
    """One saved file of each class and kind."""
    made = {}
    for name, make in MAKERS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made[name] = File(saved.to_bytes(make()))
    return made


def try_copy(
    file: File, draw: Draw, folder: Path, all_of_it: bool = False
) -> tuple[str, str, bytes]:
    """Edit a copy and load it; return the way, how it ended ("" if well), and the copy."""
    edited = file.copy()
    way = draw.one(list(WAYS))
    while not WAYS[way](edited, draw):
        way = draw.one(list(WAYS))
    content = edited.content()
    return way, outcome(content, draw, folder, all_of_it), content


def outcome(content: bytes, draw: Draw, folder: Path, all_of_it: bool) -> str:
    """Load a file and ask it everything; return "refused", "answered", or what went wrong."""
    path = folder / "edited.dtstat"
    path.write_bytes(content)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        result = _asked("load", dt.load, path)
        if result is None:
            return "refused"
        ask(result, draw, folder, all_of_it)
    except BrokenError as error:
        return str(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return "answered"


def _ring(*_: Any) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--copies", type=int, default=COPIES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first copy")
    parser.add_argument("--write", action="store_true", help="write the table to results")
    parser.add_argument("--thorough", action="store_true", help="draw every plot, write every file")
    parser.add_argument("--keep", help="folder for copies that went wrong")
    wanted = parser.parse_args()
    import matplotlib

    matplotlib.use("Agg")
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, resource.RLIM_INFINITY))
    signal.signal(signal.SIGPROF, _ring)
    files = contents()
    counts: dict[str, Counter[str]] = {name: Counter() for name in files}
    broken: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for name, file in files.items():
            untouched = outcome(file.content(), Draw(wanted.seed), Path(folder), wanted.thorough)
            if untouched != "answered":
                raise SystemExit(f"{name}, not edited: {untouched}")
        for k in range(wanted.first, wanted.first + wanted.copies):
            name = list(files)[k % len(files)]
            way, ended, content = try_copy(
                files[name], Draw(wanted.seed, k), Path(folder), wanted.thorough
            )
            held = ended in ("refused", "answered")
            counts[name][ended if held else "went wrong"] += 1
            if not held:
                broken[ended] += 1
                if broken[ended] == 1:
                    print(f"{name}, {way}, copy {k}: {ended}", flush=True)
                if wanted.keep:
                    (Path(wanted.keep) / f"{k}.dtstat").write_bytes(content)
    table = report(counts, wanted.copies, wanted.seed)
    print(table)
    if wanted.write:
        (RESULTS / "edited_files.md").write_text(table, encoding="utf-8")


def report(counts: dict[str, Counter[str]], copies: int, seed: int) -> str:
    """Write the table of counts as Markdown."""
    held = sum(count["refused"] + count["answered"] for count in counts.values())
    lines = [
        "# Edited files\n",
        f"Written by `python -m benchmarks.edited_files` (seed {seed}), dtstat {dt.__version__}.",
        f"Of {copies} edited copies of saved results {held} were refused when loaded, or answered",
        "everything they were asked, or refused it with a DTError. Properties, prints and most",
        f"methods were asked of all; plots, files, reports and slow methods in {DEAR_SHARE:.0%} of",
        "those that loaded.\n",
        "| saved result | copies | refused when loaded | answered | went wrong |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, count in counts.items():
        ended = [count[one] for one in ("refused", "answered", "went wrong")]
        lines.append(f"| {name} | {sum(ended)} | {' | '.join(map(str, ended))} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
