/* SPDX-License-Identifier: MIT */
/* From an open binary to its index of functions, from wherever their names are kept. */
#ifndef SYMBOL_DSO_LOAD_H
#define SYMBOL_DSO_LOAD_H

#include "symbol/dso.h"

/*
 * Reads the symbols of a DSO whose file is open (or whose image was copied), once: its own table,
 * else that of its debug file, else the small one inside of it and the dynamic one. 0; or an error
 * text and a negative errno, and the DSO is lost. debug_path: see struct attar_symbols_opts.
 */
int dso_load(struct dso *dso, const char *debug_path);

/*
 * Opens the debug file of an open DSO ahead of time, below another root than ours, as long as that
 * can be reached. Nothing is said when there is none.
 */
void dso_load_debugfile(struct dso *dso, const char *debug_path, int root);

#endif
