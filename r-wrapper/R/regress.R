#' Regress factors on covariates, outcomes on factors, factors on factors
#'
#' The factors themselves take part, not scores: coefficients are free of the bias that scores have,
#' and standard errors contain that of the loadings (two steps, local SAM; Rosseel and Loh 2022).
#' Ratings are modeled as ordinal. Factors have mean 0 and variance 1 in the rows used.
#'
#' Rows without the outcome or a covariate are left out, and counted; missing answers to items are no
#' reason to leave a row out. Comparing groups takes for granted that items measure the same in each:
#' [dt_invariance()] tests that. The measurement model is that of the fit, estimated from the
#' rows used; with the rows that were fitted it is the reported one.
#'
#' @param formula A formula of R, as `F1 ~ age + gender + F2` or `log(wage) ~ F1 + F2 + age`, with
#'   interactions of observed covariates (`age * gender`). A factor is named by itself: products of
#'   factors are refused.
#' @param fit A result of [dt_fit()], or anything that [dt_structure()] takes, such as a list of keys.
#' @param data A data frame with the items and what else the formula names; the rows that were fitted,
#'   or others.
#' @return An object of class `dt_regression` with the methods `print`, `summary`, `coef`, `vcov`,
#'   `confint`, `nobs`, `formula`, `tidy` and `glance`; a list with `coefficients`, `vcov`,
#'   `r.squared`, `adj.r.squared`, `sigma`, `df.residual`, `n_given` and `notes`.
#' @export
#' @examples
#' if (dt_available()) {
#'   children <- dt_dataset("holzinger_swineford_9", people = TRUE)
#'   fit <- dt_fit(children[paste0("x", 1:9)], n_factors = 3)
#'   try(summary(dt_regress(F1 ~ age + school + F2, fit, children)))
#' }
dt_regress <- function(formula, fit, data) {
  call <- match.call()
  if (!inherits(fit, "dt_fit")) fit <- structure_argument(fit, "fit", data)
  factors <- if (inherits(fit, "dt_fit")) fit$structure$factors else fit$factors
  if (!is.data.frame(data)) stop_input("`data` must be a data frame with items and covariates.")
  if (is.character(formula)) formula <- tryCatch(stats::as.formula(formula), error = function(e) {
    stop_input("`formula` cannot be read: ", conditionMessage(e))
  })
  if (!inherits(formula, "formula") || length(formula) != 3) {
    stop_input("`formula` must have an outcome and predictors, as in F1 ~ age + F2.")
  }
  design <- regression_design(formula, factors, data)
  arguments <- list(formula = design$text, fit = fit, data = cbind(data, design$columns))
  found <- without_nan(ask("regress", arguments, call = call))
  names(found$coefficients) <- design$names
  dimnames(found$vcov) <- list(design$names, design$names)
  found$call <- call
  found$formula <- formula
  found$notes <- c(in_r(found$notes), if (design$has_groups) paste(
    "Group comparisons assume that items measure the same thing in each group; test this with dt_invariance()."
  ))
  structure(found, class = "dt_regression")
}

# Columns that R makes of a formula, under names that Python knows, and the formula with these names.
regression_design <- function(formula, factors, data) {
  named <- intersect(all.vars(formula), factors)
  both <- intersect(named, names(data))
  if (length(both)) {
    stop_input("'", both[1], "' is a factor of the fit and a column of the data. Rename one of them.")
  }
  table <- data
  table[named] <- 1 # a factor has no values; nobody looks at these
  frame <- tryCatch(
    stats::model.frame(formula, table, na.action = stats::na.pass),
    error = function(e) stop_input("`formula` cannot be used: ", conditionMessage(e))
  )
  terms <- attr(frame, "terms")
  if (!attr(terms, "intercept")) stop_input("`formula` must have an intercept; leave out `- 1`.")
  labels <- attr(terms, "term.labels")
  plain <- gsub("`", "", labels, fixed = TRUE)
  for (label in labels[!plain %in% named]) {
    inside <- intersect(all.vars(str2lang(label)), named)
    if (length(inside)) {
      stop_input("The term '", label, "' transforms the factor '", inside[1], "' or multiplies it, ",
        "which cannot be estimated from factor covariances. Name the factor by itself.")
    }
  }
  X <- stats::model.matrix(terms, frame)[, -1, drop = FALSE]
  y <- stats::model.response(frame)
  left <- gsub("`", "", paste(deparse(formula[[2]]), collapse = " "), fixed = TRUE)
  latent <- gsub("`", "", colnames(X), fixed = TRUE) %in% named
  columns <- as.data.frame(X[, !latent, drop = FALSE])
  names(columns) <- sprintf("observed_%d", seq_along(columns))
  # model.matrix() leaves out rows that lack a predictor only if told to; here they stay as NA.
  spelled <- character(ncol(X))
  spelled[!latent] <- names(columns)
  quoted <- function(name) paste0("Q('", name, "')")
  spelled[latent] <- quoted(gsub("`", "", colnames(X)[latent], fixed = TRUE))
  outcome <- if (left %in% named) quoted(left) else "observed_outcome"
  if (!left %in% named) {
    if (!is.numeric(y) || is.matrix(y)) {
      stop_input("The outcome '", left, "' is not a number, and dt_regress() is linear. For yes/no ",
        "and ordered outcomes use dt_sem(ordered = ).")
    }
    columns$observed_outcome <- as.numeric(y)
  }
  text <- paste(outcome, "~", if (ncol(X)) paste(spelled, collapse = " + ") else "1")
  classes <- attr(terms, "dataClasses")
  list(
    text = text, columns = columns, names = c("(Intercept)", colnames(X)),
    has_groups = any(classes %in% c("factor", "character", "logical", "ordered"))
  )
}

#' @export
coef.dt_regression <- function(object, ...) object$coefficients

#' @export
vcov.dt_regression <- function(object, ...) object$vcov

#' @export
nobs.dt_regression <- function(object, ...) object$nobs

#' @export
formula.dt_regression <- function(x, ...) x$formula

#' @export
df.residual.dt_regression <- function(object, ...) object$df.residual

#' @export
confint.dt_regression <- function(object, parm, level = 0.95, ...) {
  all <- names(object$coefficients)
  parm <- if (missing(parm)) all else if (is.numeric(parm)) all[parm] else parm
  tails <- c((1 - level) / 2, (1 + level) / 2)
  reach <- outer(sqrt(diag(object$vcov))[parm], stats::qt(tails, object$df.residual))
  limits <- object$coefficients[parm] + reach
  dimnames(limits) <- list(parm, paste(format(100 * tails, trim = TRUE), "%"))
  limits
}

#' @export
summary.dt_regression <- function(object, ...) {
  errors <- sqrt(diag(object$vcov))
  t <- object$coefficients / errors
  table <- cbind(
    Estimate = object$coefficients, "Std. Error" = errors, "t value" = t,
    "Pr(>|t|)" = 2 * stats::pt(-abs(t), object$df.residual)
  )
  parts <- c("formula", "r.squared", "adj.r.squared", "sigma", "df.residual", "nobs", "notes")
  structure(c(list(coefficients = table), object[parts]), class = "summary.dt_regression")
}

#' @export
print.summary.dt_regression <- function(x, digits = max(3, getOption("digits") - 3), ...) {
  cat("Latent regression (two steps): ", deparse1(x$formula), "\n\n", sep = "")
  stats::printCoefmat(x$coefficients, digits = digits)
  cat("\n", x$nobs, " rows, R-squared ", format(x$r.squared, digits = digits), ", adjusted ",
    format(x$adj.r.squared, digits = digits), "\n", sep = "")
  writeLines(x$notes)
  invisible(x)
}

#' @export
print.dt_regression <- function(x, ...) {
  print(summary(x), ...)
  invisible(x)
}

#' @method tidy dt_regression
#' @export
tidy.dt_regression <- function(x, conf.int = FALSE, conf.level = 0.95, ...) {
  table <- summary(x)$coefficients
  found <- data.frame(
    term = rownames(table), estimate = table[, 1], std.error = table[, 2], statistic = table[, 3],
    p.value = table[, 4], row.names = NULL
  )
  if (isTRUE(conf.int)) {
    found[c("conf.low", "conf.high")] <- confint(x, level = conf.level)
  }
  found
}

#' @method glance dt_regression
#' @export
glance.dt_regression <- function(x, ...) {
  data.frame(
    r.squared = x$r.squared, adj.r.squared = x$adj.r.squared, sigma = x$sigma,
    df.residual = x$df.residual, nobs = x$nobs
  )
}
