#' Pictures of results
#'
#' `autoplot()` makes a picture with ggplot2, `plot()` shows it. All is drawn from the object: a
#' result read with `readRDS()` needs no Python, except where the criteria along a path or the
#' curves of a linear fit are asked for. Colors can be told apart by all kinds of eyes, and gray
#' print by line types, shapes and lightness.
#'
#' Types of [dt_fit()], [dt_cfa()] and [dt_efa()]:
#' * "diagram": the path diagram, fit to print: factors as ellipses, items as boxes (attached ones
#'   dashed), arrows with loadings (cross-loadings dashed), regressions, and curved arrows with
#'   correlations. `x$diagram$size` is the width and height in inches that it needs for letters of
#'   full size: `ggsave("diagram.pdf", autoplot(x, size = c(8, 11)), width = 8, height = 11)`.
#' * "loadings": the loadings as a heat map, with their numbers.
#' * "residuals": the correlations that the model leaves, the largest named (not of [dt_efa()]).
#'
#' Types of [dt_fit()] and [dt_path()]:
#' * "path": number of factors, of loadings, and the criterion over the threshold of all factors;
#'   below, the thresholds at which each chosen factor is seen, or, if one threshold was chosen for
#'   all, that interval shaded.
#' * "barcode": the thresholds between which the longest-lived cliques are seen; those that the
#'   factors are read off in color.
#' * "dependence": strength of dependence as a heat map, ordered by factor with the factors boxed.
#'   On the color bar the middle of the thresholds at which each factor is seen. Of a path, ordered
#'   so that dependent items are neighbors. With less than 0.1 inch per item some names are left
#'   out.
#'
#' Types of [dt_fit()] only: "tree", items and factors from the fine level to one factor, joined at
#' what one factor fewer costs, the two levels that stand out marked; levels are not nested, so this
#' is the nested tree that follows them most closely; "margin", the dependence of pairs that share a factor and of pairs that
#' do not, with the gap or the overlap between them; "curves", mean answers by factor.
#'
#' Types of [dt_diagnose()]: "margin" as above; "factors", every factor's margin at its own
#' threshold. Types of [dt_stability()]: "items", how often an item belonged to a factor, the
#' structure of all people outlined; "n_factors"; "sizes", agreement by number of people.
#' [dt_invariance()]: change of CFI and RMSEA at each step; `$releases` lists what breaks one.
#' [dt_certify()]: "bars", the confidence barcode; "levels", of a fit that was asked about, how many
#' factors of each level are certified, open and refuted.
#' [dt_plan()]: the chance of error by number of people. [dt_parallel_analysis()]: eigenvalues
#' beside those of noise. [dt_describe()]: the answers to each item.
#'
#' @param object,x A result of dtstat.
#' @param type What to draw; see below.
#' @param cutoff For "diagram" and "loadings": smaller loadings are left out.
#' @param scores For "path": a result of [dt_path_scores()]. By default asked for if Python is
#'   there; `FALSE` leaves the criterion out.
#' @param max_bars For "barcode": cliques drawn.
#' @param items,factors For "curves": names of those to draw; all by default.
#' @param group For a model in groups: which one to draw; the first by default.
#' @param size For "diagram": width and height of the picture in inches, to which letters are fitted.
#' @param target For a plan: "factors", "graph", "fit" or "certified", see [dt_plan()].
#' @param ... Of `plot()`: arguments of `autoplot()`. For "diagram": `residuals = TRUE` draws residual
#'   variances, `texts = TRUE` writes what the items ask beside them, `stars = TRUE` marks significant
#'   values of a model; these ask Python, as does another `cutoff`. Else not used.
#' @return `autoplot()`: an object of class `ggplot`, to which anything of ggplot2 can be added;
#'   `plot()`: `x`, invisibly.
#' @name dt_plots
#' @examples
#' if (dt_available() && requireNamespace("ggplot2", quietly = TRUE)) {
#'   items <- dt_dataset("holzinger_swineford_9")
#'   fit <- dt_fit(items)
#'   plot(fit)
#'   plot(fit, "dependence")
#'   ggplot2::autoplot(fit, "path") + ggplot2::xlim(0, 1)
#'   plot(dt_diagnose(fit), "factors")
#' }
NULL

#' @rdname dt_plots
#' @exportS3Method ggplot2::autoplot
autoplot.dt_fit <- function(object,
                            type = c(
                              "diagram", "tree", "dependence", "path", "barcode", "margin",
                              "curves", "residuals", "loadings"
                            ),
                            cutoff = 0, scores = NULL, max_bars = 30, items = NULL,
                            factors = NULL, size = c(7, 7), ...) {
  x <- object
  switch(given_type(type, eval(formals(autoplot.dt_fit)$type)),
    diagram = plot_diagram(x, cutoff, 0, size = size, ...),
    tree = plot_tree(x$tree, x$levels, ncol(x$loadings)),
    dependence = plot_dependence(
      x$dependence, by_factor(x$loadings), x$structure$support, threshold_marks(x)
    ),
    path = plot_fit_path(x, scores),
    barcode = plot_barcode(x$barcode, x$dependence$measure, max_bars),
    margin = plot_margin(item_pairs(x$dependence, x$structure$support), x$dependence$measure),
    curves = plot_curves(dt_response_curves(x), x$loadings, items, factors),
    residuals = plot_residuals(x$residuals, by_factor(x$loadings)),
    loadings = plot_loadings(x$loadings, cutoff)
  )
}

plot_fit_path <- function(x, scores) {
  criterion <- x$arguments$criterion
  if (!isTRUE(criterion %in% c("aic", "bic"))) criterion <- "ebic"
  chosen <- chosen_interval(x)
  bars <- seen_factors(x)
  plot_path(
    x$path, x$dependence$measure, scores_to_draw(x, scores), criterion,
    identical(x$arguments$thresholds, "exact"), chosen,
    if (is.null(chosen) && nrow(bars)) bars
  )
}

scores_to_draw <- function(x, scores) {
  if (is.data.frame(scores)) return(scores)
  if (identical(scores, FALSE)) return(NULL)
  if (!is.null(scores)) {
    stop_input("`scores` must be a result of dt_path_scores(), FALSE or NULL.")
  }
  if (dt_available()) return(dt_path_scores(x))
  message("The criterion is left out: it needs Python. See dt_path_scores().")
  NULL
}

#' @rdname dt_plots
#' @exportS3Method ggplot2::autoplot
autoplot.dt_path <- function(object, type = c("path", "barcode", "dependence"), max_bars = 30,
                             ...) {
  x <- object
  measure <- x$dependence$measure
  switch(given_type(type, eval(formals(autoplot.dt_path)$type)),
    path = plot_path(x$steps, measure, exact = is.null(x$thresholds)),
    barcode = plot_barcode(x$barcode, measure, max_bars),
    dependence = plot_dependence(x$dependence, as_neighbors(x$dependence$values))
  )
}

# Dependent items side by side.
as_neighbors <- function(values) {
  if (nrow(values) < 3) return(seq_len(nrow(values)))
  stats::hclust(stats::as.dist(1 - abs(values)), "average")$order
}

#' @rdname dt_plots
#' @exportS3Method ggplot2::autoplot
autoplot.dt_diagnosis <- function(object, type = c("margin", "factors"), ...) {
  switch(given_type(type, eval(formals(autoplot.dt_diagnosis)$type)),
    margin = plot_margin(object$pairs, object$margin$measure),
    factors = plot_factor_margins(object$factors, object$margin$measure)
  )
}

#' @rdname dt_plots
#' @exportS3Method ggplot2::autoplot
autoplot.dt_stability <- function(object, type = c("items", "n_factors", "sizes"), ...) {
  switch(given_type(type, eval(formals(autoplot.dt_stability)$type)),
    items = plot_memberships(object$memberships, object$tidy),
    n_factors = plot_factor_counts(object$n_factors, ncol(object$memberships)),
    sizes = plot_sizes(object$sizes)
  )
}

#' @rdname dt_plots
#' @exportS3Method ggplot2::autoplot
autoplot.dt_plan <- function(object, target = "factors", ...) {
  targets <- object$table$target
  if (!(is.character(target) && length(target) == 1 && target %in% targets)) {
    stop_input("`target` must be one of ", paste0("\"", targets, "\"", collapse = ", "), ".")
  }
  if (!target %in% object$curves$target) {
    stop_input("This plan has no curve of \"", target, "\": it was made without simulation.")
  }
  plot_plan(object, target)
}

#' @rdname dt_plots
#' @exportS3Method ggplot2::autoplot
autoplot.dt_parallel_analysis <- function(object, ...) plot_parallel(object)

#' @rdname dt_plots
#' @exportS3Method ggplot2::autoplot
autoplot.dt_efa <- function(object, type = c("loadings", "diagram"), cutoff = 0.3, size = c(7, 7), ...) {
  switch(given_type(type, eval(formals(autoplot.dt_efa)$type)),
    loadings = plot_loadings(object$loadings, cutoff),
    diagram = plot_diagram(object, cutoff, 0.3, size = size, ...)
  )
}

#' @rdname dt_plots
#' @exportS3Method ggplot2::autoplot
autoplot.dt_cfa <- function(object, type = c("diagram", "loadings", "residuals"), cutoff = 0,
                            group = NULL, size = c(7, 7), ...) {
  if (length(object$groups)) {
    object <- of_group(object, group)
    group <- object$group
  }
  switch(given_type(type, eval(formals(autoplot.dt_cfa)$type)),
    diagram = plot_diagram(object, cutoff, 0, group, size, ...),
    loadings = plot_loadings(object$loadings, cutoff),
    residuals = plot_residuals(object$residuals, by_factor(object$loadings))
  )
}

#' @rdname dt_plots
#' @exportS3Method ggplot2::autoplot
autoplot.dt_invariance <- function(object, ...) plot_invariance(object$table)

#' @rdname dt_plots
#' @exportS3Method ggplot2::autoplot
autoplot.dt_description <- function(object, ...) plot_answers(object$items$item, object$bars)

show_picture <- function(x, ...) {
  need_ggplot2()
  print(ggplot2::autoplot(x, ...))
  invisible(x)
}

#' @rdname dt_plots
#' @export
plot.dt_fit <- show_picture

#' @rdname dt_plots
#' @export
plot.dt_path <- show_picture

#' @rdname dt_plots
#' @export
plot.dt_diagnosis <- show_picture

#' @rdname dt_plots
#' @export
plot.dt_stability <- show_picture

#' @rdname dt_plots
#' @export
plot.dt_plan <- show_picture

#' @rdname dt_plots
#' @export
plot.dt_parallel_analysis <- show_picture

#' @rdname dt_plots
#' @export
plot.dt_efa <- show_picture

#' @rdname dt_plots
#' @export
plot.dt_cfa <- show_picture

#' @rdname dt_plots
#' @export
plot.dt_invariance <- show_picture

#' @rdname dt_plots
#' @export
plot.dt_description <- show_picture
