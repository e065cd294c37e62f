/* SPDX-License-Identifier: MIT */
/* The state of a run as a report, to examine a run that behaves unexpectedly. */
#include "attar/builtin.h"
#include "attar/private/event.h"
#include "attar/private/perf.h"
#include "attar/private/symbol.h"
#include "base/memory.h"
#include "run/counts/counts.h"
#include "run/rings.h"
#include "run/run.h"
#include "source/share.h"
#include "stream/stream.h"

static void add_event(struct attar_section *s, const char *name,
	const struct attar_event_spec *spec, const struct attar_counter *counter)
{
	attar_section_row(s);
	attar_cell_text(s, name);
	attar_cell_text(s, spec ? event_kind_name(spec->kind) : "sampling");
	attar_cell_u64(s, counter ? attar_counter_instances(counter) : 0);
	if (counter)
		attar_cell_u64(s, counter_lost(counter));
	else
		attar_cell_none(s);
}

static void add_events(struct attar_run *run, struct attar_report *report)
{
	struct attar_section *s = attar_report_table(report, "events");

	attar_section_column(s, "event", ATTAR_UNIT_TEXT);
	attar_section_column(s, "kind", ATTAR_UNIT_TEXT);
	attar_section_column(s, "instances", ATTAR_UNIT_COUNT);
	attar_section_column(s, "lost", ATTAR_UNIT_COUNT);
	vec_each (&run->sources.list, it)
		add_event(s, it->name, it->spec, source_counter(&run->sources, it));
	vec_each (&counts_of(run)->list, it)
		add_event(s, it->pub.name, it->pub.spec, it->counter);
}

static struct attar_section *add_values(
	struct attar_report *report, const char *name, enum attar_unit unit)
{
	struct attar_section *s = attar_report_table(report, name);

	attar_section_column(s, "value", unit);
	attar_section_column(s, "what", ATTAR_UNIT_TEXT);
	return s;
}

static void add_value(struct attar_section *s, const char *what, uint64_t value)
{
	attar_section_row(s);
	attar_cell_u64(s, value);
	attar_cell_text(s, what);
}

static void add_stream(struct attar_run *run, struct attar_report *report)
{
	struct attar_section *s = add_values(report, "stream", ATTAR_UNIT_COUNT);
	struct attar_stream_stats stats;

	attar_stream_get_stats(run->stream, &stats);
	add_value(s, "samples delivered by the stream", stats.samples);
	add_value(s, "samples of attar's own threads, not delivered", stats.own);
	add_value(s, "samples from before all events were open, not delivered", stats.early);
	add_value(s, "samples removed by filters of attar", run->notes.dropped);
	add_value(s, run->replay ? "records lost" : "samples lost", stats.lost);
	add_value(s, "side-band records lost", stats.lost_side_band);
	add_value(s, "times that the kernel throttled an event", stats.throttled);
	add_value(s, "records that arrived too late to be sorted", stats.disordered);
	add_value(s, "losses that were reported too late to be sorted", stats.late_losses);
	add_value(s, "invalid records", stats.malformed);
	add_value(s, "wakeups by data", stats.wakeups);
	add_value(s, "rings", run->stream->n_rings);
	add_value(s, "threads in the process table", run->stream->procs.threads.n);
	add_value(s, "processes in the process table", run->stream->procs.processes.n);
}

static void add_in_kernel(struct attar_run *run, struct attar_report *report)
{
	struct attar_section *s = add_values(report, "counting in the kernel", ATTAR_UNIT_COUNT);
	struct attar_stream_stats stats = {0};

	PARTS_TELL(run, stats, &stats);
	add_value(s, "events counted", stats.samples);
	add_value(s, "values lost", stats.lost);
}

static void add_memory(struct attar_run *run, struct attar_report *report)
{
	struct attar_section *s = add_values(report, "memory", ATTAR_UNIT_BYTES);

	add_value(s, "peak of attar", memory_peak());
	add_value(s, "each ring", rings_of(run)->pages * RUN_PAGE_BYTES);
	add_value(s, "each ring when it is read", rings_of(run)->watermark);
	if (run->stream)
		add_value(s, "all rings",
			run->stream->n_rings * rings_of(run)->pages * RUN_PAGE_BYTES);
}

static void add_caches(struct attar_run *run, struct attar_report *report)
{
	struct attar_section *s = add_values(report, "symbol cache", ATTAR_UNIT_COUNT);
	struct attar_symbols_stats stats;

	symbols_get_stats(run->symbols, &stats);
	add_value(s, "files with code", stats.dsos);
	add_value(s, "files not added because the table was full", stats.dsos_refused);
	add_value(s, "files whose symbols were read", stats.files_read);
	add_value(s, "files that could not be read", stats.files_unreadable);
	add_value(s, "files replaced since they were mapped", stats.files_replaced);
	add_value(s, "mappings over the limit of a process", stats.mappings_refused);
}

int run_status(struct attar_run *run, struct attar_report **ret_report)
{
	if (run->phase == RUN_NEW)
		return attar_fail(-EINVAL, "run_status(): the run was not started" ATTAR_FIX
					   "call attar_run_start() first");

	struct attar_report *report = attar_report_new("status");
	uint64_t now = run_now(run);

	if (!report)
		return base_oom();
	attar_report_interval(report, run_wall_time(run, now), run_elapsed(run));
	add_events(run, report);
	if (run->stream)
		add_stream(run, report);
	if (run->notes.in_kernel)
		add_in_kernel(run, report);
	add_memory(run, report);
	if (run->symbols)
		add_caches(run, report);
	*ret_report = report;
	return 0;
}
