"""The tables of a structural equation model: lavaan's layout, to the column.

GOLDEN is what lavaan 0.6-14 prints for summary(cfa(model, HolzingerSwineford1939),
fit.measures = TRUE, standardized = TRUE) after its first line; a dot in the middle of a line's
height stands for a blank at its end.
"""

import math

import pandas as pd
import pytest
from examples import Cells

import dtstat as dt
from dtstat.core.loading_tables import factor_table
from dtstat.sem import summary as sem_tables

MODEL = """
visual  =~ x1 + x2 + x3
textual =~ x4 + x5 + x6
speed   =~ x7 + x8 + x9
"""
GOLDEN = """\

  Estimator                                         ML
  Optimization method                           NLMINB
  Number of model parameters                        21

  Number of observations                           301

Model Test User Model:
······················································
  Test statistic                                85.306
  Degrees of freedom                                24
  P-value (Chi-square)                           0.000

Model Test Baseline Model:

  Test statistic                               918.852
  Degrees of freedom                                36
  P-value                                        0.000

User Model versus Baseline Model:

  Comparative Fit Index (CFI)                    0.931
  Tucker-Lewis Index (TLI)                       0.896

Loglikelihood and Information Criteria:

  Loglikelihood user model (H0)              -3737.745
  Loglikelihood unrestricted model (H1)      -3695.092
······················································
  Akaike (AIC)                                7517.490
  Bayesian (BIC)                              7595.339
  Sample-size adjusted Bayesian (SABIC)       7528.739

Root Mean Square Error of Approximation:

  RMSEA                                          0.092
  90 Percent confidence interval - lower         0.071
  90 Percent confidence interval - upper         0.114
  P-value H_0: RMSEA <= 0.050                    0.001
  P-value H_0: RMSEA >= 0.080                    0.840

Standardized Root Mean Square Residual:

  SRMR                                           0.065

Parameter Estimates:

  Standard errors                             Standard
  Information                                 Expected
  Information saturated (h1) model          Structured

Latent Variables:
                   Estimate  Std.Err  z-value  P(>|z|)   Std.lv  Std.all
  visual =~·····························································
    x1                1.000                               0.900    0.772
    x2                0.554    0.100    5.554    0.000    0.498    0.424
    x3                0.729    0.109    6.685    0.000    0.656    0.581
  textual =~····························································
    x4                1.000                               0.990    0.852
    x5                1.113    0.065   17.014    0.000    1.102    0.855
    x6                0.926    0.055   16.703    0.000    0.917    0.838
  speed =~······························································
    x7                1.000                               0.619    0.570
    x8                1.180    0.165    7.152    0.000    0.731    0.723
    x9                1.082    0.151    7.155    0.000    0.670    0.665

Covariances:
                   Estimate  Std.Err  z-value  P(>|z|)   Std.lv  Std.all
  visual ~~·····························································
    textual           0.408    0.074    5.552    0.000    0.459    0.459
    speed             0.262    0.056    4.660    0.000    0.471    0.471
  textual ~~····························································
    speed             0.173    0.049    3.518    0.000    0.283    0.283

Variances:
                   Estimate  Std.Err  z-value  P(>|z|)   Std.lv  Std.all
   .x1                0.549    0.114    4.833    0.000    0.549    0.404
   .x2                1.134    0.102   11.146    0.000    1.134    0.821
   .x3                0.844    0.091    9.317    0.000    0.844    0.662
   .x4                0.371    0.048    7.779    0.000    0.371    0.275
   .x5                0.446    0.058    7.642    0.000    0.446    0.269
   .x6                0.356    0.043    8.277    0.000    0.356    0.298
   .x7                0.799    0.081    9.823    0.000    0.799    0.676
   .x8                0.488    0.074    6.573    0.000    0.488    0.477
   .x9                0.566    0.071    8.003    0.000    0.566    0.558
    visual            0.809    0.145    5.564    0.000    1.000    1.000
    textual           0.979    0.112    8.737    0.000    1.000    1.000
    speed             0.384    0.086    4.451    0.000    1.000    1.000
"""

NINE = dt.load_dataset("holzinger_swineford_9")
NINE.attrs.clear()  # tables as lavaan prints them, without the texts of the items
OPTIMISER = "  Optimization method" + "NLMINB".rjust(33)
FIT = dt.cfa(NINE, MODEL)


def lines_of(summary):
    return summary.to_text().splitlines()


def titles(summary):
    return [table.title for table in summary.tables]


def test_summary_is_the_one_lavaan_prints():
    head, *body = lines_of(FIT.summary())
    assert (
        head == f"dtstat {dt.__version__} ended normally after {FIT.estimate.iterations} iterations"
    )
    golden = GOLDEN.replace("·", " ").splitlines()
    place = golden.index(OPTIMISER)
    golden[place] = "  Optimization method" + "Fisher scoring".rjust(33)
    assert body == golden


def test_sections_come_in_lavaans_order():
    summary = FIT.summary(rsquare=True, modindices=True)
    assert titles(summary) == [
        "",
        "",
        "Model Test User Model",
        "Model Test Baseline Model",
        "User Model versus Baseline Model",
        "Loglikelihood and Information Criteria",
        "Root Mean Square Error of Approximation",
        "Standardized Root Mean Square Residual",
        "Parameter Estimates",
        "Latent Variables",
        "Covariances",
        "Variances",
        "R-Square",
        "Modification Indices",
    ]


def test_sections_can_be_left_out():
    lines = lines_of(FIT.summary(fit_measures=False, standardized=False))
    assert "Model Test User Model:" in lines
    assert "Model Test Baseline Model:" not in lines
    assert {len(line) for line in lines[lines.index("Latent Variables:") + 1 :] if line} == {
        54,
        *(len(title) for title in ("Covariances:", "Variances:")),
    }


def test_intervals_come_before_standardised_values():
    lines = lines_of(FIT.summary(ci=True))
    header = lines[lines.index("Latent Variables:") + 1]
    assert header.split() == [
        *("Estimate", "Std.Err", "z-value", "P(>|z|)"),
        *("ci.lower", "ci.upper", "Std.lv", "Std.all"),
    ]
    row = next(line for line in lines if line.startswith("    x2 "))
    assert row == (
        "    x2                0.554    0.100    5.554    0.000    0.358    0.749    0.498    0.424"
    )
    marker = next(line for line in lines if line.startswith("    x1 "))
    assert marker.split() == ["x1", "1.000", "1.000", "1.000", "0.900", "0.772"]


def test_r_square_section():
    lines = lines_of(FIT.summary(rsquare=True))
    start = lines.index("R-Square:")
    assert lines[start + 1] == "                   Estimate"
    assert lines[start + 2] == "    x1                0.596"


def test_modification_indices_are_sorted():
    table = FIT.summary(modindices=True).tables[-1]
    assert table.rows[0] == ("visual", "=~", "x9", "36.411", "0.577", "0.519", "0.515")


SCALED = """\
Model Test User Model:
                                              Standard      Scaled
  Test statistic                                85.306      87.132
  Degrees of freedom                                24          24
  P-value (Chi-square)                           0.000       0.000
  Scaling correction factor                                  0.979
    Yuan-Bentler correction (Mplus variant)

Model Test Baseline Model:

  Test statistic                               918.852     880.082
  Degrees of freedom                                36          36
  P-value                                        0.000       0.000
  Scaling correction factor                                  1.044

User Model versus Baseline Model:

  Comparative Fit Index (CFI)                    0.931       0.925
  Tucker-Lewis Index (TLI)                       0.896       0.888

  Robust Comparative Fit Index (CFI)                         0.930
  Robust Tucker-Lewis Index (TLI)                            0.895

Loglikelihood and Information Criteria:

  Loglikelihood user model (H0)              -3737.745   -3737.745
  Scaling correction factor                                  1.133
      for the MLR correction
  Loglikelihood unrestricted model (H1)      -3695.092   -3695.092
  Scaling correction factor                                  1.051
      for the MLR correction

  Akaike (AIC)                                7517.490    7517.490
  Bayesian (BIC)                              7595.339    7595.339
  Sample-size adjusted Bayesian (SABIC)       7528.739    7528.739
"""


def test_scaled_values_end_in_column_66():
    """Against lavaan 0.6-14 with estimator = "MLR", which has no mean structure either."""
    text = dt.cfa(NINE, MODEL, estimator="mlr").summary().to_text()
    lines = text.splitlines()
    start = lines.index("Model Test User Model:")
    wanted = SCALED.splitlines()
    assert [line.rstrip() for line in lines[start : start + len(wanted)]] == wanted
    assert "  Standard errors                             Sandwich" in lines
    assert "  Estimator                                        MLR" in lines
    values = (line for line in lines[start:] if line.startswith("  ") and "~" not in line)
    assert {len(line) for line in values} <= {54, 66, 72}


def test_dropped_rows_are_counted():
    data = NINE.copy()
    data.loc[:19, "x1"] = math.nan
    lines = lines_of(dt.cfa(data, MODEL).summary())
    place = lines.index("  Number of observations                           281         301")
    assert lines[place - 1] == "                                                  Used       Total"


def test_patterns_and_intercepts_of_rows_with_gaps():
    data = NINE.copy()
    data.loc[:19, "x1"] = math.nan
    summary = dt.cfa(data, MODEL, missing="fiml").summary()
    lines = lines_of(summary)
    assert "  Number of missing patterns                         2" in lines
    assert "  Test statistic                                84.214" in lines
    assert "  Information                                 Observed" in lines
    assert titles(summary)[-4:] == ["Latent Variables", "Covariances", "Intercepts", "Variances"]
    assert (
        "   .x1                4.927    0.069   71.117    0.000    4.927    4.199" in lines
    )  # lavaan
    assert "    visual            0.000                               0.000    0.000" in lines


POLITICS = """
ind60 =~ x1 + x2 + x3
dem60 =~ y1 + a*y2 + b*y3 + y4
dem65 =~ y5 + a*y6 + b*y7 + y8
dem60 ~ ind60
dem65 ~ ind60 + dem60
y1 ~~ y5
y2 ~~ y4 + y6
"""


def test_labels_regressions_and_residual_covariances():
    """Lines as lavaan 0.6-14 prints them."""
    fit = dt.sem(dt.load_dataset("political_democracy"), POLITICS, mean_structure=True)
    lines = lines_of(fit.summary())
    for line in (
        "  Number of model parameters                        39",
        "  Number of equality constraints                     2",
        "    y2         (a)    1.245    0.145    8.587    0.000    2.688    0.696",
        "  dem65 ~                                                               ",
        "    dem60             0.868    0.080   10.836    0.000    0.886    0.886",
        " .y2 ~~                                                                 ",
        "   .y6                2.287    0.762    3.003    0.003    2.287    0.388",
        "   .dem60             0.000                               0.000    0.000",
        "   .dem65             0.213    0.207    1.030    0.303    0.048    0.048",
    ):
        assert line in lines


def test_moments_of_observed_predictors_are_not_listed():
    fit = dt.sem(NINE, "visual =~ x1 + x2 + x3\nvisual ~ x4 + x9")
    lines = lines_of(fit.summary())
    assert not any(line.strip().startswith("x4 ~~") for line in lines)
    variances = lines[lines.index("Variances:") :]
    assert [line.split()[0] for line in variances[2:]] == [".x1", ".x2", ".x3", ".visual"]
    assert ((fit.parameters["lhs"] == "x4") & (fit.parameters["op"] == "~~")).any()


def test_long_names_widen_the_table_and_are_not_cut():
    name = "a_very_long_factor_name_indeed"
    fit = dt.cfa(NINE, f"{name} =~ x1 + x2 + a_long_label*x3")
    lines = lines_of(fit.summary(standardized=False))
    start = lines.index("Latent Variables:") + 1
    block = lines[start : start + 5]
    assert block[1].startswith(f"  {name} =~")
    assert block[4].startswith("    x3")
    assert "(a_long_label)" in block[4]
    assert len({len(line) for line in block}) == 1
    variance = lines[-1]
    assert variance.startswith(f"    {name} ")


def test_large_numbers_keep_their_distance():
    fit = dt.cfa(NINE * 1000, "visual =~ x1 + x2 + x3")
    row = next(line for line in lines_of(fit.summary()) if line.startswith("    visual "))
    assert len(row.split()) == 7
    assert row.split()[1] == f"{fit.parameters.iloc[-1]['est']:.3f}"


def test_saturated_model_has_no_p_value():
    lines = lines_of(dt.cfa(NINE, "speed =~ x7 + x8 + x9").summary())
    assert "  P-value (Chi-square)                              NA" in lines


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0005, "0.001"), (-0.0004, "0.000"), (math.nan, "NA"), (-3.14159, "-3.142"), (12, "12.000")],
)
def test_numbers(value, text):
    assert sem_tables.number(value) == text


def test_html_has_the_same_cells_as_the_text():
    summary = FIT.summary()
    page = Cells(summary.to_html())
    words = [word for text in page.texts for word in text.split()]
    in_text = summary.to_text().replace(":\n", "\n").split()
    assert sorted(words) == sorted(in_text)
    assert page.tags.count("table") == len(summary.tables)


HOSTILE = "<script>alert('x')</script>&"


def hostile_frame():
    row = {"lhs": HOSTILE, "op": "=~", "rhs": HOSTILE, "label": HOSTILE}
    numbers = dict.fromkeys(
        ("est", "se", "z", "pvalue", "ci.lower", "ci.upper", "std.lv", "std.all"), 1.0
    )
    return pd.DataFrame([{**row, **numbers}])


def test_html_escapes_names_and_labels():
    (table,) = sem_tables.parameter_tables(hostile_frame(), ())
    assert "<script" not in table.to_html()
    assert Cells(table.to_html()).texts[-7:-6] == [f"{HOSTILE} ({HOSTILE})"]


def test_latex_escapes_names_and_keeps_titles():
    frame = hostile_frame().assign(lhs="f_1", rhs="50%", label="")
    (table,) = sem_tables.parameter_tables(frame, ())
    text = table.to_latex()
    assert text.startswith(r"\noindent\textbf{Latent Variables}\par")
    assert r"f\_1 =\textasciitilde{}" in text
    assert r"50\%" in text
    assert r"P(\textgreater{}\textbar{}z\textbar{})" in text


def test_latex_of_a_table_without_column_names_has_no_head():
    text = FIT.summary().tables[0].to_latex()
    assert r"\midrule" not in text
    assert r"Estimator & ML \\" in text


def test_frames_have_the_cells():
    frames = FIT.summary().to_frames()
    assert frames["Latent Variables"].iloc[2].tolist() == [
        *("x2", "0.554", "0.100", "5.554", "0.000", "0.498", "0.424"),
    ]
    assert "table 1" in frames


FACTOR_TABLE = """\
Standardized loadings (pattern matrix)
   item visual textual speed   h2   u2 com
x1    1   0.77               0.60 0.40 1.0
x3    3   0.58               0.34 0.66 1.0
x2    2   0.42               0.18 0.82 1.0
x5    5           0.86       0.73 0.27 1.0
x4    4           0.85       0.73 0.27 1.0
x6    6           0.84       0.70 0.30 1.0
x8    8                 0.72 0.52 0.48 1.0
x9    9                 0.67 0.44 0.56 1.0
x7    7                 0.57 0.32 0.68 1.0
Mean item complexity = 1.0

Explained variance
                      visual textual speed
SS loadings             1.11    2.16  1.29
Proportion Var          0.12    0.24  0.14
Cumulative Var          0.12    0.36  0.51
Proportion Explained    0.24    0.47  0.28
Cumulative Proportion   0.24    0.72  1.00

With factor correlations of
        visual textual speed
visual    1.00    0.46  0.47
textual   0.46    1.00  0.28
speed     0.47    0.28  1.00"""


def test_factor_table():
    assert FIT.factor_table().to_text() == f"{FIT!r}\n\n{FACTOR_TABLE}"


def crossed():
    loadings = pd.DataFrame({"F1": [0.8, 0.5, 0.1], "F2": [0.0, -0.5, 0.6]}, index=["a", "b", "c"])
    phi = pd.DataFrame([[1, 0.5], [0.5, 1]], index=["F1", "F2"], columns=["F1", "F2"])
    L = loadings.to_numpy()
    u2 = pd.Series(1 - (L @ phi.to_numpy() @ L.T).diagonal(), index=loadings.index)
    return loadings, phi, u2


def test_factor_table_without_sorting_has_all_rows_in_place():
    table = factor_table(*crossed(), cutoff=0.0, sort=False)
    assert table.tables[0].to_text().splitlines()[1:5] == [
        "    F1    F2   h2   u2 com",
        "a 0.80  0.00 0.64 0.36 1.0",
        "b 0.50 -0.50 0.25 0.75 2.0",
        "c 0.10  0.60 0.43 0.57 1.1",
    ]


def test_factor_table_numbers():
    """SS loadings are the diagonal of Phi L'L; small loadings are missing, not zero."""
    loadings, phi, u2 = crossed()
    table = factor_table(loadings, phi, u2)
    # diag(Phi L'L): 0.64 + 0.25 + 0.01 + 0.5 * (-0.25 + 0.06), and with 0.25 + 0.36
    assert table.variance.loc["SS loadings"].tolist() == pytest.approx([0.805, 0.515])
    assert table.variance.loc["SS loadings"].sum() == pytest.approx((1 - u2).sum())
    assert table.loadings["F1"].isna().tolist() == [False, False, True]
    assert table.loadings["item"].tolist() == [1, 2, 3]
    assert table.loadings.loc["b", "com"] == pytest.approx(2.0)


def test_factor_table_of_one_factor_is_short():
    table = dt.cfa(NINE, "speed =~ x7 + x8 + x9").factor_table()
    assert list(table.variance.index) == ["SS loadings", "Proportion Var"]
    assert len(table.tables) == 2


def test_factor_table_in_html_and_latex():
    table = FIT.factor_table()
    assert '<td style="text-align: right">0.77</td>' in table.to_html()
    assert r"x1 & 1 & 0.77 &  &  & 0.60 & 0.40 & 1.0 \\" in table.to_latex()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"estimator": "mlm"}, "Satorra-Bentler correction"),
        ({"estimator": "mlmvs"}, "mean and variance adjusted correction"),
        ({"estimator": "mlf"}, "First.order"),
        ({"estimator": "uls"}, "ULS"),
        ({"estimator": "gls"}, "GLS"),
        ({"se": "none"}, "None"),
        ({"estimator": "mlr", "information": "expected"}, "Information bread"),
    ],
)
def test_every_procedure_has_a_summary(options, line):
    data = dt.load_dataset("holzinger_swineford_9")
    assert line in dt.cfa(data, "f =~ x1 + x2 + x3 + x4", **options).summary().to_text()


@pytest.mark.parametrize("estimator", ["ml", "mlr", "mlmv", "fiml"])
def test_the_statistic_of_each_group_is_that_of_the_group_alone(estimator):
    data = dt.load_dataset("holzinger_swineford_9", people=True)
    if estimator == "fiml":
        data.loc[::7, "x2"] = float("nan")
    fit = dt.cfa(data, MODEL, estimator=estimator, group="school")
    scaled = []
    for school in fit.groups:
        alone = dt.cfa(data[data["school"] == school], MODEL, estimator=estimator)
        values = [
            float(cell)
            for table in fit.summary().tables
            if table.title == "Model Test User Model"
            for row in table.rows
            if row[0].strip() == school
            for cell in row[1:]
        ]
        assert values[0] == pytest.approx(alone.fit_measures["chisq"], abs=2e-3)
        scaled += values[1:]
    if scaled:
        assert sum(scaled) == pytest.approx(fit.fit_measures["chisq.scaled"], abs=2e-3)


def test_factors_of_the_mlr_correction_give_the_scaling_of_the_test():
    data = dt.load_dataset("holzinger_swineford_9")
    m = dt.cfa(data, MODEL, estimator="mlr").fit_measures
    q, df = m["npar"], m["df"]
    whole, own = m["scaling.factor.h1"] * (q + df), m["scaling.factor.h0"] * q
    assert (whole - own) / df == pytest.approx(m["chisq.scaling.factor"])
    assert "scaling.factor.h0" not in dt.cfa(data, MODEL).fit_measures
