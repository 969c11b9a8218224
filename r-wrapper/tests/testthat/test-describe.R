qualtrics <- function() {
  file <- tempfile(fileext = ".csv")
  writeLines(c(
    "StartDate,Progress,ResponseId,Q1_1,Q1_2,Q2",
    "Start Date,Progress,Response ID,Agree? - I sleep well,Agree? - I am tired,Comment",
    paste(rep("\"{\"\"ImportId\"\":\"\"x\"\"}\"", 6), collapse = ","),
    paste0(
      "2024-01-15,100,R_", 1:40, ",",
      rep(c("Agree", "Strongly agree", "Disagree", "Strongly disagree"), 10), ",",
      rep(1:5, 8), ",text ", letters[(1:40) %% 26 + 1], 1:40
    )
  ), file)
  file
}

test_that("an export of Qualtrics is read, with labels, ids and what is aside", {
  skip_without_python()
  expect_warning(
    answers <- dt_read_survey(qualtrics(), id = "ResponseId"), "export of Qualtrics",
    class = "dtstat_warning_data"
  )
  expect_s3_class(answers$Q1_1, "ordered")
  expect_equal(levels(answers$Q1_1), c("Strongly disagree", "Disagree", "Agree", "Strongly agree"))
  expect_equal(attr(answers$Q1_2, "label"), "I am tired")
  expect_equal(rownames(answers)[1:2], c("R_1", "R_2"))
  expect_setequal(attr(answers, "aside"), c("StartDate", "Progress", "Q2"))
  found <- dt_describe(answers)
  expect_equal(found$items$item, c("Q1_1", "Q1_2"))
  expect_equal(found$items$text, c("I sleep well", "I am tired"))
  expect_equal(found$people$row[1], "R_1")
})

test_that("an order of the user, codes, and codebooks cross", {
  skip_without_python()
  file <- tempfile(fileext = ".csv")
  writeLines(c("a,b", "low,1", "high,99", "mid,3"), file)
  read <- function(...) suppressWarnings(dt_read_survey(file, ...))
  answers <- read(levels = list(a = c("low", "mid", "high")), missing_codes = 99)
  expect_equal(as.integer(answers$a), c(1, 3, 2))
  expect_equal(answers$b, c(1, NA, 3))
  answers <- read(columns = "b", missing_codes = list(b = 99), labels = c(b = "How old?"))
  expect_equal(attr(answers$b, "label"), "How old?")
  book <- data.frame(item = "b", text = "How old?")
  expect_equal(attr(read(labels = book)$b, "label"), "How old?")
  expect_error(read(columns = "a"), "levels = list\\(`a` = c\\(", class = "dtstat_error_input")
})

test_that("a column of notes among numbers is left out as the message says", {
  skip_without_python()
  file <- tempfile(fileext = ".csv")
  writeLines(c("q1,q2,My age", "1,2,32", "2,3,about 30", "3,1,41"), file)
  said <- "Leave the item out with dt_read_survey(path, drop = \"My age\"), or list the text in `missing_codes`"
  expect_error(dt_read_survey(file), said, fixed = TRUE, class = "dtstat_error_input")
  expect_error(dt_fit(file), said, fixed = TRUE, class = "dtstat_error_input")
  expect_equal(names(dt_read_survey(file, drop = "My age")), c("q1", "q2"))
  said <- "not 'age'. Keep aside what is not an item: dt_read_survey(path, aside = \"age\")"
  expect_warning(dt_read_survey(dt_example_file()), said, fixed = TRUE)
})

test_that("descriptions equal psych's, and flags find straight lines", {
  skip_without_python()
  skip_if_not_installed("psych")
  x <- round(nine())
  theirs <- as.data.frame(psych::describe(x))
  ours <- dt_describe(x)
  for (name in c("n", "mean", "sd", "min", "max", "skew", "kurtosis")) {
    expect_equal(ours$items[[name]], theirs[[name]], tolerance = 1e-9)
  }
  survey <- dt_dataset("likert_survey")
  survey[3, ] <- 2
  found <- dt_describe(survey)
  expect_match(found$people$flags[3], "longest_string")
  expect_output(print(found), "Rows to look at")
  expect_identical(summary(found), found)
  expect_identical(as.data.frame(found), found$items)
})

test_that("keys are taken as psych has them", {
  skip_without_python()
  survey <- dt_dataset("likert_survey")
  scales <- split(names(survey), sub("_.*", "", names(survey)))
  found <- dt_describe(survey, keys = scales)
  expect_true(any(!is.na(found$people$even_odd)))
  expect_error(dt_describe(survey, keys = scales[1:2]), "at least 3 scales", class = "dtstat_error_input")
})

test_that("texts and what is aside go along in data frames of others", {
  skip_without_python()
  x <- nine()
  attr(x$x1, "label") <- "Visual perception, renamed"
  x$age <- seq_len(nrow(x))
  attr(x, "aside") <- "age"
  found <- dt_describe(x)
  expect_equal(nrow(found$items), 9)
  expect_equal(found$items$text[1], "Visual perception, renamed")
  expect_equal(nrow(dt_dependence(x)$values), 9)
})

test_that("a part of a survey keeps its texts and what is aside", {
  skip_without_python()
  survey <- dt_dataset("holzinger_swineford_9", people = TRUE)
  texts <- item_texts(survey)
  expect_true(all(nzchar(texts[1:9])))
  aside <- attr(survey, "aside")
  rows <- survey$age > 13
  parts <- list(
    survey[rows, ], subset(survey, rows), head(survey, 50), survey[order(survey$x1), ], survey[11:60, names(survey)]
  )
  for (part in parts) {
    expect_equal(item_texts(part), texts)
    expect_equal(attr(part, "aside"), aside)
  }
  plain <- as.data.frame(lapply(survey, as.vector))
  expect_equal(parts[[1]], plain[rows, ], ignore_attr = TRUE)
  expect_equal(dt_fit(parts[[1]])$item_texts, dt_fit(parts[[1]], labels = survey)$item_texts)
  expect_equal(item_texts(survey[rows, c("x3", "x1")]), texts[c(3, 1)])
  expect_null(attr(survey[c("x3", "x1")], "aside"))
  expect_equal(names(survey[c("x3", "age")]), c("x3", "age"))
  expect_equal(attr(survey[c("x3", "age")], "aside"), "age")
  expect_identical(survey[rows, "x1"], plain$x1[rows])
  expect_identical(survey[["x1"]][3], plain$x1[3])
  expect_error(survey["nobody"], "undefined columns")
})
