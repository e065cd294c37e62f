/* SPDX-License-Identifier: MIT */
/*
 * Counts per CPU in five intervals of a tenth of a second, also while CPUs go offline and online.
 */
#include <stdio.h>
#include <time.h>

#include <attar/attar.h>

enum { CPUS_MAX = 1024 };

static void print(struct attar_counter *counter, struct attar_value *before)
{
	for (size_t i = 0; i < attar_counter_instances(counter) && i < CPUS_MAX; i++) {
		struct attar_value now, recent;

		if (attar_counter_read_at(counter, i, &now) < 0)
			continue;
		recent = attar_value_since(&now, &before[i]);
		before[i] = now;
		printf("CPU %d: %llu (%s)  ", attar_counter_instance_at(counter, i).cpu,
			(unsigned long long)recent.value, attar_quality_name(recent.quality));
	}
	printf("\n");
}

int main(void)
{
	const struct timespec tenth = {.tv_nsec = 100 * 1000 * 1000};
	struct attar_target_opts whole_system = {.size = sizeof(whole_system)};
	struct perf_event_attr attr = {.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES};
	static struct attar_value before[CPUS_MAX];
	struct attar_counter *counter;
	struct attar_target *target;

	if (attar_target_new(&whole_system, &target) < 0 ||
		attar_counter_open(target, &attr, "context-switches", 0, &counter) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	for (int i = 0; i < 5; i++) {
		nanosleep(&tenth, NULL);
		if (attar_target_follow_cpus(target, &counter, 1) < 0)
			return fprintf(stderr, "%s\n", attar_error()), 1;
		print(counter, before);
	}
	attar_counter_close(counter);
	attar_target_free(target);
	return 0;
}
