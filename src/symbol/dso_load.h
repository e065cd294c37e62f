/* SPDX-License-Identifier: MIT */
/* Builds the function index of an open binary from its available symbol tables. */
#ifndef SYMBOL_DSO_LOAD_H
#define SYMBOL_DSO_LOAD_H

#include "symbol/debuginfod.h"
#include "symbol/dso.h"

/*
 * Reads the symbols of a DSO whose file is open (or whose image was copied), once: from its own
 * symbol table, else from its debug file, else from .gnu_debugdata and the dynamic symbol table.
 * Returns 0; or a negative errno with an error text, and the DSO is DSO_LOST. debug_path: see
 * struct attar_symbols_opts. server: downloads a debug file that is not found there; NULL: none.
 */
int dso_load(struct dso *dso, const char *debug_path, struct debuginfod *server);

/*
 * Reads the call frame information of a DSO, once: from its open file or copied image, otherwise
 * from fd (-1: none). dso->cfi is empty if there is none, or it cannot be read.
 */
void dso_load_cfi(struct dso *dso, int fd);

/* What to subtract from addresses of a binary to get those of its debug file. */
uint64_t dso_bias(const struct elf *elf, const struct elf *debug);

/*
 * Opens the debug file of an open DSO in advance, below a different root directory while that is
 * accessible. Ignores a missing file.
 */
void dso_load_debugfile(struct dso *dso, const char *debug_path, int root);

#endif
