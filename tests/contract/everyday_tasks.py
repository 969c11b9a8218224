"""Everyday tasks, more than fifty: what is wanted, the code for it, and what must be true then.

The tasks follow a working day with one survey and are run in this order, in one namespace, in a
folder with the files that :func:`write_files` leaves there. Each is done in at most three calls.
``r-wrapper/tests/testthat/test-everyday.R`` has as many for R.
"""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

import dtstat as dt


class Task(NamedTuple):
    """One task."""

    words: str
    code: str
    true: str


def write_files(folder: Path) -> None:
    """Leave the survey in a folder in the formats that colleagues send."""
    survey = dt.read_survey(dt.example_file(), columns="A1-O5", aside="age, gender")
    numbers = survey.apply(
        lambda column: column.cat.codes + 1 if column.dtype == "category" else column
    )
    numbers = numbers.where(numbers != 0)
    texts = survey.attrs["item_texts"]
    labels = [texts[name] for name in numbers]
    import pyreadstat

    pyreadstat.write_sav(numbers, str(folder / "survey.sav"), column_labels=labels)
    pyreadstat.write_dta(numbers, str(folder / "survey.dta"), column_labels=labels)
    numbers.to_parquet(folder / "survey.parquet")
    numbers.fillna({"A1": 99}).to_csv(folder / "codes.csv", index=False)
    numbers.filter(regex="^[AN]").corr().to_csv(folder / "correlations.csv")
    (folder / "moods.csv").write_text("q1,q2\nmeh,fine\ngreat,great\nfine,meh\n")
    with pd.ExcelWriter(folder / "survey.xlsx") as book:
        pd.DataFrame({"about": ["25 items"]}).to_excel(book, sheet_name="Read me", index=False)
        numbers.to_excel(book, sheet_name="Answers", index=False)


def shell(*arguments: str) -> str:
    """Run dtstat on the command line; return what it prints."""
    program = [sys.executable, "-c", "from dtstat.cli import main; main()"]
    return subprocess.run([*program, *arguments], capture_output=True, text=True, check=True).stdout


def run(task: Task, names: dict[str, Any]) -> bool:
    """Do a task, and say whether its result is as it must be."""
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(task.code, task.words, "exec"), names)
    return bool(eval(task.true, names))


BEFORE = [
    Task(
        "Read a Qualtrics export: ids as the index, the 25 items, age and gender kept aside",
        "survey = dt.read_survey(dt.example_file(), "
        'id="ResponseId", columns="A1-O5", aside="age, gender")',
        'survey.shape == (560, 27) and survey.attrs["aside"] == ["age", "gender"]',
    ),
    Task(
        "Read an SPSS file with the texts of its items",
        'spss = dt.read_survey("survey.sav", aside="age, gender")',
        'spss.attrs["item_texts"]["N5"] == "Panic easily."',
    ),
    Task(
        "Read a Stata file",
        'stata = dt.read_survey("survey.dta", aside="age, gender")',
        'stata.attrs["item_texts"] == spss.attrs["item_texts"] and stata["A2"].equals(spss["A2"])',
    ),
    Task(
        "Read the second sheet of an Excel file",
        'excel = dt.read_survey("survey.xlsx", sheet="Answers", aside="age, gender")',
        "excel.shape == spss.shape",
    ),
    Task(
        "Read a file in which 99 means no answer",
        'coded = dt.read_survey("codes.csv", missing_codes=99)',
        'coded["A1"].max() == 6 and coded["A1"].isna().sum() == 1',
    ),
    Task(
        "Choose two scales by a pattern, without one item",
        'two_scales = dt.read_survey("survey.sav", columns="N*, O*", drop="O4")',
        "two_scales.shape == (560, 9)",
    ),
    Task(
        "Give answers that are texts an order of their own",
        'moods = dt.read_survey("moods.csv", levels=["meh", "fine", "great"])',
        'moods["q1"].cat.codes.tolist() == [0, 2, 1]',
    ),
    Task(
        "Describe every item",
        "described = dt.describe(survey)",
        'described.items.loc[0, "n"] == 559 and described.items["max"].max() == 6',
    ),
    Task(
        "Save the descriptives as a Word table",
        'described.summary().save("descriptives.docx", style="apa")',
        'Path("descriptives.docx").stat().st_size > 5000',
    ),
    Task(
        "List people who may have answered carelessly",
        "careless = described.flagged",
        '"R_64642" in careless.index and 0 < len(careless) < 50',
    ),
    Task(
        "Leave out people who gave the same answer to all items",
        'clean = survey[described.people["variability"] > 0]',
        "len(survey) - len(clean) == 2",
    ),
    Task(
        "Is the table fit for factor analysis? KMO",
        "adequacy = dt.kmo(survey)",
        "0.8 < adequacy.overall < 0.9",
    ),
    Task(
        "Bartlett's test of sphericity",
        "sphericity = dt.bartlett_test(survey)",
        "sphericity.pvalue < 1e-10",
    ),
    Task(
        "How many factors does parallel analysis advise?",
        "advice = dt.parallel_analysis(survey, n_iter=20, seed=1)",
        "4 <= advice.n_factors <= 7",
    ),
]

FINDING = [
    Task(
        "Find the factors",
        "fit = dt.fit(survey)",
        "[len(items) for items in fit.to_keys().values()] == [5] * 5",
    ),
    Task(
        "Fit a table of polars",
        "import polars as pl\nother = dt.fit(pl.from_pandas(spss[spss.columns[:25]]))",
        "other.structure == fit.structure",
    ),
    Task(
        "Fit a file in the shell, and keep the scores",
        'printed = shell("fit", "survey.sav", "--columns", "A1-O5", "--scores", "s.csv")',
        '"5 factors" in printed and len(pd.read_csv("s.csv")) == 560',
    ),
    Task(
        "Find the factors in a matrix of correlations from an article",
        'matrix = pd.read_csv("correlations.csv", index_col=0)\n'
        "article = dt.fit(dt.DependenceMatrix.from_matrix(matrix, n_obs=560))",
        "article.n_factors == 2",
    ),
    Task(
        "Which levels are there between facets and domains?",
        "levels = fit.levels",
        'levels.loc[levels["chosen"], "n_factors"].tolist() == [5]',
    ),
    Task(
        "Look at four factors instead",
        "four = fit.level(4)",
        "four.n_factors == 4",
    ),
    Task(
        "Ask for six factors from the start",
        "six = dt.fit(survey, n_factors=6)",
        "six.n_factors == 6",
    ),
    Task(
        "Give the factors names",
        'big5 = fit.rename(["Agreeable", "Conscientious", "Extraverted", "Neurotic", "Open"])',
        'big5.factor_names[3] == "Neurotic"',
    ),
    Task(
        "Turn a factor round: emotional stability in place of neuroticism",
        'stable = big5.reflect(["Neurotic"]).rename({"Neurotic": "Stable"})',
        'stable.loadings.loc["N1", "Stable"] == -big5.loadings.loc["N1", "Neurotic"]',
    ),
    Task(
        "Loadings with standard errors and intervals",
        "loadings = big5.tidy()",
        '(loadings["conf_low"] < loadings["estimate"]).sum() >= 25',
    ),
    Task(
        "Correlations of the factors",
        "correlations = big5.factor_correlations",
        'correlations.loc["Agreeable", "Extraverted"] > 0.5',
    ),
    Task(
        "Where does the model miss?",
        "worst = big5.residuals().abs().max()",
        "worst.max() > 0.1",
    ),
    Task(
        "Do the assumptions of the method hold?",
        "diagnosis = dt.diagnose(big5, survey, seed=1)",
        'diagnosis.verdict.startswith("violated")',
    ),
    Task(
        "Would the factors come out again?",
        "stability = dt.stability(survey, fit=big5, n_boot=10, seed=1)",
        'stability.factors["jaccard"].min() > 0.3',
    ),
    Task(
        "Compare with the authors' key",
        'key = dt.Structure.from_keys({s: [f"{s}{k}" for k in range(1, 6)] for s in "ACENO"})\n'
        "agreement = dt.compare(big5, key)",
        "agreement.f1 == 1",
    ),
    Task(
        "Compare with an exploratory factor analysis",
        "classical = dt.efa(survey, 5)\ncongruence = dt.compare_solutions(big5, classical)",
        "congruence.mean_congruence > 0.85",
    ),
]

PUBLISHING = [
    Task(
        "All tables as a Word file in APA style",
        'big5.summary().save("tables.docx", style="apa")',
        'Path("tables.docx").stat().st_size > 10_000',
    ),
    Task(
        "All tables as an Excel file",
        'big5.summary().save("tables.xlsx")',
        'len(pd.read_excel("tables.xlsx", sheet_name=None)) > 3',
    ),
    Task(
        "Tables for LaTeX",
        'latex = big5.summary().to_latex(label="tab:fit", style="apa")',
        r'"\\begin{table}" in latex and "Make friends easily." in latex',
    ),
    Task(
        "A table for a Markdown document",
        "markdown = big5.reliability().summary().to_markdown()",
        '"| Neurotic" in markdown',
    ),
    Task(
        "Path diagram as a picture for print",
        'big5.plot("diagram").figure.savefig("diagram.svg")',
        '"<svg" in Path("diagram.svg").read_text()',
    ),
    Task(
        "Path diagram for Graphviz and LaTeX",
        "dot = big5.to_dot()\ntikz = big5.to_tikz()",
        r'dot.startswith("digraph") and "\\begin{tikzpicture}" in tikz',
    ),
    Task(
        "One page to mail to a co-author",
        'big5.report("page.html")',
        '"Panic easily." in Path("page.html").read_text()',
    ),
    Task(
        "A report for Word",
        'big5.report("report.docx")',
        'Path("report.docx").stat().st_size > 20_000',
    ),
    Task(
        "Show a result in a notebook",
        "shown = big5._repr_html_()",
        '"<table" in shown',
    ),
    Task(
        "Save a fit and read it again",
        'big5.save("big5.dtstat")\nagain = dt.load("big5.dtstat")',
        "again.loadings.equals(big5.loadings)",
    ),
]

AFTER = [
    Task(
        "Alpha and omega of the scales, with intervals",
        "reliable = big5.reliability()",
        '(reliable.factors["alpha_lower"] < reliable.factors["alpha"]).all()',
    ),
    Task(
        "Which item would a scale be better without?",
        "dropped = reliable.items.query(\"alpha_drop > 0.6 and factor == 'Open'\")",
        'dropped["item"].tolist() == ["O4"]',
    ),
    Task(
        "Alpha of a published scale",
        'published = dt.reliability(survey, {"A": ["-A1", "A2", "A3", "A4", "A5"]})',
        '0.6 < published.factors.loc[0, "alpha"] < 0.8',
    ),
    Task(
        "Factor scores with standard errors and ids",
        'scores = big5.factor_scores(survey, sd=True)\nscores.to_csv("scores.csv")',
        'scores.index[0] == "R_61622" and scores.filter(like="sd").shape[1] == 5',
    ),
    Task(
        "Scores beside the answers, and the fit as one row",
        "beside = big5.augment(survey)\none_row = big5.glance()",
        '"Neurotic_score" in beside and len(one_row) == 1',
    ),
    Task(
        "Plausible values for another program",
        "plausible = big5.plausible_values(survey, draws=3, seed=1)",
        "len(plausible) in (560, 3 * 560)",
    ),
    Task(
        "Does neuroticism change with age, men and women apart?",
        'effects = dt.regress("Neurotic ~ age + C(gender)", big5, survey)',
        'effects.pvalues["C(gender)[T.Male]"] < 0.01 and len(effects.conf_int()) == 3',
    ),
    Task(
        "Confirm the factors as a model, ratings as ordinal",
        'confirmed = dt.cfa(survey, big5, estimator="wlsmv")',
        '0.7 < confirmed.fit_measures["cfi.scaled"] < 1',
    ),
    Task(
        "What would improve the model?",
        "indices = confirmed.modification_indices().head(5)",
        'indices["mi"].is_monotonic_decreasing and len(indices) == 5',
    ),
    Task(
        "Do the items measure the same in men and women?",
        'ladder = dt.invariance(spss, {"N": ["N1", "N2", "N3", "N4", "N5"]}, "gender")',
        '{"metric", "scalar"} <= set(ladder.table.index)',
    ),
    Task(
        "Are four factors enough? A test of nested models",
        'narrower = dt.cfa(survey, big5.level(4), estimator="wlsmv")\n'
        "nested = dt.compare_models(confirmed, narrower)",
        'nested.table["Pr(>Chisq)"].iloc[-1] < 0.001',
    ),
    Task(
        "An indirect effect, rows with gaps included",
        'mediated = dt.sem(spss, "N =~ N1 + N2 + N3; A =~ A3 + A4 + A5; '
        'N ~ a*age; A ~ b*N + age; ab := a*b", estimator="fiml")',
        'mediated.parameters.query("lhs == \'ab\'")["se"].notna().all()',
    ),
    Task(
        "How many people does the next survey need?",
        "plan = dt.plan(n_factors=5, items_per_factor=5, loading=0.6, n_draws=20, seed=1)",
        'plan.table["simulation"].notna().any()',
    ),
    Task(
        "Practice data with known factors",
        'drawn = dt.simulate("clusters", n=300, n_factors=3, items_per_factor=4, seed=1)',
        "drawn.data.shape == (300, 12)",
    ),
]

TASKS = [*BEFORE, *FINDING, *PUBLISHING, *AFTER]
