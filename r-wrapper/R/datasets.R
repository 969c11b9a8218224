#' Data sets that come with dtstat
#'
#' `dt_datasets()` lists them, `dt_dataset()` loads one.
#'
#' @param name One of the names that `dt_datasets()` lists.
#' @return `dt_datasets()`: a data frame with the columns `name`, `rows`, `items`, `title` and
#'   `source`. `dt_dataset()`: a data frame, one row a person or country, one column an item; `NA`
#'   where an answer is missing.
#' @export
#' @examples
#' if (dt_available()) {
#'   dt_datasets()[c("name", "rows", "items")]
#'   head(dt_dataset("holzinger_swineford_9"))
#' }
dt_datasets <- function() ask("datasets", list())

#' @rdname dt_datasets
#' @export
dt_dataset <- function(name) {
  without_nan(ask("load_dataset", list(name = name), call = match.call()))
}

#' Save a result to a file, and read it again
#'
#' The files are the same in R and in Python, so that a colleague may go on in the other language.
#' Among R users `saveRDS()` does as well. Saving needs no Python.
#'
#' @param x A result of [dt_fit()], [dt_cfa()], [dt_sem()], [dt_diagnose()], [dt_stability()] or
#'   [dt_plan()].
#' @param path The file.
#' @return `dt_save()`: the path, invisibly. `dt_load()`: the result, with all its parts.
#' @export
#' @examples
#' if (dt_available()) {
#'   fit <- dt_cfa(dt_dataset("holzinger_swineford_9"), "speed =~ x7 + x8 + x9")
#'   file <- tempfile(fileext = ".dtstat")
#'   dt_save(fit, file)
#'   dt_load(file)$n_obs
#' }
dt_load <- function(path) {
  call <- match.call()
  if (!(is.character(path) && length(path) == 1)) stop_input("`path` must be the name of a file.")
  as_result(ask("load", list(path = path.expand(path)), call = call), call)
}

#' @rdname dt_load
#' @export
dt_save <- function(x, path) {
  if (!(is.list(x) && is.raw(x$state))) {
    stop_input("`x` must be a result that can be saved, such as of dt_fit(); use saveRDS().")
  }
  tryCatch(
    writeBin(x$state, path.expand(path)),
    error = function(e) stop_input("Cannot write '", path, "'. Is there such a folder?"),
    warning = function(w) stop_input("Cannot write '", path, "': ", conditionMessage(w), ".")
  )
  invisible(path)
}
