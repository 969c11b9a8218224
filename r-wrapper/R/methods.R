#' What R's generics say of a fit
#'
#' `coef()` gives the loadings, `fitted()` the correlations that the model implies, `residuals()`
#' what it leaves, `predict()` everybody's factor scores, `logLik()`, `AIC()`, `BIC()` and `nobs()`
#' what their names say, and `update()` fits again with other arguments. Where answers are missing,
#' `BIC()` counts the rows that a typical pair of items has in common, `nobs()` all that were used.
#'
#' @param object A result of [dt_fit()].
#' @param newdata People to score: a data frame with the items among its columns.
#' @param sd Add columns with the standard deviations of the scores?
#' @param ... Not used.
#' @return `coef()`: matrix of class `loadings`; `fitted()`, `residuals()`: matrices; `predict()`: a
#'   data frame, one row per person.
#' @name dt_fit_methods
#' @examples
#' if (dt_available()) {
#'   data <- dt_dataset("holzinger_swineford_9")
#'   fit <- dt_fit(data)
#'   coef(fit)
#'   head(predict(fit, data))
#'   AIC(fit)
#'   update(fit, criterion = "bic")
#' }
NULL

#' @rdname dt_fit_methods
#' @export
coef.dt_fit <- function(object, ...) structure(object$loadings, class = "loadings")

#' @rdname dt_fit_methods
#' @export
fitted.dt_fit <- function(object, ...) object$fitted

#' @rdname dt_fit_methods
#' @export
residuals.dt_fit <- function(object, ...) object$residuals

#' @rdname dt_fit_methods
#' @export
predict.dt_fit <- function(object, newdata, sd = FALSE, ...) {
  if (missing(newdata)) {
    stop_input("`newdata` must be given: a fit does not keep the answers. predict(fit, data).")
  }
  ask("predict", list(state = object$state, data = newdata, sd = sd), call = sys.call())
}

#' @rdname dt_fit_methods
#' @export
nobs.dt_fit <- function(object, ...) object$n_obs

#' @rdname dt_fit_methods
#' @export
logLik.dt_fit <- function(object, ...) {
  structure(
    object$log_likelihood, df = object$n_parameters, nobs = object$n_typical, class = "logLik"
  )
}

#' What R's generics say of a fitted model
#'
#' @param object A result of [dt_cfa()], [dt_sem()] or [dt_efa()].
#' @param newdata People to score.
#' @param ... Not used.
#' @return As the generics say: `coef()` the estimates by name (of [dt_efa()] the loadings),
#'   `fitted()` the covariances that the model implies, `residuals()` the correlations it leaves,
#'   `predict()` factor scores.
#' @name dt_cfa_methods
#' @examples
#' if (dt_available()) {
#'   data <- dt_dataset("holzinger_swineford_9")
#'   fit <- dt_cfa(data, "speed =~ x7 + x8 + x9")
#'   coef(fit)
#'   head(predict(fit, data))
#' }
NULL

#' @rdname dt_cfa_methods
#' @export
coef.dt_cfa <- function(object, ...) {
  p <- object$parameters
  stats::setNames(p$est, paste0(p$lhs, p$op, p$rhs))
}

#' @rdname dt_cfa_methods
#' @export
fitted.dt_cfa <- function(object, ...) object$fitted

#' @rdname dt_cfa_methods
#' @export
residuals.dt_cfa <- function(object, ...) object$residuals

#' @rdname dt_cfa_methods
#' @export
predict.dt_cfa <- function(object, newdata, ...) {
  if (missing(newdata)) stop_input("`newdata` must be given: a fit does not keep the answers.")
  ask("predict", list(state = object$state, data = newdata), call = sys.call())
}

#' @rdname dt_cfa_methods
#' @export
nobs.dt_cfa <- function(object, ...) object$n_obs

#' @rdname dt_cfa_methods
#' @export
logLik.dt_cfa <- function(object, ...) {
  m <- object$fit_measures
  structure(m[["logl"]], df = m[["npar"]], nobs = object$n_obs, class = "logLik")
}

#' @rdname dt_cfa_methods
#' @export
coef.dt_efa <- function(object, ...) structure(object$loadings, class = "loadings")

#' @importFrom generics tidy
#' @export
generics::tidy

#' @importFrom generics glance
#' @export
generics::glance

#' @importFrom generics augment
#' @export
generics::augment

#' Results as data frames
#'
#' `tidy()` has one row per loading, margin or parameter, `glance()` one row about the whole, and
#' `augment()` adds everybody's factor scores to the data.
#'
#' @param x A result of dtstat.
#' @param data The data.
#' @param ... Not used.
#' @return A data frame.
#' @name dt_tidy
#' @examples
#' if (dt_available()) {
#'   data <- dt_dataset("holzinger_swineford_9")
#'   fit <- dt_fit(data)
#'   tidy(fit)
#'   glance(fit)
#'   head(augment(fit, data))
#' }
NULL

tidy_part <- function(x, ...) x$tidy
glance_part <- function(x, ...) x$glance

#' @rdname dt_tidy
#' @method tidy dt_fit
#' @export
tidy.dt_fit <- tidy_part

#' @method tidy dt_cfa
#' @export
tidy.dt_cfa <- tidy_part

#' @method tidy dt_efa
#' @export
tidy.dt_efa <- tidy_part

#' @method tidy dt_diagnosis
#' @export
tidy.dt_diagnosis <- tidy_part

#' @method tidy dt_stability
#' @export
tidy.dt_stability <- tidy_part

#' @method tidy dt_plan
#' @export
tidy.dt_plan <- tidy_part

#' @rdname dt_tidy
#' @method glance dt_fit
#' @export
glance.dt_fit <- glance_part

#' @method glance dt_cfa
#' @export
glance.dt_cfa <- glance_part

#' @method glance dt_efa
#' @export
glance.dt_efa <- glance_part

#' @method glance dt_diagnosis
#' @export
glance.dt_diagnosis <- glance_part

#' @method glance dt_stability
#' @export
glance.dt_stability <- glance_part

#' @rdname dt_tidy
#' @method augment dt_fit
#' @export
augment.dt_fit <- function(x, data, ...) {
  scores <- predict(x, data)
  names(scores) <- paste0(".fs_", names(scores))
  cbind(as.data.frame(data), scores)
}

#' Hand a structure to other packages
#'
#' `as_lavaan()` writes the measurement model in lavaan's syntax, `as_keys()` a scoring key as psych
#' takes it, items with negative loadings with a minus.
#'
#' The first item of a factor is lavaan's marker, so one that loads positively is written first: the
#' factor then points the same way here and there. lavaan cannot read every name. Those that R would
#' not accept are changed by [make.names()] with `unique = TRUE`, and a factor with the name of an
#' item gets a number; comments in the text say which name stands for what. With `data` its columns
#' are renamed alike.
#'
#' @param x A result of [dt_fit()], or a structure.
#' @param data A data frame or matrix with the items among its columns.
#' @return `as_lavaan()`: text; with `data` a list of `model` and `data`, as `lavaan::cfa()` takes
#'   them. `as_keys()`: a list of items by factor.
#' @export
#' @examples
#' if (dt_available()) {
#'   items <- dt_dataset("holzinger_swineford_9")
#'   fit <- dt_fit(items)
#'   cat(as_lavaan(fit))
#'   as_keys(fit)
#'   if (requireNamespace("lavaan", quietly = TRUE)) {
#'     given <- as_lavaan(fit, items)
#'     lavaan::cfa(given$model, given$data)
#'   }
#' }
as_lavaan <- function(x, data = NULL) {
  if (inherits(x, "dt_fit")) x <- x$structure
  if (!inherits(x, "dt_structure")) stop_input("`x` must be a fit or a structure.")
  names <- lavaan_names(x)
  model <- paste(c(name_comments(names), lavaan_lines(x, names)), collapse = "\n")
  if (is.null(data)) model else list(model = model, data = lavaan_data(x$items, names, data))
}

# Names for lavaan of items with a factor, and of factors, named by what they stand for.
lavaan_names <- function(x) {
  known <- make.unique(c(x$items, x$factors))
  spelled <- stats::setNames(make.names(known, unique = TRUE), known)
  spelled[c(rowSums(x$support) > 0, rep(TRUE, length(x$factors)))]
}

# Comments that say what changed names stand for; Python reads them, too.
name_comments <- function(names) {
  changed <- names[names != names(names)]
  if (!length(changed)) return(NULL)
  said <- names(changed)
  escapes <- c("\\" = "\\\\", "\"" = "\\\"", "\n" = "\\n", "\r" = "\\r", "\t" = "\\t")
  for (mark in names(escapes)) said <- gsub(mark, escapes[[mark]], said, fixed = TRUE)
  paste0("# ", changed, " is \"", said, "\"")
}

lavaan_lines <- function(x, names) {
  factors <- utils::tail(names, length(x$factors))
  vapply(seq_along(x$factors), function(k) {
    items <- x$items[x$support[, k]]
    away <- if (is.null(x$reversed)) rep(FALSE, length(items)) else x$reversed[x$support[, k], k]
    first <- if (all(away)) 1 else which(!away)[1]
    terms <- names[c(items[first], items[-first])]
    if (all(away)) terms <- paste0("start(-1)*", terms)
    paste(factors[k], "=~", paste(terms, collapse = " + "))
  }, "")
}

lavaan_data <- function(items, names, data) {
  data <- as.data.frame(data)
  items <- items[items %in% names(names)]
  absent <- setdiff(items, names(data))
  if (length(absent)) stop_input("There is no item '", absent[1], "' in `data`.")
  others <- setdiff(names(data), items)
  data <- data[c(items, others)]
  names(data) <- make.unique(c(names[items], others))
  data
}

#' @rdname as_lavaan
#' @export
as_keys <- function(x) {
  if (!inherits(x, c("dt_fit", "dt_structure"))) stop_input("`x` must be a fit or a structure.")
  x$keys
}
