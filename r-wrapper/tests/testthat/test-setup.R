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

new <- numeric_version("3.12.1")
old <- numeric_version("3.9.18")

test_that("an environment is made, updated, or made anew where it is broken", {
  expect_equal(install_plan(found()), list(action = "make"))
  expect_equal(install_plan(found(environment = TRUE, version = new)), list(action = "update"))
  too_old <- install_plan(found(environment = TRUE, version = old))
  expect_equal(too_old$action, "make")
  expect_match(too_old$why, "has Python 3.9.18; dtstat needs 3.11 or newer", fixed = TRUE)
  broken <- install_plan(found(environment = TRUE))
  expect_equal(broken$action, "make")
  expect_match(broken$why, "broken")
  expect_equal(install_plan(found(environment = TRUE, version = new), "other")$action, "make")
})

test_that("RETICULATE_PYTHON is honored and named", {
  into <- install_plan(found(forced = "/my/python", forced_version = new, environment = TRUE))
  expect_equal(into$action, "into")
  expect_match(into$why, "RETICULATE_PYTHON is set: installing for /my/python", fixed = TRUE)
  refused <- function(...) install_plan(found(forced = "/my/python", ...), python = NULL)$refuse
  expect_match(refused(forced_version = old), "RETICULATE_PYTHON is /my/python, Python 3.9.18", fixed = TRUE)
  expect_match(refused(), "/my/python, which does not run", fixed = TRUE)
  both <- install_plan(found(forced = "/my/python", forced_version = new), "other")
  expect_match(both$refuse, "Leave one of them out")

  expect_match(what_to_do(found(forced = "/my/python", forced_version = new)), "RETICULATE_PYTHON decides")
  expect_match(what_to_do(found(forced = "/my/python", forced_version = old)), "Name a newer one")
  expect_match(what_to_do(found(option = "p")), "option dtstat.python decides")
  expect_match(what_to_do(found(running = TRUE)), "Restart R")
  expect_match(what_to_do(found()), "install_dtstat()", fixed = TRUE)
  expect_match(
    environment_state(found(environment = TRUE, version = new, forced = "p")),
    "not used because of RETICULATE_PYTHON"
  )
  expect_equal(environment_state(found(environment = TRUE, version = old)), "(too old: Python 3.9.18)")
  expect_equal(environment_state(found(environment = TRUE)), "(broken)")

  before <- Sys.getenv("RETICULATE_PYTHON", NA)
  on.exit(if (is.na(before)) Sys.unsetenv("RETICULATE_PYTHON") else Sys.setenv(RETICULATE_PYTHON = before))
  Sys.setenv(RETICULATE_PYTHON = "/my/python")
  expect_match(conditionMessage(no_module("x")), "RETICULATE_PYTHON is set to /my/python", fixed = TRUE)
  Sys.setenv(RETICULATE_PYTHON = "managed")
  expect_equal(forced_python(), "")
})

test_that("a Python is asked for its version, and refused if it is too old", {
  skip_on_os("windows")
  fake <- function(...) {
    path <- tempfile("python")
    writeLines(c("#!/bin/sh", ...), path)
    Sys.chmod(path, "755")
    path
  }
  expect_equal(python_version(fake("echo 3.9.18")), old)
  expect_null(python_version(fake("echo no such module >&2", "exit 1")))
  expect_null(python_version("/no/such/python"))
  expect_error(find_python(fake("echo 3.9.18")), "Python 3.9.18; dtstat needs 3.11", class = "dtstat_error_input")
  expect_error(find_python("/no/such/python"), "does not run", class = "dtstat_error_input")
  good <- fake("echo 3.12.1")
  expect_equal(find_python(good), good)
  # Found by name, the first that will do: not the old one before it.
  folder <- tempfile()
  dir.create(folder)
  file.copy(fake("echo 3.9.18"), file.path(folder, "python3"))
  file.copy(good, file.path(folder, "python3.12"))
  Sys.chmod(list.files(folder, full.names = TRUE), "755")
  path <- Sys.getenv("PATH")
  on.exit(Sys.setenv(PATH = path))
  Sys.setenv(PATH = paste0(folder, ":/usr/bin:/bin"))
  expect_false(identical(find_python(), file.path(folder, "python3")))
})

test_that("variables of R do not reach a child Python, and come back", {
  before <- Sys.getenv("PYTHONPATH", NA)
  on.exit(if (is.na(before)) Sys.unsetenv("PYTHONPATH") else Sys.setenv(PYTHONPATH = before))
  Sys.setenv(PYTHONPATH = "here")
  expect_equal(outside_r(Sys.getenv("PYTHONPATH", "none")), "none")
  expect_equal(Sys.getenv("PYTHONPATH"), "here")
})
