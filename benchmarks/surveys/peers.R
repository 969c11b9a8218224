# What the peers find in a keyed survey, the number of factors unknown; one JSON into OUT.
#
#   Rscript peers.R FOLDER NAME OUT
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

# Diagnostics of the peers go nowhere; only their result counts.
quietly <- function(work) {
  sink(nullfile())
  on.exit(sink())
  suppressMessages(suppressWarnings(work))
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
  d <- psych::fa.parallel(x, n.obs = size, fa = "fa", plot = FALSE)$nfact
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
  w <- abs(qgraph::EBICglasso(r, n, gamma = 0.5))
  graph <- igraph::graph_from_adjacency_matrix(w, "undirected", weighted = TRUE, diag = FALSE)
  clusters <- igraph::membership(igraph::cluster_walktrap(graph, steps = 4))
  Filter(function(items) length(items) > 1, unname(split(colnames(x), clusters)))
}

elapsed <- function(work) system.time(work)[["elapsed"]]

result <- list()
seconds <- elapsed(loadings <- tryCatch(quietly(psych_loadings()), error = function(e) e))
if (inherits(loadings, "error")) {
  failed <- list(error = conditionMessage(loadings), seconds = seconds)
  result$psych <- failed
  result$psych_largest <- failed
} else {
  d <- if (is.null(loadings)) 0 else ncol(loadings)
  above <- lapply(seq_len(d), function(k) colnames(x)[loadings[, k] >= 0.3])
  best <- if (d) apply(loadings, 1, which.max) else integer()
  largest <- lapply(seq_len(d), function(k) colnames(x)[best == k])
  result$psych <- list(factors = named(above), nfact = d, seconds = seconds)
  result$psych_largest <- list(factors = named(largest), nfact = d, seconds = seconds)
}
seconds <- elapsed(clusters <- tryCatch(quietly(ega_clusters()), error = function(e) e))
result$ega <- if (inherits(clusters, "error")) {
  list(error = conditionMessage(clusters), seconds = seconds)
} else {
  list(factors = named(clusters), nfact = length(clusters), seconds = seconds)
}
writeLines(jsonlite::toJSON(result, auto_unbox = TRUE, digits = NA, pretty = TRUE), arguments[3])
