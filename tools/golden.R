# Record what the functions of the R package return, for `golden.py compare`.
#
#     Rscript tools/golden.R OUTDIR [SAVED]
#
# Writes OUTDIR/golden.json in the form that golden.py writes, and OUTDIR/saved with results that
# are read again; SAVED names those of an older recording. Small data, fixed seeds, one thread.

for (threads in c("OMP", "OPENBLAS", "MKL", "NUMBA")) {
  do.call(Sys.setenv, stats::setNames(list("1"), paste0(threads, "_NUM_THREADS")))
}
options(width = 100, digits = 7)
library(dtstat)

given <- commandArgs(trailingOnly = TRUE)
if (!length(given)) stop("Name the folder to write to.")
outdir <- given[1]
own <- file.path(outdir, "saved")
dir.create(own, recursive = TRUE, showWarnings = FALSE)
outdir <- normalizePath(outdir)
own <- normalizePath(own)
saved <- if (length(given) > 1) normalizePath(given[2]) else own
work <- tempfile("golden")
dir.create(work)
setwd(work)
version <- as.character(utils::packageVersion("dtstat"))

# Values as JSON --------------------------------------------------------------------------------

as_json <- function(x) {
  if (is.null(x)) return("null")
  if (is.list(x)) return(json_list(x))
  cells <- json_cells(x)
  if (inherits(x, "one")) cells else paste0("[", paste(cells, collapse = ","), "]")
}

json_list <- function(x) {
  parts <- vapply(x, as_json, "")
  if (is.null(names(x))) return(paste0("[", paste(parts, collapse = ","), "]"))
  paste0("{", paste0(quoted(names(x)), ":", parts, collapse = ","), "}")
}

json_cells <- function(x) {
  x <- unclass(x)
  if (is.character(x)) return(ifelse(is.na(x), "null", quoted(x)))
  if (is.logical(x)) return(ifelse(is.na(x), "null", ifelse(x, "true", "false")))
  text <- sprintf("%.17g", as.numeric(x))
  text[is.nan(x)] <- "NaN"
  text[is.na(x) & !is.nan(x)] <- "null"
  text[is.infinite(x)] <- ifelse(x[is.infinite(x)] > 0, "Infinity", "-Infinity")
  text
}

quoted <- function(x) {
  x <- enc2utf8(as.character(x))
  x <- gsub("\\", "\\\\", x, fixed = TRUE)
  x <- gsub("\"", "\\\"", x, fixed = TRUE)
  x <- gsub("\n", "\\n", x, fixed = TRUE)
  x <- gsub("\t", "\\t", x, fixed = TRUE)
  x <- gsub("[[:cntrl:]]", "?", x)
  paste0("\"", x, "\"")
}

one <- function(x) structure(x, class = "one")

# What differs from run to run is taken out.
cleaned <- function(x) {
  for (folder in c(work, outdir, tempdir())) x <- gsub(folder, "FOLDER", x, fixed = TRUE)
  gsub(paste0("\\b", gsub(".", "\\.", version, fixed = TRUE), "\\b"), "VERSION", x)
}

as_text <- function(lines) list(text = one(paste(cleaned(lines), collapse = "\n")))

canonical <- function(x) {
  if (is.null(x) || is.function(x) || is.environment(x)) return(NULL)
  if (is.raw(x)) return(one("raw"))
  if (is.call(x) || is.name(x)) return(as_text(deparse(x)))
  if (is.data.frame(x)) return(canonical_frame(x))
  if (is.list(x)) return(canonical_list(x))
  if (is.factor(x)) return(list(levels = levels(x), codes = as.integer(x)))
  if (is.character(x) && length(x) == 1 && grepl("[[:space:]]", x)) return(as_text(x))
  canonical_vector(x)
}

canonical_frame <- function(x) {
  cells <- lapply(unclass(x), function(column) {
    if (is.character(column)) cleaned(column) else canonical(unname(column))
  })
  attributes(cells) <- list(names = names(x))
  list(
    class = class(x), columns = names(x), index = as.character(row.names(x)),
    kinds = vapply(x, function(column) class(column)[1], ""), cells = cells
  )
}

canonical_list <- function(x) {
  class <- if (is.object(x)) list(class = class(x))
  x <- unclass(x)
  c(class, lapply(x[setdiff(seq_along(x), which(names(x) == "version"))], canonical))
}

canonical_vector <- function(x) {
  values <- as.vector(x)
  if (is.character(values)) values <- cleaned(values)
  facts <- list(
    class = if (is.object(x)) class(x), dim = dim(x), dimnames = lapply(dimnames(x), as.character),
    names = if (is.null(dim(x))) names(x)
  )
  facts <- Filter(length, facts)
  if (!length(facts)) return(if (length(values) == 1) one(values) else values)
  more <- attributes(x)[c("df", "nobs")]
  c(facts, Filter(length, lapply(more, as.vector)), list(values = unname(values)))
}

# Calls -----------------------------------------------------------------------------------------

printed <- function(x, ...) as_text(utils::capture.output(print(x, ...)))

# A result: its parts, and how it prints.
shown <- function(x) list(parts = canonical(x), print = printed(x))

drawn <- function(x, ...) {
  picture <- ggplot2::autoplot(x, ...)
  built <- ggplot2::ggplot_build(picture)
  labels <- Filter(function(label) is.character(label) && length(label) == 1, picture$labels)
  list(
    class = one("picture"), layers = lapply(built$data, layer_data),
    labels = as_text(sort(paste(names(labels), unlist(labels), sep = ": ")))
  )
}

layer_data <- function(layer) {
  plain <- vapply(layer, function(column) is.atomic(column), NA)
  layer <- as.data.frame(layer)[plain]
  layer[] <- lapply(layer, as.vector) # factors as text, without ggplot2's classes
  canonical(layer)
}

page <- function(...) {
  suppressMessages(dt_report(..., file = "page.html", open = FALSE, overwrite = TRUE))
  text <- paste(readLines("page.html", warn = FALSE, encoding = "UTF-8"), collapse = "\n")
  script <- "(?s).*<script type=\"application/json\"[^>]*>(.*?)</script>.*"
  numbers <- sub(script, "\\1", text, perl = TRUE)
  text <- gsub("(?s)<(style|script)\\b.*?</\\1>", "", text, perl = TRUE)
  list(
    numbers = canonical(jsonlite::fromJSON(numbers, simplifyDataFrame = FALSE)),
    words = as_text(strsplit(gsub("</?[a-z][^>]*>", " ", text), "\n")[[1]])
  )
}

nine <- dt_dataset("holzinger_swineford_9")
country <- dt_dataset("political_democracy")
ratings <- dt_dataset("likert_survey")[1:12]
gaps <- nine
gaps[cbind(1:30, rep_len(1:9, 30))] <- NA
three <- list(
  visual = c("x1", "x2", "x3"), textual = c("x4", "x5", "x6"), speed = c("x7", "x8", "x9")
)
two <- list(engage = paste0("engage_", 1:4), support = paste0("support_", 1:4))
model <- "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9"
democracy <- paste(
  "ind60 =~ x1 + x2 + x3", "dem60 =~ y1 + y2 + y3 + y4", "dem65 =~ y5 + y6 + y7 + y8",
  "dem60 ~ ind60", "dem65 ~ ind60 + dem60", "y1 ~~ y5", "y2 ~~ y4 + y6",
  sep = "\n"
)

found <- dt_fit(nine)
confirmed <- dt_cfa(nine, model)
explored <- dt_efa(nine, 3)
path <- dt_path(nine)
trusted <- dt_diagnose(found, nine, n_boot = 30, seed = 1)
stable <- dt_stability(nine, n_boot = 6, sizes = 0.5, seed = 1)
planned <- dt_plan(n_factors = 2, items_per_factor = 4, n_draws = 20, seed = 1)
design <- dt_survey_design(2, c(4, 5), c(0.7, 0.6))
few <- dt_simulate("clusters", n = 120, n_factors = 2, items_per_factor = 3, seed = 3)
curved <- dt_fit(few$data, estimator = "spline", seed = 1, finalists = 1)
parallel <- dt_parallel_analysis(nine, n_iter = 10, seed = 1)
results <- list(
  fit = found, spline = curved, cfa = confirmed, diagnosis = trusted, stability = stable,
  plan = planned
)

calls <- list(
  datasets = quote(canonical(dt_datasets())),
  dataset = quote(canonical(nine)),
  measures = quote(canonical(dt_measures())),
  bounds = quote(canonical(dt_bounds())),
  bounds.paper = quote(canonical(dt_bounds(sharp = FALSE))),
  available = quote(one(dt_available())),
  dependence = quote(shown(dt_dependence(nine))),
  dependence.kendall = quote(shown(dt_dependence(gaps, "kendall"))),
  dependence.polychoric = quote(shown(dt_dependence(ratings, "polychoric"))),
  dependence.xi = quote(shown(dt_dependence(nine, "xi"))),
  dependence.floor = quote(shown(dt_dependence(nine, floor = 0.25))),
  dependence.matrix = quote(
    shown(dt_dependence_matrix(ability.cov$cov, n_obs = ability.cov$n.obs))
  ),
  path = quote(shown(path)),
  path.grid = quote(shown(dt_path(nine, thresholds = 10))),
  path.floor = quote(shown(dt_path(nine, floor = 0.2))),
  path.plot.path = quote(drawn(path, "path")),
  path.plot.barcode = quote(drawn(path, "barcode")),
  path.plot.dependence = quote(drawn(path, "dependence")),
  fit = quote(shown(found)),
  fit.summary = quote(printed(summary(found, intervals = TRUE))),
  fit.coef = quote(list(canonical(coef(found)), printed(coef(found)))),
  fit.fitted = quote(canonical(fitted(found))),
  fit.residuals = quote(canonical(residuals(found))),
  fit.predict = quote(canonical(predict(found, gaps))),
  fit.predict_sd = quote(canonical(predict(found, nine[1:20, ], sd = TRUE))),
  fit.logLik = quote(list(canonical(logLik(found)), one(AIC(found)), one(BIC(found)))),
  fit.nobs = quote(one(nobs(found))),
  fit.tidy = quote(canonical(tidy(found))),
  fit.glance = quote(canonical(glance(found))),
  fit.augment = quote(canonical(augment(found, nine))),
  fit.update = quote(shown(update(found, measure = "kendall"))),
  fit.formula = quote(shown(dt_fit(~ x1 + x2 + x3 + log(x7) + x8 + x9, data = nine))),
  fit.lavaan = quote(as_text(as_lavaan(found))),
  fit.keys = quote(canonical(as_keys(found))),
  fit.path_scores = quote(canonical(dt_path_scores(found))),
  fit.response_curves = quote(canonical(dt_response_curves(found))),
  fit.threshold = quote(shown(dt_fit(nine, search = "threshold", thresholds = c(0.2, 0.3)))),
  fit.sequential = quote(shown(dt_fit(nine, search = "sequential"))),
  fit.cv = quote(shown(dt_fit(nine, criterion = "cv", seed = 1))),
  fit.linear = quote(shown(dt_fit(nine, estimator = "linear", refine = TRUE))),
  fit.ratings = quote(shown(dt_fit(ratings))),
  fit.gaps = quote(shown(dt_fit(gaps, missing = "listwise", min_children = 2))),
  fit.structure = quote(shown(dt_fit(nine, structure = three))),
  fit.covariance = quote(shown(dt_fit(cov(nine), n.obs = 301))),
  fit.spline = quote(shown(curved)),
  fit.neural = quote(shown(dt_fit(
    few$data, estimator = "neural", criterion = "validation", structure = few$structure, seed = 1
  ))),
  fit.plot.diagram = quote(drawn(found, "diagram")),
  fit.plot.dependence = quote(drawn(found, "dependence")),
  fit.plot.path = quote(drawn(found, "path")),
  fit.plot.barcode = quote(drawn(found, "barcode")),
  fit.plot.margin = quote(drawn(found, "margin")),
  fit.plot.curves = quote(drawn(curved, "curves")),
  fit.plot.residuals = quote(drawn(found, "residuals")),
  fit.plot.loadings = quote(drawn(found, "loadings")),
  fit.report = quote(page(found)),
  fit.report_full = quote(page(found, diagnosis = trusted, stability = stable, title = "All")),
  diagnose = quote(shown(trusted)),
  diagnose.no_rows = quote(shown(dt_diagnose(found))),
  diagnose.tidy = quote(list(canonical(tidy(trusted)), canonical(glance(trusted)))),
  diagnose.plot.margin = quote(drawn(trusted, "margin")),
  diagnose.plot.factors = quote(drawn(trusted, "factors")),
  stability = quote(shown(stable)),
  stability.tidy = quote(list(canonical(tidy(stable)), canonical(glance(stable)))),
  stability.subsample = quote(
    shown(dt_stability(nine, n_boot = 4, scheme = "subsample", seed = 2, measure = "kendall"))
  ),
  stability.plot.items = quote(drawn(stable, "items")),
  stability.plot.n_factors = quote(drawn(stable, "n_factors")),
  stability.plot.sizes = quote(drawn(stable, "sizes")),
  margin = quote(shown(dt_margin(nine, three))),
  margin.design = quote(shown(dt_margin(design))),
  survey_design = quote(shown(design)),
  plan = quote(shown(planned)),
  plan.tidy = quote(canonical(tidy(planned))),
  plan.plot = quote(drawn(planned)),
  error_bound = quote(canonical(dt_error_bound(2000, 25, 0.2))),
  sample_size = quote(canonical(dt_sample_size(25, 0.2, measure = "spearman"))),
  sample_size.table = quote(canonical(dt_sample_size_table(c(10, 25), c(0.1, 0.2)))),
  max_items = quote(canonical(dt_max_items(2000, 0.2))),
  min_margin = quote(canonical(dt_min_margin(1000, 25))),
  ucc_probability = quote(canonical(dt_ucc_probability(20, 4, 0.2))),
  simulate = quote(shown(few)),
  simulate.chain = quote(shown(dt_simulate("chain", n = 30, levels = 5, seed = 2))),
  structure.keys = quote(shown(dt_structure(list(A = c("a", "-b"), B = c("b", "c"))))),
  structure.text = quote(shown(dt_structure(model))),
  structure.loadings = quote(shown(as_structure(factanal(mtcars[1:7], 2), cutoff = 0.5))),
  compare = quote(shown(dt_compare(found, three))),
  cfa = quote(shown(confirmed)),
  cfa.summary = quote(printed(summary(confirmed))),
  cfa.coef = quote(canonical(coef(confirmed))),
  cfa.fitted = quote(list(canonical(fitted(confirmed)), canonical(residuals(confirmed)))),
  cfa.predict = quote(canonical(predict(confirmed, nine))),
  cfa.logLik = quote(list(canonical(logLik(confirmed)), one(AIC(confirmed)), one(nobs(confirmed)))),
  cfa.tidy = quote(list(canonical(tidy(confirmed)), canonical(glance(confirmed)))),
  cfa.mlr = quote(shown(dt_cfa(nine, found, estimator = "mlr", std_lv = TRUE))),
  cfa.fiml = quote(shown(dt_cfa(gaps, model, missing = "fiml"))),
  cfa.ordered = quote(shown(dt_cfa(ratings, two, ordered = TRUE))),
  cfa.covariance = quote(shown(dt_cfa(cov(nine), model, n_obs = 301, orthogonal = TRUE))),
  cfa.plot.diagram = quote(drawn(confirmed, "diagram")),
  cfa.plot.loadings = quote(drawn(confirmed, "loadings")),
  cfa.plot.residuals = quote(drawn(confirmed, "residuals")),
  sem = quote(shown(dt_sem(country, democracy))),
  sem.means = quote(shown(dt_sem(country, democracy, mean_structure = TRUE))),
  efa = quote(shown(explored)),
  efa.coef = quote(list(canonical(coef(explored)), printed(coef(explored)))),
  efa.tidy = quote(list(canonical(tidy(explored)), canonical(glance(explored)))),
  efa.promax = quote(shown(dt_efa(nine, 2, rotation = "promax", method = "ml"))),
  efa.varimax = quote(shown(dt_efa(cor(nine), 3, rotation = "varimax", n_obs = 301))),
  efa.plot.loadings = quote(drawn(explored, "loadings")),
  efa.plot.diagram = quote(drawn(explored, "diagram")),
  parallel_analysis = quote(shown(parallel)),
  parallel_analysis.plot = quote(drawn(parallel)),
  compare_solutions = quote(shown(dt_compare_solutions(found, explored))),
  kmo = quote(canonical(dt_kmo(nine))),
  bartlett_test = quote(shown(dt_bartlett_test(nine))),
  error.measure = quote(dt_fit(nine, measure = "spaerman")),
  error.argument = quote(dt_fit(nine, n_factors = 3)),
  error.text = quote(dt_fit(data.frame(nine, sex = "f"))),
  error.formula = quote(dt_fit(~ x1 + x22, data = nine)),
  error.syntax = quote(dt_cfa(nine, "f =~ x1 + + x2")),
  error.item = quote(dt_cfa(nine, "f =~ x1 + x2 + y3")),
  error.dataset = quote(dt_dataset("holzinger")),
  error.diagnose = quote(dt_diagnose(confirmed)),
  error.structure = quote(dt_structure(1:3)),
  error.report = quote(dt_report(found, "nowhere/page.html")),
  error.save = quote(dt_save(found, "fit.csv")),
  error.load = quote(dt_load("nowhere.dtstat")),
  error.plot = quote(ggplot2::autoplot(found, "pie")),
  error.sample_size = quote(dt_sample_size(25, 1.5))
)

# Results are saved, and read again.
for (name in names(results)) {
  file <- paste0(name, ".dtstat")
  calls[[paste0("save.", name)]] <- bquote(
    as_text(basename(dt_save(results[[.(name)]], file.path(own, .(file)))))
  )
  calls[[paste0("load.", name)]] <- bquote(shown(dt_load(file.path(saved, .(file)))))
}

# Recording -------------------------------------------------------------------------------------

refusal <- function(e) {
  list(error = one(class(e)[1]), message = as_text(conditionMessage(e)))
}

recorded <- function(call) {
  told <- list()
  value <- tryCatch(
    withCallingHandlers(
      eval(call, globalenv()),
      warning = function(w) {
        told[[length(told) + 1]] <<- list(
          class = one(class(w)[1]), message = as_text(conditionMessage(w))
        )
        invokeRestart("muffleWarning")
      }
    ),
    error = refusal
  )
  list(value = value, warned = told)
}

start <- proc.time()[[1]]
outcomes <- lapply(calls, recorded)
out <- file(file.path(outdir, "golden.json"), open = "wb", encoding = "UTF-8")
writeLines(enc2utf8(as_json(outcomes)), out, useBytes = TRUE)
close(out)
cat(length(calls), "calls,", round(proc.time()[[1]] - start), "s of processor time\n")
for (name in names(calls)) {
  value <- outcomes[[name]]$value
  refused <- is.list(value) && identical(names(value), c("error", "message"))
  if (refused && !startsWith(name, "error.")) cat("  refused:", name, unlist(value$message), "\n")
}
cat("dtstat is", reticulate::import("dtstat")$`__file__`, "\n")
