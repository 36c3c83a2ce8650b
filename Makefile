# Every target sets up what it needs: `make demo` on a fresh machine is enough.
.DEFAULT_GOAL := help
.PHONY: airline help setup lock format test check demo docs bench bench-peers wire durability

PYTHON ?= python3
UV := $(or $(shell command -v uv),.tools/bin/uv)
BIN := .venv/bin

help:            ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 12

setup: .venv/.ready ## build .venv in the checkout from the lock file

.tools/bin/uv:
	$(PYTHON) -m venv .tools
	.tools/bin/python -m pip install --quiet --disable-pip-version-check uv

.venv/.ready: requirements.lock pyproject.toml | $(UV)
	$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv
	$(UV) pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --editable .
	@touch $@

lock: | $(UV)    ## resolve the dependencies anew into requirements.lock
	$(UV) pip compile --quiet --universal --generate-hashes --upgrade --all-extras --group dev --group docs \
	  --custom-compile-command 'make lock' --output-file requirements.lock pyproject.toml

format: setup    ## rewrite the sources in the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: setup      ## run the tests
	$(BIN)/pytest -n auto

check: setup     ## everything a change must pass: format, lint, types, import rules, tests, docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy -p openprogram
	$(BIN)/mypy tests
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest -n auto
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

docs: setup      ## build the documentation into site/, and docs/cli.md from the app
	$(BIN)/python -m typer openprogram.cli.app utils docs --name openprogram --output docs/cli.md
	for name in scenario contract fixture; do $(BIN)/openprogram scenarios schema $$name > docs/schemas/$$name.json; done
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

demo: setup      ## record a tool loop over HTTP, replay it offline, watch a change being caught
	$(BIN)/openprogram demo

#: The airline's data, which is no part of the checkout, and a file of trajectories of the same form.
AIRLINE ?= ../shared/airline
TRAJECTORIES ?= $(AIRLINE)/trajectories.jsonl

airline: setup   ## replay recorded agents in the airline's world, whose data is in AIRLINE=FOLDER; TRAJECTORIES=FILE for others
	@$(BIN)/python docs/examples/airline/replay.py $(AIRLINE) $(TRAJECTORIES)

bench: setup     ## measure recording and replay against floors of the same run
	$(BIN)/python -m tests.benchmarks

bench-peers: setup ## measure the same session through vcrpy, the bare SDK and openprogram
	$(BIN)/python -m tests.benchmarks.peers

wire: setup      ## record and replay recorded conversations with vendors; CASES=DIR for a folder of your own
	$(BIN)/python -m tests.wire $(CASES)

durability: setup ## let every system call of the commands fail or be the last; kill a large recording KILLS times
	$(BIN)/python -m tests.openprogram.durability $(KILLS)
