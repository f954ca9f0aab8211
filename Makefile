# Every job of this project, for people and for CI alike. Each makes what it needs.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
SERVER ?= $(HOME)/.cache/dnip-integration/venv
FUZZ   ?= 50
MODEL  := models/SmolLM2-135M-Instruct.Q4_1.gguf
NEWS   := --task agnews --model $(MODEL) --demonstrations examples/news/train.jsonl --shots 1
KERNELS := setup.py $(wildcard src/dnip/solvers/kernels/*.[ph]*)
# Python translates a file when it is first imported: to do so for all takes as long as installing.
export PIP_COMPILE := 0
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo model model-folder demo-llm test torch fuzz kills floors sanitize integration lint types examples day bench reproduce docs printed pictures clean
.DEFAULT_GOAL := demo

demo: $(VENV)/.demo          ## the main job on a bundled table
	$(BIN)/dnip demo

model: | $(VENV)/bin/python  ## SmolLM2-135M-Instruct, a small language model (98 MB, Apache-2.0), into models/
	$(BIN)/python tools/fetch_model.py

model-folder: $(VENV)/.llm   ## the same weights for `transformers serve` too, 538 MB
	$(BIN)/python tools/fetch_model.py --folder

demo-llm: $(VENV)/.llm model ## from texts to better class accuracies with that model
	@mkdir -p dnip-demo && rm -f dnip-demo/news-*
	$(BIN)/dnip prompt examples/news/opt.jsonl $(NEWS) --check
	$(BIN)/dnip prompt examples/news/opt.jsonl $(NEWS) --out dnip-demo/news-opt.csv
	$(BIN)/dnip prompt examples/news/test.jsonl $(NEWS) --out dnip-demo/news-test.csv
	$(BIN)/dnip fit dnip-demo/news-opt.csv --out dnip-demo/news-coefficients.json
	$(BIN)/dnip evaluate dnip-demo/news-test.csv --coefficients dnip-demo/news-coefficients.json

test: $(VENV)/.dev           ## all tests, docstring examples included
	$(BIN)/python -m pytest -n 2 --dist worksteal

torch: $(VENV)/.torch         ## torch and the rest that the tests of language models need: some GB

fuzz: $(VENV)/.dev           ## hostile input to every command, new cases each time, for about ten minutes
	DNIP_FUZZ=$(FUZZ) $(BIN)/python -m pytest -n 2 -q tests/fuzz

floors: $(VENV)-floors/.done  ## the main rooms with the lowest versions that pyproject.toml allows
	$(VENV)-floors/bin/python -m pytest -n 2 -q tests/base tests/method tests/metrics tests/tables tests/solvers/kernels tests/solvers/test_solve.py tests/sklearn tests/using tests/llm/serving tests/presenting tests/cli/test_fit.py tests/cli/test_apply.py

sanitize: $(VENV)/sanitized  ## kernels that stop at a step beside an array, and where what C does is not defined
	LD_PRELOAD=$$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc PYTHONPATH=$(abspath $<) $(BIN)/python -m pytest -n 2 -q -s -x tests/solvers/kernels

integration: $(VENV)/.integration $(SERVER)/.built  ## against a real llama.cpp server, built once in some minutes, and databases
	DNIP_LLAMA_PYTHON=$(SERVER)/bin/python $(BIN)/python -m pytest -n 0 -m integration tests/integration tests/using/test_exports.py tests/fuzz/test_names.py

kills: $(VENV)/.dev          ## kill -9 at 20 moments of each command, fit and apply on 10 million rows
	DNIP_KILLS=20 DNIP_KILL_ROWS=10000000 $(BIN)/python -m pytest -n 0 -s tests/cli/test_kills.py

lint: $(VENV)/.dev           ## style, and the one-way imports between rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.dev          ## the type checker
	$(BIN)/mypy

examples: $(VENV)/.dev       ## every file of examples/, run
	@set -e; for example in examples/*.py; do echo "$$example"; $(BIN)/python "$$example" >/dev/null; done

day: $(VENV)/.day model ## collect, fit, serve, check: examples/a_day.py on a real llama.cpp server
	$(BIN)/python examples/a_day.py

bench: $(VENV)/.dev          ## speed and quality, side by side in one run
	$(BIN)/python -m benchmarks

reproduce: $(VENV)/.reproduction  ## the paper's tables and figures, from the saved probabilities of a prompted model
	$(BIN)/python -m reproduction --out dnip-reproduction

docs: $(VENV)/.docs          ## the documentation, into site/
	$(BIN)/python -m sphinx -q -W --keep-going docs site

printed: $(VENV)/.dev        ## the output and the tables quoted in README and docs, written again
	$(BIN)/cog -p 'from tools.printed import show, table' -I . -r README.md docs/*.md
	$(BIN)/python -m tools.make_notebook

pictures: $(VENV)/.dev       ## the pictures of the documentation, drawn again; needs Chromium
	$(BIN)/python tools/make_docs.py --pictures

clean:
	rm -rf $(VENV) $(VENV)-floors build site docs/gallery docs/sg_execution_times.rst dnip-demo dnip-bench dnip-reproduction .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv --without-pip $(VENV)
	$(PYTHON) -m pip --python $(VENV)/bin/python install --quiet pip || $(VENV)/bin/python -m ensurepip

$(VENV)/.demo: pyproject.toml $(KERNELS) | $(VENV)/bin/python
	$(PIP) --editable '.[plot]'
	@touch $@

$(VENV)/.dev: pyproject.toml $(KERNELS) | $(VENV)/bin/python
	$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.demo

$(VENV)/.torch: pyproject.toml $(KERNELS) | $(VENV)/bin/python
	$(PIP) --editable '.[dev-prompting]'
	@touch $@ $(VENV)/.dev $(VENV)/.demo $(VENV)/.llm

$(VENV)/.reproduction: pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable '.[reproduction]'
	@touch $@

$(VENV)-floors/.done: pyproject.toml tools/floors.py
	$(PYTHON) -m venv $(VENV)-floors
	$(PYTHON) tools/floors.py all > $(VENV)-floors/constraints.txt
	$(VENV)-floors/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(VENV)-floors/constraints.txt --editable '.[all]' pytest pytest-xdist pytest-timeout hypothesis
	@touch $@

$(VENV)/sanitized: $(KERNELS) | $(VENV)/.dev
	CC=gcc CFLAGS='-O1 -g1 -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all' $(PIP) --no-deps --upgrade --target $@ .
	@touch $@

$(VENV)/.llm: pyproject.toml $(KERNELS) | $(VENV)/bin/python
	$(PIP) --editable '.[transformers]'
	@touch $@

$(VENV)/.day: pyproject.toml $(KERNELS) | $(VENV)/bin/python
	$(PIP) --editable '.[day]'
	@touch $@

$(VENV)/.integration: pyproject.toml $(KERNELS) | $(VENV)/bin/python
	$(PIP) --editable '.[integration]'
	@touch $@

$(SERVER)/.built:
	$(PYTHON) -m venv $(SERVER)
	nice $(SERVER)/bin/python -m pip install --disable-pip-version-check 'llama-cpp-python[server]>=0.3'
	@touch $@

$(VENV)/.docs: pyproject.toml $(KERNELS) | $(VENV)/bin/python
	$(PIP) --editable '.[docs]'
	@touch $@
