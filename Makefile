# The two README commands are `make reproduce` and `make test`; the rest is for people who change the code.
# Each command first sees to .venv: it is made once, and again only when pyproject or the pins change.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
ARGS   ?=
# CHROMIUM=install lets `make test` install Chromium with apt-get where there is none.
CHROMIUM ?=
export CHROMIUM
# Tests start hundreds of processes, each of which would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: kernel reproduce full test quick-tests test-all bare coverage mutants fuzz torture proofs probe-studies lint format bench docs release-check clean help
.DEFAULT_GOAL := help

help:
	@echo "make reproduce   check every claim, compare fresh trials with the committed results, write report.html (5 minutes on two cores)"
	@echo "make test        format, lint, types and tests (7 minutes on two cores)"
	@echo "make test-all    the same with the slow statistical checks"
	@echo "make coverage    the tests once more, with the share of lines and branches that they reach"
	@echo "make bare        install without extras and try build, read, bound and cover there"
	@echo "make mutants     break the code on purpose, one place at a time; a check or a test must notice (mutants/RESULT.md)"
	@echo "make fuzz        hand a million hostile inputs to everything that reads (fuzz/RESULT.md; 5 minutes of one core)"
	@echo "make torture     kill, starve and damage sweeps 200 times and more (torture/RESULT.md; 10 minutes)"
	@echo "make proofs      check the Coq library and two heads with it (proofs/RESULT.md; a minute once Coq is there)"
	@echo "make probe-studies   probe three pretrained models from PyPI and write results/probe with charts"
	@echo "make bench       time the engine against nn.TransformerEncoderLayer on this machine"
	@echo "make release-check   versions, lint, tests of the house, both archives, the wheel in a fresh environment, docs"
	@echo "make docs        build the documentation site into docs/_build/html (no network; a minute)"

# From requirements.lock, whose hashes are checked; make UNLOCKED=1 does without them.
$(STAMP): pyproject.toml constraints.txt requirements.lock requirements-models.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "sparsehead needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@scripts/install.sh $(BIN)/python
	@touch $(STAMP)

# Built while the package is installed; again when its sources have changed since.
kernel: $(STAMP)
	@$(BIN)/python -m sparsehead.train.transformer.build

reproduce: kernel
	$(BIN)/sparsehead reproduce $(ARGS)

full: kernel
	$(BIN)/sparsehead reproduce --full $(ARGS)

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/codespell
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# mypy has one process: it runs beside the tests.
test: kernel
	@scripts/chromium.sh
	@$(MAKE) --no-print-directory -j 2 lint quick-tests

quick-tests: kernel
	$(BIN)/python -m pytest -n 3 -m "not slow" $(ARGS)

test-all: lint kernel
	@scripts/chromium.sh
	$(BIN)/python -m pytest -n 3 $(ARGS)

coverage: kernel
	$(BIN)/python -m pytest -n 2 -m "not slow" --cov --cov-report=term $(ARGS)

bare:
	PYTHON=$(PYTHON) scripts/bare.sh

mutants: kernel
	$(BIN)/python mutants/run.py $(ARGS)
	$(BIN)/python mutants/machine.py --jobs 2

# The coverage-guided part runs where atheris can be installed; the summary says whether it did.
fuzz: kernel
	@$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements-fuzz.txt || true
	$(BIN)/python fuzz/run.py $(ARGS)

torture: kernel
	$(BIN)/python torture/run.py $(ARGS)

proofs: kernel
	@scripts/coq.sh
	$(BIN)/python proofs/run.py $(ARGS)

probe-studies: $(STAMP)
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements-studies.txt
	$(BIN)/python -m sparsehead_paper.probe_studies.command $(ARGS)

bench: kernel
	$(BIN)/python benchmarks/engine.py $(ARGS)

# Read anew each time, and a warning is an error: what is built is what the sources say.
docs: kernel
	$(BIN)/python -m sphinx -E -W --keep-going -q -b html docs docs/_build/html $(ARGS)
	@echo "open docs/_build/html/index.html"

release-check: kernel
	$(BIN)/python scripts/release_check.py $(ARGS)

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis docs/_build
