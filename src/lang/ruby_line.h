/* SPDX-License-Identifier: MIT */
/* Lines of code of CRuby: a bit for each word of code at which a row of a table of lines begins. */
#ifndef LANG_RUBY_LINE_H
#define LANG_RUBY_LINE_H

#include <stdint.h>

#include "lang/memory.h"

/*
 * How many rows begin up to the word of code with this number, by the index at an address (struct
 * succ_index_table in iseq.c); 0: unknown.
 */
uint32_t ruby_row(struct lang_memory *memory, uint64_t index, uint32_t word);

#endif
