/* SPDX-License-Identifier: MIT */
#include "sections/count_table.h"

/* The index of the key with that number, or where to insert it. */
static size_t index_of(const struct count_table *t, int number)
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

struct count_table_key *count_table_key(struct count_table *t, int number)
{
	struct count_table_key key = {.number = number};
	size_t at = index_of(t, number);

	if (at < t->keys.n && t->keys.at[at].number == number)
		return &t->keys.at[at];
	key.counts = calloc(t->n_events, sizeof(*key.counts));
	if (!key.counts || vec_push(&t->keys, key) < 0) {
		free(key.counts);
		return NULL;
	}
	memmove(&t->keys.at[at + 1], &t->keys.at[at], (t->keys.n - 1 - at) * sizeof(key));
	t->keys.at[at] = key;
	return &t->keys.at[at];
}

void count_table_drop_last(struct count_table *t)
{
	free(t->keys.at[--t->keys.n].counts);
}

int count_table_merge(struct count_table *all, const struct count_table *run)
{
	all->n_events = run->n_events;
	vec_each (&run->keys, from) {
		struct count_table_key *key = count_table_key(all, from->number);

		if (!key)
			return base_oom();
		for (size_t i = 0; i < run->n_events; i++) {
			attar_value_add(&key->counts[i].sum, &from->counts[i].sum);
			key->counts[i].is_unknown |= from->counts[i].is_unknown;
			attar_series_add(&key->counts[i].runs, (double)from->counts[i].sum.value);
		}
	}
	return 0;
}

void count_table_done(struct count_table *t)
{
	vec_each (&t->keys, key)
		free(key->counts);
	vec_done(&t->keys);
}
