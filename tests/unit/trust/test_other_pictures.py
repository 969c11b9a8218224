"""Curves, trust, planning and scree."""

import numpy as np
import pandas as pd
import pytest

from dtstat.curves.result import curve_panels
from dtstat.efa.parallel_analysis import scree_plot
from dtstat.trust import plots as trust_plots
from dtstat.trust.plots import planning_plot

pytestmark = pytest.mark.usefixtures("drawing")
Z = np.linspace(-3, 3, 7)


def curve(item, factor, slope, half=0.2):
    value = slope * Z
    return pd.DataFrame(
        {
            "item": item,
            "factor": factor,
            "z": Z,
            "value": value,
            "lower": value - half,
            "upper": value + half,
        }
    )


CURVES = pd.concat([curve("a", "F1", 1), curve("b", "F1", 2), curve("b", "F2", -1)])


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_curves_and_bands_are_those_given():
    first, second = curve_panels(CURVES, {"a": ["F1"], "b": ["F1", "F2"]}).axes
    np.testing.assert_array_equal(first.lines[0].get_ydata(), Z)
    corners = first.collections[0].get_paths()[0].vertices
    assert {(-3.0, -3.2), (-3.0, -2.8), (3.0, 2.8), (3.0, 3.2)} <= set(map(tuple, corners.round(9)))
    assert [line.get_ydata()[-1] for line in second.lines] == [6, -3]
    styles = [line.get_linestyle() for line in second.lines]
    assert len(set(styles)) == 2
    assert len({line.get_color() for line in second.lines}) == 2
    assert first.lines[0].get_color() == second.lines[0].get_color()  # one color per factor
    titles = [ax.get_title(loc="left") for ax in (first, second)]
    assert titles == ["a (F1)", "b (F1, F2)"]


@pytest.mark.parametrize("length", [3, 12, 40])
def test_titles_of_panels_keep_clear_of_each_other(length):
    names = [f"{'n' * (length - 2)}{i:02d}" for i in range(9)]
    curves = pd.concat([curve(name, f, 1) for name in names for f in ("F1", "F10")])
    figure = curve_panels(curves, {name: ["F1", "F10"] for name in names})
    figure.canvas.draw()
    found = [ax._left_title.get_window_extent() for ax in figure.axes]
    assert all(box.x1 <= figure.bbox.x1 for box in found)
    for i, a in enumerate(found):
        assert all(a.x1 <= b.x0 or b.x1 <= a.x0 or a.y1 <= b.y0 or b.y1 <= a.y0 for b in found[:i])


def test_without_a_band_none_is_drawn_nor_said():
    figure = curve_panels(CURVES.assign(lower=np.nan, upper=np.nan), {"a": ["F1"]})
    assert not figure.axes[0].collections
    assert "band" not in figure.get_supxlabel()


def test_margins_of_factors_with_intervals():
    factors = pd.DataFrame(
        {
            "factor": ["F1", "F2", "F3"],
            "margin": [0.1, -0.2, 0.0],
            "core_margin": [0.15, 0.05, np.nan],
            "core_lower": [0.05, -0.1, np.nan],
            "core_upper": [0.25, 0.2, np.nan],
            "verdict": ["firm", "unsure", "no core"],
        }
    )
    ax = trust_plots.factor_margins(factors)
    ends = [segment.tolist() for c in ax.collections for segment in c.get_segments()]
    assert ends == [[[0.05, 0], [0.25, 0]], [[-0.1, 1], [0.2, 1]]]
    points = {line.get_label(): line for line in ax.lines}
    firm = points["firm: the interval is above 0"]
    unsure = points["unsure: the interval reaches 0"]
    assert (firm.get_xdata().tolist(), unsure.get_xdata().tolist()) == ([0.15], [0.05])
    assert firm.get_markerfacecolor() != "white"
    assert unsure.get_markerfacecolor() == "white"
    np.testing.assert_array_equal(points["margin of all its items"].get_xdata(), [0.1, -0.2, 0])
    assert len(legend(ax)) == 3


def test_numbers_of_factors_are_bars_with_counts():
    numbers = pd.DataFrame({"n_factors": [2, 4], "count": [5, 15], "share": [0.25, 0.75]})
    ax = trust_plots.factor_numbers(numbers, 4)
    bars = [(p.get_x() + p.get_width() / 2, p.get_height()) for p in ax.patches]
    np.testing.assert_allclose(bars, [(2, 25), (4, 75)])
    assert [text.get_text() for text in ax.texts] == ["5", "15"]
    assert ax.patches[0].get_facecolor() != ax.patches[1].get_facecolor()
    assert list(ax.get_xticks()) == [2, 3, 4]


def test_agreement_is_drawn_by_size_bootstrap_hollow():
    sizes = pd.DataFrame(
        {
            "n": [50, 100],
            "scheme": ["subsample", "bootstrap"],
            "f1": [0.6, 0.9],
            "same_n_factors": [0.5, 0.8],
            "same_structure": [0.1, 0.4],
        }
    )
    ax = trust_plots.agreement_by_size(sizes)
    drawn = {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}
    assert [line.get_ydata().tolist() for line in drawn.values()] == [
        [0.6, 0.9],
        [0.5, 0.8],
        [0.1, 0.4],
    ]
    assert len({line.get_marker() for line in drawn.values()}) == 3
    hollow = [line for line in ax.lines if line.get_markerfacecolor() == "white"]
    assert [line.get_xdata().tolist() for line in hollow] == [[100]] * 3


def test_plan_has_a_curve_a_method_and_the_rows_it_needs():
    n = np.array([10, 100, 1000])
    rows = {"guarantee": [1, 0.5, 0.01], "normal": [1, 0.2, 0.0], "draws": [0.9, 0.1, 0.0]}
    frames = [pd.DataFrame({"method": m, "n": n, "error": e}) for m, e in rows.items()]
    needed = {"guarantee": 800.0, "normal": np.nan, "simulation": np.nan}
    ax = planning_plot(pd.concat(frames), needed, 0.05, "title")
    drawn = {line.get_label(): line for line in ax.lines}
    assert drawn["guarantee: 800 rows"].get_ydata().tolist() == rows["guarantee"]
    assert drawn["normal approximation"].get_ydata().tolist() == rows["normal"]
    assert drawn["draws"].get_ydata().tolist() == rows["draws"]
    assert set(drawn["accepted: 0.05"].get_ydata()) == {0.05}
    styles = [drawn[name].get_linestyle() for name in drawn if not name.startswith("_")]
    assert len(set(styles)) == len(styles)
    marks = [line.get_xydata().tolist() for line in ax.lines if line.get_label().startswith("_")]
    assert [800.0, 0.05] in [mark[0] for mark in marks]
    assert ax.get_xscale() == "log"


def test_scree_shows_data_and_references():
    columns = {"factors": [3.0, 0.5], "components": [3.5, 0.9]}
    columns |= {f"{s}_{k}": [1.0, 0.8] for s in ("simulated", "resampled") for k in list(columns)}
    ax = scree_plot(pd.DataFrame(columns, index=[1, 2]), 0.95, "1 factor")
    drawn = {line.get_label(): list(line.get_ydata()) for line in ax.lines}
    assert drawn["factors, data"] == [3.0, 0.5]
    assert drawn["components, data"] == [3.5, 0.9]
    assert drawn["factors, simulated, 95 % quantile"] == [1.0, 0.8]
    assert len(legend(ax)) == 6
    assert ax.get_title(loc="left") == "1 factor"
    pairs = {(line.get_linestyle(), line.get_marker()) for line in ax.lines[:6]}
    assert len(pairs) >= 4
