"""What a fit shows besides tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pandas as pd

from dtstat.results.path_scores import path_scores

if TYPE_CHECKING:
    from dtstat.results.fit import DTFit


class FitPictures:
    """The part of a fit that draws."""

    def path_scores(self) -> pd.DataFrame:
        """Score the structures of one threshold for all factors, by rising threshold.

        Returns
        -------
        DataFrame
            One row an interval of thresholds: tau_low (included), tau_high (excluded), n_factors,
            n_loadings, n_covered, margin, and aic, bic, ebic of the structure, completed as in the
            search; NaN for short-lived ones if there are very many.

        Notes
        -----
        Fits up to a hundred structures of 60 items in seconds.
        """
        return path_scores(cast("DTFit", self))
