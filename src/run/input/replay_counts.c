/* SPDX-License-Identifier: MIT */
#include "run/input/replay_counts.h"

#include "perf/counter.h"
#include "perf/value.h"
#include "run/counts/counts.h"
#include "run/counts/exited.h"
#include "run/counts/mixed.h"
#include "run/counts/threads.h"
#include "run/input/replay.h"
#include "run/input/replay_names.h"
#include "run/run.h"
#include "source/modes.h"

/* The kernel writes the counts of such events only. */
static bool has_counts(const struct recording_event *event)
{
	return event->attr.inherit_stat;
}

/* ---- connecting ---- */

static bool matches(const struct counted *c, const struct recording_event *event)
{
	const struct attar_event_spec *spec = c->pub.spec;

	return has_counts(event) &&
	       ((event->attr.type == spec->type && event->attr.config == spec->config) ||
		       replay_is_named(event, c->pub.name));
}

static int connect(struct attar_run *run, size_t number, size_t index)
{
	const struct recording_event *event = recording_get_event(run->replay->recording, index);
	struct counted *c = &counts_of(run)->list.at[number];
	int r = counter_new_recorded(&event->attr, c->pub.name, &c->recorded.counter);

	c->pub.counter = c->recorded.counter;
	return r == 0 ? map_put(&run->replay->counts, index, number) : r;
}

/* The index of its first event in the recording with this fit of modes. */
static size_t find_fit(const struct attar_run *run, const struct counted *c, enum modes_fit fit)
{
	const struct recording *recording = run->replay->recording;
	const unsigned modes = modes_of_spec(c->pub.spec);
	size_t i = 0;

	for (; i < recording_n_events(recording); i++) {
		const struct recording_event *event = recording_get_event(recording, i);

		if (matches(c, event) && modes_fit(modes, modes_of(&event->attr)) == fit)
			break;
	}
	return i;
}

/*
 * The index of its event in the recording; the number of these events: it has none. A count in more
 * modes than the event has cannot be divided.
 */
static size_t replay_counts_find(const struct attar_run *run, const struct counted *c)
{
	size_t exact = find_fit(run, c, FIT_EXACT);

	return exact < recording_n_events(run->replay->recording) ? exact
								  : find_fit(run, c, FIT_PARTS);
}

static int refuse(struct attar_run *run, struct counted *c)
{
	if (asprintf(&c->refused, "%s has no counts of '%s'", run->opts.input, c->pub.name) < 0) {
		c->refused = NULL;
		return base_oom();
	}
	c->pub.refused = c->refused;
	c->pub.error = -EOPNOTSUPP;
	return 0;
}

static bool any_counts(const struct recording *recording)
{
	for (size_t i = 0; i < recording_n_events(recording); i++)
		if (has_counts(recording_get_event(recording, i)))
			return true;
	return false;
}

int replay_counts_check(const struct attar_run *run)
{
	return any_counts(run->replay->recording)
		       ? 0
		       : attar_fail(-EOPNOTSUPP,
				 "%s needs counts, and this recording has only samples" ATTAR_FIX
				 "use perf record -s, which adds the counts of threads",
				 run->profiler->name);
}

int replay_counts_connect(struct attar_run *run)
{
	counted_list *list = &counts_of(run)->list;
	size_t refused = 0, n = recording_n_events(run->replay->recording);
	int r = 0;

	if (!list->n)
		return 0;
	for (size_t i = 0; r == 0 && i < list->n; i++) {
		size_t index = replay_counts_find(run, &list->at[i]);

		r = index < n ? connect(run, i, index) : refuse(run, &list->at[i]);
		refused += index == n;
	}
	if (r == 0 && (run->opts.from || run->opts.to || run->opts.at))
		return attar_fail(-EINVAL,
			"--from and --to conflict with the counts of %s, which are for whole "
			"threads",
			CLIP(run->opts.input));
	if (r == 0 && refused == list->n)
		return attar_fail(-EINVAL, "%s", list->at[0].refused);
	return r;
}

/* ---- delivering ---- */

static int replay_counts_grow(struct attar_value **values, size_t n)
{
	struct attar_value *more = realloc(*values, n * sizeof(*more));

	if (!more)
		return base_oom();
	more[n - 1] = (struct attar_value){0};
	*values = more;
	return 0;
}

static int add_instance(struct counted *c, int cpu, pid_t tid)
{
	size_t n = c->pub.n_instances + 1;
	int r = replay_counts_grow(&c->values, n);

	if (r == 0)
		r = replay_counts_grow(&c->recent, n);
	if (r == 0)
		r = replay_counts_grow(&c->recorded.values, n);
	if (r == 0)
		r = counter_add_recorded(c->recorded.counter, cpu, tid);
	if (r < 0)
		return r;
	c->pub.values = c->values;
	c->pub.recent = c->recent;
	c->pub.n_instances = n;
	return 0;
}

/* Replaces a part of *sum. */
static int replace(struct map *parts, uint64_t key, uint64_t now, uint64_t *sum)
{
	const uint64_t *before = map_get(parts, key);

	*sum += now - (before ? *before : 0);
	return map_put(parts, key, now);
}

/*
 * Of the thread's row, or without one of the CPU: that on which it exits does not matter. An event
 * that was opened on each CPU has a part of a thread's count, and of its time, for each.
 */
static int take(struct counted *c, int cpu, int row, uint64_t id, const struct attar_read *read,
	uint64_t raw)
{
	uint32_t whose = row < 0 ? ~(uint32_t)cpu : (uint32_t)row;
	const uint64_t *at = map_get(&c->recorded.instances, whose);
	size_t instance = at ? *at : c->pub.n_instances;
	uint64_t part = id << 32 | whose;
	struct attar_value *v;
	int r = 0;

	if (!at) {
		r = map_put(&c->recorded.instances, whose, instance);
		if (r == 0)
			r = add_instance(c, cpu, row);
	}
	if (r < 0)
		return r;
	v = &c->recorded.values[instance];
	v->time_enabled = MAX(v->time_enabled, attar_read_time_enabled(read));
	r = replace(&c->recorded.raw, part, raw, &v->raw);
	if (r == 0)
		r = replace(&c->recorded.running, part, attar_read_time_running(read),
			&v->time_running);
	if (c->pub.spec->kind == ATTAR_EVENT_SOFTWARE ||
		c->pub.spec->kind == ATTAR_EVENT_TRACEPOINT)
		v->time_enabled = v->time_running; /* they do not share hardware counters */
	value_set_quality(v);
	return r;
}

/* The counted event with this id, which a pipe may describe late. NULL: none. */
static struct counted *counted_by_id(const struct attar_run *run, uint64_t id)
{
	int index = recording_find(run->replay->recording, id);
	const uint64_t *number = index < 0 ? NULL : map_get(&run->replay->counts, (uint64_t)index);

	return number ? &counts_of(run)->list.at[*number] : NULL;
}

/* *ret_row: the thread's tid, or another number if it is the row of an earlier thread. */
static int find_row(struct attar_run *run, const struct attar_thread *thread, int *ret_row)
{
	struct map *rows = &run->replay->rows;
	const uint64_t *row = map_get(rows, thread->serial);
	int r = 0;

	*ret_row = row ? (int)*row : thread->tid;
	if (!row && run_comm(run, thread->tid))
		r = thread_counts_reuse(run, thread->tid, ret_row);
	if (r == 0 && !row && map_put(rows, thread->serial, (uint64_t)*ret_row) < 0)
		r = base_oom();
	return r == 0 ? threads_keep_comm(run, *ret_row, thread->comm) : r;
}

int replay_counts_take(struct attar_run *run, const struct attar_event *ev)
{
	const struct attar_record_read *read = &ev->record->read;
	struct attar_thread *thread = attar_run_thread(run, (pid_t)read->tid);
	struct attar_event of_thread = *ev; /* the record's thread is of the sample only */
	int row = (int32_t)read->tid > 0 ? (int)read->tid : -1, r = 0;
	int cpu = row < 0 ? (int)ev->cpu : -1;

	of_thread.thread = thread;
	run->replay->n_reads++;
	if (!select_has_event(run, &of_thread))
		return 0;
	if (row > 0 && thread)
		r = find_row(run, thread, &row);
	if (r == 0 && row > 0)
		r = mixed_counts_take(
			&run->replay->mixed, run->replay->recording, (uint32_t)row, &read->values);
	for (uint32_t i = 0; r == 0 && i < read->values.nr; i++) {
		struct attar_read_value one = attar_read_at(&read->values, i);
		struct counted *c = counted_by_id(run, one.id);

		if (c)
			r = take(c, cpu, row, one.id, &read->values, one.value);
	}
	return r;
}

/* The count of a thread is unknown if the kernel has exchanged it with another event. */
static struct attar_value latest(
	const struct attar_run *run, const struct counted *c, size_t instance)
{
	pid_t row = attar_counter_instance_at(c->recorded.counter, instance).tid;
	struct attar_value v = c->recorded.values[instance];

	if (row > 0 && mixed_counts_has(&run->replay->mixed, (uint32_t)row))
		value_error(&v);
	return v;
}

void replay_counts_read(struct attar_run *run)
{
	vec_each (&counts_of(run)->list, c)
		for (size_t i = 0; i < c->pub.n_instances; i++) {
			struct attar_value now = latest(run, c, i);

			c->recent[i] = attar_value_since(&now, &c->values[i]);
			c->values[i] = now;
		}
}

int replay_counts_exited(struct attar_run *run, const struct attar_event *ev)
{
	if (ev->record->type != PERF_RECORD_EXIT || !ev->thread || !select_has_event(run, ev))
		return 0;
	return map_put(&run->replay->exited, ev->thread->serial, 0);
}

static bool any_instances(const struct attar_run *run)
{
	vec_each (&counts_of(run)->list, c)
		if (c->pub.n_instances)
			return true;
	return false;
}

/* With counts of CPUs, none of a thread is expected. */
static void missing_remark(const struct attar_run *run, struct attar_report *report)
{
	const struct run_replay *replay = run->replay;
	size_t missing = 0;

	map_each (&replay->exited, thread)
		missing += !map_get(&replay->rows, thread->key);
	if (missing && replay->rows.n)
		attar_report_remark(report,
			"%s has no counts of %zu of the %zu threads that ended: they are missing "
			"in the sums",
			run->opts.input, missing, replay->exited.n);
}

static void mixed_remark(const struct attar_run *run, struct attar_report *report)
{
	const struct run_replay *replay = run->replay;

	if (replay->mixed.threads.n)
		attar_report_remark(report,
			"%s has wrong counts of %zu of %zu threads, which are left out: with "
			"several events in perf record -s, the kernel exchanges the counts of "
			"different events when threads of a program follow each other on a CPU; "
			"record one event, or use attar stat -- COMMAND",
			run->opts.input, replay->mixed.threads.n, replay->rows.n);
}

void replay_counts_remark(const struct attar_run *run, struct attar_report *report)
{
	uint64_t n = run->replay->n_reads;

	if (!counts_of(run)->list.n || !run->clock.ended)
		return;
	if (any_instances(run)) {
		missing_remark(run, report);
		mixed_remark(run, report);
	} else if (n) {
		attar_report_remark(report,
			"the records with counts of %s (%llu) are of other events, or of other "
			"CPUs and tasks than those selected",
			run->opts.input, (unsigned long long)n);
	} else {
		attar_report_remark(report,
			"%s has no records with counts: with perf record -s, the kernel writes "
			"those of each thread that ends but one, usually the first of the command; "
			"attar stat -- COMMAND counts all",
			run->opts.input);
	}
}

void recorded_count_done(struct recorded_count *recorded)
{
	counter_free(recorded->counter);
	free(recorded->values);
	map_done(&recorded->instances);
	map_done(&recorded->raw);
	map_done(&recorded->running);
	*recorded = (struct recorded_count){0};
}
