test_that("a confirmatory model speaks R's generics", {
  skip_without_python()
  fit <- dt_cfa(nine(), "speed =~ x7 + x8 + x9; visual =~ x1 + x2 + x3")
  expect_false("speed=~x7" %in% names(coef(fit)))
  expect_equal(AIC(fit), fit$fit_measures[["aic"]])
  expect_equal(nobs(fit), 301)
  expect_equal(dim(fitted(fit)), c(6L, 6L))
  expect_equal(dim(predict(fit, nine())), c(301L, 2L))
  expect_output(print(summary(fit)), "Latent Variables:")
  expect_output(print(summary(dt_efa(nine(), 2))), "Exploratory factor analysis")
  skip_if_not_installed("lavaan")
  theirs <- lavaan::cfa("speed =~ x7 + x8 + x9; visual =~ x1 + x2 + x3", nine())
  expect_equal(coef(fit)[["speed=~x8"]], lavaan::coef(theirs)[["speed=~x8"]], tolerance = 1e-4)
})

test_that("structures come from keys, syntax, loadings and psych", {
  keys <- list(A = c("-a", "b"), B = c("b", "c"))
  structure <- dt_structure(keys)
  expect_equal(structure$items, c("a", "b", "c"))
  expect_equal(as_keys(structure), list(A = c("-a", "b"), B = c("b", "c")))
  expect_equal(as_lavaan(structure), "A =~ b + a\nB =~ b + c")
  L <- matrix(c(.7, -.6, 0, 0, .1, .8), 3, dimnames = list(c("a", "b", "c"), c("A", "B")))
  expect_equal(as_keys(as_structure(L)), list(A = c("a", "-b"), B = "c"))
  turned <- dt_structure(L, reversed = cbind(c(TRUE, FALSE, FALSE), FALSE))
  expect_equal(as_keys(turned), list(A = c("-a", "b"), B = "c"))
  expect_error(dt_structure(L, reversed = TRUE), "`reversed`")
  skip_without_python()
  expect_equal(as_keys(dt_structure("A =~ a + b; B =~ b + c")), list(A = c("a", "b"), B = c("b", "c")))
  skip_if_not_installed("psych")
  fa <- suppressWarnings(psych::fa(nine(), 3, rotate = "varimax"))
  expect_equal(dt_compare(dt_structure(fa), dt_fit(nine())$structure)$n_factors, c(3L, 3L))
})

test_that("an item may be called -1, and two meanings are refused", {
  twins <- stats::setNames(data.frame(1:3, 3:1, c(2, 1, 3)), c("1", "-1", "2"))
  keys <- list(A = c("-1", "2"))
  expect_equal(structure_argument(keys, "keys", twins[-1])$items, c("-1", "2"))
  expect_false(any(structure_argument(keys, "keys", twins[-1])$reversed))
  expect_equal(dt_structure(keys)$items, c("1", "2"))
  expect_error(structure_argument(keys, "keys", twins), "the item '-1' or the item '1' reversed")
  skip_without_python()
  named <- stats::setNames(nine(), c("-1", 2:9))
  expect_equal(dt_reliability(named, list(A = c("-1", "2", "3")))$items$item, c("-1", "2", "3"))
  expect_equal(dt_fit(named, structure = list(A = c("-1", "2", "3")))$structure$items, c("-1", "2", "3"))
  fit <- dt_fit(named)
  expect_setequal(dt_structure(as_lavaan(fit))$items, names(named))
})

test_that("a covariance matrix is no people", {
  skip_without_python()
  S <- cov(nine())
  model <- "visual =~ x1 + x2 + x3; textual =~ x4 + x5 + x6; speed =~ x7 + x8 + x9"
  fit <- dt_cfa(S, model, n_obs = 301)
  expect_equal(fit$fit_measures[["chisq"]], dt_cfa(nine(), model)$fit_measures[["chisq"]])
  expect_error(dt_cfa(S, model), "`x` is a symmetric .* covariance matrix: say how many rows")
  expect_error(dt_fit(S), "n_obs")
  expect_error(dt_dependence(S), "dt_dependence_matrix")
  for (given in list(S, as.data.frame(S))) {
    expect_equal(dt_fit(given, n_obs = 301)$loadings, dt_fit(cor(nine()), n_obs = 301)$loadings)
  }
  expect_error(dt_cfa(dt_dependence(nine(), "kendall"), model), "dt_fit\\(")
  skip_if_not_installed("lavaan")
  theirs <- lavaan::cfa(model, sample.cov = S, sample.nobs = 301)
  table <- lavaan::parameterEstimates(theirs)
  expect_equal(fit$parameters$est, as.numeric(table$est), tolerance = 1e-4)
  expect_equal(fit$parameters$se, as.numeric(table$se), tolerance = 1e-4)
})

test_that("lavaan reads any names, and factors point the same way there", {
  skip_without_python()
  data <- nine()
  data[c(1, 4, 7)] <- -data[c(1, 4, 7)]
  names(data) <- c("Q1?", "Q1!", "F1", "a b", "1st", "x6", "if", "say \"8\"", "back\\slash")
  fit <- dt_fit(data)
  expect_equal(as_lavaan(fit), fit$lavaan)
  expect_equal(as_keys(fit)$F1, c("-Q1?", "Q1!", "F1"))
  ours <- dt_cfa(data, fit)
  expect_equal(dt_cfa(data, as_lavaan(fit))$fit_measures, ours$fit_measures)
  skip_if_not_installed("lavaan")
  given <- as_lavaan(fit, data)
  theirs <- lavaan::cfa(given$model, given$data)
  expect_equal(ours$fit_measures[["chisq"]], lavaan::fitMeasures(theirs, "chisq")[[1]], tolerance = 1e-6)
  scores <- diag(cor(lavaan::lavPredict(theirs), predict(fit, data)))
  expect_true(all(scores > .9))
  expect_error(as_lavaan(fit, nine()), "There is no item")
})

test_that("names from strangers come back from lavaan", {
  skip_without_python()
  skip_if_not_installed("lavaan")
  plain <- dt_fit(nine())
  chisq <- lavaan::fitMeasures(lavaan::cfa(as_lavaan(plain), nine()), "chisq")[[1]]
  sets <- list(
    c("~", "-1", "1", "a=~b", "[b]", "*b*", "none", "=1+1", "a\nb"),
    c("\u00e9", "e\u0301", "\U0001F600", strrep("L", 300), "</script>", "@sum", "\u202egnp", "$x_1$", "const")
  )
  for (names in sets) {
    data <- stats::setNames(nine(), names)
    fit <- dt_fit(data)
    expect_output(print(summary(fit)), "Standardized loadings")
    given <- as_lavaan(fit, data)
    expect_equal(lavaan::fitMeasures(lavaan::cfa(given$model, given$data), "chisq")[[1]], chisq, tolerance = 1e-6)
    expect_setequal(rownames(dt_cfa(data, as_lavaan(fit))$loadings), names)
  }
})

test_that("models of two levels are the same to lavaan and here", {
  skip_without_python()
  skip_if_not_installed("lavaan")
  data <- nine()
  names(data)[1:2] <- c("1st", "a b")
  fit <- dt_fit(data)
  expect_equal(as_lavaan(fit, "simple"), as_lavaan(fit))
  for (model in c("higher_order", "bifactor")) {
    given <- as_lavaan(fit, model, data)
    expect_equal(given$model, as_lavaan(fit, model))
    expect_true(all(c("X1st", "a.b") %in% names(given$data)))
    theirs <- suppressWarnings(lavaan::cfa(given$model, given$data))
    expect_true(lavaan::lavInspect(theirs, "converged"))
    ours <- suppressWarnings(dt_cfa(data, given$model))
    expect_equal(
      ours$fit_measures[c("chisq", "df")], c(unclass(lavaan::fitMeasures(theirs, c("chisq", "df")))),
      tolerance = 1e-5
    )
  }
  expect_error(as_lavaan(fit, "bifac"), "Did you mean 'bifactor'", class = "dtstat_error_input")
  expect_error(as_lavaan(fit$structure, "bifactor"), "A structure has one level", class = "dtstat_error_input")
  one <- dt_fit(data, search = "threshold")
  expect_error(as_lavaan(one, "bifactor"), "search = \"tree\"", class = "dtstat_error_input")
})

test_that("messages are in R's words", {
  skip_without_python()
  expect_snapshot(error = TRUE, {
    dt_fit(nine(), criterion = "eBICs")
    dt_sample_size(p = 25, margin = 2)
    dt_cfa(nine(), "f ~~~ x1")
    dt_efa(nine(), 12)
    dt_stability(nine(), share = 3)
  })
})
