exact <- list(
  1:3, c(1L, NA), integer(), NA_integer_, c(TRUE, NA, FALSE), NA, logical(),
  c(1.5, NA, NaN, Inf, -Inf, 1e-320, .Machine$double.xmax), numeric(), NA_real_, 2^53,
  "a", c("a", NA, "", "NA"), NA_character_, character(), "\u00fcber \u6f22\u5b57", "a\"b\\c\n",
  c(a = 1, b = 2), c(x = "y"), NULL,
  matrix(1:6, 2), matrix(c(TRUE, NA), 1), matrix(c("a", NA), 2),
  matrix(1:4 / 3, 2, dimnames = list(NULL, c("A 1", "my.item"))),
  matrix(1:4, 2, dimnames = list(c("r", "s"), c("a", "b"))), matrix(numeric(), 0, 3),
  factor(c("x", NA, "y")), factor(character(), levels = c("a", "b")),
  ordered(c("lo", "hi", NA), levels = c("lo", "mid", "hi")), as.raw(0:255), raw(),
  list(), list(1, "b", NULL), list(q = 1L, list(r = TRUE)),
  data.frame(), data.frame(a = 1:2, b = c("x", NA)), data.frame(a = NA_integer_),
  data.frame(`odd name!` = c(TRUE, NA), check.names = FALSE),
  data.frame(f = factor(c("u", "v")), g = ordered(c("1", "2"))),
  data.frame(x = 1:2, row.names = c("p", "q")), data.frame(x = numeric())
)

test_that("values cross and come back the same", {
  skip_without_python()
  for (value in exact) expect_identical(across(value), value)
})

test_that("tibbles and labelled columns cross as what they hold", {
  skip_without_python()
  skip_if_not_installed("haven")
  labelled <- haven::labelled_spss(
    c(1, 2, 9, NA), c(yes = 1, no = 2), na_values = 9, label = "A question"
  )
  question <- structure(c(1, 2, NA, NA), label = "A question")
  expect_identical(across(data.frame(q = 1:4, l = I(labelled)))$l, question)
  expect_identical(across(data.frame(l = haven::labelled(1:2, c(a = 1L))))$l, 1:2)
  skip_if_not_installed("tibble")
  expect_identical(across(tibble::tibble(a = c(1L, NA))), data.frame(a = c(1L, NA)))
})

test_that("what is no answer is refused in one sentence", {
  expect_error(encode(Sys.Date()), "dates or times", class = "dtstat_error_input")
  expect_error(encode(data.frame(d = Sys.time())), "'?d'?.*dates", class = "dtstat_error_input")
  expect_error(
    encode(data.frame(l = I(list(1, 2)))), "'l' is a list", class = "dtstat_error_input"
  )
  expect_error(encode(mean), "function", class = "dtstat_error_input")
  expect_error(encode(1i), "complex", class = "dtstat_error_input")
})

random_column <- function(n) {
  gaps <- function(x) {
    x[stats::runif(n) < 0.2] <- NA
    x
  }
  switch(sample(6, 1),
    gaps(sample(c(-5:5, .Machine$integer.max, -.Machine$integer.max), n, TRUE)),
    gaps(stats::rnorm(n) * 10^sample(-300:300, 1)),
    gaps(sample(c(TRUE, FALSE), n, TRUE)),
    gaps(sample(c("", "NA", "a b", "\u00e9", "x,y\"z"), n, TRUE)),
    gaps(factor(sample(letters[1:3], n, TRUE), levels = letters[1:4])),
    gaps(factor(sample(1:3, n, TRUE), levels = 3:1, ordered = TRUE))
  )
}

test_that("2000 random data frames cross and come back the same", {
  skip_without_python()
  set.seed(1)
  for (k in 1:2000) {
    n <- sample(0:50, 1)
    p <- sample(0:8, 1)
    frame <- structure(
      lapply(seq_len(p), function(i) random_column(n)), class = "data.frame",
      row.names = .set_row_names(n), names = make.unique(sample(c("a", "A 1", "\u6f22", "x.y", ""), p, TRUE))
    )
    back <- across(frame)
    if (!identical(back, frame)) expect_identical(back, frame)
  }
  succeed()
})

test_that("psych's bfi crosses with its gaps", {
  skip_without_python()
  skip_if_not_installed("psych")
  items <- psych::bfi[1:25]
  back <- across(items)
  expect_identical(sum(is.na(back)), 508L)
  matrix <- dt_dependence(items, measure = "pearson")
  expect_equal(matrix$values["A1", "A2"], cor(items$A1, items$A2, use = "complete.obs"))
})
