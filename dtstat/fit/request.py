"""What ``dtstat.fit`` is asked for, with the only copy of the defaults, and the same as code.

The signature of ``fit``, the command line and the scikit-learn estimator read the defaults from
:class:`FitRequest`; a test holds those of the R package to them.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from dtstat.core import checks
from dtstat.core.about import __version__
from dtstat.core.arrays import FloatArray
from dtstat.core.checkpoints import CheckpointFile, checkpoint_seed
from dtstat.core.checks import Seed, Thresholds, seed_number
from dtstat.core.errors import InputError
from dtstat.core.parallel import Jobs, Progress, check_jobs
from dtstat.core.saved import register
from dtstat.curves.estimate import NONLINEAR
from dtstat.dependence.compute import Missing, PairFunction
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.measures import REGISTRY
from dtstat.search.criteria import CRITERIA, HELD_OUT, STEP, searching
from dtstat.search.ranking import by_first_item, first_item_order
from dtstat.search.records import GIVEN, Rules
from dtstat.structure.structure import Structure

if TYPE_CHECKING:
    from dtstat.fit.result import DTFit

Search = Literal["tree", "threshold", "sequential", "given"]
Estimator = Literal["copula", "linear", "spline", "neural", "variational"]
Uncovered = Literal["attach", "report", "error"]
Misfit = Literal["estimated", "none"]
Preset = Literal["paper", "paper_fast"]
_FEWEST_ROWS = 3  # behind a matrix
_THRESHOLDS = re.compile(r"exact|given|[0-9]{1,7}")
_VERSION = re.compile(r"[0-9A-Za-z.+-]{1,40}")
# In code these would hide what it does, or end a line of it.
_HIDDEN = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@register(
    formerly="FitCall",
    rules={
        "criterion is one": lambda call: call.criterion in CRITERIA,
        "thresholds are": lambda call: bool(_THRESHOLDS.fullmatch(call.thresholds)),
        "the version is one": lambda call: bool(_VERSION.fullmatch(call.version)),
    },
)
@dataclass(frozen=True)
class FitRequest:
    """The arguments of :func:`dtstat.fit`, and the version that answered.

    ``measure`` and ``thresholds`` are as they are shown: the name of a function, "given" for a
    list.
    """

    measure: str = "spearman"
    search: Search = "tree"
    thresholds: str = "exact"
    estimator: Estimator = "copula"
    criterion: str = "step"
    min_children: int = 2
    uncovered: Uncovered = "attach"
    refine: bool = False
    missing: Missing = "pairwise"
    misfit: Misfit = "estimated"
    seed: int | None = None
    version: str = __version__
    preset: Preset | None = None
    finalists: int | None = 3
    n_factors: int | None = None

    @property
    def draws_curves(self) -> bool:
        """Whether curves are fitted to the best structures."""
        return self.estimator in NONLINEAR

    @property
    def rules(self) -> Rules:
        """What the search goes by; steps and held-out rows choose among what ebic proposes."""
        return Rules(
            searching(self.criterion),
            self.min_children,
            self.uncovered == "attach",
            self.misfit == "estimated",
        )

    def arguments(self) -> dict[str, Any]:
        """Return the arguments by name, without the version."""
        return {name: value for name, value in asdict(self).items() if name != "version"}


@dataclass(frozen=True, eq=False)
class Run:
    """How a request is carried out: what a result does not record.

    Attributes
    ----------
    measure
        Name or function.
    grid
        Thresholds; None for all.
    structure
        One that was given, its factors in the order of their first items.
    n_jobs, progress, checkpoint
        Workers, progress bar or callback, and the checkpoint file.
    """

    measure: str | PairFunction = FitRequest.measure
    grid: FloatArray | None = None
    structure: Structure | None = None
    n_jobs: Jobs = None
    progress: Progress = None
    checkpoint: CheckpointFile = None


def take_request(
    asked: FitRequest,
    measure: str | PairFunction,
    thresholds: Thresholds,
    structure: Structure | None,
    preset: str | None,
    seed: Seed,
    n_jobs: Jobs,
    progress: Progress,
    checkpoint: CheckpointFile,
) -> tuple[FitRequest, Run]:
    """Check the arguments of ``fit``, data aside: what is asked for, and how it is carried out.

    ``asked`` holds what a request keeps as it is given; the others are as in ``fit``.

    Raises
    ------
    InputError
        If an argument cannot be used, or two of them do not go together.
    """
    checks.choice("search", asked.search, [one for one in get_args(Search) if one != GIVEN])
    checks.choice("estimator", asked.estimator, get_args(Estimator))
    checks.choice("criterion", asked.criterion, CRITERIA)
    checks.choice("uncovered", asked.uncovered, get_args(Uncovered))
    checks.choice("misfit", asked.misfit, get_args(Misfit))
    checks.choice("missing", asked.missing, get_args(Missing))
    refine = checks.flag("refine", asked.refine, "True looks for cross-loadings.")
    k, advice = asked.n_factors, "Leave it out to let the data decide."
    known = None if structure is None else _take_structure(structure, refine)
    request = replace(
        asked,
        measure=measure if isinstance(measure, str) else getattr(measure, "__name__", "function"),
        search=asked.search if known is None else GIVEN,
        thresholds=str(thresholds) if isinstance(thresholds, str | int) else "given",
        min_children=checks.check_children(asked.min_children),
        refine=refine,
        finalists=checks.integer(
            "finalists", asked.finalists, 1, "The best three are the default."
        ),
        n_factors=None if k is None else checks.integer("n_factors", k, 1, advice),
    )
    grid = checks.check_thresholds(thresholds) if preset is None else None
    jobs = check_jobs(n_jobs)
    request = apply_preset(request, preset)
    if request.preset is not None:
        grid = checks.check_thresholds(int(request.thresholds))
    if checkpoint is not None and not request.draws_curves:
        raise InputError(
            f"`checkpoint` stores structures fitted with curves; the estimator "
            f"'{request.estimator}' needs only seconds in total. Leave it out.",
            "checkpoint",
        )
    if grid is not None and request.search != "threshold":
        raise InputError(
            "`thresholds` applies only to search='threshold'; with 'tree' every factor has its "
            "own.",
            "thresholds",
        )
    run = Run(measure, grid, known, jobs, progress, checkpoint)
    return _settle(request, seed, checkpoint), run


def _take_structure(structure: Structure, refine: bool) -> Structure:
    """Return the structure that was given, its factors in the order of their first items."""
    if refine:
        raise InputError(
            "`refine` changes a structure, and `structure` gives one. Leave one of them out.",
            "refine",
        )
    order = first_item_order(structure.support)
    names = tuple(structure.factor_names[k] for k in order)
    support, negative = by_first_item(structure.support), structure.reversed[:, order]
    return Structure(support, structure.item_names, names, negative)


# Section 5.1 and appendix C: a grid of 50 thresholds on [0, 1], networks, validation. A single item
# that is isolated is an independent maximal clique, hence a factor, in the paper; "paper_fast" asks
# for two. dtstat.curves.stochastic_em has what else differs from the paper.
_PAPER: dict[str, Any] = {
    "search": "threshold",
    "thresholds": "50",
    "estimator": "neural",
    "criterion": "validation",
    "min_children": 1,
    "uncovered": "report",
    "misfit": "none",
}
PRESETS: dict[str, dict[str, Any]] = {
    "paper": {**_PAPER, "finalists": None},
    "paper_fast": {**_PAPER, "min_children": 2},
}


def apply_preset(request: FitRequest, preset: str | None) -> FitRequest:
    """Return the request with what a preset says.

    Raises
    ------
    InputError
        If there is no such preset, or an argument was given that contradicts it.
    """
    if preset is None:
        return request
    settings = PRESETS[checks.choice("preset", preset, PRESETS)]
    if request.search == GIVEN:
        raise InputError("`preset` searches for a structure. Leave `structure` out.", "structure")
    for name, setting in settings.items():
        given = getattr(request, name)
        if given not in (getattr(FitRequest, name), setting):
            meant = "all structures" if setting is None else repr(setting)
            raise InputError(
                f"`preset` '{preset}' means {name}={meant}; got {given!r}. Leave one of the two "
                "out.",
                name,
            )
    return replace(request, preset=cast(Preset, preset), **settings)


def _settle(request: FitRequest, seed: Seed, checkpoint: CheckpointFile) -> FitRequest:
    """Settle what follows from the rest: the criterion, the seed and the number of finalists.

    The criterion is ebic where there are no steps: in searches without levels, and with curves.
    There is a seed where something is drawn, and there are finalists where curves are fitted.
    """
    curves = request.draws_curves
    stepwise = request.search == "tree" and not curves
    criterion = request.criterion if stepwise or request.criterion != STEP else "ebic"
    if seed is None and checkpoint is not None:
        seed = checkpoint_seed(checkpoint)
    return replace(
        request,
        criterion=criterion,
        seed=seed_number(seed) if curves or criterion in HELD_OUT else None,
        finalists=request.finalists if curves else None,
    )


def check_n_factors(wanted: int | None, request: FitRequest, p: int) -> None:
    """Refuse a number of factors that cannot be had."""
    if wanted is None:
        return
    if request.search in (GIVEN, "sequential"):
        why = (
            "The `structure` gives the factors"
            if request.search == GIVEN
            else "The search 'sequential' finds their number; use search='tree'"
        )
        raise checks.refusal("n_factors", "left out here", wanted, f"{why}.")
    most = p // request.min_children
    if wanted > most:
        raise checks.refusal(
            "n_factors",
            f"at most {most} with {p} items and at least {request.min_children} items per factor",
            wanted,
            "Ask for fewer factors, or lower `min_children`.",
        )


def check_matrix(matrix: DependenceMatrix, n_obs: int | None, request: FitRequest) -> int:
    """Return the number of rows behind a matrix; refuse what a matrix alone cannot give."""
    if request.draws_curves:
        raise InputError(
            f"The estimator '{request.estimator}' draws curves through answers, and a matrix has "
            "none. Give the data, or use the estimator 'copula'.",
            "estimator",
        )
    n = matrix.n_obs if n_obs is None else n_obs
    if n is None:
        raise InputError(
            "`n_obs` is required for a matrix that does not record it: every criterion weighs fit "
            "by the number of rows. Without it, solution_path() still lists the structures.",
            "n_obs",
        )
    if request.criterion in HELD_OUT:
        raise InputError(
            f"The criterion '{request.criterion}' holds out rows, and a matrix has none. Give the "
            "data, or use 'ebic', 'bic' or 'aic'.",
            "criterion",
        )
    if request.estimator == "linear" and matrix.measure != "pearson":
        raise InputError(
            f"The estimator 'linear' needs Pearson correlations; the matrix is of the measure "
            f"'{matrix.measure}'. Use the estimator 'copula', or give the data.",
            "estimator",
        )
    return checks.integer("n_obs", n, _FEWEST_ROWS, "It is the number of rows behind the matrix.")


_OPTIONS = (
    "n_factors",
    "estimator",
    "criterion",
    "min_children",
    "uncovered",
    "refine",
    "missing",
    "misfit",
    "finalists",
    "seed",
)
_BESIDE_PRESET = ("refine", "missing", "finalists", "seed")  # what a preset leaves open


class _Name(str):
    """A name in code, not a text."""


def python_code(fit: DTFit) -> str:
    """Return the call in Python, every argument written out."""
    found = _arguments(fit)
    if fit.sample is None:
        del found["measure"]  # the matrix knows
    arguments = [f"    {name}={_literal(value)}," for name, value in found.items()]
    given = [f"structure = {_structure(fit)}"] if fit.call.search == GIVEN else []
    named = _changes(fit, lambda name, text: f"fit = fit.{name}([{', '.join(text)}])")
    return "\n".join(
        ["import dtstat as dt", "", *given, "fit = dt.fit(", "    data,", *arguments, ")", *named]
    )


def r_code(fit: DTFit) -> str:
    """Return the call in R; a matrix of R's own does not know its measure."""
    written = [f"  {name} = {_literal(value, True)}" for name, value in _arguments(fit).items()]
    given = f"structure <- {_structure_in_r(fit)}\n" if fit.call.search == GIVEN else ""
    arguments = ",\n".join(written)
    named = _changes(fit, lambda name, text: f"fit <- dt_{name}(fit, c({', '.join(text)}))")
    call = f"library(dtstat)\n\n{given}fit <- dt_fit(\n  data,\n{arguments}\n)"
    return "\n".join([call, *named])


def _changes(fit: DTFit, write: Callable[[str, list[str]], str]) -> list[str]:
    """Return code for names and signs that were changed afterwards."""
    if fit.call.search == GIVEN:
        return []  # they are those of the structure
    names = list(map(_quoted, fit.factor_names))
    turned = [name for name, sign in zip(names, fit.signs, strict=False) if sign < 0]
    renamed = [write("rename", names)] if fit.given_names else []
    return [*renamed, *([write("reflect", turned)] if turned else [])]


def _structure(fit: DTFit) -> str:
    """Return code for a structure that was given; items are named besides where they have to be."""
    items = f", {list(fit.item_names)!r}" if _names_items(fit) else ""
    return f"dt.Structure.from_keys({fit.structure.to_keys()!r}{items})"


def _names_items(fit: DTFit) -> bool:
    """Whether keys alone do not say what the items are: in no factor, or with a minus in front."""
    return bool(fit.structure.uncovered) or any(name[:1] == "-" for name in fit.item_names)


def _structure_in_r(fit: DTFit) -> str:
    def vector(names: Iterable[str]) -> str:
        return f"c({', '.join(map(_quoted, names))})"

    keys = fit.structure.to_keys().items()
    listed = [f"{_quoted(k)} = {vector(names)}" for k, names in keys]
    items = f", {vector(fit.item_names)}" if _names_items(fit) else ""
    return f"dt_structure(list({', '.join(listed)}){items})"


def _arguments(fit: DTFit) -> dict[str, object]:
    call = fit.call
    found: dict[str, object] = {"measure": _measure(fit)}
    if call.preset is not None:
        return {"preset": call.preset} | found | _known(fit, _BESIDE_PRESET)
    if call.search == GIVEN:
        found["structure"] = _Name("structure")
    else:
        found["search"] = call.search
    if call.search == "threshold":
        found["thresholds"] = _thresholds(fit)
    options = _known(fit, _OPTIONS)
    if fit.sample is None:  # a matrix has no answers that may be missing
        del options["missing"]
        if fit.n_typical == fit.n_obs:  # else it has counts of its own, for each pair
            found["n_obs"] = fit.n_obs
    return found | options


def _known(fit: DTFit, names: tuple[str, ...]) -> dict[str, object]:
    values = {name: getattr(fit.call, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _measure(fit: DTFit) -> object:
    """Return the name of the measure; a function of the user's is named as code."""
    name = fit.call.measure
    if name in REGISTRY or fit.sample is None:
        return name
    plain = name.isidentifier() and not keyword.iskeyword(name)
    return _Name(name if plain else "measure")


def _thresholds(fit: DTFit) -> object:
    if fit.grid is None:
        return "exact"
    text = fit.call.thresholds
    return int(text) if text.isdigit() else tuple(fit.grid.tolist())


def _literal(value: object, in_r: bool = False) -> str:
    if isinstance(value, bool):
        return str(value).upper() if in_r else str(value)
    if isinstance(value, tuple):
        listed = ", ".join(map(repr, value))
        return f"c({listed})" if in_r else f"[{listed}]"
    if isinstance(value, _Name) or not isinstance(value, str):
        return str(value)
    return _quoted(value)


def _quoted(text: str) -> str:
    """Write a text as JSON, which R and Python read alike, with nothing hidden in it."""
    written = json.dumps(text, ensure_ascii=False)
    return _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", written)
