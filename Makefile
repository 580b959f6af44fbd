# Everything that can be run here; `make` alone lists it. Each target sets up what it needs, in an
# environment of its own, and a second run reuses it until pyproject.toml changes.

PYTHON ?= python3

# The lowest supported numpy has wheels for Python 3.11 and 3.12 only.
LOWEST_PYTHON ?= $(shell for p in python3.11 python3.12; do \
	$$p -c '' 2>/dev/null && { echo $$p; exit; }; done; echo $(PYTHON))

# Rooms of the package that need more than numpy and scipy, and tests that need other packages.
BEYOND_CORE := --ignore=src/stakes/adapters --ignore=src/stakes/render \
	--ignore=src/stakes/plot --ignore=src/stakes/cli \
	--ignore=tests/peers --ignore=tests/browser -m "not peers"

# The page is tested in a real browser where there is one; CI installs it.
BROWSER := $(if $(shell command -v chromium),,--ignore=tests/browser)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.SECONDARY:
.SECONDEXPANSION:
.PHONY: help demo test lint test-core test-lowest test-peers papers bench clean

help:  ## list the targets
	@echo "make TARGET, where TARGET is one of:"
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/  \1|\2/p' Makefile | \
		while IFS='|' read -r name text; do printf '%-14s %s\n' "$$name" "$$text"; done

demo: .venv/demo.stamp  ## evaluate the shipped example, print the report and write report.html
	@.venv/bin/stakes demo

test: .venv/test.stamp  ## run the whole suite: core, doctests, peers; a skip is a failure
	STAKES_NO_SKIP=1 .venv/bin/python -m pytest -n auto $(BROWSER)

lint: .venv-lint/lint.stamp  ## ruff and mypy
	.venv-lint/bin/ruff check .
	.venv-lint/bin/mypy

test-core: .venv-core/core.stamp  ## the tests that need numpy and scipy only, with nothing else there
	.venv-core/bin/python -m pytest $(BEYOND_CORE)

test-lowest: .venv-lowest/lowest.stamp  ## the same with the lowest supported versions
	.venv-lowest/bin/python -m pytest $(BEYOND_CORE)

test-peers: .venv-peers/peers.stamp  ## compare with other packages, live
	STAKES_NO_SKIP=1 .venv-peers/bin/python -m pytest tests/peers

papers: .venv/papers.stamp  ## reproduce every table and figure of the papers into papers/README.md
	.venv/bin/python papers/run.py --all

bench: .venv/test.stamp  ## time the library beside others; prints tables
	@for script in benchmarks/*.py; do echo; echo "== $$script"; \
		.venv/bin/python $$script || exit 1; done

clean:  ## remove the environments and everything that was built
	rm -rf .venv .venv-lint .venv-core .venv-lowest .venv-peers build dist
	rm -rf .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find src tests docs examples papers benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# Environments ------------------------------------------------------------------------------------

.venv/demo.stamp: WANTED = --editable '.[cli]'
.venv/test.stamp: WANTED = --editable '.[cli,plot,sklearn]' --group dev
.venv/papers.stamp: WANTED = --editable '.[plot,sklearn]'
.venv-lint/lint.stamp: WANTED = --editable '.[cli,plot]' --group lint
.venv-core/core.stamp: WANTED = --editable . --group test
.venv-lowest/lowest.stamp: WANTED = --editable . --group lowest
.venv-peers/peers.stamp: WANTED = --editable . --group peers

%.stamp: pyproject.toml | $$(@D)/pip.ready
	@echo "installing into $(@D)"
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check $(WANTED)
	@touch $@

BASE_PYTHON = $(PYTHON)
.venv-lowest/pip.ready: BASE_PYTHON = $(LOWEST_PYTHON)

# pip 25.1 is the first that knows dependency groups.
%/pip.ready:
	@$(BASE_PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else \
		"stakes needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ...")'
	@echo "creating $(@D) with $$($(BASE_PYTHON) --version)"
	@$(BASE_PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@touch $@
