#' Plot a fit
#'
#' @param x A result of [dt_fit()].
#' @param type "loadings": the loadings as a heat map; "dependence": the dependence of the items,
#'   ordered by factor; "barcode": the thresholds each factor is seen at.
#' @param ... Passed on to the plotting functions.
#' @return `x`, invisibly.
#' @export
#' @examples
#' if (dt_available()) plot(dt_fit(dt_dataset("holzinger_swineford_9")))
plot.dt_fit <- function(x, type = c("loadings", "dependence", "barcode"), ...) {
  switch(match.arg(type),
    loadings = heat(t(x$loadings[rev(seq_len(nrow(x$loadings))), , drop = FALSE]), ...),
    dependence = plot_dependence(x, ...),
    barcode = plot_barcode(x$factors, ...)
  )
  invisible(x)
}

# Blue for negative, red for positive: told apart by all kinds of eyes, and by depth in grey print.
heat <- function(values, ...) {
  colours <- grDevices::hcl.colors(41, "Blue-Red 3")
  room <- function(names) 1.5 + 0.55 * max(nchar(names))
  old <- graphics::par(mar = c(room(rownames(values)), room(colnames(values)), 2, 1))
  on.exit(graphics::par(old))
  graphics::image(
    seq_len(nrow(values)), seq_len(ncol(values)), values, zlim = c(-1, 1), col = colours,
    axes = FALSE, xlab = "", ylab = "", ...
  )
  graphics::axis(1, seq_len(nrow(values)), rownames(values), las = 2, tick = FALSE)
  graphics::axis(2, seq_len(ncol(values)), colnames(values), las = 2, tick = FALSE)
}

plot_dependence <- function(x, ...) {
  first <- apply(abs(x$loadings), 1, function(l) if (any(l > 0)) which.max(l) else ncol(x$loadings) + 1)
  order <- order(first)
  values <- x$dependence$values[order, order]
  heat(values[, rev(seq_len(ncol(values)))], ...)
}

plot_barcode <- function(factors, ...) {
  rows <- rev(seq_len(nrow(factors)))
  graphics::plot(
    NULL, xlim = c(0, 1), ylim = c(0.5, nrow(factors) + 0.5), yaxt = "n", xlab = "threshold",
    ylab = "", ...
  )
  graphics::segments(factors$from, rows, factors$to, rows, lwd = 6, col = "#0072B2", lend = 1)
  graphics::axis(2, rows, factors$factor, las = 1)
}

#' Plot a fit with ggplot2
#'
#' @param object A result of [dt_fit()].
#' @param ... Not used.
#' @return A plot of class `ggplot`: the loadings.
#' @examples
#' if (dt_available() && requireNamespace("ggplot2", quietly = TRUE)) {
#'   ggplot2::autoplot(dt_fit(dt_dataset("holzinger_swineford_9")))
#' }
#' @exportS3Method ggplot2::autoplot
autoplot.dt_fit <- function(object, ...) {
  long <- object$tidy[object$tidy$op == "=~", ]
  long$item <- factor(long$rhs, levels = rev(rownames(object$loadings)))
  ggplot2::ggplot(long, ggplot2::aes(x = .data$estimate, y = .data$item)) +
    ggplot2::geom_vline(xintercept = 0, colour = "grey60") +
    ggplot2::geom_point(colour = "#0072B2") +
    ggplot2::facet_wrap(~lhs, nrow = 1) +
    ggplot2::labs(x = "loading", y = NULL)
}
