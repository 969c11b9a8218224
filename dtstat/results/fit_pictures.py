"""What a fit shows besides tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from dtstat import checks, files
from dtstat.results.drawing import draw
from dtstat.results.fit_drawers import FIT_KINDS
from dtstat.results.path_scores import path_scores

if TYPE_CHECKING:
    from dtstat.results.fit import DTFit
    from dtstat.results.trust.diagnosis import Diagnosis
    from dtstat.results.trust.stability import Stability


class FitPictures:
    """The part of a fit that draws."""

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
        return path_scores(cast("DTFit", self))

    def plot(self, kind: str = "diagram", ax: Any = None, **options: Any) -> Any:
        """Draw the fit; needs matplotlib (the extra ``plot``).

        Parameters
        ----------
        kind
            "diagram": factors, items, and loadings as lines (option ``cutoff``: smallest drawn).
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
            Of the kind.

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
        return draw(FIT_KINDS, self, kind, ax, options)

    def report(
        self,
        path: str | os.PathLike[str],
        diagnosis: Diagnosis | None = None,
        stability: Stability | None = None,
        title: str | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write the whole analysis as one interactive page, to read or to send.

        A slider over all thresholds with the graph, its cliques and why items are in or out of
        them; loadings, response curves, choice and fit, how far to trust it, and how to reproduce
        it. The file needs no network and no other file.

        Parameters
        ----------
        path
            File to write, such as "report.html". A page written there before is replaced.
        diagnosis
            Result of :func:`dtstat.diagnose` with the data, for intervals; made without them if
            omitted.
        stability
            Result of :func:`dtstat.stability`, to be shown, too.
        title
            Head line; what was found if omitted.
        overwrite
            Whether to replace any other file of that name.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        InputError
            If the file cannot be written, its ending names another format (.docx, .pdf), it
            exists and is no page of dtstat, a result is of another fit, or the title is no text.

        Notes
        -----
        With more than 400 items the page has tables in place of the graph. Cost: as
        :meth:`path_scores`.
        """
        from dtstat.report.page.document import PAGE, is_page, write_page
        from dtstat.results.fit_page import check_parts, fit_page

        fit = cast("DTFit", self)
        target = files.target(path, PAGE, is_page, overwrite)
        check_parts(fit, diagnosis, stability)
        if title is not None and not isinstance(title, str):
            raise checks.refusal("title", "a text", title, "Leave it out to say what was found.")
        return write_page(fit_page(fit, diagnosis, stability, title), target)
