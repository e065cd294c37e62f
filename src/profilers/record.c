/* SPDX-License-Identifier: MIT */
/* record: writes events to a perf.data file, for perf and for --input of other profilers. */
#include <errno.h>
#include <stdlib.h>

#include "attar/builtin.h"

#define SECOND       UINT64_C(1000000000)
#define KEEP_NS      (180 * SECOND)
#define MEMORY_BYTES (UINT64_C(128) << 20)

enum { FORMER_FILES = 19, AT_MOST_MAX = 1000 };

struct record {
	const char *events;
	uint64_t freq;
	bool graph, compress, portable;
	int switches; /* -1: if they complete the events */
	const char *output;
	uint64_t max_size, rotate;
	bool overwrite;
	uint64_t keep, max_memory, before, after;
	struct attar_texts when;
	const char *at_most;
};

/* What explains most of what happened: who ran, who waited for what, and where CPU time went. */
static const char box_events[] =
	"sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new,block:block_rq_issue,"
	"block:block_rq_complete,cpu-clock/freq=49,stack/";

/* Parses "6/h" or "2/10m". */
static int parse_at_most(const char *text, struct attar_run_box_opts *box)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"s", SECOND}, {"m", 60 * SECOND}, {"h", 3600 * SECOND}, {"d", 24 * 3600 * SECOND}};
	char *end;

	box->at_most = strtoull(text, &end, 10);
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (*end == '/' && !strcmp(end + 1, units[i].name))
			box->at_most_ns = units[i].ns;
	if (*text >= '1' && *text <= '9' && box->at_most <= AT_MOST_MAX && box->at_most_ns)
		return 0;
	return attar_fail(-EINVAL,
		"--at-most: '%s' is not a rate" ATTAR_FIX
		"write a number and a unit, such as 6/h (s, m, h, d)",
		text);
}

/* Options that only have a meaning with --overwrite. */
static int check_box(const struct record *r)
{
	const char *name = r->keep         ? "--keep"
			   : r->max_memory ? "--max-memory"
			   : r->when.n     ? "--dump-when"
					   : NULL;

	if (!r->overwrite && name)
		return attar_fail(-EINVAL,
			"%s requires --overwrite, which keeps the newest events in memory", name);
	name = r->before ? "--before" : r->after ? "--after" : r->at_most ? "--at-most" : NULL;
	if (name && !r->when.n)
		return attar_fail(
			-EINVAL, "%s requires --dump-when, the condition that it concerns", name);
	return 0;
}

static int set_box(const struct record *r, struct attar_run_box_opts *box)
{
	*box = (struct attar_run_box_opts){
		.keep_ns = r->keep ?: KEEP_NS,
		.max_bytes = r->max_memory ?: MEMORY_BYTES,
		.when = r->when,
		.before_ns = r->before,
		.after_ns = r->after,
		.rotate = r->rotate ?: FORMER_FILES,
	};
	return r->at_most ? parse_at_most(r->at_most, box) : 0;
}

static int record_open(struct attar_run *run, void *self)
{
	const struct record *r = self;
	struct attar_run_box_opts box;
	int result = check_box(r);
	struct attar_run_record_opts opts = {
		.size = sizeof(opts),
		.path = r->output || run_pushes(run) ? r->output : "perf.data",
		.events = r->events      ? r->events
			  : r->overwrite ? box_events
					 : NULL,
		.freq = r->freq,
		.stacks = r->graph,
		.compress = r->compress,
		.max_bytes = r->max_size,
		.rotate = r->overwrite ? 0 : r->rotate,
		.portable = r->portable,
		.switches = r->switches > 0,
		.no_switches = !r->switches,
		.box = r->overwrite ? &box : NULL,
	};

	if (result == 0)
		result = set_box(r, &box);
	return result == 0 ? run_record(run, &opts) : result;
}

static void record_defaults(void *self)
{
	((struct record *)self)->switches = -1;
}

/* What is kept, and the files since the last report. */
static void report_box(
	struct attar_run *run, const struct attar_run_boxed *boxed, struct attar_report *report)
{
	struct attar_section *table = attar_report_table(report, "files");
	struct attar_run_dump dump;

	attar_section_column(table, "reason", ATTAR_UNIT_TEXT);
	attar_section_column(table, "samples", ATTAR_UNIT_COUNT);
	attar_section_column(table, "span", ATTAR_UNIT_NS);
	attar_section_column(table, "size", ATTAR_UNIT_BYTES);
	attar_section_column(table, "took", ATTAR_UNIT_NS);
	attar_section_column(table, "file", ATTAR_UNIT_TEXT);
	for (size_t i = 0; run_get_dump(run, i, &dump); i++) {
		attar_section_row(table);
		attar_cell_text(table, dump.reason);
		attar_cell_u64(table, dump.samples);
		attar_cell_u64(table, dump.last - dump.first);
		attar_cell_u64(table, dump.file_bytes);
		attar_cell_u64(table, dump.took_ns);
		attar_cell_text(table, dump.path);
	}
	if (boxed->samples)
		attar_report_remark(report, "in memory: %llu events of %.1f s in %.1f MiB",
			(unsigned long long)boxed->samples,
			(double)(boxed->last - boxed->first) / 1e9,
			(double)boxed->bytes / (1 << 20));
}

static int record_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	const struct record *r = self;
	bool has_file = r->output || !run_pushes(run);
	struct attar_run_recorded recorded;
	struct attar_run_boxed boxed;
	struct attar_section *table;

	if (run_get_boxed(run, &boxed)) {
		report_box(run, &boxed, report);
		return 0;
	}
	if (!run_get_recorded(run, &recorded))
		return 0;
	table = attar_report_table(report, "recording");
	attar_section_column(table, "samples", ATTAR_UNIT_COUNT);
	attar_section_column(table, "records", ATTAR_UNIT_COUNT);
	if (has_file) {
		attar_section_column(table, "size", ATTAR_UNIT_BYTES);
		attar_section_column(table, "files", ATTAR_UNIT_COUNT);
		attar_section_column(table, "file", ATTAR_UNIT_TEXT);
	}
	attar_section_row(table);
	attar_cell_u64(table, recorded.samples);
	attar_cell_u64(table, recorded.records);
	if (has_file) {
		attar_cell_u64(table, recorded.file_bytes);
		attar_cell_u64(table, recorded.files);
		attar_cell_text(table, recorded.path);
	}
	if (recorded.is_full)
		attar_report_remark(report, "the recording reached --max-size and ended; use "
					    "--rotate N to continue in new files");
	return 0;
}

#define T struct record
static const struct attar_option options[] = {
	ATTAR_JOINED(T, events, 'e', "event", "EVENT",
		"record these events (default cycles, or cpu-clock without a PMU); may be repeated",
		.complete = "event"),
	ATTAR_COUNT(T, freq, 'F', "freq", "HZ",
		"samples per second on each CPU, for events other than tracepoints, probes and "
		"breakpoints (default 997 for clocks and hardware events)",
		.min = 1),
	ATTAR_FLAG(T, graph, 'g', "call-graph", "record call stacks"),
	ATTAR_TEXT(T, output, 'o', "output", "FILE",
		"write to FILE (default perf.data, or none with --push); -: to standard output, as "
		"a pipe",
		.complete = "file"),
	ATTAR_SIZE(T, max_size, 0, "max-size", "SIZE",
		"end the recording when the file has this size: 64K, 100M, 1G; it may exceed this "
		"by the contents of the ring buffers (-m)",
		.min = 1),
	ATTAR_COUNT(T, rotate, 0, "rotate", "N",
		"with --max-size: continue in a new file, and keep N full ones as FILE.1 (the "
		"newest), FILE.2, ...; with --overwrite: keep N former files (default 19)",
		.min = 1, .max = 1000),
	ATTAR_FLAG(T, portable, 0, "portable",
		"add function names and source lines, for reports on machines without the "
		"binaries"),
	ATTAR_SWITCH(T, switches, "switch-events",
		"add the kernel's records of context switches, which complete sched:sched_switch "
		"where its samples are not delivered (default with all switches of CPUs)"),
	ATTAR_FLAG(T, overwrite, 0, "overwrite",
		"keep the newest events in memory, and write FILE on SIGUSR1, for --dump-when, and "
		"otherwise at the end (default events: switches and wakeups of tasks, requests to "
		"disks, samples with stacks)"),
	ATTAR_TIME(T, keep, 0, "keep", "TIME",
		"with --overwrite: keep the events of this time (default 3m)", .bare = SECOND,
		.min = SECOND),
	ATTAR_SIZE(T, max_memory, 0, "max-memory", "SIZE",
		"with --overwrite: keep events and names in this much memory at most (default "
		"128M)",
		.min = 1 << 20),
	ATTAR_LIST(T, when, 0, "dump-when", "CONDITION",
		"with --overwrite: write FILE when an event occurs (EVENT/FILTER/), or when tasks "
		"wait for a resource for a share of the time ('psi:cpu some 200ms/1s'), and not at "
		"the end; may be repeated"),
	ATTAR_TIME(T, before, 0, "before", "TIME",
		"with --dump-when: write the events of this time before the condition only",
		.bare = SECOND, .min = SECOND),
	ATTAR_TIME(T, after, 0, "after", "TIME",
		"with --dump-when: write FILE this long after the condition (default 0)",
		.bare = SECOND),
	ATTAR_TEXT(T, at_most, 0, "at-most", "N/UNIT",
		"with --dump-when: write at most N files per s, m, h or d, such as 6/h"),
	ATTAR_FLAG(T, compress, 'z', "compress", "compress the records with zstd"),
	{0},
};

static const struct attar_example examples[] = {
	{"record -g -- make", "profile a command, to be analysed later"},
	{"record -e sched:sched_switch -a -d 10s -o switches.data",
		"all context switches of ten seconds"},
	{"profile --input perf.data", "analyse a recording"},
	{"record -g --portable -o x.data -- ./program",
		"a recording to analyse on another machine"},
	{"record -e 'sched:*' --push 9100", "send the events to 'attar trace --pull 9100'"},
	{"record --overwrite --dump-when 'psi:io some 500ms/1s' --after 5s -o stall.data",
		"the last 3 minutes when tasks wait for disks, and 5 seconds more"},
	{"record -e 'sched:*' -z --max-size 100M --rotate 5",
		"keep the newest events, in six files of 100 MiB"},
	{0},
};

const struct attar_profiler profiler_record = {
	.name = "record",
	.group = "Events",
	.summary = "write events to a perf.data file for later analysis",
	.uses = ATTAR_USES_STACKS | ATTAR_USES_RINGS,
	.needs = "perf events, whole system, tracefs",
	.self_size = sizeof(struct record),
	.options = options,
	.examples = examples,
	.defaults = record_defaults,
	.open = record_open,
	.report = record_report,
};
