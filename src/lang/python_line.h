/* SPDX-License-Identifier: MIT */
/* Lines of code of CPython. The formats are in its source. */
#ifndef LANG_PYTHON_LINE_H
#define LANG_PYTHON_LINE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The line of the instruction at byte `at` of a function that begins in line `first`; 0 if it has
 * none, or if the table is invalid.
 */
typedef uint32_t python_line_fn(const uint8_t *table, size_t n, uint32_t first, uint64_t at);

python_line_fn python_line;     /* since 3.11 (Objects/locations.md) */
python_line_fn python_line_310; /* 3.10 (Objects/lnotab_notes.txt) */
python_line_fn python_line_38;  /* until 3.9 (the same) */

#endif
