#' Fit a confirmatory factor model or a structural equation model
#'
#' For a structure that theory gives, or to put a found one beside it. The model is completed as
#' lavaan's `cfa` does: residual variances, correlated factors, and the first loading of every
#' factor fixed at 1. Both functions are the same; with regressions `dt_sem()` reads better.
#'
#' @param x Answers: a data frame or matrix, people in rows; columns that the model does not name
#'   are ignored. With the estimator "ml" also a covariance matrix with `n_obs`; and, for models that
#'   do not depend on the scales of the items, a matrix of Pearson correlations, see
#'   [dt_dependence_matrix()].
#' @param model Text in lavaan's syntax, in which columns may have the names that [make.names()]
#'   makes of theirs; or anything else that [dt_structure()] takes, such as a list of keys or a result
#'   of [dt_fit()]: every factor then points where the first of its items that is not reversed points.
#' @param estimator "ml": maximum likelihood; "mlr": the same with standard errors and tests that do
#'   not need normal answers; "fiml": as `missing = "fiml"`; "dwls": for ordinal items, from
#'   polychoric correlations.
#' @param missing "listwise": rows without any gap; "fiml": all rows, if answers are missing at
#'   random.
#' @param ordered Names of items to take as ordinal, or `TRUE` for all; makes the estimator "dwls".
#' @param std_lv Fix the variances of the factors at 1 instead of their first loadings?
#' @param orthogonal Are the factors, and what regressions leave of them, uncorrelated?
#' @param mean_structure Estimate intercepts? By default only when rows with gaps are used.
#' @param n_obs Number of people behind a covariance matrix.
#' @return An object of class `dt_cfa`: a list with `parameters`, `standardized`, `loadings`,
#'   `factor_correlations`, `uniquenesses`, `r_squared`, `fit_measures`, `residuals`, `fitted` (the
#'   covariances that the model implies), and more.
#' @export
#' @examples
#' if (dt_available()) {
#'   model <- "textual =~ x4 + x5 + x6; speed =~ x7 + x8 + x9"
#'   fit <- dt_cfa(dt_dataset("holzinger_swineford_9"), model)
#'   fit$fit_measures[c("chisq", "df", "cfi", "rmsea")]
#'
#'   model <- "ind60 =~ x1 + x2 + x3; dem60 =~ y1 + y2 + y3 + y4; dem60 ~ ind60"
#'   dt_sem(dt_dataset("political_democracy"), model)$r_squared["dem60"]
#' }
dt_cfa <- function(x, model, estimator = "ml", missing = "listwise", ordered = NULL,
                   std_lv = FALSE, orthogonal = FALSE, mean_structure = NULL, n_obs = NULL) {
  call <- match.call()
  arguments <- list(
    data = x, model = given_model(model), estimator = estimator, missing = missing,
    ordered = ordered, std_lv = std_lv, orthogonal = orthogonal, mean_structure = mean_structure,
    n_obs = n_obs
  )
  as_result(ask("cfa", arguments, call = call), call)
}

#' @rdname dt_cfa
#' @export
dt_sem <- function(x, model, estimator = "ml", missing = "listwise", ordered = NULL,
                   std_lv = FALSE, orthogonal = FALSE, mean_structure = NULL, n_obs = NULL) {
  call <- match.call()
  arguments <- list(
    data = x, model = given_model(model), estimator = estimator, missing = missing,
    ordered = ordered, std_lv = std_lv, orthogonal = orthogonal, mean_structure = mean_structure,
    n_obs = n_obs
  )
  as_result(ask("sem", arguments, call = call), call)
}

# lavaan's users write a text of several lines as one string or as several.
given_model <- function(model) {
  if (is.character(model)) paste(model, collapse = "\n") else dt_structure(model)
}

#' Fit an exploratory factor model
#'
#' The classical way, to compare a structure of [dt_fit()] with.
#'
#' @param x Answers (data frame or matrix, people in rows; Pearson correlations are taken, on the
#'   rows each pair has in common), or a matrix of dependence made by [dt_dependence()] or
#'   [dt_dependence_matrix()].
#' @param n_factors Number of factors; see [dt_parallel_analysis()].
#' @param rotation "oblimin", "promax", "varimax" or "none".
#' @param method "minres" or "ml".
#' @param n_obs Number of people behind a covariance or correlation matrix, or behind a matrix of
#'   dependence that does not know it; tests and RMSEA need it.
#' @return An object of class `dt_efa`: a list with `loadings`, `factor_correlations`,
#'   `uniquenesses`, `communalities`, `variance` (what each factor explains), `fit_measures`, and
#'   more.
#' @seealso [dt_structure()] to say which items belong, from the loadings.
#' @export
#' @examples
#' if (dt_available()) {
#'   fit <- dt_efa(dt_dataset("holzinger_swineford_9"), n_factors = 3)
#'   round(fit$loadings, 2)
#'   as_structure(fit, cutoff = 0.3)$keys
#' }
dt_efa <- function(x, n_factors, rotation = "oblimin", method = "minres", n_obs = NULL) {
  call <- match.call()
  arguments <- list(
    data = x, n_factors = n_factors, rotation = rotation, method = method, n_obs = n_obs
  )
  as_result(ask("efa", arguments, call = call), call)
}

#' Suggest a number of factors by parallel analysis
#'
#' Counts the factors that are stronger than factors of noise (Horn 1965), for [dt_efa()]. The
#' number that [dt_fit()] finds needs no such help.
#'
#' @param x Answers (data frame or matrix, people in rows), or a matrix of dependence made by
#'   [dt_dependence()] or [dt_dependence_matrix()]; not one of polychoric, tetrachoric or mixed
#'   correlations, whose noise needs the answers.
#' @param n_obs Number of people behind a matrix that does not know it.
#' @param n_iter Number of data sets of noise.
#' @param quantile Of their eigenvalues, the one to be exceeded.
#' @param measure Correlations of answers: "pearson", "polychoric", "tetrachoric" or "mixed". Beside
#'   the last three, noise is cut where the items are and has the same gaps.
#' @param seed Whole number; the same seed gives the same answer.
#' @param progress Show a bar?
#' @return An object of class `dt_parallel_analysis`: a list with `n_factors`, `n_components`,
#'   `eigenvalues` (a data frame, observed beside those of noise), `quantile`, `n_iter`, `n_obs` and
#'   `seed`.
#' @export
#' @examples
#' if (dt_available()) {
#'   dt_parallel_analysis(dt_dataset("holzinger_swineford_9"), n_iter = 5, seed = 1)$n_factors
#' }
dt_parallel_analysis <- function(x, n_obs = NULL, n_iter = 20, quantile = 0.95,
                                 measure = "pearson", seed = NULL, progress = interactive()) {
  call <- match.call()
  arguments <- list(
    data = x, n_obs = n_obs, n_iter = n_iter, quantile = quantile, measure = measure, seed = seed
  )
  as_result(ask("parallel_analysis", arguments, progress, call), call)
}

#' Match the factors of two solutions
#'
#' Use it to see whether two methods, or two samples, tell the same story: factors are matched by
#' Tucker's congruence. Above .95 two factors count as equal, from .85 as similar.
#'
#' @param a,b Solutions of the same items: results of [dt_fit()], [dt_cfa()] or [dt_efa()], of
#'   psych's `fa` or of `factanal`, matrices of loadings, or structures of [dt_structure()]. An item
#'   of a structure loads equally on all its factors, without sign.
#' @return An object of class `dt_solution_comparison`: a list with `mean_congruence`, `matching` (a
#'   data frame, one row per pair of factors), `differing_items` and `congruence` (the matrix of all).
#' @export
#' @examples
#' if (dt_available()) {
#'   items <- dt_dataset("holzinger_swineford_9")
#'   dt_compare_solutions(dt_efa(items, 3), factanal(items, 3))$matching
#' }
dt_compare_solutions <- function(a, b) {
  call <- match.call()
  arguments <- list(a = given_solution(a, "a"), b = given_solution(b, "b"))
  as_result(ask("compare_solutions", arguments, call = call), call)
}

given_solution <- function(x, argument) {
  if (inherits(x, "dt_structure")) return(x)
  x <- loadings_of(x)
  if (!(is.matrix(x) && is.numeric(x))) {
    stop_input("`", argument, "` must be a factor solution, a matrix of loadings or a structure.")
  }
  dimnames(x) <- list(
    given_names(NULL, rownames(x), nrow(x), "item_names", "x"),
    given_names(NULL, colnames(x), ncol(x), "factor_names", "F")
  )
  x
}

#' Ask whether the items are fit for factor analysis
#'
#' The Kaiser-Meyer-Olkin measure of sampling adequacy. Above .8 is good, below .5 unacceptable
#' (Kaiser 1974).
#'
#' @param x Answers (data frame or matrix, people in rows), or a matrix of dependence made by
#'   [dt_dependence()] or [dt_dependence_matrix()].
#' @return A list: `overall`, one number, and `per_item`, one for each item.
#' @export
#' @examples
#' if (dt_available()) {
#'   dt_kmo(dt_dataset("holzinger_swineford_9"))
#' }
dt_kmo <- function(x) {
  found <- without_nan(ask("kmo", list(data = x), call = match.call()))
  items <- if (inherits(x, "dt_dependence")) x$items else colnames(x)
  if (is.null(items)) items <- paste0("x", seq_along(found$per_item))
  names(found$per_item) <- items
  found
}

#' Test whether the items are correlated at all
#'
#' Bartlett's test of sphericity. With many people it rejects nearly always, so it tells little
#' about how well the items can be factored; see [dt_kmo()].
#'
#' @param x Answers (data frame or matrix, people in rows), or a matrix of dependence that knows the
#'   number of people behind it; see [dt_dependence_matrix()].
#' @return An object of class `htest`, as R's own tests: `statistic`, `parameter` (degrees of
#'   freedom), `p.value`.
#' @export
#' @examples
#' if (dt_available()) {
#'   dt_bartlett_test(dt_dataset("holzinger_swineford_9"))
#' }
dt_bartlett_test <- function(x) {
  call <- match.call()
  found <- ask("bartlett_test", list(data = x), call = call)
  parts <- list(
    statistic = c("X-squared" = found$chisq), parameter = c(df = found$df),
    p.value = found$pvalue, method = "Bartlett's test of sphericity",
    data.name = paste(deparse(call$x), collapse = " ")
  )
  structure(parts, class = "htest")
}
