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
    forced = forced_python(),
    environment = reticulate::virtualenv_exists(environment_name)
  )
}

# The Python that RETICULATE_PYTHON names, "" if none; "managed" leaves the choice to reticulate.
forced_python <- function() {
  named <- Sys.getenv("RETICULATE_PYTHON")
  if (identical(named, "managed")) "" else named
}

use_planned_python <- function() {
  plan <- python_plan(what_is_found())
  switch(plan$action,
    python = reticulate::use_python(plan$target, required = TRUE),
    virtualenv = reticulate::use_virtualenv(plan$target, required = TRUE)
  )
  invisible(plan)
}

#' Say what dtstat finds, and what to do if something is missing
#'
#' @return A list of what was found, invisibly; printed in plain words.
#' @export
#' @examples
#' dt_sitrep()
dt_sitrep <- function() {
  found <- c(what_is_found(), environment_found(), forced_found())
  works <- dt_available()
  hello <- if (works) bridge()$hello() else NULL
  lines <- c(
    "R package" = paste("dtstat", utils::packageVersion("dtstat")),
    "reticulate" = format(utils::packageVersion("reticulate")),
    "RETICULATE_PYTHON" = if (nzchar(found$forced)) found$forced else "not set",
    "dtstat.python" = found$option,
    "environment" = paste(environment_name, environment_state(found)),
    "Python" = if (works) hello$executable else "not usable",
    "Python part" = if (works) paste("dtstat", hello$version) else the$reason,
    "What to do" = if (!works) what_to_do(found)
  )
  for (label in names(lines)) {
    said <- strwrap(
      lines[[label]], getOption("width"), initial = sprintf("%-19s", paste0(label, ":")),
      prefix = strrep(" ", 19)
    )
    cat(said, sep = "\n")
  }
  invisible(list(found = found, plan = python_plan(found), works = works, hello = hello))
}

environment_state <- function(found) {
  if (!found$environment) return("(missing)")
  used <- if (nzchar(found$forced)) ", not used because of RETICULATE_PYTHON" else ""
  state <- if (is.null(found$version)) {
    "broken"
  } else if (found$version < oldest_python) {
    paste0("too old: Python ", found$version)
  } else {
    paste("Python", found$version)
  }
  paste0("(", state, used, ")")
}

what_to_do <- function(found) {
  if (!is.null(found$option)) {
    return(paste0(
      "the option dtstat.python decides; unset it, or install dtstat for ", found$option, "."
    ))
  }
  if (nzchar(found$forced)) {
    refused <- install_plan(found)$refuse
    if (!is.null(refused)) return(refused)
    return("RETICULATE_PYTHON decides. install_dtstat() installs for it; then restart R.")
  }
  if (found$running) return("another Python is running in this session. Restart R.")
  "run install_dtstat() once, then restart R."
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
