# Which Python to use. The decision is a pure function of what was found, so that it can be tested.

#' Decide which Python to use
#'
#' @param found A list: `running` (is Python running), `forced` (the variable RETICULATE_PYTHON),
#'   `option` (the option dtstat.python), `environment` (does the virtual environment exist).
#' @return A list: `action` ("none", "python" or "virtualenv") and `target`.
#' @noRd
python_plan <- function(found) {
  if (isTRUE(found$running)) return(list(action = "none", target = NULL))
  if (!is.null(found$option)) return(list(action = "python", target = found$option))
  if (nzchar(found$forced)) return(list(action = "none", target = NULL))
  if (isTRUE(found$environment)) return(list(action = "virtualenv", target = environment_name))
  list(action = "none", target = NULL)
}

environment_name <- "r-dtstat"

what_is_found <- function() {
  list(
    running = reticulate::py_available(initialize = FALSE),
    option = getOption("dtstat.python"),
    forced = Sys.getenv("RETICULATE_PYTHON"),
    environment = reticulate::virtualenv_exists(environment_name)
  )
}

use_planned_python <- function() {
  plan <- python_plan(what_is_found())
  switch(plan$action,
    python = reticulate::use_python(plan$target, required = TRUE),
    virtualenv = reticulate::use_virtualenv(plan$target, required = TRUE)
  )
  invisible(plan)
}

#' Install the Python part of dtstat
#'
#' Makes a virtual environment and installs dtstat into it. Needed once; restart R afterwards.
#'
#' @param source What to install: `NULL` for the wheel that comes with this R package, the path of a
#'   wheel or of a checkout, or "registry" for the published package.
#' @param python Python to make the environment with, 3.11 or newer; `NULL` for the one found.
#' @param extras Optional parts, such as "neural" or "survey".
#' @return The name of the environment, invisibly.
#' @export
#' @examples
#' \dontrun{
#' install_dtstat()
#' }
install_dtstat <- function(source = NULL, python = NULL, extras = character()) {
  target <- install_target(source, extras)
  # R puts its own libraries first, with which a child Python may not find its own.
  before <- Sys.getenv("LD_LIBRARY_PATH", NA)
  Sys.unsetenv("LD_LIBRARY_PATH")
  on.exit(if (!is.na(before)) Sys.setenv(LD_LIBRARY_PATH = before))
  if (!reticulate::virtualenv_exists(environment_name)) {
    without_prompts(
      reticulate::virtualenv_create(environment_name, python = python, packages = FALSE)
    )
  }
  reticulate::virtualenv_install(environment_name, target, ignore_installed = FALSE)
  message("Installed. Restart R; dt_sitrep() then says what is found.")
  invisible(environment_name)
}

install_target <- function(source, extras, wheels = system.file("python", package = "dtstat")) {
  if (is.null(source)) {
    source <- sort(list.files(wheels, "\\.whl$", full.names = TRUE), decreasing = TRUE)[1]
    if (is.na(source)) {
      stop_input("This copy of the package carries no wheel. Give the path of one as `source`.")
    }
  } else if (identical(source, "registry")) {
    source <- "dtstat"
  } else if (!file.exists(source)) {
    stop_input("`source` must be a file, a folder or \"registry\"; there is no '", source, "'.")
  }
  if (length(extras)) paste0(source, "[", paste(extras, collapse = ","), "]") else source
}

#' Say what dtstat finds, and what to do if something is missing
#'
#' @return A list of what was found, invisibly; printed in plain words.
#' @export
#' @examples
#' dt_sitrep()
dt_sitrep <- function() {
  found <- what_is_found()
  plan <- python_plan(found)
  works <- dt_available()
  hello <- if (works) bridge()$hello() else NULL
  lines <- c(
    paste("R package:     dtstat", utils::packageVersion("dtstat")),
    paste("reticulate:   ", utils::packageVersion("reticulate")),
    paste("environment:  ", environment_name, if (found$environment) "(exists)" else "(missing)"),
    paste("Python:       ", if (works) hello$executable else "not usable"),
    paste("Python part:  ", if (works) paste("dtstat", hello$version) else the$reason),
    if (!works) "What to do:    run install_dtstat() once, then restart R."
  )
  cat(lines, sep = "\n")
  invisible(list(found = found, plan = plan, works = works, hello = hello))
}

#' Is the Python part of dtstat usable?
#'
#' @return `TRUE` or `FALSE`; nothing is installed and nothing is asked.
#' @export
#' @examples
#' dt_available()
dt_available <- function() {
  tryCatch(
    {
      bridge()
      TRUE
    },
    error = function(e) {
      the$reason <- conditionMessage(e)
      FALSE
    }
  )
}

#' Show where the last internal error came from
#'
#' @return The text, invisibly.
#' @export
#' @examples
#' dt_last_traceback()
dt_last_traceback <- function() {
  text <- if (is.null(the$traceback)) "There was no internal error." else the$traceback
  cat(text, "\n")
  invisible(text)
}
