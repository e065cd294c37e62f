/* SPDX-License-Identifier: MIT */
/*
 * Counts the instructions of a slow fib() and samples 8 bytes of its stack; without a PMU, its
 * time.
 */
#include <stdio.h>
#include <time.h>

#include <attar/attar.h>

static int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void print_samples(struct attar_counter *counter, struct attar_ring *ring)
{
	struct attar_layout layout;
	const struct perf_event_header *bytes;
	struct attar_record rec;

	attar_layout_init(&layout, attar_counter_attr(counter));
	attar_ring_begin(ring);
	while ((bytes = attar_ring_next(ring)))
		if (attar_record_parse(&layout, bytes, bytes->size, &rec) == 0 &&
			rec.type == PERF_RECORD_SAMPLE && rec.sample.stack_size >= 8)
			printf("ip %#llx, top of the stack %#llx\n",
				(unsigned long long)rec.sample.ip,
				*(const unsigned long long *)rec.sample.stack);
	attar_ring_end(ring);
}

int main(void)
{
	struct attar_target_opts opts = {.size = sizeof(opts), .self = true, .any_cpu = true};
	struct perf_event_attr attr = {.size = sizeof(attr),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.freq = 1,
		.sample_freq = 1000,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_STACK_USER,
		.sample_stack_user = 8,
		.exclude_kernel = 1,
		.disabled = 1};
	const char *name = "instructions";
	struct attar_target *target;
	struct attar_counter *counter;
	struct attar_ring **rings;
	struct attar_value value;
	volatile int result;
	size_t n;

	if (attar_target_new(&opts, &target) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	if (attar_counter_open(target, &attr, name, 0, &counter) < 0) {
		fprintf(stderr, "%s\n", attar_error());
		name = "task-clock";
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_TASK_CLOCK;
		if (attar_counter_open(target, &attr, name, 0, &counter) < 0)
			return fprintf(stderr, "%s\n", attar_error()), 1;
	}
	if (attar_rings_new(target, &counter, 1, 1 << 20, &rings, &n) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	attar_counter_enable(counter);
	result = fib(30);
	attar_counter_disable(counter);
	attar_counter_read(counter, &value);
	printf("fib(30) = %d took %llu %s (%s)\n", result, (unsigned long long)value.value, name,
		attar_quality_name(value.quality));
	print_samples(counter, rings[0]);
	attar_rings_free(rings, n);
	attar_counter_close(counter);
	attar_target_free(target);
	return 0;
}
