import numpy as np
import pandas as pd
import pytest

from dtstat.core import canvas
from dtstat.studies.plots import Conditions, recovery_plot

pytestmark = pytest.mark.usefixtures("drawing")
SEARCHES = ("oracle", "plain")


def table(f1=(0.8, 0.9), paper=np.nan):
    rows = [
        {
            **{"n": n, "level": level, "search": search, "d": n / 10},
            **{"f1_mean": f1[k] - level / 10, "f1_se": 0.02, "f1_paper": paper},
            **{"n_factors_mean": n / 10 + k, "n_factors_se": 0.5, "n_factors_paper": paper},
            **{"seconds_mean": n / 100 * (k + 1), "seconds_se": 0.1},
        }
        for n in (250, 1000)
        for level in (0.0, 0.5)
        for k, search in enumerate(SEARCHES)
    ]
    return pd.DataFrame(rows)


def drawn(rows, **options):
    figure = recovery_plot(rows, 180.0, **options)
    figure.canvas.draw()
    return figure


def marks(ax):
    """Means that are drawn."""
    lines = [container.lines[0] for container in ax.containers]
    return sorted(float(y) for line in lines for y in line.get_ydata())


def test_every_mean_is_drawn_once_with_its_error():
    given = table()
    accuracy, found, seconds = drawn([Conditions("Title", "φ =", given)]).axes
    for ax, name in ((accuracy, "f1"), (found, "n_factors"), (seconds, "seconds")):
        assert marks(ax) == pytest.approx(sorted(given[f"{name}_mean"]))
    bars = accuracy.containers[0].lines[2][0].get_segments()
    assert [tuple(bar[:, 1].round(9)) for bar in bars] == [(0.78, 0.82)] * 2
    assert [label.get_text() for label in accuracy.get_xticklabels()] == ["250", "1,000"]
    assert seconds.get_yscale() == "log"


def test_marks_of_a_size_stand_beside_each_other_in_its_room():
    accuracy = drawn([Conditions("Title", "φ =", table())]).axes[0]
    x = np.sort([at for one in accuracy.containers for at in one.lines[0].get_xdata()])
    assert np.diff(x).min() > 0.1
    assert (np.abs(x - np.repeat([0, 1], 4)) < 0.5).all()


def test_searches_have_marks_and_levels_have_colours():
    accuracy = drawn([Conditions("Title", "φ =", table())]).axes[0]
    lines = [one.lines[0] for one in accuracy.containers]
    assert len({(line.get_marker(), line.get_color()) for line in lines}) == 4
    assert len({line.get_marker() for line in lines}) == 2
    assert len({line.get_color() for line in lines}) == 2


def test_the_axis_of_f1_begins_at_a_half_or_below_the_lowest_mark():
    assert drawn([Conditions("T", "φ =", table())]).axes[0].get_ylim() == (0.5, 1.02)
    low = drawn([Conditions("T", "φ =", table(f1=(0.41, 0.9)))]).axes[0].get_ylim()
    assert low == pytest.approx((0.3, 1.02))


def grey_lines(ax):
    """Heights of thick lines, those of the paper."""
    return {
        round(float(segment[0, 1]), 9)
        for one in ax.collections
        if one.get_linewidth()[0] == 2.5
        for segment in one.get_segments()
        if len(segment)  # none of a missing number
    }


def test_what_was_reported_is_marked_where_there_is_something():
    reported, silent = Conditions("A", "x", table(paper=0.75)), Conditions("B", "x", table())
    axes = drawn([reported, silent]).axes
    assert grey_lines(axes[0]) == grey_lines(axes[1]) == {0.75}
    assert grey_lines(axes[3]) == set()
    for seconds in axes[2::3]:
        assert any(list(line.get_ydata()) == [180, 180] for line in seconds.lines)


def test_true_numbers_are_marked():
    found = drawn([Conditions("T", "φ =", table())]).axes[1]
    thin = [one for one in found.collections if one.get_linewidth()[0] == 1]
    low, high = found.get_ylim()
    assert low == 0
    assert high > 101.5  # the highest mark with its error
    heights = {float(s[0, 1]) for one in thin for s in one.get_segments() if len({*s[:, 1]}) == 1}
    assert {25.0, 100.0} <= heights


def test_signs_are_explained_once_below():
    figure = drawn([Conditions("A", "x", table()), Conditions("B", "x", table())])
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        *["oracle", "plain", "true number d", "paper, oracle, about", "paper: under 180 s"]
    ]
    lowest = min(ax.get_tightbbox().y0 for ax in figure.axes[3:])
    assert legend.get_window_extent().y1 <= lowest


def test_titles_and_legends_keep_clear_of_each_other():
    title = "Without unique children, shared second parents"
    rows = [Conditions(title, "share", table())] * 2
    given = canvas.pyplot().subplots(figsize=(9, 6))[1]
    for panels in (drawn(rows).axes, drawn(rows, ax=given) and given.child_axes):
        _check_clear(panels)


def _check_clear(panels):
    for first, last in (panels[0:3:2], panels[3:6:2]):
        assert first._left_title.get_window_extent().x1 < last.get_legend().get_window_extent().x0


def test_the_area_of_given_axes_is_divided():
    ax = canvas.pyplot().subplots()[1]
    figure = drawn([Conditions("A", "x", table())], ax=ax)
    assert figure is ax.figure
    assert len(ax.child_axes) == 3
    assert figure.legends == []
    texts = [text.get_text() for text in ax.child_axes[1].get_legend().get_texts()]
    assert texts[:2] == ["oracle", "plain"]


def test_one_data_set_without_errors_is_drawn():
    one = table().assign(f1_se=np.nan, n_factors_se=np.nan, seconds_se=np.nan)
    accuracy = drawn([Conditions("T", "x", one)]).axes[0]
    assert len(marks(accuracy)) == 8
