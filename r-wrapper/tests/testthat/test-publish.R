test_that("tables are data frames with their titles, notes and alignment", {
  skip_without_python()
  fit <- dt_fit(dt_dataset("holzinger_swineford_9"))
  tables <- dt_tables(fit)
  expect_true("Standardized loadings (pattern matrix)" %in% names(tables))
  loadings <- tables[["Standardized loadings (pattern matrix)"]]
  expect_identical(nrow(loadings), 9L)
  strongest <- names(which.max(abs(fit$loadings[, 1])))
  row <- loadings[sub("[+]$", "", loadings[[1]]) == strongest, ]
  expect_equal(as.numeric(row[[colnames(fit$loadings)[1]]]), fit$loadings[strongest, 1], tolerance = 0.01)
  expect_identical(length(attr(loadings, "alignment")), ncol(loadings))
  apa <- dt_tables(fit, style = "apa")[["Standardized loadings (pattern matrix)"]]
  expect_false(any(grepl("^-?0[.]", unlist(apa[, colnames(fit$loadings)]))))
  expect_error(dt_tables(1:3), class = "dtstat_error")
})

test_that("tables are saved by the ending, and nothing is replaced unasked", {
  skip_without_python()
  fit <- dt_fit(dt_dataset("holzinger_swineford_9"))
  for (ending in c("docx", "xlsx", "tex", "html", "md", "csv", "txt")) {
    file <- tempfile(fileext = paste0(".", ending))
    dt_save_table(fit, file, style = "apa", overwrite = FALSE)
    expect_gt(file.size(file), 100)
    expect_error(dt_save_table(fit, file), "it exists")
    dt_save_table(fit, file, which = 1, overwrite = TRUE)
  }
  expect_error(dt_save_table(fit, tempfile(fileext = ".pdf")), "ends in .docx")
  tex <- tempfile(fileext = ".tex")
  dt_save_table(fit, tex, label = "tab", which = 2)
  expect_match(paste(readLines(tex), collapse = "\n"), "\\label{tab}", fixed = TRUE)
})

test_that("a report can be a Word document", {
  skip_without_python()
  fit <- dt_fit(dt_dataset("holzinger_swineford_9"))
  file <- tempfile(fileext = ".docx")
  suppressMessages(dt_report(fit, file, open = FALSE))
  expect_true("word/document.xml" %in% utils::unzip(file, list = TRUE)$Name)
})

test_that("diagrams are written for Graphviz and LaTeX", {
  skip_without_python()
  data <- dt_dataset("holzinger_swineford_9")
  fit <- dt_fit(data, labels = c(x1 = "50% & more"))
  expect_match(as_dot(fit, residuals = TRUE), "^digraph")
  expect_match(as_tikz(fit, cutoff = 0.3, texts = TRUE), "50\\% \\& more", fixed = TRUE)
  model <- dt_cfa(data, "visual =~ x1 + x2 + x3; speed =~ x7 + x8 + x9; speed ~ visual")
  expect_match(as_tikz(model, stars = TRUE), "***", fixed = TRUE)
  expect_error(as_dot(fit, cutof = 1), "cutoff")
})

test_that("results are tables in R Markdown", {
  skip_without_python()
  skip_if_not_installed("knitr")
  fit <- dt_fit(dt_dataset("holzinger_swineford_9"))
  shown <- knitr::knit_print(fit)
  expect_s3_class(shown, "knit_asis")
  expect_match(shown, "Standardized loadings")
  file <- tempfile(fileext = ".Rmd")
  writeLines(c("```{r}", "fit", "```"), file)
  environment <- list2env(list(fit = fit), parent = globalenv())
  text <- knitr::knit(text = readLines(file), envir = environment, quiet = TRUE)
  expect_match(paste(text, collapse = "\n"), "|:---", fixed = TRUE)
})

test_that("a fit becomes a flextable", {
  skip_without_python()
  skip_if_not_installed("flextable")
  fit <- dt_fit(dt_dataset("holzinger_swineford_9"))
  table <- flextable::as_flextable(fit)
  expect_s3_class(table, "flextable")
  expect_identical(nrow(table$body$dataset), 9L)
})

test_that("tables that are data frames are knitted without empty columns and marks of missing", {
  skip_without_python()
  fit <- dt_fit(nine())
  shown <- list(
    dt_reliability(fit), dt_describe(nine()), dt_regress("F1 ~ F2 + F3", fit, nine()),
    dt_certify(nine(), seed = 1)
  )
  text <- vapply(shown, function(x) as.character(knitr::knit_print(x)), "")
  expect_match(text[1], "\\| *n_items\\|.*\\|F1 ")
  expect_match(text[2], "\\|x1 +\\|")
  expect_match(text[3], "\\|F3 .*robust")
  expect_match(text[4], "Certified cliques")
  expect_false(any(grepl("NaN|\\| *NA *\\||alpha_lower", text)))
})
