# Share of data sets in which lavaan's robust test rejects a model at 5 %.
# Rscript power.R FOLDER ESTIMATOR SETS ROWS ITEMS
suppressMessages(library(lavaan))
args <- commandArgs(trailingOnly = TRUE)
folder <- args[1]
estimator <- args[2]
sets <- as.integer(args[3])
n <- as.integer(args[4])
p <- as.integer(args[5])
values <- readBin(file.path(folder, "x.bin"), "double", sets * n * p)
model <- paste(readLines(file.path(folder, "model.txt")), collapse = "\n")
values <- matrix(values, ncol = p, byrow = TRUE)
rejected <- vapply(seq_len(sets), function(k) {
  x <- as.data.frame(values[(k - 1) * n + seq_len(n), ])
  names(x) <- paste0("x", seq_len(p))
  ordered <- if (estimator == "WLSMV") names(x) else NULL
  fit <- suppressWarnings(cfa(model, x, estimator = estimator, ordered = ordered))
  p_value <- fitMeasures(fit, "pvalue.scaled")
  !is.na(p_value) && p_value < 0.05
}, logical(1))
cat(mean(rejected), "\n")
