/* SPDX-License-Identifier: MIT */
/*
 * Checks whether the kernel delivers all samples that it counts: some kernels drop samples taken
 * while a CPU is idle. Counts wakeups in the context of the idle task only, and sleeps briefly on
 * each CPU until there were some there. A CPU that is busy all the time cannot be checked.
 *
 * On some CPUs of virtual machines, switches from the idle task are not even counted. One follows
 * each switch to it.
 */
#include <sched.h>
#include <time.h>

#include "attar/event.h"
#include "attar/private/stream.h"
#include "attar/stream.h"
#include "base/vec.h"
#include "doctor/checks.h"
#include "doctor/verdicts.h"

enum { NAPS = 20, NAP_NS = 300 * 1000, CPUS_MAX = 64, RING_BYTES = 64 * 1024 };
enum { WAKEUPS = 10 };                         /* on a CPU, after which it is checked */
#define TIME_MAX_NS (2 * UINT64_C(1000000000)) /* for all CPUs together */

struct probe {
	struct attar_catalog *catalog;
	struct attar_symbols *symbols;
	struct attar_target *target;
	struct attar_counter *counter;
	struct attar_counter *entered, *left; /* switches to the idle task and from it */
	struct attar_stream *stream;
};

static int open_switches(struct probe *p, const char *filter, struct attar_counter **ret_counter)
{
	struct perf_event_attr attr = {.size = sizeof(attr), .type = PERF_TYPE_TRACEPOINT};
	const struct attar_format *format;
	int r = attar_catalog_format(p->catalog, "sched", "sched_switch", &format);

	if (r < 0)
		return r;
	attr.config = format->id;
	r = attar_counter_open(p->target, &attr, "sched:sched_switch", 0, ret_counter);
	if (r == 0)
		r = attar_counter_filter(*ret_counter, filter);
	return r == 0 ? attar_counter_enable(*ret_counter) : r;
}

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
		r = attar_counter_filter(p->counter, "common_pid == 0");
	if (r == 0)
		r = open_switches(p, "next_pid == 0", &p->entered);
	if (r == 0)
		r = open_switches(p, "prev_pid == 0", &p->left);
	if (r == 0)
		r = attar_stream_live(p->target, &p->counter, 1, p->symbols, &opts, &p->stream);
	return r == 0 ? attar_stream_start(p->stream) : r;
}

static void close_probe(struct probe *p)
{
	attar_stream_free(p->stream);
	attar_counter_close(p->left);
	attar_counter_close(p->entered);
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

/* Whether no switch from the idle task was counted. All counters have the same CPUs. */
static bool lacks_switches(const struct probe *p, size_t instance)
{
	struct attar_value entered, left;

	return attar_counter_read_at(p->entered, instance, &entered) == 0 &&
	       attar_counter_read_at(p->left, instance, &left) == 0 && entered.raw >= WAKEUPS &&
	       !left.raw;
}

static bool is_checked(const struct probe *p, size_t instance)
{
	struct attar_value wakeups;

	return attar_counter_read_at(p->counter, instance, &wakeups) == 0 && wakeups.raw >= WAKEUPS;
}

/* Visits each allowed CPU that is not checked yet. False if there is none. */
static bool sleep_everywhere(const struct probe *p, const cpu_set_t *allowed)
{
	size_t n = attar_counter_instances(p->counter);
	int visited = 0;

	for (size_t i = 0; i < n && visited < CPUS_MAX; i++) {
		int cpu = attar_counter_instance_at(p->counter, i).cpu;

		if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, allowed) && !is_checked(p, i)) {
			sleep_on(cpu);
			visited++;
		}
	}
	return visited > 0;
}

static void check_cpus(const struct probe *p)
{
	uint64_t end = base_now() + TIME_MAX_NS;
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return;
	while (sleep_everywhere(p, &allowed) && base_now() < end)
		;
	sched_setaffinity(0, sizeof(allowed), &allowed);
}

static size_t find_missing(struct probe *p, const struct attar_cpu_count **ret_counts)
{
	struct attar_stream_stats stats;
	struct attar_event event;

	attar_stream_stop(p->stream);
	while (attar_stream_next(p->stream, &event) > 0)
		;
	attar_stream_get_stats(p->stream, &stats);
	return stream_get_missing(p->stream, ret_counts);
}

static bool is_in(const struct attar_cpu_count *counts, size_t n, int cpu)
{
	while (n && counts[n - 1].cpu != cpu)
		n--;
	return n > 0;
}

static void judge_cpus(struct finding *f, const struct probe *p,
	const struct attar_cpu_count *missing, size_t n_missing)
{
	VEC(struct verdict_cpu) cpus = {0};

	for (size_t i = 0; i < attar_counter_instances(p->counter); i++) {
		int cpu = attar_counter_instance_at(p->counter, i).cpu;
		const struct verdict_cpu found = {.cpu = cpu,
			.is_missing = is_in(missing, n_missing, cpu),
			.is_blind = lacks_switches(p, i),
			.is_checked = is_checked(p, i)};

		if (vec_push(&cpus, found) < 0)
			break;
	}
	verdict_of_cpus(f, cpus.at, cpus.n);
	vec_done(&cpus);
}

static void add_open_remedy(struct buf *remedy)
{
	if (!add_missing_capabilities(remedy))
		buf_str(remedy, "mount -t tracefs nodev /sys/kernel/tracing, as root");
}

void check_delivery(struct finding *f)
{
	const struct attar_cpu_count *missing;
	struct probe p = {0};

	if (open_probe(&p) < 0) {
		f->state = ATTAR_CHECK_DEGRADED;
		buf_str(&f->detail, "not checked: sched:sched_wakeup cannot be opened system-wide");
		add_open_remedy(&f->remedy);
	} else {
		size_t n;

		check_cpus(&p);
		n = find_missing(&p, &missing);
		judge_cpus(f, &p, missing, n);
	}
	close_probe(&p);
}
