#' Draw data from a factor model that is known
#'
#' Use it to see what a method recovers when the truth is known, to plan a study, or to repeat the
#' simulations of Kim and Zhou. Every item is a sum of curves of its factors, plus noise.
#'
#' @param design "v_structure" (Z1 and Z2 act on Z3), "chain" (Z1 on Z2 on Z3 on Z4),
#'   "double_mediation" (Z1 on Z2 and Z3, both on Z4); "clusters": `n_factors` factors that all
#'   correlate at `factor_correlation`; "high_dimensional": as "clusters", with one factor for
#'   every ten people.
#' @param n Number of people.
#' @param maps Curves of the items: "paper" (the ten of the paper in turn), "linear",
#'   "non_monotone", "one_in_five" (every fifth item of a factor has a curve that rank correlations
#'   cannot see); or names of curves to take in turn, such as `c("g1", "g3")`.
#' @param snr Signal-to-noise ratio: variance of the signal over variance of the noise.
#' @param items_per_factor Items of each factor; by default 5, in "high_dimensional" 15.
#' @param n_factors Number of factors, for "clusters" only.
#' @param factor_correlation Correlation of every two factors in "clusters" and "high_dimensional".
#' @param path_coefficient Coefficient of each arrow in the first three designs.
#' @param violating Share of the factors that have no item of their own.
#' @param second_parent Of those factors, "own": each item draws its own second factor; "shared":
#'   all items of a factor have the same.
#' @param cross_loadings Number of further items with a second factor.
#' @param latent Distribution of the factors: "gaussian", "t5", "skewed", "uniform" or "bimodal".
#' @param levels Points of the answer scale; `NULL` for continuous answers.
#' @param seed Whole number, for the same data again; `NULL` for a fresh one, which the result
#'   tells. `set.seed()` has no effect.
#' @return An object of class `dt_simulation`: a list with `data` (the answers), `latents` (the
#'   factors of each person), `structure` (the truth), `factor_correlations`, `maps`,
#'   `noise_variances`, `design` and `seed`.
#' @export
#' @examples
#' if (dt_available()) {
#'   drawn <- dt_simulate("clusters", n = 500, n_factors = 3, levels = 5, seed = 1)
#'   head(drawn$data)
#'   dt_compare(dt_fit(drawn$data), drawn)$f1
#' }
dt_simulate <- function(design = "v_structure", n = 5000, maps = "paper", snr = 4,
                        items_per_factor = NULL, n_factors = NULL, factor_correlation = 0,
                        path_coefficient = 0.5, violating = 0, second_parent = "own",
                        cross_loadings = 0, latent = "gaussian", levels = NULL, seed = NULL) {
  call <- match.call()
  arguments <- list(
    design = design, n = n, maps = maps, snr = snr, items_per_factor = items_per_factor,
    n_factors = n_factors, factor_correlation = factor_correlation,
    path_coefficient = path_coefficient, violating = violating, second_parent = second_parent,
    cross_loadings = cross_loadings, latent = latent, levels = levels, seed = seed
  )
  as_result(ask("simulate", arguments, call = call), call)
}
