# Models beside live lavaan, which the calls are written for.

# The same call of both packages.
both <- function(..., what = "cfa") {
  theirs <- get(what, asNamespace("lavaan"))
  ours <- get(paste0("dt_", what))
  list(ours = ours(...), theirs = theirs(...))
}

by_name <- function(table, values) {
  group <- if (is.null(table$group)) 1 else match(table$group, unique(table$group))
  group <- ifelse(table$op == ":=", "", group)
  names <- gsub(" ", "", paste0(table$lhs, table$op, table$rhs, ".", group))
  stats::setNames(unclass(table[[values]]), names)
}

expect_same_model <- function(fits) {
  ours <- fits$ours
  theirs <- fits$theirs
  expect_equal(coef(ours), c(unclass(lavaan::coef(theirs))), tolerance = 1e-4)
  expect_equal(vcov(ours), unclass(lavaan::vcov(theirs)), tolerance = 1e-3, ignore_attr = "class")
  table <- lavaan::parameterEstimates(theirs, standardized = TRUE)
  table <- table[!table$op %in% c("==", "<", ">"), ]
  for (column in c("est", "se", "z", "pvalue", "ci.lower", "ci.upper", "std.lv", "std.all")) {
    own <- by_name(dt_parameters(ours, standardized = TRUE), column)
    expect_equal(own, by_name(table, column), tolerance = 1e-3, info = column)
  }
  known <- c("chisq", "df", "pvalue", "cfi", "tli", "rmsea", "srmr", "npar", "aic", "bic", "ntotal")
  known <- c(known, intersect(c("chisq.scaled", "cfi.robust", "rmsea.scaled"), names(ours$fit_measures)))
  expect_equal(
    lavaan::fitMeasures(ours, known), c(unclass(lavaan::fitMeasures(theirs, known))), tolerance = 1e-3
  )
  expect_equal(BIC(ours), BIC(theirs), tolerance = 1e-6)
  expect_equal(nobs(ours), lavaan::nobs(theirs))
  standardized <- lavaan::standardizedSolution(theirs)
  standardized <- standardized[!standardized$op %in% c("==", "<", ">"), ]
  for (column in c("est.std", "se")) {
    own <- by_name(dt_standardized(ours), column)
    expect_equal(own, by_name(standardized, column), tolerance = 1e-3, info = column)
  }
}

# Lines of a page from a title on.
page_from <- function(lines, title = "^Parameter Estimates:") {
  lines <- without_numbers(lines)
  lines <- lines[-seq_len(grep(title, lines)[1] - 1)]
  while (!nzchar(lines[length(lines)])) lines <- lines[-length(lines)]
  lines
}

test_that("lavaan's calls give lavaan's numbers", {
  skip_without_lavaan()
  data <- two_schools()
  expect_same_model(both(three_factors, data))
  expect_same_model(both(three_factors, data = data, std.lv = TRUE, estimator = "MLR"))
  expect_same_model(both(model = three_factors, data = data, meanstructure = TRUE, orthogonal = TRUE))
  data$x1[1:20] <- NA
  expect_same_model(both(three_factors, data, missing = "ML"))
})

test_that("groups are lavaan's", {
  skip_without_lavaan()
  data <- two_schools()
  expect_same_model(both(three_factors, data, group = "school"))
  expect_same_model(both(
    three_factors, data, group = "school", group.equal = c("loadings", "intercepts"),
    group.partial = c("visual=~x2", "x3~1"), estimator = "MLR"
  ))
  expect_same_model(both(
    three_factors, data, std.lv = TRUE, group = "school", group.equal = c("loadings", "lv.variances")
  ))
})

test_that("constraints and defined parameters are lavaan's", {
  skip_without_lavaan()
  mediation <- "textual ~ a*visual; speed ~ b*textual + c*visual; indirect := a*b; total := c + a*b"
  expect_same_model(both(c(three_factors, mediation), two_schools(), what = "sem"))
  equal <- "visual =~ x1 + a*x2 + b*x3; textual =~ x4 + c*x5 + x6; a == b; ratio := c / a"
  expect_same_model(both(equal, two_schools()))
})

test_that("estimators, weights, clusters and matrices of groups are lavaan's", {
  skip_without_lavaan()
  data <- two_schools()
  for (estimator in c("MLM", "MLMV", "MLMVS", "MLF", "GLS", "ULSMV")) {
    fits <- both(three_factors, data, estimator = estimator)
    expect_equal(vcov(fits$ours), unclass(lavaan::vcov(fits$theirs)), tolerance = 1e-3, ignore_attr = "class")
    expect_equal(
      unname(dt_fit_measures(fits$ours)[c("chisq", "cfi")]),
      unname(c(unclass(lavaan::fitMeasures(fits$theirs, c("chisq", "cfi"))))), tolerance = 1e-3
    )
    ours <- capture.output(print(summary(fits$ours)))
    expect_equal(
      page_from(ours, "^Latent"), page_from(capture.output(print(lavaan::summary(fits$theirs))), "^Latent")
    )
  }
  data$w <- 0.5 + (seq_len(nrow(data)) %% 4) / 3
  data$class <- rep(1:43, length.out = nrow(data))
  weighted <- both(three_factors, data, sampling.weights = "w")
  expect_equal(sqrt(diag(vcov(weighted$ours))), sqrt(diag(lavaan::vcov(weighted$theirs))), tolerance = 1e-3)
  clustered <- suppressWarnings(both(three_factors, data, cluster = "class")) # lavaan speaks of its tests
  expect_equal(sqrt(diag(vcov(clustered$ours))), sqrt(diag(lavaan::vcov(clustered$theirs))), tolerance = 1e-3)

  schools <- split(data[paste0("x", 1:9)], factor(data$school, unique(data$school)))
  given <- list(
    three_factors, sample.cov = lapply(schools, cov), sample.mean = lapply(schools, colMeans),
    sample.nobs = vapply(schools, nrow, 0L), meanstructure = TRUE
  )
  expect_equal(coef(do.call(dt_cfa, given)), coef(dt_cfa(three_factors, data, group = "school")), tolerance = 1e-4)
  expect_same_model(both(
    "i =~ 1*t1 + 1*t2 + 1*t3 + 1*t4; s =~ 0*t1 + 1*t2 + 2*t3 + 3*t4", lavaan::Demo.growth, what = "growth"
  ))
})

test_that("ordered items are lavaan's", {
  skip_without_lavaan()
  data <- two_schools()
  data[paste0("x", 1:9)] <- lapply(data[paste0("x", 1:9)], function(x) as.integer(cut(x, 4)))
  two <- "visual =~ x1 + x2 + x3; textual =~ x4 + x5 + x6"
  for (options in list(list(), list(parameterization = "theta"), list(group = "sex"))) {
    given <- c(list(model = two, data = data, ordered = TRUE, estimator = "WLSMV"), options)
    ours <- do.call(dt_cfa, given)
    theirs <- do.call("cfa", given, envir = asNamespace("lavaan"))
    expected <- c(unclass(lavaan::coef(theirs))) # in another order
    expect_equal(coef(ours)[names(expected)], expected, tolerance = 1e-3)
    expect_setequal(names(coef(ours)), names(expected))
    errors <- sqrt(diag(vcov(ours)))[names(expected)]
    expect_equal(errors, sqrt(diag(lavaan::vcov(theirs))), tolerance = 2e-3)
    known <- c("chisq.scaled", "df.scaled", "cfi.scaled", "rmsea.scaled", "srmr")
    expected <- c(unclass(lavaan::fitMeasures(theirs, known)))
    expect_equal(dt_fit_measures(ours, known), expected, tolerance = 2e-3)
    page <- capture.output(print(summary(ours, standardized = TRUE)))
    theirs <- capture.output(print(lavaan::summary(theirs, standardized = TRUE)))
    expect_equal(page_from(page, "^Latent"), page_from(theirs, "^Latent"))
  }
})

test_that("data and model are told apart, by place or by name", {
  skip_without_python()
  asked <- dt_cfa(nine(), three_factors, std_lv = TRUE)
  S <- cov(nine())
  again <- list(
    dt_cfa(three_factors, nine(), std.lv = TRUE), dt_cfa(three_factors, data = nine(), std.lv = TRUE),
    dt_cfa(model = three_factors, data = nine(), std.lv = TRUE),
    dt_sem(data = nine(), std.lv = TRUE, three_factors),
    dt_cfa(strsplit(three_factors, "; ")[[1]], nine(), std.lv = TRUE),
    dt_cfa(asked, nine(), std.lv = TRUE), dt_cfa(nine(), asked$model, "ML", std.lv = TRUE),
    dt_cfa(three_factors, sample.cov = S, sample.nobs = 301, std.lv = TRUE)
  )
  for (one in again) expect_equal(coef(one), coef(asked), tolerance = 1e-6)
  keys <- list(visual = c("x1", "x2", "x3"), textual = c("x4", "x5", "x6"), speed = c("x7", "x8", "x9"))
  for (model in list(keys, dt_structure(keys), dt_structure(keys)$support * 1)) {
    for (one in list(dt_cfa(nine(), model, std_lv = TRUE), dt_cfa(model, data = nine(), std_lv = TRUE))) {
      expect_equal(coef(one), coef(asked), tolerance = 1e-6)
    }
  }
  first <- again[[1]]
  expect_equal(coef(update(first, std.lv = FALSE)), coef(dt_cfa(nine(), three_factors)))
  expect_equal(nrow(vcov(update(first, model = "visual =~ x1 + x2 + x3"))), 6)
})

test_that("what cannot be meant is refused in a sentence", {
  skip_without_python()
  refused <- function(code, message) {
    expect_error(code, message, fixed = TRUE, class = "dtstat_error_input")
  }
  refused(dt_cfa(three_factors, nine(), std.lvs = TRUE), "no argument `std.lvs`. Did you mean `std_lv`?")
  refused(dt_cfa(three_factors, nine(), likelihood = "wishart"), "dt_cfa() has `x`, `model`")
  refused(dt_cfa(three_factors, nine(), std.lv = TRUE, std_lv = TRUE), "says again what `std_lv` says")
  refused(dt_cfa(nine(), three_factors, data = nine()), "`data` says again what `x` says")
  refused(dt_cfa(three_factors), "The data are missing: dt_cfa(data, model)")
  refused(dt_sem(data = nine()), "`model` is missing: dt_sem(data, model)")
  refused(dt_cfa(nine(), three_factors, estimator = "MLRX"), "Did you mean 'mlr'?")
  fit <- dt_cfa(nine(), three_factors)
  refused(summary(fit, fit_measures = TRUE), "Did you mean `fit.measures`?")
  refused(dt_fit_measures(fit, "cfi2"), "Did you mean 'cfi'?")
  refused(dt_parameters(fit, level = 95), "`level` must be a number between 0 and 1")
  refused(predict(fit), "a fit does not keep the answers")
  refused(anova(fit, 3), "must be a result of dt_cfa() or dt_sem()")
  refused(anova(fit, dt_cfa(nine()[-1, ], three_factors)), "of the same rows; got 301 and 300")
  refused(anova(fit, update(fit, estimator = "mlr")), "got 'ml' and 'mlr'")
  refused(residuals(fit, "rows"), "`kind`")
  ordered <- dt_cfa(round(nine()), "visual =~ x1 + x2 + x3 + x4", ordered = TRUE)
  refused(AIC(ordered), "no likelihood")
})

test_that("anova is lavaan's", {
  skip_without_lavaan()
  data <- two_schools()
  for (estimator in c("ML", "MLR")) {
    free <- both(three_factors, data, group = "school", estimator = estimator)
    equal <- both(three_factors, data, group = "school", group.equal = "loadings", estimator = estimator)
    more <- c("loadings", "intercepts")
    most <- both(three_factors, data, group = "school", group.equal = more, estimator = estimator)
    ours <- anova(most$ours, free$ours, equal$ours)
    theirs <- lavaan::anova(most$theirs, free$theirs, equal$theirs)
    expect_equal(names(ours), names(theirs))
    expect_equal(rownames(ours), c("free$ours", "equal$ours", "most$ours"))
    expect_equal(as.matrix(ours), as.matrix(theirs), tolerance = 1e-4, ignore_attr = TRUE)
    expect_output(print(ours), if (estimator == "ML") "^Chi-square difference" else "Satorra and Bentler")
    one <- lavaan::anova(free$theirs)
    expect_equal(as.matrix(anova(free$ours)), as.matrix(one), tolerance = 1e-4, ignore_attr = TRUE)
  }
})

test_that("scores, residuals and modification indices are lavaan's", {
  skip_without_lavaan()
  data <- two_schools()
  fits <- both(three_factors, data, group = "school", group.equal = "loadings")
  for (method in c("regression", "Bartlett")) {
    theirs <- lavaan::lavPredict(fits$theirs, method = method, assemble = TRUE)
    scores <- predict(fits$ours, data, method = method)
    expect_equal(scores, theirs[names(scores)], tolerance = 1e-3, ignore_attr = TRUE)
  }
  raw <- lapply(lavaan::residuals(fits$theirs, type = "raw"), `[[`, "cov")
  expect_equal(residuals(fits$ours, "raw"), lapply(raw, unclass), tolerance = 1e-3, ignore_attr = "class")
  cors <- lapply(lavaan::residuals(fits$theirs, type = "cor.bollen"), `[[`, "cov")
  expect_equal(residuals(fits$ours), lapply(cors, unclass), tolerance = 1e-3, ignore_attr = "class")
  implied <- lapply(lavaan::fitted(fits$theirs), `[[`, "cov")
  expect_equal(fitted(fits$ours), lapply(implied, unclass), tolerance = 1e-3, ignore_attr = "class")

  fits <- both(three_factors, data)
  ours <- dt_modification_indices(fits$ours, minimum = 3)
  theirs <- lavaan::modindices(fits$theirs, sort. = TRUE, minimum.value = 3)
  expect_equal(ours[1:10, c("lhs", "op", "rhs")], data.frame(theirs)[1:10, 1:3], ignore_attr = TRUE)
  expect_equal(ours$mi, theirs$mi, tolerance = 1e-3)
  expect_equal(ours$epc, theirs$epc, tolerance = 1e-3)
  reliability <- dt_reliability(fits$ours)
  S <- cov(data[c("x4", "x5", "x6")])
  expect_equal(reliability$alpha[reliability$factor == "textual"], 1.5 * (1 - sum(diag(S)) / sum(S)))
})

before_defined <- function(lines) {
  at <- match("Defined Parameters:", lines, nomatch = length(lines) + 1)
  lines[seq_len(at - 1)]
}

test_that("a summary stands where lavaan's stands", {
  skip_without_lavaan()
  mediation <- "textual ~ a*visual; speed ~ b*textual + visual; indirect := a*b"
  fits <- both(c(three_factors, mediation), two_schools(), what = "sem")
  groups <- both(three_factors, two_schools(), group = "school", group.equal = "loadings")
  for (pair in list(fits, groups)) {
    for (options in list(list(), list(standardized = TRUE, rsquare = TRUE), list(ci = TRUE))) {
      ours <- capture.output(print(do.call(summary, c(list(pair$ours), options))))
      theirs <- capture.output(print(do.call(lavaan::summary, c(list(pair$theirs), options))))
      if (isTRUE(options$ci)) { # intervals of defined parameters are by Monte Carlo
        ours <- before_defined(ours)
        theirs <- before_defined(theirs)
      }
      expect_equal(page_from(ours), page_from(theirs))
    }
  }
  ours <- capture.output(print(summary(fits$ours, fit.measures = TRUE, estimates = FALSE)))
  theirs <- capture.output(print(lavaan::summary(fits$theirs, fit.measures = TRUE, estimates = FALSE)))
  expect_equal(page_from(ours, "^Model Test User"), page_from(theirs, "^Model Test User"))
})

test_that("a summary is Python's", {
  skip_without_python()
  before <- options(width = 120)
  on.exit(options(before))
  fit <- dt_cfa(nine(), three_factors, "mlr")
  options <- list(fit_measures = TRUE, standardized = TRUE, ci = TRUE, rsquare = TRUE)
  text <- ask("summary_text", c(list(state = fit$state), options))
  shown <- summary(fit, fit.measures = TRUE, standardized = TRUE, ci = TRUE, rsquare = TRUE)
  expect_equal(capture.output(print(shown)), strsplit(text, "\n")[[1]])
  expect_output(print(summary(fit, modindices = TRUE, estimates = FALSE)), "visual =~  x9")
})

test_that("a model prints, tidies and is tested without Python", {
  without_python({
    fit <- stored_cfa()
    expect_snapshot(fit, transform = without_numbers)
    expect_snapshot(summary(fit, standardized = TRUE), transform = without_numbers)
    expect_equal(nobs(fit), 301)
    expect_equal(names(coef(fit))[c(1, 4, 24)], c("a", ".p6.", "x1~~x1.g2"))
    free <- subset(dt_parameters(fit, level = 0.9), se > 0 & op != ":=", c("ci.lower", "ci.upper"))
    expect_equal(confint(fit, level = 0.9), as.matrix(free), ignore_attr = TRUE)
    expect_equal(AIC(fit), glance(fit)$AIC)
    expect_equal(anova(fit)$`Df diff`[2], fit$fit_measures[["df"]])
    columns <- c("term", "op", "group", "estimate", "std.error", "statistic", "p.value", "std.lv", "std.all")
    expect_equal(names(tidy(fit)), columns)
    wide <- tidy(fit, conf.int = TRUE)
    expect_equal(names(wide), append(columns, c("conf.low", "conf.high"), 7))
    expect_equal(wide$conf.low, fit$parameters$ci.lower)
    narrow <- tidy(fit, conf.int = TRUE, conf.level = 0.5)
    expect_equal(narrow$conf.high - narrow$estimate, stats::qnorm(.75) * narrow$std.error)
    expect_equal(tail(dt_parameters(fit)$lhs, 1), "ratio")
    expect_equal(names(residuals(fit)), c("Pasteur", "Grant-White"))
    expect_equal(dt_structure(fit)$keys, list(visual = c("x1", "x2", "x3"), textual = c("x4", "x5", "x6")))
    expect_error(dt_compare_solutions(fit, fit), "loadings[[\"Pasteur\"]]", fixed = TRUE)
    skip_if_not_installed("ggplot2")
    second <- ggplot2::autoplot(fit, "loadings", group = "Grant-White")
    expect_equal(second, ggplot2::autoplot(of_group(fit, "Grant-White"), "loadings"), ignore_attr = TRUE)
    expect_error(plot(fit, group = "Grant"), "\"Grant-White\"", class = "dtstat_error_input")
  })
})

test_that("scores join the data, and a tibble stays one", {
  skip_without_python()
  fit <- dt_cfa(nine(), three_factors)
  found <- augment(fit, nine())
  expect_equal(tail(names(found), 3), c("visual_score", "textual_score", "speed_score"))
  expect_equal(found$speed_score, predict(fit, nine())$speed)
  expect_equal(augment(fit, as.matrix(nine())), found, ignore_attr = TRUE)
  skip_if_not_installed("tibble")
  expect_s3_class(augment(fit, tibble::as_tibble(nine())), "tbl_df")
})

test_that("ordered() columns are ordered items, as in lavaan", {
  skip_without_lavaan()
  skip_if_not_installed("psych")
  answers <- stats::na.omit(psych::bfi[1:500, paste0("A", 2:5)])
  levels <- c("never", "seldom", "sometimes", "often", "mostly", "always")
  said <- as.data.frame(lapply(answers, function(x) ordered(levels[x], levels = levels)))
  fits <- both("A =~ A2 + A3 + A4 + A5", said)
  theirs <- c(unclass(lavaan::coef(fits$theirs)))
  expect_equal(coef(fits$ours)[names(theirs)], theirs, tolerance = 1e-4)
  known <- c("chisq", "chisq.scaled", "df", "cfi.scaled")
  expect_equal(
    dt_fit_measures(fits$ours, known), c(unclass(lavaan::fitMeasures(fits$theirs, known))),
    tolerance = 1e-3
  )
  expect_equal(
    coef(dt_cfa("A =~ A2 + A3 + A4 + A5", said, ordered = FALSE)),
    coef(dt_cfa("A =~ A2 + A3 + A4 + A5", answers)), tolerance = 1e-6
  )
})
