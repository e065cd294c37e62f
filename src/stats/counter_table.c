/* SPDX-License-Identifier: MIT */
#include "stats/counter_table.h"

/* The index of the key with that number, or where to insert it. */
static size_t index_of(const struct counter_table *t, int number)
{
	size_t low = 0, high = t->keys.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->keys.at[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct counter_table_key *counter_table_key(struct counter_table *t, int number)
{
	struct counter_table_key key = {.number = number};
	size_t at = index_of(t, number);

	if (at < t->keys.n && t->keys.at[at].number == number)
		return &t->keys.at[at];
	key.cells = calloc(t->n_events, sizeof(*key.cells));
	if (!key.cells || vec_push(&t->keys, key) < 0) {
		free(key.cells);
		return NULL;
	}
	memmove(&t->keys.at[at + 1], &t->keys.at[at], (t->keys.n - 1 - at) * sizeof(key));
	t->keys.at[at] = key;
	return &t->keys.at[at];
}

void counter_table_drop_last(struct counter_table *t)
{
	free(t->keys.at[--t->keys.n].cells);
}

int counter_table_merge(struct counter_table *all, const struct counter_table *run)
{
	all->n_events = run->n_events;
	vec_each (&run->keys, from) {
		struct counter_table_key *key = counter_table_key(all, from->number);

		if (!key)
			return base_oom();
		for (size_t i = 0; i < run->n_events; i++) {
			attar_value_add(&key->cells[i].sum, &from->cells[i].sum);
			key->cells[i].is_unknown |= from->cells[i].is_unknown;
			attar_series_add(&key->cells[i].runs, (double)from->cells[i].sum.value);
		}
	}
	return 0;
}

void counter_table_done(struct counter_table *t)
{
	vec_each (&t->keys, key)
		free(key->cells);
	vec_done(&t->keys);
}
