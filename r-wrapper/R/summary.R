# Summaries: of what has more to say than its print shows, and of the rest what it prints.

#' @export
summary.dt_path <- function(object, ...) structure(list(text = object$text), class = "summary.dt_text")

#' @export
summary.dt_margin <- function(object, ...) structure(list(margin = object), class = "summary.dt_margin")

#' @export
print.summary.dt_text <- print_text

#' @export
print.summary.dt_margin <- function(x, digits = 3, ...) {
  print(x$margin, digits = digits)
  print(x$margin$factors, digits = digits, row.names = FALSE)
  invisible(x)
}

# They say all they have to say at once.
summary_text <- function(object, ...) object

#' @export
summary.dt_efa <- summary_text

#' @export
summary.dt_diagnosis <- summary_text

#' @export
summary.dt_stability <- summary_text

#' @export
summary.dt_plan <- summary_text

#' @export
summary.dt_parallel_analysis <- summary_text

#' @export
summary.dt_invariance <- summary_text

#' @export
summary.dt_score_test <- summary_text

#' @export
summary.dt_vuong <- summary_text

#' @export
summary.dt_bootstrap <- summary_text

#' @export
summary.dt_model_power <- summary_text

#' @export
summary.dt_structure <- summary_text

#' @export
summary.dt_comparison <- summary_text

#' @export
summary.dt_dependence <- summary_text

#' @export
summary.dt_sparse_dependence <- summary_text

#' @export
summary.dt_survey_design <- summary_text

#' @export
summary.dt_simulation <- summary_text

#' @export
summary.dt_solution_comparison <- summary_text

#' @export
summary.dt_factor_table <- summary_text
