/* SPDX-License-Identifier: MIT */
/* Which functions fault on memory, as a table of functions and a call tree. */
#include <stdio.h>
#include <sys/mman.h>

#include <attar/attar-run.h>

enum { FRAMES_MAX = 64, BYTES = 4 << 20, ROUNDS = 3 };

/* Touches each page of its bytes. */
static __attribute__((noinline)) void fill(volatile char *memory)
{
	for (int i = 0; i < BYTES; i += 4096)
		memory[i] = 1;
}

static __attribute__((noinline)) void work(void)
{
	char *memory =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return;
	fill(memory);
	munmap(memory, BYTES);
}

/* Returns the number of samples. */
static int add_samples(struct attar_stream *stream, struct attar_stacks *stacks)
{
	attar_location locations[FRAMES_MAX];
	struct attar_event ev;
	int n = 0;

	while (attar_stream_read(stream, -1, &ev) > 0) {
		if (ev.record->type != PERF_RECORD_SAMPLE)
			continue;
		attar_stacks_add(stacks, ev.thread, locations,
			attar_event_stack(&ev, locations, FRAMES_MAX), ev.record->sample.period);
		n++;
	}
	return n;
}

static int print(struct attar_stacks *stacks)
{
	struct attar_stacks_opts opts = {.size = sizeof(opts), .weight = "faults", .tree = true};
	struct attar_report *report = attar_report_new("faults");
	struct attar_renderer *renderer;
	double unresolved = 0;
	int r = attar_renderer_new("text", stdout, NULL, &renderer);

	if (!report || r < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	r = attar_stacks_report(stacks, report, ATTAR_SCOPE_WHOLE, &opts, &unresolved);
	if (r == 0)
		r = attar_renderer_draw(renderer, report);
	if (r < 0)
		fprintf(stderr, "%s\n", attar_error());
	printf("%.0f%% of the faults are in code without symbols\n", 100 * unresolved);
	attar_renderer_free(renderer);
	attar_report_free(report);
	return r < 0;
}

int main(void)
{
	struct attar_target_opts self = {.size = sizeof(self), .self = true, .any_cpu = true};
	struct attar_stream_opts opts = {.size = sizeof(opts), .keep_own = true, .track = true};
	struct perf_event_attr attr = {.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
		.exclude_kernel = 1};
	struct attar_series series = {0}; /* samples of each round */
	struct attar_symbols *symbols;
	struct attar_counter *counter;
	struct attar_target *target;
	struct attar_stream *stream;
	struct attar_stacks *stacks;
	int failed;

	attar_stream_attr(&attr, false);
	if (attar_symbols_new(NULL, &symbols) < 0 || attar_stacks_new(symbols, &stacks) < 0 ||
		attar_target_new(&self, &target) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	for (int i = 0; i < ROUNDS; i++) {
		if (attar_counter_open(target, &attr, "page-faults", 0, &counter) < 0 ||
			attar_stream_live(target, &counter, 1, symbols, &opts, &stream) < 0 ||
			attar_stream_start(stream) < 0)
			return fprintf(stderr, "%s\n", attar_error()), 1;
		work();
		attar_stream_stop(stream);
		attar_series_add(&series, add_samples(stream, stacks));
		attar_stream_free(stream);
		attar_counter_close(counter);
	}
	failed = print(stacks);
	printf("%.1f samples in each of %d rounds, +-%.1f%%\n", series.mean, ROUNDS,
		attar_series_deviation(&series));
	attar_stacks_free(stacks);
	attar_target_free(target);
	attar_symbols_free(symbols);
	return failed;
}
