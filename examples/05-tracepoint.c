/* SPDX-License-Identifier: MIT */
/*
 * Prints context switches for 200 ms: a tracepoint, with fields looked up once and events in time
 * order.
 */
#include <stdio.h>
#include <time.h>

#include <attar/attar.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void print(
	const struct attar_event *ev, const struct attar_field *pid, const struct attar_field *comm)
{
	const struct attar_sample *s = &ev->record->sample;
	size_t n;
	const char *text = attar_field_string(comm, s->raw, s->raw_size, &n);

	printf("%llu cpu %u: %s -> %.*s (%lld)\n", (unsigned long long)ev->time, ev->cpu,
		ev->thread->comm, (int)n, text,
		(long long)attar_field_i64(pid, s->raw, s->raw_size));
}

int main(void)
{
	struct attar_target_opts whole_system = {.size = sizeof(whole_system)};
	struct attar_catalog_opts mount = {.size = sizeof(mount), .mount = true};
	struct perf_event_attr attr = {.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_RAW};
	const struct attar_field *pid, *comm;
	const struct attar_format *format;
	struct attar_catalog *catalog;
	struct attar_symbols *symbols;
	struct attar_stream_opts opts = {.size = sizeof(opts), .track = true};
	struct attar_target *target;
	struct attar_counter *counter;
	struct attar_stream *stream;
	struct attar_event ev;
	double end;

	if (attar_catalog_new(&mount, &catalog) < 0 ||
		attar_catalog_format(catalog, "sched", "sched_switch", &format) < 0 ||
		attar_format_need(format, "next_pid", &pid) < 0 ||
		attar_format_need(format, "next_comm", &comm) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	attr.config = format->id;
	attar_stream_attr(&attr, false);
	if (attar_symbols_new(NULL, &symbols) < 0 || attar_target_new(&whole_system, &target) < 0 ||
		attar_counter_open(target, &attr, "sched:sched_switch", 0, &counter) < 0 ||
		attar_stream_live(target, &counter, 1, symbols, &opts, &stream) < 0 ||
		attar_stream_start(stream) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	for (end = now() + 0.2; now() < end; attar_stream_wait(stream, -1, 50))
		while (attar_stream_next(stream, &ev) > 0)
			if (ev.record->type == PERF_RECORD_SAMPLE)
				print(&ev, pid, comm);
	attar_stream_free(stream);
	attar_counter_close(counter);
	attar_target_free(target);
	attar_symbols_free(symbols);
	attar_catalog_free(catalog);
	return 0;
}
