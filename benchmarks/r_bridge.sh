#!/bin/sh
# Time the border between R and Python with the R package as it is.
#
#   sh benchmarks/r_bridge.sh PYTHON
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$root/.build/rlib"
R CMD INSTALL --no-docs -l "$root/.build/rlib" "$root/r-wrapper" >/dev/null 2>&1
R_LIBS="$root/.build/rlib" RETICULATE_PYTHON="$root/$1" Rscript --vanilla "$root/benchmarks/r_bridge.R" |
    tee "$root/benchmarks/results/r_bridge.txt"
