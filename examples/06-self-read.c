/* SPDX-License-Identifier: MIT */
/*
 * Counts a few instructions of this thread without a system call (rdpmc), otherwise with read(2).
 */
#include <stdio.h>

#include <attar/attar.h>

enum { LOOPS = 1000, READS = 1000 };

static void work(void)
{
	for (volatile int i = 0; i < LOOPS; i++)
		;
}

/* Instructions if there is a PMU, otherwise time. */
static int open_counter(struct attar_target *target, struct attar_counter **ret_counter)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1};

	if (attar_counter_open(
		    target, &attr, "instructions", ATTAR_COUNTER_SELF_READ, ret_counter) == 0)
		return 0;
	fprintf(stderr, "%s\n", attar_error());
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_TASK_CLOCK;
	return attar_counter_open(target, &attr, "task-clock", 0, ret_counter);
}

int main(void)
{
	struct attar_target_opts self = {.size = sizeof(self), .self = true, .any_cpu = true};
	struct attar_value before, after, cost;
	struct attar_counter *counter;
	struct attar_target *target;
	uint64_t least = UINT64_MAX;

	if (attar_target_new(&self, &target) < 0 || open_counter(target, &counter) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	for (int i = 0; i < READS; i++) { /* the minimum of many: one without interruptions */
		attar_counter_read_self(counter, &before);
		work();
		if (attar_counter_read_self(counter, &after) < 0)
			return fprintf(stderr, "%s\n", attar_error()), 1;
		cost = attar_value_since(&after, &before);
		least = cost.value < least ? cost.value : least;
	}
	printf("%d loops: %llu %s (%s), read %s\n", LOOPS, (unsigned long long)least,
		attar_counter_name(counter), attar_quality_name(cost.quality),
		after.by_self_read ? "by the thread itself" : "by system calls");
	attar_counter_close(counter);
	attar_target_free(target);
	return 0;
}
