# Everyday tasks, at least fifty, each in at most three calls: what is wanted, the code for it, and what
# must be true then. They follow a working day with one survey and are run in this order.
# tests/contract/everyday_tasks.py has as many for Python.

most_calls <- 3
not_counted <- c(
  "{", "<-", "=", "$", "[", "[[", "@", "::", ":", "~", "+", "-", "*", "/", ">", "<", "==", "!", "&", "c", "list"
)

# Names of the functions that code calls, packages left out.
called <- function(code) {
  if (!is.call(code)) return(character())
  head <- code[[1]]
  name <- if (is.call(head) && identical(head[[1]], as.name("::"))) as.character(head[[3]]) else as.character(head)
  if (identical(name, "~")) return(character())
  c(setdiff(name[1], not_counted), unlist(lapply(as.list(code)[-1], called)))
}

desk <- new.env()
done <- character()

task <- function(words, code, true) {
  code <- substitute(code)
  true <- substitute(true)
  done <<- c(done, words)
  test_that(words, {
    skip_without_python()
    for (package in c("haven", "ggplot2", "lavaan", "psych", "tibble", "knitr")) skip_if_not_installed(package)
    expect_lte(length(called(code)), most_calls)
    before <- setwd(desk$folder)
    on.exit(setwd(before))
    suppressWarnings(eval(code, desk))
    expect_true(isTRUE(all(eval(true, desk))))
  })
}

if (dt_available() && requireNamespace("haven", quietly = TRUE)) local({
  desk$folder <- tempfile("desk")
  dir.create(desk$folder)
  inside <- function(name) file.path(desk$folder, name)
  survey <- suppressWarnings(dt_read_survey(dt_example_file(), columns = "A1-O5", aside = "age, gender"))
  numbers <- survey
  numbers[1:25] <- lapply(survey[1:25], function(item) structure(as.integer(item), label = attr(item, "label")))
  haven::write_sav(numbers, inside("survey.sav"))
  haven::write_dta(numbers, inside("survey.dta"))
  codes <- numbers
  codes$A1[is.na(codes$A1)] <- 99L
  write.csv(codes, inside("codes.csv"), row.names = FALSE, na = "")
  writeLines(c("q1,q2", "meh,fine", "great,great", "fine,meh"), inside("moods.csv"))
})

# ---- before ----

task("Read a Qualtrics export: ids as row names, the 25 items, age and gender kept aside", {
  survey <- dt_read_survey(dt_example_file(), id = "ResponseId", columns = "A1-O5", aside = "age, gender")
}, nrow(survey) == 560 && row.names(survey)[1] == "R_61622")
task("Read an SPSS file with the texts of its items", {
  spss <- dt_read_survey("survey.sav", aside = "age, gender")
}, attr(spss$N5, "label") == "Panic easily.")
task("Read a Stata file", {
  stata <- dt_read_survey("survey.dta", aside = "age, gender")
}, all.equal(as.numeric(stata$A2), as.numeric(spss$A2)))
task("Take a file that haven read", {
  labelled <- haven::read_sav("survey.sav")
  havens <- dt_fit(labelled[1:25])
}, length(havens$structure$factors) == 5)
task("Read a file in which 99 means no answer", {
  coded <- dt_read_survey("codes.csv", missing_codes = 99)
}, max(coded$A1, na.rm = TRUE) == 6)
task("Choose two scales by a pattern, without one item", {
  two_scales <- dt_read_survey("survey.sav", columns = "N*, O*", drop = "O4")
}, identical(dim(two_scales), c(560L, 9L)))
task("Give answers that are texts an order of their own", {
  moods <- dt_read_survey("moods.csv", levels = c("meh", "fine", "great"))
}, identical(as.integer(moods$q1), c(1L, 3L, 2L)))
task("Describe every item", {
  described <- dt_describe(survey)
}, described$items$n[1] == 559 && max(described$items$max) == 6)
task("List people who may have answered carelessly", {
  careless <- described$flagged
}, nrow(careless) > 0 && nrow(careless) < 50)
task("Leave out people who gave the same answer to all items", {
  clean <- survey[described$people$variability > 0, ]
}, nrow(clean) == 558 && identical(attr(clean, "aside"), c("age", "gender")))
task("Is the table fit for factor analysis? KMO", {
  adequacy <- dt_kmo(survey)
}, adequacy$overall > 0.8)
task("Bartlett's test of sphericity", {
  sphericity <- dt_bartlett_test(survey)
}, inherits(sphericity, "htest") && sphericity$p.value < 1e-10)
task("How many factors does parallel analysis advise?", {
  advice <- dt_parallel_analysis(survey, n_iter = 20, seed = 1)
}, advice$n_factors >= 4)

# ---- finding ----

task("Find the factors", {
  fit <- dt_fit(survey)
}, lengths(as_keys(fit)) == 5)
task("Find them by a formula, without two items", {
  part <- dt_fit(~ . - A1 - O4, spss[1:25])
}, length(part$structure$items) == 23)
task("Fit a tibble", {
  tibbled <- dt_fit(tibble::as_tibble(spss[1:25]))
}, identical(as_keys(tibbled), as_keys(havens)))
task("Fit a file that nobody read before", {
  straight <- dt_fit("survey.sav", n_factors = 5)
}, length(straight$structure$factors) == 5)
task("Which levels are there between facets and domains?", {
  levels <- fit$levels
}, levels$n_factors[levels$chosen] == 5)
task("Look at four factors instead", {
  four <- dt_level(fit, 4)
}, length(four$structure$factors) == 4)
task("Ask for six factors from the start", {
  six <- dt_fit(survey, n_factors = 6)
}, length(six$structure$factors) == 6)
task("Give the factors names", {
  big5 <- dt_rename(fit, c("Agreeable", "Conscientious", "Extraverted", "Neurotic", "Open"))
}, big5$structure$factors[4] == "Neurotic")
task("Turn a factor round: emotional stability in place of neuroticism", {
  stable <- dt_rename(dt_reflect(big5, "Neurotic"), c(Neurotic = "Stable"))
}, stable$loadings["N1", "Stable"] == -big5$loadings["N1", "Neurotic"])
task("Loadings with standard errors and intervals", {
  loadings <- tidy(big5, conf.int = TRUE)
}, sum(loadings$conf.low < loadings$estimate, na.rm = TRUE) >= 25)
task("Loadings as a matrix", {
  matrix <- coef(big5)
}, dim(matrix) == c(25, 5))
task("Where does the model miss?", {
  worst <- max(abs(residuals(big5)))
}, worst > 0.1)
task("Do the assumptions of the method hold?", {
  diagnosis <- dt_diagnose(big5, survey, seed = 1)
}, startsWith(diagnosis$verdict, "violated"))
task("Would the factors come out again?", {
  stability <- dt_stability(survey, fit = big5, n_boot = 10, seed = 1)
}, stability$factors$jaccard > 0.3)
task("Compare with the authors' key", {
  key <- split(big5$structure$items, rep(c("A", "C", "E", "N", "O"), each = 5))
  agreement <- dt_compare(big5, key)
}, agreement$f1 == 1)
task("Compare with an exploratory factor analysis", {
  classical <- dt_efa(survey, nfactors = 5)
  congruence <- dt_compare_solutions(big5, classical)
}, congruence$mean_congruence > 0.85)
task("Hand the fit to psych", {
  sorted <- psych::fa.sort(as_psych_fa(big5))
}, inherits(sorted, "fa"))

# ---- publishing ----

task("All tables as a Word file in APA style", {
  dt_save_table(big5, "tables.docx", style = "apa")
}, file.size("tables.docx") > 10000)
task("All tables as an Excel file", {
  dt_save_table(big5, "tables.xlsx")
}, file.size("tables.xlsx") > 5000)
task("Tables for LaTeX", {
  dt_save_table(big5, "tables.tex", style = "apa", label = "tab:fit")
}, any(grepl("tab:fit", readLines("tables.tex"))))
task("Tables as data frames", {
  tables <- dt_tables(big5)
}, is.data.frame(tables[[1]]))
task("Print a result in R Markdown", {
  markdown <- knitr::knit_print(big5)
}, any(grepl("|", markdown, fixed = TRUE)))
task("Path diagram as a picture for print", {
  plot(big5, "diagram")
  ggplot2::ggsave("diagram.pdf", width = 8, height = 9)
}, file.size("diagram.pdf") > 3000)
task("Path diagram for Graphviz and LaTeX", {
  dot <- as_dot(big5)
  tikz <- as_tikz(big5)
}, grepl("^digraph", dot[1]) && any(grepl("tikzpicture", tikz)))
task("One page to mail to a co-author", {
  dt_report(big5, "page.html")
}, any(grepl("Panic easily.", readLines("page.html", warn = FALSE), fixed = TRUE)))
task("A report for Word", {
  dt_report(big5, "report.docx")
}, file.size("report.docx") > 20000)
task("Save a fit and read it again", {
  dt_save(big5, "big5.dtstat")
  again <- dt_load("big5.dtstat")
}, identical(again$loadings, big5$loadings))

# ---- after ----

task("Alpha and omega of the scales, with intervals", {
  reliable <- dt_reliability(big5, answers = survey)
}, reliable$factors$alpha_lower < reliable$factors$alpha)
task("Which item would a scale be better without?", {
  dropped <- subset(reliable$items, alpha_drop > 0.6 & factor == "Open")
}, identical(dropped$item, "O4"))
task("Alpha of a published scale", {
  published <- dt_reliability(spss, list(A = c("-A1", "A2", "A3", "A4", "A5")))
}, published$factors$alpha > 0.6)
task("Factor scores with standard errors and ids", {
  scores <- predict(big5, survey, sd = TRUE)
  write.csv(scores, "scores.csv")
}, identical(row.names(scores)[1], "R_61622"))
task("Scores beside the answers, and the fit as one row", {
  beside <- augment(big5, survey)
  one_row <- glance(big5)
}, "Neurotic_score" %in% names(beside) && nrow(one_row) == 1)
task("Plausible values for another program", {
  plausible <- dt_plausible_values(big5, survey, draws = 3, seed = 1)
}, nrow(plausible) %in% c(560, 3 * 560))
task("Does neuroticism change with age, men and women apart?", {
  effects <- dt_regress(Neurotic ~ age + gender, big5, survey)
  shown <- summary(effects)
}, nrow(confint(effects)) == 3)
task("Confirm the factors as a model, ratings as ordinal", {
  confirmed <- dt_cfa(survey, big5, estimator = "WLSMV")
}, confirmed$fit_measures["cfi.scaled"] > 0.7)
task("Confirm them with lavaan", {
  lavaans <- lavaan::cfa(as_lavaan(big5), data = spss)
}, lavaan::lavInspect(lavaans, "converged"))
task("What would improve the model?", {
  indices <- head(dt_modification_indices(confirmed), 5)
}, nrow(indices) == 5 && !is.unsorted(-indices$mi))
task("Are four factors enough? A test of nested models", {
  narrower <- dt_cfa(survey, dt_level(big5, 4), estimator = "WLSMV")
  nested <- anova(confirmed, narrower)
}, inherits(nested, "anova") && nested[["Pr(>Chisq)"]][2] < 0.001)
task("Do the items measure the same in men and women?", {
  ladder <- dt_invariance(spss, list(N = c("N1", "N2", "N3", "N4", "N5")), "gender")
}, c("metric", "scalar") %in% names(ladder$fits))
task("An indirect effect, rows with gaps included", {
  mediated <- dt_sem(spss, "N =~ N1 + N2 + N3; A =~ A3 + A4 + A5; N ~ a*age; A ~ b*N + age; ab := a*b",
                     missing = "ml")
}, mediated$parameters$se[mediated$parameters$lhs == "ab"] > 0)
task("How many people does the next survey need?", {
  plan <- dt_plan(n_factors = 5, items_per_factor = 5, loading = 0.6, n_draws = 20, seed = 1)
}, any(!is.na(plan$table$simulation)))
task("Practice data with known factors", {
  drawn <- dt_simulate("clusters", n = 300, n_factors = 3, items_per_factor = 4, seed = 1)
}, dim(drawn$data) == c(300, 12))

test_that("there are fifty tasks", {
  expect_gte(length(unique(done)), 50)
})
