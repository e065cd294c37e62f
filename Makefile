# SPDX-License-Identifier: MIT
# Commands that run meson, ninja and the test runner.
#
#   make            builds (and, as root on Debian, first installs the packages that the build needs)
#   make demo       builds, profiles a demo workload for three seconds, writes demo.html
#   make test       builds, runs every test; ends with "N passed, N failed, N skipped"
#   make check      builds, runs the static checks, unit tests and quick end-to-end tests;
#                   with K=ring only those with "ring" in their name
#   make mutants    changes one line at a time and checks that a test fails; takes hours;
#                   with M=NAME only that change
#   make static     builds attar as one file that runs on any distribution, and prints its name;
#                   with ARCH=arm64 for arm64
#   make deb        builds Debian packages in build-deb/
#   make dist       writes the source of a release, its checksums and a list of what is inside (SPDX)
#                   in build-dist/
#   make reproduce  builds the Debian packages and the static program of the last commit twice, and
#                   compares the bytes; takes minutes
#   make bench      builds, measures attar and comparable tools in the same run
#   make install    installs under PREFIX (default /usr/local), below DESTDIR when that is given
#   make uninstall  removes what install put there
#   make clean      removes every build directory
#
# SANITIZE=address,undefined and CC=clang build in separate directories.

PREFIX ?= /usr/local
DESTDIR ?=
SANITIZE ?=

# Machines that build for others may have no HOME.
export HOME ?= $(shell getent passwd "$$(id -u)" | cut -d: -f6)

comma := ,
variant := $(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))
ifneq ($(origin CC),default)
variant := $(variant)-$(notdir $(firstword $(CC)))
endif
BUILD ?= build$(variant)
OPTIONS := --prefix=$(PREFIX) $(if $(SANITIZE),-Db_sanitize=$(SANITIZE) -Db_lundef=false)
ATTAR := $(BUILD)/src/cli/attar

all: configure
	@ninja -C $(BUILD)

# Profilers, presets and pages are not named in the build: see tools/files.
FILES = $(shell { tools/files src/profilers c; tools/files presets preset; \
	tools/files docs/profilers md; } | cksum)

# Set up the directory again if it was set up with other options or files.
configure:
	@tools/need build
	@if [ ! -f $(BUILD)/build.ninja ]; then \
		meson setup $(BUILD) $(OPTIONS); \
	elif [ "$$(cat $(BUILD)/.options 2>/dev/null)" != "$(strip $(OPTIONS)) $(FILES)" ]; then \
		meson setup --reconfigure $(BUILD) $(OPTIONS); \
	fi
	@echo "$(strip $(OPTIONS)) $(FILES)" >$(BUILD)/.options

# One program without shared libraries, which runs on any distribution.
ARCH ?= $(shell dpkg --print-architecture)
static: all
	@tools/static $(ARCH) $(BUILD)

# Debian packages of the command, the libraries and their headers.
deb:
	@tools/need build deb
	@tools/deb build-deb

# The source of the last commit.
dist:
	@tools/dist build-dist

# Not part of the tests: on demand.
reproduce:
	@tools/need build deb
	@tools/reproduce

demo: all
	@$(ATTAR) profile -F 997 -g -d 3s -o demo.html -- $(BUILD)/tests/workloads/demo

# Packages that only tests or benchmarks need may be missing: those are then skipped, with the
# reason. Meson caches what it did not find. Clear that cache if the directory was set up without.
test-packages:
	@tools/need build
	@tools/need test || true
	$(call clear-cache-without,unit_map)

bench-packages:
	@tools/need build
	@tools/need bench || true
	$(call clear-cache-without,bench_papi)

clear-cache-without = @if [ -f $(BUILD)/build.ninja ] && ! grep -q $(1) $(BUILD)/build.ninja; then \
		meson configure --clearcache $(BUILD) && rm -f $(BUILD)/.options; \
	fi

# The kernels of the guests are downloaded and built while the tree is compiled; see tests/vm.
test: test-packages configure
	@nice -n 10 tests/vm/prepare </dev/null & ninja -C $(BUILD)
	@tests/run $(BUILD)

# For use after each edit: no guests, a minute or two.
check: all
	@tests/run --fast $(if $(K),-k $(K)) $(BUILD)

# Not part of the tests: on demand.
mutants: test-packages
	@tools/mutants $(M)

bench: bench-packages configure
	@ninja -C $(BUILD) all bench-peers
	@/usr/bin/python3 bench/run --build $(BUILD)

install: all
	@DESTDIR="$(DESTDIR)" meson install -C $(BUILD) --no-rebuild
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig

# Install into an empty directory, then remove the same names below DESTDIR.
uninstall: all
	@stage=$$(mktemp -d) && trap 'rm -rf "$$stage"' EXIT && \
	DESTDIR="$$stage" meson install -C $(BUILD) --no-rebuild --quiet && cd "$$stage" && \
	find . -type f -o -type l | while read -r file; do rm -fv "$(DESTDIR)/$$file"; done && \
	find . -depth -type d \( -path '*/attar*' -o -path '*/perfume*' -o -path '*/kperf*' \) | \
	while read -r dir; do \
		rm -rf "$(DESTDIR)/$$dir/__pycache__"; \
		rmdir -v "$(DESTDIR)/$$dir" 2>/dev/null || true; done
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig

clean:
	rm -rf build build-* demo.html demo.folded

.PHONY: all static deb dist reproduce configure demo test-packages test check mutants bench-packages bench install uninstall clean
