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
	struct map symbols; /* DSO number << 48 | index in its table, to address of the name */
	struct map plain;   /* address of a mangled name to the demangled name */
	char *debug_path, *kallsyms_path;
	unsigned max_open, open; /* open files of DSOs and debug symbols: limit and number */
	unsigned jits;           /* perf-PID.map files kept open */
	unsigned oldest;         /* modulo the number of DSOs: the next DSO whose file to close */
	uint32_t spaces;         /* JIT owner numbers assigned */
	uint64_t ranges_refused;
};

/* Opens the file of a DSO on its first location, or again after a failure. */
void symbols_open(struct attar_symbols *symbols, struct dso *dso, const struct dso_search *where);

#endif
