"""Step curves along the path, the barcode, and the margin."""

import numpy as np
import pandas as pd
import pytest

from dtstat.core import canvas
from dtstat.fit.plots import margin_plot
from dtstat.path import plots as path_plots

pytestmark = pytest.mark.usefixtures("drawing")
SCORES = pd.DataFrame(
    {
        "tau_low": [0.1, 0.2, 0.5],
        "tau_high": [0.2, 0.4, 0.6],
        "n_factors": [1, 3, 2],
        "ebic": [12.0, 10.0, np.nan],
    }
)
PANELS = {"n_factors": "factors", "ebic": "ebic"}


def draw(**options):
    return path_plots.path_panels(SCORES, PANELS, "kendall", **options)


def stairs(ax):
    (patch,) = [p for p in ax.patches if hasattr(p, "get_data")]
    return patch.get_data()


def test_steps_are_the_scores_and_gaps_what_is_known_of_them():
    counts, criterion = draw(gaps={"n_factors": 0.0}).axes
    np.testing.assert_array_equal(stairs(counts).edges, [0.1, 0.2, 0.4, 0.5, 0.6])
    np.testing.assert_array_equal(stairs(counts).values, [1, 3, 0, 2])
    np.testing.assert_array_equal(stairs(criterion).values, [12, 10, np.nan, np.nan])
    assert criterion.get_xlabel() == "threshold on |Kendall|"


def test_the_chosen_interval_is_shaded_in_every_panel():
    for ax in draw(chosen=(0.2, 0.4)).axes:
        (span,) = [p for p in ax.patches if not hasattr(p, "get_data")]
        box = span.get_extents().transformed(ax.transData.inverted())
        assert (box.x0, box.x1) == pytest.approx((0.2, 0.4))


def test_factors_with_their_own_thresholds_are_bars():
    strip = draw(intervals=[("F1", 0.1, 0.3), ("F2", 0.2, 0.6)]).axes[0]
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in strip.patches]
    np.testing.assert_allclose(ends, [(0.1, 0.3), (0.2, 0.6)])
    assert [text.get_text() for text in strip.texts] == ["F1", "F2"]


def test_the_chosen_structure_is_a_line_in_the_last_panel():
    *_, last = draw(reference=9.5).axes
    assert [set(line.get_ydata()) for line in last.lines] == [{9.5}]


def test_counts_have_whole_ticks():
    flat = SCORES.assign(n_factors=1)
    ax = path_plots.path_panels(flat, PANELS, "kendall", gaps={"n_factors": 0.0}).axes[0]
    assert all(float(tick).is_integer() for tick in ax.get_yticks())


def test_bars_end_at_birth_and_death_and_chosen_ones_are_darker():
    bars = pd.DataFrame(
        {"birth": [0.1, 0.3], "death": [0.5, 0.4], "items": [("a", "b", "c"), ("d", "e", "f")]}
    )
    ax = path_plots.barcode_plot(bars, {1: "F1"}, "spearman")
    ends = [(p.get_x(), p.get_x() + p.get_width()) for p in ax.patches]
    np.testing.assert_allclose(ends, [(0.1, 0.5), (0.3, 0.4)])
    other, chosen = (np.dot(p.get_facecolor()[:3], canvas.LIGHTNESS) for p in ax.patches)
    assert chosen < other - 0.3
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a, b, c", "F1:  d, e, f"]
    assert ax.yaxis_inverted()  # the first on top


# The margin

WITHIN, BETWEEN = np.array([0.5, 0.8, 0.6]), np.array([0.2, 0.05, 0.3, 0.1])


def band(ax):
    (span,) = ax.patches
    box = span.get_extents().transformed(ax.transData.inverted())
    return box.y0, box.y1


@pytest.mark.parametrize(("shift", "word"), [(0.0, "gap"), (0.4, "overlap")])
def test_pairs_are_sorted_and_what_is_between_is_shaded(shift, word):
    ax = margin_plot(WITHIN, BETWEEN + shift, "a–b (0.50)", "c–d", "spearman")
    curves = {line.get_label(): line for line in ax.lines}
    shared = curves["pairs sharing a factor; weakest a–b (0.50)"]
    alone = curves["pairs sharing none; strongest c–d"]
    np.testing.assert_allclose(shared.get_ydata(), [0.8, 0.6, 0.5])
    np.testing.assert_allclose(shared.get_xdata(), [0, 0.5, 1])
    np.testing.assert_allclose(alone.get_ydata(), np.array([0.3, 0.2, 0.1, 0.05]) + shift)
    assert band(ax) == pytest.approx(sorted([0.5, 0.3 + shift]))
    gamma = canvas.format_signed((0.5 - 0.3 - shift) / 2, 3)
    assert f"γ = {gamma}: {word}" in ax.get_title(loc="left")
    assert shared.get_marker() != alone.get_marker()  # told apart in grey print
    explained = [t.get_text() for t in ax.get_legend().get_texts()]
    assert explained == [shared.get_label(), alone.get_label()]


def test_if_all_pairs_share_a_factor_the_gap_begins_at_zero():
    ax = margin_plot(WITHIN, np.zeros(0), "a–b", "", "spearman")
    assert band(ax) == pytest.approx((0, 0.5))
    assert len(ax.get_legend().get_texts()) == 1


def test_of_very_many_pairs_the_extremes_are_kept():
    many = np.random.default_rng(1).uniform(size=50_000)
    line = margin_plot(many, BETWEEN, "", "", "spearman").lines[0]
    drawn = line.get_ydata()
    assert len(drawn) < 5000
    assert (drawn[0], drawn[-1]) == (many.max(), many.min())
