/* SPDX-License-Identifier: MIT */
/*
 * A flight recorder: a ring of one page that overwrites old records. When something goes wrong, it
 * contains the events just before.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <attar/attar.h>

enum { PAGES = 1000, WRONG = 700 };

/* Touches page after page, until page WRONG. */
static void work(volatile char *area, size_t page)
{
	for (size_t i = 0; i < PAGES; i++) {
		area[i * page] = 1;
		if (i == WRONG)
			return;
	}
}

static void show(struct attar_stream *recorder, const char *area, size_t page)
{
	struct attar_event ev;

	while (attar_stream_next(recorder, &ev) > 0) {
		uint64_t offset = ev.record->sample.addr - (uintptr_t)area;

		if (ev.record->type == PERF_RECORD_SAMPLE && offset < PAGES * page)
			printf("%llu first touch of page %llu\n", (unsigned long long)ev.time,
				(unsigned long long)(offset / page));
	}
}

int main(void)
{
	struct attar_target_opts self = {.size = sizeof(self), .self = true, .any_cpu = true};
	struct attar_stream_opts small = {.size = sizeof(small), .ring_bytes = 1, .keep_own = true};
	struct perf_event_attr attr = {.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_ADDR,
		.exclude_kernel = 1,
		.write_backward = 1};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *area = mmap(
		NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct attar_stream_stats stats;
	struct attar_symbols *symbols;
	struct attar_target *target;
	struct attar_counter *faults;
	struct attar_stream *recorder;

	if (area == MAP_FAILED || madvise(area, PAGES * page, MADV_NOHUGEPAGE) < 0)
		return perror("mmap"), 1;
	attar_stream_attr(&attr, false);
	if (attar_symbols_new(NULL, &symbols) < 0 || attar_target_new(&self, &target) < 0 ||
		attar_counter_open(target, &attr, "page-faults", 0, &faults) < 0 ||
		attar_stream_live(target, &faults, 1, symbols, &small, &recorder) < 0 ||
		attar_stream_start(recorder) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	work(area, page);
	if (attar_stream_snapshot(recorder) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	show(recorder, area, page);
	attar_stream_get_stats(recorder, &stats);
	printf("%llu bytes of older records were overwritten\n",
		(unsigned long long)stats.forgotten);
	attar_stream_free(recorder);
	attar_counter_close(faults);
	attar_target_free(target);
	attar_symbols_free(symbols);
	return 0;
}
