#' Find every structure that thresholding can give
#'
#' Use it to see what lies behind the choice of [dt_fit()]: at each threshold the items are joined
#' whose dependence exceeds it, and the cliques that have an item of their own are the factors. The
#' path has every distinct structure with the interval of thresholds that gives it.
#'
#' @param x Answers (data frame or matrix, people in rows), or a matrix of dependence made by
#'   [dt_dependence()] or [dt_dependence_matrix()].
#' @param measure A name from [dt_measures()].
#' @param thresholds "exact" for all there are; a whole number for so many, evenly spaced from 0 to
#'   1; or the thresholds themselves.
#' @param min_children Fewest items of a factor, at least 2. The default is 3, where that of
#'   [dt_fit()] is 2: a fit asks whether a pair pays for itself, a path asks nothing, and with 2
#'   every pair that is in no larger clique is a factor.
#' @param missing Rows with missing answers: "pairwise", "listwise" or "error".
#' @param n_jobs Threads; -1 for all cores, `NULL` for one. Does not change the result.
#' @param progress Show a bar?
#' @param floor For thousands of items: keep only pairs whose dependence exceeds this number, from
#'   which the path is exact; "chance" for the least that makes sense, above which items that are
#'   all independent have one neighbor on average. `NULL` keeps all pairs.
#' @param memory With `floor`: GB that blocks, prepared items and pairs may take; the floor is
#'   raised, with a warning, if there are more pairs.
#' @return An object of class `dt_path`: a list with `candidates` (a data frame, one row per
#'   structure), `keys` (their factors and items; of more than 2000 structures only those of the
#'   longest-lived), `steps` (a data frame, one row per interval of
#'   thresholds: a structure may come back), `barcode` (a data frame, one row per clique with the
#'   thresholds between which it is seen), `thresholds`, `min_children` and `dependence`. `dt_at()`: the
#'   structure at one threshold, of class `dt_structure`.
#' @export
#' @examples
#' if (dt_available()) {
#'   path <- dt_path(dt_dataset("holzinger_swineford_9"))
#'   head(path$candidates)
#'   path$keys[[1]]
#'   dt_at(path, 0.3)
#' }
dt_path <- function(x, measure = "spearman", thresholds = "exact", min_children = 3,
                    missing = "pairwise", n_jobs = NULL, progress = interactive(), floor = NULL,
                    memory = 2) {
  call <- match.call()
  arguments <- list(
    data = x, measure = measure, thresholds = given_thresholds(thresholds),
    min_children = min_children, missing = missing, n_jobs = n_jobs, floor = floor,
    memory = memory
  )
  as_result(ask("solution_path", arguments, progress, call), call)
}

# A number of thresholds is 2 or more; anything below 1 is one threshold, which R cannot tell from a
# number and Python takes as a list only.
given_thresholds <- function(x) {
  if (is.numeric(x) && length(x) == 1 && !is.na(x) && x <= 1) I(x) else x
}
