"""Exploratory factor models of R: psych's ``fa`` and its kin."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dtstat import checks
from dtstat.data import as_items
from dtstat.dependence import DependenceMatrix
from dtstat.interop.r import session
from dtstat.interop.r.read import read_matrix, read_vector
from dtstat.interop.r.session import r_options, warn
from dtstat.interop.r.write import write

# A solution of psych::fa in a fixed order. The names of its measures are those of dtstat.efa.
_FACTORS = """
function(x) {
  number <- function(v, k = 1) if (is.null(v) || length(v) < k) NA_real_ else as.numeric(v[[k]])
  word <- function(v) if (is.character(v) && length(v) == 1) v else ""
  L <- unclass(x$loadings)
  if (is.null(rownames(L))) rownames(L) <- paste0("x", seq_len(nrow(L)))
  Phi <- if (is.null(x$Phi)) diag(ncol(L)) else unclass(x$Phi)
  u <- if (is.null(x$uniquenesses)) 1 - rowSums((L %*% Phi) * L) else x$uniquenesses
  measures <- c(
    df = number(x$dof), df_null = number(x$null.dof), objective = number(x$objective),
    objective_null = number(x$null.model), chi_square = number(x$STATISTIC),
    p_value = number(x$PVAL), chi_square_null = number(x$null.chisq),
    empirical_chi_square = number(x$chi), empirical_p_value = number(x$EPVAL),
    rmsr = number(x$rms), rmsr_corrected = number(x$crms),
    fit_off_diagonal = number(x$fit.off), tli = number(x$TLI), rmsea = number(x$RMSEA),
    rmsea_low = number(x$RMSEA, 2), rmsea_high = number(x$RMSEA, 3), bic = number(x$BIC)
  )
  list(matrix(as.numeric(L), nrow(L), dimnames = dimnames(L)), unname(Phi), as.numeric(u),
       number(x$n.obs), word(x$fm), word(x$rotation), measures)
}
"""
_FA = "function(r, nfactors, ...) psych::fa(r, nfactors = nfactors, ...)"


@dataclass(frozen=True, eq=False, repr=False)
class RFactors:
    """An exploratory factor solution that R computed (psych's ``fa`` and its kin).

    Attributes
    ----------
    loadings
        Items by factors: the pattern matrix.
    factor_correlations
        Factors by factors.
    uniquenesses
        Share of each item's variance that the factors do not explain.
    n_obs
        Number of rows; None if unknown.
    method, rotation
        How factors were extracted and rotated, as R calls it; empty if it does not say.
    fit_measures
        Fit indices under the names of :func:`dtstat.efa`; NaN where R has none.
    warnings
        What R warned of.
    """

    loadings: pd.DataFrame
    factor_correlations: pd.DataFrame
    uniquenesses: pd.Series[float]
    n_obs: int | None
    method: str
    rotation: str
    fit_measures: dict[str, float]
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        p, d = self.loadings.shape
        how = ", ".join(word for word in (self.method, self.rotation) if word)
        return f"RFactors: {d} factor{'' if d == 1 else 's'}, {p} items ({how})"


def read_factors(value: Any, notes: Iterable[str] = ()) -> RFactors:
    """Read what psych's ``fa`` or ``principal``, or R's ``factanal``, returned."""
    L, Phi, u, n, method, rotation, measures = session.value(_FACTORS, value)
    loadings = read_matrix(L)
    factors = [str(name) for name in loadings.columns]
    loadings.columns = pd.Index(factors)
    correlations = pd.DataFrame(read_matrix(Phi).to_numpy(), index=factors, columns=factors)
    shares = pd.Series(read_vector(u).to_numpy(), index=loadings.index, name="uniqueness")
    n_obs = None if np.isnan(n[0]) else int(n[0])
    found = {str(name): float(number) for name, number in read_vector(measures).items()}
    return RFactors(
        loadings, correlations, shares, n_obs, str(method[0]), str(rotation[0]), found, tuple(notes)
    )


def psych_fa(data: Any, n_factors: int, **options: Any) -> RFactors:
    """Fit an exploratory factor model with R's ``psych::fa``.

    Parameters
    ----------
    data
        Answers as in :func:`dtstat.efa`, or a DependenceMatrix.
    n_factors
        Number of factors.
    options
        More arguments of ``psych::fa``, such as ``rotate="varimax"``, ``fm="ml"``; R's dots are
        written as underscores (``n_obs``).

    Raises
    ------
    InputError
        If the data cannot be used, or psych is not installed in R.
    EstimationError
        If R stops, with its message.

    Warns
    -----
    EstimationWarning
        Of what R warns.
    """
    wanted = checks.integer("n_factors", n_factors, 1, "It is the number of factors to extract.")
    session.require_package("psych")
    named = r_options(options)
    if named.get("rotate", "oblimin") in ("oblimin", "quartimin", "simplimax"):
        session.require_package("GPArotation")
    if isinstance(data, DependenceMatrix):
        given: Any = data
        if data.n_obs is not None:
            named.setdefault("n.obs", data.n_obs)
    else:
        given = as_items(data).to_frame().reset_index(drop=True)
    arguments = {name: write(option) for name, option in named.items()}
    fit, notes = session.call(_FA, write(given), write(wanted), doing="psych::fa", **arguments)
    warn(notes, "psych::fa")
    return read_factors(fit, notes)
