/* SPDX-License-Identifier: MIT */
/*
 * drain CALLS PAGES: the same as `bare_drain read`, with the library's stream as used by profilers:
 * rings, decoded records, time order over CPUs, the process table, fields from the kernel's format.
 */
#include "attar/event.h"
#include "attar/stream.h"
#include "flood.h"

struct reader {
	struct attar_target *target;
	struct attar_symbols *symbols;
	struct attar_catalog *catalog;
	struct attar_counter *counter;
	struct attar_stream *stream;
	const struct attar_field *id;
	uint64_t by_id[512], mixed;
};

static int open_counter(struct reader *r, size_t ring)
{
	const struct attar_catalog_opts catalog = {.size = sizeof(catalog), .mount = true};
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .sample_period = 1};
	const struct attar_format *format;

	if (attar_catalog_new(&catalog, &r->catalog) < 0 ||
		attar_catalog_format(r->catalog, "raw_syscalls", "sys_enter", &format) < 0 ||
		attar_format_need(format, "id", &r->id) < 0)
		return -1;
	attr.config = format->id;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW;
	attar_stream_attr(&attr, false);
	attr.wakeup_watermark = ring / 4; /* as in bare_drain */
	return attar_counter_open(r->target, &attr, "raw_syscalls:sys_enter", 0, &r->counter);
}

static int open_all(struct reader *r, size_t ring)
{
	const struct attar_stream_opts opts = {
		.size = sizeof(opts), .ring_bytes = ring, .track = true};
	const struct attar_target_opts target = {.size = sizeof(target), .cpus = "0"};

	if (attar_target_new(&target, &r->target) < 0 || attar_symbols_new(NULL, &r->symbols) < 0 ||
		open_counter(r, ring) < 0 ||
		attar_stream_live(r->target, &r->counter, 1, r->symbols, &opts, &r->stream) < 0)
		return -1;
	return attar_stream_start(r->stream);
}

static void drain(struct reader *r)
{
	struct attar_event ev;

	while (attar_stream_next(r->stream, &ev) > 0) {
		const struct attar_sample *s = &ev.record->sample;

		if (ev.record->type != PERF_RECORD_SAMPLE)
			continue;
		r->by_id[attar_field_u64(r->id, s->raw, s->raw_size) % 512]++;
		r->mixed += s->ip ^ ev.thread->tid ^ ev.time ^ ev.cpu ^ s->period ^ s->raw_size;
	}
}

int main(int argc, char **argv)
{
	struct attar_stream_stats stats;
	struct reader r = {0};
	uint64_t start, reader_ns;
	struct flood flood;
	int ended = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: drain CALLS PAGES\n");
		return 2;
	}
	if (flood_start(&flood, strtoull(argv[1], NULL, 0)))
		return 1;
	if (open_all(&r, strtoull(argv[2], NULL, 0) * sysconf(_SC_PAGESIZE)) < 0) {
		fprintf(stderr, "drain: %s\n", attar_error());
		return 1;
	}
	close(flood.go);
	start = cpu_time();
	while (ended != 2) {
		ended = attar_stream_wait(r.stream, flood.done, 100);
		drain(&r);
	}
	attar_stream_stop(r.stream);
	drain(&r);
	reader_ns = cpu_time() - start;
	attar_stream_get_stats(r.stream, &stats);
	flood_print(flood_finish(&flood), stats.samples, stats.lost, reader_ns, stats.wakeups);
	attar_stream_free(r.stream);
	attar_counter_close(r.counter);
	attar_symbols_free(r.symbols);
	attar_catalog_free(r.catalog);
	attar_target_free(r.target);
	return r.mixed == 1;
}
