#' Fit a confirmatory factor model, a structural equation model or growth curves
#'
#' For a structure that theory gives, or to compare one that was found with it. The model is completed as
#' lavaan's `cfa` does: residual variances, correlated factors, and the first loading of every
#' factor fixed at 1. `dt_sem()` is the same; with regressions it reads better. `dt_growth()` models
#' means as lavaan's `growth` does: those of factors are free, the intercepts of outcomes 0.
#'
#' Calls of lavaan's `cfa()`, `sem()` and `growth()` can be taken over: `dt_cfa(model, data)` is the
#' same as `dt_cfa(data, model)`; `data`, `sample.cov`, `sample.nobs` and `sample.mean` are accepted for
#' `x`, `n_obs` and `means`, names with dots for those with underscores (`std.lv`, `group.equal`),
#' `meanstructure` for `mean_structure`; estimators may be written in capitals, and `missing = "ml"` means "fiml". An
#' argument that lavaan has and this function has not is refused, not ignored.
#'
#' @param x Answers: a data frame or matrix, people in rows; columns that the model does not name
#'   are ignored. With the estimator "ml" also a covariance matrix with `n_obs`, or a list of them
#'   for several groups; and, for models that do not depend on the scales of the items, a matrix of
#'   Pearson correlations, see [dt_dependence_matrix()].
#' @param model Text in lavaan's syntax, in which columns may have the names that [make.names()]
#'   makes of theirs; a fitted model, to fit the same text again; or anything else that
#'   [dt_structure()] takes, such as a list of keys or a result of [dt_fit()]: every factor is then
#'   oriented like its first non-reversed item.
#' @param estimator "ml": maximum likelihood; "mlr": the same with standard errors and tests that do
#'   not need normal answers, from the scores of the rows; "mlm", "mlmv", "mlmvs": from the fourth
#'   moments, with tests adjusted in mean, mean and variance (shifted), and mean and variance (other
#'   degrees of freedom); "mlf": standard errors from first derivatives; "fiml": as
#'   `missing = "fiml"`; "gls", "wls", "uls" (and "ulsm", "ulsmv", "ulsmvs"): least squares of
#'   covariances. For ordered items, from their polychoric correlations: "wlsmv" (the default with
#'   `ordered`): diagonally weighted least squares with robust standard errors and a test adjusted in
#'   mean and variance; "wlsm": with a test adjusted in mean; "ulsmv", "ulsm": the same without
#'   weights; "dwls", "uls": without the robust standard errors and tests; "wls": full weights.
#' @param missing "listwise": complete rows only; "fiml": all rows, if answers are missing at
#'   random; "fiml.x": also rows without some observed predictors; "pairwise": for ordered items,
#'   every statistic from the rows that have its items.
#' @param ordered Names of items to take as ordered, or `TRUE` for all that are not mere predictors;
#'   makes the estimator "wlsmv".
#' @param std_lv Fix the variances of the factors at 1 instead of their first loadings?
#' @param orthogonal Are the factors, and what regressions leave of them, uncorrelated?
#' @param mean_structure Estimate intercepts? By default only when rows with missing values are used, or with
#'   groups.
#' @param n_obs Number of people behind a covariance matrix; of each group if there are several.
#' @param means Means that go with a covariance matrix; of each group if there are several.
#' @param group Column that says which group a row belongs to; the model is fitted in all groups at
#'   once. The first group is the one of the first row.
#' @param group_equal Parameters that are equal in all groups, some of "loadings", "intercepts",
#'   "means", "thresholds", "regressions", "residuals", "residual_covariances", "lv_variances",
#'   "lv_covariances".
#' @param group_partial Exceptions: parameters left free, such as "visual =~ x2".
#' @param effect_coding `TRUE`: loadings average 1 and intercepts 0 in each factor, instead of a
#'   marker item; or one of "loadings", "intercepts".
#' @param information "expected", "observed" or "first.order", on which standard errors of ml
#'   estimators rest; by default what the estimator says.
#' @param se Standard errors: "standard", "robust.sem", "robust.huber.white" or "none"; by default what
#'   the estimator says.
#' @param test Test reported first: "standard", "satorra.bentler", "yuan.bentler.mplus",
#'   "scaled.shifted" or "mean.var.adjusted"; by default what the estimator says.
#' @param sampling_weights Column of sampling weights; standard errors and tests are then those of
#'   "mlr". Ordered items are weighted with "wlsmv", "wlsm", "ulsmv" or "ulsm".
#' @param sampling_weights_normalization What weights add up to: "total", the number of rows; "group",
#'   that of each group; "none", what they add up to as they are.
#' @param cluster Column that says with which cluster (school, household) a row was drawn. Standard
#'   errors and tests are then those of "mlr" (of ordered items, of "wlsmv" and its like), with scores
#'   added up by cluster.
#' @param fixed_x Are observed predictors given? `FALSE` models their moments, too.
#' @param group_label Names of the groups in the order to take them; others are left out.
#' @param rotation How the factors of exploratory blocks, `efa("b")*f1 + efa("b")*f2 =~ ...`, are
#'   rotated: "geomin", "oblimin" or "varimax".
#' @param auxiliary Columns that help to say which answers are missing, with `missing = "fiml"`.
#' @param parameterization What gives the variables behind ordered items their scale: "delta"
#'   (variance 1, or scales `x1 ~*~ x1`) or "theta" (residual variance 1).
#' @param method "joint": all parameters at once; "sam": structural after measurement (Rosseel and Loh
#'   2022), the measurement model of each factor first, then what relates the factors.
#' @param bounds "pos.var": no free variance may become negative; "pos.ov.var" and "pos.lv.var" say so
#'   of observed and of latent variables only.
#' @param progress Show a bar?
#' @param ... Arguments by their names in lavaan.
#' @return An object of class `dt_cfa`: a list with `parameters`, `standardized`, `coefficients` (the
#'   free parameters), `vcov`, `loadings`, `factor_correlations`, `uniquenesses`, `r_squared`,
#'   `fit_measures`, `residuals`, `fitted` (the covariances that the model implies), and more. With
#'   groups, `parameters` and `standardized` have a column `group`, and the tables of items and
#'   factors are lists with one entry per group.
#' @seealso [summary()][summary.dt_cfa] prints it, [dt_cfa_methods] has what R's generics say,
#'   [dt_parameters()] tables of it.
#' @export
#' @examples
#' if (dt_available()) {
#'   items <- dt_dataset("holzinger_swineford_9")
#'   model <- "textual =~ x4 + x5 + x6; speed =~ x7 + x8 + x9"
#'   fit <- dt_cfa(items, model)
#'   fit
#'
#'   # as lavaan writes it
#'   dt_cfa(model, data = items, std.lv = TRUE, estimator = "MLR")
#'
#'   model <- "ind60 =~ x1 + x2 + x3; dem60 =~ y1 + y2 + y3 + y4; dem60 ~ ind60"
#'   dt_sem(dt_dataset("political_democracy"), model)$r_squared["dem60"]
#' }
dt_cfa <- function(x, model, estimator = "ml", missing = "listwise", ordered = NULL,
                   std_lv = FALSE, orthogonal = FALSE, mean_structure = NULL, n_obs = NULL,
                   means = NULL, group = NULL, group_equal = NULL, group_partial = NULL,
                   effect_coding = FALSE, information = NULL, se = NULL, test = NULL,
                   sampling_weights = NULL, sampling_weights_normalization = "total",
                   cluster = NULL, fixed_x = TRUE, group_label = NULL, rotation = "geomin",
                   auxiliary = NULL, parameterization = "delta", method = "joint",
                   bounds = "none", progress = interactive(), ...) {
  fit_model("cfa", environment(), match.call(), ...)
}

#' @rdname dt_cfa
#' @export
dt_sem <- dt_cfa
body(dt_sem) <- quote(fit_model("sem", environment(), match.call(), ...))

#' @rdname dt_cfa
#' @export
dt_growth <- dt_cfa
body(dt_growth) <- quote(fit_model("growth", environment(), match.call(), ...))

#' Fit an exploratory factor model
#'
#' The classical approach, for comparison with [dt_fit()].
#'
#' @param x Answers (data frame or matrix, people in rows; Pearson correlations are taken, on the
#'   rows each pair has in common), or a matrix of dependence made by [dt_dependence()] or
#'   [dt_dependence_matrix()].
#' @param n_factors Number of factors; see [dt_parallel_analysis()].
#' @param rotation "oblimin", "promax", "varimax" or "none".
#' @param method "minres" or "ml".
#' @param n_obs Number of people behind a covariance or correlation matrix, or behind a matrix of
#'   dependence that does not know it; tests and RMSEA need it.
#' @param labels What the items ask, in any form that [dt_fit()] takes. Without it, the attribute
#'   `label` of the columns.
#' @param ... Arguments of psych's `fa()` by its names: `nfactors`, `rotate`, `fm`, `n.obs`, and `cor`
#'   ("cor", "poly", "tet", "mixed", or a name of [dt_measures()]) for other correlations.
#' @return An object of class `dt_efa`: a list with `loadings`, `factor_correlations`,
#'   `uniquenesses`, `communalities`, `complexity`, `heywood` (items explained without error),
#'   `variance` (what each factor explains), `fit_measures`, `weights` (of standardized items in
#'   scores), and more.
#' @seealso [dt_structure()] to say which items belong, from the loadings; [dt_efa_methods] for scores
#'   and residuals; [as_psych_fa()] for psych.
#' @export
#' @examples
#' if (dt_available()) {
#'   fit <- dt_efa(dt_dataset("holzinger_swineford_9"), n_factors = 3)
#'   round(fit$loadings, 2)
#'   as_structure(fit, cutoff = 0.3)$keys
#'
#'   # as psych writes it
#'   dt_efa(dt_dataset("holzinger_swineford_9"), nfactors = 3, rotate = "varimax", fm = "ml")
#' }
dt_efa <- function(x, n_factors = NULL, rotation = "oblimin", method = "minres", n_obs = NULL,
                   labels = NULL, ...) {
  call <- match.call()
  theirs <- c(n_factors = "nfactors", rotation = "rotate", method = "fm", n_obs = "n.obs")
  dots <- habits(list(...), c(theirs, "cor"), dt_efa, "dt_efa")
  arguments <- list(
    data = x, n_factors = n_factors, rotation = rotation,
    method = method, n_obs = n_obs, labels = given_labels(labels)
  )
  arguments <- in_our_names(arguments, dots, theirs, names(call))
  if (is.null(arguments$n_factors)) {
    stop_input("`n_factors` is missing: how many? dt_parallel_analysis() suggests a number.")
  }
  if (!is.null(dots$cor) && !is_matrix(x)) {
    arguments$data <- dt_dependence(x, psych_measure(dots$cor), progress = FALSE)
  }
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
#' @param ... psych's names of these arguments: `n.obs`, `n.iter`, `quant`, `cor`.
#' @return An object of class `dt_parallel_analysis`: a list with `n_factors`, `n_components`,
#'   `eigenvalues` (a data frame, observed beside those of noise), `quantile`, `n_iter`, `n_obs` and
#'   `seed`.
#' @export
#' @examples
#' if (dt_available()) {
#'   dt_parallel_analysis(dt_dataset("holzinger_swineford_9"), n_iter = 5, seed = 1)$n_factors
#' }
dt_parallel_analysis <- function(x, n_obs = NULL, n_iter = 20, quantile = 0.95,
                                 measure = "pearson", seed = NULL, progress = interactive(), ...) {
  call <- match.call()
  theirs <- c(n_obs = "n.obs", n_iter = "n.iter", quantile = "quant", measure = "cor")
  dots <- habits(list(...), theirs, dt_parallel_analysis, "dt_parallel_analysis")
  arguments <- list(
    data = x, n_obs = n_obs, n_iter = n_iter, quantile = quantile, measure = measure, seed = seed
  )
  arguments <- in_our_names(arguments, dots, theirs, names(call))
  arguments$measure <- psych_measure(arguments$measure, "pearson")
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
  without_nan(ask("kmo", list(data = x), call = match.call()))
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
