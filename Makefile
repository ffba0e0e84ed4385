# The steps of CI, for people. PIP_ARGS goes to pip (see README for PyTorch's CPU build on Linux).
PYTHON ?= python3
PIP_ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: setup train test learn check bench docs clean

setup: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet $(PIP_ARGS) --constraint constraints.txt --editable '.[dev]'
	touch $(INSTALLED)

train: setup
	$(BIN)/cotrain train

test: setup
	$(BIN)/python -m pytest -q --durations=5

learn: setup
	$(BIN)/python bench/learn.py

check: setup
	$(BIN)/ruff check src tests bench scripts examples
	$(BIN)/ruff format --check src tests bench scripts examples
	$(BIN)/pyright
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python bench/rollout.py
	$(BIN)/python bench/train_step.py
	$(BIN)/python bench/games.py
	$(BIN)/python bench/sandbox.py

docs: setup
	$(BIN)/python -m cotrain.config.reference > docs/configuration.md

clean:
	rm -rf $(VENV)
