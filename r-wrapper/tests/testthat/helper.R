# A skip must not look like a pass: where Python must be there, its absence is a failure.
skip_without_python <- function() {
  if (dt_available()) return(invisible())
  if (nzchar(Sys.getenv("DTSTAT_REQUIRE_PY"))) {
    stop("Python is required: ", the$reason, call. = FALSE)
  }
  testthat::skip("needs the Python part of dtstat")
}

stored_fit <- function() readRDS(testthat::test_path("fixtures", "fit.rds"))

nine <- function() dt_dataset("holzinger_swineford_9")

across <- function(x) ask("echo", list(value = x))

# Whatever asks Python fails here, also where Python is.
without_python <- function(code) {
  before <- the$bridge
  the$bridge <- list(call = function(...) stop("Python was asked"))
  on.exit(the$bridge <- before)
  force(code)
}

# A page with the places of its numbers, whatever they are.
without_numbers <- function(lines) {
  numbers <- gregexpr("[0-9]+[.][0-9]+|(about|rows as) [0-9]+", lines)
  regmatches(lines, numbers) <- lapply(regmatches(lines, numbers), gsub, pattern = "[0-9]", replacement = "#")
  lines
}

stored_cfa <- function() readRDS(testthat::test_path("fixtures", "cfa.rds"))

skip_without_lavaan <- function() {
  skip_without_python()
  testthat::skip_if_not_installed("lavaan")
}

two_schools <- function() lavaan::HolzingerSwineford1939

three_factors <- "visual =~ x1 + x2 + x3; textual =~ x4 + x5 + x6; speed =~ x7 + x8 + x9"
