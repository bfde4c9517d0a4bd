# The two commands: `make demo` and `make test`. Everything they need is installed by tools/setup.
.DEFAULT_GOAL := help
JOBS ?= $(shell nproc)

help:
	@echo "make demo      install what is missing, build, train Fashion-MNIST under BSP and ElasticBSP"
	@echo "make test      install what is missing, build, run every test that needs no special hardware"
	@echo "make build     install what is missing, build (build/release/bin/paceline)"
	@echo "make fuzz      each decoder for a minute (SECONDS=600 for ten)"
	@echo "make bench     the benchmarks, each figure a ratio"
	@echo "make format    clang-format over the tree"
	@echo "make tidy      clang-tidy over what differs from origin/main"

setup:
	@tools/setup

build: setup
	@[ -f build/release/build.ninja ] || cmake --preset release >build/configure.log 2>&1 || \
	  { mkdir -p build; cmake --preset release; }
	@cmake --build --preset release -j $(JOBS)

demo: build
	@tools/demo

test: build
	@ctest --preset release -j $(JOBS)

SECONDS ?= 60
fuzz: setup
	@tools/fuzz $(SECONDS)

bench: build
	@tools/bench

format:
	@tools/format

tidy: build
	@tools/tidy

.PHONY: help setup build demo test fuzz bench format tidy
