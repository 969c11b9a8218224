# A model on a page, as lavaan's users know it. Cells come from Python when the model is fitted; what
# is shown of them, and where it stands, is decided here.

#' Summarize a fitted model
#'
#' Prints in the order and layout of lavaan's `summary()`: how the model was fitted, its test, fit
#' measures, and a table for each kind of parameter, group by group.
#'
#' @param object A result of [dt_cfa()] or [dt_sem()].
#' @param fit.measures Show fit measures beyond the test of the model?
#' @param estimates Show the parameters?
#' @param ci Add 95 % confidence intervals? Those of defined parameters, `mc.lower` and `mc.upper`, are
#'   by Monte Carlo, see [dt_defined_intervals()]; their z and p are by the delta method, as lavaan's.
#' @param standardized Add the columns `Std.lv` (latent variables standardized) and `Std.all` (all
#'   variables)?
#' @param rsquare Add the explained share of every variable's variance?
#' @param modindices Add the ten largest modification indices? This asks Python; see
#'   [dt_modification_indices()].
#' @param ... Not used.
#' @return An object that prints the page; its numbers are in `$fit`, see [dt_parameters()].
#' @export
#' @examples
#' if (dt_available()) {
#'   model <- "visual =~ x1 + x2 + x3; textual =~ x4 + x5 + x6; speed =~ x7 + x8 + x9"
#'   fit <- dt_cfa(dt_dataset("holzinger_swineford_9"), model)
#'   summary(fit, fit.measures = TRUE, standardized = TRUE)
#' }
summary.dt_cfa <- function(object, fit.measures = FALSE, estimates = TRUE, ci = FALSE,
                           standardized = FALSE, rsquare = FALSE, modindices = FALSE, ...) {
  known <- names(formals(summary.dt_cfa))[2:7]
  others <- names_or_blanks(list(...))
  if (length(others)) refuse_argument(others[1], known, "summary")
  on <- vapply(mget(known), isTRUE, NA)
  indices <- if (on[["modindices"]]) utils::head(dt_modification_indices(object), 10)
  structure(list(fit = object, shown = names(on)[on], indices = indices), class = "summary.dt_cfa")
}

#' @export
print.summary.dt_cfa <- function(x, ...) {
  parts <- c(
    "test", if ("fit.measures" %in% x$shown) "fit_measures",
    if ("estimates" %in% x$shown) "estimates", if ("rsquare" %in% x$shown) "rsquare"
  )
  hidden <- c(
    if (!"ci" %in% x$shown) c("ci.lower", "ci.upper", "mc.lower", "mc.upper"),
    if (!"standardized" %in% x$shown) c("Std.lv", "Std.all")
  )
  print_page(x$fit, parts, hidden)
  if (!is.null(x$indices)) {
    cat("\nModification Indices:\n\n")
    print(format(x$indices, digits = 3, nsmall = 3), row.names = FALSE)
  }
  invisible(x)
}

#' @export
print.dt_cfa <- function(x, ...) {
  print_page(x, "test")
  cat("\nsummary() shows the parameters, and with fit.measures = TRUE more on the fit.\n")
  invisible(x)
}

print_page <- function(fit, parts, hidden = character()) {
  for (line in fit$page$head) print_lines(in_r(line), exdent = 2)
  group <- ""
  for (table in fit$page$tables) {
    if (!table$part %in% parts) next
    if (nzchar(table$group) && table$group != group) {
      cat("\n\nGroup ", match(table$group, fit$groups), " [", table$group, "]:\n", sep = "")
    }
    group <- table$group
    cat("", table_lines(table, hidden), sep = "\n")
  }
}

table_lines <- function(table, hidden) {
  shown <- !table$columns %in% hidden
  cells <- do.call(cbind, lapply(table$cells[shown], as.character))
  head <- table$columns[shown]
  lines <- if (table$parameters) parameter_lines(cells, head) else value_lines(cells, head, table$headed)
  c(if (nzchar(table$title)) paste0(table$title, ":"), if (nzchar(table$title) && !table$headed) "", lines)
}

# Values end in column 54, scaled ones in column 66.
value_lines <- function(cells, head, headed) {
  if (headed) cells <- rbind(head, cells)
  label <- ifelse(nzchar(cells[, 1]), paste0("  ", cells[, 1]), "")
  first <- pmax(54 - nchar(label, "width"), nchar(cells[, 2], "width") + 1)
  lines <- paste0(label, right(cells[, 2], first))
  for (k in seq_len(ncol(cells))[-(1:2)]) lines <- paste0(lines, right(cells[, k], 12))
  lines
}

# Names in 18 columns, or as many as they need; numbers in 9 each.
parameter_lines <- function(cells, head) {
  numbers <- cells[, -1, drop = FALSE]
  heads_a_block <- rowSums(numbers != "") == 0
  margin <- ifelse(heads_a_block, 2, 4) - startsWith(cells[, 1], ".")
  name <- paste0(strrep(" ", margin), cells[, 1])
  width <- max(18, nchar(name, "width") + !endsWith(name, "~"))
  label <- ifelse(heads_a_block, "", sub("^.* (\\([^()]*\\))$|^.*$", "\\1", name))
  stem <- substring(name, 1, nchar(name) - nchar(label))
  lines <- c(strrep(" ", width), paste0(stem, right(label, width - nchar(stem, "width"))))
  for (k in seq_len(ncol(numbers))) {
    column <- c(head[k + 1], numbers[, k])
    lines <- paste0(lines, right(column, max(9, nchar(column, "width") + 1)))
  }
  lines
}

right <- function(texts, width) paste0(strrep(" ", pmax(width - nchar(texts, "width"), 0)), texts)
