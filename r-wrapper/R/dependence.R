#' Measure the dependence of every pair of items
#'
#' The first step of [dt_fit()], on its own: use it to look at the matrix, to compute a slow measure
#' once and fit several times, or to fit to another measure than correlation. Signs are kept, but
#' all that follows uses absolute values, so reverse-keyed items need no recoding.
#'
#' @param x Answers: a data frame or matrix, people in rows, items in columns; or a design of
#'   [dt_survey_design()], for the dependence in its population.
#' @param measure A name from [dt_measures()]. Rank measures see monotone dependence; "distance",
#'   "hsic", "maximal" and "xi" see any.
#' @param missing Rows with missing answers: "pairwise" (each pair on the rows both items have),
#'   "listwise" (complete rows only) or "error" (refuse missing answers).
#' @param n_jobs Threads; -1 for all cores, `NULL` for one. Does not change the result.
#' @param progress Show a bar?
#' @param floor For thousands of items: keep only pairs whose dependence exceeds this number, from
#'   which the path is exact; "chance" for the least that makes sense, above which items that are
#'   all independent have one neighbor on average. `NULL` keeps all pairs.
#' @param memory With `floor`: GB that blocks, prepared items and pairs may take; the floor is
#'   raised, with a warning, if there are more pairs.
#' @return An object of class `dt_dependence`: a list with `values` (the matrix), `items`,
#'   `measure`, `n_obs` and `pairwise_n` (rows behind each pair, or `NULL`). With `floor`, of class
#'   `dt_sparse_dependence`: `pairs` (a data frame, the strongest first), `items`, `measure`, `n_obs`
#'   and `floor`. `x[c("A1", "A2")]` has the dependence of some items.
#' @seealso [dt_dependence_matrix()] for a matrix you already have.
#' @export
#' @examples
#' if (dt_available()) {
#'   kendall <- dt_dependence(dt_dataset("holzinger_swineford_9"), measure = "kendall")
#'   round(kendall$values[1:3, 1:3], 2)
#' }
dt_dependence <- function(x, measure = "spearman", missing = "pairwise", n_jobs = NULL,
                          progress = interactive(), floor = NULL, memory = 2) {
  call <- match.call()
  if (inherits(x, "dt_survey_design")) {
    return(as_result(ask("design_dependence", list(design = x, measure = measure), call = call), call))
  }
  arguments <- list(
    data = x, measure = measure, missing = missing, n_jobs = n_jobs, floor = floor, memory = memory
  )
  as_result(ask("dependence", arguments, progress, call), call)
}

#' Use a published matrix of dependence, or one of your own
#'
#' For correlations from an article or another package, or of a measure that dtstat does not have. The
#' result can be used wherever individual rows are not needed: [dt_fit()], [dt_path()],
#' [dt_efa()], [dt_margin()].
#'
#' @param x Symmetric matrix of numbers between -1 and 1; or one triangle of it, the other zero or
#'   `NA`. Of a covariance matrix the correlations are taken.
#' @param n_obs Number of people it was computed from, if known. Some criteria need it.
#' @param measure What the numbers are; any name.
#' @param names Names of the items; by default the column names of `x`, else x1, x2 and so on.
#' @return An object of class `dt_dependence`, as of [dt_dependence()].
#' @export
#' @examples
#' if (dt_available()) {
#'   ability <- dt_dependence_matrix(ability.cov$cov, n_obs = ability.cov$n.obs)
#'   dt_efa(ability, n_factors = 2)$loadings
#' }
dt_dependence_matrix <- function(x, n_obs = NULL, measure = "pearson", names = NULL) {
  call <- match.call()
  arguments <- list(matrix = x, n_obs = n_obs, measure = measure, names = many(names))
  as_result(ask("dependence_matrix", arguments, call = call), call)
}

#' List the measures of dependence
#'
#' Look here for what to give as `measure`: what each one sees, what it costs, and whether its error
#' is bounded.
#'
#' @return A data frame, one row per measure.
#' @export
#' @examples
#' if (dt_available()) {
#'   dt_measures()
#' }
dt_measures <- function() ask("measures", list())

#' List the bounds on the error of measures
#'
#' The inequalities behind [dt_error_bound()] and [dt_sample_size()]: what each says, what the items
#' must be like, and where it comes from. Ratings have ties, so none of the bounds of Kendall's,
#' Spearman's and Pearson's correlation holds for them; [dt_plan()] simulates instead.
#'
#' @param sharp `FALSE` for the forms that the paper writes, which need about twice the people.
#' @return A data frame with the columns `formula`, `holds_for` and `source`; its row names are the
#'   measures.
#' @export
#' @examples
#' if (dt_available()) {
#'   dt_bounds(sharp = FALSE)["kendall", ]
#' }
dt_bounds <- function(sharp = TRUE) ask("bounds", list(sharp = sharp))

# One name or number that is meant as a vector of one.
many <- function(x) if (is.null(x)) NULL else I(x)
