# Tests between models, beside live lavaan.

test_that("scaled differences are lavaan's, and what is not nested is refused", {
  skip_without_lavaan()
  data <- two_schools()
  ours <- list(
    dt_cfa(three_factors, data, estimator = "MLR", group = "school"),
    dt_cfa(three_factors, data, estimator = "MLR", group = "school", group.equal = "loadings")
  )
  free <- lavaan::cfa(three_factors, data, estimator = "MLR", group = "school")
  equal <- lavaan::cfa(three_factors, data, estimator = "MLR", group = "school", group.equal = "loadings")
  for (method in c("default", "satorra.bentler.2001", "satorra.2000")) {
    expected <- lavaan::lavTestLRT(free, equal, method = method)
    found <- anova(ours[[1]], ours[[2]], method = method)
    expect_equal(as.matrix(found), as.matrix(expected), tolerance = 1e-3, ignore_attr = TRUE)
  }
  expect_equal(rownames(dt_compare_models(a = ours[[2]], b = ours[[1]])), c("b", "a"))
  named <- dt_compare_models(ours[[1]], ours[[2]], names = c("free", "equal"))
  expect_equal(rownames(named), c("free", "equal"))
  one <- suppressWarnings(dt_cfa(nine(), "f =~ x1 + x2 + x3 + x4; x1 ~~ x2")) # improper
  other <- dt_cfa(nine(), "f =~ x1 + x2 + x3 + x4; x3 ~~ x1")
  expect_error(anova(one, other), "dt_vuong()", fixed = TRUE, class = "dtstat_error_input")
  expect_error(dt_compare_models(one), "two fitted models", class = "dtstat_error_input")
})

test_that("Wald and score tests are lavaan's", {
  skip_without_lavaan()
  model <- "visual =~ x1 + a*x2 + b*x3; textual =~ x4 + c*x5 + x6; c == a"
  ours <- dt_cfa(model, two_schools())
  theirs <- lavaan::cfa(model, two_schools())
  wald <- dt_wald_test(ours, "a == b")
  expect_s3_class(wald, "htest")
  expected <- lavaan::lavTestWald(theirs, "a == b")
  expect_equal(wald$statistic[[1]], expected$stat, tolerance = 1e-3)
  expect_equal(wald$p.value, expected$p.value, tolerance = 1e-3)
  released <- dt_score_test(ours)
  expected <- lavaan::lavTestScore(theirs)
  expect_equal(released$chisq, expected$test$X2, tolerance = 1e-3)
  added <- dt_score_test(ours, add = "x1 ~~ x4")
  expected <- lavaan::lavTestScore(theirs, add = "x1 ~~ x4")
  expect_equal(added$table$chisq, expected$uni$X2, tolerance = 1e-3)
  expect_output(print(added), "x1")
})

test_that("the ladder of invariance is lavaan's", {
  skip_without_lavaan()
  data <- two_schools()
  found <- dt_invariance(three_factors, data, group = "school")
  ladder <- list(
    configural = "", metric = "loadings", scalar = c("loadings", "intercepts"),
    strict = c("loadings", "intercepts", "residuals")
  )
  theirs <- lapply(ladder, function(equal) {
    lavaan::cfa(three_factors, data, group = "school", group.equal = equal)
  })
  tests <- lavaan::anova(theirs$configural, theirs$metric, theirs$scalar, theirs$strict)
  expect_equal(found$table$step, names(ladder))
  expect_equal(found$table$chisq, tests$Chisq, tolerance = 1e-4)
  expect_equal(found$table$pvalue_diff, tests$`Pr(>Chisq)`, tolerance = 1e-3)
  cfi <- vapply(theirs, lavaan::fitMeasures, 0, "cfi")
  expect_equal(found$table$delta_cfi[-1], unname(diff(cfi)), tolerance = 1e-3)
  expect_equal(coef(found$fits$scalar), c(unclass(lavaan::coef(theirs$scalar))), tolerance = 1e-4)
  expect_equal(found$rejected, "scalar")
  expect_equal(found$releases$rhs[found$releases$step == "metric"][1], found$releases$rhs[1])
  expect_identical(tidy(found), found$table)
  without_python(expect_output(print(found), "What breaks the step 'scalar'"))
  file <- tempfile(fileext = ".dtstat")
  dt_save(found, file)
  expect_s3_class(dt_load(file)$fits$metric, "dt_cfa")
  expect_error(dt_invariance(three_factors, data), "`group` is missing", class = "dtstat_error_input")
  skip_if_not_installed("ggplot2")
  drawn <- ggplot2::autoplot(found)
  expect_equal(drawn$data$change[1:3], found$table$delta_cfi[-1])
})

test_that("models show how far they are only if asked", {
  skip_without_python()
  bridge()
  reticulate::py_run_string(paste(
    "from dtstat.interop.r_bridge import FUNCTIONS as doors",
    "kept, told = dict(doors), []",
    "def watched(name):",
    "    def call(progress=None, **given):",
    "        told.append(callable(progress))",
    "        return kept[name](progress=progress, **given)",
    "    return call",
    "doors.update({name: watched(name) for name in ('cfa', 'sem', 'growth', 'invariance')})",
    sep = "\n"
  ))
  on.exit(reticulate::py_run_string("doors.update(kept)"))
  data <- nine()
  data$half <- rep(c("first", "second"), c(150, 151))
  model <- "visual =~ x1 + x2 + x3"
  shown <- dt_cfa(model, data, progress = TRUE)
  silent <- dt_cfa(data, model, progress = FALSE)
  dt_sem(data, model, progress = TRUE)
  dt_growth(data, "level =~ 1*x1 + 1*x2 + 1*x3", progress = TRUE)
  dt_invariance(data, model, "half", progress = TRUE)
  dt_invariance(data, model, "half")
  expect_equal(reticulate::py_eval("told"), c(TRUE, FALSE, TRUE, TRUE, TRUE, interactive()))
  expect_identical(silent$parameters, shown$parameters)
})

test_that("a bootstrap has intervals of several kinds", {
  skip_without_python()
  data <- dt_dataset("political_democracy")
  fit <- dt_sem(data, "y5 ~ b*y1 + c*x1; y1 ~ a*x1; indirect := a*b")
  found <- dt_bootstrap(fit, data, n_boot = 50, seed = 1, progress = FALSE)
  expect_identical(found$parameters, dt_bootstrap(fit, data, n_boot = 50, seed = 1)$parameters)
  percentile <- tidy(found)
  expect_equal(percentile$conf.low, found$parameters$ci.lower)
  expect_false(isTRUE(all.equal(tidy(found, interval = "BCa")$conf.low, percentile$conf.low)))
  narrow <- tidy(found, conf.level = 0.5)
  expect_true(all(narrow$conf.low >= percentile$conf.low))
  expect_output(print(found), "50 resamples")
  expect_error(tidy(found, interval = "wide"), "`interval`", class = "dtstat_error_input")
})

test_that("models that are not nested, and power, are compared", {
  skip_without_python()
  a <- dt_cfa(nine(), "f =~ x1 + x2 + x3; g =~ x4 + x5 + x6; x1 ~~ x4")
  b <- dt_cfa(nine(), "f =~ x1 + x2 + x3; g =~ x4 + x5 + x6 + x1")
  found <- dt_vuong(a, b, nine())
  expect_equal(found$log_ratio, c(logLik(a)) - c(logLik(b)), tolerance = 1e-6)
  expect_equal(found$a_better_pvalue, stats::pnorm(-found$z))
  power <- dt_model_power(n_obs = 200, df = 50, rmsea = 0.08, null_rmsea = 0.05)
  critical <- stats::qchisq(.95, 50, 199 * 50 * .05^2)
  expect_equal(power$power, stats::pchisq(critical, 50, 199 * 50 * .08^2, lower.tail = FALSE), tolerance = 0.01)
  expect_output(print(power), "200 rows")
})

test_that("structure after measurement prints and has coefficients", {
  skip_without_lavaan()
  model <- "ind60 =~ x1 + x2 + x3; dem60 =~ y1 + y2 + y3 + y4; dem60 ~ ind60"
  ours <- dt_sem(model, lavaan::PoliticalDemocracy, method = "sam")
  theirs <- lavaan::sam(model, lavaan::PoliticalDemocracy)
  expect_equal(coef(ours)[["dem60~ind60"]], lavaan::coef(theirs)[["dem60~ind60"]], tolerance = 1e-3)
  expect_output(print(summary(ours)), "Two-step")
})
