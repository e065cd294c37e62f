/* SPDX-License-Identifier: MIT */
/*
 * attar/stats.h - aggregates: distinct stacks, and the headers of the others
 *
 * It includes the headers of the other aggregates: attar/hist.h (histograms), attar/keytable.h
 * (sums and histograms by key), attar/pairs.h (start and end events matched by key) and
 * attar/states.h (the time in each state). attar/sections.h adds them to a report.
 */
#ifndef ATTAR_STATS_H
#define ATTAR_STATS_H

#include "attar/hist.h"
#include "attar/keytable.h"
#include "attar/pairs.h"
#include "attar/states.h"
#include "attar/symbol.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Distinct stacks by number, so that what keeps a stack per object needs four bytes for it.
 *
 *	attar_stack_table_new(0, &table);
 *	number = attar_stack_table_add(table, locations, attar_event_stack(ev, locations, MAX));
 *	...
 *	locations = attar_stack_table_get(table, number, &n);
 */
struct attar_stack_table;

/* Creates an empty table of at most max_bytes; 0: 64 MiB. Returns 0 or -ENOMEM. */
ATTAR_API int attar_stack_table_new(size_t max_bytes, struct attar_stack_table **ret_table);

/* Frees the table. Returns NULL. Accepts NULL. */
ATTAR_API struct attar_stack_table *attar_stack_table_free(struct attar_stack_table *table);

/*
 * The number of a stack of n locations, the same for equal stacks; 0: n is 0, or the stack is new
 * and the table is full. Called per event: does not check its arguments.
 */
ATTAR_API uint32_t attar_stack_table_add(
	struct attar_stack_table *table, const attar_location *locations, size_t n);

/*
 * The locations of a stack, innermost first, and their number: 0 for stack 0. Borrowed until the
 * next attar_stack_table_add().
 */
ATTAR_API const attar_location *attar_stack_table_get(
	const struct attar_stack_table *table, uint32_t number, size_t *ret_n);

#ifdef __cplusplus
}
#endif

#endif
