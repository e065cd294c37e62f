/* SPDX-License-Identifier: MIT */
/* Time in states: exact cases, and random changes compared with a plain list. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>

#include "attar/private/states.h"
#include "attar/states.h"
#include "attar/sections.h"
#include "base/base.h"
#include "failing.h"
#include "random.h"

enum { RUN, SLEEP, WAIT, STATES };

static struct attar_states *new_states(struct attar_states_opts o)
{
	struct attar_states *s;

	o.size = sizeof(o);
	o.states = STATES;
	if (attar_states_new(&o, &s) < 0)
		fail_msg("%s", attar_error());
	return s;
}

static struct attar_state *set(struct attar_states *s, uint64_t key, uint32_t state, uint64_t time)
{
	struct attar_stamp at = {time, ATTAR_NO_TASK, 0};
	struct attar_state *object = attar_states_set_u64(s, key, state, &at);

	assert_non_null(object);
	return object;
}

static struct attar_states_stats stats_of(const struct attar_states *s)
{
	struct attar_states_stats stats;

	attar_states_get_stats(s, &stats);
	assert_int_equal(stats.begun, stats.segments + stats.open + stats.lost + stats.unseen +
					      stats.reused + stats.backward + stats.evicted);
	return stats;
}

/* The time in a state, and the number of segments, of a key of 8 bytes. */
static void expect(
	const struct attar_states *s, uint64_t key, uint32_t state, uint64_t n, uint64_t time)
{
	struct attar_keyrow *row = attar_keytable_find(attar_states_table(s), &key, 8);

	assert_int_equal(row ? row->interval.hists[state].count : 0, n);
	assert_int_equal(row ? row->interval.hists[state].sum : 0, time);
	assert_int_equal(row ? row->interval.sums[state] : 0, time);
}

/* A change of an object that was looked up is one by its key. */
static void test_change_of_a_known_object(void **state)
{
	const struct attar_stamp at = {130, ATTAR_NO_TASK, 0};
	struct attar_states *s = new_states((struct attar_states_opts){0});
	uint64_t key = 7;
	struct attar_state *object;

	set(s, key, RUN, 100);
	object = attar_states_get(s, &key, sizeof(key));
	assert_non_null(object);
	assert_int_equal(state_change(s, object, SLEEP, &at), 0);
	assert_int_equal(object->ended, RUN);
	assert_int_equal(object->duration, 30);
	assert_int_equal(object->state, SLEEP);
	set(s, key, RUN, 150);
	expect(s, key, RUN, 1, 30);
	expect(s, key, SLEEP, 1, 20);
	stats_of(s);
	attar_states_free(s);
}

/* An object that is added by its look-up is in no state, and one that was lost is in none again. */
static void test_object_of_a_key(void **state)
{
	const struct attar_stamp at = {100, ATTAR_NO_TASK, 0};
	struct attar_states *s = new_states((struct attar_states_opts){0});
	struct attar_state *object = states_at_u64(s, 7);

	assert_int_equal(object->state, ATTAR_NO_STATE);
	assert_int_equal(state_change(s, object, RUN, &at), 0);
	assert_int_equal(object->ended, ATTAR_NO_STATE);
	assert_ptr_equal(states_at_u64(s, 7), object);
	assert_int_equal(object->state, RUN);
	attar_states_lost(s, -1, 110, 120);
	assert_int_equal(states_at_u64(s, 7)->state, ATTAR_NO_STATE);
	assert_int_equal(stats_of(s).lost, 1);
	attar_states_free(s);
}

/* A dropped segment is one that was lost, if there was a loss during it. */
static void test_dropped_segments(void **state)
{
	struct attar_states *s = new_states((struct attar_states_opts){0});
	struct attar_state *object = set(s, 7, RUN, 100);
	struct attar_states_stats stats;

	state_drop(s, object);
	state_drop(s, object); /* which has no state */
	stats = stats_of(s);
	assert_int_equal(stats.unseen, 1);
	assert_int_equal(stats.lost, 0);
	object = set(s, 7, RUN, 200);
	attar_states_lost(s, -1, 210, 220);
	state_drop(s, object);
	stats = stats_of(s);
	assert_int_equal(stats.unseen, 1);
	assert_int_equal(stats.lost, 1);
	attar_states_free(s);
}

/* A program that runs 3 ns and sleeps 20 ns, ten times. */
static void test_ten_sleeps(void **state)
{
	struct attar_states *s = new_states((struct attar_states_opts){.value_size = 4});
	uint64_t time = 100, key = 7;
	struct attar_state *object;

	for (int i = 0; i < 10; i++) {
		object = set(s, key, RUN, time);
		assert_int_equal(object->ended, i ? SLEEP : ATTAR_NO_STATE);
		assert_true(!i || object->duration == 20);
		assert_int_equal(*(uint32_t *)object->value, i);
		++*(uint32_t *)object->value;
		object = set(s, key, SLEEP, time + 3);
		assert_int_equal(object->ended, RUN);
		assert_int_equal(object->duration, 3);
		time += 23;
	}
	expect(s, key, RUN, 10, 30);
	expect(s, key, SLEEP, 9, 180);
	assert_int_equal(attar_states_close(s, time), 0);
	expect(s, key, SLEEP, 10, 200);
	expect(s, key, WAIT, 0, 0);
	assert_int_equal(
		attar_keytable_find(attar_states_table(s), &key, 8)->interval.sums[STATES], 230);
	assert_int_equal(stats_of(s).segments, 20);
	attar_states_free(s);
}

static void test_the_same_state_continues(void **state)
{
	struct attar_states *s = new_states((struct attar_states_opts){0});

	set(s, 1, RUN, 10);
	assert_int_equal(set(s, 1, RUN, 20)->ended, ATTAR_NO_STATE);
	assert_int_equal(set(s, 1, SLEEP, 30)->duration, 20);
	set(s, 1, ATTAR_NO_STATE, 35);
	set(s, 1, RUN, 100);
	expect(s, 1, RUN, 1, 20);
	expect(s, 1, SLEEP, 1, 5);
	set(s, 1, SLEEP, 99);
	assert_int_equal(stats_of(s).backward, 1);
	attar_states_free(s);
}

static void test_groups(void **state)
{
	struct attar_states *s = new_states((struct attar_states_opts){.group_max = 16});
	struct attar_keyrow *row;

	attar_state_set_group(s, set(s, 1, RUN, 10), "make", 4);
	attar_state_set_group(s, set(s, 2, RUN, 10), "make", 4);
	attar_state_set_group(s, set(s, 1, SLEEP, 15), "cc1", 3);
	set(s, 2, SLEEP, 17);
	set(s, 1, RUN, 100);
	row = attar_keytable_find(attar_states_table(s), "make", 4);
	assert_int_equal(row->interval.hists[RUN].count, 2);
	assert_int_equal(row->interval.sums[RUN], 12);
	assert_int_equal(row->interval.sums[SLEEP], 0);
	row = attar_keytable_find(attar_states_table(s), "cc1", 3);
	assert_int_equal(row->interval.sums[SLEEP], 85);
	attar_states_free(s);
}

static void test_lost_windows(void **state)
{
	struct attar_states *s = new_states((struct attar_states_opts){0});
	const uint64_t key = 1;

	set(s, 1, RUN, 10);
	set(s, 2, RUN, 31);
	attar_states_lost(s, 3, 20, 30);
	assert_int_equal(attar_states_get(s, &key, 8)->state, ATTAR_NO_STATE);
	assert_int_equal(set(s, 1, RUN, 40)->ended, ATTAR_NO_STATE);
	assert_int_equal(set(s, 2, SLEEP, 40)->ended, RUN);
	set(s, 1, SLEEP, 45);
	expect(s, 1, RUN, 1, 5);
	expect(s, 2, RUN, 1, 9);
	assert_int_equal(stats_of(s).lost, 1);
	attar_states_free(s);
}

/* Up to the next change, the exit or the end. */
static void test_time_of_lost_segments(void **state)
{
	struct attar_states *s = new_states((struct attar_states_opts){0});
	struct attar_report *report = attar_report_new("test");
	const struct attar_stamp exit = {50, ATTAR_NO_TASK, 0};
	const uint64_t key = 2;

	set(s, 1, RUN, 10);
	set(s, 2, RUN, 20);
	set(s, 3, SLEEP, 25);
	set(s, 4, SLEEP, 31);
	attar_states_lost(s, -1, 20, 30);
	set(s, 1, SLEEP, 40);                                      /* 30 */
	assert_int_equal(attar_states_exit(s, &key, 8, &exit), 0); /* 30 */
	assert_int_equal(attar_states_close(s, 60), 0);            /* 35 */
	assert_int_equal(stats_of(s).lost, 3);
	expect(s, 1, SLEEP, 1, 20);
	expect(s, 4, SLEEP, 1, 29);
	attar_report_dropped(report, s, "segments"); /* 95 of 144 */
	assert_string_equal(attar_report_get_remark(report, 0),
		"segments left out because events were lost during them: 3, with 65.97 % of all "
		"time");
	assert_null(attar_report_get_remark(report, 1));
	attar_report_free(report);
	attar_states_free(s);
}

static void test_unseen_segments(void **state)
{
	struct attar_states *s = new_states((struct attar_states_opts){0});
	struct attar_report *report = attar_report_new("test");

	state_drop(s, set(s, 1, RUN, 10));
	set(s, 1, SLEEP, 20);
	set(s, 1, RUN, 25);
	expect(s, 1, RUN, 0, 0);
	expect(s, 1, SLEEP, 1, 5);
	attar_report_dropped(report, s, "segments");
	assert_string_equal(attar_report_get_remark(report, 0),
		"segments left out because an event during them was not delivered: 1");
	assert_null(attar_report_get_remark(report, 1));
	attar_report_free(report);
	attar_states_free(s);
}

static void test_exit_and_reuse(void **state)
{
	struct attar_states *s = new_states(
		(struct attar_states_opts){.flags = ATTAR_STATES_SAME_TASK, .value_size = 8});
	struct attar_stamp old = {10, 1, 0}, new = {20, 2, 0}, end = {25, 2, 0};
	const uint64_t key = 5;
	struct attar_state *object = attar_states_set_u64(s, key, RUN, &old);

	memset(object->value, 1, 8);
	object = attar_states_set_u64(s, key, SLEEP, &new);
	assert_int_equal(object->ended, ATTAR_NO_STATE);
	assert_int_equal(*(uint64_t *)object->value, 0);
	assert_int_equal(stats_of(s).reused, 1);
	assert_int_equal(attar_states_exit(s, &key, 8, &end), 0);
	assert_int_equal(attar_states_exit(s, &key, 8, &end), 0);
	expect(s, key, SLEEP, 1, 5);
	assert_null(attar_states_get(s, &key, 8));
	assert_int_equal(stats_of(s).keys, 0);
	attar_states_free(s);
}

/* ---- the model: a list of objects in order of their last change ---- */

enum { OBJECTS_MAX = 8, KEYS = 11, TASKS = 3, CPUS = 3 };

struct model_object {
	uint64_t key, group, since, task;
	int cpu;
	uint32_t state;
};

struct model {
	struct attar_states_opts opts;
	struct model_object objects[OBJECTS_MAX];
	size_t n;
	struct {
		int cpu;
		uint64_t to;
	} lost[8];
	size_t n_lost;
	uint64_t times[KEYS][STATES], counts[KEYS][STATES];
	uint64_t begun, segments, n_of_lost, reused, backward, evicted;
};

static bool was_lost(const struct model *m, const struct model_object *o)
{
	for (size_t i = 0; i < m->n_lost; i++) {
		int cpu = m->lost[i].cpu;

		if (o->since <= m->lost[i].to &&
			(!(m->opts.flags & ATTAR_STATES_ONE_CPU) || cpu == -1 || o->cpu == -1 ||
				o->cpu == cpu))
			return true;
	}
	return false;
}

static void model_drop(struct model_object *o, uint64_t *count)
{
	*count += o->state != ATTAR_NO_STATE;
	o->state = ATTAR_NO_STATE;
}

static void model_check(struct model *m, struct model_object *o, uint64_t task)
{
	if (m->opts.flags & ATTAR_STATES_SAME_TASK && o->task != task && o->task != ATTAR_NO_TASK &&
		task != ATTAR_NO_TASK) {
		model_drop(o, &m->reused);
		o->group = o->key;
	}
	if (was_lost(m, o))
		model_drop(o, &m->n_of_lost);
}

static void model_end(struct model *m, struct model_object *o, uint64_t time)
{
	if (o->state == ATTAR_NO_STATE)
		return;
	if (time < o->since) {
		m->backward++;
		return;
	}
	m->segments++;
	m->counts[o->group][o->state]++;
	m->times[o->group][o->state] += time - o->since;
}

static size_t find(const struct model *m, uint64_t key)
{
	size_t i = 0;

	while (i < m->n && m->objects[i].key != key)
		i++;
	return i;
}

static void take_out(struct model *m, size_t i)
{
	memmove(&m->objects[i], &m->objects[i + 1], (--m->n - i) * sizeof(m->objects[0]));
}

static void model_set(
	struct model *m, uint64_t key, uint32_t state, const struct attar_stamp *at, uint64_t group)
{
	struct model_object o = {.key = key, .group = key, .state = ATTAR_NO_STATE};
	size_t i = find(m, key);

	if (i < m->n) {
		o = m->objects[i];
		model_check(m, &o, at->task);
		take_out(m, i);
	} else if (m->n == OBJECTS_MAX) {
		model_drop(&m->objects[0], &m->evicted);
		take_out(m, 0);
	}
	if (o.state != state || state == ATTAR_NO_STATE || at->time < o.since) {
		model_end(m, &o, at->time);
		m->begun += state != ATTAR_NO_STATE;
		o.state = state;
		o.since = at->time;
		o.task = at->task;
		o.cpu = at->cpu;
	}
	o.group = m->opts.group_max ? group : key;
	m->objects[m->n++] = o;
}

static void check_model(struct attar_states *s, const struct model *m)
{
	struct attar_states_stats stats = stats_of(s);

	assert_int_equal(stats.keys, m->n);
	assert_int_equal(stats.begun, m->begun);
	assert_int_equal(stats.segments, m->segments);
	assert_int_equal(stats.lost, m->n_of_lost);
	assert_int_equal(stats.reused, m->reused);
	assert_int_equal(stats.backward, m->backward);
	assert_int_equal(stats.evicted, m->evicted);
	for (uint64_t key = 0; key < KEYS; key++)
		for (uint32_t state = 0; state < STATES; state++)
			expect(s, key, state, m->counts[key][state], m->times[key][state]);
}

static void step(struct attar_states *s, struct model *m, uint64_t time)
{
	struct attar_stamp at = {
		time - random_below(3), random_below(TASKS), (int)random_below(CPUS + 1) - 1};
	uint64_t key = random_below(KEYS), what = random_below(200), group = random_below(KEYS);
	uint32_t state = (uint32_t)random_below(STATES + 1);

	if (!at.task)
		at.task = ATTAR_NO_TASK;
	if (state == STATES)
		state = ATTAR_NO_STATE;
	if (what < 180) {
		struct attar_state *object = attar_states_set_u64(s, key, state, &at);

		attar_state_set_group(s, object, &group, sizeof(group));
		model_set(m, key, state, &at, group);
	} else if (what < 195) {
		size_t i = find(m, key);

		assert_int_equal(attar_states_exit(s, &key, 8, &at), 0);
		if (i == m->n)
			return;
		model_check(m, &m->objects[i], at.task);
		model_end(m, &m->objects[i], at.time);
		take_out(m, i);
	} else if (m->n_lost < ARRAY_SIZE(m->lost)) {
		m->lost[m->n_lost].cpu = at.cpu;
		m->lost[m->n_lost++].to = at.time + 2;
		attar_states_lost(s, at.cpu, at.time, at.time + 2);
	}
}

static void test_agrees_with_a_list(void **state)
{
	for (size_t round = 0; round < unit_rounds(400); round++) {
		struct model m = {.opts = {.flags = round % 4,
					  .group_max = round % 8 < 4 ? 8 : 0,
					  .keys_max = OBJECTS_MAX}};
		struct attar_states *s = new_states(m.opts);

		for (uint64_t time = 10; time < 300; time++) {
			step(s, &m, time);
			check_model(s, &m);
		}
		for (size_t i = 0; i < m.n; i++) {
			model_check(&m, &m.objects[i], m.objects[i].task);
			m.begun += m.objects[i].state != ATTAR_NO_STATE;
			model_end(&m, &m.objects[i], 400);
		}
		assert_int_equal(attar_states_close(s, 400), 0);
		check_model(s, &m);
		attar_states_free(s);
	}
}

static void test_objects_are_listed(void **state)
{
	struct attar_states *s = new_states((struct attar_states_opts){0});
	const uint64_t order[] = {2, 3, 1};
	struct attar_state *object = NULL;

	set(s, 1, RUN, 10);
	set(s, 2, RUN, 11);
	set(s, 3, RUN, 12);
	set(s, 1, SLEEP, 13);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		object = attar_states_next(s, object);
		assert_memory_equal(object->key, &order[i], 8);
	}
	assert_null(attar_states_next(s, object));
	attar_states_free(s);
}

static void test_changes_allocate_nothing(void **state)
{
	struct attar_states *s = new_states((struct attar_states_opts){.group_max = 16});
	size_t before = 0;

	for (uint64_t time = 0; time < 100; time++) {
		for (uint64_t key = 0; key < 100; key++)
			attar_state_set_group(s, set(s, key, time % STATES, time), "group", 5);
		before = time < 10 ? failing_calls : before;
	}
	assert_int_equal(failing_calls, before);
	attar_states_free(s);
}

/* Each allocation fails once: objects and segments are counted or refused. */
static void test_out_of_memory(void **state)
{
	struct attar_states_opts o = {.size = sizeof(o), .states = STATES, .keys_max = 64};
	bool failed = true;

	for (size_t n = 1; failed; n++) {
		struct attar_states *s = NULL;

		failing_from(n);
		failed = attar_states_new(&o, &s) < 0;
		for (uint64_t i = 0; s && i < 300; i++) {
			struct attar_stamp at = {i, ATTAR_NO_TASK, 0};

			failed |= !attar_states_set_u64(s, i % 100, (uint32_t)(i / 100 % 2), &at);
			if (i % 2)
				failed |= !attar_states_set_u64(s, i % 100, WAIT, &at);
		}
		failing_from(0);
		if (!s)
			continue;
		stats_of(s);
		attar_states_free(s);
	}
}

static void test_options_out_of_range(void **state)
{
	struct attar_states_opts o = {.size = sizeof(o)};
	struct attar_states *s;

	assert_int_equal(attar_states_new(&o, &s), -EINVAL);
	o.states = 33;
	assert_int_equal(attar_states_new(&o, &s), -EINVAL);
	o.states = 2;
	o.groups_max = 3;
	assert_int_equal(attar_states_new(&o, &s), -EINVAL);
	assert_string_equal(attar_error(), "opts.groups_max is 3, at least 8 is required");
	assert_null(attar_states_free(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_change_of_a_known_object),
		cmocka_unit_test(test_object_of_a_key),
		cmocka_unit_test(test_dropped_segments),
		cmocka_unit_test(test_ten_sleeps),
		cmocka_unit_test(test_the_same_state_continues),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_lost_windows),
		cmocka_unit_test(test_time_of_lost_segments),
		cmocka_unit_test(test_unseen_segments),
		cmocka_unit_test(test_exit_and_reuse),
		cmocka_unit_test(test_agrees_with_a_list),
		cmocka_unit_test(test_objects_are_listed),
		cmocka_unit_test(test_changes_allocate_nothing),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_options_out_of_range),
	};

	return cmocka_run_group_tests_name("states", tests, NULL, NULL);
}
