/* SPDX-License-Identifier: MIT */
#include "run/counts/threads.h"

#include <limits.h>

#include "run/counts/creators.h"
#include "run/counts/exited.h"
#include "run/counts/tasks.h"
#include "run/run.h"

/*
 * Keys of exited threads, and keys of recorded threads whose tid is already a key, are above all
 * tids; the last key is for counts of unknown threads.
 */
enum { ENDED_FIRST = 1 << 24, REUSED_FIRST = 1 << 25, UNASSIGNED = INT_MAX };

/* Adds the counts of exited threads that were created during the run. */
static int fill_ended(struct attar_run *run, struct count_table *t)
{
	const struct ended_thread *ended;

	for (size_t e = 0; (ended = run_ended_thread(run, e)); e++) {
		struct count_table_key *key = NULL;

		if (!ended->reported)
			continue;
		key = count_table_key(t, ENDED_FIRST + (int)e);
		if (!key)
			return base_oom();
		for (size_t i = 0; i < t->n_events; i++) {
			struct attar_count *count = &key->counts[i];

			attar_value_add(&count->sum, &ended->values[i]);
			if (run_is_complete(run, ended, i))
				continue;
			count->is_unknown = !ended->parts[i];
			count->sum.quality = MAX(count->sum.quality, ATTAR_QUALITY_PARTIAL);
		}
	}
	return 0;
}

/* Moves the part of a thread's count that belongs to threads it created to *rest. */
static void split_count(struct attar_run *run, size_t event, pid_t tid, struct attar_count *count,
	struct attar_value *rest)
{
	struct attar_value own = {0}, others = count->sum;

	if (!others.raw)
		return;
	if (creator_counts_read(run, event, tid, &own)) {
		if (own.raw >= others.raw)
			return;
		others = attar_value_since(&others, &own);
		count->sum = own;
	} else {
		count->sum = (struct attar_value){0};
		count->is_unknown = true;
	}
	attar_value_add(rest, &others);
}

/*
 * Moves counts that cannot be assigned to a thread to a separate row; the sum is unchanged.
 */
static int split_unassigned(struct attar_run *run, struct count_table *t)
{
	struct count_table_key *rest;
	bool any = false;

	if (threads_settle(run) < 0 || !(rest = count_table_key(t, UNASSIGNED)))
		return base_oom();
	for (size_t k = 0; k + 1 < t->keys.n; k++) {
		struct count_table_key *key = &t->keys.at[k];

		for (size_t i = 0; i < t->n_events && key->number < ENDED_FIRST; i++)
			if (!attar_run_get_counter(run, i)->refused &&
				run_is_mixed(run, key->number))
				split_count(
					run, i, key->number, &key->counts[i], &rest->counts[i].sum);
	}
	for (size_t i = 0; i < t->n_events; i++) {
		struct attar_value *v = &rest->counts[i].sum;

		any |= v->value > 0;
		if (v->quality < ATTAR_QUALITY_PARTIAL)
			v->quality = ATTAR_QUALITY_PARTIAL;
	}
	threads_of(run)->has_rest = any;
	if (!any)
		count_table_drop_last(t);
	return 0;
}

static void mark_partial(struct count_table_key *key, size_t n_events)
{
	for (size_t i = 0; i < n_events; i++)
		if (key->counts[i].sum.quality < ATTAR_QUALITY_PARTIAL)
			key->counts[i].sum.quality = ATTAR_QUALITY_PARTIAL;
}

static void mark_missed_calls(const struct attar_run *run, struct count_table *t)
{
	for (size_t i = 0; i < t->n_events; i++) {
		if (!task_watch_misses_calls(run, attar_run_get_counter(run, i)->spec))
			continue;
		vec_each (&t->keys, key)
			if (key->counts[i].sum.quality < ATTAR_QUALITY_PARTIAL)
				key->counts[i].sum.quality = ATTAR_QUALITY_PARTIAL;
	}
}

void thread_counts_mark(const struct attar_run *run, struct count_table *t, bool by_thread)
{
	bool are_known = by_thread && run_knows_unwatched(run);

	mark_missed_calls(run, t);
	if (!task_watch_disabled(run))
		return;
	vec_each (&t->keys, key) {
		const struct ended_thread *ended =
			key->number < ENDED_FIRST
				? NULL
				: run_ended_thread(run, (size_t)(key->number - ENDED_FIRST));
		bool unwatched = ended ? ended->unwatched : run_is_unwatched(run, key->number);

		if (!are_known || unwatched)
			mark_partial(key, t->n_events);
	}
}

int thread_counts_fill(struct attar_run *run, struct count_table *t)
{
	int r = fill_ended(run, t);

	return r == 0 && exited_threads_reported(run) ? split_unassigned(run, t) : r;
}

bool thread_counts_is_unassigned(int number)
{
	return number == UNASSIGNED;
}

int thread_counts_reuse(struct attar_run *run, pid_t tid, int *ret_number)
{
	struct map *reused = &threads_of(run)->reused;

	*ret_number = REUSED_FIRST + (int)reused->n;
	return map_put(reused, (uint64_t)*ret_number, (uint64_t)tid) < 0 ? base_oom() : 0;
}

pid_t thread_counts_name(const struct attar_run *run, int number, const char **ret_comm)
{
	const struct ended_thread *ended =
		number < ENDED_FIRST ? NULL : run_ended_thread(run, (size_t)(number - ENDED_FIRST));
	const uint64_t *reused = map_get(&threads_of(run)->reused, (uint64_t)number);

	*ret_comm = number == UNASSIGNED ? "[unassigned]"
		    : ended              ? ended->comm
					 : run_comm(run, number);
	if (reused)
		return (pid_t)*reused;
	return number == UNASSIGNED ? 0 : ended ? ended->tid : number;
}
