# Pictures over the threshold: the path, the barcode and the margin.

# Panels over the threshold. Between intervals no factor is seen, unless only some thresholds were
# visited: then nothing is known there.
plot_path <- function(steps, measure, scores = NULL, criterion = "ebic", exact = TRUE,
                      chosen = NULL, bars = NULL) {
  between <- if (exact) 0 else NA
  long <- rbind(
    stairs(steps, steps$n_factors, "factors", between),
    stairs(steps, steps$n_loadings, "loadings", between),
    if (!is.null(scores)) stairs(scores, scores[[criterion]], criterion_panel(criterion), NA)
  )
  panels <- c(unique(long$panel), if (!is.null(bars)) "chosen")
  long$panel <- factor(long$panel, panels)
  middle <- if (!is.null(bars)) -(nrow(bars) + 1) / 2
  picture <- ggplot2::ggplot(long, ggplot2::aes(x = .data$tau, y = .data$value))
  if (!is.null(chosen)) picture <- picture + shaded_interval(chosen)
  counts <- long[long$panel %in% c("factors", "loadings"), ]
  counts$value <- 0
  picture <- picture + ggplot2::geom_blank(data = counts) +
    ggplot2::geom_step(colour = ink[["blue"]], linewidth = 0.6, na.rm = TRUE)
  if (!is.null(bars)) picture <- picture + chosen_bars(bars, panels)
  picture +
    ggplot2::facet_wrap(~panel, ncol = 1, scales = "free_y", strip.position = "left") +
    ggplot2::scale_y_continuous(breaks = function(limits) panel_breaks(limits, middle)) +
    ggplot2::labs(x = threshold_axis(measure), y = NULL) +
    dt_theme() +
    ggplot2::theme(
      strip.placement = "outside", panel.spacing = grid_unit(8, "pt"),
      strip.text.y.left = ggplot2::element_text(size = 9)
    )
}

criterion_panel <- function(criterion) paste0(criterion, "\n(low is good)")

stairs <- function(steps, value, panel, between) {
  n <- nrow(steps)
  if (!n) return(data.frame(tau = numeric(), value = numeric(), panel = character()))
  gap <- which(steps$tau_high[-n] < steps$tau_low[-1])
  tau <- c(steps$tau_low, steps$tau_high[gap], steps$tau_high[n])
  value <- c(value, rep(between, length(gap)), if (is.na(between)) value[n] else between)
  long <- data.frame(tau = tau, value = as.numeric(value), panel = panel)
  long[order(long$tau), ]
}

shaded_interval <- function(chosen) {
  ggplot2::geom_rect(
    ggplot2::aes(xmin = .data$from, xmax = .data$to), chosen, ymin = -Inf, ymax = Inf,
    inherit.aes = FALSE, fill = ink[["orange"]], alpha = 0.35
  )
}

# Factors hang from the top of their panel, below 0: by its middle it is known as the one without
# numbers on its axis.
chosen_bars <- function(bars, panels) {
  bars$panel <- factor("chosen", panels)
  bars$y <- -seq_len(nrow(bars))
  size <- min(2.8, 26 / nrow(bars))
  list(
    ggplot2::geom_blank(ggplot2::aes(x = .data$from, y = .data$y - 0.5), bars),
    ggplot2::geom_blank(ggplot2::aes(x = .data$from, y = .data$y + 0.5), bars),
    ggplot2::geom_segment(
      ggplot2::aes(x = .data$from, xend = .data$to, y = .data$y, yend = .data$y), bars,
      colour = ink[["red"]], linewidth = 1.2
    ),
    ggplot2::geom_text(
      ggplot2::aes(x = .data$to, y = .data$y, label = .data$factor), bars, hjust = -0.25,
      size = size
    )
  )
}

panel_breaks <- function(limits, hidden) {
  if (!is.null(hidden) && abs(mean(limits) - hidden) < 1e-9) return(numeric())
  found <- pretty(limits, 4)
  whole <- found[found == round(found)]
  if (length(whole) > 1) whole else found
}

# Thresholds that give the structure of a fit with one threshold for all.
chosen_interval <- function(x) {
  if (!identical(x$arguments$search, "threshold") || !nrow(x$factors)) return(NULL)
  from <- max(x$factors$from)
  to <- min(x$factors$to)
  if (is.na(from) || is.na(to)) return(NULL)
  within <- x$path$tau_low >= from & x$path$tau_high <= to
  within <- x$path[within & x$path$n_factors == nrow(x$factors), ]
  if (nrow(within)) data.frame(from = min(within$tau_low), to = max(within$tau_high))
}

seen_factors <- function(x) x$factors[!is.na(x$factors$from), c("factor", "from", "to")]

# A threshold in the middle of the interval shows each factor; those too near for two labels on a
# color bar share one.
threshold_marks <- function(x) {
  chosen <- chosen_interval(x)
  if (!is.null(chosen)) {
    at <- (chosen$from + chosen$to) / 2
    return(data.frame(at = at, label = paste("threshold", short(at))))
  }
  seen <- seen_factors(x)
  at <- (seen$from + seen$to) / 2
  joined_marks(at[order(at)], seen$factor[order(at)], 0.055 * max(1, at))
}

joined_marks <- function(at, names, apart) {
  if (!length(at)) return(NULL)
  group <- integer(length(at))
  first <- -Inf
  for (k in seq_along(at)) {
    if (at[k] - first >= apart) first <- at[k]
    group[k] <- match(first, at)
  }
  marks <- lapply(split(seq_along(at), group), function(k) {
    who <- if (length(k) > 3) paste(length(k), "factors") else paste(names[k], collapse = ", ")
    where <- paste(unique(short(range(at[k]))), collapse = " to ")
    data.frame(at = mean(at[k]), label = paste(who, where))
  })
  do.call(rbind, unname(marks))
}

# The longest-lived cliques, and those that factors are read off.
plot_barcode <- function(bars, measure, max_bars = 30) {
  bars$factor <- if (is.null(bars$factor)) "" else bars$factor
  bars <- bars[order(bars$birth - bars$death), ]
  read_off <- nzchar(bars$factor)
  shown <- read_off | cumsum(!read_off) <= max(0, max_bars - sum(read_off))
  bars <- bars[shown, ]
  bars$row <- rev(seq_len(nrow(bars)))
  bars$kind <- factor(
    ifelse(nzchar(bars$factor), "of the structure", "other"), c("of the structure", "other")
  )
  ggplot2::ggplot(bars) +
    ggplot2::geom_segment(
      ggplot2::aes(
        x = .data$birth, xend = .data$death, y = .data$row, yend = .data$row,
        colour = .data$kind, linewidth = .data$kind
      )
    ) +
    ggplot2::scale_colour_manual(
      name = NULL, values = c("of the structure" = ink[["blue"]], other = "grey70")
    ) +
    ggplot2::scale_linewidth_manual(
      name = NULL, values = c("of the structure" = 2.6, other = 1.3)
    ) +
    ggplot2::scale_y_continuous(
      breaks = bars$row, labels = bar_labels(bars), expand = ggplot2::expansion(add = 0.8)
    ) +
    ggplot2::labs(x = threshold_axis(measure), y = NULL) +
    dt_theme(if (any(nzchar(bars$factor))) "bottom" else "none") +
    ggplot2::theme(
      axis.text.y = ggplot2::element_text(size = label_size(1.2 * nrow(bars))),
      panel.grid.major.y = ggplot2::element_blank()
    )
}

# As many names as there is room for, and how many items there are.
bar_labels <- function(bars, room = 28) {
  separator <- if (any(grepl(", ", bars$items, fixed = TRUE))) ", " else " "
  items <- strsplit(bars$items, separator, fixed = TRUE)
  texts <- vapply(items, function(names) {
    fits <- max(1, sum(cumsum(nchar(names) + 2) <= room))
    if (fits >= length(names)) return(paste(names, collapse = ", "))
    paste0(paste(names[seq_len(fits)], collapse = ", "), ", ... (", length(names), ")")
  }, "")
  ifelse(nzchar(bars$factor), paste0(bars$factor, ": ", texts), texts)
}

# Pairs that share a factor and pairs that do not, each sorted; what lies between the weakest of the
# first and the strongest of the second is shaded.
plot_margin <- function(pairs, measure) {
  pairs <- pairs[order(-pairs$dependence), ]
  kinds <- c("share a factor", "share none")
  pairs$kind <- factor(ifelse(pairs$share_factor, kinds[1], kinds[2]), kinds)
  place <- function(k) if (length(k) > 1) (seq_along(k) - 1) / (length(k) - 1) else 0.5
  pairs$place <- stats::ave(pairs$dependence, pairs$kind, FUN = place)
  between <- decisive_pairs(pairs)
  ggplot2::ggplot(pairs, ggplot2::aes(x = .data$place, y = .data$dependence)) +
    between$layer +
    ggplot2::geom_line(
      ggplot2::aes(colour = .data$kind, linetype = .data$kind), linewidth = 0.5
    ) +
    ggplot2::geom_point(
      ggplot2::aes(colour = .data$kind, shape = .data$kind), singled_out(pairs), size = 0.9
    ) +
    ggplot2::scale_colour_manual(
      name = "pairs that", values = stats::setNames(ink[c("blue", "red")], kinds)
    ) +
    ggplot2::scale_linetype_manual(
      name = "pairs that", values = stats::setNames(c("solid", "22"), kinds)
    ) +
    ggplot2::scale_shape_manual(name = "pairs that", values = stats::setNames(c(16, 1), kinds)) +
    ggplot2::labs(
      x = "share of the pairs, strongest first", y = paste0("|", measure, "|"),
      subtitle = between$text
    ) +
    dt_theme()
}

# Points among thousands cannot be told apart: every so many is enough.
singled_out <- function(pairs, most = 2000) {
  pairs[unique(round(seq(1, nrow(pairs), length.out = min(nrow(pairs), most)))), ]
}

decisive_pairs <- function(pairs) {
  inside <- utils::tail(pairs[pairs$share_factor, ], 1)
  across <- utils::head(pairs[!pairs$share_factor, ], 1)
  if (!nrow(inside) || !nrow(across)) return(list(layer = NULL, text = NULL))
  gap <- inside$dependence - across$dependence
  ends <- range(inside$dependence, across$dependence)
  shade <- data.frame(low = ends[1], high = ends[2])
  said <- function(pair) paste(pair$first, "and", pair$second, short(pair$dependence))
  text <- c(
    if (gap > 0) paste0("gap of ", short(gap), ": one threshold separates the pairs") else
      paste0("overlap of ", short(-gap), ": no one threshold separates the pairs"),
    paste("weakest pair that shares a factor:", said(inside)),
    paste("strongest pair that shares none:", said(across))
  )
  layer <- ggplot2::geom_rect(
    ggplot2::aes(xmin = 0, xmax = 1, ymin = .data$low, ymax = .data$high), shade,
    inherit.aes = FALSE, fill = if (gap > 0) ink[["green"]] else ink[["orange"]], alpha = 0.3
  )
  list(layer = layer, text = paste(text, collapse = "\n"))
}

# One row per pair of items.
item_pairs <- function(dependence, support) {
  values <- abs(dependence$values)
  at <- which(upper.tri(values), arr.ind = TRUE)
  together <- tcrossprod(support + 0) > 0
  data.frame(
    first = rownames(values)[at[, 1]], second = rownames(values)[at[, 2]],
    dependence = values[at], share_factor = together[at]
  )
}
