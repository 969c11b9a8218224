#' R methods for a fit
#'
#' `coef()` gives the loadings, `fitted()` the correlations that the model implies, `residuals()`
#' what it leaves, `predict()` everybody's factor scores, `logLik()`, `AIC()`, `BIC()` and `nobs()`
#' what their names say, and `update()` fits again with other arguments. Where answers are missing,
#' `BIC()` counts the rows that a typical pair of items has in common, `nobs()` all that were used.
#' `confint()` has intervals of loadings and factor correlations, `anova()` the test of the structure.
#'
#' @param object A result of [dt_fit()].
#' @param newdata People to score: a data frame with the items among its columns.
#' @param sd Add columns with the standard deviations of the scores?
#' @param parm Terms, such as "F1 =~ x1" or "F1 ~~ F2", or their numbers; all if omitted.
#' @param level Level of the intervals.
#' @param ... Not used.
#' @return `coef()`: matrix of class `loadings`; `fitted()`, `residuals()`, `confint()`: matrices;
#'   `predict()`: a data frame, one row per person with the row names of `newdata`, a tibble if that is
#'   one; `anova()`: a data frame of class `anova`. `vcov()` refuses: a fit keeps standard errors, not
#'   their covariances.
#' @name dt_fit_methods
#' @examples
#' if (dt_available()) {
#'   data <- dt_dataset("holzinger_swineford_9")
#'   fit <- dt_fit(data)
#'   coef(fit)
#'   head(predict(fit, data))
#'   confint(fit, c("F1 =~ x1", "F1 ~~ F2"))
#'   anova(fit)
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
  if (missing(newdata)) stop_no_data()
  scores <- ask("predict", list(state = object$state, data = newdata, sd = sd), call = sys.call())
  rows_like(without_nan(scores), newdata)
}

stop_no_data <- function() {
  stop_input("`newdata` must be given: a fit does not keep the answers. predict(fit, data).")
}

# Names of rows are kept, and tibbles stay tibbles.
rows_like <- function(scores, data) {
  if (inherits(data, "tbl_df")) {
    class(scores) <- c("tbl_df", "tbl", "data.frame")
    return(scores)
  }
  named <- if (is.data.frame(data)) .row_names_info(data) > 0 else !is.null(rownames(data))
  if (named) rownames(scores) <- rownames(data)
  scores
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

#' @rdname dt_fit_methods
#' @export
confint.dt_fit <- function(object, parm, level = 0.95, ...) {
  table <- tidy(object, conf.int = TRUE, conf.level = level)
  tails <- c((1 - level) / 2, (1 + level) / 2)
  bounds <- matrix(c(table$conf.low, table$conf.high), ncol = 2, dimnames = list(
    table$term, paste(format(100 * tails, trim = TRUE, digits = 3), "%")
  ))
  if (missing(parm)) return(bounds)
  absent <- if (is.character(parm)) setdiff(parm, table$term)
  if (length(absent)) stop_input("There is no term '", absent[1], "'. See tidy(fit)$term.")
  bounds[parm, , drop = FALSE]
}

#' @rdname dt_fit_methods
#' @export
vcov.dt_fit <- function(object, ...) {
  stop_input(
    "A fit keeps standard errors, not their covariances: see tidy(fit) and confint(fit). ",
    "vcov(dt_cfa(data, fit)) has those of the same structure as a model."
  )
}

#' @rdname dt_fit_methods
#' @export
anova.dt_fit <- function(object, ...) {
  if (length(list(...))) {
    stop_input(
      "Structures that were found on the same data are not tested against each other; see ",
      "fit$levels and fit$candidates. Models are: anova(dt_cfa(data, a), dt_cfa(data, b))."
    )
  }
  m <- as.list(object$fit_measures)
  if (is.na(m$pvalue)) stop_input(paste(c("There is no test.", in_r(object$fit_notes)), collapse = " "))
  table <- data.frame(
    Df = c(0, m$df), AIC = c(NA, stats::AIC(object)), BIC = c(NA, stats::BIC(object)),
    Chisq = c(0, m$chisq), `Pr(>Chisq)` = c(NA, m$pvalue),
    row.names = c("Saturated", "Structure"), check.names = FALSE
  )
  heading <- "Chi-square test of the structure (adjusted to mean and variance)\n"
  structure(table, heading = heading, class = c("anova", "data.frame"))
}

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
#' @param conf.int Add `conf.low` and `conf.high`?
#' @param conf.level Level of this interval.
#' @param data The data.
#' @param ... Not used.
#' @return A data frame with broom's names: `term`, `estimate`, `std.error`, `statistic`, `p.value`,
#'   `conf.low` and `conf.high` in `tidy()`; `nobs`, `logLik`, `AIC`, `BIC`, `df`, `p.value` in
#'   `glance()`. Of a model of [dt_cfa()] it has all columns that broom has for lavaan. `augment()` returns
#'   what `data` are: a tibble stays a tibble, row names stay.
#' @name dt_tidy
#' @examples
#' if (dt_available()) {
#'   data <- dt_dataset("holzinger_swineford_9")
#'   fit <- dt_fit(data)
#'   tidy(fit, conf.int = TRUE)
#'   glance(fit)
#'   head(augment(fit, data))
#'
#'   model <- dt_cfa(data, "visual =~ x1 + x2 + x3; speed =~ x7 + x8 + x9")
#'   tidy(model, conf.int = TRUE)
#'   glance(model)
#' }
NULL

tidy_part <- function(x, ...) x$tidy
glance_part <- function(x, ...) x$glance

#' @rdname dt_tidy
#' @method tidy dt_fit
#' @export
tidy.dt_fit <- function(x, conf.int = FALSE, conf.level = 0.95, ...) {
  table <- x$tidy
  z <- table$estimate / table$std.error
  reach <- normal_reach(conf.level, "conf.level") * table$std.error
  at <- match("std.error", names(table))
  tests <- data.frame(statistic = z, p.value = 2 * stats::pnorm(-abs(z)))
  bounds <- data.frame(conf.low = table$estimate - reach, conf.high = table$estimate + reach)
  others <- setdiff(names(table)[-seq_len(at)], names(bounds))
  parts <- list(table[seq_len(at)], tests, if (isTRUE(conf.int)) bounds, table[others])
  do.call(cbind, Filter(Negate(is.null), parts))
}

#' @rdname dt_tidy
#' @method tidy dt_cfa
#' @export
tidy.dt_cfa <- function(x, conf.int = FALSE, conf.level = 0.95, ...) {
  if (!isTRUE(conf.int)) return(x$tidy)
  bounds <- interval(x$parameters, conf.level, "conf.level")
  at <- match("p.value", names(x$tidy))
  cbind(x$tidy[seq_len(at)], conf.low = bounds$lower, conf.high = bounds$upper, x$tidy[-seq_len(at)])
}

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

#' @method tidy dt_invariance
#' @export
tidy.dt_invariance <- function(x, ...) x$table

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
  if (missing(data)) stop_input("`data` must be given: a fit does not keep the answers. augment(fit, data).")
  scores <- predict(x, data)
  if (!is.data.frame(data)) data <- as.data.frame(data)
  data[paste0(names(scores), "_score")] <- scores # a tibble stays one
  data
}

#' @rdname dt_tidy
#' @method augment dt_cfa
#' @export
augment.dt_cfa <- augment.dt_fit

#' @rdname dt_tidy
#' @method augment dt_efa
#' @export
augment.dt_efa <- augment.dt_fit

#' Hand a structure to other packages
#'
#' `as_lavaan()` writes the measurement model, or a model of two levels, in lavaan's syntax,
#' `as_keys()` a scoring key as psych takes it, items with negative loadings with a minus.
#'
#' The first item of a factor is lavaan's marker, so one that loads positively is written first: the
#' factor then points the same way here and there. lavaan cannot read every name. Those that R would
#' not accept are changed by [make.names()] with `unique = TRUE`, and a factor with the name of an
#' item gets a number; comments in the text say which name stands for what. With `data` its columns
#' are renamed alike.
#'
#' @param x A result of [dt_fit()], a structure of [dt_structure()], or a model of [dt_efa()] (loadings
#'   of at least .3) or [dt_cfa()].
#' @param model "simple": the factors of the fit. With the two levels of a fit that stand out, see
#'   [dt_level()]: "higher_order", factors of the broad level above those of the fine one (a comment
#'   says so if that restricts nothing); "bifactor", every item on its broad and its fine factor,
#'   uncorrelated with each other. These two ask Python.
#' @param data A data frame or matrix with the items among its columns; it may stand in second place.
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
#'     given <- as_lavaan(fit, data = items)
#'     lavaan::cfa(given$model, given$data)
#'     lavaan::cfa(as_lavaan(fit, "higher_order"), items)
#'   }
#' }
as_lavaan <- function(x, model = "simple", data = NULL) {
  if (is.null(data) && (is.data.frame(model) || is.matrix(model))) {
    data <- model
    model <- "simple"
  }
  if (!identical(model, "simple")) return(two_levels(x, model, data))
  x <- given_structure(x)
  names <- lavaan_names(x)
  text <- paste(c(name_comments(names), lavaan_lines(x, names)), collapse = "\n")
  if (is.null(data)) text else list(model = text, data = lavaan_data(x$items, names, data))
}

two_levels <- function(x, model, data) {
  if (!inherits(x, "dt_fit")) {
    stop_input("A structure has one level, and `model` asks for two. Give a result of dt_fit().")
  }
  text <- ask("to_lavaan", list(state = x$state, model = model), call = sys.call(-1))
  if (is.null(data)) return(text)
  items <- x$structure$items
  used <- stats::setNames(items, items)
  for (line in grep("^# \\S+ is \"", strsplit(text, "\n")[[1]], value = TRUE)) {
    at <- match(sub("^# \\S+ is ", "", line), said_names(items))
    if (!is.na(at)) used[at] <- sub("^# (\\S+) is .*", "\\1", line)
  }
  list(model = text, data = lavaan_data(items, used, data))
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
  paste0("# ", changed, " is ", said_names(names(changed)))
}

said_names <- function(names) {
  escapes <- c("\\" = "\\\\", "\"" = "\\\"", "\n" = "\\n", "\r" = "\\r", "\t" = "\\t")
  for (mark in names(escapes)) names <- gsub(mark, escapes[[mark]], names, fixed = TRUE)
  paste0("\"", names, "\"")
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
  given_structure(x)$keys
}

given_structure <- function(x) {
  if (inherits(x, c("dt_fit", "dt_simulation", "dt_survey_design"))) return(x$structure)
  if (inherits(x, c("dt_structure", "dt_efa", "dt_cfa"))) return(dt_structure(x))
  stop_input("`x` must be a fit or a structure; got ", class(x)[1], ".")
}
