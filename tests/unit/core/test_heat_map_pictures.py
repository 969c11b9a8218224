"""Heat maps show the numbers they are given, in their order."""

import numpy as np
import pandas as pd
import pytest

from dtstat.core import canvas
from dtstat.core import plots as heat_maps

pytestmark = pytest.mark.usefixtures("drawing")
NAMES = ["a", "b", "c", "d", "e"]
R = np.array(
    [
        [1.0, 0.6, 0.5, 0.1, 0.2],
        [0.6, 1.0, 0.4, 0.1, 0.0],
        [0.5, 0.4, 1.0, 0.7, 0.3],
        [0.1, 0.1, 0.7, 1.0, 0.2],
        [0.2, 0.0, 0.3, 0.2, 1.0],
    ]
)
SUPPORT = np.array([[1, 0], [1, 0], [1, 1], [0, 1], [0, 0]], dtype=bool)
MARKS = [("F1", 0.2, 0.4), ("F2", 0.3, 0.7)]


def cells(ax):
    return np.ma.filled(ax.collections[0].get_array(), np.nan)


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def boxes(ax):
    return {(*p.get_xy(), p.get_width(), p.get_height(), p.get_linestyle()) for p in ax.patches}


def dependence(names=NAMES, strength=R, support=SUPPORT, marks=MARKS, ax=None):
    frame = pd.DataFrame(strength, names, names)
    return heat_maps.dependence_map(frame, support, marks, "|Spearman|", ax)


def overlapping(texts, renderer):
    found = [t.get_window_extent(renderer) for t in texts if t.get_text()]
    return [
        (i, j)
        for i, one in enumerate(found)
        for j, other in enumerate(found[:i])
        if one.x0 < other.x1 and other.x0 < one.x1 and one.y0 < other.y1 and other.y0 < one.y1
    ]


def test_dependence_is_drawn_in_the_order_given_without_the_diagonal():
    ax = dependence()
    expected = R.copy()
    np.fill_diagonal(expected, np.nan)
    np.testing.assert_array_equal(cells(ax), expected)
    assert labels(ax.yaxis) == labels(ax.xaxis) == NAMES
    assert ax.yaxis_inverted()  # the first item on top


def test_factors_are_boxed():
    assert boxes(dependence()) == {(0, 0, 3, 3, "-"), (2, 2, 2, 2, "-")}


def test_cross_loadings_make_dashed_boxes_off_the_diagonal():
    support = np.array([[1], [1], [0], [1], [0]], dtype=bool)
    solid, dashed = {(0, 0, 2, 2, "-"), (3, 3, 1, 1, "-")}, {(0, 3, 2, 1, ":"), (3, 0, 1, 2, ":")}
    assert boxes(dependence(support=support)) == solid | dashed


def test_thresholds_are_marked_at_their_place_on_the_colour_bar():
    ax = dependence()
    (bar,) = ax.child_axes
    lines = [line.get_xydata() for line in bar.lines]
    across = {tuple(xy[:, 1]) for xy in lines if (xy[:, 0] == [0, 1]).all()}
    beside = {tuple(xy[:, 1]) for xy in lines if xy[0, 0] > 1}
    assert across == {(0.2, 0.2), (0.3, 0.3)}
    assert beside == {(0.2, 0.4), (0.3, 0.7)}
    assert {text.get_text() for text in bar.texts} == {"F1", "F2"}
    lanes = {xy[0, 0] for xy in lines if xy[0, 0] > 1}
    assert len(lanes) == 2  # they overlap, so they stand side by side


def test_intervals_that_do_not_meet_share_a_lane():
    (bar,) = dependence(marks=[("F1", 0.0, 0.1), ("F2", 0.5, 0.6)]).child_axes
    assert len({line.get_xdata()[0] for line in bar.lines if line.get_xdata()[0] > 1}) == 1


def test_darker_is_stronger_all_the_way():
    mesh = dependence().collections[0]
    shades = mesh.cmap(np.linspace(0, 1, 50))[:, :3] @ np.array(canvas.LIGHTNESS)
    assert (np.diff(shades) < 0).all()


@pytest.mark.parametrize("length", [3, 24, 40])
def test_names_of_sixty_items_do_not_overlap_and_are_not_cut(length):
    names = [f"{'x' * (length - 2)}{i:02d}" for i in range(60)]
    ax = dependence(names, np.full((60, 60), 0.3), np.ones((60, 1), dtype=bool), MARKS)
    ax.figure.canvas.draw()
    renderer = ax.figure.canvas.get_renderer()
    for axis in (ax.xaxis, ax.yaxis):
        assert len(labels(axis)) == 60
        assert overlapping(axis.get_ticklabels(), renderer) == []
    drawn = ax.get_tightbbox(renderer)
    assert drawn.x0 >= 0
    assert drawn.y0 >= 0
    assert drawn.x1 <= ax.figure.bbox.x1
    assert drawn.y1 <= ax.figure.bbox.y1


def test_of_very_many_items_every_kth_is_named():
    names = [f"x{i}" for i in range(130)]
    ax = dependence(names, np.eye(130), np.ones((130, 1), dtype=bool), [])
    assert labels(ax.xaxis) == names[::3]
    np.testing.assert_array_equal(ax.get_yticks(), np.arange(0, 130, 3) + 0.5)


def test_residuals_have_signs_for_grey_print_and_the_largest_are_named():
    values = np.array([[0, 0.2, -0.3], [0.2, 0, 0.05], [-0.3, 0.05, 0]])
    ax = heat_maps.residual_map(pd.DataFrame(values, list("abc"), list("abc")), SUPPORT[:3])
    plus, minus = (c.get_offsets().tolist() for c in ax.collections[1:3])
    assert plus == [[1.5, 0.5], [0.5, 1.5]]
    assert minus == [[2.5, 0.5], [0.5, 2.5]]
    low, high = ax.collections[0].get_clim()
    assert (low, high) == (-0.3, 0.3)  # white is zero
    assert ax.get_xlabel().splitlines() == ["largest: a–c −0.30", "a–b +0.20", "b–c +0.05"]
    drawn = cells(ax)
    assert drawn[0, 2] == -0.3
    assert np.isnan(drawn.diagonal()).all()


def test_loadings_have_numbers_from_the_cutoff_on():
    frame = pd.DataFrame({"F1": [0.8, -0.5, 0.0], "F2": [0.1, 0.0, 0.6]}, list("abc"))
    ax = heat_maps.loading_map(frame, ["", "+", ""], 0.3, "+ attached")
    written = {t.get_position(): t.get_text() for t in ax.texts}
    assert written == {(0.5, 0.5): "0.80", (0.5, 1.5): "−0.50", (1.5, 2.5): "0.60"}
    assert labels(ax.yaxis) == ["a", "b+", "c"]
    assert labels(ax.xaxis) == ["F1", "F2"]
    np.testing.assert_array_equal(cells(ax), frame.replace(0, np.nan))
    assert ax.get_xlabel() == "+ attached"


def test_numbers_stand_out_from_their_cells():
    frame = pd.DataFrame({"F1": [0.95, 0.2, -0.95]}, list("abc"))
    ax = heat_maps.loading_map(frame, [""] * 3)
    inks = [text.get_color() for text in ax.texts]
    assert inks == ["white", canvas.INK, "white"]


def test_shares_are_drawn_in_percent_with_the_structure_outlined():
    shares = pd.DataFrame({"F1": [1.0, 0.25], "F2": [0.0, 0.75]}, ["a", "b"])
    ax = heat_maps.share_map(shares, np.array([[1, 0], [0, 1]], dtype=bool))
    np.testing.assert_array_equal(cells(ax), shares)
    assert {t.get_position(): t.get_text() for t in ax.texts} == {
        (0.5, 0.5): "100",
        (0.5, 1.5): "25",
        (1.5, 1.5): "75",
    }
    assert boxes(ax) == {(0, 0, 1, 1, "-"), (1, 1, 1, 1, "-")}


def test_given_axes_are_used_and_nothing_else_is_made(drawing):
    figure, ax = drawing.subplots()
    assert dependence(ax=ax) is ax
    assert figure.axes == [ax]
    assert drawing.get_fignums() == [figure.number]
