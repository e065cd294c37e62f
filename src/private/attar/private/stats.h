/* SPDX-License-Identifier: MIT */
/*
 * What attar/stats.h has for attar itself only. It may change with each version, and is not
 * installed.
 */
#ifndef ATTAR_PRIVATE_STATS_H
#define ATTAR_PRIVATE_STATS_H

#include "attar/stats.h"

/* How often a new stack was not added because the table was full. */
uint64_t stack_table_refused(const struct attar_stack_table *table);

#endif
