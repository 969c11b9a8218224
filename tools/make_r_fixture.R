# Write the fit that R's tests print, tidy and plot without Python.
library(dtstat)
fit <- dt_fit(dt_dataset("holzinger_swineford_9"))
fit$call <- quote(dt_fit(x = nine))
saveRDS(fit, file.path("r-wrapper", "tests", "testthat", "fixtures", "fit.rds"), version = 2)
