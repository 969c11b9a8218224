# Pictures of items and factors: of all that has loadings or a matrix of dependence.

# Loadings with their numbers; those below the cutoff are left blank.
plot_loadings <- function(loadings, cutoff = 0) {
  if (!ncol(loadings)) stop_input("There is no factor, so there are no loadings to draw.")
  loadings <- loadings[by_factor(loadings), , drop = FALSE]
  top <- max(1, abs(loadings))
  long <- cells(loadings)
  tiles(loadings, signed_scale("loading", top), "top") +
    cell_texts(long, long$value != 0 & abs(long$value) >= cutoff, 0.75 * top)
}

# Strength of dependence, its factors boxed and their thresholds marked on the color bar.
plot_dependence <- function(dependence, order, support = NULL, marks = NULL) {
  values <- abs(dependence$values[order, order])
  diag(values) <- NA
  top <- max(0.1, ceiling(10 * max(values, na.rm = TRUE)) / 10)
  marks <- with_ends(marks, top)
  fill <- amount_scale(
    paste0("|", dependence$measure, "|"), top, breaks = marks$at, labels = marks$label
  )
  picture <- tiles(values, fill) + square(nrow(values))
  if (is.null(support) || !any(support)) return(picture)
  boxes <- factor_boxes(support[order, , drop = FALSE])
  picture + ggplot2::geom_rect(
    ggplot2::aes(xmin = .data$left, xmax = .data$right, ymin = .data$low, ymax = .data$high),
    boxes, inherit.aes = FALSE, fill = NA, colour = "black", linewidth = 0.5
  )
}

# The ends of the color bar are named where no threshold is near.
with_ends <- function(marks, top) {
  ends <- data.frame(at = c(0, top), label = c("0", if (top == 1) "1" else short(top, 1)))
  near <- vapply(ends$at, function(end) any(abs(marks$at - end) < 0.06 * top), NA)
  rbind(ends[!near, ], marks)
}

# Every run of neighbors that share a factor against every other run of the same factor.
factor_boxes <- function(support) {
  p <- nrow(support)
  boxes <- lapply(which(colSums(support) > 0), function(k) {
    runs <- rle(support[, k])
    last <- cumsum(runs$lengths)[runs$values]
    first <- last - runs$lengths[runs$values] + 1L
    pairs <- expand.grid(row = seq_along(last), column = seq_along(last))
    data.frame(
      factor = colnames(support)[k],
      left = first[pairs$column] - 0.5, right = last[pairs$column] + 0.5,
      low = p - last[pairs$row] + 0.5, high = p - first[pairs$row] + 1.5
    )
  })
  do.call(rbind, boxes)
}

# What the model leaves: signs on what is large, for gray print, and the largest named.
plot_residuals <- function(residuals, order, named = 3) {
  values <- residuals[order, order]
  diag(values) <- NA
  top <- max(0.1, ceiling(10 * max(abs(values), na.rm = TRUE)) / 10)
  long <- cells(values)
  long <- long[!is.na(long$value) & abs(long$value) >= 0.1, ]
  long$label <- ifelse(long$value < 0, "-", "+")
  tiles(values, signed_scale("residual", top), subtitle = largest_residuals(values, named)) +
    square(nrow(values)) +
    ggplot2::geom_text(
      ggplot2::aes(label = .data$label), data = long,
      size = label_size(nrow(values)) / ggplot2::.pt
    )
}

largest_residuals <- function(values, named) {
  values[lower.tri(values, diag = TRUE)] <- NA
  largest <- utils::head(order(-abs(values), na.last = NA), named)
  at <- arrayInd(largest, dim(values))
  pairs <- paste(rownames(values)[at[, 1]], "and", colnames(values)[at[, 2]])
  paste(c("largest:", paste(pairs, short(values[largest]))), collapse = "\n")
}

# Item by item how answers rise with the factor, with a band where one is known.
plot_curves <- function(curves, loadings, items = NULL, factors = NULL) {
  ordered <- rownames(loadings)[by_factor(loadings)]
  curves <- chosen_curves(curves, items, factors)
  curves$item <- factor(curves$item, levels = ordered[ordered %in% curves$item])
  curves$factor <- factor(curves$factor, levels = colnames(loadings))
  band <- curves[!is.na(curves$lower), ]
  about <- ggplot2::aes(x = .data$z, y = .data$value)
  columns <- if (max(nchar(levels(curves$item))) > 8) 4 else 6
  columns <- min(columns, ceiling(sqrt(nlevels(curves$item))))
  picture <- ggplot2::ggplot(curves, about)
  if (nrow(band)) {
    picture <- picture + ggplot2::geom_ribbon(
      ggplot2::aes(ymin = .data$lower, ymax = .data$upper, group = .data$factor), band,
      fill = "grey70", alpha = 0.5
    )
  }
  picture +
    ggplot2::geom_line(
      ggplot2::aes(colour = .data$factor, linetype = .data$factor), linewidth = 0.7
    ) +
    ggplot2::facet_wrap(~item, scales = "free_y", ncol = columns) +
    ggplot2::scale_colour_manual(name = NULL, values = factor_colours(colnames(loadings))) +
    ggplot2::scale_linetype_manual(name = NULL, values = factor_lines(colnames(loadings))) +
    ggplot2::scale_y_continuous(breaks = function(limits) pretty(limits, 3)) +
    ggplot2::labs(x = "value of the factor", y = "mean answer") +
    dt_theme() +
    ggplot2::theme(
      strip.clip = "off",
      strip.text = ggplot2::element_text(size = 7, margin = ggplot2::margin(1, 0, 1, 0)),
      axis.text = ggplot2::element_text(size = 7)
    )
}

chosen_curves <- function(curves, items, factors) {
  for (what in c("item", "factor")) {
    asked <- if (what == "item") items else factors
    if (is.null(asked)) next
    absent <- setdiff(asked, curves[[what]])
    if (length(absent)) stop_input("There is no curve of the ", what, " '", absent[1], "'.")
    curves <- curves[curves[[what]] %in% asked, ]
  }
  curves
}

# What each step of invariance costs in fit; a fall of CFI by .01 is notable (Cheung & Rensvold 2002).
plot_invariance <- function(table) {
  steps <- table$step[-1]
  long <- data.frame(
    step = factor(rep(steps, 2), levels = rev(steps)),
    measure = rep(c("CFI", "RMSEA"), each = length(steps)),
    change = c(table$delta_cfi[-1], table$delta_rmsea[-1])
  )
  ggplot2::ggplot(long, ggplot2::aes(x = .data$change, y = .data$step)) +
    ggplot2::geom_vline(xintercept = 0, colour = "grey40") +
    ggplot2::geom_vline(xintercept = -0.01, colour = ink[["blue"]], linetype = "22") +
    ggplot2::geom_point(ggplot2::aes(colour = .data$measure, shape = .data$measure), size = 2.5) +
    ggplot2::scale_colour_manual(name = NULL, values = c(CFI = ink[["blue"]], RMSEA = ink[["red"]])) +
    ggplot2::scale_shape_manual(name = NULL, values = c(CFI = 16, RMSEA = 1)) +
    ggplot2::labs(
      x = "change from the step before", y = NULL, subtitle = "Dashed: CFI falls by .01."
    ) +
    dt_theme()
}
