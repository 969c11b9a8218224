# Printing: everything from the parts of the object, so that it needs no Python.

# Results whose page was written when they were made.
print_text <- function(x, ...) {
  cat(in_r(x$text), "\n", sep = "")
  invisible(x)
}

#' @export
print.dt_fit <- function(x, cutoff = 0.3, digits = 2, ...) {
  print_head(x)
  cat("\n")
  if (!is.null(x$level_table)) print_levels(x$level_table)
  if (ncol(x$loadings)) {
    print_loadings(x, cutoff, digits)
    print_correlations(x$factor_correlations, digits)
    cat("\n")
    print_lines(fit_line(x$fit_measures), exdent = 5)
  }
  for (note in x$fit_notes) print_lines(in_r(note))
  for (note in x$notes) print_lines("Note: ", in_r(note), exdent = 6)
  invisible(x)
}

# The table that Python prints.
print_levels <- function(table) {
  cat("Levels:\n")
  cells <- do.call(cbind, lapply(table$cells, as.character))
  dimnames(cells) <- list(rep("", nrow(cells)), table$columns)
  print(cells, quote = FALSE, right = TRUE)
  for (note in table$notes) print_lines(in_r(note))
  cat("\n")
}

# Sentences, as wide as the console.
print_lines <- function(..., indent = 0, exdent = indent) {
  cat(strwrap(paste0(...), getOption("width"), indent, exdent), sep = "\n")
}

print_head <- function(x) {
  d <- ncol(x$loadings)
  found <- if (d == 0) "no factor" else if (d == 1) "1 factor" else paste(d, "factors")
  cat("Dependence thresholding: ", found, " behind ", nrow(x$loadings), " items\n", sep = "")
  cat("Call: ", paste(deparse(x$call), collapse = "\n"), "\n", sep = "")
  cat("Data: ", data_line(x), "\n", sep = "")
  print_lines("Choice: ", in_r(x$explanation), exdent = 8)
  for (line in x$evidence) print_lines(in_r(line), indent = 8)
}

data_line <- function(x) {
  about <- x$sample
  if (is.null(about)) return(paste0("a matrix of ", x$dependence$measure, " dependence, n = ", x$n_obs))
  gaps <- if (about$n_complete == about$n_used) "" else paste0(" (", about$n_complete, " complete)")
  paste0(
    about$n_used, " of ", about$n_given, " rows", gaps, ", ", x$dependence$measure, " dependence"
  )
}

print_loadings <- function(x, cutoff, digits) {
  shown <- x$loadings
  table <- format(round(shown, digits), nsmall = digits)
  table[abs(shown) < cutoff | shown == 0] <- ""
  marks <- ifelse(rownames(shown) %in% x$attached, "+", "")
  u2 <- round(x$uniquenesses, digits)
  table <- cbind(
    table, h2 = format(1 - u2, nsmall = digits), u2 = format(u2, nsmall = digits), " " = marks
  )
  print_lines(
    "Standardized loadings (blank: below ", cutoff, if (any(nzchar(marks))) "; + attached", "):"
  )
  if (length(x$item_texts)) {
    widths <- pmax(apply(nchar(table), 2, max), nchar(colnames(table)))
    taken <- max(nchar(rownames(shown))) + sum(widths + 1)
    texts <- text_column(rownames(shown), x$item_texts, taken)
    table <- cbind(table, format(c("text", texts))[-1])
    colnames(table)[ncol(table)] <- format("text", width = max(nchar(c("text", texts))))
  }
  print(table, quote = FALSE, right = TRUE)
  out <- x$uncovered$item
  if (length(out)) print_lines("In no factor: ", printable(out, ", "), exdent = 2)
}

# Names stay on their line, and command no terminal.
printable <- function(names, between = " ") {
  paste(encodeString(gsub("[\t\n\v\f\r]+", " ", names)), collapse = between)
}

print_correlations <- function(Phi, digits) {
  if (ncol(Phi) < 2) return(invisible())
  cat("\nFactor correlations:\n")
  print(round(Phi, digits))
}

fit_line <- function(m) {
  value <- function(name, digits = 3) formatC(m[[name]], digits = digits, format = "f")
  if (is.na(m[["pvalue"]])) return(paste0("Fit: SRMR ", value("srmr")))
  p <- if (m[["pvalue"]] < 0.0005) "p < 0.001" else paste("p =", value("pvalue"))
  paste0(
    "Fit: chi-square (adjusted) ", value("chisq", 1), " on ", m[["df"]], " df, ", p,
    "; CFI ", value("cfi"), ", TLI ", value("tli"), ", RMSEA ", value("rmsea"),
    " (90% interval ", value("rmsea.ci.lower"), " to ", value("rmsea.ci.upper"),
    "), SRMR ", value("srmr")
  )
}

#' Summarize a fit
#'
#' @param object A result of [dt_fit()].
#' @param cutoff Smaller loadings are left blank.
#' @param max_rows Structures listed as what else was possible.
#' @param intervals List every loading and factor correlation with its standard error and 95%
#'   interval?
#' @param ... Not used.
#' @return The fit, with a class that prints more of it.
#' @export
#' @examples
#' if (dt_available()) summary(dt_fit(dt_dataset("holzinger_swineford_9")))
summary.dt_fit <- function(object, cutoff = 0.3, max_rows = 5, intervals = FALSE, ...) {
  structure(
    list(fit = object, cutoff = cutoff, max_rows = max_rows, intervals = intervals),
    class = "summary.dt_fit"
  )
}

#' @export
print.summary.dt_fit <- function(x, digits = 2, ...) {
  print(x$fit, cutoff = x$cutoff, digits = digits)
  if (ncol(x$fit$loadings)) {
    cat("\nFactors and the thresholds they are seen at:\n")
    factors <- x$fit$factors[c("factor", "from", "to", "n_items", "n_unique", "core")]
    print(factors, digits = 3, row.names = FALSE)
    if (isTRUE(x$intervals)) print_intervals(x$fit$tidy)
  }
  if (x$max_rows > 0) print_candidates(x$fit, x$max_rows)
  invisible(x)
}

print_intervals <- function(tidy) {
  columns <- c("estimate", "std.error", "conf.low", "conf.high")
  known <- !all(is.na(tidy$std.error))
  cat("\nLoadings and factor correlations", if (known) ", with 95% intervals", ":\n", sep = "")
  shown <- format(round(tidy[if (known) columns else "estimate"], 3), nsmall = 3)
  print(cbind(tidy["term"], shown), row.names = FALSE)
  if (!known) cat("No standard errors: not tested.\n")
}

print_candidates <- function(fit, max_rows) {
  all <- fit$candidates
  found <- all[all$fitted, ]
  cat("\nAlternatives considered, best first:\n")
  by_cost <- !all(is.na(found$cost))
  held_out <- !all(is.na(found$held_out))
  scores <- if (held_out) c("held_out", "behind", "behind_se") else c("log_likelihood", if (by_cost) "cost")
  columns <- c("n_factors", "n_loadings", "n_uncovered", scores, "origin")
  print(utils::head(found[columns], max_rows), digits = 5, row.names = FALSE)
  if (by_cost) {
    criterion <- fit$arguments$criterion
    cat("cost: ", if (criterion == "step") "ebic" else criterion, ", counting the rows as ", round(fit$n_effective),
        "; smaller is better.\n", sep = "")
  } else if (held_out) {
    print_lines(
      "held_out: log-likelihood per row, larger is better; behind: how far behind the best, and ",
      "the standard error of that."
    )
  }
  more <- nrow(found) - max_rows
  if (more > 0) cat(more, "more in $candidates.\n")
  bounds <- nrow(all) - nrow(found)
  if (bounds) print_lines(bounds, " more could not have won, judging by an upper bound on their likelihood or its slow increase.")
}

#' @export
print.dt_structure <- function(x, ...) {
  d <- length(x$factors)
  cat("Structure: ", d, if (d == 1) " factor, " else " factors, ", length(x$items), " items\n", sep = "")
  for (name in x$factors) {
    cat("  ", printable(name), ": ", printable(x$items[x$support[, name]]), "\n", sep = "")
  }
  if (length(x$uncovered)) cat("  in no factor:", printable(x$uncovered), "\n")
  invisible(x)
}

#' @export
print.dt_dependence <- function(x, digits = 2, ...) {
  n <- if (is.null(x$n_obs)) "" else paste0(", n = ", x$n_obs)
  cat("Dependence (", x$measure, ") of ", length(x$items), " items", n, "\n", sep = "")
  print(round(x$values, digits), ...)
  invisible(x)
}

#' @export
print.dt_sparse_dependence <- function(x, max_rows = 10, ...) {
  cat(
    "Dependence (", x$measure, ") of ", length(x$items), " items, n = ", x$n_obs, ": ",
    nrow(x$pairs), " pairs above ", format(x$floor, digits = 3), "\n", sep = ""
  )
  print(utils::head(x$pairs, max_rows), digits = 3, row.names = FALSE)
  invisible(x)
}

#' @export
print.dt_path <- function(x, max_rows = 10, ...) {
  floor <- x$dependence$floor
  from <- if (is.null(floor)) "" else paste0(" from ", format(floor, digits = 3), " up")
  cat("Solution path: ", nrow(x$candidates), " structures over all thresholds", from, "\n", sep = "")
  longest <- order(-x$candidates$persistence)[seq_len(min(max_rows, nrow(x$candidates)))]
  print(x$candidates[sort(longest), ], digits = 3, row.names = FALSE)
  invisible(x)
}

#' @export
print.dt_comparison <- function(x, digits = 3, ...) {
  cat(
    "Agreement: F1 ", round(x$f1, digits), ", ", x$hamming, " loadings differ; factors ",
    x$n_factors[1], " and ", x$n_factors[2], "\n", sep = ""
  )
  invisible(x)
}

#' @export
print.dt_margin <- function(x, digits = 3, ...) {
  cat("Margin by ", x$measure, ": ", round(x$value, digits), ", ", x$verdict, "\n", sep = "")
  invisible(x)
}

#' @export
print.dt_simulation <- function(x, ...) {
  cat(
    "Simulation: ", x$design, ", ", nrow(x$data), " rows, ", ncol(x$data), " items, ",
    length(x$structure$factors), " factors, seed ", format(x$seed, digits = 16), "\n", sep = ""
  )
  invisible(x)
}

#' @export
print.dt_survey_design <- print_text

#' @export
print.dt_efa <- print_text

#' @export
print.dt_diagnosis <- print_text

#' @export
print.dt_stability <- print_text

#' @export
print.dt_plan <- print_text

#' @export
print.dt_parallel_analysis <- print_text

#' @export
print.dt_invariance <- print_text

#' @export
print.dt_score_test <- print_text

#' @export
print.dt_vuong <- print_text

#' @export
print.dt_bootstrap <- print_text

#' @export
print.dt_model_power <- print_text

#' @export
print.dt_factor_table <- print_text

#' @export
print.dt_solution_comparison <- function(x, digits = 2, ...) {
  cat("Congruence of matched factors: mean", round(x$mean_congruence, digits), "\n")
  print(x$matching, digits = digits, row.names = FALSE)
  if (length(x$differing_items)) cat("Items that differ:", printable(x$differing_items, ", "), "\n")
  invisible(x)
}
