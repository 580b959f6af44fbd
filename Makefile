# Everything that can be run here; `make` alone lists it. Each target sets up what it needs, in an
# environment of its own, and a second run reuses it until pyproject.toml changes.

PYTHON ?= python3

# Where it is set, every worker and every command that a test starts compiles the library again.
unexport PYTHONDONTWRITEBYTECODE

# The lowest supported numpy has wheels for Python 3.11 and 3.12 only. Name another interpreter on
# the command line where one is not on the path: make NEWEST_PYTHON=/opt/python/bin/python3.14 ...
first = $(shell for p in $(1); do $$p -c '' 2>/dev/null && { echo $$p; exit; }; done; echo $(PYTHON))
LOWEST_PYTHON ?= $(call first,python3.11 python3.12)
NEWEST_PYTHON ?= $(call first,python3.14 python3.13 python3.12)

# Examples of core modules that hand frames in or out, or make a page.
EXAMPLES_WITH_FRAMES := metrics/metric_tables.py::stakes.metrics.metric_tables.MetricTable.frame \
	report/_report.py::stakes.report._report.Report.frame \
	report/_report.py::stakes.report._report.Report.to_html \
	tally/binned_scores.py::stakes.tally.binned_scores.Bins.from_frame \
	tally/counts.py::stakes.tally.counts.Counts.from_frame \
	tally/loss_moments.py::stakes.tally.loss_moments.LossMoments.from_frame \
	tally/score_table.py::stakes.tally.score_table.ScoreTable.from_frame

# Parts of the package that need more than numpy and scipy, and tests that do not depend on versions.
BEYOND_CORE := $(addprefix --ignore=src/stakes/,adapters render plot sklearn displays cli) \
	--ignore=tests/estimators --deselect=docs/sklearn.md --deselect=docs/displays.md --deselect=docs/frames.md \
	--deselect=README.md \
	$(addprefix --deselect=src/stakes/,$(EXAMPLES_WITH_FRAMES))
ELSEWHERE := --ignore=tests/peers --ignore=tests/browser

# The page is tested in a real browser where there is one; CI installs it.
BROWSER := $(if $(shell command -v chromium),,--ignore=tests/browser)

# What pyproject.toml tells pytest to leave alone elsewhere; kernels need a GPU.
TENSORS := --import-mode=importlib --strict-markers --strict-config --doctest-modules -ra \
	--ignore=src/stakes/torch/triton_kernels.py --ignore=src/stakes/torch/triton_decisions.py

CLUSTERS := --import-mode=importlib --strict-markers --strict-config -ra

# Pages whose examples run with the site; those in pyproject.toml run with the suite.
PAGES := $(addprefix docs/,start.md problem_file.md read_the_report.md add_a_measure.md \
	why_expected_cost.md what_metrics_assume.md ship_a_rule.md find_costs.md add_a_tally.md \
	tallies.md utility_space.md calibration_as_money.md names_that_clash.md comparison.md layers.md \
	grid_search.md)

# One process for each core; the libraries below numpy would start as many threads in each again.
PYTEST := -m pytest -n auto --dist worksteal
test test-slow test-all test-lowest test-newest test-torch test-spark test-sklearn: export OMP_NUM_THREADS = 1
test test-slow test-all test-lowest test-newest test-torch test-spark test-sklearn: export OPENBLAS_NUM_THREADS = 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.SECONDARY:
.SECONDEXPANSION:
.PHONY: help demo fuzz mutants tamper test test-slow test-all test-lowest test-newest test-torch test-spark test-sklearn lint docs papers bench clean

help:  ## list the targets
	@echo "make TARGET, where TARGET is one of:"
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/  \1|\2/p' Makefile | \
		while IFS='|' read -r name text; do printf '%-14s %s\n' "$$name" "$$text"; done

demo: .venv/demo.stamp  ## evaluate the shipped example, print the report and write report.html
	@.venv/bin/stakes demo

test: .venv/test.stamp  ## run the quick suite; a skip is a failure
	STAKES_NO_SKIP=1 .venv/bin/python $(PYTEST) -m "not slow" $(BROWSER)

test-slow: .venv/test.stamp  ## what `make test` leaves out: the slow tests, and more examples for each property
	STAKES_NO_SKIP=1 STAKES_HYPOTHESIS=$${STAKES_HYPOTHESIS:-ci} \
		.venv/bin/python $(PYTEST) -m "slow or drawn" $(BROWSER)

test-all: .venv/test.stamp  ## both in one run
	STAKES_NO_SKIP=1 STAKES_HYPOTHESIS=$${STAKES_HYPOTHESIS:-ci} \
		.venv/bin/python $(PYTEST) $(BROWSER)

test-lowest: .venv-lowest/lowest.stamp  ## numpy and scipy in the lowest supported versions, nothing else
	.venv-lowest/bin/python $(PYTEST) -m "not slow" $(BEYOND_CORE) $(ELSEWHERE)

test-newest: .venv-newest/newest.stamp  ## the newest Python that is found, the newest of everything else
	STAKES_NO_SKIP=1 .venv-newest/bin/python $(PYTEST) -m "not slow" $(ELSEWHERE)

test-torch: .venv-torch/torch.stamp  ## tensors and modules of torchmetrics, with torch for CPUs
	STAKES_NO_SKIP=1 .venv-torch/bin/python $(PYTEST) -o addopts="$(TENSORS)" \
		--doctest-glob=training_loop.md --doctest-glob=torch.md \
		src/stakes/torch tests/tensors docs/training_loop.md docs/torch.md

# One process: all tests share one session of Spark.
test-spark: .venv-spark/spark.stamp  ## frames of Spark and Dask; needs Java 17 or newer
	STAKES_NO_SKIP=1 .venv-spark/bin/python -m pytest -o addopts="$(CLUSTERS)" --doctest-glob=spark.md \
		tests/clusters docs/spark.md

test-sklearn: .venv-sklearn/sklearn.stamp  ## estimators and displays, with the lowest supported scikit-learn and matplotlib
	STAKES_NO_SKIP=1 .venv-sklearn/bin/python $(PYTEST) -m "not slow" \
		src/stakes/sklearn tests/estimators docs/sklearn.md \
		src/stakes/displays tests/test_displays.py tests/test_plot.py docs/displays.md

fuzz: .venv/test.stamp  ## call every public function, or those of ROOMS, with strange arguments, CALLS=200000 times, at most SECONDS=3600; a leak is a failure
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv/bin/python tests/fuzz.py $(or $(CALLS),200000) $(or $(SEED),0) $(or $(SECONDS),3600) $(ROOMS)

mutants: .venv/test.stamp  ## change single operators and constants, MUTANTS=300 times; lists what no test notices
	.venv/bin/python tests/mutants.py $(or $(MUTANTS),300) $(or $(SEED),0) $(or $(SECONDS),3600)

tamper: .venv/test.stamp  ## change reports, rules and maps in MUTANTS=20000 places; each is refused or harmless
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv/bin/python tests/tamper.py $(or $(MUTANTS),20000) $(or $(SEED),0)

lint: .venv-lint/lint.stamp  ## ruff and mypy
	.venv-lint/bin/ruff check .
	.venv-lint/bin/mypy

docs: .venv-docs/docs.stamp  ## build the site into docs/_build/html, and run examples that test leaves out
	OMP_NUM_THREADS=1 .venv-docs/bin/python -m sphinx -E -b html -W --keep-going -q -j auto \
		docs docs/_build/html
	@.venv-docs/bin/python docs/site_links.py docs/_build/html
	OMP_NUM_THREADS=1 .venv-docs/bin/python -m pytest -q -n auto --doctest-glob='*.md' $(PAGES)
	@echo "the site is docs/_build/html/index.html"

papers: .venv/papers.stamp  ## reproduce every table and figure of the papers into papers/README.md
	.venv/bin/python papers/run.py --all

bench: .venv/test.stamp .venv-peers/peers.stamp  ## time the library beside others, with files of ROWS=1e8; prints tables, writes benchmarks/RESULTS.md
	@.venv/bin/python benchmarks/run.py --write --files $(or $(ROWS),1e8) --peers .venv-peers/bin/python
	@for script in $(filter-out %/run.py %/contenders.py,$(wildcard benchmarks/*.py)); do \
		echo; echo "== $$script"; \
		.venv/bin/python $$script || exit 1; done

clean:  ## remove the environments and everything that was built
	rm -rf .venv .venv-lint .venv-lowest .venv-newest .venv-torch .venv-spark .venv-sklearn .venv-docs .venv-peers build dist
	rm -rf docs/_build docs/gallery docs/reference
	rm -rf .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find src tests docs examples papers benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# Environments ------------------------------------------------------------------------------------

.venv/demo.stamp: WANTED = --editable '.[cli]'
.venv/test.stamp: WANTED = --editable '.[cli,plot,sklearn]' --group dev
.venv/papers.stamp: WANTED = --editable '.[plot,sklearn]'
.venv-lint/lint.stamp: WANTED = --editable '.[cli,plot]' --group lint
.venv-lowest/lowest.stamp: WANTED = --editable . --group lowest
# Where pip's index offers torch for GPUs only, which is large, set PIP_EXTRA_INDEX_URL to PyTorch's
# index of wheels for CPUs.
.venv-torch/torch.stamp: WANTED = --editable '.[torch]' --group torch
.venv-spark/spark.stamp: WANTED = --editable '.[cli,spark]' --group spark
.venv-sklearn/sklearn.stamp: WANTED = --editable '.[sklearn,plot,frames]' --group sklearn
.venv-docs/docs.stamp: WANTED = --editable '.[cli,plot,sklearn]' --group docs
.venv-peers/peers.stamp: WANTED = --group bench
.venv-newest/newest.stamp: WANTED = --upgrade --editable '.[cli,plot,sklearn]' --group newest

%.stamp: pyproject.toml | $$(@D)/pip.ready
	@echo "installing into $(@D)"
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check $(WANTED)
	@touch $@

BASE_PYTHON = $(PYTHON)
.venv-lowest/pip.ready .venv-sklearn/pip.ready: BASE_PYTHON = $(LOWEST_PYTHON)
.venv-newest/pip.ready: BASE_PYTHON = $(NEWEST_PYTHON)

# pip 25.1 is the first that knows dependency groups.
%/pip.ready:
	@$(BASE_PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else \
		"stakes needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ...")'
	@echo "creating $(@D) with $$($(BASE_PYTHON) --version)"
	@$(BASE_PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@touch $@
