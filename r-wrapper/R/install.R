# Installing the Python part: into an environment of its own, repaired where it is broken.

oldest_python <- numeric_version("3.11")

#' Install the Python part of dtstat
#'
#' Makes a virtual environment, "r-dtstat", and installs dtstat into it. Needed once; restart R
#' afterwards. Run it again after an update of the R package, or if something is broken: an environment
#' whose Python is too old or gone, or whose installation was cut short, is made anew.
#'
#' If the variable RETICULATE_PYTHON is set, R uses that Python and no other, so dtstat is installed for
#' it, and a message says so.
#'
#' @param source What to install: `NULL` for the wheel that comes with this R package, the path of a
#'   wheel or of a checkout, or "registry" for the published package.
#' @param python Python to make the environment with, 3.11 or newer; `NULL` for the first one found.
#' @param extras Optional parts: "regression" for [dt_regress()], "office" for documents of Word and Excel;
#'   "neural", which is large, for [dt_fit()] with the estimator "neural".
#' @return The Python that dtstat is installed for, invisibly.
#' @export
#' @examples
#' \dontrun{
#' install_dtstat()
#' }
install_dtstat <- function(source = NULL, python = NULL, extras = c("regression", "office")) {
  target <- install_target(source, extras)
  found <- c(what_is_found(), environment_found(), forced_found())
  plan <- install_plan(found, python)
  if (!is.null(plan$refuse)) stop_input(plan$refuse)
  if (!is.null(plan$why)) message(plan$why)
  if (plan$action == "make") remake_environment(python)
  installed <- if (plan$action == "into") found$forced else environment_python()
  problem <- install_into(installed, target)
  if (!is.null(problem) && plan$action == "update") {
    message("The environment is damaged (", problem, "). Making it anew.")
    remake_environment(python)
    installed <- environment_python()
    problem <- install_into(installed, target)
  }
  if (!is.null(problem)) stop_input("dtstat could not be installed for ", installed, ": ", problem, ".")
  message("Installed for ", installed, ". Restart R; dt_sitrep() then says what is found.")
  invisible(installed)
}

#' Decide what to do with what is there
#'
#' @param found As of [what_is_found()], with `version` of the environment's Python (`NULL` if it does not
#'   run or has no pip) and `forced_version` of the Python that RETICULATE_PYTHON names.
#' @param python Asked for by the user.
#' @return A list: `action` ("into": the Python of RETICULATE_PYTHON; "make" the environment, or "update"
#'   it), `why` in words, or `refuse`.
#' @noRd
install_plan <- function(found, python = NULL) {
  forced <- found$forced
  if (nzchar(forced)) {
    free <- "or remove RETICULATE_PYTHON from .Renviron and restart R."
    if (is.null(found$forced_version)) {
      return(list(refuse = paste0(
        "RETICULATE_PYTHON is ", forced, ", which does not run or has no pip. Correct it, ", free
      )))
    }
    if (found$forced_version < oldest_python) {
      return(list(refuse = paste0(
        "RETICULATE_PYTHON is ", forced, ", Python ", found$forced_version, "; dtstat needs ",
        oldest_python, " or newer. Name a newer one, ", free
      )))
    }
    if (!is.null(python)) {
      return(list(refuse = paste0(
        "R will use RETICULATE_PYTHON, ", forced, ", and not `python`. Leave one of them out."
      )))
    }
    return(list(action = "into", why = paste0(
      "RETICULATE_PYTHON is set: installing for ", forced, ", which R uses."
    )))
  }
  if (!found$environment) return(list(action = "make"))
  if (is.null(found$version)) {
    return(list(action = "make", why = "The environment r-dtstat is broken. Making it anew."))
  }
  if (found$version < oldest_python) {
    return(list(action = "make", why = paste0(
      "The environment r-dtstat has Python ", found$version, "; dtstat needs ", oldest_python,
      " or newer. Making it anew."
    )))
  }
  if (!is.null(python)) return(list(action = "make", why = "Making r-dtstat anew with that Python."))
  list(action = "update")
}

environment_python <- function() {
  tryCatch(reticulate::virtualenv_python(environment_name), error = function(e) "")
}

environment_found <- function() {
  list(version = if (reticulate::virtualenv_exists(environment_name)) {
    python_version(environment_python(), "pip")
  })
}

forced_found <- function() {
  forced <- forced_python()
  list(forced_version = if (nzchar(forced)) python_version(forced, "pip"))
}

remake_environment <- function(python = NULL) {
  python <- find_python(python)
  if (reticulate::py_available(initialize = FALSE)) {
    running <- reticulate::py_config()$python
    if (startsWith(running, dirname(dirname(environment_python())))) {
      stop_input("The environment is in use in this session. Restart R and run install_dtstat() first.")
    }
  }
  folder <- file.path(reticulate::virtualenv_root(), environment_name)
  unlink(path.expand(folder), recursive = TRUE)
  outside_r(without_prompts(
    reticulate::virtualenv_create(environment_name, python = python, packages = FALSE)
  ))
}

# The Python that was asked for, or the first that will do.
find_python <- function(python = NULL) {
  if (!is.null(python)) {
    version <- python_version(path.expand(python))
    if (is.null(version)) {
      stop_input("`python` is '", python, "', which does not run or cannot make environments (venv).")
    }
    if (version < oldest_python) {
      stop_input("`python` is Python ", version, "; dtstat needs ", oldest_python, " or newer.")
    }
    return(path.expand(python))
  }
  newest <- paste0("python3.", 14:11)
  for (path in Sys.which(c("python3", "python", newest))) {
    version <- if (nzchar(path)) python_version(path)
    if (!is.null(version) && version >= oldest_python) return(unname(path))
  }
  stop(condition(
    paste0(
      "Python ", oldest_python, " or newer was not found. Install it (from python.org, or by ",
      "reticulate::install_python(\"3.12:latest\")) and give its path: install_dtstat(python = ...)."
    ),
    c("dtstat_error_no_python", "dtstat_error", "error")
  ))
}

# Version of a Python that runs and has the modules that are needed; NULL if it does not.
python_version <- function(python, modules = "venv, ensurepip") {
  code <- paste0("import sys, ", modules, "; print('%d.%d.%d' % sys.version_info[:3])")
  said <- tryCatch(
    suppressWarnings(
      outside_r(system2(path.expand(python), c("-c", shQuote(code)), stdout = TRUE, stderr = FALSE))
    ),
    error = function(e) character()
  )
  if (length(said) == 1 && grepl("^[0-9]+[.][0-9]+[.][0-9]+$", said)) numeric_version(said)
}

# Install, and try what was installed; NULL if it works, else what is wrong.
install_into <- function(python, target) {
  run <- function(...) outside_r(system2(path.expand(python), c(...)))
  # A wheel of the same version would be skipped, and half an installation taken for a whole one.
  run("-m", "pip", "uninstall", "--quiet", "--yes", "dtstat")
  options <- c("--quiet", "--disable-pip-version-check")
  if (run("-m", "pip", "install", options, shQuote(target)) != 0) return("pip failed, as said above")
  code <- shQuote("import dtstat.interop.r_bridge")
  said <- suppressWarnings(
    outside_r(system2(path.expand(python), c("-c", code), stdout = TRUE, stderr = TRUE))
  )
  if (!is.null(attr(said, "status"))) return(utils::tail(said, 1))
  message("Compiling what a first fit needs, for half a minute ...")
  run("-m", "dtstat", "compile")  # if this fails, the fits compile
  NULL
}

# R puts its own libraries first, with which a child Python may not find its own; and a PYTHONPATH of
# the session is not what is installed.
outside_r <- function(code) {
  variables <- c("LD_LIBRARY_PATH", "PYTHONPATH")
  before <- Sys.getenv(variables, NA)
  Sys.unsetenv(variables)
  on.exit(for (name in variables) if (!is.na(before[[name]])) do.call(Sys.setenv, as.list(before[name])))
  force(code)
}

install_target <- function(source, extras, wheels = system.file("python", package = "dtstat")) {
  if (is.null(source)) {
    source <- sort(list.files(wheels, "\\.whl$", full.names = TRUE), decreasing = TRUE)[1]
    if (is.na(source)) {
      stop_input(
        "This copy of the package carries no wheel. Give the path of one, or of a checkout, as `source`."
      )
    }
  } else if (identical(source, "registry")) {
    source <- "dtstat"
  } else if (!file.exists(source)) {
    stop_input("`source` must be a file, a folder or \"registry\"; there is no '", source, "'.")
  }
  if (!identical(source, "dtstat")) source <- normalizePath(source)
  if (length(extras)) paste0(source, "[", paste(extras, collapse = ","), "]") else source
}
