#' Say how far a fit can be trusted
#'
#' Checks what the method itself assumes: is every pair of items within a factor more dependent than
#' every pair between factors, by what margin, and which pairs decide; the same for each factor at
#' its own threshold; bounds on the probability of error; which factors depend on a single item; and what keeps
#' items out of factors. Bounds are conditional: on the margin of the population being that of the
#' sample, on the threshold in the middle of the gap, and on items without ties; there are none for
#' ratings.
#'
#' @param fit Result of [dt_fit()]; of a structure that was given, too.
#' @param data The answers that were fitted, for intervals; without them margins have none.
#' @param n_boot Resamples for the intervals; 200 by default if there are `data`.
#' @param seed Whole number; `NULL` for a fresh one.
#' @param n_jobs Threads; -1 for all cores, `NULL` for one. Does not change the result.
#' @param progress Show a bar?
#' @param checkpoint File to which each resample is added when it is done; `NULL` for none.
#'   The same call goes on where that file ends, whatever ended it.
#' @return An object of class `dt_diagnosis`: a list with `verdict`, `margin`, `interval`,
#'   `error_bound`, data frames `factors`, `unique_children`, `dropping`, `outside` and `pairs`, and
#'   more.
#' @export
#' @examples
#' if (dt_available()) {
#'   items <- dt_dataset("holzinger_swineford_9")
#'   fit <- dt_fit(items)
#'   dt_diagnose(fit)$verdict
#'   dt_diagnose(fit, items, n_boot = 50, seed = 1)$interval
#' }
dt_diagnose <- function(fit, data = NULL, n_boot = NULL, seed = NULL, n_jobs = NULL,
                        progress = interactive(), checkpoint = NULL) {
  call <- match.call()
  must_be(fit, "dt_fit", "fit", "dt_fit()")
  if (is.null(data) && !is.null(n_boot)) stop_input("`n_boot` needs `data`: a fit has none.")
  arguments <- list(
    fit = fit, data = data, n_boot = n_boot, seed = seed, n_jobs = n_jobs,
    checkpoint = file_path(checkpoint)
  )
  as_result(ask("diagnose", arguments, progress, call), call)
}

#' See what comes out again on resamples
#'
#' Draws people anew, runs the whole procedure on them, and matches the factors found to those of
#' all people: which items stay together, how many factors come out, and with `sizes` how many
#' people it takes. Shares of resamples say how often a result comes out again; they are not
#' probabilities of being right.
#'
#' @param x Answers: a data frame or matrix, people in rows.
#' @param n_boot Number of resamples.
#' @param fit The result of [dt_fit()] for these answers whose procedure is repeated; if omitted, it
#'   is made with the arguments in `...`.
#' @param scheme "bootstrap": as many people as there are, drawn with replacement; "subsample": half
#'   of them, without.
#' @param share Share of the people in a resample, if other than that.
#' @param sizes Shares of the people for further subsamples, such as `c(0.25, 0.5)`.
#' @param seed Whole number; `NULL` for a fresh one.
#' @param n_jobs Threads; -1 for all cores, `NULL` for one. Does not change the result.
#' @param progress Show a bar?
#' @param checkpoint File to which each resample is added when it is done; `NULL` for none.
#'   The same call goes on where that file ends, whatever ended it.
#' @param ... Arguments of [dt_fit()], such as `measure`.
#' @return An object of class `dt_stability`: a list with matrices `edges` and `memberships` (shares
#'   of resamples in which items are joined, and belong to a factor), data frames `n_factors`, `items`, `factors`,
#'   `sizes`, `alternatives` and `disagreement`, and more.
#' @export
#' @examples
#' if (dt_available()) {
#'   items <- dt_dataset("holzinger_swineford_9")
#'   stable <- dt_stability(items, n_boot = 20, seed = 1, measure = "kendall")
#'   stable$n_factors
#'   round(stable$memberships, 2)
#' }
dt_stability <- function(x, n_boot = 200, fit = NULL, scheme = "bootstrap", share = NULL,
                         sizes = numeric(), seed = NULL, n_jobs = NULL, progress = interactive(),
                         checkpoint = NULL, ...) {
  call <- match.call()
  if (!is.null(fit)) must_be(fit, "dt_fit", "fit", "dt_fit()")
  arguments <- list(
    data = x, n_boot = n_boot, fit = fit, scheme = scheme, share = share, sizes = many(sizes),
    seed = seed, n_jobs = n_jobs, checkpoint = file_path(checkpoint)
  )
  arguments <- c(arguments, fit_options(list(...)))
  as_result(ask("stability", arguments, progress, call), call)
}

# Python would speak of its own classes.
must_be <- function(x, class, argument, maker) {
  if (!inherits(x, class)) {
    stop_input("`", argument, "` must be a result of ", maker, "; got ", class(x)[1], ".")
  }
}

# Arguments of dt_fit() that travel on; a misspelled one is refused here, where its name is known.
fit_options <- function(options) {
  own <- c("x", "...", names(formals(dt_stability)))
  known <- setdiff(names(formals(dt_fit.default)), own)
  unknown <- setdiff(names_or_blanks(options), known)
  if (length(unknown)) refuse_argument(unknown[1], known, "dt_fit")
  if (!is.null(options$thresholds)) options$thresholds <- given_thresholds(options$thresholds)
  options
}

#' Measure how far a structure can be read off dependence
#'
#' The margin is half the distance from the weakest dependence within factors to the strongest
#' between them: if it is positive, one threshold separates all pairs. At another threshold another
#' structure may have a positive margin, too. Each factor has a local margin of its own.
#'
#' @param x Answers (data frame or matrix, people in rows) or a matrix of dependence made by
#'   [dt_dependence()] or [dt_dependence_matrix()], for the margin in the sample; a design of
#'   [dt_survey_design()], for that in the population.
#' @param structure The factors: a result of [dt_fit()], or anything [dt_structure()] takes. A
#'   design has its own.
#' @param measure A name from [dt_measures()]; a matrix of dependence has its own.
#' @return An object of class `dt_margin`: a list with `value`, `satisfied`, `verdict` (in words),
#'   `measure` and `factors` (a data frame, one row per factor).
#' @export
#' @examples
#' if (dt_available()) {
#'   keys <- list(textual = c("x4", "x5", "x6"), speed = c("x7", "x8", "x9"))
#'   dt_margin(dt_dataset("holzinger_swineford_9"), keys)$verdict
#'
#'   dt_margin(dt_survey_design(3, loading = 0.7, factor_correlation = 0.3))$value
#' }
dt_margin <- function(x, structure = NULL, measure = "kendall") {
  call <- match.call()
  if (!is.null(structure)) {
    structure <- structure_argument(structure, "structure", x)
  } else if (!inherits(x, "dt_survey_design")) {
    stop_input("`structure` is required: a margin belongs to a structure. See dt_structure().")
  }
  arguments <- list(data = x, structure = structure, measure = measure)
  as_result(ask("margin", arguments, call = call), call)
}
