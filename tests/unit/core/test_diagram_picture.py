"""The path diagram: one layout for matplotlib, Graphviz and TikZ; names fit and are escaped."""

import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Ellipse, FancyArrowPatch, Rectangle

import dtstat as dt
from dtstat.core import canvas, diagram_plot
from dtstat.core.diagram import factor_diagram, written
from dtstat.core.diagram_text import to_dot, to_tikz

pytestmark = pytest.mark.usefixtures("drawing")
LOADINGS = pd.DataFrame(
    {"F1": [0.8, -0.6, 0.7, 0.0, 0.0, 0.0], "F2": [0.0, 0.0, 0.3, 0.9, 0.5, 0.0]}, list("abcdef")
)
PHI = pd.DataFrame([[1, -0.4], [-0.4, 1]], ["F1", "F2"], ["F1", "F2"])
U2 = pd.Series([0.36, 0.64, 0.5, 0.19, 0.75, 1.0], list("abcdef"))
ATTACHED = np.array([False, False, False, False, True, False])
MODEL = (
    "visual =~ x1 + x2 + x3; textual =~ x4 + x5 + x6; speed =~ x7 + x8 + x9; "
    "speed ~ visual + textual; x7 ~~ x8"
)


def laid_out(loadings=LOADINGS, Phi=PHI, u2=U2, attached=ATTACHED, **options):
    return factor_diagram(loadings, Phi, u2, attached=attached, **options)


def arrows(ax):
    """Patches by their gid."""
    found = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
    return {patch.get_gid(): patch for patch in found if patch.get_gid()}


def spots(ax):
    return {text.get_text(): text.get_position() for text in ax.texts}


def by_name(diagram):
    names = [variable.name for variable in diagram.variables]
    return dict(zip(names, diagram.boxes, strict=True))


def many(d, per_factor, length, correlation=0.5):
    p = d * per_factor
    L = np.zeros((p, d))
    L[np.arange(p), np.repeat(np.arange(d), per_factor)] = np.linspace(0.4, 0.9, p)
    L[::7, 0] = np.where(L[::7, 0] == 0, 0.25, L[::7, 0])
    names = [f"{'n' * (length - 2)}{i:02d}" for i in range(p)]
    factors = [f"F{k + 1}" for k in range(d)]
    Phi = np.full((d, d), correlation) + (1 - correlation) * np.eye(d)
    return (
        pd.DataFrame(L, names, factors),
        pd.DataFrame(Phi, factors, factors),
        pd.Series(0.5, names),
        np.zeros(p, bool),
    )


def test_one_arrow_for_each_loading_and_correlation_with_its_number():
    diagram = laid_out()
    drawn = {
        (diagram.variables[one.arrow.source].name, diagram.variables[one.arrow.target].name): one
        for one in diagram.lines
    }
    loadings = {(f, i) for f in LOADINGS for i in LOADINGS.index if LOADINGS.loc[i, f]}
    assert set(drawn) == loadings | {("F1", "F2")}
    for (source, target), line in drawn.items():
        frame = PHI if line.arrow.kind == "covariance" else LOADINGS
        assert line.arrow.value == frame.loc[target, source]
    ax = diagram_plot.draw(diagram)
    texts = [text.get_text() for text in ax.texts]
    assert {".80", "−.60", ".70", ".30", ".90", ".50", "−.40"} <= set(texts)
    assert len(arrows(ax)) == len(diagram.lines)


def test_arrows_end_on_the_edges_of_their_variables():
    diagram = laid_out()
    for line in diagram.lines:
        source, target = diagram.boxes[line.arrow.source], diagram.boxes[line.arrow.target]
        (x0, y0), (x1, y1) = line.start, line.end
        out = ((x0 - source.x) / (source.width / 2)) ** 2 + (
            (y0 - source.y) / (source.height / 2)
        ) ** 2
        assert out == pytest.approx(1)
        if line.arrow.kind == "loading":
            assert (x1, y1) == pytest.approx((target.x - target.width / 2, target.y))


def test_factors_stand_at_the_mean_height_of_their_own_items():
    boxes = by_name(laid_out())
    assert boxes["F1"].y == pytest.approx(np.mean([boxes[name].y for name in "abc"]))
    assert boxes["f"].y == min(boxes[name].y for name in "abcdef")


def test_factors_are_ellipses_items_boxes_and_cross_loadings_dashed():
    ax = diagram_plot.draw(laid_out())
    shapes = {patch.get_gid(): type(patch) for patch in ax.patches}
    assert [shapes[f"variable {k}"] for k in range(8)] == [Rectangle] * 6 + [Ellipse] * 2
    dashed = {gid for gid, one in arrows(ax).items() if one.get_linestyle() not in ("-", "solid")}
    names = [variable.name for variable in laid_out().variables]
    assert dashed == {f"loading {names.index('F2')} {names.index('c')}"}


def test_attached_items_are_dashed_and_said_to_be():
    diagram = laid_out()
    assert [v.name for v in diagram.variables if v.attached] == ["e"]
    assert "attached" in diagram.note
    assert laid_out(attached=np.zeros(6, bool)).note == ""


def test_cutoff_residuals_and_texts():
    diagram = laid_out(cutoff=0.5, residuals=True, texts={"a": "I like\nto read"})
    assert sum(line.arrow.kind == "loading" for line in diagram.lines) == 5
    residuals = {v.name: v.residual for v in diagram.variables if not v.latent}
    assert residuals == U2.to_dict()
    texts = spots(diagram_plot.draw(diagram))
    assert "I like to read" in texts
    assert {".36", ".19", "1.00"} <= set(texts)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, ".50"), (-0.4, "−.40"), (1.0, "1.00"), (-1.02, "−1.02"), (0.996, "1.00")],
)
def test_numbers_are_written_as_psychologists_do(value, text):
    assert written(value) == text


def test_weak_correlations_are_left_out_of_many_factors():
    for d, shown in ((8, 28), (9, 0)):
        diagram = laid_out(*many(d, 3, 4, correlation=0.2))
        assert sum(line.arrow.kind == "covariance" for line in diagram.lines) == shown


@pytest.mark.parametrize(("d", "per_factor"), [(1, 60), (5, 12), (8, 7), (10, 6), (20, 3)])
@pytest.mark.parametrize("length", [3, 24])
def test_no_text_overlaps_another_or_is_cut(d, per_factor, length):
    ax = diagram_plot.draw(laid_out(*many(d, per_factor, length), residuals=True))
    ax.figure.canvas.draw()
    renderer = ax.figure.canvas.get_renderer()
    found = [(t.get_text(), t.get_window_extent(renderer)) for t in ax.texts if t.get_text()]
    for i, (one, a) in enumerate(found):
        for other, b in found[:i]:
            apart = a.x1 <= b.x0 or b.x1 <= a.x0 or a.y1 <= b.y0 or b.y1 <= a.y0
            assert apart, (one, other)
    page = ax.figure.bbox
    assert all(b.x0 >= 0 and b.x1 <= page.x1 and b.y0 >= 0 and b.y1 <= page.y1 for _, b in found)
    assert min(t.get_fontsize() for t in ax.texts) >= canvas.SMALL - 0.5


def test_numbers_without_room_are_counted():
    diagram = laid_out(*many(20, 3, 3))
    missing = sum(line.spot is None for line in diagram.lines)
    assert missing
    assert f"{missing} arrows" in diagram.note


def test_given_axes_are_used_and_nothing_else_is_made(drawing):
    figure, ax = drawing.subplots()
    assert diagram_plot.draw(laid_out(), ax) is ax
    assert figure.axes == [ax]
    assert drawing.get_fignums() == [figure.number]


@pytest.fixture(scope="module")
def sem():
    return dt.sem(dt.load_dataset("holzinger_swineford_9"), MODEL)


def test_a_structural_model_has_its_paths_and_residual_covariances(sem):
    diagram = sem.path_diagram(residuals=True)
    names = [variable.name for variable in diagram.variables]
    found = {
        (names[a.source], names[a.target], a.kind): a.value
        for a in (x.arrow for x in diagram.lines)
    }
    table = sem.standardized.set_index(["lhs", "op", "rhs"])["est.std"]
    assert found["visual", "speed", "path"] == table["speed", "~", "visual"]
    assert found["textual", "speed", "path"] == table["speed", "~", "textual"]
    assert found["x7", "x8", "covariance"] == table["x7", "~~", "x8"]
    assert found["visual", "textual", "covariance"] == table["visual", "~~", "textual"]
    assert len(found) == 9 + 2 + 2
    residuals = {v.name: v.residual for v in diagram.variables}
    assert residuals["speed"] == table["speed", "~~", "speed"]
    assert residuals["visual"] is None


def test_stars_only_on_demand(sem):
    assert not any(line.arrow.mark for line in sem.path_diagram().lines)
    diagram = sem.path_diagram(stars=True)
    p = sem.standardized.set_index(["lhs", "op", "rhs"])["pvalue"]
    names = [variable.name for variable in diagram.variables]
    for line in (one for one in diagram.lines if one.arrow.kind == "loading"):
        value = p[names[line.arrow.source], "=~", names[line.arrow.target]]
        assert len(line.arrow.mark) == sum(value < level for level in (0.05, 0.01, 0.001))
    assert "p < .05" in diagram.note


def test_a_second_order_factor_stands_behind_the_first():
    model = MODEL.partition("speed ~")[0] + "g =~ visual + textual + speed"
    boxes = by_name(dt.sem(dt.load_dataset("holzinger_swineford_9"), model).path_diagram())
    assert boxes["g"].x < boxes["visual"].x < boxes["x1"].x


HOSTILE = ['a"]; v0 -> v1', r"\end{tikzpicture}%", "x$y^2_{&#~", "<b>", "日本", "new\nline"]


def hostile():
    names = list(HOSTILE)
    loadings, u2 = LOADINGS.set_axis(names), U2.set_axis(names)
    return laid_out(loadings, PHI, u2, texts={names[0]: 'say "hi" \\ $5'}, residuals=True)


def test_dot_quotes_names_and_has_every_arrow():
    text = to_dot(hostile())
    # Outside of quoted strings, where a quote that is escaped does not end one, no name is left.
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
    assert "日本" not in bare
    assert "tikzpicture" not in bare
    assert bare.count("->") == len(re.findall(r"^\s*\w+ -> \w+ ?(\[|;)", bare, re.M))
    for line in hostile().lines:
        assert f"v{line.arrow.source} ->" in text
    if shutil.which("dot"):
        done = subprocess.run(["dot", "-Tplain"], input=text, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_tikz_escapes_names_and_has_every_arrow():
    text = to_tikz(hostile())
    assert text.count(r"\end{tikzpicture}") == 1
    assert text.rstrip().endswith(r"\end{tikzpicture}")
    assert r"\textbackslash{}end\{tikzpicture\}\%" in text
    assert r"x\$y\textasciicircum{}2\_\{\&\#\textasciitilde{}" in text
    assert text.count(r"\draw[") + text.count(r"\draw[fill") >= len(hostile().lines) + 8
    depth = 0
    for mark in re.findall(r"(?<!\\)[{}]", text):
        depth += 1 if mark == "{" else -1
        assert depth >= 0
    assert depth == 0


def test_results_write_their_diagrams_with_the_options_of_plot(sem):
    fit = dt.fit(dt.load_dataset("holzinger_swineford_9"))
    for result in (fit, sem, dt.efa(dt.load_dataset("holzinger_swineford_9"), 3)):
        assert result.to_dot(residuals=True).startswith("digraph")
        assert result.to_tikz(cutoff=0.4).startswith(r"\begin{tikzpicture}")
        with pytest.raises(dt.InputError, match="options of to_dot"):
            result.to_dot(cutof=0.3)
