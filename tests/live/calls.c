/* SPDX-License-Identifier: MIT */
#include "calls.h"

static void open_event(struct calls *calls, struct perf_event_attr attr, uint64_t more)
{
	struct attar_counter **c = &calls->counters[calls->n++];

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD | more;
	attar_stream_attr(&attr, false);
	if (attar_counter_open(calls->target, &attr, "system call", 0, c) < 0 ||
		attar_counter_filter(*c, live_getppid_filter) < 0)
		fail_msg("%s", attar_error());
}

void calls_watch(struct calls *calls, struct attar_target *target, bool exits, uint64_t more,
	const struct attar_stream_opts *opts)
{
	struct perf_event_attr enter = live_sys_enter(), exit = live_sys_exit();

	*calls = (struct calls){.target = target};
	open_event(calls, enter, more);
	if (exits)
		open_event(calls, exit, more);
	if (attar_symbols_new(NULL, &calls->symbols) < 0 ||
		attar_stream_live(target, calls->counters, calls->n, calls->symbols, opts,
			&calls->stream) < 0 ||
		attar_stream_start(calls->stream) < 0)
		fail_msg("%s", attar_error());
}

void calls_unwatch(struct calls *calls)
{
	attar_stream_free(calls->stream);
	for (size_t i = 0; i < calls->n; i++)
		attar_counter_close(calls->counters[i]);
	attar_target_free(calls->target);
	attar_symbols_free(calls->symbols);
}
