skip_without_psych <- function() {
  skip_without_python()
  skip_if_not_installed("psych")
}

test_that("psych's functions work on what is handed over", {
  skip_without_psych()
  fit <- dt_fit(nine())
  handed <- as_psych_fa(fit)
  expect_s3_class(handed, c("psych", "fa"), exact = TRUE)
  sorted <- psych::fa.sort(handed)
  expect_equal(rownames(sorted$loadings)[1:3], names(sort(-abs(fit$loadings[1:3, 1]))))
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  expect_no_error(psych::fa.diagram(handed))
  grDevices::dev.off()
  expect_gt(file.size(file), 1000)
  expect_output(print(handed), "With factor correlations")
  # dt_fit() maximizes no likelihood: psych must not say so
  expect_no_match(capture.output(print(handed)), "Likelihood Chi Square")
  same <- psych::factor.congruence(handed, as_psych_fa(dt_cfa(nine(), fit)))
  expect_true(all(diag(same) > 0.95))
  expect_equal(handed$r, fit$residuals + fit$fitted, tolerance = 1e-8)
  expect_error(as_psych_fa(nine()), "dt_fit\\(\\)", class = "dtstat_error_input")
})

test_that("an exploratory solution is psych's own", {
  skip_without_psych()
  ours <- as_psych_fa(dt_efa(nine(), 3, rotation = "varimax"))
  theirs <- psych::fa(nine(), 3, rotate = "varimax")
  same <- psych::factor.congruence(theirs, ours)
  matched <- apply(abs(same), 1, which.max)
  expect_equal(unname(theirs$communality), unname(ours$communality), tolerance = 1e-3)
  expect_equal(colSums(theirs$Vaccounted)[[1]], colSums(ours$Vaccounted)[[matched[1]]], tolerance = 1)
  for (name in c("dof", "STATISTIC", "PVAL", "TLI", "rms", "crms", "chi", "null.chisq", "BIC")) {
    expect_equal(ours[[name]], theirs[[name]], tolerance = 1e-3, label = name)
  }
  expect_equal(unname(ours$RMSEA), unname(theirs$RMSEA), tolerance = 1e-3)
  expect_output(print(ours), "Likelihood Chi Square")
})

test_that("scores and residuals of an exploratory solution are psych's", {
  skip_without_psych()
  fit <- dt_efa(nine(), 3, rotation = "varimax")
  loadings <- structure(fit$loadings, class = "loadings")
  theirs <- psych::factor.scores(nine(), loadings, Phi = fit$factor_correlations, method = "Thurstone")
  expect_equal(as.matrix(predict(fit, nine())), theirs$scores, tolerance = 1e-6, ignore_attr = TRUE)
  expect_equal(unname(fit$weights), unname(theirs$weights), tolerance = 1e-6)
  expect_equal(fitted(fit) + residuals(fit), cor(nine()), tolerance = 1e-12)
  expect_lt(max(abs(diag(residuals(fit)))), 1e-4)
  expect_equal(nobs(fit), 301)
  expect_s3_class(coef(fit), "loadings")
  gaps <- nine()
  gaps[2, 3] <- NA
  expect_equal(which(!stats::complete.cases(predict(fit, gaps))), 2)
  expect_error(predict(fit, nine()[1:8]), "no item 'x9'", class = "dtstat_error_input")
  expect_error(predict(fit, nine()[1, ]), "same answer", class = "dtstat_error_input")
  expect_error(predict(fit), "`newdata`", class = "dtstat_error_input")
})

test_that("psych's habits are understood", {
  skip_without_python()
  wanted <- dt_efa(nine(), 2, rotation = "varimax", method = "ml")
  as_psych <- dt_efa(nine(), nfactors = 2, rotate = "Varimax", fm = "ml")
  expect_equal(as_psych$loadings, wanted$loadings)
  matrix <- dt_efa(cor(nine()), nfactors = 2, n.obs = 301)
  expect_equal(matrix$loadings, dt_efa(nine(), 2)$loadings, tolerance = 1e-6)
  expect_error(dt_efa(nine(), 2, nfactors = 2), "are the same", class = "dtstat_error_input")
  expect_error(dt_efa(nine(), 2, rottion = "none"), "Did you mean `rotation`", class = "dtstat_error_input")
  expect_error(dt_efa(nine()), "`n_factors` is missing", class = "dtstat_error_input")
  expect_error(dt_fit(data = nine()), "The data are `x`", class = "dtstat_error_input")
  expect_error(dt_fit(nine(), rotate = "oblimin"), "arguments of dt_efa()", fixed = TRUE, class = "dtstat_error_input")

  expect_equal(dt_fit(nine(), measure = "Kendall")$loadings, dt_fit(nine(), measure = "kendall")$loadings)
  expect_equal(dt_fit(nine(), cor = "cor")$dependence$measure, "pearson")
  expect_equal(dt_fit(nine(), cor = "Kendall")$dependence$measure, "kendall")
  expect_error(dt_fit(nine(), cor = "cor", measure = "kendall"), "are the same", class = "dtstat_error_input")
  ratings <- dt_dataset("likert_survey")
  expect_equal(dt_fit(ratings, cor = "poly")$dependence$measure, "polychoric")
  poly <- dt_efa(ratings, 2, cor = "poly")
  expect_equal(poly$loadings, dt_efa(dt_dependence(ratings, "polychoric"), 2)$loadings)
  expect_equal(
    dt_parallel_analysis(nine(), n.iter = 3, quant = 0.9, seed = 1)$eigenvalues,
    dt_parallel_analysis(nine(), n_iter = 3, quantile = 0.9, seed = 1)$eigenvalues
  )
})

test_that("no message has words of Python", {
  skip_without_python()
  python <- "NoneType|NULLType|DataFrame|\\bdict\\b|\\btuple\\b|ndarray|array\\(|numpy|\\bNaN\\b|\\bNone\\b|\\bTrue\\b|2-d"
  said <- function(code) tryCatch({ force(code); "" }, error = conditionMessage)
  messages <- c(
    said(dt_fit(NULL)), said(dt_fit(list(1, 2))), said(dt_fit(1:3)), said(dt_fit(nine(), n_factors = 1:2)),
    said(dt_fit(nine(), measure = "spear")), said(dt_fit(nine(), structure = list(1))),
    said(dt_fit(nine(), search = NULL)), said(dt_fit(nine(), refine = NULL)),
    said(dt_stability(nine(), n_boot = c(1, 2))), said(dt_stability(nine(), seed = "a")),
    said(dt_margin(dt_survey_design(2), list(A = c("x1", "x2")))), said(dt_kmo(letters)),
    said(dt_cfa(nine(), NULL)), said(dt_cfa(NULL, three_factors)), said(dt_efa(nine(), -1)),
    said(dt_fit(cbind(nine(), z = Inf))), said(dt_simulate(maps = NULL)), said(dt_plan(n_factors = 2, seed = "a"))
  )
  expect_true(all(nzchar(messages)))
  expect_no_match(messages, python)
})
