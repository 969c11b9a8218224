test_that("codes of missing answers are named in R's words", {
  skip_without_python()
  data <- round(nine())
  data$x2[1:9] <- -99
  expect_warning(dt_dependence(data), "9 times in 'x2'", class = "dtstat_warning_data")
  expect_warning(dt_dependence(data), "x[x == -99] <- NA", fixed = TRUE)
  data[data == -99] <- NA
  expect_no_warning(dt_dependence(data))
})

test_that("a total among its items is named", {
  skip_without_python()
  data <- nine()
  data$total <- data$x1 + data$x2 + data$x3
  expect_warning(dt_dependence(data), "'total' is the sum of 'x1', 'x2', 'x3'", class = "dtstat_warning_data")
})

test_that("names stay on their line", {
  skip_without_python()
  data <- nine()
  names(data)[1:3] <- c("Q1\nHow happy?", "a\tb", "\033[31mred")
  fit <- dt_fit(data)
  plain <- dt_fit(nine())
  shown <- function(x) capture.output(print(x))
  for (text in list(shown(fit), shown(fit$structure), shown(summary(fit)))) {
    expect_no_match(text, "[\033\t]")
  }
  expect_length(shown(fit$structure), length(shown(plain$structure)))
})
