/* SPDX-License-Identifier: MIT */
/*
 * Receives events of programs from libperfume, without the kernel: a hundred, or until none arrives
 * for 200 ms.
 */
#include <stdio.h>

#include <attar/attar.h>

enum { EVENTS_MAX = 100 };

/* Accepts all events: their samples get number 1, the first one after that of the only counter. */
static int on_new_event(void *ctx, const struct attar_user_event *event)
{
	(void)ctx;
	printf("%s of %s (%d) has %zu fields\n", event->name, event->comm, (int)event->pid,
		event->format->n_fields);
	return 1;
}

int main(void)
{
	struct attar_target_opts self = {.size = sizeof(self), .self = true, .any_cpu = true};
	struct attar_shm_source_opts all = {
		.size = sizeof(all), .patterns = "*", .on_new_event = on_new_event};
	struct attar_stream_opts opts = {.size = sizeof(opts)};
	struct perf_event_attr attr = {.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_period = 1,
		.exclude_kernel = 1};
	struct attar_symbols *symbols;
	struct attar_counter *counter;
	struct attar_target *target;
	struct attar_stream *stream;
	struct attar_shm_source *shm_source;
	struct attar_event ev;

	attar_stream_attr(&attr, false);
	if (attar_shm_source_new(&all, &shm_source) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 0; /* not permitted */
	opts.shm_source = shm_source;
	if (attar_symbols_new(NULL, &symbols) < 0 || attar_target_new(&self, &target) < 0 ||
		attar_counter_open(target, &attr, "dummy", 0, &counter) < 0 ||
		attar_stream_live(target, &counter, 1, symbols, &opts, &stream) < 0 ||
		attar_stream_start(stream) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	for (int n = 0; n < EVENTS_MAX && attar_stream_read(stream, 200, &ev) > 0; n++)
		if (ev.counter == 1)
			printf("%s: %u bytes\n", ev.thread->comm, ev.record->sample.raw_size);
	attar_stream_free(stream);
	attar_shm_source_free(shm_source);
	attar_counter_close(counter);
	attar_target_free(target);
	attar_symbols_free(symbols);
	return 0;
}
