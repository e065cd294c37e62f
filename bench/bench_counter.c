/* SPDX-License-Identifier: MIT */
/*
 * Counters of this thread: open and close, enable and disable, read, single and in a group of
 * eight, with the library and with equivalent bare system calls.
 */
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attar/perf.h"
#include "slices.h"

enum { MEMBERS = 8 };

static const uint64_t configs[MEMBERS] = {PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_CPU_CLOCK,
	PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_COUNT_SW_PAGE_FAULTS_MAJ,
	PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS,
	PERF_COUNT_SW_EMULATION_FAULTS};

struct sides {
	struct attar_target *target;
	struct attar_counter *counter;
	struct attar_group *group;
	int fd, leader; /* of the bare side */
	uint64_t sum;   /* so that no read is optimized away */
};

static void check(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "bench_counter: %s: %s\n", what, attar_error());
	exit(1);
}

static int bare_open(uint64_t config, int leader)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = config,
		.disabled = leader < 0,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
			       PERF_FORMAT_ID};
	int fd;

	if (leader != -2) /* -2: alone */
		attr.read_format |= PERF_FORMAT_GROUP;
	fd = syscall(
		SYS_perf_event_open, &attr, 0, -1, leader < 0 ? -1 : leader, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		perror("bench_counter: perf_event_open");
		exit(1);
	}
	return fd;
}

static void open_ours(void *ctx, size_t n)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .disabled = 1};
	struct sides *s = ctx;

	while (n--) {
		struct attar_counter *c;

		check(attar_counter_open(s->target, &attr, "task-clock", 0, &c), "open");
		attar_counter_close(c);
	}
}

static void open_bare(void *ctx, size_t n)
{
	(void)ctx;
	while (n--)
		close(bare_open(PERF_COUNT_SW_TASK_CLOCK, -2));
}

static void enable_ours(void *ctx, size_t n)
{
	struct sides *s = ctx;

	while (n--) {
		check(attar_counter_enable(s->counter), "enable");
		check(attar_counter_disable(s->counter), "disable");
	}
}

static void enable_bare(void *ctx, size_t n)
{
	struct sides *s = ctx;

	while (n--)
		if (ioctl(s->fd, PERF_EVENT_IOC_ENABLE, 0) < 0 ||
			ioctl(s->fd, PERF_EVENT_IOC_DISABLE, 0) < 0)
			exit(1);
}

static void read_ours(void *ctx, size_t n)
{
	struct attar_value value;
	struct sides *s = ctx;

	while (n--) {
		check(attar_counter_read(s->counter, &value), "read");
		s->sum += value.value;
	}
}

static void read_bare(void *ctx, size_t n)
{
	struct sides *s = ctx;
	uint64_t words[4];

	while (n--) {
		if (read(s->fd, words, sizeof(words)) != sizeof(words))
			exit(1);
		s->sum += words[0];
	}
}

static void group_ours(void *ctx, size_t n)
{
	struct attar_value values[MEMBERS];
	struct sides *s = ctx;

	while (n--) {
		check(attar_group_read(s->group, values), "read");
		for (int i = 0; i < MEMBERS; i++)
			s->sum += values[i].value;
	}
}

static void group_bare(void *ctx, size_t n)
{
	struct sides *s = ctx;
	uint64_t words[3 + 2 * MEMBERS];

	while (n--) {
		if (read(s->leader, words, sizeof(words)) != sizeof(words))
			exit(1);
		for (int i = 0; i < MEMBERS; i++)
			s->sum += words[3 + 2 * i];
	}
}

static void open_sides(struct sides *s)
{
	const struct attar_target_opts opts = {.size = sizeof(opts), .self = true, .any_cpu = true};
	struct perf_event_attr attrs[MEMBERS];
	struct attar_group_event events[MEMBERS];

	check(attar_target_new(&opts, &s->target), "target");
	for (int i = 0; i < MEMBERS; i++) {
		attrs[i] = (struct perf_event_attr){
			.type = PERF_TYPE_SOFTWARE, .config = configs[i], .disabled = 1};
		events[i] = (struct attar_group_event){"member", &attrs[i]};
	}
	check(attar_counter_open(s->target, &attrs[0], "alone", 0, &s->counter), "open");
	check(attar_group_open(s->target, events, MEMBERS, 0, &s->group), "open");
	s->fd = bare_open(configs[0], -2);
	s->leader = bare_open(configs[0], -1);
	for (int i = 1; i < MEMBERS; i++)
		bare_open(configs[i], s->leader);
	check(attar_group_enable(s->group), "enable");
	ioctl(s->leader, PERF_EVENT_IOC_ENABLE, 0);
}

int main(void)
{
	struct sides s = {0};

	open_sides(&s);
	printf("{");
	slices_compare("open and close", open_ours, open_bare, &s, 300);
	slices_compare("enable and disable", enable_ours, enable_bare, &s, 1000);
	check(attar_counter_enable(s.counter), "enable");
	ioctl(s.fd, PERF_EVENT_IOC_ENABLE, 0);
	slices_compare("read one", read_ours, read_bare, &s, 2000);
	slices_compare("read a group of 8", group_ours, group_bare, &s, 1000);
	printf("}\n");
	attar_group_close(s.group);
	attar_counter_close(s.counter);
	attar_target_free(s.target);
	return s.sum == 1;
}
