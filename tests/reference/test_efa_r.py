"""Exploratory factor analysis against live psych, with GPArotation and stats."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dtstat.data.items import as_items
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.efa.parallel_analysis import run_parallel_analysis
from dtstat.efa.result import EFAFit, fit_efa
from dtstat.efa.rotation import varimax

pytestmark = [pytest.mark.against_r, pytest.mark.usefixtures("require_r")]

# psych stops its optimisers at relative changes of about 1e-8 of the objective.
LOADING_TOL = 1e-3
FIT_TOL = 1e-3
# psych's varimax (and so promax) stops at changes of 1e-5 of the criterion, which is flat.
PSYCH_VARIMAX_TOL = 2e-3

BFI = "b <- na.omit(psychTools::bfi[, 1:25])"
ROTATIONS = ["oblimin", "promax", "varimax", "none"]
# Names in psych → ours.
INDICES = {
    "dof": "df",
    "null.dof": "df_null",
    "objective": "objective",
    "null.model": "objective_null",
    "null.chisq": "chi_square_null",
    "STATISTIC": "chi_square",
    "PVAL": "p_value",
    "chi": "empirical_chi_square",
    "EPVAL": "empirical_p_value",
    "rms": "rmsr",
    "crms": "rmsr_corrected",
    "fit.off": "fit_off_diagonal",
    "TLI": "tli",
    "BIC": "bic",
}


def fits_in_r(data: str, d: int, method: str) -> str:
    """R code of a list: loadings, factor correlations and fit for each rotation."""
    rotations = ", ".join(f'"{name}"' for name in ROTATIONS)
    values = ", ".join(f'f[["{name}"]]' for name in INDICES)
    return f"""
        {BFI}; out <- list()
        for (r in c({rotations})) {{
          f <- psych::fa({data}, {d}, n.obs = 213, rotate = r, fm = "{method}")
          out[[paste0(r, "_loadings")]] <- unclass(f$loadings)
          out[[paste0(r, "_phi")]] <- if (is.null(f$Phi)) diag({d}) else f$Phi
          out[[paste0(r, "_table")]] <- cbind(f$communality, f$uniquenesses, f$complexity)
          out[[paste0(r, "_variance")]] <- f$Vaccounted
        }}
        out$fit <- c({values}, f$RMSEA[1:3])
        out
    """


@pytest.fixture
def bfi(run_r) -> pd.DataFrame:
    return pd.DataFrame(run_r(f"{BFI}; list(x = as.matrix(b))")["x"])


@pytest.fixture
def thurstone(run_r) -> DependenceMatrix:
    return DependenceMatrix.from_matrix(run_r("list(r = psych::Thurstone)")["r"], n_obs=213)


def assert_same_solution(ours: EFAFit, theirs: dict, tolerance: float) -> None:
    """Equal loadings, correlations and tables, up to order and sign of the factors."""
    A, B = ours.rotated.pattern, np.array(theirs["loadings"])
    match = np.abs(A.T @ B).argmax(axis=0)
    assert len(set(match)) == len(match)
    sign = np.sign(np.sum(A[:, match] * B, axis=0))
    np.testing.assert_allclose(A[:, match] * sign, B, rtol=0, atol=tolerance)
    Phi = ours.rotated.factor_correlations[np.ix_(match, match)] * np.outer(sign, sign)
    np.testing.assert_allclose(Phi, theirs["phi"], rtol=0, atol=tolerance)
    table = ours.to_frame()[["h2", "u2", "com"]]
    np.testing.assert_allclose(table, theirs["table"], rtol=0, atol=10 * tolerance)
    explained, expected = ours.variance.iloc[:2].to_numpy(), np.array(theirs["variance"])[:2]
    np.testing.assert_allclose(explained[:, match], expected, rtol=0, atol=10 * tolerance)


def assert_same_fit(ours: EFAFit, theirs: list[float]) -> None:
    names = [*INDICES.values(), "rmsea", "rmsea_low", "rmsea_high"]
    values = [ours.fit_measures[name] for name in names]
    for name, value, expected in zip(names, values, theirs, strict=True):
        assert value == pytest.approx(expected, rel=1e-5, abs=FIT_TOL), name


def assert_same_fits(data, d: int, method: str, theirs: dict) -> None:
    for rotation in ROTATIONS:
        ours = fit_efa(data, d, method, rotation)
        parts = {name: theirs[f"{rotation}_{name}"] for name in ("loadings", "phi", "table")}
        parts["variance"] = theirs[f"{rotation}_variance"]
        tolerance = PSYCH_VARIMAX_TOL if rotation == "varimax" else LOADING_TOL
        assert_same_solution(ours, parts, tolerance)
        assert_same_fit(ours, theirs["fit"])


@pytest.mark.parametrize("method", ["minres", "ml"])
def test_bfi_equals_psych(run_r, bfi, method: str) -> None:
    theirs = run_r(fits_in_r("b", 5, method))
    assert_same_fits(as_items(bfi), 5, method, theirs)


@pytest.mark.parametrize("method", ["minres", "ml"])
def test_thurstone_equals_psych(run_r, thurstone, method: str) -> None:
    theirs = run_r(fits_in_r("psych::Thurstone", 3, method))
    assert_same_fits(thurstone, 3, method, theirs)


def test_gaps_equal_psych(run_r) -> None:
    """Pairwise correlations, all rows in the likelihood, those of each pair in the residuals."""
    values = ", ".join(f'f[["{name}"]]' for name in INDICES)
    theirs = run_r(
        "x <- psychTools::bfi[, 1:25]; f <- psych::fa(x, 5); "
        f"list(x = as.matrix(x), fit = c({values}, f$RMSEA[1:3]))"
    )
    ours = fit_efa(as_items(pd.DataFrame(theirs["x"], dtype=float)), 5)
    assert_same_fit(ours, theirs["fit"])


@pytest.mark.parametrize("normalize", [True, False])
def test_varimax_equals_stats_varimax_at_its_limit(run_r, normalize: bool) -> None:
    flag = str(normalize).upper()
    theirs = run_r(
        f"{BFI}; L <- unclass(psych::fa(b, 5, rotate = 'none')$loadings); "
        f"v <- varimax(L, normalize = {flag}, eps = 1e-14); "
        "list(L = L, V = unclass(v$loadings))"
    )
    ours, V = varimax(np.array(theirs["L"]), normalize).pattern, np.array(theirs["V"])
    match = np.abs(ours.T @ V).argmax(axis=0)
    np.testing.assert_allclose(np.abs(ours[:, match]), np.abs(V), rtol=0, atol=1e-5)


# R code of the data; rows, for a correlation matrix.
PARALLEL = {
    "bfi": ("na.omit(psychTools::bfi[, 1:25])", None),
    "nine tests": ("lavaan::HolzingerSwineford1939[, 7:15]", None),
    "Thurstone": ("psych::Thurstone", 213),
    "Harman 24 tests": ("Harman74.cor$cov", 145),
    "ability, with gaps": ("psychTools::ability", None),
    "moods": (
        "na.omit(psychTools::msq[, c('active', 'alert', 'aroused', 'sleepy', 'tired', 'drowsy', "
        "'anxious', 'jittery', 'nervous', 'calm', 'relaxed', 'at.ease', 'gloomy', 'sad', 'blue', "
        "'unhappy', 'content', 'at.rest', 'happy', 'cheerful')])",
        None,
    ),
    "attitude": ("attitude", None),
    "simulated": ("{set.seed(5); psych::sim.item(12, 400)}", None),
}


@pytest.mark.parametrize("name", list(PARALLEL))
def test_parallel_analysis_suggests_what_psych_does(run_r, name: str) -> None:
    code, n = PARALLEL[name]
    rows = "" if n is None else f", n.obs = {n}"
    # With one core: what psych gives to forked processes does not know the seed.
    theirs = run_r(
        f"x <- as.matrix({code}); options(mc.cores = 1); set.seed(1); "
        f"capture.output(p <- suppressWarnings("
        f"psych::fa.parallel(x, fa = 'both', plot = FALSE, n.iter = 50{rows}))); "
        "list(x = x, number = c(p$nfact, p$ncomp), fa = p$fa.values, pc = p$pc.values)"
    )
    x = pd.DataFrame(theirs["x"], dtype=float)
    data = as_items(x) if n is None else DependenceMatrix.from_matrix(x.to_numpy(), n_obs=n)
    ours = run_parallel_analysis(data, n_iter=50, seed=1)
    np.testing.assert_allclose(ours.observed.factors, theirs["fa"], rtol=0, atol=LOADING_TOL)
    np.testing.assert_allclose(ours.observed.components, theirs["pc"], rtol=0, atol=1e-8)
    assert [ours.n_factors, ours.n_components] == theirs["number"]


def test_noise_of_polychoric_correlations_is_that_of_psych(run_r) -> None:
    """psych shuffles the answers; ours is shuffled, or drawn and cut: the same but for chance."""
    theirs = run_r(
        "x <- na.omit(psychTools::bfi[1:700, 1:8]); options(mc.cores = 1); set.seed(1); "
        "capture.output(p <- suppressWarnings(suppressMessages(psych::fa.parallel("
        "x, fa = 'both', cor = 'poly', plot = FALSE, n.iter = 20)))); v <- p$values[, 1:8]; "
        "list(x = as.matrix(x), pc = p$pc.values, mean = colMeans(v), sd = apply(v, 2, sd))"
    )
    items = as_items(pd.DataFrame(theirs["x"], dtype=float))
    ours = run_parallel_analysis(items, n_iter=20, measure="polychoric", seed=1)
    np.testing.assert_allclose(ours.observed.components, theirs["pc"], rtol=0, atol=5e-3)
    error = np.array(theirs["sd"]) * np.sqrt(2 / 20)
    for noise in (ours.simulated, ours.resampled):
        assert noise is not None
        difference = noise.components.mean(axis=0) - theirs["mean"]
        assert np.all(np.abs(difference) < 4 * error)
