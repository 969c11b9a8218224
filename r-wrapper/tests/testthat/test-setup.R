found <- function(...) {
  utils::modifyList(list(running = FALSE, forced = "", environment = FALSE), list(...))
}

test_that("which Python is used depends on what is found, in this order", {
  expect_equal(python_plan(found(running = TRUE, option = "p"))$action, "none")
  expect_equal(python_plan(found(option = "p", forced = "q")), list(action = "python", target = "p"))
  expect_equal(python_plan(found(forced = "q", environment = TRUE))$action, "none")
  expect_equal(
    python_plan(found(environment = TRUE)), list(action = "virtualenv", target = "r-dtstat")
  )
  expect_equal(python_plan(found())$action, "none")
})

test_that("what is installed is the wheel, a path, or the registry's", {
  folder <- tempfile()
  dir.create(folder)
  expect_error(install_target(NULL, character(), folder), "no wheel", class = "dtstat_error_input")
  file.create(file.path(folder, c("dtstat-0.1.0-py3-none-any.whl", "dtstat-0.0.9-py3-none-any.whl")))
  expect_match(install_target(NULL, character(), folder), "dtstat-0.1.0")
  expect_match(install_target(NULL, c("neural", "survey"), folder), "\\[neural,survey\\]$")
  expect_equal(install_target("registry", character()), "dtstat")
  expect_error(install_target("nowhere", character()), "nowhere", class = "dtstat_error_input")
})
