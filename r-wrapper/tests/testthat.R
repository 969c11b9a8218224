library(testthat)
library(dtstat)

test_check("dtstat")
