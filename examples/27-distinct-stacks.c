/* SPDX-License-Identifier: MIT */
/* Counts page faults of this program by stack, with a table of distinct stacks. */
#include <stdio.h>
#include <stdlib.h>

#include <attar/attar.h>

enum { FRAMES_MAX = 64, STACKS_MAX = 1024, ROUNDS = 4, PAGES = 256, PAGE_BYTES = 4096 };

/* Touches each page of new memory. */
static __attribute__((noinline)) void fill(void)
{
	volatile char *memory = malloc((size_t)PAGES * PAGE_BYTES);

	for (int i = 0; memory && i < PAGES; i++)
		memory[(size_t)i * PAGE_BYTES] = 1;
	free((void *)(uintptr_t)memory);
}

static void print(struct attar_symbols *symbols, const attar_location *locations, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct attar_symbol symbol;
		int r = attar_symbols_resolve(symbols, locations[i], &symbol);

		printf("%s%s", i ? " < " : "", r == 0 ? symbol.name : symbol.dso);
	}
	printf("\n");
}

int main(void)
{
	struct attar_target_opts self = {.size = sizeof(self), .self = true};
	attar_location frames[FRAMES_MAX];
	uint64_t counts[STACKS_MAX] = {0};
	struct attar_stack_table *stacks;
	struct attar_target *target;
	struct attar_stream *stream;
	struct attar_event ev;

	if (attar_stack_table_new(0, &stacks) < 0 || attar_target_new(&self, &target) < 0 ||
		attar_stream_events(target, "page-faults:u",
			ATTAR_STREAM_STACKS | ATTAR_STREAM_KEEP_OWN, NULL, &stream) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	for (int i = 0; i < ROUNDS; i++)
		fill();
	attar_stream_stop(stream);
	while (attar_stream_next(stream, &ev) > 0) {
		uint32_t number;

		if (ev.record->type != PERF_RECORD_SAMPLE)
			continue;
		number = attar_stack_table_add(
			stacks, frames, attar_event_stack(&ev, frames, FRAMES_MAX));
		counts[number < STACKS_MAX ? number : 0]++; /* 0: no stack */
	}
	for (uint32_t i = 0; i < STACKS_MAX; i++) {
		const attar_location *locations;
		size_t n;

		if (!counts[i])
			continue;
		locations = attar_stack_table_get(stacks, i, &n);
		printf("%llu: ", (unsigned long long)counts[i]);
		print(attar_stream_symbols(stream), locations, n);
	}
	attar_stream_free(stream);
	attar_target_free(target);
	attar_stack_table_free(stacks);
	return 0;
}
