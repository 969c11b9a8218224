# Tables and diagrams for articles: files, R Markdown and Quarto, other packages' tables.

#' Tables of a result
#'
#' The tables that `summary()` shows, as data frames for other packages: `knitr::kable()`,
#' `gt::gt()`, `flextable::flextable()`. In R Markdown and Quarto results print as such tables by
#' themselves, and `flextable::as_flextable(fit)` makes one of the first table.
#'
#' @param x A result of [dt_fit()], [dt_cfa()], [dt_diagnose()], [dt_stability()] or another that
#'   [dt_save()] takes.
#' @param style "plain", or "apa": no zero before the point of numbers that cannot be greater than 1,
#'   a minus sign, "< .001".
#' @return A list of data frames of text, named by their titles; each has the attributes `notes` and
#'   `alignment` (one letter per column, l or r).
#' @export
#' @examples
#' if (dt_available()) {
#'   fit <- dt_fit(dt_dataset("holzinger_swineford_9"))
#'   names(dt_tables(fit))
#' }
dt_tables <- function(x, style = "plain") {
  found <- ask("tables", list(state = table_state(x), style = style), call = sys.call())$tables
  titles <- vapply(found, function(one) one$title, "")
  stats::setNames(lapply(found, as_table_frame), titles)
}

as_table_frame <- function(table) {
  cells <- lapply(table$cells, as.character)
  frame <- as.data.frame(cells, col.names = seq_along(cells), stringsAsFactors = FALSE)
  names(frame) <- as.character(table$columns)
  structure(
    frame, notes = as.character(table$notes), alignment = as.character(table$alignment)
  )
}

#' Save tables
#'
#' Writes the summary of a result to a file whose ending says the format. In Excel numbers are numbers.
#'
#' @param x As in [dt_tables()].
#' @param file File that ends in .docx (Word), .xlsx (Excel, one sheet per table), .tex, .html, .md,
#'   .csv or .txt.
#' @param style "plain" or "apa": number and title above the table, horizontal rules only, no zero
#'   before the point of numbers that cannot be greater than 1, "Note." below.
#' @param label Label of LaTeX tables, for `\\ref`; other formats have none.
#' @param number Number of the first table, in APA style.
#' @param overwrite Replace a file of that name?
#' @param which Number of one table to save alone; all, with the lines above them, if `NULL`.
#' @return The path of the file, invisibly.
#' @export
#' @examples
#' if (dt_available()) {
#'   fit <- dt_fit(dt_dataset("holzinger_swineford_9"))
#'   dt_save_table(fit, tempfile(fileext = ".tex"), style = "apa")
#' }
dt_save_table <- function(x, file, style = "plain", label = NULL, number = 1, overwrite = FALSE,
                          which = NULL) {
  if (!(is.character(file) && length(file) == 1 && !is.na(file))) {
    stop_input("`file` must be the path of a file.")
  }
  if (!dir.exists(dirname(file))) stop_input("There is no folder '", dirname(file), "'.")
  # Absolute: Python keeps the folder it was started in, wherever R has gone since.
  path <- file.path(normalizePath(dirname(file)), basename(file))
  arguments <- list(
    state = table_state(x), path = path, style = style, label = label, number = number,
    overwrite = overwrite, which = which
  )
  invisible(ask("save_table", arguments, call = sys.call()))
}

table_state <- function(x) {
  if (is.list(x) && !is.null(x$state)) return(x$state)
  stop_input("`x` must be a result of dtstat that dt_save() takes, such as that of dt_fit().")
}

#' Path diagrams as text
#'
#' For Graphviz (`dot -Tpdf model.dot -o model.pdf`) and for LaTeX (a `tikzpicture`; needs
#' `\\usepackage{tikz}`). Ellipses are factors, boxes items, arrows loadings and regressions, curved
#' arrows correlations. `plot(x)` draws it in R.
#'
#' @param x A result of [dt_fit()], [dt_cfa()] or [dt_efa()].
#' @param ... `cutoff` (smallest loading drawn), `residuals` (`TRUE` draws residual variances),
#'   `texts` (`TRUE` writes what the items ask beside them); of a model also `stars` and `group`.
#' @return A text.
#' @export
#' @examples
#' if (dt_available()) {
#'   fit <- dt_fit(dt_dataset("holzinger_swineford_9"))
#'   cat(as_tikz(fit, cutoff = 0.3))
#' }
as_dot <- function(x, ...) {
  ask("to_dot", list(state = table_state(x), ...), call = sys.call())
}

#' @rdname as_dot
#' @export
as_tikz <- function(x, ...) {
  ask("to_tikz", list(state = table_state(x), ...), call = sys.call())
}

# In R Markdown and Quarto: the lines of the summary, and its tables as kables. Without Python, and
# for results that are not sent back to it, what print() shows.
knit_summary <- function(x, ...) {
  if (is.null(unclass(x)$state) || !dt_available()) return(knitr::normal_print(x, ...))
  found <- ask("tables", list(state = x$state, style = "plain"))
  head <- vapply(found$head, markdown_text, "")
  tables <- vapply(found$tables, knit_table, "")
  knitr::asis_output(paste(c("", head, tables, ""), collapse = "\n\n"))
}

knit_table <- function(table) {
  frame <- as_table_frame(table)
  kable <- knitr::kable(
    frame, align = attr(frame, "alignment"), caption = if (nzchar(table$title)) table$title,
    row.names = FALSE, format = "pipe"
  )
  notes <- vapply(attr(frame, "notes"), markdown_text, "")
  paste(c(paste(kable, collapse = "\n"), notes), collapse = "\n\n")
}

# The same for results whose tables are data frames.
knit_frames <- function(frames, notes = character()) {
  tables <- vapply(Filter(NROW, frames), knit_frame, "")
  knitr::asis_output(paste(c("", tables, vapply(notes, markdown_text, ""), ""), collapse = "\n\n"))
}

knit_frame <- function(frame) {
  frame <- frame[!vapply(frame, function(cells) all(is.na(cells)), NA)]
  if (!is.null(frame$p.value)) frame$p.value <- format.pval(frame$p.value, digits = 2, eps = 0.001)
  words <- vapply(frame, is.character, NA)
  frame[words] <- lapply(frame[words], function(cells) {
    ifelse(is.na(cells) | cells %in% c("NA", "NaN"), "", markdown_text(cells))
  })
  blank <- options(knitr.kable.NA = "")
  on.exit(options(blank))
  kable <- knitr::kable(frame, digits = 2, row.names = FALSE, format = "pipe")
  paste(kable, collapse = "\n")
}

# Names of items mean nothing in Markdown.
markdown_text <- function(text) {
  gsub("([][\\\\`*_{}<>|#$~&^])", "\\\\\\1", trimws(in_r(text)))
}

#' @exportS3Method knitr::knit_print
knit_print.dt_bootstrap <- function(x, ...) knit_summary(x, ...)

#' @exportS3Method knitr::knit_print
knit_print.dt_certificate <- function(x, ...) knit_summary(x, ...)

#' @exportS3Method knitr::knit_print
knit_print.dt_cfa <- function(x, ...) knit_summary(x, ...)

#' @exportS3Method knitr::knit_print
knit_print.dt_comparison <- function(x, ...) knit_summary(x, ...)

#' @exportS3Method knitr::knit_print
knit_print.dt_dependence <- function(x, ...) knit_summary(x, ...)

#' @exportS3Method knitr::knit_print
knit_print.dt_description <- function(x, ...) knit_frames(x[c("items", "findings")], x$notes)

#' @exportS3Method knitr::knit_print
knit_print.dt_diagnosis <- function(x, ...) knit_summary(x, ...)

#' @exportS3Method knitr::knit_print
knit_print.dt_efa <- function(x, ...) knit_summary(x, ...)

#' @exportS3Method knitr::knit_print
knit_print.dt_fit <- function(x, ...) knit_summary(x, ...)

#' @exportS3Method knitr::knit_print
knit_print.dt_invariance <- function(x, ...) knit_summary(x, ...)

#' @exportS3Method knitr::knit_print
knit_print.dt_margin <- function(x, ...) knit_summary(x, ...)

#' @exportS3Method knitr::knit_print
knit_print.dt_model_power <- function(x, ...) knit_summary(x, ...)

#' @exportS3Method knitr::knit_print
knit_print.dt_parallel_analysis <- function(x, ...) knit_summary(x, ...)

#' @exportS3Method knitr::knit_print
knit_print.dt_path <- function(x, ...) knit_summary(x, ...)

#' @exportS3Method knitr::knit_print
knit_print.dt_plan <- function(x, ...) knit_summary(x, ...)

#' @exportS3Method knitr::knit_print
knit_print.dt_regression <- function(x, ...) knit_frames(list(tidy(x, conf.int = TRUE)), x$notes)

#' @exportS3Method knitr::knit_print
knit_print.dt_reliability <- function(x, ...) {
  knit_frames(x[c("factors", "items", "general")], x$notes)
}

#' @exportS3Method knitr::knit_print
knit_print.dt_score_test <- function(x, ...) knit_summary(x, ...)

#' @exportS3Method knitr::knit_print
knit_print.dt_simulation <- function(x, ...) knit_summary(x, ...)

#' @exportS3Method knitr::knit_print
knit_print.dt_solution_comparison <- function(x, ...) knit_summary(x, ...)

#' @exportS3Method knitr::knit_print
knit_print.dt_sparse_dependence <- function(x, ...) knit_summary(x, ...)

#' @exportS3Method knitr::knit_print
knit_print.dt_stability <- function(x, ...) knit_summary(x, ...)

#' @exportS3Method knitr::knit_print
knit_print.dt_structure <- function(x, ...) knit_summary(x, ...)

#' @exportS3Method knitr::knit_print
knit_print.dt_survey_design <- function(x, ...) knit_summary(x, ...)

#' @exportS3Method knitr::knit_print
knit_print.dt_vuong <- function(x, ...) knit_summary(x, ...)

# The loadings, or the first table there is, as a flextable with its title and notes.
flextable_of <- function(x, ...) {
  tables <- dt_tables(x, style = "apa")
  loadings <- grep("^Standardized loadings|^Latent Variables", names(tables))
  frame <- tables[[if (length(loadings)) loadings[1] else 1]]
  names(frame)[names(frame) == ""] <- " "
  table <- flextable::flextable(frame)
  table <- flextable::set_caption(table, names(tables)[if (length(loadings)) loadings[1] else 1])
  numbers <- which(attr(frame, "alignment") == "r")
  table <- flextable::align(table, j = numbers, align = "right", part = "all")
  notes <- attr(frame, "notes")
  if (length(notes)) {
    table <- flextable::add_footer_lines(table, paste("Note.", paste(notes, collapse = " ")))
  }
  flextable::autofit(table)
}

#' @exportS3Method flextable::as_flextable
as_flextable.dt_fit <- function(x, ...) flextable_of(x, ...)

#' @exportS3Method flextable::as_flextable
as_flextable.dt_cfa <- function(x, ...) flextable_of(x, ...)
