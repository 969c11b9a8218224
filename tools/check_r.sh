#!/bin/sh
# Build and check the R package as CRAN would: Status OK, with Python; then once without Python, where
# tests must skip, not fail. Works on a copy, so that the checkout stays clean.
#
#   sh tools/check_r.sh PYTHON [build]    "build" stops when the package is built
set -eu

python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
work="$root/.build/r"
rm -rf "$work"
mkdir -p "$work"
cp -R "$root/r-wrapper" "$work/dtstat"
mkdir -p "$work/dtstat/inst/python"
"$python" -m pip wheel --quiet --no-deps --no-build-isolation -w "$work/dtstat/inst/python" "$root"

cd "$work"
# Help pages and NAMESPACE are written by roxygen2: they must be those of the sources.
(cd dtstat && Rscript -e 'suppressMessages(roxygen2::roxygenise())' >../roxygen.log 2>&1)
for made in man NAMESPACE; do
    diff -r "$root/r-wrapper/$made" "dtstat/$made" || { echo "run 'make refresh'"; exit 1; }
done

export RETICULATE_PYTHON="$python" DTSTAT_REQUIRE_PY=1 NOT_CRAN=true
export _R_CHECK_CRAN_INCOMING_=FALSE _R_CHECK_SYSTEM_CLOCK_=0 _R_CHECK_FORCE_SUGGESTS_=FALSE
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
R CMD build dtstat >build.log 2>&1 || { cat build.log; exit 1; }
[ "${2:-}" != build ] || { ls "$work"/dtstat_*.tar.gz; exit 0; }
# Without Python nothing may fail; checked beside the other, as there are two cores.
mkdir -p bare
(
    unset DTSTAT_REQUIRE_PY
    export RETICULATE_PYTHON="$work/no/python"
    R CMD check --no-manual --no-build-vignettes --no-vignettes -o bare dtstat_*.tar.gz >bare.log 2>&1
) &
without=$!
# R CMD build has run the vignettes a moment ago.
R CMD check --as-cran --no-manual --no-vignettes dtstat_*.tar.gz >check.log 2>&1 || { cat check.log; exit 1; }
grep -q "^Status: OK" check.log || { cat check.log; echo "R CMD check is not OK"; exit 1; }
wait "$without" || { cat bare.log; exit 1; }
grep "^\[ FAIL" bare/dtstat.Rcheck/tests/testthat.Rout
echo "R CMD check: OK with Python, and without it"
