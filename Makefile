# Everything runs from .venv in this folder, which the first target that needs it makes; nothing is installed
# anywhere else. Needs make, pip and Python 3.11 or newer.

PYTHON ?= python3
# Which tests or benchmarks to run; empty means all.
ONLY ?=
# An extra of pyproject.toml to develop with besides the usual ones. `browser` is for tests/browser, which are skipped
# without it and without a Chromium on this machine.
EXTRAS ?=
# Not empty: the demo can be followed in a browser, and goes on until Ctrl-C.
KEEP ?=

VENV := .venv
PEERS := .venv-peers
BIN := $(VENV)/bin
# Each stamp says what .venv holds: the demo needs much less than the tests, and must not wait for them.
DEMO := $(VENV)/.installed-for-demo
DEV := $(VENV)/.installed-for-development
TOOLS := $(DEV)$(EXTRAS:%=-with-%)
# A later stamp covers those before it.
RUNTIME = $(if $(wildcard $(DEV)),$(DEV),$(DEMO))

# Two installations into one .venv at a time would spoil it.
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help demo up test soak lint format bench clean

help: ## Show this list
	@echo "duly - make targets (PYTHON=$(PYTHON))"
	@echo
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(RUNTIME) ## Run a whole fleet with a story; in a browser too: make demo KEEP=1
	@$(BIN)/duly demo $(if $(KEEP),--keep) </dev/null

up: $(RUNTIME) ## Run a fleet and its console until Ctrl-C, its data kept in .duly
	@$(BIN)/duly up </dev/null

# Tests that start whole processes and measure time come last and one by one; the others share the cores.
test: $(TOOLS) ## Run all tests, or some: make test ONLY=tests/pure
ifeq ($(strip $(ONLY)),)
	$(BIN)/python -m pytest -n 2 --ignore=tests/fleet </dev/null
	$(BIN)/python -m pytest tests/fleet </dev/null
else
	$(BIN)/python -m pytest $(ONLY) </dev/null
endif

# `make soak SEED=7` replays one seed, and prints its trace if it breaks a promise.
soak: $(TOOLS) ## Simulate the fleet: make soak SEEDS=20000 START=5000
	SEEDS=$(or $(SEEDS),20000) START=$(START) SEED=$(SEED) $(BIN)/python -m pytest -n 2 \
		tests/simulator/test_promises.py </dev/null

lint: $(TOOLS) ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(TOOLS) ## Rewrite the code in the one style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Other schedulers are installed into an environment of their own, $(PEERS), when a benchmark wants them.
# `make bench ONLY=growth` takes much longer, needs 11 GB of memory, and rewrites tests/benchmarks/growth.md and .svg.
bench: $(TOOLS) ## Run the benchmarks, or one: make bench ONLY=dispatch SIZE=1000 ROUNDS=5
	@$(BIN)/python -m tests.benchmarks $(foreach option,ONLY ROUNDS SIZE,$(call passed_on,$(option))) </dev/null

clean: ## Remove .venv and all caches; the data in .duly stays
	rm -rf $(VENV) $(PEERS) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(DEMO): pyproject.toml
	@$(call install,.[embedded$(,)console])

$(DEV): pyproject.toml
	@$(call install,.[embedded$(,)console$(,)test$(,)lint])
	@touch $(DEMO)

$(DEV)-with-%: pyproject.toml
	@$(call install,.[embedded$(,)console$(,)test$(,)lint$(,)$*])
	@touch $(DEMO) $(DEV)

, := ,

# `--rounds 5` for ROUNDS=5; nothing when it is empty.
passed_on = $(if $(strip $($(1))),--$(shell echo $(1) | tr A-Z a-z) $(strip $($(1))))

# Install the distribution, editable, with the extras it names, and leave the stamp only when all went well.
# PIP_USER is what some machines set for everybody, and is an error inside a virtual environment.
define install
	set -e; \
	command -v "$(PYTHON)" >/dev/null || { \
		echo "duly needs Python 3.11 or newer, and there is no '$(PYTHON)'; try: make PYTHON=/path/to/python3" >&2; exit 1; }; \
	"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "duly needs Python 3.11 or newer, and $(PYTHON) is $$("$(PYTHON)" -c 'import platform; print(platform.python_version())'); try: make PYTHON=python3.12" >&2; exit 1; }; \
	$(BIN)/python -c '' 2>/dev/null || "$(PYTHON)" -m venv --clear $(VENV) </dev/null; \
	$(BIN)/python -m pip --version >/dev/null 2>&1 || "$(PYTHON)" -m venv $(VENV) </dev/null; \
	echo "Installing $(1) into $(VENV) ..."; \
	PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet --no-input --editable '$(1)' </dev/null; \
	touch $@
endef
