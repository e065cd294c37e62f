/* SPDX-License-Identifier: MIT */
/*
 * The same software events of this thread, read by the library and by PAPI: one, and seven in a
 * group.
 */
#include <linux/perf_event.h>
#include <papi.h>

#include "attar/perf.h"
#include "attar/private/perf.h"
#include "slices.h"

enum { MEMBERS = 7 };

static const struct {
	const char *papi;
	uint64_t config;
} members[MEMBERS] = {{"perf::TASK-CLOCK", PERF_COUNT_SW_TASK_CLOCK},
	{"perf::CPU-CLOCK", PERF_COUNT_SW_CPU_CLOCK},
	{"perf::PAGE-FAULTS", PERF_COUNT_SW_PAGE_FAULTS},
	{"perf::MINOR-FAULTS", PERF_COUNT_SW_PAGE_FAULTS_MIN},
	{"perf::MAJOR-FAULTS", PERF_COUNT_SW_PAGE_FAULTS_MAJ},
	{"perf::CONTEXT-SWITCHES", PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"perf::CPU-MIGRATIONS", PERF_COUNT_SW_CPU_MIGRATIONS}};

struct sides {
	struct attar_counter *counter;
	struct attar_group *group;
	int set; /* of PAPI */
	uint64_t sum;
};

static void check(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "bench_papi: %s: %s\n", what, attar_error());
	exit(1);
}

static void check_papi(int r, const char *what)
{
	if (r == PAPI_OK)
		return;
	fprintf(stderr, "bench_papi: %s: PAPI: %s\n", what, PAPI_strerror(r));
	exit(1);
}

static void read_ours(void *ctx, size_t n)
{
	uint64_t values[MEMBERS];
	struct sides *s = ctx;

	while (n--) {
		check(group_values(s->group, values), "read");
		s->sum += values[0];
	}
}

static void read_one(void *ctx, size_t n)
{
	struct attar_value value;
	struct sides *s = ctx;

	while (n--) {
		check(attar_counter_read(s->counter, &value), "read");
		s->sum += value.value;
	}
}

static void read_papi(void *ctx, size_t n)
{
	long long values[MEMBERS];
	struct sides *s = ctx;

	while (n--) {
		check_papi(PAPI_read(s->set, values), "read");
		s->sum += values[0];
	}
}

/* Excludes kernel code, as PAPI does. */
static void open_sides(struct sides *s, struct attar_target *target, int n)
{
	struct perf_event_attr attrs[MEMBERS];
	struct attar_group_event events[MEMBERS];

	s->set = PAPI_NULL;
	check_papi(PAPI_create_eventset(&s->set), "event set");
	for (int i = 0; i < n; i++) {
		attrs[i] = (struct perf_event_attr){.type = PERF_TYPE_SOFTWARE,
			.config = members[i].config,
			.exclude_kernel = 1,
			.exclude_hv = 1,
			.disabled = 1};
		events[i] = (struct attar_group_event){members[i].papi, &attrs[i]};
		check_papi(PAPI_add_named_event(s->set, members[i].papi), members[i].papi);
	}
	check(attar_group_open(target, events, n, 0, &s->group), "open");
	check(attar_group_enable(s->group), "enable");
	check(attar_counter_open(target, &attrs[0], members[0].papi, 0, &s->counter), "open");
	check(attar_counter_enable(s->counter), "enable");
	check_papi(PAPI_start(s->set), "start");
}

static void close_sides(struct sides *s)
{
	long long values[MEMBERS];

	PAPI_stop(s->set, values);
	attar_group_close(s->group);
	attar_counter_close(s->counter);
}

int main(void)
{
	const struct attar_target_opts opts = {.size = sizeof(opts), .self = true, .any_cpu = true};
	struct attar_target *target;
	struct sides s = {0};

	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
		return 1;
	check(attar_target_new(&opts, &target), "target");
	printf("{");
	open_sides(&s, target, 1);
	slices_compare("read one", read_one, read_papi, &s, 1000);
	close_sides(&s);
	open_sides(&s, target, MEMBERS);
	slices_compare("read a group of 7", read_ours, read_papi, &s, 1000);
	close_sides(&s);
	printf("}\n");
	attar_target_free(target);
	return s.sum == 1;
}
