test_that("nine tests have three factors", {
  skip_without_python()
  fit <- dt_fit(nine())
  expect_s3_class(fit, "dt_fit")
  expect_equal(fit$keys, list(F1 = c("x1", "x2", "x3"), F2 = c("x4", "x5", "x6"), F3 = c("x7", "x8", "x9")))
  expect_equal(dimnames(coef(fit)), list(paste0("x", 1:9), paste0("F", 1:3)))
  expect_equal(nobs(fit), 301)
  expect_equal(attr(logLik(fit), "df"), 21)
  expect_equal(AIC(fit), glance(fit)$AIC)
  latent <- 2 * sin(pi / 6 * cor(nine(), method = "spearman"))
  expect_equal(fitted(fit) + residuals(fit), latent)
  implied <- coef(fit) %*% fit$factor_correlations %*% t(coef(fit)) + diag(fit$uniquenesses)
  expect_equal(unclass(implied), fitted(fit), tolerance = 1e-6)
})

test_that("a matrix gives what its data give", {
  skip_without_python()
  R <- cor(nine(), method = "spearman")
  from_matrix <- dt_fit(dt_dependence_matrix(R, n_obs = 301, measure = "spearman"))
  expect_equal(unclass(coef(from_matrix)), unclass(coef(dt_fit(nine()))), tolerance = 1e-8)
  also <- dt_fit(R, measure = "spearman", n.obs = 301)
  expect_equal(coef(also), coef(from_matrix))
  expect_error(dt_fit(R), "n_obs", class = "dtstat_error_input")
})

test_that("factors that others hide are found when those are explained", {
  skip_without_python()
  drawn <- dt_simulate("clusters", n = 800, n_factors = 6, items_per_factor = 8, violating = 1 / 3, seed = 2)
  expect_false(drawn$structure$satisfies_ucc)
  found <- dt_fit(drawn$data, search = "sequential")
  expect_gt(dt_compare(found, drawn$structure)$f1, 0.95)
  expect_gt(dt_compare(found, drawn$structure)$f1, dt_compare(dt_fit(drawn$data), drawn$structure)$f1 + 0.05)
  expect_equal(dt_fit(nine(), search = "sequential")$keys, dt_fit(nine())$keys)
})

test_that("formulas, update and scores", {
  skip_without_python()
  fit <- dt_fit(~ x1 + x2 + x3 + x4 + x5 + x6, nine())
  expect_equal(rownames(coef(fit)), paste0("x", 1:6))
  expect_equal(ncol(coef(update(fit, criterion = "bic"))), ncol(coef(fit)))
  scores <- predict(fit, nine(), sd = TRUE)
  expect_equal(dim(scores), c(301L, 2L * ncol(coef(fit))))
  expect_equal(names(augment(fit, nine()))[10:11], c("F1_score", "F2_score"))
})

test_that("errors are sentences with a class", {
  skip_without_python()
  expect_error(dt_fit(nine(), search = "trees"), "Did you mean 'tree'", class = "dtstat_error_input")
  expect_error(dt_fit(nine(), rows = 3), "no argument `rows`", class = "dtstat_error_input")
  expect_error(dt_fit(~ y, nine()), "no item 'y'", class = "dtstat_error_input")
  expect_error(predict(dt_fit(nine())), "newdata", class = "dtstat_error_input")
})

test_that("the number of factors is given as in psych or as here", {
  skip_without_python()
  two <- dt_fit(nine(), n_factors = 2)
  expect_equal(ncol(coef(two)), 2)
  expect_equal(coef(dt_fit(nine(), 2)), coef(two))
  expect_equal(coef(dt_fit(nine(), nfactors = 2)), coef(two))
  expect_equal(coef(dt_fit(~ ., nine(), n_factors = 2)), coef(two))
  expect_equal(coef(dt_fit(~ ., nine(), nfactors = 2)), coef(two))
  expect_equal(coef(update(two, n_factors = 3)), coef(dt_fit(nine(), n_factors = 3)))
  expect_equal(two$arguments$n_factors, 2)
  refused <- function(message, ...) {
    expect_error(dt_fit(nine(), ...), message, fixed = TRUE, class = "dtstat_error_input")
  }
  refused("`n_factors` and `nfactors` are the same", n_factors = 2, nfactors = 2)
  refused("`n_factors` must be at most 4 with 9 items", n_factors = 5)
  refused("use search = \"tree\"", n_factors = 2, search = "sequential")
  refused("`n_factors` must be a whole number", n_factors = 2.5)
})

test_that("levels are a data frame, and each can be fitted", {
  skip_without_python()
  fit <- dt_fit(nine())
  expect_named(fit$levels, c(
    "n_factors", "chosen", "level", "supported", "one_fewer_costs", "joins", "correlation",
    "agreement", "step", "cost"
  ))
  expect_equal(fit$levels$n_factors, seq_len(nrow(fit$levels)))
  expect_equal(which(fit$levels$chosen), ncol(coef(fit)))
  expect_true(is.na(fit$levels$one_fewer_costs[1]))
  two <- dt_level(fit, 2)
  expect_s3_class(two, "dt_fit")
  expect_equal(unname(unclass(coef(two))), unname(unclass(coef(dt_fit(nine(), n_factors = 2)))))
  expect_equal(which(two$levels$chosen), 2)
  broad <- fit$levels$n_factors[fit$levels$level == "broad"]
  expect_equal(ncol(coef(dt_level(fit, "broad"))), broad)
  expect_output(print(two), "dt_level(fit = fit, which = 2)", fixed = TRUE)
  shown <- capture.output(print(fit))
  expect_match(shown, "one fewer costs +cheapest join +r +agreement +step", all = FALSE)
  expect_match(shown, " chosen fine| chosen broad", all = FALSE)
  expect_match(paste(shown, collapse = " "), "Use dt_level(fit, k) for another level.", fixed = TRUE)
  expect_error(dt_level(fit, 20), "See $levels", fixed = TRUE, class = "dtstat_error_input")
  expect_error(dt_level(fit, "wide"), "`which`", class = "dtstat_error_input")
  expect_error(dt_level(nine(), 2), "must be a result of dt_fit()", class = "dtstat_error_input")
  one <- dt_fit(nine(), search = "threshold")
  expect_equal(nrow(one$levels), 0)
  expect_error(dt_level(one, 2), "Fit with search = \"tree\"", fixed = TRUE, class = "dtstat_error_input")
})

test_that("warnings have a class", {
  skip_without_python()
  data <- nine()[1:20, ]
  data$copy <- data$x1
  expect_warning(dt_dependence(data), "determine each other", class = "dtstat_warning_data")
})

test_that("a stored fit works without Python", {
  fit <- stored_fit()
  expect_output(print(fit), "3 factors behind 9 items")
  expect_output(print(summary(fit)), "Alternatives considered")
  expect_equal(names(tidy(fit))[1:4], c("term", "lhs", "op", "rhs"))
  expect_equal(nrow(glance(fit)), 1)
  expect_match(as_lavaan(fit), "F1 =~ x1 \\+ x2 \\+ x3")
  expect_equal(as_lavaan(fit$structure), as_lavaan(fit))
  expect_equal(which(fit$levels$chosen), 3)
  expect_output(print(fit), "Levels:")
  expect_s3_class(coef(fit), "loadings")
  expect_snapshot(print(summary(fit, intervals = TRUE)), transform = without_numbers)
})

test_that("criteria are the same wherever they are read", {
  skip_without_python()
  gaps <- dt_dataset("likert_survey")
  fit <- dt_fit(gaps)
  expect_equal(nobs(fit), nrow(gaps))
  expect_lt(fit$n_typical, nobs(fit))
  expect_equal(BIC(fit), glance(fit)$BIC)
  expect_equal(BIC(fit), fit$candidates$bic[1])
  expect_equal(AIC(fit), fit$candidates$aic[1])
  part <- dt_fit(nine(), criterion = "validation", seed = 1) # chosen on part of the rows
  expect_equal(c(AIC(part), BIC(part)), c(glance(part)$AIC, glance(part)$BIC))
  same <- dt_fit(nine(), structure = part$structure)
  expect_equal(BIC(part), BIC(same), tolerance = 1e-6)
})

test_that("standard errors and intervals are listed where they are known", {
  skip_without_python()
  fit <- dt_fit(nine())
  rows <- tidy(fit, conf.int = TRUE)
  expect_equal(rows$conf.high - rows$conf.low, 2 * qnorm(0.975) * rows$std.error)
  shown <- capture.output(print(summary(fit, intervals = TRUE)))
  for (term in rows$term) expect_match(shown, term, fixed = TRUE, all = FALSE)
  expect_no_match(capture.output(print(summary(fit))), "with 95% intervals")
  three <- capture.output(print(summary(dt_fit(nine()[1:3]), intervals = TRUE)))
  expect_match(three, "Not tested. The model has no degrees of freedom.", fixed = TRUE, all = FALSE)
  expect_no_match(three, "NA")
})

test_that("where there is no factor, it is said why, and nothing empty is printed", {
  skip_without_python()
  set.seed(1)
  noise <- as.data.frame(matrix(rnorm(1000), 200))
  shown <- paste(capture.output(print(summary(dt_fit(noise), intervals = TRUE))), collapse = " ")
  expect_match(shown, "no factor behind 5 items")
  expect_match(shown, "The strongest dependence is", fixed = TRUE)
  expect_match(shown, "dt_measures()", fixed = TRUE)
  expect_no_match(shown, "<0 rows>|chi-square")
})

test_that("a stored fit goes on with Python", {
  skip_without_python()
  expect_equal(predict(stored_fit(), nine()), predict(dt_fit(nine()), nine()))
})

test_that("a forked process is refused", {
  skip_without_python()
  skip_on_os("windows")
  dt_measures()
  answer <- parallel::mclapply(1:2, function(i) tryCatch(dt_measures(), error = class), mc.cores = 2)
  expect_true("dtstat_error_fork" %in% answer[[1]])
})

test_that("a floor keeps the strong pairs, and the path from there up", {
  skip_without_python()
  items <- nine()
  pairs <- dt_dependence(items, floor = 0.3)
  expect_s3_class(pairs, "dt_sparse_dependence")
  whole <- abs(dt_dependence(items)$values)
  expect_equal(nrow(pairs$pairs), sum(whole[upper.tri(whole)] > 0.3))
  expect_false(is.unsorted(-abs(pairs$pairs$dependence)))
  expect_output(print(pairs), "pairs above 0.3")
  sparse <- dt_path(pairs)
  expect_equal(sparse$keys, dt_path(items, floor = 0.3)$keys)
  dense <- dt_path(items)
  strong <- dense$steps[dense$steps$tau_high > 0.3, ]
  expect_equal(sparse$steps$tau_high, strong$tau_high)
  expect_equal(sparse$steps$n_factors, strong$n_factors)
  expect_output(print(sparse), "all thresholds from 0.3 up")
  expect_error(dt_path(items, floor = 2), "floor", class = "dtstat_error_input")
})

test_that("a checkpoint is gone on with", {
  skip_without_python()
  file <- tempfile(fileext = ".jsonl")
  on.exit(unlink(file))
  first <- dt_stability(nine(), n_boot = 6, seed = 2, checkpoint = file)
  expect_length(readLines(file), 7)
  again <- dt_stability(nine(), n_boot = 6, checkpoint = file)
  expect_equal(again$edges, first$edges)
  expect_length(readLines(file), 7)
  expect_error(
    dt_stability(nine(), n_boot = 6, seed = 3, checkpoint = file), "begun by another call",
    class = "dtstat_error_input"
  )
})
