in_folder <- function(code) {
  folder <- tempfile()
  dir.create(folder)
  before <- setwd(folder)
  on.exit(setwd(before))
  force(code)
}

test_that("results are saved under names of their own, and over results only", {
  fit <- stored_fit()
  refused <- function(path, message) {
    expect_error(dt_save(fit, path), message, fixed = TRUE, class = "dtstat_error_input")
  }
  in_folder({
    for (name in c("f.csv", "f.rds", "f.DOCX", "f.html", "f.json")) {
      refused(name, "the ending of another format")
      expect_false(file.exists(name))
    }
    for (name in c("f.dtstat", "f", "f.v2", ".csv")) expect_equal(dt_save(fit, name), name)
    expect_equal(dt_save(fit, "f.dtstat"), "f.dtstat")
    writeLines("my answers", "mine.dtstat")
    refused("mine.dtstat", "it exists and is not a saved result")
    expect_equal(readLines("mine.dtstat"), "my answers")
    dt_save(fit, "mine.dtstat", overwrite = TRUE)
    expect_equal(readBin("mine.dtstat", "raw", 1e7), fit$state)
    refused(file.path("nowhere", "f.dtstat"), "Cannot write")
    refused(".", "it is a folder")
    expect_equal(sort(list.files(all.files = TRUE, no.. = TRUE)), sort(c(".csv", "f", "f.dtstat", "f.v2", "mine.dtstat")))
  })
  expect_error(dt_save(fit, 5), "name of a file", class = "dtstat_error_input")
})

test_that("pages are written as HTML, and over pages only", {
  skip_without_python()
  fit <- stored_fit()
  written <- function(...) suppressMessages(dt_report(fit, ..., open = FALSE))
  in_folder({
    expect_error(written("r.doc"), "ends in .html or .htm", class = "dtstat_error_input")
    expect_error(written("r.pdf"), "ends in .html or .htm", class = "dtstat_error_input")
    written("r.html")
    written("r.html")
    writeLines("<html>mine</html>", "mine.html")
    expect_error(written("mine.html"), "overwrite = TRUE", class = "dtstat_error_input")
    expect_equal(readLines("mine.html"), "<html>mine</html>")
    written("mine.html", overwrite = TRUE)
    expect_gt(file.size("mine.html"), 10000)
  })
})
