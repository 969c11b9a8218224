# The way to Python: found once, started at the first call, never at load.

the <- new.env(parent = emptyenv())

protocol <- 1L

bridge <- function() {
  if (is.null(the$bridge)) the$bridge <- connect()
  the$bridge
}

connect <- function() {
  if (identical(commandArgs()[1], "rpy2")) {
    stop(condition(
      paste(
        "This R runs inside Python (rpy2), and a second Python inside it would bring both down.",
        "Use the Python package dtstat itself."
      ),
      c("dtstat_error_rpy2", "dtstat_error", "error")
    ))
  }
  use_planned_python()
  module <- tryCatch(
    without_prompts(reticulate::import("dtstat.interop.r_bridge", convert = TRUE)),
    error = function(e) stop(no_module(conditionMessage(e)))
  )
  check_protocol(module$hello())
  module
}

check_protocol <- function(hello) {
  if (hello$protocol == protocol) return(invisible(hello))
  message <- paste0(
    "This R package speaks version ", protocol, " of its protocol, its Python part (",
    hello$version, ") version ", hello$protocol, ". Run install_dtstat() and restart R."
  )
  stop(condition(message, c("dtstat_error_protocol", "dtstat_error", "error")))
}

# reticulate before 1.41 offers to install Miniconda when it finds no Python, and 1.28 takes every
# pyproject.toml, also that of a checkout of dtstat, for a project of Poetry's.
without_prompts <- function(code) {
  before <- Sys.getenv("RETICULATE_MINICONDA_ENABLED", NA)
  Sys.setenv(RETICULATE_MINICONDA_ENABLED = "FALSE")
  on.exit(if (is.na(before)) Sys.unsetenv("RETICULATE_MINICONDA_ENABLED") else
    Sys.setenv(RETICULATE_MINICONDA_ENABLED = before))
  withCallingHandlers(code, warning = function(w) {
    if (grepl("appears to use Poetry", conditionMessage(w), fixed = TRUE)) invokeRestart("muffleWarning")
  })
}

no_module <- function(reason) {
  python <- tryCatch(reticulate::py_config()$python, error = function(e) NULL)
  forced <- forced_python()
  named <- if (nzchar(forced)) paste0(" RETICULATE_PYTHON is set to ", forced, ".")
  first <- strsplit(reason, "\n")[[1]][1]
  message <- if (is.null(python)) {
    paste0(
      "Python ", oldest_python, " or newer was not found.", named,
      " Run install_dtstat() once, then restart R; dt_sitrep() says more."
    )
  } else {
    paste0(
      "The Python part of dtstat is not installed for ", python, " (", first, ").", named,
      " Run install_dtstat() once, then restart R; dt_sitrep() says more."
    )
  }
  kind <- if (is.null(python)) "dtstat_error_no_python" else "dtstat_error_no_module"
  condition(message, c(kind, "dtstat_error", "error"))
}

# Call a function of Python; `arguments` by name.
ask <- function(name, arguments, progress = FALSE, call = sys.call(-1)) {
  encoded <- Map(encode, in_lower_case(arguments, name), names(arguments))
  module <- bridge()
  answer <- module$call(name, reticulate::dict(encoded), progress_of(progress))
  data <- data_argument(name)
  warn_again(answer$warnings, call, data)
  if (!isTRUE(answer$ok)) raise(answer$error, call, data)
  decode(answer$value)
}

# Choices may be written in capitals, as in psych and lavaan: "Spearman", "Varimax", "MLR".
choices <- c(
  "measure", "search", "estimator", "criterion", "uncovered", "missing", "misfit", "rotation",
  "scheme", "information", "se", "test", "parameterization", "latent", "second_parent"
)

in_lower_case <- function(arguments, name) {
  if (name == "dependence_matrix") return(arguments) # a measure of any name
  given <- names(arguments) %in% choices
  arguments[given] <- lapply(arguments[given], lower_case)
  arguments
}

# What R calls the argument `data` of Python.
data_argument <- function(name) {
  switch(name, predict = "newdata", diagnose = , report = , bootstrap = , vuong = , regress = ,
    plausible_values = "data",
    fit_reliability = "answers", "x")
}

# A bar for each phase, none while the call is so young that it may end at once.
progress_of <- function(progress, patience = 1) {
  if (!isTRUE(progress)) return(NULL)
  bar <- NULL
  began <- proc.time()[["elapsed"]]
  function(done, total) {
    shown <- done < total && proc.time()[["elapsed"]] - began >= patience
    if (is.null(bar) && shown) bar <<- utils::txtProgressBar(max = total, style = 3)
    if (!is.null(bar)) utils::setTxtProgressBar(bar, done)
    if (!is.null(bar) && done >= total) {
      close(bar)
      bar <<- NULL # work may have several phases
    }
    invisible(NULL)
  }
}
