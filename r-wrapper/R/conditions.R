# Errors and warnings with classes, so that code can tell them apart.

stop_input <- function(..., class = NULL, call = NULL) {
  stop(condition(paste0(...), c(class, "dtstat_error_input", "dtstat_error", "error"), call))
}

condition <- function(message, class, call = NULL, ...) {
  structure(class = c(class, "condition"), list(message = message, call = call, ...))
}

# The sentence in R's words.
in_r <- function(message, data = "data") {
  words <- c(
    "`data`" = paste0("`", data, "`"),
    "read the file with missing_codes=\\[([^]]*)\\], or replace it by NaN" = "set it to NA: x[x == \\1] <- NA",
    "DependenceMatrix.from_matrix" = "dt_dependence_matrix",
    "DependenceMatrix:" = "Dependence:",
    "audit\\.outside" = "$outside",
    "a Structure;" = "a structure;",
    "got None" = "got NULL",
    "got (-?[0-9]+)\\.0(?![0-9])" = "got \\1",
    "\\bNone\\b" = "NULL",
    "\\bTrue\\b" = "TRUE",
    "\\bFalse\\b" = "FALSE",
    "dtstat\\.([a-z_]+)\\(" = "dt_\\1(",
    "\\b(fit|plan|diagnose|stability|cfa|dependence|survey_design|measures|bounds)\\(" = "dt_\\1(",
    "\\bparallel_analysis\\(" = "dt_parallel_analysis(",
    "\\bsolution_path\\(" = "dt_path("
  )
  for (python in names(words)) message <- gsub(python, words[[python]], message, perl = TRUE)
  gsub("\\bdt_dt_", "dt_", message)
}

# What Python refused: the same sentence, with a class and without a traceback.
raise <- function(error, call = NULL, data = "data") {
  if (identical(error$class, "KeyboardInterrupt")) {
    signalCondition(condition("Interrupted.", "interrupt"))
    stop(condition("Interrupted.", c("dtstat_error_interrupted", "dtstat_error", "error"), call))
  }
  if (identical(error$class, "InternalError")) {
    the$traceback <- error$traceback
    message <- paste0(error$message, "\nThis is a mistake of dtstat. See dt_last_traceback().")
    stop(condition(message, c("dtstat_error_internal", "dtstat_error", "error"), call))
  }
  kind <- switch(error$class,
    InputError = "input", ModelSyntaxError = "input", EstimationError = "estimation",
    MissingExtraError = "missing_extra", ForkError = "fork", "other"
  )
  class <- c(paste0("dtstat_error_", kind), "dtstat_error", "error")
  argument <- if (identical(error$argument, "data")) data else error$argument
  stop(condition(in_r(error$message, data), class, call, argument = argument))
}

warn_again <- function(warnings, call = NULL, data = "data") {
  for (one in warnings) {
    kind <- if (identical(one$class, "DataWarning")) "data" else "estimation"
    class <- c(paste0("dtstat_warning_", kind), "dtstat_warning", "warning")
    warning(condition(in_r(one$message, data), class, call))
  }
}
