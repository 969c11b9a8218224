# Write the fits that R's tests print, tidy and plot without Python.
library(dtstat)
folder <- file.path("r-wrapper", "tests", "testthat", "fixtures")

fit <- dt_fit(dt_dataset("holzinger_swineford_9"))
fit$call <- quote(dt_fit(x = nine))
saveRDS(fit, file.path(folder, "fit.rds"), version = 2)

model <- "visual =~ x1 + a*x2 + b*x3; textual =~ x4 + x5 + x6; ratio := a / b"
model <- dt_cfa(
  lavaan::HolzingerSwineford1939, model, estimator = "mlr", group = "school", group_equal = "loadings"
)
model$call <- quote(dt_cfa(x = two_schools, model = model))
model$state <- NULL # only Python reads it
saveRDS(model, file.path(folder, "cfa.rds"), version = 2)
