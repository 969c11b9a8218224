"""Functions of R have the arguments of their Python twins, or r-wrapper/PARITY.md says why not."""

import inspect
import re
import subprocess
from pathlib import Path

import pytest

import dtstat as dt
from dtstat.interop.views import view

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
ROW = re.compile(r"^\| `([a-z]\w*)` \| (?:`([\w.]+)`|—) \| (.*) \|$", re.MULTILINE)
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


MEMBER_ROW = re.compile(r"^\| `([A-Z]\w+)` \| (all|`[a-z].*?`) \| (.*) \|$", re.MULTILINE)
ENTRY = re.compile(r"\$(\w+(?:\$\w+)*)")
CALLED = re.compile(r"`([\w.]+(?=\()|\[)")
OF_R = {
    "abs",
    "colnames",
    "length",
    "names",
    "nrow",
    "rownames",
    "saveRDS",
    "sum",
    "tcrossprod",
    "which",
}
THREE = "visual =~ x1 + x2 + x3; textual =~ x4 + x5 + x6; speed =~ x7 + x8 + x9"


@pytest.fixture(scope="module")
def results():
    """One result of every class, as Python has it."""
    nine = dt.load_dataset("holzinger_swineford_9")
    fit, path = dt.fit(nine), dt.solution_path(nine, floor=0.1)
    efa, free = dt.efa(nine, 3), dt.cfa(nine, THREE)
    fixed = dt.cfa(nine, THREE, orthogonal=True)
    halves = nine.assign(half=["first"] * 150 + ["second"] * 151)
    design = dt.survey_design(2, 3, factor_correlation=0.3)
    found = [
        fit,
        path,
        path.dependence,
        fit.dependence,
        fit.structure,
        dt.compare(fit.structure, fit.structure),
        dt.margin(nine, fit.structure),
        dt.diagnose(fit),
        dt.stability(nine, n_boot=2, fit=fit, seed=1),
        dt.certify(nine, n_splits=1, seed=1),
        dt.plan(design, n_draws=0),
        design,
        dt.simulate("chain", n=30, seed=1),
        free,
        dt.compare_models(free, fixed),
        dt.invariance(halves, THREE, "half"),
        dt.wald_test(dt.cfa(nine, "f =~ x1 + a*x2 + b*x3"), "a == b"),
        dt.score_test(free, add="x1 ~~ x2"),
        dt.vuong(free, fixed, nine),
        dt.bootstrap(free, nine, n_boot=20, seed=1),
        dt.model_power(n_obs=200, df=50, rmsea=0.08),
        efa,
        dt.describe(nine),
        fit.reliability(),
        dt.parallel_analysis(nine, n_iter=2, seed=1),
        dt.compare_solutions(efa, efa),
    ]
    return {type(one): one for one in found}


@pytest.fixture(scope="module")
def methods():
    """Pairs (generic, class) that NAMESPACE registers."""
    namespace = (R_PACKAGE / "NAMESPACE").read_text()
    pairs = re.findall(r'^S3method\("?(?:\w+::)?([\w.\[]+)"?,(\w+)\)', namespace, re.MULTILINE)
    assert len(pairs) > 100
    return set(pairs)


@pytest.fixture(scope="module")
def listed(parity):
    """Python class -> its members that are listed, with what R has."""
    found = {}
    for name, members, r in MEMBER_ROW.findall(parity):
        for member in ["all"] if members == "all" else re.findall(r"`(\w+)`", members):
            assert found.setdefault(name, {}).setdefault(member, r) == r, f"{name}.{member} twice"
    return found


def members(one):
    return {name for name in dir(one) if not name.startswith("_")}


def has_entry(parts, names):
    for name in names.split("$"):
        if name not in parts:
            return False
        parts = parts[name]
    return True


def in_r_by_itself(member, parts, methods, twins):
    """Whether R has a member under its own name: an entry, a generic or a function."""
    if member == "save":
        return "state" in parts
    return member in parts or (member, parts.get("class")) in methods or member in twins


def test_every_member_of_a_result_is_in_r_or_listed(results, rows, methods, listed):
    twins = {python.partition(".")[2] for python, _ in rows.values() if "." in python}
    wrong = {}
    for cls, one in results.items():
        parts, own = view(one), members(one)
        missing = {name for name in own if not in_r_by_itself(name, parts, methods, twins)}
        declared = set(listed.get(cls.__name__, {}))
        if not missing <= declared <= own:
            wrong[cls.__name__] = (missing - declared, declared - own)
    assert wrong == {}


def test_every_class_of_results_is_looked_at(results, listed):
    errors = (Exception, Warning)
    public = {getattr(dt, name) for name in dt.__all__ if inspect.isclass(getattr(dt, name))}
    parts_only = {name for name, said in listed.items() if "all" in said}
    assert {cls.__name__ for cls in public if not issubclass(cls, errors)} - parts_only <= {
        cls.__name__ for cls in results
    }


def test_what_r_has_instead_is_there(results, rows, methods, listed):
    """Entries ($x) are in the list that R gets; functions and generics exist."""
    views = {cls: view(one) | {"call": None} for cls, one in results.items()}
    wrong = []
    for cls, parts in views.items():
        for member, said in listed.get(cls.__name__, {}).items():
            # "... of" speaks of another result.
            places = views.values() if " of " in said else [parts]
            classes = {place.get("class") for place in places}
            there = [any(has_entry(place, one) for place in places) for one in ENTRY.findall(said)]
            there += [
                name in rows or name in OF_R or any((name, r) in methods for r in classes)
                for name in CALLED.findall(said)
            ]
            if not all(there):
                wrong.append((cls.__name__, member, said))
    assert wrong == []
