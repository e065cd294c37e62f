/* SPDX-License-Identifier: MIT */
/* What a report says about the measuring itself. */
#include <sys/resource.h>

#include "base/file.h"
#include "run/run.h"

static uint64_t self_cpu_ns(const struct attar_run *run)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)((ts.tv_sec - run->self_began.tv_sec) * 1000000000 + ts.tv_nsec -
			  run->self_began.tv_nsec);
}

/*
 * Peak resident memory. exec() hands ru_maxrss of the calling process down, so a small program started from a
 * large one would be told the large one's peak; VmHWM belongs to the address space alone.
 */
static uint64_t self_rss(void)
{
	struct buf status _cleanup_(buf_done) = {0};
	struct rusage usage;
	const char *line;

	if (file_read("/proc/self/status", 64 << 10, &status) == 0 &&
		(line = strstr(buf_text(&status), "\nVmHWM:")))
		return strtoull(line + strlen("\nVmHWM:"), NULL, 10) * 1024;
	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)usage.ru_maxrss * 1024;
}

void run_fill_notes(struct attar_run *run, struct attar_report *report, enum attar_scope scope)
{
	struct attar_stream_stats stats = {0};
	struct attar_notes notes = {.unresolved = run->unresolved, .counting = !run->sources.n};
	uint64_t elapsed = base_now() - run->self_entered;

	if (run->stream)
		attar_stream_get_stats(run->stream, &stats);
	notes.seen = stats.samples - run->dropped;
	notes.lost = stats.lost;
	notes.throttled = stats.throttled;
	if (scope == ATTAR_SCOPE_INTERVAL) {
		notes.seen -= run->seen_reported;
		notes.lost -= run->lost_reported;
		notes.throttled -= run->throttled_reported;
		run->seen_reported = stats.samples - run->dropped;
		run->lost_reported = stats.lost;
		run->throttled_reported = stats.throttled;
	}
	notes.self_cpu = elapsed ? (double)self_cpu_ns(run) / (double)elapsed : 0;
	notes.self_rss = self_rss();
	attar_report_notes(report, &notes);
	if (base_oom_count() > run->ooms)
		attar_report_remark(report,
			"memory ran out during the run: names, stacks or counts may be missing");
	if (!run->sources.n && stats.lost)
		attar_report_remark(report,
			"%llu records were lost: some threads that ended are counted with those "
			"that started them",
			(unsigned long long)stats.lost);
	threads_remark(run, report);
	if (stats.malformed)
		attar_report_remark(report, "%llu records of the kernel could not be read",
			(unsigned long long)stats.malformed);
}
