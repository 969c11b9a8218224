# What methods of Python's results are functions for in R.

#' Another structure that was considered
#'
#' `fit$candidates` lists what else was possible, the chosen structure first. This is the structure of
#' one of its rows, to be fitted or compared.
#'
#' @param fit Result of [dt_fit()].
#' @param row Row of `fit$candidates`, from 1.
#' @return An object of class `dt_structure`.
#' @export
#' @examples
#' if (dt_available()) {
#'   items <- dt_dataset("holzinger_swineford_9")
#'   fit <- dt_fit(items)
#'   second <- dt_candidate(fit, 2)
#'   second
#'   dt_compare(second, fit)
#'   dt_fit(items, structure = second)$fit_measures["cfi"]
#' }
dt_candidate <- function(fit, row) {
  must_be(fit, "dt_fit", "fit", "dt_fit()")
  last <- nrow(fit$candidates)
  if (!(is.numeric(row) && length(row) == 1 && isTRUE(row >= 1 && row <= last && row == round(row)))) {
    stop_input("`row` must be a row of fit$candidates, from 1 to ", last, ".")
  }
  as_result(ask("candidate", list(state = fit$state, row = row - 1), call = match.call()))
}

#' @rdname dt_path
#' @param path Result of `dt_path()`.
#' @param threshold Number from 0 to 1.
#' @export
dt_at <- function(path, threshold) {
  must_be(path, "dt_path", "path", "dt_path()")
  arguments <- list(
    dependence = path$dependence, threshold = threshold, min_children = path$min_children
  )
  as_result(ask("at", arguments, call = match.call()))
}

#' @rdname dt_dependence
#' @param i Names or numbers of items.
#' @param ... Not used.
#' @export
`[.dt_dependence` <- function(x, i, ...) {
  at <- if (is.character(i)) match(i, x$items) else seq_along(x$items)[i]
  if (anyNA(at)) {
    stop_input("There is no item '", i[which(is.na(at))[1]], "'. Items are in $items.")
  }
  x$items <- x$items[at]
  x$values <- x$values[at, at, drop = FALSE]
  if (!is.null(x$pairwise_n)) x$pairwise_n <- x$pairwise_n[at, at, drop = FALSE]
  x
}

#' @rdname dt_survey_design
#' @param object Result of `dt_survey_design()`.
#' @param nsim Number of people.
#' @param seed Whole number; `NULL` for a fresh one. `set.seed()` has no effect.
#' @param ... Not used.
#' @importFrom stats simulate
#' @export
simulate.dt_survey_design <- function(object, nsim = 100, seed = NULL, ...) {
  ask("draw", list(design = object, n = nsim, seed = seed), call = sys.call())
}
