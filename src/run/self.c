/* SPDX-License-Identifier: MIT */
/* What a report says about the measuring itself. */
#include <sys/resource.h>

#include "run/run.h"

static uint64_t self_cpu_ns(const struct attar_run *run)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)((ts.tv_sec - run->self_began.tv_sec) * 1000000000 + ts.tv_nsec -
			  run->self_began.tv_nsec);
}

void run_fill_notes(struct attar_run *run, struct attar_report *report, enum attar_scope scope)
{
	struct attar_stream_stats stats;
	struct attar_notes notes = {.unresolved = run->unresolved};
	struct rusage usage;
	uint64_t elapsed = run_now() - run->began;

	attar_stream_stats(run->stream, &stats);
	getrusage(RUSAGE_SELF, &usage);
	notes.seen = stats.samples;
	notes.lost = stats.lost;
	notes.throttled = stats.throttled;
	if (scope == ATTAR_SCOPE_INTERVAL) {
		notes.seen -= run->seen_reported;
		notes.lost -= run->lost_reported;
		notes.throttled -= run->throttled_reported;
		run->seen_reported = stats.samples;
		run->lost_reported = stats.lost;
		run->throttled_reported = stats.throttled;
	}
	notes.self_cpu = elapsed ? (double)self_cpu_ns(run) / (double)elapsed : 0;
	notes.self_rss = (uint64_t)usage.ru_maxrss * 1024;
	attar_report_notes(report, &notes);
	if (stats.malformed)
		attar_report_remark(report, "%llu records of the kernel could not be read",
			(unsigned long long)stats.malformed);
}
