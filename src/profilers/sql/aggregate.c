/* SPDX-License-Identifier: MIT */
/*
 * Counts, sums and extremes by group, computed while events arrive: none of the events is kept. The
 * results are equal to the results of SQLite's functions.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sql/aggregate.h"

enum { SLOTS_MIN = 1024 };

/* ---- life ---- */

void sql_aggregate_clear(struct sql_aggregate *a)
{
	for (size_t i = 0; i < a->n * a->n_keys; i++)
		free((char *)(uintptr_t)a->keys[i].text);
	a->n = 0;
	a->text_bytes = 0;
	if (a->slots)
		memset(a->slots, 0, a->n_slots * sizeof(*a->slots));
}

struct sql_aggregate *sql_aggregate_free(struct sql_aggregate *a)
{
	if (!a)
		return NULL;
	sql_aggregate_clear(a);
	attar_expr_free(a->only);
	free(a->condition);
	free(a->query);
	free(a->groups);
	free(a->keys);
	free(a->sums);
	free(a->slots);
	free(a);
	return NULL;
}

struct sql_aggregate *sql_aggregate_next(const struct sql_aggregate *a)
{
	return a->next;
}

const char *sql_aggregate_condition(const struct sql_aggregate *a)
{
	return a->condition;
}

void sql_aggregate_set_only(struct sql_aggregate *a, struct attar_expr *only)
{
	a->only = only;
}

/* ---- groups ---- */

static bool has_keys(
	const struct sql_aggregate *a, size_t group, uint64_t hash, const struct sql_value *keys)
{
	if (a->groups[group].hash != hash)
		return false;
	for (size_t i = 0; i < a->n_keys; i++)
		if (sql_value_compare(&a->keys[group * a->n_keys + i], &keys[i]) != 0)
			return false;
	return true;
}

static size_t bytes_of(const struct sql_aggregate *a, size_t max, size_t n_slots)
{
	return max * (sizeof(*a->groups) + a->n_keys * sizeof(*a->keys) +
			     a->n_summed * sizeof(*a->sums)) +
	       n_slots * sizeof(*a->slots) + a->text_bytes;
}

static int check_bytes(const struct sql_aggregate *a, size_t bytes)
{
	if (bytes <= a->bytes_max)
		return 0;
	return attar_fail(-E2BIG,
		"--query: more than %zu groups in statement %u: their memory is limited by "
		"--window, which is %" PRIu64 " bytes",
		a->n, a->number, a->bytes_max);
}

static bool resize(void *array, size_t n, size_t size)
{
	void *at, *resized;

	memcpy(&at, array, sizeof(at));
	resized = reallocarray(at, n ? n : 1, size ? size : 1);
	if (resized)
		memcpy(array, &resized, sizeof(resized));
	return resized;
}

static int aggregate_grow(struct sql_aggregate *a)
{
	size_t n_slots = a->n_slots ? 2 * a->n_slots : SLOTS_MIN, max = n_slots / 2;
	uint32_t *slots;
	int r = check_bytes(a, bytes_of(a, max, n_slots));

	if (r < 0)
		return r;
	slots = calloc(n_slots, sizeof(*slots));
	if (!slots || !resize(&a->groups, max, sizeof(*a->groups)) ||
		!resize(&a->keys, max * a->n_keys, sizeof(*a->keys)) ||
		!resize(&a->sums, max * a->n_summed, sizeof(*a->sums))) {
		free(slots);
		return attar_fail(-ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < a->n; i++) {
		size_t slot = a->groups[i].hash & (n_slots - 1);

		while (slots[slot])
			slot = (slot + 1) & (n_slots - 1);
		slots[slot] = (uint32_t)i + 1;
	}
	free(a->slots);
	a->slots = slots;
	a->n_slots = n_slots;
	a->max = max;
	return 0;
}

/* A new group has its own copies of texts. */
static int add_group(struct sql_aggregate *a, uint64_t hash, const struct sql_value *keys)
{
	struct sql_value *own = &a->keys[a->n * a->n_keys];

	for (size_t i = 0; i < a->n_keys; i++) {
		own[i] = keys[i];
		if (!keys[i].text)
			continue;
		own[i].text = malloc(keys[i].n + 1);
		if (!own[i].text) {
			while (i-- > 0)
				free((char *)(uintptr_t)own[i].text);
			return attar_fail(-ENOMEM, "out of memory");
		}
		memcpy((char *)(uintptr_t)own[i].text, keys[i].text, keys[i].n);
		a->text_bytes += keys[i].n + 1;
	}
	a->groups[a->n] = (struct sql_group){.hash = hash};
	memset(&a->sums[a->n * a->n_summed], 0, a->n_summed * sizeof(*a->sums));
	a->n++;
	return a->text_bytes ? check_bytes(a, bytes_of(a, a->max, a->n_slots)) : 0;
}

/* The number of the group with these keys, or a negative errno. */
static int64_t group_of(struct sql_aggregate *a, const struct sql_value *keys)
{
	uint64_t hash = 0;
	size_t slot;
	int r;

	for (size_t i = 0; i < a->n_keys; i++)
		hash = sql_value_hash(hash, &keys[i]);
	if (a->n == a->max) {
		r = aggregate_grow(a);
		if (r < 0)
			return r;
	}
	slot = hash & (a->n_slots - 1);
	while (a->slots[slot] && !has_keys(a, a->slots[slot] - 1, hash, keys))
		slot = (slot + 1) & (a->n_slots - 1);
	if (!a->slots[slot]) {
		r = add_group(a, hash, keys);
		if (r < 0)
			return r;
		a->slots[slot] = (uint32_t)a->n;
	}
	return a->slots[slot] - 1;
}

/* ---- adding ---- */

int sql_aggregate_add(struct sql_aggregate *a, const struct attar_event *ev)
{
	struct sql_value keys[SQL_GROUP_MAX];
	struct sql_row row;
	struct sql_view view;
	int64_t group;

	if (a->only) {
		struct attar_expr_record record;

		attar_event_get_expr_record(ev, &record);
		if (!attar_expr_is_true(a->only, &record))
			return 0;
	}
	sql_view_event(ev, a->reads_comm, &row, &view);
	for (size_t i = 0; i < a->n_keys; i++)
		keys[i] = sql_column_value(&a->table->columns.at[a->key_columns[i]], &view);
	group = group_of(a, keys);
	if (group < 0)
		return (int)group;
	a->groups[group].n++;
	for (size_t i = 0; i < a->n_summed; i++) {
		struct sql_value v = sql_column_value(&a->table->columns.at[a->summed[i]], &view);

		if (!v.is_null)
			sql_sum_add(&a->sums[(size_t)group * a->n_summed + i], v.number,
				a->adds_integers);
	}
	return 0;
}

/* ---- reading ---- */

static int compare_groups(const void *one, const void *other, void *ctx)
{
	const struct sql_aggregate *a = ctx;
	size_t i = *(const uint32_t *)one, j = *(const uint32_t *)other;
	int order = 0;

	for (size_t k = 0; order == 0 && k < a->n_keys; k++)
		order = sql_value_compare(&a->keys[i * a->n_keys + k], &a->keys[j * a->n_keys + k]);
	return order;
}

uint32_t *sql_aggregate_order(const struct sql_aggregate *a)
{
	uint32_t *order = malloc((a->n + 1) * sizeof(*order));

	for (size_t i = 0; order && i < a->n; i++)
		order[i] = (uint32_t)i;
	if (order)
		qsort_r(order, a->n, sizeof(*order), compare_groups, (void *)(uintptr_t)a);
	return order;
}
