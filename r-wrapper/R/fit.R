#' Find the factors behind the items
#'
#' How many factors, which items belong to which, how well that fits, and what else was possible.
#' Items are joined where their dependence exceeds a threshold; cliques with an item of their own may
#' be factors. They are the leaves of a tree that has a structure for every number of factors down
#' to one. The level that stands out most is the answer; `$levels` and [dt_level()] have the others.
#'
#' @param x Answers (data frame or matrix, people in rows), a matrix of dependence made by
#'   [dt_dependence()] or [dt_dependence_matrix()], a covariance or correlation matrix, or a
#'   formula such as `~ A1 + A2 + A3`. As
#'   elsewhere in R, `.` stands for all columns, `-` takes some out (`~ . - id`), and columns can be
#'   computed (`~ log(A1) + I(6 - A2)`). Interactions, terms of several columns such as `poly()`, and
#'   a left side are refused.
#' @param n_factors Number of factors, if it is known; `NULL` to let the data decide. psych's
#'   `nfactors` is accepted.
#' @param measure What is thresholded; see [dt_measures()]. psych's `cor` is accepted, with its names
#'   ("cor", "poly", "tet", "mixed") and these.
#' @param search "tree": cliques, each factor at its own threshold, are joined two by two down to one
#'   factor; "threshold": one threshold for all factors, as in the paper; "sequential": the tree, then
#'   factors that show only when others are explained, because all their items have a second parent.
#'   This is a heuristic: no theorem says when it is right. Unless that explains clearly more, the
#'   answer is that of "tree".
#' @param thresholds For "threshold": "exact", a number of evenly spaced ones, or a vector.
#' @param estimator "copula" (ranks), "linear" (Pearson correlations), or with curves of the
#'   responses "spline", "neural", "variational". With "copula" ratings are modeled as ordinal:
#'   structures are searched and compared by ranks; loadings, factor correlations, scores and fit of
#'   the chosen one are from polychoric correlations, or mixed ones if some items are continuous.
#'   With curves, long-tailed items are fitted by their normal scores, except with
#'   `preset = "paper"`.
#' @param criterion "step": among the levels the data support, the one where removing a factor costs
#'   most relative to what adding one gains and where different ways of sorting the items agree; where
#'   there is no tree, or curves are fitted, it means "ebic". "ebic", "bic", "aic": fit against number of
#'   parameters. "validation", "validation_2se", "cv": likelihood of people left out.
#' @param min_children Fewest items of a factor.
#' @param uncovered Items of no clique: "attach", "report" or "error".
#' @param refine Add and drop single loadings where that pays?
#' @param missing Rows with missing answers: "pairwise", "listwise" or "error".
#' @param misfit "estimated" (the model is an approximation) or "none".
#' @param structure A structure to fit instead of searching for one; see [dt_structure()].
#' @param finalists With curves: how many of the structures ranked best by the copula model are refitted
#'   with curves.
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
#' @param labels What the items ask, for tables, plots and the page: a named vector or list, item to
#'   text; a codebook as in [dt_read_survey()], or one with the items as row names, as in psychTools;
#'   or a data frame whose columns have the attribute `label`. Without it, that attribute of the
#'   columns of `x`, as haven and [dt_read_survey()] read it. From columns of other data frames that
#'   are plain vectors R drops it when rows are chosen: `dt_fit(answers[rows, ], labels = answers)` keeps it.
#' @param ... Arguments of the default method.
#' @return An object of class `dt_fit`: a list that prints, tidies and saves without Python.
#'   `levels` is a data frame, one row per number of factors: `n_factors`; `chosen`; `level` ("fine"
#'   and "broad": the two that stand out); `supported` (do the data support so many?);
#'   `one_fewer_costs` (log-likelihood per person lost by the items of two factors if these are merged),
#'   `joins` (the two that lose least; items are re-sorted at every level, so the next coarser level
#'   need not be exactly that merger), `correlation` (of these); `agreement` (mean adjusted Rand index
#'   of different ways of sorting the items); `step` (what the choice goes by);
#'   `cost` (ebic with the rows counted as `n_effective`, `NA` where it was not needed). It has no
#'   rows if no tree was searched.
#'   `summary(fit, intervals = TRUE)` and `tidy(fit, conf.int = TRUE)` have standard errors and 95 %
#'   intervals.
#' @section Warnings:
#' Of class `dtstat_warning`, if answers look like codes for missing ones (-9, 99, ...), an item is a
#' copy, a sum or another exact combination of others, there are fewer rows than items, correlations
#' had to be smoothed, an item is explained without error, items rise and fall with their factor,
#' factors of yes/no items reflect item difficulty, or two runs with curves end far apart.
#' @export
#' @examples
#' if (dt_available()) {
#'   fit <- dt_fit(dt_dataset("holzinger_swineford_9"))
#'   fit
#'   coef(fit)
#'   fit$levels
#'   coef(dt_fit(dt_dataset("holzinger_swineford_9"), n_factors = 2))
#' }
dt_fit <- function(x, ...) UseMethod("dt_fit")

#' @rdname dt_fit
#' @export
dt_fit.default <- function(x, n_factors = NULL, measure = "spearman", search = "tree",
                           thresholds = "exact", estimator = "copula", criterion = "step",
                           min_children = 2, uncovered = "attach", refine = FALSE,
                           missing = "pairwise", misfit = "estimated", structure = NULL,
                           finalists = 3, preset = NULL, n_obs = NULL, seed = NULL, n_jobs = NULL,
                           progress = interactive(), checkpoint = NULL, labels = NULL, ...) {
  named <- !missing(measure)
  if (any(c("rotate", "fm") %in% names(list(...)))) {
    stop_input(
      "`rotate` and `fm` are arguments of dt_efa(), which is exploratory factor analysis. dt_fit() finds ",
      "which items belong to which factor, and there is nothing to rotate."
    )
  }
  dots <- habits(list(...), c("n.obs", "nfactors", "cor"), dt_fit.default, "dt_fit")
  n_obs <- one_of_two(n_obs, dots, "n_obs", "n.obs")
  n_factors <- one_of_two(n_factors, dots, "n_factors", "nfactors")
  measure <- psych_measure(one_of_two(if (named) measure, dots, "measure", "cor"), measure)
  if (is_moments(x)) {
    held <- if (named || !is.null(dots$cor)) measure else "pearson"
    x <- dt_dependence_matrix(as.matrix(x), n_obs, held)
  }
  if (!is.null(structure)) structure <- structure_argument(structure, "structure", x)
  call <- match.call()
  call[[1]] <- as.name("dt_fit")
  arguments <- list(
    data = x, n_factors = n_factors, measure = measure, search = search,
    thresholds = given_thresholds(thresholds), estimator = estimator, criterion = criterion,
    min_children = min_children, uncovered = uncovered, refine = refine,
    missing = missing, misfit = misfit, structure = structure, finalists = finalists,
    preset = preset, n_obs = n_obs, seed = seed, n_jobs = n_jobs,
    checkpoint = file_path(checkpoint), labels = given_labels(labels)
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

#' Another level of a fit
#'
#' A fit has a structure for every number of factors; `fit$levels` lists them. This fits another of
#' them than the chosen one. Its factors are named after those of the fit: "F1+F2" takes in the items
#' of both, "F1a" and "F1b" are parts of F1. Items move, so that a level is not always made of whole
#' factors of another.
#'
#' @param fit Result of [dt_fit()] with a tree of factors: not with curves, and not with
#'   `search = "threshold"`.
#' @param which Number of factors; "fine" or "broad": the two levels that stand out.
#' @return An object of class `dt_fit`.
#' @seealso [as_lavaan()] for models of both levels.
#' @export
#' @examples
#' if (dt_available()) {
#'   fit <- dt_fit(dt_dataset("holzinger_swineford_9"))
#'   fit$levels
#'   dt_level(fit, 2)
#' }
dt_level <- function(fit, which) {
  must_be(fit, "dt_fit", "fit", "dt_fit()")
  call <- match.call()
  as_result(ask("level", list(state = fit$state, which = which), call = call), call)
}

# Plain lists with the classes that Python named, and the call.
as_result <- function(parts, call = NULL) {
  if (!is.list(parts) || is.data.frame(parts)) return(parts)
  class <- parts[["class"]]
  parts <- lapply(parts, as_result)
  if (!(is.character(class) && startsWith(class[1], "dt_"))) return(parts)
  parts$class <- NULL
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
