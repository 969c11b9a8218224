# What the peers find in a data set; one JSON into OUT.
#
#   Rscript peers.R FOLDER NAME OUT [PEER ...]
#
# Peers: psych and ega do not know the number of factors; oblimin_told, promax_told, varimax_told,
# walktrap_told and ward_told are told that of the key. Without any, psych and ega. NAME.json may
# hold `settings`, see `usual`.
suppressPackageStartupMessages({
  library(psych)
  library(GPArotation)
})
options(mc.cores = 1)
arguments <- commandArgs(TRUE)
wanted <- if (length(arguments) > 3) arguments[-(1:3)] else c("psych", "ega")
# Loading is not counted.
if (any(c("ega", "walktrap_told") %in% wanted)) {
  invisible(lapply(c("qgraph", "igraph"), loadNamespace))
}
file <- file.path(arguments[1], arguments[2])
described <- jsonlite::fromJSON(paste0(file, ".json"))
x <- as.matrix(utils::read.csv(paste0(file, ".csv"), check.names = FALSE))
n <- described$n_obs
if (described$is_matrix) rownames(x) <- colnames(x)

# Random data sets of parallel analysis; penalties of the graphical lasso, the least as a share of
# the largest, and whether it refuses matrices that are not positive definite.
usual <- list(parallel = 20, penalties = 100, least_penalty = 0.01, definite = TRUE)
settings <- utils::modifyList(usual, as.list(described$settings))

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
  loadings_of(psych::fa, d, "oblimin")
}

# Absolute loadings of psych::fa (minres) or psych::principal, rotated.
loadings_of <- function(fit, d, rotation) {
  size <- if (described$is_matrix) n else NA
  abs(unclass(fit(x, nfactors = d, n.obs = size, rotate = rotation)$loadings))
}

pearson <- function() {
  if (described$is_matrix) x else stats::cor(x, use = "pairwise.complete.obs")
}

# Walktrap on the absolute partial correlations.
walktrap <- function() {
  path <- qgraph::EBICglasso(
    pearson(), n, gamma = 0.5, nlambda = settings$penalties, lambda.min.ratio = settings$least_penalty,
    checkPD = settings$definite, returnAllResults = TRUE
  )
  if (which.min(path$ebic) == which.min(path$lambda)) warning("the least penalty was chosen")
  w <- abs(path$optnet)
  graph <- igraph::graph_from_adjacency_matrix(w, "undirected", weighted = TRUE, diag = FALSE)
  igraph::cluster_walktrap(graph, steps = 4)
}

# Items of each cluster.
clustered <- function(clusters) unname(split(colnames(x), as.vector(clusters)))

# Those of two or more items.
ega_clusters <- function() {
  Filter(function(items) length(items) > 1, clustered(igraph::membership(walktrap())))
}

ward <- function() stats::hclust(stats::as.dist(1 - abs(pearson())), "ward.D2")

# What one peer found, or why not.
told <- function(found, groups, d) {
  common <- list(seconds = found$seconds, cpu = found$cpu, warnings = I(found$warnings))
  if (inherits(found$value, "error")) {
    return(c(list(error = conditionMessage(found$value)), common))
  }
  c(list(factors = named(groups(found$value)), nfact = d(found$value)), common)
}

tried <- function(work) {
  used <- system.time(value <- tryCatch(quietly(work()), error = function(e) e))
  cpu <- used[["user.self"]] + used[["sys.self"]]
  list(value = value, seconds = used[["elapsed"]], cpu = cpu, warnings = warned)
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

# Told the number of scales: every item in one group.
number <- length(described$key)
partitions <- list(
  oblimin_told = function() largest(loadings_of(psych::fa, number, "oblimin")),
  promax_told = function() largest(loadings_of(psych::fa, number, "promax")),
  varimax_told = function() largest(loadings_of(psych::principal, number, "varimax")),
  walktrap_told = function() clustered(igraph::cut_at(walktrap(), number)),
  ward_told = function() clustered(stats::cutree(ward(), number))
)
for (peer in intersect(names(partitions), wanted)) {
  result[[peer]] <- told(tried(partitions[[peer]]), identity, length)
}
writeLines(jsonlite::toJSON(result, auto_unbox = TRUE, digits = NA, pretty = TRUE), arguments[3])
