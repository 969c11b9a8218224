# Fits models with lavaan: Rscript fit.R MODELS DATA_FOLDER ANSWERS
# MODELS is a JSON list of calls; ANSWERS gets one line of JSON per call, as soon as it is known.
suppressPackageStartupMessages({library(lavaan); library(jsonlite)})
arguments <- commandArgs(TRUE)
calls <- fromJSON(arguments[1], simplifyDataFrame = FALSE)
answers <- file(arguments[3], "w")
measures <- c(
  "npar", "chisq", "df", "pvalue", "chisq.scaled", "df.scaled", "pvalue.scaled",
  "chisq.scaling.factor", "cfi", "tli", "cfi.scaled", "tli.scaled", "cfi.robust", "tli.robust",
  "logl", "aic", "bic", "rmsea", "rmsea.ci.lower", "rmsea.ci.upper", "rmsea.scaled",
  "rmsea.ci.lower.scaled", "rmsea.ci.upper.scaled", "rmsea.robust", "rmsea.ci.lower.robust",
  "rmsea.ci.upper.robust", "srmr"
)
files <- new.env()
read <- function(name) {
  if (is.null(files[[name]])) {
    files[[name]] <- read.csv(file.path(arguments[2], paste0(name, ".csv")), na.strings = "")
  }
  files[[name]]
}

# The data as rows, or as covariances (and means) of the variables that the model names
data_of <- function(call) {
  data <- read(call$data)
  if (is.null(call$moments)) return(list(data = data))
  rows <- data[intersect(names(data), lavNames(lavaanify(call$model), "ov"))]
  groups <- if (is.null(call$args$group)) list(rows) else split(rows, data[[call$args$group]])
  one <- function(values) if (length(values) == 1) values[[1]] else values
  moments <- list(sample.cov = one(lapply(groups, cov)),
                  sample.nobs = one(unname(lapply(groups, nrow))))
  if (call$moments == "means") moments$sample.mean <- one(lapply(groups, colMeans))
  moments
}

answer <- function(call) {
  said <- character()
  args <- call$args
  if (!is.null(call$moments)) args$group <- NULL
  start <- proc.time()
  found <- withCallingHandlers(
    tryCatch({
      fit <- do.call(call[["function"]], c(list(model = call$model), data_of(call), args))
      table <- parameterEstimates(fit, standardized = TRUE, remove.nonfree = FALSE)
      m <- tryCatch(fitMeasures(fit), error = function(e) numeric())
      list(fit = fit, table = table, measures = m)
    }, error = function(e) conditionMessage(e)),
    warning = function(w) { said <<- c(said, conditionMessage(w)); invokeRestart("muffleWarning") }
  )
  seconds <- sum((proc.time() - start)[1:2])
  said <- gsub("\\s+", " ", unique(said))
  if (is.character(found)) {
    return(list(key = call$key, error = gsub("\\s+", " ", found[1]), warnings = said, seconds = seconds))
  }
  table <- found$table
  groups <- lavInspect(found$fit, "group.label")
  names(table)[names(table) == "std.all"] <- "std"
  table$group <- if (length(groups)) c("", groups)[table$group + 1] else ""
  if (is.null(table$se)) table$se <- NA_real_
  if (is.null(table$level)) table$level <- 1L
  kept <- intersect(measures, names(found$measures))
  list(
    key = call$key, converged = lavInspect(found$fit, "converged"), warnings = said,
    seconds = seconds, fmin = lavInspect(found$fit, "optim")$fx,
    parameters = table[c("group", "level", "lhs", "op", "rhs", "est", "se", "std")],
    measures = as.list(unclass(found$measures)[kept])
  )
}

invisible(lapply(calls, function(call) {
  writeLines(toJSON(answer(call), auto_unbox = TRUE, digits = NA, na = "null"), answers)
  flush(answers)
}))
close(answers)
