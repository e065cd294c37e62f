/* SPDX-License-Identifier: MIT */
/*
 * Two counters measured together: instructions per cycle; without a PMU, page faults per context
 * switch.
 */
#include <stdio.h>
#include <string.h>

#include <attar/attar.h>

static struct attar_group *open_pair(struct attar_target *target, uint32_t type, const char *a,
	uint64_t a_config, const char *b, uint64_t b_config)
{
	struct perf_event_attr first = {.size = sizeof(first),
		.type = type,
		.config = a_config,
		.exclude_kernel = type == PERF_TYPE_HARDWARE,
		.disabled = 1};
	struct perf_event_attr second = first;
	struct attar_group_event events[2] = {{a, &first}, {b, &second}};
	struct attar_group *group;

	second.config = b_config;
	return attar_group_open(target, events, 2, 0, &group) < 0 ? NULL : group;
}

static void work(void)
{
	static char memory[64 << 12];

	for (int round = 0; round < 100; round++)
		memset(memory, round, sizeof(memory));
}

int main(void)
{
	struct attar_target_opts opts = {.size = sizeof(opts), .self = true, .any_cpu = true};
	struct attar_value values[2];
	struct attar_target *target;
	struct attar_group *group;

	if (attar_target_new(&opts, &target) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	group = open_pair(target, PERF_TYPE_HARDWARE, "cycles", PERF_COUNT_HW_CPU_CYCLES,
		"instructions", PERF_COUNT_HW_INSTRUCTIONS);
	if (!group)
		group = open_pair(target, PERF_TYPE_SOFTWARE, "context-switches",
			PERF_COUNT_SW_CONTEXT_SWITCHES, "page-faults", PERF_COUNT_SW_PAGE_FAULTS);
	if (!group)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	attar_group_enable(group);
	work();
	attar_group_disable(group);
	if (attar_group_read(group, values) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	for (size_t i = 0; i < 2; i++)
		printf("%-18s %12llu (%s)\n", attar_counter_name(attar_group_counter(group, i)),
			(unsigned long long)values[i].value, attar_quality_name(values[i].quality));
	if (values[0].value)
		printf("%.2f of the second for each of the first\n",
			(double)values[1].value / (double)values[0].value);
	attar_group_close(group);
	attar_target_free(target);
	return 0;
}
