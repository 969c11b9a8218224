#' Read the answers of a survey from a file
#'
#' For files as survey programs export them: Qualtrics (three header rows), Google Forms, Microsoft
#' Forms, LimeSurvey, REDCap, and csv, Excel, SPSS, Stata and parquet files. Texts such as "Strongly
#' disagree" to "Strongly agree" become ordered factors. A warning says what was recognized.
#'
#' @param path File that ends in .csv, .tsv, .txt (these also with .gz), .parquet, .xlsx, .sav, .zsav or
#'   .dta.
#' @param missing_codes Answers that mean "missing", such as `c(-9, 99)`; or a named list, from item to
#'   codes.
#' @param columns The items: names, patterns and ranges, as in `"A*, C1-C5"`, or a vector of such. By
#'   default all columns that are not kept aside.
#' @param drop Columns to leave out, written in the same way.
#' @param id Column that says whose answers they are; it becomes the row names, or, if an id occurs
#'   twice, is kept aside.
#' @param aside Columns to keep that are not items, such as `"age, gender"`.
#' @param levels Answers that are texts, from low to high, for all items that have no others; or a named
#'   list, from items (written as in `columns`) to answers. The usual scales in English need not be
#'   given.
#' @param labels Texts of the items: a named character vector or list, or a codebook, as a data frame or a
#'   file, with the columns item and text.
#' @param sheet Of an .xlsx file, the sheet: its name or number.
#' @param header_rows Number of rows above the answers: names, then questions, then others. Found by
#'   default.
#' @param progress Show a bar?
#' @return A data frame. The text of an item is the attribute `label` of its column, as in haven, and
#'   goes along into [dt_fit()] and [dt_describe()]. `attr(x, "aside")` names the columns that are no
#'   items, which all functions of dtstat leave out unless they are asked for one by name. A choice of
#'   rows or columns, as by `x[rows, ]`, `subset()` and `head()`, keeps both.
#' @seealso [dt_describe()] for what to look at next.
#' @export
#' @examples
#' if (dt_available()) {
#'   file <- tempfile(fileext = ".csv")
#'   writeLines(c("who,q1,q2,age", "a,Never,2,31", "b,Always,99,44", "c,Often,1,28"), file)
#'   answers <- suppressWarnings(
#'     dt_read_survey(file, missing_codes = 99, id = "who", aside = "age")
#'   )
#'   answers
#'   attr(answers, "aside")
#' }
dt_read_survey <- function(path, missing_codes = NULL, columns = NULL, drop = NULL, id = NULL,
                           aside = NULL, levels = NULL, labels = NULL, sheet = NULL,
                           header_rows = NULL, progress = interactive()) {
  call <- match.call()
  if (!(is.character(path) && length(path) == 1 && !is.na(path))) {
    stop_input("`path` must be the name of a file.")
  }
  if (is.list(levels)) levels <- lapply(levels, many)
  arguments <- list(
    path = path.expand(path), missing_codes = if (is.list(missing_codes)) lapply(missing_codes, many) else
      many(missing_codes), columns = columns, drop = drop, id = id, aside = aside,
    levels = if (is.list(levels)) levels else many(levels), labels = given_labels(labels), sheet = sheet,
    header_rows = header_rows
  )
  as_survey(without_nan(ask("read_survey", arguments, progress, call)))
}

# A data frame of which every part keeps the texts of its items and the names of what is no item.
as_survey <- function(frame) {
  class(frame) <- c("dt_survey", "data.frame")
  frame
}

#' @export
`[.dt_survey` <- function(x, ...) {
  part <- NextMethod()
  if (!is.data.frame(part)) return(part)
  for (name in intersect(names(part), names(x))) {
    # R drops it from plain vectors; factors and haven's columns keep it.
    if (is.null(attr(part[[name]], "label"))) attr(part[[name]], "label") <- attr(x[[name]], "label")
  }
  aside <- intersect(names(part), attr(x, "aside"))
  attr(part, "aside") <- if (length(aside)) aside
  part
}

#' Describe items, and screen items and people
#'
#' What to look at before anything is computed: answers, gaps, range, mean, spread, skew, floor and ceiling
#' of every item; codes out of range, copies and sums among the items; and rows that look careless:
#' long strings of equal answers, hardly any variability, unusual combinations (Mahalanobis distance),
#' disagreeing halves of scales (even-odd), the same answers as an earlier row.
#'
#' Each index is compared with that of attentive respondents, simulated from the marginal distributions
#' and correlations of these answers, so that a flag has a known share of false alarms. Flags are reasons to
#' look, and none to drop a row unseen.
#'
#' @param x Answers: a data frame or matrix, people in rows, items in columns. Items without answers and
#'   constant items are described, not refused.
#' @param keys Scales, for the even-odd index: a list of keys as psych has them, with a minus for reversed
#'   items, a structure, or a result of [dt_fit()]. At least three scales of two items.
#' @param limits Lowest and highest possible answer, `c(1, 5)`; or a named list, from item to both. By
#'   default the range that most ratings have.
#' @param level Share of attentive respondents whom each index may flag.
#' @param seed Of the simulated people; the same seed gives the same result.
#' @return An object of class `dt_description`, which `plot()` draws as bars: a list with `items` (a data frame with the columns item,
#'   kind, n, missing, min, max, mean, sd, skew, kurtosis, floor, ceiling and text; skew and kurtosis are
#'   of type 3, as in `psych::describe()`), `findings`, `people` (row, missing, the indices, and `flags`,
#'   "" for none), `flagged` (those with flags), `level`, `notes` and `bars` (numbers of answers, as printed).
#' @seealso [dt_read_survey()]
#' @export
#' @examples
#' if (dt_available()) {
#'   dt_describe(dt_dataset("likert_survey")[1:6])
#' }
dt_describe <- function(x, keys = NULL, limits = NULL, level = 0.001, seed = 1) {
  call <- match.call()
  if (is.list(keys) && is.null(attr(keys, "class"))) keys <- lapply(keys, many)
  arguments <- list(data = x, keys = keys, limits = limits, level = level, seed = seed)
  as_result(ask("describe", arguments, call = call), call)
}

#' @export
print.dt_description <- function(x, ...) print_text(x, ...)

#' @export
summary.dt_description <- function(object, ...) summary_text(object, ...)

#' @export
as.data.frame.dt_description <- function(x, ...) x$items

# Bars of every item, as high as the most frequent answer allows, the first item on top.
plot_answers <- function(items, bars) {
  answered <- which(vapply(bars, sum, 0) > 0)
  drawn <- do.call(rbind, lapply(answered, function(k) {
    counts <- bars[[k]]
    left <- (seq_along(counts) - 1) / length(counts)
    low <- length(items) - k + 0.6
    data.frame(
      left = left, right = left + 0.94 / length(counts), low = low, high = low + 0.8 * counts / max(counts)
    )
  }))
  ggplot2::ggplot(drawn) +
    ggplot2::geom_rect(
      ggplot2::aes(xmin = .data$left, xmax = .data$right, ymin = .data$low, ymax = .data$high),
      fill = ink[["blue"]]
    ) +
    ggplot2::scale_x_continuous(breaks = 0:1, labels = c("lowest", "highest answer")) +
    ggplot2::scale_y_continuous(breaks = rev(seq_along(items)), labels = items) +
    ggplot2::labs(x = NULL, y = NULL) +
    dt_theme() +
    ggplot2::theme(
      panel.grid = ggplot2::element_blank(),
      axis.text.y = ggplot2::element_text(size = label_size(length(items)))
    )
}
