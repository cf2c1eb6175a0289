# SPDX-License-Identifier: Apache-2.0
# A menu; the build is described in meson.build. This file knows no source file.
MAKEFLAGS += --no-print-directory
PREFIX ?= /usr/local
DESTDIR ?=
FLAVOUR ?= dev

help:
	@echo 'make try        install what is missing, build, and show what it does'
	@echo 'make test       install what is missing, build, run every suite'
	@echo 'make test-real  the suites that drive real servers, browsers and tool chains'
	@echo 'make test-asan  the suites once more, built with sanitizers'
	@echo 'make install    build and install below PREFIX (default /usr/local; DESTDIR is honoured)'
	@echo 'make uninstall  remove what install put there'
	@echo 'make tarball    static programs for this architecture, as an archive, below build/packages'
	@echo 'make deb        Debian packages; make wheel, make npm: with the program in them; make packages: all'
	@echo 'make bench      start times and overheads on this machine, beside other tools'
	@echo 'make ci         lint, manual, help, binary interface, clients of others'
	@echo 'make soak       what takes long: second compiler, analysis, fuzzing, coverage, kills, other kernels'
	@echo 'make test-vm    the kernel suites on other kernels, in virtual machines'
	@echo 'make format     lay out the C files'
	@echo 'make casts      draw the pictures of terminals in docs/casts, of what the program prints now'
	@echo 'make lint       the quick checks: layers, sizes, words, layout, spelling, help'
	@echo 'make fuzz       a minute per fuzz target'
	@echo 'make cov        coverage, with its gate'
	@echo 'make FLAVOUR=dev|asan|clang|analyze|cov|release|static build'
	@echo 'make clean      remove build/'

build:
	@tools/setup build
	@tools/build $(FLAVOUR)

try:
	@tools/setup build
	@tools/build release
	@tools/tour build/release

test:
	@tools/setup test
	@tools/build dev
	@tools/setup-wasm build/dev
	@tools/run-tests build/dev

test-real:
	@tools/setup ci
	@tools/build dev
	@tools/run-tests --real build/dev

# Programs labelled `once` would say the same again.
test-asan:
	@tools/setup test
	@tools/build asan
	@tools/setup-wasm build/asan
	@tools/run-tests -x once build/asan

ci:
	@tools/setup ci
	@tools/run-checks

soak:
	@tools/setup ci
	@tools/run-checks soak

install:
	@tools/setup build
	@PREFIX='$(PREFIX)' tools/build release
	@DESTDIR='$(DESTDIR)' meson install -C build/release --no-rebuild --quiet
	@echo 'installed below $(DESTDIR)$(PREFIX)'

uninstall:
	@PREFIX='$(PREFIX)' tools/uninstall '$(DESTDIR)'

tarball deb wheel npm sbom:
	@tools/setup package
	@tools/pack $@

packages:
	@tools/setup package
	@tools/pack

bench:
	@tools/setup bench
	@tools/build release
	@tools/build price
	@tools/setup-wasm build/release
	@tools/bench

test-vm:
	@tools/test-vm

format:
	@tools/setup ci
	@tools/check-format --fix

lint:
	@tools/setup ci
	@tools/run-checks quick

casts:
	@tools/setup build
	@tools/build dev
	@tools/cast build/dev

fuzz:
	@tools/setup ci
	@tools/build clang
	@tools/fuzz 60

cov:
	@tools/setup ci
	@tools/check-coverage

clean:
	@rm -rf build

.PHONY: help build try test test-real test-asan ci soak install uninstall tarball deb wheel npm sbom packages bench test-vm format lint casts fuzz cov clean
