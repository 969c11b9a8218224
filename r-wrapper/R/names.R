#' Other names, or signs, of the factors of a fit
#'
#' `dt_rename()` returns the same fit with other names of factors; `dt_reflect()` one with some factors
#' reversed, so that high is low: loadings, factor correlations, scores and curves change sign, and
#' nothing is estimated anew. Names and signs are carried over to tables, plots, the page, scores, files,
#' [dt_level()], and the models that [dt_cfa()] and lavaan make of the fit.
#'
#' @param fit Result of [dt_fit()].
#' @param names New names: a named vector or list such as `c(F1 = "Agreeableness")` for some of the
#'   factors, or a vector with a name for each.
#' @param factors Names of the factors to reverse.
#' @return An object of class `dt_fit`; `dt_suggest_names()` returns a named list.
#' @export
#' @examples
#' if (dt_available()) {
#'   fit <- dt_fit(dt_dataset("holzinger_swineford_9"))
#'   fit <- dt_rename(fit, c(F1 = "visual", F2 = "verbal", F3 = "speed"))
#'   coef(dt_reflect(fit, "speed"))
#'   dt_suggest_names(fit)
#' }
dt_rename <- function(fit, names) {
  must_be(fit, "dt_fit", "fit", "dt_fit()")
  call <- match.call()
  as_result(ask("rename", list(state = fit$state, names = as.list(names)), call = call), call)
}

#' @rdname dt_rename
#' @export
dt_reflect <- function(fit, factors) {
  must_be(fit, "dt_fit", "fit", "dt_fit()")
  call <- match.call()
  as_result(ask("reflect", list(state = fit$state, factors = as.list(factors)), call = call), call)
}

#' @rdname dt_rename
#' @details `dt_suggest_names()` lists words that the items of a factor share and those of every other
#'   factor share less, as a hint for names; of English texts only. Words are not meanings: read the
#'   items. It needs the texts of the items: `labels` of [dt_fit()], or columns with a `label`, as
#'   haven reads them.
#' @export
dt_suggest_names <- function(fit) {
  must_be(fit, "dt_fit", "fit", "dt_fit()")
  ask("suggest_names", list(state = fit$state), call = match.call())
}

# What the items ask, beside a table of them; cut where the line ends.
text_column <- function(items, texts, taken) {
  asked <- unlist(texts)[items]
  asked[is.na(asked)] <- ""
  room <- max(getOption("width") - taken - 2, 20)
  long <- nchar(asked) > room
  asked[long] <- paste0(trimws(substr(asked[long], 1, room - 1)), "\u2026")
  unname(asked)
}

# Texts of items, in any form R has them, as the list, the codebook or the file that Python reads.
given_labels <- function(labels) {
  if (is.null(labels)) return(NULL)
  if (is.data.frame(labels)) return(codebook(labels))
  if (is.character(labels) && length(labels) == 1 && is.null(names(labels))) return(path.expand(labels))
  if (is.null(names(labels))) {
    stop_input("`labels` must have the names of the items: c(A1 = \"its question\", ...).")
  }
  if (is.factor(labels)) labels <- stats::setNames(as.character(labels), names(labels))
  as.list(labels)
}

# Answers whose columns have labels, or a table of items; that of psych has them as row names.
codebook <- function(labels) {
  texts <- lapply(labels, attr, "label", exact = TRUE)
  texts <- texts[vapply(texts, is.character, NA)]
  if (length(texts)) return(lapply(texts, `[`, 1))
  labels <- data.frame(lapply(labels, function(x) if (is.factor(x)) as.character(x) else x),
                       row.names = row.names(labels), check.names = FALSE)
  if (is.character(attr(labels, "row.names"))) labels[["variable name"]] <- row.names(labels)
  labels
}
