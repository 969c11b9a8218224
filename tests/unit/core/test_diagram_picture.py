"""The path diagram: lines are loadings, names have room."""

import matplotlib.colors
import numpy as np
import pandas as pd
import pytest

from dtstat.core import canvas
from dtstat.core.plots import WIDEST, path_diagram

pytestmark = pytest.mark.usefixtures("drawing")
LOADINGS = pd.DataFrame(
    {"F1": [0.8, -0.6, 0.7, 0.0, 0.0, 0.0], "F2": [0.0, 0.0, 0.3, 0.9, 0.5, 0.0]}, list("abcdef")
)
PHI = pd.DataFrame([[1, -0.4], [-0.4, 1]], ["F1", "F2"], ["F1", "F2"])
ATTACHED = np.array([False, False, False, False, True, False])


def draw(loadings=LOADINGS, Phi=PHI, attached=ATTACHED, ax=None):
    return path_diagram(loadings, Phi, attached, ax)


def lines(ax):
    """(item, factor) → line."""
    found = {}
    for line in ax.lines:
        if (line.get_gid() or "").startswith("loading"):
            i, k = map(int, line.get_gid().split()[1:])
            found[i, k] = line
    return found


def spots(ax):
    return {text.get_text(): text.get_position() for text in ax.texts}


def many(d, per_factor, length, correlation=0.5):
    p = d * per_factor
    L = np.zeros((p, d))
    L[np.arange(p), np.repeat(np.arange(d), per_factor)] = np.linspace(0.4, 0.9, p)
    L[::7, 0] = np.where(L[::7, 0] == 0, 0.25, L[::7, 0])
    names = [f"{'n' * (length - 2)}{i:02d}" for i in range(p)]
    factors = [f"F{k + 1}" for k in range(d)]
    Phi = np.full((d, d), correlation) + (1 - correlation) * np.eye(d)
    return pd.DataFrame(L, names, factors), pd.DataFrame(Phi, factors, factors), np.zeros(p, bool)


def test_one_line_a_loading_with_its_width():
    drawn = lines(draw())
    assert set(drawn) == set(zip(*np.nonzero(LOADINGS.to_numpy()), strict=True))
    for (i, k), line in drawn.items():
        assert line.get_linewidth() == pytest.approx(WIDEST * abs(LOADINGS.iloc[i, k]))


def test_lines_go_from_their_item_to_their_factor():
    ax = draw()
    places = spots(ax)
    for (i, k), line in lines(ax).items():
        (x0, y0), (x1, y1) = line.get_xydata()
        item, factor = places["abcdef"[i]], places[f"F{k + 1}"]
        assert y0 == pytest.approx(item[1])
        assert item[0] < x0 < x1
        assert (x1, y1) == pytest.approx(factor)


def test_factors_stand_at_the_mean_height_of_their_items():
    places = spots(draw())
    assert places["F1"][1] == pytest.approx(np.mean([places[name][1] for name in "abc"]))


def test_negative_and_cross_loadings_are_told_apart_without_colour():
    drawn = lines(draw())
    styles = {
        name: (line.get_color(), line._unscaled_dash_pattern)
        for name, line in (
            ("usual", drawn[0, 0]),
            ("negative", drawn[1, 0]),
            ("cross", drawn[2, 1]),
        )
    }
    colours, dashes = zip(*styles.values(), strict=True)
    assert len(set(colours)) == 3
    assert len({str(dash) for dash in dashes}) == 3
    assert drawn[3, 1].get_color() == styles["usual"][0]


def test_attached_items_are_hollow_and_items_of_no_factor_have_no_line():
    ax = draw()
    heights = {name: y for name, (_, y) in spots(ax).items()}
    kinds = {c.get_label(): c for c in ax.collections}
    hollow = kinds["attached item (in no clique of the factor)"]
    assert hollow.get_offsets()[:, 1].tolist() == pytest.approx([heights["e"]])
    assert matplotlib.colors.to_hex(hollow.get_facecolor()[0]) == "#ffffff"
    alone = kinds["item of no factor"].get_offsets()[:, 1].tolist()
    assert alone == pytest.approx([heights["f"]])
    assert heights["f"] == min(heights[name] for name in "abcdef")


def test_every_sign_used_is_explained_and_no_other():
    texts = {t.get_text() for t in draw().get_legend().get_texts()}
    assert texts == {
        *("loading", "negative loading", "cross-loading", "item", "item of no factor"),
        "attached item (in no clique of the factor)",
        "factor correlation, negative",
    }
    plain = LOADINGS.loc[["a", "c"], ["F1"]]
    ax = draw(plain, PHI.iloc[:1, :1], np.zeros(2, bool))
    assert {t.get_text() for t in ax.get_legend().get_texts()} == {"loading", "item"}


def test_factor_correlations_are_written():
    assert "−.40" in spots(draw())


def test_weak_correlations_are_left_out_of_many_factors():
    for d, shown in ((8, 28), (9, 0)):
        loadings, Phi, attached = many(d, 3, 4, correlation=0.2)
        numbers = [name for name in spots_list(draw(loadings, Phi, attached)) if name == ".20"]
        assert len(numbers) == shown


def spots_list(ax):
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize(("d", "per_factor"), [(1, 60), (5, 12), (8, 7), (10, 6), (20, 3)])
@pytest.mark.parametrize("length", [3, 24])
def test_no_text_overlaps_another_or_is_cut(d, per_factor, length):
    ax = draw(*many(d, per_factor, length))
    ax.figure.canvas.draw()
    renderer = ax.figure.canvas.get_renderer()
    texts = [*ax.texts, *ax.get_legend().get_texts(), ax.title, ax._left_title]
    found = [(t.get_text(), t.get_window_extent(renderer)) for t in texts if t.get_text()]
    for i, (one, a) in enumerate(found):
        for other, b in found[:i]:
            apart = a.x1 <= b.x0 or b.x1 <= a.x0 or a.y1 <= b.y0 or b.y1 <= a.y0
            assert apart, (one, other)
    page = ax.figure.bbox
    assert all(b.x0 >= 0 and b.x1 <= page.x1 and b.y0 >= 0 and b.y1 <= page.y1 for _, b in found)
    assert min(t.get_fontsize() for t in texts) >= canvas.SMALL


def test_given_axes_are_used_and_nothing_else_is_made(drawing):
    figure, ax = drawing.subplots()
    assert draw(ax=ax) is ax
    assert figure.axes == [ax]
    assert drawing.get_fignums() == [figure.number]
