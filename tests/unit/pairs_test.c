/* SPDX-License-Identifier: MIT */
/* Pairs of start and end events: exact cases, and random events compared with a plain list. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>

#include "attar/private/pairs.h"
#include "failing.h"
#include "random.h"
#include "stats/pairs.h"

static struct attar_pairs *new_pairs(struct attar_pairs_opts o)
{
	struct attar_pairs *p;

	o.size = sizeof(o);
	if (attar_pairs_new(&o, &p) < 0)
		fail_msg("%s", attar_error());
	return p;
}

/* A start or end at a time, on CPU 0 of task `key` unless given. */
static struct attar_start *start_at(struct attar_pairs *p, uint64_t key, uint64_t time)
{
	struct attar_stamp at = {time, key, 0};

	return attar_pairs_start_u64(p, key, &at);
}

static int64_t end_at(struct attar_pairs *p, uint64_t key, uint64_t time)
{
	struct attar_stamp at = {time, key, 0};
	const struct attar_start *s = attar_pairs_end_u64(p, key, &at);

	return s ? (int64_t)(time - s->time) : -1;
}

static struct attar_pairs_stats stats_of(const struct attar_pairs *p)
{
	struct attar_pairs_stats stats;

	attar_pairs_get_stats(p, &stats);
	return stats;
}

static uint64_t unpaired(const struct attar_pairs *p, enum attar_unpaired reason)
{
	return stats_of(p).unpaired[reason];
}

/* Every start and every end is counted once. */
static void check_sums(const struct attar_pairs *p)
{
	struct attar_pairs_stats s = stats_of(p);
	uint64_t starts = s.pairs + s.open, ends = s.pairs;

	for (int i = 0; i < ATTAR_UNPAIRED_REASONS; i++)
		*(i < ATTAR_UNPAIRED_END ? &starts : &ends) += s.unpaired[i];
	assert_int_equal(starts, s.starts);
	assert_int_equal(ends, s.ends);
}

static void test_start_and_end(void **state)
{
	struct attar_pairs *p =
		new_pairs((struct attar_pairs_opts){.payload_size = 12, .key_max = 16});
	struct attar_stamp at = {100, 7, 1}, later = {130, 9, 0};
	struct attar_start *s = attar_pairs_start(p, "request", 7, &at);
	const struct attar_start *ended;

	assert_non_null(s);
	assert_int_equal(*(uint64_t *)s->payload, 0);
	memcpy(s->payload, "twelve bytes", 12);
	assert_null(attar_pairs_end(p, "reques", 6, &later));
	ended = attar_pairs_end(p, "request", 7, &later);
	assert_non_null(ended);
	assert_int_equal(ended->time, 100);
	assert_int_equal(ended->task, 7);
	assert_int_equal(ended->cpu, 1);
	assert_int_equal(ended->key_size, 7);
	assert_memory_equal(ended->key, "request", 7);
	assert_memory_equal(ended->payload, "twelve bytes", 12);
	assert_null(attar_pairs_end(p, "request", 7, &later));
	assert_int_equal(unpaired(p, ATTAR_UNPAIRED_END), 2);
	check_sums(p);
	attar_pairs_free(p);
}

static void test_policies(void **state)
{
	struct attar_pairs *p = new_pairs((struct attar_pairs_opts){.policy = ATTAR_PAIRS_REPLACE});

	start_at(p, 1, 10);
	start_at(p, 1, 20);
	assert_int_equal(end_at(p, 1, 50), 30);
	assert_int_equal(end_at(p, 1, 60), -1);
	assert_int_equal(unpaired(p, ATTAR_UNPAIRED_REPLACED), 1);
	attar_pairs_free(p);

	p = new_pairs((struct attar_pairs_opts){.policy = ATTAR_PAIRS_FIRST});
	start_at(p, 1, 10);
	assert_null(start_at(p, 1, 20));
	assert_int_equal(end_at(p, 1, 50), 40);
	assert_int_equal(unpaired(p, ATTAR_UNPAIRED_REPEATED), 1);
	attar_pairs_free(p);

	p = new_pairs((struct attar_pairs_opts){.policy = ATTAR_PAIRS_NESTED, .depth_max = 3});
	for (uint32_t i = 0; i < 5; i++) {
		struct attar_start *s = start_at(p, 1, 10 + i);

		assert_int_equal(s ? s->depth : 9, i < 3 ? i : 9);
	}
	assert_int_equal(end_at(p, 1, 20), -1); /* of the starts at 14 and 13 */
	assert_int_equal(end_at(p, 1, 20), -1);
	assert_int_equal(end_at(p, 1, 20), 8);
	assert_int_equal(end_at(p, 1, 20), 9);
	assert_int_equal(end_at(p, 1, 20), 10);
	assert_int_equal(unpaired(p, ATTAR_UNPAIRED_DEEP), 2);
	assert_int_equal(unpaired(p, ATTAR_UNPAIRED_END_DEEP), 2);
	check_sums(p);
	attar_pairs_free(p);
}

/* A > B > C: B ends the first pair and starts the second. */
static void test_three_events(void **state)
{
	struct attar_pairs *ab = new_pairs((struct attar_pairs_opts){0});
	struct attar_pairs *bc = new_pairs((struct attar_pairs_opts){0});

	start_at(ab, 1, 10);
	assert_int_equal(end_at(ab, 1, 25), 15);
	start_at(bc, 1, 25);
	assert_int_equal(end_at(bc, 1, 100), 75);
	attar_pairs_free(ab);
	attar_pairs_free(bc);
}

static void test_lost_windows(void **state)
{
	struct attar_pairs *p = new_pairs((struct attar_pairs_opts){0});
	struct attar_pairs_stats interval;

	start_at(p, 1, 10);
	start_at(p, 2, 20);
	start_at(p, 3, 21);
	attar_pairs_lost(p, 1, 15, 20);
	assert_int_equal(unpaired(p, ATTAR_UNPAIRED_LOST), 2);
	assert_null(start_at(p, 4, 20));
	assert_int_equal(end_at(p, 1, 30), -1);
	assert_int_equal(end_at(p, 2, 30), -1);
	assert_int_equal(end_at(p, 3, 30), 9);
	assert_int_equal(end_at(p, 4, 30), -1);
	assert_int_equal(unpaired(p, ATTAR_UNPAIRED_END_LOST), 3);
	assert_int_equal(unpaired(p, ATTAR_UNPAIRED_END), 0);
	start_at(p, 1, 31);
	attar_pairs_get_interval(p, &interval);
	assert_int_equal(interval.starts, 5);
	assert_int_equal(interval.unpaired[ATTAR_UNPAIRED_LOST], 3);
	assert_int_equal(end_at(p, 1, 35), 4);
	attar_pairs_get_interval(p, &interval);
	assert_int_equal(interval.starts, 0);
	assert_int_equal(interval.ends, 1);
	assert_int_equal(interval.pairs, 1);
	assert_int_equal(interval.unpaired[ATTAR_UNPAIRED_LOST], 0);
	check_sums(p);
	attar_pairs_free(p);
}

static void test_windows_of_one_cpu(void **state)
{
	struct attar_pairs *p = new_pairs((struct attar_pairs_opts){.flags = ATTAR_PAIRS_ONE_CPU});
	struct attar_stamp at = {10, ATTAR_NO_TASK, 0}, end = {100, ATTAR_NO_TASK, 0};

	for (at.cpu = -1; at.cpu < 4; at.cpu++)
		attar_pairs_start_u64(p, (uint64_t)at.cpu, &at);
	attar_pairs_lost(p, 2, 15, 20); /* also that of an unknown CPU */
	assert_int_equal(unpaired(p, ATTAR_UNPAIRED_LOST), 2);
	for (end.cpu = -1; end.cpu < 4; end.cpu++)
		assert_int_equal(!attar_pairs_end_u64(p, (uint64_t)end.cpu, &end),
			end.cpu == -1 || end.cpu == 2);
	assert_int_equal(unpaired(p, ATTAR_UNPAIRED_END_LOST), 2);
	for (at.cpu = 0; at.cpu < 4; at.cpu++)
		attar_pairs_start_u64(p, (uint64_t)at.cpu, &at);
	attar_pairs_lost(p, -1, 15, 20);
	assert_int_equal(stats_of(p).open, 0);
	check_sums(p);
	attar_pairs_free(p);
}

static void test_exit_and_reuse(void **state)
{
	struct attar_pairs *p = new_pairs((struct attar_pairs_opts){
		.flags = ATTAR_PAIRS_SAME_TASK, .policy = ATTAR_PAIRS_NESTED});
	struct attar_stamp old = {10, 1, 0}, new = {20, 2, 0}, unknown = {30, ATTAR_NO_TASK, 0};

	attar_pairs_start_u64(p, 5, &old);
	attar_pairs_start_u64(p, 5, &old);
	assert_null(attar_pairs_end_u64(p, 5, &new));
	assert_int_equal(unpaired(p, ATTAR_UNPAIRED_EXITED), 2);
	attar_pairs_start_u64(p, 5, &old);
	attar_pairs_start_u64(p, 5, &new);
	assert_int_equal(unpaired(p, ATTAR_UNPAIRED_EXITED), 3);
	assert_int_equal(attar_pairs_end_u64(p, 5, &unknown)->time, 20);
	attar_pairs_start_u64(p, 6, &old);
	attar_pairs_start_u64(p, 7, &new);
	attar_pairs_exit(p, 1);
	attar_pairs_exit(p, ATTAR_NO_TASK);
	assert_int_equal(unpaired(p, ATTAR_UNPAIRED_EXITED), 4);
	assert_int_equal(stats_of(p).open, 1);
	check_sums(p);
	attar_pairs_free(p);
}

static void test_open_starts_are_listed_and_closed(void **state)
{
	struct attar_pairs *p = new_pairs((struct attar_pairs_opts){.open_max = 8});
	const struct attar_start *s = NULL;
	const uint64_t key = 9;

	for (uint64_t i = 0; i < 12; i++)
		start_at(p, i, i);
	assert_int_equal(unpaired(p, ATTAR_UNPAIRED_EVICTED), 4);
	for (uint64_t i = 4; i < 12; i++) {
		s = attar_pairs_next_open(p, s);
		assert_int_equal(s->time, i);
	}
	assert_null(attar_pairs_next_open(p, s));
	s = pairs_find_open(p, &key, 8);
	assert_non_null(s);
	assert_int_equal(s->time, 9);
	assert_int_equal(attar_pairs_drop(p, &key, 8), 1);
	assert_null(pairs_find_open(p, &key, 8));
	assert_int_equal(attar_pairs_drop(p, &key, 8), 0);
	attar_pairs_close(p);
	assert_int_equal(unpaired(p, ATTAR_UNPAIRED_OPEN), 7);
	assert_int_equal(unpaired(p, ATTAR_UNPAIRED_DROPPED), 1);
	assert_int_equal(stats_of(p).open, 0);
	assert_int_equal(end_at(p, 5, 3), -1);
	start_at(p, 5, 50);
	assert_int_equal(end_at(p, 5, 49), -1);
	assert_int_equal(unpaired(p, ATTAR_UNPAIRED_BACKWARD), 1);
	assert_int_equal(unpaired(p, ATTAR_UNPAIRED_END_BACKWARD), 1);
	check_sums(p);
	attar_pairs_free(p);
}

/* ---- the model: a list of open starts in order of age ---- */

enum { OPEN_MAX = 12, KEYS = 14, TASKS = 4, CPUS = 3, DEPTH = 3 };

struct model {
	struct attar_pairs_opts opts;
	struct {
		uint64_t key, skipped;
		struct attar_stamp at;
	} open[OPEN_MAX];
	size_t n;
	struct {
		int cpu;
		uint64_t to;
	} lost[8];
	size_t n_lost;
	uint64_t pairs, unpaired[ATTAR_UNPAIRED_REASONS];
};

static void drop(struct model *m, size_t i)
{
	memmove(&m->open[i], &m->open[i + 1], (--m->n - i) * sizeof(m->open[0]));
}

static void drop_for(struct model *m, size_t i, enum attar_unpaired reason)
{
	m->unpaired[reason]++;
	drop(m, i);
}

/* The newest open start of the key, or OPEN_MAX; *ret_depth is the number of its starts. */
static size_t newest(const struct model *m, uint64_t key, size_t *ret_depth)
{
	size_t found = OPEN_MAX;

	*ret_depth = 0;
	for (size_t i = 0; i < m->n; i++)
		if (m->open[i].key == key) {
			found = i;
			++*ret_depth;
		}
	return found;
}

static bool concerns(const struct model *m, size_t window, int cpu)
{
	int lost = m->lost[window].cpu;

	return !(m->opts.flags & ATTAR_PAIRS_ONE_CPU) || lost == -1 || cpu == -1 || lost == cpu;
}

static bool may_be_lost(const struct model *m, const struct attar_stamp *at)
{
	for (size_t i = 0; i < m->n_lost; i++)
		if (concerns(m, i, at->cpu) && at->time <= m->lost[i].to)
			return true;
	return false;
}

static void drop_reused(struct model *m, uint64_t key, uint64_t task)
{
	size_t depth, i = newest(m, key, &depth);

	if (!(m->opts.flags & ATTAR_PAIRS_SAME_TASK) || i == OPEN_MAX ||
		m->open[i].at.task == task || task == ATTAR_NO_TASK ||
		m->open[i].at.task == ATTAR_NO_TASK)
		return;
	for (; i != OPEN_MAX; i = newest(m, key, &depth))
		drop_for(m, i, ATTAR_UNPAIRED_EXITED);
}

static bool model_start(struct model *m, uint64_t key, const struct attar_stamp *at)
{
	size_t depth, i;

	drop_reused(m, key, at->task);
	i = newest(m, key, &depth);
	if (may_be_lost(m, at))
		return m->unpaired[ATTAR_UNPAIRED_LOST]++, false;
	if (depth && m->opts.policy == ATTAR_PAIRS_FIRST)
		return m->unpaired[ATTAR_UNPAIRED_REPEATED]++, false;
	if (depth && m->opts.policy == ATTAR_PAIRS_REPLACE)
		drop_for(m, i, ATTAR_UNPAIRED_REPLACED);
	if (depth >= DEPTH) {
		m->open[i].skipped++;
		return m->unpaired[ATTAR_UNPAIRED_DEEP]++, false;
	}
	if (m->n == OPEN_MAX)
		drop_for(m, 0, ATTAR_UNPAIRED_EVICTED);
	m->open[m->n].key = key;
	m->open[m->n].skipped = 0;
	m->open[m->n++].at = *at;
	return true;
}

/* Sets *ret_start and returns true for a pair. */
static bool model_end(
	struct model *m, uint64_t key, const struct attar_stamp *at, struct attar_stamp *ret_start)
{
	size_t depth, i;
	bool lost = false;

	drop_reused(m, key, at->task);
	i = newest(m, key, &depth);
	for (size_t w = 0; w < m->n_lost; w++)
		lost |= concerns(m, w, at->cpu);
	if (!depth)
		return m->unpaired[lost ? ATTAR_UNPAIRED_END_LOST : ATTAR_UNPAIRED_END]++, false;
	if (m->open[i].skipped) {
		m->open[i].skipped--;
		return m->unpaired[ATTAR_UNPAIRED_END_DEEP]++, false;
	}
	if (at->time < m->open[i].at.time) {
		drop_for(m, i, ATTAR_UNPAIRED_BACKWARD);
		return m->unpaired[ATTAR_UNPAIRED_END_BACKWARD]++, false;
	}
	*ret_start = m->open[i].at;
	m->pairs++;
	drop(m, i);
	return true;
}

static void model_lost(struct model *m, int cpu, uint64_t to)
{
	m->lost[m->n_lost].cpu = cpu;
	m->lost[m->n_lost++].to = to;
	for (size_t i = m->n; i--;)
		if (may_be_lost(m, &m->open[i].at))
			drop_for(m, i, ATTAR_UNPAIRED_LOST);
}

static void check_model(const struct attar_pairs *p, const struct model *m)
{
	struct attar_pairs_stats stats = stats_of(p);
	const struct attar_start *s = NULL;

	assert_int_equal(stats.pairs, m->pairs);
	assert_memory_equal(stats.unpaired, m->unpaired, sizeof(m->unpaired));
	assert_int_equal(stats.open, m->n);
	for (size_t i = 0; i < m->n; i++) {
		uint64_t key;

		s = attar_pairs_next_open(p, s);
		memcpy(&key, s->key, sizeof(key));
		assert_int_equal(key, m->open[i].key);
		assert_int_equal(s->time, m->open[i].at.time);
		assert_int_equal(s->cpu, m->open[i].at.cpu);
	}
	assert_null(attar_pairs_next_open(p, s));
	check_sums(p);
}

/* Keys of which half have the same place among the recent ones. */
static void choose_keys(struct attar_pairs *p, uint64_t keys[KEYS])
{
	uint64_t n = 0;

	for (uint64_t key = 0; n < KEYS; key++)
		if (n < KEYS / 2 || pairs_recent(p, key) == pairs_recent(p, 0))
			keys[n++] = key;
}

static void model_drop(struct attar_pairs *p, struct model *m, uint64_t key)
{
	size_t depth, i = newest(m, key, &depth);

	assert_int_equal(attar_pairs_drop(p, &key, sizeof(key)), depth);
	for (; i != OPEN_MAX; i = newest(m, key, &depth))
		drop_for(m, i, ATTAR_UNPAIRED_DROPPED);
}

static void step(struct attar_pairs *p, struct model *m, const uint64_t keys[KEYS], uint64_t time)
{
	/* some events arrive late */
	struct attar_stamp at = {time - random_below(3), random_below(TASKS),
				   (int)random_below(CPUS + 1) - 1},
			   start = {0};
	uint64_t key = keys[random_below(KEYS)], what = random_below(205);

	if (!at.task)
		at.task = ATTAR_NO_TASK;
	if (what < 100) {
		assert_int_equal(
			attar_pairs_start_u64(p, key, &at) != NULL, model_start(m, key, &at));
	} else if (what < 190) {
		const struct attar_start *s = attar_pairs_end_u64(p, key, &at);

		assert_int_equal(s != NULL, model_end(m, key, &at, &start));
		assert_true(!s || (s->time == start.time && s->task == start.task));
	} else if (what < 197) {
		attar_pairs_exit(p, at.task);
		for (size_t i = m->n; i--;)
			if (at.task != ATTAR_NO_TASK && m->open[i].at.task == at.task)
				drop_for(m, i, ATTAR_UNPAIRED_EXITED);
	} else if (what < 202) {
		model_drop(p, m, key);
	} else if (m->n_lost < ARRAY_SIZE(m->lost)) {
		uint64_t to = at.time + random_below(4);

		attar_pairs_lost(p, at.cpu, at.time, to);
		model_lost(m, at.cpu, to);
	}
}

static void test_agrees_with_a_list(void **state)
{
	for (size_t round = 0; round < unit_rounds(600); round++) {
		struct model m = {.opts = {.policy = (enum attar_pairs_policy)(round % 3),
					  .flags = round / 3 % 4,
					  .open_max = OPEN_MAX,
					  .depth_max = DEPTH}};
		struct attar_pairs *p = new_pairs(m.opts);
		uint64_t keys[KEYS];

		choose_keys(p, keys);
		for (uint64_t time = 10; time < 300; time++) {
			step(p, &m, keys, time);
			check_model(p, &m);
		}
		attar_pairs_close(p);
		check_sums(p);
		attar_pairs_free(p);
	}
}

static void test_matching_allocates_nothing(void **state)
{
	struct attar_pairs *p = new_pairs((struct attar_pairs_opts){.payload_size = 24});
	size_t before = 0;

	for (uint64_t round = 0; round < 20; round++) {
		for (uint64_t key = 0; key < 500; key++)
			start_at(p, key * (round + 1), round);
		for (uint64_t key = 0; key < 500; key++)
			assert_int_equal(end_at(p, key * (round + 1), round + 3), 3);
		before = round ? before : failing_calls;
	}
	assert_int_equal(failing_calls, before);
	attar_pairs_free(p);
}

static void test_out_of_memory(void **state)
{
	struct attar_pairs_opts o = {.size = sizeof(o)};
	struct attar_pairs *p;

	failing_from(1);
	assert_int_equal(attar_pairs_new(&o, &p), -ENOMEM);
	failing_from(0);
	for (size_t n = 1; n < 6; n++) {
		p = new_pairs(o);
		failing_from(n);
		for (uint64_t key = 0; key < 200; key++)
			start_at(p, key, 1);
		failing_from(0);
		for (uint64_t key = 0; key < 200; key++)
			end_at(p, key, 2);
		assert_true(unpaired(p, ATTAR_UNPAIRED_EVICTED) > 0);
		check_sums(p);
		attar_pairs_free(p);
	}
}

static void test_options_and_texts(void **state)
{
	struct attar_pairs_opts o = {.size = sizeof(o), .flags = 4};
	struct attar_pairs *p;

	assert_int_equal(attar_pairs_new(&o, &p), -EINVAL);
	o = (struct attar_pairs_opts){.size = sizeof(o), .open_max = 7};
	assert_int_equal(attar_pairs_new(&o, &p), -EINVAL);
	assert_int_equal(attar_pairs_new(NULL, &p), 0);
	assert_null(attar_pairs_free(p));
	assert_null(attar_pairs_free(NULL));
	for (int i = 0; i < ATTAR_UNPAIRED_REASONS; i++)
		assert_true(strlen(attar_unpaired_text((enum attar_unpaired)i)) > 0);
	assert_string_equal(attar_unpaired_text(ATTAR_UNPAIRED_REASONS), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start_and_end),
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_three_events),
		cmocka_unit_test(test_lost_windows),
		cmocka_unit_test(test_windows_of_one_cpu),
		cmocka_unit_test(test_exit_and_reuse),
		cmocka_unit_test(test_open_starts_are_listed_and_closed),
		cmocka_unit_test(test_agrees_with_a_list),
		cmocka_unit_test(test_matching_allocates_nothing),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_options_and_texts),
	};

	return cmocka_run_group_tests_name("pairs", tests, NULL, NULL);
}
