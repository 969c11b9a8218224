#' Certify factors, with one error rate for all statements
#'
#' A clique of items is certified if in the population any two of its items depend on each other
#' more than its unique member depends on any item outside. Then a threshold exists at which the items
#' are an independent maximal clique, which is what the method calls a factor. All certificates together
#' are right with probability 1 - `error`, whatever the data suggested.
#'
#' What is certain is the dependence of the population. That a certified clique is the set of
#' children of a latent factor follows if a threshold between its ends separates pairs with a common
#' factor from others, and every factor has a unique child.
#'
#' A second statement, with its own error rate of the same size, is a lower bound on the number of
#' factors: so many are needed for a linear factor model of the normal variables behind the items, whatever the
#' loadings. Small factors count, such as two items of the same wording.
#'
#' @param x Answers: a data frame or matrix, people in rows; or a matrix of Pearson, Spearman or
#'   Kendall correlations made by [dt_dependence_matrix()] with its number of people, which are then
#'   taken to be normal.
#' @param error Probability of any false certificate, at most .2.
#' @param structure Factors to assess: a result of [dt_fit()], or anything [dt_structure()]
#'   takes; `NULL` for none. A fit has its measure and its handling of missing answers, too.
#' @param measure "pearson", "spearman", "kendall", "polychoric", "tetrachoric" or "mixed"; `NULL`
#'   for Spearman, or the measure of the fit.
#' @param min_children Smallest clique to look for, at least 2.
#' @param guarantee Go by an inequality that holds for every number of people instead of estimated
#'   errors? For items without ties; it takes several times the people.
#' @param missing As in [dt_dependence()].
#' @param n_draws Multiplier draws for the band.
#' @param n_splits How often people are split in halves for the lower bound on the number of
#'   factors; 0 for no bound. There is none, either, if the answers of too many pairs of ratings
#'   hardly overlap.
#' @param seed Whole number; `NULL` for a fresh one. Certified cliques do not depend on it.
#' @param progress Show a bar?
#' @return An object of class `dt_certificate`: a list with data frames `cliques` (the confidence
#'   barcode: items, whether certified, the smallest error at which they would be, unique members,
#'   and the ends of the bar with their band) and `factors` (verdicts on `structure`), `separated`
#'   (items of which no two measure the same single factor), `band` (one row per pair of items: a
#'   simultaneous band for the values of the measure), `at_least` (a lower bound on the number of
#'   factors) and `levels` (one row per number of factors: is it rejected that so few are enough;
#'   with a fit, how many factors of that level of its tree are certified, open and refuted, and
#'   whether nothing excludes the level), and more. `plot()` draws the bars,
#'   `plot(type = "levels")` the levels.
#' @export
#' @examples
#' if (dt_available()) {
#'   items <- dt_dataset("holzinger_swineford_9")
#'   found <- dt_certify(items, seed = 1)
#'   found$cliques[found$cliques$certified, c("items", "unique_members", "error")]
#'
#'   dt_certify(items, structure = dt_fit(items), seed = 1)$factors
#' }
dt_certify <- function(x, error = 0.05, structure = NULL, measure = NULL, min_children = 3, guarantee = FALSE,
                       missing = "pairwise", n_draws = 1000, n_splits = 3, seed = NULL,
                       progress = interactive()) {
  call <- match.call()
  if (inherits(x, "dt_fit")) {
    stop_input("A fit does not keep its answers. Call dt_certify(data, structure = fit).")
  }
  if (!is.null(structure) && !inherits(structure, "dt_fit")) structure <- structure_argument(structure, "structure", x)
  arguments <- list(
    data = x, error = error, structure = structure, measure = measure,
    min_children = min_children, guarantee = guarantee, missing = missing, n_draws = n_draws, n_splits = n_splits,
    seed = seed
  )
  as_result(ask("certify", arguments, progress, call), call)
}

#' @export
print.dt_certificate <- function(x, ...) print_text(x, ...)

#' @export
summary.dt_certificate <- function(object, ...) summary_text(object, ...)

#' @method tidy dt_certificate
#' @export
tidy.dt_certificate <- function(x, ...) tidy_part(x, ...)

#' @method glance dt_certificate
#' @export
glance.dt_certificate <- function(x, ...) glance_part(x, ...)

#' @rdname dt_plots
#' @exportS3Method ggplot2::autoplot
autoplot.dt_certificate <- function(object, type = c("bars", "levels"), max_bars = 20, ...) {
  switch(given_type(type, eval(formals(autoplot.dt_certificate)$type)),
    bars = plot_certificate(object$cliques, object$measure, max_bars),
    levels = plot_certified_levels(object$levels, object$error)
  )
}

#' @rdname dt_plots
#' @export
plot.dt_certificate <- function(x, ...) show_picture(x, ...)

# Bars between the thresholds of the sample; the band of both ends as thin lines.
plot_certificate <- function(cliques, measure, max_bars) {
  if (!nrow(cliques)) stop_input("There is no clique to draw.")
  bars <- utils::head(cliques[order(!cliques$certified), ], max_bars)
  bars$row <- rev(seq_len(nrow(bars)))
  kinds <- c("certified", "not certified")
  bars$kind <- factor(ifelse(bars$certified, kinds[1], kinds[2]), kinds)
  bars$factor <- ""
  ggplot2::ggplot(bars) +
    ggplot2::geom_segment(
      ggplot2::aes(
        x = .data$birth, xend = .data$death, y = .data$row, yend = .data$row,
        colour = .data$kind
      ),
      linewidth = 2.6
    ) +
    ggplot2::geom_linerange(
      ggplot2::aes(xmin = .data$birth_low, xmax = .data$birth_high, y = .data$row - 0.3),
      colour = ink[["red"]], linewidth = 0.4
    ) +
    ggplot2::geom_linerange(
      ggplot2::aes(xmin = .data$death_low, xmax = .data$death_high, y = .data$row + 0.3),
      colour = ink[["red"]], linewidth = 0.4
    ) +
    ggplot2::scale_colour_manual(
      name = NULL, values = stats::setNames(c(ink[["blue"]], "grey70"), kinds), drop = FALSE
    ) +
    ggplot2::scale_y_continuous(
      breaks = bars$row, labels = bar_labels(bars), expand = ggplot2::expansion(add = 0.8)
    ) +
    ggplot2::labs(x = threshold_axis(measure), y = NULL) +
    dt_theme() +
    ggplot2::theme(panel.grid.major.y = ggplot2::element_blank())
}

# Factors of each level of the tree by what is certain about them.
plot_certified_levels <- function(levels, error) {
  verdicts <- c("refuted", "open", "certified")
  if (!all(verdicts %in% names(levels))) {
    stop_input("There are no levels to draw. Call dt_certify(data, structure = fit) with a fit that has a tree.")
  }
  counts <- data.frame(
    n_factors = rep(levels$n_factors, length(verdicts)),
    verdict = factor(rep(verdicts, each = nrow(levels)), verdicts),
    count = unlist(levels[verdicts], use.names = FALSE)
  )
  possible <- levels[levels$possible, , drop = FALSE]
  colors <- stats::setNames(c(ink[["red"]], "grey70", ink[["blue"]]), verdicts)
  picture <- ggplot2::ggplot(counts, ggplot2::aes(x = .data$n_factors, y = .data$count))
  if (any(levels$rejected)) {
    few <- data.frame(from = 0.5, to = sum(levels$rejected) + 0.5)
    picture <- picture +
      ggplot2::geom_rect(
        ggplot2::aes(xmin = .data$from, xmax = .data$to, ymin = 0, ymax = Inf),
        data = few, inherit.aes = FALSE, fill = "grey90"
      )
  }
  picture +
    ggplot2::geom_col(ggplot2::aes(fill = .data$verdict), colour = "grey20", width = 0.7, linewidth = 0.3) +
    ggplot2::geom_text(
      ggplot2::aes(x = .data$n_factors, y = .data$n_factors), data = possible, label = "possible",
      vjust = -0.4, size = 2.8
    ) +
    ggplot2::scale_fill_manual(name = NULL, values = colors) +
    ggplot2::scale_x_continuous(breaks = levels$n_factors) +
    ggplot2::labs(
      x = "number of factors; shaded: more are needed", y = "factors of the level",
      subtitle = paste0("Levels of the tree, error at most ", 100 * error, " % per reason")
    ) +
    dt_theme()
}
