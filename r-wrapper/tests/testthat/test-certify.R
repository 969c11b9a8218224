test_that("certificates say what is sure, and of a structure what is open", {
  skip_without_python()
  items <- dt_dataset("holzinger_swineford_9")
  found <- dt_certify(items, seed = 1)
  expect_s3_class(found, "dt_certificate")
  sure <- found$cliques[found$cliques$certified, ]
  expect_equal(sure$items, "x4, x5, x6")
  expect_equal(nrow(found$band), 36)
  expect_true(all(found$band$lower <= found$band$upper))
  expect_output(print(found), "at most 5 %")
  expect_equal(nrow(tidy(found)), 9 * nrow(found$cliques))
  expect_equal(glance(found)$n_certified, 1)

  keys <- list(textual = c("x4", "x5", "x6"), speed = c("x7", "x8", "x9"))
  about <- dt_certify(items, structure = keys, seed = 1)$factors
  expect_equal(about$verdict[about$factor == "textual"], "certified")
  expect_error(dt_certify(dt_fit(items)), "structure = fit")
})

test_that("a certificate is drawn", {
  skip_without_python()
  skip_if_not_installed("ggplot2")
  picture <- ggplot2::autoplot(dt_certify(dt_dataset("holzinger_swineford_9"), seed = 1))
  expect_s3_class(picture, "ggplot")
})
