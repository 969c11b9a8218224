answers <- data.frame(
  A1 = c(1, 2, 3, NA), A2 = c(4, 3, 2, 1), A3 = c(2, 2, 5, 1), `odd name` = c(1, 0, 1, 0),
  check.names = FALSE
)

refused <- function(formula, message) {
  expect_error(items_of(formula, answers), message, fixed = TRUE, class = "dtstat_error_input")
}

test_that("columns are named, all, or all but some", {
  expect_equal(items_of(~ A2 + A1, answers), answers[c("A2", "A1")])
  expect_equal(items_of(~ ., answers), answers)
  expect_equal(items_of(~ . - A1 - A2, answers), answers[c("A3", "odd name")])
  expect_equal(items_of(~ . - `odd name`, answers), answers[1:3])
  expect_equal(items_of(~ . - (A1 + A3), answers), answers[c("A2", "odd name")])
  expect_equal(items_of(~ 0 + A1 + A2 + A1, answers), answers[c("A1", "A2")])
})

test_that("computed columns are those of R's model frame, gaps and all", {
  formula <- ~ exp(A1) + A2 + I(6 - A3) + log(`odd name` + 1) + scale(A2)
  ours <- items_of(formula, answers)
  theirs <- stats::model.frame(formula, answers, na.action = stats::na.pass)
  expect_equal(names(ours), names(theirs))
  for (name in names(ours)) expect_equal(as.vector(ours[[name]]), as.vector(theirs[[name]]))
  expect_equal(ours[["exp(A1)"]], exp(answers$A1))
  expect_null(dim(ours[["scale(A2)"]]))
})

test_that("factors and labels stay as they are", {
  data <- transform(answers, o = factor(c("lo", "hi", "lo", "mid"), c("lo", "mid", "hi"), ordered = TRUE))
  expect_equal(items_of(~ o + A1, data), data[c("o", "A1")])
  expect_equal(items_of(~ ordered(A2) + A1, answers)[["ordered(A2)"]], ordered(answers$A2))
})

test_that("what is no item is refused in a sentence", {
  refused(A1 ~ A2 + A3, "no left side")
  refused(~ A1:A2 + A3, "'A1:A2' is an interaction")
  refused(~ A1 * A2, "'A1:A2' is an interaction")
  refused(~ (A1 + A2 + A3)^2, "is an interaction")
  refused(~ poly(A2, 2) + A3, "'poly(A2, 2)' gives 2 columns")
  refused(~ mean(A2) + A3, "gives 1 values for 4 rows")
  refused(~ nothing(A2) + A3, "'nothing(A2)' cannot be computed")
  refused(~ A1 + B7, "no item 'B7'")
  refused(~ . - B7, "no item 'B7'")
  refused(~ 1, "names no items")
  refused(~ A1 + offset(A2), "offset()")
  refused(~ log(.), "cannot be computed")
  A9 <- 1:4 # not a column: a slip of the keyboard must not find it
  refused(~ A1 + A9, "no item 'A9'")
  expect_error(items_of(~ A1, as.list(answers)), "must be a data frame")
  expect_error(items_of(~ A1, answers[c(1, 1)] |> setNames(c("A1", "A1"))), "two columns named 'A1'")
})

test_that("a fit by formula is the fit of those columns", {
  skip_without_python()
  data <- nine()
  same <- function(formula, columns) {
    expect_equal(coef(dt_fit(formula, data)), coef(dt_fit(columns)))
  }
  same(~ . - x1 - x2 - x3, data[4:9])
  computed <- data
  computed$x4 <- NULL
  computed[["exp(2 * x4)"]] <- exp(2 * data$x4)
  same(~ . - x4 + exp(2 * x4), computed)
  squared <- data[c("x1", "x2", "x3")]
  squared[["I((x4 - 3)^2)"]] <- (data$x4 - 3)^2
  same(~ x1 + x2 + x3 + I((x4 - 3)^2), squared)
})

test_that("formulas are taken by dt_fit() alone, and others say so", {
  skip_without_python()
  expect_error(dt_dependence(~ x1 + x2), "formula", class = "dtstat_error_input")
  expect_error(dt_path(~ x1 + x2), "formula", class = "dtstat_error_input")
  expect_error(dt_cfa(~ x1 + x2, "f =~ x1 + x2"), "formula", class = "dtstat_error_input")
})
