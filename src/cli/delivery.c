/* SPDX-License-Identifier: MIT */
/*
 * Checks whether the kernel delivers all samples that it counts: some kernels drop samples taken
 * while a CPU is idle. This thread sleeps briefly on each CPU. On an otherwise idle CPU its wakeups
 * are then raised in the context of the idle task.
 */
#include <sched.h>
#include <time.h>

#include "attar/event.h"
#include "attar/stream.h"
#include "cli/doctor_checks.h"

enum { NAPS = 20, NAP_NS = 300 * 1000, CPUS_MAX = 64, RING_BYTES = 64 * 1024 };

struct probe {
	struct attar_catalog *catalog;
	struct attar_symbols *symbols;
	struct attar_target *target;
	struct attar_counter *counter;
	struct attar_stream *stream;
};

static int open_probe(struct probe *p)
{
	const struct attar_target_opts target = {.size = sizeof(target)};
	const struct attar_stream_opts opts = {
		.size = sizeof(opts), .ring_bytes = RING_BYTES, .keep_own = true};
	struct perf_event_attr attr = {.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_PERIOD};
	const struct attar_format *format;
	int r = attar_catalog_new(NULL, &p->catalog);

	if (r == 0)
		r = attar_catalog_format(p->catalog, "sched", "sched_wakeup", &format);
	if (r < 0)
		return r;
	attr.config = format->id;
	attar_stream_attr(&attr, false);
	r = attar_symbols_new(NULL, &p->symbols);
	if (r == 0)
		r = attar_target_new(&target, &p->target);
	if (r == 0)
		r = attar_counter_open(p->target, &attr, "sched:sched_wakeup", 0, &p->counter);
	if (r == 0)
		r = attar_stream_live(p->target, &p->counter, 1, p->symbols, &opts, &p->stream);
	return r == 0 ? attar_stream_start(p->stream) : r;
}

static void close_probe(struct probe *p)
{
	attar_stream_free(p->stream);
	attar_counter_close(p->counter);
	attar_target_free(p->target);
	attar_symbols_free(p->symbols);
	attar_catalog_free(p->catalog);
}

static void sleep_on(int cpu)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		return;
	for (int i = 0; i < NAPS; i++)
		nanosleep(&nap, NULL);
}

static void sleep_everywhere(void)
{
	cpu_set_t before;
	int visited = 0;

	if (sched_getaffinity(0, sizeof(before), &before) < 0)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE && visited < CPUS_MAX; cpu++)
		if (CPU_ISSET(cpu, &before)) {
			sleep_on(cpu);
			visited++;
		}
	sched_setaffinity(0, sizeof(before), &before);
}

static size_t find_missing(struct probe *p, const struct attar_cpu_count **ret_counts)
{
	struct attar_stream_stats stats;
	struct attar_event event;

	attar_stream_stop(p->stream);
	while (attar_stream_next(p->stream, &event) > 0)
		;
	attar_stream_get_stats(p->stream, &stats);
	return attar_stream_get_missing(p->stream, ret_counts);
}

static void report_missing(struct finding *f, const struct attar_cpu_count *counts, size_t n)
{
	if (!n) {
		buf_str(&f->detail, "all events counted by the kernel were delivered");
		return;
	}
	f->state = CHECK_DEGRADED;
	buf_str(&f->detail, "the kernel counts events on idle CPUs but does not deliver them:");
	for (size_t i = 0; i < n; i++)
		buf_printf(&f->detail, "%s CPU %d", i ? "," : "", counts[i].cpu);
	buf_str(&f->remedy, "use 'attar stat', which counts all events");
}

void check_delivery(struct finding *f)
{
	const struct attar_cpu_count *counts;
	struct probe p = {0};

	if (open_probe(&p) < 0) {
		buf_str(&f->detail, "not checked: sched:sched_wakeup cannot be opened system-wide");
	} else {
		size_t n;

		sleep_everywhere();
		n = find_missing(&p, &counts);
		report_missing(f, counts, n);
	}
	close_probe(&p);
}
