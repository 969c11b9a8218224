skip_if_not_installed("ggplot2")

drawn <- function(picture, layer = 1) ggplot2::layer_data(picture, layer)

# The layer that a geom drew.
layer_of <- function(picture, geom, which = 1) {
  found <- vapply(picture$layers, function(one) inherits(one$geom, geom), NA)
  drawn(picture, base::which(found)[which])
}

fit_types <- eval(formals(autoplot.dt_fit)$type)

# An object of a class, made of what a picture needs.
made_of <- function(class, ...) structure(list(...), class = class)

test_that("every picture of a stored fit is drawn without Python", {
  fit <- stored_fit()
  z <- seq(-2, 2, by = 1)
  curve <- function(item) {
    data.frame(item = item, factor = "F1", z = z, value = z, lower = z - 1, upper = z + 1)
  }
  fit$curves <- rbind(curve("x1"), curve("x2"))
  for (type in fit_types) {
    picture <- without_python(ggplot2::autoplot(fit, type, scores = FALSE))
    expect_s3_class(picture, "ggplot")
    expect_silent(ggplot2::ggplot_build(picture))
  }
})

test_that("plot shows the picture and gives the result back", {
  fit <- stored_fit()
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_identical(withVisible(plot(fit, "barcode"))$value, fit)
  expect_false(withVisible(plot(fit))$visible)
  for (type in setdiff(fit_types, "curves")) expect_silent(plot(fit, type, scores = FALSE))
})

test_that("unknown types are refused with the known ones", {
  fit <- stored_fit()
  expect_error(plot(fit, "bar"), "\"diagram\", \"tree\".*got \"bar\"", class = "dtstat_error_input")
  expect_error(plot(fit, type = 3), "`type`", class = "dtstat_error_input")
  expect_error(plot(fit, "path", scores = TRUE), "dt_path_scores", class = "dtstat_error_input")
  expect_error(need_ggplot2(FALSE), "install.packages", class = "dtstat_error_input")
  path <- made_of("dt_path", dependence = fit$dependence)
  expect_error(plot(path, "margin"), "\"path\", \"barcode\"", class = "dtstat_error_input")
})

test_that("the diagram has an arrow with a number for every loading and correlation", {
  fit <- stored_fit()
  picture <- without_python(ggplot2::autoplot(fit))
  lines <- lapply(1:3, function(k) layer_of(picture, "GeomPath", k))
  expect_equal(length(unique(lines[[1]]$group)), 3) # correlations
  expect_equal(nrow(lines[[2]]), 2 * sum(fit$loadings != 0))
  expect_equal(nrow(lines[[3]]), 0) # cross-loadings
  Phi <- fit$factor_correlations
  expect_setequal(
    layer_of(picture, "GeomText", 1)$label, short(c(fit$loadings[fit$loadings != 0], Phi[upper.tri(Phi)]))
  )
  expect_setequal(layer_of(picture, "GeomText", 2)$label, unlist(dimnames(fit$loadings)))
  expect_equal(nrow(layer_of(picture, "GeomRect", 2)), 9)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(print(picture))
  small <- layer_of(ggplot2::autoplot(fit, size = fit$diagram$size / 2), "GeomText", 1)$size
  expect_equal(small, layer_of(picture, "GeomText", 1)$size / 2)
  expect_error(plot(fit, size = 7), "`size`", class = "dtstat_error_input")
})

test_that("Python lays out other diagrams than the usual one", {
  skip_without_python()
  fit <- dt_fit(nine(), labels = c(x1 = "Looking"))
  picture <- ggplot2::autoplot(fit, cutoff = 0.5, residuals = TRUE, texts = TRUE)
  arrows <- layer_of(picture, "GeomPath", 2)
  expect_equal(nrow(arrows), 2 * (sum(abs(fit$loadings) >= 0.5) + 9))
  expect_true("Looking" %in% layer_of(picture, "GeomText", 3)$label)
  expect_error(plot(fit, residual = TRUE), "residuals", class = "dtstat_error_input")
  model <- dt_cfa(nine(), "visual =~ x1 + x2 + x3; speed =~ x7 + x8 + x9; speed ~ visual")
  picture <- ggplot2::autoplot(model, stars = TRUE)
  expect_match(layer_of(picture, "GeomText", 1)$label, "[*]", all = TRUE)
  expect_match(picture$labels$caption, "p < .05")
  solution <- dt_efa(nine(), 3)
  picture <- without_python(ggplot2::autoplot(solution, "diagram"))
  large <- abs(solution$loadings) >= 0.3
  expect_equal(nrow(layer_of(picture, "GeomPath", 3)), 2 * (sum(large) - sum(apply(large, 1, any))))
  expect_match(as_tikz(solution), "tikzpicture")
})

test_that("the tree joins factors at what one fewer costs", {
  fit <- stored_fit()
  tree <- fit$tree
  expect_setequal(tree$items$item, rownames(fit$loadings))
  expect_equal(nrow(tree$joins), max(tree$items$leaf) - 1)
  expect_false(is.unsorted(tree$joins$price))
  picture <- ggplot2::autoplot(fit, "tree")
  lines <- layer_of(picture, "GeomSegment")
  expect_equal(nrow(lines), 9 + max(tree$items$leaf) + 3 * nrow(tree$joins) + 1)
  upright <- lines[lines$x == lines$xend & lines$y != lines$yend, ]
  expect_equal(sort(10^upright$x)[upright$x > min(upright$x)], tree$joins$price)
  marks <- layer_of(picture, "GeomText")
  expect_equal(sum(grepl("chosen", marks$label)), 1)
  expect_match(marks$label, "3 factors (chosen)", fixed = TRUE, all = FALSE)
  fit$tree <- NULL
  expect_error(plot(fit, "tree"), "search = \"tree\"", fixed = TRUE, class = "dtstat_error_input")
})

test_that("tiles are the matrix in drawn order, boxes its factors, marks the thresholds", {
  fit <- stored_fit()
  fit$loadings <- fit$loadings[, 3:1]
  fit$structure$support <- fit$structure$support[, 3:1]
  picture <- ggplot2::autoplot(fit, "dependence")
  order <- c(7:9, 4:6, 1:3)
  values <- abs(fit$dependence$values[order, order])
  diag(values) <- NA
  expect_equal(levels(picture$data$column), rownames(values))
  tiles <- drawn(picture)
  shown <- values[cbind(10 - tiles$y, tiles$x)]
  expect_equal(picture$data$value, as.vector(values))
  expect_equal(is.na(shown), tiles$fill == "grey90")
  # The darker the more.
  light <- colSums(grDevices::col2rgb(tiles$fill))
  expect_equal(cor(light, shown, method = "spearman", use = "complete"), -1, tolerance = 0.01)
  boxes <- layer_of(picture, "GeomRect", 2)
  expect_equal(as.numeric(boxes$xmin), c(0.5, 3.5, 6.5))
  expect_equal(as.numeric(boxes$ymax), c(9.5, 6.5, 3.5))
  marks <- picture$scales$get_scales("fill")
  expect_match(paste(marks$labels, collapse = " "), "F1")
  for (one in c("F1", "F2", "F3")) expect_match(paste(marks$labels, collapse = " "), one)
})

test_that("marks that are near share a label", {
  marks <- joined_marks(c(.30, .32, .50), c("A", "B", "C"), 0.05)
  expect_equal(marks$at, c(.31, .50))
  expect_equal(marks$label, c("A, B .30 to .32", "C .50"))
  expect_equal(with_ends(marks, 0.5)$at, c(0, .31, .50))
  expect_equal(joined_marks(1:4 / 100, letters[1:4], 1)$label, "4 factors .01 to .04")
  expect_null(joined_marks(numeric(), character(), 1))
})

test_that("items of several factors get a box for every run", {
  support <- cbind(A = c(TRUE, TRUE, FALSE), B = c(TRUE, FALSE, TRUE))
  boxes <- factor_boxes(support)
  expect_equal(nrow(boxes), 1 + 4)
  expect_equal(unlist(boxes[1, -1]), c(left = 0.5, right = 2.5, low = 1.5, high = 3.5))
})

test_that("steps are those of the path", {
  fit <- stored_fit()
  picture <- ggplot2::autoplot(fit, "path", scores = FALSE)
  steps <- layer_of(picture, "GeomStep")
  for (row in seq_len(nrow(fit$path))) {
    at <- fit$path$tau_low[row]
    expect_equal(steps$y[steps$PANEL == 1 & steps$x == at], fit$path$n_factors[row])
    expect_equal(steps$y[steps$PANEL == 2 & steps$x == at], fit$path$n_loadings[row])
  }
  expect_equal(max(steps$x), max(fit$path$tau_high))
  bars <- layer_of(picture, "GeomSegment")
  expect_equal(bars$x, fit$factors$from)
  expect_equal(bars$xend, fit$factors$to)
  breaks <- ggplot2::ggplot_build(picture)$layout$panel_params[[3]]$y$breaks
  expect_length(breaks[!is.na(breaks)], 0)
})

test_that("between intervals there is no factor, or nothing is known", {
  steps <- data.frame(tau_low = c(.1, .3), tau_high = c(.2, .4), n_factors = 1:2, n_loadings = 3:4)
  exact <- layer_of(plot_path(steps, "spearman"), "GeomStep")
  expect_equal(exact$x[exact$PANEL == 1], c(.1, .2, .3, .4))
  expect_equal(exact$y[exact$PANEL == 1], c(1, 0, 2, 0))
  visited <- stairs(steps, steps$n_factors, "factors", NA)
  expect_equal(visited$value, c(1, NA, 2, 2))
  expect_equal(panel_breaks(c(0, 3), NULL), 0:3)
  expect_equal(panel_breaks(c(-5.7, -0.3), -3), numeric())
})

test_that("the criterion has a panel, and one threshold for all an interval", {
  fit <- stored_fit()
  scores <- cbind(fit$path, ebic = seq_len(nrow(fit$path)))
  picture <- ggplot2::autoplot(fit, "path", scores = scores)
  steps <- layer_of(picture, "GeomStep")
  shown <- steps[steps$PANEL == 3 & !is.na(steps$y), ]
  expect_equal(shown$y[seq_len(nrow(scores))], scores$ebic)
  expect_equal(shown$x[seq_len(nrow(scores))], scores$tau_low)
  fit$arguments$search <- "threshold"
  fit$factors$from <- c(.1, .2, .15)
  fit$factors$to <- c(.5, .4, .6)
  fit$path <- data.frame(
    tau_low = c(.1, .2, .3), tau_high = c(.2, .3, .4), n_factors = c(2, 3, 4),
    n_loadings = 7:9, n_covered = 9
  )
  shade <- layer_of(ggplot2::autoplot(fit, "path", scores = FALSE), "GeomRect")
  expect_equal(unique(shade$xmin), .2)
  expect_equal(unique(shade$xmax), .3)
  expect_equal(threshold_marks(fit)$label, "threshold .25")
})

test_that("bars end at birth and death, those of factors are kept and coloured", {
  fit <- stored_fit()
  bars <- layer_of(ggplot2::autoplot(fit, "barcode"), "GeomSegment")
  ordered <- fit$barcode[order(fit$barcode$birth - fit$barcode$death), ]
  expect_equal(bars$x, ordered$birth)
  expect_equal(bars$xend, ordered$death)
  expect_equal(bars$colour == ink[["blue"]], nzchar(ordered$factor))
  few <- layer_of(ggplot2::autoplot(fit, "barcode", max_bars = 1), "GeomSegment")
  expect_equal(sort(few$x), sort(fit$factors$from))
  labels <- bar_labels(data.frame(items = c("a, b", "long_name_one, long_name_two, c"), factor = c("F", "")), 20)
  expect_equal(labels, c("F: a, b", "long_name_one, ... (3)"))
})

test_that("the margin is the distance of the decisive pairs", {
  fit <- stored_fit()
  picture <- ggplot2::autoplot(fit, "margin")
  lines <- layer_of(picture, "GeomLine")
  together <- tcrossprod(fit$structure$support + 0) > 0
  values <- abs(fit$dependence$values)
  upper <- upper.tri(values)
  inside <- sort(values[upper & together], decreasing = TRUE)
  across <- sort(values[upper & !together], decreasing = TRUE)
  expect_equal(lines$y[lines$group == 1], inside)
  expect_equal(lines$y[lines$group == 2], across)
  shade <- layer_of(picture, "GeomRect")
  expect_equal(sort(c(shade$ymin, shade$ymax)), sort(c(min(inside), max(across))))
  gap <- min(inside) - max(across)
  expect_equal(nrow(singled_out(data.frame(x = 1:5000, y = 0), 100)), 100)
  expect_match(picture$labels$subtitle, paste(if (gap > 0) "gap" else "overlap", "of", short(abs(gap))))
})

test_that("curves are those of the fit, with bands where they are known", {
  fit <- stored_fit()
  fit$curves <- data.frame(
    item = rep(c("x1", "x4"), each = 2), factor = rep(c("F1", "F2"), each = 2), z = c(-1, 1),
    value = 1:4, lower = c(0, 1, NA, NA), upper = c(2, 3, NA, NA)
  )
  picture <- ggplot2::autoplot(fit, "curves")
  expect_equal(layer_of(picture, "GeomLine")$y, 1:4)
  expect_equal(layer_of(picture, "GeomRibbon")$ymax, 2:3)
  one <- ggplot2::autoplot(fit, "curves", factors = "F2")
  expect_equal(layer_of(one, "GeomLine")$y, 3:4)
  expect_error(plot(fit, "curves", items = "x9"), "'x9'", class = "dtstat_error_input")
})

test_that("residuals and loadings are drawn as they are, the largest named", {
  fit <- stored_fit()
  picture <- ggplot2::autoplot(fit, "residuals")
  left <- fit$residuals
  diag(left) <- NA
  expect_equal(picture$data$value, as.vector(left))
  largest <- which(abs(left) == max(abs(left), na.rm = TRUE), arr.ind = TRUE)[1, ]
  expect_match(picture$labels$subtitle, rownames(left)[largest[1]])
  expect_match(picture$labels$subtitle, short(left[largest[1], largest[2]]), fixed = TRUE)
  picture <- ggplot2::autoplot(fit, "loadings")
  expect_equal(picture$data$value, as.vector(fit$loadings))
  texts <- layer_of(picture, "GeomText")
  expect_equal(texts$label, short(fit$loadings[fit$loadings != 0]))
})

test_that("a fit without factors has pictures", {
  fit <- stored_fit()
  fit$loadings <- fit$loadings[, 0]
  fit$structure$support <- fit$structure$support[, 0]
  fit$factors <- fit$factors[0, ]
  fit$barcode$factor <- ""
  expect_error(plot(fit, "loadings"), "no factor", class = "dtstat_error_input")
  expect_error(plot(fit, "diagram"), "no factor", class = "dtstat_error_input")
  for (type in setdiff(fit_types, c("curves", "loadings", "diagram"))) {
    expect_s3_class(ggplot2::ggplot_build(ggplot2::autoplot(fit, type, scores = FALSE)), "ggplot_built")
  }
})

test_that("a diagnosis shows margins and who stands firm", {
  factors <- data.frame(
    factor = c("A", "B"), margin = c(.1, -.1), lower = c(.05, -.2), upper = c(.2, .1),
    core_margin = c(.1, NA), core_lower = c(.05, NA), core_upper = c(.2, NA),
    verdict = c("firm", "no core")
  )
  pairs <- data.frame(
    first = "a", second = c("b", "c", "d"), dependence = c(.5, .2, .1),
    share_factor = c(TRUE, FALSE, FALSE)
  )
  diagnosis <- made_of("dt_diagnosis", pairs = pairs, factors = factors, margin = list(measure = "kendall"))
  shade <- layer_of(ggplot2::autoplot(diagnosis), "GeomRect")
  expect_equal(c(shade$ymin, shade$ymax), c(.2, .5))
  points <- layer_of(ggplot2::autoplot(diagnosis, "factors"), "GeomPoint")
  expect_equal(sort(points$x), c(-.1, .1, .1))
  expect_equal(unique(points$colour[points$x > 0]), ink[["blue"]])
})

test_that("stability shows shares, counts and sizes", {
  memberships <- matrix(c(1, .2, 0, .8), 2, dimnames = list(c("a", "b"), c("A", "B")))
  tidy <- cells(memberships)
  tidy <- data.frame(
    item = as.character(tidy$row), factor = as.character(tidy$column), share = tidy$value,
    in_structure = c(TRUE, FALSE, FALSE, TRUE)
  )
  stable <- made_of(
    "dt_stability", memberships = memberships, tidy = tidy,
    n_factors = data.frame(n_factors = 1:2, count = c(1, 3), share = c(.25, .75)),
    sizes = data.frame(n = c(50, 100), f1 = c(.5, .9), same_structure = c(0, .5), same_n_factors = c(.2, .8))
  )
  picture <- ggplot2::autoplot(stable)
  expect_equal(picture$data$value, as.vector(memberships))
  outlined <- layer_of(picture, "GeomTile", 2)
  expect_equal(cbind(outlined$x, outlined$y), cbind(c(1, 2), c(2, 1)), ignore_attr = TRUE)
  bars <- layer_of(ggplot2::autoplot(stable, "n_factors"), "GeomCol")
  expect_equal(bars$y, c(.25, .75))
  expect_equal(bars$fill[2], ink[["blue"]])
  sizes <- layer_of(ggplot2::autoplot(stable, "sizes"), "GeomPoint")
  expect_equal(sizes$y, c(.5, .9, .2, .8, 0, .5))
})

test_that("a plan shows the chance of error, parallel analysis its eigenvalues", {
  plan <- made_of(
    "dt_plan", error = 0.05,
    curves = data.frame(
      target = "factors", method = c("normal", "normal", "draws"), n = c(10, 100, 50), error = c(1, 0, .3)
    ),
    table = data.frame(target = c("factors", "fit"), meaning = c("seen", "found"))
  )
  picture <- ggplot2::autoplot(plan)
  expect_equal(layer_of(picture, "GeomLine")$y, c(1, 0))
  expect_equal(layer_of(picture, "GeomPoint")$y, .3)
  expect_equal(layer_of(picture, "GeomHline")$yintercept, 0.05)
  expect_error(plot(plan, target = "fit"), "simulation", class = "dtstat_error_input")
  expect_error(plot(plan, target = "all"), "\"factors\"", class = "dtstat_error_input")
  eigen <- data.frame(factors = 2:1, simulated_factors = .5, components = 3:2, simulated_components = .6)
  parallel <- made_of(
    "dt_parallel_analysis", eigenvalues = eigen, n_factors = 2L, n_components = 2L, quantile = .95, n_iter = 5L
  )
  lines <- layer_of(ggplot2::autoplot(parallel), "GeomLine")
  expect_equal(lines$y[lines$PANEL == 1 & lines$group == 1], 2:1)
  expect_equal(nrow(lines), 8)
})

test_that("factor models have loadings and residuals", {
  loadings <- matrix(c(.7, .6, .1, .2, -.1, .8), 3, dimnames = list(c("a", "b", "c"), c("A", "B")))
  efa <- made_of("dt_efa", loadings = loadings)
  expect_equal(layer_of(ggplot2::autoplot(efa), "GeomText")$label, c(".70", ".60", ".80"))
  residuals <- matrix(c(0, .1, -.2, .1, 0, 0, -.2, 0, 0), 3, dimnames = list(letters[1:3], letters[1:3]))
  cfa <- made_of("dt_cfa", loadings = loadings, residuals = residuals)
  expect_match(ggplot2::autoplot(cfa, "residuals")$labels$subtitle, "a and c -.20")
  expect_error(plot(efa, "residuals"), "\"loadings\"", class = "dtstat_error_input")
})

test_that("a description shows the answers to each item", {
  bars <- list(c(10, 20, 5), c(0, 40), 0)
  one <- made_of("dt_description", items = data.frame(item = c("a", "b", "empty")), bars = bars)
  drawn <- layer_of(ggplot2::autoplot(one), "GeomRect")
  expect_equal(nrow(drawn), 5)
  height <- drawn$ymax - drawn$ymin
  expect_equal(height / max(height), c(.5, 1, .25, 0, 1))
  expect_equal(drawn$xmin[drawn$ymin == min(drawn$ymin)], c(0, 1 / 2))
})

test_that("Python is asked where the fit does not know", {
  skip_without_python()
  fit <- stored_fit()
  scores <- dt_path_scores(fit)
  expect_equal(scores[names(fit$path)], fit$path)
  steps <- layer_of(ggplot2::autoplot(fit, "path"), "GeomStep")
  expect_equal(min(steps$y[steps$PANEL == 3], na.rm = TRUE), min(scores$ebic))
  curves <- dt_response_curves(fit)
  expect_equal(unique(curves$item), rownames(fit$loadings))
  expect_equal(layer_of(ggplot2::autoplot(fit, "curves"), "GeomLine")$y, curves$value)
  R <- dt_dependence_matrix(fit$dependence$values, 301, "spearman")
  expect_error(dt_response_curves(dt_fit(R)), class = "dtstat_error_input")
  expect_error(dt_path_scores(R), "dt_fit", class = "dtstat_error_input")
})

test_that("without Python the criterion is left out, and that is said", {
  if (dt_available()) skip("Python is there")
  expect_message(ggplot2::autoplot(stored_fit(), "path"), "criterion is left out")
})

test_that("results of Python have all that pictures need", {
  skip_without_python()
  fit <- dt_fit(nine())
  path <- dt_path(nine(), min_children = 2) # as the fit
  expect_equal(path$steps, fit$path)
  for (type in c("path", "barcode", "dependence")) {
    expect_silent(ggplot2::ggplot_build(ggplot2::autoplot(path, type)))
  }
  diagnosis <- dt_diagnose(fit)
  for (type in c("margin", "factors")) {
    expect_silent(ggplot2::ggplot_build(ggplot2::autoplot(diagnosis, type)))
  }
  margin <- layer_of(ggplot2::autoplot(fit, "margin"), "GeomRect")
  expect_equal((margin$ymax - margin$ymin) / 2, abs(diagnosis$margin$value))
  stable <- dt_stability(nine(), n_boot = 5, seed = 1)
  for (type in c("items", "n_factors", "sizes")) {
    expect_silent(ggplot2::ggplot_build(ggplot2::autoplot(stable, type)))
  }
  plan <- dt_plan(n_factors = 3, n_draws = 0)
  others <- list(plan, dt_parallel_analysis(nine(), n_iter = 3, seed = 1), dt_efa(nine(), 3), dt_cfa(nine(), fit))
  for (one in others) expect_silent(ggplot2::ggplot_build(ggplot2::autoplot(one)))
})
