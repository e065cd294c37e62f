/* SPDX-License-Identifier: MIT */
/* Reads the functions of an open binary from its available symbol tables. */
#ifndef SYMBOL_DSO_LOAD_H
#define SYMBOL_DSO_LOAD_H

#include "symbol/debuginfod.h"
#include "symbol/dso_open.h"

/*
 * Finds the symbols of a DSO whose file is open (or whose image was copied), once: in its own
 * symbol table, else in its debug file, else in .gnu_debugdata, the table of a Go program and the
 * dynamic symbol table.
 * Returns 0; or a negative errno with an error message, and the DSO is DSO_LOST. debug_path: see
 * struct attar_symbols_opts. server: downloads a debug file that is not found there; NULL: none. If
 * one of dsos (NULL: none) has the same contents, it becomes dso->twin, and nothing is read.
 */
int dso_load(struct dso *dso, const char *debug_path, struct debuginfod *server, struct dsos *dsos);

/*
 * Finds the symbol of an address in dso->table. For the first addresses the symbols around them are
 * read, then all: sorting a large table takes longer than a few look-ups. Sets *ret_read if the
 * table was read, which may have changed its size.
 */
bool dso_find(struct dso *dso, uint64_t vaddr, size_t *ret_index, bool *ret_read);

/* Reads all symbols, if they are not read yet. */
void dso_read_all(struct dso *dso);

/*
 * Reads the call frame information of a DSO, once: from its open file or copied image, otherwise
 * from fd (-1: none), unless one of dsos has the same contents: dso->cfi_twin. dso->cfi is empty if
 * there is none, or it cannot be read.
 */
void dso_load_cfi(struct dso *dso, int fd, struct dsos *dsos);

/* What to subtract from addresses of a binary to get addresses of its debug file. */
uint64_t dso_bias(const struct elf *elf, const struct elf *debug);

/*
 * Opens the debug file of an open DSO in advance if its process has a different root directory,
 * which is inaccessible after the last process in it has exited. Ignores a missing file. The first
 * function has this directory, or FILE_OPENER_ROOT if dsos has an opener.
 */
void dso_find_debugfile_in(struct dso *dso, const char *debug_path, struct dsos *dsos, int root);
void dso_find_foreign_debugfile(
	struct dso *dso, const char *debug_path, const struct dso_search *where);

#endif
