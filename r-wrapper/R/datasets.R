#' Data sets that come with dtstat
#'
#' `dt_datasets()` lists them, `dt_dataset()` loads one.
#'
#' @param name One of the names that `dt_datasets()` lists.
#' @param people Add what is known of the people, for comparing groups? It is school and age of the
#'   children in the sets of Holzinger and Swineford.
#' @return `dt_datasets()`: a data frame with the columns `name`, `rows`, `items`, `title` and
#'   `source`. `dt_dataset()`: a data frame, one row per person or country, one column per item; `NA`
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
dt_dataset <- function(name, people = FALSE) {
  as_survey(without_nan(ask("load_dataset", list(name = name, people = people), call = match.call())))
}

#' A file as a survey program exports it
#'
#' To try reading one. "big_five_qualtrics.csv" has the answers of 560 people to 25 items of the
#' International Personality Item Pool, every fifth of psych's `bfi`, as Qualtrics would have exported them.
#'
#' @param name The file; there is one.
#' @return Its path, for [dt_read_survey()].
#' @export
#' @examples
#' if (dt_available()) {
#'   survey <- dt_read_survey(dt_example_file(), id = "ResponseId", columns = "A1-O5")
#'   survey[1:3, 1:2]
#' }
dt_example_file <- function(name = "big_five_qualtrics.csv") {
  ask("example_file", list(name = name), call = match.call())
}

#' Save a result to a file, and read it again
#'
#' The files are the same in R and in Python, so that a colleague may go on in the other language.
#' Among R users `saveRDS()` does as well. Saving needs no Python.
#'
#' @param x A result of [dt_fit()], [dt_cfa()], [dt_sem()], [dt_diagnose()], [dt_stability()] or
#'   [dt_plan()].
#' @param path The file, such as "fit.dtstat".
#' @param overwrite Replace a file of that name that is not a saved result? One that is, is replaced.
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
dt_save <- function(x, path, overwrite = FALSE) {
  if (!(is.list(x) && is.raw(x$state))) {
    stop_input("`x` must be a result that can be saved, such as of dt_fit(); use saveRDS().")
  }
  if (!(is.character(path) && length(path) == 1 && !is.na(path))) {
    stop_input("`path` must be the name of a file.")
  }
  check_saved_name(path.expand(path), isTRUE(overwrite))
  write_whole(x$state, path.expand(path))
  invisible(path)
}

# The twin of dtstat/core/files.py, for results that are saved without Python.
other_formats <- paste0(
  "^(csv|tsv|txt|json|xml|yaml|md|tex|html?|docx?|odt|rtf|pdf|xlsx?|ods|pptx?|png|jpe?g|gif|svg|",
  "tiff?|eps|ps|gz|z?sav|dta|rds|rda|rdata|parquet|feather|npy|npz|pkl|pickle|py|r|rmd|qmd|ipynb)$"
)

check_saved_name <- function(path, overwrite) {
  ending <- tolower(sub("^.*[.]", "", basename(path)))
  if (grepl("[^.][.]", basename(path)) && grepl(other_formats, ending)) {
    stop_input(
      "Cannot write '", path, "': what is written is a saved result, and '.", ending, "' is the ",
      "ending of another format. Give a name that ends in .dtstat, or use saveRDS() or ",
      "write.csv(tidy(x), path)."
    )
  }
  if (dir.exists(path)) stop_input("Cannot write '", path, "': it is a folder. Name a file in it.")
  if (file.exists(path) && file.size(path) > 0 && !overwrite && !is_saved(path)) {
    stop_input(
      "Cannot write '", path, "': it exists and is not a saved result that dtstat wrote. Give ",
      "another name, or overwrite = TRUE to replace it."
    )
  }
}

is_saved <- function(path) {
  tryCatch(
    {
      member <- unz(path, "metadata.json", "rb")
      on.exit(close(member))
      grepl("^\\{\"format\": \"dtstat result\"", readChar(member, 60, useBytes = TRUE))
    },
    error = function(e) FALSE, warning = function(w) FALSE
  )
}

# Whole or not at all: what was there before stays if anything goes wrong.
write_whole <- function(content, path) {
  path <- if (file.exists(path)) normalizePath(path) else path
  part <- tempfile(".part", dirname(path))
  on.exit(unlink(part))
  tryCatch(
    {
      writeBin(content, part)
      if (!file.rename(part, path)) stop("it cannot be replaced")
    },
    error = function(e) stop_input("Cannot write '", path, "'. Is there such a folder?"),
    warning = function(w) stop_input("Cannot write '", path, "': ", conditionMessage(w), ".")
  )
}
