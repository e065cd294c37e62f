/* SPDX-License-Identifier: MIT */
/* The cost of libkperf's interface and of bare system calls, as JSON; see kperf.py. */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pcerrc.h"
#include "pmu.h"
#include "slices.h"

enum {
	MOST_CPUS = 1024,
	RING = 128, /* pages */
};

struct sides {
	int pd, fd;
	struct PmuAttr count, sample;
	long cpus, page;
	uint64_t sum; /* so that no read is optimized away */
};

static void check(int r)
{
	if (r >= 0)
		return;
	fprintf(stderr, "bench_kperf: %s\n", Perror());
	exit(1);
}

static void read_ours(void *ctx, size_t n)
{
	struct sides *s = ctx;

	while (n-- > 0) {
		struct PmuData *data;

		check(PmuRead(s->pd, &data));
		s->sum += data->count;
		PmuDataFree(data);
	}
}

static void read_twice(void *ctx, size_t n)
{
	struct sides *s = ctx;
	uint64_t values[4];

	while (n-- > 0)
		for (int i = 0; i < 2; i++)
			s->sum += (uint64_t)read(s->fd, values, sizeof(values)) + values[0];
}

static void open_ours(void *ctx, size_t n)
{
	struct sides *s = ctx;

	while (n-- > 0) {
		int pd = PmuOpen(SAMPLING, &s->sample);

		check(pd);
		PmuClose(pd);
	}
}

static int bare_open(uint64_t config, int cpu, bool samples)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = config,
		.sample_period = samples ? 1000000 : 0,
		.sample_type =
			PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = samples,
		.inherit = 1,
		.mmap = samples,
		.comm = samples,
		.task = samples};

	return (int)syscall(SYS_perf_event_open, &attr, getpid(), cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void open_bare(void *ctx, size_t n)
{
	const struct sides *s = ctx;
	size_t size = (size_t)((RING + 1) * s->page);

	while (n-- > 0) {
		int fds[MOST_CPUS];
		void *rings[MOST_CPUS];

		for (int cpu = 0; cpu < s->cpus; cpu++) {
			fds[cpu] = bare_open(PERF_COUNT_SW_CPU_CLOCK, cpu, true);
			rings[cpu] =
				mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fds[cpu], 0);
		}
		for (int cpu = 0; cpu < s->cpus; cpu++) {
			munmap(rings[cpu], size);
			close(fds[cpu]);
		}
	}
}

int main(void)
{
	static char faults[] = "page-faults", clock[] = "cpu-clock";
	char *count[] = {faults}, *sample[] = {clock};
	int pids[] = {getpid()};
	struct sides s = {.cpus = sysconf(_SC_NPROCESSORS_ONLN), .page = sysconf(_SC_PAGESIZE)};

	s.count = (struct PmuAttr){.evtList = count, .numEvt = 1, .pidList = pids, .numPid = 1};
	s.sample = (struct PmuAttr){.evtList = sample,
		.numEvt = 1,
		.pidList = pids,
		.numPid = 1,
		.period = 1000000,
		.symbolMode = RESOLVE_ELF};
	s.cpus = s.cpus < MOST_CPUS ? s.cpus : MOST_CPUS;
	s.pd = PmuOpen(COUNTING, &s.count);
	check(s.pd);
	check(-PmuEnable(s.pd));
	s.fd = bare_open(PERF_COUNT_SW_PAGE_FAULTS, -1, false);
	printf("{");
	slices_compare("PmuRead, two read()", read_ours, read_twice, &s, 2000);
	slices_compare("PmuOpen to sample, bare calls", open_ours, open_bare, &s, 10);
	printf("}\n");
	PmuClose(s.pd);
	return s.sum == 1;
}
