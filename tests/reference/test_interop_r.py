"""R in this process, through rpy2: values there and back, and R's models beside ours."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from requirement import require

import dtstat as dt
from dtstat.interop import r

pytestmark = pytest.mark.against_r

HS = "visual =~ x1 + x2 + x3; textual =~ x4 + x5 + x6; speed =~ x7 + x8 + x9"
LAVAAN_CLOSE = 1e-4  # lavaan stops its search at changes of about 1e-6 of the parameters
KEY = ["lhs", "op", "rhs"]


@pytest.fixture(scope="module")
def ro():
    """rpy2's upper interface, to make values of R."""
    needed = ("psych", "lavaan", "GPArotation")
    require(r.r_available(*needed), f"rpy2, and R with {', '.join(needed)}")
    from rpy2 import robjects

    return robjects


@pytest.fixture(scope="module")
def nine():
    return dt.load_dataset("holzinger_swineford_9")


@pytest.fixture(scope="module")
def bfi(ro):
    return r.r_dataset("psych", "bfi")


def truth(ro, code, value):
    """Whether an R predicate holds of a value that was sent there."""
    return bool(ro.r(code)(r.to_r(value))[0])


# Data sets ------------------------------------------------------------------------------------


def test_bfi_arrives_with_its_gaps(bfi):
    items = bfi.iloc[:, :25]
    assert bfi.shape == (2800, 28)
    assert int(items.isna().to_numpy().sum()) == 508
    assert items.min().min() == 1
    assert items.max().max() == 6
    assert round(items["A1"].corr(items["A2"]), 3) == -0.340
    assert bfi.index[:3].tolist() == [61617, 61618, 61620]


def test_a_published_matrix_is_a_data_set(ro):
    thurstone = r.r_dataset("psych", "Thurstone")
    assert thurstone.index.tolist() == thurstone.columns.tolist()
    assert thurstone.loc["Sentences", "Vocabulary"] == 0.828


def test_unknown_data_sets(ro):
    with pytest.raises(dt.InputError, match=r"no data set 'bif' .* Did you mean 'bfi'"):
        r.r_dataset("psych", "bif")
    with pytest.raises(dt.InputError, match="is neither a data frame nor a matrix"):
        r.r_dataset("datasets", "Harman74.cor")
    with pytest.raises(dt.InputError, match="r-cran-nosuch"):
        r.r_dataset("noSuch", "bfi")


def test_packages_are_looked_for(ro):
    assert r.r_available("stats", "psych")
    assert not r.r_available("stats", "noSuchPackage")


# From R ---------------------------------------------------------------------------------------

COLUMNS = {
    "c(1L, NA, 3L)": pd.Series([1.0, np.nan, 3.0]),
    "1:3": pd.Series([1, 2, 3]),
    "c(1.5, NA, NaN, Inf)": pd.Series([1.5, np.nan, np.nan, np.inf]),
    "c(TRUE, NA, FALSE)": pd.Series([True, None, False], dtype="boolean"),
    "c(TRUE, FALSE)": pd.Series([True, False]),
    "c('a', NA, 'NA', '')": pd.Series(["a", None, "NA", ""]),
    "iconv('\\u00fcber', 'UTF-8', 'latin1')": pd.Series(["über"]),
    "factor(c('b', NA, 'a'), levels = c('b', 'a', 'z'))": pd.Series(
        pd.Categorical(["b", None, "a"], ["b", "a", "z"])
    ),
    "ordered(c('lo', 'hi', NA), levels = c('lo', 'hi'))": pd.Series(
        pd.Categorical(["lo", "hi", None], ["lo", "hi"], ordered=True)
    ),
    "factor(c('b', NA, 'a'), levels = c(NA, 'b', 'a'), exclude = NULL)": pd.Series(
        pd.Categorical(["b", None, "a"], ["b", "a"])
    ),
    "addNA(factor(c('b', NA, 'a')))": pd.Series(pd.Categorical(["b", None, "a"])),
    "c(a = 1, b = NA)": pd.Series([1.0, np.nan], index=["a", "b"]),
    "table(c('u', 'v', 'u'))": pd.Series([2, 1], index=["u", "v"]),
    "numeric(0)": pd.Series([], dtype=float),
    "character(0)": pd.Series([], dtype=pd.Series([""]).dtype),
    "I(c(2L, NA))": pd.Series([2.0, np.nan]),
    "structure(c(1, 2, 9, 98), labels = c(no = 9), na_values = 9, na_range = c(97, Inf), class = "
    "c('haven_labelled_spss', 'haven_labelled', 'vctrs_vctr', 'double'))": pd.Series(
        [1.0, 2.0, np.nan, np.nan]
    ),
    "structure(c(1L, NA), labels = c(no = 1L), class = c('haven_labelled', 'vctrs_vctr', "
    "'integer'))": pd.Series([1.0, np.nan]),
}


@pytest.mark.parametrize("code", COLUMNS)
def test_vectors(ro, code):
    pd.testing.assert_series_equal(r.from_r(ro.r(code)), COLUMNS[code])


@pytest.mark.parametrize("code", [c for c in COLUMNS if "table" not in c and "(0)" not in c])
def test_columns(ro, code):
    frame = r.from_r(ro.r(f"structure(list(`a b` = unname({code})), class = 'data.frame', "
                          f"row.names = seq_along({code}))"))  # fmt: skip
    expected = COLUMNS[code].reset_index(drop=True)
    pd.testing.assert_series_equal(frame["a b"].reset_index(drop=True), expected, check_names=False)


def test_frames_with_odd_names_and_sizes(ro):
    odd = r.from_r(ro.r("data.frame(`A 1` = 1L, `über_漢` = 'x', if. = NA, check.names = FALSE)"))
    assert odd.columns.tolist() == ["A 1", "über_漢", "if."]
    assert odd.iloc[0].tolist()[:2] == [1, "x"]
    assert odd["if."].isna().all()
    empty = r.from_r(ro.r("data.frame(a = integer(0), b = character(0))"))
    assert (empty.shape, empty.columns.tolist()) == ((0, 2), ["a", "b"])
    assert r.from_r(ro.r("data.frame()")).shape == (0, 0)
    assert r.from_r(ro.r("data.frame(a = 1:4)[, FALSE]")).shape == (4, 0)
    twice = r.from_r(ro.r("data.frame(a = 1, a = 2, check.names = FALSE)"))
    assert twice.columns.tolist() == ["a", "a"]
    assert r.from_r(ro.r("mtcars[2, ]")).index.tolist() == ["Mazda RX4 Wag"]


def test_a_tibble_of_labelled_columns(ro):
    require(r.r_available("haven", "tibble"), "R with haven and tibble")
    made = "tibble::tibble(q = haven::labelled_spss(c(1L, 9L), c(none = 9L), na_values = 9L))"
    assert r.from_r(ro.r(made))["q"].tolist()[0] == 1
    assert r.from_r(ro.r(made))["q"].isna().tolist() == [False, True]


def test_matrices(ro):
    named = r.from_r(ro.r("matrix(c(1L, NA, 3:6), 2, dimnames = list(c('a', 'b'), NULL))"))
    assert named.loc["a"].tolist() == [1, 3, 5]
    assert np.isnan(named.loc["b", 0])
    assert named.columns.tolist() == [0, 1, 2]
    text = r.from_r(ro.r("matrix(c('a', NA), 1, dimnames = list(NULL, c('u', 'v')))"))
    assert text.isna().to_numpy().tolist() == [[False, True]]
    assert r.from_r(ro.r("matrix(0, 0, 3)")).shape == (0, 3)
    assert r.from_r(ro.r("matrix(0, 3, 0)")).shape == (3, 0)


def test_lists(ro):
    assert r.from_r(ro.r("NULL")) is None
    named = r.from_r(ro.r("list(a = 1:2, b = list('x', NULL))"))
    assert named["a"].tolist() == [1, 2]
    assert named["b"][0].tolist() == ["x"]
    assert named["b"][1] is None
    assert [part.tolist() for part in r.from_r(ro.r("list(1, a = 2)"))] == [[1], [2]]
    assert r.from_r(ro.r("list()")) == []


@pytest.mark.parametrize(
    ("code", "r_class"),
    [
        ("data.frame(day = Sys.Date())", "Date"),
        ("data.frame(day = Sys.time())", "POSIXct"),
        ("data.frame(day = Sys.time() - Sys.time())", "difftime"),
        ("data.frame(day = I(list(1)))", "list"),
        ("data.frame(day = I(matrix(1:2, 1)))", "matrix"),
        ("structure(list(day = structure(1, class = 'integer64')), class = 'data.frame', "
         "row.names = 1L)", "integer64"),
        ("data.frame(day = 1i)", "complex"),
    ],
)  # fmt: skip
def test_columns_without_a_counterpart(ro, code, r_class):
    with pytest.raises(dt.InputError, match=f"^Column 'day' holds values of R's class '{r_class}'"):
        r.from_r(ro.r(code))


@pytest.mark.parametrize(
    ("code", "r_class"),
    [("function(x) x", "function"), ("as.POSIXlt(0, origin = '1970-01-01')", "POSIXlt"),
     ("globalenv()", "environment"), ("array(1, c(1, 1, 1))", "array"), ("quote(a)", "call")],
)  # fmt: skip
def test_values_without_a_counterpart(ro, code, r_class):
    with pytest.raises(dt.InputError, match=f"A value of R's class '{r_class}'"):
        r.from_r(ro.r(code))


def test_a_call_inside_a_list_is_not_run(ro):
    with pytest.raises(dt.InputError, match="class 'call'"):
        r.from_r(ro.r("list(quote(assign('was_run', TRUE, globalenv())))"))
    assert not ro.r("exists('was_run')")[0]


def test_text_in_an_unknown_encoding_is_refused(ro):
    with pytest.raises(dt.InputError, match=r"iconv\(\)"):
        r.from_r(ro.r("rawToChar(as.raw(0xfc))"))


def test_what_is_no_value_of_r(ro):
    with pytest.raises(dt.InputError, match="got DataFrame"):
        r.from_r(pd.DataFrame())


# To R, and back -------------------------------------------------------------------------------


def random_column(rng, n):
    """A column of a random type with random gaps, as pandas would hold it."""
    gaps = rng.random(n) < rng.choice([0, 0.3, 1])
    letters = np.array(["a", "NA", "", "über 漢", "x y", "TRUE", "1"], dtype=object)
    kind = rng.integers(6)
    if kind == 0:
        special = [0.0, -0.0, np.inf, 5e-324, 1 / 3]
        values = np.where(rng.random(n) < 0.3, rng.choice(special, n), rng.normal(size=n))
        return pd.Series(np.where(gaps, np.nan, values))
    if kind == 1:
        return pd.Series(rng.integers(-(2**31) + 1, 2**31, n))
    if kind == 2:
        return pd.Series(rng.random(n) < 0.5)
    if kind == 3:
        mask = gaps if gaps.any() else np.ones(n, dtype=bool)
        values = pd.arrays.BooleanArray(rng.random(n) < 0.5, mask)
        return pd.Series(values) if n else pd.Series(np.empty(0, dtype=bool))
    texts = np.where(gaps, None, rng.choice(letters, n))
    if kind == 4:
        return pd.Series(texts, dtype=pd.Series([""]).dtype)
    levels = rng.permutation(letters)
    return pd.Series(pd.Categorical(texts, levels, ordered=bool(rng.random() < 0.5)))


def random_index(rng, n):
    names = [f"{name} {k}" for k, name in enumerate(rng.choice(["r", "ü"], n))]
    choices = [pd.RangeIndex(n), pd.Index(rng.permutation(n) + 7), pd.Index(np.arange(n) + 1)]
    return [*choices, pd.Index(names)][rng.integers(4)] if n else pd.RangeIndex(0)


def random_frame(rng):
    n, p = int(rng.choice([0, 1, 2, 17])), int(rng.integers(0, 6))
    frame = pd.DataFrame({k: random_column(rng, n) for k in range(p)}, index=pd.RangeIndex(n))
    names = rng.permutation(["a", "A 1", "über_漢", "if", "", "my.item"])[:p]
    frame.columns = pd.Index(names, dtype=pd.Series([""]).dtype)
    return frame.set_index(random_index(rng, n))


@pytest.mark.newest  # before pandas 3 a column of text that has no text does not say what it is
@pytest.mark.parametrize("seed", range(10))
def test_random_frames_come_back_exactly(ro, seed):
    rng = np.random.default_rng(seed)
    for _ in range(40):
        frame = random_frame(rng)
        back = r.from_r(r.to_r(frame))
        pd.testing.assert_frame_equal(
            back, frame, check_exact=True, check_index_type="equiv", check_categorical=True
        )
        signs = [np.copysign(1, t.select_dtypes("float").fillna(1)) for t in (back, frame)]
        pd.testing.assert_frame_equal(*signs)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, None], dtype="Int64"),
        pd.Series([1.5, None]),
        pd.Series([1.5, None], dtype="Float64"),
        pd.Series([True, None], dtype="boolean"),
        pd.Series([True, None], dtype=object),
        pd.Series([3, None], dtype=object),
        pd.Series(["a", None]),
        pd.Series(["a", None], dtype=object),
        pd.Series(["a", None], dtype="string"),
        pd.Series([2**40, None], dtype="Int64"),
        pd.Series(["a", None], dtype="category"),
        pd.Series([1, None], dtype="category"),
    ],
)
def test_gaps_are_na_and_nothing_else(ro, column):
    one_gap = "function(x) identical(is.na(x$c), c(FALSE, TRUE))"
    assert truth(ro, one_gap, pd.DataFrame({"c": column}))
    assert truth(ro, "function(x) !is.double(x$c) || !is.nan(x$c[2])", pd.DataFrame({"c": column}))


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, "is.null"),
        (True, "isTRUE"),
        (3, "function(x) identical(x, 3L)"),
        (2**40, "function(x) identical(x, 2^40)"),
        (2.5, "function(x) identical(x, 2.5)"),
        (np.float64(2.5), "function(x) identical(x, 2.5)"),
        ("ü", "function(x) identical(x, '\\u00fc')"),
        (["a", None], "function(x) identical(x, c('a', NA))"),
        ([1, 2.5], "function(x) identical(x, c(1, 2.5))"),
        ([], "function(x) identical(x, list())"),
        ({"a": 1, "b": ["x"]}, "function(x) identical(x, list(a = 1L, b = 'x'))"),
        ([[1], "a"], "function(x) identical(x, list(1L, 'a'))"),
        (np.arange(6).reshape(2, 3), "function(x) identical(x, matrix(c(0:5), 2, byrow = TRUE))"),
        (np.array([[1.0, np.nan]]), "function(x) identical(x, matrix(c(1, NA), 1))"),
        (np.array([[True, False]]), "function(x) identical(x, matrix(c(TRUE, FALSE), 1))"),
        (pd.Series([1, 2], index=["a", "b"]), "function(x) identical(x, c(a = 1L, b = 2L))"),
        (pd.DataFrame({"a b": [1]}),
         "function(x) identical(x, data.frame(`a b` = 1L, check.names = FALSE))"),
        (pd.DataFrame(), "function(x) identical(dim(x), c(0L, 0L)) && is.data.frame(x)"),
        (pd.DataFrame({"q": pd.Categorical([2, 1], [2, 1], ordered=True)}),
         "function(x) identical(x$q, ordered(c('2', '1'), levels = c('2', '1')))"),
    ],
)  # fmt: skip
def test_values_in_r(ro, value, code):
    assert truth(ro, code, value)


def test_structures_and_matrices_in_r(ro, nine):
    structure = dt.Structure.from_keys({"A": ["x1", "x2"], "B": ["x3"]})
    assert truth(ro, "function(x) identical(x, list(A = c('x1', 'x2'), B = 'x3'))", structure)
    matrix = dt.dependence(nine, "pearson")
    back = r.from_r(r.to_r(matrix))
    pd.testing.assert_frame_equal(back, matrix.to_frame(), check_exact=True)
    keyed = ro.r("function(keys, x) psych::scoreItems(keys, x)$alpha")
    alphas = keyed(r.to_r(dt.fit(nine)), r.to_r(nine))
    assert len(alphas) == 3
    assert round(alphas[1], 2) == 0.88


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}), "Column 'a' holds values of type"),
        (pd.DataFrame({"a": [1, "x"]}, dtype=object), "Column 'a' holds values of type mixed"),
        (pd.DataFrame({"a": [1j]}), "complex"),
        (pd.DataFrame({"a": [2**60]}), "more than 15 digits"),
        (pd.DataFrame({"a": ["b\0c"]}), "holds a character that R cannot take"),
        (pd.DataFrame({"a": pd.Series(["\ud800"], dtype=object)}), "holds a character"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a' occurs twice"),
        (pd.DataFrame({"a": [1, 2]}, index=[0, 0]), "reset_index"),
        (pd.DataFrame({"a": pd.Categorical([1, "1"])}), "two categories of the same text"),
        (np.zeros((1, 1, 1)), "one or two dimensions"),
        (object(), "no counterpart in R"),
    ],
)
def test_what_r_cannot_take(ro, value, words):
    with pytest.raises(dt.InputError, match=words):
        r.to_r(value)


def test_converters_that_others_activated_play_no_part(ro):
    from rpy2.robjects import conversion, pandas2ri

    with conversion.localconverter(ro.default_converter + pandas2ri.converter):
        made = r.to_r(pd.DataFrame({"a": pd.Series([1, None], dtype="Int64")}))
        assert r.from_r(made)["a"].isna().tolist() == [False, True]


# Models ---------------------------------------------------------------------------------------


def by_parameter(table):
    return table.set_index(KEY).sort_index()


@pytest.mark.parametrize("options", [{}, {"estimator": "mlr"}, {"std_lv": True}])
def test_lavaan_equals_cfa(ro, nine, options):
    ours = dt.cfa(nine, HS, **options)
    theirs = r.lavaan_cfa(ours, nine)
    columns = ["est", "se", "std.lv", "std.all"]
    a, b = by_parameter(ours.parameters)[columns], by_parameter(theirs.parameters)[columns]
    pd.testing.assert_frame_equal(a, b.loc[a.index], rtol=0, atol=LAVAAN_CLOSE)
    assert (theirs.n_obs, theirs.converged, theirs.warnings) == (301, True, ())
    for name in ("chisq", "df", "cfi", "rmsea", "srmr", "bic"):
        assert ours.fit_measures[name] == pytest.approx(theirs.fit_measures[name], abs=1e-3)
    for name in ("loadings", "factor_correlations"):
        pd.testing.assert_frame_equal(
            getattr(ours, name), getattr(theirs, name), rtol=0, atol=LAVAAN_CLOSE
        )
    np.testing.assert_allclose(ours.uniquenesses, theirs.uniquenesses, atol=LAVAAN_CLOSE)
    assert r.compare(ours, theirs).mean_congruence > 0.99999


def test_the_text_of_a_model_and_options(ro, nine):
    theirs = r.lavaan_cfa(HS, nine, std_lv=True)
    table = by_parameter(theirs.parameters)
    assert table.loc[("visual", "~~", "visual"), "est"].item() == 1
    assert table.loc[("visual", "=~", "x1"), "est"].item() == pytest.approx(0.900, abs=1e-3)
    assert repr(theirs) == "RModel: 3 factors, 9 items, 301 rows, by lavaan"


def test_ordered_items_with_gaps(ro, bfi):
    items = bfi.iloc[:, :10]
    ours = dt.cfa(items, "A =~ A1 + A2 + A3 + A4; C =~ C1 + C2 + C3", ordered=True)
    theirs = r.lavaan_cfa(ours, items)
    assert ours.n_obs == theirs.n_obs
    np.testing.assert_allclose(
        ours.loadings, theirs.loadings.loc[ours.loadings.index], atol=LAVAAN_CLOSE
    )


def test_rows_with_gaps(ro, bfi):
    items = bfi.iloc[:400, :5]
    ours = dt.cfa(items, "A =~ A1 + A2 + A3 + A4 + A5", missing="fiml")
    theirs = r.lavaan_cfa(ours, items)
    assert (ours.n_obs, ours.n_obs > len(items.dropna())) == (theirs.n_obs, True)
    np.testing.assert_allclose(ours.loadings, theirs.loadings, atol=1e-3)


def test_names_that_lavaan_cannot_write(ro, nine):
    names = {f"x{k}": f"item {k}: über?" for k in range(1, 10)}
    plain, odd = dt.fit(nine), dt.fit(nine.rename(columns=names))
    theirs = r.lavaan_cfa(odd, nine.rename(columns=names))
    assert theirs.loadings.index.tolist() == list(names.values())
    assert set(theirs.parameters["rhs"]) == {*names.values(), "F1", "F2", "F3"}
    reference = r.lavaan_cfa(plain.structure, nine)
    np.testing.assert_array_equal(theirs.loadings, reference.loadings)
    assert r.compare(odd, theirs).mean_congruence > 0.99


def test_a_matrix_instead_of_answers(ro, nine):
    matrix = dt.dependence(nine, "pearson")
    theirs = r.lavaan_cfa(HS, matrix)
    np.testing.assert_allclose(theirs.loadings, r.lavaan_cfa(HS, nine).loadings, atol=LAVAAN_CLOSE)
    with pytest.raises(dt.InputError, match="`n_obs`"):
        r.lavaan_cfa(HS, dt.DependenceMatrix.from_matrix(matrix.to_frame()))


def test_uncovered_items_have_no_loadings(ro, nine):
    structure = dt.Structure.from_keys({"F": ["x4", "x5", "x6"]}, list(nine.columns))
    theirs = r.lavaan_cfa(structure, nine.drop(columns="x1"))
    assert theirs.loadings.index.tolist() == list(nine.columns)
    assert (theirs.loadings["F"] == 0).sum() == 6
    assert theirs.uniquenesses.index.tolist() == ["x4", "x5", "x6"]


def test_options_that_name_columns(ro, bfi):
    """Under names that lavaan gets, whatever the columns are called."""
    columns = ["A1", "A2", "A3", "A4", "age"]
    plain = bfi[columns].dropna()
    odd = plain.rename(columns=lambda name: f"{name}?")
    text = r.lavaan_cfa("A =~ A1 + A2 + A3 + A4", plain, ordered=columns[:4])
    structure = dt.Structure.from_keys({"A": [f"{name}?" for name in columns[:4]]})
    same = r.lavaan_cfa(structure, odd, ordered=[f"{name}?" for name in columns[:4]])
    np.testing.assert_array_equal(text.loadings, same.loadings)
    assert "|" in set(same.parameters["op"])  # thresholds
    weighted = r.lavaan_cfa(structure, odd, sampling_weights="age?")
    again = r.lavaan_cfa("A =~ A1. + A2. + A3. + A4.", odd, sampling_weights="age?")
    assert again.loadings.index.tolist() == weighted.loadings.index.tolist()
    np.testing.assert_array_equal(weighted.loadings, again.loadings)
    assert not np.allclose(weighted.loadings, r.lavaan_cfa(structure, odd).loadings)


def test_factors_of_factors(ro, nine):
    model = HS + "; g =~ visual + textual + speed"
    ours, theirs = dt.cfa(nine, model), r.lavaan_cfa(model, nine)
    pd.testing.assert_frame_equal(ours.loadings, theirs.loadings, rtol=0, atol=1e-3)


def test_a_search_that_did_not_end_well(ro, nine):
    with pytest.warns(dt.EstimationWarning, match="lavaan::cfa: "):
        theirs = r.lavaan_cfa(HS, nine, control={"iter.max": 1})
    assert not theirs.converged
    assert theirs.fit_measures == {}
    assert repr(theirs).endswith("by lavaan, not converged")


def test_what_r_says(ro, nine, capfd, caplog):
    """R's errors and warnings are ours; nothing is printed."""
    with pytest.raises(dt.EstimationError, match=r"lavaan::cfa failed in R: .*nope"):
        r.lavaan_cfa("f =~ nope + x1 + x2", nine)
    with pytest.warns(dt.EstimationWarning, match="lavaan::cfa: ") as caught:
        theirs = r.lavaan_cfa("f =~ x1 + x2", nine)  # not identified
    assert len(theirs.warnings) == len(caught)
    assert caught[0].filename == __file__
    with pytest.raises(dt.EstimationError, match=r"psych::fa failed in R"):
        r.psych_fa(nine, 3, fm="ml", use="no such choice")
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


@pytest.mark.parametrize("rotation", ["oblimin", "varimax", "promax"])
def test_psych_equals_efa(ro, nine, rotation):
    ours = dt.efa(nine, 3, rotation=rotation)
    theirs = r.psych_fa(nine, 3, rotate=rotation)
    agreement = r.compare(ours, theirs)
    assert min(abs(pair.congruence) for pair in agreement.matching) > 0.999
    assert agreement.differing_items == ()
    np.testing.assert_allclose(ours.uniquenesses, theirs.uniquenesses, atol=1e-4)
    assert theirs.n_obs == 301
    assert theirs.method == "minres"
    for name, value in ours.fit_measures.items():
        assert theirs.fit_measures[name] == pytest.approx(value, rel=1e-3)


def test_psych_on_answers_with_gaps_and_on_a_matrix(ro, bfi):
    items = bfi.iloc[:, :25]
    ours, theirs = dt.efa(items, 5), r.psych_fa(items, 5)
    assert r.compare(ours, theirs).mean_congruence > 0.999
    matrix = dt.dependence(items, "pearson")
    again = r.psych_fa(matrix, 5)
    assert again.n_obs == matrix.n_obs
    np.testing.assert_allclose(again.loadings, theirs.loadings, atol=1e-6)
    assert repr(theirs) == "RFactors: 5 factors, 25 items (minres, oblimin)"


def test_fits_made_in_r_are_read(ro, nine):
    fa = r.from_r(ro.r("function(x) psych::fa(x, 3)")(r.to_r(nine)))
    theirs = r.psych_fa(nine, 3)
    pd.testing.assert_frame_equal(fa.loadings, theirs.loadings)
    pd.testing.assert_frame_equal(fa.factor_correlations, theirs.factor_correlations)
    loadings = r.from_r(ro.r("function(x) psych::fa(x, 3)$loadings")(r.to_r(nine)))
    pd.testing.assert_frame_equal(loadings, theirs.loadings)
    fit = ro.r("function(m, x) lavaan::cfa(m, data = x)")(HS, r.to_r(nine))
    pd.testing.assert_frame_equal(r.from_r(fit), r.lavaan_cfa(HS, nine).parameters)
    orthogonal = r.from_r(ro.r("factanal(mtcars[, 1:6], 2)"))
    np.testing.assert_array_equal(orthogonal.factor_correlations, np.eye(2))
    assert orthogonal.n_obs == 32
    with pytest.raises(dt.InputError, match="same items"):
        r.compare(dt.efa(nine, 3), orthogonal)


def test_one_factor(ro, nine):
    theirs = r.psych_fa(nine[["x4", "x5", "x6"]], 1)
    assert theirs.loadings.shape == (3, 1)
    assert theirs.factor_correlations.shape == (1, 1)


def test_results_are_plain_python(ro, nine):
    """Nothing of rpy2 in what is returned."""
    for result in (r.psych_fa(nine, 3), r.lavaan_cfa(HS, nine)):
        assert all("rpy2" not in type(part).__module__ for part in vars(result).values())
        assert all(type(value) is float for value in result.fit_measures.values())


def test_r_leaves_the_process_as_it_was(ro):
    """No warning at the start, and Pythons started later load their own library."""
    code = (
        "import os, subprocess, sys; from dtstat.interop import r; before = dict(os.environ); "
        "assert r.r_available(); same = os.environ.get('LD_LIBRARY_PATH'); "
        "assert same == before.get('LD_LIBRARY_PATH'), same; "
        "subprocess.run([sys.executable, '-c', 'import ssl'], check=True)"
    )
    clean = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH" and k[:2] != "R_"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True, text=True, check=False, env=clean,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_no_warning_of_python_is_hidden_or_made(ro, nine):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        r.psych_fa(nine, 3)
        r.lavaan_cfa(HS, nine)


def test_missing_doubles_do_not_disturb_minima(require_r):
    from rpy2 import robjects

    frame = r.from_r(robjects.r("data.frame(a = c(NA, 3, 1, 2), b = c(2, 1, NA, 5))"))
    assert np.nanmin(frame.to_numpy(), axis=0).tolist() == [1.0, 1.0]
    assert np.nanmax(frame.to_numpy(), axis=0).tolist() == [3.0, 5.0]
