/* SPDX-License-Identifier: MIT */
/* The shared cache behind include/attar/symbol.h. */
#ifndef SYMBOL_SYMBOLS_H
#define SYMBOL_SYMBOLS_H

#include "symbol/dso.h"
#include "symbol/kernel.h"
#include "symbol/dso_open.h"
#include "symbol/string_pool.h"

struct attar_symbols {
	struct kernel kernel;
	struct dsos dsos;
	struct string_pool names;
	struct map symbols; /* number of the DSO << 48 | index in its table: address of the name */
	struct map plain;   /* address of a mangled name: its demangled form */
	char *debug_path, *kallsyms_path;
	unsigned max_open, open; /* files of DSOs, and of debug symbols, that are open */
	unsigned jits;           /* perf-PID.map files kept open */
	unsigned oldest;         /* modulo their number: the DSO that is next to give up its file */
	uint32_t spaces;         /* JIT owners given out */
	uint64_t ranges_refused;
};

/* Opens the file of a DSO that was hit for the first time, or again after a failure. */
void symbols_open(struct attar_symbols *symbols, struct dso *dso, const struct dso_search *where);

#endif
