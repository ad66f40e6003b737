# Every target sets up what it needs, once. PYTHON is the interpreter that makes the environment; PYTHON=1, with zip, asks
# for Python in the page.
ifeq ($(PYTHON),1)
override PYTHON := python3
ZIPPED := --python
endif
PYTHON ?= python3
BIN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
FLATCUBE := $(BIN)/python -m flatcube.cli
PYTEST := $(BIN)/python -m pytest

# Tests that need a browser: a folder, and files in the others.
WITHOUT_BROWSER := tests --ignore tests/browser --ignore-glob '*_page.py'
IN_BROWSER := tests/browser $(wildcard tests/*/test_*_page.py)
# Two workers, and the tests of one file stay together: they share a page, a network or a JupyterLab.
BY_FILE := -n 2 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help book serve zip slides pdf lab notebooks evidence test lint test-machines test-views bench format lock clean

help:            ## list the targets
	@awk -F ':.*## *' '/^[a-z-]+:.*##/ { printf "%-16s%s\n", $$1, $$2 }' Makefile

# The lock has hashes, so it installs the same bytes everywhere. PyTorch comes last and without: its builds differ, and one
# that is there already (a CPU build, say) stays.
.venv/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; (3, 11) <= v <= (3, 13) or sys.exit(f"Python {v[0]}.{v[1]} does not fit: the pinned packages are for 3.11 to 3.13; say which with make PYTHON=...")'
	$(PYTHON) -m venv .venv || { echo "Python's module venv is missing: install your system's package (on Debian: python3-venv)."; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[torch]"
	@touch $@

book: .venv/.ready       ## execute the chapters, build the site into _build/html; EDITION=student or instructor: beside it
	$(FLATCUBE) book

serve: book              ## build if needed, then serve the site on this machine
	$(FLATCUBE) serve

zip: book                ## the site as one file that works offline; PYTHON=1: with Python in the page, 9 MB more
	$(FLATCUBE) zip $(ZIPPED)

slides: book             ## a deck of slides for each chapter, in _build/html/slides
	$(FLATCUBE) slides

pdf: book                ## a handout for each chapter, without solutions, in _build/pdf; needs a Chromium
	$(FLATCUBE) pdf

lab: .venv/.ready        ## JupyterLab on your own copy of the chapters, in work/
	$(FLATCUBE) lab

notebooks: .venv/.ready  ## re-execute all chapters and refresh the readers' notebooks
	$(FLATCUBE) notebooks --all

evidence: .venv/.ready   ## run the tests of the library and refresh data/evidence.json
	$(PYTEST) $(WITHOUT_BROWSER) --write-evidence

test: lint book          ## everything: library, notebooks, pages in a browser; ROOM=blowup: what concerns that room
	$(BIN)/python -m tests.browser.chromium
ifdef ROOM
	$(BIN)/python -m tests.room $(ROOM)
else
	OMP_NUM_THREADS=1 $(PYTEST) $(BY_FILE) $(WITHOUT_BROWSER)
	$(PYTEST) -p tests.notebooks.replay --nbval-lax chapters/notebooks
	$(FLATCUBE) check
	$(BIN)/python -m tests.machines oldest
	$(PYTEST) $(BY_FILE) $(IN_BROWSER)
endif

lint: .venv/.ready       ## the form of our Python, in library, tests and chapters
	$(BIN)/ruff check lib tests instructor chapters/notebooks

test-machines: book      ## the chapters' outputs under the arithmetic of other processors
	$(BIN)/python -m tests.machines

test-views: book         ## every chapter in every view; make test takes them in turn
	FLATCUBE_VIEWS=all $(PYTEST) $(BY_FILE) $(addprefix tests/browser/test_,ends.py landing.py still.py)

bench: .venv/.ready      ## speed as ratios to other packages, measured in one run
	$(BIN)/python tests/benchmarks/run.py

format: .venv/.ready     ## put our JavaScript into its one format
	$(BIN)/python -m tests.javascript.tools

lock: .venv/.ready       ## write the installed versions, with their hashes, to requirements.lock
	$(BIN)/python -m tests.lock > requirements.new
	mv requirements.new requirements.lock

clean:                   ## remove everything that was built, and the environment
	rm -rf _build .venv
