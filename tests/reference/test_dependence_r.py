"""Dependence measures against live R: stats, pcaPP and energy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dtstat.dependence.distance_hsic import distance_correlation
from dtstat.dependence.kendall import kendall, tau_b_by_bits
from dtstat.dependence.pearson import pearson
from dtstat.dependence.spearman import dense_codes, spearman

pytestmark = [pytest.mark.against_r, pytest.mark.usefixtures("require_r")]

# Both count exactly or sum a few thousand products; the difference is rounding.
ROUNDING_TOL = 1e-12
# Ours keeps distances in single precision.
SINGLE_TOL = 1e-6


def frame(n: int, seed: int = 0) -> pd.DataFrame:
    """Items without ties that share a factor."""
    rng = np.random.default_rng(seed)
    X = np.outer(rng.normal(size=n), [1, 1, -1, 0.5, 0]) + rng.normal(size=(n, 5))
    return pd.DataFrame(X.round(6), columns=list("abcde"))


def tied(n: int) -> pd.DataFrame:
    """Rated items beside continuous ones."""
    x = frame(n)
    x[["a", "c", "d"]] = x[["a", "c", "d"]].clip(-2, 2).round()
    return x


def with_gaps(x: pd.DataFrame) -> pd.DataFrame:
    return x.mask(np.random.default_rng(1).random(x.shape) < 0.15)


@pytest.mark.parametrize("n", [50, 301])
@pytest.mark.parametrize("make", [frame, tied], ids=["no ties", "ties"])
def test_kendall_equals_pcapp(run_r, make, n: int) -> None:
    x = make(n)
    expected = run_r("list(r = pcaPP::cor.fk(as.matrix(x)))", x=x)["r"]
    np.testing.assert_allclose(kendall(x.to_numpy()), expected, rtol=0, atol=ROUNDING_TOL)
    by_bits = tau_b_by_bits(dense_codes(x.to_numpy())[0], planes=2)
    np.testing.assert_allclose(by_bits, expected, rtol=0, atol=ROUNDING_TOL)


@pytest.mark.parametrize(("ours", "method"), [(kendall, "kendall"), (spearman, "spearman")])
@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "missing"])
def test_rank_correlations_equal_stats_cor(run_r, ours, method: str, gaps: bool) -> None:
    x = with_gaps(tied(200)) if gaps else tied(200)
    code = f'list(r = cor(x, method = "{method}", use = "pairwise.complete.obs"))'
    expected = run_r(code, x=x)["r"]
    np.testing.assert_allclose(ours(x.to_numpy()), expected, rtol=0, atol=ROUNDING_TOL)


@pytest.mark.parametrize("make", [frame, tied], ids=["no ties", "ties"])
def test_distance_equals_energy(run_r, make) -> None:
    x = make(151).assign(square=lambda d: d["b"] ** 2)
    code = """
    r <- diag(ncol(x))
    for (i in seq_along(x)) for (j in seq_along(x)) r[i, j] <- energy::dcor(x[[i]], x[[j]])
    list(r = r)
    """
    expected = run_r(code, x=x)["r"]
    np.testing.assert_allclose(
        distance_correlation(x.to_numpy()), expected, rtol=0, atol=SINGLE_TOL
    )


def test_pearson_of_bfi_equals_stats_cor(run_r) -> None:
    code = """
    d <- psychTools::bfi[, 1:25]
    list(d = as.matrix(d), r = cor(d, use = "pairwise.complete.obs"),
         s = cor(d, use = "pairwise.complete.obs", method = "spearman"))
    """
    r = run_r(code)
    bfi = np.array(r["d"], dtype=float)
    assert np.isnan(bfi).any()
    np.testing.assert_allclose(pearson(bfi), r["r"], rtol=0, atol=ROUNDING_TOL)
    np.testing.assert_allclose(spearman(bfi), r["s"], rtol=0, atol=ROUNDING_TOL)
    assert pearson(bfi)[0, 1] == pytest.approx(-0.340, abs=5e-4)
