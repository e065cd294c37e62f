/* SPDX-License-Identifier: MIT */
/* record: writes events to a perf.data file, for perf and for --input of other profilers. */
#include "attar/builtin.h"

struct record {
	const char *events;
	uint64_t freq;
	bool graph, compress, portable;
	int switches; /* -1: if they complete the events */
	const char *output;
	uint64_t max_size, rotate;
};

static int record_open(struct attar_run *run, void *self)
{
	const struct record *r = self;
	struct attar_run_record_opts opts = {
		.size = sizeof(opts),
		.path = r->output || run_pushes(run) ? r->output : "perf.data",
		.events = r->events,
		.freq = r->freq,
		.stacks = r->graph,
		.compress = r->compress,
		.max_bytes = r->max_size,
		.rotate = r->rotate,
		.portable = r->portable,
		.switches = r->switches > 0,
		.no_switches = !r->switches,
	};

	return run_record(run, &opts);
}

static void record_defaults(void *self)
{
	((struct record *)self)->switches = -1;
}

static int record_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	const struct record *r = self;
	bool has_file = r->output || !run_pushes(run);
	struct attar_run_recorded recorded;
	struct attar_section *table;

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
		"newest), FILE.2, ...",
		.min = 1, .max = 1000),
	ATTAR_FLAG(T, portable, 0, "portable",
		"add function names and source lines, for reports on machines without the "
		"binaries"),
	ATTAR_SWITCH(T, switches, "switch-events",
		"add the kernel's records of context switches, which complete sched:sched_switch "
		"where its samples are not delivered (default with all switches of CPUs)"),
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
