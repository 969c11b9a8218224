"""Functions of R have the arguments of their Python twins, or r-wrapper/PARITY.md says why not."""

import inspect
import re
import subprocess
from pathlib import Path

import pytest

import dtstat as dt

R_PACKAGE = Path(__file__).parents[2] / "r-wrapper"
# Of a generic, the method that does the work.
METHODS = {"dt_fit": "dt_fit.default"}
FORMALS = r"""
for (file in list.files("R", "[.]R$", full.names = TRUE)) source(file)
for (name in commandArgs(TRUE)) {
  given <- formals(get(name))
  defaults <- vapply(given, function(one) paste(deparse(one), collapse = " "), "")
  cat(paste(c(name, names(given)), c("", defaults), sep = "\t", collapse = "\n"), "\n\n", sep = "")
}
"""
ROW = re.compile(r"^\| `(\w+)` \| (?:`([\w.]+)`|—) \| (.*) \|$", re.MULTILINE)
REPLACED = re.compile(r"`([^`]+)` for `([^`]+)` \(\d+\)")
ADDED = re.compile(r"`([^`]+)` added \(\d+\)")
NOT_OFFERED = re.compile(r"^\| `dt\.(\w+)` \| ", re.MULTILINE)


@pytest.fixture(scope="module")
def parity():
    return (R_PACKAGE / "PARITY.md").read_text()


@pytest.fixture(scope="module")
def rows(parity):
    """R function -> its twin ("" if none), and the differences that are declared."""
    found = {r: (python, differences) for r, python, differences in ROW.findall(parity)}
    assert len(found) > 30
    return found


def exported_functions():
    """Names after @export, without methods of generics and functions of other packages."""
    names = set()
    for file in (R_PACKAGE / "R").glob("*.R"):
        for following in re.findall(r"^#' @export\n(?:#'.*\n)*(.*)$", file.read_text(), re.M):
            names |= set(re.findall(r"^(\w+) <- ", following))
    return names


@pytest.fixture(scope="module")
def formals(rows, tmp_path_factory):
    """R function -> its arguments with the text of their defaults, "" for none."""
    asked = [METHODS.get(name, name) for name in rows]
    script = tmp_path_factory.mktemp("parity") / "formals.R"
    script.write_text(FORMALS)
    done = subprocess.run(
        ["Rscript", str(script), *asked],
        cwd=R_PACKAGE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = dict(map(formals_of, done.stdout.strip().split("\n\n")))
    assert list(found) == asked
    return dict(zip(rows, found.values(), strict=True))


def formals_of(block):
    """Name of a function, and its arguments, from the lines that R wrote."""
    name, *arguments = (line.partition("\t") for line in block.splitlines())
    return name[0], {argument: default.strip() for argument, _, default in arguments}


def signature(twin):
    """Arguments of a Python function with their defaults as R would write them."""
    function = dt
    for part in twin.split("."):
        function = getattr(function, part)
    marks = {inspect.Parameter.VAR_KEYWORD: "**", inspect.Parameter.VAR_POSITIONAL: "*"}
    parameters = inspect.signature(function).parameters.values()
    return {marks.get(one.kind, "") + one.name: in_r(one.default) for one in parameters}


def in_r(value):
    if value is inspect.Parameter.empty:
        return ""
    if isinstance(value, bool) or value is None:
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    if isinstance(value, str):
        return f'"{value}"'
    return f"{value:.15g}" if isinstance(value, int | float) else repr(value)


def written(name, default):
    return f"{name} = {default}" if default else name


def argument_of(text):
    return text.partition(" = ")[0]


def declared(differences):
    """Pairs (as in R, as in Python); "" where one has none."""
    return set(REPLACED.findall(differences)) | {(one, "") for one in ADDED.findall(differences)}


def actual(r, python, renamed):
    """Differences of arguments; ``renamed`` is a dict from R's names to Python's."""
    found = set()
    for name, default in r.items():
        twin = renamed.get(name, name)
        if twin not in python:
            found.add((written(name, default), ""))
        elif (name, default) != (twin, python[twin]):
            found.add((written(name, default), written(twin, python[twin])))
    reached = {renamed.get(name, name) for name in r}
    return found | {("", written(name, python[name])) for name in python if name not in reached}


def test_every_exported_function_is_listed(rows):
    assert exported_functions() == set(rows)


def test_every_python_function_has_a_twin_or_a_reason(parity, rows):
    twins = {python for python, _ in rows.values()}
    public = {name for name in dt.__all__ if inspect.isfunction(getattr(dt, name))}
    assert public - twins == set(NOT_OFFERED.findall(parity))


@pytest.mark.against_r
def test_arguments_are_the_same_or_listed(require_r, rows, formals):
    wrong = {}
    for name, (twin, differences) in rows.items():
        if not twin:
            continue
        listed = declared(differences)
        renamed = {argument_of(r): argument_of(python) for r, python in listed if python}
        missed = actual(formals[name], signature(twin), renamed) ^ listed
        if missed:
            wrong[name] = missed
    assert wrong == {}


@pytest.mark.against_r
def test_order_of_arguments_is_the_same(require_r, rows, formals):
    for name, (twin, differences) in rows.items():
        if not twin:
            continue
        renamed = {argument_of(r): argument_of(p) for r, p in declared(differences) if p}
        python = list(signature(twin))
        common = [renamed.get(one, one) for one in formals[name]]
        assert [one for one in common if one in python] == python, name


def test_every_reason_is_given(parity):
    used = set(re.findall(r"\((\d+)\)", " ".join(d for _, _, d in ROW.findall(parity))))
    assert used == set(re.findall(r"^(\d+)\. ", parity, re.MULTILINE))
