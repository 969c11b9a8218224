"""The chi-square test of a model against the saturated one, and the fit indices made from it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dtstat.core.saved import register

_CLOSE, _NOT_CLOSE = 0.05, 0.08  # RMSEA of close fit, and of fit that is not close
_LEVEL = 0.90


@register()
@dataclass(frozen=True)
class Test:
    """A test of a model against the saturated one.

    Attributes
    ----------
    chisq, df
        Likelihood-ratio statistic and degrees of freedom.
    scaling, shift
        The scaled statistic is chisq / scaling + shift; 1 and 0 if nothing is scaled. NaN where
        the robust test is not known, which a note of the fit says.
    scaled_df
        Degrees of freedom of the scaled statistic, where they are others.
    traces
        tr(B A⁻¹) of the model and of the saturated one, B the mean squares of the rows' scores and
        A the information, if the difference of the two gave the scaling.
    """

    chisq: float
    df: int
    scaling: float = 1.0
    shift: float = 0.0
    scaled_df: float | None = None
    traces: tuple[float, float] | None = None

    @property
    def scaled(self) -> float:
        """The scaled statistic."""
        return self.chisq / self.scaling + self.shift

    @property
    def df_scaled(self) -> float:
        """Degrees of freedom of the scaled statistic."""
        return float(self.df) if self.scaled_df is None else self.scaled_df

    @property
    def excess(self) -> float:
        """Chi-square less its mean if the model is right."""
        return (self.scaled - self.df_scaled) * self.scaling


def p_value(chisq: float, df: float) -> float:
    """Probability of so large a statistic under the model; NaN without degrees of freedom."""
    from scipy.special import chdtrc

    return float(chdtrc(df, chisq)) if df > 0 else math.nan


def incremental_indices(test: Test, baseline: Test) -> dict[str, float]:
    """Fit relative to the baseline; with t, d of the model and b, e of the baseline."""
    t, d, b, e = test.chisq, test.df, baseline.chisq, baseline.df
    nnfi = tucker_lewis(t, d, b, e)
    return {
        "cfi": comparative_fit(t - d, b - e),
        "tli": nnfi,
        "nnfi": nnfi,
        "rfi": _ratio(b / e - t / d, b / e) if d and e else 1.0,
        "nfi": _ratio(b - t, b),
        "pnfi": _ratio(d, e) * _ratio(b - t, b),
        "ifi": _ratio(b - t, b - d),
        "rni": _ratio((b - e) - (t - d), b - e),
    }


def comparative_fit(excess: float, baseline_excess: float) -> float:
    """CFI, from chi-square less degrees of freedom of the model and of the baseline."""
    worst = max(_positive(baseline_excess), _positive(excess))
    return 1.0 - _positive(excess) / worst if worst != 0 else 1.0


def tucker_lewis(t: float, d: float, b: float, e: float) -> float:
    """TLI, from chi-square and degrees of freedom of the model (t, d) and the baseline (b, e)."""
    return _ratio(b / e - t / d, b / e - 1) if d and e else 1.0


def rmsea_measures(
    chisq: float, df: float, n: float, suffix: str = "", scale: float = 1.0
) -> dict[str, float]:
    """RMSEA with its interval (Steiger 1990); ``scale`` c turns the scaled into the robust one."""
    lower, upper = rmsea_interval(chisq, df, n, scale)
    close, not_close = (n * df * size**2 / scale for size in (_CLOSE, _NOT_CLOSE))
    return {
        f"rmsea{suffix}": math.sqrt(scale * _positive(chisq / n / df - 1 / n)) if df else 0.0,
        f"rmsea.ci.lower{suffix}": lower,
        f"rmsea.ci.upper{suffix}": upper,
        f"rmsea.pvalue{suffix}": 1 - _noncentral_cdf(chisq, df, close),
        f"rmsea.notclose.pvalue{suffix}": _noncentral_cdf(chisq, df, not_close),
    }


def rmsea_interval(chisq: float, df: float, n: float, scale: float = 1.0) -> tuple[float, float]:
    """90 % interval: the noncentralities for which chisq is the 95 % and the 5 % quantile."""
    if math.isnan(chisq + df) or df == 0:
        return chisq * df * 0.0, chisq * df * 0.0
    tail = (1 - _LEVEL) / 2
    limits = (_noncentrality(chisq, df, p) for p in (1 - tail, tail))
    lower, upper = (math.sqrt(scale * limit / (n * df)) for limit in limits)
    return lower, upper


def _noncentral_cdf(chisq: float, df: float, nc: float) -> float:
    from scipy.special import chndtr, ndtr

    if not df:
        return math.nan
    found = float(chndtr(chisq, df, nc))
    if math.isnan(found) and not math.isnan(chisq):
        # Beyond the reach of the series, where a normal distribution is as good.
        found = float(ndtr((chisq - df - nc) / math.sqrt(2 * (df + 2 * nc))))
    return found


def _noncentrality(chisq: float, df: float, p: float) -> float:
    """Noncentrality at which P(χ² ≤ chisq) = p; 0 if it is below p already without any."""
    from scipy.optimize import brentq

    def miss(nc: float) -> float:
        return _noncentral_cdf(chisq, df, nc) - p

    if miss(0.0) <= 0:
        return 0.0
    high = max(chisq, 1.0)
    while miss(high) > 0:
        high *= 2
    return float(brentq(miss, 0.0, high, xtol=1e-10))


def _positive(value: float) -> float:
    """Return the value or 0, and NaN for what is not known."""
    return 0.0 if value < 0 else value


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
