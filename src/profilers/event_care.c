/* SPDX-License-Identifier: MIT */
/* event-care: whether events arrive: how many, how many are lost, and which are out of order. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "attar/keytable.h"
#include "attar/run.h"
#include "lib/by_source.h"

enum { SUM_EVENTS, SUM_LATE, SUM_LOST, SUM_LOSSES, SUMS, KEYS_MAX = 1 << 16 };

struct event {
	const char *name;
	uint64_t number;
};

/* The key of a row; losses are of a CPU, not of an event. */
struct key {
	uint64_t event; /* UINT64_MAX: losses */
	uint64_t cpu;
};

struct event_care {
	struct attar_texts texts;
	bool graph;

	struct by_source events;
	struct attar_keytable *table;
	uint64_t newest;  /* time of an event so far, ns */
	uint64_t latest;  /* largest distance of a late event, ns */
	uint64_t longest; /* period of a loss, ns */
};

static int event_care_learn(struct attar_run *run, void *self, uint32_t source, void *event)
{
	struct event *e = event;

	e->name = attar_run_source_name(run, source);
	e->number = ((struct event_care *)self)->events.n - 1;
	return 0;
}

static int on_event(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct event_care *c = self;
	struct key key = {.cpu = ev->cpu};
	uint64_t time = ev->record->time; /* ev has a later time for a late event */
	struct attar_keyrow *row;
	struct event *e;
	int r = by_source_get(&c->events, run, self, ev->counter, &e);

	if (r < 0)
		return r;
	key.event = e->number;
	row = attar_keytable_at(c->table, &key, sizeof(key));
	if (!row)
		return -ENOMEM;
	row->interval.sums[SUM_EVENTS]++;
	if (time >= c->newest) {
		c->newest = time;
		return 0;
	}
	row->interval.sums[SUM_LATE]++;
	if (c->latest < c->newest - time)
		c->latest = c->newest - time;
	return 0;
}

static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct event_care *c = self;
	const struct key key = {.event = UINT64_MAX, .cpu = ev->cpu};
	struct attar_keyrow *row = attar_keytable_at(c->table, &key, sizeof(key));

	if (!row)
		return -ENOMEM;
	row->interval.sums[SUM_LOST] += ev->record->lost.lost;
	row->interval.sums[SUM_LOSSES]++;
	if (c->longest < ev->lost_to - ev->lost_from)
		c->longest = ev->lost_to - ev->lost_from;
	return 0;
}

/* ---- reports ---- */

static int event_care_compare(const void *a, const void *b)
{
	const struct key *x = (*(struct attar_keyrow *const *)a)->key;
	const struct key *y = (*(struct attar_keyrow *const *)b)->key;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static void add_row(const struct event_care *c, struct attar_section *events,
	struct attar_section *losses, const struct attar_keyrow *row, enum attar_scope scope)
{
	const uint64_t *sums = attar_keyrow_sums(row, scope)->sums;
	const struct key *key = row->key;
	const struct event *e = by_source_at(&c->events, (uint32_t)key->event);

	if (key->event == UINT64_MAX) {
		attar_section_row(losses);
		attar_cell_i64(losses, (int32_t)key->cpu);
		attar_cell_u64(losses, sums[SUM_LOST]);
		attar_cell_u64(losses, sums[SUM_LOSSES]);
		return;
	}
	attar_section_row(events);
	attar_cell_text(events, e->name);
	attar_cell_i64(events, (int32_t)key->cpu);
	attar_cell_u64(events, sums[SUM_EVENTS]);
	attar_cell_u64(events, sums[SUM_LATE]);
}

static int event_care_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct attar_section *events = attar_report_table(report, "events");
	struct attar_section *losses = attar_report_table(report, "losses");
	struct event_care *c = self;
	int r = attar_keytable_end_interval(c->table);
	size_t n = attar_keytable_keys(c->table);
	struct attar_keyrow **rows = malloc((n + 1) * sizeof(*rows));

	if (r < 0 || !rows) {
		free(rows);
		return -ENOMEM;
	}
	attar_section_column(events, "event", ATTAR_UNIT_TEXT);
	attar_section_column(events, "cpu", ATTAR_UNIT_ID);
	attar_section_column(events, "events", ATTAR_UNIT_COUNT);
	attar_section_column(events, "out of order", ATTAR_UNIT_COUNT);
	attar_section_column(losses, "cpu", ATTAR_UNIT_ID);
	attar_section_column(losses, "lost", ATTAR_UNIT_COUNT);
	attar_section_column(losses, "periods", ATTAR_UNIT_COUNT);
	n = attar_keytable_top(c->table, scope, SUM_EVENTS, rows, n);
	qsort(rows, n, sizeof(*rows), event_care_compare);
	for (size_t i = 0; i < n; i++)
		add_row(c, events, losses, rows[i], scope);
	free(rows);
	if (c->latest)
		attar_report_remark(report,
			"the maximum delay of an event that was out of order was %.3f us",
			(double)c->latest / 1000);
	if (c->longest)
		attar_report_remark(report,
			"the longest period in which events were lost was %.3f us",
			(double)c->longest / 1000);
	return 0;
}

/* ---- life ---- */

static int event_care_open(struct attar_run *run, void *self)
{
	const struct attar_keytable_opts opts = {.size = sizeof(opts),
		.sums = SUMS,
		.key_max = sizeof(struct key),
		.keys_max = KEYS_MAX};
	struct event_care *c = self;
	int r;

	c->events = (struct by_source){.size = sizeof(struct event), .learn = event_care_learn};
	r = attar_run_event_list(run, &c->texts, c->graph, on_event);
	if (r == 0)
		r = by_source_learn(&c->events, run, self, 0);
	return r < 0 ? r : attar_keytable_new(&opts, &c->table);
}

static void event_care_close(void *self)
{
	struct event_care *c = self;

	by_source_done(&c->events);
	attar_keytable_free(c->table);
}

#define T struct event_care

static const struct attar_option options[] = {
	ATTAR_LIST(T, texts, 'e', "event", "EVENTS", "events to check", .complete = "event"),
	ATTAR_FLAG(T, graph, 'g', "call-graph", "also record stacks, which makes events larger"),
	{0}};

static const struct attar_example examples[] = {
	{"event-care -e sched:sched_switch -m 4 -d 10s",
		"check whether rings of 4 pages per CPU are large enough for context switches"},
	{"event-care --input perf.data -e sched:sched_switch", "the losses of a recording"}, {0}};

const struct attar_profiler profiler_event_care = {
	.name = "event-care",
	.group = "Events",
	.summary = "check that events arrive: numbers of lost and out-of-order events by CPU",
	.uses = ATTAR_USES_STACKS | ATTAR_USES_RINGS,
	.needs = "perf events, whole system, tracefs",
	.self_size = sizeof(struct event_care),
	.options = options,
	.examples = examples,
	.open = event_care_open,
	.lost = on_lost,
	.report = event_care_report,
	.close = event_care_close,
};
