# What pictures show and a fit does not keep: it takes seconds, or is much.

#' Score the structures along the path
#'
#' What [dt_fit()] would have said of every structure that has one threshold for all factors. Up to
#' a hundred structures are fitted, which takes seconds for 60 items.
#'
#' @param fit Result of [dt_fit()].
#' @return A data frame, one row per interval of thresholds: `tau_low` (included), `tau_high`
#'   (excluded), `n_factors`, `n_loadings`, `n_covered`, `margin`, and `ebic`, `bic`, `aic` of the
#'   structure, completed as in the search and with the rows counted as `n_effective`, as in the column
#'   `cost` of `candidates`; `NA` for short-lived ones if there are very many.
#' @seealso `plot(fit, "path")`, [dt_path()]
#' @export
#' @examples
#' if (dt_available()) {
#'   scores <- dt_path_scores(dt_fit(dt_dataset("holzinger_swineford_9")))
#'   scores[which.min(scores$ebic), ]
#' }
dt_path_scores <- function(fit) {
  must_be(fit, "dt_fit", "fit", "dt_fit()")
  without_nan(ask("path_scores", list(state = fit$state), call = match.call()))
}

#' Item response curves
#'
#' Mean answers by the value of a factor, on the scale of the item. Fits with curves (the
#' estimators "spline", "neural" and "variational") have estimated them; else items bend as their
#' distributions do.
#'
#' @param fit Result of [dt_fit()] for answers; a matrix of dependence has none.
#' @return A data frame: `item`, `factor`, `z` (value of the factor), `value` (mean answer there,
#'   averaged over other factors of the item), `lower` and `upper` (95 % band, `NA` where none is
#'   known).
#' @seealso `plot(fit, "curves")`
#' @export
#' @examples
#' if (dt_available()) {
#'   head(dt_response_curves(dt_fit(dt_dataset("holzinger_swineford_9"))))
#' }
dt_response_curves <- function(fit) {
  must_be(fit, "dt_fit", "fit", "dt_fit()")
  if (!is.null(fit$curves)) return(fit$curves)
  without_nan(ask("response_curves", list(state = fit$state), call = match.call()))
}

#' Write a report about a fit
#'
#' As a page, one file with the whole analysis, for a browser. It opens on the answer: the factors
#' with their items and loadings, and how sure they are. Then the tree and all thresholds to explore,
#' descriptives, reliability, curves, and how to reproduce it. It needs no network and can be sent to
#' anybody. As a Word document, what an article says: loadings, factor correlations, levels, fit and
#' how sure it is, as tables in APA style, with the path diagram and how to reproduce it.
#'
#' @param fit Result of [dt_fit()].
#' @param file Where to write it: "report.html" for the page, "report.docx" for the document (needs
#'   python-docx beside dtstat). The folder must be there.
#' @param diagnosis Result of [dt_diagnose()] with the data, for intervals; made without them if
#'   omitted.
#' @param stability Result of [dt_stability()], to include in the report.
#' @param title Title of the page; generated from the result if omitted.
#' @param data The answers that were fitted: short for `diagnosis = dt_diagnose(fit, data)`.
#' @param open Show it in a browser?
#' @param overwrite Replace a file of that name that is not a page of dtstat? One that is, is replaced; a
#'   document, which may have been edited, is not.
#' @param progress Show a bar?
#' @return The path of the file, invisibly.
#' @export
#' @examples
#' if (dt_available()) {
#'   fit <- dt_fit(dt_dataset("holzinger_swineford_9"))
#'   dt_report(fit, tempfile(fileext = ".html"), open = FALSE)
#' }
dt_report <- function(fit, file = "report.html", diagnosis = NULL, stability = NULL,
                      title = NULL, data = NULL, open = interactive(), overwrite = FALSE,
                      progress = interactive()) {
  must_be(fit, "dt_fit", "fit", "dt_fit()")
  if (!is.null(diagnosis)) must_be(diagnosis, "dt_diagnosis", "diagnosis", "dt_diagnose()")
  if (!is.null(stability)) must_be(stability, "dt_stability", "stability", "dt_stability()")
  if (!(is.character(file) && length(file) == 1 && !is.na(file))) {
    stop_input("`file` must be the path of a file.")
  }
  if (!dir.exists(dirname(file))) stop_input("There is no folder '", dirname(file), "'.")
  if (is.null(diagnosis) && !is.null(data)) diagnosis <- dt_diagnose(fit, data, progress = progress)
  arguments <- list(
    state = fit$state,
    # Absolute: Python keeps the folder it was started in, wherever R has gone since.
    path = file.path(normalizePath(dirname(file)), basename(file)),
    diagnosis = diagnosis, stability = stability, title = title, overwrite = overwrite
  )
  written <- ask("report", arguments, progress, match.call())
  if (isTRUE(open)) utils::browseURL(written) else message("Wrote ", file)
  invisible(written)
}
