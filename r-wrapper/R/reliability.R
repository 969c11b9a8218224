#' Reliability of scales
#'
#' Alpha and omega with 95 % intervals that need no normal answers, omega hierarchical, and what each
#' item does for its scale. "Ordinal" values are those of the variables behind the ratings, not of
#' sums of answers.
#'
#' @param x Answers, a data frame or matrix with the items among its columns; or a result of
#'   [dt_fit()], whose factors are the scales; or of [dt_cfa()] or [dt_sem()].
#' @param keys Which items make up which scale: a list such as `list(A = c("-A1", "A2", "A3"))`, in
#'   which a minus marks items to reverse, or anything else that [dt_structure()] takes. Not needed
#'   with a fit.
#' @param answers The answers, if `x` is a result of [dt_fit()]. Without them, only values for standardized
#'   items are given, without intervals.
#' @return An object of class `dt_reliability`, a list with the data frames `factors` (alpha and omega
#'   with intervals, `std_alpha`, `mean_r`, `ordinal_alpha`, `ordinal_omega`), `items` (`r_drop`, the
#'   correlation with the sum of the other items; `alpha_drop`, alpha without the item; and more) and
#'   `general` (`omega_h` of the sum of all items, with three factors or more; `notes` say why it is
#'   empty). For a result of [dt_cfa()] or [dt_sem()] a data frame: alpha, omega, average variance extracted of each factor
#'   and more, as `semTools::reliability()`.
#' @export
#' @examples
#' if (dt_available()) {
#'   items <- dt_dataset("holzinger_swineford_9")
#'   dt_reliability(items, list(textual = c("x4", "x5", "x6"), speed = c("x7", "x8", "x9")))
#' }
dt_reliability <- function(x, keys = NULL, answers = NULL) {
  call <- match.call()
  if (inherits(x, "dt_cfa")) {
    return(without_nan(ask("model_reliability", list(state = x$state), call = call)))
  }
  if (inherits(x, "dt_fit")) {
    if (is.null(answers)) answers <- keys # in the second place
    found <- ask("fit_reliability", list(state = x$state, data = answers), call = call)
  } else {
    if (is.null(keys)) {
      stop_input("`keys` must say which items make up which scale, as in list(A = c(\"A1\", \"-A2\")).")
    }
    found <- ask("reliability", list(data = x, keys = structure_argument(keys, "keys", x)), call = call)
  }
  structure(without_nan(found), class = "dt_reliability")
}

#' @export
print.dt_reliability <- print_text

#' @export
summary.dt_reliability <- function(object, ...) object

#' @method tidy dt_reliability
#' @export
tidy.dt_reliability <- function(x, ...) x$factors

#' Plausible values
#'
#' Draws of everybody's position on every factor from what the answers leave open. Unlike scores they
#' vary and correlate as the factors do. For regressions on covariates use [dt_regress()], which
#' needs no draws.
#'
#' @param fit A result of [dt_fit()].
#' @param data Answers, a data frame or matrix with the items among its columns.
#' @param draws How many.
#' @param seed A whole number, to repeat the draws.
#' @return A data frame with one row per draw and row of the data: `draw`, then the factors.
#' @seealso `predict(fit, data, method = "eap", sd = TRUE)` for expected positions and their standard
#'   deviations.
#' @export
#' @examples
#' if (dt_available()) {
#'   items <- dt_dataset("holzinger_swineford_9")
#'   head(dt_plausible_values(dt_fit(items), items, seed = 1))
#' }
dt_plausible_values <- function(fit, data, draws = 5, seed = NULL) {
  must_be(fit, "dt_fit", "fit", "dt_fit()")
  arguments <- list(state = fit$state, data = data, draws = draws, seed = seed)
  without_nan(ask("plausible_values", arguments, call = match.call()))
}
