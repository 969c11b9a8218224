"""``dtstat.stability``: what happens to a structure when the rows are others.

Rows are drawn, the whole procedure of ``fit`` runs on them, and the structures found are compared
with that of all rows, factors matched (:func:`dtstat.trust.resampling.agreement`).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import BoolArray
from dtstat.core.canvas import draw
from dtstat.core.checkpoints import CheckpointFile, begun_seed, digest, open_checkpoint
from dtstat.core.checks import Seed, seed_number
from dtstat.core.errors import EstimationError, EstimationWarning, InputError, warn
from dtstat.core.parallel import Jobs, Progress, check_jobs
from dtstat.core.saved import register, save
from dtstat.core.tables import Summary
from dtstat.data.items import ItemData, as_items
from dtstat.dependence.api import Data
from dtstat.dependence.hidden import HiddenPair, exceeding_pairs
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.fit.api import fit as fit_data
from dtstat.fit.result import DTFit
from dtstat.search.choose import GIVEN
from dtstat.structure.compare import compare
from dtstat.structure.structure import Structure
from dtstat.trust.plots import STABILITY_KINDS
from dtstat.trust.refit import StructureFinder, check_same_data, row_dependence
from dtstat.trust.resampling import (
    SCHEMES,
    Agreement,
    Resamples,
    Scheme,
    agreement,
    resample,
    saved_structures,
)
from dtstat.trust.stability_tables import stability_summary

register(HiddenPair)


def stability(
    data: Data,
    n_boot: int = 200,
    fit: DTFit | None = None,
    scheme: Scheme = "bootstrap",
    share: float | None = None,
    sizes: Iterable[float] = (),
    seed: Seed = None,
    n_jobs: Jobs = None,
    progress: Progress = None,
    checkpoint: CheckpointFile = None,
    **options: Any,
) -> Stability:
    """Run the whole procedure on resamples, and see what comes out again.

    Rows are drawn, dependence, search and choice are run on them, and factors are matched to
    those of all rows. Shares of resamples are not probabilities of being right.

    Parameters
    ----------
    data
        Answers, as in :func:`dtstat.fit`.
    n_boot
        Number of resamples.
    fit
        The fit to these data whose procedure is repeated; made with ``options`` if omitted.
    scheme
        "bootstrap": as many rows as there are, drawn with replacement; "subsample": half of
        them, without.
    share
        Share of the rows in a resample, if other than that.
    sizes
        Shares of the rows for further subsamples, such as ``(0.25, 0.5, 0.75)``: the effect of n.
    seed
        Whole number; None for a fresh one, recorded in the result, or that of ``checkpoint``. The
        result is the same for any ``n_jobs``.
    n_jobs, progress
        Workers, as in :func:`dtstat.dependence`, and progress.
    checkpoint
        File to which each resample is added when done. The same call goes on where that file ends,
        whatever ended it; ``n_boot`` and ``n_jobs`` may differ.
    options
        Arguments of :func:`dtstat.fit`.

    Returns
    -------
    Stability

    Raises
    ------
    InputError
        If there are no rows to draw, the structure of the fit was given, not found, or
        ``checkpoint`` is the file of another call.

    Warns
    -----
    EstimationWarning
        If it was interrupted from the keyboard: the result is from the resamples done.
    DataWarning
        If the end of ``checkpoint`` was damaged: it is removed, and done again.

    Notes
    -----
    Cost: with the estimators "copula" and "linear" some 20 ms per resample of 2800 rows of 25
    items, a fraction of a call of ``fit``; with others a call of ``fit`` each.

    Examples
    --------
    >>> import dtstat as dt
    >>> data = dt.load_dataset("holzinger_swineford_9")
    >>> dt.stability(data, n_boot=50, seed=1)
    Stability: 50 bootstrap resamples of 301 rows, mean agreement F1 0.9...
    """
    checks.choice("scheme", scheme, SCHEMES)
    count = checks.integer("n_boot", n_boot, 2, "200 is usually enough.")
    parts = _check_sizes(sizes)
    part = (
        (1.0 if scheme == "bootstrap" else 0.5) if share is None else _check_share("share", share)
    )
    if scheme == "subsample" and part == 1.0:
        raise checks.refusal("share", "below 1 for subsamples", share, "Half is usual.")
    jobs = check_jobs(n_jobs)
    number = seed_number(begun_seed(checkpoint) if seed is None else seed)
    if isinstance(data, DependenceMatrix):
        raise InputError(
            "`data` must be answers, not a matrix: resampling draws rows, and a matrix has none.",
            "data",
        )
    items = as_items(data)
    reference = _reference_fit(items, fit, options, number)
    measure = options.get("measure", reference.call.measure) if fit is None else fit.call.measure
    rows = row_dependence(items, reference, measure)
    find_structure = StructureFinder(rows, reference.call, reference.grid)
    header = {
        "work": "stability",
        "data": rows.items.digest(),
        **reference.call.asked(),
        "grid": None if reference.grid is None else digest([reference.grid]),
        "scheme": scheme,
        "share": part,
        "sizes": sorted(parts),
        "seed": number,
    }
    if checkpoint is not None and not isinstance(measure, str):
        raise InputError(
            "`checkpoint` cannot tell one function from another, and `measure` is one. Use a "
            "measure that has a name, or leave out the checkpoint.",
            "checkpoint",
        )
    ledger = open_checkpoint(checkpoint, header)

    def run(share: float, scheme: Scheme, key: int) -> SampleRound:
        size = max(2, round(share * rows.n_rows))
        own = number if not key else int(np.random.SeedSequence([number, key]).generate_state(1)[0])
        saved = None if ledger is None else saved_structures(ledger, key, len(reference.item_names))
        return _sample_round(
            resample(find_structure, rows.n_rows, count, own, scheme, size, jobs, progress, saved)
        )

    main = run(part, scheme, 0)
    smaller = tuple(run(one, "subsample", k + 1) for k, one in enumerate(sorted(parts)))
    pairs = exceeding_pairs(items.select(reference.item_names).values)
    return Stability(reference, scheme, main, smaller, pairs, number)


def _reference_fit(items: ItemData, fit: DTFit | None, options: dict[str, Any], seed: int) -> DTFit:
    if fit is None:
        fit = fit_data(items, seed=seed, **options)
    elif not isinstance(fit, DTFit):
        raise InputError(f"`fit` must be a result of fit(); got {type(fit).__name__}.", "fit")
    elif options:
        raise checks.refusal(
            next(iter(options)), "left out with `fit`", "both", "The fit has its own arguments."
        )
    else:
        items = items.select(fit.item_names)
        check_same_data(fit, row_dependence(items, fit, fit.call.measure))
    if fit.call.search == GIVEN:
        raise InputError(
            "The structure of the fit was given, so it is the same in every resample. Fit without "
            "`structure`, or see diagnose().",
            "fit",
        )
    return fit


def _check_sizes(sizes: object) -> list[float]:
    """Shares of the rows, each below 1: a subsample of all rows is always the same."""
    if not isinstance(sizes, Iterable) or isinstance(sizes, str):
        raise checks.refusal("sizes", "a list of shares", sizes, "Such as (0.25, 0.5).")
    parts = [_check_share("sizes", one) for one in sizes]
    if any(one == 1.0 for one in parts):
        raise checks.refusal("sizes", "shares below 1", 1.0, "All rows are the fit itself.")
    return parts


def _check_share(name: str, value: object) -> float:
    return checks.positive_unit(name, value, "It is a share of the rows.")


def _sample_round(found: Resamples[BoolArray]) -> SampleRound:
    if not found.outcomes:
        raise EstimationError(
            f"None of the resamples of {found.n_rows} rows could be fitted: an item does not vary "
            "in them. Use more rows, or leave out items with rare answers."
        )
    if found.interrupted:
        warn(
            f"Interrupted after {len(found.outcomes)} of {found.n_asked} resamples of "
            f"{found.n_rows} rows.",
            EstimationWarning,
            stacklevel=4,
        )
    return SampleRound(found.n_rows, found.outcomes, found.n_asked, found.n_failed)


@register
@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """How stable a structure is under resampling of the whole procedure.

    All shares are shares of resamples: how often something comes out again. They are not
    probabilities that it is right; a procedure that errs can err in the same way every time.

    Attributes
    ----------
    fit
        The fit to all rows: the reference.
    scheme
        "bootstrap" or "subsample".
    main
        Resamples that the tables are about.
    smaller
        Subsamples of other sizes, for the effect of n.
    disagreements
        Pairs whose dependence exceeds what ranks show, by more than chance, the clearest first.
    seed
        Of the resamples.
    """

    fit: DTFit
    scheme: str
    main: SampleRound
    smaller: tuple[SampleRound, ...]
    disagreements: tuple[HiddenPair, ...]
    seed: int

    @cached_property
    def agreement(self) -> Agreement:
        """How the resamples agree with the reference."""
        return agreement(self.fit.support, self.main.supports)

    @property
    def edges(self) -> pd.DataFrame:
        """Share of resamples in which two items share a factor, items by items."""
        names = list(self.fit.item_names)
        return pd.DataFrame(self.agreement.edges, index=names, columns=names)

    @property
    def memberships(self) -> pd.DataFrame:
        """Share of resamples in which an item is in a factor, factors matched: items by factors."""
        names = list(self.fit.item_names)
        values = self.agreement.memberships
        return pd.DataFrame(values, index=names, columns=list(self.fit.factor_names))

    @property
    def n_factors(self) -> pd.DataFrame:
        """How many resamples have so many factors: n_factors, count, share."""
        counts = self.agreement.n_factors
        frame = pd.DataFrame({"n_factors": list(counts), "count": list(counts.values())})
        return frame.assign(share=frame["count"] / max(self.main.n_done, 1))

    @property
    def items(self) -> pd.DataFrame:
        """One row per item: factors, stability, the other factor it is in most often.

        stability is the share of resamples in which the item is in the partners of its factors and
        in no other factor; elsewhere the factor it does not belong to, but is most often in.
        """
        shares = np.where(self.fit.support, -1.0, self.agreement.memberships)
        other = shares.argmax(axis=1) if shares.shape[1] else np.zeros(len(shares), dtype=int)
        often = shares.max(axis=1, initial=0.0)
        names = self.fit.factor_names
        in_none = np.stack([~support.any(axis=1) for support in self.main.supports])
        return pd.DataFrame(
            {
                "item": list(self.fit.item_names),
                "factors": [self.fit.structure.parents(i) for i in range(len(shares))],
                "stability": self.agreement.items,
                "elsewhere": [
                    names[k] if share > 0 else "" for k, share in zip(other, often, strict=True)
                ],
                "elsewhere_share": np.maximum(often, 0.0),
                "no_factor": in_none.mean(axis=0).tolist(),
            }
        )

    @property
    def factors(self) -> pd.DataFrame:
        """One row per factor: n_items, exact (share that is the same), jaccard (mean overlap)."""
        return pd.DataFrame(
            {
                "factor": list(self.fit.factor_names),
                "n_items": self.fit.support.sum(axis=0),
                "exact": self.agreement.exact,
                "jaccard": self.agreement.jaccard,
                "items": [self.fit.structure.children(k) for k in self.fit.factor_names],
            }
        )

    @property
    def sizes(self) -> pd.DataFrame:
        """Effect of n: one row per size of subsamples, with agreement and number of factors."""
        rows = []
        for part in (*self.smaller, self.main):
            found = agreement(self.fit.support, part.supports)
            factors = np.array([support.shape[1] for support in part.supports])
            rows.append(
                {
                    "n": part.n_rows,
                    "resamples": part.n_done,
                    "scheme": "subsample" if part is not self.main else self.scheme,
                    "f1": float(found.f1.mean()),
                    "same_structure": float((found.f1 == 1).mean()),
                    "same_n_factors": float((factors == self.fit.n_factors).mean()),
                    "n_factors": float(factors.mean()),
                }
            )
        return pd.DataFrame(rows)

    @cached_property
    def structures(self) -> tuple[tuple[Structure, int], ...]:
        """Distinct structures of the resamples with their counts, the most frequent first."""
        names = self.fit.item_names
        counts = Counter(Structure(support, names) for support in self.main.supports)
        return tuple(counts.most_common())

    @property
    def alternatives(self) -> pd.DataFrame:
        """One row per structure found: count, share, n_factors, loadings that differ."""
        mine = self.fit.structure
        rows = [
            (count, count / self.main.n_done, one.n_factors, compare(one, mine).hamming)
            for one, count in self.structures
        ]
        return pd.DataFrame(rows, columns=["count", "share", "n_factors", "differs_by"])

    @property
    def disagreement(self) -> pd.DataFrame:
        """Pairs that depend by more than ranks show: first, second, rank, any, excess."""
        names = self.fit.item_names
        rows = [
            (names[one.first], names[one.second], one.rank_correlation, one.any_correlation)
            for one in self.disagreements
        ]
        frame = pd.DataFrame(rows, columns=["first", "second", "rank", "any"])
        return frame.assign(excess=frame["any"] - frame["rank"])

    def tidy(self) -> pd.DataFrame:
        """One row per item and factor: share of resamples, and whether it is in the structure."""
        frame = self.memberships.rename_axis("item").reset_index()
        long = frame.melt(id_vars="item", var_name="factor", value_name="share")
        belongs = self.fit.support.T.reshape(-1)
        return long.assign(in_structure=belongs)

    def glance(self) -> pd.DataFrame:
        """One row about the whole."""
        about = {
            "scheme": self.scheme,
            "n_obs": self.fit.n_obs,
            "n_resampled": self.main.n_rows,
            "n_asked": self.main.n_asked,
            "n_done": self.main.n_done,
            "n_failed": self.main.n_failed,
            "f1": float(self.agreement.f1.mean()),
            "same_structure": float((self.agreement.f1 == 1).mean()),
            "same_n_factors": self.agreement.n_factors.get(self.fit.n_factors, 0)
            / self.main.n_done,
            "seed": self.seed,
        }
        return pd.DataFrame([about])

    def summary(self, max_rows: int = 30) -> Summary:
        """Print the stability of factors and items, at most ``max_rows`` rows per table."""
        rows = checks.integer("max_rows", max_rows, 0, "It is the number of rows of a table.")
        return stability_summary(self, rows)

    def plot(self, kind: str = "items", ax: Any = None) -> Any:
        """Draw what the resamples found; needs matplotlib (the extra ``plot``).

        Parameters
        ----------
        kind
            "items": how often items are in factors. "n_factors": how often each number of factors
            was found. "sizes": agreement against the rows of a resample.
        ax
            Axes to draw on; a new figure if None.

        Raises
        ------
        InputError
            If the kind or an option is unknown, or there is nothing to draw.
        MissingExtraError
            If matplotlib is not installed.
        """
        return draw(STABILITY_KINDS, self, kind, ax, {})

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write the result to a file that :func:`dtstat.load` reads, such as "name.dtstat".

        A result saved there before is replaced; any other file only with ``overwrite=True``.
        """
        save(self, path, overwrite)

    def __repr__(self) -> str:
        f1 = self.agreement.f1.mean()
        return (
            f"Stability: {self.main.n_done} {self.scheme} resamples of {self.main.n_rows} rows, "
            f"mean agreement F1 {f1:.3f}"
        )


@register
@dataclass(frozen=True, eq=False)
class SampleRound:
    """Structures found in resamples of one size.

    Attributes
    ----------
    n_rows
        Rows of a resample.
    supports
        (p, d) what was found in each.
    n_asked, n_failed
        Resamples asked for, and those in which an item did not vary.
    """

    n_rows: int
    supports: tuple[BoolArray, ...]
    n_asked: int
    n_failed: int

    @property
    def n_done(self) -> int:
        """Resamples with a structure."""
        return len(self.supports)
