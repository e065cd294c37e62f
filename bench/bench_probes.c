/* SPDX-License-Identifier: MIT */
/*
 * bench_probes SYSTEM:EVENT...: opens, enables, disables and closes these tracepoints and five
 * uprobes on every CPU, with the library and with bare system calls in the fastest order. Prints
 * the ms of each step for both, the better of two measurements.
 */
#include <linux/perf_event.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attar/event.h"
#include "attar/perf.h"
#include "attar/private/perf.h"

enum { UPROBES = 5, EVENTS_MAX = 64, CPUS_MAX = 1024, OPEN = 0, ENABLE, DISABLE, CLOSE, STEPS };

/* The functions that the uprobes are on. */
#define PLACE(n)                                                                                   \
	void bench_place##n(void);                                                                 \
	__attribute__((noinline, noclone)) void bench_place##n(void)                               \
	{                                                                                          \
		__asm__ volatile("nop");                                                           \
	}
PLACE(0)
PLACE(1)
PLACE(2)
PLACE(3)
PLACE(4)

struct event {
	struct perf_event_attr attr;
	const char *name;
	struct attar_counter *counter;
	int fds[CPUS_MAX]; /* of the bare side */
};

static struct event events[EVENTS_MAX];
static size_t n_events;
static const int *cpus;
static size_t n_cpus;
static struct attar_target *target;

static double clock_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void check(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "bench_probes: %s: %s\n", what, attar_error());
	exit(1);
}

static void ours(int step)
{
	for (size_t i = 0; i < n_events; i++) {
		struct event *e = &events[i];

		if (step == OPEN)
			check(attar_counter_open(target, &e->attr, e->name, 0, &e->counter),
				e->name);
		else if (step == ENABLE)
			check(attar_counter_enable(e->counter), e->name);
		else if (step == DISABLE)
			check(attar_counter_disable(e->counter), e->name);
		else
			attar_counter_close(e->counter);
	}
}

static void bare_each(int step, struct event *e)
{
	const unsigned long requests[] = {
		[ENABLE] = PERF_EVENT_IOC_ENABLE, [DISABLE] = PERF_EVENT_IOC_DISABLE};

	for (size_t i = 0; i < n_cpus; i++) {
		int r = 0;

		if (step == OPEN)
			r = e->fds[i] = syscall(SYS_perf_event_open, &e->attr, -1, cpus[i], -1,
				PERF_FLAG_FD_CLOEXEC);
		else if (step == CLOSE)
			close(e->fds[i]);
		else
			r = ioctl(e->fds[i], requests[step], 0);
		if (r >= 0)
			continue;
		perror(e->name);
		exit(1);
	}
}

static void *close_one(void *e)
{
	bare_each(CLOSE, e);
	return NULL;
}

static void bare(int step)
{
	pthread_t threads[EVENTS_MAX];

	for (size_t i = 0; i < n_events; i++)
		if (step != CLOSE)
			bare_each(step, &events[i]);
		else if (pthread_create(&threads[i], NULL, close_one, &events[i]))
			exit(1);
	for (size_t i = 0; step == CLOSE && i < n_events; i++)
		pthread_join(threads[i], NULL);
}

struct times {
	double steps[STEPS], all, cpu;
};

/* Measures each step in ms; lower values replace those in best. */
static void measure(void (*side)(int step), struct times *best)
{
	double cpu = clock_ms(CLOCK_PROCESS_CPUTIME_ID), start = clock_ms(CLOCK_MONOTONIC);
	struct times t = {.all = -start};

	for (int step = 0; step < STEPS; step++) {
		side(step);
		t.steps[step] = clock_ms(CLOCK_MONOTONIC) - start;
		start += t.steps[step];
		best->steps[step] = fmin(best->steps[step], t.steps[step]);
	}
	best->all = fmin(best->all, t.all + start);
	best->cpu = fmin(best->cpu, clock_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu);
	usleep(300000); /* deferred work of the kernel must not run in the next one */
}

/* "a:b,c:d,uprobe:bench_place0@\"/proc/...\"": attributes of all. */
static void parse_events(char **names, struct attar_catalog *catalog)
{
	struct attar_event_list *list; /* never freed: attributes point into it */
	char text[8192], self[4096];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t at = 0;

	self[length > 0 ? length : 0] = 0;
	for (; *names; names++)
		at += snprintf(text + at, sizeof(text) - at, "%s,", *names);
	for (int i = 0; i < UPROBES && at < sizeof(text); i++)
		at += snprintf(text + at, sizeof(text) - at, "uprobe:bench_place%d@\"%s\"%s", i,
			self, i < UPROBES - 1 ? "," : "");
	check(attar_event_list_parse(catalog, text, &list), "events");
	for (n_events = 0; n_events < list->n && n_events < EVENTS_MAX; n_events++) {
		struct event *e = &events[n_events];

		e->name = list->at[n_events].name;
		check(attar_event_spec_attr(&list->at[n_events], &e->attr, sizeof(e->attr)),
			e->name);
		e->attr.disabled = 1;
		e->attr.read_format =
			PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	}
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"open", "enable", "disable", "close"};
	const struct attar_catalog_opts opts = {.size = sizeof(opts), .mount = true};
	const struct attar_target_opts system = {.size = sizeof(system)};
	struct attar_catalog *catalog;
	struct times a = {{HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL}, HUGE_VAL, HUGE_VAL}, b = a,
		     first = a;

	check(argc > 1 ? attar_catalog_new(&opts, &catalog) : -1, "SYSTEM:EVENT...");
	check(attar_target_new(&system, &target), "target");
	cpus = target_cpus(target, &n_cpus);
	if (n_cpus > CPUS_MAX)
		n_cpus = CPUS_MAX;
	parse_events(argv + 1, catalog);
	measure(bare, &first); /* warm-up: fills caches of the kernel */
	measure(ours, &a);
	measure(bare, &b);
	measure(bare, &b);
	measure(ours, &a);
	printf("{");
	for (int i = 0; i < STEPS; i++)
		printf("\"%s\": [%.3f, %.3f], ", names[i], a.steps[i], b.steps[i]);
	printf("\"all four\": [%.3f, %.3f], \"cpu\": [%.3f, %.3f]}\n", a.all, b.all, a.cpu, b.cpu);
	return 0;
}
