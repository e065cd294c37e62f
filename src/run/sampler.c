/* SPDX-License-Identifier: MIT */
/* The event behind CPU sampling: chosen by the options, cycles where there is a PMU, cpu-clock elsewhere. */
#include "perf/kernel.h"
#include "run/run.h"

/* Frequencies above the kernel's limit are refused by it with a bare EINVAL. */
static int check_freq(const struct common_opts *o)
{
	const struct kernel *k = kernel_get();

	if (o->freq <= (uint64_t)k->max_sample_rate)
		return 0;
	return attar_fail(-ERANGE,
		"--freq: %llu is more than the %lld samples per second that the kernel allows "
		"(kernel.perf_event_max_sample_rate)",
		(unsigned long long)o->freq, (long long)k->max_sample_rate);
}

static void sampling_attr(const struct common_opts *o, bool stacks, struct perf_event_attr *attr)
{
	attr->freq = 1;
	attr->sample_freq = o->freq;
	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
	attr->exclude_user = o->exclude_user;
	attr->exclude_kernel = o->exclude_kernel;
	attr->exclude_hv = o->exclude_kernel;
	attr->exclude_callchain_user = o->user_callchain == 0 || o->exclude_user;
	attr->exclude_callchain_kernel = o->kernel_callchain == 0 || o->exclude_kernel;
	if (stacks && !(attr->exclude_callchain_user && attr->exclude_callchain_kernel))
		attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
}

/* -e: one event of any kind; what counts rarely (a tracepoint) is sampled each time unless told otherwise. */
static int named_event(struct attar_run *run, struct perf_event_attr *attr, char **ret_name)
{
	struct attar_catalog *catalog = attar_run_catalog(run);
	struct attar_event_list *list = NULL;
	int r = catalog ? attar_event_list_parse(catalog, run->opts.event, &list) : -ENOMEM;

	if (r < 0)
		return attar_context(r == -ENOENT ? -EINVAL : r, "--event");
	if (list->n != 1)
		r = attar_fail(-EINVAL, "--event: '%s' names %zu events: one is sampled",
			run->opts.event, list->n);
	if (r == 0)
		r = attar_event_spec_attr(list->at, attr, sizeof(*attr));
	if (r == 0 && (list->at->kind == ATTAR_EVENT_TRACEPOINT || list->at->period)) {
		attr->freq = 0;
		attr->sample_period = list->at->period ? list->at->period : 1;
	}
	if (r == 0 && list->at->freq)
		attr->sample_freq = list->at->freq;
	if (r == 0 && !(*ret_name = strdup(list->at->name)))
		r = base_oom();
	attar_event_list_free(list);
	return r;
}

int attar_run_sampler(struct attar_run *run, bool stacks, attar_event_fn *fn)
{
	struct perf_event_attr attr = {0};
	char *name _cleanup_free_ = NULL;
	int r = check_freq(&run->opts);

	if (r < 0)
		return r;
	if (run->opts.exclude_user && run->opts.exclude_kernel)
		return attar_fail(-EINVAL,
			"--exclude-user and --exclude-kernel together leave nothing to sample");
	sampling_attr(&run->opts, stacks, &attr);
	if (run->opts.event) {
		r = named_event(run, &attr, &name);
		return r < 0 ? r : attar_run_source(run, name, &attr, fn);
	}
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	r = attar_run_source(run, "cycles", &attr, fn);
	if (r == 0)
		run->sources.at[run->sources.n - 1].is_fallback_allowed = true;
	return r;
}
