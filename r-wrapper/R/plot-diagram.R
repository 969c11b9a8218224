# The path diagram as Python lays it out, in inches; letters shrink where the picture is smaller.
plot_diagram <- function(x, cutoff, usual, group = NULL, size = c(7, 7), ...) {
  if (!(is.numeric(size) && length(size) == 2 && all(is.finite(size)) && all(size > 0))) {
    stop_input("`size` must be width and height of the picture in inches, as in c(7, 7).")
  }
  if (!ncol(x$loadings)) stop_input("There is no factor, so there is no diagram to draw.")
  laid <- laid_out(x, cutoff, usual, group, ...)
  shapes <- laid$variables
  items <- shapes[!shapes$latent, ]
  scale <- min(1, size / laid$size)
  ggplot2::ggplot() +
    diagram_lines(laid$lines, scale) +
    number_paper(laid$numbers) +
    diagram_texts(laid$numbers, 6.5 * scale) +
    ggplot2::geom_rect(
      ggplot2::aes(
        xmin = .data$x - .data$width / 2, xmax = .data$x + .data$width / 2,
        ymin = .data$y - .data$height / 2, ymax = .data$y + .data$height / 2
      ), items,
      fill = "white", colour = "black", linewidth = 0.3, linetype = ifelse(items$attached, "31", "solid")
    ) +
    ggplot2::geom_polygon(
      ggplot2::aes(x = .data$x, y = .data$y, group = .data$name), ellipses(shapes[shapes$latent, ]),
      fill = "white", colour = "black", linewidth = 0.4
    ) +
    diagram_texts(data.frame(label = shapes$name, x = shapes$x, y = shapes$y), ifelse(shapes$latent, 9, 7) * scale) +
    diagram_texts(data.frame(label = items$text, x = rep(laid$words_x, nrow(items)), y = items$y), 7 * scale, 0) +
    ggplot2::coord_fixed(clip = "off") +
    # A continuous scale leaves out what texts need beyond their places.
    ggplot2::expand_limits(x = laid$words_x + max(text_width(items$text), 0)) +
    ggplot2::labs(caption = if (nzchar(laid$note)) laid$note) +
    ggplot2::theme_void() +
    ggplot2::theme(
      plot.background = ggplot2::element_rect(fill = "white", colour = NA),
      plot.caption = ggplot2::element_text(size = 7, hjust = 0),
      plot.margin = ggplot2::margin(4, 4, 4, 4)
    )
}

# A result carries its usual diagram; Python lays out any other.
laid_out <- function(x, cutoff, usual, group, ...) {
  if (identical(as.numeric(cutoff), usual) && !...length() && !is.null(x$diagram)) return(x$diagram)
  arguments <- list(state = table_state(x), cutoff = cutoff, ...)
  if (!is.null(group)) arguments$group <- group
  ask("path_diagram", arguments, call = sys.call(-2))
}

diagram_lines <- function(lines, scale) {
  kinds <- list(
    list(lines$kind == "covariance", "both", "solid", "grey45"),
    list(lines$kind != "covariance" & !lines$weak, "last", "solid", "black"),
    list(lines$weak, "last", "42", "black")
  )
  lapply(kinds, function(one) {
    ggplot2::geom_path(
      ggplot2::aes(x = .data$x, y = .data$y, group = .data$line), lines[one[[1]], ],
      arrow = ggplot2::arrow(15, grid_unit(0.07 * scale, "in"), one[[2]], "closed"),
      linetype = one[[3]], colour = one[[4]], linewidth = 0.25
    )
  })
}

# Texts at their places, of some size in points.
diagram_texts <- function(texts, points, hjust = 0.5) {
  shown <- nzchar(texts$label)
  ggplot2::geom_text(
    ggplot2::aes(x = .data$x, y = .data$y, label = .data$label), texts[shown, ],
    size = rep_len(points, nrow(texts))[shown] / ggplot2::.pt, hjust = hjust
  )
}

# White paper below numbers, so that no line crosses them.
number_paper <- function(numbers) {
  half <- 0.5 * text_width(numbers$label)
  ggplot2::geom_rect(
    ggplot2::aes(xmin = .data$x - half, xmax = .data$x + half, ymin = .data$y - 0.055, ymax = .data$y + 0.055),
    numbers,
    fill = "white"
  )
}

ellipses <- function(shapes, points = 72) {
  angle <- seq(0, 2 * pi, length.out = points)
  do.call(rbind, lapply(seq_len(nrow(shapes)), function(k) {
    one <- shapes[k, ]
    data.frame(
      name = one$name, x = one$x + one$width / 2 * cos(angle), y = one$y + one$height / 2 * sin(angle)
    )
  }))
}

# Inches that texts take, at 7 points.
text_width <- function(texts) 0.062 * nchar(texts)
