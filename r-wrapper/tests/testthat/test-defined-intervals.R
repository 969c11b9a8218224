mediation <- function() {
  skip_without_python()
  model <- "y5 ~ b*y1 + c*x1; y1 ~ a*x1; indirect := a*b"
  dt_sem(dt_dataset("political_democracy"), model)
}

test_that("Monte Carlo intervals are skewed and repeat themselves", {
  fit <- mediation()
  found <- dt_defined_intervals(fit)
  expect_named(found, c("lhs", "op", "rhs", "est", "se", "ci.lower", "ci.upper"))
  expect_gt(found$ci.upper - found$est, found$est - found$ci.lower)
  expect_identical(found, dt_defined_intervals(fit))
  expect_false(identical(found, dt_defined_intervals(fit, seed = 2)))
})

test_that("delta intervals are those of the parameters", {
  fit <- mediation()
  found <- dt_defined_intervals(fit, "delta")
  table <- dt_parameters(fit)
  expect_equal(found$ci.lower, table$ci.lower[table$op == ":="])
  expect_lt(dt_defined_intervals(fit, "delta", level = 0.5)$ci.upper, found$ci.upper)
})

test_that("the summary says which interval it shows", {
  fit <- mediation()
  expect_output(print(summary(fit, ci = TRUE)), "mc.lower")
  expect_false(any(grepl("mc.lower", capture.output(print(summary(fit))))))
})

test_that("a model without defined parameters is refused", {
  fit <- mediation()
  other <- dt_sem(dt_dataset("political_democracy"), "y5 ~ y1")
  expect_error(dt_defined_intervals(other), "defines no parameters")
  expect_error(dt_defined_intervals(fit, "exact"), "monte_carlo")
})
