# Sets up the environments, runs the demo and the tests. Needs Python 3.11 or newer and make.
PYTHON ?= python3
# On a machine without a GPU, TORCH may name a CPU build to save the download of CUDA's libraries.
TORCH ?= torch==2.13.0
TRITON ?= 3.9.0
OLD_TRITON ?= 3.6.0
WORKERS ?= auto

export PIP_DISABLE_PIP_VERSION_CHECK = 1

READY = .venv/ready-triton-$(TRITON)
OLD_READY = .venv-triton-$(OLD_TRITON)/ready
RUN = .venv/bin/python -m
OLD_RUN = .venv-triton-$(OLD_TRITON)/bin/python -m

.PHONY: demo test test-old check setup docs golden clean

demo: $(READY)
	.venv/bin/python examples/demo.py

# The newest Triton runs last, so that the last line is the summary of the whole suite.
test: check test-old
	@echo "== Tests with Triton $(TRITON)"
	$(RUN) pytest -q -n $(WORKERS)

test-old: $(OLD_READY)
	@echo "== Tests with Triton $(OLD_TRITON)"
	$(OLD_RUN) pytest -q -n $(WORKERS) -m "not slow"

check: $(READY)
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy

setup: $(READY) $(OLD_READY)

# Writes the parts of the documentation that are made from the code.
docs: $(READY)
	.venv/bin/python scripts/make_docs.py

# Rewrites every expected text from what the code gives; read the diff before you commit it.
golden: $(READY)
	$(RUN) pytest -q -n $(WORKERS) --update-golden

clean:
	rm -rf .venv .venv-triton-* .mypy_cache .pytest_cache .ruff_cache

$(READY): pyproject.toml
	$(call environment,.venv,$(TRITON))
	@touch $@

$(OLD_READY): pyproject.toml
	$(call environment,.venv-triton-$(OLD_TRITON),$(OLD_TRITON))
	@touch $@

# CUDA builds of torch pin a Triton of their own: it is replaced, before the project is installed so
# that no other version is downloaded, and once more after it because pip restores the pinned one.
define environment
	@echo "== Making $(1) with Triton $(2)"
	$(PYTHON) -m venv $(1)
	@rm -f $(1)/ready*
	$(1)/bin/python -m pip install --quiet "$(TORCH)"
	$(1)/bin/python -m pip install --quiet --no-deps "triton==$(2)"
	$(1)/bin/python -m pip install --quiet --editable ".[dev]"
	$(1)/bin/python -m pip install --quiet --no-deps "triton==$(2)"
endef
