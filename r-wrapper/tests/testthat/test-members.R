test_that("other candidates of a fit are structures", {
  skip_without_python()
  fit <- dt_fit(nine())
  expect_equal(dt_candidate(fit, 1)$support, fit$structure$support, ignore_attr = TRUE)
  second <- dt_candidate(fit, 2)
  expect_equal(length(second$factors), fit$candidates$n_factors[2])
  expect_equal(sum(second$support), fit$candidates$n_loadings[2])
  for (row in list(0, nrow(fit$candidates) + 1, 1.5, "a", NA, 1:2)) {
    expect_error(dt_candidate(fit, row), "`row` must be a row", class = "dtstat_error_input")
  }
})

test_that("a path has a structure at every threshold", {
  skip_without_python()
  path <- dt_path(nine())
  R <- abs(cor(nine(), method = "spearman"))
  step <- path$steps[which.max(path$steps$tau_high - path$steps$tau_low), ]
  tau <- (step$tau_low + step$tau_high) / 2
  found <- dt_at(path, tau)
  expect_equal(c(length(found$factors), sum(found$support)), c(step$n_factors, step$n_loadings))
  # cliques: all pairs of a factor exceed the threshold
  for (name in found$factors) expect_gt(min(R[found$support[, name], found$support[, name]]), tau)
  expect_error(dt_at(path, 2), "`threshold`", class = "dtstat_error_input")
  few <- dt_path(nine(), floor = 0.3)
  expect_error(dt_at(few, 0.1), "Weaker pairs", class = "dtstat_error_input")
  expect_output(print(summary(path)), "Longest-lived factors")
})

test_that("dependence is selected by items", {
  skip_without_python()
  whole <- dt_dependence(nine())
  part <- whole[c("x3", "x1")]
  expect_s3_class(part, "dt_dependence")
  expect_equal(part$values, whole$values[c(3, 1), c(3, 1)])
  expect_equal(whole[c(3, 1)], part)
  expect_equal(whole[-(2:9)]$items, "x1")
  expect_error(whole["x99"], "no item 'x99'", class = "dtstat_error_input")
  expect_equal(dt_fit(whole[c("x1", "x2", "x3", "x7", "x8", "x9")])$n_factors, 2)
})

test_that("a planned survey can be drawn and measured", {
  skip_without_python()
  design <- dt_survey_design(2, 3, loading = 0.7, factor_correlation = 0.3)
  expect_equal(design$correlations[1, 2], 0.49)
  expect_equal(design$correlations[1, 4], 0.7^2 * 0.3)
  rho <- 6 / pi * asin(design$correlations / 2) # Spearman's correlation of normal items
  expect_equal(unname(dt_dependence(design)$values), rho, tolerance = 1e-9)
  drawn <- simulate(design, 20000, seed = 1)
  expect_equal(unname(cor(drawn)), design$correlations, tolerance = 0.05)
  expect_equal(simulate(design, 5, seed = 1), simulate(design, 5, seed = 1))
  expect_error(simulate(design, 0), "`nsim`", class = "dtstat_error_input")
  expect_equal(design$structure$unique_children, list(F1 = c("x1", "x2", "x3"), F2 = c("x4", "x5", "x6")))
})

test_that("a model is laid out as psychologists read it", {
  skip_without_lavaan()
  fit <- dt_cfa(nine(), three_factors)
  table <- dt_factor_table(fit, cutoff = 0.5, sort = FALSE)
  expect_output(print(table), "Standardized loadings")
  expect_equal(summary(table), table)
  expect_true(is.na(table$loadings["x2", "visual"])) # .42
  theirs <- lavaan::lavInspect(lavaan::cfa(three_factors, nine()), "std")$lambda
  expect_equal(table$loadings[["textual"]][4:6], unname(theirs[4:6, "textual"]), tolerance = 1e-4)
  expect_no_match(capture.output(print(table)), "CFAFit")
  groups <- dt_cfa(two_schools(), three_factors, group = "school")
  expect_output(print(dt_factor_table(groups, group = "Grant-White")), "Group: Grant-White")
  expect_error(dt_factor_table(nine()), "dt_cfa", class = "dtstat_error_input")
})

test_that("everything has a summary that prints", {
  skip_without_python()
  fit <- dt_fit(nine())
  model <- dt_cfa(nine(), three_factors)
  efa <- dt_efa(nine(), 3)
  design <- dt_survey_design(2)
  halves <- cbind(nine(), half = rep(1:2, length.out = 301))
  all <- list(
    fit, model, efa, fit$structure, fit$dependence, dt_path(nine()), dt_path(nine(), floor = 0.2)$dependence,
    dt_compare(fit, fit), dt_margin(nine(), fit), dt_diagnose(fit), dt_stability(nine(), 2, fit, seed = 1),
    design, dt_plan(design, n_draws = 0), dt_simulate(n = 30, seed = 1),
    dt_parallel_analysis(nine(), n_iter = 2, seed = 1), dt_compare_solutions(efa, fit),
    dt_invariance(halves, three_factors, "half"), dt_score_test(model, add = "x1 ~~ x2"),
    dt_vuong(model, update(model, orthogonal = TRUE), nine()), dt_model_power(n_obs = 200, df = 50, rmsea = 0.08),
    dt_bootstrap(model, nine(), n_boot = 20, seed = 1), dt_factor_table(model)
  )
  for (one in all) {
    shown <- capture.output(print(summary(one)))
    expect_true(length(shown) > 0, info = class(one))
    # a list that is dumped shows its names
    expect_no_match(shown, "^\\$|Length|attr\\(,", info = class(one))
    expect_no_match(shown, "None|True|False|NaN|DTFit|CFAFit|DataFrame", info = class(one))
  }
})
