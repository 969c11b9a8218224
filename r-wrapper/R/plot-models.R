# Pictures of items and factors: of all that has loadings or a matrix of dependence.

# Items in one column, factors in another at the mean height of their items.
plot_diagram <- function(loadings, attached = character(), cutoff = 0) {
  loadings <- loadings[by_factor(loadings), , drop = FALSE]
  arrows <- loading_lines(loadings, cutoff)
  items <- data.frame(
    item = rownames(loadings), y = rev(seq_len(nrow(loadings))),
    state = item_states(loadings, arrows, attached)
  )
  heights <- factor_heights(loadings, items$y)
  arrows$from <- heights[arrows$factor]
  arrows$to <- items$y[match(arrows$item, items$item)]
  factors <- data.frame(factor = names(heights), y = unname(heights))
  ggplot2::ggplot() + diagram_lines(arrows) + diagram_points(items, factors, arrows$kind) +
    diagram_axes(items, factors) + dt_theme() + ggplot2::theme(
      panel.grid = ggplot2::element_blank(), axis.text.x = ggplot2::element_blank(),
      axis.text.y.left = ggplot2::element_text(size = 9, face = "bold", colour = "black"),
      axis.text.y.right = ggplot2::element_text(size = 8, colour = "black"),
      legend.box = "vertical", legend.spacing.y = grid_unit(0, "pt")
    )
}

# One row per loading; all but an item's largest are cross-loadings.
loading_lines <- function(loadings, cutoff) {
  at <- which(loadings != 0 & abs(loadings) >= cutoff, arr.ind = TRUE)
  value <- loadings[at]
  cross <- at[, "col"] != main_factor(loadings)[at[, "row"]]
  kind <- ifelse(cross, ifelse(value < 0, 4L, 3L), ifelse(value < 0, 2L, 1L))
  data.frame(
    item = rownames(loadings)[at[, "row"]], factor = colnames(loadings)[at[, "col"]],
    loading = value, size = abs(value), kind = factor(line_kinds[kind], levels = line_kinds)
  )
}

line_kinds <- c("positive", "negative", "cross-loading", "negative cross-loading")

item_states <- function(loadings, arrows, attached) {
  items <- rownames(loadings)
  state <- ifelse(items %in% attached, "attached", "item")
  state[!items %in% arrows$item] <- "no factor"
  factor(state, levels = c("item", "attached", "no factor"))
}

# Circles that would touch are moved apart.
factor_heights <- function(loadings, y, apart = 1.5) {
  belongs <- loadings != 0
  shares <- abs(loadings) == apply(abs(loadings), 1, max, 0)
  # An item of several factors counts for the one it loads on most, if that leaves any.
  own <- belongs & shares
  own[, colSums(own) == 0] <- belongs[, colSums(own) == 0]
  heights <- colSums(own * y) / pmax(colSums(own), 1)
  high_first <- order(-heights)
  for (k in seq_along(high_first)[-1]) {
    above <- heights[high_first[k - 1]]
    heights[high_first[k]] <- min(heights[high_first[k]], above - apart)
  }
  heights
}

diagram_lines <- function(arrows) {
  lines <- ggplot2::aes(
    x = 0, xend = 1, y = .data$from, yend = .data$to, linewidth = .data$size,
    colour = .data$kind, linetype = .data$kind
  )
  colours <- ink[c("blue", "red", "sky", "orange")]
  list(
    ggplot2::geom_segment(lines, data = arrows),
    ggplot2::scale_linewidth_continuous(
      name = "loading", range = c(0.2, 1.8), limits = c(0, max(1, arrows$size)),
      breaks = c(0.3, 0.6, 0.9), labels = short
    ),
    ggplot2::scale_colour_manual(name = NULL, values = stats::setNames(colours, line_kinds)),
    ggplot2::scale_linetype_manual(
      name = NULL, values = stats::setNames(c("solid", "4212", "22", "12"), line_kinds)
    )
  )
}

diagram_points <- function(items, factors, kinds) {
  list(
    ggplot2::geom_point(ggplot2::aes(x = 0, y = .data$y), factors, size = 4.5, shape = 16),
    ggplot2::geom_point(
      ggplot2::aes(x = 1, y = .data$y, shape = .data$state), items, size = 2, fill = "white"
    ),
    ggplot2::scale_shape_manual(
      name = NULL, values = c(item = 15, attached = 22, "no factor" = 4)
    ),
    ggplot2::guides(
      shape = legend_of(items$state, order = 1),
      colour = legend_of(kinds, order = 2, override.aes = list(linewidth = 0.8)),
      linetype = legend_of(kinds, order = 2), linewidth = ggplot2::guide_legend(order = 3)
    )
  )
}

# One kind needs no legend.
legend_of <- function(kinds, ...) {
  if (length(unique(kinds)) < 2) "none" else ggplot2::guide_legend(...)
}

# Names are those of axes, so that ggplot2 leaves as much room as they need.
diagram_axes <- function(items, factors) {
  named_items <- ggplot2::dup_axis(breaks = items$y, labels = items$item, name = NULL)
  list(
    ggplot2::scale_y_continuous(
      name = NULL, breaks = factors$y, labels = factors$factor, sec.axis = named_items,
      expand = ggplot2::expansion(add = 0.6)
    ),
    ggplot2::scale_x_continuous(name = NULL, expand = ggplot2::expansion(add = c(0.05, 0.04)))
  )
}

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
