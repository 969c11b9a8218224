#' R methods for a fitted model
#'
#' As of a model of lavaan. `coef()` and `vcov()` have the free parameters alone, by lavaan's names:
#' "visual=~x2", from the second group on "visual=~x2.g2", or the label if there is one; equal ones
#' are repeated. `confint()`, `AIC()`, `BIC()` and `update()` work as elsewhere in R.
#'
#' `anova()` tests nested models against each other, see [dt_compare_models()]; a single one is tested
#' against the saturated model.
#'
#' @param object A result of [dt_cfa()] or [dt_sem()].
#' @param newdata People to score: a data frame with the items among its columns, and that of the
#'   groups if there are some. A fit does not keep the answers.
#' @param method For `predict()`: "regression" (smallest error) or "Bartlett" (unbiased). For `anova()`:
#'   the difference test, as in [dt_compare_models()].
#' @param type "cor": observed less implied correlations; "raw": covariances; "standardized": these
#'   divided by their standard errors.
#' @param ... For `anova()`: more models. Else not used.
#' @return `coef()`: a vector; `vcov()`: a matrix; `fitted()`: the covariances that the model implies;
#'   `residuals()`: a matrix; with groups these two are lists with one matrix per group. `predict()`:
#'   factor scores, a data frame. `anova()`: a data frame of class `anova` with the columns that
#'   lavaan has.
#' @name dt_cfa_methods
#' @examples
#' if (dt_available()) {
#'   data <- dt_dataset("holzinger_swineford_9")
#'   fit <- dt_cfa(data, "visual =~ x1 + x2 + x3; speed =~ x7 + x8 + x9")
#'   coef(fit)
#'   confint(fit, "visual=~x2")
#'   head(predict(fit, data))
#'   BIC(fit)
#'
#'   apart <- update(fit, orthogonal = TRUE)
#'   anova(fit, apart)
#' }
NULL

#' @rdname dt_cfa_methods
#' @export
coef.dt_cfa <- function(object, ...) object$coefficients

#' @rdname dt_cfa_methods
#' @export
vcov.dt_cfa <- function(object, ...) object$vcov

#' @rdname dt_cfa_methods
#' @export
fitted.dt_cfa <- function(object, ...) object$fitted

#' @rdname dt_cfa_methods
#' @export
residuals.dt_cfa <- function(object, type = "cor", ...) {
  if (identical(type, "cor")) return(object$residuals)
  ask("residuals", list(state = object$state, kind = type), call = sys.call())
}

#' @rdname dt_cfa_methods
#' @export
predict.dt_cfa <- function(object, newdata, method = "regression", ...) {
  if (missing(newdata)) stop_no_data()
  arguments <- list(state = object$state, data = newdata, method = method)
  rows_like(without_nan(ask("predict", arguments, call = sys.call())), newdata)
}

#' @rdname dt_cfa_methods
#' @export
nobs.dt_cfa <- function(object, ...) object$n_obs

#' @rdname dt_cfa_methods
#' @export
logLik.dt_cfa <- function(object, ...) {
  m <- object$fit_measures
  if (!"logl" %in% names(m)) {
    stop_input("A model fitted by \"", object$estimator, "\" has no likelihood, so no AIC and no BIC.")
  }
  structure(m[["logl"]], df = m[["npar"]], nobs = object$n_obs, class = "logLik")
}

#' @rdname dt_cfa_methods
#' @export
anova.dt_cfa <- function(object, ..., method = "default") {
  fits <- list(object, ...)
  if (length(fits) == 1) return(test_of_model(object))
  written <- as.list(sys.call())[-1]
  compare_fits(fits, written[!names_or_blanks(written) %in% "method"], method, sys.call())
}

# A fit measure of a fit, NA if it has none of that name.
measure <- function(fit, name) {
  m <- fit$fit_measures
  if (name %in% names(m)) m[[name]] else NA_real_
}

test_of_model <- function(fit) {
  scaled <- !is.na(measure(fit, "chisq.scaled"))
  kind <- if (scaled) ".scaled" else ""
  chisq <- measure(fit, paste0("chisq", kind))
  df <- measure(fit, "df")
  table <- data.frame(
    Df = c(0, df), AIC = c(NA, measure(fit, "aic")), BIC = c(NA, measure(fit, "bic")),
    Chisq = c(0, chisq), `Chisq diff` = c(NA, chisq), `Df diff` = c(NA, df),
    `Pr(>Chisq)` = c(NA, measure(fit, paste0("pvalue", kind))),
    row.names = c("Saturated", "Model"), check.names = FALSE
  )
  heading <- paste0("Chi-square test of the model", if (scaled) " (scaled)", "\n")
  structure(table, heading = heading, class = c("anova", "data.frame"))
}

# The fit of one group of several, the first by default.
of_group <- function(fit, group) {
  if (is.null(group)) group <- fit$groups[1]
  if (!(is.character(group) && length(group) == 1 && group %in% fit$groups)) {
    stop_input("`group` must be one of ", paste0("\"", fit$groups, "\"", collapse = ", "), ".")
  }
  parts <- c("loadings", "factor_correlations", "uniquenesses", "r_squared", "residuals", "fitted", "diagram")
  fit[parts] <- lapply(fit[parts], `[[`, group)
  fit$groups <- character()
  fit$group <- group
  fit
}
