#' Describe a planned survey
#'
#' What its designer knows: items per factor, loadings, correlations of the factors. For
#' [dt_plan()], which says how many people the survey needs, and [dt_margin()].
#'
#' @param n_factors Number of factors; not needed if a matrix of loadings is given.
#' @param items_per_factor One number, or one for each factor.
#' @param loading Standardized loading of all items; or one for each factor, or for each item; or
#'   the matrix of items by factors, 0 where an item does not belong.
#' @param factor_correlation Correlation of all factors, from 0 to below 1; or the matrix of
#'   correlations.
#' @param levels Points of the answer scale; `NULL` for continuous answers.
#' @return An object of class `dt_survey_design`: a list with `loadings`, `factor_correlations`, `levels`,
#'   `correlations` (of the items, before answers are cut into points) and `structure`. `simulate()`: a
#'   data frame with the answers of `nsim` people. [dt_dependence()] and [dt_margin()] say what the
#'   population is like.
#' @export
#' @examples
#' if (dt_available()) {
#'   design <- dt_survey_design(n_factors = 5, items_per_factor = 5, loading = 0.7)
#'   dt_margin(design, measure = "kendall")$value
#'   head(simulate(design, 200, seed = 1))
#' }
dt_survey_design <- function(n_factors = NULL, items_per_factor = 5, loading = 0.7,
                             factor_correlation = 0, levels = NULL) {
  call <- match.call()
  if (is.null(n_factors) && is.null(dim(loading))) {
    stop_input("`n_factors` is missing: a whole number, or give the matrix of all loadings.")
  }
  arguments <- list(
    n_factors = n_factors, items_per_factor = items_per_factor, loading = loading,
    factor_correlation = factor_correlation, levels = levels
  )
  as_result(ask("survey_design", arguments, call = call), call)
}

#' Work out how many people a survey needs
#'
#' From what its designer knows: by guarantee, by normal approximation, and by simulation of the
#' survey. Four things may be wanted: that one threshold separates all pairs of items ("graph"),
#' that every factor is seen at its own threshold ("factors"), that [dt_fit()] finds exactly the
#' factors ("fit"), or that [dt_certify()] certifies all of them ("certified"). These are different
#' events, so a smaller number in one row is not a better bound for another. Guarantees are for the threshold
#' in the middle of the gap and for items without ties: for ratings (`levels`) there is none, only
#' simulation.
#'
#' @param design Result of [dt_survey_design()]; or else its arguments, the next five.
#' @param n_factors Number of factors; not needed if a matrix of loadings is given.
#' @param items_per_factor One number, or one for each factor.
#' @param loading Standardized loading of all items; or one for each factor, or for each item; or
#'   the matrix of items by factors, 0 where an item does not belong.
#' @param factor_correlation Correlation of all factors, from 0 to below 1; or the matrix of
#'   correlations.
#' @param levels Points of the answer scale; `NULL` for continuous answers.
#' @param measure A name from [dt_measures()].
#' @param error Probability of error that is accepted, between 0 and 1.
#' @param sharp `FALSE` for the bounds that the paper writes, which need about twice the people.
#' @param n_draws Surveys simulated around each answer, a tenth as many of those that are fitted
#'   or certified; 0 for no simulation. More make the printed intervals narrower.
#' @param most_rows Number of people at which simulation gives up.
#' @param seed Whole number; `NULL` for a fresh one.
#' @param n_jobs Threads; -1 for all cores, `NULL` for one. Does not change the result.
#' @param progress Show a bar?
#' @return An object of class `dt_plan`: a list with `table` (people needed, one row per
#'   target), `curves` (the probability of error by number of people), `margin`, `error`, `measure`, and
#'   more.
#' @export
#' @examples
#' if (dt_available()) {
#'   dt_plan(n_factors = 5, loading = 0.7, factor_correlation = 0.3, n_draws = 0)$table
#' }
dt_plan <- function(design = NULL, n_factors = NULL, items_per_factor = 5, loading = 0.7,
                    factor_correlation = 0, levels = NULL, measure = "spearman", error = 0.05,
                    sharp = TRUE, n_draws = 400, most_rows = 20000, seed = NULL, n_jobs = NULL,
                    progress = interactive()) {
  call <- match.call()
  if (is.null(design)) {
    design <- dt_survey_design(n_factors, items_per_factor, loading, factor_correlation, levels)
    n_factors <- NULL
  }
  must_be(design, "dt_survey_design", "design", "dt_survey_design()")
  arguments <- list(
    design = design, n_factors = n_factors, measure = measure, error = error, sharp = sharp,
    n_draws = n_draws, most_rows = most_rows, seed = seed, n_jobs = n_jobs
  )
  as_result(ask("plan", arguments, progress, call), call)
}

#' Bound the probability of a wrong structure
#'
#' How likely is it, at most, that thresholding joins the wrong items, given the number of people,
#' the number of items and the margin? The threshold is the one in the middle of the gap. The bound
#' holds for the items that [dt_bounds()] names: not for ratings, which have ties; for them see
#' [dt_plan()], which simulates. [dt_sample_size()] and its relatives solve the same inequality for
#' the other numbers.
#'
#' @param n Number of people; or, with missing answers, the matrix of people behind each pair,
#'   `pairwise_n` of [dt_dependence()].
#' @param p Number of items.
#' @param margin Half the distance between the weakest dependence of items that share a factor and
#'   the strongest of items that do not; above 0, at most 1. See [dt_margin()].
#' @param measure A measure that has a bound; see [dt_bounds()].
#' @param sharp `FALSE` for the bounds that the paper writes, which need about twice the people.
#' @param method "guarantee": the inequality; "normal": the same with a normal tail, no guarantee;
#'   "simulation": by drawing samples, for any measure, no guarantee.
#' @param factor_size Number of items of one factor, for the probability that this factor is missed
#'   at its own threshold; `margin` is then its local margin. Another event than the wrong graph.
#' @param n_draws Samples drawn, for "simulation".
#' @param seed Whole number, for "simulation"; `NULL` for a fresh one.
#' @return A number, at most 1.
#' @export
#' @examples
#' if (dt_available()) {
#'   dt_error_bound(n = 1000, p = 25, margin = 0.2)
#' }
dt_error_bound <- function(n, p, margin, measure = "kendall", sharp = TRUE, method = "guarantee",
                           factor_size = NULL, n_draws = 1000, seed = NULL) {
  arguments <- list(
    n = n, p = p, margin = margin, measure = measure, sharp = sharp, method = method,
    factor_size = factor_size, n_draws = n_draws, seed = seed
  )
  ask("error_bound", arguments, call = match.call())
}

#' Sample size, number of items and margin for an accepted error
#'
#' Each solves the inequality of [dt_error_bound()] for one number: how many people are enough, how
#' many items are not too many, how small a margin may be. `dt_sample_size_table()` lists the people
#' for all measures that have a bound. [dt_plan()] needs no margin, but loadings.
#'
#' @param p Number of items; for the table one or many.
#' @param margin Half the distance between the weakest dependence of items that share a factor and
#'   the strongest of items that do not; above 0, at most 1. For the table one or many. See
#'   [dt_margin()].
#' @param n Number of people.
#' @param error Probability of error that is accepted, between 0 and 1.
#' @param measure A measure that has a bound; see [dt_bounds()].
#' @param sharp `FALSE` for the bounds that the paper writes, which need about twice the people.
#' @param method "guarantee": the inequality; "normal": the same with a normal tail, no guarantee.
#' @param factor_size Number of items of one factor, if it is enough that this factor is found at
#'   its own threshold; `margin` is then its local margin.
#' @return A number: of people, of items (1 if even two are too many), or the margin (`Inf` if not
#'   even 1 is enough). `dt_sample_size_table()`: a data frame with the columns `items`, `margin`,
#'   `measure`, `form`, `n` and `guaranteed` (for items as [dt_bounds()] says: not for ratings, which
#'   have ties).
#' @export
#' @examples
#' if (dt_available()) {
#'   dt_sample_size(p = 25, margin = 0.2)
#'   dt_sample_size(p = 25, margin = 0.2, factor_size = 5)
#'   dt_max_items(n = 1000, margin = 0.2)
#'   dt_min_margin(n = 1000, p = 25)
#'   dt_sample_size_table(c(5, 10), 0.4)[1:3, ]
#' }
dt_sample_size <- function(p, margin, error = 0.05, measure = "kendall", sharp = TRUE,
                           method = "guarantee", factor_size = NULL) {
  arguments <- list(
    p = p, margin = margin, error = error, measure = measure, sharp = sharp, method = method,
    factor_size = factor_size
  )
  ask("sample_size", arguments, call = match.call())
}

#' @rdname dt_sample_size
#' @export
dt_max_items <- function(n, margin, error = 0.05, measure = "kendall", sharp = TRUE,
                         method = "guarantee", factor_size = NULL) {
  arguments <- list(
    n = n, margin = margin, error = error, measure = measure, sharp = sharp, method = method,
    factor_size = factor_size
  )
  ask("max_items", arguments, call = match.call())
}

#' @rdname dt_sample_size
#' @export
dt_min_margin <- function(n, p, error = 0.05, measure = "kendall", sharp = TRUE,
                          method = "guarantee", factor_size = NULL) {
  arguments <- list(
    n = n, p = p, error = error, measure = measure, sharp = sharp, method = method,
    factor_size = factor_size
  )
  ask("min_margin", arguments, call = match.call())
}

#' @rdname dt_sample_size
#' @export
dt_sample_size_table <- function(p, margin, error = 0.05, factor_size = NULL) {
  arguments <- list(p = p, margin = margin, error = error, factor_size = factor_size)
  ask("sample_size_table", arguments, call = match.call())
}

#' Probability that every factor has an item of its own
#'
#' The method can find a factor only if some item belongs to it alone. If items were assigned to
#' factors at random, how likely would every factor have such an item?
#'
#' @param p Number of items.
#' @param d Number of factors.
#' @param alpha Probability that an item belongs to a factor, between 0 and 1.
#' @param form "exact"; "bound", the paper's lower bound; or "sparse", its form for many factors.
#' @return A probability.
#' @export
#' @examples
#' if (dt_available()) {
#'   dt_ucc_probability(p = 25, d = 5, alpha = 0.2)
#' }
dt_ucc_probability <- function(p, d, alpha, form = "exact") {
  ask("ucc_probability", list(p = p, d = d, alpha = alpha, form = form), call = match.call())
}
