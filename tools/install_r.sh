#!/bin/sh
# Install R and the R packages that serve as references, from Debian's packages, if they are not
# there. Where that is not possible, say what to do; tests that need R then fail and say so.
#
#   sh tools/install_r.sh [PACKAGE ...]    more R packages besides, by their names in R
#   sh tools/install_r.sh --build          only what the R package and its vignettes are built with
set -eu
. "$(dirname "$0")/debian.sh"

build="reticulate generics knitr rmarkdown roxygen2 ggplot2 psych lavaan"
if [ "${1:-}" = --build ]; then
    packages=$build programs=pandoc system=r-base-core
else
    programs="pandoc qpdf" system="r-base-core r-base-dev"
    packages="$build psychTools pcaPP energy GPArotation testthat flextable haven tibble broom${*:+ $*}"
fi

missing() {
    command -v Rscript >/dev/null 2>&1 || { echo "R"; return; }
    case $system in *r-base-dev)  # rpy2 is linked with what R is linked with
        if command -v dpkg >/dev/null 2>&1 && ! dpkg -s r-base-dev >/dev/null 2>&1; then
            echo "r-base-dev"
        fi ;;
    esac
    for program in $programs; do
        command -v "$program" >/dev/null 2>&1 || echo "$program"
    done
    for name in $packages; do
        Rscript -e "quit(status = !requireNamespace('$name', quietly = TRUE))" >/dev/null 2>&1 ||
            echo "$name"
    done
}

lacking=$(missing)
[ -n "$lacking" ] || exit 0

debian="$system $programs"
for name in $packages; do
    debian="$debian r-cran-$(echo "$name" | tr '[:upper:]' '[:lower:]')"
done

echo "Installing from Debian's packages:" $lacking
if ! debian_install $debian; then
    echo "R is incomplete; missing:" $lacking
    echo "On Debian or Ubuntu run, as root: apt-get install $debian"
    echo "Elsewhere install R, then in R: install.packages(c('$(echo "$packages" | sed "s/ /', '/g")'))"
    exit 0
fi
lacking=$(missing)
[ -z "$lacking" ] || echo "Still missing in R:" $lacking
