/* SPDX-License-Identifier: MIT */
/* The notes of a report about the measurement itself: losses, overhead, unresolved names. */
#include "attar/builtin.h"
#include "attar/private/perf.h"
#include "attar/private/report.h"
#include "attar/private/stream.h"
#include "base/check_arg.h"
#include "base/memory.h"
#include "perf/kernel.h"
#include "report/model/model.h"
#include "run/input/replay.h"
#include "run/parts/user_stacks.h"
#include "run/record/recorder.h"
#include "run/rings.h"
#include "run/run.h"
#include "run/events/sources.h"
#include "stream/shm_source.h"
#include "stream/stream.h"

enum { REMARK_CPUS_MAX = 8 };

void notes_begin(struct run_notes *notes)
{
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &notes->cpu_began);
	notes->entered = base_now();
	notes->ooms = base_oom_count();
}

void run_unresolved(struct attar_run *run, double share)
{
	CHECK_ARG_OR(run, "run", );

	run->notes.unresolved = share;
}

static uint64_t self_cpu_ns(const struct attar_run *run)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)((ts.tv_sec - run->notes.cpu_began.tv_sec) * 1000000000 + ts.tv_nsec -
			  run->notes.cpu_began.tv_nsec) +
	       user_stacks_readers_cpu(run);
}

/* The increase since the last report. Losses are estimates on some kernels and may shrink. */
static uint64_t since(uint64_t now, uint64_t *reported)
{
	uint64_t before = *reported;

	*reported = now;
	return now > before ? now - before : 0;
}

static void fill_seen(struct attar_run *run, const struct attar_stream_stats *stats,
	struct attar_notes *notes, enum attar_scope scope)
{
	if (run_records(run))
		notes->seen = run->notes.delivered;
	else
		notes->seen = stats->samples + run->notes.made - run->notes.dropped -
			      run->notes.undelivered - run->notes.is_event_pending;
	notes->lost = stats->lost;
	/* Before Linux 6.0, only records of the rings say what was lost. */
	if (run->notes.has_all_recorded)
		notes->lost = run->notes.recorded_lost;
	else if (run_records(run) && run->stream && !stream_counts_losses(run->stream))
		notes->lost = MAX(stats->lost, run->notes.recorded_lost);
	notes->lost_side_band = stats->lost_side_band;
	notes->throttled = stats->throttled;
	notes->missing = stats->missing;
	if (run->stream)
		notes->n_missing_by_cpu = stream_get_missing(run->stream, &notes->missing_by_cpu);
	if (scope != ATTAR_SCOPE_INTERVAL)
		return;
	notes->seen = since(notes->seen, &run->notes.seen);
	notes->lost = since(notes->lost, &run->notes.lost);
	notes->lost_side_band = since(notes->lost_side_band, &run->notes.lost_side_band);
	notes->throttled = since(notes->throttled, &run->notes.throttled);
}

/* Per CPU: some kernels lose events of the idle task of some CPUs. */
static void missing_remark(
	const struct attar_notes *notes, bool is_recorded, struct attar_report *report)
{
	struct buf cpus _cleanup_(buf_done) = {0};
	size_t shown = MIN(notes->n_missing_by_cpu, (size_t)REMARK_CPUS_MAX);
	const char *them = notes->missing == 1 ? "it" : "them";

	for (size_t i = 0; i < shown; i++) {
		const struct attar_cpu_count *it = &notes->missing_by_cpu[i];

		if (it->cpu >= 0)
			buf_printf(&cpus, "%s%llu on CPU %d", cpus.len ? ", " : ": ",
				(unsigned long long)it->count, it->cpu);
	}
	if (shown < notes->n_missing_by_cpu)
		buf_printf(&cpus, ", and more on %zu other CPU%s", notes->n_missing_by_cpu - shown,
			PLURAL_S(notes->n_missing_by_cpu - shown));
	if (notes->missing && is_recorded)
		attar_report_remark(report,
			"the recording lacks %llu event%s that the kernel counted but did not "
			"deliver, including events that this profiler does not use%s",
			(unsigned long long)notes->missing, PLURAL_S(notes->missing),
			buf_text(&cpus));
	else if (notes->missing)
		(notes->missing > notes->seen / 100 ? attar_report_remark : report_detail)(report,
			"%llu event%s missing: the kernel counted %s, but attar did not receive "
			"%s%s; 'attar stat' counts %s",
			(unsigned long long)notes->missing, notes->missing == 1 ? " is" : "s are",
			them, them, buf_text(&cpus), them);
}

/* What was not delivered in order of time. */
static void order_remarks(struct attar_run *run, const struct attar_stream_stats *stats,
	struct attar_report *report, enum attar_scope scope)
{
	uint64_t disordered = stats->disordered, losses = stats->late_losses;

	if (scope == ATTAR_SCOPE_INTERVAL) {
		disordered = since(disordered, &run->notes.disordered);
		losses = since(losses, &run->notes.late_losses);
	}
	if (disordered)
		report_detail(report,
			"%llu record%s arrived after newer ones had been delivered, and were given "
			"the newest time",
			(unsigned long long)disordered, PLURAL_S(disordered));
	if (losses && run->profiler->lost)
		attar_report_remark(report,
			"%llu loss%s reported late: results that ended on other CPUs meanwhile are "
			"counted, and may be wrong",
			(unsigned long long)losses, losses == 1 ? " was" : "es were");
}

/*
 * Tracepoints of the scheduler that are also delivered to the events of the task that they
 * concern, if it is not the current one: seen in Linux 5.10, and no longer in 6.1.
 */
static bool is_delivered_twice(const struct source *s)
{
	const struct attar_event_spec *spec = source_spec(s);
	const char *name = spec && spec->kind == ATTAR_EVENT_TRACEPOINT ? spec->name : "";

	return kernel_get()->version < KERNEL_VERSION_OF(6, 1) &&
	       (!strncmp(name, "sched:sched_wak", 15) || !strncmp(name, "sched:sched_stat_", 17));
}

static void twice_remark(const struct attar_run *run, struct attar_report *report)
{
	if (run->replay || target_kind_of(run->target) != ATTAR_TARGET_TASKS)
		return;
	vec_each (&run->sources.list, s) {
		if (!is_delivered_twice(s))
			continue;
		attar_report_remark(report,
			"this kernel also delivers '%s' to the task that it concerns: if both "
			"tasks are watched, it is seen twice; use -a with a filter on its fields, "
			"or 'attar stat'",
			s->name);
		return;
	}
}

/* Records that are in no result. */
static void malformed_remarks(const struct attar_run *run, const struct attar_stream_stats *stats,
	struct attar_report *report)
{
	uint64_t foreign = run->stream ? stream_foreign(run->stream) : 0;
	uint64_t others = stats->malformed - foreign;

	if (foreign)
		attar_report_remark(report,
			"%llu sample%s left out: another program samples the same software event "
			"of the task, and the kernel gave them the id of its event; run one at a "
			"time",
			(unsigned long long)foreign, foreign == 1 ? " is" : "s are");
	if (others)
		attar_report_remark(report, "%llu record%s could not be parsed",
			(unsigned long long)others, PLURAL_S(others));
}

/* See stream/shm_source.h. */
static void lost_of_others_remark(
	struct attar_run *run, struct attar_report *report, enum attar_scope scope)
{
	const struct attar_shm_source *shm = run->stream ? run->stream->shm_source : NULL;
	uid_t user = 0;
	uint64_t lost = shm ? shm_source_lost_of_others(shm, &user) : 0;

	if (scope == ATTAR_SCOPE_INTERVAL)
		lost = since(lost, &run->notes.lost_of_others);
	if (lost)
		attar_report_remark(report,
			"programs of the user with uid %u and others claim to have lost %llu "
			"event%s: not counted as lost, because programs of several users are read",
			(unsigned)user, (unsigned long long)lost, PLURAL_S(lost));
}

/* See stream/shm_source.h. */
static void left_in_rings_remark(const struct attar_run *run, struct attar_report *report)
{
	const struct attar_shm_source *shm = run->stream ? run->stream->shm_source : NULL;
	uid_t user = 0;
	uint64_t left = shm ? shm_source_left(shm, &user) : 0;

	if (left)
		attar_report_remark(report,
			"%llu event%s of programs of the user with uid %u %s lost because attar "
			"reads at most 64 MiB from the rings of another user when it ends",
			(unsigned long long)left, PLURAL_S(left), (unsigned)user,
			left == 1 ? "is" : "are");
}

/* ustring() and fd_name() */
static void late_reads_remark(const struct run_notes *notes, struct attar_report *report)
{
	if (notes->late_reads)
		report_detail(report,
			"%llu name%s of fd_name() %s read from the programs up to %.3f ms after "
			"the event: one can be wrong if the program has closed the file meanwhile",
			(unsigned long long)notes->late_reads, PLURAL_S(notes->late_reads),
			notes->late_reads == 1 ? "was" : "were", (double)notes->latest_read / 1e6);
	if (notes->unknown_texts)
		attar_report_remark(report,
			"%llu string%s of ustring() %s unknown: neither Linux 6.19 nor a program "
			"in the kernel (root, libbpf and BTF) copies them, and the traced program "
			"may have changed them before attar can read them; 'attar snoop' with a "
			"second -e for the end of the calls reads strings of slow calls, and "
			"probes copy them with "
			"args=(name=+0(ADDRESS):ustring)",
			(unsigned long long)notes->unknown_texts, PLURAL_S(notes->unknown_texts),
			notes->unknown_texts == 1 ? "is" : "are");
	run_remark_lost_texts(report, notes->lost_texts);
	if (notes->unrecorded)
		attar_report_remark(report,
			"%llu string%s of ustring() and fd_name() %s not in the recording, and the "
			"address or number is shown: attar reads them from running programs only",
			(unsigned long long)notes->unrecorded, PLURAL_S(notes->unrecorded),
			notes->unrecorded == 1 ? "is" : "are");
}

void run_fill_notes(struct attar_run *run, struct attar_report *report, enum attar_scope scope)
{
	struct attar_stream_stats stats = {0};
	struct attar_notes notes = {.unresolved = run->notes.unresolved,
		.counting = !run->sources.list.n && !run->notes.in_kernel};
	uint64_t elapsed = base_now() - run->notes.entered;

	if (run->stream)
		attar_stream_get_stats(run->stream, &stats);
	if (run->replay)
		range_subtract(&run->replay->range, &stats);
	PARTS_TELL(run, stats, &stats);
	fill_seen(run, &stats, &notes, scope);
	notes.self_cpu = elapsed ? (double)self_cpu_ns(run) / (double)elapsed : 0;
	notes.self_rss = memory_peak();
	notes.buffer_size = run->lines.peak ? run->opts.buffer : 0;
	notes.buffer_peak = run->lines.peak;
	attar_report_notes(report, &notes);
	missing_remark(&notes, run->replay != NULL, report);
	order_remarks(run, &stats, report, scope);
	lost_of_others_remark(run, report, scope);
	left_in_rings_remark(run, report);
	late_reads_remark(&run->notes, report);
	twice_remark(run, report);
	if (base_oom_count() > run->notes.ooms)
		attar_report_remark(report,
			"out of memory during the run: names, stacks or counts may be missing");
	PARTS_TELL(run, remark, report, scope);
	malformed_remarks(run, &stats, report);
}

static void warn_lost(const struct attar_run *run, uint64_t lost, uint64_t seen)
{
	uint64_t stopped = MIN(rings_lost_for_dumps(run), lost);

	if (stopped)
		log_warn("%llu of %llu events were lost, %llu of them while the ring buffers were "
			 "stopped for a dump: without %s, attar reads all events",
			(unsigned long long)lost, (unsigned long long)(lost + seen),
			(unsigned long long)stopped, rings_of(run)->overwritten);
	else if (!run->sources.list.n)
		log_warn("%llu records of exited threads were lost, because the ring buffers were "
			 "full: these threads have no row of their own; the sums are exact. Use "
			 "larger buffers (-m)",
			(unsigned long long)lost);
	else
		log_warn("%llu of %llu events were lost, because the ring buffers were full: use a "
			 "filter, fewer events, or larger buffers (-m)",
			(unsigned long long)lost, (unsigned long long)(lost + seen));
}

void notes_warn(struct attar_run *run)
{
	struct attar_stream_stats stats = {0};
	struct attar_notes notes = {0};

	if (run->replay || !run->stream)
		return;
	attar_stream_get_stats(run->stream, &stats);
	fill_seen(run, &stats, &notes, ATTAR_SCOPE_WHOLE);
	if (notes.lost > notes.seen)
		warn_lost(run, notes.lost, notes.seen);
}
