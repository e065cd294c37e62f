/* SPDX-License-Identifier: MIT */
/* Monitors the run itself: its CPU time (--usage-self), its sampling rate (--sampling-limit). */

#include <sys/resource.h>

#include "attar/builtin.h"
#include "base/memory.h"
#include "base/parse.h"
#include "perf/inherit_cost.h"
#include "run/parts.h"
#include "run/run.h"
#include "run/events/sources.h"
#include "stream/stream.h"

enum { SECOND_NS = 1000000000, CPU_MAX = 8191, PID_MAX = 4194304 };

struct run_overhead {
	uint64_t usage_due;    /* ns, when CPU usage is logged next; 0: not begun */
	uint64_t usage_began;  /* ns, of the period */
	uint64_t user, system; /* ns of CPU time at its start */
	uint64_t second_began; /* ns, of the second for which samples are counted; 0: not begun */
	uint64_t samples;      /* delivered before it */
	uint64_t evaluated;    /* samples of the CPUs and processes below, so far */
	bool selects;          /* only those are limited */
	parse_ints cpus, pids; /* of --perfeval-cpus and --perfeval-pids; none: all */
};

static int read_list(const char *name, const char *text, int max, parse_ints *ret_list)
{
	int r = text ? parse_list(text, max, ret_list) : 0;

	return r < 0 ? attar_context(r, "--%s", name) : 0;
}

static int overhead_prepare(struct attar_run *run, void *self)
{
	const struct common_opts *o = &run->opts;
	struct run_overhead *overhead = self;
	int r = read_list("perfeval-cpus", o->perfeval_cpus, CPU_MAX, &overhead->cpus);

	if (r == 0)
		r = read_list("perfeval-pids", o->perfeval_pids, PID_MAX, &overhead->pids);
	overhead->selects = overhead->cpus.n || overhead->pids.n;
	return r;
}

static int overhead_source(struct attar_run *run, void *self, struct source *s)
{
	const struct run_overhead *overhead = self;

	if (overhead->selects && !run->replay)
		s->use->steps |= UINT64_C(1) << PART_OVERHEAD;
	return 0;
}

/* Again, as sources lose their steps when they are closed between two runs of a command. */
static int overhead_opened(struct attar_run *run, void *self)
{
	vec_each (&run->sources.list, s)
		overhead_source(run, self, s);
	return 0;
}

static void overhead_free(struct attar_run *run, void *self)
{
	struct run_overhead *overhead = self;

	vec_done(&overhead->cpus);
	vec_done(&overhead->pids);
}

/* ---- CPU usage ---- */

static uint64_t ns_of(struct timeval t)
{
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_usec * 1000;
}

static void begin_usage(struct run_overhead *overhead, const struct rusage *usage, uint64_t now)
{
	overhead->usage_began = now;
	overhead->user = ns_of(usage->ru_utime);
	overhead->system = ns_of(usage->ru_stime);
}

static void log_usage(struct run_overhead *overhead, const struct rusage *usage, uint64_t now)
{
	double period = (double)(now - overhead->usage_began);

	log_note("own CPU usage: %.2f%% user, %.2f%% system in %.0f ms; %.2f MiB peak",
		100 * (double)(ns_of(usage->ru_utime) - overhead->user) / period,
		100 * (double)(ns_of(usage->ru_stime) - overhead->system) / period, period / 1e6,
		(double)memory_peak() / (1 << 20));
}

static void check_usage(struct attar_run *run, struct run_overhead *overhead, uint64_t now)
{
	struct rusage usage;

	if (!run->opts.usage_self || now < overhead->usage_due)
		return;
	getrusage(RUSAGE_SELF, &usage);
	if (overhead->usage_due)
		log_usage(overhead, &usage, now);
	begin_usage(overhead, &usage, now);
	overhead->usage_due = now + run->opts.usage_self;
}

/* ---- the rate of samples ---- */

/* Samples that attar filters do not count, unless they are shared with other sources. */
static bool is_counted(const struct source *s)
{
	return !s->use->is_internal && (s->shared.next || (!s->keep && !s->usdt));
}

/* Counts a sample, if only some are limited. */
static int overhead_sample(struct attar_run *run, void *self, struct attar_event *event)
{
	struct run_overhead *overhead = self;

	if (!is_counted(&run->sources.list.at[event->counter]))
		return 0;
	if (overhead->cpus.n && !parse_ints_have(&overhead->cpus, (int)event->cpu))
		return 0;
	if (overhead->pids.n && !parse_ints_have(&overhead->pids, event->thread->process->pid))
		return 0;
	overhead->evaluated++;
	return 0;
}

/*
 * Without --sampling-limit, --perfeval-cpus and --perfeval-pids show what it would count: adds a
 * remark to the last report.
 */
static void overhead_remark(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	const struct run_overhead *overhead = self;
	double seconds = (double)run_elapsed(run) / SECOND_NS;

	if (!overhead->selects || run->opts.sampling_limit || scope != ATTAR_SCOPE_WHOLE)
		return;
	attar_report_remark(report, "samples of %s: %llu, %.1f per second",
		!overhead->pids.n   ? "--perfeval-cpus"
		: !overhead->cpus.n ? "--perfeval-pids"
				    : "--perfeval-cpus and --perfeval-pids",
		(unsigned long long)overhead->evaluated,
		seconds > 0 ? (double)overhead->evaluated / seconds : 0);
}

static int overhead_turn(struct attar_run *run, void *self, uint64_t now)
{
	struct run_overhead *overhead = self;
	uint64_t limit = run->opts.sampling_limit,
		 samples = overhead->selects ? overhead->evaluated : run->notes.delivered;

	check_usage(run, overhead, now);
	if (!limit)
		return 0;
	if (overhead->second_began && samples - overhead->samples > limit) {
		log_warn("ended by --sampling-limit: %llu samples in %.3f s, but at most %llu per "
			 "second are allowed",
			(unsigned long long)(samples - overhead->samples),
			(double)(now - overhead->second_began) / 1e9, (unsigned long long)limit);
		return 1;
	}
	if (now - overhead->second_began >= SECOND_NS) {
		overhead->second_began = now;
		overhead->samples = samples;
	}
	return 0;
}

/* ---- the tasks that inherit events ---- */

int run_inherit_cost(struct attar_run *run, uint64_t *ret_create, uint64_t *ret_exit)
{
	struct inherit_cost cost;
	int r = 0;

	if (run->stream && !run->replay)
		r = inherit_cost_measure(run->stream->counters, run->stream->n_counters, &cost);
	if (r < 0)
		return attar_fail(
			r, "the cost of inherited events cannot be measured: %s", strerror(-r));
	if (r > 0) {
		*ret_create = cost.create;
		*ret_exit = cost.exit;
	}
	return r;
}

const struct run_part part_overhead = {.size = sizeof(struct run_overhead),
	.prepare = overhead_prepare,
	.source = overhead_source,
	.opened = overhead_opened,
	.sample = overhead_sample,
	.turn = overhead_turn,
	.remark = overhead_remark,
	.free = overhead_free};
