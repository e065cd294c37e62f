/* SPDX-License-Identifier: MIT */
/* The event for CPU sampling: --event, else cycles, or cpu-clock without a PMU. */
#include "base/check_arg.h"
#include "event/sample_attr.h"
#include "perf/kernel.h"
#include "run/input/replay.h"
#include "run/input/replay_names.h"
#include "run/run.h"
#include "run/events/open.h"
#include "run/events/sources.h"

/* The kernel refuses frequencies above its limit with a bare EINVAL. */
static int check_freq(const struct common_opts *o)
{
	const struct kernel *k = kernel_get();

	if (o->freq <= (uint64_t)k->max_sample_rate)
		return 0;
	return attar_fail(-ERANGE,
		"--freq: %llu is more than the %lld samples per second that the kernel allows "
		"(kernel.perf_event_max_sample_rate)" ATTAR_FIX
		"use fewer, or raise the limit as root with sysctl",
		(unsigned long long)o->freq, (long long)k->max_sample_rate);
}

/* -e: one event of any kind; by default one with single occurrences is sampled at each of them. */
static int add_named(
	struct attar_run *run, bool stacks, struct perf_event_attr *attr, attar_event_fn *fn)
{
	const struct attar_event_list *list;
	int r = run_parse_events(run, run->opts.event, &list);

	if (r < 0)
		return r;
	if (list->n != 1)
		return attar_fail(-EINVAL,
			"--event: '%s' matches %zu events: exactly one can be sampled",
			CLIP(run->opts.event), list->n);
	r = user_events_refuse(list->at);
	if (r < 0)
		return r;
	run_stack_attr(&run->opts, stacks, list->at, attr);
	if (event_is_each(list->at)) {
		attr->freq = 0;
		attr->sample_period = 1;
	}
	r = run_add_spec(run, list->at, attr, fn);
	if (r == 0 && run->replay)
		replay_take_rate(run, &run->sources.list.at[run->sources.list.n - 1]);
	return r;
}

int attar_run_sampler(struct attar_run *run, bool stacks, attar_event_fn *fn)
{
	CHECK_OWN(run, "run");
	CHECK_ARG(fn, "fn");
	CHECK_OPENING(run);

	struct perf_event_attr attr = {0};
	int r = run_check_code(&run->opts);

	if (r < 0)
		return r;
	if (run->replay && !run->opts.event)
		return replay_add_sampler(run, stacks, fn);
	r = check_freq(&run->opts);
	if (r < 0)
		return r;
	attr.freq = 1;
	attr.sample_freq = run->opts.freq;
	if (run->opts.event)
		return add_named(run, stacks, &attr, fn);
	run_stack_attr(&run->opts, stacks, NULL, &attr);
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	r = run_add_source(run, "cycles", &attr, fn);
	if (r == 0)
		run->sources.list.at[run->sources.list.n - 1].use->is_fallback_allowed = true;
	return r;
}

bool run_has_sampler(const struct attar_run *run)
{
	return !run->replay || run->opts.event || replay_find_sampler(run);
}
