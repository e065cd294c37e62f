/* SPDX-License-Identifier: MIT */
/* misc: prints records of what changes: code, names, mappings, BPF programs, control groups. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "attar/builtin.h"
#include "lib/cgroups.h"

enum { TEXT_BYTES = 4096 };

/* Flags of records, linux/perf_event.h. */
enum { UNREGISTERED = 1 };

static const struct kind {
	const char *name;
	uint32_t type;
} kinds[] = {{"ksymbol", PERF_RECORD_KSYMBOL}, {"bpf", PERF_RECORD_BPF_EVENT},
	{"cgroup", PERF_RECORD_CGROUP}, {"text-poke", PERF_RECORD_TEXT_POKE},
	{"comm", PERF_RECORD_COMM}, {"mmap", PERF_RECORD_MMAP2}};

static const char every_kind[] = "ksymbol,bpf,cgroup,text-poke,comm,mmap";

enum { CGROUP = 2, COMM = 4, KINDS = sizeof(kinds) / sizeof(kinds[0]) };

struct misc {
	const char *records;
	bool wanted[KINDS], is_chosen;
	uint64_t counts[KINDS], recent[KINDS];
	bool has_samples, has_times; /* so far: samples; records with a time */
	uint64_t initial;            /* records of what existed when a recording began */
};

/* ---- records ---- */

/* The part that fits: a recording can have up to 64 KiB of code. */
static void add_text(char *text, const char *more)
{
	size_t at = strlen(text);

	snprintf(text + at, TEXT_BYTES - at, "%s", more);
}

static void add_bytes(char *text, const uint8_t *bytes, size_t n)
{
	size_t at = strlen(text);

	for (size_t i = 0; i < n && at + 3 < TEXT_BYTES; i++)
		at += (size_t)snprintf(text + at, TEXT_BYTES - at, "%02x", bytes[i]);
}

static void add_symbol(struct attar_run *run, uint64_t address, char *text)
{
	struct attar_symbol symbol;
	size_t at = strlen(text);

	if (attar_symbols_resolve(
		    attar_run_symbols(run), attar_location_kernel(address), &symbol) == 0)
		snprintf(text + at, TEXT_BYTES - at, " (%s+0x%" PRIx64 ")", symbol.name,
			symbol.offset);
	attar_error_clear();
}

static void bpf_text(const struct attar_record_bpf_event *bpf, char *text)
{
	static const char *const what[] = {"?", "load", "unload"};

	snprintf(text, TEXT_BYTES, "%s id=%" PRIu32 " tag=", what[bpf->bpf_type % 3], bpf->id);
	add_bytes(text, bpf->tag, 8);
}

static void poke_text(struct attar_run *run, const struct attar_record_text_poke *poke, char *text)
{
	snprintf(text, TEXT_BYTES, "addr=0x%" PRIx64, poke->addr);
	add_symbol(run, poke->addr, text);
	add_text(text, " old=");
	add_bytes(text, poke->old_bytes, poke->old_len);
	add_text(text, " new=");
	add_bytes(text, poke->new_bytes, poke->new_len);
}

static void mmap_text(const struct attar_mmap *map, char *text)
{
	snprintf(text, TEXT_BYTES,
		"pid=%" PRIu32 " addr=0x%" PRIx64 " len=0x%" PRIx64 " pgoff=0x%" PRIx64
		" prot=%c%c%c %s",
		map->pid, map->addr, map->len, map->pgoff, map->prot & 1 ? 'r' : '-',
		map->prot & 2 ? 'w' : '-', map->prot & 4 ? 'x' : '-', map->filename);
}

static void record_text(struct attar_run *run, const struct attar_record *r, char *text)
{
	switch (r->type) {
	case PERF_RECORD_KSYMBOL:
		snprintf(text, TEXT_BYTES, "%s addr=0x%" PRIx64 " len=%" PRIu32 " name=%s",
			r->ksymbol.flags & UNREGISTERED ? "unregister" : "register",
			r->ksymbol.addr, r->ksymbol.len, r->ksymbol.name);
		break;
	case PERF_RECORD_BPF_EVENT:
		bpf_text(&r->bpf_event, text);
		break;
	case PERF_RECORD_CGROUP:
		snprintf(text, TEXT_BYTES, "id=%" PRIu64 " path=%s", r->cgroup.id, r->cgroup.path);
		break;
	case PERF_RECORD_TEXT_POKE:
		poke_text(run, &r->text_poke, text);
		break;
	case PERF_RECORD_COMM:
		snprintf(text, TEXT_BYTES, "%s pid=%" PRIu32 " tid=%" PRIu32 " comm=%s",
			r->comm.exec ? "exec" : "rename", r->comm.pid, r->comm.tid, r->comm.comm);
		break;
	default:
		mmap_text(&r->mmap, text);
	}
}

static void columns(struct attar_section *lines)
{
	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "tid", ATTAR_UNIT_ID);
	attar_section_column(lines, "cpu", ATTAR_UNIT_ID);
	attar_section_column(lines, "record", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
	attar_section_column(lines, "fields", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
}

/*
 * The side band of the stream has names and mappings too: the names and mappings of the profiler's
 * own event are used. Kernel symbols are only requested by the side band: if two events of a CPU
 * request them, the kernel writes the second record with a wrong size (seen on 6.18). Of a
 * recording, all are.
 */
static bool is_duplicate(const struct attar_run *run, const struct attar_event *ev)
{
	bool is_side_band = ev->counter == ATTAR_NO_COUNTER;

	return attar_run_is_live(run) && is_side_band != (ev->record->type == PERF_RECORD_KSYMBOL);
}

/*
 * What records a recording begins with: the names and mappings that existed, which the program that
 * recorded wrote without a time. In recordings without sample_id_all, no record has a time.
 */
static bool is_initial(struct misc *m, const struct attar_run *run, const struct attar_event *ev)
{
	m->has_times |= ev->record->time != 0;
	if (run_is_before_range(run))
		return true;
	return !attar_run_is_live(run) && !ev->record->time && (m->has_times || !m->has_samples);
}

static int misc_show(struct attar_run *run, const struct attar_event *ev, const char *kind)
{
	struct attar_section *lines = attar_run_lines(run, "records", columns);
	char text[TEXT_BYTES] = "";

	if (!lines)
		return -ENOMEM;
	record_text(run, ev->record, text);
	attar_section_row(lines);
	attar_cell_u64(lines, attar_run_realtime(run, ev->time));
	attar_cell_i64(lines, (int32_t)ev->record->tid);
	attar_cell_i64(lines, (int32_t)ev->record->cpu);
	attar_cell_text(lines, kind);
	attar_cell_text(lines, text);
	return 0;
}

static int on_record(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct misc *m = self;
	bool begins = is_initial(m, run, ev);
	size_t i = 0;

	while (i < KINDS && kinds[i].type != ev->record->type)
		i++;
	if (i == KINDS || !m->wanted[i] || is_duplicate(run, ev))
		return 0;
	if (begins) {
		m->initial++;
		return 0;
	}
	m->counts[i]++;
	m->recent[i]++;
	run_count_record(run);
	return attar_run_wants(run, ATTAR_WANT_LINES) ? misc_show(run, ev, kinds[i].name) : 0;
}

/* ---- report ---- */

/* Systems with both versions of control groups have several hierarchies. */
static void remark_on_groups(struct attar_report *report)
{
	char path[TEXT_BYTES];
	bool is_v1;

	if (cgroups_hierarchy("perf_event", path, sizeof(path), &is_v1))
		attar_report_remark(report,
			"no control group was created in %s (cgroup %s), the hierarchy of perf "
			"events: the kernel does not report groups of other hierarchies",
			path, is_v1 ? "v1" : "v2");
	else
		attar_report_remark(report, "no records of control groups: neither cgroup v2 nor "
					    "the perf_event controller of cgroup v1 is mounted");
}

static void remark_on_initial(const struct misc *m, struct attar_report *report)
{
	if (m->initial)
		attar_report_remark(report,
			"not shown: %llu record%s of what existed when the recording began, such "
			"as names of processes",
			(unsigned long long)m->initial, m->initial == 1 ? "" : "s");
}

static int misc_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct attar_section *table = attar_report_table(report, "records");
	struct misc *m = self;

	attar_section_column(table, "record", ATTAR_UNIT_TEXT);
	attar_section_column(table, "count", ATTAR_UNIT_COUNT);
	for (size_t i = 0; i < KINDS; i++) {
		if (!m->wanted[i])
			continue;
		attar_section_row(table);
		attar_cell_text(table, kinds[i].name);
		attar_cell_u64(table, scope == ATTAR_SCOPE_WHOLE ? m->counts[i] : m->recent[i]);
		m->recent[i] = 0;
	}
	if (scope == ATTAR_SCOPE_WHOLE && m->is_chosen && m->wanted[CGROUP] && !m->counts[CGROUP] &&
		attar_run_is_live(run))
		remark_on_groups(report);
	if (scope == ATTAR_SCOPE_WHOLE)
		remark_on_initial(m, report);
	return 0;
}

/* ---- life ---- */

static int misc_choose(struct misc *m)
{
	for (const char *p = m->records; *p; p += strcspn(p, ","), p += *p == ',') {
		size_t n = strcspn(p, ","), i = 0;

		while (i < KINDS && (strlen(kinds[i].name) != n || memcmp(kinds[i].name, p, n)))
			i++;
		if (i == KINDS)
			return attar_fail(-EINVAL,
				"--records: '%.*s' is not one of ksymbol, bpf, cgroup, text-poke, "
				"comm, mmap",
				(int)n, p);
		m->wanted[i] = true;
	}
	return 0;
}

static int on_sample(struct attar_run *run, void *self, const struct attar_event *ev)
{
	((struct misc *)self)->has_samples = true;
	return 0;
}

static int misc_open(struct attar_run *run, void *self)
{
	const struct attar_texts all = {0};
	struct misc *m = self;
	int r = misc_choose(m);
	/* the kernel writes records of control groups only to events that request others, too */
	bool wants_names = m->wanted[COMM] || m->wanted[CGROUP];
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_IP, /* as other events of a stream have */
		.exclude_kernel = !m->wanted[3],
		.exclude_hv = 1,
		.bpf_event = m->wanted[1],
		.cgroup = m->wanted[CGROUP],
		.text_poke = m->wanted[3],
		.comm = wants_names,
		.comm_exec = wants_names,
		.mmap = m->wanted[5],
		.mmap_data = m->wanted[5],
		.mmap2 = m->wanted[5]};

	if (r < 0)
		return r;
	m->is_chosen = strcmp(m->records, every_kind) != 0;
	if (!attar_run_is_live(run) && attar_run_event_list(run, &all, false, on_sample) == 0)
		return 0;
	attar_error_clear(); /* a recording of nothing but records */
	return attar_run_source(run, "records", &attr, on_sample);
}

static void misc_defaults(void *self)
{
	((struct misc *)self)->records = every_kind;
}

static const struct attar_option options[] = {
	ATTAR_TEXT(struct misc, records, 0, "records", "LIST",
		"only these: ksymbol, bpf, cgroup, text-poke, comm, mmap"),
	{0}};

static const struct attar_example examples[] = {{"misc", "all records, until Ctrl-C"},
	{"misc --records bpf,ksymbol", "BPF programs that are loaded and unloaded"},
	{"misc --records mmap -- ls", "the mappings of a command"}, {0}};

const struct attar_profiler profiler_misc = {
	.name = "misc",
	.group = "Events",
	.summary = "print changes of code, names, mappings, BPF programs and control groups",
	.uses = ATTAR_USES_RINGS,
	.needs = "perf events, whole system",
	.self_size = sizeof(struct misc),
	.options = options,
	.examples = examples,
	.defaults = misc_defaults,
	.open = misc_open,
	.record = on_record,
	.report = misc_report,
};
