/* SPDX-License-Identifier: MIT */
/*
 * All symbols of a file, also symbols of variables: what llvm-symbolizer looks up in its symbol
 * table. The symbols of functions, which most addresses are looked up in, are in elf/symtab.h.
 */
#ifndef SYMBOL_DATA_SYMBOLS_H
#define SYMBOL_DATA_SYMBOLS_H

#include "symbol/dso.h"

struct data_symbol {
	uint64_t start, size;
	uint32_t name;  /* in the strings */
	uint32_t index; /* in the order of the file */
};

struct data_symbols {
	unsigned dso;                 /* number of the file; 0: none was read */
	VEC(struct data_symbol) list; /* by address, one for each */
	uint8_t *strings;             /* owned; with a NUL at the end */
};

/*
 * Reads the symbols of the file of a DSO: of its symbol table, or the table of its debug file, or
 * else of the dynamic symbols. 0; a negative errno with an error message.
 */
int data_symbols_read(
	struct data_symbols *symbols, const struct dso *dso, const char *debug_roots);

/*
 * The last symbol at or before an address that does not end before it; one without a size reaches
 * to the next. NULL: there is none. *ret_name is borrowed until data_symbols_done().
 */
const struct data_symbol *data_symbols_find(
	const struct data_symbols *symbols, uint64_t vaddr, const char **ret_name);
void data_symbols_done(struct data_symbols *symbols);

#endif
