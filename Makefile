.DEFAULT_GOAL := help
.PHONY: help run test lint check fast endure bench format lock clean

# Images often forbid bytecode; without it every process that a test starts compiles everything anew.
unexport PYTHONDONTWRITEBYTECODE

# Shared by all checkouts: a fresh clone checks only the types of what changed.
export MYPY_CACHE_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/hemicycle-tests/mypy

# A file by one worker, in the order of the folders: what is slow begins first, and ends with the rest.
AT_ONCE = --dist loadfile --no-loadscope-reorder

COMPILE = CUSTOM_COMPILE_COMMAND='make lock' .venv/bin/pip-compile --quiet --generate-hashes --allow-unsafe \
	--strip-extras --no-emit-options --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	--build-deps-for editable

help: ## Say what the targets do
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Set up what is missing and open Hemicycle
	@.ci/setup run
	.venv/bin/hemicycle serve

# Four on two processors: tests that end processes and move runs wait half of their time.
test: ## Set up what is missing and run the tests of every change, browser included
	@.ci/setup test
	.venv/bin/pytest -n 4 $(AT_ONCE)

lint: ## Format, lint, types, imports
	@.ci/setup dev
	.venv/bin/ruff format --check
	.venv/bin/ruff check
	.venv/bin/mypy
	.venv/bin/lint-imports

# Side by side, since the type checker uses one processor.
check: ## All of lint, and the fast tests: units, contracts and the architecture; coverage is for `make endure`
	@.ci/setup dev
	@$(MAKE) --no-print-directory --jobs=2 --keep-going lint fast

fast:
	.venv/bin/pytest -n 2 $(AT_ONCE) -m 'not slow' tests/contract tests/test_architecture.py tests/unit

endure: ## Run the long and heavy tests: tests/README.md lists them
	@.ci/setup endure
	.venv/bin/pytest -n 2 $(AT_ONCE) -m long
	.venv/bin/pytest -n 2 $(AT_ONCE) --cov=engine/agents --cov=engine/patterns --cov-report=term:skip-covered \
		tests/unit/engine/agents tests/unit/engine/patterns

bench: ## Measure speed; print the numbers, and put them into assets/BENCHMARKS.md and README.md
	@.ci/setup bench
	.venv/bin/python -m tests.bench --write

format: ## Format the code and mend what the linter can mend
	@.ci/setup dev
	.venv/bin/ruff format
	.venv/bin/ruff check --fix

lock: ## Pin the dependencies of pyproject.toml anew (with Python 3.11; UPGRADE=--upgrade takes the newest)
	@.ci/setup dev
	$(COMPILE) $(UPGRADE) --output-file requirements.lock pyproject.toml
	$(COMPILE) $(UPGRADE) --extra dev --constraint requirements.lock --output-file requirements-dev.lock pyproject.toml
	$(COMPILE) $(UPGRADE) --extra fleet --extra s3 --constraint requirements-dev.lock \
		--output-file requirements-fleet.lock pyproject.toml
	$(COMPILE) $(UPGRADE) --extra dev --extra bench --constraint requirements-dev.lock \
		--output-file requirements-bench.lock pyproject.toml

clean: ## Remove everything that the other targets made
	rm -rf .venv dist build .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
