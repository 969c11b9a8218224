unname_rows <- function(data) `rownames<-`(data, NULL)

test_that("names are broom's", {
  fit <- stored_fit()
  names <- c("term", "lhs", "op", "rhs", "estimate", "std.error", "statistic", "p.value")
  expect_equal(names(tidy(fit))[1:8], names)
  expect_true(all(c("conf.low", "conf.high") %in% names(tidy(fit, conf.int = TRUE))))
  expect_true(all(c("nobs", "logLik", "AIC", "BIC", "df", "p.value") %in% names(glance(fit))))
  expect_true(all(c("nobs", "logLik", "AIC", "BIC", "df", "p.value") %in% names(glance(stored_cfa()))))
  for (table in list(tidy(fit, conf.int = TRUE), glance(fit), glance(stored_cfa()))) {
    expect_no_match(names(table), "^(std_error|conf_|aic$|bic$|n_obs|pvalue|p_value)")
  }
  expect_equal(glance(fit)$logLik, as.numeric(logLik(fit)))
  expect_equal(glance(fit)$nobs, nobs(fit))
  rows <- tidy(fit)
  expect_equal(rows$statistic, rows$estimate / rows$std.error)
  expect_equal(rows$p.value, 2 * pnorm(-abs(rows$statistic)))
  expect_error(tidy(fit, conf.int = TRUE, conf.level = 95), "`conf.level`", class = "dtstat_error_input")
})

test_that("broom finds the methods", {
  skip_if_not_installed("broom")
  expect_equal(broom::tidy(stored_fit()), tidy(stored_fit()))
  expect_equal(broom::glance(stored_cfa()), glance(stored_cfa()))
})

test_that("a model has what broom has for lavaan, under the same names", {
  skip_without_lavaan()
  skip_if_not_installed("broom")
  ours <- dt_cfa(nine(), three_factors)
  theirs <- lavaan::cfa(three_factors, nine())
  a <- glance(ours)
  b <- broom::glance(theirs)
  expect_equal(setdiff(names(b), names(a)), character())
  for (name in c("AIC", "BIC", "cfi", "chisq", "npar", "rmsea", "rmsea.conf.high", "srmr", "tli", "nobs")) {
    expect_equal(a[[name]], as.numeric(b[[name]]), tolerance = 1e-4, label = name)
  }
  expect_equal(a$logLik, as.numeric(lavaan::logLik(theirs)), tolerance = 1e-6)
  expect_equal(a$p.value, lavaan::fitMeasures(theirs, "pvalue")[[1]], tolerance = 1e-4)
})

test_that("intervals of a fit", {
  fit <- stored_fit()
  rows <- tidy(fit, conf.int = TRUE, conf.level = 0.9)
  bounds <- confint(fit, level = 0.9)
  expect_equal(rownames(bounds), rows$term)
  expect_equal(colnames(bounds), c("5 %", "95 %"))
  expect_equal(unname(bounds), cbind(rows$conf.low, rows$conf.high))
  expect_equal(confint(fit, "F1 ~~ F2"), confint(fit)["F1 ~~ F2", , drop = FALSE])
  expect_error(confint(fit, "F1 ~~ F9"), "no term", class = "dtstat_error_input")
  expect_error(vcov(fit), "dt_cfa\\(data, fit\\)", class = "dtstat_error_input")
  test <- anova(fit)
  expect_equal(test$`Pr(>Chisq)`[2], fit$fit_measures[["pvalue"]])
  expect_error(anova(fit, fit), "not tested against each other", class = "dtstat_error_input")
})

test_that("tibbles stay tibbles, and rows keep their names", {
  skip_without_python()
  data <- nine()
  rownames(data) <- paste0("child", seq_len(nrow(data)))
  fits <- list(dt_fit(data), dt_cfa(data, three_factors), dt_efa(data, 3))
  for (fit in fits) {
    expect_equal(rownames(predict(fit, data)), rownames(data))
    expect_equal(rownames(augment(fit, data)), rownames(data))
    expect_equal(rownames(predict(fit, as.matrix(data))), rownames(data))
    expect_equal(rownames(predict(fit, unname_rows(data))), as.character(seq_len(301)))
    # numbers as row names, as of a subset
    expect_equal(rownames(predict(fit, unname_rows(data)[11:60, ])), as.character(11:60))
    expect_error(augment(fit), "`data` must be given", class = "dtstat_error_input")
    skip_if_not_installed("tibble")
    expect_s3_class(predict(fit, tibble::as_tibble(data)), "tbl_df")
    expect_false(tibble::has_rownames(predict(fit, tibble::as_tibble(data))))
    expect_s3_class(augment(fit, tibble::as_tibble(data)), "tbl_df")
    expect_equal(names(augment(fit, data))[10:12], paste0(names(predict(fit, data)), "_score"))
  }
})

test_that("tables have what modelsummary reads", {
  skip_without_python()
  children <- dt_dataset("holzinger_swineford_9", people = TRUE)
  fit <- dt_fit(children[1:9])
  models <- list(
    fit, dt_cfa(children, fit), dt_cfa(children, fit, group = "school"), dt_regress(F1 ~ age + F2, fit, children)
  )
  for (model in models) {
    rows <- tidy(model, conf.int = TRUE, conf.level = 0.9)
    numbers <- c("estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high")
    expect_true(all(vapply(rows[numbers], is.numeric, NA)))
    expect_type(rows$term, "character")
    expect_equal(anyDuplicated(rows[intersect(c("term", "group"), names(rows))]), 0)
    free <- rows$std.error > 0
    expect_equal(rows$statistic[free], (rows$estimate / rows$std.error)[free])
    middle <- (rows$conf.low + rows$conf.high) / 2
    expect_equal(middle, rows$estimate)
    whole <- glance(model)
    expect_s3_class(whole, "data.frame")
    expect_equal(nrow(whole), 1)
    expect_equal(whole$nobs, nobs(model))
  }
  for (model in models[1:3]) {
    whole <- glance(model)
    found <- c(whole$AIC, whole$BIC, whole$logLik)
    expect_equal(found, c(AIC(model), BIC(model), as.numeric(logLik(model))), tolerance = 1e-10)
  }
  # Two steps have no likelihood, and none is made up.
  expect_false(any(c("AIC", "BIC", "logLik") %in% names(glance(models[[4]]))))
})
