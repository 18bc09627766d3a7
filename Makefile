# The interface for people. CMake does the building; each target first installs what it needs.
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
VENV := $(BUILD)/venv
PEERS := $(BUILD)/venv-peers

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := build
.PHONY: build demo python check test test-all bench bench-formats bench-tuning parity mutants fuzz soak install docs sheets format tidy clean distclean help setup setup-test configure

build: configure ## build the library and the command: build/stoker (the default)
	@cmake --build $(BUILD) --parallel $(JOBS)

demo: configure ## draw a data set of shapes, pack it, train a net on it, show what it sees (about 3 minutes, with the build)
	@cmake --build $(BUILD) --parallel $(JOBS) --target stoker_command make_shapes contact_sheet
	@tools/demo.sh $(BUILD)

python: setup $(VENV)/.done ## build the Python package (build/wheels) and install it into build/venv
	@JOBS=$(JOBS) tools/python.sh $(BUILD) $(VENV)

check: configure $(VENV)/.done ## a little of everything in some 3 minutes; T=name: one C test, one Python test, or what pytest -k finds
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/check.sh $(T)

test: setup setup-test $(VENV)/.done ## everything that must hold: builds, sanitizers, model, checks
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/test.sh

test-all: ## what needs hours or large peers, into docs/verified.md: parity, mutants, fuzz, soak; ONLY=mutants: one of them
	@BUILD=$(BUILD) python3 tools/test_all.py $(ONLY)

bench: build $(PEERS)/.peers ## compare with the peers, installed into build/venv-peers; DATA=dir, ARGS=--help
	@cmake --build $(BUILD) --target c_loop wait_loop jpeg_loop codec_loop make_shapes >$(BUILD)/c_loop.log 2>&1 || { cat $(BUILD)/c_loop.log; exit 1; }
	@tools/python.sh $(BUILD) $(PEERS)
	@$(PEERS)/bin/python bench/run.py --build $(BUILD) $(ARGS)

bench-formats: build $(PEERS)/.peers ## measure what formats cost: docs/formats.md; DATA=dir, ARGS=--help
	@tools/python.sh $(BUILD) $(PEERS)
	@$(PEERS)/bin/python bench/measure_formats.py --build $(BUILD) $(ARGS)

bench-tuning: build $(PEERS)/.peers ## compare runs that tune themselves with fixed numbers and with peers: docs/tuning.md; ARGS=--help
	@tools/python.sh $(BUILD) $(PEERS)
	@$(PEERS)/bin/python bench/tuning.py --build $(BUILD) $(ARGS)

parity: build $(PEERS)/.peers ## compare results with the installed TensorFlow, Pillow, torchvision and OpenCV; run the documents' code for them
	@cmake --build $(BUILD) --parallel $(JOBS) --target tests >$(BUILD)/tests.log 2>&1 || { tail -n 60 $(BUILD)/tests.log; exit 1; }
	@tools/python.sh $(BUILD) $(PEERS)
	@STOKER=$(BUILD)/stoker $(PEERS)/bin/python -m pytest -q -rs -p no:cacheprovider tests/parity tests/project/test_docs.py

mutants: build ## break the executor's rules one by one; its test must notice each (about 5 minutes)
	@cmake --build $(BUILD) --parallel $(JOBS) --target test_exec test_weaving >$(BUILD)/tests.log 2>&1 || { tail -n 60 $(BUILD)/tests.log; exit 1; }
	@python3 tests/project/mutate.py $(BUILD)

fuzz: setup setup-test ## search on with every fuzzer: make fuzz FUZZ_SECONDS=600 T=fuzz_gif (all of them without T)
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/fuzz.sh $(or $(FUZZ_SECONDS),600) $(T)

soak: build python ## mixed runs with signals, faults and small budgets, compared with reference runs: make soak MINUTES=60
	@cmake --build $(BUILD) --parallel $(JOBS) --target tests >$(BUILD)/tests.log 2>&1 || { tail -n 60 $(BUILD)/tests.log; exit 1; }
	@$(VENV)/bin/python tests/project/soak.py --minutes $(or $(MINUTES),60) --stoker $(BUILD)/stoker --failures $(BUILD)/soak-failures.txt

install: build ## install below PREFIX (default /usr/local), staged in DESTDIR
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX)

docs: build $(VENV)/.done ## regenerate docs/ops.md, docs/layers.md, docs/recipes.md, the man page and the completions; build the site: build/site
	@python3 tools/gen_docs.py $(BUILD)/stoker
	@python3 tools/gen_layers.py $(BUILD)/stoker
	@python3 tools/gen_recipes.py $(BUILD)/stoker
	@python3 tools/gen_python.py $(BUILD)/stoker
	@$(VENV)/bin/python -m mkdocs build --strict --site-dir $(BUILD)/site >$(BUILD)/site.log 2>&1 || { cat $(BUILD)/site.log; exit 1; }
	@echo "the site is in $(BUILD)/site/index.html"

sheets: python ## draw what image ops do: docs/augmentations.md and its pictures
	@$(VENV)/bin/python tools/augmentations.py

format: setup-test ## format all C in place
	@tools/sources.sh | xargs clang-format -i

tidy: configure setup-test ## run clang-tidy over what changed of the library and the command; ARGS=--deep: follow calls, too
	@python3 tools/tidy.py $(BUILD) --jobs $(JOBS) $(ARGS)

clean: ## remove what was compiled; keeps installed Python packages and the demo's data
	@tools/clean.sh $(BUILD)

distclean: ## remove the whole build directory
	@rm -rf $(BUILD)

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:
	@tools/setup.sh packages

setup-test:
	@tools/setup.sh packages tools/packages-test.txt || true # the tests that need them say so

configure: setup
	@mkdir -p $(BUILD)
	@cmake -S . -B $(BUILD) >$(BUILD)/configure.log 2>&1 || { cat $(BUILD)/configure.log; exit 1; }

$(VENV)/.done: tools/requirements.txt | setup
	@tools/setup.sh venv $(VENV) $<

$(PEERS)/.done: tools/requirements.txt | setup
	@tools/setup.sh venv $(PEERS) $<

# Again whenever a peer is added or pinned otherwise; what is there already stays.
$(PEERS)/.peers: $(PEERS)/.done tools/requirements-peers.txt tools/packages-peers.txt bench/install.py $(wildcard bench/peers/*.py)
	@tools/setup.sh packages tools/packages-peers.txt || true # the peers that need them say so
	@$(PEERS)/bin/python bench/install.py
	@touch $@
