#' Test nested models against each other
#'
#' Chi-square difference tests of models that are fitted to the same data, the least restricted
#' first. Nesting is checked, not assumed: the less restricted one must reproduce what
#' the other implies. `anova(fit1, fit2)` does the same.
#'
#' @param ... Two or more results of [dt_cfa()] or [dt_sem()], in any order.
#' @param names Names of the models; as written in the call if omitted.
#' @param method "standard": the difference of the chi-squares; "satorra_bentler_2001" and
#'   "satorra_2000": scaled ones; "default": what the estimator needs.
#' @return A data frame of class `anova`, with the columns that lavaan has: `Df`, `AIC`, `BIC`, `Chisq`
#'   (unscaled), `Chisq diff`, `RMSEA` (of the difference, if it is not scaled), `Df diff`,
#'   `Pr(>Chisq)`.
#' @seealso [dt_vuong()] for models that are not nested, [dt_invariance()] for groups.
#' @export
#' @examples
#' if (dt_available()) {
#'   data <- dt_dataset("holzinger_swineford_9")
#'   apart <- dt_cfa(data, "visual =~ x1 + x2 + x3; speed =~ x7 + x8 + x9", orthogonal = TRUE)
#'   together <- update(apart, orthogonal = FALSE)
#'   dt_compare_models(apart, together)
#' }
dt_compare_models <- function(..., names = NULL, method = "default") {
  written <- if (is.null(names)) as.list(substitute(list(...)))[-1] else names
  compare_fits(list(...), written, method, sys.call())
}

# `written`: names, or the expressions that stand for the fits.
compare_fits <- function(fits, written, method, call) {
  names <- vapply(written, function(one) paste(as.character(as.expression(one)), collapse = " "), "")
  given <- names_or_blanks(fits)
  names <- ifelse(nzchar(given), given, names)
  for (k in seq_along(fits)) must_be(fits[[k]], "dt_cfa", names[k], "dt_cfa() or dt_sem()")
  arguments <- list(fits = unname(fits), names = I(make.unique(unname(names))), method = method)
  found <- without_nan(ask("compare_models", arguments, call = call))
  kind <- switch(found$method,
    standard = "Chi-square difference test",
    satorra_bentler_2001 = "Scaled chi-square difference test (Satorra and Bentler 2001)",
    satorra_2000 = "Scaled chi-square difference test (Satorra 2000)",
    paste0("Scaled chi-square difference test (", found$method, ")")
  )
  scaled <- "Chisq is not scaled: a scaled difference is made of unscaled statistics."
  heading <- c(kind, if (found$method != "standard") scaled, in_r(found$notes), "")
  structure(found$table, heading = heading, class = c("anova", "data.frame"))
}

#' Test whether items measure the same in all groups
#'
#' The ladder of invariance: the same structure, equal loadings, equal intercepts, equal residuals,
#' each step tested against the one before it, and the parameters that break it.
#'
#' @inheritParams dt_cfa
#' @param group Column that says which group a row belongs to.
#' @param steps Some of "configural", "metric", "scalar", "strict" (of ordered items "configural",
#'   "thresholds", "loadings", "intercepts"); all of them by default.
#' @param group_partial Parameters that stay free in all steps, as in "x3 ~ 1": partial invariance.
#' @param method Difference test, as in [dt_compare_models()].
#' @param progress Show a bar?
#' @return An object of class `dt_invariance`: a list with `table` (one row per step: fit, test against
#'   the step before, `delta_cfi`, `delta_rmsea`), `releases` (score tests of what each step holds
#'   equal, the largest first), `rejected` (the first step that its test rejects at the 5 % level, or
#'   `NULL`), `fits` (the model of each step), `groups`, `method` and `notes`.
#' @export
#' @examples
#' if (dt_available()) {
#'   data <- dt_dataset("holzinger_swineford_9")
#'   data$half <- rep(c("first", "second"), c(150, 151))
#'   model <- "visual =~ x1 + x2 + x3; textual =~ x4 + x5 + x6; speed =~ x7 + x8 + x9"
#'   found <- dt_invariance(model, data, group = "half")
#'   found
#'   dt_fit_measures(found$fits$metric, c("cfi", "rmsea"))
#' }
dt_invariance <- function(x, model, group, estimator = "ml", missing = "listwise", ordered = NULL,
                          steps = NULL, group_partial = NULL, std_lv = FALSE, method = "default",
                          progress = interactive(), ...) {
  fit_model("invariance", environment(), match.call(), ...)
}

#' Test equations of parameters, or restrictions
#'
#' Without fitting another model: `dt_wald_test()` asks whether equations of the parameters could
#' hold, as lavaan's `lavTestWald()`; `dt_score_test()` whether what the model holds equal or leaves
#' out should be free, as `lavTestScore()`.
#'
#' @param fit A result of [dt_cfa()] or [dt_sem()]; for a score test by "ml", "mlr" or "fiml".
#' @param constraints Equations of labels or parameters, as in `"a == b; c == 0"`.
#' @param release Parameters, such as "visual =~ x2", that are held equal to others and would be free,
#'   or equations as they were written, such as "a == b". If neither is given, all equality restrictions.
#' @param add Parameters that are fixed or not in the model, such as "x1 ~~ x2; visual =~ x9".
#' @return `dt_wald_test()`: an object of class `htest`, as R's own tests. `dt_score_test()`: an object
#'   of class `dt_score_test`, a list with `table` (one row per restriction; `epc` is the expected
#'   change) and the test of all of them, `chisq`, `df`, `pvalue`.
#' @export
#' @examples
#' if (dt_available()) {
#'   model <- "visual =~ x1 + a*x2 + b*x3; speed =~ x7 + x8 + x9"
#'   fit <- dt_cfa(dt_dataset("holzinger_swineford_9"), model)
#'   dt_wald_test(fit, "a == b")
#'   dt_score_test(fit, add = "x7 ~~ x8; visual =~ x9")
#' }
dt_wald_test <- function(fit, constraints) {
  must_be(fit, "dt_cfa", "fit", "dt_cfa() or dt_sem()")
  constraints <- paste(constraints, collapse = "\n")
  found <- ask("wald_test", list(fit = fit, constraints = constraints), call = match.call())
  parts <- list(
    statistic = c("X-squared" = found$chisq), parameter = c(df = found$df), p.value = found$pvalue,
    method = "Wald test of equations of parameters", data.name = found$constraints
  )
  structure(parts, class = "htest")
}

#' @rdname dt_wald_test
#' @export
dt_score_test <- function(fit, release = NULL, add = NULL) {
  must_be(fit, "dt_cfa", "fit", "dt_cfa() or dt_sem()")
  call <- match.call()
  as_result(ask("score_test", list(fit = fit, release = release, add = add), call = call), call)
}

#' Compare two models that need not be nested
#'
#' Vuong's tests, of whether the models can be told apart and of which fits better.
#'
#' @param a,b Results of [dt_cfa()] or [dt_sem()] for the same data, by "ml", "mlr" or "fiml".
#' @param data The data that both were fitted to.
#' @return An object of class `dt_vuong`: a list with `distinguishable_pvalue` (of "they cannot be told
#'   apart"), `z`, `a_better_pvalue` and `b_better_pvalue` (one-sided, of "they fit equally well"),
#'   `log_ratio`, `variance`, `aic_difference`, `bic_difference` (first less second) and `n_obs`.
#' @export
#' @examples
#' if (dt_available()) {
#'   data <- dt_dataset("holzinger_swineford_9")
#'   a <- dt_cfa(data, "f =~ x1 + x2 + x3; g =~ x4 + x5 + x6; x1 ~~ x4")
#'   b <- dt_cfa(data, "f =~ x1 + x2 + x3; g =~ x4 + x5 + x6 + x1")
#'   dt_vuong(a, b, data)
#' }
dt_vuong <- function(a, b, data) {
  must_be(a, "dt_cfa", "a", "dt_cfa() or dt_sem()")
  must_be(b, "dt_cfa", "b", "dt_cfa() or dt_sem()")
  call <- match.call()
  as_result(ask("vuong", list(a = a, b = b, data = data), call = call), call)
}

#' Bootstrap a fitted model
#'
#' Fits the model to resampled rows, for standard errors and intervals that need no normal answers:
#' of indirect effects above all.
#'
#' @param fit A result of [dt_cfa()] or [dt_sem()].
#' @param data The data it was fitted to; a fit does not keep them.
#' @param n_boot Number of resamples.
#' @param seed Whole number; the same seed gives the same answer.
#' @param test Add the test of Bollen and Stine? It needs as many fits again.
#' @param n_jobs Threads; -1 for all cores, `NULL` for one. Does not change the result.
#' @param progress Show a bar?
#' @param checkpoint File to which each resample is added when it is done. The same call goes on
#'   where that file ends.
#' @return An object of class `dt_bootstrap`: a list with `parameters` (one row per parameter: `est`,
#'   `se`, `bias`, `ci.lower`, `ci.upper`, percentile intervals of 95 %), `chisq` of the resamples,
#'   `pvalue` of the test, `n_failed` and `seed`. `tidy()` has intervals of other kinds and levels.
#' @export
#' @examples
#' if (dt_available()) {
#'   data <- dt_dataset("political_democracy")
#'   fit <- dt_sem(data, "y5 ~ b*y1 + c*x1; y1 ~ a*x1; indirect := a*b")
#'   found <- dt_bootstrap(fit, data, n_boot = 100, seed = 1, progress = FALSE)
#'   tail(tidy(found, interval = "bca"), 1)
#' }
dt_bootstrap <- function(fit, data, n_boot = 1000, seed = NULL, test = FALSE, n_jobs = NULL,
                         progress = interactive(), checkpoint = NULL) {
  must_be(fit, "dt_cfa", "fit", "dt_cfa() or dt_sem()")
  call <- match.call()
  arguments <- list(
    fit = fit, data = data, n_boot = n_boot, seed = seed, test = test, n_jobs = n_jobs,
    checkpoint = file_path(checkpoint)
  )
  as_result(ask("bootstrap", arguments, progress, call), call)
}

#' @rdname dt_bootstrap
#' @param x A result of `dt_bootstrap()`.
#' @param interval "percentile", "bca" or "basic".
#' @param conf.level Level of the intervals.
#' @param ... Not used.
#' @method tidy dt_bootstrap
#' @export
tidy.dt_bootstrap <- function(x, interval = "percentile", conf.level = 0.95, ...) {
  arguments <- list(state = x$state, interval = lower_case(interval), level = conf.level)
  table <- without_nan(ask("bootstrap_parameters", arguments, call = sys.call()))
  table$term <- paste(table$lhs, table$op, table$rhs)
  new <- c(est = "estimate", se = "std.error", ci.lower = "conf.low", ci.upper = "conf.high")
  known <- match(names(table), names(new), 0)
  names(table)[known > 0] <- new[known]
  table[intersect(c("term", "op", "group", new[1:2], "bias", new[3:4]), names(table))]
}

#' Power of the test of a model
#'
#' How likely a wrong model is rejected, or how many people that needs: by RMSEA, or by a true model
#' that is given.
#'
#' @param n_obs Number of people; leave it out to find the smallest that gives `power`.
#' @param power The power that is wanted, if `n_obs` is not given.
#' @param model,population Model texts: the model to be tested, and the true one with a value for each
#'   loading, regression and covariance, as in "f =~ 0.7*x1 + 0.6*x2".
#' @param df Degrees of freedom of the test. With a model: those of the model if left out, or 1 for
#'   the test of one parameter that the model fixes.
#' @param rmsea Misfit under the alternative, instead of `model` and `population`.
#' @param null_rmsea Misfit under the null hypothesis: 0 for exact fit, 0.05 for close fit.
#' @param alpha Level of the test.
#' @return An object of class `dt_model_power`: a list with `power`, `n_obs`, `df`, `alpha`,
#'   `noncentrality`, `null_noncentrality`, `critical` and `rmsea`.
#' @export
#' @examples
#' if (dt_available()) {
#'   dt_model_power(n_obs = 200, df = 50, rmsea = 0.08, null_rmsea = 0.05)
#'   dt_model_power(power = 0.8, df = 24, rmsea = 0.08)$n_obs
#' }
dt_model_power <- function(n_obs = NULL, power = NULL, model = NULL, population = NULL, df = NULL,
                           rmsea = NULL, null_rmsea = 0, alpha = 0.05) {
  call <- match.call()
  arguments <- list(
    n_obs = n_obs, power = power, model = model, population = population, df = df, rmsea = rmsea,
    null_rmsea = null_rmsea, alpha = alpha
  )
  as_result(ask("model_power", arguments, call = call), call)
}
