# What the border between R and Python costs: the same fit called from R and within Python, in turn,
# in one process; and a large matrix there and back.
library(dtstat)
items <- psych::bfi[1:25]
invisible(dt_fit(items))
encoded <- list(data = dtstat:::encode(items))
main <- reticulate::import_main(convert = FALSE)
main$encoded <- encoded
reticulate::py_run_string("
import time
import dtstat
from dtstat.interop.r_bridge import revive
from dtstat.interop.wire import decode
items = revive(decode(encoded['data']))
def seconds():
    start = time.perf_counter()
    dtstat.fit(items)
    return time.perf_counter() - start
")
python <- r <- numeric()
for (k in 1:25) {
  python[k] <- reticulate::py_eval("seconds()")
  r[k] <- system.time(dt_fit(items))[["elapsed"]]
}
x <- matrix(rnorm(5000 * 1500), 5000)
crossing <- replicate(3, system.time(back <<- dtstat:::ask("echo", list(value = x)))[["elapsed"]])
stopifnot(identical(back, x))
cat(sprintf("bfi, median of 25: Python %.3f s, R %.3f s, ratio %.2f\n",
            median(python), median(r), median(r) / median(python)))
cat(sprintf("5000 x 1500 doubles there and back: %.2f s, exact\n", min(crossing)))
