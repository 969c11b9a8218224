#' Tables of a fitted model
#'
#' What lavaan's users look for under other names: `dt_parameters()` is `parameterEstimates()`,
#' `dt_standardized()` is `standardizedSolution()`, `dt_fit_measures()` is `fitMeasures()` and
#' `dt_modification_indices()` is `modindices()`. [dt_reliability()] has what
#' `semTools::reliability()` is asked for.
#'
#' @param fit A result of [dt_cfa()] or [dt_sem()].
#' @param standardized Add the columns `std.lv` (latent variables standardized) and `std.all` (all
#'   variables)?
#' @param level Level of the confidence intervals.
#' @param which Names of measures, as in `c("chisq", "df", "cfi")`; all if omitted.
#' @param sort Put the largest first? Otherwise loadings stand before covariances. For
#'   `dt_factor_table()`: group items by their strongest factor, the strongest first?
#' @param minimum Smallest index to list; 3.84 is the 5 % critical value of one added parameter.
#' @param cutoff Loadings of smaller absolute value are left blank in print, and `NA` in the table.
#' @param group Which group to show, if there are several; the first by default.
#' @return Data frames; with groups they have a column `group`.
#'
#'   `dt_parameters()`: one row per parameter, fixed ones included (with `se` 0), then the defined
#'   ones: `lhs`, `op`, `rhs`, `label`, `est`, `se`, `z`, `pvalue`, `ci.lower`, `ci.upper`.
#'
#'   `dt_standardized()`: all variables standardized, with standard errors of their own (delta
#'   method): `lhs`, `op`, `rhs`, `est.std`, `se`, `z`, `pvalue`, `ci.lower`, `ci.upper`.
#'
#'   `dt_fit_measures()`: a vector, by lavaan's names.
#'
#'   `dt_modification_indices()`: by how much chi-square would fall if a parameter were added, `mi`;
#'   what its value would be, `epc`; standardized, `sepc.lv` and `sepc.all`. It asks Python.
#'
#'   `dt_htmt()`: heterotrait-monotrait ratios of the factors, a matrix (with groups a list of them);
#'   near 1 two factors are hardly distinct. It asks Python.
#'
#'   `dt_factor_table()`: loadings the way psychologists read them, an object that prints, with
#'   `loadings` (and `h2`, `u2`, complexity `com`), `variance` and `factor_correlations`. It asks Python.
#' @export
#' @examples
#' if (dt_available()) {
#'   model <- "visual =~ x1 + x2 + x3; textual =~ x4 + x5 + x6; speed =~ x7 + x8 + x9"
#'   fit <- dt_cfa(dt_dataset("holzinger_swineford_9"), model)
#'   head(dt_parameters(fit, standardized = TRUE))
#'   dt_fit_measures(fit, c("chisq", "df", "cfi", "rmsea"))
#'   dt_modification_indices(fit, minimum = 10)
#'   dt_reliability(fit)
#'   dt_factor_table(fit, cutoff = 0.4)
#' }
dt_parameters <- function(fit, standardized = FALSE, level = 0.95) {
  must_be(fit, "dt_cfa", "fit", "dt_cfa() or dt_sem()")
  table <- fit$parameters
  table[c("ci.lower", "ci.upper")] <- interval(table, level)
  if (isTRUE(standardized)) table else table[setdiff(names(table), c("std.lv", "std.all"))]
}

# Bounds that the table has, or of another level the normal ones.
interval <- function(table, level, argument = "level") {
  reach <- normal_reach(level, argument) * table$se
  if (level == 0.95) return(list(lower = table$ci.lower, upper = table$ci.upper))
  est <- if (is.null(table$est)) table$est.std else table$est
  list(lower = est - reach, upper = est + reach)
}

# How many standard errors a normal interval reaches to either side.
normal_reach <- function(level, argument) {
  if (!(is.numeric(level) && length(level) == 1 && isTRUE(level > 0 && level < 1))) {
    stop_input("`", argument, "` must be a number between 0 and 1, such as 0.95.")
  }
  stats::qnorm((1 + level) / 2)
}

#' @rdname dt_parameters
#' @export
dt_standardized <- function(fit, level = 0.95) {
  must_be(fit, "dt_cfa", "fit", "dt_cfa() or dt_sem()")
  table <- fit$standardized
  table[c("ci.lower", "ci.upper")] <- interval(table, level)
  table
}

#' @rdname dt_parameters
#' @export
dt_fit_measures <- function(fit, which = NULL) {
  must_be(fit, "dt_cfa", "fit", "dt_cfa() or dt_sem()")
  known <- fit$fit_measures
  if (is.null(which)) return(known)
  absent <- setdiff(tolower(which), names(known))
  if (length(absent)) {
    close <- names(known)[which.min(utils::adist(absent[1], names(known)))]
    stop_input("This fit has no measure '", absent[1], "'. Did you mean '", close, "'?")
  }
  known[tolower(which)]
}

# lavaan's own function, for those who have it loaded.
#' @exportS3Method lavaan::fitMeasures
fitMeasures.dt_cfa <- function(object, fit.measures = "all", ...) {
  dt_fit_measures(object, if (!identical(fit.measures, "all")) fit.measures)
}

#' @rdname dt_parameters
#' @export
dt_modification_indices <- function(fit, sort = TRUE, minimum = 0) {
  must_be(fit, "dt_cfa", "fit", "dt_cfa() or dt_sem()")
  arguments <- list(state = fit$state, sort = sort, minimum = minimum)
  without_nan(ask("modification_indices", arguments, call = match.call()))
}

#' @rdname dt_parameters
#' @export
dt_htmt <- function(fit) {
  must_be(fit, "dt_cfa", "fit", "dt_cfa() or dt_sem()")
  without_nan(ask("htmt", list(state = fit$state), call = match.call()))
}

#' @rdname dt_parameters
#' @export
dt_factor_table <- function(fit, cutoff = 0.3, sort = TRUE, group = NULL) {
  must_be(fit, "dt_cfa", "fit", "dt_cfa() or dt_sem()")
  arguments <- list(state = fit$state, cutoff = cutoff, sort = sort, group = group)
  as_result(ask("factor_table", arguments, call = match.call()))
}
