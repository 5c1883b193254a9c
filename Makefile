# Two commands are enough: `make serve` to use it, `make test` to test it. Both install what they need first.
# `make check` is the quick half of `make test`, for while you work.

PYTHON ?= python3
UV ?= uv
ARGS ?=
# One more than there are cores on the smallest machine: tests also wait.
WORKERS ?= 3

VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
STAMP := $(VENV)/.installed
COMPILED := $(VENV)/.tests-compiled

.DEFAULT_GOAL := help
.PHONY: help install serve test check lint types prepare unit test-postgres judge torture soak pictures bench bench-recall fuzz audit demo docs lock build clean

help: ## List these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1@\2/p' $(MAKEFILE_LIST) | tr '@' '\t' | expand -t 22

install: $(STAMP) ## Create .venv with everything in it, as locked

$(STAMP): pyproject.toml requirements.lock $(wildcard packaging/*.py packaging/*.safetensors)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Commonplace needs Python 3.11 or newer. Name one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Installing into $(VENV), with the search model built in: this takes a minute or two."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@touch $(STAMP)

serve: install ## Run the HTTP server (more options: make serve ARGS="--port 9000")
	$(BIN)/commonplace serve $(ARGS)

# Types are checked while tests run: they would keep one core busy for a minute and the other one idle.
test: install ## Lint, check types, run every test
	$(MAKE) -j2 lint prepare
	$(MAKE) -j2 types unit

prepare: install $(COMPILED) # What all workers would do at once: compile the tests, install Chromium and fish where they are missing
	$(BIN)/python -c 'from tests.web.browser import prepare; from tests.system_packages import program; prepare(); program("fish")'

$(COMPILED): $(STAMP) $(wildcard tests/*.py tests/*/*.py tests/*/*/*.py)
	$(BIN)/python -m pytest --collect-only -qq > /dev/null
	@touch $(COMPILED)

# Tests that need no PostgreSQL, no browser, no wheel and hardly a process of their own.
QUICK := tests/test_architecture.py tests/test_docs.py tests/text tests/ranking tests/hosts tests/promises

check: lint types ## Lint, check types, run the quick tests
	$(BIN)/python -m pytest -n 2 --dist loadfile -q -k "not postgres" $(QUICK) $(ARGS)

lint: install ## Check style, formatting, and the licences and hashes of dependencies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python packaging/locked.py
	$(BIN)/python packaging/licences.py

types: install ## Check types
	$(BIN)/mypy

unit: install ## Run the tests (some of them: make unit ARGS="tests/embed -x")
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

test-postgres: install ## Run all tests of dialects, memory and promises with their stores in PostgreSQL
	$(BIN)/python -m pytest tests/contract tests/dialects tests/memory tests/promises --engine postgres $(ARGS)

judge: install ## Run other people's test tools and agents (needs the network once; some of them: make judge ARGS="inspector axe")
	$(BIN)/python -m judges $(ARGS)

torture: install ## Inject faults: kill processes, fill disks, cut networks (longer: make torture ARGS="--minutes 10 --seed 7")
	$(BIN)/python -m torture $(ARGS)

soak: install ## Steady load from 20 clients for ten minutes, with plots in docs/pictures
	$(BIN)/python -m benchmarks.soak --plots docs/pictures $(ARGS)

pictures: install ## Take the screenshots in docs/pictures, with a month of sample data
	$(BIN)/python -m tests.web.pictures

bench: install ## Measure speed and quality
	$(BIN)/python -m benchmarks.run $(ARGS)

bench-recall: install ## Measure what is found, on a folder of dialogues (make bench-recall FOLDER=...)
	@test -n "$(FOLDER)" || { echo "Name the folder of dialogues: make bench-recall FOLDER=..." >&2; exit 1; }
	$(BIN)/python -m benchmarks.recall_quality "$(FOLDER)" $(ARGS)

fuzz: install ## Search for harmful input with atheris, on Linux (make fuzz ARGS="query rest --seconds 600")
	@$(BIN)/python -c 'import atheris' 2>/dev/null \
	  || $(BIN)/python -m pip install --quiet --disable-pip-version-check --group fuzz
	$(BIN)/python -m fuzzing $(ARGS)

audit: ## Look up known vulnerabilities of dependencies (needs the network)
	@test -d build/audit || $(PYTHON) -m venv build/audit
	@build/audit/$(notdir $(BIN))/python -m pip install --quiet --disable-pip-version-check pip-audit
	build/audit/$(notdir $(BIN))/pip-audit --strict --disable-pip --require-hashes -r requirements.lock

demo: install ## See what it does, in a temporary memory
	$(BIN)/commonplace demo $(ARGS)

docs: install ## Build the documentation as a site in build/docs (check external links: make docs ARGS="-b linkcheck")
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --fresh-env --doctree-dir build/docs-cache $(ARGS) docs build/docs
	@echo "Open build/docs/index.html in a browser."

lock: ## Update the pinned dependency versions (needs uv)
	$(UV) pip compile pyproject.toml --group dev --universal --python-version 3.11 --upgrade --quiet \
	  --generate-hashes --no-emit-index-url --no-header --no-annotate --output-file requirements.lock
	$(UV) pip compile judges/requirements.txt --universal --python-version 3.11.4 --upgrade --quiet \
	  --generate-hashes --no-emit-index-url --no-header --no-annotate --output-file judges/requirements.lock
	$(UV) pip compile judges/mcp1.txt --universal --python-version 3.11.4 --upgrade --quiet \
	  --generate-hashes --no-emit-index-url --no-header --no-annotate --output-file judges/mcp1.lock

build: install ## Build the source distribution and the wheel into dist/
	$(BIN)/python -m hatchling build

clean: ## Remove everything that was built or installed
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -f src/commonplace/embed/model/*.onnx src/commonplace/embed/model/*.json src/commonplace/embed/model/*.part
