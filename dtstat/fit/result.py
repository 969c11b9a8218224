"""The result of ``dtstat.fit``: the structure that was found, and how far it fits."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dtstat.core import checks, files
from dtstat.core.arrays import FloatArray
from dtstat.core.canvas import draw
from dtstat.core.diagram_text import Diagrammed
from dtstat.core.errors import InputError
from dtstat.core.parallel import Progress, one_thread
from dtstat.core.saved import Saved, distinct, register
from dtstat.core.tables import Printed, Summary
from dtstat.curves.estimate import NONLINEAR
from dtstat.curves.result import LOADING_COLUMNS
from dtstat.dependence.on_demand import CorrelationsOnDemand
from dtstat.factors.reported import factor_fit_measures
from dtstat.factors.robust import implied_correlations
from dtstat.fit import frames
from dtstat.fit.many import MANY, many_at_level
from dtstat.fit.pipeline import at_level
from dtstat.fit.plots import FIT_KINDS
from dtstat.fit.record import FitRecord, Lines
from dtstat.fit.scoring import ScoredFit
from dtstat.fit.summary import fit_summary
from dtstat.path.solution_path import SolutionPath
from dtstat.search.joins import JoinedLevels
from dtstat.structure.barcode import barcode
from dtstat.structure.path import candidates
from dtstat.structure.structure import Structure
from dtstat.structure.two_levels import two_level_syntax

if TYPE_CHECKING:
    from dtstat.trust.diagnosis import Diagnosis
    from dtstat.trust.stability_result import Stability


_MOST_LINES = 100  # of factors that a fit is shown by


@register(
    shapes={
        "dependence.names": "p",
        "support": "pd",
        "attached": "p",
        "estimate.loadings": "pd",
        "reported.estimate.loadings": "pd",
        "reported.errors.loadings": "pd",
        "contenders[].support": "p*",
        "grid": "g",
        "marginals.answers": "p",
        "nonlinear.model.support": "pd",
    },
    rules={
        "correlations are of the items": lambda fit: (
            len(fit.support) == fit.dependence.n_items == fit.latent.n_items
        ),
        "a structure was chosen": lambda fit: len(fit.contenders) > 0,
        "factors have names": lambda fit: distinct(fit.factor_names, fit.n_factors),
        "factors have items": lambda fit: bool(fit.support.any(axis=0).all()),
        "signs are 1 or -1": lambda fit: (
            not fit.signs or (len(fit.signs) == fit.support.shape[1] and set(fit.signs) <= {1, -1})
        ),
        "levels have one factor, two, and so on": lambda fit: (
            [level.n_factors for level in fit.tree] == list(range(1, len(fit.tree) + 1))
            and all(len(level.labels) == len(fit.support) for level in fit.tree)
            and 0 <= fit.supported <= max(len(fit.tree), fit.support.shape[1])
            and (fit.second is None or 0 <= fit.second <= len(fit.tree))
        ),
        "rows were counted": lambda fit: (
            fit.n_obs > 0 and fit.n_typical > 0 and 0 < fit.n_effective < math.inf
        ),
    },
)
@dataclass(frozen=True, eq=False, repr=False)
class DTFit(Saved, Printed, Diagrammed, ScoredFit):
    """The structure behind the items, fitted, with what else was possible.

    Its fields are those of :class:`dtstat.fit.record.FitRecord`.
    """

    @classmethod
    def of(cls, record: FitRecord) -> DTFit:
        """Give a record of the pipeline the methods of a result."""
        return cls(**{field.name: getattr(record, field.name) for field in fields(record)})

    @cached_property
    def path(self) -> SolutionPath:
        """All structures of one threshold, and the barcode of factors."""
        matrix, smallest = self.dependence, self.call.min_children
        bars = self.barcode
        if bars is None:
            bars = barcode(matrix.values, matrix.names, smallest)
        return SolutionPath(matrix, candidates(bars, self.grid), smallest, self.grid, bars)

    @property
    def candidates(self) -> pd.DataFrame:
        """One row per structure considered, the chosen one first.

        Columns: n_factors, n_loadings, n_uncovered, log_likelihood, n_parameters; cost (the
        criterion that decided, ebic when steps decided, with the rows counted as ``n_effective``;
        NaN when held-out rows decided);
        aic, bic, ebic (with all rows counted, as other programs do); held_out (mean log-likelihood
        of rows not fitted), behind and behind_se (how far behind the best), monte_carlo_se, origin,
        fitted (False: could not win, scores are bounds).
        """
        return frames.contender_frame(self)

    def candidate(self, row: int) -> Structure:
        """Return the structure of a row of ``candidates``, counted from 0."""
        last = len(self.contenders) - 1
        k = checks.integer("row", row, 0, f"Rows of candidates go from 0 to {last}.")
        if k > last:
            raise checks.refusal("row", f"at most {last}", row, "See candidates.")
        return self.contenders[k].structure(self.item_names)

    @property
    def levels(self) -> pd.DataFrame:
        """One row per number of factors.

        Columns: n_factors; chosen; level ("fine" and "broad": the two levels that stand out);
        supported (whether the data support so many); one_fewer_costs (log-likelihood per person
        lost by the items of two factors if these are merged), joins (the two that lose least; items
        are re-sorted at every level, so the next coarser level need not be exactly that merger),
        correlation (of these); agreement (mean adjusted Rand index of different ways of sorting
        the items into so many groups); step (what the choice goes by, see
        :mod:`dtstat.search.choose`); cost (ebic with the rows counted as ``n_effective``; NaN where
        it was not needed). Empty if no tree was searched.
        """
        return frames.level_frame(self)

    @one_thread()
    def level(self, which: int | str) -> DTFit:
        """Return the fit at another level of the tree.

        Its factors are named after those of this fit: "F1+F2" takes in the items of both, "F1a" and
        "F1b" are parts of F1. Items move, so that a level is not always made of whole factors of
        another.

        Parameters
        ----------
        which
            Number of factors; "fine" or "broad": the two levels that stand out.

        Raises
        ------
        InputError
            If there is no such level, no tree was searched, or the fit has curves.
        """
        k = frames.find_level(self, which)
        names = frames.level_names(self, k)
        again = many_at_level if isinstance(self.tree, JoinedLevels) else at_level
        return DTFit.of(again(self, k, names, frames.level_signs(self, k)))

    @property
    def loadings(self) -> pd.DataFrame:
        """Standardized loadings, items by factors, 0 where there is none.

        With curves: slopes of the straight lines nearest to them; see ``nonlinear_loadings``.
        """
        return self._by_item(self.responses.loadings)

    @property
    def factor_correlations(self) -> pd.DataFrame:
        """Correlations Φ of the factors."""
        return self._by_factor(self.responses.factor_correlations)

    @property
    def factor_correlation_errors(self) -> pd.DataFrame:
        """Standard errors of the factor correlations; NaN where they are not known."""
        return self._by_factor(self.responses.factor_correlation_errors)

    @property
    def loading_errors(self) -> pd.DataFrame:
        """Standard errors of the loadings; NaN where there is none, and with curves."""
        return self._by_item(self.responses.loading_errors)

    @property
    def uniquenesses(self) -> pd.Series[float]:
        """Share of each item's variance that the factors leave unexplained."""
        return pd.Series(self.responses.uniquenesses, index=list(self.item_names))

    @property
    def nonlinear_loadings(self) -> pd.DataFrame:
        """One row per item and factor: how steep the item's curve is, and how far from straight.

        Columns: loading (slope of the straight line nearest to the curve) and slope (mean absolute
        slope), both in standard deviations of the item by standard deviations of the factor;
        r2_map and r2_line, the shares of the item's variance (for a rating: of the response behind
        it) that its curves and its best straight line explain; nonlinearity, 1 − r2_line / r2_map.

        Raises
        ------
        InputError
            If the estimator drew no curves.
        """
        if self.nonlinear is None and self.call.estimator not in NONLINEAR:
            raise InputError(
                f"The estimator '{self.call.estimator}' draws no curves. Fit again with "
                "estimator='spline'.",
                "estimator",
            )
        if isinstance(self.responses, Lines):  # no factors to draw curves of
            return pd.DataFrame(columns=LOADING_COLUMNS)
        return self.responses.loading_frame(self.item_names, self.factor_names)

    def response_curves(self) -> pd.DataFrame:
        """Return how each item responds to its factors, on the item's own scale.

        Returns
        -------
        DataFrame
            item, factor, z (value of the factor), value (mean answer there; other factors of the
            item averaged over), lower and upper (95 % band; NaN where none is known: with
            networks, and without curves of their own, where the curvature comes from the item's
            marginal distribution).

        Raises
        ------
        InputError
            If the fit is to a matrix, which has no answers.
        """
        return self.responses.curve_frame(self.item_names, self.factor_names)

    @property
    def fit_measures(self) -> dict[str, float]:
        """Fit of the structure as a confirmatory model, under lavaan's names.

        ``chisq`` is adjusted to the mean and variance that it has for these correlations (see
        :mod:`dtstat.factors.robust`); CFI, TLI and RMSEA are of the same residuals, adjusted to
        the mean alone. NaN if there is no test; ``reported.untested`` says why.
        """
        return factor_fit_measures(self.reported, self.n_obs)

    @property
    def factors(self) -> pd.DataFrame:
        """One row per factor: thresholds from and to, persistence, n_items, n_unique, core.

        The core is the clique of the barcode that the factor is read off: the factor itself if
        it is one, else the longest-lived within it (with one threshold for all: seen there). A
        factor that was merged or trimmed may have none: its thresholds are NaN then.
        """
        return frames.factor_frame(self)

    @property
    def uncovered(self) -> pd.DataFrame:
        """Items of no factor: the factor nearest to each, and why it is not in it."""
        return frames.uncovered_frame(self)

    @property
    def attached_items(self) -> tuple[str, ...]:
        """Items of a factor that no clique within it takes in; they load on it most."""
        return tuple(np.asarray(self.item_names, dtype=object)[self.attached])

    @property
    def provenance(self) -> dict[str, Any]:
        """All arguments, the version, and the number of rows."""
        return asdict(self.call) | {"n_obs": self.n_obs, "n_effective": self.n_effective}

    def residuals(self) -> pd.DataFrame:
        """Latent correlations less those the model implies, items by items."""
        names = list(self.item_names)
        values = self.reported.latent.R - implied_correlations(self.reported.estimate)
        return pd.DataFrame(values, index=names, columns=names)

    def tidy(self) -> pd.DataFrame:
        """One row per loading (=~) or factor correlation (~~), as in R's broom.

        With standard errors and 95 % intervals (estimate ± 1.96 std_error), which hold for the
        correlations they were estimated from; NaN where there is no test of fit.
        """
        return frames.tidy_frame(self)

    def glance(self) -> pd.DataFrame:
        """One row about the whole fit; aic and bic count all rows, as other programs do."""
        return frames.glance_frame(self)

    def to_lavaan(self, model: str = "simple") -> str:
        """Model in lavaan's syntax, for :func:`dtstat.cfa` and lavaan.

        Parameters
        ----------
        model
            "simple": the factors of this fit. With the two levels that stand out: "higher_order",
            factors of the broad level above those of the fine one (a comment says so if that
            restricts nothing); "bifactor", every item on its
            broad and its fine factor, uncorrelated with each other.

        Raises
        ------
        InputError
            If there are no two levels, or the model would not be identified.
        """
        checks.choice("model", model, ("simple", "higher_order", "bifactor"))
        if model == "simple":
            return self.structure.to_lavaan()
        fine, broad = (self.level(which).structure for which in ("fine", "broad"))
        return two_level_syntax(fine, broad, model)

    def to_keys(self) -> dict[str, list[str]]:
        """Scoring key as psych takes it; items with negative loadings have a minus."""
        return self.structure.to_keys()

    def summary(self, cutoff: float = 0.3, max_rows: int = 5, intervals: bool = False) -> Summary:
        """Print what was found on one page.

        Parameters
        ----------
        cutoff
            Loadings of smaller absolute value are left blank.
        max_rows
            Structures listed as what else was possible.
        intervals
            Whether to list every loading and factor correlation with its standard error and 95 %
            interval.
        """
        advice = "It is compared with absolute loadings."
        rows = checks.integer("max_rows", max_rows, 0, "0 leaves the table out.")
        listed = checks.flag("intervals", intervals, "True lists standard errors.")
        return fit_summary(self, checks.unit_interval("cutoff", cutoff, advice), rows, listed)

    @one_thread()
    def path_scores(self) -> pd.DataFrame:
        """Score the structures of one threshold for all factors, by rising threshold.

        Returns
        -------
        DataFrame
            One row per interval of thresholds: tau_low (included), tau_high (excluded), n_factors,
            n_loadings, n_covered, margin, and aic, bic, ebic of the structure, completed as in the
            search and with the rows counted as ``n_effective``, as in the column cost of
            ``candidates``; NaN for short-lived ones if there are very many.

        Notes
        -----
        Fits up to a hundred structures of 60 items in seconds.
        """
        self._refuse_many("Structures of the path are fitted for")
        return frames.path_scores(self)

    def plot(self, kind: str = "diagram", ax: Any = None, **options: Any) -> Any:
        """Draw the fit; needs matplotlib (the extra ``plot``).

        Parameters
        ----------
        kind
            "diagram": the path diagram, fit to print: factors as ellipses, items as boxes, arrows
            with loadings, curved arrows with factor correlations (options ``cutoff``: smallest
            loading drawn; ``residuals=True``).
            "tree": items and factors from the fine level to one factor, joined at what one fewer
            costs; the two levels marked.
            "loadings": the printed table as a heat map (``cutoff``: smallest with a number).
            "dependence": absolute dependence by factor, with the thresholds of the factors.
            "path": factors, loadings and the criterion over the threshold, the choice marked.
            "barcode": the longest-lived cliques, those of the factors dark (``max_bars=30``).
            "margin": pairs that share a factor beside those that do not.
            "curves": how items answer to their factors (``items``, ``factors``: which; names).
            "residuals": what the model leaves of the correlations.
        ax
            Axes to draw on; a new figure if None. Pictures of several panels divide them. A figure
            made with ``layout="constrained"`` leaves room for names and legends.
        options
            Of the kind. ``texts=True`` writes what the items ask beside their names, in "diagram",
            "tree", "loadings" and "curves".

        Returns
        -------
        Axes or Figure
            The axes; the figure for "path" and "curves", which have several panels.

        Raises
        ------
        InputError
            If the kind or an option is unknown, or there is nothing to draw.
        MissingExtraError
            If matplotlib is not installed.

        Examples
        --------
        >>> import dtstat as dt
        >>> fit = dt.fit(dt.load_dataset("holzinger_swineford_9"))
        >>> ax = fit.plot("diagram")  # doctest: +SKIP
        >>> ax.figure.savefig("diagram.png")  # doctest: +SKIP
        """
        self._refuse_many("Pictures show")
        return draw(FIT_KINDS, self, kind, ax, options)

    @one_thread()
    def report(
        self,
        path: str | os.PathLike[str],
        diagnosis: Diagnosis | None = None,
        stability: Stability | None = None,
        title: str | None = None,
        overwrite: bool = False,
        progress: Progress = None,
    ) -> Path:
        """Write the whole analysis, as an interactive page or as a Word document.

        The page opens on the answer: the choice, how sure it is, and the factors with their items
        and loadings. Then what that rests on; the tree and a slider over all thresholds, with the
        graph and why items are in or out of factors; descriptives, reliability, response curves;
        and how to reproduce it. Any level can be picked: all parts show its factors. It needs no
        network and no other file. The document has what an article says: loadings, factor
        correlations, levels, fit and how sure it is, as tables in APA style; the path diagram, if
        matplotlib is installed; and how to reproduce it.

        Parameters
        ----------
        path
            File to write: "report.html" for the page, "report.docx" for the document (needs
            python-docx, the extra ``office``). A page written there before is replaced; a document,
            which may have been edited, only with ``overwrite=True``.
        diagnosis
            Result of :func:`dtstat.diagnose` with the data, for intervals; made without them if
            omitted.
        stability
            Result of :func:`dtstat.stability`, to include in the report.
        title
            Title of the page; generated from the result if omitted.
        overwrite
            Whether to replace any other file of that name.
        progress
            True for a bar, or a function of (done, total): of the parts, then, on a page, of
            the levels.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        InputError
            If the file cannot be written, its ending names another format (.pdf), it exists and
            is no page of dtstat, a result is of another fit, or the title is no text.
        MissingExtraError
            If a Word document needs python-docx, which is not installed.

        Notes
        -----
        With more than 400 items the page has tables in place of the graph. Cost: as
        :meth:`path_scores`, and one :meth:`level` per row of the table of levels.
        """
        self._refuse_many("Reports show")
        from dtstat.page.content import check_parts, fit_page
        from dtstat.page.document import PAGE, is_page, write_page
        from dtstat.page.word import fit_document, word_target

        document = word_target(path, overwrite)
        target = document or files.target(path, PAGE, is_page, overwrite)
        check_parts(self, diagnosis, stability)
        if title is not None and not isinstance(title, str):
            raise checks.refusal("title", "a text", title, "Leave it out to say what was found.")
        if document is None:
            return write_page(fit_page(self, diagnosis, stability, title, progress), target)
        files.write(document, fit_document(self, diagnosis, stability, title, progress))
        return document

    def _refuse_many(self, what: str) -> None:
        if isinstance(self.latent, CorrelationsOnDemand):
            raise InputError(
                f"{what} up to {MANY} items; got {len(self.item_names)}. Fit the items of some "
                "factors: fit(data[items])."
            )

    def _by_factor(self, values: FloatArray) -> pd.DataFrame:
        names = list(self.factor_names)
        return pd.DataFrame(values.copy(), index=names, columns=names)

    def _by_item(self, values: FloatArray) -> pd.DataFrame:
        return pd.DataFrame(values, index=list(self.item_names), columns=list(self.factor_names))

    def __repr__(self) -> str:
        plural = "" if self.n_factors == 1 else "s"
        head = f"DTFit: {self.n_factors} factor{plural}, {len(self.item_names)} items"
        body = repr(self.structure).splitlines()[1:]
        if len(body) > _MOST_LINES:
            body = [*body[:_MOST_LINES], f"  and {len(body) - _MOST_LINES} more lines in structure"]
        return "\n".join([f"{head}, {self.n_obs} rows", *body, self.explanation])
