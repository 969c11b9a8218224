"""What pictures share."""

import importlib

import numpy as np
import pytest

from dtstat.core import canvas
from dtstat.core.errors import InputError, MissingExtraError


def test_long_names_keep_both_ends():
    assert canvas.shorten("abc") == "abc"
    long = canvas.shorten("a" * 20 + "z" * 20)
    assert len(long) == canvas.LONGEST_NAME
    assert (long[0], long[-1], long.count("…")) == ("a", "z", 1)


@pytest.mark.parametrize("most", [5, 12, 30])
def test_lists_say_how_many_more(most):
    names = ["one", "two", "three", "four"]
    text = canvas.list_names(names, most)
    shown, _, more = text.partition(" +")
    assert len(shown.split(", ")) + int(more or 0) == 4
    assert len(text) <= max(most, len("one +3"))


def test_heights_are_spread_as_little_as_possible():
    rng = np.random.default_rng(1)
    for _ in range(20):
        wanted = rng.uniform(0, 3, size=6)
        moved = canvas.spread_apart(wanted, 0.5)
        order = np.argsort(wanted)
        assert (np.diff(moved[order]) >= 0.5 - 1e-12).all()
        for _ in range(200):  # no other placement is nearer
            other = np.sort(moved[order] + rng.normal(scale=0.05, size=6))
            other = other[0] + np.concatenate([[0], np.cumsum(np.maximum(np.diff(other), 0.5))])
            assert ((moved - wanted) ** 2).sum() <= ((other - wanted[order]) ** 2).sum() + 1e-12


def test_heights_far_enough_stay():
    np.testing.assert_allclose(canvas.spread_apart(np.array([2.0, 0.0, 1.0]), 0.5), [2, 0, 1])


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    def missing(name, *_):
        raise ModuleNotFoundError(f"No module named {name!r}", name="matplotlib")

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r'pip install "dtstat\[plot\]"'):
        canvas.axes(None, 3)


def test_a_broken_matplotlib_shows_as_itself(monkeypatch):
    def broken(name, *_):
        raise ModuleNotFoundError("No module named 'kiwisolver'", name="kiwisolver")

    monkeypatch.setattr(importlib, "import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="kiwisolver"):
        canvas.pyplot()


def test_what_is_not_axes_is_refused(drawing):
    with pytest.raises(InputError, match="`ax` must be axes of matplotlib; got 3"):
        canvas.axes(3, 3)


def test_panels_divide_given_axes_and_make_no_figure(drawing):
    figure, ax = drawing.subplots()
    found, panels = canvas.stack_panels(ax, [1, 2], 3)
    assert found is figure
    assert (len(panels), drawing.get_fignums()) == (2, [figure.number])
    figure.canvas.draw()
    heights = [panel.get_window_extent().height for panel in panels]
    assert heights[1] == pytest.approx(2 * heights[0])
    panels[0].set_xlim(0, 7)
    assert panels[1].get_xlim() == (0, 7)


def test_tiles_fill_rows(drawing):
    figure, panels = canvas.tile_panels(None, 5, 4, 1.0)
    figure.canvas.draw()
    tops = [round(panel.get_window_extent().y1) for panel in panels]
    assert (len(panels), len(figure.axes)) == (5, 5)
    assert len(set(tops[:4])) == 1
    assert tops[4] < tops[0]
