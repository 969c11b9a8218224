#' R methods for an exploratory solution
#'
#' `coef()` gives the loadings, `fitted()` the correlations that the factors imply, `residuals()` what
#' they leave, `predict()` everybody's factor scores by regression.
#'
#' Scores weigh items that are standardized by the means and standard deviations of `newdata`, for a
#' solution knows correlations alone: score all people at once.
#'
#' @param object A result of [dt_efa()].
#' @param newdata People to score: a data frame with the items among its columns, as numbers.
#' @param ... Not used.
#' @return `coef()`: matrix of class `loadings`; `fitted()`, `residuals()`: matrices; `predict()`: a
#'   data frame, one row per person, `NA` where an answer is missing.
#' @name dt_efa_methods
#' @examples
#' if (dt_available()) {
#'   data <- dt_dataset("holzinger_swineford_9")
#'   fit <- dt_efa(data, n_factors = 3)
#'   round(residuals(fit), 2)
#'   head(predict(fit, data))
#' }
NULL

#' @rdname dt_efa_methods
#' @export
coef.dt_efa <- function(object, ...) structure(object$loadings, class = "loadings")

#' @rdname dt_efa_methods
#' @export
fitted.dt_efa <- function(object, ...) object$fitted

#' @rdname dt_efa_methods
#' @export
residuals.dt_efa <- function(object, ...) object$residuals

#' @rdname dt_efa_methods
#' @export
nobs.dt_efa <- function(object, ...) {
  if (is.null(object$n_obs)) stop_input("The number of people is not known. Give `n_obs` to dt_efa().")
  object$n_obs
}

#' @rdname dt_efa_methods
#' @export
predict.dt_efa <- function(object, newdata, ...) {
  if (missing(newdata)) stop_no_data()
  items <- rownames(object$weights)
  absent <- setdiff(items, colnames(newdata))
  if (length(absent)) stop_input("There is no item '", absent[1], "' in `newdata`.")
  answers <- vapply(items, function(item) numbers_of(newdata, item), numeric(nrow(newdata)))
  dim(answers) <- c(nrow(newdata), length(items))
  scores <- as.data.frame(scale(answers) %*% object$weights)
  rows_like(without_nan(scores), newdata)
}

# An item as numbers; ordered answers are their ranks, as Python takes them.
numbers_of <- function(data, item) {
  values <- if (is.data.frame(data)) data[[item]] else data[, item]
  if (is.factor(values)) values <- as.integer(values)
  values <- unlabelled(values)
  if (!is.numeric(values) && !is.logical(values)) stop_input("'", item, "' must be numbers.")
  if (!isTRUE(stats::sd(values, na.rm = TRUE) > 0)) {
    stop_input("All rows have the same answer to '", item, "'. Score all people at once.")
  }
  as.numeric(values)
}
