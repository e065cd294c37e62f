/* SPDX-License-Identifier: MIT */
/*
 * Finds events that the kernel counted but did not deliver. At the end of a stream each counted
 * event was delivered or lost; otherwise it is missing, because of a defect in the kernel. Counts
 * are compared per ring, that is per CPU.
 *
 * Compares only events for which each count is a sample: those that the kernel itself counts one by
 * one. Clocks and hardware counters advance without producing samples, as do events that are
 * sampled by frequency or throttled, and tracepoints that count more than 1 at a time
 * (sched:sched_stat_runtime counts ns). Neither are software events whose samples have the ids of
 * others.
 */
#include <stdio.h>

#include "attar/event.h"
#include "attar/private/stream.h"
#include "base/check_arg.h"
#include "base/file.h"
#include "perf/counter.h"
#include "perf/ring.h"
#include "perf/target.h"
#include "stream/stream.h"

static bool is_single_software(uint64_t config)
{
	switch (config) {
	case PERF_COUNT_SW_PAGE_FAULTS:
	case PERF_COUNT_SW_PAGE_FAULTS_MIN:
	case PERF_COUNT_SW_PAGE_FAULTS_MAJ:
	case PERF_COUNT_SW_CONTEXT_SWITCHES:
	case PERF_COUNT_SW_CPU_MIGRATIONS:
	case PERF_COUNT_SW_ALIGNMENT_FAULTS:
	case PERF_COUNT_SW_EMULATION_FAULTS:
	case PERF_COUNT_SW_CGROUP_SWITCHES:
		return true;
	default:
		return false;
	}
}

static bool is_probe(uint32_t type)
{
	static const char *const paths[] = {"/sys/bus/event_source/devices/kprobe/type",
		"/sys/bus/event_source/devices/uprobe/type"};
	int64_t number;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (file_read_i64(paths[i], &number) == 0 && number == type)
			return true;
	attar_error_clear();
	return false;
}

/*
 * True if the tracepoint is one of `names` (NULL-terminated) of the system sched, or if that cannot
 * be determined.
 */
static bool is_sched(uint64_t config, const char *const *names)
{
	struct attar_catalog *catalog = NULL;
	const char *tracefs;
	bool is = attar_catalog_new(NULL, &catalog) < 0 ||
		  attar_catalog_tracefs(catalog, &tracefs) < 0;

	for (; !is && *names; names++) {
		char path[4096];
		int64_t id;

		snprintf(path, sizeof(path), "%s/events/sched/%s/id", tracefs, *names);
		is = file_read_i64(path, &id) == 0 && (uint64_t)id == config;
	}
	attar_catalog_free(catalog);
	attar_error_clear();
	return is;
}

/*
 * The kernel also counts a wakeup for the woken thread, in events on this thread, but writes
 * samples only for the thread that runs (__perf_task() in trace/events/sched.h).
 */
static bool is_comparable_tracepoint(const struct attar_stream *s, uint64_t config)
{
	static const char *const of_tasks[] = {
		"sched_waking", "sched_wakeup", "sched_wakeup_new", NULL};
	static const char *const of_time[] = {"sched_stat_wait", "sched_stat_sleep",
		"sched_stat_iowait", "sched_stat_blocked", "sched_stat_runtime", NULL};

	if (is_sched(config, of_time))
		return false;
	return s->target->kind != ATTAR_TARGET_TASKS || !is_sched(config, of_tasks);
}

static bool counts_one_by_one(const struct attar_stream *s, const struct perf_event_attr *attr)
{
	switch (attr->type) {
	case PERF_TYPE_SOFTWARE:
		return is_single_software(attr->config);
	case PERF_TYPE_TRACEPOINT:
		return is_comparable_tracepoint(s, attr->config);
	case PERF_TYPE_BREAKPOINT:
		return true;
	default:
		return is_probe(attr->type);
	}
}

/*
 * With PERF_SAMPLE_PERIOD the kernel writes a sample for each occurrence of such an event, whatever
 * its period; the sample has the number by which it counts, which is 1.
 */
static uint64_t counts_per_sample(const struct perf_event_attr *attr)
{
	return attr->sample_type & PERF_SAMPLE_PERIOD ? 1 : attr->sample_period;
}

static bool have_a_mode_in_common(const struct perf_event_attr *a, const struct perf_event_attr *b)
{
	return (!a->exclude_user && !b->exclude_user) || (!a->exclude_kernel && !b->exclude_kernel);
}

/* The samples of a software event can have the id of another of the same kind: see read.c. */
static bool has_common_ids(const struct attar_stream *s, size_t counter)
{
	const struct perf_event_attr *attr = &s->counters[counter]->attr;

	for (size_t i = 0; attr->type == PERF_TYPE_SOFTWARE && i < s->n_counters; i++) {
		const struct perf_event_attr *other = &s->counters[i]->attr;

		if (i != counter && other->type == PERF_TYPE_SOFTWARE &&
			other->config == attr->config && have_a_mode_in_common(attr, other))
			return true;
	}
	return false;
}

/* A thread that inherits the event has its own period. */
static bool is_comparable(const struct attar_stream *s, size_t counter)
{
	const struct attar_counter *c = s->counters[counter];

	if (counter == s->side || s->accounts[counter].unfit || c->bpf_fd >= 0 || c->attr.freq ||
		!c->attr.sample_period || has_common_ids(s, counter))
		return false;
	if (counts_per_sample(&c->attr) > 1 && c->attr.inherit)
		return false;
	return counts_one_by_one(s, &c->attr);
}

static size_t ring_of(
	const struct attar_stream *s, const struct attar_counter *c, const struct counter_fd *it)
{
	size_t i = 0;

	while (i < s->n_rings && !ring_serves(s->rings[i], c, it))
		i++;
	return i;
}

/* Reads the counts so far, by ring. 0 or a negative errno. */
static int read_counter(const struct attar_stream *s, const struct attar_counter *c,
	struct ring_counts *ret_counted)
{
	memset(ret_counted, 0, s->n_rings * sizeof(*ret_counted));
	vec_each (&c->fds, it) {
		size_t ring = ring_of(s, c, it);
		struct attar_value v;
		int r = counter_read_fd(c, it, &v);

		if (r < 0)
			return r;
		if (v.quality == ATTAR_QUALITY_ERROR || ring == s->n_rings)
			return -ENODATA;
		ret_counted[ring].raw += v.raw;
		ret_counted[ring].lost += v.lost;
		ret_counted[ring].instances++;
	}
	return 0;
}

/* ---- the beginning ---- */

/*
 * If the counter is already enabled, its counts from here on are compared with the samples from
 * this moment on. Samples of events between this moment and the read have no count: too few events
 * may be found missing, never too many.
 */
int missing_begin(struct attar_stream *s, size_t counter)
{
	const struct attar_counter *c = s->counters[counter];
	struct account *account = &s->accounts[counter];
	struct ring_counts *counted;

	account->since = c->enabled ? base_now() : 0;
	account->unfit = false;
	if (counter == s->side || !s->n_rings)
		return 0;
	counted = calloc(s->n_rings, sizeof(*counted));
	if (!counted)
		return base_oom();
	account->unfit = (c->enabled && !s->has_clock) || read_counter(s, c, counted) < 0;
	for (size_t i = 0; i < s->n_rings; i++)
		s->cursors[i].counts[counter] =
			(struct counter_table){.raw = counted[i].raw, .lost = counted[i].lost};
	free(counted);
	attar_error_clear();
	return 0;
}

int missing_grow(struct attar_stream *s, size_t first_ring, size_t n_counters)
{
	for (size_t i = first_ring; i < s->n_rings; i++) {
		struct cursor *c = &s->cursors[i];
		size_t before = c->counts ? s->n_counters : 0;
		struct counter_table *grown =
			reallocarray(c->counts, n_counters + 1, sizeof(*grown));

		if (!grown)
			return base_oom();
		c->counts = grown;
		memset(&grown[before], 0, (n_counters + 1 - before) * sizeof(*grown));
	}
	return 0;
}

void missing_take_made(struct attar_stream *s, uint32_t number, uint32_t cpu)
{
	for (size_t i = 0; i < s->n_counters; i++)
		for (size_t k = 0; s->numbers[i] == number && k < s->n_rings; k++)
			if (s->rings[k]->cpu == (int)cpu)
				s->cursors[k].counts[i].arrived++;
}

/* ---- the end ---- */

/* The number of the counter's events that were not delivered. */
static uint64_t undelivered(const struct attar_stream *s, size_t counter,
	const struct counter_table *counts, const struct ring_counts *counted)
{
	uint64_t per_sample = counts_per_sample(&s->counters[counter]->attr);
	uint64_t made = difference_or_0(counted->raw, counts->raw) / per_sample;

	if (per_sample > 1) /* the last period of each instance is incomplete */
		made = difference_or_0(made, counted->instances);
	return difference_or_0(made, counts->arrived);
}

int missing_add(struct attar_stream *s, int cpu, uint64_t n)
{
	struct attar_cpu_count count = {.cpu = cpu, .count = n};

	s->stats.missing += n;
	vec_each (&s->missing, it)
		if (it->cpu == cpu) {
			it->count += n;
			return 0;
		}
	return vec_push(&s->missing, count) < 0 ? base_oom() : 0;
}

void missing_end(struct attar_stream *s)
{
	free(s->counted);
	s->counted = calloc(s->n_counters * s->n_rings + 1, sizeof(*s->counted));
	for (size_t i = 0; s->counted && i < s->n_counters; i++)
		if (i != s->side && !s->accounts[i].unfit)
			s->accounts[i].unfit =
				read_counter(s, s->counters[i], &s->counted[i * s->n_rings]) < 0;
	attar_error_clear();
}

uint64_t stream_undelivered(const struct attar_stream *s, uint32_t number)
{
	uint64_t sum = 0;

	for (size_t i = 0; s->drained && s->counted && i < s->n_counters; i++) {
		if (s->numbers[i] != number || !is_comparable(s, i))
			continue;
		for (size_t k = 0; k < s->n_rings; k++)
			if (!s->rings[k]->overwritten && !s->rings[k]->broken)
				sum += undelivered(s, i, &s->cursors[k].counts[i],
					&s->counted[i * s->n_rings + k]);
	}
	return sum;
}

/*
 * Compares one counter and adds its undelivered and lost events to the sums of each ring. Returns
 * false if it cannot be compared.
 */
static bool compare(
	const struct attar_stream *s, size_t counter, uint64_t *undelivered_of, uint64_t *lost_of)
{
	const struct ring_counts *counted = &s->counted[counter * s->n_rings];

	if (!is_comparable(s, counter))
		return false;
	for (size_t i = 0; i < s->n_rings; i++) {
		const struct counter_table *counts = &s->cursors[i].counts[counter];

		if (s->rings[i]->overwritten || s->rings[i]->broken)
			continue;
		undelivered_of[i] += undelivered(s, counter, counts, &counted[i]);
		lost_of[i] += difference_or_0(counted[i].lost, counts->lost);
	}
	return true;
}

/* Losses without a LOST record cannot be distinguished from missing events: count all as lost. */
static void count_as_lost(struct attar_stream *s, const uint64_t *undelivered_of)
{
	uint64_t reported = s->lost_recorded + s->lost_side;

	s->lost_recorded = 0;
	for (size_t i = 0; i < s->n_rings; i++)
		s->lost_recorded += difference_or_0(undelivered_of[i], s->cursors[i].strays);
	s->lost_side = difference_or_0(reported, s->lost_recorded);
}

static int count_as_missing(
	struct attar_stream *s, const uint64_t *undelivered_of, const uint64_t *lost_of)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->n_rings; i++) {
		uint64_t n = difference_or_0(undelivered_of[i], lost_of[i] + s->cursors[i].strays);

		if (n)
			r = missing_add(s, s->rings[i]->cpu, n);
	}
	return r;
}

void missing_settle(struct attar_stream *s, bool losses_counted)
{
	uint64_t *sums _cleanup_free_ = calloc(2 * s->n_rings + 1, sizeof(*sums));
	bool all = true;

	if (s->settled || !s->drained || !s->counted || !sums)
		return;
	s->settled = true;
	for (size_t i = 0; i < s->n_counters; i++)
		all &= i == s->side || compare(s, i, sums, sums + s->n_rings);
	attar_error_clear();
	if (losses_counted)
		count_as_missing(s, sums, sums + s->n_rings);
	else if (all)
		count_as_lost(s, sums);
}

void missing_take_samples(struct attar_stream *s, size_t ring, uint64_t n)
{
	s->cursors[ring].strays += n;
}

size_t stream_get_missing(struct attar_stream *s, const struct attar_cpu_count **ret_counts)
{
	CHECK_ARG_OR(s, "stream", 0);
	CHECK_ARG_OR(ret_counts, "ret_counts", 0);

	*ret_counts = s->missing.at;
	return s->missing.n;
}
