/* SPDX-License-Identifier: MIT */
#include "stats/tally.h"

#include <math.h>

void spread_add(struct spread *s, double value)
{
	double off = value - s->mean;

	s->n++;
	s->mean += off / (double)s->n;
	s->squares += off * (value - s->mean);
}

double spread_deviation(const struct spread *s)
{
	if (s->n < 2 || s->mean == 0)
		return 0;
	return 100 * sqrt(s->squares / (double)(s->n - 1)) / fabs(s->mean);
}

/* Where the key of that number stands, or would. */
static size_t place_of(const struct tally *t, int number)
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

struct tally_key *tally_key(struct tally *t, int number)
{
	struct tally_key key = {.number = number};
	size_t at = place_of(t, number);

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

void tally_drop_last(struct tally *t)
{
	free(t->keys.at[--t->keys.n].cells);
}

int tally_merge(struct tally *all, const struct tally *run)
{
	all->n_events = run->n_events;
	vec_each (&run->keys, from) {
		struct tally_key *key = tally_key(all, from->number);

		if (!key)
			return base_oom();
		for (size_t i = 0; i < run->n_events; i++) {
			attar_value_add(&key->cells[i].sum, &from->cells[i].sum);
			key->cells[i].is_unknown |= from->cells[i].is_unknown;
			spread_add(&key->cells[i].runs, (double)from->cells[i].sum.value);
		}
	}
	return 0;
}

void tally_done(struct tally *t)
{
	vec_each (&t->keys, key)
		free(key->cells);
	vec_done(&t->keys);
}
