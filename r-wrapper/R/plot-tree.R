# The tree of factors, from Python's nested one: leaves from the top, then the joins.

plot_tree <- function(tree, levels, chosen) {
  if (is.null(tree)) {
    stop_input("There is no tree to draw. Fit with search = \"tree\"; see $levels.")
  }
  items <- tree$items
  names <- c(items$item, tree$outside)
  items$y <- rev(seq_along(names))[seq_len(nrow(items))]
  segments <- tree_segments(items, tree$joins, tree$floor, tree$top)
  colours <- c(factor_colours(unique(items$factor)), " " = "grey30")
  ggplot2::ggplot(segments) +
    tree_marks(levels, tree, chosen, length(names)) +
    ggplot2::geom_segment(
      ggplot2::aes(
        x = .data$x, xend = .data$xend, y = .data$y, yend = .data$yend, colour = .data$factor
      ),
      linewidth = 0.7, lineend = "square"
    ) +
    ggplot2::scale_colour_manual(name = NULL, values = colours, breaks = unique(items$factor)) +
    ggplot2::scale_x_log10() +
    ggplot2::scale_y_continuous(
      breaks = rev(seq_along(names)), labels = names, expand = ggplot2::expansion(add = c(0.6, 2.4))
    ) +
    ggplot2::labs(x = "what one fewer factor costs (log-likelihood per person)", y = NULL) +
    dt_theme() +
    ggplot2::theme(
      axis.text.y = ggplot2::element_text(size = label_size(1.2 * length(names))),
      panel.grid.major.y = ggplot2::element_blank()
    )
}

# Lines of items, brackets of leaves, stems and joins; what joins several factors is gray.
tree_segments <- function(items, joins, floor, top) {
  begin <- floor / (top / floor)^0.06
  line <- function(x, xend, y, yend, factor) data.frame(x, xend, y, yend, factor)
  by_leaf <- split(items, items$leaf)
  nodes <- lapply(by_leaf, function(one) list(y = mean(one$y), x = floor, factor = one$factor[1]))
  leaves <- lapply(by_leaf, function(one) line(floor, floor, max(one$y), min(one$y), one$factor[1]))
  found <- c(list(line(begin, floor, items$y, items$y, items$factor)), leaves)
  for (k in seq_len(nrow(joins))) {
    a <- nodes[[joins$first[k]]]
    b <- nodes[[joins$second[k]]]
    price <- joins$price[k]
    both <- if (a$factor == b$factor) a$factor else " "
    found <- c(found, list(
      line(a$x, price, a$y, a$y, a$factor), line(b$x, price, b$y, b$y, b$factor),
      line(price, price, a$y, b$y, both)
    ))
    nodes <- c(nodes, list(list(y = (a$y + b$y) / 2, x = price, factor = both)))
  }
  root <- nodes[[length(nodes)]]
  do.call(rbind, unname(c(found, list(line(root$x, top, root$y, root$y, root$factor)))))
}

# The chosen level, and the other that stands out.
tree_marks <- function(levels, tree, chosen, rows) {
  ends <- c(tree$floor, tree$joins$price, tree$top)
  finest <- nrow(tree$joins) + 1
  marked <- levels$n_factors[levels$chosen | nzchar(levels$level)]
  marked <- marked[marked <= finest]
  at <- finest - marked + 1
  marks <- data.frame(x = sqrt(ends[at] * ends[at + 1]), chosen = marked == chosen)
  marks$label <- paste0(marked, ifelse(marked == 1, " factor", " factors"), ifelse(marks$chosen, " (chosen)", ""))
  list(
    ggplot2::geom_vline(
      data = marks, ggplot2::aes(xintercept = .data$x, linetype = .data$chosen),
      colour = "grey50", show.legend = FALSE
    ),
    ggplot2::scale_linetype_manual(values = c("TRUE" = "solid", "FALSE" = "42")),
    ggplot2::geom_text(
      data = marks, ggplot2::aes(x = .data$x, label = .data$label),
      y = rows + 1 + 0.6 * (seq_len(nrow(marks)) %% 2), size = 2.8, colour = "grey20"
    )
  )
}
