test_that("another protocol is refused with what to do", {
  expect_silent(check_protocol(list(protocol = 1L, version = "0.1.0")))
  expect_error(
    check_protocol(list(protocol = 2L, version = "9.9")), "install_dtstat",
    class = "dtstat_error_protocol"
  )
})

test_that("a missing Python part is told with what to do", {
  error <- no_module("ModuleNotFoundError: No module named 'dtstat'\nmore")
  expect_s3_class(error, "dtstat_error")
  expect_match(conditionMessage(error), "install_dtstat\\(\\)")
  expect_no_match(conditionMessage(error), "\nmore", fixed = TRUE)
})

test_that("sentences are in R's words", {
  expect_equal(in_r("Use fit(data, x=None)."), "Use dt_fit(data, x = NULL).")
  expect_equal(in_r("see dtstat.measures() or dtstat.cfa(x)"), "see dt_measures() or dt_cfa(x)")
  expect_equal(in_r("dt_fit(x)"), "dt_fit(x)")
})

test_that("what reticulate says of Poetry is not passed on, other warnings are", {
  expect_silent(without_prompts(warning("This project appears to use Poetry for Python dependency management.")))
  expect_warning(without_prompts(warning("something else")), "something else")
  expect_equal(without_prompts(2 + 3), 5)
})

test_that("progress is shown once a phase", {
  report <- progress_of(TRUE, patience = 0)
  expect_output(for (k in 1:3) report(k, 3), "100%")
  expect_output(report(1, 2), "50%")
  expect_null(progress_of(FALSE))
})

test_that("a bar is not shown for what ends at once", {
  report <- progress_of(TRUE, patience = 60)
  expect_silent(for (k in 1:3) report(k, 3))
  report <- progress_of(TRUE, patience = 0.05)
  expect_silent(for (k in 1:3) report(k, 3))
  Sys.sleep(0.06)
  expect_silent(report(1, 1))
  expect_output(report(1, 4), "25%")
})

test_that("internal errors keep their traceback", {
  skip_without_python()
  bridge()
  reticulate::py_run_string("from dtstat.interop.r_bridge import FUNCTIONS as doors")
  reticulate::py_run_string("doors['broken'] = lambda: 1 / 0")
  on.exit(reticulate::py_run_string("del doors['broken']"))
  expect_error(ask("broken", list()), "dt_last_traceback", class = "dtstat_error_internal")
  expect_output(dt_last_traceback(), "ZeroDivisionError")
})

test_that("arguments of another version are told in words", {
  skip_without_python()
  expect_error(ask("sample_size", list(p = 25)), "same version", class = "dtstat_error_input")
})

test_that("sitrep says what is found", {
  skip_without_python()
  expect_output(found <- dt_sitrep(), "Python part: +dtstat")
  expect_output(dt_sitrep(), "RETICULATE_PYTHON: ")
  expect_true(found$works)
})

test_that("numbers are those of Python", {
  skip_without_python()
  expect_equal(dt_sample_size(p = 25, margin = 0.2), 940)
  expect_equal(dt_ucc_probability(25, 5, 0.2), 0.815, tolerance = 1e-3)
  expect_equal(dt_min_margin(2, 3), Inf)
})
