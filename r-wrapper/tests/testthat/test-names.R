asked <- c(x7 = "Addition, timed", x8 = "Counting dots, timed", x9 = "Capitals, timed")

test_that("factors get other names and signs, which go along", {
  skip_without_python()
  nine <- nine()
  fit <- dt_fit(nine, labels = asked)
  other <- dt_reflect(dt_rename(fit, c(F3 = "speed")), "speed")
  expect_equal(colnames(other$loadings), c("F1", "F2", "speed"))
  expect_equal(unname(other$loadings[, 3]), -unname(fit$loadings[, 3]))
  expect_equal(unname(predict(other, nine)[["speed"]]), -unname(predict(fit, nine)[["F3"]]))
  model <- dt_cfa(nine, other)
  expect_true(all(model$loadings[c("x7", "x8", "x9"), "speed"] < 0))
  expect_true(any(grepl("speed", dt_level(other, 2)$structure$factors)))
  expect_match(as_lavaan(other), "speed =~ start(-1)*x7", fixed = TRUE)
  expect_equal(dt_rename(fit, list(F1 = "a"))$structure$factors, c("a", "F2", "F3"))
  expect_equal(dt_rename(fit, c("a", "b", "c"))$structure$factors, c("a", "b", "c"))
})

test_that("lavaan fits the factor as it was turned", {
  skip_without_python()
  nine <- nine()
  fit <- dt_fit(nine, labels = asked)
  skip_if_not_installed("lavaan")
  other <- dt_reflect(fit, "F3")
  found <- lavaan::cfa(as_lavaan(other), nine)
  theirs <- lavaan::lavInspect(found, "std")$lambda
  ours <- dt_cfa(nine, other)$loadings
  expect_true(all(theirs[c("x7", "x8", "x9"), "F3"] < 0))
  expect_equal(unclass(theirs)[rownames(ours), ], unclass(ours), tolerance = 1e-4, ignore_attr = TRUE)
})

test_that("texts are printed, from labels or from the columns, and cut to the width", {
  skip_without_python()
  nine <- nine()
  fit <- dt_fit(nine, labels = asked)
  expect_output(print(fit), "Counting dots, timed")
  long <- nine
  attr(long$x1, "label") <- strrep("very long words ", 20)
  lines <- capture.output(print(dt_fit(long)))
  expect_true(any(grepl("very long words", lines)))
  expect_true(all(nchar(lines) <= 80))
  expect_equal(dt_fit(long)$item_texts$x1, trimws(strrep("very long words ", 20)))
  expect_equal(dt_suggest_names(fit), list(F3 = "Timed"))
  expect_equal(attr(nine$x4, "label"), "Paragraph comprehension")
  expect_output(print(dt_fit(nine)), "Paragraph comprehension")
})

test_that("mistakes get a sentence in R's words", {
  skip_without_python()
  nine <- nine()
  fit <- dt_fit(nine, labels = asked)
  says <- function(call, words) expect_error(call, words, class = "dtstat_error_input")
  says(dt_rename(fit, "a"), "3 names, one per factor; got 1. c\\(F1 = \"new\"\\) renames some")
  says(dt_rename(fit, c(F7 = "a")), "no factor 'F7'. Known: F1, F2, F3")
  says(dt_rename(fit, c(F1 = "x1")), "'x1' is an item")
  says(dt_reflect(fit, "x1"), "no factor 'x1'")
  says(dt_suggest_names(dt_fit(as.matrix(nine))), "labels = c\\(item = \"its question\", ...\\)")
  says(dt_fit(nine, labels = c("a", "b")), "must have the names of the items")
  says(dt_fit(nine, labels = list(x1 = 3)), "labels = c\\(q1 = \"I worry a lot\"\\)")
  says(dt_fit(NULL), "a data frame, a matrix or the path of a file; got NULL")
  says(dt_fit(nine$x1), "answers must be a data frame or a matrix; got a vector or list. Put people in rows")
  says(dt_fit(nine, n_factors = c(2, 3)), "got c\\(2, 3\\)")
  says(dt_fit(nine, n_factors = "3"), "must be a whole number of at least 1; got '3'")
  says(dt_fit(cbind(nine, school = "a")), "holds text: 'a' in row 1.*ordered factor")
  says(dt_level(fit, "3"), "a whole number, 'fine' or 'broad'; got '3'")
  says(dt_stability(fit), "got a result of dt_fit\\(\\). A result does not keep the answers")
  says(dt_cfa(nine, "A ~= x1 + x2 + x3"), "measured with =~")
  says(dt_cfa(nine, "A =~ x1, x2, x3"), "Join items with +")
  says(dt_efa(nine), "`n_factors` is missing: how many")
  says(dt_efa(nine, 3, rotaton = "none"), "Did you mean `rotation`")
})

test_that("habits of psych and lavaan are taken", {
  skip_without_python()
  nine <- nine()
  fit <- dt_fit(nine, labels = asked)
  expect_equal(dt_fit(nine, measure = "Spearman", criterion = "BIC")$arguments$criterion, "bic")
  expect_equal(dt_fit(nine, nfactors = 2)$structure$factors, c("F1", "F2"))
  expect_equal(dt_efa(nine, nfactors = 3, rotation = "Varimax")$rotation, "varimax")
  model <- "visual =~ x1 + x2 + x3"
  expect_equal(dt_cfa(model, nine)$loadings, dt_cfa(nine, model)$loadings)
  expect_equal(dt_compare(fit, fit)$f1, 1)
  keys <- list(visual = c("x1", "x2", "x3"), speed = c("x7", "x8", "x9"))
  expect_equal(dt_fit(nine, structure = keys)$structure$factors, names(keys))
  expect_equal(dt_cfa(nine, keys)$n_obs, 301)
})

test_that("texts may be a codebook, a file, or columns with labels", {
  skip_without_python()
  nine <- as.data.frame(as.matrix(nine()))
  by_row <- data.frame(Item = asked, Keying = 1, row.names = names(asked), stringsAsFactors = TRUE)
  book <- data.frame(item = names(asked), text = unname(asked))
  file <- tempfile(fileext = ".csv")
  utils::write.csv(book, file, row.names = FALSE)
  labeled <- nine
  for (item in names(asked)) attr(labeled[[item]], "label") <- asked[[item]]
  rows <- labeled[1:200, ] # R drops the labels of plain vectors here
  wanted <- dt_fit(nine[1:200, ], labels = asked)$item_texts
  for (given in list(by_row, book, file, labeled, factor(asked))) {
    if (is.factor(given)) names(given) <- names(asked)
    expect_equal(dt_fit(rows, labels = given)$item_texts, wanted)
  }
})

test_that("new names that are given first are turned round in the message", {
  skip_without_python()
  fit <- dt_fit(nine())
  expect_error(dt_rename(fit, c(speed = "F3")), 'Turn it round: c(F3 = "speed")', fixed = TRUE)
})
