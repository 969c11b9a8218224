test_that("a page needs a fit and a folder", {
  fit <- stored_fit()
  nowhere <- file.path(tempdir(), "nowhere", "report.html")
  expect_error(dt_report(fit, nowhere), "no folder", class = "dtstat_error_input")
  expect_error(dt_report(fit, c("a.html", "b.html")), "`file`", class = "dtstat_error_input")
  expect_error(dt_report(list()), "dt_fit", class = "dtstat_error_input")
})
