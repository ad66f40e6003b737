# Every target sets up what it needs, once. PYTHON is the interpreter that makes the environment.
PYTHON ?= python3
BIN := .venv/bin
FLATCUBE := $(BIN)/python -m flatcube.cli

.DEFAULT_GOAL := help
.PHONY: help book serve zip lab notebooks evidence test bench lock clean

help:            ## list the targets
	@grep -E '^[a-z]+: .*##|^[a-z]+:.*##' Makefile | sed -E 's/:[^#]*##/\t/' | expand -t 12

.venv/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit(f"Python {v[0]}.{v[1]} is too old: the book needs 3.11 or newer; say which with make PYTHON=...")'
	$(PYTHON) -m venv .venv || { echo "Python's module venv is missing: install your system's package (on Debian: python3-venv)."; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

book: .venv/.ready       ## execute the chapters, build the site into _build/html
	$(FLATCUBE) book

serve: book              ## build if needed, then serve the site on this machine
	$(FLATCUBE) serve

zip: book                ## the site as one file that works offline
	$(FLATCUBE) zip

lab: .venv/.ready        ## JupyterLab on the chapters
	$(FLATCUBE) lab

notebooks: .venv/.ready  ## re-execute all chapters and refresh the stored outputs
	$(FLATCUBE) notebooks --all

evidence: .venv/.ready   ## run the tests of the library and refresh data/evidence.json
	$(BIN)/python -m pytest tests --ignore tests/browser --write-evidence

test: book               ## everything: library, notebooks, pages in a browser
	$(BIN)/python -m tests.browser.chromium
	$(BIN)/ruff check lib tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder tests --ignore tests/browser
	$(BIN)/python -m pytest -p tests.notebooks.replay --nbval-lax chapters/[0-9][0-9]-*.ipynb
	$(FLATCUBE) check
	$(BIN)/python -m pytest -n 2 --dist loadgroup tests/browser

bench: .venv/.ready      ## speed as ratios to other packages, measured in one run
	$(BIN)/python tests/benchmarks/run.py

lock: .venv/.ready       ## write the installed versions to requirements.lock
	( head -n 1 requirements.lock; $(BIN)/python -m pip freeze --all --exclude-editable --exclude pip | sed 's/+cpu//' ) > requirements.new
	mv requirements.new requirements.lock

clean:                   ## remove everything that was built, and the environment
	rm -rf _build .venv
