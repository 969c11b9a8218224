# Writes the data sets that come from R packages to CSV.
#
# Usage, from the root of the repository:
#   Rscript tools/make_datasets.R [folder]
# The folder is data unless another is named. Running it again gives the same bytes.

arguments <- commandArgs(trailingOnly = TRUE)
folder <- if (length(arguments)) arguments[[1]] else "data"

write_set <- function(data, name) {
  # Binary mode keeps "\n" line ends on every platform; write.csv gives 15 significant digits.
  connection <- file(file.path(folder, paste0(name, ".csv")), open = "wb")
  on.exit(close(connection))
  write.csv(data, connection, row.names = FALSE, quote = FALSE, eol = "\n")
}

nine <- lavaan::HolzingerSwineford1939[paste0("x", 1:9)]
write_set(nine, "holzinger_swineford_9")

all_columns <- psychTools::holzinger.swineford
tests <- grep("^t[0-9]{2}_", names(all_columns), value = TRUE)
stopifnot(length(tests) == 26)
write_set(all_columns[tests], "holzinger_swineford_26")

write_set(lavaan::PoliticalDemocracy, "political_democracy")
