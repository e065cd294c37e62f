/* SPDX-License-Identifier: MIT */
/* The public table of interned stacks. */
#include "attar/stats.h"

#include "attar/private/stats.h"
#include "base/check_arg.h"
#include "stats/stacks.h"

struct attar_stack_table {
	struct stacks stacks;
};

int attar_stack_table_new(size_t max_bytes, struct attar_stack_table **ret_table)
{
	CHECK_ARG(ret_table, "ret_table");

	struct attar_stack_table *table = calloc(1, sizeof(*table));

	if (!table)
		return base_oom();
	stacks_init(&table->stacks, max_bytes);
	*ret_table = table;
	return 0;
}

struct attar_stack_table *attar_stack_table_free(struct attar_stack_table *table)
{
	if (table)
		stacks_done(&table->stacks);
	free(table);
	return NULL;
}

uint32_t attar_stack_table_add(
	struct attar_stack_table *table, const attar_location *locations, size_t n)
{
	return n ? stacks_intern(&table->stacks, locations, n) : STACKS_FULL;
}

const attar_location *attar_stack_table_get(
	const struct attar_stack_table *table, uint32_t number, size_t *ret_n)
{
	CHECK_ARG_OR(table, "table", NULL);
	CHECK_ARG_OR(ret_n, "ret_n", NULL);

	if (number >= table->stacks.n) {
		*ret_n = 0;
		return NULL;
	}
	return stacks_locations(&table->stacks, number, ret_n);
}

uint64_t stack_table_refused(const struct attar_stack_table *table)
{
	CHECK_ARG_OR(table, "table", 0);

	return table->stacks.refused;
}
