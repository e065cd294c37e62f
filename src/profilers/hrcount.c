/* SPDX-License-Identifier: MIT */
/*
 * hrcount: how events are distributed over the time of an interval. A timer on each CPU reads the
 * counts in the kernel; a report has them by period.
 */
#include <errno.h>
#include <stdlib.h>

#include "attar/builtin.h"

enum { EVENTS_MAX = 64, BUCKETS_MAX = 1 << 20, CPU_BITS = 16 };

struct hrcount {
	const char *events;
	uint64_t period;
	bool per_cpu;

	size_t n;                       /* events */
	uint64_t start;                 /* of the interval, ns */
	struct attar_keytable *buckets; /* by number of the period, and by CPU */
	uint64_t beyond;                /* samples after the last bucket */
};

static uint64_t key_of(uint64_t bucket, uint64_t cpu)
{
	return bucket << CPU_BITS | cpu;
}

/*
 * The timers of CPUs are not in step with the interval: the counts of a sample belong to the period
 * that has most of its time.
 */
static int on_timer(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct hrcount *h = self;
	uint64_t start = h->start ? h->start : attar_run_began(run), half = h->period / 2,
		 bucket = ev->time > start + half ? (ev->time - start - half) / h->period : 0;
	struct attar_keyrow *row;

	if (bucket >= BUCKETS_MAX) {
		h->beyond++;
		return 0;
	}
	row = attar_keytable_at_u64(h->buckets, key_of(bucket, h->per_cpu ? ev->cpu : 0));
	if (!row)
		return -ENOMEM;
	row->interval.sums[h->n]++; /* so that rows without events exist, too */
	for (size_t i = 0; i < h->n; i++)
		row->interval.sums[i] += ev->counts[i];
	return 0;
}

static int hrcount_ended(struct attar_run *run, void *self)
{
	(void)self;
	return run_timer_rest(run, 0, on_timer);
}

/* ---- reporting ---- */

static int compare_keys(const void *a, const void *b)
{
	const struct attar_keyrow *x = *(struct attar_keyrow *const *)a,
				  *y = *(struct attar_keyrow *const *)b;

	return (x->number > y->number) - (x->number < y->number);
}

static void add_columns(
	const struct attar_run *run, const struct hrcount *h, struct attar_section *table)
{
	attar_section_column(table, "from", ATTAR_UNIT_NS);
	if (h->per_cpu)
		attar_section_column(table, "cpu", ATTAR_UNIT_ID);
	for (size_t i = 0; i < h->n; i++) {
		const struct attar_event_spec *spec = run_timer_spec(run, 0, i);

		attar_section_column(
			table, spec->alias ? spec->alias : spec->name, ATTAR_UNIT_COUNT);
	}
}

static int hrcount_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct hrcount *h = self;
	struct attar_section *table = attar_report_table(report, "counts");
	int r = attar_keytable_end_interval(h->buckets);
	size_t n = attar_keytable_keys(h->buckets);
	struct attar_keyrow **rows = malloc((n + 1) * sizeof(struct attar_keyrow *));

	if (r < 0 || !rows) {
		free(rows);
		return -ENOMEM;
	}
	add_columns(run, h, table);
	n = attar_keytable_top(h->buckets, scope, h->n, rows, n);
	qsort(rows, n, sizeof(struct attar_keyrow *), compare_keys);
	for (size_t i = 0; i < n; i++) {
		const uint64_t *sums = attar_keyrow_sums(rows[i], scope)->sums;

		attar_section_row(table);
		attar_cell_u64(table, (rows[i]->number >> CPU_BITS) * h->period);
		if (h->per_cpu)
			attar_cell_u64(table, rows[i]->number & ((1 << CPU_BITS) - 1));
		for (size_t k = 0; k < h->n; k++)
			attar_cell_u64(table, sums[k]);
	}
	free(rows);
	if (h->beyond)
		attar_report_remark(report,
			"left out %llu sample%s after the first %d periods: use -i or a longer "
			"--period",
			(unsigned long long)h->beyond, h->beyond == 1 ? "" : "s", BUCKETS_MAX);
	h->start = attar_run_until(run);
	return 0;
}

/* ---- life ---- */

static void hrcount_defaults(void *self)
{
	struct hrcount *h = self;

	h->period = 10000000;
}

static int hrcount_open(struct attar_run *run, void *self)
{
	struct hrcount *h = self;
	const struct attar_timer timer = {
		.period = h->period, .events = h->events ? h->events : "", .on_event = on_timer};
	struct attar_keytable_opts opts = {.size = sizeof(opts), .keys_max = BUCKETS_MAX};
	int r;

	if (!h->events && attar_run_is_live(run))
		return attar_fail(-EINVAL, "hrcount requires an event" ATTAR_FIX "-e EVENT");
	if (attar_run_interval(run) / h->period >= BUCKETS_MAX)
		return attar_fail(
			-ERANGE, "--interval must be less than %d times --period", BUCKETS_MAX);
	if (attar_run_interval(run) && attar_run_interval(run) < h->period)
		return attar_fail(-ERANGE,
			"--interval is shorter than --period" ATTAR_FIX "use a shorter --period");
	r = attar_run_timer(run, &timer);
	while (r == 0 && run_timer_spec(run, 0, h->n))
		h->n++;
	if (h->n >= EVENTS_MAX)
		return attar_fail(-E2BIG, "hrcount counts at most %d events", EVENTS_MAX - 1);
	opts.sums = h->n + 1;
	opts.rank = h->n;
	return r == 0 ? attar_keytable_new(&opts, &h->buckets) : r;
}

static void hrcount_close(void *self)
{
	struct hrcount *h = self;

	attar_keytable_free(h->buckets);
}

static const struct attar_option options[] = {
	ATTAR_JOINED(struct hrcount, events, 'e', "event", "EVENTS",
		"count these events, separated by commas; may be repeated", .complete = "event"),
	ATTAR_TIME(struct hrcount, period, 0, "period", "TIME",
		"length of a period: nanoseconds, or with a unit: 500us (default 10ms)", .bare = 1,
		.min = 10000),
	ATTAR_FLAG(struct hrcount, per_cpu, 0, "perins", "show each CPU separately"), {0}};

static const struct attar_example examples[] = {
	{"hrcount -e sched:sched_switch --period 1ms -i 50ms",
		"bursts of context switches within 50 ms"},
	{"hrcount -e irq:softirq_entry,page-faults --period 10ms --perins -d 1s",
		"soft interrupts and page faults of each CPU in steps of 10 ms"},
	{0}};

const struct attar_profiler profiler_hrcount = {
	.name = "hrcount",
	.group = "Counting",
	.summary = "distribution of events over time, in periods from 10 us",
	.uses = ATTAR_USES_RINGS,
	.needs = "perf events, whole system, tracefs",
	.self_size = sizeof(struct hrcount),
	.options = options,
	.examples = examples,
	.defaults = hrcount_defaults,
	.open = hrcount_open,
	.ended = hrcount_ended,
	.report = hrcount_report,
	.close = hrcount_close,
};
