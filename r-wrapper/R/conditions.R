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
    "read with missing_codes=\\[([^]]*)\\]" = "read with missing_codes = c(\\1)",
    "read_survey\\(path, (drop|aside)=\\[(['\"])(.*?)\\2\\]\\)" = "dt_read_survey(path, \\1 = \"\\3\")",
    "levels=\\{\"([^\"]*)\": \\[(.*?)\\]\\}" = "levels = list(`\\1` = c(\\2))",
    "missing_codes=\\[([^]]*)\\]" = "missing_codes = c(\\1)",
    "\\bNoneType\\b" = "NULL",
    "a DataFrame, a 2-d array or a path to a file" = "a data frame, a matrix or the path of a file",
    "an array of answers must have 2 dimensions; got 1" =
      "answers must be a data frame or a matrix; got a vector or list",
    "an array of answers" = "answers",
    "a dict from factor to items" = "a list of items by factor",
    "as a dict or a list" = "as a list",
    ", a numpy Generator or SeedSequence, or None" = " or NULL",
    " or a function of two columns" = "",
    "^regress\\(\\)" = "dt_regress()",
    "\\bCFAFit: " = "Model: ",
    "\\bSurveyDesign: " = "Design: ",
    "part of a SurveyDesign" = "part of a design",
    "\\bDataFrame\\b" = "data frame",
    "\\bNaN\\b" = "NA",
    "\\barray\\(\\[([^]]*)\\](, dtype=\\w+)?\\)" = "c(\\1)",
    "got (-?)inf\\b" = "got \\1Inf",
    "(?<=[0-9])\\.(?=[,)])" = "",
    "\\bto_keys\\(" = "as_keys(",
    "DependenceMatrix.from_matrix" = "dt_dependence_matrix",
    "DependenceMatrix:" = "Dependence:",
    "audit\\.outside" = "$outside",
    "\\bfit\\.level\\(k\\)" = "dt_level(fit, k)",
    "\\bto_lavaan\\(" = "as_lavaan(",
    "(See|more in) `?levels\\b`?" = "\\1 $levels",
    "\\b([a-z_]+)='(\\w+)'" = "\\1 = \"\\2\"",
    "a Structure, a fit, a dict from factor to items, or lavaan's syntax" =
      "a structure, a fit, a list from factor to items, or lavaan's syntax",
    "Structure\\(table\\)" = "dt_structure(x)",
    "Pass a DataFrame" = "Give a data frame",
    "got NoneType" = "got NULL",
    "got ndarray" = "got a matrix",
    "got DataFrame" = "got a data frame",
    "got dict" = "got a list",
    "got DTFit" = "got a result of dt_fit()",
    "got array\\(\\[([^]]*)\\]\\)" = "got c(\\1)",
    "ordered categorical" = "ordered factor",
    "Install it with: pip install \"dtstat\\[([a-z]+)\\]\".*$" =
      "Install it with install_dtstat(extras = \"\\1\") and restart R.",
    "A dict renames some of them" = "c(F1 = \"new\") renames some of them",
    "Turn it round: \\{'([^']*)': '([^']*)'\\}" = "Turn it round: c(\\1 = \"\\2\")",
    "labels=\\{'item': 'its question', \\.\\.\\.\\}" = "labels = c(item = \"its question\", ...)",
    "a dict from item to text" = "a named vector, item to text",
    "Give a dict from item to its question, as in labels=\\{'q1': 'I worry a lot'\\}" =
      "Give a named vector, as in labels = c(q1 = \"I worry a lot\")",
    "\\ba Structure\\b" = "a structure",
    "got None" = "got NULL",
    "got (-?[0-9]+)\\.0(?![0-9])" = "got \\1",
    "\\bNone\\b" = "NULL",
    "\\bTrue\\b" = "TRUE",
    "\\bFalse\\b" = "FALSE",
    "\\b([a-z_]+)=(TRUE|FALSE|NULL|[0-9.]+)" = "\\1 = \\2",
    "dtstat\\.([a-z_]+)\\(" = "dt_\\1(",
    "\\b(fit|plan|diagnose|stability|certify|cfa|sem|compare_models|vuong|score_test|dependence|survey_design|measures|bounds)\\(" = "dt_\\1(",
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
