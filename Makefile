# make demo          starts TensorBoard on demo_logs, in a virtual environment (PORT=6006; a free port if that is in use)
# make test          lint, types, unit tests of both languages, the page in a real browser
# make sanitize      tests of everything that reads files, with kernels that check indices, addresses, undefined behaviour
# make fuzz          tests with generated captures, texts and requests, until Ctrl-C or for MINUTES=…; failures are in
#                    build/fuzz/failures
# make golden        compares what all commands and routes answer with what a commit answers, byte by byte: make golden
#                    BASE=main~3 (the last commit); for changes of the structure that must not change answers
# make schema        generates JSON Schemas, docs/report.md, the page's types and tables
# make pictures      takes the pictures of the README and the guides from the demo, in a browser
# make docs          builds the documentation as a site, in build/site
# make bench         compares time and memory with other readers of XPlane files: make bench FILE=capture.xplane.pb
# make matrix        records captures with many versions of JAX, TensorFlow and PyTorch/XLA, and checks their reports;
#                    also the catalogue's names of TorchTPU, in its wheel
# make wheel         builds dist/: the source distribution and this machine's wheel, checked, with their hashes
# make reproducible  builds both again in another folder and compares the bytes
# make ranges        tests the wheel with the oldest and newest releases of all dependencies, with each installed Python
#                    or with some: make ranges RANGES="--only 3.14 --ends newest"
# A second run only does what changed. PYTHON=python3.12 selects the interpreter.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.PHONY: demo test lint types unit page browser sanitize fuzz matrix golden schema pictures docs bench wheel reproducible ranges clean

PYTHON ?= python3
PORT ?= 6006
ROUNDS ?= 3
BASE ?= HEAD
MATRIX ?= build/matrix
ENVIRONMENTS ?= build/environments
TORCH_TPU ?= torch_tpu==0.2.0
RANGES ?=
BIN := .venv/bin
# New releases of pip print setuptools' warnings, which are for its developers. Python compiles the modules that are used
# when it imports them; pip would compile all of them.
INSTALL := PYTHONWARNINGS=ignore $(BIN)/pip install --quiet --no-compile
# pip compiles the kernels, and packs the page if npm is installed.
KERNELS := $(shell find tb_xla_insights -name kernels.py -o -name '*.pxd')
PAGE := pack.js package-lock.json $(shell find frontend -name '*.js' -o -name '*.css')
# Tests that read real, random and damaged files.
SANITIZE := tests/test_kernels.py tests/test_xplane_read.py tests/test_xplane_damage.py \
	tests/test_xplane_changing.py tests/test_riegeli.py tests/test_report_random.py tests/test_report_real.py \
	tests/test_propagation_real.py tests/test_timeline_real.py tests/test_pyramid.py tests/test_timeline_scopes.py \
	tests/test_annotation_tree.py tests/test_demo_logs.py
STALLED := the browser draws no frame
# Tests start hundreds of processes that import the package from this checkout; without bytecode files, each of them
# would compile it again.
unexport PYTHONDONTWRITEBYTECODE

demo: .venv/installed
	@port=$$($(BIN)/python .ci/free_port.py $(PORT)); \
	echo; echo "  Open http://localhost:$$port/#xla_insights"; echo; \
	exec $(BIN)/tensorboard --logdir demo_logs --port "$$port"

# Installing and most checks use one core, so that two of them run at a time.
test:
	@$(MAKE) --jobs 2 --output-sync page lint
	@$(MAKE) --jobs 2 types unit
	@$(MAKE) browser
	@echo "All tests passed."

lint: .venv/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed-test
	$(BIN)/mypy

# Each process gets consecutive tests, which share the fixtures of their file.
PYTEST := $(BIN)/pytest -n 2 --dist worksteal

unit: .venv/installed-test node_modules/.package-lock.json
	$(PYTEST) --ignore tests/browser

page: node_modules/.package-lock.json
	npm run --silent lint
	npm run --silent check
	npm test --silent

# On a busy machine a browser sometimes stops drawing frames, without any time limit of its own. Such a test is repeated
# once, in a new browser; other failures are not repeated.
browser: .venv/installed-test frontend/packed/sources.sha256
	@if chromium=$$(.ci/browser); then \
		firefox=$$(.ci/browser firefox) || echo "FIREFOX TESTS SKIPPED: install Firefox, or set FIREFOX to its path." >&2; \
		echo "Browser tests with $$chromium $$firefox"; \
		CHROMIUM="$$chromium" FIREFOX="$$firefox" $(PYTEST) tests/browser --reruns 1 --only-rerun "$(STALLED)"; \
	elif [ "$${CI:-}" = true ]; then \
		echo "No browser: install Chromium or Chrome, or set CHROMIUM to its path." >&2; exit 1; \
	else \
		echo "BROWSER TESTS SKIPPED: install Chromium or Chrome, or set CHROMIUM to its path." >&2; \
	fi

# The kernels are built into a copy, so that those in use stay fast. Leaks are not detected, because Python never frees
# some of its own memory.
SANITIZED := $(CURDIR)/.make/sanitized
LIBASAN = $(shell $${CC:-cc} -print-file-name=libasan.so 2> /dev/null)
LIBUBSAN = $(shell $${CC:-cc} -print-file-name=libubsan.so 2> /dev/null)
sanitize: .venv/installed-test
	@[ -f "$(LIBASAN)" ] && [ -f "$(LIBUBSAN)" ] || { \
		echo "make sanitize needs gcc with libasan and libubsan, and $${CC:-cc} lacks them: on Debian, apt-get install gcc" >&2; exit 1; }
	rm -rf $(SANITIZED)
	mkdir -p $(SANITIZED)
	cp -r tb_xla_insights frontend demo_logs tests setup.py pyproject.toml README.md LICENSE $(SANITIZED)
	find $(SANITIZED) -name '*.so' -delete
	cd $(SANITIZED) && XLA_INSIGHTS_CHECKED=1 $(CURDIR)/$(BIN)/python setup.py --quiet build_ext --inplace
	cd $(SANITIZED) && PYTHONPATH=$(SANITIZED) LD_PRELOAD="$(LIBASAN) $(LIBUBSAN)" \
		ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
		XLA_INSIGHTS_TRACES="$${XLA_INSIGHTS_TRACES:-$(CURDIR)/../shared/traces}" \
		$(CURDIR)/$(BIN)/python -m pytest -q -n 2 -p no:cacheprovider $(SANITIZE)

# A second run continues where the first one was stopped.
FUZZ ?= build/fuzz
fuzz: .venv/installed-test
	PYTHONPATH=$(CURDIR):$(CURDIR)/tests:$(CURDIR)/demo_logs $(BIN)/python -m fuzz --folder $(FUZZ) $(if $(MINUTES),--minutes $(MINUTES))

# As root, programs get another host name, so that captures do not contain the machine's.
matrix: .venv/installed
	$(BIN)/python benchmarks/matrix/capture.py $(MATRIX) --environments $(ENVIRONMENTS)
	$(BIN)/python benchmarks/matrix/check.py $(MATRIX)
	$(BIN)/pip download --quiet --no-deps --dest $(MATRIX)/wheels $(TORCH_TPU)
	$(BIN)/python benchmarks/matrix/names.py $(MATRIX)/wheels/*.whl

schema: .venv/installed-test
	$(BIN)/python -m docs.schema.generate

golden: .venv/installed-test
	$(BIN)/python tests/golden/gate.py "$(BASE)"

pictures: .venv/installed-test .venv/installed-docs frontend/packed/sources.sha256
	CHROMIUM="$$(.ci/browser)" $(BIN)/python docs/pictures/take.py

docs: .venv/installed-docs frontend/packed/sources.sha256
	$(BIN)/python docs/collect.py build/site-source
	$(BIN)/mkdocs build --strict --quiet
	@echo "  Open build/site/index.html"

bench: .venv/installed
	@[ -f "$(FILE)" ] || { echo "Name a capture: make bench FILE=capture.xplane.pb" >&2; exit 1; }
	@command -v xprof-rs > /dev/null || { echo "xprof-rs is not on the PATH: pip install xprof-rs" >&2; exit 1; }
	$(BIN)/python benchmarks/bench_report.py "$(FILE)" $(ROUNDS)
	$(BIN)/python benchmarks/bench_decode.py "$(FILE)" $(ROUNDS)

.make/tools/installed: .venv/pyvenv.cfg .ci/tools.txt .ci/build.txt
	@rm -rf .make/tools
	$(BIN)/python -m venv .make/tools
	PYTHONWARNINGS=ignore .make/tools/bin/pip install --quiet --requirement .ci/tools.txt
	@touch $@

# The wheel is built from the source distribution, as pip does if no wheel fits.
wheel: .make/tools/installed frontend/packed/sources.sha256
	rm -rf dist .make/lib.* .make/bdist.*
	.make/tools/bin/python -m build --no-isolation --outdir dist . > .make/build.log 2>&1 || { cat .make/build.log; exit 1; }
	.make/tools/bin/twine check --strict dist/*
	cd dist && sha256sum *

reproducible: wheel
	.ci/reproducible $(CURDIR)/.make/tools/bin/python

ranges: wheel
	.make/tools/bin/python .ci/ranges.py dist/*.whl $(RANGES)

clean:
	find tb_xla_insights -name '*.so' -delete
	rm -rf .make .venv node_modules frontend/packed build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis dist

.venv/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { rm -rf .venv; \
		echo "$(PYTHON) cannot make virtual environments; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@# The pip of Debian 12 tries releases of the stock profile plugin's libraries for more than ten minutes.
	-@$(INSTALL) --upgrade pip

.venv/installed: .venv/pyvenv.cfg pyproject.toml setup.py $(KERNELS) $(PAGE)
	$(INSTALL) --editable .
	@touch $@

# npm's packages come first, as pip would install them as well, in order to pack the page.
.venv/installed-test: .venv/pyvenv.cfg pyproject.toml setup.py $(KERNELS) | node_modules/.package-lock.json
	$(INSTALL) --editable '.[test]'
	@$(INSTALL) tensorboard-plugin-profile || \
		echo "The stock profile plugin cannot be installed here; tests that compare with it are skipped."
	@touch $@ .venv/installed

.venv/installed-docs: .venv/pyvenv.cfg pyproject.toml
	$(INSTALL) --group docs
	@touch $@

node_modules/.package-lock.json: package.json package-lock.json
	@command -v npm > /dev/null || { echo "Node.js with npm is needed to check and pack the page: install nodejs and npm." >&2; exit 1; }
	npm ci --silent --ignore-scripts
	@touch $@

frontend/packed/sources.sha256: node_modules/.package-lock.json $(PAGE)
	npm run --silent pack
