/* SPDX-License-Identifier: MIT */
/*
 * Checks of which tasks the kernel does not deliver the samples that it should take. A known number
 * of sleeps on each CPU is compared with the switches and wakeups that arrive; and the kernel's
 * records of context switches, which are written in the context of both tasks, show which tasks are
 * switched out without a sample.
 */
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attar/event.h"
#include "attar/stream.h"
#include "base/map.h"
#include "base/vec.h"
#include "doctor/checks.h"
#include "doctor/verdicts.h"

enum {
	SLEEPS = 50,
	SLEEP_NS = 200 * 1000,
	CPUS_MAX = 64,
	TASKS_MAX = 4096,
	RING_BYTES = 512 * 1024,
};
#define TIME_MAX_NS (UINT64_C(700) * 1000000) /* for all CPUs together */

enum { SWITCHES, WAKEUPS, RECORDS, COUNTERS };

struct task_probe {
	struct attar_catalog *catalog;
	struct attar_symbols *symbols;
	struct attar_target *target;
	struct attar_counter *counters[COUNTERS];
	struct attar_stream *stream;
	const struct attar_field *prev, *next, *woken; /* of the formats */
	VEC(struct verdict_slept) slept;
	VEC(struct verdict_leaver) leavers;
	struct map by_tid; /* the index in leavers */
	uint64_t lost;
};

/* ---- life ---- */

static int open_tracepoint(struct task_probe *p, const char *name, const char *first,
	const struct attar_field **ret_first, struct attar_counter **ret_counter)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_RAW};
	const struct attar_format *format;
	int r = attar_catalog_format(p->catalog, "sched", name, &format);

	if (r < 0)
		return r;
	attr.config = format->id;
	attar_stream_attr(&attr, false);
	*ret_first = attar_format_field(format, first);
	if (!strcmp(name, "sched_switch"))
		p->next = attar_format_field(format, "next_pid");
	return attar_counter_open(p->target, &attr, name, 0, ret_counter);
}

static int open_records(struct task_probe *p)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.context_switch = 1};

	attar_stream_attr(&attr, false);
	return attar_counter_open(p->target, &attr, "dummy", 0, &p->counters[RECORDS]);
}

static int probe_open(struct task_probe *p)
{
	const struct attar_target_opts target = {.size = sizeof(target)};
	const struct attar_stream_opts opts = {
		.size = sizeof(opts), .ring_bytes = RING_BYTES, .keep_own = true};
	int r = attar_catalog_new(NULL, &p->catalog);

	if (r == 0)
		r = attar_symbols_new(NULL, &p->symbols);
	if (r == 0)
		r = attar_target_new(&target, &p->target);
	if (r == 0)
		r = open_tracepoint(
			p, "sched_switch", "prev_pid", &p->prev, &p->counters[SWITCHES]);
	if (r == 0)
		r = open_tracepoint(p, "sched_wakeup", "pid", &p->woken, &p->counters[WAKEUPS]);
	if (r == 0)
		r = open_records(p);
	if (r == 0)
		r = attar_stream_live(
			p->target, p->counters, COUNTERS, p->symbols, &opts, &p->stream);
	if (r == 0 && (!p->prev || !p->next || !p->woken))
		return -ENOTSUP;
	return r == 0 ? attar_stream_start(p->stream) : r;
}

static void probe_close(struct task_probe *p)
{
	attar_stream_free(p->stream);
	for (int i = 0; i < COUNTERS; i++)
		attar_counter_close(p->counters[i]);
	attar_target_free(p->target);
	attar_symbols_free(p->symbols);
	attar_catalog_free(p->catalog);
	vec_done(&p->slept);
	vec_done(&p->leavers);
	map_done(&p->by_tid);
}

/* ---- the sleeps ---- */

static uint64_t sleeps_so_far(void)
{
	struct rusage usage = {0};

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_nvcsw;
}

static int sleep_on(struct task_probe *p, int cpu, uint64_t end)
{
	const struct timespec time = {.tv_nsec = SLEEP_NS};
	struct verdict_slept slept = {.cpu = cpu};
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		return 0;
	slept.from = base_now();
	slept.sleeps = sleeps_so_far();
	for (int i = 0; i < SLEEPS && base_now() < end; i++)
		nanosleep(&time, NULL);
	slept.sleeps = sleeps_so_far() - slept.sleeps;
	slept.to = base_now();
	return vec_push(&p->slept, slept) < 0 ? base_oom() : 0;
}

static int sleep_everywhere(struct task_probe *p)
{
	const uint64_t end = base_now() + TIME_MAX_NS;
	cpu_set_t allowed;
	int visited = 0, r = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return 0;
	for (int cpu = 0; cpu < CPU_SETSIZE && visited < CPUS_MAX && r == 0; cpu++)
		if (CPU_ISSET(cpu, &allowed) && base_now() < end) {
			r = sleep_on(p, cpu, end);
			visited++;
		}
	sched_setaffinity(0, sizeof(allowed), &allowed);
	return r;
}

/* ---- what arrived ---- */

static struct verdict_leaver *leaver_of(struct task_probe *p, pid_t tid)
{
	const uint64_t *index = map_get(&p->by_tid, (uint64_t)tid);

	if (index)
		return &p->leavers.at[*index];
	if (p->leavers.n == TASKS_MAX)
		return NULL;
	if (map_put(&p->by_tid, (uint64_t)tid, p->leavers.n) < 0 ||
		vec_push(&p->leavers, ((struct verdict_leaver){.tid = tid})) < 0) {
		base_oom();
		return NULL;
	}
	return &p->leavers.at[p->leavers.n - 1];
}

static struct verdict_slept *slept_at(struct task_probe *p, uint64_t time)
{
	vec_each (&p->slept, it)
		if (time >= it->from && time <= it->to)
			return it;
	return NULL;
}

static void take_sample(struct task_probe *p, const struct attar_event *event)
{
	const struct attar_sample *s = &event->record->sample;
	const pid_t own = (pid_t)syscall(SYS_gettid);
	struct verdict_slept *slept = slept_at(p, event->time);
	struct verdict_leaver *leaver;
	pid_t prev;

	if (event->counter == WAKEUPS) {
		if (slept && (pid_t)attar_field_i64(p->woken, s->raw, s->raw_size) == own)
			slept->woken++;
		return;
	}
	prev = (pid_t)attar_field_i64(p->prev, s->raw, s->raw_size);
	if (slept && prev == own)
		slept->out++;
	if (slept && (pid_t)attar_field_i64(p->next, s->raw, s->raw_size) == own)
		slept->in++;
	leaver = leaver_of(p, prev);
	if (leaver)
		leaver->samples++;
}

static void take_record(struct task_probe *p, const struct attar_record *record)
{
	const struct attar_record_context_switch *other = &record->context_switch;
	struct verdict_leaver *leaver =
		leaver_of(p, (pid_t)(other->out ? record->tid : other->other_tid));

	if (leaver && other->out)
		leaver->by_out++;
	else if (leaver)
		leaver->by_in++;
}

static void read_events(struct task_probe *p)
{
	struct attar_event event;

	attar_stream_stop(p->stream);
	while (attar_stream_next(p->stream, &event) > 0) {
		if (event.record->type == PERF_RECORD_SAMPLE)
			take_sample(p, &event);
		else if (event.record->type == PERF_RECORD_SWITCH_CPU_WIDE)
			take_record(p, event.record);
		else if (event.record->type == PERF_RECORD_LOST)
			p->lost++;
	}
}

/* ---- the finding ---- */

void check_tasks(struct finding *f)
{
	struct task_probe p = {0};

	if (probe_open(&p) < 0) {
		f->state = ATTAR_CHECK_DEGRADED;
		buf_str(&f->detail, "not checked: sched:sched_switch cannot be opened system-wide");
		if (!add_missing_capabilities(&f->remedy))
			buf_str(&f->remedy, "mount -t tracefs nodev /sys/kernel/tracing, as root");
	} else if (sleep_everywhere(&p) == 0) {
		read_events(&p);
		verdict_of_tasks(f, &(struct verdict_tasks){.slept = p.slept.at,
					    .n_slept = p.slept.n,
					    .leavers = p.leavers.at,
					    .n_leavers = p.leavers.n,
					    .lost = p.lost});
	}
	probe_close(&p);
}
