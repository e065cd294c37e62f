# SPDX-License-Identifier: MIT
# A thin door to meson and ninja.
#
#   make            builds (and, as root on Debian, first installs the packages that the build needs)
#   make demo       builds, profiles a demo workload for three seconds, writes demo.html
#   make test       builds, runs every test; closes with "N passed, N failed, N skipped"
#   make check      builds, runs the static checks, unit tests and quick end-to-end tests;
#                   with K=ring only those with "ring" in their name
#   make bench      builds, measures attar beside its peers
#   make install    installs under PREFIX (default /usr/local), below DESTDIR when that is given
#   make uninstall  removes what install put there
#   make clean      removes every build directory
#
# SANITIZE=address,undefined and CC=clang build in directories of their own.

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

# A directory that was set up with other options, or before cmocka was there, is set up again.
configure:
	@tools/need build
	@if [ ! -f $(BUILD)/build.ninja ]; then \
		meson setup $(BUILD) $(OPTIONS); \
	elif [ "$$(cat $(BUILD)/.options 2>/dev/null)" != "$(strip $(OPTIONS))" ]; then \
		meson setup --reconfigure $(BUILD) $(OPTIONS); \
	fi
	@echo "$(strip $(OPTIONS))" >$(BUILD)/.options

demo: all
	@$(ATTAR) profile -F 997 -g -d 3s -o demo.html -- $(BUILD)/tests/workloads/demo

# What the tests need beyond the build may be missing: the tests that want it are skipped, and say so.
# Meson remembers what it did not find, so a directory that was set up before is told to look again.
test-packages:
	@tools/need build
	@tools/need test || true
	@if [ -f $(BUILD)/build.ninja ] && ! grep -q unit_map $(BUILD)/build.ninja; then \
		meson configure --clearcache $(BUILD) && rm -f $(BUILD)/.options; \
	fi

test: test-packages configure
	@ninja -C $(BUILD)
	@tests/run $(BUILD)

# What to run after each edit: a minute at most, and no guest.
check: all
	@tests/run --fast $(if $(K),-k $(K)) $(BUILD)

bench: all
	@tools/need bench || true
	@ninja -C $(BUILD) bench-peers
	@bench/run --build $(BUILD)

install: all
	@DESTDIR="$(DESTDIR)" meson install -C $(BUILD) --no-rebuild
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig

# Installs once more into an empty directory, and removes the same names from the true one.
uninstall: all
	@stage=$$(mktemp -d) && trap 'rm -rf "$$stage"' EXIT && \
	DESTDIR="$$stage" meson install -C $(BUILD) --no-rebuild --quiet && cd "$$stage" && \
	find . -type f -o -type l | while read -r file; do rm -fv "$(DESTDIR)/$$file"; done && \
	find . -depth -type d \( -path '*/attar*' -o -path '*/perfume*' -o -path '*/kperf*' \) | \
	while read -r dir; do \
		rmdir -v "$(DESTDIR)/$$dir" 2>/dev/null || true; done
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig

clean:
	rm -rf build build-* demo.html demo.folded

.PHONY: all configure demo test-packages test check bench install uninstall clean
