# Pictures of what says how far to trust a structure, and of plans.

# Every factor's margin at its own threshold: of all its items, and of the core it is read off.
plot_factor_margins <- function(factors, measure) {
  long <- rbind(
    data.frame(
      factor = factors$factor, of = "all its items", margin = factors$margin,
      lower = factors$lower, upper = factors$upper, verdict = factors$verdict
    ),
    data.frame(
      factor = factors$factor, of = "its core", margin = factors$core_margin,
      lower = factors$core_lower, upper = factors$core_upper, verdict = factors$verdict
    )
  )
  long <- long[!is.na(long$margin), ]
  long$factor <- factor(long$factor, levels = rev(factors$factor))
  long$of <- factor(long$of, c("its core", "all its items"))
  long$verdict <- factor(long$verdict, names(verdict_colours))
  apart <- ggplot2::position_dodge(width = 0.5)
  ggplot2::ggplot(
    long, ggplot2::aes(x = .data$margin, y = .data$factor, group = .data$of)
  ) +
    ggplot2::geom_vline(xintercept = 0, colour = "grey40") +
    ggplot2::geom_linerange(
      ggplot2::aes(
        xmin = .data$lower, xmax = .data$upper, colour = .data$verdict, linetype = .data$verdict
      ),
      long[!is.na(long$lower), ], position = apart, key_glyph = "path"
    ) +
    ggplot2::geom_point(
      ggplot2::aes(colour = .data$verdict, shape = .data$of), position = apart, size = 2.2
    ) +
    ggplot2::scale_colour_manual(name = NULL, values = verdict_colours) +
    ggplot2::scale_linetype_manual(
      name = NULL, values = c(firm = "solid", unsure = "22", seen = "solid", "no core" = "12")
    ) +
    ggplot2::scale_shape_manual(
      name = "margin of", values = c("its core" = 16, "all its items" = 1)
    ) +
    ggplot2::labs(x = paste("margin by", measure), y = NULL) +
    dt_theme() +
    ggplot2::theme(legend.box = "vertical", legend.spacing.y = grid_unit(0, "pt"))
}

verdict_colours <- c(
  firm = ink[["blue"]], unsure = ink[["red"]], seen = ink[["green"]], "no core" = "grey50"
)

# How often an item belonged to a factor; the structure of all people is outlined.
plot_memberships <- function(memberships, tidy) {
  inside <- tidy[tidy$in_structure, ]
  support <- 0 * memberships
  support[cbind(inside$item, inside$factor)] <- 1
  order <- by_factor(support * (1 + memberships))
  values <- memberships[order, , drop = FALSE]
  long <- cells(values)
  outlined <- long[support[order, , drop = FALSE] > 0, ]
  tiles(values, amount_scale("share of\nresamples"), "top") +
    ggplot2::geom_tile(data = outlined, fill = NA, colour = "black", linewidth = 0.5) +
    cell_texts(long, long$value > 0, 0.5)
}

plot_factor_counts <- function(counts, chosen) {
  counts$kind <- ifelse(counts$n_factors == chosen, "as with all people", "other")
  ggplot2::ggplot(counts, ggplot2::aes(x = factor(.data$n_factors), y = .data$share)) +
    ggplot2::geom_col(ggplot2::aes(fill = .data$kind), colour = "black", width = 0.7) +
    ggplot2::geom_text(ggplot2::aes(label = short(.data$share)), vjust = -0.4, size = 3) +
    ggplot2::scale_fill_manual(
      name = NULL, values = c("as with all people" = ink[["blue"]], other = "grey88")
    ) +
    ggplot2::scale_y_continuous(limits = c(0, 1), expand = ggplot2::expansion(c(0, 0.06))) +
    ggplot2::labs(x = "number of factors", y = "share of the resamples") +
    dt_theme()
}

size_measures <- c(
  f1 = "loadings that agree (F1)", same_n_factors = "same number of factors",
  same_structure = "same structure"
)

plot_sizes <- function(sizes) {
  long <- do.call(rbind, lapply(names(size_measures), function(name) {
    data.frame(n = sizes$n, what = size_measures[[name]], share = sizes[[name]])
  }))
  long$what <- factor(long$what, unname(size_measures))
  named <- function(values) stats::setNames(values, unname(size_measures))
  about <- ggplot2::aes(
    x = .data$n, y = .data$share, colour = .data$what, linetype = .data$what, shape = .data$what
  )
  picture <- ggplot2::ggplot(long, about)
  if (nrow(sizes) > 1) picture <- picture + ggplot2::geom_line(linewidth = 0.6)
  picture +
    ggplot2::geom_point(size = 2.2) +
    ggplot2::scale_colour_manual(name = NULL, values = named(ink[c("blue", "red", "green")])) +
    ggplot2::scale_linetype_manual(name = NULL, values = named(c("solid", "42", "12"))) +
    ggplot2::scale_shape_manual(name = NULL, values = named(c(16, 17, 0))) +
    ggplot2::scale_x_continuous(breaks = unique(sizes$n), limits = c(0, NA)) +
    ggplot2::ylim(0, 1) +
    ggplot2::labs(x = "people", y = "agreement with all people") +
    dt_theme() + ggplot2::guides(
      colour = ggplot2::guide_legend(nrow = 2), linetype = ggplot2::guide_legend(nrow = 2),
      shape = ggplot2::guide_legend(nrow = 2)
    )
}

# Chance of error by number of people, as each method has it.
plot_plan <- function(x, target) {
  curves <- x$curves[x$curves$target == target, ]
  lines <- curves[curves$method != "draws", ]
  methods <- c("guarantee", "normal", "simulation")
  lines$method <- factor(lines$method, methods)
  draws <- curves[curves$method == "draws", ]
  meaning <- x$table$meaning[x$table$target == target]
  if (nrow(draws)) meaning <- paste0(meaning, "\ncircles: simulated surveys")
  ggplot2::ggplot(lines, ggplot2::aes(x = .data$n, y = .data$error)) +
    ggplot2::geom_hline(yintercept = x$error, colour = "grey40", linetype = "dashed") +
    ggplot2::geom_line(
      ggplot2::aes(colour = .data$method, linetype = .data$method), linewidth = 0.7
    ) +
    ggplot2::geom_point(data = draws, shape = 1, size = 1.6) +
    ggplot2::annotate(
      "text", x = min(lines$n), y = x$error, label = paste("accepted:", short(x$error)),
      hjust = 0, vjust = -0.5, size = 2.8
    ) +
    people_scale() +
    ggplot2::scale_colour_manual(
      name = NULL, values = stats::setNames(ink[c("black", "red", "blue")], methods)
    ) +
    ggplot2::scale_linetype_manual(
      name = NULL, values = stats::setNames(c("42", "12", "solid"), methods)
    ) +
    ggplot2::ylim(0, 1) +
    ggplot2::labs(x = "people", y = "chance of error", subtitle = meaning) +
    dt_theme()
}

eigen_lines <- c("data", "noise", "items shuffled")

# Eigenvalues of the data beside those of noise.
plot_parallel <- function(x) {
  about <- x$eigenvalues
  long <- do.call(rbind, lapply(c("factors", "components"), function(kind) {
    columns <- c(kind, paste0(c("simulated_", "resampled_"), kind))
    there <- columns %in% names(about) # a matrix has no items to shuffle
    do.call(rbind, Map(function(column, source) {
      data.frame(
        number = seq_len(nrow(about)), eigenvalue = about[[column]], source = source, kind = kind
      )
    }, columns[there], eigen_lines[there]))
  }))
  counts <- c(factors = x$n_factors, components = x$n_components)
  titles <- stats::setNames(paste0(names(counts), ": ", counts), names(counts))
  long$kind <- factor(titles[long$kind], titles)
  long$source <- factor(long$source, eigen_lines)
  named <- function(values) stats::setNames(values, eigen_lines)
  observed <- long[long$source == "data", ]
  ggplot2::ggplot(long, ggplot2::aes(x = .data$number, y = .data$eigenvalue)) +
    ggplot2::geom_line(ggplot2::aes(colour = .data$source, linetype = .data$source)) +
    ggplot2::geom_point(
      ggplot2::aes(colour = .data$source), observed, size = 1.4, show.legend = FALSE
    ) +
    ggplot2::facet_wrap(~kind) +
    ggplot2::scale_colour_manual(name = NULL, values = named(ink[c("blue", "red", "black")])) +
    ggplot2::scale_linetype_manual(name = NULL, values = named(c("solid", "42", "12"))) +
    ggplot2::labs(
      x = "number of the eigenvalue", y = "eigenvalue",
      subtitle = paste(
        "without factors: the", short(x$quantile), "quantile of", x$n_iter, "data sets"
      )
    ) +
    dt_theme()
}
