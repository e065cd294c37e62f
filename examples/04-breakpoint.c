/* SPDX-License-Identifier: MIT */
/* Counts how often a variable is written, with a hardware breakpoint. */
#include <linux/hw_breakpoint.h>
#include <stdio.h>

#include <attar/attar.h>

static volatile long watched;

int main(void)
{
	struct attar_target_opts opts = {.size = sizeof(opts), .self = true, .any_cpu = true};
	struct perf_event_attr attr = {.size = sizeof(attr),
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uintptr_t)&watched,
		.bp_len = sizeof(watched),
		.exclude_kernel = 1,
		.disabled = 1};
	struct attar_target *target;
	struct attar_counter *counter;
	struct attar_value value;

	if (attar_target_new(&opts, &target) < 0 ||
		attar_counter_open(target, &attr, "writes", 0, &counter) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	attar_counter_enable(counter);
	for (int i = 0; i < 23; i++)
		watched = i;
	attar_counter_disable(counter);
	attar_counter_read(counter, &value);
	printf("written %llu times\n", (unsigned long long)value.value);
	attar_counter_close(counter);
	attar_target_free(target);
	if (!value.value) /* as in some virtual machines: meson takes 77 as "skipped" */
		return fprintf(stderr, "breakpoints have no effect on this machine\n"), 77;
	return value.value != 23;
}
