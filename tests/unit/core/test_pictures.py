"""Pictures of results show what the results say."""

import functools
import importlib

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import dtstat as dt

pytestmark = [
    pytest.mark.usefixtures("drawing"),
    pytest.mark.filterwarnings("ignore::dtstat.DTWarning"),
]
NINE = dt.load_dataset("holzinger_swineford_9")
MANY = dt.load_dataset("holzinger_swineford_26")
KINDS = {
    "diagram": Axes,
    "tree": Axes,
    "dependence": Axes,
    "path": Figure,
    "barcode": Axes,
    "margin": Axes,
    "curves": Figure,
    "residuals": Axes,
    "loadings": Axes,
}


@functools.cache
def nine(**options):
    return dt.fit(NINE, **options)


@functools.cache
def many(**options):
    return dt.fit(MANY, **options)


@functools.cache
def no_factor():
    X = np.random.default_rng(3).normal(size=(300, 8))
    return dt.fit(pd.DataFrame(X, columns=[f"x{i}" for i in range(8)]))


def cells(ax):
    return np.ma.filled(ax.collections[0].get_array(), np.nan)


def rows(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def stairs(ax):
    (patch,) = [p for p in ax.patches if hasattr(p, "get_data")]
    return patch.get_data()


def at(data, places):
    """Heights of steps at places."""
    return data.values[np.searchsorted(data.edges, places, side="right") - 1]


def printed_order(fit):
    """Items as in the printed table of loadings."""
    L = fit.loadings.abs()
    strongest = L.to_numpy().argmax(axis=1)
    return list(L.assign(k=strongest, m=-L.max(axis=1)).sort_values(["k", "m"]).index)


# All kinds of a fit


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_returns_what_it_drew_on(kind):
    assert isinstance(nine().plot(kind), KINDS[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_given_axes_are_used_and_no_figure_is_made(kind, drawing):
    figure, (ax, other) = drawing.subplots(2)
    made = nine().plot(kind, ax=ax)
    assert made is (figure if KINDS[kind] is Figure else ax)
    assert figure.axes == [ax, other]
    assert drawing.get_fignums() == [figure.number]
    assert not other.has_data()
    figure.canvas.draw()


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_is_smaller_than_eight_points(kind, drawing):
    from matplotlib.text import Text

    nine().plot(kind)
    sizes = {t.get_fontsize() for t in drawing.gcf().findobj(Text) if t.get_text()}
    assert min(sizes) >= 8


@pytest.mark.parametrize("kind", ["dependence", "path", "barcode", "residuals"])
def test_without_factors_there_is_still_something_to_see(kind):
    assert no_factor().n_factors == 0
    assert isinstance(no_factor().plot(kind), KINDS[kind])


@pytest.mark.parametrize("kind", ["diagram", "tree", "margin", "curves", "loadings"])
def test_without_factors_the_error_says_what_to_see_instead(kind):
    with pytest.raises(dt.InputError, match=r"There is no factor .* see plot\('path'\)"):
        no_factor().plot(kind)


def test_unknown_kinds_and_options_are_refused():
    with pytest.raises(dt.InputError, match=r"`kind` must be .* Did you mean 'diagram'"):
        nine().plot("diagran")
    with pytest.raises(dt.InputError, match=r"got 'cutof'\. Did you mean 'cutoff'"):
        nine().plot("diagram", cutof=0.3)
    with pytest.raises(dt.InputError, match=r"plot\('path'\) has no options; got `cutoff`"):
        nine().plot("path", cutoff=0.3)
    with pytest.raises(dt.InputError, match=r"`cutoff` must be a number in \[0, 1\]"):
        nine().plot(cutoff=3)


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    known = importlib.import_module

    def missing(name, *args):
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError(f"No module named {name!r}", name="matplotlib")
        return known(name, *args)

    monkeypatch.setattr(importlib, "import_module", missing)
    for kind in KINDS:
        with pytest.raises(dt.MissingExtraError, match=r"dtstat\[plot\]"):
            nine().plot(kind)


# What they show


def loading_arrows(ax):
    return [patch for patch in ax.patches if (patch.get_gid() or "").startswith("loading")]


def test_diagram_draws_the_loadings_of_at_least_the_cutoff():
    for cutoff in (0.0, 0.6):
        expected = many().loadings.abs().to_numpy()
        count = ((expected > 0) & (expected >= cutoff)).sum()
        assert len(loading_arrows(many().plot(cutoff=cutoff))) == count


def test_diagram_shows_attached_items_dashed():
    ax = many().plot()
    heights = {t.get_text(): t.get_position()[1] for t in ax.texts}
    boxes = [one for one in ax.patches if (one.get_gid() or "").startswith("variable")]
    dashed = [one for one in boxes if one.get_linestyle() not in ("-", "solid")]
    expected = sorted(heights[name] for name in many().attached_items)
    assert sorted(one.get_y() + one.get_height() / 2 for one in dashed) == pytest.approx(expected)
    assert expected


def test_dependence_is_ordered_as_printed_with_thresholds_of_the_factors():
    ax = many().plot("dependence")
    order = printed_order(many())
    assert rows(ax) == order
    R = pd.DataFrame(many().dependence.strength, MANY.columns, MANY.columns).loc[order, order]
    off = ~np.eye(len(R), dtype=bool)
    np.testing.assert_array_equal(cells(ax)[off], R.to_numpy()[off])
    beside = sorted(tuple(i.get_ydata()) for i in ax.child_axes[0].lines if i.get_xdata()[0] > 1)
    known = many().factors
    assert beside == sorted(zip(known["from"], known["to"], strict=True))


def chosen(fit):
    """Thresholds of the chosen structure, from the text of its origin."""
    low = fit.candidates["origin"].iloc[0].removeprefix("threshold ")
    (one,) = [c for c in fit.path.candidates if f"{c.tau_low:.3f}" == low]
    return one.tau_low, one.tau_high


def test_the_one_threshold_is_marked_on_the_colour_bar():
    ax = many(search="threshold").plot("dependence")
    low, high = chosen(many(search="threshold"))
    lines = [tuple(line.get_ydata()) for line in ax.child_axes[0].lines]
    assert lines == [(low, low), (low, high)]


def test_path_panels_are_the_scores():
    scores = many().path_scores()
    strip, factors, loadings, criterion = many().plot("path").axes
    for ax, column in ((factors, "n_factors"), (loadings, "n_loadings"), (criterion, "ebic")):
        np.testing.assert_array_equal(at(stairs(ax), scores["tau_low"]), scores[column])
    between = stairs(factors).values.sum() - scores["n_factors"].sum()
    assert between == 0  # no factors where the path has no structure
    ends = [(p.get_x(), p.get_x() + p.get_width()) for p in strip.patches]
    np.testing.assert_allclose(ends, many().factors[["from", "to"]])
    assert [set(line.get_ydata()) for line in criterion.lines] == [
        {many().candidates["cost"].iloc[0]}
    ]


def test_the_chosen_threshold_is_shaded_where_the_criterion_is_smallest():
    fit = many(search="threshold")
    figure = fit.plot("path")
    assert len(figure.axes) == 3
    (span,) = [p for p in figure.axes[0].patches if not hasattr(p, "get_data")]
    box = span.get_extents().transformed(figure.axes[0].transData.inverted())
    assert (box.x0, box.x1) == pytest.approx(chosen(fit))
    scores = fit.path_scores()
    assert scores.loc[scores["ebic"].idxmin(), "tau_low"] == pytest.approx(box.x0)


def test_between_thresholds_of_a_grid_nothing_is_claimed():
    values = stairs(nine(search="threshold", thresholds=20).plot("path").axes[0]).values
    assert np.isnan(values).any()


@pytest.mark.parametrize("max_bars", [3, 30])
def test_barcode_shows_the_longest_lived_and_always_those_of_the_factors(max_bars):
    ax = many().plot("barcode", max_bars=max_bars)
    bars = many().path.barcode()
    ends = [(p.get_x(), p.get_x() + p.get_width()) for p in ax.patches]
    dark = [p.get_facecolor() for p in ax.patches]
    named = [name.partition(":")[0] for name in rows(ax) if ":" in name]
    assert sorted(named) == list(many().factor_names)
    blue = {round(e[0], 9) for e, c in zip(ends, dark, strict=True) if c[0] < 0.3}
    assert blue == {round(v, 9) for v in many().factors["from"]}
    if max_bars >= len(bars):
        np.testing.assert_allclose(ends, np.column_stack([bars.births, bars.deaths]))


def test_margin_is_that_of_the_diagnosis():
    diagnosis = dt.diagnose(many())
    margin = diagnosis.margin
    for ax in (many().plot("margin"), diagnosis.plot()):
        (span,) = ax.patches
        box = span.get_extents().transformed(ax.transData.inverted())
        pairs = margin.weakest_edge.value, margin.strongest_non_edge.value
        assert (box.y0, box.y1) == pytest.approx(sorted(pairs))
        text = " ".join(t.get_text() for t in ax.get_legend().get_texts())
        assert str(margin.weakest_edge) in text
        assert str(margin.strongest_non_edge) in text
        pairs = diagnosis.pairs
        for line, shares in zip((ax.lines[0], ax.lines[2]), (True, False), strict=True):
            values = pairs.loc[pairs["share_factor"] == shares, "dependence"]
            np.testing.assert_array_equal(line.get_ydata(), values)


def test_curves_are_the_response_curves():
    fit = nine(estimator="spline", seed=1)
    curves = fit.response_curves()
    figure = fit.plot("curves", items=["x5", "x1"])
    for ax, item in zip(figure.axes, ["x5", "x1"], strict=True):
        own = curves[curves["item"] == item]
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), own["value"])
        corners = ax.collections[0].get_paths()[0].vertices
        assert corners[:, 1].max() == pytest.approx(own["upper"].max())
        assert corners[:, 1].min() == pytest.approx(own["lower"].min())


def test_curves_of_a_factor_are_those_of_its_items():
    titles = [ax.get_title(loc="left") for ax in nine().plot("curves", factors="F2").axes]
    assert {title.split()[0] for title in titles} == {"x4", "x5", "x6"}
    assert len(nine().plot("curves").axes) == 9
    with pytest.raises(dt.InputError, match="`items` must be a known name; got 'x99'"):
        nine().plot("curves", items=["x99"])
    with pytest.raises(dt.InputError, match="None of these items"):
        nine().plot("curves", items="x1", factors="F2")
    with pytest.raises(dt.InputError, match="names nothing"):
        nine().plot("curves", items=[])


def test_residuals_and_loadings_are_those_of_the_fit():
    order = printed_order(many())
    residuals = many().residuals().loc[order, order].to_numpy()
    off = ~np.eye(len(order), dtype=bool)
    np.testing.assert_array_equal(cells(many().plot("residuals"))[off], residuals[off])
    ax = many().plot("loadings")
    loadings = many().loadings.loc[order]
    np.testing.assert_array_equal(cells(ax), loadings.replace(0, np.nan))
    assert rows(ax) == [n + "+" if n in many().attached_items else n for n in order]


# Other results


def test_a_path_without_a_choice():
    path = many().path
    figure = path.plot()
    frame = path.to_frame()
    for ax, column in zip(figure.axes, ["n_factors", "n_edges", "n_covered"], strict=True):
        np.testing.assert_array_equal(at(stairs(ax), frame["tau_low"]), frame[column])
    assert len(path.plot("barcode", max_bars=7).patches) == 7
    ax = path.plot("dependence", threshold=0.42)
    assert len([p for p in ax.patches if p.get_linestyle() == "-"]) == path.at(0.42).n_factors
    assert sorted(rows(ax)) == sorted(MANY.columns)
    assert ax.child_axes[0].lines[0].get_ydata()[0] == 0.42
    assert not path.plot("dependence").patches


def test_similar_items_are_neighbors_in_the_map_of_a_path():
    ax = nine().path.plot("dependence")
    groups = [name in ("x4", "x5", "x6") for name in rows(ax)]
    assert np.abs(np.diff(np.array(groups).astype(int))).sum() <= 2  # together


def test_an_empty_path_says_so():
    path = dt.solution_path(dt.DependenceMatrix.from_matrix(np.eye(4)))
    for kind in ("path", "barcode"):
        with pytest.raises(dt.InputError, match="No threshold gives a factor"):
            path.plot(kind)
    assert isinstance(path.plot("dependence"), Axes)


def test_diagnosis_draws_the_margins_of_its_factors():
    diagnosis = dt.diagnose(nine(), NINE, n_boot=20, seed=1)
    ax = diagnosis.plot("factors")
    ends = sorted(tuple(s[:, 0]) for c in ax.collections for s in c.get_segments())
    known = diagnosis.factors
    assert ends == sorted(zip(known["core_lower"], known["core_upper"], strict=True))
    assert rows(ax) == list(known["factor"])


def test_stability_draws_shares_numbers_and_sizes():
    stability = dt.stability(NINE, n_boot=8, seed=5)
    order = printed_order(stability.fit)
    ax = stability.plot()
    np.testing.assert_array_equal(cells(ax), stability.memberships.loc[order])
    assert rows(ax) == order
    heights = [p.get_height() for p in stability.plot("n_factors").patches]
    np.testing.assert_allclose(heights, 100 * stability.n_factors["share"])
    drawn = stability.plot("sizes").lines[0]
    assert list(drawn.get_ydata()) == stability.sizes["f1"].tolist()
    with pytest.raises(dt.InputError, match="Known: items, n_factors, sizes"):
        stability.plot("zzz")


def test_plan_draws_its_curves():
    plan = dt.plan(n_factors=3, n_draws=40, seed=1)
    curves = plan.curves()
    for target in ("graph", "factors", "fit"):
        ax = plan.plot(target=target)
        own = curves[curves["target"] == target]
        for method in own["method"].unique():
            expected = own.loc[own["method"] == method, "error"].tolist()
            assert expected in [list(line.get_ydata()) for line in ax.lines]
    assert plan.plot().get_title(loc="left").startswith("Every factor is seen")
    with pytest.raises(dt.InputError, match="`target` must be"):
        plan.plot(target="nothing")
    with pytest.raises(dt.InputError, match="Plan with simulations"):
        dt.plan(n_factors=3, n_draws=0).plot(target="fit")


def test_parallel_analysis_draws_its_scree():
    parallel = dt.parallel_analysis(NINE, seed=1)
    ax = parallel.plot()
    drawn = [list(line.get_ydata()) for line in ax.lines]
    for column in parallel.to_frame():
        assert parallel.to_frame()[column].tolist() in drawn
    assert f"{parallel.n_factors} factors" in ax.get_title(loc="left")


def test_efa_and_cfa_draw_their_models():
    efa = dt.efa(NINE, 3)
    shown = np.abs(efa.loadings.to_numpy()) >= 0.3
    assert len(efa.plot().texts) == shown.sum()
    assert len(loading_arrows(efa.plot("diagram"))) == shown.sum()
    cfa = dt.cfa(NINE, nine().structure)
    assert len(loading_arrows(cfa.plot())) == 9
    order = printed_order(cfa)
    np.testing.assert_array_equal(
        cells(cfa.plot("loadings")), cfa.loadings.loc[order].replace(0, np.nan)
    )
    off = ~np.eye(9, dtype=bool)
    residuals = cfa.residuals().loc[order, order].to_numpy()
    np.testing.assert_array_equal(cells(cfa.plot("residuals"))[off], residuals[off])
    with pytest.raises(dt.InputError, match="Known: diagram, loadings"):
        efa.plot("zzz")


def test_models_with_regressions_are_drawn():
    model = "v =~ x1 + x2 + x3; t =~ x4 + x5 + x6; s =~ x7 + x8; g =~ v + t + s; x9 ~ g"
    cfa = dt.sem(NINE, model)
    for kind in ("diagram", "loadings", "residuals"):
        cfa.plot(kind).figure.canvas.draw()
