/* SPDX-License-Identifier: MIT */
/*
 * Prints functions that cause page faults, with their callers. Joins deferred user stacks where
 * supported.
 */
#include <stdio.h>
#include <stdlib.h>

#include <attar/attar.h>

enum { FRAMES_MAX = 64, SHOWN = 3, BYTES = 4 << 20 };

/* Touches each page. */
static __attribute__((noinline)) void fill(volatile char *memory)
{
	for (int i = 0; i < BYTES; i += 4096)
		memory[i] = 1;
}

static __attribute__((noinline)) void work(void)
{
	char *memory = malloc(BYTES);

	if (memory)
		fill(memory);
	free(memory);
}

static void print_stack(struct attar_symbols *symbols, const struct attar_event *ev)
{
	attar_location locations[FRAMES_MAX];
	size_t n = attar_event_stack(ev, locations, FRAMES_MAX);

	for (size_t i = 0; i < n; i++) {
		struct attar_symbol symbol;
		int r = attar_symbols_resolve(symbols, locations[i], &symbol);

		printf("%s%s", i ? " < " : "", r == 0 ? symbol.name : symbol.dso);
	}
	printf("\n");
}

int main(void)
{
	struct attar_target_opts self = {.size = sizeof(self), .self = true, .any_cpu = true};
	struct attar_stream_opts opts = {.size = sizeof(opts), .keep_own = true, .track = true};
	struct perf_event_attr attr = {.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 100,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
		.exclude_kernel = 1};
	struct attar_stream_stats stats;
	struct attar_symbols *symbols;
	struct attar_counter *counter;
	struct attar_target *target;
	struct attar_stream *stream;
	struct attar_event ev;
	int shown = 0;

	attar_stream_attr(&attr, false);
	if (!attar_stream_defer(&attr))
		fprintf(stderr, "this kernel does not defer user stacks\n");
	if (attar_symbols_new(NULL, &symbols) < 0 || attar_target_new(&self, &target) < 0 ||
		attar_counter_open(target, &attr, "page-faults", 0, &counter) < 0 ||
		attar_stream_live(target, &counter, 1, symbols, &opts, &stream) < 0 ||
		attar_stream_start(stream) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	work();
	attar_stream_stop(stream);
	while (attar_stream_read(stream, -1, &ev) > 0)
		if (ev.record->type == PERF_RECORD_SAMPLE && shown++ < SHOWN)
			print_stack(symbols, &ev);
	attar_stream_get_stats(stream, &stats);
	printf("%llu samples, %llu joined with a deferred user stack, %llu without it\n",
		(unsigned long long)stats.samples, (unsigned long long)stats.stitched,
		(unsigned long long)stats.unstitched);
	attar_stream_free(stream);
	attar_counter_close(counter);
	attar_target_free(target);
	attar_symbols_free(symbols);
	return 0;
}
