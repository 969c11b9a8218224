#' Find the factors behind the items
#'
#' How many factors, which items belong to which, how well that fits, and what else was possible.
#' Items are joined where their dependence exceeds a threshold; cliques with an item of their own may
#' be factors. Structures made of them are fitted, and one is chosen.
#'
#' @param x Answers (data frame or matrix, people in rows), a matrix of dependence made by
#'   [dt_dependence()] or [dt_dependence_matrix()], a covariance or correlation matrix, or a
#'   formula such as `~ A1 + A2 + A3`. As
#'   elsewhere in R, `.` stands for all columns, `-` takes some out (`~ . - id`), and columns can be
#'   computed (`~ log(A1) + I(6 - A2)`). Interactions, terms of several columns such as `poly()`, and
#'   a left side are refused.
#' @param measure What is thresholded; see [dt_measures()].
#' @param search "barcode": every factor at its own threshold; "threshold": one for all;
#'   "sequential": as "barcode", then factors that show only when others are explained, because all
#'   their items have a second parent. This is a heuristic: no theorem says when it is right. Unless
#'   that explains clearly more, the answer is the first.
#' @param thresholds For "threshold": "exact", a number of evenly spaced ones, or a vector.
#' @param estimator "copula" (ranks), "linear" (Pearson correlations), or with curves of the
#'   responses "spline", "neural", "variational". With "copula" ratings are reported as ratings:
#'   structures are searched and compared by ranks; loadings, factor correlations, scores and fit of
#'   the chosen one are from polychoric correlations, or mixed ones if some items are continuous.
#'   With curves, long-tailed items are fitted by their normal scores, except with
#'   `preset = "paper"`.
#' @param criterion "ebic", "bic", "aic", "validation", "validation_2se" or "cv".
#' @param min_children Fewest items of a factor.
#' @param uncovered Items of no clique: "attach", "report" or "error".
#' @param refine Add and drop single loadings where that pays?
#' @param missing Rows with gaps: "pairwise", "listwise" or "error".
#' @param misfit "estimated" (the model is an approximation) or "none".
#' @param structure A structure to fit instead of searching for one; see [dt_structure()].
#' @param finalists With curves: structures that are fitted with them.
#' @param preset "paper": nearly as in Kim and Zhou, with a network for every structure on a grid of
#'   50 thresholds, isolated items as factors of one item, and choice by validation. What differs:
#'   where the network's factors and their correlations start (a Gaussian copula model), correlations
#'   that are held still at first and then damped, a limit of the sampler's tuning, a new start if it
#'   freezes, and a last fit to all rows. "paper_fast": the same with shortcuts, and factors of two
#'   items or more.
#' @param n_obs Number of people behind a matrix; `n.obs` is accepted.
#' @param seed Whole number, for curves and criteria that leave people out.
#' @param n_jobs Threads; -1 for all cores, `NULL` for one. Does not change the result.
#' @param progress Show a bar?
#' @param data With a formula: the data frame.
#' @param checkpoint With curves: file to which each structure is added when it is fitted.
#'   The same call goes on where that file ends, whatever ended it.
#' @param ... Arguments of the default method.
#' @return An object of class `dt_fit`: a list that prints, tidies and saves without Python.
#'   `summary(fit, intervals = TRUE)` and `tidy(fit)` have standard errors and 95 % intervals.
#' @section Warnings:
#' Of class `dtstat_warning`, if answers look like codes for missing ones (-9, 99, ...), an item is a
#' copy, a sum or another exact combination of others, there are fewer rows than items, correlations
#' had to be smoothed, an item is explained without error, items rise and fall with their factor,
#' factors of yes/no items follow how hard the items are, or two runs with curves end far apart.
#' @export
#' @examples
#' if (dt_available()) {
#'   fit <- dt_fit(dt_dataset("holzinger_swineford_9"))
#'   fit
#'   coef(fit)
#' }
dt_fit <- function(x, ...) UseMethod("dt_fit")

#' @rdname dt_fit
#' @export
dt_fit.default <- function(x, measure = "spearman", search = "barcode", thresholds = "exact",
                           estimator = "copula", criterion = "ebic", min_children = 3,
                           uncovered = "attach", refine = FALSE, missing = "pairwise",
                           misfit = "estimated", structure = NULL, finalists = 3, preset = NULL,
                           n_obs = NULL, seed = NULL, n_jobs = NULL, progress = interactive(),
                           checkpoint = NULL, ...) {
  n_obs <- psych_n_obs(n_obs, list(...))
  if (is_moments(x)) {
    held <- if (missing(measure)) "pearson" else measure
    x <- dt_dependence_matrix(as.matrix(x), n_obs, held)
  }
  if (!is.null(structure)) structure <- dt_structure(structure)
  call <- match.call()
  call[[1]] <- as.name("dt_fit")
  arguments <- list(
    data = x, measure = measure, search = search, thresholds = given_thresholds(thresholds), estimator = estimator,
    criterion = criterion, min_children = min_children, uncovered = uncovered, refine = refine,
    missing = missing, misfit = misfit, structure = structure, finalists = finalists,
    preset = preset, n_obs = n_obs, seed = seed, n_jobs = n_jobs,
    checkpoint = file_path(checkpoint)
  )
  as_result(ask("fit", arguments, progress, call), call)
}

#' @rdname dt_fit
#' @export
dt_fit.formula <- function(x, data, ...) {
  fit <- dt_fit(items_of(x, data), ...)
  fit$call <- match.call()
  fit$call[[1]] <- as.name("dt_fit")
  fit
}

# "~" is the home folder in R, and a name like any other in Python.
file_path <- function(x) if (is.character(x)) path.expand(x) else x

# psych's users give a correlation or covariance matrix where others give data; no answers of people
# are symmetric.
is_moments <- function(x) {
  if (is.data.frame(x) && all(vapply(x, is.numeric, NA))) x <- as.matrix(x)
  if (!is.matrix(x) || !is.numeric(x) || nrow(x) != ncol(x) || nrow(x) < 2 || anyNA(x)) return(FALSE)
  unit <- all(abs(diag(x) - 1) < 1e-8)
  isSymmetric(unname(x), tol = 1e-8) && (unit || (nrow(x) > 2 && all(diag(x) > 0)))
}

items_of <- function(formula, data) {
  if (length(formula) != 2) {
    stop_input("The formula has no left side, for all items are alike: ~ A1 + A2 + A3.")
  }
  if (missing(data) || !is.data.frame(data)) stop_input("`data` must be a data frame.")
  check_formula_names(all.vars(formula), names(data))
  terms <- tryCatch(
    stats::terms(formula, data = data),
    error = function(e) stop_input("The formula cannot be read: ", conditionMessage(e), ".")
  )
  check_terms(terms)
  places <- apply(attr(terms, "factors") > 0, 2, which) # one variable per term
  expressions <- as.list(attr(terms, "variables"))[-1][places]
  names <- vapply(expressions, item_name, "")
  items <- Map(item_values, expressions, names, MoreArgs = list(data, environment(formula)))
  structure(items, names = names, row.names = attr(data, "row.names"), class = "data.frame")
}

# Unlike in a regression, where a constant may come from elsewhere: a name with a slip of the
# keyboard must not find something else of that name.
check_formula_names <- function(used, known) {
  absent <- setdiff(used, c(known, "."))
  if (length(absent)) stop_input("There is no item '", absent[1], "' in `data`.")
  twice <- known[duplicated(known)]
  if (length(twice)) stop_input("`data` has two columns named '", twice[1], "'. Rename one.")
}

check_terms <- function(terms) {
  labels <- attr(terms, "term.labels")
  if (!is.null(attr(terms, "offset"))) stop_input("offset() has no meaning for items. Leave it out.")
  if (!length(labels)) stop_input("The formula names no items: write ~ A1 + A2 + A3, or ~ . for all.")
  products <- labels[attr(terms, "order") > 1]
  if (length(products)) {
    stop_input(
      "'", products[1], "' is an interaction, which is no item. Leave it out, or give a product ",
      "as I(A1 * A2)."
    )
  }
}

# As R names the columns of a model frame.
item_name <- function(expression) {
  if (is.name(expression)) as.character(expression) else {
    paste(deparse(expression, width.cutoff = 500L, backtick = TRUE), collapse = " ")
  }
}

item_values <- function(expression, name, data, where) {
  values <- tryCatch(
    eval(expression, data, where),
    error = function(e) stop_input("'", name, "' cannot be computed: ", conditionMessage(e), ".")
  )
  if (NCOL(values) > 1) {
    stop_input("'", name, "' gives ", NCOL(values), " columns; an item is one. Add them to `data`.")
  }
  if (NROW(values) != nrow(data)) {
    stop_input("'", name, "' gives ", NROW(values), " values for ", nrow(data), " rows.")
  }
  if (is.factor(values) || !is.null(attr(values, "labels"))) return(values)
  if (is.matrix(values)) values <- values[, 1]
  if (inherits(values, "AsIs")) class(values) <- setdiff(class(values), "AsIs")
  values
}

# psych's users write n.obs.
psych_n_obs <- function(n_obs, dots) {
  others <- setdiff(names(dots), "n.obs")
  if (length(others) || (length(dots) && is.null(names(dots)))) {
    stop_input("There is no argument `", c(others, "...")[1], "`.")
  }
  if (is.null(n_obs)) dots[["n.obs"]] else n_obs
}

# A plain list with the class that Python named, and the call.
as_result <- function(parts, call = NULL) {
  if (!is.list(parts) || is.null(parts$class)) return(parts)
  class <- parts$class
  parts$class <- NULL
  parts <- lapply(parts, function(one) if (is.list(one) && !is.data.frame(one)) as_result(one) else one)
  if (!is.null(call)) parts$call <- call
  structure(without_nan(parts), class = class)
}

# R's word for what does not exist is NA.
without_nan <- function(x) {
  if (is.double(x)) {
    x[is.nan(x)] <- NA_real_
  } else if (is.list(x)) {
    x[] <- lapply(x, without_nan)
  }
  x
}
