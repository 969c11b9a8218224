# What all pictures share. Colors are those of Okabe and Ito, which all kinds of eyes tell apart;
# in gray print line types, shapes, lightness or signs do. Texts are ASCII: R's pdf() has no other
# signs in some locales.

ink <- c(
  blue = "#0072B2", red = "#D55E00", green = "#009E73", orange = "#E69F00", pink = "#CC79A7",
  sky = "#56B4E9", black = "#000000"
)

need_ggplot2 <- function(found = requireNamespace("ggplot2", quietly = TRUE)) {
  if (!found) stop_input("Pictures need ggplot2. Run install.packages(\"ggplot2\").")
}

# The type that was asked for; the first if none was.
given_type <- function(type, types) {
  if (identical(type, types)) return(types[1])
  if (is.character(type) && length(type) == 1 && type %in% types) return(type)
  got <- paste(deparse(type, width.cutoff = 60L), collapse = " ")
  known <- paste0("\"", types, "\"", collapse = ", ")
  stop_input("`type` must be one of ", known, "; got ", got, ".")
}

dt_theme <- function(legend = "bottom") {
  ggplot2::theme_minimal(base_size = 10) + ggplot2::theme(
    # Minimal is see-through: dark text would vanish in a dark viewer.
    plot.background = ggplot2::element_rect(fill = "white", colour = NA),
    panel.grid.minor = ggplot2::element_blank(), plot.title.position = "plot",
    plot.subtitle = ggplot2::element_text(size = 8, colour = "grey30"),
    legend.position = legend, legend.title = ggplot2::element_text(size = 8),
    legend.text = ggplot2::element_text(size = 8), legend.margin = ggplot2::margin(0, 0, 0, 0),
    legend.key.width = grid_unit(1.6, "lines")
  )
}

# ggplot2's own copy: the package grid need not be imported.
grid_unit <- function(...) ggplot2::unit(...)

threshold_axis <- function(measure) paste0("threshold on |", measure, "|")

# .30 and -.12, as psychologists write what is at most 1.
short <- function(x, digits = 2) {
  sub("^(-?)0\\.", "\\1.", formatC(x, digits = digits, format = "f"))
}

# So many labels one below the other do not touch in a picture of ordinary height.
label_size <- function(n) max(4, min(8.8, 390 / max(n, 1)))

# Seven colors and four line types: no two of 28 factors have both in common.
factor_colours <- function(names) stats::setNames(rep_len(unname(ink), length(names)), names)

factor_lines <- function(names) {
  stats::setNames(rep_len(c("solid", "22", "42", "1242"), length(names)), names)
}

# The factor an item loads on most; one more than there are for an item of no factor.
main_factor <- function(loadings) {
  strength <- cbind(abs(loadings), 0)
  best <- max.col(strength, ties.method = "first")
  best[rowSums(strength > 0) == 0] <- ncol(strength)
  best
}

by_factor <- function(loadings) order(main_factor(loadings))

# One row per cell of a matrix, the first row of it on top.
cells <- function(values) {
  data.frame(
    row = factor(rownames(values)[row(values)], levels = rev(rownames(values))),
    column = factor(colnames(values)[col(values)], levels = colnames(values)),
    value = as.vector(values)
  )
}

tiles <- function(values, fill, names_at = "bottom", ...) {
  long <- cells(values)
  ggplot2::ggplot(long, ggplot2::aes(x = .data$column, y = .data$row)) +
    ggplot2::geom_tile(ggplot2::aes(fill = .data$value)) +
    fill +
    ggplot2::scale_x_discrete(expand = c(0, 0), position = names_at) +
    ggplot2::scale_y_discrete(expand = c(0, 0)) +
    ggplot2::labs(x = NULL, y = NULL, ...) +
    dt_theme("right") +
    ggplot2::theme(
      panel.grid = ggplot2::element_blank(),
      axis.text.y = ggplot2::element_text(size = label_size(nrow(values)))
    )
}

# Items against items: as wide as high, the names upright. In a small picture names that would touch
# are left out.
square <- function(n) {
  names <- ggplot2::element_text(size = min(7.5, label_size(1.3 * n)))
  upright <- ggplot2::element_text(size = names$size, angle = 90, hjust = 1, vjust = 0.5)
  sparse <- ggplot2::guide_axis(check.overlap = TRUE)
  list(
    ggplot2::coord_fixed(), ggplot2::guides(x = sparse, y = sparse),
    ggplot2::theme(axis.text.x = upright, axis.text.y = names)
  )
}

colour_bar <- function() {
  ggplot2::guide_colourbar(
    barheight = grid_unit(1.8, "in"), barwidth = grid_unit(0.13, "in"), ticks.colour = "black",
    frame.colour = "grey50"
  )
}

# White is nothing; the more, the darker.
amount_scale <- function(name, top = 1, ...) {
  ggplot2::scale_fill_gradientn(
    name = name, colours = c("white", ink[["blue"]], "#00263D"), values = c(0, 0.65, 1),
    limits = c(0, top), na.value = "grey90", guide = colour_bar(), ...
  )
}

signed_scale <- function(name, top) {
  ggplot2::scale_fill_gradient2(
    name = name, low = ink[["red"]], mid = "white", high = ink[["blue"]], limits = c(-top, top),
    na.value = "grey90", guide = colour_bar()
  )
}

# Dark on light and light on dark.
cell_texts <- function(long, shown, dark) {
  long$label <- ifelse(shown, short(long$value), "")
  long <- long[shown, ]
  size <- 0.9 * label_size(nlevels(long$row)) / ggplot2::.pt
  ggplot2::geom_text(
    ggplot2::aes(label = .data$label), data = long, size = size,
    colour = ifelse(abs(long$value) > dark, "white", "black")
  )
}

# Numbers of people, or of anything, on a scale of powers of ten.
people_scale <- function(...) {
  ggplot2::scale_x_log10(labels = function(x) format(x, big.mark = ",", trim = TRUE), ...)
}
