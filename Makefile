# Everything a developer or a newcomer does, from a machine with Python 3.11, pip, make and gcc.
PYTHON ?= python3
VENV := .venv
OLDEST := .venv-oldest
PY := $(VENV)/bin/python
PIP := $(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt
# No hidden threads: most benchmarks compare single cores, and tests run on both already.
ONE_CORE := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
AS_USERS := env -u OMP_NUM_THREADS -u OPENBLAS_NUM_THREADS -u MKL_NUM_THREADS

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-long test-oldest coverage fuzz bench check hooks dist smoke docs refresh vignettes r-package clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' Makefile

demo: $(VENV)/.core  ## fresh machine to the main result: the factors behind 26 ability tests of 1939
	$(VENV)/bin/dtstat fit holzinger_swineford_26

setup: $(VENV)/.dev r-packages $(VENV)/.r browser $(VENV)/.compiled  ## install what the tests need: Python and R packages, a browser

test: setup check smoke  ## all checks and tests, Python and against live R
	DTSTAT_REQUIRE_ALL=1 $(ONE_CORE) $(PY) -m pytest -n 2 -m "not long"
	@sh tools/check_r.sh $(PY)

test-long: setup  ## what takes long: simulations with known truth, killed processes, 20,000 fuzz cases
	DTSTAT_REQUIRE_ALL=1 $(ONE_CORE) $(PY) -m pytest -n 2 -m long tests
	$(MAKE) fuzz

# Its own cache of compiled kernels: two versions of numba would forever undo each other's.
test-oldest: $(OLDEST)/.made  ## the Python tests with the oldest versions that pyproject.toml allows
	DTSTAT_REQUIRE_ALL=1 NUMBA_CACHE_DIR="$(CURDIR)/$(OLDEST)/numba" $(ONE_CORE) \
	    $(OLDEST)/bin/python tools/oldest.py test -n 2

dist: $(VENV)/.dev  ## the wheel and the source distribution, in dist
	rm -rf dist
	$(PY) -m hatchling build

smoke: dist  ## the wheel in a clean environment with the core dependencies alone
	$(PY) tools/smoke.py dist

# Another seed, or a part of it: make fuzz SEED=2 CASES=5000 ONLY=cfa
CASES ?= 20000
SEED ?= 1
fuzz: $(VENV)/.dev  ## 20,000 cases of bad input and failures, and every argument with every bad value
	$(ONE_CORE) $(PY) tests/fuzz --cases $(CASES) --seed $(SEED) --only "$(ONLY)"
	$(ONE_CORE) $(PY) tests/fuzz --every --seed $(SEED) --only "$(ONLY)"

check: $(VENV)/.dev  ## ruff, mypy, the workflows, and one version everywhere
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(PY) tools/version.py
	$(VENV)/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(VENV)/bin/zizmor --offline --quiet .github/workflows

coverage: $(VENV)/.dev  ## which lines the quick tests reach; compiled kernels cannot be seen
	$(ONE_CORE) $(PY) -m pytest -n 2 -m "not long" tests/unit --cov --cov-report=term

hooks: $(VENV)/.dev  ## check every commit as `make check` does (pre-commit)
	$(VENV)/bin/pre-commit install

bench: $(VENV)/.dev r-packages browser  ## speed and correctness beside the peers, as ratios in one run
	@sh tools/install_r.sh qgraph igraph psychotools multilevel psychotree
	$(PIP) -e ".[bench]"
	$(ONE_CORE) $(PY) -m benchmarks
	$(AS_USERS) $(PY) -m benchmarks
	$(AS_USERS) $(PY) -m benchmarks.threads
	$(AS_USERS) $(PY) -m benchmarks.same_bytes --write
	$(ONE_CORE) $(PY) -m benchmarks.metamorphic --seed 201 --surveys 25 --write
	$(ONE_CORE) $(PY) -m benchmarks.edited_files --write
	$(AS_USERS) $(PY) -m benchmarks.whole
	$(AS_USERS) $(PY) -m benchmarks.corners
	$(ONE_CORE) $(PY) -m benchmarks.limits
	$(ONE_CORE) $(PY) -m benchmarks.surveys.peers
	$(ONE_CORE) $(PY) -m benchmarks.surveys
	$(ONE_CORE) $(PY) -m benchmarks.levels
	$(ONE_CORE) $(PY) -m benchmarks.choice
	$(ONE_CORE) $(PY) -m benchmarks.highdim
	$(ONE_CORE) $(PY) -m benchmarks.curves
	$(ONE_CORE) $(PY) -m benchmarks.scale
	$(ONE_CORE) $(PY) -m benchmarks.trust
	$(ONE_CORE) $(PY) -m benchmarks.certify
	$(ONE_CORE) $(PY) -m benchmarks.page
	$(ONE_CORE) $(PY) -m benchmarks.lavaan
	$(ONE_CORE) $(PY) -m benchmarks.inference
	$(ONE_CORE) $(PY) -m benchmarks.sem_inference
	$(ONE_CORE) $(PY) -m benchmarks.regress
	$(ONE_CORE) sh benchmarks/r_bridge.sh $(PY)

docs: $(VENV)/.dev r-packages  ## the site, with the references of Python and R, in .build/site
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet
	@echo "Open .build/site/index.html"

refresh: $(VENV)/.dev r-packages browser  ## run the examples of all texts; refresh what they show
	cd r-wrapper && Rscript -e 'roxygen2::roxygenise()'
	$(ONE_CORE) $(PY) tools/refresh_docs.py
	$(ONE_CORE) $(PY) tools/slides.py
	$(ONE_CORE) $(PY) tools/readme_pictures.py
	$(ONE_CORE) $(PY) tools/walk.py docs/walk.md

vignettes: $(VENV)/.dev  ## the vignettes as pages to read, in .build/vignettes; those of R if built
	@command -v pandoc >/dev/null 2>&1 || { . tools/debian.sh; debian_install pandoc || true; }
	$(PY) tools/render_vignettes.py

r-package: $(VENV)/.core  ## the R package with its vignettes, in .build/r; without torch, browser, linters
	@sh tools/install_r.sh --build
	$(PIP) -e ".[regression,office]" hatchling
	@sh tools/check_r.sh $(PY) build

clean:  ## remove the environment and everything made
	rm -rf $(VENV) $(OLDEST) .build .pytest_cache .mypy_cache .ruff_cache .hypothesis dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: r-packages browser
r-packages:
	@sh tools/install_r.sh

browser:
	@sh tools/install_browser.sh

$(PY):
	$(PYTHON) -m venv $(VENV) || ($(PYTHON) -m pip install virtualenv && $(PYTHON) -m virtualenv $(VENV))

$(VENV)/.core: pyproject.toml constraints.txt | $(PY)
	$(PIP) -e .
	@touch $@

$(VENV)/.compiled: $(VENV)/.dev
	$(VENV)/bin/dtstat compile
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(PY)
	$(PIP) -e ".[survey,office,plot,sklearn,regression,neural,distributed,dev,docs]"
	@touch $@ $(VENV)/.core

# rpy2 is built against R, so R comes first; without R it cannot even be installed.
$(VENV)/.r: pyproject.toml constraints.txt | $(VENV)/.dev r-packages
	@if command -v R >/dev/null 2>&1; then $(PIP) -e ".[r]" && touch $@; fi

# The file of requirements is made from pyproject.toml, and pip takes them literally.
$(OLDEST)/.made: pyproject.toml constraints.txt tools/oldest.py | r-packages
	$(PYTHON) -m venv --clear $(OLDEST) || ($(PYTHON) -m pip install virtualenv && $(PYTHON) -m virtualenv $(OLDEST))
	$(PYTHON) tools/oldest.py requirements >$(OLDEST)/requirements.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check -r $(OLDEST)/requirements.txt -e .
	@touch $@
