# What the peers find in a data set, the number of factors unknown; one JSON into OUT.
#
#   Rscript peers.R FOLDER NAME OUT [psych|ega]
#
# Without the last argument both. NAME.json may hold `settings`, see `usual`.
suppressPackageStartupMessages({
  library(psych)
  library(GPArotation)
})
options(mc.cores = 1)
# Loading is not counted.
invisible(lapply(c("qgraph", "igraph"), loadNamespace))
arguments <- commandArgs(TRUE)
file <- file.path(arguments[1], arguments[2])
described <- jsonlite::fromJSON(paste0(file, ".json"))
x <- as.matrix(utils::read.csv(paste0(file, ".csv"), check.names = FALSE))
n <- described$n_obs
if (described$is_matrix) rownames(x) <- colnames(x)

# Random data sets of parallel analysis; penalties of the graphical lasso, the least as a share of
# the largest, and whether it refuses matrices that are not positive definite.
usual <- list(parallel = 20, penalties = 100, least_penalty = 0.01, definite = TRUE)
settings <- utils::modifyList(usual, as.list(described$settings))
wanted <- if (length(arguments) > 3) arguments[4] else c("psych", "ega")

# What the peers print goes nowhere; their warnings are kept.
warned <- character()
quietly <- function(work) {
  warned <<- character()
  sink(nullfile())
  on.exit(sink())
  keep <- function(w) {
    warned <<- unique(c(warned, conditionMessage(w)))
    invokeRestart("muffleWarning")
  }
  suppressMessages(withCallingHandlers(work, warning = keep))
}

# Items of each factor, factors without items left out.
named <- function(groups) {
  groups <- Filter(length, groups)
  if (length(groups)) names(groups) <- paste0("F", seq_along(groups))
  lapply(groups, I)
}

# Parallel analysis, then minres with oblimin: the loadings, or NULL if no factor is found.
psych_loadings <- function() {
  set.seed(1)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  size <- if (described$is_matrix) n
  d <- psych::fa.parallel(
    x, n.obs = size, fa = "fa", plot = FALSE, n.iter = settings$parallel
  )$nfact
  if (is.na(d) || d < 1) return(NULL)
  fit <- if (described$is_matrix) {
    psych::fa(x, nfactors = d, n.obs = n, rotate = "oblimin")
  } else {
    psych::fa(x, nfactors = d, rotate = "oblimin")
  }
  abs(unclass(fit$loadings))
}

# Items of each cluster of two or more, by walktrap on the absolute partial correlations.
ega_clusters <- function() {
  r <- if (described$is_matrix) x else stats::cor(x, use = "pairwise.complete.obs")
  path <- qgraph::EBICglasso(
    r, n, gamma = 0.5, nlambda = settings$penalties, lambda.min.ratio = settings$least_penalty,
    checkPD = settings$definite, returnAllResults = TRUE
  )
  if (which.min(path$ebic) == which.min(path$lambda)) warning("the least penalty was chosen")
  w <- abs(path$optnet)
  graph <- igraph::graph_from_adjacency_matrix(w, "undirected", weighted = TRUE, diag = FALSE)
  clusters <- igraph::membership(igraph::cluster_walktrap(graph, steps = 4))
  Filter(function(items) length(items) > 1, unname(split(colnames(x), clusters)))
}

elapsed <- function(work) system.time(work)[["elapsed"]]

# What one peer found, or why not.
told <- function(found, groups, d) {
  common <- list(seconds = found$seconds, warnings = I(found$warnings))
  if (inherits(found$value, "error")) {
    return(c(list(error = conditionMessage(found$value)), common))
  }
  c(list(factors = named(groups(found$value)), nfact = d(found$value)), common)
}

tried <- function(work) {
  seconds <- elapsed(value <- tryCatch(quietly(work()), error = function(e) e))
  list(value = value, seconds = seconds, warnings = warned)
}

n_columns <- function(loadings) if (is.null(loadings)) 0 else ncol(loadings)
above <- function(loadings) {
  lapply(seq_len(n_columns(loadings)), function(k) colnames(x)[loadings[, k] >= 0.3])
}
largest <- function(loadings) {
  best <- if (is.null(loadings)) integer() else apply(loadings, 1, which.max)
  lapply(seq_len(n_columns(loadings)), function(k) colnames(x)[best == k])
}

result <- list()
if ("psych" %in% wanted) {
  found <- tried(psych_loadings)
  result$psych <- told(found, above, n_columns)
  result$psych_largest <- told(found, largest, n_columns)
}
if ("ega" %in% wanted) result$ega <- told(tried(ega_clusters), identity, length)
writeLines(jsonlite::toJSON(result, auto_unbox = TRUE, digits = NA, pretty = TRUE), arguments[3])
